"""Help that teaches, completion, and colours only where a person sees them."""

from __future__ import annotations

import inspect
import io
import os
import pty
import re
import subprocess
import sys
from importlib import import_module

import pytest
import typer.core

from council import __version__
from council.cli import front_page
from council.cli.loading import whole
from council.commands import options
from council.commands.options import ROWS
from council.core.conversations.procedures import MODES, ORDERS, PROCEDURES
from tests.cli.commands import all_commands, shortest

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
    except OSError:  # how Linux says that no process has the other side any more
        pass
    os.close(ours)
    assert process.wait(timeout=300) == 0
    return shown.decode()


@pytest.mark.parametrize("name", sorted(all_commands()))
def test_the_help_of_every_command_teaches(name: str):
    command = all_commands()[name]
    text = command.help or ""

    summary = text.split("\n\n")[0]
    assert re.match(r"[A-Z].{10,}[.]$", summary.replace("\n", " ")), summary
    assert "Example" in text
    assert f"council {name}" in text
    examples = [line for line in text.splitlines() if line.lstrip().startswith("$ ")]
    assert examples
    assert max(map(len, examples)) <= 78, "an example is shown whole on a screen of 80 columns"
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


HEADINGS = [
    "Workspace",
    "Conversations",
    "Agents and rooms",
    "Artifacts and events",
    "Many machines",
    "Programs",
]
FIRST = ["init", "ask", "convene", "respond", "status"]
FIRST += ["show", "explain", "list", "heartbeat", "doctor", "serve", "demo"]


def shown_commands() -> list[str]:
    """Return the commands and groups that are no old names."""
    return options.names("")


def on_terminal(council, *words: str) -> str:
    """Return what a terminal shows, without colours."""
    shown = screen(council, *words)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).replace("\r", "")


def test_a_terminal_shows_the_commands_in_panels_in_order(council):
    shown = on_terminal(council, "help")

    panels = re.findall(r"^╭─ (.+?) ─", shown, re.MULTILINE)
    assert panels == ["Options", *HEADINGS]
    for name in shown_commands():
        assert re.search(rf"│ {name} ", shown), name


def test_help_prints_all_commands_in_panels_in_order(council, tmp_path):
    asked = council("help", cwd=tmp_path, env=WIDTH)

    assert asked.code == 0
    panels = re.findall(r"^(\S.+):$", asked.out, re.MULTILINE)
    assert panels == ["Options", *HEADINGS]
    for name in shown_commands():
        assert re.search(rf"^  {name} ", asked.out, re.MULTILINE), name
    assert max(map(len, asked.out.splitlines())) <= 80


def test_the_first_page_shows_twelve_commands_and_the_way_to_the_rest_on_one_screen(
    council, tmp_path
):
    alone = council(cwd=tmp_path, env=WIDTH)
    asked = council("--help", cwd=tmp_path, env=WIDTH)

    assert (alone.code, asked.code) == (2, 0)
    assert alone.out.split() == asked.out.split()
    assert re.findall(r"^  ([a-z]+)  ", asked.out, re.MULTILINE) == FIRST
    assert "council help" in asked.out
    for page in (asked.out, on_terminal(council, "--help")):
        assert len(page.splitlines()) < 24
        assert max(map(len, page.splitlines())) <= 80
        named = page.partition("council help GROUP")[2]
        for heading in HEADINGS:
            word = heading.split()[0].lower()
            assert word in named
            one = council("help", word, cwd=tmp_path, env=WIDTH)
            assert re.findall(r"^(\S.+):$", one.out, re.MULTILINE) == [heading]


def test_help_of_a_command_is_its_page_and_of_a_word_that_is_none_says_so(council, tmp_path):
    asked = council("help", "events", "tail", cwd=tmp_path, env=WIDTH)
    page = council("events", "tail", "--help", cwd=tmp_path, env=WIDTH)
    assert (asked.code, asked.out) == (0, page.out)

    wrong = council("help", "nonsense", cwd=tmp_path)
    assert (wrong.code, wrong.out) == (2, "")
    assert "No such command 'nonsense'" in wrong.err


