"""Explanations of what changes while it is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.operations.reporting.explaining import explain
from council.store.slots import Slots
from tests.operations.tables import Table, all_is_quiet, script


@pytest.mark.req("P8-005")
def test_a_run_that_ends_between_two_looks_is_none_that_died(tmp_path: Path, monkeypatch):
    waits = 'cat >/dev/null; until [ -e "$COUNCIL_ROOT/go" ]; do sleep 0.02; done; echo "Yes."'
    table = Table(tmp_path / "workspace").seat({"owl": script(waits), "elk": {}})
    table.convene(agents=("owl", "elk"))
    looking = Slots.running_agents

    def after_it_ended(slots: Slots) -> tuple[str, ...]:
        if not (table.root / "go").exists():
            (table.root / "go").touch()
            all_is_quiet()
        return looking(slots)

    monkeypatch.setattr(Slots, "running_agents", after_it_ended)
    found = explain(table.place, "active")

    assert [one.agent for one in found.waits] == ["elk"]
    assert [one.code for one in found.hindrances] == ["by-hand"]
