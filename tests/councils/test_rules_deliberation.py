"""How a deliberation advances: document 003."""

from itertools import pairwise
from typing import Any

import pytest

from council.councils import decisions, evolution, model, sight, views
from council.councils.model import Fault, Heard, Stance
from council.kernel.errors import Refused, Usage
from tests.councils.play import Play
from tests.vectors.rows import rows


def deliberation(agents: str = "a,b,c", **more: Any) -> Play:
    return Play("deliberation", agents, **more)


def a_round(play: Play, said: dict[str, str], **stances: dict[str, str]) -> None:
    """All speak in their order, with the same stances each time."""
    for agent in list(play.state.round().order):
        play.turn(agent, said[agent], **stances.get(agent, {}))


SPLIT = {"a": "Tiles.", "b": "Tin.", "c": "Straw."}
ONE = dict.fromkeys("abc", "Tiles.")


def test_rotation_one_after_the_other() -> None:
    play = deliberation(max_rounds=2)
    assert not play.state.round().parallel
    with pytest.raises(Refused, match="turn of a"):
        play.turn("b", "Tin.")
    a_round(play, SPLIT)
    assert play.state.round().order == ["b", "c", "a"]
    a_round(play, SPLIT)
    assert play.place == ("VOTE", 3) and play.reasons[:2] == ["all-answered", "max-rounds"]


@pytest.mark.parametrize("order", ["fixed", "shuffle", "parallel"])
def test_other_orders(order: str) -> None:
    play = deliberation(order=order, max_rounds=3)
    assert play.state.round().parallel == (order == "parallel")
    orders = []
    while play.state.phase == "DELIBERATE":
        orders.append(list(play.state.round().order))
        a_round(play, SPLIT)
    assert len(orders) == 3 and all(sorted(one) == ["a", "b", "c"] for one in orders)
    if order == "shuffle":
        assert all(one[-1] != after[0] for one, after in pairwise(orders))


def test_strong_consensus_ends_the_rounds() -> None:
    play = deliberation()
    a_round(play, {**ONE, "c": "Tiles!"}, b={"a": "agree"}, c={"a": "agree", "b": "agree"})
    assert play.place == ("VOTE", 2) and play.state.rounds[0].reason == "consensus"
    assert play.state.rounds[0].verdict == "strong"
    assert [one.letter for one in play.state.options] == ["A"]


def test_the_first_round_may_be_sealed() -> None:
    play = deliberation(blind=True)
    assert play.state.round().parallel and play.state.round().blind
    play.turn("c", "Straw.")
    play.turn("a", "Tiles.")
    assert play.state.options == [] and sight.tally(play.state).options == []
    assert sight.visible(play.state, "b") == []
    play.turn("b", "Tin.", a="agree")
    named = [f"{one.letter}: {one.text} {one.by}" for one in play.state.options]
    assert named == ["A: Tiles. a", "B: Tin. b", "C: Straw. c"]
    assert not play.state.round().blind and play.state.round().order == ["b", "c", "a"]


def test_options_are_lettered_as_they_are_said_and_never_change() -> None:
    play = deliberation(options=["yes", "no"])
    play.turn("a", "Yes, because it is cheap.")
    play.turn("b", "Wait.")
    assert [one.text for one in play.state.options] == ["yes", "no", "Wait."]
    play.says("b", "Wait a year.", heard=Heard(position="Wait a year."), amend=True)
    play.turn("c", "no")
    assert [o.letter for o in play.state.options] == ["A", "B", "C", "D"]


def test_votes_are_secret_and_counted_when_all_are_in() -> None:
    play = deliberation(max_rounds=1)
    a_round(play, SPLIT)
    assert play.state.round().parallel and play.state.round().blind
    with pytest.raises(Refused, match="no synthesis"):
        play.says("a", only="synthesis")
    play.turn("a", choice="B", b="agree")
    assert sight.visible(play.state, "c")[-1].kind == "turn"
    assert sight.tally(play.state).options[1].holders == ["b"]
    play.turn("b", choice="B")
    play.turn("c", choice="B", b="agree")
    assert play.place == ("SYNTHESIZE", 3)
    tally = sight.tally(play.state)
    assert (tally.type, tally.winners) == ("strong", ["B"])
    moves = ((one["agent"], one["from"], one["to"]) for one in tally.moved)
    assert [*moves] == [("a", "A", "B"), ("c", "C", "B")]
    assert (play.state.status, play.state.closed_reason) == ("CONVERGED", "consensus")


def test_a_silent_vote_keeps_the_last_word() -> None:
    play = deliberation(max_rounds=1)
    a_round(play, {**ONE, "c": "Tin."}, b={"a": "agree"})
    play.later(61)
    assert play.absent(2) == dict.fromkeys("abc", "timeout")
    assert sight.tally(play.state).type == "soft"
    for _ in range(3):
        play.later(61)
    made = views.decision(play.state)
    assert (made["outcome"], made["decision"]) == ("consensus", "Tiles.")
    assert [(one["agent"], one["position"]) for one in made["dissent"]] == []


def test_rejected_goes_back_to_the_vote() -> None:
    play = deliberation(max_rounds=1, sign_off="chief")
    for _ in range(2):
        a_round(play, ONE)
    play.says("a", "Tiles it is.")
    play.do(decisions.sign, "chief", approve=False, why="?", repeats=False)
    assert play.place == ("VOTE", 4)


