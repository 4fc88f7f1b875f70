"""Prompts: what an agent reads when its turn comes.

It makes one text of the parts that an agent may see: who it is, what is
asked of it, what others said, how to answer. What others said stands between
marks that carry a boundary drawn for this prompt, so that no contribution can
end its own quotation. What an agent may see is decided in `core.sight`, how
it is said in the templates; those under the workspace's `prompts/` replace
the built-in ones.

A prompt that was rendered once is kept.

Loading the template engine costs more than all the rest of a command, so it is loaded only
for templates that people wrote into a workspace; those are rendered in its sandbox. What the
built-in ones need of it is little: values, loops, includes, a few filters. That little is
here, and `.ci/make_prompts.py` makes modules of them that need no more.

Source: C0-049 to C0-053, C0-065, C0-066, SC-001, XC-012, `architecture.md` section 4,
`trust.md` (Text of others is data).
"""

from __future__ import annotations

import json
import marshal
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from council import __version__
from council.core.agents import SHELL
from council.core.conversations.account import one_line
from council.core.conversations.conversation import ANSWERED
from council.core.conversations.procedures import SYNTHESIZE
from council.core.deliberation.fault_words import fault_in_words
from council.core.errors import InvalidInputError, InvalidStateError
from council.core.ids import sha256_hex
from council.core.plain_text import shell_word
from council.core.record import Any
from council.operations.conversations import kept_prompts
from council.operations.conversations.kept_prompts import (
    LANGUAGES,
    REFERENCES,
    template_folders,
    workspace_reference,
)
from council.store.files import content_of
from council.store.keys import run_key
from council.store.settings import language as spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from jinja2.sandbox import SandboxedEnvironment

    from council.operations.place import Place

    Filters = dict[str, Callable[..., Any]]
    Rendering = Callable[..., Iterator[str]]

_OF_A_DICT = frozenset(dir(dict))
_QUOTATION_MARKS = {"found": "✓", "near": "≈", "missing": "✗"}
_LINE_MAX_CHARS = 80
_NO_MARKUP = dict.fromkeys(map(ord, '*`[]<>|#“”"«»'), " ")
_NO_QUOTES = dict.fromkeys(map(ord, '“”"«»`'), "'")

_environments: dict[bytes, SandboxedEnvironment] = {}


def prompt_kind(parts: dict[str, Any]) -> str:
    """Return which prompt the parts call for: `synthesis` for who sums up, `vote`, else `turn`."""
    if not parts["mayAnswer"]:
        return "turn"
    if parts["phase"] == SYNTHESIZE:
        return "synthesis"
    return "vote" if parts.get("form") == "vote" else "turn"


def boundary(key: bytes, parts: dict[str, Any], *, avoid: str = "") -> str:
    """Draw the mark of one prompt: keyed, so that no author of a contribution knows it.

    The same parts give the same mark. One that stands in the parts or in
    `avoid` (what else goes into the prompt), by whatever chance, is not used.
    """
    record = _record_of(parts)
    return _drawn(key, record, sha256_hex(record), avoid)


def _drawn(key: bytes, record: bytes, digest: str, avoid: str) -> str:
    # All that is digested has one length, and no one sees the whole digest: what `hmac` guards
    # against cannot happen, and it loads a library.
    drawn_from = sha256_hex(key) + digest
    attempt, mark = 0, ""
    while not mark or mark.encode() in record or mark in avoid:
        mark = sha256_hex(f"{drawn_from}{attempt:08x}".encode("ascii"))[:16]
        attempt += 1
    return mark


