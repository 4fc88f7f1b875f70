"""Random histories of one conversation: answers, crashes, edits, retries, in any order."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.faults import bad_stores, tracing
from tests.faults.invariants import Expected
from tests.faults.ledger import Ledger
from tests.faults.rooms import Room, text_of
from tests.store.processes import at_call, die

PART = "random histories"
_SEATS = 9
_EXAMPLES = 60
_MANY_EXAMPLES = 300
_STEPS = 14
_CALLS = 60

pytestmark = pytest.mark.faults

AGENTS = [f"a{number}" for number in range(_SEATS)]


class Histories(RuleBasedStateMachine):
    """Everything is done by forked processes; this one only looks.

    `worse` makes the store of those processes a bad one.
    """

    worse: Callable[[], object] | None = None
    tried = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="council-faults-", dir=_memory()))
        self.expected = Expected()
        self.saves = 0
        self.is_settled = False

    @initialize(blind=st.booleans())
    def begin(self, blind: bool) -> None:
        root = self.folder / "workspace"
        self.room = Room(root, [*AGENTS, "last"], sealed_phases=blind).open()

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _do(self, work: Callable[[], object], killed_at: int = 0) -> int:
        worse = type(self).worse

        def alone() -> int:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
            if worse is not None:
                worse()
            if killed_at:
                at_call(killed_at, die)
            work()
            return 0

        type(self).tried += 1
        return tracing.status_of(tracing.forked(alone))

    @rule(agent=st.sampled_from(AGENTS))
    def answer(self, agent: str) -> None:
        assert self._do(lambda: self.room.answer(agent)) == 0, f"{agent} cannot answer"
        self.expected.acknowledge(agent, 1, text_of(agent))
        self.is_settled = True

    @rule(agent=st.sampled_from(AGENTS), number=st.sampled_from(range(1, _CALLS)))
    def die_while_answering(self, agent: str, number: int) -> None:
        if (agent, 1) not in self.expected.said:
            self.expected.maybe[agent, 1] = text_of(agent)
        status = self._do(lambda: self.room.answer(agent), number)
        assert status in (0, tracing.KILLED), f"{agent} fails at call {number}"
        if status == 0:
            self.expected.acknowledge(agent, 1, text_of(agent))
        self.is_settled = status == 0

    @rule()
    def touch(self) -> None:
        assert self._do(self.room.touch) == 0, "nobody can go on"
        self.is_settled = True

    @precondition(lambda self: self.is_settled)
    @rule(how=st.sampled_from(["in place", "by rename"]), place=st.sampled_from(["top", "end"]))
    def edit(self, how: str, place: str) -> None:
        self.saves += 1
        words = f"Note {self.saves}."
        live = self.room.watched.live
        text = live.read_text(encoding="utf-8")
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{words}\n{rest}" if place == "top" else f"{text}\n{words}\n"
        if how == "by rename":
            draft = live.with_name(".draft")
            draft.write_text(text, encoding="utf-8")
            draft.rename(live)
        else:
            live.write_text(text, encoding="utf-8")
        self.expected.edits.append(words)
        self.is_settled = False

    @precondition(lambda self: self.is_settled)
    @rule(how=st.sampled_from(["deleted", "emptied", "cut"]), at=st.floats(0, 1))
    def damage(self, how: str, at: float) -> None:
        live = self.room.watched.live
        if how == "deleted":
            live.unlink()
        else:
            os.truncate(live, 0 if how == "emptied" else int(at * live.stat().st_size))
        assert self._do(self.room.touch) == 0, "nobody can go on after the damage"

    @precondition(lambda self: self.expected.maybe)
    @rule()
    def retry(self) -> None:
        self.answer(sorted(self.expected.maybe)[0][0])

    @invariant()
    def all_is_well(self) -> None:
        if not hasattr(self, "room"):
            return
        wrong = self.room.watched.at_once(self.expected)
        if self.is_settled:
            wrong += self.room.watched.settled(self.expected)
        assert not wrong, "\n".join(wrong)


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _settings(examples: int, phases: tuple[Phase, ...]) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=_STEPS,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        database=None,
        report_multiple_bugs=False,
        print_blob=False,
    )


@pytest.mark.req("XC-001", "C0-077", "C0-078")
def test_no_history_of_answers_crashes_and_edits_loses_or_doubles_anything(
    ledger: Ledger, every: int
):
    Histories.worse, Histories.tried = None, 0
    tracing.adopt_orphans()
    try:
        run_state_machine_as_test(
            Histories,
            settings=_settings(
                max(10, _EXAMPLES // every), (Phase.explicit, Phase.generate, Phase.shrink)
            ),
        )
    except AssertionError as error:
        ledger.point([str(error)], "a history")
        raise
    finally:
        for _ in range(Histories.tried):
            ledger.point([])


@pytest.mark.parametrize(
    "worse",
    [
        bad_stores.forgets_what_it_did,
        bad_stores.writes_in_place,
        bad_stores.loses_edits,
        bad_stores.removes_before_it_writes,
        bad_stores.leaves_torn_lines,
    ],
    ids=lambda one: one.__name__,
)
def test_bad_store_is_caught(ledger: Ledger, worse: Callable[[], object]):
    tracing.adopt_orphans()
    Histories.worse = staticmethod(worse)
    try:
        run_state_machine_as_test(Histories, settings=_settings(_MANY_EXAMPLES, (Phase.generate,)))
        caught = False
    except Exception:
        caught = True
    finally:
        Histories.worse = None
    ledger.bad_store(caught)
    assert caught
