"""Rules of discussions."""

from __future__ import annotations

import pytest

from council.core.errors import ConflictError, InvalidInputError, RefusedError
from council.core.rooms.channels import Discussion, Mode, TurnState
from council.core.rooms.discussions import (
    ARCHIVED_ANSWER,
    CLOSED_ANSWER,
    REMINDER,
    automatic_answer,
    check_guide,
    completed,
    discussion_of,
)
from council.core.rooms.floor import opened
from tests.core.rooms.samples import GUIDE, NOW, Room, members

FRENCH = "# Sujet\nPonts\n# Objectifs\nUn plan\n# Critères de fin\nTous d'accord"


@pytest.mark.req("DG-114")
@pytest.mark.parametrize(
    "guide",
    [
        GUIDE,
        FRENCH,
        "Topic: bridges\nGoals: one plan\nCompletion criteria: all agree",
        "**Topic**\nx\n**Goals**\ny\n**Completion criteria:**\nz",
        "- Sujet : ponts\n- Buts : un plan\n- Critères : accord",
        "# Topic: Bridges\n## Goals and completion criteria\nOne plan.",
    ],
)
def test_a_guide_with_all_three_headings_is_accepted(guide: str):
    check_guide(guide)


@pytest.mark.req("DG-114")
@pytest.mark.parametrize(
    ("guide", "missing"),
    [
        ("", "topic, goals, completion criteria"),
        ("## Topic\nx\n## Goals\ny", "completion criteria"),
        ("## Goals\ny\n## Completion criteria\nz", "topic"),
        ("We talk of the topic, its goals and completion criteria.", "topic"),
        ("What we have to do in order to reach our goals and topic: work", "goals"),
    ],
)
def test_a_guide_without_a_heading_is_refused_and_the_heading_named(guide: str, missing: str):
    with pytest.raises(InvalidInputError, match=missing) as refusal:
        check_guide(guide)
    assert refusal.value.exit_code == 3


@pytest.mark.req("DG-111", "DG-115", "DG-116", "DG-118", "DG-035")
@pytest.mark.parametrize(("agents", "state"), [(2, TurnState.NORMAL), (3, TurnState.SHUFFLE)])
def test_a_new_discussion_is_private_and_takes_turns_by_head_count(agents: int, state: TurnState):
    about = Discussion(initiator="ann", guide=GUIDE, callback="home")
    here = members(*("ann", "bob", "cyd")[:agents])
    channel = opened(discussion_of("d", "Bridges", about, here, NOW), NOW).channel
    assert (channel.private, channel.mode, channel.state) == (True, Mode.DISCUSSION, state)
    assert channel.created_by == channel.discussion.initiator == "ann"
    assert channel.members == here


def test_a_discussion_without_a_proper_guide_is_not_made():
    with pytest.raises(InvalidInputError):
        discussion_of("d", "D", Discussion(initiator="ann", guide="talk!"), {}, NOW)


@pytest.mark.req("DG-121")
@pytest.mark.parametrize("caller", ["bob", "zoe", ""])
def test_only_the_initiator_completes_a_discussion(caller: str):
    with pytest.raises(RefusedError) as refusal:
        completed(Room("ann", "bob", mode=Mode.DISCUSSION).channel, caller, "s.md", NOW)
    assert refusal.value.exit_code == 6


@pytest.mark.req("DG-120", "DG-123")
def test_completing_seals_the_channel_whoever_has_the_floor():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.end("ann", "a real word")
    assert room.take(completed(room.channel, "ann", "s.md", room.now)).outcome == "completed"
    channel = room.channel
    assert (channel.state, channel.speaker) == (TurnState.ARCHIVED, "")
    assert channel.delivery is None
    assert channel.discussion.summary == "s.md"
    room.post("bob", "one more word")
    assert room.channel.speaker == ""
    assert room.begin("bob").allowed is False


def test_completing_twice_is_harmless_with_the_same_summary_and_refused_with_another():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.take(completed(room.channel, "ann", "s.md", room.now))
    again = completed(room.channel, "ann", "s.md", room.now)
    assert (again.outcome, again.events) == ("already-completed", [])
    with pytest.raises(ConflictError):
        completed(room.channel, "ann", "other.md", room.now)


def test_what_is_no_discussion_is_not_completed():
    with pytest.raises(InvalidInputError):
        completed(Room("ann", "bob").channel, "ann", "s.md", NOW)


@pytest.mark.req("DG-065", "DG-119")
def test_the_moderator_says_the_words_of_the_document():
    room = Room("ann", "bob", mode=Mode.DISCUSSION)
    room.take(completed(room.channel, "ann", "s.md", room.now))
    assert automatic_answer(room.channel) == CLOSED_ANSWER == "This discussion is closed."
    archived = Room("ann", state=TurnState.ARCHIVED).channel
    assert automatic_answer(archived) == ARCHIVED_ANSWER
    assert ARCHIVED_ANSWER == "This channel is archived and no longer active."
    said = "Discussion is idle. Please summarize and call discussion-complete."
    assert said == REMINDER
