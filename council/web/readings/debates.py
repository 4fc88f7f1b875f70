"""Debates as document 003 has them: started, listed, shown, spoken into and cancelled.

A debate is a deliberation, open or archived, and each answer its session. A debate is known by
either of its ids, or by its name.

Source: DL-051, DL-056, DL-061 to DL-065.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from council.core.conversations.conversation import Conversation
from council.core.conversations.procedures import PROCEDURES
from council.core.errors import ConflictError, CouncilError, NotFoundError
from council.core.record import Any
from council.operations.conversations import recalling, steer
from council.operations.conversations.convene import Invitation, convene
from council.operations.conversations.listing import archived
from council.operations.conversations.recalling import Recalled
from council.operations.place import Place
from council.operations.view import debate_session

Session = dict[str, Any]


def start(place: Place, given: Session) -> Session:
    """Open a deliberation from the fields of the document and return its session."""
    config = given.get("config") or {}
    agents = config.get("agents")
    roles = {one["agentId"]: [one.get(key) for key in _ROLE] for one in agents or ()}
    invited = Invitation(
        topic=given["topic"],
        brief=given.get("context") or "",
        name=_free_name(place),
        procedure="deliberation",
        agents=None if agents is None else tuple(one["agentId"] for one in agents),
        roles={one: ": ".join(filter(None, said)) for one, said in roles.items() if said[0]},
        models={one["agentId"]: one["model"] for one in agents or () if one.get("model")},
        max_rounds=config.get("maxRounds") or 0,
        threshold=config.get("consensusThreshold") or 0,
        cwd=place.root,
    )
    return debate_session(place, convene(place, invited).state)


_ROLE = ("role", "roleDescription")


def _free_name(place: Place) -> str:
    """Return a name that no open conversation has: `debate`, `debate-2` and so on."""
    taken, number = place.conversations.names(), 1
    while (name := "debate" if number == 1 else f"debate-{number}") in taken:
        number += 1
    return name


def listed(place: Place, given: Session) -> list[Session]:
    """Return the sessions of debates, those that are open first, then the newest that are over."""
    debates = (one for one in _states(place) if PROCEDURES[one.procedure].verdict == "stances")
    sessions = (debate_session(place, one) for one in debates)
    found = (one for one in sessions if given["status"] in (None, one["status"]))
    return list(islice(found, given["last"]))


def _states(place: Place) -> Iterator[Conversation]:
    """Yield what is open, then what minutes keep; what cannot be read is passed over."""
    for name in place.conversations.names():
        try:
            yield place.conversations.read(name)
        except CouncilError as error:
            place.warnings.append(f"{name}: {error.message}")
    for one in archived(place):
        if one.get("procedure", "deliberation") == "deliberation":
            try:
                yield recalling.recall(place, one["path"], archived=True).state
            except CouncilError as error:
                place.warnings.append(f"{one['path']}: {error.message}")


def show(place: Place, given: Session) -> Session:
    """Return the session of one debate."""
    return debate_session(place, _found(place, given["id"]).state)


def _found(place: Place, wanted: str) -> Recalled:
    if os.sep in wanted:
        raise _unknown(wanted)
    try:
        found = recalling.recall(place, recalling.name_of(place, wanted))
    except NotFoundError:
        raise _unknown(wanted) from None
    if PROCEDURES[found.state.procedure].verdict != "stances":
        raise _unknown(wanted)
    return found


def _unknown(wanted: str) -> NotFoundError:
    return NotFoundError(f"no debate {wanted!r}", "see: GET /api/council/debates")


def inject(place: Place, given: Session) -> Session:
    """Add what a person says to a debate that is open, and return it as its session has it."""
    target, message = given.get("targetAgent") or "", given["message"]
    found = _found(place, given["id"])
    state = _done_before(place, found, "", target, message)
    if state is None:
        state = steer.inject(place, found.state.name, message, target=target).state
    said = debate_session(place, state)["humanInjections"]
    ours = [one for one in said if one["message"].strip() == message.strip()]
    return (ours or said)[-1]  # type: ignore[no-any-return]


def cancel(place: Place, given: Session) -> Session:
    """End a debate without a synthesis and return its session; its minutes keep what was said."""
    found = _found(place, given["id"])
    state = _done_before(place, found) or steer.cancel(place, found.state.name)[0].state
    return debate_session(place, state)


def _done_before(place: Place, found: Recalled, *facts: str) -> Conversation | None:
    """Return what an earlier attempt has made of a debate that is over, None where it is open.

    Raises:
        ConflictError: It is over, and no attempt of this caller had to do with it.
    """
    if not found.archived:
        return None
    name = found.state.name
    state = recalling.done_and_over(place, name, place.operation(name, *facts))
    if state is None or state.conversation_id != found.state.conversation_id:
        raise ConflictError(f"the debate {name!r} is over", f"its minutes: {found.path}")
    return state
