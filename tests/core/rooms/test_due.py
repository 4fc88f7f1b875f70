"""What is due in a channel, and the life of the runs for its floor."""

from __future__ import annotations

import pytest

from council.core.conversations.conversation import TaskState
from council.core.conversations.due import MAX_ATTEMPTS, Archive, Wake
from council.core.reasons import said
from council.core.rooms.channels import ChannelStep, Mode, TurnState
from council.core.rooms.discussions import called_back, completed, minuted, reminded
from council.core.rooms.due import (
    CallBack,
    PostGuide,
    Remind,
    Reply,
    Signal,
    next_due,
    pending,
    summary_queued,
    task_failed,
    task_queued,
    task_refused,
    task_started,
)
from council.core.rooms.floor import members_changed
from tests.core.rooms.samples import GUIDE, HOUR, MINUTE, MODERATOR, SECOND, Room, members


def due_in(room: Room, kind: type | None = None) -> list[object]:
    found = pending(room.channel, room.now)
    return [one for one in found if kind is None or isinstance(one, kind)]


def due(room: Room) -> Wake:
    (wake,) = due_in(room, Wake)
    assert isinstance(wake, Wake)
    return wake


def start(room: Room, ends_at=MINUTE) -> Wake:
    wake = due(room)
    until = None if ends_at is None else room.now + ends_at
    step = task_started(room.channel, wake, driver="d", now=room.now, ends_at=until)
    assert room.take(step).outcome == "claimed"
    return wake


def test_nobody_is_woken_before_there_is_something_to_answer():
    room = Room("ann", "bob")
    assert due_in(room, Wake) == []
    room.post("zoe", "hello")
    assert due(room).agent == "ann"
    assert due(room).task == "room.1.ann.1"


@pytest.mark.req("DG-096")
def test_nobody_is_woken_in_a_sleeping_or_delivering_room():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.end("ann", "a real word")
    assert due_in(room, Wake) == []
    room.post("ann", "a real word")
    assert due(room).agent == "bob"
    room.end("bob", "NO")
    room.all_pass()
    assert due_in(room) == []


@pytest.mark.req("DG-034", "DG-062")
def test_a_report_channel_owes_nothing_to_anybody():
    room = Room("ann", "bob", mode=Mode.REPORT)
    room.post("ann", "my report")
    assert due_in(room) == []
    assert next_due(room.channel) is None


@pytest.mark.req("DG-085")
def test_each_change_of_speaker_owes_one_signal():
    room = Room("ann", "bob")
    assert due_in(room, Signal) == [Signal(turn=1, agent="ann")]
    room.take(ChannelStep(channel=room.channel.copy(signalled=room.channel.turn)))
    assert due_in(room, Signal) == []
    room.end("ann", "NO")
    assert due_in(room, Signal) == [Signal(turn=2, agent="bob")]


def test_a_claimed_run_is_not_owed_again_and_its_end_is_done():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    wake = start(room)
    assert due_in(room, Wake) == []
    room.end("ann", "NO", wake.task)
    assert room.channel.tasks[wake.task].state is TaskState.D
    late = task_started(room.channel, wake, driver="d", now=room.now, ends_at=None)
    assert (late.outcome, late.channel) == ("", room.channel)


def test_a_turn_that_a_hook_began_is_not_started_a_second_time():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.begin("ann", "hook")
    assert due_in(room, Wake) == []


def test_a_run_inside_which_a_hook_ends_the_turn_ends_it_once():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    wake = start(room)
    room.begin("ann", "hook")
    room.end("ann", "NO", "hook")
    room.say("bob", "a real word")
    assert room.channel.speaker == "ann"
    assert room.end("ann", "NO", wake.task).reason == "run-over"
    assert room.channel.speaker == "ann"


def test_the_run_that_was_claimed_may_end_the_turn_that_a_hook_began_in_it():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    wake = start(room)
    room.begin("ann", "hook")
    assert room.end("ann", "NO", wake.task).outcome == "advanced"


def test_a_lost_run_is_tried_again_and_its_turn_then_counts_as_a_pass():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert due(room).attempt == attempt
        start(room)
        room.begin("ann", f"hook {attempt}")
        room.later(MINUTE)
        assert due_in(room, Wake) == [] or room.channel.speaker == "bob", "it rests first"
        room.later(2 * MINUTE)
    assert room.channel.speaker == "bob"
    assert room.kinds("task.lost", "turn.missed") == ["task.lost"] * 3 + ["turn.missed"]
    assert [(one.agent, one.empty) for one in room.channel.results] == [("ann", True)]


def test_a_final_failure_ends_the_turn_at_the_next_look():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    wake = start(room)
    step = task_failed(room.channel, wake.task, said("out of time"), now=room.now, final=True)
    room.take(step)
    room.settle()
    assert room.channel.speaker == "bob"
    missed = next(one for one in room.data if one["type"] == "turn.missed")
    assert missed["reason"] == said("out of time").to_record()
    again = task_failed(room.channel, wake.task, said("once more"), now=room.now)
    assert again.events == []


@pytest.mark.req("XC-016")
def test_who_waits_for_a_place_does_not_run_out_of_time():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    wake = due(room)
    room.take(task_queued(room.channel, wake, driver="d", now=room.now))
    assert task_queued(room.channel, wake, driver="d", now=room.now).events == []
    room.later(5 * HOUR)
    assert room.channel.speaker == "ann"
    assert due(room) == wake
    start(room, ends_at=None)
    room.later(59 * MINUTE)
    assert room.channel.speaker == "ann"
    room.later(MINUTE)
    assert room.channel.speaker == "bob"


