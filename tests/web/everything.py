"""A workspace with something of everything that pages show, at least two of each."""

from __future__ import annotations

import sys

from tests.conftest import Council

# Answers when the file `go` is there; `fail` agents end with an error.
AGENT = """
import os, sys, time
sys.stdin.read()
if sys.argv[1] == "fail":
    sys.exit("out of order")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
print("Yes.\\n\\nSTATUS: AGREED")
"""
PEOPLE = ("ann", "bob", "eve")
GUIDE = "## Topic\nRain\n## Goals\nTo know\n## Completion criteria\nAgreed\n"


def furnish(council: Council) -> None:
    """Put into an empty workspace councils in every phase, rooms, requests, minutes, artifacts."""
    ok(council, "init", "--agents", "owl,gecko")
    program = council.root.parent / "agent.py"
    program.write_text(AGENT)
    with (council.root / "council.toml").open("a") as settings:
        for agent, how in (
            ("ada", "go"),
            ("bea", "go"),
            ("cyd", "go"),
            ("dan", "go"),
            ("fay", "fail"),
            ("gus", "fail"),
        ):
            argv = f'["{sys.executable}", "{program}", "{how}"]'
            settings.write(f'\n[agents.{agent}]\nargv = {argv}\ncapabilities = ["plan"]\n')
    text = (council.root / "council.toml").read_text()
    (council.root / "council.toml").write_text("max_runs = 1\n" + text)
    convene(council, "failing", "Who is out of order?", "fay,gus")
    convene(council, "lunch", "Lunch?", "ada,bea,cyd,dan")
    convene(council, "hands", "By hand?", ",".join(PEOPLE))
    for who in PEOPLE:
        respond(council, "hands", who, f"As {who} sees it, yes.\n\nBLOCKING: {who} has no time")
    convene(
        council,
        "debate",
        "A debate?",
        ",".join(PEOPLE),
        "--procedure",
        "deliberation",
        "--order",
        "fixed",
    )
    for tour in range(2):
        for who in PEOPLE:
            others = [one for one in PEOPLE if one != who]
            stances = [f"--stance={one}=partial:not yet" for one in others]
            respond(
                council,
                "debate",
                who,
                f"@human what of {who} in {tour}?",
                "--position",
                f"{who} waits",
                "--confidence",
                "3",
                *stances,
            )
    convene(
        council,
        "hidden",
        "Who is who?",
        ",".join(PEOPLE),
        "--procedure",
        "deliberation",
        "--anonymous",
    )
    for name in ("spring", "autumn"):
        convene(council, name, f"Shall we wait for {name}?", ",".join(PEOPLE))
        for tour in range(3):
            for who in PEOPLE:
                respond(
                    council,
                    name,
                    who,
                    f"{who} would wait for {tour} reasons.",
                    "--status",
                    "responded",
                )
        ok(council, "synthesize", "--as", PEOPLE[0], "--name", name, "## Decision\n\nWe wait.")
    for mode in ("chat", "report", "work"):
        ok(council, "channel", "create", mode, f"a-{mode}", "--participants", "owl,gecko")
    for number in range(3):
        ok(council, "channel", "post", "a-chat", f"word {number}", "--as", "owl")
    guide = council.root.parent / "guide.md"
    guide.write_text(GUIDE)
    ok(
        council,
        "discussion",
        "create",
        "rain",
        "--as",
        "owl",
        "--guide",
        str(guide),
        "--participants",
        "gecko",
    )
    for number in range(2):
        file = council.root.parent / f"{number}.txt"
        file.write_text(f"artifact {number}")
        ok(council, "artifact", "publish", str(file))
    for number in range(2):
        ok(council, "msg", "send", "--user", f"Find out {number}", "--caps", "plan")


def convene(council: Council, name: str, topic: str, agents: str, *more: str) -> None:
    """Open a council; those whom the settings do not know are people."""
    people = [one for one in agents.split(",") if one in PEOPLE]
    named = ("--people", ",".join(people)) if people else ()
    done = council("convene", topic, "--name", name, "--agents", agents, *named, *more)
    assert done.code in (0, 1), done.err


def respond(council: Council, name: str, who: str, *words: str) -> None:
    """Answer as a participant."""
    ok(council, "respond", "--name", name, "--as", who, *words)


def ok(council: Council, *words: str) -> None:
    """Call a command that must succeed."""
    done = council(*words)
    assert done.code == 0, (words, done.err)
