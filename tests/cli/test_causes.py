"""Forty faults and more: commands and the page name the same cause and a way out, which works.

Each fault is prepared with real files and programs. `status`, `status --problems`, `explain`,
`doctor` and the page are asked; then the way out that they name is taken, and the cause is gone.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from council.cli.app import run
from council.core import bounds
from council.operations.place import Place
from council.store.tally import edit_tally
from council.web.readings.home import home
from tests.cli.commands import wait_until
from tests.drivers.programs import printed
from tests.faults.mounts import in_memory
from tests.faults.mounts import missing as missing_to_mount

COMMANDS = {
    "status": ["status"],
    "problems": ["status", "--problems"],
    "explain": ["explain", "active"],
    "doctor": ["doctor"],
}
PAGE = "page"
DENIED = "echo 401 invalid api key >&2; exit 1"
WAITS = "conversations"
# Waits at its first attempt until it is killed, and answers at the second.
SLEEPS_ONCE = (
    "cat >/dev/null; [ -e once ] || { touch once; echo $PPID $$ >pids; mv pids killable; "
    "sleep 600; }; echo Yes."
)
HOLDS = """
import os, sys, time
from council.store.lock import Lock
with Lock(sys.argv[1]):
    os.utime(sys.argv[1], (0, 0))
    print("held", flush=True)
    time.sleep(600)
"""


class Case:
    """A workspace with an open council of owl and gecko, in which something is wrong."""

    def __init__(self, council, capsys, patch) -> None:
        self.council, self.root = council, council.root
        self._capsys, self._patch = capsys, patch
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.live = self.root / "memory/shared/council-active-conversation.md"
        self.control = self.root / "memory/shared/.council"
        for name, value in council.env().items():
            patch.setenv(name, value)
        patch.chdir(self.root)
        assert self.run("init", "--agents", "owl,gecko")[0] == 0

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run a command in this process: its exit code, what it printed and what it noted."""
        self._patch.setenv("COUNCIL_NOW", self.now.isoformat())
        code = run(list(words))
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def shell(self, line: str) -> None:
        """Take a way out that is a command line, as a person would who copies it."""
        env = self.council.env(now=self.now)
        done = subprocess.run(["/bin/sh", "-c", line], cwd=self.root, env=env, check=False)
        assert done.returncode == 0, line

    def settings(self, text: str) -> None:
        (self.root / "council.toml").write_text(text)

    def convene(self, settings: str = "", *words: str) -> None:
        if settings:
            self.settings(settings)
        done = self.run("convene", "A bot?", "--agents", "owl,gecko", *words)
        assert done[0] == 0, done

    def wait_until_given_up(self) -> None:
        """Wait until a run has failed of which no other attempt is made in its round."""
        events = self.root / "memory/shared/events"
        wait_until(lambda: any('"final":true' in one.read_text() for one in events.glob("*")))

    def causes(self, command: str) -> dict[str, dict[str, Any]]:
        """Return what a command says in JSON, by the code of the cause."""
        if command == PAGE:
            place = Place(str(self.root), dict(os.environ), self.now)
            return {
                one["what"]: {"said": one["said"], "fix": one["fix"]}
                for one in home(place, {})["problems"]
            }
        _, out, _ = self.run(*COMMANDS[command], "--json")
        found = json.loads(out)
        if command == "doctor":
            return {
                one["cause"]: {"said": one["found"], "fix": one["fix"]}
                for one in found["findings"]
                if one["cause"]
            }
        said = found["hindrances" if command == "explain" else "problems"]
        return {one["what"]: {"said": one["said"], "fix": one["fix"]} for one in said}

    def all_name(self, code: str) -> dict[str, str]:
        """Return the sentence and the way out of a cause, after a check that all say both."""
        found = {command: self.causes(command).get(code) for command in (*COMMANDS, PAGE)}
        first = found["status"]
        assert first and all(one == first for one in found.values()), (code, found)
        for command, words in COMMANDS.items():
            _, out, _ = self.run(*words)
            shown = " ".join(out.split())
            assert first["said"] in shown, (command, first, out)
            assert " ".join(first["fix"].split()) in shown, (command, first, out)
        return first

    def none_names(self, code: str) -> None:
        assert [one for one in (*COMMANDS, PAGE) if code in self.causes(one)] == []


