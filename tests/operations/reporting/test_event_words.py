"""Every event has its sentence, in both languages."""

from __future__ import annotations

import string

import pytest

from council.core.event_types import EVENTS, event_schema
from council.core.reading import LANGUAGES
from council.core.reporting.sentences import filled
from council.operations.reporting.event_words import kind_word, sentence
from council.store.texts import texts

# Fields that stand in the event itself, and the attempt, which follows from the task.
_OF_THE_EVENT = {"fromAgentId", "toAgentId", "artifactIds", "attempt"}


def _event(kind: str, **data: object) -> dict:
    return {"type": kind, "agentId": "owl", "data": data}


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.req("P8-086", "XC-012")
def test_every_type_of_event_has_a_sentence_in_both_languages_and_no_other_has():
    sentences = texts("events")

    assert sorted(one for one in sentences if ":" not in one) == sorted(EVENTS)
    assert {one.partition(":")[0] for one in sentences} == set(EVENTS)
    assert all(len(both) == len(LANGUAGES) and all(both) for both in sentences.values())


def test_sentences_speak_of_fields_that_there_are():
    defined = event_schema()["$defs"]
    for kind, both in texts("events").items():
        there = set(defined[kind.partition(":")[0]].get("properties", {})) | _OF_THE_EVENT
        for template in both:
            assert _fields(template) <= there, kind


def test_a_sentence_says_who_was_absent_only_where_somebody_was():
    data = {"from": "COLLECT", "to": "CHALLENGE", "tour": 2, "reason": "timeout"}

    alone = sentence(_event("phase.changed", **data, absent=[]), "en")
    without = sentence(_event("phase.changed", **data, absent=["nova", "sage"]), "en")

    assert alone == "COLLECT is over (out of time); CHALLENGE begins, round 2"
    assert without == f"{alone}; absent: nova, sage"


def test_words_that_data_hold_are_put_into_the_language():
    data = {"from": "COLLECT", "to": "CHALLENGE", "tour": 2, "reason": "timeout", "absent": []}

    assert "délai écoulé" in sentence(_event("phase.changed", **data), "fr")


@pytest.mark.req("XC-012")
def test_a_french_sentence_holds_no_english_reason():
    refused = _event("answer.refused", code="not-your-turn", message="it is not the turn of owl")
    checked = _event("consensus.checked", tour=1, type="none", agree=1, partial=0, disagree=2)

    assert sentence(refused, "fr") == "réponse refusée : ce n'est pas son tour"
    assert sentence(refused, "en") == "answer refused: it is not the turn of owl"
    assert sentence(checked, "fr").startswith("consensus du tour 1 : aucun (")
    assert sentence(checked, "en").startswith("consensus of round 1: none (")


@pytest.mark.req("XC-012")
def test_what_a_story_is_about_is_called_in_the_language():
    assert [kind_word(one, "fr") for one in ("channel", "task", "context")] == [
        *("salon", "tâche", "contexte")
    ]
    assert [kind_word(one, "en") for one in ("channel", "unheard-of")] == ["channel", "unheard-of"]


def test_an_attempt_is_numbered_after_its_task():
    failed = _event("task.failed", task="c.1.owl.2", reason="exit 1", final=False)

    assert sentence(failed, "en") == "attempt 2 failed: exit 1"


def test_an_event_of_a_type_that_is_not_known_shows_its_data():
    assert sentence(_event("moon.risen", phase="full", seen=True), "en") == (
        "moon.risen phase=full seen=yes"
    )


def test_a_field_that_is_missing_breaks_no_sentence():
    assert sentence(_event("deadline.extended"), "en") == "deadline moved by ? s"
    assert filled("{a}[ and {b}]", {"a": "one"}) == "one"
