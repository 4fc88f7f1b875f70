"""The heartbeat over contexts, of which it opens no more than it must."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.protocol.registering import Joining
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.protocol import orchestrating, registry
from council.operations.protocol.asking import request
from council.operations.protocol.exchanging import contexts
from council.store.heartbeat import survey

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
