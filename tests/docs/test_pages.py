"""Every command in README.md and docs/ is played, and prints what the page shows."""

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from council.cli import quick
from tests.docs.player import SOURCE, Newcomer

README = (SOURCE / "README.md").read_text(encoding="utf-8")
DOCS = {path.name: path.read_text(encoding="utf-8") for path in SOURCE.glob("docs/*.md")}
ENGINE = "postgresql://council@db.example/council"
PANELS = ("Everyday", "Conversations", "Rooms", "Workspace")
SLOW = [name for name in DOCS if "```console slow" in DOCS[name]]


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    person = Newcomer(tmp_path)
    yield person
    person.leaves()


def test_a_newcomer_can_follow_the_readme(newcomer: Newcomer) -> None:
    newcomer.follows(README.replace("```toml", "```ini"))  # it names programs that are not there


LONG = pytest.param("trial.md", marks=pytest.mark.slow)


@pytest.mark.parametrize("page", [*sorted(DOCS.keys() - {"trial.md"}), LONG])
def test_a_reader_can_follow_a_page(newcomer: Newcomer, page: str) -> None:
    newcomer.follows(DOCS[page])


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(SLOW))
def test_a_reader_with_servers_can_follow_a_page(newcomer: Newcomer, page: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as any_port:
        text = DOCS[page].replace("8420", str(any_port.getsockname()[1]))
    if ENGINE not in text:
        return newcomer.follows(text, slow=True)
    from tests.machines.servers import Server  # late: few pages need PostgreSQL

    server = Server()
    try:
        return newcomer.follows(text.replace(ENGINE, server.url(server.database())), slow=True)
    finally:
        server.close()


@pytest.mark.parametrize("page", sorted(DOCS))
def test_a_page_is_short_and_names_what_exists(page: str) -> None:
    assert len(DOCS[page].splitlines()) <= 120
    prose = re.sub(r"```.*?```", "", DOCS[page], flags=re.S)
    for link in re.findall(r"\]\(([^)#]+)", prose):
        assert (SOURCE / "docs" / link).exists(), link
    for line in re.findall(r"`council ([a-z][^`]*)`", prose):
        name, words, rest = quick.parted(shlex.split(line.replace("…", "X")))
        group = any(one.startswith(f"{words[0]} ") for one in quick.COMMANDS)
        assert name or (group and len(words) == 1), line
        flags = {flag for one in quick.Command(name).options for flag in one.flags} if name else ()
        assert {word.partition("=")[0] for word in rest if word[:1] == "-" != word} <= {*flags}, (
            line
        )


def test_troubleshooting_names_every_problem() -> None:
    page = re.findall(r"`([^`]+)`", DOCS["troubleshooting.md"])
    rows = (SOURCE / "council/texts/problems.txt").read_text(encoding="utf-8").splitlines()
    forms = [row.partition(" = ")[2].partition(" | ") for row in rows if " = " in row]
    named = [
        what for what, _, cure in forms if cure and " " in re.sub(r"\{.*?\}", "", what).strip()
    ]
    known = [re.compile(re.sub(r"\\\{.*?\\\}", ".+", re.escape(one))) for one in named]
    assert len(known) > 20
    assert [form.pattern for form in known if not any(map(form.fullmatch, page))] == []


def test_the_commands_of_the_table_work_one_after_the_other(newcomer: Newcomer) -> None:
    newcomer.types("council init team --agents claude,codex && cd team")
    newcomer.types('council convene "Do we need a second kettle?" --name kettle --people anna,ben')
    rows = [line.rpartition(" | ")[2] for line in README.splitlines() if line[:2] == "| "]
    for command in [one for row in rows for one in re.findall(r"`(council [^`]+)`", row)]:
        if "--watch" in command:  # until it is interrupted
            command = f"timeout --preserve-status -s INT 1 {command} || [ $? = 130 ]"
        if command == "council cancel":  # what was stopped before may be over by now
            newcomer.types('council convene "Tea?" --name tea --people anna,ben')
            command += " --name tea"
        newcomer.types(command)


def test_the_help_lists_only_commands_that_exist() -> None:
    words = set(re.findall(r"(?:`|\$ )council ([a-z]+)", README))
    done = subprocess.run(
        [sys.executable, "-m", "council", "--help"], cwd=SOURCE,
        env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    listed = set(re.findall(r"^[│ ]+([a-z]+)  ", done.stdout, re.M))
    assert words <= listed, words - listed
    assert max(map(len, done.stdout.splitlines())) <= 80
    panels = [done.stdout.index(f"─ {one} ─") for one in PANELS]
    assert panels == sorted(panels) and "archive" not in done.stdout
