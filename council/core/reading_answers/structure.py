"""The structure of an answer: own lines and labelled parts.

It finds what an author says under which label, whichever way labels are set
off (headings of any level, bold, numbers, list items, a bare `Name:`), and
leaves out what is only quoted: lines that start with `>` and fenced code. What
a part means is decided by the readers.

Lines are scanned here and not by a Markdown parser: what CommonMark makes of
them is not what authors mean. A line below a quotation belongs to it there, a
list that begins with 2 is a paragraph, and a bold label is no heading.

Every step is linear in the length of the text.

Here, too, sentences, paragraphs and words are found and counted.

Source: DL-011, DL-017, DL-029, HR-004, DL-019.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from council.core.reading_answers.cleaning import closes_fence, fence_of, one_of
from council.core.record import Record

# A line, and whether it is the author's own: neither quoted nor code.
Line = tuple[str, bool]

DASHES = "—–―"
COLONS = ":："
EMPHASIS = "*_`"
ARROWS = ("→", "->", "=>", "⇒", "➜", "➡")
UNSEEN_CHARS = " \t\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_BULLETS = "-*+•·‣◦–"
_DIGITS = "0123456789"
_BRACKETS = {"[": "]", "{": "}", "<": ">"}
_LABEL_MAX_CHARS = 60
_DEEPEST = 6
_PARTS_OF_A_FORM = 3
_BOLD, _BARE, _ITEM = 7, 8, 2
_SYMBOLS = "\u2190"  # arrows, signs and pictures start here
_PLAIN = str.maketrans(
    "àâäáçéèêëîïíìñôöóòùûüú’",
    "aaaaceeeeiiiinoooouuuu'",
    "\u0300\u0301\u0302\u0303\u0308\u0327\ufe0f\u200d",
)


# Words before and behind the name of a part that do not change which part it is.
_BEFORE = one_of(
    "my our the final core main overall updated revised current initial own ma mon mes notre"
    " meine mein unsere finale mi mis nuestra la le el die der das"
)
_BEHIND = one_of("statement level score rating finale final")
_STEPS = one_of("step part section point partie etape teil schritt parte paso")
_ROUNDS = ("round", "tour", "runde", "ronda", "turn")


class Mark(Record):
    """A line that begins a part: where it stands, the key of the part, rank, text behind it."""

    key: str
    rank: int
    rest: str = ""
    at: int = 0
    is_final: bool = False
    is_about: bool = False


def plain(words: str) -> str:
    """Return a few words in the form in which they are compared: no case, no accents."""
    return " ".join(words.casefold().translate(_PLAIN).split())


def labels_of(names: Mapping[str, str]) -> dict[str, str]:
    """Turn `{section: "name|name|…"}` into a table from each name to its section."""
    return {plain(label): key for key, many in names.items() for label in many.split("|")}


def own_lines(text: str) -> list[Line]:
    """Return the lines of a text, each with whether it is the author's own."""
    read, fence = [], ""
    for line in text.split("\n"):
        if fence:
            read.append((line, False))
            fence = "" if closes_fence(line, fence) else fence
        elif ">" in line and line.lstrip().startswith(">"):
            read.append((line, False))
        else:
            fence = opened_fence(line) if line else ""
            read.append((line, not fence))
    return read


def opened_fence(line: str) -> str:
    """Return the marks of the code fence that a line opens, also behind a bullet, "" for none."""
    if "```" not in line and "~~~" not in line:
        return ""
    return fence_of(without_bullet(line.lstrip()))


def is_rule(line: str) -> bool:
    """Return true for a line that only separates: `---`, `***`, the line under a title."""
    bare = line.strip().replace(" ", "")
    return len(bare) >= 3 and bare[0] in "-*_=—" and not bare.strip(bare[0])


def without_bullet(start: str) -> str:
    """Return a line's text without the bullet or the number of a list item before it."""
    if start[:1] and start[0] in _BULLETS:
        return start[1:].lstrip() if start[1:2] == "@" or start[1:2].isspace() else start
    if start[:1] and start[0] in _DIGITS:
        after = start[:5].lstrip(_DIGITS)
        if after[:1] in (".", ")") and after[1:2].isspace():
            return start[start.index(after[0]) + 1 :].lstrip()
    return start


