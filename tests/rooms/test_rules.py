"""Rooms: who has the floor, delivery, cycles, sleep, guards, discussions (document 001)."""

from datetime import timedelta

import pytest

from council.kernel import times
from council.kernel.errors import Refusal
from council.rooms import decisions, model, rules
from council.rooms import page as kind
from council.rooms.model import Rules
from council.runs import work as runs
from tests.rooms.play import Play, discussion, member

LEASE = timedelta(minutes=2)


def floor(play: Play) -> tuple[str | None, list[str], int]:
    return play.state.current_speaker, play.state.queue, play.state.cycle


def begun(members: str = "a b x") -> Play:
    """Return a room in which x has said the first word."""
    play = Play(members)
    play.post("x")
    return play


def test_turns_rotate_and_real_ones_wait_for_their_text() -> None:
    play = Play("a b x")
    assert floor(play) == ("a", ["b"], 1)
    assert kind.work(play.state, play.now) == []  # there is nothing to answer yet
    play.post("x", "Which kettle?")
    assert [one.agent for one in kind.work(play.state, play.now)] == ["a"]
    assert play.types(play.end("a", "The quiet one, I would say.")) == "ended"
    assert decisions.why_not(play.state, "a") == "awaiting-delivery"
    assert decisions.why_not(play.state, "b") == "not-the-speaker"
    assert kind.wake(play.state) == play.now + timedelta(seconds=15)
    assert play.types(play.post("a", "The quiet one, I would say.")) == "said floor"
    assert floor(play) == ("b", [], 1)
    play.end("b")
    assert floor(play) == ("a", ["b"], 2)
    play.check()


def test_a_text_posted_before_the_end_of_its_turn_counts() -> None:
    play = begun()
    play.post("a", "First part.")
    play.post("a", "The end.")
    assert play.types(play.end("a", "First part. The end.")) == "ended floor"


def test_a_turn_without_delivery_goes_on_after_15_seconds() -> None:
    play = begun()
    play.end("a", "Lost.")
    assert play.types(play.later(14)) == ""
    assert play.types(play.later(1)) == "missed floor"
    assert floor(play)[0] == "b"
    play.check()


def test_another_word_during_delivery_begins_a_new_cycle() -> None:
    play = begun()
    play.end("a", "Wait for it.")
    assert play.types(play.post("x", "Stop!")) == "said cycle"
    assert floor(play) == ("a", ["b"], 2)
    play.check()


@pytest.mark.parametrize(
    ("agent", "run", "why"),
    [("b", "", "not-the-speaker"), ("a", "r1", "run-over"), ("z", "", "not-the-speaker")],
)
def test_ends_that_are_not_the_speakers_are_ignored(agent: str, run: str, why: str) -> None:
    play = begun()
    play.end("a", run="r1")
    play.say("b", "Mine.")
    assert decisions.why_not(play.state, agent, run) == why
    before = play.state
    assert play.end(agent, run=run) == []
    assert play.state.cycle == before.cycle


def test_a_run_that_was_refused_ends_no_turn_that_another_began() -> None:
    play = begun()
    play.do(lambda s: decisions.begin(s, "a", "r2", play.now))
    assert play.end("a", run="r1") == []
    assert play.types(play.end("a", run="r2")) == "ended floor"


def test_begin_sets_the_anchor_once() -> None:
    play = begun()
    assert play.types(play.do(lambda s: decisions.begin(s, "a", "r", play.now))) == "began"
    assert play.state.anchor == 1
    assert play.do(lambda s: decisions.begin(s, "a", "r", play.now)) == []
    assert play.do(lambda s: decisions.begin(s, "b", "r", play.now)) == []


@pytest.mark.parametrize(
    ("turns", "joins", "reason"),
    [("E E", "", "all-passed"), ("E R", "", ""), ("R E", "", ""),
     ("E E", "c", ""),  # who joined gets a fresh cycle
     ("E left", "", "all-passed"), ("left left", "", "all-left"),
     ("R left", "", "alone")],  # it would answer itself
)  # fmt: skip
def test_dormancy(turns: str, joins: str, reason: str) -> None:
    play = begun()
    if joins:
        play.do(lambda s: decisions.join(s, joins, member(joins), play.now))
        assert joins not in play.state.queue
    for agent, turn in zip("ab", turns.split(), strict=True):
        if turn == "left":
            play.do(lambda s, agent=agent: decisions.join(s, agent, None, play.now))
        else:
            play.end(agent) if turn == "E" else play.say(agent, f"I am {agent}.")
    last = [one for one in play.events if one["type"] in ("cycle", "dormant")][-1]
    assert last["reason"] == (reason or "boundary")
    assert (play.state.current_speaker is None) == bool(reason)
    assert bool(play.state.dormant_at) == bool(reason)
    if joins:
        assert joins in play.state.speakers
        assert play.state.turn_state == "shuffle"
    play.check()


def test_any_word_wakes_and_all_may_pass_again() -> None:
    play = begun()
    play.end("a"), play.end("b")
    assert play.state.dormant_at
    assert play.types(play.post("b", "By tool.")) == "said cycle"
    assert floor(play) == ("a", ["b"], 2)
    play.end("a"), play.end("b")
    assert play.state.dormant_at
    play.check()


