"""A vote lies out of sight until the phase closes, whichever way it came in."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.store.debates import turn

AGENTS = ("ann", "bob", "cid")
POSITION = "Zeppelins for everybody."


@pytest.fixture
def voting(council):
    """A deliberation of agents that answer by hand, in its vote."""
    agents = "".join(f'[agents.{agent}]\ndriver = "manual"\n' for agent in AGENTS)
    (council.root / "council.toml").write_text(f"schemaVersion = 1\n{agents}", encoding="utf-8")
    opened = council(
        *("convene", "Tea or coffee?", "--procedure", "deliberation", "--agents", ",".join(AGENTS)),
        *("--max-rounds", "1", "--json"),
    )
    assert opened.code == 0, opened.err
    for agent in AGENTS:
        others = " ".join(f"{one}=agree" for one in AGENTS if one != agent)
        said = council("respond", "--as", agent, "-", stdin=turn(others))
        assert said.code == 0, said.err
    assert shown(council)["currentPhase"] == "VOTE"
    return council


def shown(council) -> dict[str, object]:
    found = council("show", "--json")
    assert found.code == 0, found.err
    return found.json()


def found_in(root: Path, text: str) -> list[str]:
    """Return the files of the workspace that hold a text.

    Left out are the sealed ones, and what lies among the tasks of its author.
    """
    sought = text.encode()
    own = root / "memory" / "agents" / "ann" / "tasks"
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and path.parent.name != "sealed" and own not in path.parents
        if sought in path.read_bytes()
    )


def is_seen(council, text: str) -> list[str]:
    """Return where a text can be read: in files, or printed for people and for other agents."""
    where = found_in(council.root, text)
    for words in (
        ("show",),
        ("show", "--json"),
        ("show", "--consensus"),
        ("show", "--open-questions"),
        ("status", "--json"),
        ("explain", "active"),
        ("events", "tail", "--lines", "500", "--json"),
        ("history", "--name", "active", "--json"),
        ("context", "--as", "bob"),
        ("context", "--as", "bob", "--json"),
    ):
        said = council(*words)
        where += [" ".join(words)] if text in said.out + said.err else []
    return where + found_in(council.root, text)


@pytest.mark.req("HR-023", "DL-025")
def test_a_vote_is_nowhere_to_be_read_before_the_phase_closes(voting):
    voted = voting("vote", "--as", "ann", "-", stdin=turn("bob=agree cid=agree", position=POSITION))
    assert voted.code == 0, voted.err

    assert is_seen(voting, POSITION) == []
    participants = {agent: one["status"] for agent, one in shown(voting)["participants"].items()}
    assert participants == {"ann": "RESPONDED", "bob": "WAITING", "cid": "WAITING"}

    for agent in ("bob", "cid"):
        others = " ".join(f"{one}=agree" for one in AGENTS if one != agent)
        assert voting("vote", "--as", agent, "-", stdin=turn(others)).code == 0
    assert shown(voting)["currentPhase"] == "SYNTHESIZE"
    assert POSITION in voting("show").out
    votes = [one for one in shown(voting)["contributions"] if one["phase"] == "VOTE"]
    assert [one["agent"] for one in votes] == list(AGENTS)


@pytest.mark.req("HR-023", "DL-013", "DL-015")
def test_a_vote_that_is_asked_for_again_stays_out_of_sight_both_times(voting):
    first = voting("vote", "--as", "ann", "--json", "-", stdin=turn("bob=zeppelinish cid=agree"))
    assert first.json()["askedAgain"] is True
    assert "zeppelinish" in json.dumps(first.json()["faults"]), "its author is told what lacks"
    assert is_seen(voting, "zeppelinish") == []

    again = voting("heartbeat")  # hands over the second request, which may show the author its own
    assert again.code == 0, again.err
    again = turn("bob=agree cid=agree", position=POSITION)
    second = voting("vote", "--as", "ann", "--json", "-", stdin=again)
    assert second.json()["askedAgain"] is False, second.err
    for text in ("zeppelinish", POSITION):
        assert is_seen(voting, text) == []

    voting("stop")
    kinds = [(one["kind"], one["agent"]) for one in shown(voting)["ledger"][-2:]]
    assert kinds == [("draft", "ann"), ("contribution", "ann")]


@pytest.mark.req("HR-023", "DL-056")
def test_a_vote_written_into_the_file_is_moved_out_of_sight(voting):
    file = voting.root / "memory" / "shared" / "council-active-conversation.md"
    text = file.read_text(encoding="utf-8")
    before, heading, section = text.rpartition(" Ann\n")
    assert "VOTE" in before
    vote = turn("bob=agree cid=agree", position=POSITION)
    section = section.replace('"status": "WAITING"', '"status": "RESPONDED"', 1)
    saved = f"{before}{heading}\n[Tour 2]: {vote}\n{section}"
    for _ in range(2):  # an editor that saves its old copy again brings the vote back
        file.write_text(saved, encoding="utf-8")
        assert voting("heartbeat").code == 0
        assert is_seen(voting, POSITION) == []
    voting("stop")
    assert POSITION in voting("show").out


@pytest.mark.req("HR-023", "XC-001")
def test_a_program_that_goes_on_writing_into_the_file_that_held_a_vote_loses_nothing(voting):
    file = voting.root / "memory" / "shared" / "council-active-conversation.md"
    before, heading, section = file.read_text(encoding="utf-8").rpartition(" Ann\n")
    vote = turn("bob=agree cid=agree", position=POSITION)
    section = section.replace('"status": "WAITING"', '"status": "RESPONDED"', 1)
    file.write_text(f"{before}{heading}\n{vote}\n{section}", encoding="utf-8")
    with file.open("a", encoding="utf-8") as still_open:
        assert voting("heartbeat").code == 0
        still_open.write("\nThe chair is late.\n")
    assert voting("heartbeat").code == 0

    assert "The chair is late." in file.read_text(encoding="utf-8")
    assert is_seen(voting, POSITION) == []


@pytest.mark.req("C0-011", "XC-001")
def test_what_was_saved_while_a_text_took_its_place_is_taken_in_by_the_next_heartbeat(voting):
    """Its process finds in the file that gave way what it had not read, and leaves it as it is."""
    file = voting.root / "memory" / "shared" / "council-active-conversation.md"
    assert voting("heartbeat").code == 0
    text = file.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    [displaced] = (voting.root / "memory" / "shared" / ".council").glob("*/displaced")
    displaced.joinpath(f"new-{digest}-0123456789abcdef").write_text(
        f"{text}\nThe chair is late.\n", encoding="utf-8"
    )

    assert voting("heartbeat").code == 0
    assert "The chair is late." in file.read_text(encoding="utf-8")
    assert list(displaced.glob("new-*")) == []
