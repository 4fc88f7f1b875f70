"""Words of the five documents, mapped and never mixed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.conversations.conversation import (
    ClosedReason,
    ParticipantStatus,
    Round,
    Status,
    TaskState,
)
from council.core.reasons import read_reason
from council.core.reporting import meanings
from council.core.rooms.channels import Channel, TurnState
from tests.core.conversations.samples import NOW, convened


@pytest.mark.req("XC-103")
def test_every_word_of_a_store_has_its_meaning():
    by_document = list(zip(*meanings.WORDS.values(), strict=True))
    words = [{word for words in column for word in words} for column in by_document]

    assert words[0] >= {str(one) for one in Status}
    assert words[1] >= {str(one) for one in TurnState}
    assert words[2] >= {str(one) for one in TaskState}
    assert words[4] >= {"ok", "error", "timeout", "rejected"}
    assert len(meanings.DOCUMENTS) == len(by_document)


@pytest.mark.req("XC-103")
@pytest.mark.parametrize(
    ("fields", "meaning"),
    [
        ({}, meanings.CREATED),
        ({"tour": 2}, meanings.UNDER_WAY),
        ({"paused_at": NOW}, meanings.PAUSED),
        ({"status": Status.CONVERGED}, meanings.ENDED_WELL),
        ({"status": Status.TIMEOUT}, meanings.OUT_OF_TIME),
        (
            {"status": Status.TIMEOUT, "closed_reason": ClosedReason.CANCELLED},
            meanings.STOPPED,
        ),
    ],
)
def test_a_conversation_keeps_its_word_and_has_a_meaning(fields, meaning):
    state = convened().copy(**fields)

    assert meanings.of_conversation(state) == meaning
    assert str(state.status) in meanings.WORDS[meaning][0]


@pytest.mark.req("HR-026", "XC-103")
@pytest.mark.parametrize(
    ("absent", "reason", "meaning"),
    [
        ("exit 1", ClosedReason.PHASES_EXHAUSTED, meanings.WITHOUT_SOME),
        ("timeout", ClosedReason.PHASES_EXHAUSTED, meanings.OUT_OF_TIME),
        ("exit 1", ClosedReason.TIMEOUT, meanings.OUT_OF_TIME),
        ("exit 1", ClosedReason.NOBODY_LEFT, meanings.FAILED),
    ],
)
def test_only_what_ran_out_of_time_is_said_to_have_ended_by_time(absent, reason, meaning):
    agent = next(iter(convened().participants))
    played = Round(tour=1, phase="COLLECT", started_at=NOW, absent={agent: read_reason(absent)})
    ended = {"status": Status.TIMEOUT, "closed_reason": reason, "finished_at": NOW}
    state = convened().copy(rounds=[played], **ended)

    assert meanings.of_conversation(state) == meaning
    assert str(state.status) in meanings.WORDS[meaning][0]


@pytest.mark.req("HR-026", "XC-103")
def test_a_conversation_whose_synthesis_is_awaited_has_not_ended():
    waiting = convened().copy(status=Status.CONVERGED, phase="SYNTHESIZE")

    assert meanings.of_conversation(waiting) == meanings.UNDER_WAY
    assert meanings.of_conversation(waiting.copy(paused_at=NOW)) == meanings.PAUSED
    assert meanings.of_conversation(waiting.copy(finished_at=NOW)) == meanings.ENDED_WELL


def test_a_conversation_in_which_somebody_has_answered_is_under_way():
    state = convened()
    first = next(iter(state.participants.values()))
    first.status = ParticipantStatus.RESPONDED

    assert meanings.of_conversation(state) == meanings.UNDER_WAY


@pytest.mark.req("XC-103")
def test_a_channel_keeps_its_word_and_has_a_meaning():
    room = Channel(channel_id="r", name="r", created_at=NOW, updated_at=NOW)

    def told(**fields) -> tuple[str, str]:
        channel = room.copy(**fields)
        return meanings.word_of_channel(channel), meanings.of_channel(channel)

    awake = {"state": TurnState.NORMAL, "speaker": "owl", "cycle": 1}
    assert told(**awake) == ("normal", meanings.CREATED)
    assert told(**awake, roused_at=NOW) == ("normal", meanings.UNDER_WAY)
    assert told(state=TurnState.NORMAL, cycle=1) == ("dormant", meanings.PAUSED)
    assert told(state=TurnState.ARCHIVED, cycle=1) == ("archived", meanings.ENDED_WELL)
    assert told(state=TurnState.DISABLED) == ("disabled", meanings.CREATED)


@pytest.mark.req("XC-103")
def test_a_task_that_failed_by_time_means_something_else_than_one_that_failed():
    assert meanings.of_task("F", "E21") == meanings.OUT_OF_TIME
    assert meanings.of_task("F", "E30") == meanings.FAILED
    assert [meanings.of_task(one) for one in "NRDX"] == [
        meanings.CREATED,
        meanings.UNDER_WAY,
        meanings.ENDED_WELL,
        meanings.STOPPED,
    ]


def test_what_time_is_given_changes_no_meaning():
    state = convened().copy(timeout_at=NOW + timedelta(days=1))

    assert meanings.of_conversation(state) == meanings.CREATED
