"""Looking at a deliberation, open or archived: its parts, its tallies, its session."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.core.conversations.procedures import Rules
from council.core.errors import UsageError
from council.operations.conversations.recalling import recall
from council.operations.conversations.steer import close
from council.operations.place import Place
from council.operations.view import debate_session, shown
from tests.core.conversations.samples import convened
from tests.core.debates import REASONS, Debate, soft_debate


@pytest.fixture
def place(workspace: Path) -> Place:
    return Place(str(workspace), {}, None)


def test_contributions_bear_what_was_read_out_of_them() -> None:
    record = shown(soft_debate().state)
    cid = next(one for one in record["contributions"] if one["id"] == "1-cid")
    assert cid["position"] == "A service."
    assert cid["responses"][0] == {
        "agentId": "ann",
        "stance": "disagree",
        "comment": "it does not scale",
    }
    assert (cid["reasoning"], cid["confidence"], cid["faults"]) == (REASONS, 4, [])
    assert "position" not in record["contributions"][-1]  # the synthesis


def test_a_council_is_shown_as_before() -> None:
    record = shown(convened())
    assert not {"verdict", "tallies", "flips"} & set(record)


@pytest.mark.req("DL-097", "DL-098", "DL-102")
def test_tallies_flips_and_the_weighted_count_stand_beside_the_verdict() -> None:
    debate = Debate("ann", "bob", sealed=True, rules=Rules(max_rounds=2))
    debate.turn("ann", "Yes.")
    debate.turn("bob", "Yes!")
    debate.round("No.", {"ann": {"bob": "disagree"}})
    debate.vote("No.", {})
    record = shown(debate.state)
    assert record["tallies"] == {
        "blind": [{"position": "Yes.", "agents": ["ann", "bob"]}],
        "final": [{"position": "No.", "agents": ["ann", "bob"]}],
    }
    assert record["verdict"]["type"] == "strong"
    assert record["weighted"]["agree"] == 8
    (stance,) = [one for one in record["flips"] if one["kind"] == "stance"]
    assert (stance["agent"], stance["before"], stance["after"]) == ("ann", "disagree", "agree")
    assert stance["peerMoved"] is False


@pytest.mark.req("DL-051", "DL-056", "DL-055")
def test_the_session_of_an_archived_deliberation_is_that_of_the_open_one(place: Place) -> None:
    (Path(place.root) / "council.toml").write_text('[agents.ann]\nargv = ["true"]\n')
    place = Place(place.root, {}, None)
    debate = soft_debate()
    place.conversations.create(debate.state, now=debate.now)
    found = recall(place, "active")
    open_session = debate_session(place, found.state)
    assert open_session["config"]["agents"][0]["driver"] == "command"
    path = close(place, found.state)
    for wanted in ("active", "should-we-build-a-weather-bot", path, debate.state.session_id):
        again = recall(place, wanted)
        assert again.archived
        assert debate_session(place, again.state) == open_session


def test_a_council_is_no_debate_session(place: Place) -> None:
    with pytest.raises(UsageError, match="no debate session"):
        debate_session(place, convened())
