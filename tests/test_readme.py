"""Every command of the README and of `docs/` is run, and compared with what the page shows.

Each page is a session of its own: its blocks are played in order by one shell-like reader in
an empty home, for which `~` stands. A block of TOML is added to the `council.toml` of the
workspace in which the reader is. The agent programs are small ones of this test.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

import pytest

from council.store.protocol.task_settings import task_rules
from council.store.settings import load_settings
from tests.drivers.programs import printed

HOUSE = Path(__file__).resolve().parent.parent
CLIENTS = sorted(f"docs/clients/{page.name}" for page in (HOUSE / "docs/clients").glob("*.md"))
PLAYED = ["README.md", *sorted(f"docs/{page.name}" for page in (HOUSE / "docs").glob("*.md"))]
PLAYED += CLIENTS
PAGES = sorted(
    [*HOUSE.glob("*.md"), *(HOUSE / "docs").rglob("*.md")], key=lambda page: page.as_posix()
)
LONGEST = {"README.md": 150, "ARCHITECTURE.md": 250}
FIXED_NOW = "2026-02-08T20:00:00Z"
# They set up a machine, and are tried by tests of their own.
INSTALLS = {"pipx install .", "uv tool install .", "make demo", "make test"}

# Their commands need the real program, and are tried by make e2e.
WITH_REAL_CLIENTS = {"docs/clients/openclaw.md"}

# Its commands need a database, and are tried by make engine.
WITH_A_DATABASE = {"docs/engine.md"}

# What `doctor` calls them.
SETTINGS = ("council.toml", "limits", "hooks")

# What the agent programs of the pages say, by phase. Codex answers when the screen shows Claude's.
SAYS = {
    "claude": {
        "COLLECT": "Yes. The queue at nine costs more than a kettle.",
        "CHALLENGE": "One with a filter, then.\n\nSTATUS: AGREED",
        "SYNTHESIZE": "Buy a second kettle, one with a filter.",
    },
    "codex": {
        "COLLECT": "Only if it has a filter: the water is hard.",
        "CHALLENGE": "Agreed, if it has a filter.\n\nSTATUS: AGREED",
    },
    "my-agent": {},
}
PROGRAM = """#!/bin/sh
cat >/dev/null
{waits}
case "$COUNCIL_PHASE" in
{cases}
esac
"""
SHOWN = "Claude answered"
AFTER_CLAUDE = "until [ -e '{folder}/shown'$COUNCIL_TOUR ]; do sleep 0.05; done"

# Ids are drawn: a page shows one, and any other is read as it.
DRAWN = {
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b": (
        "0f8fad5b-d9cb-469f-a165-70867728950e"
    ),
    r"\b[0-9a-f]{32}\b": "0f8fad5bd9cb469fa16570867728950e",
    r"\bS[0-9a-f]{7}\b": "S0f8fad5",
}


def with_fixed_ids(text: str) -> str:
    """Return a text with the ids of the pages in the place of drawn ones."""
    for pattern, known in DRAWN.items():
        text = re.sub(pattern, known, text)
    return text


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Return (kind, command or text, expected output) in the order of the page."""
    found: list[tuple[str, str, list[str]]] = []
    kind = ""
    for line in (HOUSE / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            kind = "" if kind else line[3:]
            if kind in ("toml", "json"):
                found.append((kind, "", []))
        elif kind == "console" and line.startswith("$ "):
            found.append((kind, line[2:], []))
        elif kind in ("console", "toml", "json"):
            found[-1][2].append(line)
    return [(kind, command, "\n".join(lines).strip()) for kind, command, lines in found]


def wait_for(look, wanted: str, seconds: float = 120.0) -> str:
    """Ask until `wanted` is answered: the work between is done by detached processes."""
    ends_at = time.monotonic() + seconds
    while (answer := look()) != wanted and time.monotonic() < ends_at:
        time.sleep(0.1)
    return answer


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the agent programs that the pages name."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, says in SAYS.items():
        cases = "\n".join(
            f"{on}) printf '%s\\n' {shlex.quote(printed(name, text))};;"
            for on, text in {**says, "*": "Yes."}.items()
        )
        waits = AFTER_CLAUDE.format(folder=folder) if name == "codex" else ""
        program = folder / name
        program.write_text(PROGRAM.format(waits=waits, cases=cases))
        program.chmod(0o755)
    return folder


class Reader:
    """A person who types what a page shows, in a home of its own."""

    def __init__(self, council, programs: Path, home: Path) -> None:
        council.declares = False
        self.council, self.programs, self.home, self.here = council, programs, home, home
        self.env = {
            "COLUMNS": "120",
            "PATH": f"{programs}:{council.env()['PATH']}",
        }

    def goes(self, command: str) -> bool:
        """Change the folder if that is what the command does."""
        made = re.fullmatch(r"mkdir (\S+) && cd \1", command)
        if made:
            (self.here / made[1]).mkdir()
        elif not command.startswith("cd "):
            return False
        self.here = (self.here / (made[1] if made else command[3:])).resolve()
        return True

    def adds(self, settings: str) -> None:
        """Write lines into `council.toml`; each of them must be understood."""
        with (self.here / "council.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n{settings}\n")
        task_rules(load_settings(str(self.here)))
        said = self.council("doctor", "--json", cwd=self.here, now=FIXED_NOW, env=self.env).json()
        about = [one for one in said.get("findings", [said]) if one.get("what") in SETTINGS]
        assert len(about) > 0
        assert [one for one in about if not one["ok"]] == []

    def sees(self, command: str) -> str:
        """Run a command; return what stands on the screen after it."""
        words = shlex.split(command)
        assert words[0] == "council", command
        if words[1] == "ask":
            code, screen = self.follows(words[1:])
        else:
            done = self.council(*words[1:], cwd=self.here, now=FIXED_NOW, env=self.env)
            code, screen = done.code, done.err + done.out
        assert code == 0, f"{command}: {screen}"
        shown = with_fixed_ids(screen.replace(str(self.home), "~"))
        return "\n".join(line.rstrip() for line in shown.splitlines()).strip()

    def follows(self, words: list[str]) -> tuple[int, str]:
        """Watch a command that shows what others say; return its exit code and all it showed."""
        running = self.council.start(*words, cwd=self.here, now=FIXED_NOW, env=self.env)
        screen, rounds = "", 0
        for line in running.stderr:
            screen += line.decode()
            if SHOWN in screen.splitlines()[-1]:
                rounds += 1
                (self.programs / f"shown{rounds}").touch()
        said, _ = running.communicate()
        return running.returncode, screen + said.decode()


def test_the_readme_has_commands():
    assert [command for _, command, _ in blocks("README.md") if command.startswith("council ask")]


@pytest.mark.req("C0-081", "XC-011")
@pytest.mark.parametrize("page", PLAYED)
def test_every_command_of_a_page_does_what_it_shows(page, council, programs, tmp_path: Path):
    reader = Reader(council, programs, tmp_path)
    for kind, command, expected in blocks(page):
        if kind == "toml":
            reader.adds(expected)
        elif kind == "json":
            json.loads(expected)
        elif page in WITH_REAL_CLIENTS | WITH_A_DATABASE:
            assert command.startswith("council "), command
        elif command in INSTALLS or reader.goes(command):
            assert not expected, command
        elif "--archived" in command:
            assert wait_for(lambda said=command: reader.sees(said), expected) == expected
        else:
            answer = reader.sees(command)
            if expected:
                assert answer == expected, command


@pytest.mark.parametrize(("page", "lines"), LONGEST.items())
def test_a_page_for_a_newcomer_stays_short(page: str, lines: int):
    assert len((HOUSE / page).read_text(encoding="utf-8").splitlines()) <= lines


def test_the_readme_installs_before_the_first_command():
    text = (HOUSE / "README.md").read_text(encoding="utf-8")
    assert text.index("pipx install .") < text.index("$ council")


def anchor(heading: str) -> str:
    """Return the name by which a link finds a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(HOUSE).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in map(anchor, headings), target


@pytest.mark.parametrize(
    ("index", "folder"),
    [
        ("README.md", "docs"),
        ("README.md", "docs/clients"),
        ("docs/decisions/README.md", "docs/decisions"),
    ],
)
def test_an_index_names_every_page_of_its_folder(index: str, folder: str):
    text = (HOUSE / index).read_text(encoding="utf-8")
    for page in (HOUSE / folder).glob("*.md"):
        if page.name != "README.md":
            assert re.search(rf"\((?:{folder}/)?{re.escape(page.name)}\)", text), page.name
