"""What the pages state is tried: a row of the table is a page, its words, and what shows them.

To add a statement: write a function under `@stated(page, words)`. It gets a `Ground`: an empty
folder with the command, a home and programs. The words must be on the page as they are here, so
whoever changes the page meets the check.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from council.commands.options import ROWS, command, is_group
from council.core import errors
from council.core.delegation.delegation import DEFAULTS as GUARDS
from council.core.rooms.channels import FloorRules, floor_rules
from council.drivers.programs import PRESETS
from council.store.protocol.task_settings import task_rules
from council.store.settings import Settings, settings_of
from tests.conftest import Council, Ran
from tests.docs.pages import DOCS, blocks, text_of
from tests.docs.stand_ins import put_stand_ins
from tests.operations.tables import until
from tests.web.serving import serving

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
# An agent program that does what its file says.
PROGRAM = "#!/bin/sh\ncat >/dev/null\n{does}\n"


class Ground:
    """A folder in which a statement is tried: a workspace `here`, which is not made yet."""

    def __init__(self, council: Council, folder: Path) -> None:
        council.declares = False
        self.council, self.folder, self.here = council, folder, folder / "team"
        self.programs = folder / "programs"
        self.here.mkdir()
        self.programs.mkdir()
        self.calls = put_stand_ins(
            self.programs, but=("gemini", "opencode", "llm", "ollama", "openclaw")
        )

    def does(self, *words: str, after: timedelta = timedelta(), **given: Any) -> Ran:
        """Run a command in the workspace, some time after the beginning."""
        env = {"PATH": f"{self.programs}:{self.council.env()['PATH']}", **given.pop("env", {})}
        cwd = given.pop("cwd", self.here)
        return self.council(*words, now=NOW + after, cwd=cwd, env=env, **given)

    def is_done(self, *words: str, **given: Any) -> str:
        """Run a command that must succeed; return what it printed."""
        done = self.does(*words, **given)
        assert done.code == 0, f"{words}: {done.err or done.out}"
        return done.out

    def has_agents(self, *agents: str, settings: str = "", does: str = "echo Yes.") -> None:
        """Make the workspace with agents that are run by a program of ours."""
        (self.programs / "my-agent").write_text(PROGRAM.format(does=does))
        (self.programs / "my-agent").chmod(0o755)
        self.is_done("init", "--agents", ",".join(agents))
        with (self.here / "council.toml").open("a") as file:
            file.write("".join(f'\n[agents.{one}]\nargv = ["my-agent"]\n' for one in agents))
            file.write(f"\n{settings}\n")

    def has_people(self, *words: str) -> None:
        """Open a council of ann and bob, who answer by hand."""
        self.is_done("init", "--agents", "henry,sage")
        who = ("--agents", "ann,bob", "--people", "ann,bob")
        self.is_done("convene", "Where do we meet?", *who, *words)


class Statement(NamedTuple):
    """What a page states."""

    page: str
    words: str


Check = Callable[[Ground], None]
STATEMENTS: dict[Check, list[Statement]] = {}


def stated(page: str, words: str) -> Callable[[Check], Check]:
    """Put a check beside the words of a page that it tries."""

    def put(check: Check) -> Check:
        STATEMENTS.setdefault(check, []).append(Statement(page, words))
        return check

    return put


# --- README


@stated("README.md", "in a new folder it asks before it creates files")
def _nothing_is_made_unasked(ground: Ground) -> None:
    for name in ("claude", "codex"):
        (ground.programs / name).write_text(PROGRAM.format(does="echo Yes."))
        (ground.programs / name).chmod(0o755)
    done = ground.does("ask", "Where?", stdin="n\n")
    assert done.code != 0
    assert [*ground.here.iterdir()] == []


@stated(
    "README.md",
    "By default it stops at 40 runs, 1,000,000 tokens or $5; unreported tokens are estimated",
)
@stated("docs/agents.md", "By default `ask` stops at 40 runs, 1,000,000 tokens or 5 dollars.")
def _ask_has_a_ceiling(ground: Ground) -> None:
    ground.has_agents("nova", "sage")
    shown = ground.is_done("ask", "Where?", "--dry-run", "--json")
    assert json.loads(shown)["ceiling"] == {"runs": 40, "tokens": 1_000_000, "usd": 5.0}


@stated("README.md", "A council of people needs no agent program.")
def _people_alone(ground: Ground) -> None:
    ground.has_people("--phases", "collect")
    for who in ("ann", "bob"):
        ground.is_done("respond", "--as", who, "At the harbour.")


# --- Agents


@stated(
    "docs/agents.md",
    "A run may take 120 seconds; with a preset, a model behind a server or OpenClaw 15 minutes.",
)
@stated("docs/agents.md", "At most four agents run at once.")
@stated("docs/agents.md", "A failed run is tried twice more.")
def _limits_of_a_run(ground: Ground) -> None:
    usual = Settings()
    assert usual.timeout_of(usual.agent("nova")) == timedelta(seconds=120)
    named = settings_of(tomllib.loads(
        '[agents.a]\npreset = "claude"\n[agents.b]\nbase_url = "http://127.0.0.1/v1"\nmodel = "m"\n'
        '[agents.c]\ndriver = "openclaw"\n'
    ))  # fmt: skip
    assert {named.timeout_of(one) for one in named.agents.values()} == {timedelta(minutes=15)}
    assert (usual.max_runs, len(usual.retry_backoff)) == (4, 2)


@stated("docs/agents.md", "`council convene` takes the same options.")
def _convene_takes_ceilings(ground: Ground) -> None:
    for name in ("ask", "convene"):
        flags = {flag for one in command(name).options for flag in one.flags}
        assert {"--max-runs", "--max-tokens", "--max-cost"} <= flags


@stated(
    "docs/agents.md",
    "A changed limit, like every change of `council.toml`, applies from the next run "
    "that is started, also in councils under way.",
)
@stated("docs/agents.md", "When a cap is reached, no more runs are started")
def _a_lowered_cap_holds(ground: Ground) -> None:
    go = ground.folder / "go"
    waits = f"until [ -e '{go}' ]; do sleep 0.05; done; echo Yes."
    ground.has_agents("nova", "sage", settings="[limits]\nmax_runs_per_day = 60", does=waits)
    ground.is_done("convene", "Where?", "--agents", "nova,sage", "--phases", "collect,challenge")
    file = ground.here / "council.toml"
    file.write_text(file.read_text().replace("max_runs_per_day = 60", "max_runs_per_day = 1"))
    go.touch()
    until(lambda: "CHALLENGE" in ground.is_done("status"), "the next phase")
    ground.does("heartbeat", "--wait", "2s")
    started = [one for one in events(ground) if one["type"] == "task.started"]
    assert len(started) == 2


def events(ground: Ground, **given: Any) -> list[dict[str, Any]]:
    """Return all that happened."""
    lines = ground.is_done("events", "tail", "--json", "--lines", "1000", **given).splitlines()
    assert lines
    return [json.loads(line) for line in lines]


@stated(
    "docs/agents.md",
    "It exits with 0 if at least one agent answered in time, whether they agreed or not",
)
@stated("docs/agents.md", "with 1 if all agents failed or a person ended it")
def _exits_of_ask(ground: Ground) -> None:
    ground.has_agents("nova", "sage", settings="[limits]\nfailures_before_rest = 0")
    file = ground.here / "council.toml"
    file.write_text(f"retry_backoff = []\n{file.read_text()}")
    assert ground.does("ask", "Where?", "--name", "works").code == 0
    (ground.programs / "my-agent").write_text(PROGRAM.format(does="exit 1"))
    assert ground.does("ask", "When?", "--name", "fails").code == 1


@stated(
    "docs/agents.md",
    "A program that fails within seconds and in the same way is tried again at once",
)
def _what_fails_at_once_waits_for_no_pause(ground: Ground) -> None:
    ground.has_agents("nova", "sage", does="exit 1")
    # The clock stands still: a pause of ten seconds would never be over.
    assert ground.does("ask", "Where?", "--phases", "collect", timeout_s=120).code == 1


@stated(
    "docs/agents.md",
    "To replace one, put a template of the same name, such as `turn.md.j2`, into "
    "`prompts/` or `prompts/en/` of the workspace.",
)
def _templates(ground: Ground) -> None:
    ground.has_people()
    (ground.here / "prompts").mkdir()
    (ground.here / "prompts/turn.md.j2").write_text("Hello, {{ topic }}")
    assert "Hello, Where do we meet?" in ground.is_done("context", "--as", "ann")


# --- Conversations


@stated("docs/conversations.md", "`init` creates one and never overwrites anything")
def _init_overwrites_nothing(ground: Ground) -> None:
    (ground.here / "council.toml").write_text("max_runs = 2\n")
    ground.is_done("init", "--agents", "henry,sage")
    assert (ground.here / "council.toml").read_text() == "max_runs = 2\n"


@stated(
    "docs/conversations.md",
    "`council show --section synthesis` prints the synthesis as it was written",
)
def _a_section_with_headings_of_its_own(ground: Ground) -> None:
    ground.has_people("--phases", "collect,synthesize")
    for who in ("ann", "bob"):
        ground.is_done("respond", "--as", who, "At the harbour.")
    ground.is_done(
        "synthesize", "--as", "ann", "## Decision\n\nAt the harbour.\n\n## Risks\n\nRain."
    )
    shown = ground.is_done("show", "active", "--archived", "--section", "synthesis")
    assert "At the harbour." in shown and "Rain." in shown


@stated(
    "docs/conversations.md",
    "exits with 0 when it is its turn, 8 when the council is over, 7 when the time has passed.",
)
def _exits_of_wait(ground: Ground) -> None:
    ground.has_people("--phases", "collect")
    assert ground.does("wait", "--as", "ann", "--timeout", "1s").code == 0
    ground.is_done("respond", "--as", "ann", "At the harbour.")
    assert ground.does("wait", "--as", "ann", "--timeout", "1s").code == 7
    ground.is_done("archive")
    assert ground.does("wait", "--as", "ann", "--timeout", "1s").code in (5, 8)


@stated("docs/conversations.md", "`--check` it only says so and records nothing.")
def _check_records_nothing(ground: Ground) -> None:
    ground.has_people()
    before = (ground.here / "memory/shared/council-active-conversation.md").read_bytes()
    ground.is_done("respond", "--as", "ann", "At the harbour.", "--check")
    assert (ground.here / "memory/shared/council-active-conversation.md").read_bytes() == before


@stated(
    "docs/conversations.md",
    "A line starting with `BLOCKING:` raises an issue; there is no consensus until it is solved.",
)
def _blocking(ground: Ground) -> None:
    ground.has_people("--phases", "collect,challenge")
    for who in ("ann", "bob"):
        ground.is_done("respond", "--as", who, "At the harbour.")
    said = ground.is_done(
        "respond", "--as", "ann", "--status", "agreed", "Yes.\n\nBLOCKING: who has the key?"
    )
    ground.is_done("respond", "--as", "bob", "--status", "agreed", "Yes.")
    assert "who has the key?" in said
    reached = json.loads(ground.is_done("show", "--json"))["convergence"]
    assert (reached["hasConsensus"], reached["blockingIssues"]) == (False, ["who has the key?"])


@stated(
    "docs/answering.md",
    "An answer is final: a second, different text for the same phase is refused (exit 4).",
)
def _an_answer_is_final(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("respond", "--as", "ann", "At the harbour.")
    assert ground.does("respond", "--as", "ann", "At the harbour.").code == 0
    assert ground.does("respond", "--as", "ann", "At the station.").code == 4


@stated("docs/answering.md", "`export COUNCIL_AGENT=ann` saves you `--as ann`.")
def _the_variable_says_who(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("respond", "At the harbour.", env={"COUNCIL_AGENT": "ann"})


@stated(
    "docs/answering.md",
    "You are listed as absent, and a late answer is kept in the minutes but does not count.",
)
def _a_late_answer_is_kept(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("respond", "--as", "ann", "At the harbour.")
    task = json.loads(ground.is_done("context", "--as", "bob", "--json"))["task"]
    ground.is_done("heartbeat", after=timedelta(hours=2))
    late = ground.does(
        "respond", "--as", "bob", "--task", task, "Too late.", after=timedelta(hours=2)
    )
    assert late.code == 4
    ground.is_done("archive", after=timedelta(hours=2))
    minutes = next((ground.here / "conseils").glob("*.md")).read_text()
    assert "Too late." in minutes and "NO RESPONSE" in minutes


# --- Operating and maintaining


@stated("docs/operating.md", "Its exit code is 0 either way; with `--json` it returns `ok`.")
def _problems(ground: Ground) -> None:
    ground.has_people()
    assert "ok" in json.loads(ground.is_done("status", "--problems", "--json"))
    ground.is_done("pause", "--all")
    assert json.loads(ground.is_done("status", "--problems", "--json"))["ok"] is False


@stated("docs/operating.md", "`council pause --all` halts the workspace: no run is started")
def _a_halt(ground: Ground) -> None:
    ground.has_agents("nova", "sage")
    ground.is_done("pause", "--all")
    ground.is_done("convene", "Where?", "--agents", "nova,sage")
    assert not [one for one in events(ground) if one["type"] == "task.started"]


@stated("docs/operating.md", "A new hook gets only later events.")
@stated("docs/operating.md", "Each hook gets each event once and in order")
def _hooks_get_later_events(ground: Ground) -> None:
    ground.has_people()
    with (ground.here / "council.toml").open("a") as file:
        file.write("\n[hooks]\nclosed = ['sh', '-c', 'cat >>got']\n")
    ground.is_done("heartbeat")
    ground.is_done("cancel")
    ground.is_done("heartbeat")
    got = ground.here / "got"
    until(lambda: got.exists() and got.stat().st_size, "the hook")
    ground.is_done("heartbeat")
    assert got.read_text().count('"conversation.archived"') == 1
    assert "conversation.opened" not in got.read_text()


@stated("docs/operating.md", "Publishing the same bytes again changes nothing.")
@stated("docs/operating.md", "a damaged artifact ends with exit code 3")
def _artifacts(ground: Ground) -> None:
    ground.is_done("init", "--agents", "henry,sage")
    for _ in range(2):
        ground.is_done("artifact", "publish", "council.toml", "--as", "henry")
    [one] = json.loads(ground.is_done("artifact", "list", "--json"))
    [data] = [
        path
        for path in (ground.here / "memory/shared/artifacts").rglob("*")
        if path.is_file() and not path.name.endswith(".meta.json")
    ]
    data.chmod(0o644)
    data.write_bytes(b"x" + data.read_bytes()[1:])
    assert ground.does("artifact", "fetch", one["artifactId"], "--out", "x").code == 3
    assert not (ground.here / "x").exists()


@stated(
    "docs/operating.md",
    "`council purge NAME` removes one conversation, room or context (`S1`) for good "
    "from everywhere in the workspace",
)
def _purge(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("respond", "--as", "ann", "A word that nobody else says: zanzibar.")
    ground.is_done("archive")
    ground.is_done("purge", "active", "--yes")
    assert not [
        path
        for path in ground.here.rglob("*")
        if path.is_file() and b"zanzibar" in path.read_bytes()
    ]


@stated("docs/maintaining.md", "Any copy of the workspace is a backup")
def _a_copy_is_a_backup(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("respond", "--as", "ann", "At the harbour.")
    copy = ground.folder / "copy"
    shutil.copytree(ground.here, copy)
    shutil.rmtree(ground.here)
    ground.is_done("respond", "--as", "bob", "At the harbour.", cwd=copy)
    assert "CHALLENGE" in ground.is_done("status", cwd=copy)


@stated("docs/maintaining.md", "council writes a `.gitignore` for them.")
def _git_takes_no_secret(ground: Ground) -> None:
    ground.has_agents("nova", "sage")
    ground.is_done("convene", "Where?", "--agents", "nova,sage", "--phases", "collect")
    ground.does("heartbeat", "--wait", "20s")
    subprocess.run(["git", "init", "-q"], cwd=ground.here, check=True)
    subprocess.run(["git", "add", "-A"], cwd=ground.here, check=True)
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ground.here, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert "council.toml" in listed
    assert [one for one in listed if re.search(r"key$|token|/runs/|/sealed/|/tasks/", one)] == []


@stated(
    "docs/maintaining.md",
    "in another clone an open council continues from its file, without its history.",
)
def _a_clone_goes_on(ground: Ground) -> None:
    ground.has_people("--open")
    ground.is_done("respond", "--as", "ann", "At the harbour.")
    git = ("git", "-c", "user.name=ann", "-c", "user.email=ann@example.org")
    clone = ground.folder / "clone"
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=ground.here, check=True)
    subprocess.run([*git, "clone", "-q", ground.here, clone], check=True)
    ground.is_done("respond", "--as", "bob", "At the harbour.", cwd=clone)
    assert "CHALLENGE" in ground.is_done("status", cwd=clone)
    assert "history.lost" in ground.is_done("history", cwd=clone)


@stated(
    "docs/maintaining.md",
    "An older council reads files of a newer version and refuses to write them",
)
def _newer_files(ground: Ground) -> None:
    ground.has_people()
    file = ground.here / "memory/shared/council-active-conversation.md"
    text = re.sub(r'"schemaVersion": \d+', '"schemaVersion": 99', file.read_text())
    file.write_text(text)
    done = ground.does("respond", "--as", "ann", "At the harbour.")
    assert done.code == 3 and "99" in done.err


@stated("docs/maintaining.md", "remove the clock and what was put into other programs")
@stated("docs/maintaining.md", "Remove the files of environment variables in `~/.config/council/`")
def _nothing_is_left_of_an_uninstalled_workspace(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("schedule", "--cron", "--install")
    ground.is_done("schedule", "--cron", "--remove")
    home = ground.council.home
    left = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    ours = [one for one in left if one not in ("tab", "writes", "systemctl")]
    assert all(one.startswith(".config/council/") and one.endswith(".env") for one in ours), ours
    assert "council" not in (home / "tab").read_text()


@stated("docs/maintaining.md", "`memory/shared/.council/runs/TASK.AGENT.ATTEMPT.log`")
def _logs_of_runs(ground: Ground) -> None:
    ground.has_agents("nova", "sage")
    ground.is_done("convene", "Where?", "--agents", "nova,sage", "--phases", "collect")
    runs = ground.here / "memory/shared/.council/runs"
    until(lambda: [*runs.glob("*.nova.1.log")], "a log")
    assert [*runs.glob("*.nova.1.prompt.md")]


@stated("docs/maintaining.md", "points at the old place, and the command that removes it.")
@stated("docs/maintaining.md", "`council doctor` names a clock that still points at the old place")
def _a_stale_clock(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("schedule", "--cron", "--install")
    moved = ground.folder / "moved"
    ground.here.rename(moved)
    assert "old-clock" in json.dumps(ground.does("doctor", "--json", cwd=moved).json())
    ground.is_done("schedule", "--cron", "--remove", cwd=moved)
    assert str(ground.here) not in (ground.council.home / "tab").read_text()


@stated(
    "docs/clients/hooks.md",
    "`council doctor` names a hook that does not exist, a hook that is not a "
    "command, a program that is missing, and a hook whose last delivery failed.",
)
def _doctor_names_hooks(ground: Ground) -> None:
    ground.is_done("init", "--agents", "ann,bob")
    file = ground.here / "council.toml"
    whole = file.read_text()
    for line in ('cloned = ["true"]', "closed = 5", 'closed = ["no-such-program"]'):
        file.write_text(f"{whole}\n[hooks]\n{line}\n")
        done = ground.does("doctor", "--json")
        faults = [
            one for one in done.json()["findings"] if not one["ok"] and one["what"] == "hooks"
        ]
        assert faults, line
    file.write_text(f'{whole}\n[hooks]\nclosed = ["false"]\n')
    ground.is_done("convene", "Where?", "--agents", "ann,bob", "--people", "ann,bob")
    ground.is_done("cancel")
    ground.is_done("heartbeat")
    until(lambda: any(one["type"] == "hook.failed" for one in events(ground)), "a failed hook")
    done = ground.does("doctor", "--json")
    assert [one for one in done.json()["findings"] if not one["ok"] and "hook" in one["what"]]


# --- Reference


@stated("docs/reference.md", "The defaults, and everything that you can set for an agent:")
def _every_setting_of_an_agent(ground: Ground) -> None:
    shown = tomllib.loads(
        next(text for kind, _, text in blocks("docs/reference.md") if kind == "toml")
    )
    agents = shown.pop("agents")
    usual = Settings()
    given = settings_of(shown)
    assert {name: getattr(given, name) for name in shown} == {
        name: getattr(usual, name) or shown[name] for name in shown
    }
    known = set(vars(settings_of({"agents": agents}).agents["henry"]))
    assert settings_of({"agents": agents}).faults == []
    assert set(agents["henry"]) <= known


@stated(
    "docs/reference.md",
    "With `--json` a command prints one JSON document. Commands that run until you "
    "stop them do not have it: `serve`, `link`, `mcp` and `status --watch`.",
)
def _json_everywhere(ground: Ground) -> None:
    without = {
        name
        for name, row in ROWS.items()
        if not is_group(name) and not row.hidden
        if "json" not in {one.name for one in command(name).options}
    }
    assert without == {"serve", "link", "mcp"}


@stated("docs/reference.md", "| exit code | means |")
def _exit_codes(ground: Ground) -> None:
    table = text_of("docs/reference.md").partition("| exit code | means |")[2]
    listed = {int(one) for one in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    known = {
        one.exit_code
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.CouncilError)
    }
    assert known | {0, 8, 130} == listed


@stated("docs/reference.md", "`council doctor` names every line that it does not understand.")
def _doctor_names_lines(ground: Ground) -> None:
    ground.is_done("init", "--agents", "henry,sage")
    with (ground.here / "council.toml").open("a") as file:
        file.write("\n[agents.henry]\nargw = 1\n\n[limitz]\nx = 1\n")
    said = ground.does("doctor").out
    assert "argw" in said and "limitz" in said


@stated(
    "docs/reference.md",
    "Commands use the folder given by `--root`, otherwise by `COUNCIL_ROOT`, "
    "otherwise the nearest one upwards",
)
def _which_workspace(ground: Ground) -> None:
    ground.has_people()
    below = ground.here / "memory/shared"
    other = ground.folder / "other"
    ground.is_done("init", str(other))
    assert "Where" in ground.is_done("status", cwd=below)
    assert "Where" not in ground.is_done("status", cwd=below, env={"COUNCIL_ROOT": str(other)})
    env = {"COUNCIL_ROOT": str(other)}
    assert "Where" in ground.is_done("status", "--root", str(ground.here), cwd=other, env=env)


@stated("docs/reference.md", "| file | what it is |")
def _files(ground: Ground) -> None:
    ground.has_people("--phases", "collect")
    ground.is_done("channel", "create", "chat", "kitchen", "--participants", "ann,bob")
    ground.is_done("agent", "add", "henry", "--account", "123456789012345678")
    ground.is_done("agent", "join", "--as", "henry", "--caps", "plan")
    ground.is_done("heartbeat")
    for path in (
        *("council.toml", "memory/shared/council-active-conversation.md", "memory/shared/channels"),
        *("memory/shared/protocol", "memory/shared/identities.json", "memory/shared/events"),
        *("memory/shared/.council", "memory/shared/BOARD.md", "memory/shared/artifacts"),
        *("memory/shared/briefs", "memory/agents/henry/SOUL.md", "conseils", "skills/council"),
        "memory/agents/ann/tasks",
    ):
        assert (ground.here / path).exists(), path


# --- The other pages


DEFAULTS = {
    "docs/rooms.md": lambda shown: (floor_rules(shown["channels"]), FloorRules()),
    "docs/tasks-and-messages.md": lambda shown: (
        settings_of(shown).protocol if "protocol" in shown else task_rules(settings_of(shown)),
        Settings().protocol if "protocol" in shown else task_rules(Settings()),
    ),
    "docs/delegation.md": lambda shown: (shown["limits"], GUARDS),
}


@pytest.mark.req("FW-014")
@pytest.mark.parametrize("page", DEFAULTS)
def test_settings_that_a_page_calls_defaults_are_those_without_a_line(page: str):
    shown = [tomllib.loads(text) for kind, _, text in blocks(page) if kind == "toml"]
    tables = [one for one in shown if one.keys() & {"channels", "protocol", "tasks", "limits"}]
    assert tables
    for one in tables:
        given, usual = DEFAULTS[page](one)
        assert given == usual


@stated("docs/web.md", "`/` | what needs you, open councils and rooms, new minutes, search |")
@stated("docs/web.md", "`/councils/NAME/at/REV` | the council at an earlier revision")
@stated("docs/web.md", "Pages work without JavaScript")
@stated("docs/web.md", "Without the right token the answer is 401.")
def _pages(ground: Ground) -> None:
    ground.has_people()
    ground.is_done("channel", "create", "chat", "kitchen", "--participants", "ann,bob")
    ground.council.root = ground.here
    with serving(ground.council, ground.folder) as served:
        cookie = served.cookie()
        listed = [
            one
            for row in re.findall(r"^\| (`/.*?) \|", text_of("docs/web.md"), re.MULTILINE)
            for one in re.findall(r"`(/[^`…]*)`", row)
        ]
        assert len(listed) > 10
        for path in listed:
            path = path.replace("NAME", "active").replace("REV", "1").replace("ID", "kitchen")
            assert served.get(path, Cookie=cookie, Authorization=None).status == 200, path
        assert 'type="search"' in served.get("/", Cookie=cookie, Authorization=None).text
        assert served.get("/api/council/status", Authorization="Bearer x").status == 401


@stated(
    "docs/clients/mcp.md",
    "Tools for agents: `context`, `respond`, `vote`, `synthesize`, `wait`, `call`, `message`.",
)
def _tools(ground: Ground) -> None:
    schema = json.loads(text_of("council/schemas/mcp.json"))
    page = (
        text_of("docs/clients/mcp.md").partition("Tools for agents:")[2].partition("Resources:")[0]
    )
    assert {one["name"] for one in schema["tools"]} == set(re.findall(r"`(\w+)`", page))


@pytest.mark.req("FW-014")
@pytest.mark.parametrize("name", [one for one in PRESETS if one != "ollama"])
def test_the_page_of_a_program_names_the_version_that_was_tested(name: str):
    assert f"(tested with {PRESETS[name].version})" in text_of(f"docs/clients/{name}.md")


@stated("docs/clients/discord.md", "numbered fragments of 2,000 characters, at most 20")
def _fragments(ground: Ground) -> None:
    from council.core.rooms.discord_texts import MOST_CHARS, MOST_FRAGMENTS

    assert (MOST_CHARS, MOST_FRAGMENTS) == (2000, 20)


@stated(
    "docs/rooms.md",
    "after 30 cycles without a message from a person, or after three cycles of repetition",
)
def _cycles(ground: Ground) -> None:
    assert (FloorRules().max_cycles, FloorRules().max_repeats) == (30, 3)


@stated("docs/deliberation.md", "at most N rounds before the vote; the default is 5")
def _rules(ground: Ground) -> None:
    ground.is_done("init", "--agents", "a,b,c")
    words = ("convene", "Tabs?", "--procedure", "deliberation", "--agents", "a,b,c", "--json")
    ground.is_done(*words)
    assert json.loads(ground.is_done("show", "--json"))["config"]["maxRounds"] == 5


# --- The table


@pytest.mark.req("FW-014")
@pytest.mark.parametrize("check", STATEMENTS, ids=lambda one: one.__name__.strip("_"))
def test_what_pages_state_is_so(check: Check, council: Council, tmp_path: Path):
    for page, words in STATEMENTS[check]:
        assert words in " ".join(text_of(page).split()), "the page says it otherwise now"
    folder = tmp_path / "ground"
    folder.mkdir()
    check(Ground(council, folder))


@pytest.mark.req("FW-014")
def test_every_page_states_something_that_is_tried():
    tried = {one.page for many in STATEMENTS.values() for one in many} | DEFAULTS.keys()
    played = {page for page in DOCS if any(kind == "console" for kind, _, _ in blocks(page))}
    by_symptom = {"docs/troubleshooting.md"}
    assert set(DOCS) - tried - played - by_symptom == {"docs/glossary.md"}