def render_prompt(
    kind: str,
    parts: dict[str, Any],
    *,
    lang: str,
    root: str,
    checklist: str,
    persona: str,
    boundary: str,
    file: str = "",
    way: str = SHELL,
    program: str = "council",
) -> str:
    """Render one prompt.

    Args:
        kind: `turn`, `vote` or `synthesis`.
        parts: What the agent may see (`core.sight.parts`); templates know each key by its name,
            and in `statuses` what the agent may state instead of RESPONDED.
        lang: `en` or `fr`; anything else is taken as `en`.
        root: The workspace, whose own templates come first.
        checklist: The text of the checklist of CHALLENGE.
        persona: Who the agent is, in the words of its SOUL.md; may be empty.
        boundary: The mark around what others wrote.
        file: The path of the conversation's file, where it is not the usual one.
        way: How the agent hands in its answer, as `core.agents` names the ways.
        program: How a command of a shell begins.

    Raises:
        InvalidInputError: A template of the workspace is broken; names its file and line.
        InvalidStateError: This installation has no prompts.
    """
    language = _language(lang)
    usual = os.path.join(root, "memory", "shared", f"council-{parts['name']}-conversation.md")
    values = {
        **parts,
        "kind": kind,
        "checklist": checklist,
        "persona": persona,
        "boundary": boundary,
        "root": root,
        "way": way,
        "program": program,
        "file": file or usual,
        "statuses": [one for one in ANSWERED[1:] if parts.get("mayAgree") or not one.agrees],
    }
    # A procedure may have templates of its own: `deliberation-turn` before `turn`.
    names = [f"{parts['procedure']}-{kind}.md.j2", f"{kind}.md.j2"]
    is_own = kept_prompts.has_own_templates(root, language)
    try:
        if is_own:
            return _environment(root, language).select_template(names).render(values)
        return _render_made(names, language, values)
    except InvalidStateError:
        raise
    except Exception as error:  # a template is a program of the user: anything may come out of it
        raise _broken_template(error, kind, is_own=is_own) from error


def plain_prompt(place: Place, kind: str, parts: dict[str, Any], persona: str, **how: Any) -> str:
    """Render a prompt that is not kept, with a mark of its own.

    `how` may give `lang`, else it is in the language of the workspace, the `file`, the `way` and
    the `program`, as for `render_prompt`.

    Raises:
        InvalidInputError: A template of the workspace is broken.
        CouncilError: The key of the workspace cannot be read.
    """
    return render_prompt(
        kind,
        parts,
        lang=spoken(place.settings, how.pop("lang", ""), place.environ),
        root=place.root,
        checklist="",
        persona=persona,
        boundary=boundary(run_key(place.paths), parts, avoid=persona),
        **how,
    )


def _environment(root: str, language: str) -> SandboxedEnvironment:
    """Return what renders the templates of the workspace as they stand now.

    One is kept: a heartbeat makes many prompts, and the process of a run,
    which is forked from it, makes those of the next round with what was
    compiled here.
    """
    stamps = _written([root, language, kept_prompts.stamps(root, language)])
    known = _environments.get(stamps)
    if known is not None:
        return known
    import jinja2  # costs more than all the rest of a turn: see cached_prompt
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(template_folders(root, language)),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_filters(language))
    _environments.clear()
    _environments[stamps] = environment
    return environment


def _filters(language: str) -> Filters:
    """Return the filters that templates have besides those of the engine."""
    return {
        "line": _line,
        "name": bare_name,
        "said": in_quotes,
        "below": _below,
        "shell": shell_word,
        "mark": lambda found: _QUOTATION_MARKS.get(found, "?"),
        "fault": lambda one: fault_in_words(
            one["code"], language, agent=f"@{one['agent']}", found=_line(one["found"])
        ),
    }


def checklist(root: str, lang: str) -> str:
    """Return the checklist of CHALLENGE: the workspace's if a person edited it, else ours.

    A workspace holds `COUNCIL.md` and its French form. The one in the
    language of the prompt is taken; where only the other one was edited, that.

    Source: C0-053.
    """
    own_name = "COUNCIL.md" if _language(lang) == "en" else f"COUNCIL.{_language(lang)}.md"
    ours = _read(_ours(own_name))
    for name in dict.fromkeys((own_name, "COUNCIL.md")):
        found = _read(workspace_reference(root, name))
        if found and found != _read(_ours(name)):
            return found
    return ours


