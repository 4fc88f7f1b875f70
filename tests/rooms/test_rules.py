"""Rooms: who has the floor, delivery, cycles, sleep, guards, discussions (document 001)."""

from datetime import timedelta

import pytest

from council.agents.settings import Channels
from council.kernel.errors import Refusal
from council.rooms import decisions, model, rules
from council.rooms import page as kind
from tests.rooms.play import Play, discussion
from tests.vectors.rows import tables_of

ROWS = tables_of("rooms")


def begun() -> Play:
    """Return a room in which x has said the first word."""
    play = Play("a b x")
    play.step("x")
    return play


@pytest.mark.parametrize(("members", "script", "events", "floor"), ROWS["floor"])
def test_the_floor(members: str, script: str, events: str, floor: str) -> None:
    play, made = Play(members), list[model.Event]()
    for word in script.split():
        made = play.step(word)
    assert (play.types(made), play.floor()) == (events, floor)
    assert bool(play.state.dormant_at) == (play.state.current_speaker is None)
    play.check()


def test_what_is_told_and_waited_for_in_a_turn() -> None:
    play = Play("a b x")
    assert kind.work(play.state, play.now) == []  # there is nothing to answer yet
    play.step("x")
    assert [one.agent for one in kind.work(play.state, play.now)] == ["a"]
    assert kind.wake(play.state, frozenset("a")) == play.now + timedelta(seconds=600)
    play.step("a:")
    assert kind.wake(play.state) == play.now + timedelta(seconds=15)
    assert decisions.why_not(play.state, "a") == "awaiting-delivery"
    assert decisions.why_not(play.state, "b") == "not-the-speaker"
    play = begun()  # a text in short pieces
    play.post("a", "First part."), play.post("a", "The end.")
    assert play.types(play.end("a", "First part. The end.")) == "ended floor"


def test_a_run_begins_and_ends_one_turn() -> None:
    play = begun()
    begin = [play.do(lambda s, a=a: decisions.begin(s, a, "r2", play.now)) for a in "aab"]
    assert [play.types(one) for one in begin] == ["began", "", ""]
    assert play.state.anchor == 1
    assert play.end("a", run="r1") == []  # it was refused when r2 began
    assert play.types(play.end("a", run="r2")) == "ended floor"
    play.step("b!")
    assert decisions.why_not(play.state, "a", "r2") == "run-over"
    assert play.end("a", run="r2") == []


def test_three_agents_are_shuffled_and_the_last_is_not_the_first() -> None:
    play = Play("a b c x")
    orders = set()
    for cycle in range(1, 30):
        play.post("x", f"Word {cycle}.")
        order = play.state.speakers
        orders.add(tuple(order))
        for agent in order:
            play.say(agent, f"{agent} says {cycle}.")
        assert play.state.speakers[0] != order[-1]
    assert len(orders) > 2
    play.check()


@pytest.mark.parametrize(
    ("words", "most", "turns", "why"),
    [("Thought {0}, word {1}.", 8, 24, "max-cycles"),
     ("The same as ever, and nothing new to say.", 30, 12, "repetition")],
)  # fmt: skip
def test_a_room_that_does_not_stop_is_calmed_and_only_people_wake_it(
    words: str, most: int, turns: int, why: str
) -> None:
    play, count = Play("a b c x", rules=Channels(max_cycles=most)), 0
    play.post("x", "Go.")
    while play.state.current_speaker:
        count += 1
        play.say(play.state.current_speaker, words.format(count, count * 7))
    assert (count, play.state.calmed) == (turns, why)
    play.post("a", "But!")
    assert play.state.dormant_at
    play.post("x", "Go on.")
    assert play.state.dormant_at is None
    play.check()


def test_failed_runs_are_tried_again_and_then_the_turn_passes() -> None:
    play = begun()
    for attempt in (1, 2, 3):
        found = kind.work(play.state, play.now)
        assert [(one.agent, one.task, one.attempt) for one in found] == [("a", "turn", attempt)]
        play.run(code="crashed")
        play.now = kind.wake(play.state) or play.now
    assert play.floor() == "b - 1"
    assert play.state.results[0].empty
    play.check()


