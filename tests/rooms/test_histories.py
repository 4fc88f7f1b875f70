"""Random histories of a room: nobody speaks out of turn, and nothing goes on for ever."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from council.agents.settings import Channels
from council.kernel.errors import Refusal
from council.rooms import decisions, page
from tests.rooms.play import Play, discussion

AGENTS, RULES = "abc", Channels(max_cycles=5)
WORDS = "a b c x y x@b a@c a. b. c. a: b: c: a! b! c! +a +b +c -a -b -c 1s 20s 700s"
STEPS = st.one_of(
    st.tuples(st.sampled_from(WORDS.split()), st.just("")),
    st.tuples(st.sampled_from(["begin a", "begin b"]), st.sampled_from(["", "r1", "r2"])),
    st.tuples(st.just("mode"), st.sampled_from(["none", "chat", "report"])),
    st.tuples(st.just("run"), st.sampled_from(["NO_REPLY", "Hm.", "fails"])),
)


def step(play: Play, what: str, text: str) -> None:
    now = play.now
    if what.startswith("begin"):
        play.do(lambda s: decisions.begin(s, what[-1], text, now))
    elif what == "mode":
        play.do(lambda s: decisions.mode(s, text, now))
    elif what != "run":
        play.step(what)
    elif page.work(play.state, now):
        play.run(text, "crashed" * (text == "fails"))


@given(st.lists(STEPS, max_size=40), st.booleans(), st.sampled_from(["a b", "a b c", "a", ""]))
@settings(max_examples=150, deadline=None)
def test_a_random_history(steps: list[tuple[str, str]], talks: bool, members: str) -> None:
    play = discussion(f"{members} x") if talks else Play(f"{members} x", rules=RULES)
    for one in steps:
        before = play.state
        try:
            step(play, *one)
        except Refusal:
            assert play.state == before
        state = play.state
        speaker = state.current_speaker
        assert speaker is None or speaker in state.agents() or state.mode != "chat"
        assert speaker is None or state.dormant_at is None
        assert len(set(state.speakers)) == len(state.speakers)
        assert len({speaker, *state.queue}) == len(state.queue) + 1
        assert state.turn >= before.turn
        assert not state.stirred
        wake = page.wake(state)
        if page.work(state, play.now):
            assert wake and wake <= play.now
        allowed = [agent for agent in AGENTS if not decisions.why_not(state, agent)]
        if state.turn_state in ("normal", "shuffle"):
            assert allowed in ([], [speaker])
        assert state.cycles_alone <= 6
    play.check()
    # Left alone with agents that pass, it comes to rest.
    for _ in range(12):
        if play.state.current_speaker is None:
            break
        play.now += timedelta(seconds=3600)
        play.do(lambda _: [])
    assert play.state.current_speaker is None or play.state.turn_at is None
