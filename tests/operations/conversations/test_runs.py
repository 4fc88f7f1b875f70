"""Runs of real programs: their places, their failures, their end, and who answered in them."""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.conversations.conversation import EntryKind, Origin
from council.core.reasons import read_reason
from council.operations.conversations.answer import record_answer
from council.operations.conversations.follow import follow, minutes_of, resumed
from council.operations.conversations.steer import archive, cancel
from council.operations.detach import detach
from council.operations.heartbeat import running as runs_of_agents
from council.store.reason_words import reason_words
from council.store.slots import Slots
from tests.operations.tables import (
    FOUR,
    SPEAKS,
    Table,
    all_is_quiet,
    script,
    turns,
    until,
)

AGENTS = Path(__file__).parent.parent.parent / "agents"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ONE_ROUND = ("collect", "synthesize")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "workspace")


def program(name: str, *words: str, **more: object) -> dict[str, object]:
    return {"argv": [sys.executable, str(AGENTS / f"{name}.py"), *words], **more}


def failures(table: Table) -> list[tuple[str, bool]]:
    told = [one["data"] for one in table.events("task.failed")]
    return [(reason_words(read_reason(one["reason"])), one["final"]) for one in told]


@pytest.mark.req("XC-008", "C0-033", "XC-105")
def test_failing_agent_is_tried_three_times_with_pauses_and_then_left(table: Table):
    table.seat({"henry": script("cat >/dev/null; kill -9 $$"), "sage": {}}).convene()
    all_is_quiet()
    assert failures(table) == [("ended by SIGKILL", False)]

    table.beat_to_rest(timedelta(seconds=9))
    assert len(failures(table)) == 1
    table.beat_to_rest(timedelta(seconds=1))
    assert len(failures(table)) == 2
    table.beat_to_rest(timedelta(seconds=59))
    assert len(failures(table)) == 2
    table.beat_to_rest(timedelta(seconds=1))
    assert failures(table) == [("ended by SIGKILL", False)] * 3
    table.beat_to_rest(10 * MINUTE)

    assert len(failures(table)) == 3
    assert str(table.read().participants["henry"].status) == "WAITING"
    table.beat(HOUR)
    assert table.read().rounds[0].absent["henry"].code == "signal"


@pytest.mark.req("C0-046", "C0-076", "XC-008")
def test_run_that_hits_its_limit_is_not_tried_again_and_the_phase_waits(table: Table):
    table.seat({"henry": {**script("sleep 60"), "timeout": "1s"}, "sage": {}}, retry_backoff=[])
    table.convene()
    all_is_quiet()
    table.beat_to_rest(10 * MINUTE)

    assert failures(table) == [("timed out after 1s", True)]
    state = table.read()
    assert (str(state.participants["henry"].status), state.phase) == ("WAITING", "COLLECT")


@pytest.mark.req("OP-012")
def test_reader_of_minutes_sees_that_bytes_were_no_text_and_one_attempt_is_enough(table: Table):
    latin = r'cat >/dev/null; printf "Oui, d\351j\340.\nSTATUS: AGREED\n"'
    table.seat({"henry": script(latin), "sage": script(SPEAKS)}).convene(phases=ONE_ROUND)
    all_is_quiet()

    (minutes,) = table.minutes()
    text = minutes.read_text(encoding="utf-8")
    assert "[2 bytes were no UTF-8; \ufffd stands for each]" in text
    assert "Oui, d\ufffdj\ufffd." in text
    assert not table.events("task.failed")


@pytest.mark.req("C0-046")
def test_agent_that_answers_by_tool_and_by_standard_output_counts_once(table: Table):
    tools = {"henry": program("uses_tool"), "sage": program("uses_tool")}
    table.seat(tools, coordinator="maman").convene(phases=ONE_ROUND)
    all_is_quiet()

    state = table.read()
    assert sorted(one.agent for one in state.entries) == ["henry", "sage"]
    assert {one.kind for one in state.entries} == {EntryKind.CONTRIBUTION}
    assert {one.origin for one in state.entries} == {Origin.VERIFIED}
    assert sorted(one["agentId"] for one in table.events("answer.refused")) == ["henry", "sage"]
    assert failures(table) == []


