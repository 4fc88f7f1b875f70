"""Judgement: what a deliberation has come to, by rule from turns and votes alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations.due import awaited
from council.core.conversations.procedures import Rules
from council.core.deliberation.judgement import (
    below_floor,
    dissent,
    judge,
    rounds_to_consensus,
    unreadable,
)
from tests.core.debates import Debate, soft_debate, turn_text

STANCES = ("agree", "partial", "disagree")
NAMES = ("ann", "bob", "cid", "dan", "eva")


@pytest.mark.req("DL-027")
def test_dissent_holds_the_stance_the_comment_and_nobody_else() -> None:
    state = soft_debate().state
    (one,) = dissent(state, judge(state))
    assert (one.agent, one.stance, one.comment) == ("cid", "disagree", "it still does not scale")


@pytest.mark.req("DL-027")
def test_who_agrees_but_not_with_another_who_does_stands_in_the_dissent() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    debate.round("Yes.", {})
    debate.vote("Yes.", {"bob": {"cid": "partial"}})
    judged = judge(debate.state)
    assert judged.verdict.type == "soft"
    (one,) = dissent(debate.state, judged)
    assert (one.agent, one.stance, one.beside) == ("bob", "agree", {"cid": "partial"})


@pytest.mark.req("DL-027")
def test_who_agrees_and_also_understands_a_dissenter_does_not_dissent() -> None:
    state = soft_debate().state
    assert [one.agent for one in dissent(state, judge(state))] == ["cid"]


@pytest.mark.req("DL-027", "DL-095")
def test_the_advocates_dissent_is_told_and_marked_as_not_counted() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1, advocate="cid"))
    debate.round("Yes.", {"cid": {"ann": "disagree", "bob": "disagree"}})
    debate.vote("Yes.", {"cid": {"ann": "disagree", "bob": "disagree"}})
    judged = judge(debate.state)
    assert judged.verdict.type == "strong"
    assert [(one.agent, one.counts) for one in dissent(debate.state, judged)] == [("cid", False)]


def test_who_did_not_vote_is_absent_from_the_verdict_and_keeps_its_last_position() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    debate.round("Yes.", {})
    debate.turn("ann", "Yes.", bob="agree", cid="agree")
    debate.turn("bob", "Yes.", ann="agree", cid="agree")
    debate.wait()
    judged = judge(debate.state)
    (one,) = dissent(debate.state, judged)
    assert (one.agent, one.stance) == ("cid", "absent")
    assert (judged.last["cid"].position, judged.last["cid"].vote) == ("Yes.", False)


@pytest.mark.req("DL-027")
def test_who_holds_the_position_and_doubts_a_supporter_stands_in_the_dissent() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    debate.round("Yes.", {})
    debate.vote("Yes.", {"bob": {"ann": "partial"}, "cid": {"ann": "partial"}})
    judged = judge(debate.state)
    assert (judged.verdict.reference, judged.verdict.type) == ("bob", "soft")
    assert [(one.agent, one.beside) for one in dissent(debate.state, judged)] == [
        ("bob", {"ann": "partial"}),
        ("cid", {"ann": "partial"}),
    ]


@st.composite
def votes(draw: st.DrawFn) -> Debate:
    agents = NAMES[: draw(st.integers(2, 5))]
    matrix = {
        one: {other: draw(st.sampled_from(STANCES)) for other in agents if other != one}
        for one in agents
    }
    debate = Debate(*agents, rules=Rules(max_rounds=1))
    debate.round({one: f"First of {one}." for one in agents}, {})
    debate.vote({one: f"Last of {one}." for one in agents}, matrix)
    return debate


@given(votes())
@settings(max_examples=60, deadline=None)
@pytest.mark.req("DL-027")
def test_dissent_is_empty_for_a_strong_consensus_and_for_no_other(debate: Debate) -> None:
    judged = judge(debate.state)
    told = dissent(debate.state, judged)
    assert (judged.verdict.type == "strong") == (not [one for one in told if one.counts])
    against = {one for one, stance in judged.verdict.towards.items() if stance != "agree"}
    assert {one.agent for one in told if not one.beside} == against


@pytest.mark.req("DL-097")
def test_the_tally_of_a_blind_first_round_is_kept_beside_the_final_one() -> None:
    debate = Debate("ann", "bob", "cid", sealed=True)
    debate.turn("ann", "Yes!")
    debate.turn("bob", "yes")
    debate.turn("cid", "No.")
    debate.round("Yes.", {})
    debate.vote("Yes.", {})
    judged = judge(debate.state)
    assert judged.blind is not None
    assert [(one.position, one.agents) for one in judged.blind] == [
        ("Yes!", ("ann", "bob")),
        ("No.", ("cid",)),
    ]
    assert [one.agents for one in judged.final] == [("ann", "bob", "cid")]
    assert judge(soft_debate().state).blind is None


@pytest.mark.req("DL-101")
def test_one_model_is_named_only_when_all_declare_it() -> None:
    same = dict.fromkeys(("ann", "bob", "cid"), "one/model")
    assert judge(soft_debate(models=same).state).model == "one/model"
    assert judge(soft_debate(models={**same, "cid": "another"}).state).model == ""


@pytest.mark.req("DL-102")
def test_the_weighted_tally_stands_beside_the_plain_one_and_changes_nothing() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    debate.round("Yes.", {"cid": {"ann": "disagree"}})
    debate.turn("ann", "Yes.", 1, bob="agree", cid="partial")
    debate.turn("bob", "Yes.", 1, ann="agree", cid="partial")
    debate.turn("cid", "No.", 5, ann="disagree", bob="disagree")
    judged = judge(debate.state)
    assert (judged.weighted.agree, judged.weighted.disagree) == (2, 5)
    assert (judged.verdict.agree, judged.verdict.type) == (2, "soft")


@pytest.mark.req("DL-102")
def test_who_is_below_the_floor_is_named_and_counts_as_absent() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1, confidence_floor=3))
    debate.round("Yes.", {})
    debate.turn("ann", "Yes.", 4, bob="agree", cid="agree")
    debate.turn("bob", "Yes.", 4, ann="agree", cid="agree")
    debate.turn("cid", "Yes.", 1, ann="agree", bob="agree")
    judged = judge(debate.state)
    assert below_floor(debate.state, judged) == ["cid"]
    assert (judged.verdict.type, judged.verdict.absent) == ("soft", 1)


def test_rounds_that_are_open_or_were_cut_off_are_not_judged() -> None:
    debate = Debate("ann", "bob")
    debate.turn("ann", "Yes.")
    assert judge(debate.state).history == []
    debate.cancel()
    judged = judge(debate.state)
    assert (judged.history, judged.verdict.type) == ([], "none")
    assert [list(one.turns) for one in judged.everything] == [["ann"]]


def test_a_text_without_form_is_named_and_counts_for_nothing() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1))
    debate.say("ann", "I agree with everybody, always.")
    debate.say("ann", "As I said: I agree.")
    debate.turn("bob", "Yes.", ann="agree")
    assert unreadable(judge(debate.state)) == [(1, "ann")]


@pytest.mark.req("DL-100")
def test_names_stand_in_the_place_of_pseudonyms_in_what_is_told() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1, anonymous=True))
    debate.turn("ann", "Yes.")
    ann = debate.alias("bob", "ann")
    debate.say("bob", turn_text(f"As {ann} says.", {ann: ("agree", f"{ann} is right")}))
    ann, bob = debate.alias("cid", "ann"), debate.alias("cid", "bob")
    debate.say("cid", turn_text("No.", {ann: "disagree", bob: ("disagree", f"{bob} copies {ann}")}))
    judged = judge(debate.state)
    assert judged.last["bob"].position == "As Ann says."
    comments = [one.comment for one in judged.history[0].turns["cid"].responses]
    assert comments == ["", "Bob copies Ann"]


@pytest.mark.req("DL-098")
def test_a_pseudonym_stands_for_whom_its_author_knows_by_it() -> None:
    agents = ("claude", "gpt", "glm")
    debate = Debate(*agents, rules=Rules(max_rounds=3, anonymous=True))
    rust, go = "Rust never crashes.", "Take Go, because everybody here already writes it well."
    apart = dict.fromkeys(agents, dict.fromkeys(agents, "disagree"))
    debate.round({"claude": rust, "gpt": rust, "glm": go}, apart)
    cited = {"claude": "glm", "gpt": "claude", "glm": "gpt"}
    spoken: list[str] = []
    for agent in awaited(debate.state):
        reasons = f"{debate.alias(agent, cited[agent])} is right."
        debate.turn(agent, go, reasoning=reasons, **dict.fromkeys(spoken, "disagree"))
        spoken.append(agent)
    found = {one.agent: one.cites for one in judge(debate.state).flips if one.kind == "position"}
    assert found == {"claude": ("glm",), "gpt": ("claude",)}


@pytest.mark.req("DL-092")
@pytest.mark.parametrize(
    ("verdicts", "rounds"),
    [
        ([], 0),
        ([("turn", False), ("turn", False), ("vote", False)], 0),
        ([("turn", True), ("vote", True)], 1),
        ([("turn", False), ("turn", True), ("vote", True)], 2),
        ([("turn", False), ("turn", False), ("vote", True)], 2),
        ([("turn", True), ("turn", False), ("turn", True), ("vote", True)], 3),
        ([("turn", True), ("turn", True), ("turn", True), ("vote", True)], 1),
        ([("turn", True), ("vote", False)], 0),
    ],
)
def test_rounds_to_consensus_count_to_the_round_since_which_it_held(
    verdicts: list[tuple[str, bool]], rounds: int
) -> None:
    assert rounds_to_consensus(verdicts) == rounds
