"""A whole workspace of council 0.1.0 opens, and all that was under way in it comes to its end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "golden" / "whole-0.1.0"
SHARED = Path("memory/shared")
NOW = "2026-02-08T20:32:00Z"
LATER = [f"2026-02-{day:02}T21:00:00Z" for day in range(9, 15)]
# What is open, its phase and round, and who was answered for by then.
OPEN = {
    "challenge": ("CHALLENGE", 2, ["henry", "sage"]),
    "failing": ("COLLECT", 1, []),
    "paused": ("COLLECT", 1, []),
    "resting": ("COLLECT", 1, []),
    "runs": ("COLLECT", 1, []),
    "sealed": ("COLLECT", 1, []),
    "voting": ("VOTE", 2, ["claude", "gpt", "glm"]),
}
MINUTES = {
    "Agreed: Did all agree?",
    "Cancelled: Was it called off?",
    "No agreement: Did they not agree?",
    "Strong consensus: Tea or coffee in decided?",
}


@pytest.fixture
def earlier(council) -> Path:
    """The workspace as the earlier version left it, in the place of the empty one."""
    shutil.rmtree(council.root)
    shutil.copytree(GOLDEN, council.root)
    return council.root


def tree(root: Path) -> dict[str, bytes]:
    """Return every file that holds what somebody did."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "lock" not in path.name and path.parent.name != ".council"
    }


def succeed(council, *words: str, now: str = NOW) -> str:
    """Run a command that must do what it is asked; return what it printed."""
    done = council(*words, now=now)
    assert done.code == 0, (words, done.err)
    return done.out


def read_everything(council) -> None:
    """Read each thing in each way."""
    succeed(council, "status")
    for name, (phase, tour, said) in OPEN.items():
        state = json.loads(succeed(council, "show", name, "--json"))
        assert (state["currentPhase"], state["tour"]) == (phase, tour), name
        assert [one["agent"] for one in state["contributions"]] == said, name
        for words in (("show",), ("explain",), ("history",), ("check",)):
            succeed(council, *words, name)
        succeed(council, "diff", "1", "--name", name)
    archived = json.loads(succeed(council, "list", "--archived", "--json"))
    assert {one["title"] for one in archived} == MINUTES
    for one in archived:
        assert one["title"] in succeed(council, "show", one["path"])
    for words in ("channel show den", "channel show shed", "turn status den", "task show T1"):
        succeed(council, *words.split())
    for words in ("explain den", "explain t1", "events story t1", "msg inbox --as sage", "metrics"):
        succeed(council, *words.split())
    told = council("doctor", "--json", now=NOW).json()
    assert not [one for one in told["findings"] if "unreadable" in str(one)]


@pytest.mark.req("XC-013")
def test_a_workspace_of_the_earlier_version_is_read_and_left_as_it_is(council, earlier: Path):
    before = tree(earlier)
    read_everything(council)
    assert tree(earlier) == before


@pytest.mark.long
@pytest.mark.req("XC-013", "C0-036")
def test_councils_of_the_earlier_version_are_played_to_their_end(council, earlier: Path):
    succeed(council, "resume", "paused")
    for name, agents in (("paused", ("henry", "sage")), ("sealed", ("sage",))):
        for agent in agents:
            succeed(council, "respond", "--name", name, "--as", agent, f"Tea, says {agent}.")
    assert "Seen by nobody yet." in succeed(council, "show", "sealed")
    for name in ("paused", "sealed", "challenge"):
        for agent in ("henry", "sage"):
            words = ("respond", "--name", name, "--as", agent, "--status", "agreed")
            succeed(council, *words, f"I agree, says {agent}.")
        succeed(council, "synthesize", "--name", name, "--as", "henry", "We serve tea.")
    for agent in ("gpt", "glm"):
        others = "".join(
            f"- @{one}: agree — yes\n" for one in ("claude", "gpt", "glm") if one != agent
        )
        said = f"## Position\nTea.\n\n## Responses to Others\n{others}\n## Confidence\n5\n"
        succeed(council, "vote", "--name", "voting", "--as", agent, said)
    said = "## Consensus Summary\nTea.\n\n## Recommendation\nServe tea."
    succeed(council, "synthesize", "--name", "voting", "--as", "glm", said)
    for name in ("runs", "failing", "resting"):  # their agents fail, rest and are not there
        succeed(council, "respond", "--name", name, "--as", "henry", "Henry answers by hand.")
    for now in LATER:
        assert council("heartbeat", "--wait", "20s", now=now).code in (0, 7)
    assert json.loads(succeed(council, "list", "--json", now=LATER[-1])) == []
    archived = json.loads(succeed(council, "list", "--archived", "--json", now=LATER[-1]))
    assert len(archived) == len(OPEN) + len(MINUTES)
    for name in ("runs", "failing", "resting"):
        [minutes] = [one["path"] for one in archived if one["path"].endswith(f"{TOPICS[name]}.md")]
        text = (earlier / minutes).read_text(encoding="utf-8")
        assert "Henry answers by hand." in text
        assert "Broken: NO RESPONSE" in text


TOPICS = {
    "failing": "who-fails",
    "resting": "who-rests",
    "runs": "what-became-of-the-runs",
}


@pytest.mark.req("XC-013")
def test_rooms_requests_and_calls_of_the_earlier_version_go_on(council, earlier: Path):
    assert "the process that made it is gone" in succeed(council, "status")
    succeed(council, "turn", "end", "den", "--as", "henry", "--run-id", "r1")
    assert "sage" in succeed(council, "turn", "status", "den")
    succeed(council, "channel", "post", "den", "It is.", "--as", "zoe")
    succeed(council, "msg", "send", "M2|W1>O1|S|T1|P1|D|-|0|S1|B500|result=Nothing new.")
    assert "done" in succeed(council, "task", "list", "--all")
    succeed(council, "heartbeat")
    assert "the process that made it is gone" not in succeed(council, "status")
    assert "A plan of three steps." in succeed(
        council,
        "artifact",
        "fetch",
        json.loads(succeed(council, "artifact", "list", "--json"))[0]["artifactId"],
    )


@pytest.mark.req("XC-013", "XC-018")
def test_what_the_earlier_version_made_can_be_forgotten(council, earlier: Path):
    for name in (*OPEN, "agreed", "decided", "cancelled", "disputed"):
        succeed(council, "purge", name, "--yes")
    for name in ("den", "shed"):
        succeed(council, "purge", name, "--yes")
    left = [path for path in earlier.rglob("*") if b"Seen by nobody yet." in read(path)]
    assert left == []


def read(path: Path) -> bytes:
    """Return the bytes of a file, none of a folder."""
    return path.read_bytes() if path.is_file() else b""
