"""What an agent may see of a deliberation: its turn, its duties, the structure of what was said."""

from __future__ import annotations

import json

import pytest

from council.core.conversations.answers import inject, respond
from council.core.conversations.conversation import Conversation
from council.core.conversations.handles import pseudonyms
from council.core.conversations.machine import advance
from council.core.conversations.sight import parts
from council.core.conversations.steering import pause
from council.core.errors import NotYourTurnError
from tests.core.conversations.samples import HOUR, MINUTE, NOW
from tests.core.talks import (
    FIVE,
    at_synthesis,
    ballot,
    debate,
    form,
    round_of,
    say,
    speaks,
    voting,
)


def seen(state: Conversation, agent: str) -> dict:
    found = parts(state, agent, NOW)
    assert json.loads(json.dumps(found)) == found
    return found


def texts(state: Conversation, agent: str) -> list[tuple[str, int]]:
    return [(one["agent"], one["round"]) for one in seen(state, agent)["contributions"]]


@pytest.mark.req("DL-018", "DL-021")
def test_round_place_and_order_are_told_and_rotate():
    state = round_of(debate())
    asked = seen(state, "claude")
    assert (asked["round"], asked["maxRounds"], asked["form"]) == (2, 5, "turn")
    assert asked["order"] == {"kind": "rotate", "place": 3, "speakers": ["gpt", "glm", "claude"]}
    assert asked["speaker"] == "gpt"


@pytest.mark.parametrize("order", ["fixed", "rotate", "shuffle"])
def test_the_order_told_is_the_order_in_which_agents_speak(order: str):
    state = round_of(debate(*FIVE, order=order))
    told = seen(state, "elm")["order"]["speakers"]
    spoken = []
    for _ in FIVE:
        spoken.append(seen(state, "elm")["speaker"])
        state = speaks(state)
    assert told == spoken


@pytest.mark.req("DL-021")
def test_who_does_not_have_the_floor_may_not_answer_and_hears_so():
    state = debate()
    for agent in ("gpt", "glm"):
        assert seen(state, agent)["whyNot"] == "not-your-turn"
        with pytest.raises(NotYourTurnError):
            respond(state, agent, form(), now=NOW)
    assert seen(state, "claude")["mayAnswer"] is True
    state = speaks(state)
    assert seen(state, "claude")["whyNot"] == "already-answered"
    assert seen(state, "gpt")["mayAnswer"] is True
    assert seen(pause(state, NOW).state, "gpt")["whyNot"] == "paused"


def test_who_was_passed_over_may_still_answer_while_the_round_is_open():
    state = advance(debate(), NOW + HOUR).state
    assert seen(state, "gpt")["mayAnswer"] is True
    assert seen(state, "claude")["mayAnswer"] is True
    assert seen(state, "glm")["whyNot"] == "not-your-turn"
    assert respond(state, "claude", form(), now=NOW + HOUR).outcome == "recorded"


@pytest.mark.req("DL-013", "DL-015")
def test_who_is_asked_again_may_answer_and_hears_what_its_first_answer_lacked():
    state = say(debate(), "claude", form())
    state = say(state, "gpt", form(position="", confidence="high"))
    asked = seen(state, "gpt")
    assert asked["mayAnswer"] is True and asked["askedAgain"] is True
    codes = {(one["code"], one["agent"]) for one in asked["faults"]}
    assert codes == {("no-position", ""), ("bad-confidence", ""), ("missing-response", "claude")}
    state = say(state, "gpt", form({"claude": "agree"}))
    after = seen(state, "gpt")
    assert (after["whyNot"], after["faults"], after["askedAgain"]) == (
        "already-answered",
        [],
        False,
    )
    assert [one["kind"] for one in after["own"]] == ["contribution"]


@pytest.mark.req("DL-013")
def test_a_sealed_answer_that_lacks_something_is_asked_for_again_without_showing_it_to_others():
    state = say(debate(sealed_phases=True), "claude", "Just build it.")
    asked = seen(state, "claude")
    assert asked["mayAnswer"] is True
    assert [one["code"] for one in asked["faults"]] == ["no-form"]
    assert [one["text"] for one in asked["own"]] == ["Just build it."]
    assert "Just build it." not in json.dumps(seen(state, "gpt"))


@pytest.mark.req("DL-015")
def test_a_response_is_owed_to_each_who_spoke_before_in_the_round():
    state = speaks(speaks(round_of(debate(*FIVE))))
    assert seen(state, "dahlia")["mustAnswer"] == ["birch", "cedar"]
    assert seen(debate(), "claude")["mustAnswer"] == []


