"""The logs of all machines: what is added to one stands once in each."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from council.core.events import Event
from council.operations.place import Place
from council.store import events
from council.store.engine import logs, schema
from council.store.protocol import inboxes, protocol_log
from tests.conftest import NOW
from tests.engine.machines import Maker

pytestmark = [pytest.mark.engine, pytest.mark.req("EN-001")]

DAY = "2026-02-08"


class Writer:
    """A machine whose logs are added to in this process."""

    def __init__(self, root: Path) -> None:
        self.place = Place(str(root), {}, None)
        self.paths = self.place.paths
        self.inbox = Path(inboxes.inbox_path(self.paths, "W1"))
        self.mark = Path(self.paths.control) / logs.MARK

    def exchange(self) -> bool:
        assert self.place.engine is not None
        return logs.exchange(self.place.engine)

    def deliver(self, letter: str) -> None:
        made = inboxes.Letter(
            id=letter, at=f"{DAY}T20:00:00Z", sender="O1", receiver="W1", text="t"
        )
        inboxes.deliver(self.paths, "W1", [made])

    def letters(self) -> Counter[str]:
        """Return how often each letter stands in the inbox."""
        lines = self.inbox.read_bytes().splitlines() if self.inbox.exists() else []
        return Counter(str(json.loads(one)["id"]) for one in lines)

    def say(self, kind: str) -> None:
        events.append(self.paths, events.loose_records([Event(type=kind, data={})], "", NOW))

    def said(self) -> Counter[str]:
        """Return how often each event stands in the log, by kind."""
        path = Path(self.paths.events) / f"{DAY}.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return Counter(str(json.loads(one)["type"]) for one in lines)


@pytest.fixture
def writers(machines: Maker) -> Iterator[list[Writer]]:
    yield [Writer(one.root) for one in machines(2)]


def test_what_is_added_on_one_machine_comes_to_the_other_once(writers):
    one, other = writers
    one.deliver("a")
    other.deliver("b")
    one.say("service.started")
    protocol_log.log(one.paths, DAY, ["20:00 O1>W1 a line"])

    assert not one.exchange()
    assert other.exchange() and one.exchange()
    for writer in (one, other, one, other):
        assert not writer.exchange()
        assert writer.letters() == {"a": 1, "b": 1}
        assert writer.said() == {"service.started": 1}
        assert list(protocol_log.read_log(writer.paths)) == [(DAY, "20:00 O1>W1 a line")]


def test_events_of_revisions_take_no_part(writers):
    one, other = writers
    own = events.revision_records([Event(type="phase.opened", data={})], "c", 3, "d" * 64, NOW)
    events.append(one.paths, own)
    one.say("service.started")

    one.exchange()
    other.exchange()

    assert other.said() == {"service.started": 1}


def test_a_torn_line_waits_until_it_is_whole(writers):
    one, other = writers
    one.deliver("a")
    whole = one.inbox.read_bytes()
    one.inbox.write_bytes(whole[:-9])
    one.exchange()
    other.exchange()
    assert other.letters() == {}

    with one.inbox.open("ab") as file:
        file.write(whole[-9:])
    one.exchange()
    other.exchange()
    assert other.letters() == {"a": 1}


def test_a_log_that_was_begun_anew_is_sent_from_its_start(writers):
    one, other = writers
    one.deliver("a")
    one.deliver("b")
    one.exchange()
    one.inbox.rename(one.inbox.with_suffix(".old"))
    one.deliver("c")

    one.exchange()
    other.exchange()

    assert other.letters() == {"a": 1, "b": 1, "c": 1}


def emptied(url: str) -> None:
    """Put tables in the place of those of a council that are empty, as if all was lost."""
    with psycopg.connect(url) as owner:
        owner.execute("DROP SCHEMA council CASCADE")
        owner.execute("CREATE SCHEMA council")
        owner.execute("SET search_path TO council")
        schema.migrate(owner, "council")


def test_another_database_is_sent_all_that_lies_here(writers, database):
    one, other = writers
    one.deliver("a")
    one.say("service.started")
    one.exchange()
    emptied(database)
    one.deliver("b")
    other.deliver("c")

    for writer in (one, other, one):
        writer.exchange()

    assert [writer.letters() for writer in writers] == 2 * [{"a": 1, "b": 1, "c": 1}]
    assert other.said() == {"service.started": 1}


def test_a_database_that_is_filled_anew_gets_the_logs(machines, database):
    council = machines(1)
    one = Writer(council[0].root)
    one.deliver("a")
    one.exchange()
    emptied(database)

    council[0].do("engine", "rebuild", "--database")

    assert [stream for stream, _ in one.place.engine.logged("")["lines"]] == [
        "protocol/inbox/W1.jsonl"
    ]


def test_a_replica_that_is_filled_anew_gets_the_logs(machines):
    council = machines(2)
    one, other = (Writer(machine.root) for machine in council)
    one.deliver("a")
    one.exchange()
    other.exchange()
    other.inbox.unlink()

    council[1].do("engine", "rebuild")

    assert other.letters() == {"a": 1}


def test_a_stream_with_an_odd_name_is_written_nowhere(writers):
    one, other = writers
    for stream in ("events/../../../odd.jsonl", "protocol/inbox/W1.txt", "odd/W1.jsonl"):
        one.place.engine.session.log(stream, [b"{}"])

    def files() -> set[Path]:
        return {found for found in Path(other.place.root).rglob("*") if found.is_file()}

    before = files() | {other.mark}
    assert not other.exchange()
    assert files() == before


@pytest.mark.parametrize("seed", range(8))
def test_whatever_dies_in_between_no_line_is_lost_or_doubled(writers, seed):
    """A process that dies leaves the mark as it was, whatever it had sent and added."""
    chance, count = random.Random(seed), 0
    for _ in range(60):
        writer = chance.choice(writers)
        what = chance.randrange(4)
        if what == 0:
            writer.exchange()
        elif what == 1:
            before = writer.mark.read_bytes() if writer.mark.exists() else b""
            writer.exchange()
            writer.mark.write_bytes(before[: chance.choice((0, len(before) // 2, len(before)))])
        else:
            count += 1
            writer.deliver(f"letter-{count}")
            writer.say(f"kind.{count}")
    for writer in (*writers, *writers):
        writer.exchange()

    for writer in writers:
        assert writer.letters() == {f"letter-{one}": 1 for one in range(1, count + 1)}
        assert writer.said() == {f"kind.{one}": 1 for one in range(1, count + 1)}
