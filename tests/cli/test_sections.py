"""`show --section` finds the sections of a page, whatever headings its texts bring."""

from __future__ import annotations

import pytest

SYNTHESIS = {
    "en": "## Decision\n\nWe take tea.\n\n## Next step\n\nBuy it.\n\n## Sources\n\nNone.",
    "fr": "## Décision\n\nNous prenons du thé.\n\n## Prochaine étape\n\nL'acheter.",
}
TEXT = (
    "Yes.\n\n## Synthesis\n\nNot mine.\n\n## Participants\n\n```\n## Convergence\n```\n## Décision"
)


def convene(council, lang: str) -> None:
    words = ("--agents", "owl,gecko", "--phases", "collect,synthesize", "--open")
    assert council("convene", "Tea?", "--lang", lang, *words).code == 0
    assert council("respond", "--as", "owl", TEXT).code == 0


def end(council, text: str) -> None:
    assert council("respond", "--as", "gecko", TEXT).code == 0
    assert council("synthesize", "--as", "owl", text).code == 0


def headings(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("## ")]


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("asked", ["synthesis", "Synthèse", "SYNTHESE"])
def test_a_synthesis_with_headings_of_its_own_is_shown_as_it_was_written(council, lang, asked):
    convene(council, lang)
    end(council, SYNTHESIS[lang])

    done = council("show", "--section", asked)

    assert done.code == 0, done.err
    title = {"en": "Synthesis", "fr": "Synthèse"}[lang]
    assert done.out == f"## {title}\n\n{SYNTHESIS[lang]}\n"


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_each_section_of_minutes_is_found_by_its_heading_and_holds_no_other(council, lang):
    convene(council, lang)
    end(council, SYNTHESIS[lang])
    heads = headings(council("show").out)

    assert len(heads) > 6
    for head in heads:
        done = council("show", "--section", head)
        assert (done.code, headings(done.out)) == (0, [head]), head
    decision = council("show", "--section", "decision").out
    assert decision.startswith({"en": "## Decision", "fr": "## Décision"}[lang])
    assert SYNTHESIS[lang].splitlines()[2] in decision


def test_a_heading_inside_an_answer_begins_no_section_of_an_open_file(council):
    convene(council, "en")

    participants = council("show", "--section", "participants")
    said = council("show", "--section", "responses")
    nothing = council("show", "--section", "decision")

    assert "Owl" in participants.out and "Gecko" in participants.out
    assert "Not mine." not in participants.out
    assert "## Décision" in said.out
    assert nothing.code == 5
    assert "there are: Active conversation: Tea?, Metadata, Brief (immutable), Part" in nothing.err


def test_a_synthesis_without_headings_keeps_its_section_of_the_page(council):
    convene(council, "en")
    end(council, "We take tea.")

    done = council("show", "--section", "synthesis")

    assert done.out.startswith("## Synthesis\n> We take tea.\n")
    assert "Owl" in done.out
