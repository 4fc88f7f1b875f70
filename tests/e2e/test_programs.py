"""The five programs that people already use, as real processes, in councils of their own.

Each talks to the scripted model server by its own variables or settings, in a folder and a
home that were empty before.
"""

from __future__ import annotations

import json
import re
import time
from typing import NamedTuple

import pytest

from tests.e2e.clients import PROGRAMS
from tests.e2e.model_server import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    ModelServer,
    Request,
)
from tests.e2e.tables import Table, minutes

pytestmark = pytest.mark.e2e

TOPIC = "Should the tea kitchen get a second kettle?"
TURN_TOKENS = INPUT_TOKENS + OUTPUT_TOKENS
NAMED_WITHIN_S = 30


def as_quoted(text: str) -> str:
    """Return a contribution as it stands in the minutes, without the line of its status."""
    lines = text.removesuffix("\n\nSTATUS: AGREED").splitlines()
    return "\n".join(f"> {line}" for line in lines)


def council_calls(server: ModelServer) -> list[Request]:
    return [one for one in server.model_calls() if "# Council:" in one.prompt]


@pytest.mark.req("CL-002")
def test_all_programs_sit_in_one_council_in_a_fresh_folder(at_table, clients, model_server, row):
    names = clients.chosen(*PROGRAMS, least=2)
    with row(f"all {len(names)}", "one ask in a fresh folder") as told:
        for one in names:
            at_table.seat(one, model_server.base("answers"))

        done = at_table("ask", TOPIC, "--yes", "--timeout", "4m")

        assert done.code == 0, done.out + done.err
        written = minutes(at_table)
        said = {one.said for one in council_calls(model_server) if "Position of" in one.said}
        assert len(said) == 2 * len(names), done.out  # all agree in CHALLENGE
        for text in said:
            assert as_quoted(text) in written, text
        told.came_out = f"minutes with {len(said)} whole answers"

    used = at_table("metrics", "--json").json()["used"]
    faults = []
    for one in names:
        try:
            with row(one, "tokens and cost") as told:
                counted, calls = used["agents"][one], calls_of(model_server, one)
                usd = counted["usd"]
                told.came_out = (
                    f"{counted['tokens']} tokens, {f'${usd}' if usd else 'no cost'} told"
                )
                assert counted["tokens"] == TURN_TOKENS * len(calls), f"in {len(calls)} calls"
                if one == "claude":  # its own table of prices
                    assert usd > 0.01
                elif one == "opencode":  # what its settings say: input that was cached is free
                    per_turn = (INPUT_TOKENS - CACHED_TOKENS + 2 * OUTPUT_TOKENS) / 1e6
                    assert usd == pytest.approx(per_turn * len(calls))
                else:  # a cost that a program does not tell is not guessed
                    assert usd is None
        except AssertionError as fault:
            faults.append(f"{one}: {str(fault).splitlines()[0]}")
    assert not faults, "\n".join(faults)
    assert f"{used['tokens']:,} tokens" in written


@pytest.mark.req("CL-002")
def test_all_programs_deliberate_in_the_form_that_is_asked_for(
    at_table, clients, model_server, row
):
    names = clients.chosen(*PROGRAMS, least=2)
    with row(f"all {len(names)}", "a deliberation in French") as told:
        for one in names:
            at_table.seat(one, model_server.base("answers"))
        who = ("--agents", ",".join(names), "--lang", "fr", "--timeout", "2m")

        done = at_table("ask", TOPIC, "--procedure", "deliberation", *who)

        assert done.code == 0, done.out + done.err
        assert done.out.splitlines()[-1].startswith("Consensus fort"), done.out
        texts = 2 * len(names) + 1
        assert f"{texts} sur {texts} vérifiés" in minutes(at_table)
        told.came_out = f"strong consensus, {texts} texts in their form, all verified"


def calls_of(server: ModelServer, name: str) -> list[Request]:
    """Return the calls of the model that a client counts: opencode leaves out its titles."""
    protocol = {"claude": "Messages", "codex": "Responses", "gemini": "Gemini"}.get(name, "Chat")
    calls = [one for one in council_calls(server) if one.protocol == protocol]
    if protocol != "Chat":
        return calls
    ours = [one for one in calls if ("opencode" in agent_of(one)) == (name == "opencode")]
    return [one for one in ours if one.body.get("tools")] if name == "opencode" else ours


