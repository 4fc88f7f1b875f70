"""Hooks of several machines: each event is reported by one of them, and by another if that dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from council.core.events import Event
from council.operations.engine.replica import catch_up
from council.operations.place import Place
from council.operations.reporting.hooks import begin_telling, tell_all
from council.store.events import append, end_of_events, loose_records, read_mark
from tests.core.conversations.samples import NOW
from tests.engine.links import direct_to
from tests.engine.machines import Maker
from tests.engine.pairs import Pair, joined_pair, leave
from tests.engine.servers import Server
from tests.operations.tables import until

pytestmark = pytest.mark.engine

HOOKS = """
[hooks]
failed = ["sh", "-c", "echo \\"$COUNCIL_LINE\\" >> reported"]
"""


def with_hook(place: Place) -> Place:
    """Return a workspace as its next command finds it, once its settings have a hook."""
    with Path(place.paths.settings).open("a") as settings:
        settings.write(HOOKS)
    found = Place(place.root, {}, NOW)
    begin_telling(found)
    return found


@pytest.fixture
def pair(database: str, folder: Path) -> Iterator[Pair]:
    """Two workspaces with a hook each."""
    found = Pair(*map(with_hook, joined_pair(database, folder)))
    yield found
    leave(found)


def fail(place: Place, *reasons: str) -> list[str]:
    """Let something happen that is to be reported; return the ids of the events."""
    events = [Event(type="task.failed", agent="ann", data={"reason": one}) for one in reasons]
    records = loose_records(events, "", NOW)
    append(place.paths, records)
    return [one["eventId"] for one in records]


def reported(*roots: str | Path) -> list[str]:
    files = [Path(one, "reported") for one in roots]
    return [line for one in files if one.exists() for line in one.read_text().splitlines()]


def is_done(place: Place) -> bool:
    """Return true if a machine has nothing left to report."""
    mark = read_mark(place.paths.hook_mark)
    return mark is not None and mark.offsets == end_of_events(place.paths)


@pytest.mark.req("EN-006")
def test_an_event_is_reported_by_one_machine(pair: Pair):
    fail(pair.a, "first", "second")
    for one in pair:
        catch_up(one)
        tell_all(one)
    tell_all(pair.a)

    assert len(reported(pair.a.root)) == 2 and reported(pair.b.root) == []
    assert "first" in reported(pair.a.root)[0]
    assert is_done(pair.a) and is_done(pair.b)


@pytest.mark.req("EN-006")
def test_a_machine_without_hooks_leaves_events_to_the_others(database: str, folder: Path):
    pair = joined_pair(database, folder)
    fail(pair.a, "first")
    catch_up(pair.a)
    tell_all(pair.a)
    other = with_hook(pair.b)
    catch_up(other)
    tell_all(other)

    assert len(reported(other.root)) == 1
    leave(pair)


@pytest.mark.req("EN-006")
def test_what_another_machine_was_reporting_when_it_died_is_reported_in_order(pair: Pair):
    first, _ = fail(pair.a, "first", "second")
    for one in pair:
        catch_up(one)
    assert pair.a.engine is not None
    session = pair.a.engine.session
    session.lease(f"hook/{first}", "a", 60)  # it dies before it has reported anything

    tell_all(pair.b)
    assert reported(pair.b.root) == [] and not is_done(pair.b)

    session.lease(f"hook/{first}", "a", 0.001)  # its time is over
    until(lambda: not session.leases("hook/"), "the lease ended")
    tell_all(pair.b)
    tell_all(pair.a)

    lines = reported(pair.b.root)
    assert len(lines) == 2 and "first" in lines[0] and "second" in lines[1]
    assert reported(pair.a.root) == [] and is_done(pair.a)


@pytest.mark.req("EN-005", "EN-006")
def test_hooks_wait_for_an_engine_that_is_not_reached(another: Callable[..., Server], folder: Path):
    server = another()
    pair = Pair(*map(with_hook, joined_pair(server.url(), folder)))
    server.stop()
    fail(pair.a, "first")
    tell_all(pair.a)
    assert reported(pair.a.root) == [] and not is_done(pair.a)

    server.start()
    leave(pair)
    again = Place(pair.a.root, {}, NOW)
    tell_all(again)
    tell_all(again)
    assert len(reported(pair.a.root)) == 1 and is_done(again)
    leave(pair)


@pytest.mark.req("EN-006")
def test_machines_that_beat_at_once_report_each_event_once(machines: Maker):
    both = machines(2)
    places = [one.place for one in both]
    for one in both:
        one.configure(HOOKS)
        one.do("heartbeat")
    reasons = [f"number {one}" for one in range(12)]
    fail(places[0], *reasons)
    for one in both:
        one.do("engine", "pull")
    beating = [one.start("heartbeat") for one in both]
    for one in beating:
        assert one.wait(60) == 0

    def all_done() -> bool:
        for one in both:
            one.do("heartbeat")
        return all(map(is_done, places))

    until(all_done, "nothing is left to be reported")
    lines = reported(*(one.root for one in both))
    assert len(lines) == len(reasons) == len(set(lines))
    assert not direct_to(both[0]).leases("hook/")
