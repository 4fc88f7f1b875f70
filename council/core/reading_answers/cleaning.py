"""The step before every reader, and the questions that can be answered without one.

Set aside is what is no part of an answer: reasoning blocks, control sequences,
byte-order marks and the one code fence around the whole text. What is left is
what its author says; what it means is decided by the readers. Text without any
of these comes back as it is. Linear in the length of the text.

Blockers and status of a contribution to a council are stated in a closed
grammar; prose is never interpreted. The grammar itself is in
`contribution_lines`, loaded only for a text that may use it.

A message in a room passes, says that its author has nothing to say, by the words
agreed on for that alone; a sentence that declines is a message.

Source: HR-001, HR-002, HR-011, HR-012, HR-014, C0-080, DG-077, A-08, A-24.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Words between `<` and `>` with which language models set off what they think.
_THOUGHTS = ("think", "thinking", "thought", "thoughts", "reasoning", "analysis", "scratchpad")
# This one may also be a part of a form that is written in tags.
_PART = "reasoning"
_MARKS = ("<think", "<thought", "<reasoning", "<analysis", "<scratchpad", "[think]", "[/think]")
_CLOSING_MARKS = tuple(f"</{mark[1:]}" for mark in _MARKS if mark[0] == "<")
_TAG = (
    r"<[ \t]*(?P<close>/?)[ \t]*(?P<name>" + "|".join(_THOUGHTS) + r")(?:[ \t][^<>\n]{0,80})?>"
    r"|\[(?P<slash>/?)think\]"
)
_FORM_TAGS = ("<position", "<final", "<confidence", "<responses")
PROSE = ("", "markdown", "md", "text", "txt", "json", "plaintext", "xml")
_BREAKS = ("\r\n", "\r")
_BLANKS = ("\x0b", "\x0c", "\x85", "\u2028", "\u2029")
_ESCAPE = "\x1b"
_DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_UNSEEN = "\ufeff\u200b\u2060"
_DROPPED = str.maketrans(
    dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), *map(ord, _DIRECTIONS + _UNSEEN)])
)
del _DROPPED[0x09], _DROPPED[0x0A]


def one_of(words: str, between: str = " ") -> frozenset[str]:
    """Return the words of a table that is written in one string."""
    return frozenset(words.split(between))


def clean(text: str) -> str:
    r"""Return what an author says: no thoughts, no control sequences, no fence around it all.

    A reasoning block counts at the start of a line and outside code. One that
    is never closed reaches to the end; before a closing tag that was never
    opened everything was thought.

    >>> clean("<think>\nMaybe not.\n</think>\nBuild it.")
    'Build it.'
    """
    text = _without_controls(text)
    if "<" in text or "[" in text:
        low = text.lower()
        if any(mark in low for mark in _MARKS) or any(mark in low for mark in _CLOSING_MARKS):
            text = _without_thoughts(text)
    return without_fence(text)


def _without_controls(text: str) -> str:
    """Return a text with plain line ends and without what moves or colours a screen."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    for mark in _BREAKS:
        text = text.replace(mark, "\n")
    for mark in _BLANKS:
        text = text.replace(mark, " ")
    text = text.replace("\x9b", _ESCAPE + "[")
    if _ESCAPE in text:
        first, *others = text.split(_ESCAPE)
        text = first + "".join(map(_after_sequence, others))
    return text.translate(_DROPPED)


def _after_sequence(piece: str) -> str:
    """Return what follows a control sequence, of which the escape character is taken off."""
    if piece[:1] == "[":
        at = 1
        while at < len(piece) and " " <= piece[at] <= "?":
            at += 1
        return piece[at + 1 :]
    if piece[:1] in ("]", "P", "^", "_"):  # a title or a link: up to its end, a bell
        end = piece.find("\x07")
        return piece[end + 1 :] if end >= 0 else ""
    return piece[1:]


