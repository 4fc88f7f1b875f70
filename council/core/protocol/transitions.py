"""The states of a task attempt, and which may follow which.

N new, R running, D done, F failed, X cancelled. There is nothing else: the
arrow of the drawing that leads up from X is no transition.

Source: PR-312, PR-412, PR-551, PR-552, A-41, A-59.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState

OK, SAME, DUPLICATE, INVALID = "ok", "same", "duplicate", "E15"

_NEXT: dict[TaskState, tuple[TaskState, ...]] = {
    TaskState.N: (TaskState.R, TaskState.X),
    TaskState.R: (TaskState.D, TaskState.F, TaskState.X),
    TaskState.D: (),
    TaskState.F: (),
    TaskState.X: (),
}
# The state that a type of message implies where it names none.
_IMPLIED = {"S": TaskState.D, "E": TaskState.F}


def transition(old: TaskState, new: TaskState) -> str:
    """Return what it is to go from one state to another.

    Returns:
        `ok`, `same` for N or R repeated, `duplicate` for an end repeated, else the code `E15`.
    """
    if new in _NEXT[old]:
        return OK
    if new is not old:
        return INVALID
    return SAME if _NEXT[old] else DUPLICATE


def state_told(kind: str, state: str) -> TaskState:
    """Return the state that a message of a worker tells: the one it names, or that of its type.

    A busy worker may answer without a state (PR-578); what is neither a success
    nor an error says that the work goes on.
    """
    if state:
        return TaskState(state)
    return _IMPLIED.get(kind, TaskState.R)
