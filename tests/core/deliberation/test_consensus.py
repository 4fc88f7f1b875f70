"""The verdict: total, deterministic, blind to words, and equal to the rule as it is written."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest

from council.core.deliberation.consensus import (
    Verdict,
    default_threshold,
    standing,
    threshold_for,
    verdict,
    verdict_of_counts,
)
from council.core.deliberation.played import Played
from council.core.reading_answers.turns import Turn
from tests.core.deliberations import Matrix, all_say, of_stances, played, turn

WORDS = ("agree", "partial", "disagree")
CELLS = (*WORDS, "")
NAMES = ("claude", "gpt", "glm", "kimi", "sage", "nova", "mira")


def matrices(agents: tuple[str, ...]):
    """Yield every matrix of stances of `agents`, silence included."""
    pairs = [(one, other) for one in agents for other in agents if one != other]
    for cells in product(CELLS, repeat=len(pairs)):
        matrix: dict[str, dict[str, str]] = {agent: {} for agent in agents}
        for (one, other), cell in zip(pairs, cells, strict=True):
            if cell:
                matrix[one][other] = cell
        yield matrix


def any_matrix(chance: random.Random, agents: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return a random matrix in which agreement is as frequent as all else together."""
    return {
        one: {
            other: chance.choice(("agree", "agree", "agree", *CELLS))
            for other in agents
            if other != one
        }
        for one in agents
    }


def as_written(
    agents: tuple[str, ...], matrix: Matrix, confidence: dict[str, int], threshold: int
) -> tuple[str, str, list[int]]:
    """Return type, reference and counts, straight from the sentences of the rule."""
    best: list[tuple[int, int, int, int, int]] = []

    def view(one: str, other: str) -> str:
        return matrix.get(one, {}).get(other, "")

    for place, one in enumerate(agents):
        others = [other for other in agents if other != one]
        support = [
            other
            for other in others
            if view(other, one) == "agree" and view(one, other) != "disagree"
        ]
        mutual = [other for other in support if view(one, other) in ("agree", "")]
        against = [other for other in others if view(other, one) == "disagree"]
        best.append((-len(mutual), -len(support), len(against), -confidence.get(one, 0), place))
    reference = agents[min(best)[4]]
    views = [(view(one, reference), view(reference, one)) for one in agents if one != reference]
    agree = 1 + sum(to == "agree" and back != "disagree" for to, back in views)
    partial = sum(to == "partial" or (to, back) == ("agree", "disagree") for to, back in views)
    disagree = sum(to == "disagree" for to, _ in views)
    absent = len(agents) - agree - partial - disagree
    said = {view(a, b) for a in agents for b in agents if a != b}
    if agree == len(agents) and not said & {"partial", "disagree"}:
        kind = "strong"
    else:
        kind = "soft" if agree >= threshold else "none"
    return kind, reference, [agree, partial, disagree, absent]


def counts_of(found: Verdict) -> list[int]:
    return [found.agree, found.partial, found.disagree, found.absent]


def consistent(found: Verdict, agents: tuple[str, ...]) -> bool:
    """Return true if the parts of a verdict say the same thing."""
    return (
        list(found.towards) == list(agents)
        and found.reached == (found.type in ("strong", "soft"))
        and sum(counts_of(found)) == len(agents)
        and counts_of(found)
        == [list(found.towards.values()).count(word) for word in (*WORDS, "absent")]
    )


@pytest.mark.req("DL-042")
def test_two_thirds_are_rounded_up():
    assert [default_threshold(count) for count in range(8)] == [0, 1, 2, 2, 3, 4, 4, 5]
    assert all(
        3 * default_threshold(n) >= 2 * n > 3 * (default_threshold(n) - 1) for n in range(99)
    )


@pytest.mark.req("DL-042")
def test_a_configured_threshold_holds_and_is_never_more_than_all():
    assert [threshold_for(3, configured) for configured in (0, 2, 3, 9, -1)] == [2, 2, 3, 3, 2]


@pytest.mark.req("DL-043", "DL-044", "DL-045")
@pytest.mark.parametrize("count", [2, 3])
def test_every_matrix_of_few_agents_is_judged_as_the_rule_is_written(count: int):
    agents = NAMES[:count]
    for matrix in matrices(agents):
        for confidence in ({}, {"gpt": 5}):
            found = verdict(agents, matrix, confidence)
            expected = as_written(agents, matrix, confidence, default_threshold(count))
            assert (found.type, found.reference, counts_of(found)) == expected
            assert consistent(found, agents)


