"""Every cause has its sentence and its way out, in both languages."""

from __future__ import annotations

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import council
from council.core.reading import LANGUAGES
from council.operations.reporting.explain_words import say, sentences, worded

PACKAGE = Path(council.__file__).parent
MODULES = ("explain*",)
AFTER = {"hinder": 0, "wait_for": 0, "then": 0}


def used() -> dict[str, set[str]]:
    """Return the sentences that the modules name, by the call that says them."""
    found: dict[str, set[str]] = {name: set() for name in AFTER}
    for pattern in MODULES:
        for path in (PACKAGE / "operations" / "reporting").glob(f"{pattern}.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = getattr(getattr(node, "func", None), "attr", "")
                if isinstance(node, ast.Call) and name in AFTER and node.args:
                    first = node.args[0]
                    if isinstance(first, ast.Constant):
                        found[name].add(first.value)
    return found


@pytest.mark.req("XC-012")
def test_all_that_is_said_has_a_sentence_in_both_languages():
    said = used()

    assert len(said["hinder"]) > 10
    for name in set().union(*said.values()):
        assert len(sentences()[name]) == len(LANGUAGES)
        assert all(sentences()[name])


def test_every_cause_has_its_way_out():
    from council.operations.reporting.explained import _CAUSES

    causes = used()["hinder"] | set(_CAUSES.values()) | {"attempt-failed"}

    assert sorted(one for one in causes if f"fix-{one}" not in sentences()) == []


def test_instants_spans_and_lists_are_written_as_everywhere():
    at = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)

    assert say("since", "en", {"at": at, "age": timedelta(seconds=90)}) == (
        "since 2026-02-08T20:00:00Z (1m30s)"
    )
    assert say("next-after-turn-one", "en", {"agents": ["chief"]}) == "then chief speaks"
    assert say("next-after-turn", "fr", {"agents": ["a", "b"]}) == "puis parlent : a, b"


def test_brackets_of_the_settings_are_no_part_that_is_left_out():
    assert "[agents.owl]" in say("fix-no-program", "en", {"agent": "owl"})


def test_a_word_may_stand_for_a_sentence():
    assert worded("@no-clock", "fr") == "aucune horloge ne le lance"
    assert worded("@owl", "fr") == "@owl"
    assert "and no clock runs it" in say("no-heartbeat", "en", {"clock": "@no-clock"})
