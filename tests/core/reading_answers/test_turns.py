"""Structured turns, votes and syntheses, read from the text of a contribution."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from council.core.deliberation.questions import questions
from council.core.reading_answers import stances
from council.core.reading_answers.cleaning import clean
from council.core.reading_answers.rendering import render_turn
from council.core.reading_answers.stances import ACK, STANCES, is_less
from council.core.reading_answers.structure import word_count
from council.core.reading_answers.syntheses import parse_synthesis
from council.core.reading_answers.turns import (
    Fault,
    Response,
    Turn,
    missing_responses,
    parse_turn,
)
from tests.examples import examples, one_in
from tests.timing import assert_cheap, assert_linear

NAMES = {
    "claude": "claude",
    "gpt": "gpt",
    "gpt-4": "four",
    "glm": "glm",
    "mary": "mary",
    "mary jane": "jane",
    "voice a": "gpt",
    "position": "position",
}

TYPICAL = """\
## Position
We should build it now.

## Responses to Others
- @gpt: agree — The data is free.
- @glm: partial — The cost is real. It is small.

## Reasoning
First, the data.

Second, the cost.

## Confidence
4
"""

STYLES = {
    "the form": TYPICAL,
    "bold": """\
**Position**
We should build it now.

**Responses to Others**
* **@gpt**: **agree** – The data is free.
* **@glm:** *partial* – The cost is real. It is small.

**Reasoning:** First, the data.

Second, the cost.

**Confidence:** 4/5
""",
    "plain words": """\
POSITION: We should build it now.
Responses:
GPT: agree - The data is free.
GLM: partially agree - The cost is real. It is small.
Evidence: First, the data.

Second, the cost.
Confidence: 4 (fairly sure)
""",
    "numbered, in another order": """\
Here is my turn.

# 1. Confidence level
**4** – fairly sure

# 2. Agreement with others
1. [@gpt]: [agree] -- The data is free.
2) `@glm`: `partly` -- The cost is real.
   It is small.

# 3. Reasoning
First, the data.

Second, the cost.

# 4. My position
We should build it now.
""",
    "a list": """\
- **Position:** We should build it now.
- **Responses:**
  - @gpt: agree: The data is free.
  - @glm: partial: The cost is real. It is small.
- **Reasoning:** First, the data.

  Second, the cost.
- **Confidence:** 4 / 5
""",
    "a heading for each agent": """\
### Position
We should build it now.
### Responses
#### @gpt
Stance: agree — The data is free.
#### @glm — partial
The cost is real. It is small.
### Reasoning
First, the data.

Second, the cost.
### Confidence: 4
""",
    "in a fence, with Windows line ends": (
        "\ufeff```markdown\n" + TYPICAL.replace("Second,", "```text\nx\n```\n\nSecond,") + "```  \n"
    ).replace("\n", "\r\n"),
    "JSON": json.dumps(
        {
            "agentId": "claude",
            "roundNumber": 1,
            "position": "We should build it now.",
            "responses": [
                {"agentId": "gpt", "stance": "agree", "comment": "The data is free."},
                {
                    "agentId": "@GLM",
                    "stance": "partial",
                    "comment": "The cost is real. It is small.",
                },
            ],
            "reasoning": "First, the data.\n\nSecond, the cost.",
            "confidence": 4,
        }
    ),
    "French": """\
## Position
We should build it now.

## Réponses aux autres
- @gpt : d’accord — The data is free.
- @glm : partiellement d'accord — The cost is real. It is small.

## Raisonnement
First, the data.

Second, the cost.