@pytest.fixture
def case(council, capsys, monkeypatch) -> Case:
    return Case(council, capsys, monkeypatch)


def hours_later(case: Case) -> None:
    case.convene()
    case.now += timedelta(hours=2)


def never_beat(case: Case) -> None:
    case.convene()
    case.now += timedelta(hours=2)
    (case.control / "last-heartbeat").unlink()


def seat(program: str) -> Callable[[Case], None]:
    """Return what gives owl a program once the council is open."""

    def prepare(case: Case) -> None:
        case.convene()
        case.settings(f'[agents.owl]\nargv = ["{program}"]\n')

    return prepare


def asks(line: str) -> Callable[[Case], None]:
    """Return what makes owl a model behind a server once the council is open."""

    def prepare(case: Case) -> None:
        case.convene()
        case.settings(f'[agents.owl]\ndriver = "openai"\n{line}\n')

    return prepare


def export_key(case: Case, _said: dict[str, str]) -> None:
    case._patch.setenv("OPENAI_API_KEY", "sk-of-a-test")


def not_executable(case: Case) -> None:
    case.convene()
    program = case.root / "agent.sh"
    program.write_text("#!/bin/sh\necho yes\n")
    case.settings(f'[agents.owl]\nargv = ["{program}"]\n')


def with_settings(text: str) -> Callable[[Case], None]:
    def prepare(case: Case) -> None:
        case.convene()
        case.settings(text)

    return prepare


def denied(code: str, limits: str = "") -> Callable[[Case], None]:
    """Return what makes runs of owl fail, until the cause is seen."""

    def prepare(case: Case) -> None:
        agent = f'[agents.owl]\nargv = ["/bin/sh", "-c", "{DENIED}"]\n'
        case.convene(f'retry_backoff = ["1h"]\n{limits}{agent}')
        case.wait_until_given_up()
        wait_until(lambda: code in case.causes("problems"))

    return prepare


def told(code: str, **result: object) -> Callable[[Case], None]:
    """Return what makes runs of owl fail as claude tells it, until the cause is seen."""

    def prepare(case: Case) -> None:
        said = json.dumps({**json.loads(printed("claude", "No.")), "is_error": True, **result})
        program = case.root.parent / "owl.sh"
        program.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '%s' {shlex.quote(said)}\n")
        program.chmod(0o755)
        case.convene(f'[agents.owl]\nargv = ["{program}"]\noutput = "claude"\n')
        wait_until(lambda: code in case.causes("problems"))

    return prepare


def mute(case: Case) -> None:
    agent = 'argv = ["/bin/sleep", "60"]\noutput = "claude"\nfirst_output = "1s"\n'
    case.convene(f"[agents.owl]\n{agent}")
    wait_until(lambda: "no-sign" in case.causes("problems"))


def homeless(case: Case) -> None:
    agent = '[agents.owl]\nargv = ["/bin/echo", "Yes."]\n'
    gone = case.root.parent / "gone"
    gone.mkdir()
    case.run("halt")
    case.convene(agent, "--cwd", str(gone))
    gone.rmdir()
    case.run("resume", "--all")
    wait_until(lambda: "no-folder" in case.causes("problems"))


def halted(case: Case) -> None:
    case.convene()
    case.run("halt", "--reason", "the bill")


def paused(case: Case) -> None:
    case.convene()
    case.run("pause")


def capped(case: Case) -> None:
    case.convene()
    case.settings("[limits]\nmax_runs_per_day = 1\n")
    place = Place(str(case.root), {}, case.now)
    edit_tally(place.paths, lambda one: bounds.spend(one, "x", case.now, runs=1, tokens=0))


def overwritten(text: str) -> Callable[[Case], None]:
    def prepare(case: Case) -> None:
        case.convene()
        case.live.write_text(text)

    return prepare


def missing(case: Case) -> None:
    case.convene()
    case.live.unlink()


def written(path: str, text: str) -> Callable[[Case], None]:
    def prepare(case: Case) -> None:
        case.convene()
        (case.root / path).parent.mkdir(parents=True, exist_ok=True)
        (case.root / path).write_text(text)

    return prepare


def newer(case: Case) -> None:
    case.convene()
    text = case.live.read_text()
    case.live.with_suffix(".before").write_text(text)
    case.live.write_text(text.replace('"schemaVersion": 1', '"schemaVersion": 7'))


def put_back(case: Case, said: dict[str, str]) -> None:
    """Stand in for the newer council that would be installed: it writes what we can read."""
    assert "doctor --repair" not in said["fix"]
    case.live.with_suffix(".before").replace(case.live)


def killed(case: Case) -> None:
    case.convene(f'retry_backoff = []\n[agents.owl]\nargv = ["/bin/sh", "-c", "{SLEEPS_ONCE}"]\n')
    wait_until((case.root / "killable").exists)
    for one in (case.root / "killable").read_text().split():
        os.kill(int(one), signal.SIGKILL)
    wait_until(lambda: "lost" in case.causes("explain"))


def heard_again(case: Case, said: dict[str, str]) -> None:
    assert "council heartbeat counts it as failed, and it is tried again" in said["fix"]
    case.shell("council heartbeat")
    wait_until(
        lambda: "owl" not in json.loads(case.run("status", "--json")[1])[WAITS][0]["waiting"]
    )


def broken(code: str, line: str, program: str = "") -> Callable[[Case], None]:
    """Return what makes runs of owl fail once, to be tried again later, until the cause is seen."""

    def prepare(case: Case) -> None:
        argv = json.dumps(["/bin/sh", "-c", program or "cat >/dev/null"])
        owl = f"[agents.owl]\nargv = {argv}\n"
        case.convene(f'retry_backoff = ["20m"]\n{owl}{line}\n')
        if "kill" not in program and "tool" not in line:  # it fails at once, and once more
            case.wait_until_given_up()
        wait_until(lambda: code in case.causes("problems"))

    return prepare


def mended(line: str = "", top: str = "") -> Callable[[Case, dict[str, str]], None]:
    """Return what corrects the program of owl, with a line of its own, and lets it answer."""

    def cure(case: Case, said: dict[str, str]) -> None:
        argv = '["/bin/sh", "-c", "cat >/dev/null; echo Yes: a weather bot, for all of us."]'
        case.settings(f"{top}[agents.owl]\nargv = {argv}\n{line}\n")
        case.now += timedelta(minutes=21)
        case.shell("council heartbeat")
        wait_until(
            lambda: "owl" not in json.loads(case.run("status", "--json")[1])[WAITS][0]["waiting"]
        )

    return cure


def strict(case: Case) -> None:
    case.convene('trust = "strict"\n')


def bad_template(case: Case) -> None:
    (case.root / "prompts").mkdir()
    (case.root / "prompts/turn.md.j2").write_text("{{ nonsense( }}")
    case.convene('[agents.owl]\nargv = ["/bin/echo", "Yes."]\n')


def remove_template(case: Case, said: dict[str, str]) -> None:
    (case.root / "prompts/turn.md.j2").unlink()
    case.now += timedelta(minutes=20)
    case.shell("council heartbeat")
    wait_until(lambda: "template" not in case.causes("explain"))


def closed(case: Case) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    case.convene()
    (case.root / "conseils").chmod(0o500)


def no_clock(case: Case) -> None:
    """Let runs of late be fresh, as of work in the background, while a phase is overdue."""
    case.convene()
    case.now += timedelta(hours=2)
    beat = case.control / "last-heartbeat"
    beat.write_text(case.now.strftime("%Y-%m-%dT%H:%M:%SZ\n"))


