"""What is purged on one machine is in no table and in no file of the others."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from council.core.events import trace_of
from council.store import lock, shared
from council.store.purging import shared_rows
from tests.conftest import Ran
from tests.engine.conftest import Roles
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.pairs import joined_pair, leave, tables_holding
from tests.engine.servers import Server
from tests.engine.test_kills import CALLS, on_two_machines
from tests.faults import scenes, tracing
from tests.faults.ledger import Ledger
from tests.forks import Forks

pytestmark = [pytest.mark.engine, pytest.mark.req("EN-002")]

PART = "engine, killed purges"
SECRET = "heron"
PUBLIC = "We go on."


def heads_of(url: str) -> dict[str, tuple[int, str]]:
    with psycopg.connect(url) as admin:
        found = admin.execute("SELECT stream, seq, purged FROM council.head").fetchall()
    return {stream: (seq, purged) for stream, seq, purged in found}


def said_everywhere(machines: Machines) -> None:
    """Let two people answer in a blind phase, each on another machine."""
    machines[0].do("convene", "Where to?", "--people", "ann,bob,eve", "--timeout", "1h")
    machines.quiet()
    machines[1].do("respond", "--as", "ann", f"The {SECRET} stands in the reeds.\n\nIt fishes.")
    machines[0].do("respond", "--as", "bob", "To the coast, at dawn.")
    machines[1].do("respond", "--as", "eve", "Nowhere today.")
    machines.quiet()
    assert all(one.holding(SECRET) for one in machines)


def nothing_left(machines: Machines, database: str) -> None:
    machines.quiet()
    assert {one.name: one.holding(SECRET) for one in machines} == {one.name: [] for one in machines}
    assert tables_holding(database, SECRET) == []
    assert machines.same_everywhere() == []


@pytest.mark.parametrize("ended", [True, False])
def test_a_conversation_that_is_purged_is_gone_everywhere(
    machines: Maker, database: str, ended: bool
):
    three = machines(3)
    said_everywhere(three)
    data = three[0].root / "data.txt"
    data.write_text(f"A {SECRET} and its nest.")
    trace = trace_of(three[0].watched().conversation_id)
    published = three[0]("artifact", "publish", str(data), "--trace", trace, "--as", "bob")
    data.unlink()
    three.quiet()
    three[2].do("artifact", "fetch", published.out.strip())
    if ended:
        three[0].do("cancel")
        three.quiet()
    before = heads_of(database)
    (stream,) = (one for one in before if one.endswith("/revisions.jsonl"))
    assert {"revision", "chunk"} <= set(tables_holding(database, SECRET))

    three[1].do("purge", stream.split("/")[1], "--yes")

    nothing_left(three, database)
    seq, purged = heads_of(database)[stream]
    assert (seq, purged.split()[0]) == (before[stream][0], "purged")
    for one in three:
        assert not list(one.root.glob("memory/shared/council-*-conversation.md"))
        assert not list(one.root.glob("conseils/*"))
        assert one("show").code == 5
        assert one("purge", stream.split("/")[1], "--yes").code == 5
    three[2].do("convene", "Again?", "--people", "ann,bob")
    assert three.settled() == []


def test_a_machine_that_was_away_follows_a_purge_of_an_entry_and_what_came_after(
    machines: Maker, database: str
):
    two = machines(2)
    said_everywhere(two)

    two[0].do("purge", "active", "--entry", "1-ann", "--yes")
    assert two[1].holding(SECRET)
    two[0].do("respond", "--as", "bob", PUBLIC)
    two[1].do("respond", "--as", "ann", PUBLIC)  # its command brings what was purged

    nothing_left(two, database)
    shown = [one.watched().live.read_bytes() for one in two]
    assert shown[0] == shown[1]
    assert shown[0].count(PUBLIC.encode()) == 2
    assert b"this contribution was taken out" in shown[0]
    two[1].do("cancel")
    assert two.settled() == []


def test_an_entry_of_an_ended_conversation_is_taken_out_of_minutes_and_their_bytes(
    machines: Maker, database: str
):
    two = machines(2)
    said_everywhere(two)
    two[0].do("cancel")
    two.quiet()
    (minutes,) = two[1].root.glob("conseils/*.md")
    assert SECRET in minutes.read_text()
    assert "chunk" in tables_holding(database, SECRET)
    there = two[0].root / "conseils" / minutes.name
    there.write_text(f"{there.read_text()}\nA person was here.\n")
    name = two[1]("list", "--archived", "--json").json()[0]["conversation"]

    two[1].do("purge", name, "--entry", "1-ann", "--yes")
    two[1].do("purge", name, "--entry", "1-ann", "--yes")
    reader = two[0].place
    shared.bring(str(there))  # by one who has not heard of it
    assert reader.engine is not None
    reader.engine.close()
    lock.engines.clear()

    nothing_left(two, database)
    assert "this contribution was taken out" in minutes.read_text()
    assert "To the coast, at dawn." in minutes.read_text()
    (kept,) = two[0].holding("A person was here.")
    assert kept.startswith("memory/shared/.council/conflicts/")


def test_an_answer_of_another_that_is_still_sealed_outlives_the_purge_of_an_entry(
    machines: Maker, database: str
):
    two = machines(2)
    two[0].do("convene", "Where to?", "--people", "ann,bob", "--timeout", "1h")
    two[0].do("inject", f"Think of the {SECRET}.")
    two.quiet()
    two[1].do("respond", "--as", "ann", PUBLIC)
    two.quiet()

    two[0].do("purge", "active", "--entry", "1-person-injection", "--yes")

    two[0].do("respond", "--as", "bob", PUBLIC)
    nothing_left(two, database)
    assert two[1].watched().live.read_text().count(PUBLIC) == 2


def test_a_file_that_was_purged_is_not_published_again_by_who_reads_it(
    database: str, tmp_path: Path
):
    pair = joined_pair(database, tmp_path)
    made = [f"{place.paths.minutes}/2026-02-08-where.md" for place in pair]
    for path in made:
        Path(path).parent.mkdir()
    Path(made[0]).write_text(SECRET)
    for path in made:
        shared.bring(path)
    assert Path(made[1]).read_text() == SECRET
    stream = "files/minutes/2026-02-08-where.md"

    assert pair.a.engine is not None
    shared_rows.take_out(pair.a.engine, [stream], [], lambda _, __: None)
    for path in made:
        shared.bring(path)

    assert not any(Path(path).exists() for path in made)
    assert tables_holding(database, SECRET) == []
    assert heads_of(database)[stream][0] == 1
    assert shared.publish(made[1], PUBLIC.encode())  # the name is free for others
    shared.bring(made[0])
    assert Path(made[0]).read_text() == PUBLIC
    leave(pair)


def test_bytes_that_another_file_or_artifact_has_outlive_a_purge(machines: Maker, database: str):
    one, other = machines(2)
    for name in ("a", "b"):
        page = one.root / f"conseils/2026-02-08-{name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(PUBLIC)
        shared_place = one.place
        shared.bring(str(page))
    engine = shared_place.engine
    assert engine is not None
    both = [f"files/minutes/2026-02-08-{name}.md" for name in "ab"]

    shared_rows.take_out(engine, both[:1], [], lambda _, __: None)
    assert "chunk" in tables_holding(database, PUBLIC)
    other.do("engine", "pull")
    assert (other.root / "conseils/2026-02-08-b.md").read_text() == PUBLIC

    published = other("artifact", "publish", "conseils/2026-02-08-b.md").out.strip()
    shared_rows.take_out(engine, both[1:], [], lambda _, __: None)
    engine.close()
    lock.engines.clear()
    assert one("artifact", "fetch", published).code == 0
    assert "chunk" in tables_holding(database, PUBLIC)


def test_a_purge_looks_only_at_the_lines_of_logs_that_may_go(database: str, tmp_path: Path):
    pair = joined_pair(database, tmp_path)
    engine, seen = pair.a.engine, []
    assert engine is not None
    engine.session.log("events/a.jsonl", [b"the heron", b"the crane", b"\xff\\ heron"])

    def instead(_: str, line: bytes) -> bytes:
        seen.append(line)
        return b""

    shared_rows.take_out(engine, [], [b"heron", b"\xff"], instead)
    assert seen == [b"the heron", b"\xff\\ heron"]
    assert engine.session.logged("")["lines"] == [["events/a.jsonl", b"the crane"]]
    leave(pair)


def test_channels_and_contexts_are_purged_everywhere(machines: Maker, database: str):
    two = machines(2)
    for one in two:
        settings = one.root / "council.toml"
        settings.write_text(f"{settings.read_text()}\n[agents.owl]\n[agents.gecko]\n")
    north, south = two
    north.do("agent", "join", "W1", "--caps", "plan")
    north.do("msg", "send", "--user", f"Where is the {SECRET}?", "--caps", "plan")
    members = ("--participants", "owl,gecko", "--as", "owl")
    north.do("channel", "create", "chat", "den", *members)
    two.quiet()
    south.do("channel", "post", "den", f"A {SECRET}!", "--as", "alice")
    south.do("ctx", "close", "S1")
    two.quiet()
    assert north.holding(SECRET) and south.holding(SECRET)

    south.do("purge", "S1", "--yes")
    north.do("engine", "pull")
    north.do("purge", "den", "--yes")

    nothing_left(two, database)
    assert not list(south.root.glob("memory/shared/channels/den*"))
    again = south("channel", "create", "chat", "den", *members)
    assert again.code == 5
    assert "den was purged" in again.err
    assert north("purge", "S1", "--yes").code == 5


def test_the_daily_role_is_refused_before_anything_is_taken_away(
    roles: Roles, database: str, folder: Path, forks: Forks | None
):
    owner = Machine(folder / "m1", "m1", roles.owner, forks=forks)
    owner.init("--role", "daily")
    daily = Machine(folder / "m2", "m2", roles.daily, forks=forks)
    daily.join()
    two = Machines([owner, daily])
    said_everywhere(two)
    before = daily.shown()

    def refused(ran: Ran) -> bool:
        return ran.code == 6 and "name the owner of the engine in the URL" in ran.err

    assert refused(daily("purge", "active", "--yes"))
    assert refused(daily("purge", "active", "--entry", "1-ann", "--yes"))
    assert daily.shown() == before
    owner.do("purge", "active", "--yes")
    nothing_left(two, database)


class PurgedWhole(scenes.OpenAnswer):
    name = "purge of a conversation"
    command = ("purge", "active", "--yes")

    def prepare(self) -> None:
        self.do("respond", f"The {SECRET} stands in the reeds.", "--as", "b")


class PurgedEntry(PurgedWhole):
    name = "purge of an entry"
    command = ("purge", "active", "--entry", "1-b", "--yes")


@pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-")
@pytest.mark.req("XC-018")
@pytest.mark.parametrize("kind", [PurgedWhole, PurgedEntry], ids=lambda kind: kind.name)
def test_a_purge_that_is_killed_at_any_call_is_finished_by_the_next(
    folder: Path, server: Server, ledger: Ledger, every: int, kind: type[scenes.Scene]
):
    with on_two_machines(kind, folder, server) as scene:
        url = server.url(scene.database)
        scene.put_up()
        points = scene.runner.points(*scene.command, now=scene.now, calls=CALLS)
        for point in tracing.each(points, 3 * every):
            scene.put_up()
            scene.strike(tracing.kill_at(point))
            wrong = [f"{line}, before it is finished" for line in scene.pulled_elsewhere()]
            ran = scene.runner.run(*scene.command, now=scene.now)
            wrong += [] if ran.code in (0, 5) else [str(ran)]
            wrong += [*scene.pulled_elsewhere(), *scene.machines.settled()]
            wrong += [f"{one.name}: {place}" for one in scene.machines
                      for place in one.holding(SECRET)]  # fmt: skip
            ledger.point([*wrong, *tables_holding(url, SECRET)], point)
    ledger.assert_clean()
