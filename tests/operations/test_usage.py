"""What runs have used: counted by agent, told apart from what is estimated, capped in dollars."""

from __future__ import annotations

import json
import shlex
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.bounds import Ceiling, Spent, Tally, Usage, may_pass, spend
from council.core.reasons import read_reason
from council.operations.conversations.metrics import metrics
from council.operations.reporting.usage import used_line, used_words
from council.operations.view import shown
from council.store.reason_words import reason_words
from tests.operations.tables import FOUR, NOW, SPEAKS, Table, all_is_quiet, script, until

COSTS = 'echo "usage tokens=1000 usd=0.30" >> "$COUNCIL_REPORT"; ' + SPEAKS
COUNTS = 'echo "usage tokens=700" >> "$COUNCIL_REPORT"; ' + SPEAKS


def seat(tmp_path: Path, limits: str, **says: str) -> Table:
    table = Table(tmp_path / "workspace").seat({who: script(text) for who, text in says.items()})
    file = table.root / "council.toml"
    file.write_text(f"{file.read_text()}[limits]\n{limits}\n")
    return table


@pytest.mark.req("CL-002")
def test_a_cap_in_dollars_is_passed_by_one_run_at_most_though_all_were_due_at_once(tmp_path: Path):
    table = seat(tmp_path, "max_usd_per_council = 0.5", **dict.fromkeys(FOUR, COSTS))
    table.convene(agents=FOUR, phases=("collect",))
    all_is_quiet()
    for _ in range(3):
        table.beat_to_rest(timedelta(minutes=1))

    assert len(table.events("task.started")) == 2
    reasons = {
        reason_words(read_reason(one["data"]["reason"])) for one in table.events("task.refused")
    }
    assert reasons == {"not started: max_usd_per_council = 0.5 is reached"}


@pytest.mark.req("CL-002", "OP-018")
def test_dear_runs_that_are_due_at_once_pass_a_ceiling_in_dollars_by_one_turn(tmp_path: Path):
    dear = COSTS.replace("usd=0.30", "usd=1.00")
    table = seat(tmp_path, "max_runs_per_day = 99", **dict.fromkeys(FOUR, dear))
    table.convene(agents=FOUR, phases=("collect",), ceiling=Ceiling(usd=1.5))
    all_is_quiet()
    for _ in range(3):
        table.beat_to_rest(timedelta(minutes=1))

    assert len(table.events("task.started")) == 2


@pytest.mark.req("CL-002")
def test_the_dollars_of_a_day_are_counted_over_all_councils(tmp_path: Path):
    table = seat(tmp_path, "max_usd_per_day = 1", **dict.fromkeys(FOUR, COSTS))
    table.convene(agents=FOUR[:2], phases=("collect",), name="one")
    all_is_quiet()
    table.convene("And this?", agents=FOUR, phases=("collect",), name="two")
    all_is_quiet()
    table.beat_to_rest(timedelta(minutes=1))

    assert len(table.events("task.started")) == 4  # at 0.90 there was room for one
    reasons = {
        reason_words(read_reason(one["data"]["reason"])) for one in table.events("task.refused")
    }
    assert reasons == {"not started: max_usd_per_day = 1 is reached"}


@pytest.mark.req("CL-002")
def test_runs_wait_for_each_other_only_where_together_they_may_pass_a_cap():
    tally, limits = Tally(today=Spent()), {"max_usd_per_council": 2.0}
    usage = {"ann": Usage(runs=2, tokens=10, usd=1.0, priced=2)}
    spend(tally, "one", NOW, tokens=10, usd=1.0)
    assert not may_pass(tally, limits, "one", NOW, usage, 0)
    assert not may_pass(tally, {"max_usd_per_council": 2.1}, "one", NOW, usage, 1)
    assert may_pass(tally, limits, "one", NOW, usage, 2)
    assert not may_pass(tally, {}, "one", NOW, usage, 9)
    assert not may_pass(
        tally, {"max_usd_per_council": 0.5}, "one", NOW, usage, 2
    )  # the cap says so


