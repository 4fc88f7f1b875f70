"""A program that fails at once in the same way, and an agent whose cause is mended (FW-005)."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from council.core import bounds
from council.core.bounds import Spent, Tally
from council.core.reasons import Reason
from council.operations.heartbeat.gate import Gate, resting_agents
from council.store.tally import read_tally
from tests.operations.tables import NOW, SPEAKS, Table, all_is_quiet, script

PAIR = ("ann", "bob")
DIES = "cat >/dev/null; exit 1"
PHASES = ("collect", "challenge", "resolve", "synthesize")


Mending = Callable[["Keyed"], None]


class Keyed(Table):
    """A workspace whose commands have a key in their environment, which may change."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.key = "bad"

    @property
    def environ(self) -> dict[str, str]:
        usual = super().environ
        return {**usual, "KEY": self.key, "PATH": f"{self.root}/bin:{usual['PATH']}"}


def seat(tmp_path: Path, text: str, **settings: object) -> Table:
    agents = {"ann": script(SPEAKS), "bob": script(text)}
    return Table(tmp_path / "workspace").seat(agents, **settings)


def starts(table: Table, agent: str = "bob") -> list[str]:
    """Return round and attempt of each start of an agent."""
    mine = [one for one in table.events("task.started") if one["agentId"] == agent]
    tasks = [str(one["data"]["task"]).split(".") for one in mine]
    return [f"{tour}.{attempt}" for _, tour, _, attempt in tasks]


@pytest.mark.req("FW-005.3")
def test_what_fails_at_once_is_tried_again_at_once_and_then_once_a_round(tmp_path: Path):
    """No clock goes on here: every attempt that waited for a pause would be missing."""
    table = seat(tmp_path, DIES)
    table.convene(agents=PAIR, phases=PHASES)
    all_is_quiet()

    assert starts(table) == ["1.1", "1.2", "2.1", "3.1"]
    assert len(table.minutes()) == 1
    assert "exit 1" in table.minutes()[0].read_text()


@pytest.mark.req("FW-005.3")
def test_it_is_not_rested_out_of_its_council_but_rests_for_others(tmp_path: Path):
    table = seat(tmp_path, DIES)
    limits = table.root / "council.toml"
    limits.write_text(f"{limits.read_text()}[limits]\nfailures_before_rest = 1\n")
    table.convene(agents=PAIR, phases=PHASES)
    all_is_quiet()
    assert starts(table) == ["1.1", "1.2", "2.1", "3.1"]

    table.convene("And this?", name="other", agents=PAIR, phases=("collect", "synthesize"))
    all_is_quiet()
    assert len(starts(table)) == 4
    assert list(resting_agents(table.place)) == ["bob"]


@pytest.mark.req("FW-005.3")
def test_who_answers_again_has_all_attempts_again(tmp_path: Path):
    flaky = f'[ "$COUNCIL_TOUR" = 2 ] || [ "$COUNCIL_TOUR" = 4 ] || exit 1; {SPEAKS}'
    table = seat(tmp_path, flaky)
    table.convene(agents=PAIR, phases=PHASES)
    all_is_quiet()

    assert starts(table)[:5] == ["1.1", "1.2", "2.1", "3.1", "3.2"]


@pytest.mark.req("FW-005.1")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('n=$(cat n 2>/dev/null || echo 1); echo "$((n + 1))" > n; exit "$n"', "another way"),
        ("kill -9 $$", "what the system does may pass"),
    ],
)
def test_any_other_failure_keeps_its_attempts_and_pauses(text: str, why: str, tmp_path: Path):
    table = seat(tmp_path, f"cat >/dev/null; {text}", retry_backoff=["10s"])
    table.convene(agents=PAIR, phases=("collect", "synthesize"))
    all_is_quiet()
    later = [len(starts(table)), *(len(_after_ten_s(table)) for _ in range(2))]

    if "n=" in text:  # the first one failed at once, so the second is not waited for
        assert later == [2, 3, 3], why
    else:
        assert later == [1, 2, 3], why


def _after_ten_s(table: Table) -> list[str]:
    table.beat_to_rest(timedelta(seconds=10))
    return starts(table)


# --- What is mended


def edit(old: str, new: str) -> Mending:
    def done(table: Keyed) -> None:
        file = table.root / "council.toml"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return done


