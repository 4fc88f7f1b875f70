import json
from datetime import UTC, datetime, timedelta

import pytest

from council.agents import registry
from council.agents.settings import AgentSettings, Limits
from council.runs.work import Run, Use

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
ADA = AgentSettings(id="ada", driver="command", argv=["x"])


def after(*events, state=None):
    state = state or registry.new()
    for event in json.loads(json.dumps(events)):
        registry.evolve(state, event)
    return state


def ended(state, number: int, code: str = "", settings=ADA, now=NOW, **use):
    run = Run(
        **{"id": f"c.{number}", "agent": "ada", "task": "turn", "tour": 1, "attempt": 1},
        **{"at": "2026-11-28T08:59:00Z", "lease": "2026-11-28T09:10:00Z"},
        **{"outcome": "failed" if code else "answered", "code": code, "words": f"why {number}"},
        use=Use(**use),
    )
    return after(*registry.run_ended(state, run, settings, Limits(), now), state=state)


ROWS = [  # codes of ended runs ("" is an answer), then: does the agent rest
    (["crashed"] * 2, False),
    (["crashed"] * 3, True),
    (["crashed", "crashed", "", "crashed"], False),
    (["lost", "ended", "missing-program", "bad-settings"], False),
    (["crashed", "lost", "quota", "crashed"], True),
    (["crashed"] * 3 + [""], False),
]


@pytest.mark.parametrize(("codes", "rests"), ROWS)
def test_an_agent_that_fails_three_times_in_a_row_rests(codes, rests):
    state = registry.new()
    for number, code in enumerate(codes):
        state = ended(state, number, code)
    rest = registry.rest_of(state, ADA, NOW)
    assert bool(rest) is rests
    if rest:
        assert rest.until == "2026-11-28T09:30:00Z"
        for minutes in (30, -2):  # it is over, or the clock was set back
            assert registry.rest_of(state, ADA, NOW + timedelta(minutes=minutes)) is None


def test_a_mended_file_or_setting_ends_the_rest_and_the_count(tmp_path):
    state, own = registry.new(), ADA.copy(argv=["x", f"{tmp_path}/agent.py"])
    for number in range(3):
        state = ended(state, number, "crashed", own)
    assert registry.rest_of(state, own, NOW) and not registry.rest_of(state, ADA, NOW)
    (tmp_path / "agent.py").touch()
    assert registry.rest_of(state, own, NOW) is None
    state = ended(state, 4, "crashed", own)
    assert state.failing["ada"].count == 1


def test_use_is_counted_once_and_by_day():
    state = ended(registry.new(), 1, usd=0.5)
    state = ended(state, 1, usd=0.5)
    state = ended(state, 2, "crashed", usd=0.25)
    state = ended(state, 3, now=NOW + timedelta(days=1))
    day = state.days[f"{NOW:%Y-%m-%d}"]
    assert (day.runs, day.usd, state.runs) == (2, 0.75, ["c.1", "c.2", "c.3"])


def test_halting_and_resuming():
    state = registry.new()
    for halted, since in ((True, "2026-11-28T09:00:00Z"), (False, "")):
        state = after(*registry.halt(state, halted, NOW), state=state)
        assert state.halted == since and registry.halt(state, halted, NOW) == []


def test_old_days_and_runs_are_forgotten():
    state = registry.new()
    for number in range(600):
        state = ended(state, number, now=NOW + timedelta(days=number // 6))
    assert len(state.days) == registry.KNOWN_DAYS and len(state.runs) == registry.KNOWN_RUNS
    assert registry.Registry.from_json(state.to_json()) == state