def marks_of(
    lines: list[Line],
    labels: Mapping[str, str],
    about: Callable[[str], str] | None = None,
) -> list[Mark]:
    """Return the lines that begin a part, in order.

    Of the labels with one key those of the highest rank count (`#` before bold
    before a bare `Name:`); the others are text of the part they stand in.
    Headings without a key are kept: they may end a part.

    Args:
        lines: The lines of the text.
        labels: The key of each name a part may have.
        about: Returns what a heading says about an agent, "" where it speaks of none.
    """
    found: list[Mark] = []
    ranks: dict[str, int] = {}
    for at, (line, is_own) in enumerate(lines):
        if not is_own or not line:
            continue
        mark = heading(line, labels)
        words = about(line) if about is not None and (mark is None or not mark.key) else ""
        if words:
            mark = Mark(key="responses", rank=mark.rank if mark else _BOLD, rest=words)
            mark.is_about = True
        if mark is None and _is_title(lines, at):
            key, _ = _keyed(line, labels)
            mark = Mark(key=key, rank=_BARE) if key else None
        if mark is not None:
            mark.at = at
            found.append(mark)
            if not mark.is_about:
                ranks[mark.key] = min(mark.rank, ranks.get(mark.key, mark.rank))
    # Inside a part for responses, a heading for one agent is a line of it.
    has_part = "responses" in ranks
    whole = _whole_ranks(found)
    return [
        mark
        for mark in found
        if not mark.key
        or (not has_part if mark.is_about else mark.rank <= ranks[mark.key] or mark.rank in whole)
    ]


def _whole_ranks(marks: list[Mark]) -> set[int]:
    """Return the ranks in which a form of its own stands: three of its parts, one by one."""
    whole: set[int] = set()
    runs: dict[int, set[str]] = {}
    for mark in marks:
        if not mark.key.isalpha() or mark.is_about:
            continue  # a weak name begins no form
        runs = {rank: keys for rank, keys in runs.items() if rank <= mark.rank}
        run = runs.setdefault(mark.rank, set())
        run.add(mark.key)
        if len(run) >= _PARTS_OF_A_FORM:
            whole.add(mark.rank)
    return whole


def _is_title(lines: list[Line], at: int) -> bool:
    """Return true if a line stands alone like a title: a blank line before it, text below."""
    line = lines[at][0]
    if len(line) > _LABEL_MAX_CHARS or not line[:1].isalpha():
        return False
    is_first = at == 0 or not lines[at - 1][0].strip() or is_rule(lines[at - 1][0])
    return is_first and at + 1 < len(lines)


def bodies_of(
    lines: list[Line], marks: list[Mark], begin: int, end: int, *, greedy: str = ""
) -> dict[str, list[list[Line]]]:
    """Return the bodies of the parts that stand between two lines, by key, in order.

    A heading of another name ends a part, unless it is of lower rank or the
    part is `greedy`.
    """
    body: list[Line] = []
    found = {"": [body]}
    here, depth = "", 0
    for mark in marks:
        if mark.at < begin or mark.at >= end:
            continue
        if not mark.key and (here in ("", greedy) or mark.rank > depth):
            continue
        body.extend(lines[begin : mark.at])
        body = [(mark.rest, True)] if mark.rest else []
        found.setdefault(mark.key, []).append(body)
        here, depth = mark.key, mark.rank
        begin = mark.at + 1 if mark.key else mark.at
    body.extend(lines[begin:end])
    return found


def heading(line: str, labels: Mapping[str, str]) -> Mark | None:
    """Return the mark of a line that begins a part or is a heading, else None.

    The key of a `#` heading with a name that is not in `labels` is "".
    """
    start = line.lstrip(" ")
    if not start or len(line) - len(start) >= 4:
        return None
    if start[0] == "#":
        title = start.lstrip("#")
        rank = len(start) - len(title)
        if rank > _DEEPEST:
            return None
        mark = _labelled(title.strip().rstrip("#").rstrip(), labels, rank)
        return mark if mark.key or title[:1].isspace() or not title else None
    body = without_bullet(start)
    lower = _ITEM if body is not start else 0
    body = _without_pictures(body)
    if body[:1] and body[0] in "*_":
        mark = _emphasised(body, labels, _BOLD + lower)
        return mark if mark.key else None
    places = [body.find(mark, 0, _LABEL_MAX_CHARS) for mark in COLONS]
    colon = places[0] if places[0] >= 0 else places[1]
    if colon <= 0:
        return None
    key, is_final = _keyed(body[:colon], labels)
    rest = body[colon + 1 :].strip()
    return Mark(key=key, rank=_BARE + lower, rest=rest, is_final=is_final) if key else None