@pytest.mark.parametrize(
    ("last", "place", "reason"),
    [("We ship.", ("VOTE", 4), "repetition"), ("", ("VOTE", 4), "repetition"),
     ("We do not ship.", ("DELIBERATE", 4), "all-answered")],
)  # fmt: skip
def test_repetition_forces_the_vote(last: str, place: tuple[str, int], reason: str) -> None:
    play = deliberation(agents="a,b")
    for position in ("We ship.", "We ship.", last):
        for agent in list(play.state.round().order):
            why = f"As ever, {agent} holds this. {position}" * bool(position)
            heard = Heard(position=position, reasoning=why, unchanged=not position)
            play.says(agent, heard=heard)
    assert (play.place, play.reasons[2]) == (place, reason)


def test_what_the_reader_is_told() -> None:
    play = deliberation(max_rounds=1)
    play.turn("a", "Tiles.")
    play.turn("b", "Tin.")
    form = sight.form(play.state, "c")
    assert (form.kind, form.needs, form.peers) == ("turn", ["a", "b"], {"a": "A", "b": "B"})
    assert form.options == {"A": "Tiles.", "B": "Tin."}
    play.turn("c", "Tin.")
    form = sight.form(play.state, "c")
    assert (form.kind, form.held) == ("vote", "Tin.")


@pytest.mark.parametrize(
    ("procedure", "chosen", "phases"),
    [("council", "", ["COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE"]),
     ("council", "collect", ["COLLECT", "SYNTHESIZE"]),
     ("council", "collect resolve synthesize", ["COLLECT", "RESOLVE", "SYNTHESIZE"]),
     ("deliberation", "vote", ["VOTE", "SYNTHESIZE"]), ("council", "resolve collect", None),
     ("council", "vote", None), ("council", "synthesize", None), ("court", "", None)],
)  # fmt: skip
def test_chosen_phases(procedure: str, chosen: str, phases: list[str] | None) -> None:
    if phases is None:
        with pytest.raises(Usage):
            model.phases(procedure, chosen.split())
    else:
        assert model.phases(procedure, chosen.split()) == phases


def test_stances_to_what_was_seen() -> None:
    play = deliberation(order="parallel", max_rounds=2)
    play.turn("a", "Tiles.")
    assert sight.needs(play.state, "b") == []
    play.turn("b", "Tin.")
    play.turn("c", "Tiles.")
    assert sight.needs(play.state, "b") == ["a", "c"]
    play.turn("a", "Tin.", b="agree")
    play.turn("b", "Tin.", a="disagree")  # disagrees with the tiles that it saw
    play.turn("c", "Tiles.", a="agree")
    sides = {side.letter: side for side in sight.tally(play.state).options}
    assert sides["A"].disagree == ["b"] and sides["B"].approve == ["a", "b"]
    assert sides["A"].approve == ["c"]


def test_blockers_weaken_a_strong_verdict() -> None:
    play = deliberation(max_rounds=1)
    play.turn("a", "Tiles.")
    play.turn("b", "Tiles.", a="agree")
    yes = {"a": Stance(word="agree"), "b": Stance(word="agree")}
    play.says("c", heard=Heard(position="Tiles.", stances=yes, blockers=["the beams"]))
    assert play.state.rounds[0].verdict == "soft"


def heard(said: dict[str, Any]) -> Heard:
    """What the reader understands of an answer of a vector."""
    if said.get("unreadable"):
        return Heard(faults=[Fault(part="position", code="no-position")])
    choice = "abstain" if said.get("abstain") else said.get("choice", "")
    if choice == "none of these":
        choice = "new"
    known = choice in ("new", "abstain") or (len(choice) == 1 and choice.isupper())
    return Heard(
        position=said.get("position", ""),
        choice=choice if known else "",
        confidence=said.get("confidence"),
        stances={peer: Stance(word=word) for peer, word in said.get("stances", {}).items()},
        moved=said.get("moved", False),
    )


@pytest.mark.parametrize("row", rows("verdicts"), ids=lambda row: row["id"])
def test_vectors_played_as_a_conversation(row: dict[str, Any]) -> None:
    """By commands: rounds that close, absences, letters in the state."""
    given = row["input"]
    talks = [one for one in given["rounds"] if one["kind"] != "vote"]
    blind = talks[0]["kind"] == "blind"
    play = deliberation(
        ",".join(given["agents"]), max_rounds=len(talks), blind=blind,
        order="parallel" if blind else "rotate", advocate=given.get("advocate", ""),
        threshold=given.get("threshold"), confidence_floor=given.get("floor", 0),
        options=given.get("options", []),
    )  # fmt: skip
    for one in given["rounds"]:
        if one["kind"] == "vote" and play.state.phase == "DELIBERATE":
            play.do(decisions.stop)
        tour = play.state.tour
        for agent, said in one["turns"]:
            while not play.state.round().parallel and evolution.speaker(play.state) != agent:
                play.later(31)
            play.says(agent, f"{agent} in {tour}", heard=heard(said or {}))
        while play.state.tour == tour:
            play.later(61)
    tally = sight.tally(play.state)
    assert {"type": tally.type, "decision": tally.decision} == row["expect"]
    assert [o.text for o in play.state.options] == [side.text for side in tally.options]
