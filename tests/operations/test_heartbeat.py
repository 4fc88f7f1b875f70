"""The heartbeat on whole workspaces: what it advances, whom it wakes, what it leaves alone."""

from __future__ import annotations

import gc
import os
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.errors import CouncilError, InvalidStateError, NotFoundError
from council.operations.conversations.answer import record_answer, respond
from council.operations.conversations.steer import cancel, pause
from council.operations.heartbeat.beat import beat, beat_in_turn, wait
from council.store.lock import Lock
from tests.operations.crashes import killed_at
from tests.operations.tables import (
    FOUR,
    SPEAKS,
    Table,
    all_is_quiet,
    running_processes,
    script,
    turns,
)

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
BY_HAND: dict[str, dict[str, object]] = {agent: {} for agent in FOUR}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "workspace")


def all_answer(table: Table, name: str = "active", agents: tuple[str, ...] = FOUR) -> None:
    tour = table.read(name).tour
    for agent in agents:
        record_answer(table.place, name, agent, f"I am {agent} in round {tour}.")


@pytest.mark.req("C0-025", "C0-029")
def test_nothing_open_is_nothing_to_do(table: Table):
    report = table.beat()

    assert (report.conversations, report.errors, report.changed) == ([], [], False)


@pytest.mark.req("C0-037", "C0-020")
def test_convening_hands_each_agent_its_prompt(table: Table):
    made = table.seat(BY_HAND).convene("Shall we build it?", brief="A bot for the weather.")

    for agent in FOUR:
        (prompt,) = table.tasks(agent)
        assert "A bot for the weather." in prompt.read_text(encoding="utf-8")
    assert made.report is not None
    assert sorted(made.report.conversations[0].woken) == sorted(FOUR)


@pytest.mark.req("C0-021", "C0-027", "C0-030", "C0-062", "XC-011")
def test_programs_hold_a_whole_council_from_one_command_and_nothing_runs_afterwards(table: Table):
    table.seat_all(SPEAKS).convene()
    all_is_quiet()

    (minutes,) = table.minutes()
    heard = sorted(turns(minutes.read_text(encoding="utf-8")))
    assert heard[:12] == [(tour, agent) for tour in (1, 2, 3) for agent in sorted(FOUR)]
    assert len(heard) == 13
    assert not table.live().exists()
    assert running_processes() == []


@pytest.mark.req("C0-021")
def test_while_people_think_no_process_runs(table: Table):
    table.seat(BY_HAND).convene()
    for agent in FOUR[:3]:
        respond(table.place, "active", agent, "Yes.")
    all_is_quiet()

    assert running_processes() == []


def test_a_save_that_an_answer_overtook_is_taken_in_by_the_next_heartbeat(table: Table):
    table.seat(BY_HAND).convene("A weather bot?")
    text = table.live().read_text(encoding="utf-8")
    with table.live().open("r+", encoding="utf-8") as slow:
        respond(table.place, "active", "sage", "Yes.")
        table.beat()
        slow.write(text.replace("A weather bot?", "A wind sock?"))
        slow.truncate()

    (seen,) = table.beat().conversations

    assert seen.edited
    assert "A wind sock?" in table.live().read_text(encoding="utf-8")
    assert not table.beat().conversations[0].edited


@pytest.mark.req("C0-026", "C0-027", "C0-029", "C0-071")
def test_round_closes_when_all_have_answered_and_not_before(table: Table):
    table.seat(BY_HAND).convene()
    first_deadline = table.read().timeout_at
    all_answer(table, agents=FOUR[:3])
    before = table.digest_of_the_tree("BOARD.md")
    (seen,) = table.beat(MINUTE).conversations
    assert (seen.waiting, seen.moved_to) == (["blaise"], "")
    assert table.digest_of_the_tree("BOARD.md") == before

    table.live().write_text(
        table.live()
        .read_text(encoding="utf-8")
        .replace('"blaise": {"status": "WAITING"', '"blaise": {"status": "RESPONDED"'),
        encoding="utf-8",
    )
    (seen,) = table.beat().conversations

    assert (seen.moved_from, seen.moved_to, seen.reason) == ("COLLECT", "CHALLENGE", "all-answered")
    state = table.read()
    assert (state.tour, {str(one.status) for one in state.participants.values()}) == (
        2,
        {"WAITING"},
    )
    assert state.timeout_at == first_deadline + MINUTE
    for agent in FOUR:
        (prompt,) = table.tasks(agent)
        assert "I am sage in round 1." in prompt.read_text(encoding="utf-8")


