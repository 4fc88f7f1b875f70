"""Explaining: what something that is open waits for, why, and what happens next.

Everything follows from what is saved: the state, the rules that say what is
owed, the logs of runs, the event log. Nothing is changed, no lock is taken.

Source: `cli.md` section 2 (`explain`), P8-005.
"""

from __future__ import annotations

from council.core.errors import NotFoundError, UsageError
from council.core.telling.stories import Subject
from council.operations.place import Place
from council.operations.telling.explained import Explained
from council.operations.telling.story import subject

_KINDS = ("conversation", "channel", "context", "task", "turn")


def explain(place: Place, wanted: str) -> Explained:
    """Explain a conversation, channel, context, task or the calls of a trace.

    "" is the one that any command means.

    Raises:
        NotFoundError: Nothing of that name is known.
        RefusedError: It is anonymous, and a run asks.
    """
    wanted = wanted or _the_open_one(place)
    about = subject(place, wanted)
    if about.kind == "trace":
        from council.operations.telling.explaining_calls import explain_trace

        return explain_trace(place, about)
    if about.kind not in _KINDS or not (about.name or about.owner):
        raise NotFoundError(
            f"nothing that is open is called {wanted!r}",
            f"see: council status; what happened tells: council events story {wanted}",
        )
    if about.owner:
        return _of_turn(place, about)
    return _of_owner(place, about)


def _the_open_one(place: Place) -> str:
    """Return the conversation that any command means where none is named.

    Raises:
        NotFoundError: None is open.
        UsageError: Several are.
    """
    from council.operations.place import conversation_name

    names = place.conversations.names()
    named = bool(place.environ.get("COUNCIL_NAME"))
    if not (names or named):
        raise NotFoundError(
            "no conversation is open",
            "name a channel, context, task or trace; see: council status",
        )
    if not named and len(names) > 1 and "active" not in names:
        raise UsageError(
            f"several conversations are open: {', '.join(names)}",
            f"say which: council explain {names[0]}",
        )
    return conversation_name(place, "")


def _of_turn(place: Place, about: Subject) -> Explained:
    """Explain what a task or turn is part of, and of that only what concerns its agent."""
    if not about.agent:
        from council.operations.telling.explaining_contexts import only_task, refuse_unknown

        refuse_unknown(place, about.owner, about.id)
    whole = _of_owner(place, subject(place, about.owner))
    if not about.agent:
        return only_task(whole, about.id)
    mine = about.agent

    def concerns(agent: str, values: dict[str, object]) -> bool:
        # What keeps somebody whom it has called keeps the agent itself.
        return agent in ("", mine) or values.get("of") == mine

    waits = [one for one in whole.waits if concerns(one.agent, one.said.values)]
    called = {one.agent for one in waits}
    return whole.copy(
        waits=waits,
        hindrances=[one for one in whole.hindrances if concerns(one.agent, one.cause.values)],
        tried=[one for one in whole.tried if one.agent in {mine, *called}],
    )


def _of_owner(place: Place, about: Subject) -> Explained:
    found = _look(place, about)
    if any(one.cause.kind == "lost" for one in found.hindrances):
        # Its state was read before its place was seen free: meanwhile the run may have ended.
        return _look(place, about)
    return found


def _look(place: Place, about: Subject) -> Explained:
    if about.kind == "channel":
        from council.operations.telling.explaining_rooms import explain_room

        return explain_room(place, about)
    if about.kind == "context":
        from council.operations.telling.explaining_contexts import explain_context

        return explain_context(place, about)
    if about.kind != "conversation":
        raise NotFoundError(f"nothing is known of {about.id!r}", "see: council status")
    from council.operations.telling.explaining_conversations import explain_conversation

    return explain_conversation(place, about)
