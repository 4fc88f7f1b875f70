"""How every kind's page is written: marks, shown texts, the state block.

A page is Markdown made from a state. What was said is quoted between two marks, and the mark
carries the digest of the text as the page shows it. `reading` reads a page that was changed; this
module imports no regular expressions, which cost a third of Python's own start.
"""

from __future__ import annotations

import codecs
from itertools import groupby

from council.kernel import ids
from council.kernel.codec import dumps
from council.kernel.record import Any, Record

END = "<!--council:end-->"
_BLOCK, _EOF = "<!--council-state", "<!--council:eof rev="
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_LOOKED_AT = ("#", "<", "`", "~", "[", "\n ", "\n\t", "\n-", "\n=", "\n\n\n")
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), 127))
_Lines = list[tuple[str, bool]]  # each with whether it is code


class Taken(Record):
    """What was taken in from a page that was changed by hand: events in their order.

    `refused` has one reason for each change that was not taken in; the page is kept for its words.
    """

    events: list[Any] = []
    refused: list[str] = []


def decoded(data: bytes) -> str:
    """Return the text of a file of people: UTF-8, or UTF-16 or 32 as their first bytes show.

    A byte that is none of UTF-8, from an old editor or shell, is a letter of Windows-1252. A mark
    of the byte order is left out; what is cut off within a letter ends with U+FFFD.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        from json import detect_encoding  # needed for pages of other programs alone

        return data.decode(detect_encoding(data), "replace").removeprefix("\ufeff")
    return data.decode("utf-8", "windows").removeprefix("\ufeff")


def _windows(error: Any) -> tuple[str, int]:
    """Return the letters that bytes are which are none in UTF-8, and where reading goes on."""
    whole, start, end = error.object, error.start, error.end
    is_torn = end == len(whole) and end - start > 1
    return "\ufffd" if is_torn else whole[start:end].decode("cp1252", "replace"), end


codecs.register_error("windows", _windows)


def revision(text: str) -> tuple[int, str] | None:
    """Return the revision and its mark that the last line of a page names, None where it has none.

    A page that was changed by hand may have text behind that line.
    """
    at = text.rfind(_EOF)
    number, _, rest = text[at + len(_EOF) :].partition(" mark=")
    drawn = rest.partition("-->")[0].strip()
    fits = number.isascii() and number.isdigit() and len(number) < 16 and 0 < len(drawn) <= 64
    return (int(number), drawn) if at >= 0 and text[at - 1 : at] != "\\" and fits else None


def plain(text: str) -> str:
    """Return a text that has any line ends with line feeds, without control characters."""
    text = text.replace("\r\r\n", "\n").replace("\r\n", "\n")
    return text.replace("\r", "\n").translate(_CONTROLS)


def digest(text: str) -> str:
    """Return the 32 hex digits that stand for a shown text; blanks at line ends do not count."""
    if " \n" in text or "\t\n" in text or text[-1:] in " \t":
        text = "\n".join([line.rstrip(" \t") for line in text.split("\n")])
    return ids.digest(text.strip("\n"))[:32]


def escaped(text: str) -> str:
    """Return `text` with a backslash more in each `<!--council`, so that no mark is in it."""
    first, *rest = text.split("<!--")
    return first + "".join(("<!--\\" if _is_ours(part) else "<!--") + part for part in rest)


def unescaped(text: str) -> str:
    """Return what `escaped` was given."""
    first, *rest = text.split("<!--\\")
    return first + "".join(("<!--" if _is_ours(part) else "<!--\\") + part for part in rest)


def _is_ours(comment: str) -> bool:
    return comment.lstrip("\\").startswith("council")


def shown(text: str, level: int) -> str:
    """Return a text as the page shows it, before it is quoted (`page.md`, rules 3 and 4).

    Letters and digits stay as they are. `level` is that of the text's highest heading.
    """
    text = escaped(plain(text))  # in this order: a control character may part a mark
    whole = f"\n{text}"
    if text.isascii() and not any(sign in whole for sign in _LOOKED_AT):
        return text.strip("\n")  # most texts
    lines = text.split("\n")
    made = _fenced(lines) if "```" in text or "~~~" in text else [(line, False) for line in lines]
    if any(sign in text for sign in ("#", "\n-", "\n=", "\n ")):
        made = _with_headings(made, level)
    if any(sign in text for sign in ("<", "![", "]:")):
        blocks, made = groupby(made, lambda row: not row[1] and bool(row[0].strip())), []
        for is_text, rows in blocks:
            block = list(rows)
            neutral = _neutral([line for line, _ in block]) if is_text else []
            made += [(line, False) for line in neutral] or block
    kept: list[str] = []
    for line, code in made:
        if line.strip():
            kept.append(line)
        elif kept and (code or kept[-1]):
            kept.append("")
    return "\n".join(kept).strip("\n")


def as_typed(text: str) -> str:
    """Return a draft or a note as the page shows it: as typed, without marks and open fences."""
    return "\n".join(line for line, _ in _fenced(escaped(plain(text)).split("\n"))).strip("\n")


def _fenced(lines: list[str]) -> _Lines:
    """Return lines, with the fence closed that was left open.

    A line that is indented less than the fence that it is in has ended the fence, or there never
    was one: nothing after it is treated as code. Neither is what is indented by four columns.
    """
    made: _Lines = []
    fence, indent, sound = "", 0, True
    for line in lines:
        bare, own = line.strip(" \t"), 0
        if bare and (fence or bare[:3] in ("```", "~~~")):
            own = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))
        if fence and bare and own < indent:
            fence, sound = "", False
        inside = bool(fence)
        if fence and bare.startswith(fence) and not bare.strip(fence[0]) and own < 4:
            fence = ""
        elif not fence and sound and bare[:3] in ("```", "~~~") and own < 4:
            length = len(bare) - len(bare.lstrip(bare[0]))
            if bare[0] == "~" or "`" not in bare[length:]:
                fence, indent, inside = bare[:length], own, True
        made.append((line, inside))
    return [*made, (" " * indent + fence, True)] if fence else made


def _level(line: str) -> int:
    """Return the level of a `#` heading, 0 where a line is none."""
    if "#" not in line[:4]:
        return 0
    bare = line.lstrip(" ")
    level = len(bare) - len(bare.lstrip("#"))
    own = level <= 6 and len(line) - len(bare) < 4 and bare[level : level + 1] in ("", " ", "\t")
    return level if own else 0


def _with_headings(lines: _Lines, level: int) -> _Lines:
    """Return lines with the highest heading at `level` and an empty line around each."""
    made: _Lines = [("", False)]
    for line, code in lines:
        under, above = line.strip(), made[-1]
        if (
            under[:1] in ("=", "-")
            and not (code or above[1] or under.strip(under[0]))
            and line[:4].strip()
            and (len(made) < 3 or not made[-2][0].strip() or made[-2][1] or _level(made[-2][0]))
            and _may_be_heading(above[0])
        ):
            made[-1] = (f"{'#' if under[0] == '=' else '##'} {above[0].strip()}", False)
        else:
            made.append((line, code))
    highest = min((n for line, code in made if not code and (n := _level(line))), default=0)
    moved: _Lines = []
    for line, code in made:
        own = 0 if code or not highest else _level(line)
        if own:
            line = f"{'#' * min(6, own + level - highest)} {line.strip()[own:].strip()}".rstrip()
        moved += [("", False), (line, False), ("", False)] if own else [(line, code)]
    return moved


def _may_be_heading(line: str) -> bool:
    """Return whether an underlined line is a paragraph of its own, not an item, quote or table."""
    bare = line.strip()
    item = bare[:2] in ("- ", "* ", "+ ") or bare.lstrip("0123456789")[:1] in (".", ")")
    return bool(bare) and not (item or bare[0] in ">#|" or line[:4] == "    ")


def _neutral(lines: list[str]) -> list[str]:
    """Return a block of lines without HTML, images and link definitions; code spans stay."""
    for at, line in enumerate(lines):
        bare = line.lstrip(" \t>-*+.)0123456789")
        if bare[:1] == "[" and "]:" in (line if "]" in line else "".join(lines[at:])):
            lines[at] = line[: len(line) - len(bare)] + "\\" + bare
    if not any("<" in line or "![" in line for line in lines):
        return lines
    made = [_without_html(line, True) for line in lines]
    return [_without_html(line, False) for line in lines] if "" in made else made


def _without_html(line: str, spans: bool) -> str:
    """Return a line with backslashes; with `spans`, "" where a backtick has no partner."""
    made, at = "", 0
    while at < len(line):
        sign, after = line[at], line[at + 1 : at + 2]
        if sign == "\\" and after in _PUNCTUATION:
            end = at + 2
        elif sign == "`" and spans:
            end = start = at + len(line[at:]) - len(line[at:].lstrip("`"))
            run, length = 0, start - at
            while run != length:
                found = line.find("`", end)
                if found < 0:
                    return ""
                run = len(line[found:]) - len(line[found:].lstrip("`"))
                end = found + run
        else:
            end = at + 1
            made += "\\" if _begins_html(sign, after) or sign + after == "![" else ""
        made, at = made + line[at:end], end
    return made


def _begins_html(sign: str, after: str) -> bool:
    return sign == "<" and after != "" and (after.isalpha() or after in "/!?")


def one_line(text: str) -> str:
    """Return a text of others for one of our own lines (`page.md`, rule 6)."""
    text = " ".join(text.translate(_CONTROLS).split())
    if not set(text) & set("\\`[]<*_"):
        return text
    made = ""
    for before, sign, after in zip(" " + text, text, text[1:] + " ", strict=False):
        beside = before.isalnum(), after.isalnum()
        slash = sign in "\\`[]" or _begins_html(sign, after) or (sign == "*" and any(beside))
        made += "\\" + sign if slash or (sign == "_" and not all(beside)) else sign
    return escaped(made)


def mark(kind: str, *words: str) -> str:
    """Return the mark that opens a region."""
    return f"<!--council:{' '.join([kind, *words])}-->"


def quoted(kind: str, name: str, text: str) -> list[str]:
    """Return the blocks of a region that quotes a shown text."""
    lines = "> " + text.replace("\n", "\n> ").replace("> \n", ">\n") if text else ">"
    return [mark(kind, *filter(None, (name, digest(text)))), lines, END]


def state_block(block: dict[str, Any], rev: int, drawn: str) -> str:
    """Return the state as the page has it, and the page's last line, with revision and mark.

    Dicts and lists of dicts in `block` take one line a row.
    """
    lines = []
    for key, value in block.items():
        rows: list[str] = []
        if value.__class__ is dict and all(v.__class__ is dict for v in value.values()):
            rows = [f'"{name}": {dumps(row, spaced=True)}' for name, row in value.items()]
        elif value.__class__ is list and all(row.__class__ is dict for row in value):
            rows = [dumps(row, spaced=True) for row in value]
        opened, closed = "{}" if value.__class__ is dict else "[]"
        inside = ",\n  ".join(rows)
        whole = f"{opened}\n  {inside}\n {closed}" if rows else dumps(value, spaced=True)
        lines.append(f' "{key}": {whole}')
    inside = ",\n".join(lines)
    inside = inside.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"{_BLOCK}\n{{\n{inside}\n}}\n-->\n\n{_EOF}{rev} mark={drawn}-->\n"