@pytest.mark.req("C0-033", "C0-072", "C0-073")
def test_one_who_never_answers_is_left_behind_and_named(table: Table):
    table.seat(BY_HAND).convene(phases=("collect", "synthesize"))
    all_answer(table, agents=FOUR[:3])
    (seen,) = table.beat(HOUR).conversations
    assert (seen.moved_to, seen.reason) == ("SYNTHESIZE", "timeout")
    record_answer(table.place, "active", "henry", "So be it.")
    table.beat()

    (minutes,) = table.minutes()
    assert "Blaise: NO RESPONSE (timeout)" in minutes.read_text(encoding="utf-8")
    assert [one["agentId"] for one in table.events("turn.missed")] == ["blaise"]


@pytest.mark.req("C0-032", "C0-063", "C0-079")
def test_hundred_heartbeats_on_a_silent_council_end_in_one_archive(table: Table):
    table.seat(BY_HAND).convene()
    phases = []
    for _ in range(100):
        (*seen,) = table.beat(HOUR).conversations
        phases += [one.moved_to for one in seen if one.moved_to]

    assert phases == ["CHALLENGE", "RESOLVE", "SYNTHESIZE"]
    (minutes,) = table.minutes()
    text = minutes.read_text(encoding="utf-8")
    assert turns(text) == [(4, "council")]
    assert '"closed_reason": "timeout"' in minutes.with_suffix(".json").read_text("utf-8")


@pytest.mark.req("C0-028", "C0-032")
def test_done_is_not_asked_again_and_when_all_have_left_the_synthesis_is_next(table: Table):
    table.seat(BY_HAND).convene()
    record_answer(table.place, "active", "henry", "I leave.", status="done")
    all_answer(table, agents=FOUR[1:])
    table.beat()
    assert table.tasks("henry") == []
    assert str(table.read().participants["henry"].status) == "DONE"

    for agent in FOUR[1:]:
        record_answer(table.place, "active", agent, "I leave, too.", status="done")
    assert table.read().phase == "SYNTHESIZE"


@pytest.mark.req("C0-036")
@pytest.mark.parametrize("status", ["CONVERGED", "TIMEOUT"])
def test_status_set_in_the_file_leads_to_the_synthesis(table: Table, status: str):
    table.seat(BY_HAND, coordinator="maman").convene()
    all_answer(table)
    assert table.read().phase == "CHALLENGE"
    text = table.live().read_text(encoding="utf-8")
    table.live().write_text(text.replace('"status": "ACTIVE"', f'"status": "{status}"', 1))
    table.beat()
    assert table.read().phase == "SYNTHESIZE"

    table.beat(HOUR)

    (minutes,) = table.minutes()
    assert f'"status": "{status}"' in minutes.with_suffix(".json").read_text(encoding="utf-8")


@pytest.mark.req("C0-074", "C0-075")
@pytest.mark.parametrize(("mode", "phase"), [("debate", "SYNTHESIZE"), ("prd", "RESOLVE")])
def test_agreement_of_all_ends_the_rounds_early_in_a_debate_only(table: Table, mode: str, phase):
    table.seat(BY_HAND).convene(mode=mode)
    all_answer(table)
    for agent in FOUR:
        record_answer(table.place, "active", agent, "I agree.", status="agreed")

    assert table.read().phase == phase


@pytest.mark.req("C0-035", "XC-008")
def test_coordinator_is_told_of_each_transition_once_by_a_file_and_an_event(table: Table):
    table.seat(BY_HAND, coordinator="maman").convene()
    assert table.tasks("maman") == []
    for tour in (2, 3, 4):
        all_answer(table)
        table.beat()
        notices = [one for one in table.tasks("maman") if one.name.endswith(".notice.md")]
        assert [one.name.split(".")[1] for one in notices] == [str(tour)]
        notices[0].unlink()
        table.beat(MINUTE)
        assert not [one for one in table.tasks("maman") if one.name.endswith(".notice.md")]

    told = table.events("coordinator.notified")
    assert [(one["agentId"], one["data"]["tour"]) for one in told] == [
        ("maman", 2),
        ("maman", 3),
        ("maman", 4),
    ]


@pytest.mark.req("C0-035")
def test_notices_are_still_there_when_the_council_is_over(table: Table):
    table.seat_all(SPEAKS, coordinator="maman").convene(phases=("collect", "synthesize"))
    all_is_quiet()
    record_answer(table.place, "active", "maman", "So be it.")
    table.beat()

    assert table.minutes()
    assert [one.name.split(".")[2] for one in table.tasks("maman")] == ["notice"]