@pytest.mark.req("DL-043", "DL-044", "DL-045")
def test_any_matrix_of_more_agents_is_judged_as_the_rule_is_written():
    chance = random.Random(85)
    seen = set()
    for _ in range(1500):
        agents = NAMES[: chance.randint(2, 7)]
        matrix = any_matrix(chance, agents)
        confidence = {agent: chance.randint(0, 5) for agent in agents}
        threshold = chance.randint(2, len(agents))
        found = verdict(agents, matrix, confidence, threshold)
        expected = as_written(agents, matrix, confidence, threshold)
        assert (found.type, found.reference, counts_of(found)) == expected
        seen.add(found.type)
    assert seen == {"strong", "soft", "none"}


@pytest.mark.req("DL-045", "DL-046")
def test_the_counts_alone_give_the_verdict_that_the_stances_give():
    for matrix in matrices(NAMES[:3]):
        found = verdict(NAMES[:3], matrix, {})
        said = {stance for stances in matrix.values() for stance in stances.values()}
        by_counts = verdict_of_counts(3, 0, *counts_of(found), only_agreement=not said - {"agree"})
        assert by_counts == found.type


@pytest.mark.req("DL-045")
def test_every_count_has_a_verdict_and_more_agreement_never_makes_it_weaker():
    rank = {"none": 0, "soft": 1, "strong": 2}
    for count in range(8):
        for agree, partial, disagree in product(range(count + 1), repeat=3):
            absent = count - agree - partial - disagree
            if absent < 0:
                continue
            for threshold in range(count + 2):
                kind = verdict_of_counts(count, threshold, agree, partial, disagree, absent)
                assert kind in rank
                if absent:
                    joined = verdict_of_counts(
                        count, threshold, agree + 1, partial, disagree, absent - 1
                    )
                    assert rank[joined] >= rank[kind]


@pytest.mark.req("DL-045")
def test_nobody_at_all_is_no_consensus():
    found = verdict((), {"ghost": {"other": "agree"}}, {})
    assert (found.type, found.reached, found.reference, found.towards) == ("none", False, "", {})
    assert verdict_of_counts(0, 0, 0, 0, 0, 0) == "none"


@pytest.mark.req("DL-045")
def test_other_names_change_nothing_but_the_names():
    chance = random.Random(1)
    for _ in range(200):
        agents = NAMES[: chance.randint(2, 6)]
        matrix = any_matrix(chance, agents)
        new = dict(zip(agents, chance.sample(NAMES, len(agents)), strict=True))
        renamed = {
            new[one]: {new[other]: stance for other, stance in stances.items()}
            for one, stances in matrix.items()
        }
        found = verdict(agents, matrix, {})
        other = verdict(tuple(new[one] for one in agents), renamed, {})
        assert other.type == found.type
        assert other.reference == new[found.reference]
        assert counts_of(other) == counts_of(found)


@pytest.mark.req("DL-043")
def test_the_order_of_the_list_only_breaks_ties():
    for matrix in matrices(NAMES[:3]):
        found = [verdict(order, matrix, {}) for order in permutations(NAMES[:3])]
        assert len({(one.type, one.agree) for one in found}) == 1
        tied = {one.reference for one in found}
        for order, one in zip(permutations(NAMES[:3]), found, strict=True):
            assert one.reference == next(agent for agent in order if agent in tied)


@pytest.mark.req("DL-043")
def test_ties_go_to_fewer_refusals_then_to_confidence_then_to_the_list():
    agents = ("a", "b", "c", "d")
    matrix = {"a": {"b": "agree"}, "b": {"a": "agree"}, "c": {"a": "disagree", "b": "partial"}}
    assert verdict(agents, matrix, {"a": 5}).reference == "b"
    matrix["c"]["b"] = "disagree"
    assert verdict(agents, matrix, {"a": 3, "b": 4}).reference == "b"
    assert verdict(agents, matrix, {"a": 4, "b": 4}).reference == "a"
    matrix["d"] = {"b": "agree"}
    assert verdict(agents, matrix, {"a": 5, "b": 1}).reference == "b"


@pytest.mark.req("DL-045")
def test_going_missing_never_makes_an_agreement():
    chance = random.Random(2)
    rank = {"none": 0, "soft": 1, "strong": 2}
    for _ in range(400):
        agents = NAMES[: chance.randint(2, 6)]
        matrix = any_matrix(chance, agents)
        there = set(agents)
        before = verdict(agents, matrix, {}, present=there)
        while there:
            there.discard(chance.choice(agents))
            after = verdict(agents, matrix, {}, present=there)
            assert rank[after.type] <= rank[before.type]
            assert consistent(after, agents)
            before = after
        assert (before.type, before.absent) == ("none", len(agents))


