"""Storms of calls: many at once, held by the guards, every refusal in the log."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from council.core.delegation.delegation import DEFAULTS
from council.core.event_types import event_schema
from tests.operations.calls import REPEATS, CallTable, call_table, calls
from tests.operations.tables import running_processes, script
from tests.store.processes import forked, status_of, together


def assert_all_ended_within_the_limits(table: CallTable) -> None:
    """Each start has one end, no trace has had too many or too deep calls, nothing runs on."""
    validator = Draft202012Validator(event_schema())
    events = table.events()
    assert [fault.message for one in events for fault in validator.iter_errors(one)] == []
    starts = [one for one in events if one["type"] == "agent.call.start"]
    ends = [one for one in events if one["type"] in ("agent.call.end", "agent.call.error")]
    tasks = [one["data"]["task"] for one in starts]
    assert sorted(tasks) == sorted(one["data"]["task"] for one in ends)
    assert len(set(tasks)) == len(tasks)
    assert max(one["data"]["depth"] for one in starts) <= DEFAULTS["maxDepth"]
    assert max(Counter(one["traceId"] for one in starts).values()) <= DEFAULTS["maxCallsPerTrace"]
    pairs = Counter((one["fromAgentId"], one["toAgentId"]) for one in starts)
    assert max(pairs.values()) <= DEFAULTS["pairRateLimitPerMinute"]
    for one in starts:  # no agent stands twice in a line
        assert len(set(one["data"]["path"])) == len(one["data"]["path"])
    assert running_processes(table.root) == []
    assert table.notes() == []


def refusals_told(table: CallTable) -> int:
    """Return how many refusals were answered to agents: each writes one line when it gets one."""
    told = table.root / "refused"
    return len(told.read_text().splitlines()) if told.exists() else 0


CALLS_ALL = (
    "cat >/dev/null; for one in {}; do "
    'council agent call --to $one "from $COUNCIL_AGENT" >/dev/null 2>&1 '
    '|| echo "$COUNCIL_AGENT $one $?" >> "$COUNCIL_ROOT/refused"; done; echo "Done."'
)


def storm(table: CallTable, agents: list[str], each: int) -> None:
    """Let every agent be called in a trace of its own; each calls `each` others."""
    lines = {}
    for at, one in enumerate(agents):
        others = [agents[(at + step) % len(agents)] for step in range(1, each + 1)]
        lines[one] = script(CALLS_ALL.format(" ".join(others)))
    # A line that has closed its circle is refused at once; others wait, and not for long.
    table.seat(lines, max_runs=4)
    children = [
        forked(lambda one=one: table.call(one, trace=f"storm-{one}", limits={"timeoutMs": 120_000}))
        for one in agents
    ]
    assert [status_of(child) for child in children] == [0] * len(agents)


def assert_each_refusal_is_in_the_log(table: CallTable) -> None:
    said = [line.split() for line in (table.root / "refused").read_text().splitlines()]
    refused = Counter((caller, target) for caller, target, code in said if code == "6")
    logged = Counter(
        (one["fromAgentId"], one["toAgentId"]) for one in table.events("guard.rejected")
    )
    assert {code for _, _, code in said} <= {"6"}
    # The calls that began the storm come from no run that writes down what was refused.
    assert {pair: n for pair, n in logged.items() if pair[0] != "user"} == dict(refused)


@pytest.mark.req("P8-060", "P8-061", "P8-053")
def test_three_that_call_each_other_in_a_circle_come_to_rest(tmp_path: Path):
    table = call_table(tmp_path / "workspace", ann=calls("bob"), bob=calls("cyd"), cyd=calls("ann"))

    for _ in range(2):
        assert table.call("ann").status == "ok"

    assert_all_ended_within_the_limits(table)
    (refused,) = table.events("guard.rejected")
    assert "ann → bob → cyd → ann" in refused["data"]["message"]


@pytest.mark.long
@pytest.mark.req("P8-054", "P8-056", "P8-060", "P8-061")
def test_five_agents_that_all_call_all_come_to_rest(tmp_path: Path):
    table = CallTable(tmp_path / "workspace")

    storm(table, [f"a{n}" for n in range(5)], each=4)

    assert_all_ended_within_the_limits(table)
    assert refusals_told(table) > 0
    assert_each_refusal_is_in_the_log(table)


@pytest.mark.slow
@pytest.mark.req("P8-054", "P8-056", "P8-060", "P8-061")
def test_twenty_agents_that_all_call_all_come_to_rest(tmp_path: Path):
    table = CallTable(tmp_path / "workspace")

    storm(table, [f"a{n}" for n in range(20)], each=19)

    assert_all_ended_within_the_limits(table)
    assert_each_refusal_is_in_the_log(table)


@pytest.mark.long
@pytest.mark.req("P8-054", "XC-001")
def test_fifty_processes_of_one_trace_get_eight_calls(tmp_path: Path):
    agents = {f"a{n}": REPEATS for n in range(50)}
    table = call_table(tmp_path / "workspace", **agents)
    settings = table.root / "council.toml"
    settings.write_text("max_runs = 4\n" + settings.read_text())

    def ask(agent: str) -> None:
        done = table.call(agent)
        (table.root / f"{agent}.answer").write_text(json.dumps(done.to_record()))

    statuses = together([lambda agent=agent: ask(agent) for agent in agents])

    assert statuses == [0] * 50
    answers = [json.loads(path.read_text()) for path in table.root.glob("*.answer")]
    assert Counter(one["status"] for one in answers) == {"ok": 8, "rejected": 42}
    assert {one["error"]["guard"] for one in answers if "error" in one} == {"maxCallsPerTrace"}
    assert len(table.events("guard.rejected")) == 42
    assert len(table.ledger()["calls"]) == 8
    assert_all_ended_within_the_limits(table)


@pytest.mark.long
@pytest.mark.req("P8-056", "XC-001")
def test_fifty_processes_of_one_pair_get_six_through(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage=REPEATS)

    def ask(number: int) -> None:
        done = table.message("sage", f"message {number}", trace=f"t{number}")
        (table.root / f"{number}.answer").write_text(done.status)

    statuses = together([lambda number=number: ask(number) for number in range(50)])

    assert statuses == [0] * 50
    answers = Counter(path.read_text() for path in table.root.glob("*.answer"))
    assert answers == {"ok": 6, "rejected": 44}
    assert len(table.transcript("sage", "agent:sage:inbox")) == 6
