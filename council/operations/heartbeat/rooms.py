"""A room as a heartbeat serves it: brought up to date, its speaker's run claimed and made.

Called by `queue`, under the heartbeat's lock. Of a discussion that was
completed, what is still due at its end is done here if the process died that completed it.

What the run prints is its message, and with it its turn is over. A run that
spoke by `channel post` has said what it had to say, one that ended its turn by
`turn end` has done so; neither is counted twice. Where no agent has the floor, what
is printed is the summary that completes the discussion.

An agent that answers by itself gets the same prompt in a file.

Source: DG-001, DG-034, DG-061, DG-062, DG-074 to DG-080, DG-117, DG-119, DG-123, DG-141 to DG-145,
OP-014, XC-010, XC-012, XC-016, XC-109, `cli.md` section 5, `trust.md` (Text of others is data).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from council.core.agents import MCP, PRINT
from council.core.conversations.conversation import TaskState
from council.core.conversations.due import Archive, Wake, used_up
from council.core.errors import TRANSIENT, CouncilError, NotFoundError
from council.core.events import Event
from council.core.reading_answers.cleaning import clean, is_pass
from council.core.reasons import NO_ANSWER, NO_REASON, Reason
from council.core.rooms import due, floor
from council.core.rooms.channels import Channel, ChannelStep, is_awaited
from council.core.rooms.discussions import SUMMARIES, completed
from council.core.rooms.due import CallBack, task_failed, tasks_of_turn
from council.core.rooms.room_sight import MOST_MESSAGES, parts
from council.drivers.runs import Answer
from council.operations.conversations.prompts import plain_prompt
from council.operations.heartbeat.queue import DueRun, Served
from council.operations.heartbeat.running import Settled
from council.operations.place import Place, program_for
from council.operations.report import BeatenRoom, Report
from council.operations.rooms import rooms
from council.operations.rooms.discussing import checked_summary, finish
from council.store.agents import persona_of, way_of_answering
from council.store.events import append, loose_records
from council.store.files import make_folder, remove, replace
from council.store.paths import resolve_inside
from council.store.rooms.channel_session import ChannelSession
from council.store.slots import Slot

PHASE = "TURN"
_SILENT = Reason.of("silent")


class ServedRoom(Served):
    """One channel in which something is due; its name is the id.

    Args:
        place: The workspace.
        seen: What was found there; what is done is added to it.
        now: The time of the heartbeat.
    """

    def __init__(self, place: Place, seen: BeatenRoom, now: datetime) -> None:
        super().__init__(place, seen.name, now)
        self._seen = seen
        self._channel: Channel

    def advance(self, report: Report) -> None:
        """Bring the room up to date, and do what is still due at the end of a discussion.

        Raises:
            CouncilError: It cannot be read or written.
        """
        place, now = self.place, self.now
        self._seen.woken, self._seen.tended = [], False
        view = rooms.look(place, self.name, now)
        self._channel, self.tour = view.channel, view.channel.cycle
        if rooms.must_open(place, self.name, view):
            self._take(rooms.advance(place, self.name, now))
        if any(isinstance(one, CallBack | Archive) for one in view.actions):
            step, troubles = finish(place, self.name, now)
            self._take(step)
            about = step.channel.discussion
            self._seen.archived = about.minutes if about is not None else ""
            report.errors += [(self.name, trouble) for trouble in troubles]
        self._describe()

    def _take(self, step: ChannelStep) -> None:
        self._seen.tended = self._seen.tended or step.channel.rev != self._seen.rev
        self._channel, self.tour = step.channel, step.channel.cycle

    def _describe(self) -> None:
        seen, channel = self._seen, self._channel
        seen.mode, seen.state = str(channel.mode), str(channel.state)
        seen.speaker, seen.cycle = channel.speaker, channel.cycle
        seen.awaited = is_awaited(channel)

    def withdraw(self, report: Report) -> None:
        """Take it out of the report."""
        report.rooms.remove(self._seen)

    def due_runs(self) -> list[DueRun]:
        """Return the run that the speaker, or who is to sum up, is to have now.

        Raises:
            CouncilError: An agent's file cannot be read.
        """
        due = rooms.pending_in(self.place, self._channel, self.now)
        return self.due_for([one for one in due if isinstance(one, Wake)])

    def goes_on_without_an_agent(self) -> bool:
        """Return true for a turn, which passes on; a summary waits."""
        return bool(self._channel.speaker)

    def hand_over(self, wake: Wake) -> None:
        """Put the prompt where an agent that answers by itself finds it.

        Raises:
            CouncilError: The prompt cannot be made or written.
        """
        folder = self.place.paths.tasks(wake.agent)
        make_folder(folder)
        text = turn_prompt(self.place, self._channel, wake)
        replace(f"{folder}/{wake.task}.md", text.encode("utf-8", "replace"))

    def claim(self, mine: list[DueRun], places: Mapping[str, Slot]) -> list[DueRun]:
        """Claim the run that has a place, hand over to who answers by hand, queue else.

        Raises:
            CouncilError: The channel cannot be written.
        """
        place, now = self.place, self.place.now()
        if all(one.waits_on(self._channel.tasks, places) for one in mine):
            return []
        started: list[DueRun] = []

        def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
            started.clear()
            for one in mine:
                if one.wake not in rooms.pending_in(place, step.channel, now):
                    continue  # it spoke, or the floor went on, while we looked
                ended = self._ended_before(session, step.channel, one.wake)
                if ended is not None:
                    step = step.then(ended)
                    continue
                taken: ChannelStep = self.taken(
                    due, step.channel, one, places, newest=session.newest
                )
                if taken.outcome == "claimed":
                    started.append(one)
                step = step.then(taken)
            return step

        self._take(rooms.change(place, self.name, now, rule, actor="heartbeat"))
        self._describe()
        self._seen.woken = [one.wake.agent for one in started]
        rooms.take_back(place, self._channel)
        for one in mine:
            if one.by_hand and one.wake.task not in self._channel.tasks:
                # The floor went on while we looked.
                remove(f"{place.paths.tasks(one.wake.agent)}/{one.wake.task}.md")
        return [one for one in started if not one.by_hand]

    def _ended_before(
        self, session: ChannelSession, channel: Channel, wake: Wake
    ) -> ChannelStep | None:
        """Return the end of a turn whose words are there and whose run died; None for none."""
        if wake.attempt == 1 or not channel.speaker:
            return None
        text, run = said_already(session, channel, wake.agent)
        if not run:
            return None
        now, rules = self.place.now(), session.rules
        return floor.end(channel, wake.agent, run, text, now, rules=rules)

    # A claimed run for the floor, to the end of the turn.

    def details(self, one: DueRun) -> dict[str, Any]:
        """Return the prompt, what names the turn, and the channel for commands of the run."""
        return {
            "prompt": turn_prompt(self.place, self._channel, one.wake),
            "phase": PHASE,
            "tour": self._channel.cycle,
            "variables": {"COUNCIL_CHANNEL": self.name},
        }

    def settle(self, one: DueRun, prompt: str, answer: Answer) -> Settled:  # noqa: ARG002
        """End the turn or the discussion with what the run said, or write down why it is silent."""
        place, agent, task = self.place, one.agent.id, one.wake.task
        now, rules = place.now(), rooms.rules_of(place)
        silent = answer.exit_code == 0 and answer.reason == NO_ANSWER
        failure: list[Reason] = []

        def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
            failure.clear()
            if not _is_open(step.channel, task):
                return step  # it ended its turn itself, or the room went on without it
            summary, posted = "", ""
            if not step.channel.speaker:
                summary, why = _summary_of(place, task, answer)
                if not summary:
                    failure.append(why or NO_ANSWER)
            else:
                posted, _ = said_already(session, step.channel, agent)
                if not (answer.ok or silent or posted):
                    failure.append(answer.reason or NO_ANSWER)
                elif answer.by_tool and not posted:
                    failure.append(_SILENT)
            if failure:
                return step.then(
                    task_failed(step.channel, task, failure[0], now=now, final=answer.is_final)
                )
            if summary:
                return step.then(completed(step.channel, agent, summary, now))
            text = posted or clean(answer.text)
            ended = floor.end(step.channel, agent, task, text, now, rules=rules)
            if ended.outcome == "awaiting-delivery" and not posted:
                said = rooms.of_agent(step.channel, agent, place.now(), text, task)
                session.post(said, rooms.prover(place, self.name))
            return step.then(ended)

        try:
            step = rooms.change(place, self.name, now, rule, actor=agent)
        except NotFoundError:  # the channel is gone: its answer is not waited for any more
            remove(place.paths.run_file(task, "prompt.md"))
            return Settled(failure=NO_REASON if answer.ok or silent else answer.reason)
        except TRANSIENT:
            raise  # it is settled later
        except CouncilError as error:
            # The task stays claimed: when its lease is over the agent is asked once more.
            return Settled(failure=Reason.of("refused", text=error.message))
        reason = failure[0] if failure else NO_REASON
        if not (answer.ok or silent):
            reason = reason or answer.reason
        turn = tasks_of_turn(step.channel)
        failed_now = any(known.id == task and known.state is TaskState.F for known in turn)
        return self.again(reason, turn, is_due=failed_now and not used_up(turn))


def turn_prompt(place: Place, channel: Channel, wake: Wake) -> str:
    """Return the prompt of a turn in a room, or of the summary of an idle discussion.

    Raises:
        InvalidInputError: A template of the workspace is broken.
        CouncilError: The log cannot be read.
    """
    newest = rooms.channels(place).newest(channel, MOST_MESSAGES)
    origins = rooms.origins_of(place, channel.channel_id, newest)
    seen = parts(channel, newest, wake.agent, wake.task, origins)
    if seen["leftOut"]:
        data = {"task": wake.task, "leftOut": seen["leftOut"]}
        event = Event(type="prompt.shortened", agent=wake.agent, data=data)
        append(place.paths, loose_records([event], channel.channel_id, place.now()))
    persona = persona_of(place.root, place.settings, wake.agent)
    file = f"{place.paths.channels}/{channel.channel_id}.jsonl"
    way = way_of_answering(place.root, place.settings, wake.agent)
    kind = "turn" if channel.speaker else "summary"
    told = {"way": PRINT if way == MCP else way, "program": program_for(place, wake.agent)}
    return plain_prompt(place, kind, seen, persona, file=file, **told)


def _summary_of(place: Place, task: str, answer: Answer) -> tuple[str, Reason]:
    """Return the path from the root of the summary of a run, or why there is none.

    What is printed is written there; an agent that answers by tool has done so itself.
    """
    if not answer.ok:
        return "", answer.reason
    text = clean(answer.text)
    try:
        path = resolve_inside(place.paths.shared, f"{SUMMARIES}/{task}.md")
        if not answer.by_tool:
            if is_pass(text):
                return "", NO_ANSWER
            make_folder(os.path.dirname(path))
            replace(path, f"{text.strip()}\n".encode("utf-8", "replace"))
        return checked_summary(place, path), NO_REASON
    except CouncilError as error:
        return "", Reason.of("refused", text=error.message)


def _is_open(channel: Channel, task: str) -> bool:
    """Return true if a run is still the one that the floor waits for."""
    return any(one.id == task and one.state is TaskState.R for one in tasks_of_turn(channel))


def said_already(session: ChannelSession, channel: Channel, agent: str) -> tuple[str, str]:
    """Return what a run of this turn has posted last, and which; "" for nothing.

    A message holds once it is in the log: a run that died before it could say
    that its turn is over has spoken all the same.
    """
    runs = [one.id for one in tasks_of_turn(channel)]
    posted = session.said_in(runs, channel.anchor)
    said = [one for one in posted if one.agent == agent and not is_pass(one.content)]
    return (said[-1].content, said[-1].run) if said else ("", "")