@pytest.mark.req("DL-044")
def test_who_did_not_speak_is_absent_whatever_it_said_before():
    agents = NAMES[:3]
    matrix = all_say("agree", agents)
    assert verdict(agents, matrix, {}).type == "strong"
    found = verdict(agents, matrix, {}, present={"gpt", "glm"})
    assert (found.type, found.reference) == ("soft", "gpt")
    assert found.towards == {"claude": "absent", "gpt": "agree", "glm": "agree"}
    nobody = verdict(agents, matrix, {}, present=())
    assert (nobody.type, nobody.reference, nobody.absent) == ("none", "claude", 3)


@pytest.mark.req("DL-045")
def test_four_refusals_are_no_agreement():
    agents = NAMES[:4]
    found = verdict(agents, all_say("disagree", agents), {})
    assert (found.type, found.agree, found.disagree) == ("none", 1, 3)


def circle(agents: tuple[str, ...], following: str, others: str) -> dict[str, dict[str, str]]:
    """Return the matrix in which each says `following` to who comes next, `others` to the rest."""
    return {
        one: {
            other: following if other == agents[(place + 1) % len(agents)] else others
            for other in agents
            if other != one
        }
        for place, one in enumerate(agents)
    }


@pytest.mark.req("DL-045")
@pytest.mark.parametrize("count", range(3, 8))
def test_a_circle_of_preferences_is_no_consensus(count: int):
    """Each holds its own view, finds something in the next one's and refuses the rest."""
    found = verdict(NAMES[:count], circle(NAMES[:count], "partial", "disagree"), {})
    assert (found.type, counts_of(found)) == ("none", [1, 1, count - 2, 0])


@pytest.mark.req("DL-045", "HR-018")
def test_a_circle_of_agreement_is_no_consensus():
    """Each agrees with the next one, which refuses it: all agreement is contested."""
    for count in range(3, 8):
        found = verdict(NAMES[:count], circle(NAMES[:count], "agree", "disagree"), {})
        assert (found.type, counts_of(found)) == ("none", [1, 1, count - 2, 0])
        assert found.contested == [NAMES[count - 1]]


@pytest.mark.req("DL-044", "DL-045")
def test_a_silent_majority_agrees_with_nobody():
    agents = NAMES[:5]
    found = verdict(agents, {"claude": {"gpt": "agree"}, "gpt": {"claude": "agree"}}, {})
    assert (found.type, counts_of(found)) == ("none", [2, 0, 0, 3])


@pytest.mark.req("DL-045")
@pytest.mark.parametrize(
    "word", ["", "AGREE", "agree?", "abstain", "I do not approve", "acknowledged"]
)
def test_what_is_none_of_the_three_words_is_silence(word: str):
    agents = NAMES[:3]
    matrix = {
        "claude": {"gpt": "agree"},
        "gpt": {"claude": "agree"},
        "glm": {"claude": word, "gpt": word},
    }
    found = verdict(agents, matrix, {})
    assert (found.type, found.towards["glm"]) == ("soft", "absent")


@pytest.mark.req("DL-045")
def test_nobody_agrees_with_itself_and_strangers_have_no_voice():
    agents = NAMES[:3]
    alone = {agent: {agent: "agree"} for agent in agents}
    assert counts_of(verdict(agents, alone, {})) == [1, 0, 0, 2]
    assert verdict(agents, {"glm": {"glm": "agree"}}, {}).reference == "claude"
    crowd = {f"ghost{number}": {"glm": "agree"} for number in range(9)}
    assert verdict(agents, crowd, {}).reference == "claude"
    strong = all_say("agree", agents)
    strong["claude"].update(ghost="disagree", claude="disagree")
    assert verdict(agents, {**strong, "ghost": {"claude": "disagree"}}, {}).type == "strong"


@pytest.mark.req("DL-095")
def test_the_advocate_that_is_not_counted_spoils_no_agreement_and_adds_none():
    agents, advocate = NAMES[:3], "devil"
    everybody = (*agents, advocate)
    refusing = {**all_say("agree", agents), advocate: dict.fromkeys(agents, "disagree")}
    assert standing(agents, [of_stances(1, everybody, refusing)]).type == "strong"
    helping = {"claude": {"gpt": "agree"}, advocate: dict.fromkeys(agents, "agree")}
    assert counts_of(standing(agents, [of_stances(1, everybody, helping)]))[0] == 2