def cached_prompt(
    cache_dir: str,
    kind: str,
    parts: dict[str, Any],
    *,
    key: bytes,
    lang: str,
    root: str,
    persona: str,
    file: str = "",
    way: str = SHELL,
    program: str = "council",
) -> tuple[str, str]:
    """Return a prompt, rendered only if the same one was not rendered before, and where it is kept.

    The rest is as for `render_prompt`; the boundary is drawn with `key`, the
    checklist is the workspace's. Where nothing can be kept (no `cache_dir`,
    a read-only mount) the prompt is rendered each time.

    Raises:
        InvalidInputError: A template of the workspace is broken.
    """
    record = _record_of(parts)
    digest = sha256_hex(record)
    mark = _drawn(key, record, digest, persona)
    stamps = kept_prompts.stamps(root, _language(lang))
    shown = [root, persona, file, mark, way, program]
    inputs = [__version__, kind, _language(lang), *shown, stamps]
    name = sha256_hex(_written([digest, *inputs]))
    path = os.path.join(cache_dir, f"{name}.prompt") if cache_dir else ""
    kept = kept_prompts.read(path) if path else None
    if kept is not None:
        return kept, path
    text = render_prompt(
        kind,
        parts,
        lang=lang,
        root=root,
        checklist=checklist(root, lang),
        persona=persona,
        boundary=mark,
        file=file,
        way=way,
        program=program,
    )
    if path:
        kept_prompts.keep(path, text)
    return text, path


def _record_of(parts: dict[str, Any]) -> bytes:
    """Return bytes that are the same for the same parts, and quickly made.

    A prompt may show megabytes. Version 2 of the form of `marshal` knows neither
    references nor what is interned, so equal values give equal bytes.
    """
    try:
        return marshal.dumps(parts, 2)
    except ValueError:  # something that is not plain, which JSON may know how to write
        return _written(parts)


def _language(lang: str) -> str:
    return lang if lang in LANGUAGES else LANGUAGES[0]