OLD = [name for name, row in ROWS.items() if row.hidden]


@pytest.mark.parametrize("name", OLD)
def test_an_old_name_is_shown_nowhere_and_works(council, name: str):
    assert council(*name.split(), "--help").code == 0
    group, _, word = name.rpartition(" ")
    page = council(*group.split(), "--help") if group else council("help")
    assert page.code == 0
    assert not re.search(rf"^  {word} ", page.out, re.MULTILINE)


def test_the_table_offers_the_choices_that_the_rules_know():
    chosen = {one.name: one for one in options.command("convene").options}
    assert chosen["procedure"].metavar == "|".join(PROCEDURES)
    assert chosen["order"].choices == tuple(ORDERS)
    assert set(MODES) == set(re.findall(r"[a-z]+", chosen["mode"].help)) & set(MODES)


def test_the_front_page_says_of_every_command_what_its_own_help_says():
    council = whole()
    for name in options.names(""):
        text = council.get_command(None, name).help or ""
        summary = " ".join(text.split("\n\n")[0].split())
        assert ROWS[name].summary == summary, f"council {name} --help says: {summary}"
        assert summary.isascii(), f"the columns of the front page are counted in letters: {name}"


def test_every_group_of_the_table_has_its_commands():
    for name in filter(options.is_group, ROWS):
        group = whole()
        for word in name.split():
            group = group.get_command(None, word)
        found = group.list_commands(None)
        assert list(found) == options.names(name)
        assert len(set(found)) == len(list(found)), f"{name} has two commands of one name"
        assert all(group.get_command(None, word).name == word for word in found)


def test_every_command_of_the_table_has_its_function_and_its_parameters():
    for name in filter(lambda name: not options.is_group(name), ROWS):
        one = options.command(name)
        function = getattr(import_module(options.module_path(one.module)), one.function)
        given = {option.name for option in one.options} | {"place", "values", *one.fixed}
        asked = set(inspect.signature(function).parameters)
        assert asked - given <= {"only"}, name


def loaded(council, *words: str) -> set[str]:
    """Return the modules that a command line loads."""
    report = council.root.parent / "loaded.txt"
    script = (
        "import sys, council.__main__ as way_in\n"
        f"way_in._leave = lambda code: open({str(report)!r}, 'w').write(' '.join(sys.modules))\n"
        f"sys.argv = ['council', *{list(words)!r}]\n"
        "way_in.main()\n"
    )
    argv = [sys.executable, "-c", script]
    subprocess.run(argv, env=council.env(), cwd=council.root, check=True, capture_output=True)
    return set(report.read_text().split())


def holding_commands() -> set[str]:
    """Return the names of all modules that hold commands."""
    return {options.module_path(row.module) for row in ROWS.values() if row.module}


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_the_front_page_loads_no_command_and_no_parser(council, words: tuple[str, ...]):
    modules = loaded(council, *words)

    assert not modules & (holding_commands() | {"typer", "rich", "click", "inspect"})


@pytest.mark.parametrize("name", ["show", "agent list", "turn status", "msg build"])
def test_a_command_loads_its_own_module_and_no_other(council, name: str):
    modules = loaded(council, *name.split(), *shortest(name)[len(name.split()) :])

    assert modules & holding_commands() == {options.module_path(ROWS[name].module)}


@pytest.mark.parametrize(
    "name", ["show", "agent list", "turn status", "msg build", "agent", "turn"]
)
def test_the_help_of_a_command_loads_none(council, name: str):
    assert not loaded(council, *name.split(), "--help") & holding_commands()


def test_a_word_that_is_no_command_loads_none(council):
    assert not loaded(council, "nonsense") & holding_commands()


def test_the_front_page_says_of_the_options_what_typer_says(monkeypatch):
    group = whole()
    said = {}
    for one in group.get_params(typer.core._click.Context(group)):
        said[max(one.opts, key=len)] = " ".join((one.help or "").split())
    assert said == {long: text for long, _, text in front_page.OPTIONS}


