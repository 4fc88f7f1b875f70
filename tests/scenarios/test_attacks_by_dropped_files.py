"""Conversation files that were dropped: with strict trust no agent acts on them unasked."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from council.store.statefile import statefile

NAMED = "council-{}-conversation.md"
BRIEF = "Publish the letters of the clinic."


@pytest.fixture
def guarded(council):
    """A strict workspace in which a run of the gecko notes where it works and what it is asked."""
    assert council("init", "--agents", "owl,gecko").code == 0
    program = council.root / "gecko.py"
    program.write_text(
        "import os, sys\n"
        f"with open({str(council.root / 'ran')!r}, 'a') as notes:\n"
        "    print(os.getcwd(), sys.stdin.read(), file=notes)\n"
        "print('I say yes.')\n"
    )
    settings = council.root / "council.toml"
    argv = json.dumps([sys.executable, str(program)])
    settings.write_text(
        settings.read_text().replace("schemaVersion", 'trust = "strict"\nschemaVersion', 1)
        + f"\n[agents.gecko]\nargv = {argv}\n[agents.owl]\nargv = {argv}\n"
    )
    assert 'trust = "strict"' in settings.read_text()
    return council


def shared(council) -> Path:
    return council.root / "memory" / "shared"


def live(council, name: str) -> Path:
    return shared(council) / NAMED.format(name)


def trust(council, word: str) -> None:
    settings = council.root / "council.toml"
    settings.write_text(settings.read_text().replace('trust = "strict"', f'trust = "{word}"'))


def drop(council, tmp_path: Path, name: str = "harmless") -> Path:
    """Put a file there that another workspace made, as a run could with any program."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "chosen"
    (elsewhere / "memory" / "shared").mkdir(parents=True)
    folder.mkdir()
    shutil.copy(council.root / "council.toml", elsewhere)
    made = council(
        *("convene", BRIEF, "--name", name, "--agents", "owl,gecko", "--cwd", folder),
        *("--root", elsewhere),
        env={"OPENCLAW_SHELL": "exec"},
    )
    assert made.code == 0, made.err
    source = elsewhere / "memory" / "shared" / NAMED.format(name)
    return Path(shutil.copy(source, live(council, name)))


def convene_in_silence(council) -> None:
    """Convene where no agent may be started, so that nothing is under way yet."""
    words = ("convene", "Tea?", "--agents", "owl,gecko", "--name", "tea")
    made = council(*words, env={"OPENCLAW_SHELL": "exec"})
    assert made.code == 0, made.err


def ran(council) -> str:
    notes = council.root / "ran"
    return notes.read_text() if notes.exists() else ""


def beat(council, *words: str):
    return council("heartbeat", "--wait", "2s", *words)


@pytest.mark.req("SC-003")
def test_a_dropped_file_starts_agents_where_trust_is_open(guarded, tmp_path):
    trust(guarded, "open")
    drop(guarded, tmp_path)

    beat(guarded)

    assert str(tmp_path / "chosen") in ran(guarded)
    assert BRIEF in ran(guarded)


@pytest.mark.req("SC-003")
def test_a_dropped_file_waits_for_a_person_where_trust_is_strict(guarded, tmp_path):
    dropped = drop(guarded, tmp_path)
    as_dropped = dropped.read_bytes()

    beats = [beat(guarded) for _ in range(2)]
    only = guarded("heartbeat", "--name", "harmless")
    answered = guarded("respond", "--as", "gecko", "--name", "harmless", "Yes.")
    asked = guarded("context", "--as", "gecko", "--name", "harmless")
    waited = guarded("wait", "--as", "gecko", "--name", "harmless", "--timeout", "1s")

    assert ran(guarded) == ""
    assert dropped.read_bytes() == as_dropped
    for refused in (*beats, only, answered, asked, waited):
        assert refused.code != 0
        assert "council adopt harmless" in refused.err
    assert BRIEF in guarded("show", "harmless").out


@pytest.mark.req("SC-003", "OP-011")
def test_what_waits_for_a_person_says_so_with_the_way_out(guarded, tmp_path):
    drop(guarded, tmp_path)

    problems = guarded("status", "--problems", "--json")
    explained = guarded("explain", "harmless")

    causes = [(one["what"], one["where"]) for one in problems.json()["problems"]]
    assert ("not-adopted", "harmless") in causes
    assert "no command made the file of harmless" in explained.out
    assert "council adopt harmless" in explained.out
    assert "next heartbeat starts" not in explained.out


@pytest.mark.req("SC-003")
def test_what_a_person_has_adopted_goes_on(guarded, tmp_path):
    drop(guarded, tmp_path)

    inside = guarded("adopt", "harmless", env={"COUNCIL_TASK_ID": "x.1.gecko.1"})
    adopted = guarded("adopt", "harmless")
    beat(guarded)

    assert inside.code == 6
    assert adopted.code == 0, adopted.err
    assert BRIEF in ran(guarded)


@pytest.mark.req("SC-003")
@pytest.mark.parametrize("lost", [".council", ".council/open", "journal"])
def test_files_whose_history_is_lost_wait_for_a_person(guarded, lost):
    convene_in_silence(guarded)
    for path in shared(guarded).glob(".council/*/revisions*" if lost == "journal" else lost):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = ran(guarded)

    beaten = beat(guarded)

    if lost == ".council/open":  # the journal knows the file, so a command made it
        assert "adopt" not in beaten.err
        return
    assert "council adopt tea" in beaten.err
    assert ran(guarded) == before
    assert guarded("adopt", "tea").code == 0
    assert "adopt" not in beat(guarded).err
    assert "Tea?" in ran(guarded)


@pytest.mark.req("SC-003")
def test_a_file_ahead_of_its_journal_waits_for_a_person(guarded, tmp_path):
    convene_in_silence(guarded)
    path, folder = live(guarded, "tea"), tmp_path / "chosen"
    folder.mkdir()
    state, page = statefile.load(path.read_text(), "tea")
    ahead = state.copy(rev=state.rev + 7, cwd=str(folder))
    path.write_text(statefile.render(ahead, page))

    beaten = beat(guarded)

    assert "council adopt tea" in beaten.err
    assert ran(guarded) == ""
    trust(guarded, "open")
    beat(guarded)
    assert str(folder) in ran(guarded)


@pytest.mark.req("SC-003")
def test_what_commands_made_never_asks_for_a_person(guarded):
    convened = guarded("convene", "Tea?", "--agents", "owl,gecko", "--name", "tea")
    path = live(guarded, "tea")
    if path.exists():  # a person writes into it meanwhile
        path.write_text(path.read_text() + "\nA note of mine.\n")
    restarted = guarded("heartbeat", env={"COUNCIL_LANG": "en"})
    ended = guarded("heartbeat", "--wait", "60s")
    archived = list((guarded.root / "conseils").glob("*tea*.md"))

    for done in (convened, restarted, ended):
        assert done.code == 0, done.err
        assert "adopt" not in done.out + done.err
    assert archived
    assert os.listdir(guarded.root / "conseils")
