"""Whether a message in a room passes: says that its author has nothing to say.

Only the words agreed on for that pass; a sentence that declines is a message.

Source: DG-077, HR-014, A-24.
"""

from __future__ import annotations

from council.core.reading_answers.cleaning import clean

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