@pytest.mark.req("DL-047", "DL-044")
def test_rounds_and_votes_are_judged_by_one_rule_over_the_latest_stances():
    agents = NAMES[:3]
    apart = of_stances(1, agents, all_say("disagree", agents))
    support = {"claude": "agree"}
    joined = of_stances(2, agents, {"claude": {"gpt": "agree"}, "gpt": support, "glm": support})
    vote = of_stances(3, agents, all_say("agree", agents), vote=True)
    assert standing(agents, [apart]).type == "none"
    assert standing(agents, [apart, joined]).type == "soft"
    assert standing(agents, [apart, joined, vote]).type == "strong"


@pytest.mark.req("DL-044")
def test_who_gives_nothing_readable_in_the_last_round_is_absent():
    agents = NAMES[:3]
    first = of_stances(1, agents, all_say("agree", agents))
    silent = played(2, {"claude": turn({"gpt": "agree"}), "gpt": turn(), "glm": Turn()})
    assert standing(agents, [first]).type == "strong"
    for last in (silent, played(2, {"claude": turn(), "gpt": turn()}, vote=True)):
        found = standing(agents, [first, last])
        assert (found.type, found.towards["glm"]) == ("soft", "absent")
    assert standing(agents, []).type == "none"


@pytest.mark.req("DL-045")
def test_agreeing_blindly_with_everybody_is_no_consensus():
    agents = NAMES[:3]
    blind = of_stances(1, agents, all_say("agree", agents), blind=True)
    assert counts_of(standing(agents, [blind])) == [1, 0, 0, 2]


@pytest.mark.req("DL-102")
def test_below_the_floor_of_confidence_an_agent_counts_as_absent():
    agents = NAMES[:3]
    votes = all_say("agree", agents)
    last = played(
        1,
        {
            one: turn(votes[one], confidence=sure)
            for one, sure in zip(agents, (5, 3, 0), strict=True)
        },
    )
    assert standing(agents, [last]).type == "strong"
    assert standing(agents, [last], floor=3).towards == {
        "claude": "agree",
        "gpt": "agree",
        "glm": "absent",
    }
    assert standing(agents, [last], floor=4).type == "none"


@pytest.mark.req("DL-046")
def test_the_record_of_a_verdict_gives_it_back():
    agents = NAMES[:3]
    found = verdict(agents, {"gpt": {"claude": "agree"}, "glm": {"claude": "partial"}}, {})
    record = found.to_record()
    assert record == {
        "type": "soft",
        "reached": True,
        "reference": "claude",
        "agree": 2,
        "partial": 1,
        "disagree": 0,
        "absent": 0,
        "threshold": 2,
        "towards": {"claude": "agree", "gpt": "agree", "glm": "partial"},
        "contested": [],
        "silent": [],
        "unreadable": [],
    }
    assert Verdict.from_record({**record, "later": 1}) == found
    record["towards"].clear()
    assert found.towards
    older = {name: found.to_record()[name] for name in list(record)[:9]}
    assert Verdict.from_record(older) == found


POLITE = {**all_say("agree", "abcd"), "d": dict.fromkeys("abc", "disagree")}
CAST = ("a", "b", "c", "d")


@pytest.mark.req("HR-018")
def test_who_refuses_all_others_never_leads_them():
    """The others agree with it as often as they like, in any order, and however sure it is."""
    chance = random.Random(18)
    for _ in range(500):
        agents = NAMES[: chance.randint(3, 7)]
        lone = chance.choice(agents)
        others = [one for one in agents if one != lone]
        matrix = all_say("agree", agents)
        matrix[lone] = dict.fromkeys(others, "disagree")
        for one in others:
            # Any one of them may see some other one differently, but not all of them at once.
            matrix[one][chance.choice([other for other in agents if other != one])] = chance.choice(
                CELLS
            )
        if not any(matrix[a].get(b) == matrix[b].get(a) == "agree" for a in others for b in others):
            continue
        found = verdict(agents, matrix, {lone: 5})
        assert found.reference != lone, (agents, lone, matrix)


@pytest.mark.req("HR-018")
def test_agreement_that_the_reference_refuses_is_contested_and_counts_as_partial():
    found = verdict(("a", "b"), {"a": {"b": "agree"}, "b": {"a": "disagree"}}, {})
    assert (found.reference, found.type, counts_of(found)) == ("b", "none", [1, 1, 0, 0])
    assert (found.towards["a"], found.contested) == ("partial", ["a"])
    assert verdict(CAST, POLITE, {"d": 5}).contested == []
    partial = verdict(("a", "b"), {"a": {"b": "partial"}, "b": {"a": "disagree"}}, {})
    assert (partial.partial, partial.contested) == (1, [])


