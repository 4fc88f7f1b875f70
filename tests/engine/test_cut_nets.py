"""A machine whose net is cut while it holds a lock: nobody hangs, nothing is lost.

Source: EN-005, EN-008.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.engine import nets
from tests.engine.holding import HELD
from tests.engine.machines import Machine, Machines
from tests.engine.nets import Net
from tests.engine.servers import Server
from tests.faults.invariants import Expected
from tests.faults.ledger import Ledger

PART = "engine, cut nets"
_CUT_S = 30.0
_SHORTEST_CUT_S = 12.0  # more than it takes a server to give a machine up
_LONGEST_S = 10.0
_ROOT = Path(__file__).parent.parent.parent

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(bool(nets.missing()), reason=nets.missing() or "-"),
]


@pytest.fixture
def net() -> Iterator[Net]:
    with closing(Net(2)) as made:
        yield made


@pytest.fixture
def council(net: Net, another: Callable[..., Server], folder: Path) -> Machines:
    """Two machines in networks of their own, and their server on the host."""
    url = another(net.address).url()
    return Machines(
        Machine(folder / f"m{at}", f"m{at}", url, through=net.through(at)) for at in (1, 2)
    ).begin()


class Timed:
    """Runs commands and keeps what took too long."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.longest = 0.0

    def run(self, machine: Machine, *words: str) -> Ran:
        began = time.monotonic()
        ran = machine(*words)
        self.ended(f"{machine.name}: {' '.join(words)}", began)
        return ran

    def ended(self, what: str, began: float) -> None:
        took = time.monotonic() - began
        self.longest = max(self.longest, took)
        if took >= _LONGEST_S:
            self.wrong.append(f"{what} took {took:.1f} s")


def held(machine: Machine, *words: str) -> subprocess.Popen[str]:
    """Start a command and return when it holds the lock and is about to commit."""
    process = subprocess.Popen(
        [*machine.through, sys.executable, "-m", "tests.engine.holding", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=machine.root,
        env={**machine.env(), "PYTHONPATH": str(_ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == HELD
    return process


@pytest.mark.req("EN-005", "EN-008")
@pytest.mark.parametrize("is_let_go", [True, False], ids=["goes on while cut", "goes on later"])
def test_a_net_cut_under_a_lock_hangs_nobody_and_loses_nothing(
    council: Machines, net: Net, ledger: Ledger, every: int, is_let_go: bool
):
    cut_off, other = council
    timed, expected = Timed(), Expected()
    expected.edits = ["Saved where the net was cut.", "Saved on the other side."]
    cut_off.do("convene", "Shall we?", "--people", "a,b,c,d,e", "--open")
    council.quiet()
    holder = held(cut_off, "respond", "a says", "--as", "a", "--json")
    net.cut(1)
    cut_at = time.monotonic()

    ran = timed.run(other, "respond", "b says", "--as", "b", "--json")
    assert ran.code == 0, ran
    expected.acknowledge("b", 1, "b says")
    cut_off.save(expected.edits[0])
    other.save(expected.edits[1])
    if is_let_go:
        began = time.monotonic()
        out, err = holder.communicate("\n")
        timed.ended("the command that held the lock", began)
        assert holder.returncode == 7, (out, err)
        ran = timed.run(cut_off, "respond", "c says", "--as", "c", "--json")
        assert ran.code == 7, ran
        assert "kept" in ran.out + ran.err, ran
    assert timed.run(cut_off, "status").code == 0
    assert timed.run(other, "respond", "d says", "--as", "d", "--json").code == 0
    expected.acknowledge("d", 1, "d says")
    time.sleep(max(0.0, cut_at + max(_SHORTEST_CUT_S, _CUT_S / every) - time.monotonic()))
    net.mend(1)

    if not is_let_go:
        began = time.monotonic()
        out, err = holder.communicate("\n")
        timed.ended("the command that held the lock", began)
    for who in "ac":  # as one does whose answer was not acknowledged
        ran = timed.run(cut_off, "respond", f"{who} says", "--as", who, "--json")
        assert ran.code == 0, ran
        expected.acknowledge(who, 1, f"{who} says")
    for machine in council:
        assert timed.run(machine, "heartbeat").code == 0
    ledger.point([*timed.wrong, *council.settled(expected)], "afterwards")
    ledger.note(f"the longest command took {timed.longest:.1f} s")
    ledger.assert_clean()


@pytest.mark.req("EN-005")
def test_an_answer_that_was_kept_lands_by_itself(council: Machines, net: Net, ledger: Ledger):
    cut_off, expected = council[0], Expected()
    cut_off.do("convene", "Shall we?", "--people", "a,b,c", "--open")
    council.quiet()
    net.cut(1)
    ran = cut_off("respond", "a says", "--as", "a", "--json")
    assert ran.code == 7, ran
    net.mend(1)
    cut_off.do("heartbeat")
    expected.acknowledge("a", 1, "a says")
    ledger.point(council.settled(expected), "afterwards")
    ledger.assert_clean()
