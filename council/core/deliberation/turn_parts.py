"""The form of a structured text: its own lines, its sections, its sentences.

It finds what an author says under which heading, and leaves out what he only
quotes: lines that start with `>` and fenced code. What a section means is
decided by `turns`.

Every step is linear in the length of the text.

Source: DL-011, DL-017, DL-029.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    # A line, and whether it is the author's own: neither quoted nor code.
    Line = tuple[str, bool]

DASHES = "—–―"
COLONS = ":："
EMPHASIS = "*_`"

_BULLETS = "-*+•·‣◦–"
_DIGITS = "0123456789"
_BRACKETS = {"[": "]", "{": "}", "<": ">"}
_PROSE = ("", "markdown", "md", "text", "txt", "json")
_LABEL_MAX_CHARS = 60
_DEEPEST = 4
_BOLD, _BARE, _ITEM = 5, 6, 2
_ENDS = ".!?…。！？"
_UNSPACED_ENDS = "。！？"
_CLOSERS = "\"'’”»)]*_`" + _ENDS
_SYMBOLS = "\u2190"  # arrows, signs and pictures start here
_PLAIN = str.maketrans(
    "àâäçéèêëîïôöùûü’", "aaaceeeeiioouuu'", "\u0300\u0301\u0302\u0308\u0327\ufe0f"
)


def plain(words: str) -> str:
    """Return a few words in the form in which they are compared: no case, no accents."""
    return " ".join(words.casefold().translate(_PLAIN).split())


def labels_of(names: Mapping[str, str]) -> dict[str, str]:
    """Turn `{section: "name|name|…"}` into a table from each name to its section."""
    return {plain(label): key for key, many in names.items() for label in many.split("|")}


def unwrapped(text: str) -> str:
    """Return a text with plain line ends, and without the one code fence around all of it."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.strip().split("\n")
    fence = _fence(lines[0])
    if len(lines) < 2 or not fence or not _closes(lines[-1], fence):
        return text
    if lines[0].strip(fence[0] + " \t").casefold() not in _PROSE:
        return text
    inner = ""
    for line in lines[1:-1]:
        if inner:
            inner = "" if _closes(line, inner) else inner
        elif _closes(line, fence):
            return text
        else:
            inner = _fence(line)
    return text if inner else "\n".join(lines[1:-1])


def own_lines(text: str) -> list[Line]:
    """Return the lines of a text, each with whether it is the author's own."""
    read, fence = [], ""
    for line in text.split("\n"):
        if fence:
            read.append((line, False))
            fence = "" if _closes(line, fence) else fence
        elif ">" in line and line.lstrip().startswith(">"):
            read.append((line, False))
        else:
            fence = _fence(line) if line else ""
            read.append((line, not fence))
    return read


def _fence(line: str) -> str:
    """Return the marks of the code fence that a line opens, "" when it opens none."""
    if "```" not in line and "~~~" not in line:
        return ""
    start = without_bullet(line.lstrip())
    if start[:3] not in ("```", "~~~"):
        return ""
    info = start.lstrip(start[0])
    return "" if start[0] == "`" and "`" in info else start[: len(start) - len(info)]


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return bare.startswith(fence) and not bare.strip(fence[0])


def without_bullet(start: str) -> str:
    """Return a line's text without the bullet or the number of a list item before it."""
    if start[:1] and start[0] in _BULLETS:
        return start[1:].lstrip() if start[1:2] == "@" or start[1:2].isspace() else start
    if start[:1] and start[0] in _DIGITS:
        after = start[:5].lstrip(_DIGITS)
        if after[:1] in (".", ")") and after[1:2].isspace():
            return start[start.index(after[0]) + 1 :].lstrip()
    return start