def agent_of(request: Request) -> str:
    return request.headers.get("user-agent", "")


@pytest.mark.req("CL-002")
@pytest.mark.parametrize(
    ("cap", "most", "turn"), [("tokens", 2500.0, TURN_TOKENS), ("usd", 0.008, 0.00524)]
)
def test_a_capped_council_stops_within_one_turn_of_its_cap(
    at_table, clients, model_server, row, cap, most, turn
):
    option = "--max-tokens" if cap == "tokens" else "--max-cost"
    given = f"{most:.0f}" if cap == "tokens" else f"{most}"
    with row("claude", f"ask {option} {given}") as told:
        clients.need("claude")
        names = clients.chosen("claude", "codex", "llm")
        for one in names:
            at_table.seat(one, model_server.base("answers"))
        at_table.settle("", *names)
        who = ("--agents", ",".join(names), "--people", "ann")

        at_table("ask", TOPIC, option, given, "--timeout", "30s", *who)

        used = at_table("metrics", "--json").json()["used"]
        told.came_out = f"used {used['tokens']} tokens, ${used['usd']:.4f}"
        assert most <= used[cap] <= most + turn
        calls = len(council_calls(model_server))
        at_table("heartbeat")
        assert len(council_calls(model_server)) == calls, "it went on"


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("mood", ["answers", "refuses"])
def test_a_probe_proves_a_key_before_a_council_starts(at_table, clients, model_server, row, mood):
    names = clients.chosen(*PROGRAMS)
    for one in names:
        at_table.seat(one, model_server.base(mood))
    at_table.settle("", *names)

    began = time.monotonic()
    found = at_table("doctor", "--probe", "--json").json()["findings"]
    took_s = time.monotonic() - began

    faults = []
    for name in names:
        try:
            with row(name, f"probe, {'a good' if mood == 'answers' else 'a bad'} key") as told:
                probe = next(one for one in reversed(found) if one["what"] == name)
                told.came_out, told.seconds = probe["found"], took_s
                assert probe["ok"] == (mood == "answers"), probe["found"]
                assert re.search("ready" if probe["ok"] else "key", probe["found"])
        except AssertionError as fault:
            faults.append(f"{name}: {str(fault).splitlines()[0]}")
    assert not faults, "\n".join([*faults, str(found)])


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("name", ["claude", "gemini"])
def test_a_program_reads_its_prompt_as_it_stands(at_table, clients, model_server, row, name):
    """In a prompt of its user, it takes `@name` for a file to be read in."""
    with row(name, "names with @ in its prompt") as told:
        at_table.seat(name, model_server.base("answers"))
        at_table.settle("", name)
        (at_table.root / "secret.txt").write_text("the combination is 4711", encoding="utf-8")
        brief = "@secret.txt is a file, henry@secret.txt an address, and @gemini an agent."

        who = ("--agents", name, "--people", "ann", "--timeout", "10m", "--brief", brief)
        asking = at_table.start("ask", TOPIC, *who)
        model_server.wait_for(lambda one: "Position of" in one.said, 120)
        asking.kill()
        asking.communicate()

        prompts = [json.dumps(one.body) for one in council_calls(model_server)]
        assert prompts
        assert not any("4711" in one for one in prompts), "a file was put into the prompt"
        # A backslash keeps it from that; in Markdown it says the same.
        assert all(r"henry\\@secret.txt" in one for one in prompts), "the prompt was changed"
        told.came_out = "no file was read in, only a backslash put before each @"


