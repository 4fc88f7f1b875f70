"""Commands that pages name in running text and tables: they are real, shown by help, and work."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from council.commands.options import ROWS, Command, Option, command, is_group, names
from tests.conftest import Council
from tests.docs.pages import HOUSE, READ, Named, inline, named, text_of
from tests.docs.stand_ins import FOREIGN, FOREIGN_COMMANDS, put_stand_ins
from tests.drivers.programs import printed
from tests.examples import one_in
from tests.test_readme import PROGRAM, SAYS

NOW = "2026-02-08T20:00:00Z"
# A word of a page that stands for something of the reader's: `NAME`, `…`, `"…"`, `ID`.
PLACEHOLDER = re.compile(r"[A-Z]+|.*….*")
# What stands for it in the workspace of these tests, by the name of the argument or option.
VALUES = {
    "agent": "henry",
    "as_": "henry",
    "capabilities": "plan",
    "channel": "kitchen",
    "conversation": "active",
    "directory": ".",
    "host": "127.0.0.1",
    "out": "fetched",
    "schema": "schema.json",
    "target": "S1/T1",
    "text": "#CTX:request",
    "topic": "Where do we meet?",
    "wanted": "active",
    "which": "active",
    "who": "henry",
    "account": "123456789012345678",
}
# Where the placeholder of a page means something else, the page says what: by command and word.
MEANT = {
    ("agent add", "ID"): "nova",
    ("agent add", "NAME"): "nova",
    ("agent add", "M"): "llama3.2",
    ("agent add", "URL"): "http://127.0.0.1:11434/v1",
    ("channel create", "ID"): "another",
    ("channel tie", "ROOM"): "kitchen",
    ("channel tie", "ID"): "123456789012345678",
    ("rate", "NAME"): "kettle",
    ("what-if", "NAME"): "indent",
    ("purge", "NAME"): "place",
    ("channel members", "AGENT"): "claude",
    ("msg send", "LINE"): "M3|W1>O1|S|T1|P1|D|-|0|S1|B400|result=Saturday.",
    ("events story", "NAME"): "active",
    ("list", "WORDS"): "kettle",
    ("list", "WORD"): "kettle",
    ("list", "AGENT"): "henry",
    ("restore", "REV"): "1",
    ("diff", "REV"): "1",
    ("show", "TITLE"): "dissent and blockers",
}
# A name that a page made up, and the conversation that stands for it.
EXAMPLES = {"rehearsal-your-question": "place", "weather bot": "kettle"}
# Without one of these a command says that it lacks it, though its parser can do without.
SUBJECTS = {"text", "message", "topic", "channel", "account"}
# They end otherwise than with 0 in that workspace, and ought to, by their first words.
ENDS = {
    "ask --resume": (5,),  # nothing was asked there
    "channel tie": (2, 3, 5, 6),  # there is no Discord: docs/clients/discord.md is played with one
    "doctor": (
        0,
        3,
    ),  # a task there waits for an answer, and the stand-ins of the agents say Yes to everything
    "integrate openclaw --install": (3,),  # no agent there is one of OpenClaw
    "msg send --user": (7,),  # henry answers by hand
    "show --section": (5,),  # no synthesis is written yet
}
# What a page need not say, so that a test does not wait for ever or is asked.
ADDED = {
    "purge": ("--yes",),
    "ask": ("--name", "asked"),
    "agent register": ("--as", "henry"),
    "msg send --user": ("--timeout", "1s"),
}


def name_of(words: list[str]) -> str:
    """Return the name of the command or group that some words begin with, "" for none."""
    for count in (3, 2, 1):
        if (name := " ".join(words[:count])) in ROWS and len(words) >= count:
            return name
    return ""


def named_commands() -> list[Named]:
    """Return what the pages name with `council` before it, and what they name without it."""
    without = [
        Named(page, f"council {one}")
        for page in READ
        for one in dict.fromkeys(inline(page))
        if name_of(one.split()) and (" " in name_of(one.split()) or re.search(r" -|… ", one))
    ]
    return [*named("council"), *without]


def arguments(line: str) -> list[tuple[str, Option | None, str]]:
    """Return each word behind the name of a command as (word, the option it is of, its value).

    A flag has no value; for an argument the word is empty. The option is None where there is none.
    """
    words = shlex.split(line)[1:]
    about = command(name_of(words))
    by_flag = {flag: one for one in about.options for flag in one.flags}
    free = [one for one in about.options if not one.flags]
    found: list[tuple[str, Option | None, str]] = []
    left = words[len(about.name.split()) :][::-1]
    while left:
        word = left.pop()
        option = by_flag.get(word)
        if word.startswith("-") and word != "-":
            takes = option is not None and not option.is_flag and left and left[-1][:1] != "-"
            found.append((word, option, left.pop() if takes else ""))
        else:
            found.append(("", free[0] if free else None, word))
            if free and not free[0].many:
                free.pop(0)
    return found


def faults(line: str) -> list[str]:
    """Say what is wrong with a command line of a page: unknown, hidden, or of no such option."""
    words = shlex.split(line)[1:]
    if not words or words[0] in ("--version", "--install-completion", "COMMAND", "GROUP", "NAME"):
        return []
    name = name_of(words)
    if not name:
        return [f"no such command: {line}"]
    if ROWS[name].hidden:
        return [f"help does not show it: {line}"]
    if is_group(name):
        return [] if words[1:] in ([], ["…"], ["--help"]) else [f"no such command: {line}"]
    wrong = []
    for word, option, value in arguments(line):
        if option is None and word not in ("--help", "-h") and value != "…":
            wrong.append(f"no such option or argument: {word or value} in {line}")
        if option and option.choices and value and not PLACEHOLDER.fullmatch(value):
            wrong += (
                [] if value in option.choices else [f"{value!r} is no {option.metavar}: {line}"]
            )
    return wrong


@pytest.mark.req("FW-001")
@pytest.mark.parametrize("page", READ)
def test_a_command_that_a_page_names_is_shown_by_help_with_its_options(page: str):
    about = [one for one in named_commands() if one.page == page]
    assert [fault for one in about for fault in faults(one.line)] == []


@pytest.mark.req("FW-001")
def test_what_is_wrong_with_a_command_of_a_page_is_seen():
    wrong = ["nonsense", "halt", "status --nonsense", "convene x y", "msg nonsense"]
    wrong += ["schedule --every", "pause --nonsense NAME", "respond --status nonsense TEXT"]
    right = ["status", "msg …", "wait --as ID --timeout 10m", "say TEXT --to NAME", "pause --all"]

    assert [one for one in wrong if not faults(f"council {one}")] == ["schedule --every"]
    assert [one for one in right if faults(f"council {one}")] == []


@pytest.mark.req("FW-001")
def test_the_reference_lists_the_commands_that_help_shows():
    table = text_of("docs/reference.md").partition("## Commands")[2].partition("\n## ")[0]
    listed = {
        one.removesuffix(" …")
        for row in re.findall(r"^\|.*\|$", table, re.M)
        for one in _codes(row)
    }
    assert listed == set(names(""))


def _codes(row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", row)


@pytest.mark.req("FW-001")
@pytest.mark.parametrize("page", READ)
def test_an_option_in_running_text_is_one_of_a_command(page: str):
    known = {flag for name in ROWS for one in command(name).options for flag in one.flags}
    told = {one.split()[0].partition("=")[0] for one in inline(page) if one.startswith("--")}
    assert told - known - {"--help", "--version"} <= _of_others(page)


def _of_others(page: str) -> set[str]:
    """Return options that a page names of programs that are not ours."""
    return {
        "docs/clients/openai.md": {"--api-key"},  # of vLLM
        "CONTRIBUTING.md": {"--keep"},
        "SECURITY.md": {"--preserve-env"},  # of sudo
    }.get(page, set())


@pytest.mark.req("FW-001")
def test_nothing_that_council_shows_teaches_a_name_that_help_hides():
    hidden = "|".join(name for name, row in ROWS.items() if row.hidden)
    told = []
    for folder in ("council", "skills"):
        for path in (HOUSE / folder).rglob("*"):
            if path.suffix in (".py", ".txt", ".md", ".j2", ".json", ".html", ".js"):
                text = path.read_text(encoding="utf-8")
                told += [(path.name, one) for one in re.findall(rf"council (?:{hidden})\b", text)]
    assert [one for one in told if one[0] != "table.py"] == []


# --- They work


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, forks) -> Path:
    """A folder with a home, programs, and a workspace in which something of everything is."""
    folder = tmp_path_factory.mktemp("prepared")
    for name in ("home", "programs", "team"):
        (folder / name).mkdir()
    put_stand_ins(folder / "programs", but=("gemini", "opencode", "llm", "ollama"))
    council = in_folder(folder, forks)
    (council.root / "schema.json").write_text("{}")

    def does(*words: str) -> None:
        done = council(*words, now=NOW, env=environment(council, folder))
        assert done.code == 0, f"{words}: {done.err}"

    does("init", ".", "--agents", "henry,sage")
    for who in ("claude", "codex"):
        says = {**SAYS[who], "*": "Yes."}
        cases = "\n".join(
            f"{on}) printf '%s\\n' {shlex.quote(printed(who, text))};;" for on, text in says.items()
        )
        (folder / "programs" / who).write_text(PROGRAM.format(waits="", cases=cases))
        (folder / "programs" / who).chmod(0o755)
    with (council.root / "council.toml").open("a") as file:
        file.write('\n[agents.claude]\npreset = "claude"\n\n[agents.codex]\npreset = "codex"\n')
    does("convene", "Do we need a kettle?", "--name", "kettle", "--people", "henry,sage",
         "--phases", "collect")  # fmt: skip
    does("respond", "--name", "kettle", "--as", "henry", "Yes.")
    does("archive", "--name", "kettle")
    does("convene", "Tabs?", "--name", "indent", "--procedure", "deliberation",
         "--people", "henry,sage")  # fmt: skip
    who = ("--agents", "henry,sage,ann,bob", "--people", "henry,sage,ann,bob", "--open")
    does("convene", "Where do we meet?", *who)
    does("convene", "And when?", "--name", "place", *who)
    does("respond", "--name", "place", "--as", "henry", "At noon.")
    does("say", "Mind the budget.", "--to", "henry", "--name", "active")
    does("channel", "create", "chat", "kitchen", "--participants", "henry,sage")
    does("artifact", "publish", "council.toml", "--as", "henry")
    does("agent", "join", "--as", "henry", "--caps", "plan")
    does("msg", "send", "--user", "When?", "--caps", "plan")
    does(
        "msg", "send", "M2|W1>O1|C|T1|P1|R|-|0|S1|B450|question=Which day?;options=friday,saturday"
    )
    return folder


def in_folder(folder: Path, forks) -> Council:
    """Return the command in the workspace of a folder."""
    made = Council(folder / "team", folder / "home", forks)
    made.declares = False
    return made


def environment(council: Council, folder: Path) -> dict[str, str]:
    """Return the variables with which the programs of a folder come first."""
    return {"PATH": f"{folder}/programs:{council.env()['PATH']}"}


def whole_commands() -> list[str]:
    """Return the command lines of the pages that can be called as they are, each once."""
    lines = dict.fromkeys(one.line for one in named_commands() if not faults(one.line))
    return [one for one in lines if is_whole(one)]


def is_whole(line: str) -> bool:
    """Say whether a line has all that its command needs; a mere name has not."""
    words = shlex.split(line)[1:]
    name = name_of(words)
    if not name or is_group(name) or "--help" in words or is_foreign(" ".join(words)):
        return False
    given = arguments(line)
    needed = {one.name for one in command(name).options if one.required or one.name in SUBJECTS}
    if {"--resume", "--input", "--all", "--user"} & set(words):
        needed -= SUBJECTS
    return needed <= {one.name for _, one, _ in given if one} and not any(
        one and not one.is_flag and word and not value for word, one, value in given
    )


def is_foreign(words: str) -> bool:
    """Say whether a command is in the list of those that are only read here."""
    asked = re.search(r"^(?:ask|convene) .*--agents (\S+)", words)
    if asked and not set(asked[1].split(",")) <= {"claude", "codex", "henry", "sage", "ann", "bob"}:
        return True  # the program of its page: see FOREIGN
    alone = {"--resume", "--rehearse", "--dry-run"}
    if words.startswith("ask ") and not asked and not alone & set(words.split()):
        return True  # it would wait for the people there; it is played on docs/web.md
    return any(words == one or words.startswith(f"{one} ") for one in FOREIGN_COMMANDS)


def filled(line: str, council: Council) -> list[str]:
    """Return the words of a line with what is in the workspace for its placeholders."""
    words = shlex.split(line)[1:]
    about: Command = command(name_of(words))
    done = about.name.split()
    for word, option, value in arguments(line):
        if value and option and PLACEHOLDER.fullmatch(value):
            value = MEANT.get((about.name, value)) or VALUES.get(option.name, "a word")
            if option.name == "artifact":
                value = council("artifact", "list", "--json").json()[0]["artifactId"]
        done += [EXAMPLES.get(one, one) for one in (word, value) if one]
    return done


@pytest.mark.req("FW-001")
@pytest.mark.parametrize("line", one_in(8, whole_commands()))
def test_a_command_that_a_page_names_works(line: str, prepared: Path, tmp_path: Path, forks):
    folder = tmp_path / "copy"
    shutil.copytree(prepared, folder, ignore=shutil.ignore_patterns(".tmp-*"))
    council = in_folder(folder, forks)
    words = filled(line, council)
    begins = " ".join(words)
    if "--name" not in words and "--yes" not in words:
        words += next((more for one, more in ADDED.items() if begins.startswith(one)), ())

    done = council(*words, now=NOW, env=environment(council, folder), timeout_s=60)

    known = next((codes for one, codes in ENDS.items() if begins.startswith(one)), (0,))
    assert done.code in known, f"{words}: {done.err or done.out}"
    assert "Traceback" not in done.err


@pytest.mark.req("FW-001")
def test_each_command_that_is_only_read_here_is_in_the_list_with_its_reason():
    for name, reason in FOREIGN_COMMANDS.items():
        assert name.split()[0] in ROWS
        assert len(reason) > 5


# --- Other programs


@pytest.mark.req("FW-001")
@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_a_command_of_another_program_is_played_against_its_stand_in(name: str, tmp_path: Path):
    calls = put_stand_ins(tmp_path)
    lines = [one.line for one in named(name) if "$" not in one.line]
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for line in lines if not FOREIGN[name].started_by and name != "make" else []:
        (tmp_path / "server").touch()
        done = subprocess.run(
            ["sh", "-c", line], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, check=False
        )
        assert done.returncode == 0 or name == "openclaw", line
        called = [one.strip() for one in calls.read_text().splitlines()]
        assert " ".join(shlex.split(line)) in called


@pytest.mark.req("FW-001")
def test_every_target_of_make_that_a_page_names_is_there():
    for one in named("make"):
        done = subprocess.run(
            ["make", "-n", *shlex.split(one.line)[1:]], cwd=HOUSE, capture_output=True, check=False
        )
        assert done.returncode == 0, one


@pytest.mark.req("FW-001")
def test_every_module_that_a_page_starts_is_there():
    lines = [one.line.split() for one in named("python") if " -m " in one.line]
    for words in lines:
        assert find_spec(words[words.index("-m") + 1]), words


# --- Before a change is taken in


@pytest.mark.req("FW-001")
def test_a_change_is_taken_in_only_after_a_newcomer_has_played_demo_and_pages():
    script = (HOUSE / ".ci/run").read_text(encoding="utf-8")
    steps = re.findall(r"^(?:step|suite) (.+)$", script, re.MULTILINE)
    newcomer = re.search(r"^first_minute\(\) \(\n(.*?)^\)", script, re.MULTILINE | re.DOTALL)[1]
    commands = [line.strip().removesuffix(" &&") for line in newcomer.splitlines()]

    assert steps[0] == "first_minute"
    assert commands.index('export HOME="$folder/home"') < commands.index(
        'git clone --quiet . "$folder/council"'
    )
    assert commands[-2:] == [
        'make -C "$folder/council" demo',
        'suite make -C "$folder/council" pages',
    ]