def sections(
    lines: list[Line], labels: Mapping[str, str], *, greedy: str = ""
) -> dict[str, list[list[Line]]]:
    """Return the bodies of each named section in order; under "" what stands in none.

    Of the headings with one name those of the highest rank count (`#` before
    bold before a bare `Name:`); the others are text of the section they are in.
    A heading of another name ends a section, unless it is of lower rank or the
    section is `greedy`.
    """
    marks = [
        (at, *mark)
        for at, (line, is_own) in enumerate(lines)
        if is_own and line and (mark := heading(line, labels))
    ]
    ranks: dict[str, int] = {}
    for _, name, rank, _ in marks:
        ranks[name] = min(rank, ranks.get(name, rank))
    body: list[Line] = []
    found = {"": [body]}
    here, depth, begin = "", 0, 0
    for at, name, rank, rest in marks:
        if rank > ranks[name] if name else here in ("", greedy) or rank > depth:
            continue
        body.extend(lines[begin:at])
        body = [(rest, True)] if rest else []
        found.setdefault(name, []).append(body)
        here, depth, begin = name, rank, at + 1 if name else at
    body.extend(lines[begin:])
    return found


def heading(line: str, labels: Mapping[str, str]) -> tuple[str, int, str] | None:
    """Return section, rank and the text after its name if a line is a heading, else None.

    The section of a `#` heading with a name that is not in `labels` is "".
    """
    start = line.lstrip(" ")
    if not start or len(line) - len(start) >= 4:
        return None
    if start[0] == "#":
        title = start.lstrip("#")
        rank = len(start) - len(title)
        if rank > _DEEPEST:
            return None
        key, rest = _labelled(title.strip().rstrip("#"), labels)
        return (key, rank, rest) if key or title[:1].isspace() or not title else None
    body = without_bullet(start)
    lower = _ITEM if body is not start else 0
    if body[:1] and body[0] in "*_":
        key, rest = _emphasised(body, labels)
        return (key, _BOLD + lower, rest) if key else None
    colon = body.find(":", 0, _LABEL_MAX_CHARS)
    if colon < 0:
        colon = body.find("：", 0, _LABEL_MAX_CHARS)
    key = labels.get(_label(body[:colon]), "") if colon > 0 else ""
    return (key, _BARE + lower, body[colon + 1 :].strip()) if key else None


def _emphasised(body: str, labels: Mapping[str, str]) -> tuple[str, str]:
    """Return section and rest of `**Name**`, `**Name:** text`, `**Name**: text`."""
    inner = body.lstrip("*_")
    mark = body[: len(body) - len(inner)]
    end = inner.find(mark, 0, 2 * _LABEL_MAX_CHARS)
    if end < 0:
        return "", ""
    after = inner[end + len(mark) :].strip()
    is_set_off = not after or after[0] in COLONS + DASHES + "-" or inner[end - 1] in COLONS
    key, inside = _labelled(inner[:end], labels) if is_set_off else ("", "")
    return key, f"{inside} {after.lstrip(COLONS + DASHES + '- ')}".strip()


def _labelled(title: str, labels: Mapping[str, str]) -> tuple[str, str]:
    """Return section and rest of a title such as `Position` or `Confidence: 4`."""
    key = labels.get(_label(title), "")
    if key:
        return key, ""
    for at, letter in enumerate(title[:_LABEL_MAX_CHARS]):
        if letter in COLONS or letter in DASHES or (letter == "-" and title[at - 1 : at] == " "):
            return labels.get(_label(title[:at]), ""), title[at + 1 :].strip()
    return "", ""


def _label(title: str) -> str:
    """Return the name in a title: without numbers, pictures, marks and remarks in parentheses."""
    if len(title) > _LABEL_MAX_CHARS or "@" in title or "\\" in title:
        return ""
    name = title.strip().lstrip("0123456789.) ").strip(EMPHASIS + COLONS + " ")
    remark = name.find("(")
    if remark > 0:
        name = name[:remark]
    while name and name[0] >= _SYMBOLS and not name[0].isalnum():
        name = name[1:]
    while name and name[-1] >= _SYMBOLS and not name[-1].isalnum():
        name = name[:-1]
    return plain(name.strip(EMPHASIS + COLONS + " ").replace("/", " "))


def prose(body: list[Line], labels: Mapping[str, str]) -> str:
    """Return the text of a section as its author meant it, "" for an unfilled `[…]`."""
    text = "\n".join(
        [_unescaped(line, labels) if own and "\\" in line else line for line, own in body]
    ).strip()
    if is_unfilled(text):
        return ""
    return text[1:] if text.startswith("\\") and is_unfilled(text.lstrip("\\")) else text


