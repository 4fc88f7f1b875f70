"""The table of procedures."""

from __future__ import annotations

import pytest

from council.core.conversations.procedures import MODES, PROCEDURES, SYNTHESIZE, chosen_phases
from council.core.errors import UsageError

COUNCIL = PROCEDURES["council"]


@pytest.mark.req("C0-061", "C0-006")
def test_the_council_goes_through_four_phases():
    assert [phase.name for phase in COUNCIL.phases] == [
        "COLLECT",
        "CHALLENGE",
        "RESOLVE",
        "SYNTHESIZE",
    ]


@pytest.mark.req("C0-005")
def test_the_modes_are_five():
    assert MODES == ("debate", "prd", "analysis", "review", "synthesis")


@pytest.mark.req("C0-075")
def test_only_debate_and_analysis_end_early():
    assert COUNCIL.early_modes == ("debate", "analysis")


@pytest.mark.req("C0-048")
def test_only_the_first_phase_is_blind():
    assert [phase.sight for phase in COUNCIL.phases].count("blind") == 1
    assert COUNCIL.phases[0].sight == "blind"


def test_every_procedure_ends_in_a_synthesis_by_one():
    for name, procedure in PROCEDURES.items():
        assert procedure.name == name
        assert procedure.phases[-1].name == SYNTHESIZE
        assert [phase.speakers for phase in procedure.phases].count("synthesizer") == 1
        assert len({phase.name for phase in procedure.phases}) == len(procedure.phases)


def test_an_unknown_phase_is_refused_and_the_known_ones_are_named():
    with pytest.raises(UsageError) as refusal:
        COUNCIL.phase("VOTE")
    assert "COLLECT" in refusal.value.hint


@pytest.mark.req("C0-064")
@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ((), ("COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE")),
        (("collect", "synthesize"), ("COLLECT", "SYNTHESIZE")),
        (("collect",), ("COLLECT", "SYNTHESIZE")),
        ((" Resolve ", "COLLECT", ""), ("COLLECT", "RESOLVE", "SYNTHESIZE")),
        (("challenge", "challenge"), ("CHALLENGE", "SYNTHESIZE")),
    ],
)
def test_the_phases_one_chooses_are_taken_in_order_and_end_in_the_synthesis(wanted, chosen):
    assert chosen_phases(COUNCIL, wanted) == chosen


@pytest.mark.parametrize("wanted", [("vote",), ("synthesize",), ("collect", "vote")])
def test_a_choice_that_is_no_conversation_is_refused(wanted):
    with pytest.raises(UsageError):
        chosen_phases(COUNCIL, wanted)
