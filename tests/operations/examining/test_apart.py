"""Files that other programs or users have changed, and times that are ahead of the clock."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import BIN, Council

NAMES = [
    "council-active-conversation.sync-conflict-20261125-224501-ABCDEFG.md",
    "council-active-conversation (Nova's conflicted copy 2026-11-25).md",
    "council-active-conversation-LAPTOP.md",
    "council-active-conversation 2.md",
    "council-active-conversation (1).md",
]


@pytest.fixture
def asked(council: Council) -> Council:
    assert council("init", "--agents", "ann,bob").code == 0
    assert council("convene", "Yes?", "--agents", "ann,bob").code == 0
    assert found(council) == {}
    return council


def found(council: Council, *words: str) -> dict[str, dict[str, str]]:
    """Return what is wrong with files or times, by its cause."""
    findings = council("doctor", "--json", *words).json()["findings"]
    return {one["cause"]: one for one in findings if one["cause"]}


def problems(council: Council) -> set[str]:
    return {one["what"] for one in council("status", "--problems", "--json").json()["problems"]}


def shell(council: Council, command: str) -> None:
    env = {**council.env(), "PATH": f"{BIN}:{os.environ['PATH']}"}
    subprocess.run(["/bin/sh", "-c", command], cwd=council.root, env=env, check=True)


@pytest.mark.req("FW-008.1")
@pytest.mark.parametrize("name", NAMES)
def test_a_copy_that_a_syncing_program_left_is_named(asked: Council, name: str):
    live = asked.root / "memory/shared/council-active-conversation.md"
    shutil.copy(live, live.with_name(name))

    said = found(asked)["conflict-copy"]

    assert name in said["found"] and "bring over what is missing" in said["fix"]
    assert "conflict-copy" in problems(asked)
    live.with_name(name).unlink()
    assert found(asked) == {}


@pytest.mark.req("FW-008.1")
def test_copies_of_minutes_and_of_persons_are_named_and_files_that_only_look_so_are_not(
    asked: Council,
):
    assert asked("cancel").code == 0
    (minutes,) = (asked.root / "conseils").glob("*.md")
    soul = asked.root / "memory/agents/ann/SOUL.md"
    for path in (minutes.with_name("conflict-of-interest.md"), minutes.with_name("Notes 2.md")):
        path.write_text("of a person\n")
    assert found(asked) == {}

    copies = [minutes.with_stem(f"{minutes.stem} 2")]
    copies.append(soul.with_stem("SOUL.sync-conflict-20261125-224501-ABCDEFG"))
    for path in copies:
        path.write_text("other\n")

    assert "SOUL.sync-conflict" in found(asked)["conflict-copy"]["found"]
    assert copies[0].name in found(asked)["conflict-copy"]["found"]


@pytest.mark.req("FW-008.1")
def test_another_conversation_is_no_copy_of_one_whose_name_is_longer(asked: Council):
    named = ("--name", "active-conversation-two", "--agents", "ann,bob")
    assert asked("convene", "No?", *named).code == 0
    assert found(asked) == {}


@pytest.mark.req("FW-008.1")
def test_a_journal_with_a_second_name_is_named_and_gets_a_file_of_its_own(asked: Council, tmp_path):
    subprocess.run(["cp", "-al", asked.root, tmp_path / "backup"], check=True)
    said = [
        one for one in asked("doctor", "--json").json()["findings"] if one["cause"] == "hard-link"
    ]
    assert said

    for one in said:
        shell(asked, one["fix"].replace("; when no run is left: ", "; "))

    assert found(asked) == {}
    journals = list((tmp_path / "backup/memory/shared/.council").glob("*/revisions.jsonl"))
    before = [one.read_bytes() for one in journals]
    assert asked("respond", "--as", "ann", "Yes.").code == 0
    assert [one.read_bytes() for one in journals] == before != []


@pytest.mark.req("FW-008.1")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of others")
def test_files_that_root_left_are_named_and_given_back(asked: Council):
    shell(asked, f"chown -R 1234 {shlex.quote(str(asked.root))}")
    assert "foreign-files" not in found(asked)
    os.chown(asked.root / "memory/shared/BOARD.md", 0, 0)

    said = found(asked)["foreign-files"]

    assert "memory/shared/BOARD.md" in said["found"] and "user 1234" in said["found"]
    shell(asked, said["fix"].partition("as root: ")[2].partition("; then")[0])
    assert "foreign-files" not in found(asked)


@pytest.mark.req("FW-008.1")
def test_a_council_of_a_clock_that_was_ahead_is_named_and_can_be_ended(council: Council):
    assert council("init", "--agents", "ann,bob").code == 0
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1000)
    assert council("convene", "Yes?", "--agents", "ann,bob", now=later).code == 0

    said = found(council)

    assert {"ahead", "beat-ahead"} >= set(said) >= {"ahead"}
    assert "ahead" in problems(council)
    shell(council, said["ahead"]["fix"].partition("end it: ")[2])
    council("heartbeat")
    assert found(council) == {}
