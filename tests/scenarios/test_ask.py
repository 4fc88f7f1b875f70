"""`ask`: whom it asks, what it shows, how it ends, what it may use up, how it is left."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from tests.cli.commands import tree, wait_until
from tests.drivers.programs import printed

SAYS = "printf 'Postgres, as it is dull and works for years.\\n'"
WRITES = "printf '## Decision\\nWe take Postgres.\\n'"
QUOTES = """case "$COUNCIL_PHASE" in
COLLECT) printf 'Postgres, as it is dull and works for years.\\n' ;;
CHALLENGE) printf '@owl: "dull and works for years"\\n\\n'
  printf '@owl: "we never need a backup"\\n\\nIs it?\\n' ;;
*) printf '## Decision\\nWe take Postgres.\\n' ;;
esac"""
# Takes longer than the first round, and than the last one.
OUTLASTS = """[ "$COUNCIL_PHASE" = COLLECT ] || exec sleep 60
until grep -rqs turn.missed "$COUNCIL_ROOT/memory/shared/events"; do sleep 0.1; done"""
SHORT = ("--phases", "collect,synthesize", "--synthesizer", "owl")
# What a terminal obeys, and no text of ours holds in a pipe.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def settle(council, **programs: str) -> None:
    """Declare agents by what their shell does once it has read the prompt."""
    lines = []
    for agent, program in programs.items():
        argv = json.dumps(["/bin/sh", "-c", f"cat >/dev/null\n{program}"])
        lines.append(f"[agents.{agent}]\nargv = {argv}\n")
    text = "retry_backoff = []\n" + "".join(lines)
    (council.root / "council.toml").write_text(text, encoding="utf-8")


def on_path(council, tmp_path: Path, *names: str) -> dict[str, str]:
    """Put agent programs on the PATH of a run and return its environment."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in names:
        program = folder / name
        said = subprocess.run(["/bin/sh", "-c", SAYS], capture_output=True, text=True, check=True)
        output = shlex.quote(printed(name, said.stdout.strip()))
        program.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '%s' {output}\n")
        program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{council.env()['PATH']}"}


