"""Explaining: what something that is open waits for, why, and what happens next.

Everything follows from what is saved: the state, the rules that say what is
due, the logs of runs, the event log. Nothing is changed, no lock is taken.
`find_problems` gathers all that is in the way, for people who run many councils.

Source: `cli.md` section 2 (`explain`, `status --problems`), P8-005, DG-065, DG-096, DG-119,
OP-011, OP-014.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta

from council.core.conversations.conversation import Conversation, TaskState
from council.core.conversations.due import Archive, Wake, used_up
from council.core.errors import CouncilError, NotFoundError, UsageError
from council.core.protocol.protocol_ids import is_context
from council.core.record import Any, Record
from council.core.reporting import meanings
from council.core.rooms.channels import TAKES_TURNS, Channel, Mode, agents_of, is_asleep
from council.core.rooms.discussions import SUMMARIES
from council.core.rooms.due import pending, tasks_of_turn
from council.operations.examining.apart import ahead, copies
from council.operations.examining.causes import OVERDUE, Cause, in_order, of_clock, of_workspace
from council.operations.place import Place, conversation_name
from council.operations.reporting.explained import (
    Explained,
    begun,
    broken,
    not_open,
    of_lock,
    said,
)
from council.operations.reporting.explaining_contexts import (
    explain_context,
    only_task,
    refuse_unknown,
)
from council.operations.reporting.explaining_conversations import (
    LATE_PHASE,
    THE_END,
    explain_conversation,
    explain_trace,
    of_agent,
    of_calls,
)
from council.operations.reporting.story import Subject, subject
from council.operations.rooms import rooms
from council.operations.view import Overview, status
from council.store.rooms.channel_places import ChannelPlaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.clocks import Clock

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
        return explain_trace(place, about)
    if about.kind not in _KINDS or not (about.name or about.owner):
        raise not_open(wanted)
    found = _of_turn(place, about) if about.owner else explain_owner(place, about)
    if found.is_open:
        _add_common(found)
    return found


def explain_in_short(place: Place, state: Conversation) -> Explained:
    """Explain an open conversation that was read just now; the logs of events and runs are not."""
    found = _in_short(place, state)
    if found.is_open:
        _add_common(found)
    return found


def _add_common(found: Explained) -> None:
    """Add to an explanation what is in the way of the workspace, or of an agent waited for."""
    place = found.place
    local = {(one.code, one.agent) for one in found.hindrances}
    overdue = any(one.code in OVERDUE for one in found.hindrances)
    common = [*of_workspace(place), *of_clock(place, overdue=overdue)]
    known = {"", *found.agents}
    common = [one for one in common if one.agent in known and (one.code, one.agent) not in local]
    found.hindrances += common
    if overdue or any(one.said.kind in ("start", "minutes", "place") for one in found.waits):
        of_lock(found, place.paths.heartbeat_lock, "beat-locked")
    found.hindrances = in_order(found.hindrances)


def _the_open_one(place: Place) -> str:
    """Return the conversation that any command means where none is named.

    Raises:
        NotFoundError: None is open.
        UsageError: Several are.
    """
    names = place.conversations.names()
    named = bool(place.environ.get("COUNCIL_NAME"))
    if not (names or named):
        raise NotFoundError(
            "no conversation is open",
            "what ended last: council show; or name a channel, context, task or trace",
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
        refuse_unknown(place, about.owner, about.id)
    whole = explain_owner(place, subject(place, about.owner))
    if not about.agent:
        return only_task(whole, about.id)
    mine = about.agent

    def concerns(agent: str, values: dict[str, object]) -> bool:
        # What keeps an agent that it has called keeps the agent itself.
        return agent in ("", mine) or values.get("of") == mine

    waits = [one for one in whole.waits if concerns(one.agent, one.said.values)]
    called = {one.agent for one in waits}
    return whole.copy(
        waits=waits,
        hindrances=[one for one in whole.hindrances if concerns(one.agent, one.values)],
        tried=[one for one in whole.tried if one.agent in {mine, *called}],
    )


def explain_owner(place: Place, about: Subject, *, brief: bool = False) -> Explained:
    """Explain a conversation, channel or context.

    Raises:
        NotFoundError: There is none of that name.
    """
    kinds = {
        "conversation": explain_conversation,
        "channel": explain_room,
        "context": explain_context,
    }
    if about.kind not in kinds:
        raise NotFoundError(f"nothing is known of {about.id!r}", "see: council status")
    found = kinds[about.kind](place, about, brief=brief)
    for _ in range(_LOOKS_AGAIN if _may_have_ended(found) else 0):
        found = kinds[about.kind](place, about, brief=brief)
        if not _may_have_ended(found):
            break
    return found


_LOOKS_AGAIN = 4  # several runs may end one after the other, each between two looks


def _may_have_ended(found: Explained) -> bool:
    """Return true if a run is called lost: the state was read before its place was seen free."""
    return any(one.code == "lost" for one in found.hindrances)


# --- Why things are as they are in a channel


def explain_room(place: Place, about: Subject, *, brief: bool = False) -> Explained:
    """Explain a channel.

    Raises:
        NotFoundError: There is none of that id.
    """
    places = ChannelPlaces(place.paths, about.id)
    shown = os.path.relpath(places.live, place.root)
    try:
        outlook = rooms.look(place, about.id, place.now())
        seen = rooms.channels(place).see(about.id)
    except CouncilError as error:
        return broken(place, about, error, shown)
    channel = outlook.channel
    found = begun(place, "channel", channel.channel_id, trace=about.trace, path=shown, brief=brief)
    found.status = meanings.word_of_channel(channel)
    found.meaning = meanings.of_channel(channel)
    found.where = said("where-channel", mode=str(channel.mode), cycle=channel.cycle)
    if seen.newest < seen.channel.seen:
        found.hinder("log-cut", last=str(seen.newest), seen=seen.channel.seen)
    later = pending(channel, THE_END, backoff=place.settings.retry_backoff)
    wake = next((one for one in later if isinstance(one, Wake)), None)
    if channel.discord is not None:
        from council.operations.rooms.discord import hindrances

        for code, values in hindrances(place, channel):
            found.hinder(code, **values)
    if any(isinstance(one, Archive) for one in outlook.actions):
        about_it = channel.discussion
        found.wait_for("minutes", since=about_it.completed_at if about_it else None)
        found.then("next-minutes")
    else:
        _discussion(found, channel, wake)
    if channel.state not in TAKES_TURNS:
        _still(found, channel)
    elif is_asleep(channel):
        _asleep(found, channel)
    else:
        _speaking(found, channel, wake)
    of_lock(found, places.lock)
    return found.in_order()


_COMPLETE = (
    "council discussion complete {name} --as {agent} "
    f"--summary memory/shared/{SUMMARIES}/{{name}}.md"
)


def _discussion(found: Explained, channel: Channel, wake: Wake | None) -> None:
    about = channel.discussion
    if about is None or about.completed_at is not None or about.reminded_at is None:
        return
    found.reply = _COMPLETE
    found.wait_for("completion", about.initiator, about.reminded_at)
    tasks = tasks_of_turn(channel)
    if tasks:
        of_agent(found, about.initiator, tasks, wake, about.reminded_at, None)
    if not tasks or used_up(tasks):
        found.hinder("not-completed", about.initiator)


def _still(found: Explained, channel: Channel) -> None:
    if str(channel.state) == "archived":
        found.then("over")
        return
    agents, mode, name = agents_of(channel.members), channel.mode, channel.channel_id
    found.hinder(
        "no-turns",
        state=str(channel.state),
        members=str(len(agents)),
        mode=str(mode),
        empty=name if mode in (Mode.CHAT, Mode.DISCUSSION) else "",
        free=name if mode in (Mode.NONE, Mode.REPORT) else "",
        locked=",".join(agents) if mode is Mode.WORK else "",
    )
    found.then("next-person")


def _asleep(found: Explained, channel: Channel) -> None:
    found.wait_for("message", since=channel.dormant_at)
    if channel.calmed:
        found.hinder("calmed", since=channel.dormant_at, reason=f"@calmed-{channel.calmed}")
    elif channel.dormant_at is not None:
        found.hinder("asleep", since=channel.dormant_at)
    found.then("next-person")


def _speaking(found: Explained, channel: Channel, wake: Wake | None) -> None:
    agent, rules = channel.speaker, rooms.rules_of(found.place)
    if channel.delivery is not None:
        arriving = channel.delivery
        found.wait_for("delivery", arriving.agent, arriving.since, arriving.ends_at)
        found.then("next-delivery", arriving.ends_at)
        return
    if channel.roused_at is None:
        found.wait_for("message", since=channel.turn_at or channel.created_at)
        found.then("next-person")
        return
    tasks = tasks_of_turn(channel)
    since = channel.began_at or channel.turn_at
    until = since + rules.turn_timeout if since is not None else None
    if channel.began_at is not None and not tasks:
        found.wait_for("turn-end", agent, channel.began_at, until)
        found.hinder("turn-open", agent, run=channel.run)
    else:
        of_agent(found, agent, tasks, wake, channel.turn_at, until)
    waits = tasks and tasks[-1].state is TaskState.N
    if wake is not None and wake.due_at + LATE_PHASE <= found.now and not waits:
        found.hinder("not-woken", agent, late=found.now - wake.due_at)
    of_calls(found)
    if until is not None:
        found.then("next-pass", until, agent=agent)


# --- All that is in the way, for people who run many councils


_RECENT = timedelta(days=1)


class Problems(Record):
    """Everything that is wrong, and among how many open conversations."""

    now: datetime
    open: int
    last_beat: datetime | None
    found: list[Cause]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `status --problems --json`."""
        told = self.as_json("now open last_beat:lastHeartbeat found:problems")
        return {"ok": not self.found, **told}


