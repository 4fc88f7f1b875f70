"""What people may do to the lines of a file: delete, double, swap, replace, cut, insert."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

_HOWS = ("delete", "double", "swap", "replace", "cut", "insert")


def scrambled_texts(lines: Sequence[str], *, most: int, words: Sequence[str]) -> st.SearchStrategy:
    """Return texts made of `lines` by up to `most` deeds; what is written in is mostly of `words`.

    Lines of the file itself are among what is written in.
    """
    number = st.integers(0, len(lines) - 1)
    text = st.sampled_from((*lines, *words)) | st.text(max_size=10)
    deeds = st.lists(
        st.tuples(st.sampled_from(_HOWS), number, number, text), min_size=1, max_size=most
    )
    return deeds.map(lambda given: _scrambled(lines, given))


def _scrambled(original: Sequence[str], deeds: list[tuple[str, int, int, str]]) -> str:
    lines = list(original)
    for how, at, other, text in deeds:
        at, other = min(at, len(lines) - 1), min(other, len(lines) - 1)
        if not lines:
            break
        if how == "delete":
            del lines[at]
        elif how == "double":
            lines.insert(other, lines[at])
        elif how == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif how == "replace":
            lines[at] = text
        elif how == "insert":
            lines.insert(at, text)
        else:
            lines = lines[:at] if other % 2 else lines[at:]
    return "\n".join(lines)
