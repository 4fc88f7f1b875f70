"""The pictures of a conversation say what its record says: no more, no less, and to all."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup

from council.core.conversations.conversation import Conversation
from council.core.conversations.due import due_agents
from council.core.conversations.machine import advance
from council.core.conversations.procedures import Rules
from council.core.deliberation.judgement import named_history
from council.core.deliberation.likeness import same_position
from council.core.deliberation.played import (
    Played,
    confidences,
    dominating,
    present_in,
    stances_until,
)
from council.store.texts import words_of
from council.web import charts
from council.web.charts.facts import Facts, line_of
from council.web.charts.flow import _turned
from tests.core.conversations.samples import MINUTE, NOW, answer, convened
from tests.core.debates import Debate, soft_debate
from tests.web.councils import EMOJIS, random_debate, record_of
from tests.web.hostile import hostile_texts

SVG = "{http://www.w3.org/2000/svg}"
WORDS = words_of("en", "charts")
drawn = cache(random_debate)  # 14 of them play all there is; no test changes one
ALL = ("meter", "flow", "matrix", "tallies", "confidence", "words_said", "statuses", "blockers")


def parsed(html: Markup) -> ET.Element:
    """Return a picture as a tree, which it is only if it is well-formed."""
    return ET.fromstring(f"<root>{html}</root>")


def having(tree: ET.Element, name: str) -> list[ET.Element]:
    """Return the elements of a class, in their order."""
    return [one for one in tree.iter() if name in (one.get("class") or "").split()]


def text_in(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def words_in(cell: ET.Element) -> str:
    """Return what a cell says to people who do not see its mark."""
    return " ".join(text_in(one) for one in having(cell, "hidden"))


def cells_of(table: ET.Element) -> dict[str, list[ET.Element]]:
    """Return the cells of each row of a table, by the name in its head."""
    return {
        text_in(having(row, "name")[0]): row.findall("td")
        for row in table.iter("tr")
        if having(row, "name") and row.findall("td")
    }


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.req("DL-074")
def test_the_meter_shows_the_counts_of_show_consensus(seed: int) -> None:
    record = record_of(drawn(seed).state)
    stands, tree = record["consensus"], parsed(charts.meter(Facts(record, WORDS)))
    shown = {
        one.get("class", "").split()[1]: int(one.get("data-count", ""))
        for one in having(tree, "count")
    }
    kinds = ("agree", "partial", "disagree", "absent", "threshold")
    assert shown == {kind: stands[kind] for kind in kinds}
    for one in having(tree, "count"):
        assert one.get("data-count") in text_in(one)
    cells = {text_in(having(one, "name")[0]): one for one in having(tree, "cell")}
    for agent, stance in stands["towards"].items():
        cell = cells[record["participants"][agent]["name"]]
        assert stance in cell.get("class", "").split()
        assert ("contested" in cell.get("class", "")) == (agent in stands["contested"])
    assert len(cells) == len(stands["towards"])
    kind = stands["type"] if stands["judged"] else "unjudged"
    assert text_in(tree.findall(".//strong")[0]) == WORDS[f"meter.{kind}"]
    for who in ("contested", "silent", "unreadable"):
        for agent in stands[who]:
            assert record["participants"][agent]["name"] in text_in(having(tree, "counts")[0])


def test_the_line_of_the_meter_stands_where_enough_agree() -> None:
    record = record_of(soft_debate().state)
    items = parsed(charts.meter(Facts(record, WORDS))).findall(".//li")
    assert [one.get("class", "").split()[-1] for one in items] == [
        "agree",
        "agree",
        "needed",
        "disagree",
    ]


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.req("DL-098")
def test_each_flip_of_the_record_is_told_at_its_dot_and_in_the_table(seed: int) -> None:
    record = record_of(drawn(seed).state)
    facts, tree = Facts(record, WORDS), parsed(charts.flow(Facts(record, WORDS)))
    tours = [column.tour for column in facts.columns]
    rows = cells_of(tree.findall(".//table")[0]) if tree.findall(".//table") else {}
    dots = {one.get("aria-label", ""): one for one in having(tree, "dot")}
    suspect, flipped = set(), set()
    for flip in record["flips"]:
        name = record["participants"][flip["agent"]]["name"]
        said = ", ".join(_turned(facts, flip))
        assert said in text_in(rows[name][tours.index(flip["tour"])])
        (dot,) = [
            one
            for label, one in dots.items()
            if label.startswith(f"{name}, {facts.columns[tours.index(flip['tour'])].said}:")
        ]
        assert said in dot.get("aria-label", "")
        assert said in text_in(dot.findall(f"{SVG}title")[0])
        assert dot.get("tabindex") == "0"
        for cited in flip["cites"]:
            assert record["participants"][cited]["name"] in dot.get("aria-label", "")
        flipped.add((flip["agent"], flip["tour"]))
        if not (flip["reasoned"] or flip["peerMoved"]):
            suspect.add((flip["agent"], flip["tour"]))
            assert WORDS["flow.suspect"] in dot.get("aria-label", "")
            assert [one for one in dot.iter() if one.get("fill") == "url(#c-hatch)"]
    assert len(having(tree, "suspect")) - _keys(tree, "suspect") - _paths(tree, "suspect") == len(
        suspect
    )
    assert len(
        [
            one
            for one in having(tree, "dot")
            if {"flip", "suspect"} & set(one.get("class", "").split())
        ]
    ) == len(flipped)
    for tour in record["collapses"]:
        assert WORDS["flow.collapse"] in text_in(tree)
        assert tour in tours


def _keys(tree: ET.Element, name: str) -> int:
    return sum("key" in one.get("class", "") for one in having(tree, name))


def _paths(tree: ET.Element, name: str) -> int:
    return sum(one.tag.endswith("path") for one in having(tree, name))


def test_names_at_the_end_of_the_flow_never_lie_on_each_other() -> None:
    debate = Debate("henry", "sage", "nova")
    for _ in range(4):  # the second round is under way
        agent = due_agents(debate.state)[0]
        said = {one: ("disagree", "no") for one in debate.state.participants if one != agent}
        debate.turn(agent, f"What {agent} says.", 3, "Because.", **said)
    assert debate.state.tour == 2
    ends = having(parsed(charts.flow(Facts(record_of(debate.state), WORDS))), "ends")[0]
    heights = sorted(float(one.get("y", "")) for one in ends.iter(f"{SVG}text"))
    assert len(heights) == 3
    assert all(below - above >= 16 for above, below in pairwise(heights))


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.req("DL-098")
def test_the_flow_ends_as_the_verdict_counts_and_lines_cross_only_where_one_turned(
    seed: int,
) -> None:
    record = record_of(drawn(seed).state)
    facts = Facts(record, WORDS)
    lanes = facts.lanes()
    closed = [n for n, column in enumerate(facts.columns) if column.closed]
    if closed and not facts.columns[closed[-1]].blind:
        assert lanes[closed[-1]].items() >= record["verdict"]["towards"].items()
    tree = parsed(charts.flow(Facts(record, WORDS)))
    heights: dict[str, dict[str, float]] = {}
    for agent, line in zip(record["participants"], having(tree, "line"), strict=False):
        for dot in having(line, "dot"):
            place = dot.findall(f"{SVG}svg")[0]
            heights.setdefault(place.get("x", ""), {})[agent] = float(place.get("y", ""))
    for n, (left, right) in enumerate(
        zip(heights.values(), list(heights.values())[1:], strict=False)
    ):
        for one in left.keys() & right.keys():
            for other in left.keys() & right.keys():
                crosses = (left[one] < left[other]) != (right[one] < right[other])
                turned = (lanes[n][one], lanes[n][other]) != (
                    lanes[n + 1][one],
                    lanes[n + 1][other],
                )
                assert not crosses or turned or facts.columns[n].blind or one == other


@pytest.mark.parametrize("seed", range(14))
def test_each_round_groups_the_agents_as_the_rules_count_them(seed: int) -> None:
    state = drawn(seed).state
    record = record_of(state)
    facts = Facts(record, WORDS)
    reference, floor = record["verdict"]["reference"], record["config"]["confidenceFloor"]
    history = named_history(state)
    for n, (column, lanes) in enumerate(zip(facts.columns, facts.lanes(), strict=True)):
        until = history[: n + 1]
        views, sure = stances_until(until), confidences(until)
        known = {one: positions_of(until[-1]).get(one) for one in record["participants"]}
        expected = {}
        for agent in record["participants"] if column.closed else until[-1].turns:
            stance = views.get(agent, {}).get(reference, "absent")
            if column.blind:
                same = known[agent] and known[agent] == known[reference]
                stance = "agree" if same else "absent"
            elif agent not in present_in(until[-1]) or sure.get(agent, 0) < floor:
                stance = "absent"
            elif agent == reference:
                stance = "agree"
            elif stance == "agree" and views.get(reference, {}).get(agent) == "disagree":
                stance = "partial"
                assert (column.tour, agent) in facts.contested
            expected[agent] = stance
        assert lanes == expected


def test_a_stance_holds_until_another_takes_its_place() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=3, stability=False))
    debate.round("Yes.", {"bob": {"ann": "disagree"}})
    (speaker,) = due_agents(debate.state)
    assert speaker == "bob"
    debate.turn("bob", "Yes.", cid="partial")
    (table, *_) = parsed(charts.matrix(Facts(record_of(debate.state), WORDS))).findall(".//table")
    assert [words_in(one) for one in cells_of(table)["Bob"]] == ["disagree", "", "partly"]


def positions_of(played: Played) -> dict[str, str]:
    return {agent: same_position(turn.position) for agent, turn in played.turns.items()}


def test_who_agrees_with_one_that_disagrees_is_not_said_to_agree_in_part() -> None:
    debate = Debate("ann", "bob", "cid", "dan", rules=Rules(max_rounds=1))
    debate.round("Yes.", {})
    debate.vote("Yes.", {one: {"dan": "disagree"} for one in ("ann", "bob", "cid")})
    record = record_of(debate.state)
    assert record["verdict"]["contested"] == ["dan"]
    told = [
        one.get("aria-label", "")
        for one in having(parsed(charts.flow(Facts(record, WORDS))), "dot")
    ]
    assert "Dan, the vote: agrees with Ann, which disagrees; that counts as partly" in told


def test_of_very_many_dots_those_at_which_nothing_happened_are_passed_over_by_tab() -> None:
    tree = parsed(charts.flow(Facts(record_of(drawn(1, agents=12, rounds=5).state), WORDS)))
    dots = having(tree, "dot")
    assert len(dots) > 60
    for one in dots:
        kind = one.get("class", "").split()[1]
        assert one.get("tabindex") == "0" or kind == "held"
    assert 24 <= sum(one.get("tabindex") == "0" for one in dots) < len(dots)


def test_the_matrix_holds_the_latest_stances_and_those_of_each_round() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    debate.round("Yes.", {"cid": {"ann": "disagree"}})
    debate.vote("Yes.", {"cid": {"ann": "partial"}, "bob": {"ann": "disagree"}})
    tables = parsed(charts.matrix(Facts(record_of(debate.state), WORDS))).findall(".//table")
    captions = [text_in(one.findall("caption")[0]) for one in tables]
    assert captions == ["Latest stances", "round 1", "the vote"]
    said = [
        {name: [words_in(cell) for cell in cells] for name, cells in cells_of(one).items()}
        for one in tables
    ]
    assert said[1] == {
        "Ann": ["", "none", "none"],
        "Bob": ["agree", "", "none"],
        "Cid": ["disagree", "agree", ""],
    }
    last = {
        "Ann": ["", "agree", "agree"],
        "Bob": ["disagree", "", "agree"],
        "Cid": ["partly", "agree", ""],
    }
    assert said[0] == said[2] == last


@pytest.mark.req("DL-097")
def test_the_blind_tally_stands_beside_the_final_one_always() -> None:
    debate = Debate("ann", "bob", "cid", sealed=True, rules=Rules(max_rounds=2, stability=False))
    sealed = text_in(parsed(charts.tallies(Facts(record_of(debate.state), WORDS))))
    assert "The blind round is not over." in sealed
    for agent, said in (("ann", "Yes!"), ("bob", "yes"), ("cid", "No.")):
        debate.turn(agent, said)
    debate.round("No.", {})
    debate.vote("No.", {})
    blind, final = parsed(charts.tallies(Facts(record_of(debate.state), WORDS))).iter("section")
    assert ["2 of 3 Yes! Ann" in text_in(blind), "1 of 3 No. Cid" in text_in(blind)] == [True, True]
    assert "3 of 3 No." in text_in(final)
    without = text_in(parsed(charts.tallies(Facts(record_of(soft_debate().state), WORDS))))
    assert "There was no blind round" in without


def test_a_sealed_round_shows_neither_a_text_nor_how_long_one_is() -> None:
    debate = Debate("ann", "bob", "cid", sealed=True, rules=Rules(max_rounds=2))
    before = {name: getattr(charts, name)(Facts(record_of(debate.state), WORDS)) for name in ALL}
    debate.turn("ann", "A secret of ours.", 5, "It is a long one. " * 50)
    after = {name: getattr(charts, name)(Facts(record_of(debate.state), WORDS)) for name in ALL}
    assert WORDS["stance.sealed"] in after.pop("statuses")
    assert after.items() <= before.items()


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.req("DL-083")
def test_words_and_confidence_are_those_of_the_turns(seed: int) -> None:
    record = record_of(drawn(seed).state)
    turns = [one for one in record["contributions"] if one["kind"] == "contribution"]
    counts = {
        agent: sum(
            sum(any(map(str.isalnum, word)) for word in one["text"].split())
            for one in turns
            if one["agent"] == agent
        )
        for agent in record["participants"]
    }
    tree = parsed(charts.words_said(Facts(record, WORDS)))
    above = dominating(counts)
    for agent, amount in zip(record["participants"], having(tree, "amount"), strict=False):
        assert text_in(amount).startswith(f"{counts[agent]} words")
        assert (WORDS["words.dominates"] in text_in(amount)) == (agent in above)
    told = text_in(parsed(charts.confidence(Facts(record, WORDS))))
    facts = Facts(record, WORDS)
    for one in turns:
        name = record["participants"][one["agent"]]["name"]
        said = next(column.said for column in facts.columns if column.tour == one["tour"])
        value = f"{one['confidence']} of 5" if one["confidence"] else "not stated"
        assert f"{name}, {said}: {value}" in told


@pytest.mark.parametrize("seed", range(14))
def test_every_agent_is_named_in_words_wherever_there_is_a_picture(seed: int) -> None:
    record = record_of(drawn(seed).state)
    if not record["contributions"]:
        return
    for name in ("meter", "flow", "words_said", "confidence"):
        tree = parsed(getattr(charts, name)(Facts(record, WORDS)))
        words = {text_in(one) for one in having(tree, "name")}
        counted = record["consensus"]["towards"] if name == "meter" else record["participants"]
        assert words >= {record["participants"][agent]["name"] for agent in counted}


def held(html: Markup) -> None:
    """Hold a picture against what a page may have in it."""
    tree = parsed(html)
    ids = [one.get("id", "") for one in tree.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    assert all(one.startswith("c-") for one in ids)
    known = set(ids)
    for one in tree.iter():
        assert not {"style", "href", "src"} & set(one.keys())
        assert not [key for key, _ in one.items() if key.startswith("on")]
        assert one.tag.rpartition("}")[2] not in ("script", "style", "a", "image", "use", "iframe")
        assert one.get("aria-labelledby", "") in known | {""}
        for key, value in one.items():
            is_text = key in ("title", "aria-label")
            assert is_text or "url(" not in value or value == "url(#c-hatch)"
        if one.get("tabindex"):
            assert one.get("aria-label")
            assert one.get("role") in ("img", "region")


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("size", [(2, 1), (6, 3), (12, 2), (3, 30)])
def test_every_picture_of_any_size_is_well_formed_and_has_no_style_or_script(
    lang: str, size: tuple[int, int]
) -> None:
    record = record_of(drawn(1, agents=size[0], rounds=size[1]).state)
    for name in ALL:
        held(getattr(charts, name)(Facts(record, words_of(lang, "charts"))))


def test_names_positions_and_reasons_that_are_hostile_stay_text() -> None:
    texts = hostile_texts()
    base = record_of(random_debate(3, agents=4, rounds=2).state)
    assert base["flips"]
    for at in range(0, len(texts), 4):
        record = {**base, "convergence": {"blockingIssues": texts[at : at + 2]}}
        record["participants"] = {
            agent: {**one, "name": text, "emoji": text[-3:]}
            for (agent, one), text in zip(
                base["participants"].items(), texts[at : at + 4], strict=False
            )
        }
        record["contributions"] = [{**one, "position": texts[at]} for one in base["contributions"]]
        record["flips"] = [
            {**one, "before": texts[at], "after": texts[at + 1]}
            if one["kind"] == "position"
            else one
            for one in base["flips"]
        ]
        record["tallies"] = {
            "blind": [{"position": texts[at + 2], "agents": ["henry"]}],
            "final": [{"position": texts[at + 3], "agents": ["sage"]}],
        }
        record["rounds"] = [{**one, "absent": {"nova": texts[at]}} for one in base["rounds"]]
        for name in ALL:
            held(getattr(charts, name)(Facts(record, WORDS)))


def test_a_long_name_is_cut_and_whole_in_its_title() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.state.participants["ann"].name = "Annabella " * 6
    debate.round("Yes.", {})
    tree = parsed(charts.flow(Facts(record_of(debate.state), WORDS)))
    (whole,) = {one.get("title") for one in having(tree, "named") if "Anna" in text_in(one)}
    assert whole == ("Annabella " * 6).strip()
    assert text_in(having(tree, "name")[0]) == "Annabella Annabella Ann…"


def test_signs_are_emojis_where_they_tell_agents_apart_and_else_letters() -> None:
    debate = Debate("ann", "bob", "member-2", "member-12")
    debate.state.participants["ann"].emoji = EMOJIS[0]
    faces = Facts(record_of(debate.state), WORDS).agents
    assert [one.sign for one in faces.values()] == [EMOJIS[0], "Bo", "M2", "M12"]


def test_a_line_of_others_cannot_break_out_of_its_line() -> None:
    assert line_of("a\u202eb\n\x1bc") == "a b c"


def council_with_blockers() -> Conversation:
    """Return a council in its third round: henry has withdrawn his blocker, sage has not."""
    state = convened("henry", "sage", "nova", sealed_phases=False)
    agreed = {"status": "agreed"}
    for agent, text, options in (
        ("henry", "No.\n\nBLOCKING: There is no budget.", {}),
        ("sage", "No.\n\nBLOCKING: It has no owner.", {}),
        ("nova", "Yes.", {}),
        ("henry", "Yes.", agreed),
        ("sage", "No.", {}),
        ("nova", "Yes.", agreed),
        ("henry", "Yes, still.", agreed),
    ):
        state = advance(answer(state, agent, text, **options).state, NOW + MINUTE).state
    return state


@pytest.mark.req("C0-010", "C0-012")
def test_a_council_shows_statuses_by_round_and_what_became_of_each_blocker() -> None:
    record = record_of(council_with_blockers())
    tree = parsed(charts.statuses(Facts(record, WORDS)))
    rows = cells_of(tree.findall(".//table")[0])
    assert {name: [words_in(one) for one in row] for name, row in rows.items()} == {
        "henry": ["answered, not agreed", "agreed", "agreed"],
        "sage": ["answered, not agreed", "answered, not agreed", "has not answered"],
        "nova": ["answered, not agreed", "agreed", "has not answered"],
    }
    second, first = parsed(charts.blockers(Facts(record, WORDS))).iter("li")
    assert (
        text_in(first)
        == "✓ resolved There is no budget raised by henry, round 1; withdrawn, round 2"
    )
    assert text_in(second) == "! open It has no owner raised by sage, round 1"
