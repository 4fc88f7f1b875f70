"""The parts of a synthesis that minutes show first.

It finds decision, dissent, recommendation and next step by their usual
headings in both languages, and gives each part as it stands. It makes up
nothing: a text without such headings has no parts.

Source: C0-063, XC-012.
"""

from __future__ import annotations

import unicodedata

from council.core.record import Record

DECISION = "decision"
DISSENT = "dissent"
RECOMMENDATION = "recommendation"
NEXT_STEP = "next-step"

# How the headings of each kind begin, in lower-case ASCII.
_TITLES = {
    DECISION: "decision, verdict",
    DISSENT: "dissent, disagreement, objection, minority, blocker, desaccord, divergence, "
    "points bloquants, opinion minoritaire",
    RECOMMENDATION: "recommend, recommand",
    NEXT_STEP: "next step, next action, prochaine etape, prochaines etapes, suites",
}
_ARTICLES = ("the ", "our ", "la ", "le ", "les ", "notre ")
_LABEL_LEVEL = 7
_LABEL_MAX_WORDS = 2
_TITLE_MAX_CHARS = 80


class Part(Record):
    """One part: what it is, its heading as the author wrote it, and its text as it stands.

    `start` is the line of its heading, from 0, and `end` the first line behind it.
    """

    kind: str
    heading: str
    text: str
    start: int = 0
    end: int = 0


class _Heading(Record):
    """A heading or label: where it stands, its level, and what follows it on its line."""

    kind: str
    line: int
    level: int
    title: str
    rest: str


def synthesis_parts(text: str) -> list[Part]:
    """Return the recognised parts in the order of the text.

    A part ends with the next heading of its level, or with a part of another
    kind; a part inside one of its own kind is none.

    A heading is `# Decision`, a line of its own `**Decision**`, or a label
    `Decision:` with text after it.
    """
    lines = text.splitlines(keepends=True)
    headings = _headings(lines)
    parts: list[Part] = []
    covered: dict[str, int] = {}
    for at, heading in enumerate(headings):
        kind = heading.kind
        if not kind or heading.line < covered.get(kind, 0):
            continue
        end = len(lines)
        for later in range(at + 1, len(headings)):
            other = headings[later]
            if other.level <= heading.level or other.kind not in ("", kind):
                end = other.line
                break
        covered[kind] = end
        body = (heading.rest + "".join(lines[heading.line + 1 : end])).strip("\r\n")
        if body.strip():
            parts.append(
                Part(kind=kind, heading=heading.title, text=body, start=heading.line, end=end)
            )
    return parts


def without(text: str, parts: list[Part]) -> str:
    """Return what is left of a synthesis beside some of its parts, "" for headings alone."""
    lines = text.splitlines(keepends=True)
    taken = {line for part in parts for line in range(part.start, part.end)}
    left = [(at, line) for at, line in enumerate(lines) if at not in taken]
    headings = {one.line for one in _headings(lines) if one.level < _LABEL_LEVEL}
    if not any(line.strip() and at not in headings for at, line in left):
        return ""
    return "".join(line for _, line in left).strip("\r\n")


def _headings(lines: list[str]) -> list[_Heading]:
    found: list[_Heading] = []
    fence = ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[:3]
        else:
            heading = _heading(line, number)
            if heading is not None:
                found.append(heading)
    return found


def _heading(line: str, number: int) -> _Heading | None:
    bare = line.strip()
    level = len(bare) - len(bare.lstrip("#"))
    rest = ""
    if 1 <= level <= 6 and bare[level : level + 1].isspace():
        title = bare[level:].strip().rstrip("#").strip()
    elif bare.startswith("**") and (end := bare.find("**", 2)) > 2:
        title, after, level = bare[2:end], bare[end + 2 :].lstrip(), _LABEL_LEVEL
        if bare[end + 2 :] and not title.rstrip().endswith(":") and not after.startswith(":"):
            return None
        rest = line.lstrip()[end + 2 :].lstrip(" \t\u00a0:")
    else:
        title, colon, rest = line.partition(":")
        level, rest = _LABEL_LEVEL, rest.lstrip(" \t")
        is_label = title[:1].isalpha() and len(title.split(None, 3)) <= _LABEL_MAX_WORDS
        if not (colon and is_label and _kind(title)):
            return None
    return _Heading(kind=_kind(title), line=number, level=level, title=title, rest=rest)


def _plain(title: str) -> str:
    """Return a title as lower-case ASCII words, without numbering, emphasis and articles."""
    folded = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = " ".join("".join(sign if sign.isalpha() else " " for sign in folded).split())
    for article in _ARTICLES:
        words = words.removeprefix(article)
    return words


def _kind(title: str) -> str:
    if len(title) > _TITLE_MAX_CHARS:
        return ""
    plain = _plain(title)
    kinds = (kind for kind, starts in _TITLES.items() if plain.startswith((*starts.split(", "),)))
    return next(kinds, "")
