"""Contexts on the disk: one document each, and everything that follows from a revision, once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from council.core.errors import InvalidStateError, NewerVersionError, NotFoundError
from council.core.events import Event
from council.core.protocol.exchange import ContextStatus, Exchange
from council.core.protocol.protocol_ids import is_context
from council.store.events import tail
from council.store.paths import Workspace
from council.store.protocol import protocol_log
from council.store.protocol.context_outbox import Change, Post
from council.store.protocol.contexts import Contexts
from council.store.protocol.inboxes import inbox_path, read_inbox
from tests.store.processes import at_call, die, forked, status_of, together
from tests.store.records import of_version_one, put, value_in

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)


def _first(context: str) -> Change:
    return Change(
        exchange=Exchange(context=context, trace_id="ab" * 16, opened_at=NOW, updated_at=NOW)
    )


def _told(exchange: Exchange, word: str) -> Change:
    """Return a revision that says a word to everybody."""
    return Change(
        exchange=exchange.copy(values={**exchange.values, word: "said"}),
        events=[Event(type="context.set", data={"key": word})],
        log=[f"[72000] [INFO] [{exchange.context}] [-] O1>W1 B - {word}"],
        posts=[Post(inbox=one, sender="O1", receiver="*", text=word) for one in ("W1", "W2")],
        answer=f"The answer is {word}.\n",
    )


def _closed(exchange: Exchange) -> Change:
    ended = exchange.copy(status=ContextStatus.CLOSED, closed_at=NOW)
    return _told(ended, "over")


def _everything(workspace: Workspace, context: str = "S1") -> dict[str, list[str]]:
    """Return what others received, in order, as often as they can see it."""
    return {
        "events": [one["data"]["key"] for one in tail(workspace)],
        "log": [line.rpartition(" ")[2] for _, line in protocol_log.read_log(workspace)],
        "W1": [one.text for one in read_inbox(workspace, ["W1"])],
        "W2": [one.text for one in read_inbox(workspace, ["W2"])],
    }


def test_numbers_are_given_out_in_order_and_a_document_is_read_as_it_was_written(
    tmp_path: Path,
) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    first, second = store.open(_first, NOW), store.open(_first, NOW)
    assert [first.exchange.context, second.exchange.context] == ["S1", "S2"]
    assert store.read("S1").exchange == first.exchange
    assert sorted(store.ids()) == ["S1", "S2"]
    assert first.exchange.rev == 1


def test_an_id_from_outside_is_taken_once(tmp_path: Path) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    store.open(_first, NOW, context="Sabc12")
    with pytest.raises(InvalidStateError, match="there is a context Sabc12"):
        store.open(_first, NOW, context="Sabc12")


@pytest.mark.parametrize("name", ["S", "s1", "S12345678", "SA", "../x", "S1/../S2", "é/\ud83d"])
def test_a_name_that_no_context_can_have_is_none(tmp_path: Path, name: str) -> None:
    assert not is_context(name)
    with pytest.raises(NotFoundError):
        Contexts(Workspace(str(tmp_path))).read(name)
    with pytest.raises(NotFoundError):
        Contexts(Workspace(str(tmp_path))).open(_first, NOW, context=name)


@pytest.mark.req("PR-585")
def test_what_follows_from_a_revision_reaches_events_log_inboxes_and_the_answer(
    tmp_path: Path,
) -> None:
    workspace = Workspace(str(tmp_path))
    store = Contexts(workspace)
    store.open(_first, NOW)
    store.edit("S1", lambda one: _told(one, "first"), NOW)
    store.edit("S1", lambda one: _told(one, "second"), NOW)
    both = ["first", "second"]
    assert _everything(workspace) == {"events": both, "log": both, "W1": both, "W2": both}
    assert Path(store.answer_path("S1")).read_text() == "The answer is second.\n"
    event = next(iter(tail(workspace)))
    assert (event["conversationId"], event["traceId"]) == ("S1", "ab" * 16)
    assert read_inbox(workspace, ["W1"])[0].trace == "ab" * 16


def test_a_change_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    store.open(_first, NOW)
    path = tmp_path / "memory/shared/protocol/contexts/S1.jsonl"
    before = (path.stat().st_ino, path.read_bytes())
    store.edit("S1", lambda one: Change(exchange=one), NOW)
    assert (path.stat().st_ino, path.read_bytes()) == before


def test_a_context_that_is_over_lies_among_the_others_that_are_and_can_still_be_changed(
    tmp_path: Path,
) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    store.open(_first, NOW)
    assert store.edit("S1", _closed, NOW).is_closed
    assert (store.ids(), store.closed_ids()) == ([], ["S1"])
    store.edit("S1", lambda one: _told(one, "late"), NOW)
    assert store.read("S1").exchange.values == {"over": "said", "late": "said"}
    assert store.ids() == []
    assert store.open(_first, NOW).exchange.context == "S2"


@pytest.mark.long
def test_killed_at_any_point_of_a_change_nothing_is_lost_and_nothing_is_said_twice(
    tmp_path: Path,
) -> None:
    for number in range(1, 200):
        root = tmp_path / str(number)
        workspace = Workspace(str(root))
        store = Contexts(workspace)
        store.open(_first, NOW)
        store.edit("S1", lambda one: _told(one, "before"), NOW)

        def dies(store: Contexts = store, number: int = number) -> None:
            at_call(number, die)
            store.edit("S1", _closed, NOW)

        status = status_of(forked(dies))
        store.catch_up("S1")
        _check_whole(root, store, workspace)
        if status == 0:
            break
    assert 15 < number < 199


def _check_whole(root: Path, store: Contexts, workspace: Workspace) -> None:
    exchange = store.read("S1").exchange
    words = ["before", "over"] if exchange.rev == 3 else ["before"]
    assert list(exchange.values) == words
    assert store.is_told(store.read("S1"))
    assert store.closed_ids() == (["S1"] if exchange.rev == 3 else [])
    found = _everything(workspace)
    assert found == {"events": words, "log": words, "W1": words, "W2": words}
    lines = Path(inbox_path(workspace, "W1")).read_bytes().split(b"\n")
    assert len([one for one in lines if one.endswith(b"}")]) == len(words)
    assert Path(store.answer_path("S1")).read_text() == f"The answer is {words[-1]}.\n"


def test_a_note_that_a_power_cut_took_back_makes_nobody_hear_twice(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    store = Contexts(workspace)
    store.open(_first, NOW)
    store.edit("S1", lambda one: _told(one, "once"), NOW)
    (tmp_path / "memory/shared/protocol/.told/S1").write_bytes(b"")
    assert not store.is_told(store.read("S1"))
    store.catch_up("S1")
    found = _everything(workspace)
    assert found == {"events": ["once"], "log": ["once"], "W1": ["once"], "W2": ["once"]}


@pytest.mark.long
def test_fifty_who_open_at_once_get_fifty_contexts(tmp_path: Path) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    assert together([lambda: store.open(_first, NOW)] * 50) == [0] * 50
    assert sorted(store.ids(), key=lambda one: int(one[1:])) == [f"S{n}" for n in range(1, 51)]


def test_thirty_who_change_one_context_at_once_are_all_heard(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    store = Contexts(workspace)
    store.open(_first, NOW)

    def work(number: int) -> Callable[[], object]:
        return lambda: store.edit("S1", lambda one: _told(one, f"w{number}"), NOW)

    assert together([work(number) for number in range(30)]) == [0] * 30
    words = {f"w{number}" for number in range(30)}
    assert set(store.read("S1").exchange.values) == words
    found = _everything(workspace)
    assert all(sorted(said) == sorted(words) for said in found.values())


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    store.open(_first, NOW)

    def dies(exchange: Exchange) -> Change:
        os.kill(os.getpid(), signal.SIGKILL)
        return Change(exchange=exchange)

    assert status_of(forked(lambda: store.edit("S1", dies, NOW))) == -signal.SIGKILL
    assert store.edit("S1", lambda one: _told(one, "after"), NOW).exchange.rev == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"schemaVersion": 1}'])
def test_a_broken_document_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    store.open(_first, NOW)
    path = tmp_path / "memory/shared/protocol/contexts/S1.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidStateError):
        store.edit("S1", lambda one: _told(one, "x"), NOW)
    assert path.read_bytes() == content


@pytest.mark.req("XC-013")
def test_a_document_of_a_newer_version_is_never_written(tmp_path: Path) -> None:
    store = Contexts(Workspace(str(tmp_path)))
    store.open(_first, NOW)
    path = tmp_path / "memory/shared/protocol/contexts/S1.jsonl"
    put(path, {**value_in(path), "schemaVersion": 99})
    before = path.read_bytes()
    with pytest.raises(NewerVersionError):
        store.edit("S1", lambda one: _told(one, "x"), NOW)
    assert path.read_bytes() == before


@pytest.mark.req("XC-001", "PR-594")
def test_what_was_handed_over_is_taken_back_even_after_a_death(tmp_path: Path):
    store = Contexts(Workspace(str(tmp_path)))
    folder = Path(store.workspace.tasks("alice"))
    folder.mkdir(parents=True)
    (folder / "S1.1.W1.1.md").write_text("do that")
    (folder / "S1.2.W1.1.md").write_text("do that, too")
    store.open(_first, NOW)

    def die_at_once(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("council.store.protocol.contexts.tell", die_at_once)
        back = [("alice", "S1.1.W1.1")]
        store.edit("S1", lambda one: Change(exchange=one, taken_back=back, answer="yes"), NOW)
    store.catch_up("S1")

    assert [one.name for one in folder.iterdir()] == ["S1.2.W1.1.md"]


def test_a_document_that_takes_back_what_lies_elsewhere_is_broken(tmp_path: Path):
    store = Contexts(Workspace(str(tmp_path)))
    store.open(_first, NOW)
    path = Path(store.folder) / "S1.jsonl"
    document = value_in(path)
    document["outbox"]["takenBack"] = [["alice", "../SOUL"]]
    put(path, document)

    with pytest.raises(InvalidStateError, match="never handed over"):
        store.read("S1")


@pytest.mark.long
@pytest.mark.req("XC-001", "XC-013")
def test_killed_while_a_context_of_version_1_is_closed_it_is_open_or_over_and_never_both(
    tmp_path: Path,
) -> None:
    for number in range(1, 200):
        store = Contexts(Workspace(str(tmp_path / str(number))))
        store.open(_first, NOW)
        store.edit("S1", lambda one: _told(one, "before"), NOW)
        old = of_version_one(Path(store.folder) / "S1.jsonl")

        def dies(store: Contexts = store, number: int = number) -> None:
            at_call(number, die)
            store.edit("S1", _closed, NOW)

        status = status_of(forked(dies))
        assert store.read("S1").exchange.rev in (2, 3)
        store.catch_up("S1")
        store.edit("S1", lambda one: _closed(one) if one.is_open else Change(exchange=one), NOW)
        assert (store.ids(), store.closed_ids()) == ([], ["S1"])
        words = _everything(store.workspace)["W1"]
        assert words == ["before", "over"]
        if status == 0:
            break
    assert 15 < number < 199
    assert not old.exists()


@pytest.mark.req("XC-001", "XC-013")
def test_killed_while_both_files_of_a_context_are_put_away_the_newer_one_counts(
    tmp_path: Path,
) -> None:
    for number in range(1, 50):
        store = Contexts(Workspace(str(tmp_path / str(number))))
        store.open(_first, NOW)
        path = Path(store.folder) / "S1.jsonl"
        old = of_version_one(path)
        before = old.read_bytes()
        kept = store.edit("S1", _closed, NOW)
        os.rename(store.closed_files("S1")[0], path)  # as its writer left them who was killed
        old.write_bytes(before)

        def dies(store: Contexts = store, number: int = number) -> None:
            at_call(number, die)
            store.catch_up("S1")

        status = status_of(forked(dies))
        assert store.read("S1").exchange == kept.exchange
        store.catch_up("S1")
        assert (store.ids(), store.closed_ids()) == ([], ["S1"])
        if status == 0:
            break
    assert 3 < number < 49