## Confiance
4 – assez sûr
""",
}


def codes(turn: Turn) -> list[str]:
    return [fault.code for fault in turn.faults]


def stated(line: str, **options: str) -> Turn:
    """Read a turn whose form is right and whose one response line is `line`."""
    text = f"## Position\nYes.\n## Responses\n{line}\n## Confidence\n3\n"
    return parse_turn(text, NAMES, author="claude", **options)


def sure(line: str) -> Turn:
    """Read a turn whose form is right and which states `line` under confidence."""
    return parse_turn(f"## Position\nYes.\n\n## Confidence\n{line}\n", NAMES)


@pytest.mark.req("DL-011", "DL-017")
@pytest.mark.parametrize("style", STYLES)
def test_a_good_answer_has_no_fault_in_whatever_style(style: str):
    turn = parse_turn(STYLES[style], NAMES, author="claude")

    assert turn.faults == []
    assert turn.is_readable
    assert turn.position == "We should build it now."
    assert turn.confidence == 4
    assert [(one.agent, one.stance) for one in turn.responses] == [
        ("gpt", "agree"),
        ("glm", "partial"),
    ]
    assert [" ".join(one.comment.split()) for one in turn.responses] == [
        "The data is free.",
        "The cost is real. It is small.",
    ]
    assert turn.reasoning.startswith("First, the data.")
    assert turn.reasoning.endswith("Second, the cost.")


@pytest.mark.req("DL-017", "DL-019")
def test_a_good_answer_has_no_warning():
    assert parse_turn(TYPICAL, NAMES).warnings == []


@pytest.mark.req("DL-017")
@pytest.mark.parametrize("dash", ["—", " — ", " – ", " -- ", " --- ", " - ", ": ", " : ", ". "])
def test_the_dash_has_many_forms(dash: str):
    turn = stated(f"- @gpt: agree{dash}The data is free.")

    assert turn.responses == [Response(agent="gpt", stance="agree", comment="The data is free.")]
    assert turn.faults == []


@pytest.mark.req("DL-013", "DL-014")
@pytest.mark.parametrize(
    "line",
    [
        "- @gpt: agree",
        "-@gpt: agree",
        "* gpt: AGREE",
        "• **GPT**: **Agreed**",
        "1. @gpt — agrees",
        "@gpt agree",
        "  - @Voice A: agree",
        "- **@gpt: agree** — yes",
        "- **@gpt:** `agree`",
        "- @gpt (Pragmatist): agree",
        "- @gpt (agree)",
        "- [@gpt]: [agree].",
        "- @gpt → agree",
        "- @gpt:\n  agree",
        "- @gpt : d'accord",
        "- @gpt : D’ACCORD\u00a0: oui",
    ],
)
def test_a_line_may_be_written_in_many_ways(line: str):
    turn = stated(line)

    assert [(one.agent, one.stance) for one in turn.responses] == [("gpt", "agree")]
    assert turn.faults == []


@pytest.mark.req("DL-013", "HR-005")
@pytest.mark.parametrize(
    ("stance", "words"),
    [
        ("agree", ["agree", "agreed", "agrees", "d'accord", "accord"]),
        ("partial", ["partial", "partially agree", "partly", "partiel", "partiellement"]),
        ("partial", ["partiellement d’accord", "en partie", "Partially", "partly agree"]),
        ("disagree", ["disagree", "disagreed", "disagrees", "pas d'accord", "désaccord"]),
        ("disagree", ["do not agree", "I don't agree", "je ne suis pas d'accord", "不同意"]),
        ("disagree", ["nicht einverstanden", "stimme nicht zu", "no estoy de acuerdo"]),
        ("agree", ["strongly agree", "I fully agree", "✅ agree", "einverstanden", "同意"]),
        ("agree", ["stimme zu", "ich stimme voll zu", "de acuerdo", "estoy de acuerdo"]),
        ("partial", ["partially disagree", "I only partially agree", "disagree → partial"]),
        ("partial", ["teilweise", "stimme teilweise zu", "parcialmente de acuerdo", "部分同意"]),
        ("disagree", ["Desaccord", "de\u0301saccord", "PAS  D’ACCORD"]),
        (ACK, ["acknowledged", "ack", "noted", "vu", "pris en compte"]),
    ],
)
def test_a_stance_has_its_words_in_both_languages(stance: str, words: list[str]):
    assert [stated(f"- @gpt: {word} — so").stance_to("gpt") for word in words] == [stance] * len(
        words
    )


@pytest.mark.req("DL-013")
@pytest.mark.parametrize(
    "token",
    [
        "I do not approve",
        "do not fully agree",
        "mostly agree",
        "agree with reservations",
        "agree, mostly",
        "agree (partly)",
        "agree up to a point",
        "not disagree",
        "I agree?",
        "agree?",
        "agree / disagree",
        "agree or disagree",
        "agree|disagree|partial",
        "[agree|disagree|partial]",
        "agree — partial — disagree",
        "agree - disagree",
        "agree, but not with this",
        "agree-ish",
        "agree to disagree",
        "~~agree~~",
        '"agree"',
        "“agree”",
        "approve",
        "5",
        "agree if they pay",
        "je ne suis pas tout à fait d'accord",
        "no",
        "¬agree",
    ],
)
def test_anything_else_is_no_stance_but_a_fault(token: str):
    turn = stated(f"- @gpt: {token} — It says that all agree.")

    assert turn.stance_to("gpt") == ""
    assert codes(turn) == ["bad-stance"]
    assert turn.faults[0].agent == "gpt"
    assert turn.faults[0].found.startswith(token[:5])


@pytest.mark.req("DL-013")
@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("I do not approve.", ""),
        ("- @gpt: I do not agree", "disagree"),
        ("@gpt: I cannot agree with you", "disagree"),
    ],
)
def test_a_refusal_in_the_words_of_agreement_is_none(text: str, stance: str):
    assert parse_turn(text, NAMES).stance_to("gpt") == stance


@pytest.mark.req("DL-013", "DL-017")
def test_a_comment_goes_on_until_the_next_line_about_somebody():
    turn = stated("- @gpt: agree — One\n  two\nthree\n  - a point\n\n> said\n- @glm: disagree")

    assert turn.responses[0].comment == "One\ntwo\nthree\n- a point\n\n> said"
    assert turn.stance_to("glm") == "disagree"
    assert turn.faults == []


def test_prose_in_a_comment_that_starts_with_a_name_is_no_second_line():
    turn = stated("- @gpt: agree — yes\n  GPT is right here.\n  - @gpt raised it first")

    assert [one.stance for one in turn.responses] == ["agree"]
    assert turn.faults == []


@pytest.mark.req("DL-014")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("- @zed: agree — x", "zed"),
        ("- @all: agree", "all"),
        ("@zed — agree", "zed"),
        ("- Zed: agree — x", "Zed"),
        ("- @{agent}: agree", "{agent}"),
        ("- @gpt-5: agree", "gpt-5"),
        ("- @gptx: agree", "gptx"),
        ("- @: agree", "@"),
    ],
)
def test_a_line_about_nobody_known_is_a_fault(line: str, found: str):
    turn = stated(line)

    assert turn.responses == []
    assert turn.faults == [Fault(code="unknown-agent", found=found)]


@pytest.mark.req("DL-014")
def test_the_longest_name_is_meant():
    turn = stated("- @mary jane: agree\n- @mary: partial\n- @gpt-4: disagree")

    assert [(one.agent, one.stance) for one in turn.responses] == [
        ("jane", "agree"),
        ("mary", "partial"),
        ("four", "disagree"),
    ]


@pytest.mark.req("DL-013")
def test_a_stance_towards_oneself_is_dropped_without_a_fault():
    turn = stated("- @claude: agree — I am right.\n- @claude: disagree?\n- @gpt: partial")

    assert [one.agent for one in turn.responses] == ["gpt"]
    assert turn.faults == []


@pytest.mark.req("DL-013")
def test_two_stances_towards_one_agent_are_none():
    turn = stated("- @gpt: agree\n- @gpt: disagree\n- @glm: agree\n- @glm: agree")

    assert turn.stance_to("gpt") == ""
    assert turn.stance_to("glm") == "agree"
    assert turn.faults == [Fault(code="two-stances", agent="gpt", found="agree, disagree")]


@pytest.mark.req("DL-013")
def test_a_later_section_cannot_change_a_stance_in_silence():
    turn = parse_turn(TYPICAL + "\n## Responses\n- @gpt: disagree\n", NAMES)

    assert turn.stance_to("gpt") == ""
    assert codes(turn) == ["two-stances"]


def test_an_unclear_stance_beside_a_clear_one_is_none():
    assert stated("- @gpt: agree?\n- @gpt: agree").stance_to("gpt") == ""
    assert stated("- @gpt: agree\n- @gpt: agree?").stance_to("gpt") == ""


def test_an_acknowledgement_takes_no_stance_back():
    turn = stated("- @gpt: agree\n- @gpt: noted\n- @mary: noted")

    assert turn.stance_to("gpt") == "agree"
    assert turn.stance_to("mary") == ACK
    assert turn.stance_to("glm") == ""
    assert turn.faults == []


@pytest.mark.req("DL-013")
@pytest.mark.parametrize(
    ("line", "stance"),
    [
        ("- @gpt: disagree — noted", "disagree"),
        ("- @gpt: disagree - Noted.", "disagree"),
        ("- @gpt: agree -- ack: see my reasoning", "agree"),
        ("- @gpt: en partie – vu", "partial"),
        ("- @gpt: noted — ack", ACK),
        ("- @gpt: **disagree** — noted — agree", "disagree"),
    ],
)
def test_a_comment_that_only_acknowledges_leaves_the_stance(line: str, stance: str):
    turn = stated(line)

    assert turn.stance_to("gpt") == stance
    assert turn.responses[0].comment
    assert turn.faults == []


@pytest.mark.req("DL-013")
def test_an_acknowledgement_with_a_stance_behind_it_is_neither():
    turn = stated("- @gpt: noted — disagree")

    assert turn.stance_to("gpt") == ""
    assert codes(turn) == ["bad-stance"]


@pytest.mark.req("DL-013", "HR-007")
@pytest.mark.parametrize(
    "line",
    [
        "4",
        "4/5",
        "4 / 5",
        "**4**",
        "**4**/5",
        "[4]",
        "4.",
        "4 – fairly sure",
        "4 - fairly sure",
        "4 -- so",
        "4—so",
        "4: so",
        "4 (so)",
        "Confidence: 4",
        "**Confidence**: 4/5",
        "4 out of 5",
        "4 sur 5",
        "- 4",
        "4, fairly sure",
        "4/5 – up from 3",
        "4 of 5",
        "four",
        "Four out of five",
        "High (4)",
        "High – 4/5",
        "3 → 4",
        "I'm at 4 out of 5: the data is good",
        "**Level: 4**",
        "4. I have seen it work.",
        "4 because it works",
        "`4`",
        "> 5\n\n4",
        "```\n5\n```\n4",
    ],
)
def test_confidence_may_be_written_in_many_ways(line: str):
    turn = sure(line)

    assert turn.confidence == 4
    assert turn.faults == []


@pytest.mark.req("DL-013")
@pytest.mark.parametrize(
    "line",
    [
        "4.5",
        "4,5",
        "7",
        "0",
        "-4",
        "45",
        "high",
        "1-5",
        "1 – 5",
        "1 to 5",
        "4?",
        "4 or 5",
        "4-ish",
        "4+",
        "4/10",
        "8/10",
        "4/50",
        "80%",
        "²",
        "٤",
        "4 5",
        "[1-5, where 1=very uncertain, 5=highly confident]",
        "1=very uncertain, 5=highly confident",
        "1 (very uncertain) to 5 (highly confident)",
        "4, maybe 3",
        "4 – no, 3",
        "4 – actually 3",
        "~~3~~ 4",
        "I'd be at 5 if we had numbers",
        "not 4",
    ],
)
def test_any_other_confidence_is_a_fault(line: str):
    turn = sure(line)

    assert turn.confidence == 0
    assert codes(turn) == ["bad-confidence"]
    assert turn.faults[0].found == line


@pytest.mark.req("DL-013")
def test_what_is_missing_is_named():
    assert codes(sure("")) == ["no-confidence"]
    assert codes(sure("> 4")) == ["no-confidence"]
    assert codes(parse_turn("## Confidence\n4", NAMES)) == ["no-position"]
    assert codes(parse_turn("## Position\n…\n\n## Confidence\n4", NAMES)) == ["no-position"]
    assert codes(parse_turn("## Position\nYes.", NAMES)) == ["no-confidence"]
    assert codes(parse_turn("## Reasoning\nBecause.", NAMES)) == ["no-position", "no-confidence"]


@pytest.mark.parametrize(
    "text", ["", "   \n", "I agree with all of you.", "# Hello\nall", "[1, 2]"]
)
def test_a_text_without_the_form_is_kept_as_reasoning(text: str):
    turn = parse_turn(text, NAMES)

    assert codes(turn) == ["no-form"]
    assert turn.reasoning == text.strip()
    assert not turn.is_readable


def test_a_turn_that_says_anything_in_the_form_is_readable():
    assert parse_turn("## Position\nYes.", NAMES).is_readable
    assert parse_turn("Confidence: 3", NAMES).is_readable
    assert parse_turn("## Responses\n- @gpt: agree", NAMES).is_readable
    assert not Turn().is_readable


@pytest.mark.req("DL-013")
@pytest.mark.parametrize("heading", ["## Position", "**Position**", "Position:"])
def test_the_unfilled_form_echoed_back_states_nothing(heading: str):
    turn = parse_turn(
        f"""{heading}
