"""How often an answer waits for the disk between its lock and what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from council.store.documents import journal
from tests.faults import bad_stores, scenes, tracing
from tests.faults.ledger import Ledger
from tests.faults.scenes import Scene

PART = "syncs"
_SYNCS = ("fsync", "fdatasync")

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-"),
]


_MOST = {
    scenes.OpenAnswer: 1,
    scenes.EditPending: 1,
    scenes.EditPendingByRename: 1,
    scenes.BlindAnswer: 3,
}


def count_syncs(
    scene: Scene, most: int, ledger: Ledger, worse: Callable[[], object] | None = None
) -> None:
    """Count the syncs of the command, all of which come between its lock and its answer."""
    scene.put_up()
    points = scene.runner.points(
        *scene.command, now=scene.now, alone=True, worse=worse, calls=_SYNCS
    )
    lines = [one for one in points if one.call == "fdatasync" and journal.FILE in one.text]
    wrong = [f"{len(points)} syncs: {points}"] if len(points) > most else []
    ledger.point([*wrong, *([] if len(lines) == 1 else [f"{len(lines)} syncs of the journal"])])


@pytest.mark.req("XC-001", "XC-002")
@pytest.mark.parametrize("kind", _MOST, ids=lambda kind: kind.name)
def test_an_answer_waits_for_the_disk_as_seldom_as_it_may(
    folder: Path, ledger: Ledger, kind: type[Scene]
):
    count_syncs(kind(folder), _MOST[kind], ledger)
    ledger.assert_clean()


@pytest.mark.parametrize(
    "worse",
    [bad_stores.syncs_what_it_shows, bad_stores.syncs_edits_apart, bad_stores.syncs_no_journal],
    ids=lambda one: one.__name__,
)
def test_bad_store_is_caught(folder: Path, ledger: Ledger, worse: Callable[[], object]):
    seen = Ledger(PART, ledger.title)
    count_syncs(scenes.EditPending(folder), 1, seen, worse)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong
