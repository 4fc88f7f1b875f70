"""What is said about an answer that lacks something: the same words wherever it is said."""

from __future__ import annotations

import pytest

from council.core.deliberation.fault_words import fault_in_words
from council.core.reading_answers.turns import parse_turn
from council.operations.reporting.minutes import render_minutes
from council.store.statefile.layout import hints_of
from tests.core.debates import Debate, turn_text

NAMES = {"ann": "ann", "bob": "bob"}
# Texts that between them have every fault that a form can have.
FAULTY = (
    "Just words.",
    "## Position\nYes.\n",
    "## Responses\n- @ann: agree\n\n## Confidence\n9\n",
    turn_text("Yes.", {"ann": "perhaps", "cid": "agree"}),
    turn_text("Yes.", {"ann": "agree"}) + "\n## Responses\n- @ann: disagree\n",
)


@pytest.mark.req("DL-013", "DL-015")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_every_fault_has_words_in_both_languages(lang: str):
    codes = {fault.code for text in FAULTY for fault in parse_turn(text, NAMES).faults}
    codes.add("missing-response")

    assert len(codes) == 8
    for code in codes:
        said = fault_in_words(code, lang, agent="Ann")
        assert ("Ann" in said) == (code in ("bad-stance", "two-stances", "missing-response"))
        assert (said == fault_in_words(code, "en", agent="Ann")) == (lang == "en")
        shown = fault_in_words(code, lang, agent="Ann", found="so-so")
        assert shown.startswith(said)
        assert "so-so" in shown


def test_a_fault_without_words_is_told_by_its_code_and_a_strange_language_in_english():
    assert fault_in_words("new-fault", "fr") == "new fault"
    assert fault_in_words("no-position", "de") == "no position"


@pytest.mark.req("DL-013")
def test_file_and_minutes_say_it_alike():
    debate = Debate("ann", "bob")
    debate.say("ann", "## Position\nYes.\n\n## Confidence\nhigh\n")
    words = "a confidence that is not from 1 to 5 (found: high)"
    (hint,) = [text for (_, agent), text in hints_of(debate.state).items() if agent == "ann"]
    assert words in hint
    debate.finish()
    assert words in render_minutes(debate.state, now=debate.now)
