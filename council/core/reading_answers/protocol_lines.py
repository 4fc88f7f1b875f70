"""Lines of document 002 in what an agent said: where one stands, and what its parts are.

A line may stand in prose, in a code span, behind a bullet, in bold, in a
table. It is found by its first two segments, a number and a route. Whether it
is valid is decided in `wire`; here it is found, so that it can be read, and so
that no person is shown it.

Linear in the length of the text.

Source: HR-015, HR-017.
"""

from __future__ import annotations

import re
from functools import cache

from council.core.protocol.payload import flags_and_pairs
from council.core.record import Record

BARS = "|｜¦│┃∣❘ǀ"
# What parts the segments where no bar does; such a line is explained and never repaired.
_OTHER_SEPARATORS = "\t;,/"
_LEAST_BARS = 4
_MOST_BARS = 6
_LONGEST_LINE = 20_000
_LONGEST_NUMBER = 16
_HEAD = r"M(?:SG[_ -]?)?(?:\d{1,6}|<[^<>|\s]{1,12}>|\{[^{}|\s]{1,12}\}|n|\?{1,3})"
_ID = r"(?:[OWRG]\d{0,3}(?:\.\w{1,8})?|W?\*|User)"
_ARROW = r"(?:-{0,3}(?:>|&gt;|&#62;)|=(?:>|&gt;)|→|⇒|➜|➔|⟶|＞|›)"
_MARKS = "[*_`]{0,3}"
_ESCAPED = ("|", ">", "_", "*", "-", "#")
_OPENING = {"“": "”", "„": "“", "«": "»", "‘": "’", '"': '"', "'": "'"}
_PAIRED = ("```", "``", "`", "***", "**", "__", "~~", "*", "_")
_BULLETS = "-*+•–—‣◦▪●"
_AROUND = "`*_\"'“«‘„ "
# The fifth version has eleven segments, the last of which is what the line says.
_DATA_AT = 10


class Found(Record):
    """A line of the protocol in a line of a text.

    Args:
        text: The line without what stands around it.
        before: What stands before it in its line, "" for mere marks.
        mended: What was taken off, in words.
    """

    text: str
    before: str = ""
    mended: tuple[str, ...] = ()


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    bar = rf"{_MARKS}[ \t\u00a0]*\\?[{BARS}][ \t\u00a0]*{_MARKS}"
    any_bar = rf"{_MARKS}[ \t\u00a0]*\\?[{BARS}{_OTHER_SEPARATORS}][ \t\u00a0]*{_MARKS}"
    route = rf"{_ID}[ \t\u00a0]*\\?{_ARROW}[ \t\u00a0]*{_ID}"
    numbered = rf"{_HEAD}{any_bar}{route}{any_bar}"
    # No number, or none that can be read, and a type behind the route.
    routed = rf"{route}{bar}[A-Za-z]{{1,12}}{bar}"
    # The second version names one end alone.
    of_two = rf"MSG_\d{{1,4}}{bar}[OW]{bar}[RSCUAE]{bar}"
    flags = re.IGNORECASE
    return (
        re.compile(rf"(?<![\w.]){numbered}|(?<![\w.>]){routed}|(?<!\w){of_two}", flags),
        re.compile(rf"{_MARKS}{_HEAD}{_MARKS}[ \t\u00a0]*[{BARS}]", flags),
        re.compile(r"</?(?:code|pre|b|strong|em|i|p|li|td|tr|kbd|samp|tt|blockquote)>", flags),
        re.compile(r"(?:\d{1,3}[.)]|#{1,6}|\[[ xX]?\])\s+"),
    )


def find_line(line: str) -> Found | None:
    """Return the line of the protocol that stands in a line of text, None where none does."""
    if len(line) > _LONGEST_LINE or not _may_hold(line):
        return None
    at_all, headed, _, _ = _patterns()
    bare, mended = unwrapped(line)
    found = at_all.search(bare)
    if found is None:
        bars = sum(bare.count(mark) for mark in BARS)
        least = _LEAST_BARS if not mended else _MOST_BARS
        is_line = bars >= least and headed.match(bare) is not None and bare[-1:] not in BARS
        return Found(text=bare, mended=mended) if is_line else None
    start = _start(bare, found.start())
    before = bare[:start].rstrip()
    if not before.strip(_AROUND):
        return Found(text=bare, mended=mended)
    inner, more = unwrapped(_opened(bare, start))
    words = (*mended, *more, "words before it")
    return Found(text=inner, before=before, mended=tuple(dict.fromkeys(words)))


