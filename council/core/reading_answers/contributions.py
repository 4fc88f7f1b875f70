"""What a contribution to a council says beside its text: its blockers and its status.

Both are stated in a closed grammar; prose is never interpreted. The grammar
itself is in `contribution_lines`, loaded only for a text that may use it.

A message in a room passes, says that its author has nothing to say, by the words
agreed on for that alone; a sentence that declines is a message.

Source: HR-002, HR-011, HR-012, C0-080, A-08, DG-077, HR-014, A-24.
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
