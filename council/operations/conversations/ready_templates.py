"""Built-in templates that were compiled once, rendered without loading the template engine.

Loading Jinja costs more than all the rest of a command, and what the built-in
templates need of it is little: values, loops, includes, a few filters. The
engine compiles a template to Python; what it made is kept in the workspace
and run here against that little. Whatever is not known here (an undefined
value, another filter, code of another engine) ends in None: the caller then
renders with the engine, which knows everything and explains what is wrong.

Templates that people wrote into a workspace never come here: those are
rendered in the sandbox of the engine.

Source: `architecture.md` section 4 (no heavy import on the way of `context`).
"""

from __future__ import annotations

import marshal
import os
import sys

from council import __version__
from council.core.digests import sha256_hex
from council.operations.conversations import kept_prompts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import CodeType
    from typing import Any, NoReturn

    Filters = dict[str, Callable[..., Any]]
    Rendering = Callable[["_Context"], Iterator[str]]

_IMPORTS = "from jinja2.runtime import "

_OF_A_DICT = frozenset(dir(dict))

_loaded: dict[str, dict[str, CodeType]] = {}


def render(
    folder: str, names: Sequence[str], templates: str, values: Mapping[str, Any], ours: Filters
) -> str | None:
    """Render the first of the named templates that there is; None where the engine has to do it.

    Args:
        folder: Where compiled templates are kept, "" to keep none.
        names: The names, the best first.
        templates: The folder of the built-in templates in one language.
        values: What the template may name.
        ours: The filters of the product.
    """
    if not folder:
        return None
    path = _path(folder, names, templates)
    codes = _loaded.get(path) or _read(path) or _compile(path, names, templates, ours)
    if not codes:
        return None
    _loaded[path] = codes
    try:
        return _Environment(codes, ours).render(next(iter(codes)), dict(values))
    except Exception:  # whatever it is, the engine says it in its own words
        return None


def _path(folder: str, names: Sequence[str], templates: str) -> str:
    """Return where the compiled form of these templates, as they stand now, is kept."""
    stands = kept_prompts.stamps_of([templates])
    made_of = [__version__, sys.implementation.cache_tag, *names, stands]
    digest = sha256_hex(repr(made_of).encode("utf-8", "surrogateescape"))
    return os.path.join(folder, f"{digest}.ready")


def _read(path: str) -> dict[str, CodeType] | None:
    data = kept_prompts.read_bytes(path)
    try:
        return None if data is None else dict(marshal.loads(data))
    except (ValueError, TypeError, EOFError):
        return None


def _compile(
    path: str, names: Sequence[str], templates: str, ours: Filters
) -> dict[str, CodeType] | None:
    """Compile a template and those it includes, and keep them for the next process."""
    import jinja2
    from jinja2 import meta

    environment = engine(jinja2.Environment, [templates], ours)
    there = [name for name in names if os.path.exists(os.path.join(templates, name))]
    codes: dict[str, CodeType] = {}
    wanted = there[:1]
    try:
        while wanted:
            name = wanted.pop(0)
            if name in codes:
                continue
            with open(os.path.join(templates, name), encoding="utf-8") as stream:
                text = stream.read()
            wanted += [
                one for one in meta.find_referenced_templates(environment.parse(text)) if one
            ]
            imports, _, source = environment.compile(text, name, raw=True).partition("\n")
            if not imports.startswith(_IMPORTS):
                return None  # an engine that writes other code than we know
            codes[name] = compile(source, os.path.join(templates, name), "exec")
    except (jinja2.TemplateError, OSError, SyntaxError, UnicodeDecodeError):
        return None
    kept_prompts.keep_bytes(path, marshal.dumps(list(codes.items())))
    return codes


def engine(kind: type[Any], folders: list[str], ours: Filters, **more: Any) -> Any:
    """Return an environment of the engine, set up as all our templates want it."""
    import jinja2

    environment = kind(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **more,
    )
    environment.filters.update(ours)
    return environment


class _UnknownError(Exception):
    """The engine has to do this one."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise _UnknownError


class _Absent:
    """A value that is not there: `default` may take its place, anything else is refused."""

    def __init__(self, *_: object, **__: object) -> None:
        """Take what the engine would need to say what is missing."""

    __str__ = __iter__ = __bool__ = __len__ = __eq__ = __hash__ = __contains__ = _refuse
    __getattr__ = __getitem__ = __call__ = __add__ = __radd__ = __lt__ = __gt__ = _refuse


class _Missing:
    """What a name has that nobody gave a value."""


_MISSING = _Missing()


class _Loop:
    """A loop whose body asks where it stands."""

    def __init__(self, items: Iterable[Any], _undefined: object) -> None:
        self._items = list(items)
        self.length = len(self._items)
        self.index0 = -1

    def __iter__(self) -> Iterator[tuple[Any, _Loop]]:
        for item in self._items:
            self.index0 += 1
            yield item, self

    @property
    def index(self) -> int:
        return self.index0 + 1

    @property
    def first(self) -> bool:
        return self.index0 == 0

    @property
    def last(self) -> bool:
        return self.index == self.length


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
        return self._values.get(name, _MISSING)

    def get_all(self) -> dict[str, Any]:
        return {**self._values, **self.vars}

    def call(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        return target(*args, **kwargs)


class _Template:
    """One template, ready to run."""

    def __init__(self, code: CodeType, environment: _Environment) -> None:
        names: dict[str, Any] = {
            "environment": environment,
            "missing": _MISSING,
            "LoopContext": _Loop,
            "Undefined": lambda *_, **__: "",  # an `if` without `else` says nothing
            "TemplateRuntimeError": _UnknownError,
            "internalcode": lambda function: function,
            "str_join": lambda parts: "".join(map(str, parts)),
        }
        exec(code, names)
        self.root_render_func: Rendering = names["root"]

    def new_context(
        self, values: dict[str, Any], _shared: bool, local: Mapping[str, Any]
    ) -> _Context:
        return _Context({**values, **{k: v for k, v in local.items() if v is not _MISSING}})


class _Environment:
    """What compiled templates ask of the engine."""

    undefined = _Absent
    concat = "".join

    def __init__(self, codes: Mapping[str, CodeType], ours: Filters) -> None:
        self._codes = codes
        self.filters: Filters = {
            "default": lambda value, other="": other if isinstance(value, _Absent) else value,
            "format": lambda text, *values: text % values,
            "join": lambda _, parts, between="": between.join(map(str, parts)),
            "length": len,
            "sort": _sorted,
            **ours,
        }

    def render(self, name: str, values: dict[str, Any]) -> str:
        template = self.get_template(name, "")
        return "".join(template.root_render_func(_Context(values)))

    def get_template(self, name: str, _parent: str) -> _Template:
        return _Template(self._codes[name], self)

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


def _sorted(_: object, items: Iterable[Any], *, attribute: str) -> list[Any]:
    return sorted(items, key=lambda one: one[attribute])