def _may_hold(line: str) -> bool:
    """Return false quickly if a line has too few separators to be one."""
    bars = sum(line.count(mark) for mark in BARS)
    return bars >= _LEAST_BARS or any(line.count(one) >= _LEAST_BARS for one in _OTHER_SEPARATORS)


def _start(line: str, at: int) -> int:
    """Return where a line begins whose route was found: a first segment before it belongs to it."""
    before = line[:at].rstrip()
    if not before or before[-1] not in BARS:
        return at
    first = before[:-1].strip()
    return 0 if len(first) <= _LONGEST_NUMBER else before[:-1].rstrip().rfind(" ") + 1


def _opened(line: str, start: int) -> str:
    """Return the rest of a line with the marks that stand right before it."""
    while start and line[start - 1] in _AROUND.rstrip():
        start -= 1
    return line[start:]


def unwrapped(line: str) -> tuple[str, tuple[str, ...]]:
    """Return a line without bullets, quotation marks, bold, code marks, and what was taken off."""
    mended: list[str] = []
    text = line.strip(" \t\r\n\u00a0\u3000")
    if text != line.rstrip("\r\n"):
        mended.append("blanks around it")
    _, _, tag, numbering = _patterns()
    for _ in range(8):
        before = text
        if text[:1] == "<" or text[-1:] == ">":
            text = tag.sub("", text).strip()
        if text[:1] == ">":
            text = text.lstrip("> ")
        elif text[:1] in _BULLETS and text[1:2] in (" ", "\t", "\u00a0"):
            text = text[2:].lstrip()
        else:
            numbered = numbering.match(text)
            text = text[numbered.end() :] if numbered else _without_pair(text)
        if text == before:
            break
        mended.append("marks around it")
    if text[:1] and text[0] in BARS:
        text = text.strip(BARS + " \t\u00a0")
        mended.append("bars around it")
    return text, tuple(dict.fromkeys(mended))


def _without_pair(text: str) -> str:
    for mark in _PAIRED:
        if text.startswith(mark) and len(text) > 2 * len(mark):
            end = text.find(mark, len(mark))
            inner = text[len(mark) : end]
            is_all = end + len(mark) == len(text)
            # Marks around one segment are none around the line.
            if end > 0 and (is_all or any(bar in inner for bar in BARS)):
                return inner.strip()
            return text
    closing = _OPENING.get(text[:1])
    return text[1:-1].strip() if closing and len(text) > 2 and text[-1] == closing else text


def segments_of(text: str) -> list[str]:
    """Return the parts of a found line: at its bars, or where it has none at what stands there."""
    if text.count("|") < _LEAST_BARS:
        for mark in BARS[1:]:
            text = text.replace(mark, "|")
    mark = next((one for one in "|" + _OTHER_SEPARATORS if text.count(one) >= _LEAST_BARS), "")
    return text.split(mark) if mark else [text]


def unescaped(text: str) -> str:
    """Return a text without the backslashes that Markdown sets before its marks."""
    if "\\" in text:
        for mark in _ESCAPED:
            text = text.replace("\\" + mark, mark)
    return text


def without_lines(text: str) -> str:
    r"""Return a text for people: of a line of the protocol in it, what it says is kept.

    >>> without_lines("Here:\nM9|O1>User|S|T1|P1|D|-|0|S1|-|result=Five of them")
    'Here:\nFive of them'
    """
    if not _may_hold(text):
        return text
    kept = []
    for line in text.split("\n"):
        shown: str | None = line
        for _ in range(4):  # what such a line says may hold another one
            found = find_line(shown or "")
            if found is None:
                break
            parts = segments_of(unescaped(found.text))
            said = said_by(" / ".join(parts[_DATA_AT:]) if len(parts) > _DATA_AT else parts[-1])
            before = found.before.rstrip(_AROUND)
            shown = " ".join(one for one in (before, said) if one) or None
        else:
            shown = None
        if shown is not None:
            kept.append(shown)
    return "\n".join(kept)


def said_by(data: str) -> str:
    """Return DATA as people read it: pairs as `name: value`, a result alone as it is."""
    flags, pairs = flags_and_pairs(data.strip())
    if not pairs:
        return data.strip()
    if list(pairs) == ["result"] and not flags:
        return pairs["result"].strip('"')
    told = [f"{name.replace('_', ' ')}: {value}".rstrip() for name, value in pairs.items()]
    return "; ".join([*flags, *told])
