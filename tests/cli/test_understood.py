"""What `respond` and `vote` say was understood, as soon as it is recorded, or before."""

from __future__ import annotations

import pytest

from tests.cli.commands import at_rest

TURN = """\
<think>maybe not</think>
**Position:** Build it.

**Responses to Others**
- @ann: partly agree — It is slow.

**Reasoning:** It is slow.

@ann, who pays?

@ann
> The data is free.

**Confidence:** high (4)
"""


@pytest.fixture
def forum(council):
    words = ("--procedure", "deliberation", "--agents", "ann,bob,cid", "--open")
    assert council("convene", "A boat?", *words).code == 0
    first = "## Position\nNo.\n\n## Reasoning\nThe data is free.\n\n## Confidence\n3\n"
    assert council("respond", "--as", "ann", "-", stdin=first).code == 0
    at_rest(council.root)
    return council


@pytest.mark.req("HR-010")
def test_a_turn_is_told_what_was_understood_of_it(forum):
    said = forum("respond", "--as", "bob", "-", stdin=TURN)

    assert said.out.splitlines()[1:] == [
        "  position: “Build it.”",
        "  stances: @ann partial",
        "  confidence: 4",
        "  question to @ann: “@ann, who pays?”",
        "  quotation found: “The data is free.”",
    ]


@pytest.mark.req("HR-010")
def test_check_says_the_same_and_records_nothing(forum):
    before = forum("show", "--json").json()["rev"]
    checked = forum("respond", "--as", "bob", "--check", "--json", "-", stdin=TURN).json()
    assert forum("show", "--json").json()["rev"] == before

    recorded = forum("respond", "--as", "bob", "--json", "-", stdin=TURN).json()
    assert (checked["outcome"], recorded["outcome"]) == ("checked", "recorded")
    assert checked["understood"] == recorded["understood"]
    assert recorded["understood"]["stances"] == {"ann": "partial"}


@pytest.mark.req("HR-008", "HR-009", "HR-010")
def test_what_is_missing_is_asked_for_and_the_rest_stays_until_stances_alone_are_asked_for(forum):
    gap = forum("respond", "--as", "bob", "--json", "-", stdin="**Position:** Wait.").json()
    assert gap["askedAgain"] is True
    prompt = forum("context", "--as", "bob").out
    assert "    ## Position\n    Wait.\n" in prompt
    assert "    - @ann: [agree|partial|disagree] — " in prompt

    more = forum("respond", "--as", "bob", "--json", "2").json()
    assert more["understood"]["position"] == "Wait." and more["understood"]["confidence"] == 2
    assert more["askedAgain"] is True
    last = forum("context", "--as", "bob").out.partition("## Your turn")[2]
    assert "    - @ann: [agree|partial|disagree]\n" in last and "## Confidence" not in last

    done = forum("respond", "--as", "bob", "--json", "- @ann: disagree").json()
    assert done["understood"]["stances"] == {"ann": "disagree"}
    assert (done["understood"]["position"], done["askedAgain"]) == ("Wait.", False)


@pytest.mark.req("HR-010")
def test_a_contribution_to_a_council_is_told_its_status_and_blockers(council):
    assert council("convene", "A boat?", "--agents", "ann,bob").code == 0
    said = council("respond", "--as", "ann", "We wait.\n\n**Blocker:** no budget.").out
    assert said.splitlines() == [
        "ann: recorded for COLLECT (round 1) as RESPONDED",
        "  blocker: “no budget”",
    ]
