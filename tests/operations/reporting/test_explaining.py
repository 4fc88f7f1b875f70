"""Explanations of what changes while it is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.operations.reporting import explaining_conversations
from council.operations.reporting.explaining import explain
from council.store.slots import Slots
from tests.operations.tables import Table, all_is_quiet, script, until


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


@pytest.mark.req("P8-005")
def test_several_runs_that_end_one_after_the_other_between_looks_are_none_that_died(
    tmp_path: Path, monkeypatch
):
    waits = 'cat >/dev/null; until [ -e "$COUNCIL_ROOT/go-$COUNCIL_AGENT" ]; do sleep 0.02; done; '
    names = ("ann", "bob", "cyd")
    table = Table(tmp_path / "workspace")
    table.seat({**dict.fromkeys(names, script(waits + 'echo "Yes."')), "elk": {}})
    table.convene(agents=(*names, "elk"))
    looking, left, begun = Slots.running_agents, list(names), [True]
    framing = explaining_conversations._frame

    def framed(*given: object) -> object:
        begun.append(True)
        return framing(*given)

    def after_another_ended(slots: Slots) -> tuple[str, ...]:
        if left and begun:  # once in each look
            begun.clear()
            ended = left.pop(0)
            (table.root / f"go-{ended}").touch()
            until(lambda: ended not in looking(slots), f"the end of {ended}")
        return looking(slots)

    monkeypatch.setattr(Slots, "running_agents", after_another_ended)
    monkeypatch.setattr(explaining_conversations, "_frame", framed)
    found = explain(table.place, "active")
    for one in left:
        (table.root / f"go-{one}").touch()
    all_is_quiet()

    assert "lost" not in [one.code for one in found.hindrances]