def find_problems(
    place: Place,
    overview: Overview | None = None,
    known_clocks: list[Clock] | None = None,
    *,
    thorough: bool = False,
) -> Problems:
    """Find everything that is wrong; nothing is changed.

    Args:
        place: The workspace.
        overview: How everything stands, None to read it.
        known_clocks: The clocks that are meant for it, None to find them.
        thorough: Whether to look at what no command waits for yet, too: clocks and copies.
    """
    seen = overview or status(place)
    local = [one for about in _explained(place, seen) for one in about.hindrances]
    known = {(one.code, one.agent) for one in local}
    found = [one for one in of_workspace(place) if (one.code, one.agent) not in known]
    overdue = any(one.code in OVERDUE for one in local)
    found += of_clock(
        place, overdue=overdue, is_open=seen.anything_open, known=known_clocks, thorough=thorough
    )
    found += ahead(place, seen)
    found += copies(place) if thorough else ()
    found += [one for one in local if one.is_problem and not _is_old(one, seen.now)]
    at_work = [one for one in seen.rooms if one.is_at_work]
    count = len([*seen.standings, *seen.errors, *at_work])
    return Problems(now=seen.now, open=count, last_beat=seen.last_beat, found=in_order(found))


def _explained(place: Place, seen: Overview) -> Iterator[Explained]:
    """Explain everything that is open, in short."""
    yield from (_in_short(place, one.state) for one in seen.standings)
    about = [_named("channel", one.channel.channel_id) for one in seen.rooms]
    about += [_named("context", one) for one in dict.fromkeys(x.context for x in seen.tasks)]
    conversations = place.conversations.names() if seen.errors else []
    for name, _ in seen.errors:
        kind = "context" if is_context(name) else "channel"
        about.append(_named("conversation" if name in conversations else kind, name))
    for other in about:
        yield explain_owner(place, other, brief=True)


def _in_short(place: Place, state: Conversation) -> Explained:
    named = _named("conversation", state.name)
    found = explain_conversation(place, named, brief=True, state=state)
    return explain_owner(place, named, brief=True) if _may_have_ended(found) else found


def _named(kind: str, name: str) -> Subject:
    return Subject(kind=kind, id=name, name=name)


def _is_old(one: Cause, now: datetime) -> bool:
    """Return true for a room that was calmed long ago: of that people know."""
    since = one.values.get("since")
    return one.code == "calmed" and since is not None and now - since > _RECENT
