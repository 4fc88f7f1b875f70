"""Texts of others as a screen may show them: nothing in them moves, colours or forges anything.

What agents and letters say is printed beside what the product says. A terminal
obeys control characters, so they become blanks; and code that prints one thing a
line lets no text begin a line of its own.

Here, too, stands the beginning of what an agent said, cut where it may be cut, and
about how many tokens a text takes, without the vocabulary of any model.

Source: SC-004, XC-005, `cli.md` section 1, `trust.md`, C0-063, C0-073, PR-209.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache

# Emoji and some scripts are put together with these; they move nothing.
_JOINERS = "\u200c\u200d"
# What JSON leaves as it is though it is no letter: control, direction and half characters.
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain_line(text: str) -> str:
    """Return a text as one line without control characters."""
    return _cleaned(" ".join(text.splitlines()) if not text.isprintable() else text, "")


def plain_text(text: str) -> str:
    """Return a text without control characters; it keeps its lines and tabs."""
    if text.isprintable():
        return text
    return "\n".join(_cleaned(line, "\t") for line in text.split("\n"))


def json_text(record: object) -> str:
    """Return a record as one line of JSON in which no sign stands that a terminal could obey."""
    text = json.dumps(record, ensure_ascii=False)
    return text if text.isprintable() else _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]


def indented(text: str, indent: str) -> str:
    """Return a text whose lines after the first begin with `indent`, without control characters."""
    return ("\n" + indent).join(_cleaned(line, "\t") for line in text.splitlines())


def _cleaned(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _JOINERS + kept else " " for one in text)


def shell_word(value: object) -> str:
    """Return a value as one word of a shell, in quotes only where it needs them."""
    text = str(value)
    if text and all(one.isalnum() or one in "/._-+" for one in text) and text.isascii():
        return text
    return "'" + text.replace("'", "'\\''") + "'"


EXCERPT_MAX_CHARS = 300
_CUT = " […]"
_SENTENCE_ENDS = ".!?…。！？"
_JOINER = "\u200d"
_NOT_PROSE = ("#", ">", "```", "~~~", "---", "***", "===", "<!--", "|", "BLOCKING:", "BLOQUANT")


def first_paragraph(text: str) -> str:
    """Return the first paragraph of an author's own prose, as it stands, or the first of any kind.

    Headings, quotations of others and lines that only name them, fences, rules
    and issues counted elsewhere are passed over.
    """
    paragraph: list[str] = []
    anything, fence = "", ""
    for line in text.splitlines():
        bare = line.strip()
        anything = anything or bare
        if bare[:3] in ("```", "~~~") and fence in ("", bare[:3]):
            fence = "" if fence else bare[:3]
        prose = bare and not fence and not bare.startswith(_NOT_PROSE)
        # A line such as `@sage:` only says to whom the next one is addressed.
        if prose and not all(word.startswith("@") for word in bare.rstrip(" :,").split()):
            paragraph.append(line)
        elif paragraph:
            break
    return "\n".join(paragraph) or anything


def excerpt(text: str, max_chars: int = EXCERPT_MAX_CHARS) -> str:
    """Return the beginning of `text`, whole or cut where it may be cut and marked `[…]`.

    It is cut after a sentence where there is one in the second half of what
    fits, else between two words; inside a word only where the text is a single
    one, and never between a sign and what combines with it.
    """
    bare = text.strip()
    if len(bare) <= max_chars:
        return bare
    for at in range(max_chars, max_chars // 2, -1):
        if bare[at - 1] in _SENTENCE_ENDS and (bare[at].isspace() or bare[at - 1] in "。！？"):
            return bare[:at] + _CUT
    for at in range(max_chars, 0, -1):
        if bare[at].isspace():
            return bare[:at].rstrip() + _CUT
    at = max_chars
    while at > 1 and belongs_together(bare[at - 1], bare[at]):
        at -= 1
    flags = at
    while flags and _is_flag_letter(bare[flags - 1]):
        flags -= 1
    if (at - flags) % 2 and _is_flag_letter(bare[at]) and at > 1:
        at -= 1
    return bare[:at] + _CUT


def belongs_together(left: str, right: str) -> bool:
    """Return true if cutting between two signs would tear one visible character apart."""
    return (
        _JOINER in (left, right)
        or unicodedata.category(right).startswith("M")
        or "\U0001f3fb" <= right <= "\U0001f3ff"
    )


def _is_flag_letter(sign: str) -> bool:
    """Return true if a sign is one of the two letters that make a flag."""
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def shortened(text: str, max_chars: int) -> str:
    """Return a text as one line, with `…` at its end where it is longer than `max_chars`."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


_LETTERS_OF_A_TOKEN = 5


@cache
def _pieces() -> re.Pattern[str]:
    # As tokenizers cut before they merge: a word with the blank before it, up to three digits,
    # signs of one kind, white space.
    return re.compile(r" ?[^\W\d_]+| ?\d{1,3}| ?(?:([^\w\s]|_)\1*)|\s+")


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text takes: 0 for none, a long word counts several times.

    >>> estimated_tokens("Five of them.")
    4
    """
    count = 0
    for found in _pieces().finditer(text):
        letters = len(found[0].strip())
        is_word = letters > _LETTERS_OF_A_TOKEN and found[0].strip().isalpha()
        count += -(-letters // _LETTERS_OF_A_TOKEN) if is_word else 1
    return count
