"""Killed at every system call that touches the workspace, then tried again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import bad_stores, scenes, tracing
from tests.faults.ledger import Ledger
from tests.faults.scenes import Scene

PART = "killed at every call"
_FEW = 3

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-"),
]


def kill_everywhere(
    scene: Scene,
    ledger: Ledger,
    every: int,
    *,
    heirs: bool = False,
    worse: Callable[[], object] | None = None,
) -> None:
    """Kill the command, or what it detaches, at each point; then retry, go on, and check."""
    scene.put_up()
    points = scene.runner.points(*scene.command, now=scene.now, heirs=heirs, worse=worse)
    assert len(points) > _FEW, "nothing of this command was seen"
    for point in tracing.each(points, every):
        scene.put_up()
        scene.strike(tracing.kill_at(point), heirs=heirs, worse=worse)
        ledger.point(_aftermath(scene, worse), point)
        if worse is not None and ledger.wrong:
            return


def _aftermath(scene: Scene, worse: Callable[[], object] | None) -> list[str]:
    return [
        *scene.watched.at_once(scene.expected),
        *scene.retry(worse),
        *scene.go_on(worse),
        *scene.watched.settled(scene.expected),
    ]


@pytest.mark.req("XC-001", "C0-077")
@pytest.mark.parametrize("kind", scenes.SCENES, ids=lambda kind: kind.name)
def test_command_killed_at_any_call_is_done_once(
    folder: Path, ledger: Ledger, every: int, kind: type[Scene]
):
    kill_everywhere(kind(folder), ledger, every)
    ledger.assert_clean()


@pytest.mark.req("XC-001", "XC-002")
@pytest.mark.parametrize(
    "kind",
    [scenes.HeartbeatWithRuns, scenes.Reveal],
    ids=lambda kind: kind.name,
)
def test_what_a_command_detaches_is_killed_at_any_call(
    folder: Path, ledger: Ledger, every: int, kind: type[Scene]
):
    kill_everywhere(kind(folder), ledger, every, heirs=True)
    ledger.assert_clean()


@pytest.mark.parametrize(
    ("worse", "kind"),
    [
        (bad_stores.writes_in_place, scenes.OpenAnswer),
        (bad_stores.removes_before_it_writes, scenes.OpenAnswer),
        (bad_stores.acknowledges_before_the_journal, scenes.OpenAnswer),
        (bad_stores.leaves_torn_lines, scenes.OpenAnswer),
        (bad_stores.loses_edits, scenes.EditPending),
        (bad_stores.forgets_what_it_did, scenes.Reveal),
        (bad_stores.writes_minutes_without_a_plan, scenes.Archiving),
        (bad_stores.commits_after_the_exchange, scenes.OpenAnswer),
        (bad_stores.loses_a_byte_of_patches, scenes.OpenAnswer),
    ],
    ids=lambda one: one.__name__,
)
def test_bad_store_is_caught(
    folder: Path, ledger: Ledger, worse: Callable[[], object], kind: type[Scene]
):
    seen = Ledger(PART, ledger.title)
    kill_everywhere(kind(folder), seen, 1, worse=worse)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong
