"""Lines that must be signed, where the settings ask for that: `[protocol] signed = true`.

Whoever sends a line by hand or by a program then shows with a signature that it
holds the shared key; a run shows it with its token. What is not signed, or was
heard before, is answered with E90.

Source: PR-589, PR-590, XC-008, A-68.
"""

from __future__ import annotations

from council.core.events import Event
from council.core.protocol.messages import COORDINATOR
from council.operations.protocol.messages import verify
from council.operations.protocol.sent import Sent
from council.store.events import append, loose_records
from council.wire.carried import line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.protocol.messages import Message
    from council.operations.protocol.crew import Crew
    from council.wire.parsed import Parsed

_CODE = "E90"
_LAST_NUMBER = 9999
_REASONS = {
    "missing": "it is not signed; sign it with: council msg sign",
    "malformed": "its signature has the wrong form",
    "forged": "its signature does not fit the message and the key",
    "replayed": "its signature was used before",
}


def refusal(crew: Crew, message: Message, found: Parsed) -> Sent | None:
    """Return how a line is refused that is not signed as it must be, None for one that is.

    A good signature is used up, whatever becomes of the line.

    Args:
        crew: Whose workspace it is sent in.
        message: What it says.
        found: Its reading; only V5 can be signed.

    Raises:
        NotFoundError: There is no key.
        InvalidStateError: The note of what was used cannot be understood.
    """
    if found.version == "V5":
        (verdict,) = verify(crew.place, [found])
        if verdict.valid:
            return None
        reason = _REASONS[verdict.reason]
    else:
        reason = f"{found.version} cannot be signed; write it in V5"
    data = {"code": _CODE, "reason": reason, "kind": message.kind, "said": message.id}
    if message.context:
        data["ctx"] = message.context
    event = Event(type="message.refused", agent=message.sender, data=data)
    append(crew.place.paths, loose_records([event], message.context, crew.now))
    fault = message.copy(
        number=message.number % _LAST_NUMBER + 1,
        sender=COORDINATOR,
        receiver=message.sender,
        kind="E",
        state="F",
        code=_CODE,
        data="desc=auth",
        pairs=(("desc", "auth"),),
        flags=(),
    )
    answers = [line_of(fault, crew.version_of(message.sender))]
    return Sent(outcome="refused", code=_CODE, reason=reason, answers=answers)
