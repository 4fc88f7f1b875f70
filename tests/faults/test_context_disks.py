"""The power is cut while requests are sent and answered: what was acknowledged is there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from council.core.protocol.registering import Joining
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.protocol import registry
from council.operations.protocol.asking import request
from council.operations.protocol.exchanging import contexts
from council.operations.protocol.mail import inbox
from council.operations.protocol.sending import send
from tests.faults import bad_stores, tracing
from tests.faults.ledger import Ledger
from tests.faults.mounts import Image
from tests.faults.test_power_cuts import disk
from tests.store.boots import boot

PART = "contexts"
NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
_CUTS = 12
_WRITERS = 3
_BYTES = 24
ASKED, ANSWERED = "asked", "answered"

pytestmark = pytest.mark.faults


@pytest.mark.req("XC-001", "PR-556")
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_acknowledged_requests_and_answers_survive_power_cuts(
    tmp_path: Path, ledger: Ledger, every: int, kind: str
):
    cut_often(disk(tmp_path, kind), ledger, max(3, _CUTS // every))
    ledger.assert_clean()


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_bad_store_is_caught(tmp_path: Path, ledger: Ledger, kind: str):
    seen = Ledger(PART, ledger.title)
    cut_often(disk(tmp_path, kind), seen, _CUTS, bad_stores.syncs_nothing)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong


def cut_often(
    image: Image, ledger: Ledger, cuts: int, worse: Callable[[], object] | None = None
) -> None:
    """Cut the power after ever more acknowledged requests and answers of three writers."""
    with image:
        for cut in range(cuts):
            root = image.place / f"workspace-{cut}"
            (root / "memory/shared").mkdir(parents=True)
            place = Place(str(root), {}, NOW)
            registry.join(place, Joining(proposed="W1", capabilities=("plan",)))
            os.sync()
            heard = _work_until_the_cut(image, place, 1 + cut, worse)
            image.come_back()
            boot(image.file.parent)
            ledger.point(_aftermath(place, heard), f"cut {cut} after {len(heard)} words")
            if worse is not None and ledger.wrong:
                return


def _work_until_the_cut(
    image: Image, place: Place, enough: int, worse: Callable[[], object] | None
) -> list[list[str]]:
    """Let three writers ask and answer; cut the power as soon as `enough` is acknowledged."""
    reading, writing = os.pipe()

    def working(writer: int) -> Callable[[], int]:
        def work() -> int:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            if worse is not None:
                worse()
            for number in range(200):
                word = f"w{writer}-{number}"
                try:
                    context = request(place, word, caps=("plan",)).context
                    os.write(writing, f"{ASKED} {context} {word}".encode().ljust(_BYTES))
                    send(place, _answer(context, word))
                except Exception:
                    return 0  # the disk is gone
                os.write(writing, f"{ANSWERED} {context} {word}".encode().ljust(_BYTES))
            return 0

        return work

    writers = [tracing.forked(working(number)) for number in range(_WRITERS)]
    os.close(writing)
    heard = []
    while len(heard) < enough and (said := os.read(reading, _BYTES)):
        heard.append(said.decode().split())
    image.cut_the_power()
    while said := os.read(reading, _BYTES):
        heard.append(said.decode().split())
    os.close(reading)
    for writer in writers:
        tracing.status_of(writer)
    return heard


def _answer(context: str, word: str) -> str:
    return f"M2|W1>O1|S|T1|P1|D|-|0|{context}|B400|result={word}"


def _aftermath(place: Place, heard: list[list[str]]) -> list[str]:
    try:
        beat(place)
        store = contexts(place)
        asked = {name: word for what, name, word in heard if what == ASKED}
        wrong = [f"{one} was given twice" for one in asked if _count(heard, ASKED, one) > 1]
        for name, word in asked.items():
            if not store.exists(name) or store.read(name).exchange.request != word:
                wrong.append(f"{name} was asked {word}, and that is gone")
        for what, name, word in heard:
            if what == ANSWERED and store.answer(name) != word:
                wrong.append(f"{name} was answered by {word}, and says {store.answer(name)!r}")
        known = {one: store.read(one).exchange for one in (*store.ids(), *store.closed_ids())}
        for name, exchange in known.items():
            if exchange.is_open:
                send(place, _answer(name, exchange.request))
            if store.answer(name) != exchange.request:
                wrong.append(f"{name} cannot be gone on with")
            for who, kind in (("W1", "R"), ("User", "S")):
                letters = [one for one in inbox(place, who) if one.context == name]
                kinds = [one.text.split("|")[2] for one in letters]
                if kinds.count(kind) != 1:
                    wrong.append(f"{name}: {who} has {kinds.count(kind)} letters {kind}")
        if request(place, "after all", caps=("plan",)).context in known:
            wrong.append("a number was given twice")
        return wrong
    except Exception as error:
        return [f"it cannot go on: {type(error).__name__}: {error}"]


def _count(heard: list[list[str]], what: str, context: str) -> int:
    return sum(1 for one in heard if one[:2] == [what, context])
