"""A primary that stops without a word, and standbys that take its place, under many writers.

Source: EN-008.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.engine.machines import Machine, Machines, Maker
from tests.engine.servers import Server
from tests.engine.test_cut_nets import held
from tests.engine.test_outbox import control, make_older, waiting
from tests.engine.writers import Writers, text_of
from tests.faults.ledger import Ledger

PART = "engine, stopped servers"
_WRITERS = 8
_STOPS = 20
_LONGEST_S = 10.0

pytestmark = pytest.mark.engine


@pytest.fixture
def primary(another: Callable[..., Server]) -> Server:
    """A server that syncs what it commits."""
    return another(is_durable=True)


def hosts(*servers: Server) -> str:
    """Return the address of one database on several servers, of which one takes writes."""
    places = ",".join(f"{one.address}:{one.port}" for one in servers)
    return f"postgresql://postgres@{places}/council?target_session_attrs=read-write"


def told(machines: Machines, writers: Writers, ledger: Ledger) -> None:
    """Count each answer as a point, with all that is wrong at the end."""
    for _ in writers.stands:
        ledger.point([])
    wrong = [*machines.settled(), *writers.wrong()]
    if max(writers.waits) > _LONGEST_S:
        wrong.append(f"somebody waited {max(writers.waits):.1f} s")
    ledger.point(wrong, "afterwards")
    refused = ", ".join(f"{times} by code {code}" for code, times in writers.refused.items())
    ledger.note(f"the longest wait: {max(writers.waits):.1f} s; asked again: {refused or 'never'}")


@pytest.mark.req("EN-008")
def test_a_primary_stopped_at_once_again_and_again_loses_nothing(
    primary: Server, machines: Maker, ledger: Ledger, every: int
):
    stops = max(2, _STOPS // every)
    council = machines(2, primary.url())
    writers = Writers(council, _WRITERS, stops + 1)
    writers.convene()
    writers.begin()
    try:
        for number in range(1, stops + 1):
            assert writers.wait_for(number * _WRITERS), writers.failed
            primary.stop("immediate")
            primary.start()
    finally:
        writers.end()
    told(council, writers, ledger)
    ledger.assert_clean()


@pytest.mark.req("EN-008")
def test_a_synchronous_standby_that_takes_over_has_all_that_was_acknowledged(
    primary: Server, machines: Maker, ledger: Ledger
):
    with closing(primary.standby()) as standby:
        council = machines(2, hosts(primary, standby))
        writers = Writers(council, _WRITERS, 3)
        writers.convene()
        writers.begin()
        try:
            assert writers.wait_for(_WRITERS), writers.failed
            primary.kill()
            standby.promote()
        finally:
            writers.end()
        told(council, writers, ledger)
    ledger.assert_clean()


@pytest.mark.req("EN-005", "EN-008")
def test_answers_are_kept_while_the_synchronous_standby_is_away(primary: Server, machines: Maker):
    with closing(primary.standby()) as standby:
        council = machines(3, primary.url())
        council[0].do("convene", "Shall we?", "--people", "a,b,c", "--open")
        council.quiet()
        standby.stop()
        for machine, seat in zip(council, "abc", strict=True):
            assert took(machine, "respond", text_of(seat), "--as", seat, code=7) < _LONGEST_S
            assert len(waiting(machine)) == 1
        standby.start()
        for machine in council:
            machine.do("heartbeat")
        council.quiet()
        for machine in council:
            texts = machine.watched().texts()
            assert {said: times for (_, said), times in texts.items()} == {
                text_of(seat): 1 for seat in "abc"
            }


@pytest.fixture
def late(primary: Server) -> Iterator[str]:
    """The address of the primary, after that of one that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        places = f"127.0.0.1:{silent.getsockname()[1]},{primary.address}:{primary.port}"
        yield f"postgresql://postgres@{places}/council"


@pytest.mark.req("EN-008")
def test_one_that_hangs_with_a_lock_keeps_others_for_a_bounded_time(late: str, machines: Maker):
    one, other = machines(2, late)
    one.do("convene", "Shall we?", "--people", "a,b,c", "--open")
    other.do("engine", "pull")
    with held(one, "respond", "--as", "a", text_of("a")) as holder:
        other.do("respond", "--as", "b", text_of("b"))
        for words, code in (("status",), 0), (("respond", "--as", "c", text_of("c")), 4):
            make_older(one, 60)
            assert took(one, *words, code=code) < _LONGEST_S
        holder.communicate("\n")


@pytest.mark.req("EN-005", "EN-008")
def test_a_database_that_hangs_is_waited_for_once(primary: Server, machines: Maker):
    (one,) = machines(1, primary.url())
    one.do("convene", "Shall we?", "--people", "a,b", "--open")
    for words, code in (("status",), 0), (("respond", "--as", "b", text_of("b")), 7):
        make_older(one, 60)
        (control(one) / "pulled.missed").unlink(missing_ok=True)
        with primary.connect() as admin, admin.transaction():
            admin.execute("LOCK TABLE council.head, council.revision")
            assert took(one, *words, code=code) < _LONGEST_S


def took(machine: Machine, *words: str, code: int) -> float:
    """Run a command that must end with a code; return how long it took, in seconds."""
    began = time.monotonic()
    ran = machine(*words)
    assert ran.code == code, ran
    return time.monotonic() - began


@pytest.mark.req("EN-008")
def test_what_an_asynchronous_standby_never_had_is_named(
    primary: Server, machines: Maker, ledger: Ledger
):
    with closing(primary.standby(is_synchronous=False)) as standby:
        council = machines(2, hosts(primary, standby))
        writers = Writers(council, 2, 2)
        writers.convene()
        council[0].do("respond", text_of("w0s0"), "--as", "w0s0")
        council.quiet()
        with primary.connect() as admin:
            wait_until_replayed(admin, standby)
        assert "replication is asynchronous" in council[0]("doctor").out
        standby.stop()
        lost = ["w0s1", "w1s0"]
        for machine, seat in zip(council, lost, strict=True):
            machine.do("respond", text_of(seat), "--as", seat)
        primary.kill()
        standby.start()
        standby.promote()
        council[1].do("respond", text_of("w1s1"), "--as", "w1s1")
        ledger.point(council.settled(), "afterwards")
        for machine, seat in zip(council, lost, strict=True):
            ledger.point(unnamed(machine, council, text_of(seat)), seat)
    ledger.assert_clean()


def unnamed(author: Machine, council: Machines, text: str) -> list[str]:
    """Return what is wrong if a text that one machine acknowledged neither stands nor is named."""
    standing = [
        sum(one for (_, said), one in machine.watched().texts().items() if said == text)
        for machine in council
    ]
    if standing == [1, 1]:
        return []
    if any(standing):
        return [f"{text!r} stands {standing} times"]
    kept = [place for place in author.holding(text) if "/conflicts/" in place]
    told = [one for one in author.watched().events() if one.startswith("engine.")]
    return [
        *([] if kept else [f"{text!r} is kept nowhere"]),
        *([] if told else [f"no event says that {text!r} does not stand"]),
    ]


def wait_until_replayed(admin: Any, standby: Server) -> None:
    """Wait until a standby has all that its primary has written."""
    (written,) = admin.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
    with standby.connect() as reader:
        asked = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        while reader.execute(asked, [written]).fetchone() != (True,):
            pass
