"""What the registry answers: confirmations, refusals, words it sends unasked.

Source: PR-405, PR-510, PR-512, PR-546, A-69.
"""

from __future__ import annotations

from council.core.events import Event
from council.core.protocol.messages import (
    COORDINATOR,
    REGISTRY_CONTEXT,
    REGISTRY_TASK,
    Message,
    compose,
    inline,
)
from council.core.protocol.protocol_rules import V5
from council.core.protocol.registry import Registry, name_of
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REFUSED = "refused"
_UNKNOWN_AGENT = "E41"
_LAST_NUMBER = 9999
_REASON_CHARS = 120


def number_after(number: int) -> int:
    """Return the number of the next message; the reserved context begins anew after the last."""
    return number % _LAST_NUMBER + 1


class Reply(Record):
    """A message that the registry sends, and in which version it has to be written.

    `to_caller` says that it goes back to who brought the message, and to
    nobody's inbox: its receiver is the id of somebody else.
    """

    message: Message
    version: str = V5
    to_caller: bool = False


class RegistryStep(Record):
    """What one act on the registry comes to.

    `outcome` is a word for it, `id` the agent or group that it was about, and
    `reason` says what kept it from being done, "" when it was done; `code` is its wire code
    where nobody is answered with it.
    """

    registry: Registry
    replies: list[Reply] = []
    events: list[Event] = []
    outcome: str
    id: str = ""
    reason: str = ""
    code: str = ""


def answer_to(
    message: Message,
    kind: str,
    *,
    flags: Iterable[str] = (),
    pairs: Mapping[str, object] | None = None,
    code: str = "",
    state: str = "",
    sender: str = COORDINATOR,
) -> Message:
    """Return what answers a message of the registry: same task, context, depth and priority."""
    return compose(
        sender,
        message.sender,
        kind,
        flags=flags,
        pairs=pairs,
        task=message.task or REGISTRY_TASK,
        priority=message.priority,
        state=state,
        code=code,
        depth=message.depth,
        context=message.context or REGISTRY_CONTEXT,
        number=number_after(message.number),
    )


def unasked(
    registry: Registry,
    receiver: str,
    kind: str,
    *,
    flags: Iterable[str] = (),
    pairs: Mapping[str, object] | None = None,
    code: str = "",
    state: str = "",
    priority: str = "",
) -> tuple[Registry, Message]:
    """Return a message that O1 sends of its own, and the registry that has numbered it."""
    number = registry.next_message
    message = compose(
        COORDINATOR,
        receiver,
        kind,
        flags=flags,
        pairs=pairs,
        task=REGISTRY_TASK,
        priority=priority,
        state=state,
        code=code,
        context=REGISTRY_CONTEXT,
        number=number,
    )
    return registry.copy(next_message=number_after(number)), message


def refused(
    registry: Registry,
    asked: Message,
    code: str,
    reason: str,
    *,
    speaks: str = V5,
    **pairs: str,
) -> RegistryStep:
    """Leave the registry as it is and answer a message with what is wrong with it."""
    told = {"desc": inline(reason, _REASON_CHARS), **pairs}
    event = Event(
        type="agent.refused",
        agent=name_of(registry, asked.sender),
        data={"id": asked.sender, "kind": asked.kind, "code": code, "reason": reason},
    )
    return RegistryStep(
        registry=registry,
        replies=[
            Reply(
                message=answer_to(asked, "E", pairs=told, code=code, state="F"),
                version=speaks,
                to_caller=True,
            )
        ],
        events=[event],
        outcome=REFUSED,
        id=asked.sender,
        reason=reason,
    )


def unknown(
    registry: Registry, asked: Message, protocol_id: str, *, speaks: str = V5
) -> RegistryStep:
    """Answer a message about somebody who is not registered."""
    reason = f"{protocol_id} is not registered"
    return refused(registry, asked, _UNKNOWN_AGENT, reason, speaks=speaks, id=protocol_id)
