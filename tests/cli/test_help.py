"""Help that teaches, completion, and colours only where somebody sees them."""

from __future__ import annotations

import os
import pty
import re
import subprocess

import pytest

from council import __version__
from council.cli.app import app
from tests.cli.commands import all_commands

ESCAPE = "\x1b["
WIDTH = {"COLUMNS": "80"}


def screen(council, *words: str, env: dict[str, str] | None = None) -> str:
    """Return what a command prints on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        council.argv(*words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=council.root,
        env=council.env(env={"TERM": "xterm-256color", "COLUMNS": "80", **(env or {})}),
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # how Linux tells that nobody has the other side any more
        pass
    os.close(ours)
    assert process.wait(timeout=20) == 0
    return shown.decode()


@pytest.mark.parametrize("name", sorted(all_commands()))
def test_the_help_of_every_command_teaches(name: str):
    command = all_commands()[name]
    text = command.help or ""

    summary = text.split("\n\n")[0]
    assert re.match(r"[A-Z].{10,}[.]$", summary.replace("\n", " ")), summary
    assert "Example" in text
    assert f"council {name}" in text
    for one in command.params:
        assert one.help, f"{name} {one.name} has no help"
        assert one.help[0].isupper() or one.help.startswith(("debate", "responded")), one.help


@pytest.mark.parametrize("name", ["respond", "convene", "events tail"])
def test_help_is_printed_and_exits_0(council, tmp_path, name: str):
    for option in ("--help", "-h"):
        done = council(*name.split(), option, cwd=tmp_path, env=WIDTH)

        assert (done.code, done.err) == (0, "")
        assert f"council {name}" in done.out
        assert max(map(len, done.out.splitlines())) <= 80


def test_a_terminal_shows_the_commands_in_panels_in_order(council):
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen(council, "--help")).replace("\r", "")

    panels = re.findall(r"^╭─ (.+?) ─", shown, re.MULTILINE)
    assert panels[:3] == ["Options", "Workspace", "Conversations"]
    for name in all_commands():
        assert re.search(rf"│ {name.split(maxsplit=1)[0]} ", shown), name


def test_council_alone_prints_its_commands_in_panels_in_order(council, tmp_path):
    alone = council(cwd=tmp_path, env=WIDTH)
    asked = council("--help", cwd=tmp_path, env=WIDTH)

    assert asked.code == 0
    assert alone.out.split() == asked.out.split()
    panels = re.findall(r"^(\S.+):$", asked.out, re.MULTILINE)
    assert panels[:3] == ["Options", "Workspace", "Conversations"]
    for name in all_commands():
        assert re.search(rf"^  {name.split(maxsplit=1)[0]} ", asked.out, re.MULTILINE), name
    assert max(map(len, asked.out.splitlines())) <= 80


def test_every_command_stands_in_a_panel():
    for one in app.registered_commands:
        assert isinstance(one.rich_help_panel, str), one.name


def test_the_version_is_printed(council, tmp_path):
    assert council("--version", cwd=tmp_path).out == f"council {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered_for_the_shell_one_works_in(council, tmp_path, shell: str):
    done = council("--show-completion", shell, cwd=tmp_path)

    assert done.code == 0, done.err
    assert "_COUNCIL_COMPLETE" in done.out or "_council_completion" in done.out


def test_completion_knows_commands_and_options(council, tmp_path):
    def completed(line: str) -> list[str]:
        words = line.split()
        at = len(words) - (not line.endswith(" "))
        env = {"_COUNCIL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(at)}
        return council(cwd=tmp_path, env=env).out.split()

    assert {"resume", "respond", "restore"} <= set(completed("council res"))
    assert completed("council respond --statu") == ["--status"]
    assert completed("council events ") == ["tail"]


# Colours


@pytest.mark.parametrize("words", ["status", "show", "list", "history", "doctor", "events tail"])
def test_a_pipe_gets_no_colours_and_no_wrapped_rows(opened, words: str):
    piped = opened(*words.split(), env={"TERM": "xterm-256color", "COLORTERM": "truecolor"})

    assert piped.out
    assert ESCAPE not in piped.out + piped.err


def test_a_terminal_gets_colours_unless_no_color_is_set(opened):
    assert ESCAPE + "3" in screen(opened, "status")

    for words in (["status"], ["show"], ["history"]):
        plain = screen(opened, *words, env={"NO_COLOR": "1"})
        # Bold and italic are no colours.
        assert not re.search(r"\x1b\[[0-9;]*(3[0-79]|4[0-79]|38|48)[0-9;]*m", plain)


def test_long_topics_wrap_at_the_edge_of_the_terminal(council):
    topic = " ".join(["a rather long topic"] * 10)
    assert council("convene", topic, "--agents", "owl,gecko").code == 0

    seen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen(council, "status"))
    piped = council("list").out.splitlines()

    assert len(seen.splitlines()[0]) > 70
    assert max(map(len, seen.splitlines())) <= 80
    assert len(piped) == 2
    assert piped[1].endswith(topic)
