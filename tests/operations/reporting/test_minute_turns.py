"""The record part of the minutes of a deliberation: nothing that was said or missed is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations.answers import respond
from council.core.conversations.conversation import EntryKind, Origin
from council.core.conversations.due import Wake, due_agents, pending
from council.core.conversations.procedures import Rules
from council.core.conversations.tasks import task_failed, task_started
from council.core.errors import CouncilError, InvalidStateError
from council.core.ids import task_id
from council.core.reasons import read_reason
from council.operations.reporting.minutes import render_data, render_minutes
from council.store.conversations.minutes import conversation_in, conversation_of, read_data
from council.store.statefile.quoting import read_entries
from tests.core.debates import Debate, soft_debate, turn_text
from tests.examples import examples


def minutes(debate: Debate) -> str:
    return render_minutes(debate.state, now=debate.now)


def kept(debate: Debate) -> dict[str, Any]:
    """Return what lies beside the minutes for programs."""
    return read_data(render_data(debate.state, now=debate.now))


def section(debate: Debate, title: str) -> list[str]:
    """Return the lines of one section that are not blank."""
    text = minutes(debate)
    lines = text.split("\n")
    start = lines.index(f"## {title}") + 1
    end = next((at for at in range(start, len(lines)) if lines[at].startswith("## ")), len(lines))
    return [line for line in lines[start:end] if line.strip()]


def titles(debate: Debate) -> list[str]:
    text = minutes(debate)
    return [line[3:] for line in text.split("\n") if line.startswith("## ")]


def fail_runs(debate: Debate, reason: str) -> int:
    """Let every run of who has the floor fail; return how many were tried."""
    (agent,) = due_agents(debate.state)
    runs = 0
    while due_agents(debate.state) == (agent,):
        debate.now += timedelta(minutes=2)
        (wake,) = pending(debate.state, debate.now)
        assert isinstance(wake, Wake)
        ends_at = debate.now + timedelta(minutes=1)
        debate.step(
            task_started(debate.state, wake, driver="command", now=debate.now, ends_at=ends_at)
        )
        debate.step(task_failed(debate.state, wake.task, read_reason(reason), now=debate.now))
        runs += 1
    return runs


@pytest.mark.req("DL-053", "C0-030")
def test_each_round_has_its_section_in_the_order_of_speaking() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=2, stability=False))
    debate.round("Yes.", {"cid": {"ann": "disagree"}})
    debate.round("Yes.", {"cid": {"ann": "disagree"}})
    debate.vote("Yes.", {})
    debate.finish()
    found = titles(debate)
    at = found.index("Round 1")
    assert found[at : at + 3] == ["Round 1", "Round 2", "Vote"]
    speakers = [line for line in section(debate, "Round 2") if line.startswith("### ")]
    assert speakers == ["### 🦉 Bob", "### 🦉 Cid", "### 🦉 Ann"]


@pytest.mark.req("DL-073", "DL-102")
def test_a_turn_shows_its_stances_as_marks_and_its_confidence() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.")
    debate.turn("bob", "No.", 2, ann="disagree")
    debate.turn("cid", "Maybe.", 5, ann="partial", bob="agree")
    lines = section(debate, "Round 1")
    at = lines.index("### 🦉 Cid")
    assert lines[at + 2].endswith("· claimed · confidence 5/5*")
    assert lines[at + 3] == "~ Ann · ✓ Bob"


@pytest.mark.req("DL-025", "DL-026")
def test_votes_stand_in_one_table() -> None:
    lines = section(soft_debate(), "Votes")
    assert lines[0] == "| Agent | Final position | Confidence | Ann | Bob | Cid |"
    assert lines[2] == "| Ann | We build a script. | 4/5 |  | ✓ | ~ |"
    assert lines[4] == "| Cid | We need a service. | 4/5 | ✗ | ✗ |  |"


@pytest.mark.req("DL-047")
def test_the_course_of_the_verdict_stands_round_by_round() -> None:
    lines = section(soft_debate(), "Verdict after each round")
    assert lines[2:] == [
        "| 1 | soft | Ann | 2 | 0 | 1 | 0 |",
        "| Vote | soft | Ann | 2 | 0 | 1 | 0 |",
    ]


@pytest.mark.req("DL-098")
def test_flip_log_tells_round_from_to_and_whom_it_cites() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=2, stability=False))
    debate.round("Yes.", {"cid": {"ann": "disagree"}})
    debate.turn("bob", "Yes.")
    debate.turn("cid", "Yes.", ann=("agree", "@bob has numbers"), bob="agree")
    debate.turn("ann", "Yes.", bob="agree", cid="agree")
    debate.vote("Yes.", {})
    lines = section(debate, "Changes of mind")
    assert lines[2:] == ["| 2 | Cid | Ann | disagree | agree | Bob | yes |"]


def peer_moves(lang: str = "en") -> Debate:
    """Return a debate in which cid agrees with ann, without a word, when ann changes its mind."""
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=2, stability=False), lang=lang)
    debate.round("Yes.", {"cid": {"ann": "disagree"}})
    debate.turn("bob", "Yes.")
    debate.turn("cid", "Yes.", ann="disagree", bob="agree")
    debate.turn("ann", "Rather not.", bob="agree", cid="agree")
    debate.vote("Yes.", {})
    return debate


@pytest.mark.req("DL-098")
def test_a_flip_towards_a_peer_that_had_moved_is_logged_without_a_warning() -> None:
    lines = section(peer_moves(), "Changes of mind")
    assert "| 3 | Cid | Ann | disagree | agree | – | no, but Ann had moved |" in lines
    assert "Cid changed its stance" not in minutes(peer_moves())
    assert "non, mais Ann avait changé de position |" in minutes(peer_moves("fr"))


@pytest.mark.req("DL-081")
def test_a_skipped_turn_stands_in_its_round() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.")
    debate.wait()
    assert "- Bob: NO RESPONSE (timeout)" in section(debate, "Round 1")


@pytest.mark.req("DL-086")
def test_a_failed_model_is_skipped_with_its_error() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.")
    assert fail_runs(debate, "exit status 3") == 3
    assert due_agents(debate.state) == ("cid",)
    assert "- Bob: NO RESPONSE (failed): exit status 3" in section(debate, "Round 1")
    assert "  - round 1, DELIBERATE: exit status 3" in section(debate, "Absent")


@pytest.mark.req("DL-054", "DL-085")
def test_guidance_stands_at_its_place_with_those_who_acknowledged_it() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.")
    debate.inject("Mind the budget.")
    debate.turn("bob", "No.", ann="disagree", human=("acknowledged", "it fits"))
    lines = section(debate, "Round 1")
    heads = [line for line in lines if line.startswith("### ")]
    assert heads == ["### 🦉 Ann", "### ➤ Guidance from anna", "### 🦉 Bob"]
    assert "> Mind the budget." in lines
    assert "*Acknowledged by: Bob (round 1); not by Ann, Cid*" in lines


@pytest.mark.req("DL-016")
def test_questions_that_nobody_answered_are_listed() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.", reasoning="@bob, who pays? @cid, who keeps it?")
    debate.turn("bob", "No.", ann=("disagree", "nobody"))
    assert section(debate, "Questions never answered") == [
        "- Ann to Cid, round 1, DELIBERATE: @cid, who keeps it?"
    ]


@pytest.mark.req("DL-013", "DL-015")
def test_what_a_turn_lacks_is_said_beside_it_and_its_draft_stands_apart() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.")
    debate.say("bob", "No way.")
    debate.say("bob", "## Position\nNo.\n\n## Reasoning\nDear.\n")
    lacks = "*⚠ not all of the form: no confidence from 1 to 5; no response to Ann*"
    assert lacks in section(debate, "Round 1")
    assert "> No way." not in section(debate, "Round 1")
    assert "> No way." in section(debate, "Drafts")


def test_late_turns_stand_apart() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.")
    task = task_id(debate.state.conversation_id, 1, "bob", 1)
    debate.wait()
    debate.turn("cid", "Yes.", ann="agree")
    late = respond(debate.state, "bob", "Sorry, here.", now=debate.now, task=task)
    assert late.outcome == "late"
    debate.step(late)
    assert "> Sorry, here." in section(debate, "Late contributions")
    assert "> Sorry, here." not in section(debate, "Round 1")


def test_a_blind_round_says_so_and_asks_for_no_responses() -> None:
    debate = Debate("ann", "bob", sealed=True)
    debate.turn("ann", "Yes.")
    debate.turn("bob", "No.")
    lines = section(debate, "Round 1 (blind)")
    assert not [line for line in lines if "not all of the form" in line]


def test_the_position_of_a_turn_in_json_is_told_to_people() -> None:
    debate = Debate("ann", "bob")
    debate.say("ann", '{"position": "Build it.", "reasoning": "Cheap.", "confidence": 4}')
    assert "**Position**: Build it." in section(debate, "Round 1")


@pytest.mark.req("DL-103")
def test_quotations_are_checked_beside_the_turn() -> None:
    debate = Debate("ann", "bob")
    debate.turn("ann", "We should wait for one season.")
    reasoning = '@ann: "wait for one season"\n\n@ann: "never build it at all"'
    debate.turn(
        "bob", "No.", reasoning=f"{reasoning}\n\n@ann\n> WAIT for *one* season", ann="disagree"
    )
    lines = section(debate, "Round 1")
    assert "- ≈ “WAIT for *one* season”: nearly so in what Ann said" in lines
    assert "- ✓ “wait for one season”: found in what Ann said" in lines
    assert "- ✗ “never build it at all”: NOT FOUND in what Ann said" in lines


@pytest.mark.req("DL-100", "DL-103")
def test_texts_with_pseudonyms_are_kept_word_for_word_with_a_key_to_the_names() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1, anonymous=True))
    debate.turn("ann", "We should wait for one season.")
    ann = debate.alias("bob", "ann")
    reasoning = f'@{ann} wrote: "wait for one season".'
    text = turn_text("No.", {ann: "disagree"}, reasoning=reasoning)
    debate.say("bob", text)
    lines = section(debate, "Round 1")
    assert f"*In this text: {ann} is Ann*" in lines
    assert "✗ Ann" in lines
    assert "- ✓ “wait for one season”: found in what Ann said" in lines
    assert read_entries(minutes(debate))["1-bob"] == kept(debate)["texts"]["1-bob"] == text


@pytest.mark.req("C0-030", "XC-013")
def test_a_conversation_comes_out_of_its_minutes_as_it_went_in() -> None:
    debate = Debate("ann", "bob", "cid", sealed=True, topic="# Is <b> a tag?")
    debate.say("ann", "No form.")
    debate.turn("ann", "Yes.")
    debate.turn("bob", "No.")
    debate.inject("Mind the > budget.\n\n## Votes")
    debate.turn("cid", "Maybe.")
    debate.round("Yes.", {"cid": {"bob": "partial"}})
    debate.vote("Yes.", {})
    debate.synthesize("Build it.")
    assert debate.entries(EntryKind.DRAFT)
    back = conversation_of(kept(debate))
    assert back.topic == debate.state.topic
    assert back.brief == debate.state.brief
    assert back == debate.state.copy(sealed={})
    assert render_minutes(back, now=debate.now) == minutes(debate)


@pytest.mark.parametrize(
    "text", ["", "# Title\n", "---\ntitle: x\n---\n", "<!--council-state\n{\n-->"]
)
def test_what_is_no_minutes_is_refused(text: str) -> None:
    with pytest.raises(InvalidStateError):
        conversation_in(text)


@given(st.data())
@settings(max_examples=examples(40), deadline=None)
@pytest.mark.req("C0-030")
def test_any_history_is_rendered_and_read_back(data: st.DataObject) -> None:
    agents = ("ann", "bob", "cid")[: data.draw(st.integers(2, 3))]
    rules = Rules(max_rounds=2, anonymous=data.draw(st.booleans()))
    debate = Debate(*agents, sealed=data.draw(st.booleans()), rules=rules)
    words = st.text(st.sampled_from("ab @<>|#-\n`>é\u2028:"), min_size=1, max_size=40)
    stance = st.sampled_from(("agree", "partial", "disagree", "yes", "acknowledged"))
    for _ in range(data.draw(st.integers(0, 14))):
        if debate.state.finished_at is not None:
            break
        what = data.draw(st.sampled_from(("turn", "turn", "turn", "text", "wait", "inject")))
        agent = (due_agents(debate.state) or agents)[0]
        try:
            if what == "turn":
                others = {one: data.draw(stance) for one in agents if one != agent}
                debate.say(agent, turn_text(data.draw(words), others, data.draw(st.integers(0, 6))))
            elif what == "text":
                debate.say(agent, data.draw(words), Origin.VERIFIED)
            elif what == "inject":
                debate.inject(data.draw(words))
            else:
                debate.wait()
        except CouncilError:
            continue
    assert minutes(debate)
    assert conversation_of(kept(debate)) == debate.state.copy(sealed={})
