"""The power is cut while agents answer: what was acknowledged is there afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import bad_stores, mounts, tracing
from tests.faults.invariants import Expected
from tests.faults.ledger import Ledger
from tests.faults.mounts import Image
from tests.faults.rooms import Room, text_of

PART = "power cuts"
_KINDS = ("ext4", "xfs")
_CUTS = 24
_WRITERS = 3

pytestmark = pytest.mark.faults


def disk(folder: Path, kind: str) -> Image:
    """Make a disk, or skip with the reason why this machine cannot."""
    reason = mounts.missing(f"mkfs.{kind}")
    if reason:
        pytest.skip(reason)
    try:
        image = Image(folder, kind)
        with image:
            pass
    except OSError as error:
        pytest.skip(str(error))
    return image


def cut_often(
    image: Image, ledger: Ledger, cuts: int, worse: Callable[[], object] | None = None
) -> None:
    """Cut the power after ever more acknowledged answers of three writers."""
    with image:
        for cut in range(cuts):
            agents = [f"a{number}" for number in range(3 * _WRITERS + cut)]
            root = image.place / f"council-{cut}"
            room = Room(root, [*agents, "last"]).open()
            os.sync()  # how it came to be is not the matter here
            heard = _work_until_the_cut(image, room, agents, 1 + cut % len(agents), worse)
            image.come_back()
            ledger.point(_aftermath(room, agents, heard), f"cut {cut} after {len(heard)} answers")
            if worse is not None and ledger.wrong:
                return


def _work_until_the_cut(
    image: Image,
    room: Room,
    agents: list[str],
    enough: int,
    worse: Callable[[], object] | None,
) -> list[str]:
    """Let the writers answer; cut the power as soon as `enough` answers are acknowledged."""
    reading, writing = os.pipe()

    def working(mine: list[str]) -> Callable[[], int]:
        def work() -> int:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            if worse is not None:
                worse()
            for agent in mine:
                try:
                    room.answer(agent)
                except Exception:
                    return 0  # the disk is gone
                os.write(writing, agent.encode().ljust(8))
            return 0

        return work

    writers = [tracing.forked(working(agents[first::_WRITERS])) for first in range(_WRITERS)]
    os.close(writing)
    heard = []
    while len(heard) < enough and (said := os.read(reading, 8)):
        heard.append(said.decode().strip())
    image.cut_the_power()
    while said := os.read(reading, 8):
        # An answer that was on its way to us when the power went.
        heard.append(said.decode().strip())
    os.close(reading)
    for writer in writers:
        tracing.status_of(writer)
    return heard


def _aftermath(room: Room, agents: list[str], heard: list[str]) -> list[str]:
    expected = Expected()
    expected.maybe = {(agent, 1): text_of(agent) for agent in agents}
    for agent in heard:
        expected.acknowledge(agent, 1, text_of(agent))
    try:
        wrong = room.watched.at_once(expected)
        for agent in agents:
            room.answer(agent)
            expected.acknowledge(agent, 1, text_of(agent))
        # The log of events is made from the journal and is not synced for each line.
        return [*wrong, *room.watched.settled(expected, with_log=False)]
    except Exception as error:
        return [f"it cannot go on: {type(error).__name__}: {error}"]


@pytest.mark.req("XC-001", "C0-077")
@pytest.mark.parametrize("kind", _KINDS)
def test_acknowledged_answers_survive_power_cuts(
    tmp_path: Path, ledger: Ledger, every: int, kind: str
):
    cut_often(disk(tmp_path, kind), ledger, max(3, _CUTS // every))
    ledger.assert_clean()


@pytest.mark.parametrize(
    "worse", [bad_stores.syncs_nothing, bad_stores.syncs_no_journal], ids=lambda one: one.__name__
)
@pytest.mark.parametrize("kind", _KINDS)
def test_bad_store_is_caught(
    tmp_path: Path, ledger: Ledger, kind: str, worse: Callable[[], object]
):
    seen = Ledger(PART, ledger.title)
    cut_often(disk(tmp_path, kind), seen, _CUTS, worse)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong
