"""Sending lines inside one process: killed at every point, and sent again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from council.core.errors import ConflictError, NotFoundError, UsageError
from council.core.protocol.registering import Joining
from council.operations.place import Place
from council.operations.protocol import registry
from council.operations.protocol.asking import answer_to, choose, request
from council.operations.protocol.exchanging import contexts
from council.operations.protocol.sending import send
from council.operations.protocol.tasks import close_context, set_values
from council.store.protocol.inboxes import read_inbox
from council.store.protocol.protocol_log import read_log
from tests.store.processes import at_call, die, forked, status_of, together

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)


def place_of(root: Path) -> Place:
    (root / "memory/shared").mkdir(parents=True, exist_ok=True)
    place = Place(str(root), {}, NOW)
    registry.join(place, Joining(proposed="W1", capabilities=("plan",)))
    return place


@pytest.mark.req("XC-001", "PR-552", "PR-556")
def test_an_answer_killed_at_any_point_and_sent_again_is_told_once(tmp_path: Path) -> None:
    line = "M2|W1>O1|S|T1|P1|D|-|0|S1|B400|result=done"
    for number in range(1, 300):
        place = place_of(tmp_path / str(number))
        request(place, "Plan", caps=("plan",))

        def dies(place: Place = place, number: int = number) -> None:
            at_call(number, die)
            send(place, line)

        status = status_of(forked(dies))
        again = send(place, line)
        assert again.outcome in ("taken", "duplicate")
        kept = contexts(place).read("S1")
        assert (kept.is_closed, str(kept.exchange.tasks["T1"].state)) == (True, "D")
        assert contexts(place).answer("S1") == "done"
        assert [one.text.split("|")[2] for one in read_inbox(place.paths, ["User"])] == ["S"]
        told = [text.split(" ", 4)[4] for _, text in read_log(place.paths) if "[S1]" in text]
        assert [one for one in told if one.startswith(("W1", "O1>User"))] == [
            "W1>O1 S - result=done",
            "O1>User S - result=done",
        ]
        if status == 0:
            break
    assert 20 < number < 299


@pytest.mark.long
@pytest.mark.req("PR-553", "PR-585")
def test_fifty_requests_at_once_are_fifty_contexts_each_delivered(tmp_path: Path) -> None:
    place = place_of(tmp_path)

    def sender(number: int):
        return lambda: request(place, f"Plan {number}", caps=("plan",))

    assert together([sender(number) for number in range(50)]) == [0] * 50
    assert sorted(int(one[1:]) for one in contexts(place).ids()) == list(range(1, 51))
    asked = [one.text for one in read_inbox(place.paths, ["W1"]) if "|R|" in one.text]
    assert sorted(one.split("query=")[1] for one in asked) == sorted(
        f"Plan {number}" for number in range(50)
    )


@pytest.mark.long
def test_thirty_workers_answers_at_once_to_one_task_are_one_answer(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    request(place, "Plan", caps=("plan",))

    def sender(number: int):
        return lambda: send(place, f"M2|W1>O1|S|T1|P1|D|-|0|S1|B400|result=by {number}")

    assert together([sender(number) for number in range(30)]) == [0] * 30
    letters = read_inbox(place.paths, ["User"])
    assert len(letters) == 1
    assert contexts(place).answer("S1") in letters[0].text


@pytest.mark.req("PR-545", "PR-577")
def test_a_free_answer_of_the_user_reaches_the_worker_whatever_it_holds(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    request(place, "Plan", caps=("plan",))
    send(place, "M2|W1>O1|C|T1|P1|R|-|0|S1|B400|question=What is it about?")
    choose(place, "T1", "It is | about > marks;\nand lines")
    last = read_inbox(place.paths, ["W1"])[-1].text
    assert last.split("|")[2] == "C"
    assert "answer=#REF:art_" in last
    with pytest.raises(NotFoundError):
        choose(place, "S1", "again")


def test_what_is_closed_takes_no_values_and_no_requests(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    request(place, "Plan", caps=("plan",))
    close_context(place, "S1")
    with pytest.raises(ConflictError):
        set_values(place, "S1", {"a": "b"})
    with pytest.raises(ConflictError):
        request(place, "More", context="S1")


@pytest.mark.req("PR-556")
def test_who_waits_gets_the_answer_of_a_context_whose_closer_died_before_it_was_put_down(
    tmp_path: Path,
) -> None:
    place = place_of(tmp_path)
    request(place, "Plan", caps=("plan",))
    send(place, "M2|W1>O1|S|T1|P1|D|-|0|S1|B400|result=done")
    Path(contexts(place).answer_path("S1")).unlink()
    (Path(place.paths.protocol) / ".told/S1").write_bytes(b"")
    found = answer_to(place, "S1", "T1", 5, lambda *_: False)
    assert (found.text, found.is_done) == ("done", True)


@pytest.mark.req("PR-571")
@pytest.mark.parametrize(("sender", "hint"), [("User", "msg send --user"), ("W1", "into the line")])
def test_who_opens_no_context_is_told_what_to_do(tmp_path: Path, sender: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"{sender} opens no context") as refused:
        send(place_of(tmp_path), f"M1|{sender}>O1|R|-|-|-|-|0|-|-|What is new?")

    assert hint in refused.value.hint