def _written(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _line(value: object, max_chars: int = _LINE_MAX_CHARS) -> str:
    """Return a value on one line, without control characters, cut at `max_chars`."""
    plain = one_line(str(value))
    return plain if len(plain) <= max_chars else plain[: max_chars - 1].rstrip() + "…"


def bare_name(value: object) -> str:
    """Return a name as it may stand in a sentence of ours, without what Markdown and marks use.

    Source: SC-005.
    """
    return _line(_line(value).translate(_NO_MARKUP))


def in_quotes(value: object, max_chars: int = _LINE_MAX_CHARS) -> str:
    """Return what a person called himself or the matter, on one line and between quotation marks.

    Source: SC-005.
    """
    return f"“{_line(value, max_chars).translate(_NO_QUOTES)}”"


def _below(text: str, level: int) -> str:
    """Return Markdown whose highest heading stands one below `level`, the others as before."""
    lines = text.split("\n")
    depths = {at: depth for at, depth in enumerate(_heading_depths(lines)) if depth}
    more = level + 1 - min(depths.values(), default=level + 1)
    if more > 0:
        for at, depth in depths.items():
            lines[at] = "#" * min(6, depth + more) + lines[at].lstrip().lstrip("#")
    return "\n".join(lines)


def _heading_depths(lines: list[str]) -> Iterator[int]:
    """Yield for each line how deep a heading it is, 0 for what is none; code has no headings."""
    fence = ""
    for line in lines:
        bare = line.lstrip(" ")
        if bare[:3] in ("```", "~~~") and fence in ("", bare[:3]):
            fence = "" if fence else bare[:3]
        depth = len(bare) - len(bare.lstrip("#"))
        is_heading = 0 < depth <= 6 and bare[depth : depth + 1] in ("", " ", "\t")
        yield depth if is_heading and not fence and len(line) - len(bare) < 4 else 0


def _broken_template(error: Exception, kind: str, *, is_own: bool) -> InvalidInputError:
    """Say in which template, on which line, what is wrong."""
    if not is_own:
        return InvalidInputError(
            f"the built-in prompt {kind}.md.j2 cannot be made: {_line(error, 200)}",
            "a template of your own in prompts/ takes its place",
        )
    place, line, trace = "", None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(".j2"):
            place, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    if getattr(error, "lineno", None):  # a syntax error knows its place itself
        place, line = str(getattr(error, "filename", None) or place), getattr(error, "lineno", None)
    where = f"{place or kind + '.md.j2'}{f', line {line}' if line else ''}"
    return InvalidInputError(
        f"the prompt template {where} is broken: {_line(error, 200)}",
        "correct it, or take it away: the built-in one is used then",
    )


def _ours(name: str) -> str:
    """Return where a reference of the program lies; installers may put links in its place."""
    return os.path.realpath(os.path.join(REFERENCES, name))


def _read(path: str) -> str:
    """Return a regular text file; "" when there is none that can be read (SC-004)."""
    try:
        return content_of(path).decode("utf-8")
    except UnicodeDecodeError:
        return ""


# --- The built-in prompts, rendered without the engine


def _render_made(names: Sequence[str], language: str, values: Mapping[str, Any]) -> str:
    """Render the first of the named templates that there is; one of them must be built in.

    Raises:
        InvalidStateError: This installation has no prompts.
        Exception: A value is not what the template takes it for.
    """
    prompts = kept_prompts.made()[1]
    modules = {
        name: f"{language}_{name.removesuffix('.md.j2').replace('-', '_')}" for name in names
    }
    name = next(name for name in names if modules[name] in prompts)
    module = __import__(f"{kept_prompts.MADE}.{modules[name]}", fromlist=("TEMPLATES",))
    return _Environment(module.TEMPLATES, _filters(language)).render(name, dict(values))


class UnknownError(Exception):
    """A template names what is not there."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise UnknownError


class _Absent:
    """A value that is not there: `default` may take its place, anything else is refused."""

    def __init__(self, *_: object, **__: object) -> None:
        """Take what the engine would need to say what is missing."""

    __str__ = __iter__ = __bool__ = __len__ = __eq__ = __hash__ = __contains__ = _refuse
    __getattr__ = __getitem__ = __call__ = __add__ = __radd__ = __lt__ = __gt__ = _refuse


MISSING = object()  # what a name has that was given no value


class Loop:
    """A loop whose body asks where it stands: in its first pass, or in its last."""

    def __init__(self, items: Iterable[Any], _undefined: object) -> None:
        self._items = list(items)
        self.first = self.last = False

    def __iter__(self) -> Iterator[tuple[Any, Loop]]:
        for number, item in enumerate(self._items, start=1):
            self.first, self.last = number == 1, number == len(self._items)
            yield item, self


class _Context:
    """The values that a template sees, and those that it sets."""

    eval_ctx = None

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self.vars: dict[str, Any] = {}
        self.exported_vars: set[str] = set()

    def resolve_or_missing(self, name: str) -> Any:
        if name in self.vars:
            return self.vars[name]
        return self._values.get(name, MISSING)

    def get_all(self) -> dict[str, Any]:
        return {**self._values, **self.vars}

    def call(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        return target(*args, **kwargs)


class _Template:
    """One template, ready to run."""

    def __init__(self, root: Rendering, environment: _Environment) -> None:
        self.root_render_func = lambda context: root(context, environment=environment)

    def new_context(
        self, values: dict[str, Any], _shared: bool, local: Mapping[str, Any]
    ) -> _Context:
        return _Context({**values, **{k: v for k, v in local.items() if v is not MISSING}})


class _Environment:
    """What compiled templates ask of the engine."""

    undefined = _Absent
    concat = "".join

    def __init__(self, templates: Mapping[str, Rendering], ours: Filters) -> None:
        self._templates = templates
        self.filters: Filters = {
            "default": lambda value, other="": other if isinstance(value, _Absent) else value,
            "format": lambda text, *values: text % values,
            "join": lambda _, parts, between="": between.join(map(str, parts)),
            "length": len,
            "sort": _sorted,
            **ours,
        }

    def render(self, name: str, values: dict[str, Any]) -> str:
        return "".join(self._templates[name](_Context(values), environment=self))

    def get_template(self, name: str, _parent: str) -> _Template:
        return _Template(self._templates[name], self)

    def getattr(self, value: Any, name: str) -> Any:
        if type(value) is dict and name not in _OF_A_DICT:  # nearly always, and twice as quick
            return self.getitem(value, name)
        try:
            return getattr(value, name)
        except AttributeError:
            return self.getitem(value, name)

    def getitem(self, value: Any, name: Any) -> Any:
        try:
            return value[name]
        except (LookupError, TypeError):
            return _Absent()


def nothing(*_: object, **__: object) -> str:
    """Return what an `if` without `else` says."""
    return ""


def unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that the engine would mark as its own."""
    return function


def joined(parts: Iterable[object]) -> str:
    """Return the parts as one text."""
    return "".join(map(str, parts))


def _sorted(_: object, items: Iterable[Any], *, attribute: str) -> list[Any]:
    return sorted(items, key=lambda one: one[attribute])
