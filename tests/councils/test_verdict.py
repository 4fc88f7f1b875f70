"""How a verdict is counted: the properties of every small council (the vectors are played)."""

import random
from typing import Any

import pytest

from council.councils.model import Heard, Option, Stance, Tally
from council.councils.verdict import count, held_after, letter_of, same
from tests.vectors.rows import tables_of

# --- properties of small councils (verdict.md section 5) ---

MADE = tables_of("positions")
TEXTS = ("Tiles.", "Tin.", "Straw.")
ORDER = ("none", "soft", "strong")
Council = tuple[list[str], list[tuple[str, list[tuple[str, Heard]]]]]


def drawn(chance: random.Random) -> Council:
    """A council made by chance: two to five members, one to three rounds, perhaps a vote."""
    members = ["ann", "ben", "cleo", "dan", "eve"][: chance.randint(2, 5)]
    kinds = [chance.choice(("turn", "blind", "parallel"))]
    kinds += [chance.choice(("turn", "parallel")) for _ in range(chance.randint(0, 2))]
    kinds += ["vote"] * chance.randint(0, 1)
    rounds: list[tuple[str, list[tuple[str, Heard]]]] = []
    for kind in kinds:
        answers: list[tuple[str, Heard]] = []
        letters = [one.letter for one in count(members, rounds).options] if kind == "vote" else []
        for agent in members:
            if chance.random() < 0.1:
                continue
            peers = [peer for peer in members if peer != agent and chance.random() < 0.8]
            words = {
                p: Stance(word=chance.choice(("agree", "agree", "partial", "disagree")))
                for p in peers
            }
            choice = chance.choice(["", *letters])
            said = "" if chance.random() < 0.1 else chance.choice(TEXTS)
            answers.append((agent, Heard(position=said, choice=choice, stances=words)))
        if kind == "turn":
            chance.shuffle(answers)
        rounds.append((kind, answers))
    return members, rounds


def changed(council: Council, at: tuple[int, int], **more: Any) -> Council:
    members, rounds = council
    new = [(kind, list(answers)) for kind, answers in rounds]
    agent, said = new[at[0]][1][at[1]]
    new[at[0]][1][at[1]] = (agent, said.copy(**more))
    return members, new


def decided(tally: Tally) -> tuple[str, list[str]]:
    return tally.type, sorted(text.lower() for text in tally.decision)


def one_more_agree(chance: random.Random, council: Council) -> None:
    members, rounds = council
    spots = [(r, a) for r, (_, answers) in enumerate(rounds) for a in range(len(answers))]
    if not spots:
        return
    at = chance.choice(spots)
    agent, said = rounds[at[0]][1][at[1]]
    peer = chance.choice([one for one in members if one != agent])
    if peer in said.stances and said.stances[peer].word == "agree":
        return
    more = changed(council, at, stances={**said.stances, peer: Stance(word="agree")})
    assert ORDER.index(count(*more).type) >= ORDER.index(count(*council).type)


def order_changes_nothing(chance: random.Random, council: Council) -> None:
    members, rounds = council
    other = chance.sample(members, len(members))
    assert decided(count(other, rounds)) == decided(count(members, rounds))


def abstention_only_leaves_n(chance: random.Random, council: Council) -> None:
    members, rounds = council
    agent = chance.choice(members)
    left = count([one for one in members if one != agent], [*rounds, ("vote", [])])
    stays = count(members, [*rounds, ("vote", [(agent, Heard(choice="abstain"))])])
    assert stays.n == left.n and stays.winners == left.winners
    assert stays.type == ("soft" if left.type == "strong" else left.type)


def rewording_changes_nothing(chance: random.Random, council: Council) -> None:
    members, rounds = council

    def reworded(text: str) -> str:
        return chance.choice((text, text.upper()[:-1] + " !")) if text else text

    loud = [
        (kind, [(agent, said.copy(position=reworded(said.position))) for agent, said in answers])
        for kind, answers in rounds
    ]
    names = [
        [word.strip(" !.") for word in decided(count(members, one))[1]] for one in (rounds, loud)
    ]
    assert count(members, loud).type == count(members, rounds).type and names[0] == names[1]


