"""Random histories of calls and messages: each ends once, no guard is passed, none is forgotten."""

from collections import Counter
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from council.delegation import ledger
from council.delegation.ledger import State
from council.kernel import codec, times
from council.kernel.errors import Refusal
from council.runs import work
from tests.delegation.test_ledger import NOW, OPEN, USUAL, a_call, a_message

AGENTS = st.sampled_from("abcd")
STEPS = st.one_of(
    st.tuples(st.just("call"), AGENTS, AGENTS),
    st.tuples(st.just("message"), st.just("a"), st.sampled_from("bc")),
    st.tuples(st.just("start"), st.just(""), st.just("")),
    st.tuples(st.just("end"), st.sampled_from(["Forty.", "", "lost"]), st.just("")),
    st.tuples(st.just("read"), AGENTS, st.just("")),
    st.tuples(st.just("later"), st.sampled_from(["1", "30", "130"]), st.just("")),
)


def decided(state, what, who, other, now):
    at, running = times.text(now), [run for run in state.runs.by_id.values() if run.is_open()]
    if what == "call":
        over = ledger.above(state, "", who)
        path = [*over.path, who] if over else [who]
        made = a_call(who, other, at=now, path=path, trace=over.trace_id if over else f"t-{at}")
        if ledger.repeats(state, made, now):
            return []
        return ledger.accept(state, made, OPEN, made.limits, now)
    if what == "message":
        made = a_message(who, other, text=f"{len(state.messages)}", at=now)
        return ledger.accept(state, made, OPEN, USUAL, now)
    if what == "start":
        lease = timedelta(minutes=3)
        return [work.claimed(one, "calls", now, lease) for one in ledger.work(state, now)]
    if what == "end" and running:
        run = running[0]
        if who == "lost":
            return [work.failed(run.id, at, "lost", "It ended.")]
        ended = ledger.ended(state.call(run.tour), at, ledger.OK if who else ledger.ERROR, who)
        return [work.answered(run.id, at, work.Use()), ended] * (not state.call(run.tour).status)
    if what == "read":
        return ledger.seen(state, who, now, at)
    return []


def check(state, events, now):
    counts = Counter((one["type"], one.get("number")) for one in events)
    assert not [key for key, count in counts.items() if key[0][:10] == "agent.call" and count > 1]
    asked = [(one.from_agent_id, one.task_hash) for one in state.open()]
    assert len(asked) == len({*asked})
    for one in state.calls:
        assert one.to_agent_id not in one.path and len(one.path) <= USUAL["maxDepth"] + 1
    assert max(state.traces.values(), default=0) <= USUAL["maxCallsPerTrace"]
    sent, ago = [*state.calls, *state.messages], times.text(now - ledger.MINUTE)
    pairs = Counter(one.pair() for one in sent if one.at > ago)
    assert max(pairs.values(), default=0) <= 6
    assert (ledger.wake(state) is None) is (not state.open())
    waits = [one.tour for one in ledger.work(state, now)]
    assert len(waits) == len({*waits})


@given(st.lists(STEPS, max_size=50))
@settings(max_examples=150, deadline=None)
def test_a_random_history(steps):
    state, events, now = State(), [], NOW
    for what, who, other in [*steps, *[("later", "130", "")] * 3, ("end", "lost", "")]:
        now += timedelta(seconds=int(who) if what == "later" else 0)
        before = state.copy()
        try:
            more = decided(state, what, who, other, now) or ledger.due(state, now)
        except Refusal:
            assert state == before
            continue
        while more:
            for event in more:
                ledger.evolve(state, codec.loads(codec.encoded(event)))
            events += more
            more = ledger.due(state, now)
        check(state, events, now)
    again = State()
    for event in events:
        ledger.evolve(again, event)
    assert again == state == State.from_json(codec.loads(codec.encoded(state.to_json())))
    assert len([run for run in state.runs.by_id.values() if run.is_open()]) >= len(state.open())
