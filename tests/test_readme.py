"""Every command of the README and of `docs/` is run, and compared with what the page shows.

Each page is a session of its own: its blocks are played in order by one shell-like reader in
an empty home, for which `~` stands. A block of TOML is added to the `council.toml` of the
workspace in which the reader is. The agent programs are small ones of this test; what a bare
machine does not have is in `tests/docs/stand_ins.py`, with its reason.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from council.core.errors import NotFoundError
from council.store.protocol.task_settings import task_rules
from council.store.settings import load_settings
from tests.docs.pages import (
    HOUSE,
    KINDS,
    PLAYED,
    READ,
    blocks,
    commands_of,
    kinds,
    needs_a_shell,
    text_of,
)
from tests.docs.stand_ins import FOREIGN, TOOLS, put_stand_ins
from tests.drivers.discord_server import GENERAL, TOKEN, discord_server
from tests.drivers.programs import printed
from tests.engine.servers import Server

PAGES = sorted(
    [*HOUSE.glob("*.md"), *(HOUSE / "docs").rglob("*.md")], key=lambda page: page.as_posix()
)
LONGEST = {"README.md": 150, "ARCHITECTURE.md": 250}
MOST_PAGES = 15  # in docs/, beside those of clients and decisions
FIXED_NOW = "2026-02-08T20:00:00Z"
PATIENCE_S = 240
DATABASE = "postgresql://council@db.example/council"
ROOM = "123456789012345678"

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
if [ "$1" = mcp ]; then
    case "$2" in
    remove) rm "$HOME/server" ;;
    add) echo council >"$HOME/server" ;;
    *) cat "$HOME/server" ;;
    esac
    exit
fi
cat >/dev/null
{waits}
case "$COUNCIL_PHASE" in
{cases}
esac
"""
SHOWN = "Claude answered"
AFTER_CLAUDE = "until [ -e '{folder}/shown'$COUNCIL_TOUR ]; do sleep 0.05; done"

# Commands that run until they are stopped.
LIVING = re.compile(r"council (serve(?!.* --link)|link|mcp .*--http|status .*--watch)|curl .*-N ")

# Ids and tokens are drawn: a page shows one, and any other is read as it.
DRAWN = {
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b": (
        "0f8fad5b-d9cb-469f-a165-70867728950e"
    ),
    r"\b[0-9a-f]{32}\b": "0f8fad5bd9cb469fa16570867728950e",
    r"\bS[0-9a-f]{7}\b": "S0f8fad5",
    r"link=[\w.-]+": "link=FyWRBvAJGivo.1795459547.pVQqdixwaxoLA1vUkAM2WQ",
}


def with_fixed_ids(text: str) -> str:
    """Return a text with the ids of the pages in the place of drawn ones."""
    for pattern, known in DRAWN.items():
        text = re.sub(pattern, known, text)
    return text