[Your core position on the topic in 1-3 sentences]

## Responses to Others
- @{{agent}}: [agree|disagree|partial] — [1-2 sentence response]
- @gpt: [agree|disagree|partial] — [1-2 sentence response]

## Reasoning
[Your full argument, 2-4 paragraphs]

## Confidence
[1-5, where 1=very uncertain, 5=highly confident]
""",
        NAMES,
    )

    assert not turn.is_readable
    assert (turn.position, turn.reasoning, turn.confidence) == ("", "", 0)
    assert turn.stance_to("gpt") == ""
    assert codes(turn) == ["no-form", "unknown-agent", "bad-stance", "bad-confidence"]


QUOTED = "## Position\nNo.\n## Responses\n- @gpt: disagree\n- @glm: agree\n## Confidence\n1"


@pytest.mark.req("DL-013", "DL-017")
@pytest.mark.parametrize(
    "quote",
    [
        "\n".join("> " + line for line in QUOTED.split("\n")),
        f"```\n{QUOTED}\n```",
        f"~~~markdown\n{QUOTED}\n```\n~~~",
        f"- ```\n  {QUOTED}\n  ```",
        "```json\n" + json.dumps({"position": "No.", "confidence": 1}) + "\n```",
        "> ## END\n> CONSENSUS REACHED, all agree",
    ],
)
def test_what_is_quoted_changes_nothing(quote: str):
    base = TYPICAL.replace("- @glm: partial — The cost is real. It is small.\n", "")
    first = base.replace("## Position\n", f"{quote}\n\n## Position\n")
    within = base.replace("The data is free.", f"It said:\n{quote}\n")
    last = base.replace("First, the data.", f"First:\n\n{quote}\n")

    for text in (first, within, last):
        turn = parse_turn(text, NAMES)
        assert (turn.position, turn.confidence) == ("We should build it now.", 4)
        assert [(one.agent, one.stance) for one in turn.responses] == [("gpt", "agree")]
        assert turn.faults == []


@pytest.mark.req("DL-013")
def test_the_stance_line_of_somebody_else_in_the_reasoning_is_no_stance():
    turn = parse_turn(
        TYPICAL.replace("First,", "- @gpt: disagree\n@glm: disagree — no\n\nFirst,"), NAMES
    )

    assert turn.stance_to("gpt") == "agree"
    assert turn.stance_to("glm") == "partial"


def test_an_unclosed_fence_hides_what_follows_and_is_asked_about():
    turn = parse_turn(TYPICAL.replace("First,", "```\nFirst,"), NAMES)

    assert turn.confidence == 0
    assert codes(turn) == ["no-confidence"]


@pytest.mark.req("HR-003", "HR-006")
def test_of_two_forms_that_contradict_each_other_neither_counts():
    turn = parse_turn(TYPICAL + "\n## Position\nNo.\n\n## Confidence\n1\n", NAMES)

    assert (turn.position, turn.confidence) == ("", 0)
    assert turn.responses == []
    assert codes(turn) == ["two-forms"]


@pytest.mark.req("HR-003")
@pytest.mark.parametrize(
    "between",
    [
        "Wait, on reflection the data is free. Here is my final answer:",
        "**Revised:**",
        "# Final version",
        "Scratch that.",
    ],
)
def test_a_form_marked_as_the_last_word_counts(between: str):
    draft = "## Position\nNo.\n\n## Responses to Others\n- @gpt: disagree\n\n## Confidence\n1\n"
    turn = parse_turn(f"{draft}\n{between}\n\n{TYPICAL}", NAMES)

    assert (turn.position, turn.confidence) == ("We should build it now.", 4)
    assert turn.stance_to("gpt") == "agree"
    assert turn.faults == []


@pytest.mark.req("HR-003")
def test_the_same_form_twice_is_one():
    turn = parse_turn(TYPICAL + "\n" + TYPICAL, NAMES)

    assert (turn.position, turn.confidence) == ("We should build it now.", 4)
    assert turn.faults == []


def test_headings_of_lower_rank_are_text_where_the_higher_one_stands():
    more = "First.\n\n### Position\nTheirs.\n\nConfidence: low in all of it\n**Responses**: none\n"
    turn = parse_turn(TYPICAL.replace("First, the data.", more), NAMES)

    assert turn.faults == []
    assert turn.position == "We should build it now."
    assert "### Position\nTheirs.\n\nConfidence: low" in turn.reasoning


def test_a_heading_of_another_name_ends_a_position():
    turn = parse_turn(
        TYPICAL.replace("\n## Responses", "\n## Background\nLong.\n\n## Responses"), NAMES
    )

    assert turn.position == "We should build it now."
    assert turn.reasoning == "First, the data.\n\nSecond, the cost."


def test_text_before_the_first_heading_is_kept_when_there_is_no_reasoning():
    turn = parse_turn("Because.\n\n## Position\nYes.\n\n## Confidence\n3", NAMES)

    assert turn.reasoning == "Because."


@pytest.mark.req("DL-015")
def test_each_agent_that_is_owed_a_response_and_has_none_is_named():
    turn = stated("- @gpt: agree\n- @glm: agree?")

    assert missing_responses(turn, ["gpt", "mary", "glm", "jane", "mary"]) == [
        Fault(code="missing-response", agent="mary"),
        Fault(code="missing-response", agent="jane"),
    ]
    assert missing_responses(turn, []) == []


@pytest.mark.req("DL-019")
def test_what_is_too_long_or_too_short_is_only_a_warning():
    text = TYPICAL.replace("it now.", "it now. One. Two! Three?").replace(
        "The data is free.", "One. Two. Three."
    )
    turn = parse_turn(text.replace("\n\nSecond, the cost.", ""), NAMES)

    assert turn.faults == []
    assert turn.warnings == [
        Fault(code="long-position", found="4"),
        Fault(code="reasoning-length", found="1"),
        Fault(code="long-comment", agent="gpt", found="3"),
    ]


@pytest.mark.req("DL-019")
def test_the_bounds_themselves_are_no_warning():
    four = TYPICAL.replace("First, the data.", "First.\n\n### More\n\nMore.\n\n```\na\n\nb\n```")
    three = four.replace("it now.", "it now. Version 2.5, e.g. this one, costs less. So be it.")

    assert parse_turn(three, NAMES).warnings == []
    five = parse_turn(three.replace("More.\n", "More.\n\nMore.\n"), NAMES)
    assert [one.code for one in five.warnings] == ["reasoning-length"]


@pytest.mark.req("DL-019")
def test_a_turn_without_reasoning_gets_a_warning_and_a_vote_none():
    text = "## Position\nYes.\n\n## Confidence\n3\n"

    assert [one.code for one in parse_turn(text, NAMES).warnings] == ["no-reasoning"]
    assert parse_turn(text, NAMES, vote=True).warnings == []


@pytest.mark.req("DL-025")
@pytest.mark.parametrize(
    "text",
    [
        "1. **Final position**: Build it.\n2. **Confidence**: 5\n3. **Agreement**:\n"
        "   - @gpt: agree\n   - @glm: disagree — too slow\n",
        "## Final Position\nBuild it.\n## Confidence\n5\n## Agreement with others\n"
        "- @gpt: agree\n- @glm: disagree — too slow\n",
        "## Position finale\nBuild it.\n## Confiance\n5/5\n## Accords\n"
        "- @gpt : d'accord\n- @glm : pas d'accord — too slow\n",
        json.dumps(
            {
                "finalPosition": "Build it.",
                "confidence": 5,
                "agreements": [
                    {"agentId": "gpt", "stance": "agree"},
                    {"agentId": "glm", "stance": "disagree", "comment": "too slow"},
                ],
            }
        ),
    ],
)
def test_a_vote_is_read_in_both_languages(text: str):
    turn = parse_turn(text, NAMES, author="claude", vote=True)

    assert (turn.position, turn.confidence) == ("Build it.", 5)
    assert [one.stance for one in turn.responses] == ["agree", "disagree"]
    assert turn.responses[1].comment == "too slow"
    assert turn.faults == []
    assert turn.warnings == []


@pytest.mark.req("DL-025")
def test_the_final_position_of_a_vote_is_one_sentence():
    turn = parse_turn("## Final Position\nOne. Two.\n## Confidence\n5", NAMES, vote=True)

    assert turn.warnings == [Fault(code="long-position", found="2")]


@pytest.mark.req("DL-013")
@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"confidence": 6}, ["bad-confidence"]),
        ({"confidence": True}, ["bad-confidence"]),
        ({"confidence": 4.0}, ["bad-confidence"]),
        ({"confidence": [4]}, ["bad-confidence"]),
        ({"confidence": None}, ["no-confidence"]),
        ({"position": ["No."]}, ["no-position"]),
        ({"position": "[your position]"}, ["no-position"]),
        ({"responses": "all agree"}, []),
        ({"responses": ["agree", {"agentId": "claude", "stance": "agree"}]}, []),
        ({"responses": [{"agentId": "gpt", "stance": "agree|partial"}]}, ["bad-stance"]),
        ({"responses": [{"agentId": "gpt"}]}, ["bad-stance"]),
        ({"responses": [{"stance": "agree"}]}, ["unknown-agent"]),
    ],
)
def test_json_is_held_to_the_same_rules(fields: dict[str, object], found: list[str]):
    text = json.dumps({"position": "Yes.", "confidence": 3, "reasoning": "So."} | fields)

    assert codes(parse_turn(text, NAMES, author="claude")) == found


def test_of_a_key_given_twice_in_json_the_first_counts():
    turn = parse_turn('{"position": "Yes.", "confidence": 2, "confidence": 5}', NAMES)

    assert turn.confidence == 2


def test_text_from_json_can_always_be_written():
    turn = parse_turn('{"position": "a\\ud800b", "confidence": 2}', NAMES)

    assert turn.position.encode() == b"a?b"


SPECIAL = st.sampled_from(
    [
        "## Position",
        "\\## Position",
        "  \\\\**Confidence:** 5",
        "## Confidence",
        "# Anything else",
        "\\# Anything else",
        "**Responses**",
        "Confidence: 5",
        "1. Position: no",
        "---",
        "\\---",
        "Position",
        "- **Agreement**: none",
        "- @gpt: disagree — no",
        "@glm: disagree",
        "> - @gpt: disagree",
        "```",
        "````md",
        "~~~",
        "- ```",
        "\\```",
        "> ```",
        "[all of it]",
        "\\[all of it]",
        "\\\\",
        "5",
        "",
        "plain words",
    ]
)
# What is set aside before reading is no part of an answer.
WORDS = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=12
).filter(lambda text: clean(f"a\n{text}\nb") == f"a\n{text}\nb")
LINES = st.lists(SPECIAL | WORDS, max_size=8).map("\n".join)
FREE = LINES.map(lambda text: text.replace("\r", " ").strip())
# Marks of emphasis without a second one set a comment off; arrows and pictures speak of
# stances, and such words as "mostly" take one back.
SET_OFF = ("*", "_", "`", "[")
BUT = ("but ", "mais ", "aber ", "pero ")
SIGNS = ("→", "->", "=>", "⇒", "➜", "➡", *"✅✔👍🟢☑🤝❌✖👎🔴🚫⛔")
COMMENT = st.one_of(
    WORDS.map(lambda text: " ".join(text.split())).filter(
        lambda text: (
            not (
                text.startswith((*SET_OFF, *BUT))
                or any(sign in text for sign in SIGNS)
                or is_less(text)
                or stances.stated(text).is_doubtful
                or stances.stated(text).stance
            )
        )
    ),
    st.sampled_from([*STANCES, ACK, "partial: no", "**bold** so", "— so", "## Position"]),
)


@pytest.mark.req("DL-017", "DL-025")
@given(
    position=FREE.map(lambda text: f"{text}\nYes".strip()),
    reasoning=FREE,
    confidence=st.integers(0, 5),
    responses=st.lists(
        st.builds(
            Response,
            agent=st.sampled_from(["gpt", "glm", "mary"]),
            stance=st.sampled_from([*STANCES, ACK]),
            comment=COMMENT,
        ).filter(lambda one: {one.stance, one.comment} != {"agree", "disagree"}),
        unique_by=lambda one: one.agent,
        max_size=3,
    ),
    vote=st.booleans(),
    lang=st.sampled_from(["en", "fr"]),
)
@settings(max_examples=examples(200))
def test_what_is_rendered_is_read_back(
    position: str,
    reasoning: str,
    confidence: int,
    responses: list[Response],
    vote: bool,
    lang: str,
):
    # Where a turn responds to no one, lines of its other parts may be responses.
    lines = f"{position}\n{reasoning}".splitlines()
    assume(responses or not any("@" in one or stances.stated(one).stance for one in lines))
    text = render_turn(
        position=position,
        responses=responses,
        reasoning=reasoning,
        confidence=confidence,
        vote=vote,
        lang=lang,
    )
    turn = parse_turn(text, NAMES, author="claude", vote=vote)

    assert turn.position == position
    assert turn.reasoning == reasoning
    assert turn.confidence == confidence
    assert turn.responses == responses
    assert codes(turn) == ([] if confidence else ["no-confidence"])


@pytest.mark.req("DL-017")
def test_a_rendered_turn_has_the_form_of_the_document():
    text = render_turn(
        position="Build it.",
        responses=[
            Response(agent="gpt", stance="agree", comment="Free\ndata."),
            Response(agent="glm", stance="partial"),
        ],
        reasoning="Why.",
        confidence=4,
    )

    assert text == (
        "## Position\nBuild it.\n\n"
        "## Responses to Others\n- @gpt: agree — Free data.\n- @glm: partial\n\n"
        "## Reasoning\nWhy.\n\n"
        "## Confidence\n4\n"
    )


@given(st.lists(SPECIAL | st.text(max_size=20), max_size=12).map("\n".join))
@settings(max_examples=examples(200))
def test_any_text_is_read(text: str):
    for whole in (text, f"## Responses\n{text}", f"## Confidence\n{text}", f"{{{text}}}"):
        turn = parse_turn(whole, NAMES, author="claude")
        assert turn.confidence in range(6)
        assert {one.stance for one in turn.responses} <= {*STANCES, ACK, ""}
        assert bool(turn.faults) or (turn.position and turn.confidence)
        questions(whole, NAMES, "claude")
        parse_synthesis(whole, NAMES)


@pytest.mark.parametrize(
    "piece",
    one_in(
        3,
        [
            "a",
            "## Position\n",
            "@gpt? ",
            "- @gpt: agree — x\n",
            "```\n",
            "{",
            '{"a":[',
            '{"a":[1,\n',
            "{\n}\n",
            "<think>\n",
            "| a | b |\n",
            "agree; ",
            "; @gpt: agree",
            "~~",
            ">",
            ".",
            "*",
            "\\",
            "\n",
            "\\\\\\\n",
            "-",
            "**Position",
            "@gpt ",
            '"',
            "1. ",
            "(",
            "— ",
        ],
    ),
)
def test_a_large_text_of_anything_is_read_in_linear_time(piece: str):
    def text(size: int) -> str:
        return "## Responses\n" + piece * (size // len(piece))

    def read(text: str) -> None:
        parse_turn(text, NAMES, author="claude")
        questions(text, NAMES, "claude")

    assert_linear(read, text(10_000), text(160_000), 16)


def test_a_megabyte_is_read_at_once():
    text = TYPICAL.replace("First, the data.", "First, the data is free.\n\n" * 42_000)
    assert parse_turn(text, NAMES, author="claude").confidence == 4
    assert_cheap(lambda: parse_turn(text, NAMES, author="claude"), within_s=0.8)


@pytest.mark.req("DL-016")
@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("@gpt, who pays?", [("gpt", "@gpt, who pays?")]),
        ("It works. Who pays, @gpt? Not me.", [("gpt", "Who pays, @gpt?")]),
        ("@gpt who\npays ?", [("gpt", "@gpt who pays ?")]),
        ("**@gpt**: **Who pays?**", [("gpt", "**@gpt**: **Who pays?**")]),
        ("- @gpt: partial — Fine. But who pays?", [("gpt", "But who pays?")]),
        (
            "@gpt and @glm, who pays?",
            [("gpt", "@gpt and @glm, who pays?"), ("glm", "@gpt and @glm, who pays?")],
        ),
        ("@gpt, do you trust @glm?", [("gpt", "@gpt, do you trust @glm?")]),
        ("Who pays, e.g. for power, @Voice A?", [("gpt", "Who pays, e.g. for power, @Voice A?")]),
        ("@gpt: Fine. @glm: Who pays?", [("glm", "@glm: Who pays?")]),
        ("@gpt is wrong. Who pays?", []),
        ("@gpt is right.\n\nWho pays?", []),
        ("- @gpt is right\n- Who pays?", []),
        ("@claude, who pays?", []),
        ("@zed, who pays?", []),
        ("me@gpt.org? Or who?", []),
        ("See http://a.b/?q=@gpt for more.", []),
        ("> @gpt, who pays?", []),
        ("So:\n```\n@gpt, who pays?\n```", []),
        ("Who pays?", []),
    ],
)
def test_direct_questions_are_found(text: str, asked: list[tuple[str, str]]):
    assert questions(text, NAMES, "claude") == asked


@pytest.mark.req("DL-016")
def test_a_question_in_a_json_turn_is_found_and_the_same_one_only_once():
    fields = {
        "position": "Yes. @glm, who pays?",
        "reasoning": "@glm, who pays?",
        "responses": [{"agentId": "gpt", "stance": "partial", "comment": "Why now?"}],
    }

    assert questions(json.dumps(fields), NAMES, "claude") == [
        ("glm", "@glm, who pays?"),
        ("gpt", "@gpt: Why now?"),
    ]


SYNTHESIS = """\
## Consensus Summary
Build it.

