"""Steering a conversation that is under way, as a person does.

Each function records one wish, takes the steps that are due after it, and
has the work that is due done without waiting for it. What has ended is archived: the
minutes are written, the live file goes.

Source: C0-030, C0-031, XC-018, XC-110, `cli.md` section 2 (`inject`, `say`, `stop`, `pause`,
`resume`, `cancel`, `extend`, `archive`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from council.core.conversations import answers, due, machine, steering
from council.core.conversations.conversation import Conversation, Step
from council.core.errors import ConflictError, NotFoundError, UsageError
from council.core.ids import checked_name, folded
from council.core.record import Record
from council.core.rooms.channels import Channel, Message
from council.operations.conversations import prompting, recalling
from council.operations.conversations.recalling import explained
from council.operations.detach import wake_next
from council.operations.ended_runs import end_run, given_up
from council.operations.place import Place, can_wait, conversation_name
from council.operations.reporting.minutes import minutes_file_name, render_data, render_minutes
from council.operations.rooms.rooms import open_channels
from council.store.conversations.closing import minutes_path
from council.store.conversations.conversations import Edited

PERSON = "person"
_TRIES = 8


class Steered(Record):
    """How a conversation stands after a wish, and whether the wish changed anything.

    `stood` says that an earlier attempt had done it already, "" where none had.
    """

    state: Conversation
    changed: bool
    stood: str = ""

    def to_record(self) -> dict[str, object]:
        """Return the JSON object of the commands that steer."""
        return {
            **self.state.as_json("name conversation_id status phase tour timeout_at"),
            "paused": self.state.paused_at is not None,
            "changed": self.changed,
            **({"outcome": "already-recorded"} if self.stood else {}),
        }


class Posted(Record):
    """A message posted to a channel, and what the moderator answered at once, "" for nothing.

    `unnoticed` is why the room could take no notice of it yet, "" where it did.
    """

    channel: Channel
    message: Message
    outcome: str
    answer: str = ""
    unnoticed: str = ""


@can_wait
def inject(place: Place, name: str, message: str, *, author: str = "", target: str = "") -> Steered:
    """Add guidance that all agents read in their next prompt; `target` is to answer it.

    Where no author is named, it is the person who signed on (`COUNCIL_PERSON`), if one did.

    Raises:
        InvalidInputError: The author is no legal name, or the text cannot be kept.
        NotAParticipantError: The target does not take part.
    """
    author = author or place.environ.get("COUNCIL_PERSON", "")
    if author:
        checked_name(author, "agent id")

    def change(state: Conversation, now: datetime) -> Step:
        return answers.inject(state, message, author=author or PERSON, now=now, target=target)

    return _steer(place, name, change, facts=(author, target, message))


def say(
    place: Place, message: str, *, to: str, name: str = "", author: str = ""
) -> tuple[Steered | Posted, str]:
    """Say something to a target: a conversation, a channel, or an agent that takes part.

    Returns:
        What became of it, and the agent it is for; "" for everybody.

    Raises:
        UsageError: No target is named.
        NotFoundError: There is no such one.

    Source: XC-110.
    """
    if not to:
        raise UsageError("to whom?", "say --to, then a conversation, a channel, an agent or a task")
    names = place.conversations.names()
    if folded(to) in names:
        return inject(place, folded(to), message, author=author), ""
    if to in open_channels(place):
        author = author or place.environ.get("COUNCIL_PERSON", "") or PERSON
        return _posted(place, to, author, message), ""
    hint = f"open: {', '.join(names) or 'nothing'}; see: council status"
    try:
        wanted = conversation_name(place, name)
    except UsageError:
        if (meant := _by_part(place, to)) is not None:
            return inject(place, meant, message, author=author), ""
        unknown = NotFoundError(f"nothing open is called {to!r}", hint)
        over = explained(place, folded(to), unknown)
        if over is unknown:
            raise
        raise over from None
    if wanted in names and to in place.conversations.read(wanted).participants:
        return inject(place, wanted, message, author=author, target=to), to
    if (meant := _by_part(place, to)) is not None:
        return inject(place, meant, message, author=author), ""
    unknown = NotFoundError(f"nothing open is called {to!r}, and nobody in {wanted!r} is", hint)
    raise explained(place, folded(to), unknown)


def _by_part(place: Place, to: str) -> str | None:
    """Return the open conversation that an id, a beginning or a part of a topic means, if any."""
    if place.is_in_run or recalling.last_over(place, folded(to)) is not None:
        return None
    from council.operations.conversations.finding import find

    found = find(place, to, archived_too=False)
    return None if found is None else found.candidate.name


def _posted(place: Place, channel: str, author: str, text: str) -> Posted:
    from council.operations.rooms.channels import post
    from council.operations.rooms.showing import answer_to

    message, step = post(place, channel, author, text)
    answer = answer_to(place, step.channel, message.id)
    return Posted(
        channel=step.channel,
        message=message,
        outcome=step.outcome,
        answer=answer,
        unnoticed=step.reason,
    )


def stop(place: Place, name: str) -> Steered:
    """End the rounds; the vote or the synthesis is next."""
    return _steer(place, name, steering.stop)


def pause(place: Place, name: str) -> Steered:
    """Let a conversation stand still."""
    return _steer(place, name, steering.pause)


def interrupt(place: Place, name: str, conversation_id: str) -> dict[str, str]:
    """Let a conversation stand still, and have its runs under way ended.

    Returns:
        The agents whose runs were given up, each with its task; they may still be ending.

    Raises:
        NotFoundError: It is over.

    Source: FW-003.
    """
    before: list[Conversation] = []

    def change(state: Conversation) -> Step:
        if state.conversation_id != conversation_id or state.finished_at is not None:
            raise NotFoundError(f"the conversation {name!r} is over")
        before[:] = [state]
        return steering.pause(state, place.now(), gives_up_runs=True)

    edited = place.conversations.edit(name, change, actor=PERSON, now=place.now())
    return _ended(place, before[-1], edited.state)


def _ended(place: Place, before: Conversation, after: Conversation) -> dict[str, str]:
    """Have the runs ended that a change has given up; return their agents and tasks."""
    gone = given_up(before, after)
    for agent, task in gone.items():
        end_run(place, agent, task)
    return gone


def resume(place: Place, name: str) -> Steered:
    """Let a paused conversation go on."""
    return _steer(place, name, steering.resume)


def cancel(place: Place, name: str) -> tuple[Steered, str]:
    """End a conversation and its runs without a synthesis; return the path of its minutes, too."""
    before: list[Conversation] = []

    def change(state: Conversation, now: datetime) -> Step:
        before[:] = [state]
        return steering.cancel(state, now)

    step = _steer(place, name, change, follow=False)
    if before:
        _ended(place, before[-1], step.state)
    return step, archived(place, step.state)


def archive(place: Place, name: str) -> tuple[Steered, str]:
    """Bring a conversation to its end now and write its minutes.

    The rounds are stopped, and if no synthesis stands an automatic digest is
    written; nothing that was said is lost.
    """

    def change(state: Conversation, now: datetime) -> Step:
        if state.finished_at is not None:
            return Step(state=state.copy())
        return steering.wind_up(state, now)

    step = _steer(place, name, change, follow=False)
    return step, archived(place, step.state)


def archived(place: Place, state: Conversation) -> str:
    """Write the minutes of what is finished now, not with the next heartbeat; return their path.

    Raises:
        CouncilError: The disk refuses; a heartbeat goes on.
    """
    path = close(place, state)
    if place.settings.hooks:
        from council.operations.reporting.hooks import tell_hooks

        tell_hooks(place)
    return path


def close(place: Place, state: Conversation) -> str:
    """Write the minutes of a finished conversation and take its live file away.

    Returns:
        The path of the minutes. Called again after a crash, or by two at
        once, it finishes what was begun and writes no second file.

    Raises:
        CouncilError: The disk refuses, or another process writes to it all the time.
    """
    # First, while it is still open: a process that dies here is followed by another heartbeat.
    prompting.clean_up(place, state)
    for _ in range(_TRIES):
        try:
            now = place.now()
            return place.conversations.close(
                state.name,
                f"{place.paths.minutes}/{minutes_file_name(state, now)}",
                render_minutes(state, now=now),
                now=now,
                data=render_data(state, now=now),
                made_of=state,
            )
        except NotFoundError:
            break
        except ConflictError:  # a late contribution came in: the minutes must hold it
            standing = place.conversations.read(state.name)
            if standing.conversation_id != state.conversation_id:
                break
            state = standing
    path = minutes_path(place.paths, state.conversation_id)
    if not path:
        raise ConflictError(f"{state.name!r} could not be archived", "see: council status")
    return path  # another process has archived it


def extend(place: Place, name: str, by: timedelta) -> Steered:
    """Move the deadline of the phase under way."""
    return _steer(place, name, lambda state, now: steering.extend(state, by, now))


def restore(place: Place, name: str, rev: int) -> Steered:
    """Put a conversation back as it was at a revision, as a new revision.

    Raises:
        NotFoundError: There is no such revision.
    """
    work = place.conversations.restore
    return _made(place, name, lambda now, op: work(name, rev, now=now, actor=PERSON, op_id=op))


def adopt(place: Place, name: str) -> Steered:
    """Take the live file as it stands, changed contributions included, as a new revision."""
    work = place.conversations.adopt
    return _made(place, name, lambda now, op: work(name, now=now, actor=PERSON, op_id=op))


def _made(place: Place, name: str, work: Callable[[datetime, str], Edited]) -> Steered:
    operation = place.operation(name)
    before = recalling.done_before(place, name, operation)
    if before is not None:
        return Steered(state=before, changed=False, stood=place.stood(operation))
    return Steered(state=work(place.now(), operation.id).state, changed=True)


def _steer(
    place: Place,
    name: str,
    change: Callable[[Conversation, datetime], Step],
    *,
    follow: bool = True,
    facts: tuple[str, ...] = (),
) -> Steered:
    now = place.now()
    operation = place.operation(name, *facts)
    over = recalling.done_and_over(place, name, operation)
    if over is not None:
        return Steered(state=over, changed=False, stood=place.stood(operation))

    def changed(state: Conversation) -> Step:
        step = change(state, now)
        return step.then(machine.advance(step.state, now))

    edited = place.conversations.edit(
        name,
        changed,
        op_id=operation.id,
        is_new=not operation.is_repeat,
        actor=PERSON,
        now=now,
    )
    if follow and due.pending(edited.state, now, backoff=place.settings.retry_backoff):
        wake_next(place)
    return Steered(
        state=edited.state,
        changed=edited.changed,
        stood=place.stood(operation) if edited.repeated else "",
    )
