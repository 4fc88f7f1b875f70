"""Every sentence over a tally says what the tally holds, and nothing of it is left unsaid."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from council.councils import words
from council.councils.model import State, Tally
from council.councils.verdict import count
from tests.councils.test_verdict import VECTORS, counted, drawn

LANGS = ("en", "fr")
ONE_BY_ONE = {"absent", "abstained", "moved", "holders", "approve", "partial", "disagree"}


def tallies() -> list[Tally]:
    chance = random.Random(7)
    found = [counted(row["input"]) for row in VECTORS]
    return found + [count(*drawn(chance)) for _ in range(500)]


TALLIES = tallies()


def read(sentence: str, lang: str) -> tuple[str, dict[str, str]]:
    """The template that a sentence comes from, and what was filled in."""
    fits = []
    for key, template in words.load(f"texts/tally-{lang}.txt").items():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template))
        if found := re.fullmatch(pattern, sentence):
            fits.append((key, found.groupdict()))
    return max(fits, key=lambda fit: len(words.load(f"texts/tally-{lang}.txt")[fit[0]]))


def facts(tally: Tally, names: dict[str, str], option: str) -> set[tuple[str, ...]]:
    """What the sentences have to say."""

    def who(ids: list[str]) -> str:
        return ", ".join(names[one] for one in ids)

    found: set[tuple[str, ...]] = set()
    for side in tally.options:
        letter = option.format(letter=side.letter)
        for key in ("holders", "partial", "disagree"):
            found |= {(key, letter, who(getattr(side, key)))} if getattr(side, key) else set()
        if side.approve:
            found.add(("approve", letter, who(side.approve), str(len(side.approve)), str(tally.n)))
    found |= {("absent", who(tally.absent))} if tally.absent else set()
    found |= {("abstained", who(tally.abstained))} if tally.abstained else set()
    return found | {("moved", names[m["agent"]], m["from"], m["to"]) for m in tally.moved}


@pytest.mark.parametrize("lang", LANGS)
def test_sentences_say_the_tally_and_nothing_else(lang: str) -> None:
    for tally in TALLIES:
        ids = {one for side in tally.options for one in side.holders + side.approve}
        ids |= {*tally.absent, *tally.abstained, *(m["agent"] for m in tally.moved)}
        ids |= {one for side in tally.options for one in side.partial + side.disagree}
        names = {one: one.upper() for one in ids}
        said = set()
        for sentence in words.sentences(tally, names, lang):
            key, values = read(sentence, lang)
            assert key in ONE_BY_ONE, sentence
            order = ("option", "who", "count", "n", "from", "to")
            said.add((key, *(values[one] for one in order if one in values)))
        option = words.load(f"texts/tally-{lang}.txt")["option"]
        assert said == facts(tally, names, option), tally


@pytest.mark.parametrize("lang", LANGS)
def test_headlines_follow_the_verdict(lang: str) -> None:
    seen = set()
    for tally in TALLIES:
        key, values = read(words.headline(tally, lang), lang)
        seen.add(key)
        letters = re.findall(r"\b[A-Z]+\b", values.get("options", ""))
        approve = {side.letter: len(side.approve) for side in tally.options}
        assert letters == (tally.winners or tally.leading), tally
        assert values.get("n", str(tally.n)) == str(tally.n)
        if key in ("strong", "soft"):
            assert (key, values["count"]) == (tally.type, str(approve[letters[0]]))
        elif key == "undecided":
            assert tally.type != "none" and len(letters) > 1
            assert all(approve[one] >= tally.threshold for one in letters)
        else:
            assert (key in ("leads", "tied", "camps", "unsaid", "unheard")) and not tally.winners
            if key == "leads":
                assert int(values["count"]) == approve[letters[0]] < tally.threshold
            if key == "camps":
                assert all(approve[one] >= tally.threshold for one in letters)
    assert seen >= {"strong", "soft", "undecided", "leads", "tied", "camps", "unsaid", "unheard"}


@pytest.mark.parametrize(
    ("agreed", "n", "blockers", "en", "fr"),
    [
        (3, 3, 0, "All 3 agreed", "Les 3 participants sont d'accord"),
        (3, 4, 0, "3 of 4 agreed", "3 sur 4 d'accord"),
        (3, 4, 1, "3 of 4 agreed, 1 blocker open", "3 sur 4 d'accord, 1 blocage ouvert"),
        (
            0,
            2,
            2,
            "Nobody declared agreement, 2 blockers open",
            "Personne n'a déclaré son accord, 2 blocages ouverts",
        ),
    ],
)
def test_a_council_says_how_many_agreed(
    agreed: int, n: int, blockers: int, en: str, fr: str
) -> None:
    assert words.agreement(agreed, n, blockers, "en") == en
    assert words.agreement(agreed, n, blockers, "fr") == fr


def test_both_languages_have_the_same_words_and_places() -> None:
    for name in ("texts/tally-{}.txt", "texts/minutes-{}.txt", "prompts/{}/terms.txt"):
        en, fr = words.load(name.format("en")), words.load(name.format("fr"))
        assert en.keys() == fr.keys(), name
        for key in en:
            places = [sorted(re.findall(r"\{\w+\}", one[key])) for one in (en, fr)]
            assert places[0] == places[1] or "{Kind}" in en[key], key
    for part in ("frame", "answer", "contribution", "turn", "vote", "synthesis", "question"):
        signs = [
            sorted(re.findall(r"\{[?!*]?\w+\}", words.template(f"prompts/{lang}/{part}.md")))
            for lang in LANGS
        ]
        assert signs[0] == signs[1], part
    signs = [re.findall(r"\{[?!*/]?\w*\}", words.template(f"texts/minutes-{x}.txt")) for x in LANGS]
    assert sorted(signs[0]) == sorted(signs[1])


@pytest.mark.parametrize(
    ("template", "values", "made"),
    [
        ("a {x}", {"x": "{y} {/}"}, "a {y} {/}\n"),
        ("{?x} yes\n{!x} no", {"x": 1}, "yes\n"),
        ("{?x} yes\n{!x} no", {}, "no\n"),
        ("{*x} - {it}", {"x": ["a", "b"]}, "- a\n- b\n"),
        ("{*x}\n{n}\n\n{/}\nend", {"x": [{"n": 1}, {"n": 2}]}, "1\n\n2\n\nend\n"),
        ("a\n\n{?x}\nb\n\n{/}\nc", {}, "a\n\nc\n"),
        ("{?x}\n{*x} {?y} {it}\n{/}", {"x": ["a"], "y": 1}, "a\n"),
        ("{x}\n\n{x}", {"x": "a\n\n\n\nb"}, "a\n\n\n\nb\n\na\n\n\n\nb\n"),
    ],
)
def test_templates(template: str, values: dict[str, Any], made: str) -> None:
    assert words.fill(template, values) == made


def test_a_conversation_without_a_word() -> None:
    for procedure, start in (
        ("deliberation", "No consensus"),
        ("council", "Nobody declared agreement"),
    ):
        assert words.told(State(procedure=procedure), Tally(n=2), {})[0].startswith(start)