## Disagreement Summary
When.

## Key Insights
- @claude: **Free** data.
- **@GPT:** The cost
  is small.
- @glm: [insight]
- @zed: nobody

## Recommendation
Start small.

### By whom
All.
"""


@pytest.mark.req("DL-027")
def test_the_parts_of_a_synthesis_are_read():
    found = parse_synthesis(SYNTHESIS, NAMES)

    assert found.consensus == "Build it."
    assert found.disagreement == "When."
    assert found.insights[:2] == [("claude", "**Free** data."), ("gpt", "The cost\nis small.")]
    assert {agent for agent, _ in found.insights} == {"claude", "gpt"}
    assert found.recommendation == "Start small.\n\n### By whom\nAll."


@pytest.mark.req("DL-027")
def test_a_synthesis_in_french_is_read():
    found = parse_synthesis(
        "**Résumé du consensus**\nAucun.\n\n**Résumé des désaccords**\nQuand.\n\n"
        "**Points clés**\n- @gpt : le coût.\n\n**Recommandation** : commencer.\n",
        NAMES,
    )

    assert (found.consensus, found.disagreement) == ("", "Quand.")
    assert found.insights == [("gpt", "le coût.")]
    assert found.recommendation == "commencer."


def test_a_synthesis_in_json_is_read():
    found = parse_synthesis(
        json.dumps(
            {
                "consensusSummary": "Build it.",
                "disagreementSummary": "None.",
                "keyInsights": [{"agentId": "@gpt", "insight": "Cost."}, {"agentId": "zed"}, 5],
                "recommendation": "Start.",
            }
        ),
        NAMES,
    )

    assert (found.consensus, found.disagreement) == ("Build it.", "")
    assert found.insights == [("gpt", "Cost.")]
    assert found.recommendation == "Start."


def test_a_synthesis_without_headings_is_all_recommendation():
    text = "We should build it.\n\n> ## Consensus Summary\n> All agree."
    found = parse_synthesis(text, NAMES)

    assert found.recommendation == text
    assert (found.consensus, found.disagreement, found.insights) == ("", "", [])


def test_words_are_what_holds_a_letter_or_a_digit():
    assert word_count("## Position\n- We — all 3 of us — agree.\n…") == 7
    assert word_count("") == 0
