"""Sentences, paragraphs and words of a text: where they end, and how many they are.

Source: DL-011, DL-019, HR-004.
"""

from __future__ import annotations

from council.core.reading_answers.structure import own_lines

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
    found, begin = [], 0
    for end in [*sentence_ends(text), len(text)]:
        one = text[begin:end].strip()
        if one:
            found.append(one)
        begin = end
    return found


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