def test_agent_with_a_tool_that_says_nothing_by_it_has_failed(table: Table):
    table.seat({"henry": {**script("echo no answer"), "answer": "tool"}, "sage": {}}).convene()
    all_is_quiet()

    assert failures(table) == [("no answer", False)]


@pytest.mark.req("XC-008")
def test_answer_that_comes_after_its_round_is_late_and_reaches_the_minutes(table: Table):
    gate = table.root.parent / "gate"
    os.mkfifo(gate)
    slow_once = f"[ $COUNCIL_TOUR = 2 ] && echo Yes. || cat {gate}"
    table.seat({"henry": script(slow_once), "sage": {}}, coordinator="maman").convene(
        phases=("collect", "challenge", "synthesize")
    )
    record_answer(table.place, "active", "sage", "Yes.")
    table.beat(HOUR)
    assert table.read().phase == "CHALLENGE"
    gate.write_text("Sorry, I was thinking.")
    until(table.has("contribution.late", "henry"), "the late answer")

    late = [one for one in table.read().entries if one.kind is EntryKind.LATE]
    assert [(one.agent, one.tour, one.text) for one in late] == [
        ("henry", 1, "Sorry, I was thinking.")
    ]
    cancel(table.place, "active")
    all_is_quiet()
    assert "Sorry, I was thinking." in table.minutes()[0].read_text(encoding="utf-8")


@pytest.mark.req("C0-033", "C0-034", "OP-006", "XC-008")
def test_supervisor_killed_while_its_agent_thinks_costs_one_beat(table: Table):
    pids, gate = table.root.parent / "pids", table.root.parent / "gate"
    os.mkfifo(gate)
    table.seat({"henry": script(f"echo $PPID >> {pids}; exec cat {gate}"), "sage": {}}).convene()
    until(lambda: pids.exists() and pids.read_text().strip(), "the start of the agent")
    assert str(table.read().participants["henry"].status) == "WAITING"
    os.kill(int(pids.read_text()), signal.SIGKILL)
    all_is_quiet()

    table.beat_to_rest(MINUTE)
    assert [one["agentId"] for one in table.events("task.lost")] == ["henry"]
    table.beat(MINUTE)
    gate.write_text("Here I am again.")
    all_is_quiet()

    assert str(table.read().participants["henry"].status) == "RESPONDED"
    assert len(table.events("task.started")) == 3


@pytest.mark.req("C0-033")
def test_agent_that_is_killed_is_tried_again(table: Table):
    once = table.root.parent / "once"
    dies = f'[ -e {once} ] || {{ : > {once}; kill -9 $$; }}; echo "Back."'
    table.seat({"henry": script(dies), "sage": {}}, retry_backoff=[]).convene()
    all_is_quiet()

    assert failures(table) == [("ended by SIGKILL", False)]
    assert str(table.read().participants["henry"].status) == "RESPONDED"


def test_broken_template_fails_the_task_with_its_reason_and_loses_nothing(table: Table):
    table.seat({"henry": script(SPEAKS), "sage": {}})
    template = table.root / "prompts" / "turn.md.j2"
    template.parent.mkdir()
    template.write_text("{% if %}")
    made = table.convene(phases=ONE_ROUND)
    ((reason, final),) = failures(table)
    assert "turn.md.j2, line 1 is broken" in reason
    assert not final
    assert made.report is not None
    assert ["turn.md.j2" in error.message for _, error in made.report.errors] == [True]
    assert table.tasks("sage") == []

    template.unlink()
    table.beat_to_rest(MINUTE)

    assert str(table.read().participants["henry"].status) == "RESPONDED"
    assert len(table.tasks("sage")) == 1


@pytest.mark.req("XC-008")
def test_unknown_driver_fails_with_its_reason(table: Table):
    table.seat({"henry": {"driver": "telepathy"}, "sage": {}}).convene()
    all_is_quiet()

    ((reason, _),) = failures(table)
    assert reason.startswith("no driver 'telepathy'")