def wait_for(look, wanted: str, seconds: float = 120.0) -> str:
    """Ask until `wanted` is answered: the work between is done by detached processes."""
    ends_at = time.monotonic() + seconds
    while (answer := look()) != wanted and time.monotonic() < ends_at:
        time.sleep(0.1)
    return answer


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the agent programs that the pages name, and the stand-ins."""
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


def merged(settings: str, added: str) -> str:
    """Return settings as somebody leaves them who types lines of a page into the tables there."""
    for part in re.split(r"^(?=\[)", added, flags=re.MULTILINE):
        head, _, lines = part.partition("\n")
        table = head.partition("#")[0].strip()
        found = re.search(rf"^{re.escape(table)}$.*?(?=^\[|\Z)", settings, re.MULTILINE | re.DOTALL)
        if found and table[:1] == "[" and table[:2] != "[[":
            keys = tuple(re.findall(r"^\w+ =", lines, re.MULTILINE))
            kept = [one for one in found[0].splitlines() if not one.startswith(keys or ("=",))]
            settings = settings.replace(found[0], "\n".join([*kept, lines, ""]))
        elif table[:1] == "[":
            settings += f"\n{part}\n"
        else:
            settings = f"{part}\n{settings}"
    return settings


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


class Reader:
    """A person who types what a page shows, in a home of its own.

    `services` says what stands for an address of the page; `given` are variables of the machine.
    """

    def __init__(self, council, programs: Path, home: Path, page: str) -> None:
        council.declares = False
        self.council, self.programs, self.home, self.here = council, programs, home, home
        # An agent program is found by `init` wherever it lies: it is there on its own page alone.
        agents = ("gemini", "opencode", "llm", "ollama", "openclaw")
        self.calls = put_stand_ins(programs, but=[one for one in agents if one not in page])
        self.env = {"COLUMNS": "120", "PATH": f"{programs}:{council.env()['PATH']}"}
        self.services = {"8420": str(free_port()), "8421": str(free_port())}
        # The test turn needs the real program: `make e2e` plays it.
        self.services["openclaw --install"] = "openclaw --install --untried"
        self.living: list[subprocess.Popen[bytes]] = []

    def goes(self, command: str) -> bool:
        """Change the folder or a variable if that is what the command does."""
        made = re.fullmatch(r"mkdir (\S+) && cd \1", command)
        exported = re.fullmatch(r"export (\w+)=(.+)", command)
        if exported:
            name = exported[1]
            value = self.shell(f'{command}; printf %s "${name}"')
            self.env[name] = self.services.get(name, value)
            return True
        if made:
            (self.here / made[1]).mkdir()
        elif not command.startswith("cd "):
            return False
        self.here = (self.here / (made[1] if made else command[3:])).resolve()
        return True

    def adds(self, settings: str) -> None:
        """Write lines into `council.toml`; each of them must be understood."""
        file = self.here / "council.toml"
        file.write_text(merged(file.read_text(encoding="utf-8"), self.replaced(settings)), "utf-8")
        task_rules(load_settings(str(self.here)))
        said = self.council("doctor", "--json", cwd=self.here, now=FIXED_NOW, env=self.env).json()
        about = [one for one in said.get("findings", [said]) if one.get("what") in SETTINGS]
        assert len(about) > 0
        assert [one for one in about if not one["ok"]] == []

    def replaced(self, text: str) -> str:
        """Return a text with what stands here for the services of the page."""
        for theirs, ours in self.services.items():
            text = text.replace(theirs, ours)
        return text

    def sees(self, command: str, expected: str) -> str:
        """Run a command; return what is on the screen after it."""
        command = self.replaced(command)
        words = shlex.split(command)
        if LIVING.match(command):
            return self.read(self.starts(command, expected))
        if words[0] != "council" or needs_a_shell(command):
            return self.read(self.shell(command))
        if words[1] == "ask":
            return self.read(self.follows(command))
        done = self.council(*words[1:], cwd=self.here, now=FIXED_NOW, env=self.env)
        assert done.code == 0, f"{command}: {done.err + done.out}"
        return self.read(done.err + done.out)

    def shell(self, command: str) -> str:
        """Run a line by a shell; return what it printed."""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.here,
            env={**self.council.env(now=FIXED_NOW), **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout.decode()}"
        return done.stdout.decode()

    def read(self, screen: str) -> str:
        """Return a screen as a page shows it: its home, its addresses, its ids."""
        for theirs, ours in self.services.items():
            screen = screen.replace(ours, theirs)
        shown = with_fixed_ids(screen.replace(str(self.home), "~"))
        return "\n".join(line.rstrip() for line in shown.splitlines()).strip()

    def starts(self, command: str, expected: str) -> str:
        """Start what runs until it is stopped; return as many lines as the page shows, or one."""
        if command.startswith("council serve") and "--port" not in command:
            command += f" --port {self.services['8420']}"
        if command.startswith("council mcp"):
            command += f" --port {self.services['8421']}"
        running = subprocess.Popen(
            ["sh", "-c", f"exec {command}"],
            cwd=self.here,
            env={**self.council.env(), **self.env, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.living.append(running)
        assert running.stdout is not None
        screen, ends_at = b"", time.monotonic() + 60
        while screen.count(b"\n") < max(len(expected.splitlines()), 1):
            ready, _, _ = select.select([running.stdout], [], [], ends_at - time.monotonic())
            part = os.read(running.stdout.fileno(), 65536) if ready else b""
            assert part, f"{command}: {screen.decode()}"
            screen += part
        return screen.decode()

    def follows(self, command: str) -> str:
        """Watch a command that shows what others say; return all it showed."""
        words = shlex.split(command)[1:]
        running = self.council.start(*words, cwd=self.here, now=FIXED_NOW, env=self.env)
        screen, rounds = "", 0
        patience = Timer(PATIENCE_S, running.kill)
        patience.start()
        for line in running.stderr:
            screen += line.decode()
            if SHOWN in screen.splitlines()[-1]:
                rounds += 1
                (self.programs / f"shown{rounds}").touch()
        said, _ = running.communicate()
        patience.cancel()
        assert running.returncode == 0, f"{command}: {screen}"
        return screen + said.decode()

    def leaves(self) -> None:
        """Stop with Ctrl-C what still runs; it must end."""
        for running in reversed(self.living):
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=60)
            assert running.returncode in (0, 130, -signal.SIGINT), said.decode()


@pytest.fixture
def reader(request, council, programs, tmp_path: Path) -> Iterator[Reader]:
    """Somebody who plays the page of this test, with the services that the page needs."""
    page = request.node.callspec.params["page"]
    made = Reader(council, programs, tmp_path, page)
    if page == "docs/engine.md":
        request.getfixturevalue("database_of_page")(made)
    if page == "docs/clients/discord.md":
        request.getfixturevalue("discord_of_page")(made)
    yield made
    made.leaves()


@pytest.fixture
def database_of_page():
    """A PostgreSQL server for the page about engines, where the machine has one."""
    try:
        server = Server()
    except NotFoundError as error:
        pytest.skip(str(error))
    with server.connect() as admin:
        admin.execute("CREATE ROLE council LOGIN")
        admin.execute("CREATE DATABASE page OWNER council")
    url = server.url("page").replace("postgres@", "council@", 1)
    yield lambda reader: reader.services.update({DATABASE: url})
    server.close()


@pytest.fixture
def discord_of_page():
    """A server that answers as Discord does, with the channel of the page."""
    with discord_server() as server:
        server.channels[int(ROOM)] = {**server.channels[GENERAL], "id": ROOM}

        def given(reader: Reader) -> None:
            reader.env["DISCORD_API_URL"] = server.url
            reader.services["DISCORD_TOKEN"] = TOKEN

        yield given


def test_the_readme_has_commands():
    assert [command for _, command, _ in blocks("README.md") if command.startswith("council ask")]


@pytest.mark.req("C0-081", "XC-011", "FW-001")
@pytest.mark.parametrize("page", PLAYED)
def test_every_command_of_a_page_does_what_it_shows(page: str, reader: Reader):
    for kind, command, expected in blocks(page):
        if kind == "toml":
            reader.adds(expected)
        elif kind == "json":
            json.loads(expected)
        elif command.split()[0] in FOREIGN:
            assert reader.sees(command, expected) == expected
            called = reader.calls.read_text().splitlines()[-1]
            assert called.split() == shlex.split(command)
        elif reader.goes(command):
            assert not expected, command
        elif "--archived" in command:
            assert wait_for(lambda said=command: reader.sees(said, ""), expected) == expected
        else:
            answer = reader.sees(command, expected)
            if expected:
                assert answer == expected, command


@pytest.mark.req("FW-001")
def test_what_a_page_calls_is_of_council_of_every_machine_or_in_the_list_with_its_reason():
    called = {
        single.split()[0]
        for page in PLAYED
        for kind, command, _ in blocks(page)
        if kind == "console"
        for single in commands_of(command)
    }
    assert called - {"council"} - TOOLS - FOREIGN.keys() == set()
    assert all(len(one.reason) > 9 for one in FOREIGN.values())


@pytest.mark.req("FW-001")
@pytest.mark.parametrize("page", READ)
def test_a_block_is_of_a_kind_that_somebody_knows(page: str):
    assert set(kinds(page)) <= KINDS.keys()
    assert text_of(page).count("\n```") % 2 == 0


@pytest.mark.parametrize(("page", "lines"), LONGEST.items())
def test_a_page_for_a_newcomer_stays_short(page: str, lines: int):
    assert len((HOUSE / page).read_text(encoding="utf-8").splitlines()) <= lines


@pytest.mark.req("FW-013")
def test_the_folder_of_pages_stays_small():
    assert len([*(HOUSE / "docs").glob("*.md")]) <= MOST_PAGES


def test_the_readme_installs_before_the_first_command():
    text = (HOUSE / "README.md").read_text(encoding="utf-8")
    assert text.index("pipx install") < text.index("$ council")


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