@pytest.mark.req("CL-002")
def test_what_each_agent_used_stands_in_show_in_minutes_and_in_metrics(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_day = 99", henry=COSTS, sage=COUNTS, nova=SPEAKS)
    table.convene(agents=("henry", "sage", "nova"), phases=("collect",), ceiling=Ceiling(runs=9))
    all_is_quiet()

    (minutes,) = table.minutes()
    text = minutes.read_text()
    (line,) = [one for one in text.splitlines() if one.startswith("- **Used**")]
    assert "henry 2,000 tokens, $0.60" in line.lower()
    assert "sage 700 tokens, cost unknown" in line.lower()
    assert "nova some " in line.lower()
    used = metrics(table.place).to_record()["used"]
    assert used["tokens"] == 2700
    assert used["usd"] == 0.6  # henry wrote the synthesis, too
    assert used["runsOfUnknownCost"] == 2
    assert used["estimatedTokens"] == used["agents"]["nova"]["estimatedTokens"] > 0
    assert used["agents"]["nova"]["tokens"] == 0
    assert used["agents"]["sage"]["usd"] is None
    assert "  sage   700 tokens, cost unknown" in metrics(table.place).to_text()
    data = json.loads(next((table.root / "conseils").rglob("*.json")).read_text())
    assert data["facts"]["used"] == used
    assert data["usage"]["henry"]["usd"] == 0.6


@pytest.mark.req("CL-002")
def test_a_run_whose_key_was_refused_used_nothing(tmp_path: Path):
    said = {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}
    refused = {
        **script(f"cat > /dev/null; echo {shlex.quote(json.dumps(said))}"),
        "output": "codex",
    }
    table = Table(tmp_path / "workspace").seat(dict.fromkeys(("henry", "sage"), refused))
    table.convene(agents=("henry", "sage"), phases=("collect",), ceiling=Ceiling(runs=9))
    all_is_quiet()

    used = metrics(table.place).to_record()["used"]
    assert (used["tokens"], used["estimatedTokens"]) == (0, 0)
    assert "used:" not in metrics(table.place).to_text()


@pytest.mark.req("CL-002")
def test_without_a_ceiling_what_no_run_told_is_not_made_up(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_day = 99", henry=COUNTS, sage=SPEAKS)
    table.convene(agents=("henry", "sage"))
    all_is_quiet()
    (minutes,) = table.minutes()
    (line,) = [one for one in minutes.read_text().splitlines() if "**Used**" in one]
    assert "tokens, cost unknown" in line
    assert "sage" not in line


@pytest.mark.req("CL-002", "HR-026")
def test_an_agent_whose_program_is_not_there_has_used_nothing(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_day = 99", henry=COUNTS, sage=COUNTS)
    file = table.root / "council.toml"
    file.write_text(file.read_text() + '[agents.nova]\nargv = ["not-there"]\n')
    table.convene(agents=("henry", "sage", "nova"), phases=("collect",), ceiling=Ceiling(runs=9))
    all_is_quiet()

    (minutes,) = table.minutes()
    (line,) = [one for one in minutes.read_text().splitlines() if "**Used**" in one]
    assert "sage" in line.lower()
    assert "nova" not in line.lower()
    assert "estimated" not in line


def test_show_tells_what_an_open_conversation_has_used(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_day = 99", henry=COSTS, sage="sleep 60")
    table.convene(agents=("henry", "sage"), phases=("collect",))
    until(lambda: table.read().usage, "the use of henry")
    assert shown(table.read())["used"]["agents"]["henry"]["usd"] == 0.3


@pytest.mark.parametrize(
    ("one", "english", "french"),
    [
        (
            Usage(runs=2, tokens=12345, usd=0.5, priced=2),
            "12,345 tokens, $0.50",
            "12 345 jetons, 0,50 $",
        ),
        (Usage(runs=1, tokens=10), "10 tokens, cost unknown", "10 jetons, coût inconnu"),
        (Usage(runs=1, usd=0.0001, priced=1), "0 tokens, $0.0001", "0 jetons, 0,0001 $"),
    ],
)
def test_words_of_use_never_call_an_unknown_cost_none(one: Usage, english: str, french: str):
    assert used_words(one, "en") == english
    assert used_words(one, "fr").replace("\u202f", " ") == french
    assert used_line({}, str, "en") == ""