@pytest.mark.req("XC-016")
@pytest.mark.parametrize("places", [1, 2])
def test_never_more_runs_than_places_and_one_of_an_agent_the_oldest_first(
    table: Table, places: int
):
    log = table.root.parent / "log"
    noted = f'echo "+ $COUNCIL_AGENT $COUNCIL_NAME" >> {log}; sleep 0.02; {SPEAKS}; '
    noted += f'echo "- $COUNCIL_AGENT $COUNCIL_NAME" >> {log}'
    agents = ("henry", "sage")
    table.seat({agent: {} for agent in agents}, max_runs=places)
    for minute, name in enumerate(("zeta", "kappa", "alpha")):
        table.now += minute * MINUTE
        table.convene(name=name, agents=agents, phases=("collect", "challenge", "synthesize"))
        for agent in agents:
            record_answer(table.place, name, agent, "Yes.")
    table.seat_all(noted, agents, max_runs=places)
    table.beat_to_rest(MINUTE)

    running: list[str] = []
    order: dict[str, list[str]] = {}
    for line in log.read_text().splitlines():
        sign, agent, name = line.split()
        if sign == "+":
            assert agent not in running
            running.append(agent)
            order.setdefault(agent, []).append(name)
        else:
            running.remove(agent)
        assert len(running) <= places
    for agent in agents:
        assert list(dict.fromkeys(order[agent])) == ["zeta", "kappa", "alpha"]
    assert len(table.minutes()) == 3


@pytest.mark.req("XC-016")
def test_place_is_passed_on_at_once_however_long_whoever_started_the_run_is_held_up(
    table: Table, monkeypatch: pytest.MonkeyPatch
):
    def held_up(*given: object, **more: object) -> None:
        detach(*given, **more)  # type: ignore[arg-type]
        all_is_quiet()

    monkeypatch.setattr(runs_of_agents, "detach", held_up)
    speaks = script(SPEAKS)
    table.seat({"henry": speaks, "sage": speaks, "nova": {}}, max_runs=1)
    table.convene(agents=("henry", "sage", "nova"))

    answered = table.read().participants
    assert [str(answered[one].status) for one in ("henry", "sage")] == ["RESPONDED"] * 2


@pytest.mark.req("XC-016", "XC-008")
def test_deadline_stands_still_for_one_who_waits_for_a_place_and_is_given_back(table: Table):
    table.seat({"henry": script(SPEAKS), "sage": {}}, max_runs=1)
    taken = Slots(table.place.paths.places, 1).take("somebody")
    assert taken is not None
    table.convene(agents=("henry", "sage"), phases=("collect", "challenge", "synthesize"))
    deadline = table.read().timeout_at
    assert [one["agentId"] for one in table.events("task.queued")] == ["henry"]

    table.beat(2 * HOUR)
    assert table.read().phase == "COLLECT"
    taken.release()
    table.beat_to_rest()

    state = table.read()
    assert str(state.participants["henry"].status) == "RESPONDED"
    assert state.timeout_at == deadline + 2 * HOUR
    assert state.phase == "COLLECT"


@pytest.mark.req("XC-016")
def test_looking_at_the_places_takes_none_of_them(table: Table):
    slots = Slots(table.place.paths.places, 1)
    held = slots.take("henry")
    assert held is not None
    assert (slots.taken(), slots.running_agents(), slots.take("sage")) == (1, ("henry",), None)
    held.release()
    looking = [os.open(path, os.O_RDONLY) for path in slots._files("")]
    import fcntl

    for descriptor in looking:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    assert slots.taken() == 0
    reader = os.fork()
    if not reader:
        os.execvp("sleep", ["sleep", "0.2"])  # the descriptors close as it becomes a program
    for descriptor in looking:
        os.close(descriptor)
    assert slots.take("henry") is not None
    os.waitpid(reader, 0)