def is_unfilled(text: str) -> bool:
    """Tell whether a text is nothing but one pair of brackets, as the form has them."""
    closing = _BRACKETS.get(text[:1], "")
    return bool(closing) and text.find(closing) == len(text) - 1


def _unescaped(line: str, labels: Mapping[str, str]) -> str:
    start = line.lstrip()
    if start.startswith("\\") and _is_special(start.lstrip("\\"), labels):
        return line[: len(line) - len(start)] + start[1:]
    return line


def _is_special(start: str, labels: Mapping[str, str]) -> bool:
    return bool(heading(start, labels) or _fence(start))


def escaped(text: str, labels: Mapping[str, str], *, greedy: bool = False) -> str:
    r"""Return a text that as the body of a section stays in it: `prose` gives it back.

    What would be read as a heading gets a backslash, and so does a code fence
    that is never closed. In a `greedy` section other headings may stand.

    >>> print(escaped("## Position\nNo.", {"position": "position"}))
    \## Position
    No.
    """
    text = "\\" + text if is_unfilled(text.lstrip("\\")) else text
    lines = text.split("\n")
    longest = _longest_closing_after(lines)
    safe, fence = [], ""
    for at, line in enumerate(lines):
        start = line.lstrip()
        opened = "" if fence or start.startswith(">") else _fence(line)
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opened and len(opened) <= longest[opened[0]][at]:
            fence = opened
        elif not start.startswith(">"):
            mark = heading(start, labels)
            is_read = opened or (mark and (mark[0] or not greedy))
            if is_read or (start[:1] == "\\" and _is_special(start.lstrip("\\"), labels)):
                indent = line[: len(line) - len(start)]
                safe.append(f"{indent}\\{start}")
                continue
        safe.append(line)
    return "\n".join(safe)


def _longest_closing_after(lines: list[str]) -> dict[str, list[int]]:
    """Return for each kind of fence and each line the longest closing mark below that line."""
    longest: dict[str, list[int]] = {}
    for mark in "`~":
        most, below = 0, []
        for line in reversed(lines):
            below.append(most)
            bare = line.strip()
            if bare and not bare.strip(mark):
                most = max(most, len(bare))
        longest[mark] = below[::-1]
    return longest


def sentence_ends(text: str) -> list[int]:
    """Return where each sentence ends, in order; text without an end mark has no end.

    A full stop before a small letter ends none (`e.g. this`).
    """
    ends: list[int] = []
    past = 0
    for at, letter in enumerate(text):
        if letter not in _ENDS or at < past:
            continue
        past = at + 1
        while past < len(text) and text[past] in _CLOSERS:
            past += 1
        after = text[past : past + 3].lstrip()[:1]
        is_end = past == len(text) or text[past].isspace() or letter in _UNSPACED_ENDS
        if is_end and not (letter in ".…" and after.islower()):
            ends.append(past)
    return ends


def count_sentences(text: str) -> int:
    """Count the sentences of a text; a last one without an end mark counts."""
    ends = sentence_ends(text)
    rest = text[ends[-1] :] if ends else text
    return len(ends) + any(letter.isalnum() for letter in rest)


def count_paragraphs(text: str) -> int:
    """Count the paragraphs of a text; a heading alone is none, code is one with its blank lines."""
    count, is_inside = 0, False
    for line, is_own in own_lines(text):
        if is_own and (not line.strip() or line.startswith("#")):
            is_inside = False
        elif not is_inside:
            count, is_inside = count + 1, True
    return count


def word_count(text: str) -> int:
    """Count the words of a text: what stands between blanks and holds a letter or a digit."""
    return sum(1 for word in text.split() if any(map(str.isalnum, word)))


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, None when it is none."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    import json

    try:
        # Of a key given twice the first counts, as with sections.
        return json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None


def json_text(value: object) -> str:
    """Return a JSON value if it is text that can be written, else ""."""
    return value.encode("utf-8", "replace").decode().strip() if isinstance(value, str) else ""


def json_items(fields: Mapping[str, Any], *keys: str) -> list[dict[str, Any]]:
    """Return the objects in the list that stands under the first of some keys that has one."""
    lists = [fields[key] for key in keys if isinstance(fields.get(key), list)]
    value: list[Any] = lists[0] if lists else []
    return [item for item in value if isinstance(item, dict)]
