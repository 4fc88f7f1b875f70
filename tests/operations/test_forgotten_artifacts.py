"""What a purge does to artifacts, briefs and the board of what it forgets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from council.core.delegation.artifacts import Brief
from council.operations.forget import purge
from council.store.delegation import artifacts, briefs
from tests.operations.tables import NOW, Table

BY_HAND_TWO = ("henry", "sage")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table(tmp_path).seat({agent: {} for agent in BY_HAND_TWO})
    table.convene("About zebras", name="zoo", agents=BY_HAND_TWO)
    table.convene("About cows", name="farm", agents=BY_HAND_TWO)
    table.beat()
    return table


def publish(table: Table, text: str, trace: str) -> str:
    return artifacts.publish(table.place.paths, text.encode(), trace=trace, now=NOW).artifact_id


@pytest.mark.req("XC-018")
def test_purge_takes_what_was_published_in_it_and_nothing_else_refers_to(table: Table):
    zoo, farm = (table.read(name).conversation_id for name in ("zoo", "farm"))
    trace, other = zoo.replace("-", ""), farm.replace("-", "")
    own = publish(table, "zebra", trace)
    inner = publish(table, "pangolin", trace)
    outer = publish(table, f"see {inner}", trace)
    wanted = publish(table, "zebra and cow", trace)
    of_farm = publish(table, "cow", other)
    of_nobody = publish(table, "zebra in a file of mine", "")
    note = table.root / "memory/shared/note.md"
    note.write_text(f"#REF:{wanted}")
    given = {"from_agent": "henry", "to_agent": "sage", "created_at": NOW}
    brief = briefs.write(table.place.paths, Brief(trace=trace, goal="zebra", refs=[own], **given))
    kept = briefs.write(table.place.paths, Brief(trace=other, goal="cow", **given))

    done = purge(table.place, zoo)

    assert set(artifacts.ids(table.place.paths)) == {wanted, of_farm, of_nobody}
    assert not os.path.exists(brief.path) and os.path.exists(kept.path)
    gone = {artifacts.content_path(table.place.paths, one) for one in (own, inner, outer)}
    assert set(done.artifacts) == gone
    named = artifacts.metadata_path(table.place.paths, wanted)
    assert done.left == [named], "who else needs it keeps it, and is told that it says whose it was"
    assert "artifact.removed" not in {one["type"] for one in table.events()}


@pytest.mark.req("XC-018", "P8-006")
def test_purge_takes_it_off_the_board(table: Table):
    board = Path(table.place.paths.board)
    assert "About zebras" in board.read_text()
    note = Path(table.place.paths.control, "board.json")
    note.write_text(json.dumps({"zebras": 1}))

    purge(table.place, table.read("zoo").conversation_id)

    assert "zebras" not in board.read_text() and "About cows" in board.read_text()
    assert not note.exists()
