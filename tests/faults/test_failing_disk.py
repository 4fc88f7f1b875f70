"""The disk is full, or fails, at any call: one clear line and the old state, or truly done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import bad_stores, scenes, tracing
from tests.faults.commands import Ran
from tests.faults.ledger import Ledger
from tests.faults.scenes import Scene

PART = "full or failing disk"
_GROWING = (
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "renameat2",
    "link",
    "linkat",
    "mkdir",
)
CALLS = {"ENOSPC": _GROWING, "EIO": (*tracing.CALLS, *tracing.READING)}
_SCENES = (
    scenes.OpenAnswer,
    scenes.BlindAnswer,
    scenes.Reveal,
    scenes.EditPending,
    scenes.HeartbeatByHand,
    scenes.Archiving,
)

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-"),
]


def fail_everywhere(
    scene: Scene,
    ledger: Ledger,
    error: str,
    every: int,
    worse: Callable[[], object] | None = None,
) -> None:
    """Let each call of the command fail once; then check, retry, go on, and check again."""
    scene.put_up()
    points = scene.runner.points(
        *scene.command, now=scene.now, worse=worse, calls=CALLS[error], alone=True
    )
    for point in tracing.each(points, every):
        scene.put_up()
        ran = scene.strike(tracing.fail_at(point, error), alone=True, worse=worse)
        ledger.point(aftermath(scene, ran, worse), f"{error} at {point}")
        if worse is not None and ledger.wrong:
            return


def aftermath(scene: Scene, ran: Ran, worse: Callable[[], object] | None = None) -> list[str]:
    return [
        *said_clearly(ran),
        *scene.watched.at_once(scene.expected),
        *scene.retry(worse),
        *scene.go_on(worse),
        *scene.watched.settled(scene.expected),
    ]


def said_clearly(ran: Ran) -> list[str]:
    """Check that a command either did it or said in one line why not.

    A heartbeat says so of each thing that it could not do, under its name.
    """
    lines = [line for line in ran.err.splitlines() if line.strip()]
    wrong = []
    if "Traceback" in ran.err or "unexpected failure" in ran.err:
        wrong.append(f"a traceback: {lines[-1]}")
    if ran.code < 0:
        wrong.append(f"it dies of signal {-ran.code}")
    told = [line.split(": ")[1] for line in lines if line.startswith("council: ")]
    each_once = len(told) == len(set(told)) and not any(" " in name for name in told)
    if ran.code > 0 and len(told) != 1 and not (told and each_once):
        wrong.append(f"it fails with {ran.code} and says {ran.err!r}")
    return wrong


@pytest.mark.req("XC-001", "C0-078")
@pytest.mark.parametrize("kind", _SCENES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("error", CALLS)
def test_command_that_meets_a_fault_of_the_disk_says_so_and_loses_nothing(
    folder: Path, ledger: Ledger, every: int, error: str, kind: type[Scene]
):
    fail_everywhere(kind(folder), ledger, error, every)
    ledger.assert_clean()


@pytest.mark.parametrize(
    "worse",
    [
        bad_stores.writes_in_place,
        bad_stores.swallows_errors,
        bad_stores.explains_nothing,
        bad_stores.acknowledges_before_the_journal,
    ],
    ids=lambda one: one.__name__,
)
@pytest.mark.parametrize("error", CALLS)
def test_bad_store_is_caught(folder: Path, ledger: Ledger, error: str, worse: Callable[[], object]):
    seen = Ledger(PART, ledger.title)
    fail_everywhere(scenes.OpenAnswer(folder), seen, error, 1, worse)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong
