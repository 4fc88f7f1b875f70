"""Random histories of a context: no task twice, none forgotten, and all come to an end."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from council.agents.registry import Worker
from council.kernel.errors import Refusal
from council.tasks import decisions, rules
from tests.tasks.play import Played

WORKERS = {
    "W1": Worker(agent_id="ada", caps=["plan", "test"]),
    "W2": Worker(agent_id="bea", caps=["plan"], max_depth=2),
    "W3": Worker(agent_id="cid", caps=["test"]),
}
OUTPUTS = [
    ("S", "D", "-", "result=Yes"), ("E", "F", "E20", "desc=late"), ("E", "F", "E17", "needed=900"),
    ("E", "F", "E33", "desc=gone"), ("C", "R", "-", "question=Which;options=a,b"),
    ("X", "R", "-", "call=plan"), ("X", "R", "-", "call=test"), ("U", "R", "-", "progress=50%"),
    ("Yes.", "", "", ""),
]  # fmt: skip
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["plan", "test", ""])),
    st.tuples(st.just("run"), st.sampled_from(OUTPUTS)),
    st.tuples(st.just("fail"), st.sampled_from(["crashed", "timed-out", "lost", "quota"])),
    st.tuples(st.just("say"), st.sampled_from(["1", "b", "Neither."])),
    st.tuples(st.just("cancel"), st.sampled_from(["T1", "T2"])),
    st.tuples(st.just("later"), st.sampled_from([5, 70, 4000])),
    st.tuples(st.just("leave"), st.sampled_from(list(WORKERS))),
)


def step(it: Played, what: str, how: Any) -> None:
    state = it.state
    if what == "ask" and not state.closed_at:
        it.ask("Do it", *filter(None, [how]))
    elif what == "run" and (hop := next_hop(it)):
        kind, mark, code, text = how
        target = next(key for key in WORKERS if key != hop.worker) if kind == "X" else "O1"
        head = f"M1|{hop.worker}>{target}|{kind}|{hop.task}|P1|{mark}|{code}"
        it.run(f"{head}|{hop.depth + (kind == 'X')}|S1|-|{text}")
    elif what == "fail" and next_hop(it):
        it.run(code=how)
    elif what == "say" and state.pending():
        it.act(decisions.reply, state.pending()[0], how)
    elif what == "cancel":
        it.act(decisions.cancel, how, "")
    elif what == "later":
        it.later(how)
    elif what == "leave" and not state.closed_at:
        it.know({key: one for key, one in state.workers.items() if key != how})


def next_hop(it: Played) -> Any:
    wanted = rules.work(it.state, it.now)
    return next((h for h in it.state.hops.values() if wanted and h.asked == wanted[0].tour), None)


def check(it: Played) -> None:
    state = it.state
    for ident, task in state.tasks.items():
        hops = [hop for hop in state.open_hops(ident) if not hop.source]
        assert len(hops) <= 1 and bool(hops or task.question) is (task.state in "NR")
        assert sum(hop.retry for hop in state.hops.values() if hop.task == ident) <= 3 * 3
    agents = [one.agent for one in rules.work(state, it.now)]
    assert len(agents) == len({*agents}) and len(state.hops) <= 40 * (len(state.tasks) or 1)
    assert all(hop.budget is None or 0 <= hop.budget <= 9999 for hop in state.hops.values())
    ended = bool(state.tasks) and all(one.state not in "NR" for one in state.tasks.values())
    assert bool(state.closed_at) is ended
    wake = rules.wake(state)
    assert wake is None if ended else wake or state.pending() or not state.tasks
    assert not agents or (wake and wake <= it.now)


@given(st.lists(STEPS, max_size=30), st.sampled_from(["wait", "first", "abandon"]))
@settings(max_examples=150, deadline=None)
def test_a_random_history(steps: list[tuple[str, Any]], policy: str) -> None:
    it = Played(WORKERS, choice_policy=policy, backoff=[10])
    for what, how in steps:
        before = it.state.copy()
        try:
            step(it, what, how)
        except Refusal:
            assert it.state == before
        check(it)
    for _ in range(200):  # left alone with workers that fall silent, and a person who answers
        if it.state.closed_at or not it.state.tasks:
            break
        for ident in it.state.pending():
            it.act(decisions.reply, ident, "1")
        it.later(3700)
    assert it.state.closed_at or not it.state.tasks
    assert it.state.answer or not it.state.tasks