def put_program(table: Keyed) -> None:
    program = table.root / "bin/agent"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{SPEAKS}\n")
    program.chmod(0o755)


def change_file(table: Keyed) -> None:
    (table.root / "agent.sh").write_text(f"{SPEAKS}\n")


def change_key(table: Keyed) -> None:
    table.key = "good"


MENDINGS: dict[str, tuple[str, Mending]] = {
    "the program is put in place": ('argv = ["agent"]', put_program),
    "the file of the program is mended": ('argv = ["/bin/sh", "agent.sh"]', change_file),
    "the command is mended": ('argv = ["false"]', edit('"false"', '"true"')),
    "the key is changed": ('argv = ["false"]\nenv = ["KEY"]', change_key),
    "a variable is added": ('argv = ["false"]', edit('["false"]', '["false"]\nenv = ["KEY"]')),
    "the limit is raised": ('argv = ["false"]', edit('["false"]', '["false"]\ntimeout = "9m"')),
    "the driver is another": ('argv = ["false"]', edit("argv", 'driver = "manual"\nargv')),
}


@pytest.mark.req("FW-005.2")
@pytest.mark.parametrize("kind", MENDINGS)
def test_what_is_mended_ends_the_rest(kind: str, tmp_path: Path):
    line, mend = MENDINGS[kind]
    table = Keyed(tmp_path / "workspace")
    (table.root / "agent.sh").write_text("exit 1\n")
    (table.root / "council.toml").write_text(
        f"[agents.ann]\n{line}\n[agents.bob]\n{line}\n[limits]\nfailures_before_rest = 1\n"
    )
    table.convene(agents=PAIR, phases=("collect", "synthesize"))
    all_is_quiet()
    (table.root / "notes.md").write_text("What does not concern the agent mends nothing.\n")
    assert list(resting_agents(table.place)) == ["ann", "bob"]
    assert Gate(table.place, NOW).refuses("another", "bob").code == "rests"

    mend(table)

    assert "bob" not in resting_agents(table.place)
    assert not Gate(table.place, NOW).refuses("another", "bob")


@pytest.mark.req("FW-005.2")
def test_no_key_stands_in_what_is_kept_of_a_failure(tmp_path: Path):
    table = Keyed(tmp_path / "workspace")
    table.key = "a-very-secret-key"
    table.seat({"ann": script(SPEAKS), "bob": {**script("exit 1"), "env": ["KEY"]}})
    table.convene(agents=PAIR, phases=("collect", "synthesize"))
    all_is_quiet()

    lapse = read_tally(table.place.paths).lapses["bob"]
    assert len(lapse.made_of) == 32
    for path in Path(table.place.paths.control).glob("tally*"):
        assert b"a-very-secret-key" not in path.read_bytes()
    assert os.stat(table.place.paths.tally).st_mode & 0o077 == 0


@pytest.mark.req("FW-005.2")
def test_who_is_mended_and_fails_again_rests_again_at_the_first_failure():
    counts, limits = Tally(today=Spent()), {"failures_before_rest": 2}
    reason = Reason.of("exit", status=1)
    for made_of in ("old", "old"):
        lapse = bounds.failure(counts, "bob", reason, NOW, limits, made_of=made_of)
    assert lapse is not None and lapse.until is not None
    assert bounds.failure(counts, "bob", reason, NOW, limits, made_of="old") is None
    first = lapse.until

    again = bounds.failure(counts, "bob", reason, NOW, limits, made_of="new")

    assert again is not None and again.until is not None
    assert again.until > first


@pytest.mark.req("FW-005.2")
def test_who_is_mended_in_the_same_round_is_tried_in_it(tmp_path: Path):
    table = Table(tmp_path / "workspace").seat({"ann": {}, "bob": script(DIES)}, retry_backoff=[])
    table.convene(agents=PAIR, phases=("collect", "synthesize"))
    all_is_quiet()
    table.beat_to_rest()
    assert starts(table) == ["1.1", "1.2"]

    table.seat({"ann": {}, "bob": script(SPEAKS)}, retry_backoff=[])
    table.beat_to_rest()

    assert starts(table) == ["1.1", "1.2", "1.3"]
    assert table.read().participants["bob"].status == "RESPONDED"