@pytest.mark.req("C0-063")
def test_named_synthesizer_who_fails_hands_on_to_the_next(table: Table):
    speaks = script(SPEAKS)
    table.seat(
        {"henry": speaks, "sage": speaks, "nova": script("exit 3"), "maman": speaks},
        retry_backoff=[],
    )
    table.convene(
        agents=("henry", "sage"),
        synthesizer="nova",
        coordinator="maman",
        phases=("collect", "synthesize"),
    )
    all_is_quiet()

    (minutes,) = table.minutes()
    assert (3 - 1, "maman") in turns(minutes.read_text(encoding="utf-8"))
    assert [one["agentId"] for one in table.events("task.failed")] == ["nova"] * 2


@pytest.mark.req("C0-063")
@pytest.mark.parametrize(
    ("named", "author"),
    [
        ({"synthesizer": "nova", "coordinator": "maman"}, "nova"),
        ({"coordinator": "maman"}, "maman"),
        ({}, "henry"),
    ],
)
def test_synthesis_is_asked_of_the_synthesizer_else_the_coordinator_else_a_participant(
    table: Table, named: dict[str, str], author: str
):
    table.seat_all(SPEAKS, ("henry", "sage", "nova", "maman"))
    table.convene(agents=("henry", "sage"), phases=("collect", "synthesize"), **named)
    all_is_quiet()

    (minutes,) = table.minutes()
    assert (2, author) in turns(minutes.read_text(encoding="utf-8"))


@pytest.mark.req("C0-063")
def test_digest_says_what_it_is_when_nobody_writes_in_time(table: Table):
    table.seat(BY_HAND, coordinator="maman").convene(phases=("collect", "synthesize"))
    all_answer(table)
    table.beat()
    assert table.minutes() == []
    table.beat(HOUR)

    (minutes,) = table.minutes()
    assert (2, "council") in turns(minutes.read_text(encoding="utf-8"))
    assert len(table.events("digest.written")) == 1


@pytest.mark.req("C0-079")
@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("consensus", "CONVERGED"),
        ("phases_exhausted", "CONVERGED"),
        ("timeout", "TIMEOUT"),
        ("cancelled", "TIMEOUT"),
    ],
)
def test_minutes_say_why_it_ended(table: Table, reason: str, status: str):
    table.seat(BY_HAND).convene(phases=("collect", "challenge", "synthesize"))
    all_answer(table)
    if reason == "cancelled":
        cancel(table.place, "active")
    else:
        said = "agreed" if reason == "consensus" else "responded"
        for agent in FOUR if reason != "timeout" else FOUR[:2]:
            record_answer(table.place, "active", agent, "Yes.", status=said)
        table.beat(HOUR if reason == "timeout" else MINUTE)
        record_answer(table.place, "active", "henry", "So be it.")
        table.beat()

    (minutes,) = table.minutes()
    text = minutes.with_suffix(".json").read_text(encoding="utf-8")
    assert f'"closed_reason": "{reason}"' in text
    assert f'"status": "{status}"' in text


@pytest.mark.req("C0-031")
def test_second_council_of_the_day_on_a_subject_gets_a_number(table: Table):
    table.seat(BY_HAND)
    for _ in range(2):
        table.convene()
        cancel(table.place, "active")

    assert [one.name for one in table.minutes()] == [
        "2026-02-08-shall-we-build-it-2.md",
        "2026-02-08-shall-we-build-it.md",
    ]


@pytest.mark.req("XC-007", "C0-029")
def test_second_heartbeat_changes_no_file_whatever_is_open(table: Table):
    others = {"maman": {}, "deaf": script("exit 3"), "hangs": script("sleep 60")}
    table.seat({**BY_HAND, **others}, max_runs=1)
    names = ["collect", "challenge", "resolve", "synthesize"]
    for rounds, name in enumerate(names):
        table.convene(name=name, agents=FOUR, coordinator="maman")
        for _ in range(rounds):
            all_answer(table, name)
    table.convene(name="failing", agents=("henry", "deaf"))
    table.convene(name="paused", agents=("henry", "sage"))
    pause(table.place, "paused")
    all_is_quiet()
    table.beat_to_rest()
    assert [table.read(name).phase.lower() for name in names] == names

    before = table.digest_of_the_tree()
    report = table.beat_to_rest()

    assert not report.changed
    assert table.digest_of_the_tree() == before


@pytest.mark.req("XC-004")
def test_task_ids_follow_from_conversation_round_agent_and_attempt(table: Table):
    dies = script("exit 3")
    table.seat({"henry": dies, "sage": dies, "nova": {}}, retry_backoff=[]).convene()
    all_is_quiet()

    state = table.read()
    attempts = [("henry", 1), ("henry", 2), ("nova", 1), ("sage", 1), ("sage", 2)]
    assert sorted(state.tasks) == [
        f"{state.conversation_id}.1.{agent}.{attempt}" for agent, attempt in attempts
    ]


