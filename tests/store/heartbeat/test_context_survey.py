"""The survey of contexts: what need not be opened, and what leaves a doubt."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from council.core.protocol.exchange import Exchange
from council.store.heartbeat import note as heartbeat_note
from council.store.heartbeat import survey as surveys
from council.store.heartbeat.survey import CROWD, ContextSurvey
from council.store.paths import Workspace
from council.store.protocol.context_outbox import Change
from council.store.protocol.contexts import Contexts
from tests.store.processes import die, forked, status_of
from tests.store.records import of_version_one

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
OLD_NS = time.time_ns() - 60 * 10**9


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contexts:
    made = Contexts(Workspace(str(tmp_path)))
    for _ in range(CROWD + 3):
        made.open(
            lambda one: Change(exchange=Exchange(context=one, opened_at=NOW, updated_at=NOW)), NOW
        )
    # A scan counts only of what has stood a while: here, all of it has.
    monkeypatch.setattr(surveys, "TICK_NS", 0)
    return made


def _survey(store: Contexts, now: datetime = NOW, rules: str = "rules") -> ContextSurvey:
    _let_the_clock_of_the_files_move_on(store)
    return ContextSurvey(store.workspace, [rules], now)


def _let_the_clock_of_the_files_move_on(store: Contexts) -> None:
    probe = Path(store.workspace.root, "probe")
    probe.touch()
    before = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == before:
        time.sleep(0.001)
        probe.touch()


def _note_all(store: Contexts, due: datetime | None = LATER) -> None:
    survey = _survey(store)
    for name in survey.doubtful:
        survey.look(name, name)
        survey.note(name, name, due, {"name": name})
    survey.keep()


def _touch(store: Contexts, name: str) -> None:
    store.edit(name, lambda one: Change(exchange=one.copy(request="more")), NOW)


@pytest.mark.req("XC-007")
def test_while_nothing_is_due_nothing_is_opened_and_nothing_is_written(store: Contexts) -> None:
    _note_all(store)
    note = Path(store.workspace.protocol) / ".due"
    before = (note.stat().st_ino, note.stat().st_mtime_ns)
    survey = _survey(store)
    assert survey.is_quiet
    assert survey.doubtful == []
    survey.keep()
    assert (note.stat().st_ino, note.stat().st_mtime_ns) == before
    assert [found["name"] for _, _, found in survey.idle][:2] == ["S1", "S2"]
    assert len(survey.idle) == CROWD + 3


def test_one_that_was_changed_is_opened_and_no_other(store: Contexts) -> None:
    _note_all(store)
    _touch(store, "S5")
    survey = _survey(store)
    assert not survey.is_quiet
    assert survey.doubtful == ["S5"]


def test_one_that_is_due_is_opened_once_its_time_has_come(store: Contexts) -> None:
    survey = _survey(store)
    for name in survey.doubtful:
        survey.look(name, name)
        survey.note(name, name, NOW + timedelta(minutes=1) if name == "S7" else None, {})
    survey.keep()
    assert _survey(store).doubtful == []
    assert _survey(store, NOW + timedelta(minutes=1)).doubtful == ["S7"]


def test_one_that_is_gone_or_new_is_noticed(store: Contexts) -> None:
    _note_all(store)
    os.unlink(f"{store.folder}/S3.jsonl")
    store.open(
        lambda one: Change(exchange=Exchange(context=one, opened_at=NOW, updated_at=NOW)),
        NOW,
        context="Snew",
    )
    survey = _survey(store)
    assert survey.doubtful == ["Snew"]
    assert "S3" not in [one[0] for one in survey.idle]


@pytest.mark.parametrize("doubt", ["rules", "clock", "torn", "boot", "untrusted"])
def test_whatever_leaves_a_doubt_opens_all(
    store: Contexts, monkeypatch: pytest.MonkeyPatch, doubt: str
) -> None:
    _note_all(store)
    note = Path(store.workspace.protocol) / ".due"
    now, rules, trusting = NOW, "rules", True
    if doubt == "rules":
        rules = "others"
    elif doubt == "clock":
        now = NOW - timedelta(minutes=1)
    elif doubt == "torn":
        note.write_bytes(note.read_bytes()[:-20] + b"x" * 20)
        _touch(store, "S1")
    elif doubt == "boot":
        monkeypatch.setattr(heartbeat_note, "_boot", lambda: "another")
    else:
        trusting = False
    survey = ContextSurvey(store.workspace, [rules], now, trusting=trusting)
    assert len(survey.doubtful) == CROWD + 3


def test_what_was_changed_just_before_it_was_noted_is_opened_again(
    store: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surveys, "TICK_NS", 3_600 * 10**9)
    _note_all(store)
    assert len(_survey(store).doubtful) == CROWD + 3


def test_who_waits_for_a_place_is_told_in_order_and_opened_on_demand(store: Contexts) -> None:
    survey = _survey(store)
    waits = {
        "S2": [["P1", "2026-02-08T20:00:05", "sage"]],
        "S9": [["P0", "2026-02-08T20:00:09", "nova"]],
        "S4": [["P1", "2026-02-08T20:00:01", "sage"], ["P2", "2026-02-08T19:00:00", "henry"]],
    }
    for name in survey.doubtful:
        survey.look(name, name)
        survey.note(name, name, None, waits.get(name, []))
    survey.keep()
    again = _survey(store)
    assert [one[3] for one in again.waiting()] == ["S9", "S4", "S2", "S4"]
    again.open_again("S9")
    again.look("S9", "S9")
    again.note("S9", "S9", None, [])
    again.keep()
    assert [one[3] for one in _survey(store).waiting()] == ["S4", "S2", "S4"]


def test_a_few_contexts_are_opened_without_any_note(tmp_path: Path) -> None:
    few = Contexts(Workspace(str(tmp_path)))
    few.open(lambda one: Change(exchange=Exchange(context=one, opened_at=NOW, updated_at=NOW)), NOW)
    _note_all(few)
    assert not (tmp_path / "memory/shared/protocol/.due").exists()
    assert _survey(few).doubtful == ["S1"]


def test_without_any_context_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    survey = ContextSurvey(Workspace(str(tmp_path)), [], NOW)
    assert survey.is_quiet
    assert survey.doubtful == []
    survey.keep()


@pytest.mark.req("XC-007")
def test_a_change_whose_writer_was_killed_right_after_it_is_noticed(store: Contexts) -> None:
    _note_all(store)
    _let_the_clock_of_the_files_move_on(store)
    real = os.fdatasync

    def dies(descriptor: int) -> None:
        real(descriptor)
        die()

    def work() -> None:
        os.fdatasync = dies
        _touch(store, "S5")

    assert status_of(forked(work)) != 0
    assert store.read("S5").exchange.request == "more"
    assert _survey(store).doubtful == ["S5"]


@pytest.mark.req("XC-007", "XC-013")
def test_contexts_of_version_1_are_noted_and_noticed_like_others(store: Contexts) -> None:
    for name in store.ids():
        of_version_one(Path(store.folder) / f"{name}.jsonl")
    _note_all(store)
    assert _survey(store).doubtful == []
    _touch(store, "S5")
    assert _survey(store).doubtful == ["S5"]
