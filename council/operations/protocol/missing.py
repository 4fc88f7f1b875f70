"""The refusal of a line that names what does not exist in the workspace.

Source: PR-313, PR-418, PR-536, PR-545, PR-571.
"""

from __future__ import annotations

from council.core.errors import InvalidMessageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.wire.meaning import Missing

_WORDS = {
    "agent": "nobody is registered as",
    "task": "no task",
    "context": "no context",
    "reference": "nothing is known as",
}


def nothing_there(found: list[Missing], context: str) -> InvalidMessageError:
    """Return the refusal of a line that names what does not exist: each by its name.

    Args:
        found: What is missing, at least one thing.
        context: The context that the line belongs to, "" for none yet.
    """
    told = ", ".join(f"{one.code}: {_WORDS[one.what]} {one.name}" for one in found)
    faults: list[dict[str, object]] = [
        {"code": one.code, "rule": "state", "segment": None} for one in found
    ]
    return InvalidMessageError(faults, told, _way_out(found[0], context or "S1"))


def _way_out(found: Missing, context: str) -> str:
    if found.what == "agent":
        return "see who is: council agent query"
    if found.what != "reference":
        return "see: council task list --all"
    if found.name.startswith("#CTX:"):
        key = found.name.removeprefix("#CTX:") or "key"
        return f"say what it means: council ctx set {context} {key}=VALUE"
    if found.name.startswith("#MSG:"):
        return f"see: council msg log --ctx {context}"
    return f"see: council artifact list; council task show {context}"
