"""One run for the floor of a room, from its claimed task to the end of the turn.

What the run prints is its message, and with it its turn is over. A run that
spoke by `channel post` has said what it had to say, one that ended its turn by
`turn end` has done so; neither is counted twice. How an agent is run,
`launching` knows.

Source: DG-074 to DG-080, DG-141 to DG-145, XC-016, `cli.md` section 5.
"""

from __future__ import annotations

from council.core.agents import Agent
from council.core.conversations.conversation import TaskState
from council.core.conversations.owed import Wake
from council.core.errors import CouncilError, NotFoundError
from council.core.reading_answers.cleaning import clean
from council.core.reading_answers.passes import is_pass
from council.core.record import Record
from council.core.rooms import floor
from council.core.rooms.channel_tasks import attempts_used_up, task_failed, tasks_of_turn
from council.core.rooms.channels import Channel, ChannelStep, Message, account_of
from council.core.trust import run_token
from council.drivers.runs import NO_ANSWER, Answer, failed
from council.operations.launching import Launch, Settled, launch
from council.operations.place import Place
from council.operations.rooms import rooms
from council.operations.rooms.authorship import prover
from council.operations.rooms.room_prompts import turn_prompt
from council.store.files import remove
from council.store.keys import run_key
from council.store.slots import Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.store.rooms.channel_session import ChannelSession

PHASE = "TURN"
_SILENT = "it neither printed nor posted anything, nor ended its turn"


class RoomJob(Record):
    """A run that is claimed in `channel` and has to be started."""

    agent: Agent
    wake: Wake
    channel: Channel
    slot: Slot


def start(place: Place, job: RoomJob, afterwards: Callable[[Place], object]) -> bool:
    """Start a claimed run in a process of its own; the place goes over to it.

    When the run is over and its place free, that process does `afterwards`:
    the heartbeat that wakes the next speaker.

    Returns:
        False when it could not be started: a failed attempt with its reason.
    """

    def settle(answer: Answer) -> Settled:
        return _settle(place, job, answer)

    channel = job.channel
    try:
        prompt = turn_prompt(place, channel, job.wake)
    except CouncilError as error:  # a template of the workspace is broken
        job.slot.release()
        settle(failed(error.message))
        return False
    key = run_key(place.paths)
    wanted = Launch(
        agent=job.agent,
        owner=channel.channel_id,
        name=channel.channel_id,
        task=job.wake.task,
        phase=PHASE,
        tour=channel.cycle,
        prompt=prompt,
        token=run_token(key, channel.channel_id, channel.cycle, job.agent.id, job.wake.attempt),
        variables={"COUNCIL_CHANNEL": channel.channel_id},
        slot=job.slot,
    )
    return launch(place, wanted, settle, afterwards)


def _settle(place: Place, job: RoomJob, answer: Answer) -> Settled:
    """End the turn with what the run said, or write down why it said nothing."""
    channel_id, task = job.channel.channel_id, job.wake.task
    now, rules = place.now(), rooms.rules_of(place)
    silent = answer.exit_code == 0 and answer.reason == NO_ANSWER
    failure: list[str] = []

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        failure.clear()
        if not _is_open(step.channel, task):
            return step  # it ended its turn itself, or the room went on without it
        posted, _ = said_already(session, step.channel, job.agent.id)
        if not (answer.ok or silent or posted):
            failure.append(answer.reason or NO_ANSWER)
        elif answer.by_tool and not posted:
            failure.append(_SILENT)
        if failure:
            return step.then(
                task_failed(step.channel, task, failure[0], now=now, final=answer.timed_out)
            )
        text = posted or clean(answer.text)
        ended = floor.end(step.channel, job.agent.id, task, text, now, rules=rules)
        if ended.outcome == "awaiting-delivery" and not posted:
            said = _message(step.channel, job, text, place)
            session.post(said, prover(place, channel_id))
        return step.then(ended)

    try:
        step = rooms.change(place, channel_id, now, rule, actor=job.agent.id)
    except NotFoundError:  # the channel is gone: nobody waits for it any more
        remove(place.paths.run_file(task, "prompt.md"))
        return Settled(failure="" if answer.ok or silent else answer.reason)
    except CouncilError as error:
        # The task stays claimed: when its lease is over the agent is asked once more.
        return Settled(failure=error.message)
    reason = failure[0] if failure else ""
    if not (answer.ok or silent):
        reason = reason or answer.reason
    return Settled(failure=reason, retry_s=_retry_in(place, step.channel, job))


def _is_open(channel: Channel, task: str) -> bool:
    """Tell whether a run is still the one that the floor waits for."""
    return any(one.id == task and one.state is TaskState.R for one in tasks_of_turn(channel))


def said_already(session: ChannelSession, channel: Channel, agent: str) -> tuple[str, str]:
    """Return what a run of this turn has posted last, and which; "" for nothing.

    A message holds once it is in the log: a run that died before it could say
    that its turn is over has spoken all the same.
    """
    runs = [one.id for one in tasks_of_turn(channel)]
    said = [
        one
        for one in session.said_in(runs, channel.anchor)
        if one.agent == agent and not is_pass(one.content)
    ]
    return (said[-1].content, said[-1].run) if said else ("", "")


def _message(channel: Channel, job: RoomJob, text: str, place: Place) -> Message:
    return Message(
        id=1,
        at=place.now(),
        author=account_of(channel, job.agent.id),
        agent=job.agent.id,
        content=text,
        run=job.wake.task,
    )


def _retry_in(place: Place, channel: Channel, job: RoomJob) -> float:
    """Return the seconds after which the same turn is tried again, 0 if it is not."""
    tasks = tasks_of_turn(channel)
    mine = [one for one in tasks if one.id == job.wake.task and one.state is TaskState.F]
    backoff = place.settings.retry_backoff
    if not mine or not backoff or attempts_used_up(tasks):
        return 0.0
    failures = sum(1 for one in tasks if one.state is TaskState.F)
    return backoff[min(failures, len(backoff)) - 1].total_seconds()