def on_terminal(council, *words: str, columns: int = 80, **more) -> tuple[subprocess.Popen, int]:
    """Start `council WORDS` on a terminal of its own; return the process and our end."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    process = subprocess.Popen(
        council.argv(*words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=more.pop("cwd", council.root),
        env=council.env(env={"TERM": "xterm", **more.pop("env", {})}),
        start_new_session=True,
    )
    os.close(theirs)
    return process, ours


def read_until(terminal: int, wanted: str = "") -> str:
    """Return what a terminal shows until `wanted` stands there, or until it is closed."""
    seen = b""
    while not wanted or wanted.encode() not in seen:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    text = seen.decode(errors="replace")
    assert wanted in text, text
    return text


@pytest.mark.req("OP-003")
@pytest.mark.parametrize("command", ["ask", "convene"])
def test_an_agent_that_is_nowhere_declared_is_refused_with_the_nearest_name(council, command):
    council.declares = False
    settle(council, owl=SAYS, gecko=SAYS)
    before = tree(council.root)

    done = council(command, "A bot?", "--agents", "owl,gekko")

    assert done.code == 5
    assert done.err.count("\n") == 1
    assert "gekko: no such agent here; did you mean gecko?" in done.err
    assert "--people gekko" in done.err
    assert tree(council.root) == before
    assert council(command, "A bot?", "--agents", "owl,gecko", "--synthesizer", "owle").code == 5


@pytest.mark.req("OP-003")
def test_people_are_declared_by_init_a_folder_or_the_option(council):
    council.declares = False
    assert council("init", "--agents", "ann").code == 0
    (council.root / "memory" / "agents" / "bob").mkdir()

    done = council("convene", "A bot?", "--agents", "ann,bob", "--people", "cyd", "--json")

    assert done.code == 0, done.err
    assert done.json()["participants"] == ["ann", "bob", "cyd"]
    assert council("respond", "My view.", "--as", "cyd").code == 0


@pytest.mark.req("OP-003")
def test_in_a_folder_without_a_workspace_nothing_is_made_unasked(council, tmp_path):
    env, empty = on_path(council, tmp_path, "claude", "codex"), tmp_path / "empty"
    empty.mkdir()

    piped = council("ask", "Tea?", cwd=empty, env=env)
    plan = council("ask", "Tea?", "--dry-run", cwd=empty, env=env)
    slip = council("ask", "Tea?", "--agents", "claud,codex", cwd=empty, env=env)

    assert piped.code == 5
    assert f"would make one in {empty} with claude, codex" in piped.err
    assert "--yes" in piped.err
    assert plan.code == 0, plan.err
    assert "claude: " in plan.out
    assert slip.code == 5
    assert "did you mean claude?" in slip.err
    assert not list(empty.iterdir())


@pytest.mark.req("OP-003")
def test_in_a_folder_without_a_workspace_one_yes_is_enough(council, tmp_path):
    env, empty = on_path(council, tmp_path, "claude", "codex"), tmp_path / "empty"
    empty.mkdir()

    process, terminal = on_terminal(council, "ask", "Tea?", *SHORT[:2], cwd=empty, env=env)
    read_until(terminal, "[Y/n]")
    os.write(terminal, b"\n")
    shown = read_until(terminal)

    assert process.wait() == 0, shown
    assert "dull and works for years" in shown
    assert '[agents.claude]\npreset = "claude"' in (empty / "council.toml").read_text()
    again = council("ask", "Coffee?", *SHORT[:2], "--json", cwd=empty, env=env)
    assert again.json()["verdict"]["participants"] == ["claude", "codex"]


@pytest.mark.req("OP-004")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_ask_shows_quotations_as_they_come_and_ends_with_one_line(council, lang):
    settle(council, owl=QUOTES, gecko=QUOTES.replace("Is it?", "BLOCKING: no backups"))
    words = ("--phases", "collect,challenge,synthesize", "--lang", lang, "--synthesizer", "owl")

    done = council("ask", "Which database?", "--agents", "owl,gecko", *words)

    assert done.code == 0, done.err
    shown = " ".join(done.err.split()).replace("« ", "“").replace(" »", "”")
    assert "“dull and works for years” ✓" in shown
    assert {"en": "✗ was never said", "fr": "✗ n'a jamais été dit"}[lang] in shown
    assert not CONTROL.search(done.err + done.out)
    verdict, dissent, path = done.out.splitlines()[-1].split(" · ")
    assert verdict == {"en": "No agreement", "fr": "Pas d'accord"}[lang]
    named = {"en": "dissent: ", "fr": "désaccord : "}[lang]
    assert dissent == f"{named}Gecko (BLOCKING: no backups)"
    assert Path(path).is_file()


@pytest.mark.req("OP-004")
def test_ask_shows_positions_and_stances_of_a_deliberation(council):
    turn = (
        "printf '## Position\\n{said}\\n\\n## Responses to Others\\n- **@{peer}**: {stance}. "
        "It costs less.\\n\\n## Reasoning\\nOne.\\n\\nTwo.\\n\\n## Confidence\\n4\\n'"
    )
    settle(
        council,
        owl=turn.format(said="Take Postgres", peer="gecko", stance="Disagree"),
        gecko=turn.format(said="Take SQLite", peer="owl", stance="Disagree"),
    )
    words = ("--procedure", "deliberation", "--max-rounds", "2", "--max-runs", "9")

    done = council("ask", "Which database?", "--agents", "owl,gecko", *words)

    assert done.code == 0, done.err
    assert "     Take SQLite" in done.err
    assert "disagrees with Owl: It costs less." in done.err
    assert done.out.splitlines()[-1].startswith("No consensus · dissent: ")


@pytest.mark.req("OP-004")
@pytest.mark.parametrize(
    ("program", "code", "said"),
    [("exit 3", 1, "no answer: Owl (exit 3), Gecko (exit 3)"), (OUTLASTS, 7, "(timeout)")],
    ids=["failed", "timeout"],
)
def test_ask_exits_with_1_where_all_failed_and_7_where_time_ran_out(council, program, code, said):
    settle(council, owl=program, gecko=program)

    done = council("ask", "Tea?", "--agents", "owl,gecko", *SHORT, "--timeout", "2s")

    assert done.code == code, done.err
    assert said in done.out.splitlines()[-1]


@pytest.mark.req("OP-004")
@pytest.mark.parametrize("columns", [80, 40])
def test_a_clock_ticks_on_a_terminal_and_no_line_is_wider_than_it(council, columns):
    go = council.root / "go"
    os.mkfifo(go)
    waits_once = f"[ -e asked ] || {{ touch asked; read x < {go}; }}"
    settle(council, owl=f"{waits_once}; {SAYS}", gecko=SAYS)
    words = ("ask", "Tea?", "--agents", "owl,gecko", *SHORT, "--timeout", "10m")

    process, terminal = on_terminal(council, *words, columns=columns)
    seen = ""
    while len(set(re.findall(r"\d:\d\d(?=/10:00)", seen))) < 3:
        seen += read_until(terminal, "/10:00")
    go.write_text("on\n")
    shown = seen + read_until(terminal)

    assert process.wait() == 0, shown
    ticks = re.findall(r"\d:\d\d/10:00 [^\r\n\x1b]*", re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown))
    assert ticks
    assert max(map(len, ticks)) < columns


@pytest.mark.req("OP-004")
def test_ctrl_c_pauses_the_council_and_resume_goes_on(council):
    go = council.root / "go"
    os.mkfifo(go)
    settle(council, owl=f"read x < {go}; {SAYS}", gecko=SAYS)

    process, terminal = on_terminal(council, "ask", "Tea?", "--agents", "owl,gecko", *SHORT)
    read_until(terminal, "Gecko")
    os.kill(process.pid, signal.SIGINT)
    shown = read_until(terminal)

    assert process.wait() == 130
    assert "tea is paused" in shown
    (left,) = council("status", "--json").json()["conversations"]
    assert (left["waiting"], left["paused"]) == (["owl"], True)
    again = council.start("ask", "--resume")
    assert b"COLLECT" in again.stderr.readline()
    go.write_text("on\n")
    wait_until(lambda: not council("list", "--json").json() or go.write_text("on\n"))
    out = again.communicate(timeout=300)[0].decode()
    assert again.returncode == 0
    assert out.splitlines()[-1].startswith("No agreement · ")
    told = council("ask", "--resume")
    assert (told.code, told.out) == (0, out), "what is over is told once more"


@pytest.mark.req("OP-004")
def test_an_ask_that_is_killed_loses_nothing(council):
    go = council.root / "go"
    os.mkfifo(go)
    settle(council, owl=f"read x < {go}; {SAYS}", gecko=SAYS)
    words = ("--phases", "collect,synthesize", "--synthesizer", "gecko")
    asked = council.start("ask", "Tea?", "--agents", "owl,gecko", *words)
    while b"COLLECT  round" not in asked.stderr.readline():
        pass

    asked.kill()
    asked.communicate()
    go.write_text("on\n")
    done = council("ask", "--resume", "tea")

    assert done.code == 0, done.err
    assert (
        "dull and works for years" in Path(done.out.splitlines()[-1].split(" · ")[-1]).read_text()
    )


@pytest.mark.req("OP-018")
def test_ask_shows_its_plan_and_dry_run_makes_nothing(council):
    settle(council, owl=SAYS, gecko=SAYS)
    council("ask", "Before?", "--agents", "owl,gecko", *SHORT)
    before = tree(council.root / "memory" / "agents")

    plan = council("ask", "Tea?", "--agents", "owl,gecko", "--dry-run")

    assert plan.code == 0, plan.err
    assert "at most 7 runs without retries" in plan.out
    assert "ceiling: 40 runs, 1,000,000 tokens, $5" in plan.out
    assert tree(council.root / "memory" / "agents") == before
    assert council("list", "--json").json() == []
    french = council("ask", "Thé ?", "--agents", "owl,gecko", *SHORT, "--lang", "fr")
    assert french.err.splitlines()[0].endswith(
        "3 exécutions au plus sans reprise, plafond 40 exécutions, 1 000 000 jetons, 5 $"
    )


@pytest.mark.req("OP-018")
@pytest.mark.parametrize(
    ("option", "most", "runs", "said"),
    [
        ("--max-runs", "3", 3, "its ceiling of 3 runs was reached"),
        ("--max-tokens", "2500", 3, "its ceiling of 2,500 tokens was reached"),
        ("--max-cost", "0.5", 2, "its ceiling of $0.5 was reached"),
    ],
)
def test_ask_passes_its_ceiling_by_no_more_than_one_turn(council, option, most, runs, said):
    counted = council.root / "runs"
    reports = 'echo "usage tokens=1000 usd=0.30" >> "$COUNCIL_REPORT"'
    program = f"echo run >> {counted}; {reports}; {SAYS}"
    settle(council, owl=program, gecko=program, newt=program)

    done = council("ask", "Tea?", "--agents", "owl,gecko,newt", option, most)

    assert done.code == 0, done.err
    assert len(counted.read_text().splitlines()) == runs
    assert said in done.out.splitlines()[-1]
    assert "Its ceiling left no room for another run." in done.out
