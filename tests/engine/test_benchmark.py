"""What an engine costs is measured: each part once, tiny."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import engine

pytestmark = pytest.mark.engine


def test_the_cost_of_an_engine_is_measured_with_its_bounds(tmp_path: Path):
    commands, writers, between = engine.measure(tmp_path / "bench", 1, crowds=(3,))

    bounds = {row.what: row.bound or row.limit_ms for row in commands.rows + between.rows}
    assert bounds == {
        "council respond": 5.0,
        "council heartbeat, nothing due": 5.0,
        "council heartbeat, 3 idle": 15.0,
        "last answer → next start": 300.0,
        "edit → in the other file": 1000.0,
    }
    assert [row.bound for row in writers.rows] == [3.0, 10.0]
    for part in (commands, writers, between):
        assert part.notes
        assert all(row.ms > 0 and row.against_ms > 0 for row in part.rows)