def concession_never_prevents(chance: random.Random, council: Council) -> None:
    members, rounds = council
    before = count(*council)
    if not before.reached or rounds[-1][0] != "vote":
        return
    agent = chance.choice(members)
    yes = {one: Stance(word="agree") for one in members if one != agent}
    already = [one.letter for one in count(members, rounds[:-1]).options if agent in one.holders]
    won = [one for one in before.options if one.letter in before.winners and one.holders]
    held = [one for one in won if one.letter not in already]
    if not held:
        return
    says = Heard(position=chance.choice(held).text, moved=True, stances=yes)
    votes = sorted({**dict(rounds[-1][1]), agent: says}.items())
    assert count(members, [*rounds[:-1], ("vote", votes)]).reached


PROPERTIES = [
    one_more_agree, order_changes_nothing, abstention_only_leaves_n, rewording_changes_nothing,
    concession_never_prevents,
]  # fmt: skip


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("many", [1500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_properties(holds: Any, many: int) -> None:
    chance = random.Random(many)
    for _ in range(many):
        holds(chance, drawn(chance))


@pytest.mark.parametrize(("one", "other"), MADE["same"])
def test_the_same_position(one: str, other: str) -> None:
    assert (same(one, [other]), same(other, [one])) == (0, 0)


@pytest.mark.parametrize(("one", "other"), MADE["different"])
def test_another_position(one: str, other: str) -> None:
    assert (same(one, [other]), same(other, [one])) == (None, None)


def test_words_of_the_exact_option_count_before_a_longer_one() -> None:
    options = [Option(letter="A", text="Tiles, they last."), Option(letter="B", text="Tiles.")]
    assert held_after(Heard(position="tiles"), "", options, False) == "B"


@pytest.mark.parametrize(
    ("said", "held", "letter"),
    [(Heard(position="Slate.", choice="B"), "A", "B"),
     (Heard(position="Slate.", choice="Q"), "", "C"), (Heard(position="Slate."), "A", "A"),
     (Heard(position="Slate.", moved=True), "A", "C"),
     (Heard(position="Slate.", choice="new"), "A", "C"),
     (Heard(position="Tin.", choice="new"), "A", "B"),
     (Heard(unchanged=True, position="As before."), "A", "A"),
     (Heard(choice="abstain", position="Slate."), "A", "A"), (Heard(), "A", "A")],
)  # fmt: skip
def test_what_a_vote_holds(said: Heard, held: str, letter: str) -> None:
    options = [Option(letter="A", text="Tiles."), Option(letter="B", text="Tin.")]
    assert held_after(said, held, options, True) == letter


def test_thresholds_and_letters() -> None:
    vote: list[Any] = [("vote", [])]
    assert [count(list("abcdefg")[:n], vote).threshold for n in range(2, 8)] == [2, 2, 3, 4, 4, 5]
    assert [count(list("abcd"), vote, threshold=n).threshold for n in (1, 3, 9)] == [2, 3, 4]
    assert [letter_of(n) for n in (0, 25, 26, 701)] == ["A", "Z", "AA", "ZZ"]


def test_floor_blockers_and_history() -> None:
    yes = {"a": Stance(word="agree")}
    said = [("a", Heard(position="Tin.", confidence=1))]
    said += [("b", Heard(position="Tin.", confidence=4, stances=yes))]
    rounds = [("turn", said)] * 2
    assert count(["a", "b"], rounds).type == "strong"
    assert [one.type for one in count(["a", "b"], rounds).rounds] == ["strong"]
    assert count(["a", "b"], rounds, floor=2).absent == ["a"]
    assert count(["a", "b"], rounds, blockers=1).type == "soft"