class Terminal(io.StringIO):
    """A standard output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def drawn(monkeypatch, env: dict[str, str], encoding: str = "utf-8") -> str:
    """Return the front page as a terminal shows it."""
    terminal = Terminal()
    monkeypatch.setattr(Terminal, "encoding", encoding)
    monkeypatch.setattr(sys, "stdout", terminal)
    for name in ("COLUMNS", "NO_COLOR", "TERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return front_page.page()


@pytest.mark.parametrize("columns", [40, 60, 80, 133, 300])
def test_the_boxes_are_as_wide_as_the_terminal(monkeypatch, columns: int):
    shown = drawn(monkeypatch, {"COLUMNS": str(columns), "TERM": "dumb"})

    boxed = [line for line in shown.splitlines() if line[:1] in "╭│╰" and line]
    assert {len(line) for line in boxed} == {max(columns, 50)}
    for name in FIRST:
        said = " ".join(ROWS[name].summary.split())
        assert said in " ".join(re.sub(r"[│╭╰╮╯─]", " ", shown).split()), name


def test_colours_of_the_front_page_go_where_they_are_wanted(monkeypatch):
    assert ESCAPE + "1;36m" in drawn(monkeypatch, {"TERM": "xterm"})
    without = drawn(monkeypatch, {"TERM": "xterm", "NO_COLOR": "1"})
    assert ESCAPE + "1m" in without
    assert ESCAPE + "1;3" not in without
    assert ESCAPE not in drawn(monkeypatch, {"TERM": "dumb"})
    assert "╭" not in drawn(monkeypatch, {"TERM": "xterm"}, encoding="ascii")


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
    assert completed("council events ") == ["tail", "story", "export", "schema"]
    assert not {"halt", "watch", "prompt", "inject"} & set(completed("council "))


def test_completion_knows_the_names_of_conversations_agents_and_rooms(opened, tmp_path):
    words = ("channel", "create", "chat", "lobby", "--participants", "owl,gecko", "--as", "owl")
    assert opened("init", "--agents", "owl,gecko").code == 0
    assert opened(*words).code == 0

    def completed(line: str, **more: str) -> list[str]:
        at = len(line.split()) - (not line.endswith(" "))
        env = {"_COUNCIL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(at)}
        return opened(env={**env, **more}).out.split()

    assert completed("council show ") == ["active"]
    assert completed("council show --name a") == ["active"]
    assert completed("council respond --as g") == ["gecko"]
    assert completed("council channel show ") == ["lobby"]
    assert {"active", "lobby", "owl"} <= set(completed("council say --to "))
    assert completed("council respond --as g", COUNCIL_TASK_ID="t") == []
    assert completed(f"council show --root {tmp_path} ") == []


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


def test_a_narrow_terminal_shows_the_path_of_minutes_in_one_piece(council):
    topic = "Should the tea kitchen of the second floor get another kettle?"
    assert council("convene", topic, "--agents", "owl,gecko").code == 0
    minutes = council("cancel", "--json").json()["minutes"]

    seen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen(council, "list", "--archived"))

    path = os.path.relpath(minutes, council.root)
    assert path in [line.strip() for line in seen.splitlines()]
    (line,) = [one for one in seen.splitlines() if topic[:20] in one]
    assert "cancelled" in line
    piped = council("list", "--archived").out.splitlines()
    assert len(piped) == 2
    assert topic in piped[1]
    assert path in piped[1]


def test_long_topics_wrap_at_the_edge_of_the_terminal(council):
    topic = " ".join(["a rather long topic"] * 10)
    assert council("convene", topic, "--agents", "owl,gecko").code == 0

    seen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen(council, "status"))
    piped = council("list").out.splitlines()

    assert len(seen.splitlines()[0]) > 70
    assert max(map(len, seen.splitlines())) <= 80
    assert len(piped) == 2
    assert piped[1].endswith(topic)