def _without_thoughts(text: str) -> str:
    """Return a text without its reasoning blocks."""
    tags = list(re.compile(_TAG, re.IGNORECASE).finditer(text))
    outside = text[: tags[0].start()] + text[tags[-1].end() :] if tags else text
    is_form = any(mark in outside.lower() for mark in _FORM_TAGS)
    kept: list[str] = []
    at, inline = 0, dict.fromkeys((*_THOUGHTS, "[think]"), 0)
    closings = _closings(tags)
    for found, begins, ends in _own_tags(text, tags):
        if found.start() < at:
            continue
        name, closes = _named(found)
        ahead = closings.get(name, [])
        while ahead and ahead[-1] < found.end():
            ahead.pop()
        end = ahead[-1] if ahead else len(text)
        # A part holds words; a thought may hold the draft of a whole form.
        is_part = is_form and name == _PART and "\n#" not in text[found.end() : end]
        if not closes and (not begins or is_part):
            inline[name] += 1
        elif not closes:
            kept.append(text[at : found.start()])
            at = end
        elif inline[name]:
            inline[name] -= 1
        elif begins or ends:
            kept.clear()
            at = found.end()
    kept.append(text[at:])
    bare = "".join(kept)
    return bare.lstrip("\n \t") if bare.strip() else ""


def _own_tags(text: str, tags: list[re.Match[str]]) -> Iterator[tuple[re.Match[str], bool, bool]]:
    """Yield the tags that stand in no code, each with whether it begins and ends its line."""
    fenced = _fenced(text)
    block, line, past = 0, -1, -1
    first = last = counted = ticks = 0
    for found in tags:
        start = found.start()
        while block < len(fenced) and fenced[block][1] <= start:
            block += 1
        if block < len(fenced) and fenced[block][0] <= start:
            continue
        if start >= past:
            line = text.rfind("\n", 0, start) + 1
            past = text.find("\n", start) + 1 or len(text) + 1
            words = text[line : past - 1]
            first = line + len(words) - len(words.lstrip())
            last = line + len(words.rstrip())
            counted, ticks = line, 0
        ticks += text.count("`", counted, start)
        counted = start
        if ticks % 2 == 0:
            yield found, start == first, found.end() >= last


def _fenced(text: str) -> list[tuple[int, int]]:
    """Return where blocks of fenced code begin and end; one that is never closed is none."""
    blocks: list[tuple[int, int]] = []
    if "```" not in text and "~~~" not in text:
        return blocks
    marks: list[tuple[int, int, str, bool]] = []  # start, end, marks, and if it can close one
    start = 0
    for line in text.split("\n"):
        fence = fence_of(line)
        if fence:
            is_bare = not line.strip().strip(fence[0])
            marks.append((start, start + len(line), fence, is_bare))
        start += len(line) + 1
    whole = without_fence(text) is not text
    began = None
    for start, end, fence, is_bare in marks[1:-1] if whole else marks:
        if began is None:
            began = (start, fence)
        elif is_bare and fence.startswith(began[1]):
            blocks.append((began[0], end))
            began = None
    return blocks


def fence_of(line: str) -> str:
    """Return the marks of the code fence that a line opens or closes, "" for none."""
    start = line.lstrip()
    if start[:3] not in ("```", "~~~"):
        return ""
    info = start.lstrip(start[0])
    return "" if start[0] == "`" and "`" in info else start[: len(start) - len(info)]


def _named(found: re.Match[str]) -> tuple[str, bool]:
    """Return the name of a tag and whether it closes."""
    name = found["name"]
    return (name.lower(), bool(found["close"])) if name else ("[think]", bool(found["slash"]))


def _closings(tags: list[re.Match[str]]) -> dict[str, list[int]]:
    """Return for each name where its closing tags end, the first one last."""
    ends: dict[str, list[int]] = {}
    for found in reversed(tags):
        name, closes = _named(found)
        if closes:
            ends.setdefault(name, []).append(found.end())
    return ends