def test_who_has_not_heard_a_word_is_asked_before_sleep() -> None:
    play = begun()
    play.end("a")
    play.post("x", "One thing more.")
    play.end("b")
    assert play.state.dormant_at is None
    play.check()


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
    ("before", "text", "by", "speaker", "queue"),
    [("", "@c: yours?", "x", "c", ["a", "b"]),  # the first word
     ("", "For @c: yours?", "x", "a", ["b", "c"]), ("", "@cc yours?", "x", "a", ["b", "c"]),
     ("go", "@c: yours?", "x", "a", ["c", "b"]),
     ("go a", "@a: again?", "x", "b", ["a", "c"]),  # people are answered by whom they ask
     ("go a", "@a: again?", "c", "b", ["c"]),  # agents could go on so for ever
     ("go a", "@c: and you?", "a", "b", ["c"]), ("go a b", "@b: why?", "x", "c", ["b"]),
     ("sleep", "@C and you?", "x", "c", None)],
)  # fmt: skip
def test_who_is_addressed_has_the_floor_next(
    before: str, text: str, by: str, speaker: str, queue: list[str] | None
) -> None:
    play = Play("a b c x")
    if before:
        play.post("x", "Go.")
    for agent in before.split()[1:]:
        play.end(agent)
    if before == "sleep":
        play.end("a"), play.end("b"), play.end("c")
    play.post(by, text)
    assert play.state.current_speaker == speaker
    assert queue is None or play.state.queue == queue
    play.check()


@pytest.mark.parametrize(
    ("words", "most", "turns", "why"),
    [("Thought {0}, word {1}.", 8, 24, "max-cycles"),
     ("The same as ever, and nothing new to say.", 30, 12, "repetition")],
)  # fmt: skip
def test_a_room_that_does_not_stop_is_calmed_and_only_people_wake_it(
    words: str, most: int, turns: int, why: str
) -> None:
    play, count = Play("a b c x", rules=Rules(max_cycles=most)), 0
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
        play.do(lambda s, one=found[0]: [runs.claimed(one, s.channel_id, play.now, LEASE)])
        assert kind.work(play.state, play.now) == []
        assert kind.wake(play.state) == play.now + LEASE
        play.now += timedelta(seconds=30)
        ended = runs.failed(found[0].ident("den-1"), times.text(play.now), "crashed", "It fell.")
        play.do(lambda s, ended=ended: [ended])
        if attempt < 3:
            wake = kind.wake(play.state)
            assert wake is not None
            play.now = max(play.now, wake)
    assert floor(play) == ("b", [], 1)
    assert play.state.results[0].empty
    play.check()


def test_who_does_not_answer_is_passed_after_the_time_of_a_turn() -> None:
    play = Play("a b x")
    assert play.types(play.later(3600)) == ""  # nothing was said yet
    play.post("x")
    assert kind.wake(play.state, frozenset("a")) == play.now + timedelta(seconds=600)
    assert play.types(play.later(600)) == "missed floor"


@pytest.mark.parametrize(
    ("mode", "members", "state", "speaker"),
    [("none", "a b x", "disabled", None), ("work", "a b", "disabled", None),
     ("report", "a b", "dead", None), ("chat", "x", "disabled", None),
     ("chat", "a x", "disabled", "a"),  # one agent answers normally
     ("chat", "a b", "normal", "a"), ("chat", "a b c", "shuffle", "a")],
)  # fmt: skip
def test_modes(mode: str, members: str, state: str, speaker: str | None) -> None:
    play = Play(members, mode)
    play.post("x")
    assert (play.state.turn_state, play.state.current_speaker) == (state, speaker)
    allowed = [agent for agent in "ab" if not decisions.why_not(play.state, agent)]
    assert allowed == {"disabled": ["a", "b"], "dead": []}.get(state, ["a"])
    play.check()


def test_a_single_agent_answers_and_sleeps() -> None:
    play = Play("a x")
    play.post("x", "Anybody?")
    play.say("a", "I am.")
    assert play.state.dormant_at
    play.post("a", "To myself.")
    assert play.state.dormant_at
    play.post("x", "And you?")
    assert play.state.current_speaker == "a"


def test_modes_change_among_free_ones() -> None:
    play = Play("a b x", "none")
    play.post("x", "Before turns were taken.")
    play.do(lambda s: decisions.mode(s, "chat", play.now))
    assert floor(play) == ("a", ["b"], 1)
    assert kind.work(play.state, play.now) == []
    play.do(lambda s: decisions.mode(s, "report", play.now))
    assert (play.state.turn_state, play.state.current_speaker) == ("dead", None)
    assert play.do(lambda s: decisions.mode(s, "report", play.now)) == []
    play.check()


def test_the_list_changes_between_cycles_only() -> None:
    play = begun()
    play.do(lambda s: decisions.join(s, "c", member("c"), play.now))
    play.say("a", "One.")
    play.do(lambda s: decisions.join(s, "b", None, play.now))
    assert play.state.cycle == 2
    assert sorted(play.state.speakers) == ["a", "c"]
    assert play.state.turn_state == "normal"
    with pytest.raises(Refusal):
        decisions.join(play.state, model.MODERATOR, None, play.now)


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
    for caller, code in (("b", "not-the-initiator"), ("x", "not-the-initiator")):
        with pytest.raises(Refusal) as refused:
            decisions.complete(play.state, caller, "s.md", play.now)
        assert refused.value.code == code
    assert play.types(play.do(lambda s: decisions.complete(s, "a", "s.md", play.now))) == (
        "completed turned"
    )
    assert play.do(lambda s: decisions.complete(s, "a", "s.md", play.now)) == []
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
        Play(mode="discussion", discussion=model.Discussion(initiator="a", guide="Topic: tea"))
    french = "**Sujet**\nThé\n\nObjectifs: un thé\n\n## Critères de fin\nTous."
    Play(mode="discussion", discussion=model.Discussion(initiator="a", guide=french))


def test_the_same_room_again_is_a_repeat() -> None:
    play = Play("a b")
    assert play.do(lambda s: decisions.create(s, play.state.copy())) == []
    with pytest.raises(Refusal):
        decisions.create(play.state, play.state.copy(mode="report"))
