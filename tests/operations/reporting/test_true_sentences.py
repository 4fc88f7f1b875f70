"""No sentence of the minutes is false: one test for each that once was."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest

from council.core.conversations.conversation import ClosedReason, Status
from council.core.conversations.due import due_agents
from council.core.conversations.machine import advance
from council.core.conversations.procedures import Rules
from council.core.reasons import read_reason
from council.operations.conversations.judging import standing
from council.operations.reporting.minutes import render_minutes
from tests.core.debates import Debate
from tests.operations.reporting.test_minute_verdict import box, page, section
from tests.operations.reporting.test_minutes import blocks, minute, opened, played, said

SHORT = ("COLLECT", "SYNTHESIZE")


def part(lines: list[str], heading: str) -> list[str]:
    """Return the lines below a heading that are not blank."""
    start = lines.index(heading) + 1
    end = next((at for at in range(start, len(lines)) if lines[at][:3] == "## "), len(lines))
    return [line for line in lines[start:end] if line]


@pytest.mark.req("HR-026")
@pytest.mark.parametrize(("lang", "why"), [("en", "time was up"), ("fr", "temps écoulé")])
def test_a_synthesis_that_did_not_come_in_time_is_not_called_written(lang: str, why: str) -> None:
    state = said(opened(phases=SHORT, lang=lang), 1, henry="A.", sage="B.", nova="C.")
    assert state.phase == "SYNTHESIZE"
    state = advance(state, state.timeout_at + timedelta(minutes=1)).state
    (row,) = [
        line for line in blocks(render_minutes(state, now=minute(200))) if "SYNTHESIZE |" in line
    ]
    assert f"| {why} |" in row
    assert not {"written", "écrite"} & {one.strip() for one in row.split("|")}


@pytest.mark.req("HR-026")
def test_an_author_who_agrees_in_words_is_not_said_to_disagree() -> None:
    state = said(opened(phases=SHORT), 1, "agreed", henry="Good.", sage="Good.")
    state = said(state, 2, nova="I agree with all of it.")
    text = render_minutes(said(state, 3, henry="Build it."), now=minute(9))
    assert "did not agree" not in text
    assert "- Nova did not declare agreement; last word in round 1, COLLECT: “I agree" in text
    assert "# 2 of 3 agreed: " in text, "and the headline counts who did"


@pytest.mark.req("HR-026", "C0-073")
@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("exit status 3", "failed"),
        ("not started: rests until 2026-02-08T21:00:00Z, failed 3 times in a row", "resting"),
        ("timeout", "timeout"),
        ("not started: max_runs_per_day = 3 is reached", "not started"),
    ],
)
def test_the_reason_of_absence_is_the_real_one(reason: str, told: str) -> None:
    state = advance(said(opened(), 1, henry="Yes.", nova="Yes."), minute(61)).state
    state.rounds[0].absent["sage"] = read_reason(reason)
    lines = part(blocks(render_minutes(state, now=minute(62))), "## Absent")
    assert lines[0] == f"- Sage: NO RESPONSE ({told})"
    assert (reason in lines[1]) == (reason != "timeout")


@pytest.mark.req("HR-026")
def test_whom_a_person_cut_off_is_not_listed_as_absent() -> None:
    state = said(opened(), 1, henry="A.", sage="B.", nova="C.")
    state.status = Status.CONVERGED
    state = said(advance(state, minute(2)).state, 3, henry="Build it.")
    lines = blocks(render_minutes(state, now=minute(4)))
    assert "## Absent" not in lines
    assert not [line for line in lines if line.startswith("- **Absent**")]
    assert "- Nova: NO RESPONSE (stopped)" in part(
        lines, "## Not heard in a round that a person ended"
    )


@pytest.mark.req("HR-026")
def test_blockers_are_spoken_of_as_what_was_marked_so() -> None:
    state = said(opened(phases=SHORT), 1, henry="**No owner blocks it.**", sage="B.", nova="C.")
    text = render_minutes(said(state, 2, henry="Wait."), now=minute(3))
    assert "No blocking issue is open" not in text
    assert "No issue marked as blocking is open." in text


@pytest.mark.req("HR-026")
def test_declared_by_hand_does_not_deny_the_agreement_of_all() -> None:
    state = played("agreed").copy(closed_reason=ClosedReason.CONSENSUS, blocking_issues=[])
    state.has_consensus = False
    text = render_minutes(state, now=minute(30))
    assert "declared settled by hand; 3 of 3 declared agreement in their last" in text
    assert "not all" not in text


def test_no_one_was_late_for_a_round_that_is_open() -> None:
    told = standing(Debate("ann", "bob").state).to_text()
    assert "nothing to judge yet; no participant has been heard" in told
    assert "in time" not in told


@pytest.mark.req("HR-026", "HR-009")
def test_three_who_wrote_prose_took_part() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    for agent in ("ann", "bob", "cid"):
        numbers = count()
        while agent in due_agents(debate.state):
            debate.say(agent, f"{agent} thinks of it, time {next(numbers)}.")
    debate.finish()
    text = "\n".join(page(debate))
    assert not [one for one in ("nobody was heard", "was heard in time") if one in text]
    assert "no stance could be read" in page(debate)[1]
    assert [name in box(debate)["Took part"] for name in ("Ann", "Bob", "Cid")] == [True] * 3
    assert any("cid" in line and "thinks of it" in line for line in page(debate) if line[:1] == ">")


@pytest.mark.req("HR-026", "HR-009")
def test_one_who_spoke_and_gave_no_stance_is_unreadable_and_not_silent_or_absent() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    debate.turn("ann", "Yes.")
    debate.turn("bob", "Yes.", ann="agree")
    for number in range(3):
        debate.say("cid", f"Well, time {number}.")
    debate.turn("ann", "Yes.", bob="agree", cid="partial")
    debate.turn("bob", "Yes.", ann="agree", cid="partial")
    for number in range(3):
        debate.say("cid", f"Well, vote {number}.")
    debate.finish()
    assert "1 unreadable (Cid)" in box(debate)["Tally"]
    assert "silent" not in "\n".join(page(debate))
    assert "gave no stance on it that could be read" in section(debate, "Dissent")[0]
