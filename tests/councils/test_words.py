"""Every sentence over a tally says what the tally holds, and nothing of it is left unsaid."""

import random
import re
from typing import Any

import pytest

from council.councils import sight
from council.councils.model import Blocker, Side, State, Tally
from council.councils.verdict import count
from council.kernel import words
from tests.councils.test_verdict import drawn

LANGS = ("en", "fr")
SIDE = Side(letter="A", text="Tiles.")


def tallies() -> list[Tally]:
    chance = random.Random(7)
    camps = [Side(letter=one, text=one, approve=[*who]) for one, who in (("A", "ab"), ("B", "cd"))]
    rare = [Tally(n=4, threshold=2, leading=["A", "B"], options=camps)]
    rare += [Tally(n=1, abstained=["a"]), Tally(n=2, absent=["a"])]
    return rare + [count(*drawn(chance)) for _ in range(700)]


TALLIES = tallies()


def told(tally: Tally, lang: str) -> list[str]:
    """What is said of the tally of a deliberation, with names in capitals."""
    ids = {one for side in tally.options for one in side.holders + side.approve}
    ids |= {*tally.absent, *tally.abstained, *(m["agent"] for m in tally.moved)}
    ids |= {one for side in tally.options for one in side.partial + side.disagree}
    state = State(procedure="deliberation", lang=lang)
    return sight.told(state, tally, {one: one.upper() for one in ids})


def templates(lang: str) -> list[tuple[str, str]]:
    """The sentences with places, each with the value without which it is not said."""
    text = words.template(f"texts/tally-{lang}.txt").partition("\n====\n")[2]
    found = re.findall(r"^(?:\{[?*]\w+\} )*\{[?*](\w+)\} (.*)$", text, re.M)
    return [(key, re.sub(r"\{(\w+):?\w*\}", r"{\1}", line)) for key, line in found]


def read(sentence: str, lang: str) -> tuple[str, dict[str, str]]:
    """The key of the template that a sentence comes from, and what was filled in."""
    fits = []
    for key, template in templates(lang):
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template))
        if found := re.fullmatch(pattern, sentence):
            fits.append((len(template), key, found.groupdict()))
    return max(fits, key=lambda fit: fit[0])[1:]


def facts(tally: Tally) -> set[tuple[str, ...]]:
    """What the sentences have to say."""

    def who(ids: list[str]) -> str:
        return ", ".join(one.upper() for one in ids)

    found: set[tuple[str, ...]] = set()
    leading = tally.winners or tally.leading
    for side in (one for one in tally.options if one.holders or one.letter in leading):
        for key in ("holders", "partial", "disagree"):
            ids = getattr(side, key)
            found |= {(key, side.letter, who(ids))} if ids else set()
        if side.approve:
            figures = (str(len(side.approve)), str(tally.n))
            found.add(("approve", side.letter, *figures, who(side.approve)))
    found |= {("absent", who(tally.absent))} if tally.absent else set()
    found |= {("abstained", who(tally.abstained))} if tally.abstained else set()
    return found | {("moved", m["agent"].upper(), m["from"], m["to"]) for m in tally.moved}


@pytest.mark.parametrize("lang", ["en", pytest.param("fr", marks=pytest.mark.slow)])
def test_sentences_say_the_tally_and_nothing_else(lang: str) -> None:
    for tally in TALLIES:
        said = set()
        for sentence in told(tally, lang)[1:]:
            key, values = read(sentence, lang)
            order = ("letter", "count", "n", key, "agent", "from", "to")
            said.add((key, *(values[one] for one in order if one in values)))
        assert said == facts(tally), tally


@pytest.mark.parametrize("lang", LANGS)
def test_headlines_follow_the_verdict(lang: str) -> None:
    seen = set()
    for tally in TALLIES:
        key, values = read(told(tally, lang)[0], lang)
        seen.add(key)
        letters = re.findall(r"\b[A-Z]+\b", values.get("leading", ""))
        approve = {side.letter: len(side.approve) for side in tally.options}
        assert letters == (tally.winners or tally.leading), tally
        assert values.get("n", str(tally.n)) == str(tally.n)
        if key in ("strong", "soft"):
            assert (key, values["count"]) == (tally.type, str(approve[letters[0]]))
        elif key in ("strong_tie", "soft_tie"):
            assert key == f"{tally.type}_tie" and len(letters) > 1
            assert all(approve[one] >= tally.threshold for one in letters)
        else:
            assert (
                key in ("leads", "tied", "camps", "unsaid", "aside", "unheard")
            ) and not tally.winners
            if key in ("aside", "unheard"):
                assert (key == "unheard") == (
                    tally.n + len(tally.abstained) < len(tally.absent) + 2
                )
            if key == "leads":
                assert int(values["count"]) == approve[letters[0]] < tally.threshold
            if key == "camps":
                assert all(approve[one] >= tally.threshold for one in letters)
    talks = {"strong", "soft", "soft_tie", "leads", "tied", "unsaid"}
    assert seen >= {*talks, "camps", "aside", "unheard"}


@pytest.mark.parametrize(
    ("agreed", "n", "blockers", "en", "fr"),
    [(3, 3, 0, "All 3 agreed", "Les 3 participants sont d'accord"),
     (3, 4, 0, "3 of 4 agreed", "3 sur 4 d'accord"),
     (3, 4, 1, "3 of 4 agreed, open blockers: 1", "3 sur 4 d'accord, blocages ouverts : 1"),
     (0, 2, 0, "Nobody declared agreement", "Personne n'a déclaré son accord")],
)  # fmt: skip
def test_a_council_says_how_many_agreed(
    agreed: int, n: int, blockers: int, en: str, fr: str
) -> None:
    open_ = [Blocker(agent="a", text="who pays?", tour=1)] * blockers
    tally = Tally(n=n, agreed=[*"abc"[:agreed]])
    assert sight.told(State(blockers=open_), tally, {}) == [en]
    assert sight.told(State(blockers=open_, lang="fr"), tally, {}) == [fr]


def test_both_languages_have_the_same_words_and_places() -> None:
    parts = ("frame", "answer", "contribution", "turn", "vote", "synthesis", "question", "terms")
    names = [f"prompts/{{}}/{part}.{'txt' if part == 'terms' else 'md'}" for part in parts]
    for name in [*names, "texts/tally-{}.txt", "texts/minutes-{}.txt"]:
        en, fr = (words.template(name.format(lang)) for lang in LANGS)
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


def test_a_conversation_without_a_word() -> None:
    for procedure, start in (
        ("deliberation", "No consensus"),
        ("council", "Nobody declared agreement"),
    ):
        assert sight.told(State(procedure=procedure), Tally(n=2), {})[0].startswith(start)
