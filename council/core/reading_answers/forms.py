"""Where in an answer its form stands, and in which shape it is written.

An answer may hold several forms: a draft before the final one, the template
echoed back, somebody else's in a quotation, one in a fence behind a preamble.
Found are those that are the author's own; which of them counts is decided
here, too. Where two contradict each other and neither is marked as the last
word, only what both say alike counts.

Source: DL-012, DL-017, DL-026, HR-003, HR-004.
"""

from __future__ import annotations

from council.core.reading_answers.structure import (
    EMPHASIS,
    Mark,
    bodies_of,
    closes,
    fence_language,
    is_rule,
    marks_of,
    opened_fence,
    own_lines,
    plain,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from council.core.reading_answers.structure import Line

# Before the key of a name that means a part only where no part has a better one.
WEAK = "?"

_MAX_JSON_TRIES = 40
_LINE_CHARS = 400
_MAX_MARKED_CHARS = 300
# What an author says between a draft and the answer that takes its place.
_FINAL = (
    "final", "revised", "corrected", "correction", "updated version", "on reflection", "wait",
    "actually", "let me revise", "let me redo", "change my mind", "changed my mind", "scratch that",
    "instead", "here is my answer", "version finale", "en fait", "reflexion faite", "corrige",
    "endgultig", "korrigiert", "uberarbeitet", "definitiva", "corregid", "en realidad",
)  # fmt: skip
_DRAFT = ("draft", "brouillon", "entwurf", "borrador", "first attempt", "first pass")
_PROSE_FENCES = ("", "markdown", "md", "text", "txt", "json", "plaintext", "yaml", "xml")


class Form:
    """One form: the bodies of its parts, or the fields of JSON, and the text before it."""

    __slots__ = ("before", "bodies", "fields", "is_final", "is_loose")

    def __init__(
        self,
        bodies: dict[str, list[list[Line]]],
        *,
        fields: dict[str, Any] | None = None,
        before: str = "",
        is_final: bool = False,
        is_loose: bool = False,
    ) -> None:
        self.bodies = bodies
        self.fields = fields
        self.before = before
        self.is_final = is_final
        self.is_loose = is_loose

    @property
    def keys(self) -> set[str]:
        """The parts that the form has; "" is the text in none."""
        return {key for key in self.bodies if key}


def own_text(text: str, labels: Mapping[str, str]) -> str:
    """Return the part of a clean text in which its author answers.

    That is the text in a fence or a quotation if the form stands in there and
    outside is none, and the text itself otherwise.
    """
    if _is_form(text, labels):
        return text
    lines = text.strip().split("\n")
    if lines and all(not line.strip() or line.lstrip()[:1] == ">" for line in lines):
        inside = "\n".join([line.lstrip()[1:].removeprefix(" ") for line in lines])
        return inside if _is_form(inside, labels) or json_object(inside) is not None else text
    fenced = [one for one in _fences(text) if _is_form(one, labels) or _has_form_fields(one)]
    return "\n\n".join(fenced) if fenced else text


def _is_form(text: str, labels: Mapping[str, str]) -> bool:
    marks = marks_of(own_lines(text), labels)
    keys = {mark.key.removeprefix(WEAK) for mark in marks}
    return not keys.isdisjoint(("position", "consensus", "recommendation"))


def _has_form_fields(text: str) -> bool:
    fields = json_object(text)
    return fields is not None and any(
        normal_key(key) in ("position", "finalposition", "recommendation") for key in fields
    )


def _fences(text: str) -> Iterator[str]:
    """Yield what stands in fences of prose or JSON."""
    if "```" not in text and "~~~" not in text:
        return
    fence = ""
    inside: list[str] | None = None
    for line in text.split("\n"):
        if fence:
            if closes(line, fence):
                if inside is not None:
                    yield "\n".join(inside)
                fence, inside = "", None
            elif inside is not None:
                inside.append(line)
            continue
        if line.lstrip().startswith(">"):
            continue
        fence = opened_fence(line)
        if fence:
            inside = [] if fence_language(line) in _PROSE_FENCES else None


def untagged(text: str, labels: Mapping[str, str]) -> str:
    """Return a text whose parts in tags (`<position>…</position>`) are set off as headings."""
    if "</" not in text:
        return text
    import re  # only for an answer in tags

    def opened(found: re.Match[str]) -> str:
        name = found["name"].replace("_", " ").replace("-", " ")
        if plain(name) in ("response", "agreement", "stance") and found["more"].strip():
            given = dict(re.findall(r'(\w+)\s*=\s*"([^"\n]{0,80})"', found["more"]))
            agent = given.get("agent") or given.get("to") or given.get("id") or ""
            stance = given.get("stance") or given.get("value") or ""
            return f"\n- @{agent.lstrip('@')}: {stance} — " if agent and stance else found[0]
        key = labels.get(plain(name), "")
        return f"\n## {name}\n" if key else found[0]

    def closed(found: re.Match[str]) -> str:
        name = found["name"].replace("_", " ").replace("-", " ")
        is_ours = labels.get(plain(name), "") or plain(name) in ("response", "agreement")
        return "\n" if is_ours else found[0]

    if not any(labels.get(plain(name.replace("_", " "))) for name in _closed_tags(text)):
        return text
    text = re.sub(r"<(?P<name>[A-Za-z_-]{3,40})(?P<more>(?:\s[^<>\n]{0,200})?)>", opened, text)
    return re.sub(r"</(?P<name>[A-Za-z_-]{3,40})\s*>", closed, text)


def _closed_tags(text: str) -> set[str]:
    import re

    return set(re.findall(r"</([A-Za-z_-]{3,40})\s*>", text))


def forms_of(
    text: str,
    labels: Mapping[str, str],
    *,
    greedy: str = "",
    about: Callable[[str], str] | None = None,
    single: tuple[str, ...] = ("position", "confidence"),
) -> list[Form]:
    """Return the forms that stand in a text, in order; one without parts if there is none.

    A new form begins where a part comes again that each form has once.
    """
    lines = _split_labels(own_lines(text), labels)
    marks = _settled(marks_of(lines, labels, about))
    starts: list[int] = []
    seen: set[str] = set()
    for at, mark in enumerate(marks):
        if not mark.key:
            continue
        if not starts or (mark.key in single and mark.key in seen):
            starts.append(at)
            seen = set()
        seen.add(mark.key)
    if not starts:
        return [Form({"": [lines]}, is_loose=True)]
    found: list[Form] = []
    for number, start in enumerate(starts):
        begin = 0 if number == 0 else marks[start].at
        is_last = number + 1 == len(starts)
        past = len(lines) if is_last else marks[starts[number + 1]].at
        mine = marks[start : None if is_last else starts[number + 1]]
        ahead = marks[:start] if number == 0 else []
        bodies = bodies_of(lines, [*ahead, *mine], begin, past, greedy=greedy)
        found.append(
            Form(
                bodies,
                before=_said_before(lines, marks, start),
                is_final=number > 0 and any(one.is_final for one in mine),
                is_loose=any(one.key and one.rank >= _LOOSE for one in mine),
            )
        )
    return found


def _settled(marks: list[Mark]) -> list[Mark]:
    """Give parts with a weak name their key where none has the strong one, else none."""
    strong = {mark.key for mark in marks}
    for mark in marks:
        if mark.key.startswith(WEAK):
            key = mark.key.removeprefix(WEAK)
            mark.key = "" if key in strong else key
    return marks


_LOOSE = 7  # below headings: bold and bare labels


def _said_before(lines: list[Line], marks: list[Mark], start: int) -> str:
    """Return the last paragraph, and headings without a part, before a form."""
    begin = marks[start].at
    paragraph: list[str] = []
    at = begin - 1
    while at >= 0 and (not lines[at][0].strip() or is_rule(lines[at][0])):
        at -= 1
    while at >= 0 and lines[at][0].strip() and lines[at][1] and len(paragraph) < 6:
        paragraph.append(lines[at][0][:_LINE_CHARS])
        at -= 1
    return "\n".join(reversed(paragraph))


def _split_labels(lines: list[Line], labels: Mapping[str, str]) -> list[Line]:
    """Split lines such as `**Position:** … **Confidence:** 4`, in which labels follow another."""
    found: list[Line] = []
    for line, is_own in lines:
        if is_own and line.count(":") > 1 and len(line) <= 4 * _LINE_CHARS:
            found.extend([(piece, True) for piece in _pieces(line, labels)])
        else:
            found.append((line, is_own))
    return found


def _pieces(line: str, labels: Mapping[str, str]) -> list[str]:
    if not marks_of([(line, True)], labels) or line.lstrip()[:1] == "#":
        return [line]
    pieces, begin = [], 0
    at = line.find(":")
    while at >= 0:
        start = max(line.rfind(mark, begin, at) + 1 for mark in ".;|!?)")
        bold = line.rfind("**", begin, at - (line[at - 2 : at] == "**") * 2)
        start = bold if bold > start or (bold > begin and start <= begin) else start
        title = line[start:at].strip(EMPHASIS + " ")
        is_label = start > begin and title and labels.get(plain(title), "")
        if is_label and (title[:1].isupper() or line[start : start + 2] == "**"):
            pieces.append(line[begin:start].rstrip(" ;|"))
            begin = start
        at = line.find(":", at + 1)
    return [*pieces, line[begin:].lstrip()] if pieces else [line]


def chosen(forms: list[Form], is_empty: Callable[[Form], bool]) -> tuple[Form, list[Form]]:
    """Return the form that counts, and those beside it that are as good as it.

    Args:
        forms: The forms of an answer in order, at least one.
        is_empty: Returns true for a form that nobody has filled in.
    """
    filled = [one for one in forms if not is_empty(one)] or forms[-1:]
    last = filled[-1]
    if len(filled) == 1 or last.is_final or _says(last.before, _FINAL):
        return last, []
    if _says(filled[0].before, _DRAFT):
        return last, [one for one in filled[1:-1] if not _says(one.before, _DRAFT)]
    return last, filled[:-1]


def _says(before: str, words: tuple[str, ...]) -> bool:
    """Return true if a few words before a form say which one it is."""
    low = plain(before)
    if len(low) > _MAX_MARKED_CHARS:
        low = low[-_MAX_MARKED_CHARS:]
    is_announced = before.rstrip(EMPHASIS + " ").endswith((":", "：")) or before[:1] in ("#", "*")
    starts = low.startswith(words)
    return bool(low) and (starts or (is_announced and any(word in low for word in words)))


def normal_key(key: str) -> str:
    """Return a JSON key without case, hyphens and underscores."""
    return "".join(letter for letter in plain(key) if letter.isalnum())


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, None when it is none."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    import json

    try:
        # Of a key given twice the first counts, as with parts.
        return json.loads(text, object_pairs_hook=_first_of_each)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        fields.setdefault(key, value)
    return fields


def last_json_object(text: str) -> dict[str, Any] | None:
    """Return the last JSON object that begins a line of a text and has the fields of a form."""
    if "{" not in text:
        return None
    import json

    decoder = json.JSONDecoder()
    found = None
    at = past = tries = 0
    for line in text.split("\n"):
        begin = at + len(line) - len(line.lstrip())
        at += len(line) + 1
        if begin < past or not line.lstrip().startswith("{") or tries == _MAX_JSON_TRIES:
            continue
        tries += 1
        try:
            value, past = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and any(normal_key(key) in _FORM_FIELDS for key in value):
            found = value
    return found


_FORM_FIELDS = ("position", "finalposition", "confidence", "recommendation", "consensussummary")
