"""Who has the floor of a channel: begins, ends, deliveries, cycles, sleep, guards."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from council.core.errors import RefusedError
from council.core.rooms.channels import (
    ENDED_RUNS_KEPT,
    SILENT_MODEL,
    FloorRules,
    Member,
    Message,
    Mode,
    Transaction,
    TurnState,
    is_asleep,
)
from council.core.rooms.cycles import take_notice, wake
from council.core.rooms.floor import begin, change_mode, end, members_changed, settle
from tests.core.rooms.samples import HOUR, MINUTE, MODERATOR, NOW, SECOND, Room, members, unopened

LONG = "x" * 60 + " and so the bridge shall be built of wood, as ann has said."


@pytest.mark.req("DG-001", "DG-071", "DG-073", "DG-074")
def test_only_the_speaker_may_run_and_all_others_get_the_silent_model():
    room = Room("ann", "bob")

    speaker, other = room.begin("ann", "r1"), room.begin("bob", "r2")

    assert (speaker.allowed, speaker.model, speaker.reason) == (True, "", "")
    assert (other.allowed, other.model) == (False, SILENT_MODEL)
    assert other.reason == "not-the-speaker"
    assert other.channel.speaker == "ann"


@pytest.mark.req("DG-072")
def test_a_turn_is_anchored_at_the_newest_message_when_it_begins():
    room = Room("ann", "bob")
    for number in range(7):
        room.post("zoe", f"word {number}")

    room.begin("bob", "r1")
    assert room.channel.anchor == 0
    room.begin("ann", "r2")
    assert room.channel.anchor == 7


@pytest.mark.req("DG-004")
@pytest.mark.parametrize("run", ["r1", ""])
def test_the_same_begin_again_does_not_move_the_anchor(run: str):
    room = Room("ann", "bob")
    room.begin("ann", run)
    room.append("ann", "my text")

    again = room.begin("ann", run)

    assert again.allowed
    assert again.channel.anchor == 0
    assert again.events == []
    assert room.kinds("turn.began") == ["turn.began"]


@pytest.mark.req("DG-004")
def test_the_same_end_again_advances_once_even_a_cycle_later():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.end("ann", "NO", "r1")
    again = room.end("ann", "NO", "r1")
    assert again.outcome == "already-ended"
    assert room.channel.speaker == "bob"

    room.say("bob", "I have something")
    assert room.channel.speaker == "ann"
    assert room.end("ann", "NO", "r1").outcome == "already-ended"
    assert room.channel.speaker == "ann"


@pytest.mark.req("DG-004")
def test_a_run_id_is_remembered_for_a_bounded_number_of_turns_and_per_agent():
    room = Room("ann", "bob")
    assert room.end("ann", "NO", "same").outcome == "advanced"
    assert room.end("bob", "NO", "same").outcome == "advanced"
    for number in range(ENDED_RUNS_KEPT):
        room.post("zoe", "more?")
        room.end(room.channel.speaker, "NO", f"r{number}")
    assert len(room.channel.ended_runs) == ENDED_RUNS_KEPT
    assert room.channel.ended_runs[-1].endswith(f"r{ENDED_RUNS_KEPT - 1}")


@pytest.mark.req("DG-075")
def test_the_end_of_somebody_else_is_ignored_and_changes_nothing():
    room = Room("ann", "bob")
    before = room.channel

    step = room.end("bob", "I talk all the same", "r1")

    assert (step.outcome, step.reason) == ("ignored", "not-the-speaker")
    assert room.channel == before
    assert room.end("ann", "NO", "r2").outcome == "advanced"


def test_a_refused_run_of_the_speaker_does_not_end_the_turn_of_its_next_run():
    room = Room("ann", "bob")
    room.begin("bob", "refused")
    room.end("ann", "NO", "r1")
    room.begin("bob", "allowed")

    late = room.end("bob", "NO_REPLY", "refused")

    assert (late.outcome, late.reason) == ("ignored", "another-run")
    assert room.end("bob", "NO", "allowed").outcome == "advanced"


def test_a_task_of_another_cycle_neither_begins_nor_ends_a_turn():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.all_pass()
    room.post("zoe", "once more")
    assert (room.channel.cycle, room.channel.speaker) == (2, "ann")

    assert room.begin("ann", "room.1.ann.1").reason == "run-over"
    assert room.end("ann", "NO", "room.1.ann.1").reason == "run-over"
    assert room.end("ann", "NO", "room.2.ann.1").outcome == "advanced"


@pytest.mark.req("DG-063", "DG-079", "DG-145")
def test_two_agents_take_turns_in_fixed_order_and_a_pass_advances_at_once():
    room = Room("ann", "bob")
    spoken = []
    for number in range(4):
        spoken.append(room.channel.speaker)
        if number % 2:
            room.end(room.channel.speaker, "NO_REPLY")
        else:
            room.say(room.channel.speaker, f"word {number}")
    assert room.channel.state is TurnState.NORMAL
    assert spoken == ["ann", "bob", "ann", "bob"]


@pytest.mark.req("DG-078")
def test_results_of_the_cycle_are_recorded():
    room = Room("ann", "bob", "cyd")
    room.end("ann", "NO", "r1")
    room.end("bob", "Yes, and why not?", "r2")
    assert [(one.agent, one.empty) for one in room.channel.results] == [
        ("ann", True),
        ("bob", False),
    ]


@pytest.mark.req("DG-080", "DG-084", "DG-085", "DG-145")
def test_a_real_turn_keeps_the_floor_until_its_text_has_arrived():
    room = Room("ann", "bob")
    assert room.end("ann", LONG).outcome == "awaiting-delivery"
    assert room.channel.speaker == "ann"
    assert room.channel.delivery.tail == LONG[-40:]
    assert not room.begin("bob").allowed
    assert room.begin("ann").reason == "awaiting-delivery"

    room.post("ann", LONG)

    assert room.channel.speaker == "bob"
    assert room.kinds("delivery.confirmed", "floor.given") == [
        "floor.given",
        "delivery.confirmed",
        "floor.given",
    ]


@pytest.mark.req("DG-081")
@pytest.mark.parametrize("cuts", [(60,), (30, 70), (len(LONG) - 5,), (20, 50, len(LONG) - 12)])
def test_the_next_speaker_starts_only_after_the_last_fragment(cuts: tuple[int, ...]):
    room = Room("ann", "bob")
    room.end("ann", LONG)
    edges = [0, *cuts, len(LONG)]
    parts = [LONG[start:stop].strip() for start, stop in pairwise(edges)]
    for part in parts[:-1]:
        room.post("ann", part)
        assert room.channel.speaker == "ann"
    room.post("ann", parts[-1])
    assert room.channel.speaker == "bob"


def test_fragments_that_are_seen_together_confirm_one_delivery():
    room = Room("ann", "bob")
    text = "x" * 400
    room.end("ann", text)
    for _ in range(4):
        room.append("ann", "x" * 100)
    room.settle()
    assert room.channel.speaker == "bob"
    assert not room.channel.interjected
    assert room.kinds("delivery.confirmed") == ["delivery.confirmed"]


@pytest.mark.req("DG-080")
def test_a_text_that_was_there_before_the_end_of_its_turn_counts():
    room = Room("ann", "bob")
    room.begin("ann", "r1")
    room.post("ann", "Here it is.")
    assert room.channel.speaker == "ann"
    room.end("ann", "Here it is.", "r1")
    assert room.channel.speaker == "bob"


def test_the_text_of_an_earlier_turn_does_not_confirm_a_later_one_without_a_begin():
    room = Room("ann", "bob")
    room.say("ann", "Agreed.")
    room.say("bob", "Fine.")
    assert room.end("ann", "Agreed.").outcome == "awaiting-delivery"
    assert room.channel.speaker == "ann"


@pytest.mark.req("DG-086")
@pytest.mark.parametrize("by", ["zoe", "bob", "cyd"])
def test_a_word_of_somebody_else_during_the_wait_begins_a_new_cycle_at_the_first(by: str):
    room = Room("ann", "bob", "cyd")
    room.end("ann", "NO")
    room.end("bob", LONG)
    first = room.channel.speakers[0]
    if by == "bob":
        room.post("bob", "only a fragment")
        assert room.channel.speaker == "bob"
        return

    room.post(by, "wait!")

    assert room.channel.delivery is None
    assert room.channel.speaker == first == "ann"
    assert room.channel.cycle == 2
    assert ("delivery.interrupted", "bob") in room.events


@pytest.mark.req("DG-086")
def test_the_moderator_never_interrupts_a_delivery():
    room = Room("ann", "bob")
    room.end("ann", LONG)
    for kind in ("message", "moderator", "reminder", "auto", "summary"):
        room.post(MODERATOR, "a word", kind)
    assert room.channel.delivery is not None
    assert room.channel.cycle == 1


@pytest.mark.req("DG-087", "XC-008")
def test_a_text_that_does_not_come_in_15_seconds_is_warned_of_and_passed_over():
    room = Room("ann", "bob")
    room.end("ann", LONG)
    room.later(14 * SECOND)
    assert room.channel.speaker == "ann"
    room.later(SECOND)
    assert room.channel.speaker == "bob"
    assert ("delivery.timed_out", "ann") in room.events


@pytest.mark.req("DG-082", "DG-087")
def test_fingerprint_and_patience_can_be_chosen():
    rules = FloorRules(tail_chars=5, patience=60 * SECOND)
    channel = Room("ann", "bob").channel
    waiting = end(channel, "ann", "r", LONG, NOW, rules=rules).channel.delivery
    assert (waiting.tail, waiting.ends_at) == (LONG[-5:], NOW + MINUTE)


def test_a_word_after_the_patience_is_over_does_not_interrupt_what_nobody_looked_at():
    room = Room("ann", "bob", "cyd")
    room.end("ann", LONG)
    room.now += MINUTE
    room.post("zoe", "is anybody there?")
    assert room.channel.speaker == "bob"
    assert room.channel.cycle == 1


@pytest.mark.req("DG-142")
def test_a_message_of_the_speaker_in_its_turn_neither_advances_nor_wakes():
    room = Room("ann", "bob")
    room.begin("ann", "r1")
    room.post("ann", "I am thinking.")
    assert (room.channel.speaker, room.channel.cycle) == ("ann", 1)
    assert not room.channel.interjected


@pytest.mark.req("DG-067", "DG-070", "DG-091", "DG-093", "DG-098", "DG-099", "DG-100")
def test_a_newcomer_speaks_from_the_next_cycle_on_and_keeps_the_room_awake():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.take(members_changed(room.channel, members("ann", "bob", "cyd"), room.now))
    assert room.channel.speakers == ("ann", "bob")
    assert room.channel.state is TurnState.NORMAL
    room.events.clear()

    room.all_pass()

    assert room.channel.state is TurnState.SHUFFLE
    assert sorted(room.channel.speakers) == ["ann", "bob", "cyd"]
    assert room.channel.speakers[0] != "bob"
    assert (room.channel.cycle, room.channel.dormant_at) == (2, None)
    assert room.kinds()[-5:] == [
        "cycle.ended",
        "order.rebuilt",
        "state.changed",
        "order.shuffled",
        "floor.given",
    ]


@pytest.mark.req("DG-095")
def test_a_newcomer_resets_the_results():
    room = Room("ann", "bob")
    room.take(members_changed(room.channel, members("ann", "bob", "cyd"), room.now))
    room.all_pass()
    assert room.channel.results == []
    assert room.channel.speaker == room.channel.speakers[0]


@pytest.mark.req("DG-097", "XC-008")
def test_who_leaves_is_skipped_and_taken_out_at_the_boundary():
    room = Room("ann", "bob", "cyd")
    room.take(members_changed(room.channel, members("ann", "cyd"), room.now))
    assert room.channel.speakers == ("ann", "bob", "cyd")
    room.end("ann", "NO")
    assert room.channel.speaker == "cyd"
    assert ("turn.skipped", "bob") in room.events
    room.end("cyd", "NO")
    assert room.channel.speakers == ("ann", "cyd")
    assert room.channel.dormant_at == room.now
    assert room.channel.state is TurnState.NORMAL


@pytest.mark.req("DG-097")
def test_the_floor_is_never_given_to_somebody_who_has_left():
    room = Room("ann", "bob", "cyd")
    room.take(members_changed(room.channel, members("ann", "cyd"), room.now))
    step = end(room.channel, "ann", "r", "NO", room.now)
    assert step.channel.speaker == "cyd"
    assert [one.agent for one in step.events if one.type == "floor.given"] == ["cyd"]


@pytest.mark.req("DG-097")
@pytest.mark.parametrize("waiting", [False, True])
def test_a_speaker_who_leaves_gives_the_floor_away(waiting: bool):
    room = Room("ann", "bob", "cyd")
    if waiting:
        room.end("ann", LONG)
    room.take(members_changed(room.channel, members("bob", "cyd"), room.now))
    assert room.channel.speaker == "bob"
    assert [one.agent for one in room.channel.results] == (["ann"] if waiting else [])


@pytest.mark.req("DG-103")
def test_when_all_have_left_nobody_has_the_floor():
    room = Room("ann", "bob")
    room.take(members_changed(room.channel, members(), room.now))
    assert room.channel.speaker == ""
    assert room.kinds("channel.dormant") == ["channel.dormant"]


@pytest.mark.req("DG-092", "DG-094", "DG-096")
def test_the_room_falls_asleep_when_all_have_passed_and_only_then():
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.say("ann", "a real word")
    room.end("bob", "NO")
    assert room.channel.speaker == "ann"
    room.all_pass()
    assert (room.channel.speaker, room.channel.results) == ("", [])
    assert room.begin("ann").reason == "dormant"
    signals = room.kinds("floor.given")
    room.later(HOUR)
    assert room.kinds("floor.given") == signals


@pytest.mark.req("DG-101", "DG-102", "DG-085")
@pytest.mark.parametrize("by", ["zoe", "bob"])
def test_any_word_wakes_the_room_at_the_first_speaker(by: str):
    room = Room("ann", "bob")
    room.post("zoe", "hello")
    room.all_pass()
    given = len(room.kinds("floor.given"))

    room.post(by, "a new topic")

    assert (room.channel.speaker, room.channel.cycle) == ("ann", 2)
    assert len(room.kinds("floor.given")) == given + 1
    room.all_pass()
    assert room.channel.speaker == ""


@pytest.mark.req("DG-101", "DG-119")
def test_no_word_of_the_moderator_wakes_the_room():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.all_pass()
    for kind in ("message", "moderator", "reminder", "auto", "summary"):
        room.post(MODERATOR, "Discussion is idle.", kind)
    assert room.channel.speaker == ""


def test_what_the_moderator_writes_wakes_nobody_where_it_is_no_member_either():
    here = members("ann", "bob")
    del here[MODERATOR]
    room = Room(members=here)
    room.all_pass()
    for kind in ("moderator", "guide", "reminder", "auto", "summary"):
        room.post(MODERATOR, "a word", kind)
    assert room.channel.speaker == ""


def test_what_was_said_before_turns_were_taken_wakes_nobody():
    room = Room()
    room.post("zoe", "hello nobody")
    room.take(members_changed(room.channel, members("ann", "bob"), room.now))
    assert (room.channel.speaker, room.channel.roused_at) == ("ann", None)
    room.post("zoe", "hello both")
    assert room.channel.roused_at == room.now


def test_a_word_that_came_after_others_had_passed_is_heard_before_the_room_sleeps():
    room = Room("ann", "bob")
    room.end("ann", "NO")
    room.post("zoe", "I have just come in: what of the bridge?")
    room.end("bob", "NO")
    assert (room.channel.speaker, room.channel.cycle) == ("ann", 2)
    room.all_pass()
    assert room.channel.speaker == ""


@pytest.mark.req("DG-064", "DG-069", "DG-099")
def test_in_a_thousand_cycles_the_last_speaker_is_never_the_first_again():
    room = Room("ann", "bob", "cyd")
    orders = set()
    channel = room.channel
    for number in range(1000):
        last = channel.speakers[-1]
        for agent in channel.speakers:
            channel = end(channel, agent, "", "NO", room.now).channel
        channel = wake(channel, room.now).channel
        assert channel.cycle == number + 2
        assert channel.speaker == channel.speakers[0] != last
        orders.add(channel.speakers)
    assert len(orders) == 6


@pytest.mark.req("DG-061")
@pytest.mark.parametrize(
    ("mode", "agents"), [("none", 3), ("work", 3), ("chat", 0), ("discussion", 0)]
)
def test_where_no_turns_are_taken_everybody_is_allowed(mode: str, agents: int):
    room = Room(*("ann", "bob", "cyd")[:agents], mode=Mode(mode))
    room.post("zoe", "hello")
    for agent in ("ann", "bob", "stranger"):
        assert room.begin(agent, "r").allowed
        assert room.end(agent, "a word", "r").outcome == "ignored"
    assert room.channel.speaker == ""


@pytest.mark.req("DG-034", "DG-062")
def test_a_report_channel_wakes_and_allows_nobody():
    room = Room("ann", "bob", mode=Mode.REPORT)
    room.post("ann", "my report")
    assert room.channel.state is TurnState.DEAD
    assert room.channel.speaker == ""
    assert room.begin("bob").allowed is False


@pytest.mark.req("DG-066")
def test_people_and_the_moderator_are_never_in_the_list():
    here = {**members("ann", "bob"), "boss": Member(account="boss", agent="boss", moderator=True)}
    room = Room(members=here)
    assert room.channel.speakers == ("ann", "bob")


@pytest.mark.req("DG-006", "DG-039")
def test_turns_begin_with_the_first_agent_and_the_room_is_initialised_once():
    room = Room()
    assert room.channel.state is TurnState.DISABLED
    for here in (("ann",), (), ("ann", "bob")):
        room.take(members_changed(room.channel, members(*here), room.now))
    assert room.kinds("channel.initialized") == ["channel.initialized"]
    assert room.channel.speaker == "ann"


@pytest.mark.req("OP-014")
def test_a_room_of_one_answers_each_word_of_others_once_and_never_itself():
    room = Room("ann")
    assert room.channel.roused_at is None
    for word in ("hello", "and again"):
        room.post("zoe", word)
        assert (room.channel.speaker, room.channel.roused_at is None) == ("ann", False)
        room.say("ann", f"{word} to you")
        assert is_asleep(room.channel)
        room.post("ann", "a second piece of the answer")
        assert is_asleep(room.channel), "it would talk to itself for ever"
    assert room.data[-1]["reason"] == "alone"
    room.post("zoe", "bye")
    room.end("ann", "`NO_REPLY`.")
    assert is_asleep(room.channel)


@pytest.mark.req("OP-014")
def test_what_is_said_while_the_only_agent_speaks_is_answered_too():
    room = Room("ann")
    room.post("zoe", "hello")
    room.begin("ann", "run-1")
    room.post("zoe", "one thing more")
    room.end("ann", "hello", "run-1")
    room.post("ann", "hello")
    assert (room.channel.speaker, room.channel.cycle) == ("ann", 2)
    room.say("ann", "as to the other thing")
    assert is_asleep(room.channel)


@pytest.mark.req("DG-037", "DG-038", "DG-040")
def test_a_locked_mode_is_refused_with_its_reason():
    for mode in (Mode.WORK, Mode.DISCUSSION):
        with pytest.raises(RefusedError, match="locked") as refusal:
            change_mode(Room("ann", "bob", mode=mode).channel, Mode.CHAT, NOW)
        assert refusal.value.exit_code == 6
        with pytest.raises(RefusedError, match="only its creation"):
            change_mode(Room("ann", "bob").channel, mode, NOW)


@pytest.mark.req("DG-041")
def test_a_mode_is_changed_only_where_the_moderator_is_a_member():
    here = members("ann", "bob")
    del here[MODERATOR]
    with pytest.raises(RefusedError, match="moderator"):
        change_mode(Room(members=here).channel, Mode.NONE, NOW)


@pytest.mark.req("DG-032", "DG-036", "DG-038")
def test_a_change_of_mode_starts_and_ends_the_taking_of_turns():
    room = Room("ann", "bob", mode=Mode.NONE)
    for mode, state, speaker in [
        (Mode.CHAT, TurnState.NORMAL, "ann"),
        (Mode.REPORT, TurnState.DEAD, ""),
        (Mode.NONE, TurnState.DISABLED, ""),
        (Mode.CHAT, TurnState.NORMAL, "ann"),
    ]:
        assert room.take(change_mode(room.channel, mode, room.now)).outcome == "changed"
        assert (room.channel.state, room.channel.speaker) == (state, speaker)
    same = change_mode(room.channel, Mode.CHAT, room.now)
    assert (same.outcome, same.events, same.channel) == ("unchanged", [], room.channel)


@pytest.mark.req("DG-065")
def test_an_archived_channel_owes_one_answer_for_each_message_and_wakes_nobody():
    room = Room("ann", "bob", state=TurnState.ARCHIVED)
    first, second = room.post("zoe", "hello?"), room.post("ann", "hello?")
    assert room.channel.unanswered == [first, second]
    room.post(MODERATOR, "This channel is archived.", "auto", reply_to=first)
    assert room.channel.unanswered == [second]
    assert (room.channel.speaker, room.begin("ann").reason) == ("", "archived")


def test_a_message_is_taken_notice_of_once():
    room = Room("ann", "bob")
    room.all_pass()
    room.append("zoe", "hello")
    once = Transaction(room.channel, room.now, FloorRules())
    take_notice(once, room.log[0])
    assert (once.channel.speaker, bool(once.events)) == ("ann", True)
    twice = Transaction(once.channel, room.now, FloorRules())
    take_notice(twice, room.log[0])
    assert (twice.channel, twice.events) == (once.channel, [])


def test_a_message_whose_writer_died_before_telling_wakes_the_room_at_the_next_look():
    room = Room("ann", "bob")
    room.all_pass()
    room.append("zoe", "hello")
    assert room.channel.speaker == ""
    room.settle()
    assert room.channel.speaker == "ann"


# --- no room goes on for ever ------------------------------------------------------------------


def test_three_agents_that_always_say_something_new_are_calmed_and_the_log_says_why():
    room = Room("ann", "bob", "cyd")
    room.post("zoe", "hello")
    turns = 0
    while room.channel.speaker:
        turns += 1
        assert turns < 200
        room.say(room.channel.speaker, f"{turns} is a number of its own kind {turns * 7919}")
    assert turns == 3 * (1 + 30), "the cycle in which the person spoke, and 30 without one"
    calmed = next(one for one in room.data if one["type"] == "channel.calmed")
    assert (calmed["reason"], calmed["cycles"]) == ("max-cycles", 30)
    assert room.channel.calmed == "max-cycles"


def test_agents_that_repeat_themselves_are_calmed_after_three_such_cycles():
    room = Room("ann", "bob", "cyd")
    room.post("zoe", "hello")
    cycles = set()
    while room.channel.speaker:
        cycles.add(room.channel.cycle)
        room.say(room.channel.speaker, f"Thank you all, says {room.channel.speaker}! 👍")
    assert len(cycles) == 1 + 3
    assert room.channel.calmed == "repetition"


def test_one_new_word_in_a_cycle_is_no_repetition():
    room = Room("ann", "bob")
    for number in range(8):
        room.say("ann", "Thank you all!")
        room.say("bob", f"{number} {number * 7919} {number * 104729}")
    assert room.channel.calmed == ""


def test_only_a_person_wakes_a_calmed_room_and_gives_it_its_whole_measure_again():
    room = Room("ann", "bob")
    while room.channel.speaker:
        room.say(room.channel.speaker, "Thanks!")
    room.later(3 * HOUR)
    room.post("bob", "but I must add something")
    assert room.channel.speaker == ""
    assert ("wake.refused", "bob") in room.events

    room.post("zoe", "go on")

    assert room.channel.speaker == "ann"
    assert (room.channel.calmed, room.channel.repeats, room.channel.cycles_alone) == ("", 0, 1)


def test_agents_that_wake_each_other_by_tool_are_calmed_too():
    room = Room("ann", "bob")
    for _ in range(60):
        room.post("bob", "wake up!")
        room.all_pass() if room.channel.speaker else None
    assert room.channel.calmed == "max-cycles"
    assert room.channel.cycle == 30


def test_agents_that_interrupt_each_other_are_calmed_too():
    room = Room("ann", "bob")
    for number in range(60):
        if room.channel.speaker:
            room.end("ann", f"{number} {number * 7919}")
            room.post("bob", "I interrupt!")
    assert room.channel.calmed == "max-cycles"


def test_a_word_of_an_agent_after_a_long_sleep_is_a_new_topic():
    room = Room("ann", "bob")
    for _ in range(40):
        room.all_pass()
        room.later(HOUR)
        room.post("bob", "the hourly report")
        assert room.channel.speaker == "ann"


def test_an_agent_that_keeps_the_floor_for_an_hour_has_passed():
    room = Room("ann", "bob")
    room.later(5 * HOUR)
    assert room.channel.speaker == "ann", "nobody has said anything that wants an answer"
    room.post("zoe", "hello")
    room.later(59 * MINUTE)
    assert room.channel.speaker == "ann"
    room.later(MINUTE)
    assert room.channel.speaker == "bob"
    assert ("turn.missed", "ann") in room.events


@pytest.mark.req("XC-007")
def test_a_second_look_changes_nothing():
    room = Room("ann", "bob", "cyd")
    room.post("zoe", "hello")
    room.end("ann", LONG)
    for _ in range(2):
        step = settle(room.channel, room.log, room.now + MINUTE)
        again = settle(step.channel, room.log, room.now + MINUTE)
        assert (again.channel, again.events) == (step.channel, [])


def test_waking_by_hand_is_refused_where_no_turns_are_taken():
    with pytest.raises(RefusedError):
        wake(Room("ann", mode=Mode.NONE).channel, NOW)
    room = Room("ann", "bob")
    assert wake(room.channel, NOW).outcome == "awake"
    room.all_pass()
    assert wake(room.channel, NOW).outcome == "woken"


def test_a_begin_changes_nothing_of_its_argument():
    channel = Room("ann", "bob").channel
    before = channel.copy()
    begin(channel, "ann", "r", 3, NOW)
    end(channel, "ann", "r", "text", NOW)
    assert channel == before
    assert unopened("ann").state is TurnState.DISABLED


class Watched(list[Message]):
    """Messages that note how many of them were looked at in one piece."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(messages)
        self.pieces: list[int] = []

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(key, slice):
            self.pieces.append(len(found))
        return found


@pytest.mark.req("DG-083")
@pytest.mark.parametrize("awaited", [True, False])
def test_taking_in_many_messages_looks_at_no_more_than_the_last_twenty_for_each(awaited: bool):
    room = Room("ann", "bob")
    room.post("zoe", "Begin.")
    room.begin("ann", "r1")
    if awaited:
        room.end("ann", LONG, "r1")
    for number in range(200):
        room.append("council", f"note {number}", "moderator")
    room.append("ann", LONG)
    log = Watched(room.log)

    step = settle(room.channel, log, NOW)

    assert step.channel.seen == 202
    assert step.channel.speaker == ("bob" if awaited else "ann")
    assert max(log.pieces, default=0) == (20 if awaited else 0)