@pytest.mark.req("XC-016")
def test_who_waited_for_a_place_and_began_by_itself_does_not_keep_the_floor_for_ever():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.take(task_queued(room.channel, due(room), driver="d", now=room.now))
    room.later(5 * HOUR)
    room.begin("ann", "a run of its own")
    room.later(59 * MINUTE)
    assert room.channel.speaker == "ann"
    room.later(MINUTE)
    assert room.channel.speaker == "bob"


def test_a_refusal_is_written_down_once():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    step = task_refused(room.channel, due(room), said("a cap is reached"), driver="d", now=room.now)
    room.take(step)
    assert room.kinds("task.refused") == ["task.refused"]
    room.later(10 * SECOND)
    again = task_refused(
        room.channel, due(room), said("a cap is reached"), driver="d", now=room.now
    )
    assert again.events == []
    room.later(HOUR)
    assert room.channel.speaker == "bob"


def test_a_room_that_goes_on_for_long_keeps_few_tasks():
    room = Room("ann", "bob")
    for number in range(20):
        room.post("zoe", f"{number}?")
        while room.channel.speaker:
            room.end(room.channel.speaker, "NO", start(room).task)
    assert len(room.channel.tasks) <= 4


def test_next_due_tells_when_time_alone_changes_something():
    room = Room("ann", "bob")
    room.take(ChannelStep(channel=room.channel.copy(signalled=room.channel.turn)))
    assert next_due(room.channel) is None
    room.post("zoe", "hello")
    assert next_due(room.channel) <= room.now
    start(room, ends_at=2 * MINUTE)
    assert next_due(room.channel) == room.now + 2 * MINUTE
    room.end("ann", "a real word")
    assert next_due(room.channel) == room.now + 15 * SECOND


# --- what is due in a discussion ----------------------------------------------------------------


@pytest.mark.req("DG-117")
def test_a_new_discussion_owes_its_guide_which_then_wakes_the_participants():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    assert due_in(room, PostGuide) == [PostGuide()]
    assert due_in(room, Wake) == []
    room.post(MODERATOR, GUIDE, "guide")
    assert due_in(room, PostGuide) == []
    assert due(room).agent == "ann"
    room.all_pass()
    room.post(MODERATOR, GUIDE, "guide")
    assert room.channel.speaker == "", "only the first one is the guide"


def test_a_guide_wakes_a_room_that_fell_asleep_before_it_came():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.all_pass()
    room.post(MODERATOR, GUIDE, "guide")
    assert room.channel.speaker == "ann"


@pytest.mark.req("DG-119")
def test_an_idle_discussion_owes_one_reminder_for_each_time_it_falls_asleep():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.post(MODERATOR, GUIDE, "guide")
    assert due_in(room, Remind) == []
    for _ in range(2):
        room.all_pass()
        assert due_in(room, Remind) == [Remind(agent="ann")]
        room.take(reminded(room.channel, room.now))
        assert due_in(room) == []
        assert room.channel.speaker == ""
        room.post("zoe", "one more thing")


@pytest.mark.req("OP-014")
def test_attempts_at_a_summary_are_counted_apart_from_those_at_a_turn_of_the_same_cycle():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.post(MODERATOR, GUIDE, "guide")
    turn = start(room).task
    room.take(task_failed(room.channel, turn, said("no"), now=room.now, final=True))
    room.settle()
    room.end("bob", "NO_REPLY")
    room.take(reminded(room.channel, room.now))
    assert due_in(room, Wake) == []
    room.take(summary_queued(room.channel, room.now))
    wake = start(room)
    assert (wake.agent, wake.attempt) == ("ann", 2)
    assert next_due(room.channel) == room.now + MINUTE
    room.take(task_failed(room.channel, wake.task, said("no"), now=room.now))
    room.later(HOUR)
    assert due(room).attempt == 3
    room.post("zoe", "one more thing")
    assert due(room).task == "room.2.ann.1"


def test_a_discussion_whose_participants_have_left_is_idle_too():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.post(MODERATOR, GUIDE, "guide")
    room.take(members_changed(room.channel, members(), room.now))
    assert due_in(room) == [Remind(agent="ann")]
    assert Room(mode=Mode.DISCUSSION).channel.cycle == 0
    assert due_in(Room(mode=Mode.DISCUSSION), Remind) == []


@pytest.mark.req("DG-065", "DG-123", "DG-124")
def test_a_completed_discussion_owes_call_back_minutes_and_answers():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.post(MODERATOR, GUIDE, "guide")
    room.channel.discussion.callback = "home"
    room.take(completed(room.channel, "ann", "s.md", room.now))
    assert room.channel.state is TurnState.ARCHIVED
    assert due_in(room) == [CallBack(channel="home"), Archive()]
    room.take(called_back(room.channel, room.now))
    assert due_in(room) == [Archive()]
    room.take(minuted(room.channel, "conseils/m.md"))
    assert due_in(room) == []

    number = room.post("bob", "am I late?")
    assert due_in(room) == [Reply(message=number)]
    room.post(MODERATOR, "This discussion is closed.", "auto", reply_to=number)
    assert due_in(room) == []
    for again in (called_back(room.channel, room.now), minuted(room.channel, "other.md")):
        assert again.events == []
