"""What one reader sees of an anonymous deliberation: no name of a peer, and no mark of its own."""

from __future__ import annotations

import json

import pytest

from council.core.conversations.anonymity import without_peers
from council.core.conversations.answers import inject, respond
from council.core.conversations.conversation import Conversation, EntryKind, TaskState
from council.core.conversations.due import due_agents
from council.core.conversations.handles import pseudonyms
from council.core.conversations.machine import advance
from council.core.conversations.sight import parts
from council.core.conversations.tasks import task_failed, task_started
from council.core.reasons import said
from tests.core.conversations.samples import HOUR, NOW, wakes
from tests.core.talks import FIVE, ballot, debate, form, round_of, say, speaks

MASKED = {"anonymous": True, "max_rounds": 3}


def masked(*agents: str, **fields: object) -> Conversation:
    rules = {**MASKED, **fields.pop("rules", {})}
    return debate(*(agents or FIVE), rules=rules, **fields)


def talkative(state: Conversation) -> Conversation:
    """Let who has the floor name everybody in every way, under pseudonyms and in clear."""
    agent = due_agents(state)[0]
    known = pseudonyms(state, agent)
    names = " ".join(f"@{one} {one.upper()} Dame {one.capitalize()}" for one in FIVE)
    stances = {
        known[one.agent]: f"partial — I am {agent}, and {known[one.agent]} is not"
        for one in state.entries
        if one.tour == state.tour and one.kind is EntryKind.CONTRIBUTION
    }
    reasoning = f"{names} {' '.join(known.values())} 🦊 Dame Elm\n\n@{known['elm']}, why {agent}?"
    text = form(
        {**stances, "human": "acknowledged"}, f"{agent} in {state.tour}.", reasoning=reasoning
    )
    return say(state, agent, text)


def played(rounds: int) -> Conversation:
    state = inject(masked(), "Hear @elm and Dame Birch, aster.", author="jo", now=NOW).state
    for _ in range(rounds * len(FIVE)):
        state = talkative(state)
    return state


def voted(state: Conversation) -> Conversation:
    for agent in FIVE:
        known = pseudonyms(state, agent)
        stances = {known[one]: f"agree — with {one}" for one in FIVE if one != agent}
        state = say(state, agent, ballot(stances, f"{agent} votes with {known['elm']}."))
    return state


def assert_nobody_is_named(state: Conversation, reader: str) -> dict:
    found = parts(state, reader, NOW)
    # Topic and brief are the matter itself.
    text = json.dumps({**found, "topic": "", "brief": ""}, ensure_ascii=False).casefold()
    for agent in FIVE:
        if agent != reader:
            for word in (agent, f"role-{agent}", f"vendor/{agent}"):
                assert word not in text, f"{word} in what {reader} sees"
    if reader not in FIVE:
        assert "🦊" not in text.replace("🦊 member", "")
    return found


@pytest.mark.req("DL-100")
@pytest.mark.parametrize("reader", [*FIVE, "stranger"])
@pytest.mark.parametrize("turns", [0, 1, 7, 13])
def test_no_name_of_a_peer_stands_anywhere_in_what_an_agent_sees(reader: str, turns: int):
    state = inject(masked(), "Hear @elm and Dame Birch, aster.", author="birch", now=NOW).state
    for _ in range(turns):
        state = talkative(state)
    assert_nobody_is_named(state, reader)


@pytest.mark.req("DL-100")
def test_no_name_stands_in_the_vote_nor_in_the_synthesis():
    state = played(3)
    assert state.phase == "VOTE"
    for reader in FIVE:
        assert_nobody_is_named(state, reader)
    state = voted(state)
    assert state.phase == "SYNTHESIZE"
    for reader in (*FIVE, "mediator"):
        found = assert_nobody_is_named(state, reader)
        members = set(pseudonyms(state, reader).values())
        assert {one["agent"] for one in found["votes"]} == members
        assert set(found["verdict"]["towards"]) == members
        assert found["verdict"]["reference"] in members


@pytest.mark.req("DL-100")
def test_own_answers_stand_unmarked_among_those_of_the_others_in_their_order():
    state = round_of(masked())
    for reader in FIVE:
        found = parts(state, reader, NOW)
        known = pseudonyms(state, reader)
        assert found["own"] == []
        assert [one["agent"] for one in found["contributions"]] == [known[one] for one in FIVE]
        assert [one["agent"] for one in found["turns"]] == [known[one] for one in FIVE]
        mine = found["contributions"][FIVE.index(reader)]
        assert mine["label"] == known[reader] and f"{known[reader]} says 1." in mine["text"]


@pytest.mark.req("DL-100")
def test_what_an_agent_is_asked_to_give_again_is_marked_as_its_own():
    state = say(masked(), "aster", "Just build it, says aster.")
    found = parts(state, "aster", NOW)
    assert [one["agent"] for one in found["own"]] == ["aster"]
    assert found["contributions"] == []
    assert [one["code"] for one in found["faults"]] == ["no-form"]


