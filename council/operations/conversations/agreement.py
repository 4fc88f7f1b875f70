"""Where a conversation stands: its consensus round by round, and what was asked and not answered.

Source: DL-016, DL-041 to DL-047, DL-085, `cli.md` section 2 (`show --consensus`,
`show --open-questions`).
"""

from __future__ import annotations

from council.core.conversations.account import display_name
from council.core.conversations.conversation import Conversation
from council.core.conversations.owed import round_number
from council.core.conversations.procedures import PROCEDURES
from council.core.deliberation import deliberation, judgement
from council.core.deliberation.consensus import Verdict
from council.core.deliberation.judgement import Doubt, Judgement
from council.core.deliberation.questions import Guidance, Question, asked_questions, guidance
from council.core.record import Record
from council.operations.reporting.minute_page import Page
from council.operations.reporting.minute_verdict import doubt_lines, tally, verdict_line
from council.operations.reporting.minute_words import verdict_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Judged(Record):
    """One closed round with its verdict; `vote` for the vote."""

    tour: int
    phase: str
    verdict: Verdict


class Standing(Record):
    """How a conversation stands now, and stood at the end of each round.

    `verdict` is None where statuses decide: then `has_consensus` and
    `blockers` say all there is.
    """

    name: str
    phase: str
    tour: int
    has_consensus: bool
    blockers: list[str]
    verdict: Verdict | None = None
    rounds: list[Judged] = []
    doubts: list[Doubt] = []
    lines: list[str] = []

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `show --consensus --json`."""
        record: dict[str, Any] = self.as_json(
            "name phase tour has_consensus blockers:blockingIssues"
        )
        if self.verdict is not None:
            record |= self.verdict.to_record()
            record["judged"] = self.verdict.spoke > 1
            record["doubts"] = [one.as_json("kind agents position?") for one in self.doubts]
            record["rounds"] = [
                {"tour": one.tour, "phase": one.phase, **one.verdict.to_record()}
                for one in self.rounds
            ]
        return record

    def to_text(self) -> str:
        """Return the lines for people."""
        if self.verdict is None:
            said = "consensus" if self.has_consensus else "no consensus"
            return "\n".join(
                [f"{self.name}: {said}", *(f"blocking: {one}" for one in self.blockers)]
            )
        return "\n".join(self.lines)


def standing(state: Conversation) -> Standing:
    """Return how a conversation stands; stances that were stated so far are counted."""
    stands = Standing(
        name=state.name,
        phase=state.phase,
        tour=state.tour,
        has_consensus=state.has_consensus,
        blockers=list(state.blocking_issues),
    )
    if PROCEDURES[state.procedure].verdict == "stances":
        played = deliberation.history(state)
        stands.verdict = deliberation.verdict_now(state, [one for one in played if one.turns])
        stands.rounds = [
            Judged(tour=one.tour, phase=one.phase, verdict=Verdict.from_record(one.verdict))
            for one in state.rounds
            if one.verdict
        ]
        heard = [one for one in judgement.named_history(state) if one.turns]
        judged = judgement.judge(state, heard)
        stands.doubts = judgement.doubts(judged)
        stands.lines = _lines(state, stands, judged)
    return stands


def _lines(state: Conversation, stands: Standing, judged: Judgement) -> list[str]:
    """Return the lines for people, in the language of the conversation."""
    page = Page(state, verdict_words(state.lang))
    colon, verdict = page.words["colon"], judged.verdict

    def said(one: Verdict) -> str:
        line = verdict_line(page, one)
        return line if one.spoke < 2 else f"{line}{colon}{tally(page, one, len(one.towards))}"

    lines = [f"{state.name}{colon}{said(verdict)}"]
    if verdict.spoke > 1 and verdict.agree:
        who = display_name(state, verdict.reference)
        lines.append(f"  {page.say('consensus-with', who=who)}")
    lines += [f"  {page.labelled('doubts', one)}" for one in doubt_lines(page, judged)]
    if len(stands.rounds) > 1 or (stands.rounds and stands.rounds[-1].tour != stands.tour):
        lines += [
            f"  {page.round(one.tour, one.phase)}{colon}{said(one.verdict)}"
            for one in stands.rounds
        ]
    return lines


def questions_record(state: Conversation) -> dict[str, Any]:
    """Return the JSON object of `show --open-questions --json`: what waits for whose answer."""
    return {
        "name": state.name,
        "round": round_number(state),
        "questions": [_question(one) for one in _open(state)],
        "guidance": [
            one.as_json("entry tour target? text acknowledged owed answered?")
            for one in _guidance(state)
        ],
    }


def questions_text(state: Conversation) -> str:
    """Return the lines for people."""
    asked = _open(state)
    lines = [f"round {one.tour}: {one.asker} asks {_who(one)}: {one.text}" for one in asked]
    if state.finished_at is None and any(one.to_people for one in asked):
        lines.append(f'a person answers with: council say "…" --to {state.name}')
    lines += [
        f"round {one.tour}: guidance not acknowledged by {', '.join(one.owed)}: {one.text}"
        for one in _guidance(state)
        if one.owed
    ]
    lines += [
        f"round {one.tour}: guidance not answered by {one.target}: {one.text}"
        for one in _guidance(state)
        if one.target and not one.answered
    ]
    return "\n".join(lines) or f"{state.name}: nothing that was asked is open"


def _who(one: Question) -> str:
    return "a person" if one.to_people else one.asked


def _open(state: Conversation) -> list[Question]:
    return [one for one in asked_questions(state) if not one.answered]


def _guidance(state: Conversation) -> list[Guidance]:
    return guidance(state) if (PROCEDURES[state.procedure].verdict == "stances") else []


def _question(one: Question) -> dict[str, Any]:
    return {"asker": one.asker, "asked": one.asked, "tour": one.tour, "text": one.text}