@pytest.mark.parametrize(("mode", "members", "state", "speaker"), ROWS["modes"])
def test_modes(mode: str, members: str, state: str, speaker: str) -> None:
    play = Play(members, mode)
    play.post("x")
    assert (play.state.turn_state, play.state.current_speaker) == (state, speaker or None)
    allowed = [agent for agent in "ab" if not decisions.why_not(play.state, agent)]
    assert allowed == {"disabled": ["a", "b"], "dead": []}.get(state, ["a"])
    play.check()


def test_modes_change_among_free_ones() -> None:
    play = Play("a b x", "none")
    play.post("x", "Before turns were taken.")
    play.do(lambda s: decisions.mode(s, "chat", play.now))
    assert play.floor() == "a b 1"
    assert kind.work(play.state, play.now) == []
    play.step("+c")
    assert play.state.turn_state == "normal"
    play.step("a."), play.step("b.")
    assert play.state.turn_state == "shuffle"  # it follows the head count of the new cycle
    play.do(lambda s: decisions.mode(s, "report", play.now))
    assert (play.state.turn_state, play.state.current_speaker) == ("dead", None)
    assert play.do(lambda s: decisions.mode(s, "report", play.now)) == []
    with pytest.raises(Refusal):
        decisions.join(play.state, model.MODERATOR, None, play.now)
    play.check()


def test_a_key_stands_for_one_message() -> None:
    play = Play()
    play.post("x", "First.", key="k")
    for again in ("First.", "First.\n", "First. \r\n"):
        assert play.post("x", again, key="k") == []
    with pytest.raises(Refusal, match="message 1"):
        play.post("x", "Second.", key="k")


def test_only_the_newest_messages_are_kept() -> None:
    play = Play("x", "none")
    for number in range(model.KEPT + 5):
        play.post("x", f"Message {number}.")
    assert (play.state.count, len(play.state.messages)) == (205, model.KEPT)
    assert play.state.messages[0].id == 6
    assert "Earlier messages: 155" in kind.render(play.state)
    play.check()


def test_a_discussion_from_its_guide_to_its_end() -> None:
    play = discussion("a b x")
    assert play.state.messages[0].kind == "guide"
    assert [one.agent for one in kind.work(play.state, play.now)] == ["a"]
    play.say("a", "Green tea.")
    play.end("b"), play.end("a"), play.end("b")
    last = play.state.messages[-1]
    assert (last.author, last.kind, last.content) == ("moderator", "reminder", rules.REMINDER)
    assert play.state.dormant_at  # the reminder does not wake the room
    assert [(one.agent, one.task) for one in kind.work(play.state, play.now)] == [("a", "summary")]
    with pytest.raises(Refusal, match="may not complete"):
        decisions.complete(play.state, "b", "s.md", play.now)
    for events in ("completed turned", ""):
        made = play.do(lambda s: decisions.complete(s, "a", "s.md", play.now))
        assert play.types(made) == events
    with pytest.raises(Refusal):
        decisions.complete(play.state, "a", "other.md", play.now)
    assert play.state.turn_state == "archived"
    play.post("x", "Wait!"), play.post("x", "Really!")
    answers = [one.content for one in play.state.messages if one.kind == "auto"]
    assert answers == [decisions.CLOSED] * 2
    assert decisions.why_not(play.state, "a") == "archived"
    assert kind.wake(play.state) == play.now  # the minutes are due
    play.do(lambda _: [{"type": "filed", "minutes": "conseils/x.md"}])
    assert kind.wake(play.state) is None
    play.check()


def test_the_reminder_comes_again_after_the_room_woke() -> None:
    play = discussion(by_agent=False)
    for _ in range(2):
        play.end("a"), play.end("b")
        play.post("x", "One more.")
    kinds = [one.kind for one in play.state.messages]
    assert kinds == ["guide", "reminder", "message", "reminder", "message"]
    assert all(one.task == "turn" for one in kind.work(play.state, play.now))


def test_a_guide_needs_its_three_parts() -> None:
    with pytest.raises(Refusal, match="goals, completion criteria"):
        Play(mode="discussion", initiator="a", guide="Topic: tea")
    french = "**Sujet**\nThé\n\nObjectifs: un thé\n\n## Critères de fin\nTous."
    Play(mode="discussion", initiator="a", guide=french)


def test_the_same_room_again_is_a_repeat() -> None:
    play = Play("a b")
    assert play.do(lambda s: decisions.create(s, play.state.copy())) == []
    with pytest.raises(Refusal):
        decisions.create(play.state, play.state.copy(mode="report"))
