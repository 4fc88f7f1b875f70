"""The power is cut while agents answer: what was acknowledged is there afterwards."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import bad_stores, mounts, tracing
from tests.faults.invariants import Expected
from tests.faults.ledger import Ledger
from tests.faults.mounts import Image
from tests.faults.rooms import Room, text_of
from tests.store.boots import boot

PART = "power cuts"
_KINDS = ("ext4", "xfs")
_CUTS = 32
_FEW_CUTS = 8
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
    found: Counter[str] = Counter()
    with image:
        for cut in range(cuts):
            agents = [f"a{number}" for number in range(3 * _WRITERS + cut)]
            root = image.place / f"council-{cut}"
            room = Room(root, [*agents, "last"]).open()
            os.sync()  # how it came to be is not the matter here
            heard = _work_until_the_cut(image, room, agents, 1 + cut % len(agents), worse)
            image.come_back()
            boot(image.file.parent)
            found[room.conversations.page("active").standing] += 1
            ledger.point(_aftermath(room, agents, heard), f"cut {cut} after {len(heard)} answers")
            if worse is not None and ledger.wrong:
                return
    ledger.note(_told(image, found))


def _told(image: Image, found: Counter[str]) -> str:
    return f"{image.file.stem}: the live file was found {dict(found)}"


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


def _aftermath(
    room: Room, agents: list[str], heard: list[str], edits: tuple[str, ...] = ()
) -> list[str]:
    expected = Expected()
    expected.was_cut, expected.edits = True, list(edits)
    expected.maybe = {(agent, 1): text_of(agent) for agent in agents}
    for agent in heard:
        expected.acknowledge(agent, 1, text_of(agent))
    try:
        wrong = room.watched.at_once(expected)
        for agent in agents:
            room.answer(agent)
            expected.acknowledge(agent, 1, text_of(agent))
        return [*wrong, *room.watched.settled(expected)]
    except Exception as error:
        return [f"it cannot go on: {type(error).__name__}: {error}"]


@pytest.mark.req("XC-001", "C0-077")
@pytest.mark.parametrize("kind", _KINDS)
def test_acknowledged_answers_survive_power_cuts(
    tmp_path: Path, ledger: Ledger, every: int, kind: str
):
    cut_often(disk(tmp_path, kind), ledger, max(3, _CUTS // every))
    ledger.assert_clean()


def cut_after_an_unpublished_line(
    image: Image, ledger: Ledger, cuts: int, worse: Callable[[], object] | None = None
) -> None:
    """Cut the power when an answer is acknowledged whose first writer died before it synced."""

    def answering(room: Room, agent: str, worse: Callable[[], object] | None) -> Callable[[], int]:
        def work() -> int:
            if worse is not None:
                worse()
            room.answer(agent)
            return 0

        return work

    found: Counter[str] = Counter()
    with image:
        for cut in range(cuts):
            agents = ["a", "b"]
            room = Room(image.place / f"council-{cut}", [*agents, "last"]).open()
            os.sync()
            killed = tracing.forked(answering(room, "a", bad_stores.dies_before_it_syncs))
            assert tracing.status_of(killed) == tracing.KILLED
            heard = ["a"] if cut % 2 else ["a", "b"]
            for agent in heard:
                assert tracing.status_of(tracing.forked(answering(room, agent, worse))) == 0
            image.cut_the_power()
            image.come_back()
            boot(image.file.parent)
            found[room.conversations.page("active").standing] += 1
            ledger.point(_aftermath(room, agents, heard), f"cut {cut}")
            if worse is not None and ledger.wrong:
                break  # where the system is slow, a line may reach the disk by itself in time
    ledger.note(_told(image, found))


def cut_over_a_pending_edit(image: Image, ledger: Ledger, cuts: int) -> None:
    """Cut the power when a person's save is on the disk, and answers meet it before or after."""
    found: Counter[str] = Counter()
    with image:
        for cut in range(cuts):
            agents = [f"a{number}" for number in range(3)]
            room = Room(image.place / f"council-{cut}", [*agents, "last"]).open()
            room.answer(agents[0])
            words = f"Note {cut}."
            title, _, rest = room.watched.live.read_text(encoding="utf-8").partition("\n")
            room.watched.live.write_text(f"{title}\n\n{words}\n{rest}", encoding="utf-8")
            os.sync()
            heard = agents[: 1 + cut % 3]
            for agent in heard[1:]:
                room.answer(agent)
            image.cut_the_power()
            image.come_back()
            boot(image.file.parent)
            found[room.conversations.page("active").standing] += 1
            ledger.point(_aftermath(room, agents, heard, (words,)), f"cut {cut}")
    ledger.note(_told(image, found))


@pytest.mark.req("XC-001", "C0-077")
@pytest.mark.parametrize("kind", _KINDS)
def test_an_answer_of_a_writer_that_died_before_it_synced_survives_when_acknowledged(
    tmp_path: Path, ledger: Ledger, every: int, kind: str
):
    cut_after_an_unpublished_line(disk(tmp_path, kind), ledger, max(2, _FEW_CUTS // every))
    ledger.assert_clean()


@pytest.mark.req("XC-001", "C0-078")
@pytest.mark.parametrize("kind", _KINDS)
def test_a_save_that_was_on_the_disk_is_taken_in_once_after_a_power_cut(
    tmp_path: Path, ledger: Ledger, every: int, kind: str
):
    cut_over_a_pending_edit(disk(tmp_path, kind), ledger, max(3, _FEW_CUTS // every))
    ledger.assert_clean()


@pytest.mark.parametrize("kind", _KINDS)
def test_store_that_acknowledges_an_unpublished_line_is_caught(
    tmp_path: Path, ledger: Ledger, kind: str
):
    seen = Ledger(PART, ledger.title)
    cut_after_an_unpublished_line(
        disk(tmp_path, kind), seen, 3 * _FEW_CUTS, bad_stores.affirms_nothing
    )
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong


@pytest.mark.parametrize("kind", _KINDS)
def test_store_that_takes_for_an_edit_what_a_power_cut_has_left_is_caught(
    tmp_path: Path, ledger: Ledger, kind: str
):
    image, wrong = disk(tmp_path, kind), 0

    def going_on(room: Room) -> Callable[[], int]:
        def work() -> int:
            bad_stores.takes_damage_for_edits()
            return 1 if _aftermath(room, ["a", "b"], ["a", "b"]) else 0

        return work

    with image:
        for cut in range(_FEW_CUTS):
            room = Room(image.place / f"council-{cut}", ["a", "b", "last"]).open()
            os.sync()
            for agent in ("a", "b"):
                room.answer(agent)  # the second brings to the disk that the first was shown
            image.cut_the_power()
            image.come_back()
            boot(tmp_path)
            wrong += tracing.status_of(tracing.forked(going_on(room)))
    ledger.bad_store(wrong > 0)
    assert wrong


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
