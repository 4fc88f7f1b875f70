"""Every sentence over a tally, and how templates are filled."""

import re
from typing import Any

import pytest

from council.councils import sight
from council.councils.model import Blocker, Side, State, Tally
from council.kernel import words

NAMES = {"a": "Ann", "b": "Ben", "c": "Cy", "d": "Dan"}


def side(letter: str, holders: str, approve: str, partial: str = "", disagree: str = "") -> Side:
    lists = {"approve": [*approve], "partial": [*partial], "disagree": [*disagree]}
    return Side(letter=letter, text=f"Text {letter}.", holders=[*holders], **lists)


SIDE = side("A", "a", "")
BOTH, APART = (
    [side("A", "a", "ab"), side("B", "b", "ab")],
    [side("A", "a", "a"), side("B", "b", "b")],
)
CAMPS = [side("A", "ab", "ab"), side("B", "cd", "cd")]
SPLIT = [side("A", "ab", "abc", "", "d"), side("B", "d", "d", "c", "ab"), side("C", "", "")]


@pytest.mark.parametrize(
    ("told", "found"),
    [("Strong consensus on A: 3 of 3 approve",
      {"type": "strong", "n": 3, "winners": ["A"], "options": [side("A", "abc", "abc")]}),
     ("Soft consensus on A: 3 of 4 approve",
      {"type": "soft", "n": 4, "winners": ["A"], "options": SPLIT}),
     ("Strong consensus, undecided between A, B: at least 2 of 2 approve each",
      {"type": "strong", "n": 2, "threshold": 2, "winners": ["A", "B"], "options": BOTH}),
     ("Soft consensus, undecided between A, B: at least 2 of 2 approve each",
      {"type": "soft", "n": 2, "threshold": 2, "winners": ["A", "B"], "options": BOTH}),
     ("No consensus: A leads with 1 of 3 approvals, 2 are needed",
      {"n": 3, "threshold": 2, "leading": ["A"], "options": APART[:1]}),
     ("No consensus: A, B lead equally, 2 of 2 approvals are needed",
      {"n": 2, "threshold": 2, "leading": ["A", "B"], "options": APART}),
     ("No consensus: A, B each have the approvals they need, but from separate camps",
      {"n": 4, "threshold": 2, "leading": ["A", "B"], "options": CAMPS}),
     ("No consensus: no stance and no vote to count", {"n": 2}),
     ("No consensus: fewer than two participants took a side", {"n": 1, "abstained": ["a"]}),
     ("No consensus: fewer than two participants were heard", {"n": 2, "absent": ["a"]})],
)  # fmt: skip
def test_headlines_follow_the_verdict(told: str, found: dict[str, Any]) -> None:
    assert sight.told(State(procedure="deliberation"), Tally(**found), NAMES)[0] == told


def test_all_of_a_tally_is_said() -> None:
    tally = Tally(type="soft", n=4, winners=["A"], options=SPLIT, absent=["c"], abstained=["d"])
    tally.moved = [{"agent": "a", "from": "B", "to": "A"}]
    lines = [
        "Option A: first choice of Ann, Ben", "Option A: approved by 3 of 4: Ann, Ben, Cy",
        "Option A: rejected by Dan", "Option B: first choice of Dan",
        "Option B: approved by 1 of 4: Dan", "Option B: partly approved by Cy",
        "Option B: rejected by Ann, Ben", "Not counted: Cy", "Abstained: Dan",
        "Moved in the last round: Ann from B to A",
    ]  # fmt: skip
    state = State(procedure="deliberation")
    assert sight.told(state, tally, NAMES)[1:] == lines
    less = [line for line in lines if "first choice" not in line]
    assert sight.told(state, tally, NAMES, holders=False)[1:] == less


@pytest.mark.parametrize(
    ("agreed", "n", "blockers", "told"),
    [(3, 3, 0, "All 3 agreed"), (3, 4, 0, "3 of 4 agreed"),
     (3, 4, 1, "3 of 4 agreed, open blockers: 1"), (0, 2, 0, "Nobody declared agreement")],
)  # fmt: skip
def test_a_council_says_how_many_agreed(agreed: int, n: int, blockers: int, told: str) -> None:
    open_ = [Blocker(agent="a", text="who pays?", tour=1)] * blockers
    assert sight.told(State(blockers=open_), Tally(n=n, agreed=[*"abc"[:agreed]]), {}) == [told]


def test_both_languages_have_the_same_words_and_places() -> None:
    parts = ("frame", "answer", "contribution", "turn", "vote", "synthesis", "short")
    names = [f"prompts/{{}}/{part}.md" for part in parts]
    for name in [*names, *(f"texts/{one}-{{}}.txt" for one in ("question", "tally", "minutes"))]:
        en, fr = (words.template(name.format(lang)) for lang in ("en", "fr"))
        sign = r"\{[?!*/]?[\w.:-]*\}"
        assert sorted(re.findall(sign, en)) == sorted(re.findall(sign, fr)), name
        keys = r"^([\w -]+) = "
        assert re.findall(keys, en, re.M) == re.findall(keys, fr, re.M), name


@pytest.mark.parametrize(
    ("template", "values", "made"),
    [("a {x}", {"x": "{y} {/}"}, "a {y} {/}\n"), ("{?x} yes\n{!x} no", {"x": 1}, "yes\n"),
     ("{?x} yes\n{!x} no", {}, "no\n"), ("{*x} - {it}", {"x": ["a", "b"]}, "- a\n- b\n"),
     ("{*x}\n{n}\n\n{/}\nend", {"x": [{"n": 1}, {"n": 2}]}, "1\n\n2\n\nend\n"),
     ("a\n\n{?x}\nb\n\n{/}\nc", {}, "a\n\nc\n"),
     ("{?x}\n{*x} {?y} {it}\n{/}", {"x": ["a"], "y": 1}, "a\n"),
     ("{x}\n\n{x}", {"x": "a\n\n\n\nb"}, "a\n\n\n\nb\n\na\n\n\n\nb\n"),
     ("{x}, {x:loud}, {x:said}", {"x": ["a", "{b}"]}, "a, {b}, A, {B}, “a, {b}”\n"),
     ("{x:loud}{x:said}.", {"x": ""}, ".\n"),
     ("{t.n} {t.type:loud}\n{*o} - {letter}", {"t": Tally(n=2), "o": [SIDE]}, "2 NONE\n- A\n")],
)  # fmt: skip
def test_templates(template: str, values: dict[str, Any], made: str) -> None:
    forms = {"loud": str.upper, "said": "“{it}”"}
    assert words.fill(template, values, forms) == made
