"""What an agent may see: shown again while nothing has changed, and only then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.conversations.steering import cancel
from council.operations.conversations.answer import record_answer
from council.operations.conversations.context import context
from council.operations.conversations.steer import close
from tests.operations.tables import FOUR, Table

MARKER = "Nobody rendered this.\n"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Table(tmp_path / "workspace").seat({agent: {} for agent in FOUR})
    made.convene("Shall we build it?", phases=("challenge", "synthesize"))
    return made


def see(table: Table, agent: str = "henry", lang: str = "") -> str:
    return context(table.place, "active", agent, lang).prompt


def kept_in(table: Table) -> Path:
    (folder,) = table.root.glob("memory/shared/.council/*-*/prompts")
    return folder


def marked(table: Table) -> None:
    """Ask, then let the note speak of another prompt: who sees that did not read the file."""
    see(table)
    (note,) = kept_in(table).glob("*.note")
    _, *bounds = json.loads(note.read_text())
    note.write_text(json.dumps(["marked.prompt", *bounds]))
    digest = hashlib.sha256(MARKER.encode()).hexdigest()
    (kept_in(table) / "marked.prompt").write_text(f"{digest}\n{MARKER}")
    assert see(table) == MARKER


def edit(table: Table) -> None:
    live = table.live()
    live.write_text(live.read_text().replace("Shall we build it?", "Shall we sell it?", 1))


def soul(table: Table) -> None:
    folder = table.root / "memory" / "agents" / "henry"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SOUL.md").write_text("---\nname: Henry\n---\nYou are in a hurry.\n")


def template(table: Table) -> None:
    (table.root / "prompts").mkdir()
    (table.root / "prompts" / "turn.md.j2").write_text("My own.\n")


def checklist(table: Table) -> None:
    folder = table.root / "skills" / "council" / "references"
    folder.mkdir(parents=True)
    (folder / "COUNCIL.md").write_text("- Would your grandmother use it?\n")


def later(table: Table) -> None:
    table.now += timedelta(hours=2)


def lose_the_journal(table: Table) -> None:
    (journal,) = table.root.glob("memory/shared/.council/*-*/revisions.jsonl")
    journal.unlink()


CHANGES: dict[str, Callable[[Table], object]] = {
    "an answer": lambda table: record_answer(table.place, "active", "sage", "Sage says so."),
    "an edit": edit,
    "the persona": soul,
    "a template": template,
    "the checklist": checklist,
    "the deadline passes": later,
    "the journal is lost": lose_the_journal,
    "the workspace has another key": lambda table: Path(table.place.paths.key).unlink(),
    "the live file is gone": lambda table: table.live().unlink(),
}


@pytest.mark.req("C0-041")
def test_asking_again_shows_the_same_without_a_look_at_the_conversation(table: Table):
    first = see(table)
    assert see(table) == first
    marked(table)


@pytest.mark.req("C0-041", "C0-047")
@pytest.mark.parametrize("what", CHANGES)
def test_what_was_shown_before_is_not_shown_any_more_after(table: Table, what: str):
    marked(table)
    CHANGES[what](table)
    assert MARKER not in see(table)


def test_others_and_other_languages_are_shown_their_own(table: Table):
    marked(table)
    assert MARKER not in see(table, "sage")
    assert MARKER not in see(table, lang="fr")


def test_a_prompt_made_after_the_deadline_is_not_shown_for_an_earlier_time(table: Table):
    now = table.now
    later(table)
    marked(table)
    table.now = now
    assert MARKER not in see(table)


@pytest.mark.parametrize("damage", [b"", b"{", b"[1, 2, 3]", b'["../x", null, null]', b"[[]]"])
def test_a_damaged_note_is_no_note(table: Table, damage: bytes):
    marked(table)
    for path in kept_in(table).glob("*.note"):
        path.write_bytes(damage)
    assert "Shall we build it?" in see(table)


def test_the_parts_alone_keep_nothing(table: Table):
    seen = context(table.place, "active", "nova", parts=True)
    assert seen.parts is not None and seen.parts["agent"] == "nova"
    assert not list(kept_in(table).glob("*.note"))


@pytest.mark.req("XC-018")
def test_of_the_prompts_of_an_archived_conversation_nothing_stays(table: Table):
    for agent in FOUR:
        see(table, agent)
    folder = kept_in(table).parent
    assert len(list((folder / "prompts").glob("*.prompt"))) == len(FOUR)
    table.place.conversations.edit("active", lambda state: cancel(state, table.now), now=table.now)

    close(table.place, table.place.conversations.read("active"))

    kept = {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}
    assert kept == {"closed.md", "revisions.jsonl", "lock"}