@pytest.mark.req("DL-016")
def test_an_unanswered_question_stays_until_the_asked_one_responds_to_the_asker():
    state = speaks(debate(), reasoning="@glm, what will it cost?")
    assert seen(state, "glm")["questions"] == [
        {"asker": "claude", "tour": 1, "text": "@glm, what will it cost?"}
    ]
    assert seen(state, "gpt")["questions"] == []
    ignored = speaks(state)
    ignored = say(ignored, "glm", form({"gpt": "agree"}))
    assert seen(ignored, "glm")["questions"], "its second answer has still to answer it"
    ignored = say(ignored, "glm", form({"gpt": "agree"}, "No answer."))
    ignored = say(ignored, "glm", "None at all.")
    assert ignored.tour == 2
    assert seen(ignored, "glm")["questions"][0]["asker"] == "claude"
    stances = form({"claude": "agree", "gpt": "agree"})
    said = stances.replace("@claude: agree", "@claude: agree — it costs five euros")
    assert seen(say(speaks(state), "glm", stances), "glm")["questions"], "a stance answers nothing"
    assert seen(say(speaks(state), "glm", said), "glm")["questions"] == []


@pytest.mark.req("DL-016")
def test_a_question_is_open_again_for_who_is_asked_for_its_answer_once_more():
    state = speaks(debate(), reasoning="@gpt, what will it cost?")
    state = say(state, "gpt", form({"claude": "perhaps"}))
    assert [one["asker"] for one in seen(state, "gpt")["questions"]] == ["claude"]


@pytest.mark.req("DL-085", "HR-025")
def test_guidance_for_one_is_seen_and_acknowledged_by_all_and_the_one_knows_that_it_answers():
    state = inject(debate(), "Mind the cost.", author="jo", now=NOW).state
    state = inject(state, "And you, glm?", author="jo", now=NOW, target="glm").state
    both = ["1-jo-injection", "1-jo-injection-2"]
    for agent in ("claude", "gpt", "glm"):
        asked = seen(state, agent)
        assert asked["guidance"] == both
        assert [one["target"] for one in asked["injections"]] == ["", "glm"]
        assert [one["forYou"] for one in asked["injections"]] == [False, agent == "glm"]
        assert "And you, glm?" in json.dumps(asked)
    state = speaks(state)
    assert seen(state, "claude")["guidance"] == []
    assert seen(state, "gpt")["guidance"] == both


@pytest.mark.req("HR-025", "DL-100")
def test_guidance_for_one_hides_its_name_in_an_anonymous_deliberation():
    state = debate(rules={"anonymous": True})
    state = inject(state, "And the cost?", author="jo", now=NOW, target="glm").state
    assert seen(state, "glm")["injections"][0]["target"] == "glm"
    target = seen(state, "gpt")["injections"][0]["target"]
    assert target == pseudonyms(state, "gpt")["glm"]


@pytest.mark.req("DL-083")
def test_who_has_said_too_much_is_named_from_the_second_round_on():
    state = speaks(debate(), reasoning="word " * 400)
    assert seen(state, "gpt")["dominating"] == []
    state = speaks(speaks(state))
    assert seen(state, "gpt")["dominating"] == ["claude"]


@pytest.mark.req("DL-095")
def test_switches_are_told_and_only_the_advocate_hears_that_it_is_one():
    state = debate(rules={"advocate": "gpt", "search": True, "verify": True})
    assert [seen(state, agent)["advocate"] for agent in ("claude", "gpt")] == [False, True]
    assert seen(state, "claude")["search"] and seen(state, "claude")["verify"]
    plain = seen(debate(), "claude")
    assert not (plain["search"] or plain["verify"] or plain["advocate"])


def test_each_earlier_turn_is_told_by_its_parts():
    state = speaks(speaks(debate()), "partial", confidence=2)
    state = say(state, "glm", form({"claude": "agree", "gpt": "disagree — too dear"}))
    turn = seen(state, "claude")["turns"][2]
    assert turn == {
        "id": "1-glm",
        "agent": "glm",
        "round": 1,
        "position": "Build it.",
        "responses": [
            {"agent": "claude", "stance": "agree", "comment": ""},
            {"agent": "gpt", "stance": "disagree", "comment": "too dear"},
        ],
        "reasoning": "One reason.",
        "confidence": 4,
        "readable": True,
    }