def key_for_all(case: Case) -> None:
    case.convene()
    (case.control / "key").touch()
    (case.control / "key").chmod(0o644)


def put_right(path: str, text: str) -> Callable[[Case, dict[str, str]], None]:
    """Return what follows a way out that is a sentence: to correct a file."""

    def cure(case: Case, said: dict[str, str]) -> None:
        (case.root / path).write_text(text)

    return cure


def remove_log(case: Case, said: dict[str, str]) -> None:
    (log,) = [word for word in said["fix"].replace(",", " ").split() if word.endswith(".log")]
    (case.root / log).unlink()


def mend_and_probe(case: Case, said: dict[str, str]) -> None:
    assert "exit 1: 401 invalid api key" in said["said"]
    case.settings('[agents.owl]\nargv = ["/bin/echo", "ready"]\n')
    case.shell("council doctor --probe >/dev/null; true")


def make_folder(case: Case, said: dict[str, str]) -> None:
    path = said["said"].rpartition(": ")[2]
    assert f"mkdir -p {path}" in said["fix"]
    case.shell(f"mkdir -p {path}")
    case.none_names("no-folder")
    case.all_name("attempt-failed")
    assert 'by hand: council respond --as owl --name active "…"' in said["fix"]
    case.shell('council respond --as owl --name active "Yes."')
    case.none_names("attempt-failed")


def closed_hook(case: Case) -> None:
    (case.root / "hook.sh").write_text("#!/bin/sh\n")
    case.convene('[hooks]\nclosed = ["./hook.sh"]\n')


def failing_hook(case: Case) -> None:
    hook = case.root / "hook.sh"
    hook.write_text("#!/bin/sh\necho the post is closed >&2; exit 3\n")
    hook.chmod(0o755)
    case.convene('[hooks]\nphase_changed = ["./hook.sh"]\n')
    next_phase(case, "Yes.")
    wait_until(lambda: "hook-failed" in case.causes("problems"))


def hook_at_work(case: Case, said: dict[str, str]) -> None:
    assert "exit 3: the post is closed" in said["said"]
    (case.root / "hook.sh").write_text("#!/bin/sh\n")
    next_phase(case, "Still yes.")
    wait_until(lambda: "hook-failed" not in case.causes("problems"))


def next_phase(case: Case, answer: str) -> None:
    for agent in ("owl", "gecko"):
        case.shell(f"council respond --as {agent} --name active {shlex.quote(answer)}")