def test_broken_file_stops_no_other_conversation(table: Table):
    table.seat(BY_HAND)
    for name in ("first", "broken", "last"):
        table.convene(name=name)
    all_answer(table, "first")
    all_answer(table, "last")
    folder = table.root / "memory/shared/.council" / table.read("broken").conversation_id
    (folder / "revisions.jsonl").unlink()
    table.live("broken").write_text("<!--council-state\n{]\n-->\n")

    report = table.beat()

    assert [one.name for one in report.conversations] == ["first", "last"]
    assert all(len(one.woken) == 4 for one in report.conversations)
    ((name, error),) = report.errors
    assert name == "broken"
    assert isinstance(error, InvalidStateError)
    with pytest.raises(CouncilError):
        table.beat(only="broken")


def test_heartbeat_for_a_conversation_that_is_not_there_says_so(table: Table):
    with pytest.raises(NotFoundError):
        table.beat(only="active")


@pytest.mark.req("OP-017")
def test_waiting_for_a_conversation_knows_it_by_a_name_in_capitals(table: Table):
    table.seat(BY_HAND).convene()
    _, timed_out = wait(table.place, "ACTIVE", timedelta(milliseconds=1), lambda line: None)

    assert timed_out


def test_waiting_for_a_conversation_ends_when_a_run_archives_it(table: Table):
    table.seat_all(SPEAKS).convene()
    report, timed_out = wait(table.place, "active", 5 * MINUTE, lambda line: None)
    all_is_quiet()

    assert not timed_out
    assert report.errors == []
    assert table.minutes()


@pytest.mark.req("C0-025")
def test_file_that_a_person_wrote_is_served_although_the_tool_never_ran(table: Table):
    other = Table(table.root.parent / "other").seat(BY_HAND)
    other.convene()
    table.seat(BY_HAND)
    table.live().write_bytes(other.live().read_bytes())

    report = table.beat()

    assert (report.errors, [one.name for one in report.conversations]) == ([], ["active"])


def test_dry_run_says_what_would_be_done_and_does_nothing(table: Table):
    table.seat(BY_HAND).convene()
    all_answer(table, agents=FOUR[:3])
    before = table.digest_of_the_tree()
    table.now += HOUR
    (seen,) = beat(table.place, dry_run=True).conversations

    assert (seen.moved_to, seen.reason) == ("CHALLENGE", "timeout")
    assert table.digest_of_the_tree() == before


def test_archived_conversation_whose_archiver_died_is_cleared_away(table: Table):
    table.seat(BY_HAND, coordinator="maman").convene(phases=("collect", "synthesize"))
    all_answer(table)
    table.beat()
    record_answer(table.place, "active", "maman", "So be it.")
    for number in range(1, 200):
        if not table.live().exists():
            break
        killed_at(number, lambda: beat(table.place))
    table.beat()

    assert not table.live().exists()
    assert len(table.minutes()) == 1


def test_heartbeat_leaves_no_descriptor_open(table: Table):
    table.seat({**dict.fromkeys(FOUR, script(SPEAKS)), "hand": {}}, max_runs=2)
    table.convene(agents=(*FOUR, "hand"))
    all_is_quiet()
    gc.collect()  # what other tests have left open is not closed in between
    before = os.listdir("/proc/self/fd")
    table.beat_to_rest(MINUTE)

    assert len(os.listdir("/proc/self/fd")) <= len(before)


def test_late_answer_that_comes_while_minutes_are_written_reaches_them(table: Table, monkeypatch):
    from council.operations.conversations import steer as archiving

    table.seat(BY_HAND, coordinator="maman").convene(phases=("collect", "synthesize"))
    task = f"{table.read().conversation_id}.1.blaise.1"
    all_answer(table, agents=FOUR[:3])
    table.beat(HOUR)
    record_answer(table.place, "active", "maman", "So be it.")
    rendering = archiving.render_minutes

    def interrupted(*args, **options):
        text = rendering(*args, **options)
        if "too late" not in text:
            record_answer(table.place, "active", "blaise", "I am too late.", task=task)
        return text

    monkeypatch.setattr(archiving, "render_minutes", interrupted)
    table.beat()

    assert "I am too late." in table.minutes()[0].read_text(encoding="utf-8")


def test_who_finds_somebody_waiting_for_the_heartbeat_leaves_it_to_him(table: Table):
    table.seat(BY_HAND).convene()
    all_answer(table)
    with Lock(table.place.paths.heartbeat_lock + ".next"):
        beat_in_turn(table.place)
        assert len(table.events("task.started")) == 4
    beat_in_turn(table.place)

    assert len(table.events("task.started")) == 8