def _emphasised(body: str, labels: Mapping[str, str], rank: int) -> Mark:
    """Return the mark of `**Name**`, `**Name:** text`, `**Name**: text`, `**Name: text**`."""
    inner = body.lstrip("*_")
    mark = body[: len(body) - len(inner)]
    end = inner.find(mark, 0, 2 * _LABEL_MAX_CHARS)
    if end < 0:
        return Mark(key="", rank=rank)
    after = inner[end + len(mark) :].strip()
    is_set_off = not after or after[0] in COLONS + DASHES + "-(" or inner[end - 1] in COLONS
    found = _labelled(inner[:end], labels, rank) if is_set_off else Mark(key="", rank=rank)
    if after[:1] == "(" and ")" in after[:_LABEL_MAX_CHARS] and not found.rest:
        after = after[after.index(")") + 1 :].strip()  # a remark such as (1-5)
    after = after.lstrip(COLONS + DASHES + UNSEEN_CHARS)
    found.rest = f"{found.rest} {after.removeprefix('- ')}".strip()
    return found


def _labelled(title: str, labels: Mapping[str, str], rank: int) -> Mark:
    """Return the mark of a title such as `Position` or `Confidence: 4`."""
    key, is_final = _keyed(title, labels)
    if key:
        return Mark(key=key, rank=rank, is_final=is_final)
    for at, letter in enumerate(title[:_LABEL_MAX_CHARS]):
        if letter in COLONS or letter in DASHES or (letter == "-" and title[at - 1 : at] == " "):
            key, is_final = _keyed(title[:at], labels)
            rest = title[at + 1 :].strip()
            words = plain(rest).split()
            if not key and plain(title[:at]).strip(_DIGITS + " ") in _STEPS:
                return _labelled(rest, labels, rank)
            if len(words) == 2 and words[0] in _ROUNDS:
                rest = ""
            return Mark(key=key, rank=rank, rest=rest, is_final=is_final)
    return Mark(key="", rank=rank)


def _keyed(title: str, labels: Mapping[str, str]) -> tuple[str, bool]:
    """Return the key that a title has, and whether it says that this part is the final one."""
    name = _label(title)
    if not name:
        return "", False
    is_final = "final" in name
    words = name.split()
    while words:
        key = labels.get(" ".join(words), "")
        if key:
            return key, is_final
        if words[0] in _BEFORE and len(words) > 1:
            words = words[1:]
        elif words[-1] in _BEHIND:
            words = words[:-1]
        else:
            break
    return "", False


def _label(title: str) -> str:
    """Return the name in a title: without numbers, pictures, marks and remarks in parentheses."""
    if len(title) > _LABEL_MAX_CHARS or "@" in title or "\\" in title:
        return ""
    name = title.strip().lstrip("0123456789.) ").strip(EMPHASIS + COLONS + " ")
    if name[1:2] in (".", ")") and name[:1].isalpha():
        name = name[2:].strip()
    remark = max(name.find("("), name.find("（"))
    if remark > 0:
        name = name[:remark]
    name = _without_pictures(name)
    while name and name[-1] >= _SYMBOLS and not name[-1].isalnum():
        name = name[:-1]
    return plain(name.strip(EMPHASIS + COLONS + " ").replace("/", " ").replace("&", "and"))


def _without_pictures(name: str) -> str:
    """Return a text without the signs and pictures before its first word."""
    at = 0
    while at < len(name) and (
        (name[at] >= _SYMBOLS and not name[at].isalnum()) or (at and name[at] in UNSEEN_CHARS)
    ):
        at += 1
    return name[at:]


def prose(body: list[Line], labels: Mapping[str, str]) -> str:
    """Return the text of a part as its author meant it, "" for an unfilled `[…]`.

    Rules above and below it separate it from other parts and are none of it.
    """
    begin, end = 0, len(body)
    while begin < end and (not body[begin][0].strip() or is_rule(body[begin][0])):
        begin += 1
    while end > begin and (not body[end - 1][0].strip() or is_rule(body[end - 1][0])):
        end -= 1
    lines = [_unescaped(line, labels) if own else line for line, own in body[begin:end]]
    text = "\n".join(lines).strip()
    if is_bracketed(text):
        return "" if is_unfilled(text) else text[1:-1].strip()
    return text[1:] if text.startswith("\\") and is_bracketed(text.lstrip("\\")) else text