# How each mood fails, what `explain` may call that, and words that say it plainly.
LIMIT_S = 25
MOST_S = 75
# opencode starts slowly, tries again for a minute and a half where a provider fails, and says
# nothing until it gives up.
PATIENT = {mood: {"opencode": 140} for mood in ("refuses", "limits", "fails", "breaks")}
FAILURES = {
    "refuses": ("a bad key", {"key-refused"}, r"key of \w+ was refused"),
    "limits": ("a limit", {"limited"}, r"may use no more|[Qq]uota|rate.limit"),
    "fails": ("an error of the provider", {"provider"}, r"provider|demand"),
    "hangs": ("a hang", {"no-sign", "too-slow"}, r"timed out|no sign"),
    "stalls": ("silence amid an answer", {"no-sign", "too-slow"}, r"timed out|no sign"),
    "breaks": (
        "an error amid an answer",
        {"provider", "attempt-failed", "too-slow"},
        r"provider|demand|overloaded|server",
    ),
    "babbles": ("an answer without end", {"too-long", "too-slow"}, r"timed out|longer than"),
}


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("mood", FAILURES)
def test_the_cause_of_a_failure_is_named_and_its_text_is_no_contribution(
    at_table, clients, model_server, row, mood
):
    scenario, codes, words = FAILURES[mood]
    names = clients.chosen(*PROGRAMS)
    for one in names:
        at_table.seat(one, model_server.base(mood))
    patient = PATIENT.get(mood, {})
    at_table.settle(f'max_runs = 5\npreset_timeout = "{LIMIT_S}s"', *names, **patient)
    most_s = max([MOST_S, *(limit_s + 10 for one, limit_s in patient.items() if one in names)])
    # Somebody who does not answer keeps the round open; what is said stands there at once.
    who = ("--agents", ",".join(names), "--people", "ann", "--open")
    asking = at_table.start("ask", TOPIC, "--timeout", "10m", *who)
    named = named_causes(at_table, names, most_s)
    asking.kill()
    asking.communicate()
    texts = contributions(at_table)

    faults = []
    for one in names:
        try:
            with row(one, scenario) as told:
                assert one in named, f"nothing was named within {most_s} s"
                code, said, after_s, told.seconds = named[one]
                told.came_out = said
                assert code in codes and re.search(words, said), f"{code}: {said}"
                assert after_s < NAMED_WITHIN_S, f"named after {after_s:.0f} s: {said}"
                assert one not in texts, f"stands as a contribution: {texts[one]}"
        except AssertionError as fault:
            faults.append(f"{one}: {str(fault).splitlines()[0]}")
    assert not faults, "\n".join(faults)


@pytest.mark.req("CL-002")
def test_the_cause_is_still_named_when_the_round_has_gone_on(at_table, clients, model_server, row):
    """Where all others have answered, the last one that fails for good closes the round."""
    with row("llm", "explain after its round") as told:
        clients.need("llm")
        clients.need("codex")
        at_table.seat("llm", model_server.base("refuses"))
        at_table.seat("codex", model_server.base("answers"))
        at_table.settle("", "llm", "codex")

        done = at_table("ask", TOPIC, "--agents", "llm,codex", "--name", "kettle")

        assert done.code == 0, done.err
        assert re.search("key.*refused", minutes(at_table)), "the minutes do not name it"
        explained = at_table("explain", "kettle").out
        assert re.search("key.*refused", explained), f"explain does not name it: {explained}"
        told.came_out = "its key is named at the end, and in the minutes"


class Named(NamedTuple):
    """What `explain` named as the cause, and how long after the first run ended or the start."""

    code: str
    said: str
    after_s: float
    since_start_s: float


def named_causes(table: Table, names: list[str], most_s: float) -> dict[str, Named]:
    """Watch until `explain` has named a cause for each agent, or its first run has answered."""
    named: dict[str, Named] = {}
    ended: dict[str, float] = {}
    answered: set[str] = set()
    began = time.monotonic()
    while set(names) - set(named) - answered and time.monotonic() - began < most_s:
        time.sleep(1)
        for log in (table.root / "memory" / "shared" / ".council" / "runs").glob("*.1.*.1.log"):
            outcome = re.search(r"^outcome: (.*)", log.read_text("utf-8", "replace"), re.MULTILINE)
            agent = log.name.split(".")[-3]
            if outcome and agent not in ended:
                ended[agent] = time.monotonic()
                answered |= {agent} if outcome[1] == "answered" else set()
        explained = table("explain", "--json")
        for one in explained.json()["hindrances"] if explained.code == 0 else ():
            agent = one["agentId"]
            if agent and agent not in named and one["what"] != "rests":
                now = time.monotonic()
                after_s = now - ended.get(agent, now)
                named[agent] = Named(one["what"], one["said"], after_s, now - began)
    return named


def contributions(table: Table) -> dict[str, str]:
    """Return what stands as said, by agent."""
    shown = table("show", "--json")
    said = shown.json()["contributions"] if shown.code == 0 else []
    return {one["agent"]: one["text"] for one in said if one["kind"] == "contribution"}