_ONE = "[limits]\nfailures_before_rest = 1\n"
_REPAIR = "council doctor --repair"
Cure = str | Callable[[Case, dict[str, str]], None]
# Cause; how it comes about; a word of the way out; the way out, as a line of shell or by hand.
ANSWERS = 'council respond --as owl --name active "Yes."'
NO_ENGINE = '[engine]\nurl = "postgresql://council@127.0.0.1:1/council"\n'
FAULTS: list[tuple[str, Callable[[Case], None], str, Cure]] = [
    ("old-heartbeat", hours_later, "council heartbeat", "council heartbeat"),
    ("no-heartbeat", never_beat, "council heartbeat", "council heartbeat"),
    ("overdue", hours_later, "council heartbeat", "council heartbeat"),
    (
        "overdue",
        hours_later,
        "council extend 30m --name active",
        "council extend 30m --name active",
    ),
    ("setting", with_settings("max_rums = 2\n"), "delete that line", put_right("council.toml", "")),
    ("engine-away", with_settings(NO_ENGINE), "engine status", put_right("council.toml", "")),
    (
        "no-such-limit",
        with_settings("[limits]\nmax_run_per_day = 3\n"),
        "max_runs_per_day",
        put_right("council.toml", "[limits]\nmax_runs_per_day = 3\n"),
    ),
    (
        "hook",
        with_settings('[hooks]\nopened = ["x"]\n'),
        "correct it in council.toml",
        put_right("council.toml", ""),
    ),
    (
        "hook-no-program",
        with_settings('[hooks]\nclosed = ["no-such-program"]\n'),
        "correct closed under [hooks]",
        put_right("council.toml", '[hooks]\nclosed = ["true"]\n'),
    ),
    ("hook-no-right", closed_hook, "chmod +x", "chmod +x hook.sh"),
    ("hook-failed", failing_hook, "the next event that it takes clears this", hook_at_work),
    (
        "routing",
        with_settings('[[bindings]]\nagent = "zed"\npeer = "zoe"\n'),
        "council agent add ID",
        "council agent add zed",
    ),
    (
        "no-program",
        seat("/opt/nope/agent"),
        "correct argv of [agents.owl]",
        put_right("council.toml", '[agents.owl]\nargv = ["/bin/echo"]\n'),
    ),
    (
        "no-model",
        asks('base_url = "http://127.0.0.1:1/v1"'),
        "council agent edit owl --model MODEL",
        "council agent edit owl --model small",
    ),
    ("no-key", asks('model = "small"'), "export OPENAI_API_KEY=KEY", export_key),
    ("no-right", not_executable, "chmod +x", "chmod +x agent.sh"),
    (
        "no-driver",
        with_settings('[agents.owl]\ndriver = "telepathy"\n'),
        "[agents.owl]",
        put_right("council.toml", '[agents.owl]\ndriver = "manual"\n'),
    ),
    (
        "rests",
        denied("rests", "[limits]\nfailures_before_rest = 1\n"),
        "council doctor --probe",
        mend_and_probe,
    ),
    (
        "exit",
        denied("exit"),
        'council respond --as owl --name active "…"',
        'council respond --as owl --name active "Yes."',
    ),
    *(
        (code, told(code, api_error_status=status, terminal_reason=reason), way, ANSWERS)
        for code, status, reason, way in (
            ("key-refused", 401, "", "council doctor --probe"),
            ("limited", 429, "", "council metrics"),
            ("provider", 529, "", "see later if it is back"),
            ("long-prompt", 400, "prompt_too_long", "a model that reads more"),
        )
    ),
    ("no-sign", mute, "first_output", ANSWERS),
    (
        "too-slow",
        broken("too-slow", 'timeout = "1s"', "sleep 60"),
        'timeout = "10m" under [agents.owl]',
        ANSWERS,
    ),
    ("no-answer", broken("no-answer", ""), "it must print its answer", mended()),
    (
        "no-answer-tool",
        broken("no-answer-tool", 'answer = "tool"'),
        'answer = "stdout"',
        mended('answer = "stdout"'),
    ),
    (
        "exit",
        broken("exit", "", "cat >/dev/null; kill -9 $$"),
        "council doctor --probe",
        mended(),
    ),
    ("exit", broken("exit", "", "cat >/dev/null; echo no >&2; exit 3"), "by hand", mended()),
    (
        "attempt-failed",
        broken("attempt-failed", "", "cat >/dev/null; printf 'a\\0b'"),
        "council doctor --probe",
        mended(),
    ),
    (
        "no-command",
        with_settings('[agents.owl]\ndriver = "command"\n'),
        "",
        put_right("council.toml", '[agents.owl]\nargv = ["/bin/echo"]\n'),
    ),
    (
        "by-hand-strict",
        strict,
        'set trust = "open"',
        put_right("council.toml", 'trust = "open"\n'),
    ),
    (
        "moderator",
        written("memory/agents/moderator/SOUL.md", "---\nname: M\n---\n"),
        "",
        "rm -r memory/agents/moderator",
    ),
    ("no-folder", homeless, "mkdir -p", make_folder),
    ("halted", halted, "council resume --all", "council resume --all"),
    ("is-paused", paused, "council resume --name active", "council resume --name active"),
    (
        "cap",
        capped,
        "raise it under [limits]",
        put_right("council.toml", "[limits]\nmax_runs_per_day = 9\n"),
    ),
    ("broken-file", overwritten("no council\n"), _REPAIR, _REPAIR),
    ("broken-file", overwritten(""), _REPAIR, _REPAIR),
    ("broken-file", missing, _REPAIR, _REPAIR),
    ("newer-file", newer, "schemaVersion 7", put_back),
    ("lost", killed, 'council respond --as owl --name active "…"', heard_again),
    ("template", bad_template, "remove it", remove_template),
    ("folder-closed", closed, "chmod u+rwx", "chmod u+rwx conseils"),
    ("key", key_for_all, "chmod 600", "chmod 600 memory/shared/.council/key"),
    (
        "counts",
        written("memory/shared/.council/tally.json", "{"),
        "council doctor --repair",
        "council doctor --repair",
    ),
    (
        "identities",
        written("memory/shared/identities.json", "{"),
        "",
        put_right("memory/shared/identities.json", "[]"),
    ),
    (
        "soul",
        written("memory/agents/owl/SOUL.md", "---\nname: [\n---\n"),
        "correct it there",
        put_right("memory/agents/owl/SOUL.md", "---\nname: Owl\n---\n"),
    ),
    (
        "work-failed",
        written("memory/shared/.council/failures.log", "it broke\n"),
        "then delete it",
        remove_log,
    ),
]


