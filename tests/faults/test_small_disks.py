"""Real small disks: no room, no inodes, read-only."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults import bad_stores, mounts, scenes
from tests.faults.invariants import Watched
from tests.faults.ledger import Ledger
from tests.faults.mounts import command, in_memory
from tests.faults.scenes import Scene
from tests.faults.test_failing_disk import aftermath, said_clearly

PART = "small and read-only disks"
_SCENES = (scenes.OpenAnswer, scenes.Reveal, scenes.EditPending, scenes.Archiving)
_PAGE = 4096
_ROOM = range(14)

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(bool(mounts.missing()), reason=mounts.missing() or "-"),
]


class OnDisk:
    """A scene whose workspace lies on a small disk of its own."""

    def __init__(self, folder: Path, kind: type[Scene], options: str) -> None:
        self.scene = kind(folder)
        self.options = options
        self.place = folder / "disk"

    @contextlib.contextmanager
    def put_up(self) -> Iterator[Scene]:
        """Mount the disk and put the workspace on it."""
        scene = self.scene
        with in_memory(self.place, self.options):
            scene.runner.root = self.place / "workspace"
            scene.watched = Watched(scene.runner.root)
            scene.put_up()
            yield scene


@contextlib.contextmanager
def filled(place: Path, room: int) -> Iterator[None]:
    """Fill a disk so that `room` pages are left."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(_PAGE)) == _PAGE:
            pass
    left = os.statvfs(place).f_bavail
    size = filler.stat().st_size
    os.truncate(filler, max(0, size - size % _PAGE - (room - left) * _PAGE))
    yield
    filler.unlink()


@contextlib.contextmanager
def crowded(place: Path, room: int) -> Iterator[None]:
    """Fill a disk with files so that `room` more may be made."""
    crowd = place / "crowd"
    crowd.mkdir()
    for number in range(max(0, os.statvfs(place).f_favail - room)):
        (crowd / str(number)).touch()
    yield
    for one in crowd.iterdir():
        one.unlink()
    crowd.rmdir()


_FULL = {"no room": ("size=512k", filled), "no inodes": ("size=4m,nr_inodes=160", crowded)}


def fill_in_steps(
    disk: OnDisk,
    ledger: Ledger,
    fill: Callable[[Path, int], contextlib.AbstractContextManager[None]],
    worse: Callable[[], object] | None = None,
) -> None:
    """Give the command with more and more room; each time check, make room, retry, check again."""
    for room in _ROOM:
        with disk.put_up() as scene:
            with fill(disk.place, room):
                ran = scene.strike([], worse=worse)
                wrong = [*said_clearly(ran), *scene.watched.at_once(scene.expected)]
            wrong += aftermath(scene, ran, worse)
            ledger.point(wrong, f"room for {room}")
        if worse is not None and ledger.wrong:
            return


@pytest.mark.req("XC-001", "C0-078")
@pytest.mark.parametrize("kind", _SCENES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("full", _FULL)
def test_command_on_a_full_disk_says_so_and_succeeds_when_there_is_room(
    folder: Path, ledger: Ledger, full: str, kind: type[Scene]
):
    options, fill = _FULL[full]
    fill_in_steps(OnDisk(folder, kind, options), ledger, fill)
    ledger.assert_clean()


@pytest.mark.req("XC-001")
def test_read_only_disk_is_read_and_every_change_refused_in_one_line(folder: Path, ledger: Ledger):
    disk = OnDisk(folder, scenes.EditPending, "size=4m")
    reading = [
        ("status", "--json"),
        ("show", "--json"),
        ("context", "--as", "a"),
        ("list", "--json"),
        ("history", "--json"),
        ("check", "--json"),
        ("heartbeat", "--dry-run", "--json"),
    ]
    with disk.put_up() as scene:
        before = sorted((one, one.stat().st_mtime_ns) for one in scene.runner.root.rglob("*"))
        command("mount", "-o", "remount,ro", disk.place)
        for words in reading:
            ran = scene.runner.run(*words, now=scene.now)
            wrong = [*said_clearly(ran), *scene.watched.at_once(scene.expected)]
            if ran.code not in (0, 3 if words[0] == "check" else 0):
                wrong.append(f"exit code {ran.code}: {ran.err.strip()}")
            ledger.point(wrong, " ".join(words))
        for words in (scene.command, ("heartbeat", "--json"), ("inject", "Look."), ("stop",)):
            ran = scene.runner.run(*words, now=scene.now)
            wrong = said_clearly(ran)
            if ran.code == 0:
                wrong.append("it claims to have been done")
            ledger.point(wrong, " ".join(words))
        after = sorted((one, one.stat().st_mtime_ns) for one in scene.runner.root.rglob("*"))
        ledger.point([] if before == after else ["something was changed"], "the tree")
        command("mount", "-o", "remount,rw", disk.place)
        ledger.point(aftermath(scene, scene.strike([])), "writable again")
    ledger.assert_clean()


@pytest.mark.parametrize(
    "worse",
    [
        bad_stores.acknowledges_before_the_journal,
        bad_stores.swallows_errors,
        bad_stores.explains_nothing,
    ],
    ids=lambda one: one.__name__,
)
def test_bad_store_is_caught(folder: Path, ledger: Ledger, worse: Callable[[], object]):
    seen = Ledger(PART, ledger.title)
    fill_in_steps(OnDisk(folder, scenes.OpenAnswer, _FULL["no room"][0]), seen, filled, worse)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong
