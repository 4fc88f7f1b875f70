"""Random histories of one conversation: answers, crashes, edits, retries, in any order."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
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

from council.core.ids import sha256_hex
from council.store.documents import journal, live
from council.store.documents.journal import Past
from tests.faults import bad_stores, tracing
from tests.faults.invariants import Expected
from tests.faults.ledger import Ledger
from tests.faults.rooms import Room, text_of
from tests.store.boots import boot
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
    """Everything is done by forked processes; this one only reads.

    `worse` makes the store of those processes a bad one.
    """

    worse: Callable[[], object] | None = None
    tried = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="council-faults-", dir=_memory()))
        self.expected = Expected()
        self.saves = self.copies = 0
        self.is_settled = False
        self.backup: Expected | None = None
        live.started_ns = lambda: 0

    @initialize(blind=st.booleans())
    def begin(self, blind: bool) -> None:
        self.blind = blind
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
        end = self._end()
        assert self._do(lambda: self.room.answer(agent)) == 0, f"{agent} cannot answer"
        self._acknowledge(agent, end)
        self.is_settled = True

    def _end(self) -> int:
        tail = journal.read_tail(self.room.watched.places.journal)
        return tail.end if tail else 0

    def _acknowledge(self, agent: str, end: int) -> None:
        # Where no line had to be written, a torn end of the journal may lie there still.
        self.expected.is_torn = self.expected.is_torn and self._end() == end
        self.expected.acknowledge(agent, 1, text_of(agent))

    @rule(agent=st.sampled_from(AGENTS), number=st.sampled_from(range(1, _CALLS)))
    def die_while_answering(self, agent: str, number: int) -> None:
        if (agent, 1) not in self.expected.said:
            self.expected.maybe[agent, 1] = text_of(agent)
        end = self._end()
        status = self._do(lambda: self.room.answer(agent), number)
        assert status in (0, tracing.KILLED), f"{agent} fails at call {number}"
        if status == 0:
            self._acknowledge(agent, end)
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
        shown = self.room.watched.live
        text = shown.read_text(encoding="utf-8")
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{words}\n{rest}" if place == "top" else f"{text}\n{words}\n"
        if how == "by rename":
            draft = shown.with_name(".draft")
            draft.write_text(text, encoding="utf-8")
            draft.rename(shown)
        else:
            shown.write_text(text, encoding="utf-8")
        self.expected.edits.append(words)
        self.is_settled = False

    @precondition(lambda self: self.is_settled)
    @rule(how=st.sampled_from(["deleted", "emptied", "cut", "zeros"]), at=st.floats(0, 0.9))
    def damage(self, how: str, at: float) -> None:
        path, said = self.room.watched.live, len(self.room.watched.events())
        size = path.stat().st_size
        self.expected.meddled = True
        if how == "deleted":
            path.unlink()
        else:
            os.truncate(path, 0 if how == "emptied" else int(at * size))
        if how == "zeros":
            os.truncate(path, size)
        assert self._do(self.room.touch) == 0, "nobody can go on after the damage"
        if how != "cut":  # which may be an edit, as far as anybody can see
            told = self.room.watched.events()[said:]
            assert told in (["file.restored"], [] if how == "deleted" else None), told

    @precondition(lambda self: any((one, 1) not in self.expected.said for one in AGENTS))
    @rule(at=st.floats(0, 1), zeros=st.sampled_from([0, 0, 5000]))
    def tear_the_tail(self, at: float, zeros: int) -> None:
        """Leave of an answer what a writer leaves that dies while it writes its lines."""
        agent = next(one for one in AGENTS if (one, 1) not in self.expected.said)
        places, before = self.room.watched.places, self.folder / "before"
        shutil.copytree(self.room.root, before, symlinks=True)
        assert self._do(lambda: self.room.answer(agent)) == 0, f"{agent} cannot answer"
        data, text = Path(places.journal).read_bytes(), self.room.watched.live.read_bytes()
        sealed = {one.name: one.read_bytes() for one in Path(places.sealed).iterdir()}
        shutil.rmtree(self.room.root)
        before.rename(self.room.root)
        for name, hidden in sealed.items():
            (Path(places.sealed) / name).write_bytes(hidden)
        (Path(places.displaced) / f"new-{sha256_hex(text)}-{'0' * 16}").write_bytes(text)
        end = self._end()
        cut = end + int(at * (len(data) - end - 1))
        Path(places.journal).write_bytes(data[:cut] + bytes(zeros))
        self.expected.maybe[agent, 1] = text_of(agent)
        self.expected.is_torn = True
        self.is_settled = False

    @rule(noise=st.binary(max_size=300))
    def append_garbage(self, noise: bytes) -> None:
        with Path(self.room.watched.places.journal).open("ab") as file:
            file.write(noise)
        self.expected.meddled = self.expected.is_torn = True
        self.is_settled = False

    @precondition(lambda self: self.is_settled)
    @rule()
    def back_up(self) -> None:
        aside = self.folder / "backup"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(self.room.root, aside, symlinks=True)
        self.backup = copy.deepcopy(self.expected)

    @precondition(lambda self: self.is_settled and self.backup is not None)
    @rule(what=st.sampled_from(["control", "live", "both"]))
    def put_back(self, what: str) -> None:
        """Only of a backup of both is lost what came after it; of sealed texts, of the folder."""
        if what == "control" and self.blind:
            return
        aside, backup = self.folder / "backup", self.backup
        assert backup is not None
        root, shown = self.room.root, self.room.watched.live
        text = shown.read_text(encoding="utf-8")
        control = Path(self.room.watched.workspace.control)
        if what != "live":
            shutil.rmtree(control)
            shutil.copytree(aside / control.relative_to(root), control, symlinks=True)
            # What could not be merged since the backup lay in the folder.
            since = [one for one in self.expected.edits if one not in backup.edits]
            kept = [one for one in since if what == "control" and one in text]
            self.expected.edits = [*backup.edits, *kept]
        if what != "control":
            shutil.copy(aside / shown.relative_to(root), shown)
        if what == "both":
            self.expected.maybe |= self.expected.said
            self.expected.said = dict(backup.said)
            self.expected.maybe = {
                key: words for key, words in self.expected.maybe.items() if key not in backup.said
            }
        self.expected.meddled = True
        self.is_settled = False

    @precondition(lambda self: self.is_settled)
    @rule(which=st.floats(0, 0.99))
    def check_out(self, which: float) -> None:
        past = Past(self.room.watched.places.journal)
        text = past.text_at(int(which * len(past.lines)))
        is_older = text != self.room.watched.live.read_bytes()
        self.room.watched.live.write_bytes(text)
        said = len(self.room.watched.events())
        self.expected.meddled = True
        assert not self.room.watched.at_once(self.expected)
        assert self._do(self.room.touch) == 0, "nobody can go on after a step back"
        told = self.room.watched.events()[said:]
        assert told == ["edit.reverted"] * is_older, told

    @rule()
    def copy_on(self) -> None:
        """Go on in a copy of everything, with other times and other inodes."""
        self.copies += 1
        root = self.folder / f"copy-{self.copies}"
        subprocess.run(["cp", "-r", self.room.root, root], check=True)
        shutil.rmtree(self.room.root)
        self.room = Room(root, [*AGENTS, "last"], sealed_phases=self.blind)

    @rule()
    def start_the_machine(self) -> None:
        boot(self.folder)

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
        bad_stores.loses_a_byte_of_patches,
        bad_stores.takes_steps_back_for_behind,
        bad_stores.takes_damage_for_edits,
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