@pytest.mark.req("OP-011", "FW-004.1")
@pytest.mark.parametrize(
    ("code", "prepare", "way", "cure"),
    FAULTS,
    ids=[one[0] for one in FAULTS],
)
def test_commands_and_page_name_one_cause_and_the_way_out_they_name_works(
    case: Case, code: str, prepare: Callable[[Case], None], way: str, cure: Cure
):
    prepare(case)

    said = case.all_name(code)
    assert way in said["fix"]
    if isinstance(cure, str):
        case.shell(cure)
    else:
        cure(case, said)

    case.none_names(code)


@pytest.mark.req("OP-011", "CL-002")
def test_what_failed_in_a_round_that_is_over_is_still_explained(case: Case):
    told("key-refused", api_error_status=401)(case)

    case.shell('council respond --as gecko --name active "Yes."')
    wait_until(lambda: json.loads(case.run("status", "--json")[1])["conversations"][0]["tour"] > 1)

    explained = json.loads(case.run("explain", "active", "--json")[1])
    assert any(one["cameBack"] == "key refused: No." for one in explained["tried"])


@pytest.mark.req("OP-011", "XC-012")
@pytest.mark.parametrize(
    ("lang", "said"), [("en", "which lets others read it"), ("fr", "d'autres la lisent")]
)
def test_people_read_a_cause_in_the_language_of_the_workspace(case: Case, lang: str, said: str):
    key_for_all(case)
    case.settings(f'language = "{lang}"\n')

    for words in COMMANDS.values():
        shown = " ".join(case.run(*words)[1].split())
        assert said in shown and "chmod 600" in shown, (words, shown)


@pytest.mark.req("OP-011")
def test_a_lock_that_is_held_for_long_names_its_holder_and_is_free_once_that_is_ended(case: Case):
    case.convene()
    known = json.loads(case.run("status", "--json")[1])["conversations"][0]["conversationId"]
    lock = f"{case.control}/{known}/lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, lock], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"

        said = case.all_name("lock-stuck")

        assert f"pid {holder.pid}" in said["said"]
        os.kill(holder.pid, signal.SIGTERM)
    finally:
        holder.kill()
        holder.wait()
    case.none_names("lock-stuck")


@pytest.mark.req("OP-011")
def test_something_overdue_without_a_clock_is_said_though_a_heartbeat_ran_just_now(case: Case):
    no_clock(case)

    said = case.all_name("old-heartbeat")

    assert "no clock runs it" in said["said"]
    assert "council schedule --install" in said["fix"]


