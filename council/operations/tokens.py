"""Whose run this is: shown by its token, as long as what it was started for is under way.

A token says for which conversation, channel, context or call a run was started.
How that stands is read from there, so a token dies with its task, however that
ended and wherever its process goes on.

Source: XC-014, SC-002, `trust.md`.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.conversations.tasks import is_under_way
from council.core.errors import CouncilError
from council.core.ids import is_name, split_task_id
from council.core.protocol.protocol_ids import is_context
from council.core.trust import is_token, run_token
from council.store.keys import run_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.place import Place

CALLS = "call."


def fits(place: Place, agent: str) -> bool:
    """Return true if the environment holds the token that this agent's run was given.

    Raises:
        CouncilError: The key of the workspace cannot be read.
    """
    token = place.environ.get("COUNCIL_TOKEN", "")
    task = split_task_id(place.environ.get("COUNCIL_TASK_ID", ""))
    if not token or task is None:
        return False
    owner, number, _, attempt = task
    if is_context(owner):  # its runs are named after task and worker
        number = 0
    return is_token(token, run_token(run_key(place.paths), owner, number, agent, attempt))


def is_shown(place: Place, agent: str, *, by_context: bool = False) -> bool:
    """Return true if this is a run of that agent whose task is under way.

    Args:
        place: The workspace, with the environment of the command.
        agent: Who it is said to be.
        by_context: Whether only a run for a message of document 002 counts.
    """
    task = place.environ.get("COUNCIL_TASK_ID", "")
    owner = task.rsplit(".", 3)[0]
    if (by_context and not is_context(owner)) or not fits(place, agent):
        return False
    try:
        return _is_under_way(place, owner, task)
    except CouncilError:
        return False  # what cannot be read shows nothing


def _is_under_way(place: Place, owner: str, task: str) -> bool:
    if owner.startswith(CALLS):
        from council.core.delegation.delegation import RUNNING
        from council.store.delegation.traces import read_trace

        parts = split_task_id(task)
        call = read_trace(place.paths, owner.removeprefix(CALLS)).call(parts[1] if parts else 0)
        return call is not None and call.state == RUNNING
    if is_context(owner):
        from council.store.protocol.contexts import Contexts

        run = Contexts(place.paths).read(owner).exchange.runs.get(task)
        return run is not None and run.state is TaskState.R
    name = place.environ.get("COUNCIL_NAME", "")
    if name != owner and is_name(name):
        place.conversations.require_adopted(name)
        state = place.conversations.read(name)
        return state.conversation_id == owner and is_under_way(state, task)
    from council.operations.rooms.rooms import channels

    known = channels(place).see(owner).channel.tasks.get(task)
    return known is not None and known.state is TaskState.R
