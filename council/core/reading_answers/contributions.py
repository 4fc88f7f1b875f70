"""What a contribution to a council says beside its text: its blockers and its status.

Both are stated in a closed grammar; prose is never interpreted. The grammar
itself is in `contribution_lines`, loaded only for a text that may use it.

Source: HR-002, HR-011, HR-012, C0-080, A-08.
"""

from __future__ import annotations

from council.core.reading_answers.cleaning import clean

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
        The text, "" where nothing but the status was said; and `agreed`,
        `responded`, `done`, or "" where none is stated.

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
