"""Routing in a workspace: who is asked where no agent was named.

Every entry point that must choose an agent calls `choose` (or `meant_by`, for
words such as `cap:summarize`), which writes the decision down.

Source: P8-071 to P8-075, P8-081.
"""

from __future__ import annotations

from council.core.delegation.routing import (
    DM_SCOPES,
    Binding,
    Facts,
    Route,
    Warned,
    bindings_of,
    check,
    route,
)
from council.core.errors import InvalidInputError, NotFoundError, UsageError
from council.core.events import Event
from council.core.ids import checked_name
from council.operations.place import Place
from council.store.events import append, loose_records
from council.store.paths import SETTINGS

BY_CAPABILITY = "cap:"

# What is known of a request that the user makes: a rule for it names who orchestrates.
FROM_USER = Facts(channel="user", mode="request")


def by_rule(place: Place, facts: Facts) -> Route | None:
    """Return where a rule of the workspace sends something, None where only a default would.

    For entry points that have a way of their own to choose when no rule speaks of
    the case. Nothing is written: see `write_down`.

    Raises:
        InvalidInputError: The rules cannot be read.
    """
    if not place.settings.bindings:
        return None
    found = explain(place, facts)
    named = {one.id for one in rules(place) if one.wants}
    return found if found.rule in named else None


def write_down(
    place: Place, facts: Facts, found: Route, *, owner: str = "", trace: str = ""
) -> None:
    """Write the event of a decision.

    Raises:
        CouncilError: The system refuses.
    """
    data = {
        "facts": facts.to_record(),
        "rule": found.rule or None,
        "tier": found.tier,
        "fallback": [one.to_record() for one in found.path],
    }
    event = Event(type="routing.decision", agent=found.agent, data=data)
    append(place.paths, loose_records([event], owner, place.now(), trace))


def choose(place: Place, facts: Facts, *, owner: str = "", trace: str = "") -> Route:
    """Choose the agent for something that came in, and write the decision down.

    Args:
        place: The workspace.
        facts: What is known of it.
        owner: The id of the conversation, channel or context that it is for, "" for none.
        trace: The trace it belongs to, "" for that of the owner.

    Raises:
        NotFoundError: No rule holds and there is no default.
        InvalidInputError: The rules cannot be read.
    """
    found = explain(place, facts)
    write_down(place, facts, found, owner=owner, trace=trace)
    if not found.agent:
        known = " ".join(f"{name}={','.join(facts.of(name))}" for name in facts.to_record())
        raise NotFoundError(
            f"no agent for {known or 'this'}: no rule holds, and there is no default",
            "name one, or add [[bindings]] with default = true to council.toml; "
            "see: council route explain",
        )
    return found


def meant_by(place: Place, target: str, *, owner: str = "", trace: str = "") -> str:
    """Return the agent that a target names: its id, or `cap:WORD[,WORD…]` for who can do that.

    Raises:
        NotFoundError: No agent can do that.
        UsageError: No capability is named.
        InvalidInputError: It is no legal id.
    """
    if not target.startswith(BY_CAPABILITY):
        return checked_name(target, "agent id")
    wanted = tuple(one.strip() for one in target[len(BY_CAPABILITY) :].split(",") if one.strip())
    if not wanted:
        raise UsageError(f"{target!r} names no capability", "write it like cap:summarize")
    return choose(place, Facts(capabilities=wanted), owner=owner, trace=trace).agent


def explain(place: Place, facts: Facts) -> Route:
    """Say where something would go and why; nothing is written.

    Raises:
        InvalidInputError: The rules cannot be read.
    """
    agents = place.agents()
    able = {}
    if facts.capabilities:
        able = {one: place.agent(one).capabilities for one in agents}
    otherwise = [("coordinator", place.settings.coordinator)]
    otherwise += [("only-agent", agents[0])] if len(agents) == 1 else []
    return route(
        rules(place), facts, agents, able=able, otherwise=otherwise, dm_scope=dm_scope(place)
    )


def warnings(place: Place) -> list[Warned]:
    """Return everything in the rules of the workspace that may not be meant.

    Raises:
        InvalidInputError: The rules cannot be read.
    """
    from council.store.rooms.channel_places import channel_ids
    from council.store.rooms.identities import load

    return check(
        rules(place),
        place.agents(),
        accounts=[one.account for one in load(place.paths).identities],
        channels=channel_ids(place.paths),
        dm_scope=dm_scope(place),
    )


def rules(place: Place) -> list[Binding]:
    """Return the rules of `council.toml`, in file order.

    Raises:
        InvalidInputError: At least one cannot be read; each fault is named.
    """
    found, faults = bindings_of(place.settings.bindings)
    if faults:
        raise InvalidInputError(
            f"{SETTINGS}: {'; '.join(faults)}", f"correct [[bindings]] in {SETTINGS}"
        )
    return found


def dm_scope(place: Place) -> str:
    """Return which session a direct message belongs to.

    Raises:
        InvalidInputError: `[routing] dm_scope` is none of the scopes.
    """
    said = place.settings.routing.get("dm_scope", DM_SCOPES[0])
    if said not in DM_SCOPES:
        raise InvalidInputError(
            f"{SETTINGS}: routing.dm_scope is not one of {', '.join(DM_SCOPES)}",
            f"correct it in {SETTINGS}",
        )
    return str(said)