def up_to_rule(body: list[Line]) -> list[Line]:
    """Return the lines of a part up to a rule that separates its text from other matter."""
    has_text = False
    for at, (line, is_own) in enumerate(body):
        if has_text and is_own and is_rule(line):
            return body[:at]
        has_text = has_text or bool(line.strip())
    return body


def is_bracketed(text: str) -> bool:
    """Return true if a text is nothing but one pair of brackets, as the form has them."""
    closing = _BRACKETS.get(text[:1], "")
    return bool(closing) and text.find(closing) == len(text) - 1


# How a template speaks to the one who is to fill it in.
_TO_FILL_IN = (
    "your ", "you ", "votre ", "vous ", "ta ", "ihre ", "deine ", "su ", "tu ", "insert ",
    "1-", "1 to ", "1 a ", "a number", "agree|", "agree/", "position ", "core position",
)  # fmt: skip
_BY_COUNT = ("sentence", "phrases", "paragraph", "satz", "satze", "oraciones", "parrafo", "where ")


def is_unfilled(text: str) -> bool:
    """Return true if a bracketed text is what a form says of the part, not the part itself."""
    if not is_bracketed(text):
        return False
    words = plain(text[1:-1])
    return (
        not any(map(str.isalnum, words))
        or words.startswith(_TO_FILL_IN)
        or any(word in words for word in _BY_COUNT)
        or "|" in words
        or (" " not in words and not words.isdigit())
    )


def _unescaped(line: str, labels: Mapping[str, str]) -> str:
    start = line.lstrip() if "\\" in line else ""
    if start.startswith("\\") and _is_special(start.lstrip("\\"), labels):
        return line[: len(line) - len(start)] + start[1:]
    return line


def _is_special(start: str, labels: Mapping[str, str]) -> bool:
    return bool(heading(start, labels) or opened_fence(start) or is_rule(start)) or bool(
        _keyed(start, labels)[0]
    )


def escaped(text: str, labels: Mapping[str, str], *, greedy: bool = False) -> str:
    r"""Return a text that as the body of a part stays in it: `prose` gives it back.

    What would be read as a heading or a rule gets a backslash, and so does a
    code fence that is never closed. In a `greedy` part other headings may stand.

    >>> print(escaped("## Position\nNo.", {"position": "position"}))
    \## Position
    No.
    """
    text = "\\" + text if is_bracketed(text.lstrip("\\")) else text
    lines = text.split("\n")
    longest = _longest_closing_after(lines)
    safe, fence = [], ""
    for at, line in enumerate(lines):
        start = line.lstrip()
        opened = "" if fence or start.startswith(">") else opened_fence(line)
        if fence:
            fence = "" if closes_fence(line, fence) else fence
        elif opened and len(opened) <= longest[opened[0]][at]:
            fence = opened
        elif not start.startswith(">"):
            mark = heading(start, labels)
            is_read = opened or (mark and (mark.key or not greedy)) or is_rule(start)
            is_read = is_read or _keyed(start, labels)[0]
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


def fence_language(line: str) -> str:
    """Return the word behind the marks of a fence, in small letters."""
    return without_bullet(line.lstrip()).strip("`~ \t").casefold()


_ENDS = ".!?…。！？"
_UNSPACED_ENDS = "。！？"
_CLOSERS = "\"'’”»)]*_`" + _ENDS


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


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, the last one with or without an end mark."""
    ends = [*sentence_ends(text), len(text)]
    parts = [text[begin:end].strip() for begin, end in zip([0, *ends], ends, strict=False)]
    return list(filter(None, parts))


def count_sentences(text: str) -> int:
    """Count the sentences of a text; a last one without an end mark counts."""
    ends = sentence_ends(text)
    rest = text[ends[-1] :] if ends else text
    return len(ends) + any(letter.isalnum() for letter in rest)


def count_paragraphs(text: str) -> int:
    """Count the paragraphs of a text; a heading alone is none, code is one with its blank lines."""
    count, is_inside = 0, False
    for line, is_own in own_lines(text):
        is_text = not is_own or bool(line.strip() and line[0] != "#")
        count += is_text and not is_inside
        is_inside = is_text
    return count


def word_count(text: str) -> int:
    """Count the words of a text: what stands between blanks and holds a letter or a digit."""
    return sum(1 for word in text.split() if any(map(str.isalnum, word)))
