"""A phase closes once no participant is left who can still answer, and says so.

Agents are real little programs; nothing here waits for a clock.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.core.reasons import said
from council.operations.heartbeat.gate import note_failure
from tests.examples import one_in
from tests.operations.tables import SPEAKS, Table, all_is_quiet, script

THREE = ("henry", "sage", "nova")
DIES = script("cat >/dev/null; exit 3")
NOT_THERE: dict[str, object] = {"argv": ["no-such-program"]}
PHASES = ("collect", "challenge", "synthesize")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "workspace")


def _reasons(table: Table) -> list[object]:
    changes = table.events("phase.changed", "round.changed")
    return [one["data"]["reason"] for one in changes]  # type: ignore[index]


def _attempts(table: Table, agent: str) -> int:
    return sum(1 for one in table.events("task.started") if one["agentId"] == agent)


@pytest.mark.req("OP-002", "C0-076")
@pytest.mark.parametrize(("dead", "attempts"), [(DIES, 3), (NOT_THERE, 2)])
def test_one_dead_agent_of_three_costs_its_attempts_and_never_the_deadline(
    table: Table, dead: dict[str, object], attempts: int
):
    speaks = script(SPEAKS)
    table.seat({"henry": speaks, "sage": speaks, "nova": dead}, retry_backoff=[])
    table.convene(agents=THREE, phases=PHASES)
    all_is_quiet()

    assert _reasons(table) == ["nobody-left"] * 2
    assert _attempts(table, "nova") == attempts
    minutes = table.minutes()[0].read_text()
    assert table.events("conversation.finished")[0]["data"]["closedReason"] == "nobody-left"  # type: ignore[index]
    assert "no agent was left to answer" in minutes
    assert "NO RESPONSE (failed)" in minutes
    lacks = minutes.split("NO RESPONSE (failed)\n", 1)[1].split("\n\n", 1)[0]
    assert len(lacks.splitlines()) == 1, "the same reason stands once, for both rounds"


@pytest.mark.req("OP-002")
def test_next_attempt_that_would_begin_after_the_deadline_is_not_waited_for(table: Table):
    speaks = script(SPEAKS)
    table.seat({"henry": speaks, "sage": speaks, "nova": DIES}, retry_backoff=["60s"])
    table.convene(agents=THREE, phases=PHASES, timeout=timedelta(seconds=40))
    all_is_quiet()
    assert _reasons(table) == ["nobody-left"] * 2


@pytest.mark.req("OP-002")
@pytest.mark.parametrize("procedure", ["council", "deliberation"])
@pytest.mark.parametrize("lang", one_in(2, ["en", "fr"]))
def test_conversation_of_dead_agents_ends_by_itself_and_says_why(
    table: Table, procedure: str, lang: str
):
    table.seat(dict.fromkeys(THREE, NOT_THERE), retry_backoff=[])
    table.convene(agents=THREE, procedure=procedure, lang=lang)
    all_is_quiet()

    assert _reasons(table)[-1] == "nobody-left"
    assert set(_reasons(table)) <= {"nobody-left", "too-few"}
    (ended,) = table.events("conversation.finished")
    assert ended["data"] == {"status": "TIMEOUT", "closedReason": "nobody-left"}
    minutes = table.minutes()[0].read_text()
    said = {"en": "# No agent could answer", "fr": "# Aucun agent n'a pu répondre"}
    assert said[lang] in minutes
    lacks = {"en": "not found: no-such-program", "fr": "introuvable : no-such-program"}
    assert lacks[lang] in minutes


@pytest.mark.req("OP-002")
@pytest.mark.parametrize("procedure", ["council", "deliberation"])
def test_conversation_of_resting_agents_ends_by_itself(table: Table, procedure: str):
    table.seat_all(SPEAKS, THREE)
    for agent in THREE:
        for number in range(3):
            note_failure(table.place, agent, said("exit 1"), f"some-{number}")
    table.convene(agents=THREE, procedure=procedure)
    all_is_quiet()
    assert _reasons(table)[-1] == "nobody-left"
    assert set(_reasons(table)) <= {"nobody-left", "too-few"}
    assert "not started: rests until" in table.minutes()[0].read_text()


@pytest.mark.req("OP-002")
@pytest.mark.parametrize("procedure", ["council", "deliberation"])
def test_who_answers_by_hand_can_always_still_answer(table: Table, procedure: str):
    table.seat({"henry": NOT_THERE, "sage": NOT_THERE, "nova": {}}, retry_backoff=[])
    table.convene(agents=THREE, procedure=procedure)
    all_is_quiet()
    table.beat_to_rest(timedelta(minutes=50))
    assert table.read().tour == 1
    assert table.tasks("nova")