@pytest.mark.req("HR-018")
def test_support_counts_as_mutual_only_where_it_is_returned_or_was_not_asked_for():
    matrix = {"a": {"c": "agree"}, "b": {"c": "agree"}, "c": {}, "d": {"a": "agree"}}
    assert verdict(CAST, matrix, {}).reference == "c"
    asked = {"c": ["a", "b", "d"]}
    assert verdict(CAST, {**matrix, "c": {"d": "partial"}}, {}, asked=asked).reference == "a"


@pytest.mark.req("HR-018")
def test_a_stance_that_was_asked_for_and_is_missing_is_no_strong_consensus():
    agents = NAMES[:3]
    matrix = {"gpt": {"claude": "agree"}, "glm": {"claude": "agree"}}
    assert verdict(agents, matrix, {}).type == "strong"
    assert verdict(agents, matrix, {}, asked={"glm": ["claude", "gpt"]}).type == "soft"
    assert verdict(agents, matrix, {}, asked={"glm": ["claude"]}).type == "strong"


@pytest.mark.req("HR-018")
def test_silent_unreadable_and_unasked_are_told_apart_and_none_of_them_agrees():
    def judged(*rounds: Played) -> Verdict:
        return standing(CAST, rounds)

    agreed = turn({"a": "agree", "b": "agree"})
    both = {"a": turn({"b": "agree"}), "b": turn({"a": "agree"})}
    silent = judged(played(1, {**both, "c": agreed}))
    assert (silent.silent, silent.unreadable, silent.absent) == (["d"], [], 1)
    prose = judged(played(1, {**both, "c": agreed, "d": Turn()}))
    assert (prose.silent, prose.unreadable, prose.towards["d"]) == ([], ["d"], "absent")
    unasked = judged(played(1, {**both, "c": agreed, "d": turn()}))
    assert (unasked.silent, unasked.unreadable, unasked.absent) == ([], [], 1)
    asked = played(1, {**both, "c": agreed, "d": turn()}, asked={"d": ("a", "b", "c")})
    assert judged(asked).unreadable == ["d"]
    marked = played(1, {**both, "c": agreed, "d": turn()}, unreadable=("d",))
    assert judged(marked).unreadable == ["d"]
    assert {silent.type, prose.type, unasked.type} == {"soft"}


@pytest.mark.req("HR-018")
def test_an_unreadable_answer_does_not_stand_for_what_was_said_before_it():
    agents = NAMES[:3]
    first = of_stances(1, agents, all_say("agree", agents))
    last = {one: turn(views) for one, views in all_say("agree", agents).items()}
    whole = played(2, last)
    assert standing(agents, [first, whole]).type == "strong"
    last["glm"] = turn({"claude": "agree"})
    part = standing(agents, [first, played(2, last, unreadable=("glm",))])
    assert (part.towards["glm"], part.unreadable) == ("agree", [])
    last["glm"] = turn()
    found = standing(agents, [first, played(2, last, unreadable=("glm",))])
    assert (found.type, found.unreadable, found.towards["glm"]) == ("soft", ["glm"], "absent")


@pytest.mark.req("HR-018")
def test_one_that_could_not_be_read_leads_nobody():
    matrix = {"a": {"b": "disagree", "c": "agree"}, "b": {"a": "disagree", "c": "agree"}}
    assert verdict("abc", matrix, {}).reference == "c"
    found = verdict("abc", matrix, {}, unreadable=["c"])
    assert (found.reference, found.unreadable, found.type) == ("a", ["c"], "none")
    nobody = verdict("abc", {}, {}, unreadable="abc")
    assert (nobody.type, nobody.agree, nobody.unreadable) == ("none", 0, ["a", "b", "c"])


@pytest.mark.req("HR-020")
def test_nothing_is_judged_while_only_one_has_spoken():
    alone = standing(NAMES[:3], [played(1, {"gpt": turn(confidence=5)})], threshold=1)
    assert (alone.type, alone.reached, alone.spoke) == ("none", False, 1)
    both = played(1, {"gpt": turn(), "glm": turn({"gpt": "agree"})})
    assert (standing(NAMES[:3], [both]).type, standing(NAMES[:3], [both]).spoke) == ("soft", 2)


@pytest.mark.req("DL-102")
def test_who_states_no_confidence_at_all_is_below_any_floor():
    agents = NAMES[:2]
    last = {one: turn(views, confidence=0) for one, views in all_say("agree", agents).items()}
    assert standing(agents, [played(1, last)]).type == "strong"
    assert standing(agents, [played(1, last)], floor=1).absent == 2
