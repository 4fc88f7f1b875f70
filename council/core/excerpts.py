"""Excerpts: the beginning of what somebody said, cut where it may be cut.

Source: C0-063, C0-073.
"""

from __future__ import annotations

import unicodedata

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
        if prose and not _is_address(bare):
            paragraph.append(line)
        elif paragraph:
            break
    return "\n".join(paragraph) or anything


def _is_address(line: str) -> bool:
    """Tell whether a line only says to whom the next one is addressed, such as `@sage`."""
    return all(word.startswith("@") for word in line.rstrip(" :,").split())


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
    while at > 1 and _belongs_together(bare[at - 1], bare[at]):
        at -= 1
    flags = at
    while flags and _is_flag_letter(bare[flags - 1]):
        flags -= 1
    if (at - flags) % 2 and _is_flag_letter(bare[at]) and at > 1:
        at -= 1
    return bare[:at] + _CUT


def _belongs_together(left: str, right: str) -> bool:
    """Tell whether cutting between two signs would tear one visible character apart."""
    return (
        _JOINER in (left, right)
        or unicodedata.category(right).startswith("M")
        or "\U0001f3fb" <= right <= "\U0001f3ff"
    )


def _is_flag_letter(sign: str) -> bool:
    """Tell whether a sign is one of the two letters that make a flag."""
    return "\U0001f1e6" <= sign <= "\U0001f1ff"