@pytest.mark.req("OP-011")
@pytest.mark.skipif(bool(missing_to_mount()), reason=missing_to_mount())
def test_a_full_disk_is_named_by_all_four_which_write_nothing(council, capsys, monkeypatch):
    try:
        with in_memory(council.root, "size=4m"):
            case = Case(council, capsys, monkeypatch)
            case.convene()
            with suppress(OSError), (council.root / "filler").open("wb", 0) as file:
                while file.write(bytes(4096)):
                    pass

            said = case.all_name("disk-full")

            assert "0 MiB" in said["said"] and "make room" in said["fix"]
            monkeypatch.chdir("/")
            assert (council.root / "filler").unlink() is None
    except OSError as error:
        pytest.skip(str(error))


@pytest.mark.req("OP-011", "FW-002.2")
def test_settings_that_were_never_read_are_refused_alike_by_all_four(case: Case):
    case.convene()
    case.settings("max_runs =\n")
    (case.root / "memory/shared/.council/settings-cache.json").unlink()

    refused = {case.run(*words, "--json") for words in COMMANDS.values()}

    ((code, out, err),) = refused
    assert code == 3
    assert "council.toml" in err and "line 1" in err
    assert json.loads(out)["error"]["code"] == "invalid-input"
    case.settings("max_runs = 2\n")
    assert [case.run(*words)[0] for words in COMMANDS.values()] == [0, 0, 0, 0]


@pytest.mark.req("OP-011", "FW-002.2")
def test_while_settings_cannot_be_read_the_last_ones_hold_and_every_command_says_so(case: Case):
    case.convene("max_runs = 2\n")
    case.settings("max_runs =\n")
    said = "council: council.toml is not TOML: Invalid value (at line 1, column 11); using the last"

    for words in (["list"], ["show"], ["agent", "query"], ["heartbeat"], *COMMANDS.values()):
        code, _, err = case.run(*words)
        assert code == (3 if words == COMMANDS["doctor"] else 0), words
        assert err.count(said) == 1, words
    cause = case.all_name("unread-settings")
    assert "it is not TOML: Invalid value (at line 1, column 11)" in cause["said"]
    assert cause["fix"] == "correct it in council.toml"

    added = case.run("agent", "add", "zoe", "--base-url", "http://127.0.0.1:1/v1", "--model", "x")
    assert added[0] == 3
    assert "nothing was changed" in added[2] and "line 1, column 11" in added[2]
    assert (case.root / "council.toml").read_text() == "max_runs =\n"
    case.settings("max_runs = 3\n")
    case.none_names("unread-settings")


@pytest.mark.req("OP-011")
def test_a_fault_of_the_settings_is_said_by_every_command_that_reads_them(case: Case, council):
    case.convene("max_rums = 2\n")
    said = "council: council.toml: no setting is called max_rums\n"

    for words in (["list"], ["show"], ["agent", "query"], ["check"]):
        assert case.run(*words)[2].count(said) == 1, words
    for words in (["heartbeat"], ["context", "--as", "owl"], ["respond", "--as", "owl", "Yes."]):
        assert council(*words, now=case.now).err.count(said) == 1, words


@pytest.mark.req("OP-011")
def test_a_fresh_workspace_is_healthy(case: Case, tmp_path: Path):
    fresh = str(tmp_path / "fresh")
    assert case.run("init", fresh)[0] == 0

    code, found, _ = case.run("doctor", "--root", fresh)
    assert (code, "✗" in found) == (0, False), found
    for root in (str(case.root), fresh):
        assert case.run("status", "--problems", "--root", root)[1].startswith("nothing is wrong")
    assert case.run("doctor")[0] == 0


@pytest.mark.req("OP-011")
def test_a_setting_of_tasks_that_does_not_exist_is_named_by_doctor_and_problems(council):
    (council.root / "council.toml").write_text("[tasks]\nfoo = 1\n")
    for words in (("doctor",), ("status", "--problems")):
        assert "tasks.foo cannot be 1" in " ".join(council(*words).out.split())