def test_in_a_round_of_turns_all_is_seen_that_was_said_so_far():
    state = speaks(speaks(round_of(debate())))
    said = [("gpt", 1), ("glm", 1), ("gpt", 2), ("glm", 2)]
    assert texts(state, "claude") == said
    assert ("glm", 2) in texts(state, "gpt")
    assert texts(state, "stranger") == [("claude", 1), ("gpt", 1), ("glm", 1)]


def test_in_a_sealed_first_round_all_may_answer_at_once_and_nobody_sees_anything():
    state = say(debate(sealed_phases=True), "glm", form(reasoning="@gpt, why?"))
    for agent in ("claude", "gpt"):
        asked = seen(state, agent)
        assert asked["mayAnswer"] and asked["blind"]
        assert (asked["order"]["kind"], asked["order"]["place"]) == ("parallel", 0)
        assert (asked["speaker"], asked["mustAnswer"], asked["questions"]) == ("", [], [])
        assert asked["contributions"] == asked["turns"] == []


def test_votes_of_the_round_are_not_seen_before_all_have_voted():
    state = say(voting(), "claude", ballot({"gpt": "agree", "glm": "disagree"}, "Secret."))
    assert seen(state, "claude")["whyNot"] == "already-answered"
    for agent in ("gpt", "glm", "stranger"):
        assert "Secret." not in json.dumps(seen(state, agent))
        assert seen(state, agent)["verdict"] is None
    assert seen(state, "gpt")["mustAnswer"] == ["claude", "glm"]
    again = say(state, "gpt", ballot({"claude": "agree"}))
    assert again.participants["gpt"].again == again.tour
    assert "Secret." not in json.dumps(seen(again, "gpt")), "not to who is asked again either"


@pytest.mark.req("DL-029")
def test_who_sums_up_sees_votes_and_the_verdict_by_rule():
    asked = seen(at_synthesis(), "claude")
    assert asked["mayAnswer"] is True
    assert asked["verdict"]["type"] == "soft"
    assert asked["verdict"]["towards"] == {"claude": "agree", "gpt": "agree", "glm": "partial"}
    assert [(one["agent"], one["position"], one["confidence"]) for one in asked["votes"]] == [
        ("claude", "claude ends here.", 4),
        ("gpt", "gpt ends here.", 4),
        ("glm", "glm ends here.", 4),
    ]
    assert asked["votes"][2]["responses"][0] == {
        "agent": "claude",
        "stance": "partial",
        "comment": "too dear",
    }
    assert len(asked["turns"]) == 3


def test_a_question_that_stands_in_an_unseen_answer_is_not_told():
    asking = ballot({"gpt": "agree", "glm": "agree"}) + "\n\n## Reasoning\n@gpt, still sure?"
    state = say(voting(), "claude", asking)
    assert seen(state, "gpt")["questions"] == []


def test_where_all_speak_at_once_nothing_tells_who_has_answered_already():
    state = say(debate(order="parallel"), "claude", form(reasoning="@gpt, why?"))
    asked = seen(state, "gpt")
    assert (asked["contributions"], asked["mustAnswer"], asked["questions"]) == ([], [], [])


def test_no_verdict_is_shown_while_stances_are_still_to_be_taken():
    state = round_of(debate(), "disagree")
    assert state.rounds[0].verdict["type"] == "none"
    assert seen(state, "gpt")["verdict"] is None


@pytest.mark.req("DL-103")
def test_an_invented_quotation_is_marked_and_guidance_may_be_quoted():
    state = inject(debate(), "Mind the cost of it all.", author="jo", now=NOW).state
    state = speaks(state)
    state = speaks(
        state,
        reasoning="@claude\n> claude says 1.\n\n@claude\n> We are doomed.\n\n"
        '@human said "Mind the cost of it all".',
    )
    found = next(one for one in seen(state, "glm")["contributions"] if one["agent"] == "gpt")
    assert [(one["of"], one["found"]) for one in found["quotations"]] == [
        ("claude", "found"),
        ("claude", "missing"),
        ("human", "found"),
    ]


def test_agreement_is_no_status_in_a_deliberation():
    assert seen(debate(), "claude")["mayAgree"] is False


def test_a_council_is_not_told_in_the_words_of_a_deliberation():
    from tests.core.conversations.samples import convened

    assert not {"form", "verdict", "mustAnswer"} & set(parts(convened(), "henry", NOW))


def test_the_parts_depend_on_nothing_but_the_state():
    state = speaks(debate(), reasoning="@glm, why?")
    assert parts(state, "glm", NOW) == parts(state.copy(), "glm", NOW + MINUTE)
