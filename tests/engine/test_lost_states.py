"""A machine that lost its replica, a database that was put back: both are said and mended.

Source: EN-004, EN-008.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from council.operations.examining.causes import of_workspace
from council.operations.place import Place
from council.store.documents.stored import Stored
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.pairs import Pair, joined_pair, leave, spoil
from tests.engine.pairs import told as told_here
from tests.engine.servers import Server
from tests.faults.invariants import Expected
from tests.faults.ledger import Ledger

PART = "engine, lost states"

pytestmark = pytest.mark.engine


def said(council: Machines, expected: Expected, *seats: str) -> None:
    """Let each answer, on one machine after the other."""
    for at, seat in enumerate(seats):
        text = f"said by {seat}"
        council[at % len(council)].do("respond", text, "--as", seat)
        expected.acknowledge(seat, 1, text)


def begun(machines: Maker, url: str = "") -> tuple[Machines, Expected]:
    council, expected = machines(2, url), Expected()
    council[0].do("convene", "Shall we?", "--people", "a,b,c,d,e,f,g", "--open")
    council.quiet()
    said(council, expected, "a", "b")
    council.quiet()
    return council, expected


@pytest.mark.req("EN-002", "EN-008")
@pytest.mark.parametrize("is_edited", [False, True], ids=["as it was", "with an edit"])
@pytest.mark.parametrize("is_rebuilt", [False, True], ids=["goes on", "is rebuilt"])
def test_a_machine_that_lost_its_folder_has_everything_again(
    machines: Maker, ledger: Ledger, is_edited: bool, is_rebuilt: bool
):
    council, expected = begun(machines)
    lost = council[1]
    shutil.rmtree(lost.root / "memory/shared/.council")
    if is_edited:
        expected.edits = ["Saved when the folder was lost."]
        lost.save(expected.edits[0])
    said(Machines([council[0]]), expected, "c")
    expected.meddled = True
    if is_rebuilt:
        lost.do("engine", "rebuild")
    said(Machines([lost]), expected, "d")
    said(council, expected, "e", "f")
    ledger.point(council.settled(expected), "afterwards")
    ledger.assert_clean()


@pytest.fixture
def own(another: Callable[..., Server]) -> Server:
    """A server whose data can be put back."""
    return another()


def told(machine: Machine) -> list[str]:
    """Return the events by which a machine says that the database lost what it had."""
    return [one for one in machine.watched().events() if one.startswith(("engine.", "journal."))]


@pytest.mark.req("EN-008")
def test_a_database_put_back_gets_again_what_a_machine_has(
    machines: Maker, ledger: Ledger, own: Server
):
    council, expected = begun(machines, own.url())
    own.keep()
    said(council, expected, "c", "d")
    council.quiet()
    own.put_back()
    said(council, expected, "e", "f")
    ledger.point(council.settled(expected), "afterwards")
    ledger.point([] if any(told(one) for one in council) else ["it is not said anywhere"], "events")
    ledger.assert_clean()


@pytest.mark.req("EN-008")
def test_a_database_put_back_while_a_machine_is_away_gets_again_what_that_has(
    machines: Maker, ledger: Ledger, own: Server
):
    council, expected = begun(machines, own.url())
    other, away = council
    own.keep()
    said(Machines([away]), expected, "c")
    away.do("engine", "pull")
    own.put_back()
    with own.connect() as others:  # they have gone far beyond the number that it was at
        for _ in range(100):
            others.execute("SELECT pg_current_xact_id()")
    other.do("convene", "And then?", "--name", "later", "--people", "a,b", "--open")
    ledger.point(council.settled(expected), "afterwards")
    ledger.point([] if told(away) else ["it is not said"], "events")
    ledger.assert_clean()


@pytest.mark.req("EN-008")
def test_a_database_put_back_gets_again_what_was_begun_since(machines: Maker, own: Server):
    council, _ = begun(machines, own.url())
    own.keep()
    for at in range(9):  # far more than the database does once it was put back
        council[0].do("convene", "And then?", "--name", f"late-{at}", "--people", "a,b", "--open")
    council.quiet()
    own.put_back()
    assert council.settled() == []
    with own.connect() as asked:
        found = asked.execute("SELECT name FROM council.name WHERE name LIKE 'open/late-%'")
        assert len(found.fetchall()) == 9


@pytest.mark.req("EN-008")
def test_what_only_a_machine_has_that_others_went_on_without_is_named(
    machines: Maker, ledger: Ledger, own: Server
):
    """The machine that was not there when the others went on has lines the database lost."""
    council, expected = begun(machines, own.url())
    own.keep()
    ahead, other = council
    ahead.do("respond", "said by c", "--as", "c")
    own.put_back()
    other.do("respond", "said by d", "--as", "d")
    expected.acknowledge("d", 1, "said by d")
    expected.meddled = True
    ledger.point(council.settled(expected), "afterwards")
    if any("said by c" not in one.watched().live.read_text(encoding="utf-8") for one in council):
        kept = [place for place in ahead.holding("said by c") if "/conflicts/" in place]
        ledger.point([] if kept else ["what was acknowledged is kept nowhere"], "kept")
    ledger.point([] if told(ahead) else ["it is not said that something is lost"], "events")
    ledger.assert_clean()


@pytest.mark.req("EN-007", "EN-008")
def test_a_blind_text_that_others_went_on_without_is_kept_with_its_line(
    machines: Maker, own: Server
):
    council = machines(2, own.url())
    other, ahead = council
    other.do("convene", "Shall we?", "--people", "a,b,c")
    council.quiet()
    own.keep()
    ahead.do("respond", "said by c", "--as", "c")
    own.put_back()
    other.do("respond", "said by b", "--as", "b")
    council.quiet()
    other.do("cancel")
    other.do("heartbeat")
    council.quiet()

    [parted] = told_here(ahead.place, "engine.parted")
    kept = ahead.root / parted["data"]["file"]
    assert "said by c" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert other.holding("said by c") == []


@pytest.mark.req("EN-001", "EN-008")
def test_a_database_put_back_gets_again_what_was_said_in_rooms_and_logs(
    machines: Maker, folder: Path, own: Server
):
    """To pull is enough; a machine that joins afterwards has all of it."""
    (here,) = machines(1, own.url())

    def create(room: str) -> None:
        here.do("channel", "create", "chat", room, "--participants", "owl,fox", "--as", "owl")

    def post(room: str, text: str) -> None:
        here.do("channel", "post", room, "--as", "owl", text)

    create("old")
    post("old", "one")
    own.keep()
    post("old", "two")
    create("new")
    post("new", "three")
    inbox = Path(here.root, "memory/shared/protocol/inbox")
    inbox.mkdir(parents=True)
    (inbox / "W1.jsonl").write_text('{"id":"a"}\n')
    here.do("engine", "pull")
    own.put_back()

    here.do("engine", "pull")

    late = Machine(folder / "late", "late", own.url())
    late.join()
    for room, texts in (("old", ["one", "two"]), ("new", ["three"])):
        shown = late.do("channel", "show", room, "--json").json()
        assert [one["content"] for one in shown["messages"]] == texts
    assert Path(late.root, "memory/shared/protocol/inbox/W1.jsonl").read_text() == '{"id":"a"}\n'


# Records


@pytest.fixture
def pair(database: str, tmp_path: Path) -> Iterator[Pair]:
    made = joined_pair(database, tmp_path)
    for place in made:
        Path(place.paths.control).mkdir()
    yield made
    leave(made)


def put(place: Place, value: str, *, anew: bool = False) -> None:
    with Stored(place.paths.tally, "remove it") as stored:
        stored.read()
        stored.write(value, anew=anew)


def got(place: Place) -> object:
    with Stored(place.paths.tally, "remove it") as stored:
        return stored.read()


def put_back(database: str, seq: int) -> None:
    """Put the database back to the first lines of the record."""
    spoil(database, "DELETE FROM revision WHERE stream = 'control/tally.jsonl' AND seq > %s", seq)
    spoil(database, "UPDATE head SET seq = %s WHERE stream = 'control/tally.jsonl'", seq)


@pytest.mark.req("EN-008")
@pytest.mark.parametrize("is_other", [False, True], ids=["folded", "begun from its last text"])
@pytest.mark.parametrize("seq", [1, 2])
def test_a_record_that_begins_after_what_a_database_kept_is_given_back(
    pair: Pair, database: str, seq: int, is_other: bool
):
    pair.pull()
    for value in ("one", "two"):
        put(pair.a, value)
    put(pair.a, "three", anew=True)
    if is_other:
        assert got(pair.b) == "three"
    put_back(database, seq)
    first, second = reversed(pair) if is_other else pair
    assert got(first) == "three"
    assert got(second) == "three"
    put(second, "four")
    assert got(first) == "four"
    assert [one["type"] for one in told_here(first, "engine.behind")]
    assert told_here(first, "engine.parted") == told_here(second, "engine.parted") == []


@pytest.mark.req("EN-008")
def test_lines_of_a_record_that_others_went_on_without_are_kept_and_named(
    pair: Pair, database: str
):
    for value in ("one", "two"):
        put(pair.a, value)
    assert got(pair.b) == "two"
    put_back(database, 1)
    Path(pair.b.paths.tally).write_bytes(b"")
    put(pair.b, "other")
    assert got(pair.a) == "other"
    (event,) = told_here(pair.a, "engine.parted")
    kept = Path(pair.a.root, str(event["data"]["file"]))  # type: ignore[index]
    assert kept.parent == Path(pair.a.paths.control, "conflicts")
    assert b'"two"' in kept.read_bytes()
    (said,) = [one for one in of_workspace(pair.a) if one.code == "engine-parted"]
    assert str(kept.relative_to(pair.a.root)) in said.said() and "say again" in said.fix()
    kept.unlink()
    assert "engine-parted" not in [one.code for one in of_workspace(pair.a)]


@pytest.mark.req("EN-002", "EN-008")
def test_a_long_record_of_a_workspace_that_joins_takes_the_place_of_no_shared_one(
    machines: Maker, folder: Path, database: str
):
    (north,) = machines(1)
    put(north.place, "shared")
    south = Machine(folder / "south", "south", database)
    Path(south.place.paths.control).mkdir()
    for number in range(80):  # so many that its journal begins after all that is shared
        put(south.place, f"{number} " * 1000)
    south.join()
    joined = Pair(north.place, south.place)
    try:
        assert [got(one) for one in joined] == ["shared", "shared"]
        (event,) = told_here(joined.b, "engine.parted")
        assert b"79 79 79" in Path(south.root, event["data"]["file"]).read_bytes()
    finally:
        leave(joined)