@pytest.mark.req("DL-100")
def test_who_has_to_do_what_is_told_in_pseudonyms():
    state = masked()
    known = pseudonyms(state, "birch")
    asked = f"@{pseudonyms(state, 'aster')['birch']}, what does it cost, and you, @elm?"
    state = speaks(state, reasoning=asked)
    found = parts(state, "birch", NOW)
    assert found["mustAnswer"] == [known["aster"]]
    assert found["questions"] == [
        {
            "asker": known["aster"],
            "tour": 1,
            "text": f"@birch, what does it cost, and you, @{known['elm']}?",
        }
    ]
    assert found["speaker"] == "birch" and found["order"]["speakers"] == []
    assert parts(state, "elm", NOW)["speaker"] == pseudonyms(state, "elm")["birch"]


@pytest.mark.req("DL-100")
def test_guidance_speaks_to_the_reader_by_name_and_of_peers_by_pseudonym():
    state = inject(masked(), "Elm, hear @birch.", author="birch", now=NOW).state
    found = parts(state, "elm", NOW)
    assert found["injections"][0]["text"] == f"Elm, hear @{pseudonyms(state, 'elm')['birch']}."
    assert (found["injections"][0]["agent"], found["guidance"]) == (
        "human",
        ["1-human-injection"],
    )


@pytest.mark.req("DL-100")
def test_in_a_vote_the_list_of_lines_does_not_tell_who_the_reader_is():
    state = played(3)
    found = parts(state, "cedar", NOW)
    assert found["mustAnswer"] == [f"member-{number}" for number in range(1, 6)]


@pytest.mark.req("DL-100")
def test_why_a_peer_was_absent_does_not_name_its_program():
    state = masked()
    for _ in range(3):
        wake = wakes(state, NOW + HOUR)[0]
        assert wake.agent == "aster"
        started = task_started(state, wake, driver="command", now=NOW, ends_at=NOW + HOUR).state
        state = task_failed(started, wake.task, said("aster-cli: exit 3"), now=NOW).state
    assert [one.state for one in state.tasks.values()] == [TaskState.F] * 3
    state = advance(state, NOW).state
    for _ in FIVE[1:]:
        state = speaks(state)
    found = parts(state, "elm", NOW)
    known = pseudonyms(state, "elm")
    assert [(one["agent"], one["reason"]) for one in found["absent"]] == [
        (known["aster"], "failed")
    ]


@pytest.mark.req("DL-100", "DL-103")
def test_a_quotation_is_checked_against_the_words_that_its_author_was_shown():
    state = masked()
    first = pseudonyms(state, "aster")
    state = speaks(state, position=f"I follow @{first['dahlia']} in this, says Aster.")
    shown = parts(state, "birch", NOW)["turns"][0]["position"]
    known = pseudonyms(state, "birch")
    assert shown == f"I follow @{known['dahlia']} in this, says {known['aster']}."
    quotes = f"@{known['aster']}\n> {shown}\n\n@{known['aster']}\n> We shall all be rich."
    state = speaks(state, reasoning=quotes)
    found = parts(state, "elm", NOW)["contributions"][1]
    reader = pseudonyms(state, "elm")
    assert [(one["of"], one["found"]) for one in found["quotations"]] == [
        (reader["aster"], "found"),
        (reader["aster"], "missing"),
    ]
    assert found["quotations"][0]["text"] == (
        f"I follow @{reader['dahlia']} in this, says {reader['aster']}."
    )


@pytest.mark.req("DL-100")
def test_late_words_reach_who_sums_up_without_a_name():
    state = advance(masked(rules={"max_rounds": 1}, synthesizer="mediator"), NOW + HOUR).state
    for _ in FIVE[1:]:
        state = speaks(state)
    assert state.phase == "VOTE"
    state = voted(state)
    late = f"{state.conversation_id}.1.aster.1"
    state = respond(state, "aster", "Sorry, says Aster of elm.", now=NOW, task=late).state
    found = assert_nobody_is_named(state, "mediator")
    known = pseudonyms(state, "mediator")
    assert [one["text"] for one in found["late"]] == [
        f"Sorry, says {known['aster']} of {known['elm']}."
    ]


def test_a_persona_keeps_the_name_of_its_own_and_loses_those_of_peers():
    state = masked()
    known = pseudonyms(state, "elm")
    told = without_peers(state, "elm", "You are Elm. You trust Birch and Dame Cedar.")
    assert told == f"You are Elm. You trust {known['birch']} and {known['cedar']}."


def test_the_parts_of_an_anonymous_deliberation_follow_from_the_state_alone():
    state = played(1)
    assert parts(state, "elm", NOW) == parts(state.copy(), "elm", NOW)


@pytest.mark.req("DL-100")
def test_what_an_answer_lacked_and_what_blocks_is_told_in_pseudonyms():
    state = masked()
    blocked = f"BLOCKING: {pseudonyms(state, 'aster')['elm']} and Birch have no key."
    state = say(state, "aster", form(reasoning=f"Why.\n\n{blocked}"))
    state = say(state, "birch", form({"human": "agree"}))
    known = pseudonyms(state, "birch")
    found = assert_nobody_is_named(state, "birch")
    assert ("missing-response", known["aster"]) in [
        (one["code"], one["agent"]) for one in found["faults"]
    ]
    assert found["blockers"] == [
        {
            "text": f"{known['elm']} and {known['birch']} have no key",
            "agents": [known["aster"]],
        }
    ]