@pytest.mark.req("XC-017")
def test_run_sees_the_variables_named_for_it_and_no_other(table: Table, monkeypatch):
    table.seat({"henry": program("shows_environment", env=["HENRYS_KEY"]), "sage": {}})
    base = {**table.environ, "HENRYS_KEY": "open-sesame", "SAGES_KEY": "secret", "EDITOR": "vi"}
    monkeypatch.setattr(Table, "environ", base)
    table.convene(sealed=False)
    all_is_quiet()

    (entry,) = table.read().entries
    seen = json.loads(entry.text)["environment"]
    assert seen["HENRYS_KEY"] == "open-sesame"
    assert {"SAGES_KEY", "EDITOR"} & set(seen) == set()
    (log,) = (table.root / "memory/shared/.council/runs").glob("*.log")
    assert "open-sesame" not in log.read_text(encoding="utf-8")
    assert "***" in log.read_text(encoding="utf-8")


def test_prompts_of_rounds_that_are_over_are_taken_back(table: Table):
    table.seat({agent: {} for agent in FOUR}, coordinator="maman").convene(phases=ONE_ROUND)
    for agent in FOUR:
        record_answer(table.place, "active", agent, "Yes.")
    table.beat()
    assert [len(table.tasks(agent)) for agent in FOUR] == [0, 0, 0, 0]
    record_answer(table.place, "active", "maman", "So be it.")
    table.beat()

    assert not [one for one in table.tasks("maman") if not one.name.endswith(".notice.md")]
    assert list(table.root.rglob("*.prompt*")) == []


def test_archiving_by_hand_ends_a_synthesis_that_waits_for_a_place(table: Table):
    gate = table.root.parent / "gate"
    os.mkfifo(gate)
    table.seat({"henry": script(f"cat {gate}"), "maman": script(SPEAKS)}, max_runs=1)
    table.convene(name="busy", agents=("henry", "sage"))
    table.convene(agents=("sage", "nova"), coordinator="maman", phases=ONE_ROUND)
    for agent in ("sage", "nova"):
        record_answer(table.place, "active", agent, "Yes.")
    table.beat()
    assert str(next(iter(table.read().tasks.values())).state) == "N" or table.events("task.queued")

    steered, path = archive(table.place, "active")
    gate.write_text("")
    cancel(table.place, "busy")
    all_is_quiet()

    assert steered.state.finished_at is not None
    assert (2, "council") in turns(Path(path).read_text(encoding="utf-8"))


def test_follower_sees_the_conversation_to_its_end(table: Table):
    made = table.seat_all(SPEAKS).convene(phases=ONE_ROUND)
    seen = list(follow(table.place, "active", made.state.conversation_id))
    all_is_quiet()

    assert all(one.conversation_id == made.state.conversation_id for one in seen)
    assert minutes_of(table.place, made.state.conversation_id).path == str(table.minutes()[0])


@pytest.mark.req("C0-020", "C0-027")
def test_prompt_of_a_round_holds_what_was_said_in_the_one_before(table: Table):
    folder = table.root.parent
    keeps = f'cat > {folder}/$COUNCIL_AGENT.$COUNCIL_TOUR; echo "$COUNCIL_AGENT-$COUNCIL_TOUR"'
    table.seat_all(keeps).convene()
    all_is_quiet()

    for agent in FOUR:
        for tour in (2, 3):
            prompt = (folder / f"{agent}.{tour}").read_text(encoding="utf-8")
            assert all(f"{other}-{tour - 1}" in prompt for other in FOUR)
        first = (folder / f"{agent}.1").read_text(encoding="utf-8")
        assert not any(f"{other}-1" in first for other in FOUR)


@pytest.mark.req("OP-017")
@pytest.mark.parametrize("is_over", [False, True])
def test_what_is_resumed_is_known_by_a_name_in_capitals(table: Table, is_over: bool):
    table.seat({agent: {} for agent in FOUR}).convene()
    if is_over:
        cancel(table.place, "active")

    assert resumed(table.place, "ACTIVE", "").name == "active"
