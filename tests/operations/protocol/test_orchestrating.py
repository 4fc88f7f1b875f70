"""The heartbeat over contexts, of which it opens no more than it must."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.protocol.exchange import LAST_MESSAGE, Exchange, ExchangeStep
from council.core.protocol.registering import Joining
from council.core.protocol.transaction import Transaction
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.protocol import orchestrating, registry
from council.operations.protocol.asking import request
from council.operations.protocol.exchanging import change, contexts
from council.operations.protocol.roster import Roster
from council.operations.protocol.sending import send
from council.store.heartbeat import survey
from tests.store.processes import at_call, die, forked, status_of, together

QUIET = timedelta(minutes=1)


@pytest.fixture
def place(workspace: Path, now, monkeypatch) -> Place:
    # A look counts only of what has stood a while: here, all of it has.
    monkeypatch.setattr(survey, "TICK_NS", 0)
    monkeypatch.setattr(survey, "CROWD", 1)
    toml = 'schemaVersion = 1\n[protocol]\nliveness_timeout = "3m"\n'
    (workspace / "council.toml").write_text(toml)
    return Place(str(workspace), {}, now)


def later(place: Place, span: timedelta) -> Place:
    """Return the place as it is later, once the clock of the files has moved on, too."""
    probe = Path(place.root) / "probe"
    probe.touch()
    before = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == before:
        time.sleep(0.001)
        probe.touch()
    return Place(place.root, place.environ, place.now() + span)


@pytest.mark.req("PR-422", "PR-580", "XC-007")
@pytest.mark.parametrize("silent", [True, False])
def test_what_somebody_was_at_who_is_gone_goes_to_another_one_in_the_next_heartbeat(
    place: Place, silent: bool, monkeypatch
):
    for one in ("W1", "W2"):
        registry.join(place, Joining(proposed=one, capabilities=("plan",)))
    if silent:
        registry.tell_liveness(place, "W1", 0, 0)
    context = request(place, "Plan it", caps=("plan",)).context
    beat(place)
    assert worker_states(place, context) == [("W1", "R", "")]
    place = later(place, QUIET)
    beat(place)
    with monkeypatch.context() as nobody_opens:
        nobody_opens.setattr(orchestrating, "ContextScanner", None)
        beat(later(place, timedelta(0)))

    if not silent:
        registry.leave(place, "W1", "")
    beat(later(place, timedelta(minutes=3)))

    assert worker_states(place, context) == [("W1", "F", "E22"), ("W2", "R", "")]


def worker_states(place: Place, context: str) -> list[tuple[str, str, str]]:
    (hop,) = contexts(place).read(context).exchange.tasks["T1"].hops
    return [(one.worker, str(one.state), one.code) for one in hop.attempts]


def used_up(place: Place) -> Roster:
    """Let the numbers of a context in which W1 works be used up; return who is there."""
    registry.join(place, Joining(proposed="W1", capabilities=("plan",)))
    request(place, "Plan it", caps=("plan",))
    beat(place)

    def last(tx: Transaction) -> ExchangeStep:
        tx.exchange.next_message = LAST_MESSAGE + 2
        return tx.step()

    roster = Roster(place, place.now())
    change(roster, "S1", last)
    return roster


def whole_in(place: Place) -> list[str]:
    """Send what W1 has to say to the old context, and return the contexts that there are."""
    send(place, "M7|W1>O1|S|T1|P1|D|-|0|S1|B300|result=whole")
    for _ in range(2):  # the first may find the new context only after it has looked
        beat(place)
    store = contexts(place)
    old = store.read("S1").exchange
    assert (old.status, old.closed_reason) == ("closed", "ids-used-up")
    assert store.read(old.successor).exchange.values["prev"] == "S1"
    assert store.answer(old.successor) == "whole"
    return sorted([*store.ids(), *store.closed_ids()])


@pytest.mark.req("PR-644", "XC-001")
def test_a_context_goes_on_in_one_new_one_for_all_who_saw_that_its_numbers_are_used_up(
    place: Place,
):
    roster = used_up(place)
    seen = contexts(place).read("S1").exchange

    first = orchestrating.succeed(roster, seen)
    second = orchestrating.succeed(roster, seen)

    assert first.exchange.successor == second.exchange.successor == "S2"
    assert whole_in(place) == ["S1", "S2"]


@pytest.mark.req("PR-644", "XC-001")
def test_many_processes_at_once_let_a_context_go_on_in_one_new_one(place: Place):
    roster = used_up(place)
    seen = contexts(place).read("S1").exchange

    assert together([lambda: orchestrating.succeed(roster, seen)] * 6) == [0] * 6

    assert whole_in(place) == ["S1", "S2"]


@pytest.mark.req("PR-644", "XC-001")
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 7])
def test_what_a_worker_says_to_a_context_whose_going_on_was_killed_at_any_call_is_not_lost(
    workspace: Path, now, step: int
):
    killed, number = True, 0
    while killed:
        number += step
        root = workspace.parent / f"at-{number}"
        root.mkdir()
        place = Place(str(root), {}, now)
        roster = used_up(place)
        seen = contexts(place).read("S1").exchange

        def dying(roster: Roster = roster, seen: Exchange = seen, number: int = number) -> None:
            at_call(number, die)
            orchestrating.succeed(roster, seen)

        killed = status_of(forked(dying)) != 0
        assert len(whole_in(place)) == 2, f"killed at {number}"
    assert number > 20
