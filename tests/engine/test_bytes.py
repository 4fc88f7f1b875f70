"""What machines share as a whole: the same bytes everywhere, each name once, no edit lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from council.core.errors import InvalidStateError, NotFoundError, UnreachableError
from council.core.ids import sha256_hex
from council.core.protocol.exchange import Exchange
from council.core.rooms import identities as rules
from council.operations.engine.pulled import read_pulled, was_missed
from council.operations.engine.replica import catch_up, freshen, push_all
from council.operations.heartbeat.gate import Gate, halt, is_halted, read_halt, resume_all
from council.operations.place import Place
from council.store import shared
from council.store.conversations import minutes
from council.store.conversations.naming import closing_path
from council.store.delegation import artifact_care, artifacts, briefs
from council.store.documents import journal, lines
from council.store.protocol.context_outbox import Change
from council.store.protocol.contexts import Contexts
from council.store.rooms import identities
from tests.core.conversations.samples import CONVERSATION_ID, NOW
from tests.engine.pairs import Pair, joined_pair, leave, spoil, told
from tests.store.processes import together
from tests.store.rooms.samples import Room

pytestmark = [pytest.mark.engine, pytest.mark.req("EN-007")]

MINUTES = "---\nconversation: bot\n---\nThey said yes.\n"
LARGE = os.urandom(3 * 1024 * 1024 + 512 * 1024)


@pytest.fixture
def pair(database: str, tmp_path: Path) -> Iterator[Pair]:
    made = joined_pair(database, tmp_path)
    yield made
    leave(made)


# Artifacts


def test_an_artifact_is_listed_everywhere_and_fetched_where_it_is_read(pair: Pair) -> None:
    made = artifacts.publish(pair.a.paths, LARGE, publisher="henry", now=NOW)
    pair.pull()
    here = artifacts.content_path(pair.b.paths, made.artifact_id)

    assert artifacts.known_ids(pair.b.paths) == [made.artifact_id]
    assert artifacts.find(pair.b.paths, made.artifact_id) == made
    assert not os.path.lexists(here)
    assert artifacts.read(pair.b.paths, made.artifact_id, now=NOW) == LARGE
    assert Path(here).read_bytes() == LARGE
    assert artifact_care.remains(pair.b.paths, NOW) == artifact_care.Remains()


def test_an_artifact_is_found_by_its_id_alone_before_anything_was_brought(pair: Pair) -> None:
    made = artifacts.publish(pair.a.paths, b"short", now=NOW)
    assert artifacts.find(pair.b.paths, made.artifact_id) == made
    with pytest.raises(NotFoundError):
        artifacts.find(pair.b.paths, "art_" + "0" * 64)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chunk SET data = overlay(data PLACING 'x'::bytea FROM 100) WHERE number = 2",
        "DELETE FROM chunk WHERE number = 2",
    ],
)
def test_a_chunk_that_was_damaged_is_refused_and_nothing_is_written(
    pair: Pair, database: str, statement: str
) -> None:
    made = artifacts.publish(pair.a.paths, LARGE, now=NOW)
    pair.pull()
    assert spoil(database, statement) == 1
    with pytest.raises(InvalidStateError) as caught:
        artifacts.read(pair.b.paths, made.artifact_id, now=NOW)
    assert made.artifact_id in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert os.listdir(pair.b.paths.artifacts) == [f"{made.artifact_id}.meta.json"]


def test_what_one_machine_no_longer_needs_others_still_have(pair: Pair) -> None:
    made = artifacts.publish(pair.a.paths, b"needed on b", now=NOW)
    artifact_care.remove(pair.a.paths, [made.artifact_id])
    pair.pull()
    assert not os.path.lexists(artifacts.content_path(pair.a.paths, made.artifact_id))
    assert artifacts.read(pair.b.paths, made.artifact_id, now=NOW) == b"needed on b"
    assert artifacts.read(pair.a.paths, made.artifact_id, now=NOW) == b"needed on b"


def test_the_same_bytes_published_on_both_are_one_artifact(pair: Pair) -> None:
    first = artifacts.publish(pair.a.paths, b"same", publisher="henry", now=NOW)
    second, is_new = artifacts.put(pair.b.paths, b"same", publisher="sage", now=NOW)
    assert (second, is_new) == (first, False)


# Minutes and briefs


def _ended(pair: Pair) -> tuple[Room, Room]:
    """Return two councils of one title that are ready to end, one on each machine."""
    rooms = []
    for number, place in enumerate(pair):
        room = Room(Path(place.root), conversation_id=f"{CONVERSATION_ID[:-1]}{number}")
        room.state = room.state.copy(name=f"council-{number}")
        room.open()
        rooms.append(room)
    return rooms[0], rooms[1]


def test_two_councils_of_one_title_that_end_at_once_have_two_names(pair: Pair) -> None:
    one, other = _ended(pair)

    def end(room: Room) -> None:
        room.conversations.close(
            room.state.name, "conseils/bot", f"{room.state.conversation_id}\n", now=NOW, data="{}"
        )

    assert together([lambda: end(one), lambda: end(other)]) == [0, 0]
    pair.pull()
    held = [_minutes(place.root) for place in pair]
    assert held[0] == held[1]
    assert sorted(held[0]) == ["bot-2.json", "bot-2.md", "bot.json", "bot.md"]
    texts = {data.splitlines()[0].decode() for name, data in held[0].items() if "md" in name}
    assert texts == {one.state.conversation_id, other.state.conversation_id}


def test_a_name_that_was_given_elsewhere_is_not_given_again(pair: Pair) -> None:
    one, other = _ended(pair)
    paths = [
        room.conversations.close(room.state.name, "conseils/bot", room.state.name, now=NOW)
        for room in (one, other)
    ]
    assert [os.path.basename(path) for path in paths] == ["bot.md", "bot-2.md"]


def test_minutes_come_with_the_end_of_their_council_and_so_does_a_later_edit(pair: Pair) -> None:
    room, _ = _ended(pair)
    path = room.conversations.close(room.state.name, "conseils/bot", MINUTES, now=NOW)
    pair.pull()
    there = Path(pair.b.root, os.path.relpath(path, pair.a.root))
    assert there.read_text() == MINUTES
    tail = journal.read_tail(
        f"{pair.b.paths.conversation_folder(room.state.conversation_id)}/{journal.FILE}"
    )
    assert tail is not None
    assert closing_path(pair.b.paths, tail.head) == str(there)
    assert pair.a.root.encode() not in tail.line.body + str(tail.head).encode()

    minutes.add_rating(pair.b.paths, str(there), 5, "ann")
    minutes.add_rating(pair.a.paths, path, 4, "bob")
    pair.pull()
    assert minutes.front_matter(path)["ratings"] == {"ann": 5, "bob": 4}
    assert there.read_bytes() == Path(path).read_bytes()


def _minutes(root: str) -> dict[str, bytes]:
    folder = Path(root, "conseils")
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def test_two_machines_that_write_a_brief_of_one_name_write_two(pair: Pair) -> None:
    def write(number: int) -> None:
        briefs.write(
            pair[number].paths,
            briefs.Brief(
                trace="ab" * 16, from_agent="ann", to_agent="bob", created_at=NOW, goal=str(number)
            ),
        )

    assert together([lambda: write(0), lambda: write(1)]) == [0, 0]
    pair.pull()
    goals = [{kept.name: kept.brief.goal for kept in briefs.briefs(one.paths)} for one in pair]
    assert goals[0] == goals[1]
    assert sorted(goals[0].values()) == ["0", "1"]


# Identities


def _register(pair: Pair, at: int, agent: str) -> None:
    identities.change(
        pair[at].paths, lambda standing: rules.register(standing, agent, f"{agent}#1").registry
    )


def test_identities_that_both_register_are_all_there(pair: Pair) -> None:
    agents = [f"agent{number}" for number in range(6)]
    works = [
        lambda at=at, agent=agent: _register(pair, at % 2, agent) for at, agent in enumerate(agents)
    ]
    assert together(works) == [0] * len(agents)
    pair.pull()
    for place in pair:
        assert sorted(identities.load(place.paths).agents) == agents
    assert Path(pair.a.paths.identities).read_bytes() == Path(pair.b.paths.identities).read_bytes()


def test_what_a_person_wrote_into_identities_is_shared_unless_another_was_first(pair: Pair) -> None:
    _register(pair, 0, "henry")
    pair.pull()
    path = Path(pair.b.paths.identities)
    path.write_text(path.read_text().replace("henry#1", "henry#2"))
    _register(pair, 1, "sage")
    pair.pull()
    assert identities.load(pair.a.paths).account_of("henry") == "henry#2"

    path.write_text(path.read_text().replace("henry#2", "henry#3"))
    _register(pair, 0, "nova")
    _register(pair, 1, "blaise")
    kept = list(Path(pair.b.paths.control, "conflicts").iterdir())
    assert [b"henry#3" in one.read_bytes() for one in kept] == [True]
    assert sorted(identities.load(pair.b.paths).agents) == ["blaise", "henry", "nova", "sage"]
    assert [one["data"]["field"] for one in told(pair.b, "edit.refused")]


def test_a_step_back_of_a_person_is_an_edit_and_an_older_file_is_only_behind(pair: Pair) -> None:
    _register(pair, 0, "henry")
    before = Path(pair.a.paths.identities).read_bytes()
    pair.pull()
    _register(pair, 0, "sage")
    _register(pair, 1, "nova")  # on b the file was behind
    assert sorted(identities.load(pair.b.paths).agents) == ["henry", "nova", "sage"]

    Path(pair.b.paths.identities).write_bytes(before)
    _register(pair, 1, "blaise")
    pair.pull()
    assert sorted(identities.load(pair.a.paths).agents) == ["blaise", "henry"]


def test_a_registry_that_was_removed_comes_back(pair: Pair) -> None:
    _register(pair, 0, "henry")
    Path(pair.a.paths.identities).unlink()
    _register(pair, 0, "sage")
    assert sorted(identities.load(pair.a.paths).agents) == ["henry", "sage"]


# The counter of contexts


def test_no_number_of_a_context_is_given_twice(pair: Pair) -> None:
    def made(context: str) -> Change:
        return Change(
            exchange=Exchange(context=context, trace_id="ab" * 16, opened_at=NOW, updated_at=NOW)
        )

    def open_four(at: int) -> None:
        for _ in range(4):
            Contexts(pair[at].paths).open(made, NOW)

    assert together([lambda: open_four(0), lambda: open_four(1)]) == [0, 0]
    ids = [Contexts(place.paths).ids() for place in pair]
    assert sorted(ids[0] + ids[1]) == [f"S{number}" for number in range(1, 9)]


# The halt


def test_a_halt_on_one_machine_holds_on_the_other_and_so_does_its_end(pair: Pair) -> None:
    assert halt(pair.a, "the bill").changed
    assert Gate(pair.b, NOW).halted
    stood = read_halt(pair.b)
    assert stood is not None
    assert stood.reason == "the bill"
    assert not halt(pair.b, "again").changed

    assert resume_all(pair.b).changed
    assert not Gate(pair.a, NOW).halted
    assert halt(pair.a).changed
    pair.pull()
    assert is_halted(pair.b)


def test_a_mark_of_the_halt_that_a_person_makes_or_removes_counts_everywhere(pair: Pair) -> None:
    Path(pair.a.paths.control).mkdir(exist_ok=True)
    Path(pair.a.paths.halt_mark).touch()
    assert Gate(pair.a, NOW).halted
    assert Gate(pair.b, NOW).halted
    Path(pair.b.paths.halt_mark).unlink()
    assert not Gate(pair.b, NOW).halted
    assert not Gate(pair.a, NOW).halted


def test_a_machine_that_reaches_no_engine_halts_itself_and_then_the_others(
    pair: Pair,
) -> None:
    halted_alone = _cut_off(pair.a, lambda: halt(pair.a, "fire"))
    assert "this machine is halted" in halted_alone.hint
    assert is_halted(pair.a)
    assert Gate(pair.a, NOW).halted
    assert Gate(pair.b, NOW).halted


def _cut_off(place: Place, work: Callable[[], object]) -> UnreachableError:
    """Do something while the address of the engine leads nowhere; return the refusal."""
    engine = place.engine
    assert engine is not None
    engine.close()
    right = engine.said["url"]
    engine.said["url"] = "postgresql://127.0.0.1:1/none"
    try:
        with pytest.raises(UnreachableError) as caught:
            work()
    finally:
        engine.said["url"] = right
        engine._down = None
    return caught.value


# What lay there before


def test_what_a_workspace_has_comes_into_an_engine_with_it(pair: Pair) -> None:
    leave(pair)
    room, _ = _ended(pair)
    room.conversations.close(room.state.name, "conseils/bot", MINUTES, now=NOW, data="{}")
    made = artifacts.publish(pair.a.paths, LARGE, now=NOW)
    _register(pair, 0, "henry")
    halt(pair.a)

    again = Pair(*(Place(one.root, {}, NOW) for one in pair))
    assert push_all(again.a) == {}
    again.pull()
    assert _minutes(pair.b.root) == _minutes(pair.a.root)
    assert artifacts.read(again.b.paths, made.artifact_id, now=NOW) == LARGE
    assert identities.load(again.b.paths).agents == {"henry"}
    assert is_halted(again.b)
    leave(again)


# A database that was put back


def test_what_a_database_that_was_put_back_has_lost_it_gets_again(
    pair: Pair, database: str
) -> None:
    _register(pair, 0, "henry")
    _register(pair, 0, "sage")
    spoil(database, "DELETE FROM revision WHERE stream = 'files/identities' AND seq = 2")
    spoil(database, "UPDATE head SET seq = 1 WHERE stream = 'files/identities'")
    _register(pair, 0, "nova")
    pair.pull()
    assert sorted(identities.load(pair.b.paths).agents) == ["henry", "nova", "sage"]


# Rows that no machine of ours made

FORGED = b'{"forged": true}'


def _forge(place: Place, stream: str, row: bytes = b"") -> None:
    """Add a row as one who has the password can."""
    engine, digest = place.engine, sha256_hex(FORGED)
    assert engine is not None
    if row:
        pass
    elif stream.startswith("files/"):
        engine.session.put(digest, 0, FORGED)
        row = json.dumps({"digest": digest, "size": len(FORGED)}).encode()
    else:
        row, _ = lines.made(None, {"op": "", "digest": digest}, None, FORGED)
    engine.session.commit(stream, [[1, "", True, row]])


def _forged(root: Path) -> list[str]:
    found = [one for one in root.rglob("*") if one.is_file() and b"forged" in one.read_bytes()]
    return [str(one.relative_to(root)) for one in found]


@pytest.mark.parametrize(
    "stream",
    [
        *("files/control/key", "files/control/web-token", "files/control/runs/places/agent-a"),
        *("files/control/a/revisions.jsonl", "files/identities.lock", "files/briefs/a/b.json"),
        *("files/minutes/../council.toml", "files/minutes/.a.md", "files/minutes/a.py"),
        *("files/artifacts/art_a.json", "files/protocol/registry.jsonl", "files/channels/a.md"),
        *("control/key", "control/hooks.json", "control/runs/a.jsonl", "control/outbox/a.jsonl"),
        *("control/../a.jsonl", "control/a/b.jsonl", "protocol/log/a.jsonl", "minutes/a.jsonl"),
    ],
)
def test_no_row_writes_what_machines_do_not_share(pair: Pair, stream: str) -> None:
    _forge(pair.a, stream)
    pair.pull()
    assert _forged(Path(pair.b.root)) == []


@pytest.mark.parametrize("stream", ["files/minutes/a.md", "control/delegation/traces/a.jsonl"])
def test_no_row_writes_through_a_link(pair: Pair, tmp_path: Path, stream: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = Path(pair.b.root, "conseils")
    if not stream.startswith("files/"):
        folder = Path(pair.b.paths.control, "delegation")
        folder.mkdir(parents=True)
        (folder / "traces").symlink_to(outside)
    else:
        folder.mkdir()
        (folder / "a.md").symlink_to(outside / "a.md")
    _forge(pair.a, stream)

    catch_up(pair.b)
    assert "symbolic link" in read_pulled(pair.b).left[stream]
    assert _forged(tmp_path / "b") == [] and list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "row", [b"[]", b"\0", b'{"digest":"ab"}', b'{"digest":"ab","size":"x"}', b'{"size":[]}']
)
def test_a_row_that_no_council_wrote_stops_no_other(pair: Pair, row: bytes) -> None:
    bad = ("files/control/halted", "files/minutes/a.md")
    for stream in bad:
        _forge(pair.a, stream, row)
    _register(pair, 0, "henry")

    catch_up(pair.b)
    assert sorted(identities.load(pair.b.paths).agents) == ["henry"]
    left = read_pulled(pair.b).left
    assert sorted(left) == sorted(bad)
    assert all("does not understand a row" in why for why in left.values())
    with pytest.raises(InvalidStateError, match="does not understand"):
        shared.bring(pair.b.paths.halt_mark)


def test_lines_that_no_council_wrote_stop_no_other(pair: Pair) -> None:
    stream = f"control/{CONVERSATION_ID}/revisions.jsonl"
    _forge(pair.a, stream)
    _register(pair, 0, "henry")

    catch_up(pair.b)
    assert sorted(identities.load(pair.b.paths).agents) == ["henry"]
    assert read_pulled(pair.b).left == {stream: "it cannot be brought: KeyError: 'name'"}


@pytest.mark.req("EN-005")
def test_a_note_of_zeros_says_nothing(pair: Pair) -> None:
    catch_up(pair.a)
    Path(f"{pair.a.paths.pulled}.missed").write_bytes(bytes(14))
    assert not was_missed(pair.a)
    freshen(pair.a)
    assert pair.a.warnings == []
