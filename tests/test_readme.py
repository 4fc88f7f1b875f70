"""Every command of the README is run, and what it shows is compared where it shows something.

The blocks are played in order by one shell-like reader in a home of its own;
`~` in the README stands for that home.
"""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
FIXED_NOW = "2026-02-08T20:00:00Z"
BY_MAKE = {"make demo", "make test"}

# Ids are drawn: the README shows one, and any other is read as it.
DRAWN = {
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b": (
        "0f8fad5b-d9cb-469f-a165-70867728950e"
    ),
    r"\b[0-9a-f]{32}\b": "0f8fad5bd9cb469fa16570867728950e",
    r"\bS[0-9a-f]{7}\b": "S0f8fad5",
}


def with_fixed_ids(text: str) -> str:
    """Return a text with the ids of the README in the place of drawn ones."""
    for pattern, known in DRAWN.items():
        text = re.sub(pattern, known, text)
    return text


def blocks() -> list[tuple[str, str]]:
    """Return (command, expected output) in the order of the README."""
    found: list[tuple[str, list[str]]] = []
    inside = False
    for line in README.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append((line[2:], []))
        elif inside:
            found[-1][1].append(line)
    return [(command, "\n".join(lines).strip()) for command, lines in found]


def wait_for(look, wanted: str, seconds: float = 120.0) -> str:
    """Ask until `wanted` is answered: the work between is done by detached processes."""
    ends_at = time.monotonic() + seconds
    while (answer := look()) != wanted and time.monotonic() < ends_at:
        time.sleep(0.1)
    return answer


def test_the_readme_has_commands():
    assert len(blocks()) > 20


@pytest.mark.req("C0-081", "XC-011")
def test_every_command_of_the_readme_does_what_it_shows(council, tmp_path: Path):
    here = tmp_path

    def run(command: str, here: Path):
        words = shlex.split(command)
        assert words[0] == "council", command
        return council(*words[1:], cwd=here, now=FIXED_NOW, env={"COLUMNS": "120"})

    for command, expected in blocks():
        if command in BY_MAKE:
            continue
        if command.startswith("cd "):
            here = here / command[3:]
            continue
        settings = here / "council.toml"
        by_hand = settings.read_text() if settings.exists() else ""
        if command.startswith(("council ask", "council agent call")):
            said = '[agents.{}]\nargv = ["/bin/sh", "-c", "cat >/dev/null; echo Yes."]\n'
            settings.write_text(by_hand + said.format("nova") + said.format("claude"))

        def shown(command: str = command, here: Path = here) -> str:
            done = run(command, here)
            assert done.code == 0, f"{command}: {done.err}"
            out = with_fixed_ids(done.out.replace(str(tmp_path), "~"))
            lines = [line.rstrip() for line in out.splitlines()]
            return "\n".join(lines).strip()

        if "--archived" in command:
            assert wait_for(shown, expected) == expected
        else:
            answer = shown()
            if expected:
                assert answer == expected, command
        if by_hand:
            settings.write_text(by_hand)
