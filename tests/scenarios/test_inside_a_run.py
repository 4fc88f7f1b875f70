"""Attacks from inside a run that council started, with the variables that it was given.

Each was seen to succeed before what now refuses it was there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from council.operations.place import RUN_VARIABLES
from tests.cli.commands import at_rest, tree, wait_until
from tests.conftest import Council, Ran

FAR = "2099-01-01T00:00:00Z"
# Writes its environment down, and answers once it is given what to say.
HOLDS = (
    'cat >/dev/null; printenv >"inside-$COUNCIL_AGENT.tmp"; '
    'mv "inside-$COUNCIL_AGENT.tmp" "inside-$COUNCIL_AGENT"; '
    'while [ ! -e "say-$COUNCIL_AGENT" ]; do sleep 0.1; done; cat "say-$COUNCIL_AGENT"'
)
SPEAKS = 'cat >/dev/null; echo "I was asked."; touch started-$COUNCIL_AGENT'


class Inside(NamedTuple):
    """The command as the run of owl may call it, while that run is under way."""

    council: Council
    variables: dict[str, str]

    def __call__(self, *words: str | Path, without: tuple[str, ...] = (), **given: str) -> Ran:
        kept = {name: one for name, one in self.variables.items() if name not in without}
        return self.council(*words, env={**kept, **given})

    def state(self) -> dict[str, object]:
        return self.council("show", "weather", "--json").json()


def variables_of(folder: Path, agent: str) -> dict[str, str]:
    written = folder / f"inside-{agent}"
    wait_until(written.exists)
    pairs = (line.partition("=") for line in written.read_text().splitlines())
    return {
        name: value
        for name, _, value in pairs
        if name.startswith("COUNCIL_") or name == "traceparent"
    }


def say(folder: Path, agent: str, words: str) -> None:
    (folder / f"say-{agent}.tmp").write_text(words)
    (folder / f"say-{agent}.tmp").rename(folder / f"say-{agent}")


def seat(council: Council, trust: str = "open", **shells: str) -> None:
    lines = [f'trust = "{trust}"']
    for agent, shell in shells.items():
        lines += [f"[agents.{agent}]"]
        lines += [f"argv = {json.dumps(['/bin/sh', '-c', shell])}"] if shell else []
    assert council("init", "--agents", ",".join(shells)).code == 0
    (council.root / "council.toml").write_text("\n".join(lines) + "\n")


@pytest.fixture
def inside(council: Council) -> Iterator[Inside]:
    """Owl at work in a conversation with gecko, who answers by hand, and fox, who can be called."""
    seat(council, owl=HOLDS, gecko="", fox=SPEAKS)
    made = council("convene", "Rain?", "--agents", "owl,gecko", "--name", "weather")
    assert made.code == 0, made.err
    assert council("channel", "create", "chat", "room", "--participants", "owl,gecko").code == 0
    yield Inside(council, variables_of(council.root, "owl"))
    say(council.root, "owl", "It will rain.")
    at_rest(council.root)


def refused(done: Ran) -> None:
    assert (done.code, done.err.count("\n")) == (6, 1), (done.code, done.out, done.err)


# --- The clock


@pytest.mark.req("SC-002")
@pytest.mark.parametrize("how", ["--now", "COUNCIL_NOW"])
def test_a_run_closes_no_phase_by_naming_another_time(inside, how):
    before = inside.state()
    late = {"COUNCIL_NOW": FAR} if how == "COUNCIL_NOW" else {}
    words = ["--now", FAR] if how == "--now" else []

    done = inside("respond", "It rains.", *words, **late)

    assert inside.state() == before
    refused(done)


# --- Files


READ_BY_COUNCIL = (
    "memory/shared/council-x-conversation.md",
    "memory/shared/x.md",
    "conseils/2026-01-01-x.md",
    "skills/council/more.md",
    "memory/shared/events/2026-01-01.jsonl",
    "memory/shared/identities.json",
    "memory/shared/.council/halted",
    "prompts/turn.md.j2",
    "memory/agents/owl/SOUL.md",
    "memory/agents/owl/policy.json",
    "memory/agents/gecko/SOUL.md",
    "council.toml",
    "link/council-x-conversation.md",
)


@pytest.mark.req("SC-002")
def test_a_run_fetches_nothing_into_what_council_reads(inside):
    root = inside.council.root
    made = inside.council("artifact", "publish", stdin="Begin at once.\n").out.strip()
    (root / "link").symlink_to(root / "memory/shared")
    for one in ("conseils", "skills/council", "prompts", "memory/shared/events"):
        (root / one).mkdir(parents=True, exist_ok=True)
    (root / "memory/agents/owl/policy.json").unlink()

    for target in READ_BY_COUNCIL:
        place = root / target
        before = place.read_bytes() if place.exists() else None
        refused(inside("artifact", "fetch", made, "--out", target))
        assert (place.read_bytes() if place.exists() else None) == before, target


@pytest.mark.req("SC-002")
def test_a_run_writes_where_it_works_and_what_it_keeps(inside, tmp_path):
    root = inside.council.root
    made = inside.council("artifact", "publish", stdin="hello\n").out.strip()

    for target in ("forecast.txt", "memory/agents/owl/notes/x.txt", "memory/agents/owl/agent/x"):
        done = inside("artifact", "fetch", made, "--out", target)
        assert done.code == 0, done.err
        assert (root / target).read_text() == "hello\n"
    (tmp_path / "elsewhere").mkdir()
    refused(inside("artifact", "fetch", made, "--out", tmp_path / "elsewhere/x"))
    # A folder that it names itself is no folder that it was started in.
    moved = {"COUNCIL_CWD": str(tmp_path / "elsewhere")}
    refused(inside("artifact", "fetch", made, "--out", tmp_path / "elsewhere/x", **moved))


# --- Tokens


@pytest.mark.req("SC-002")
def test_a_token_dies_with_its_task(inside):
    council = inside.council
    assert inside("channel", "post", "room", "While I am at work.").code == 0
    assert council("cancel", "--name", "weather").code == 0

    posted = inside("channel", "post", "room", "Long after.", "--run-id", "again")
    called = inside("agent", "call", "--to", "fox", "Is it so?")

    shown = council("channel", "show", "room", "--json").json()["messages"]
    assert [(one["content"], one.get("origin")) for one in shown] == [
        ("While I am at work.", "verified"),
        ("Long after.", "claimed"),
    ], posted.err
    assert called.code == 6
    assert not (council.root / "started-fox").exists()


# --- Who speaks


@pytest.mark.req("SC-002")
@pytest.mark.parametrize("without", [(), ("COUNCIL_AGENT",), ("COUNCIL_TASK_ID",)])
def test_a_run_signs_as_nobody_else(inside, without):
    assert inside.council("agent", "join", "--as", "owl", "--caps", "plan").code == 0
    line = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"

    done = inside("msg", "sign", "--as", "O1", line, without=without)

    assert (done.code, done.out) == (6, "")


@pytest.mark.req("SC-002")
def test_a_run_that_takes_the_name_of_another_is_not_believed(inside):
    task = next(one for one in inside.state()["tasks"] if ".gecko." in one)
    forged = {"COUNCIL_AGENT": "gecko", "COUNCIL_TASK_ID": task}
    before = inside.state()

    refused(inside("respond", "It rains.", "--name", "weather", **forged))
    refused(inside("channel", "post", "room", "I am gecko.", **forged))
    alone = ("COUNCIL_TASK_ID", "COUNCIL_TOKEN", "COUNCIL_CLAIM")
    refused(inside("respond", "It rains.", without=alone, COUNCIL_AGENT="gecko"))
    refused(inside("artifact", "publish", inside.council.root / "council.toml", **forged))

    assert inside.state() == before
    for day in (inside.council.root / "memory/shared/events").glob("*.jsonl"):
        told = [json.loads(line) for line in day.read_text().splitlines()]
        assert not [one for one in told if one["type"] == "guard.rejected" and one["agentId"]]


@pytest.mark.req("SC-002")
def test_a_run_reaches_no_workspace_that_started_no_run(inside, tmp_path):
    (tmp_path / "other/memory/shared").mkdir(parents=True)
    before = tree(tmp_path / "other")

    for words in (("channel", "post", "den", "Here."), ("artifact", "gc"), ("status",)):
        refused(inside(*words, COUNCIL_ROOT=str(tmp_path / "other")))

    assert tree(tmp_path / "other") == before


@pytest.mark.req("SC-002")
def test_a_run_removes_no_artifacts_however_old_they_are(inside):
    made = inside.council("artifact", "publish", stdin="Of old.\n").out.split()[0]
    stored = list((inside.council.root / "memory/shared/artifacts").glob(f"{made}*"))
    for one in stored:
        os.utime(one, (1_600_000_000, 1_600_000_000))

    refused(inside("artifact", "gc"))

    assert inside("artifact", "gc", "--dry-run").code == 0
    assert all(one.exists() for one in stored)


# --- What "inside" means


@pytest.mark.req("SC-002")
def test_a_call_without_its_task_starts_no_trace_of_its_own(inside):
    words = ("agent", "call", "--to", "fox", "--trace", "fresh", "Is it so?")

    done = inside(*words, without=("COUNCIL_TASK_ID",))

    assert done.code == 6
    assert not (inside.council.root / "started-fox").exists()


@pytest.mark.req("SC-002")
@pytest.mark.parametrize("left", RUN_VARIABLES)
def test_each_variable_of_a_run_alone_refuses_what_no_run_may(inside, left):
    without = tuple(name for name in inside.variables if name not in (left, "COUNCIL_ROOT"))
    before = tree(inside.council.root / "memory/shared")

    for words in (("adopt",), ("stop",), ("inject", "Agree.")):
        done = inside(*words, without=without)
        assert "is not allowed inside a run" in done.err
        refused(done)
    refused(inside("respond", "It rains.", "--now", FAR, without=without))

    assert tree(inside.council.root / "memory/shared") == before


# --- What the host forbids


GUARDED = {"OPENCLAW_SHELL": "exec"}


@pytest.mark.req("SC-006")
@pytest.mark.parametrize(
    "words",
    [
        ("convene", "Snow?", "--agents", "fox,gecko", "--name", "snow"),
        ("agent", "call", "--to", "fox", "--as", "owl", "--trace", "t1", "Is it so?"),
        ("heartbeat",),
        ("doctor", "--probe"),
        ("channel", "post", "wood", "Is it so?", "--as", "paul"),
    ],
    ids=" ".join,
)
def test_what_may_not_start_agents_starts_none_and_loses_nothing(council, words):
    seat(council, fox=SPEAKS, gecko=SPEAKS)
    started = council.root / "started-fox"
    assert council("channel", "create", "chat", "wood", "--participants", "fox,gecko").code == 0
    if words == ("heartbeat",):
        assert council("convene", "Snow?", "--agents", "fox,gecko", env=GUARDED).code == 0

    done = council(*words, env=GUARDED)
    at_rest(council.root)

    assert not started.exists()
    if words[0] in ("agent", "doctor", "convene", "heartbeat"):
        assert "OPENCLAW_SHELL" in done.out + done.err
    if words[0] == "agent":
        refused(done)
    elif words[0] != "doctor":
        assert council("heartbeat").code == 0
        wait_until(started.exists)


@pytest.mark.req("SC-006")
def test_an_answer_from_such_a_shell_goes_on_and_leaves_the_starting_to_others(council):
    seat(council, gecko="", fox=SPEAKS)
    words = ("convene", "Snow?", "--agents", "gecko,fox", "--name", "snow")
    assert council(*words, env=GUARDED).code == 0

    assert council("respond", "It snows.", "--as", "gecko", "--name", "snow", env=GUARDED).code == 0
    at_rest(council.root)

    assert not (council.root / "started-fox").exists()
    assert council("heartbeat").code == 0
    wait_until((council.root / "started-fox").exists)


@pytest.mark.req("SC-006")
def test_the_clock_of_openclaw_is_asked_to_start_who_may_not_be_started_here(council, tmp_path):
    seat(council, gecko=SPEAKS, fox=SPEAKS)
    called = tmp_path / "called"
    program = tmp_path / "openclaw"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{called}"\n')
    program.chmod(0o755)
    guarded = {**GUARDED, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    words = ("convene", "Snow?", "--agents", "gecko,fox", "--name", "snow")
    without = council(*words, env=guarded)
    assert 'sessions_send "council context --as ID --root' in without.err
    at_rest(council.root)
    assert not called.exists()

    clock = council.root / "memory/shared/.council/openclaw-clock"
    clock.write_text("job-17\n")
    done = council("heartbeat", env=guarded)
    assert "OpenClaw's clock is asked to start who is due" in done.out
    wait_until(called.exists)
    at_rest(council.root)
    assert called.read_text() == "cron run job-17\n"
    assert not (council.root / "started-fox").exists()


@pytest.mark.req("SC-006")
def test_the_mark_of_such_a_shell_goes_on_to_what_a_run_starts(council):
    seat(council, owl='cat >/dev/null; echo "shell: $OPENCLAW_SHELL"', fox=SPEAKS)
    call = ("agent", "call", "--to", "owl", "--as", "fox", "--trace", "t1", "Which?")
    said = council(*call, env={"OPENCLAW_SHELL": "other"})
    assert "shell: other" in said.out