def without_fence(text: str) -> str:
    """Return a text without the one code fence around all of it, the same text if there is none."""
    if "```" not in text and "~~~" not in text:
        return text
    lines = text.strip().split("\n")
    fence = fence_of(lines[0])
    if len(lines) < 2 or not fence or not closes_fence(lines[-1], fence):
        return text
    if lines[0].strip(fence[0] + " \t").casefold() not in PROSE:
        return text
    inner = ""
    for line in lines[1:-1]:
        if inner:
            inner = "" if closes_fence(line, inner) else inner
        elif closes_fence(line, fence):
            return text
        else:
            inner = fence_of(line)
    return text if inner else "\n".join(lines[1:-1])


def closes_fence(line: str, fence: str) -> bool:
    """Return true if a line closes the block that `fence` opened."""
    bare = line.strip()
    return bare.startswith(fence) and not bare.strip(fence[0])


_BLOCKER_STEMS = ("block", "bloqu", "blocage")
_STATUS_STEMS = ("statu",)


def blockers_in(text: str) -> list[str]:
    r"""Return the issues that an author says must be solved first, each once, in order.

    A marker (`BLOCKING:`, `BLOQUANT :`, "Blocking issue", "Blocker") starts a
    line, perhaps as list item, heading, in bold; its issue follows on that line
    or, where none does, in the paragraph or list below. Quoted text, code,
    thoughts and an issue that reads "none" raise nothing.

    >>> blockers_in("Two things:\n\n- **BLOCKING:** no budget.\n- Blocker: none")
    ['no budget']
    """
    if not _has(text, _BLOCKER_STEMS):
        return []
    from council.core.reading_answers import contribution_lines  # only where a marker may be

    return contribution_lines.blockers(clean(text))


def split_status(text: str) -> tuple[str, str]:
    r"""Return the clean text without its last line if that states a status, and the status.

    Args:
        text: What a program printed.

    Returns:
        The text, "" where nothing but the status was said; and the status in lower
        case, "" where none is stated.

    >>> split_status("The count convinces me.\n\n**Status:** agreed")
    ('The count convinces me.', 'agreed')
    """
    said = clean(text)
    if not _has(said, _STATUS_STEMS):
        return said, ""
    from council.core.reading_answers import contribution_lines

    return contribution_lines.split_status(said)


def _has(text: str, stems: tuple[str, ...]) -> bool:
    folded = text.casefold()
    return any(stem in folded for stem in stems)


NO_REPLY = "NO_REPLY"
PASSES = frozenset(("", NO_REPLY, "NO", "HEARTBEAT_OK"))
_MARKUP = "*_`\"'“”«» \t\n\u00a0\u202f"
_BRACKETS = {"(": ")", "[": "]"}


def is_pass(text: str) -> bool:
    """Return true if a final text says nothing, compared after cleaning and case-sensitive.

    `NO_REPLY` may stand in markup, end with a full stop and have a remark in
    brackets behind it; an emoji or any other word makes it a message.

    >>> is_pass(" NO "), is_pass("**NO_REPLY.** (all is said)"), is_pass("NO_REPLY 🔚")
    (True, True, False)
    """
    said = clean(text).strip()
    if said in PASSES:
        return True
    if NO_REPLY not in said:
        return False
    word, _, behind = _bare(said).partition(NO_REPLY)
    return not _bare(word) and _is_remark(behind)


def _is_remark(behind: str) -> bool:
    """Return true if nothing stands there but markup, a full stop and one remark in brackets."""
    bare = behind.lstrip(_MARKUP)
    if bare.startswith("."):
        bare = bare[1:].lstrip(_MARKUP)
    bare = bare.removesuffix(".").rstrip(_MARKUP)
    closing = _BRACKETS.get(bare[:1], "")
    return not bare or (bool(closing) and bare.endswith(closing) and closing not in bare[1:-1])


def _bare(text: str) -> str:
    return text.strip(_MARKUP)


QUOTING_MARKS = '>“„«"'


def may_quote(text: str) -> bool:
    """Return true if a text holds a mark of quotation at all; most hold none."""
    return any(mark in text for mark in QUOTING_MARKS)
