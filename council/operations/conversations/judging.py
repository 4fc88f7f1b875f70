"""Where a conversation stands, and what a verdict would be with something changed: `what-if`.

Its consensus is shown round by round, with what was asked and not answered. What is
judged again are recorded stances only; no agent is asked anything and nothing is written.

Source: DL-104, DL-016, DL-041 to DL-047, DL-085, `cli.md` section 2 (`show --consensus`, `show
--open-questions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from council.core.conversations.account import display_name
from council.core.conversations.conversation import Conversation
from council.core.conversations.due import round_number
from council.core.conversations.procedures import PROCEDURES
from council.core.deliberation import deliberation, judgement
from council.core.deliberation.consensus import Variant, Verdict, replay
from council.core.deliberation.deliberation import counted, rules_of
from council.core.deliberation.judgement import Doubt, Judgement, judge
from council.core.deliberation.questions import Guidance, Question, asked_questions, guidance
from council.core.errors import UsageError
from council.core.record import Record
from council.operations.conversations.recalling import Recalled, recall
from council.operations.place import Place
from council.operations.reporting.minute_transcript import Page
from council.operations.reporting.minute_verdict import doubt_lines, tally, verdict_line
from council.store.texts import words_of


class WhatIf(Recalled):
    """What a verdict is, what it would be with the change that was asked for, what it hangs on.

    `changed` is None when no change was asked for.
    """

    change: str
    real: Verdict
    changed: Verdict | None
    hangs_on: list[Variant]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `what-if --json`."""
        return {
            **self.state.as_json("name conversation_id topic"),
            **self.as_json("path archived real:verdict change? changed"),
            "differs": self.changed is not None and self.changed.type != self.real.type,
            "hangsOn": [
                one.as_json("name without threshold? without_flips size verdict")
                for one in self.hangs_on
            ],
        }

    def to_text(self) -> str:
        """Return the same for people."""
        lines = [self.state.topic, "", f"verdict: {said(self.real)}"]
        if self.changed is not None:
            lines.append(f"{self.change}: {said(self.changed)}")
        lines += ["", "the verdict hangs on:"]
        lines += [f"  {one.name}: {said(one.verdict)}" for one in self.hangs_on]
        if not any(len(one.without) == 1 for one in self.hangs_on):
            few = len(self.real.towards) < 3
            alone = "only two agents count" if few else "it holds without any one of them"
            lines.append(f"  no one alone ({alone})")
        return "\n".join(lines)


def said(verdict: Verdict) -> str:
    """Return a verdict in one line."""
    contested = f" ({len(verdict.contested)} contested)" if verdict.contested else ""
    unread, silent = len(verdict.unreadable), len(verdict.silent)
    unstated = verdict.absent - unread - silent
    counts = (
        f"{verdict.agree} agree, {verdict.partial} partly{contested}, {verdict.disagree} disagree, "
        f"{silent} silent{f', {unread} unreadable' if unread else ''}"
        f"{f', {unstated} without a stance that counts' if unstated else ''}"
        f"; threshold {verdict.threshold}"
    )
    on = f" on the position of {verdict.reference}" if verdict.reference else ""
    return f"{verdict.type}{on if verdict.reached else ''} ({counts})"


def what_if(
    place: Place,
    name: str = "",
    *,
    without: Sequence[str] = (),
    threshold: int = 0,
    blind: bool = False,
    without_flips: bool = False,
) -> WhatIf:
    """Judge a deliberation, open or archived, again with something changed.

    Of an open one the rounds that are closed are judged.

    Args:
        place: The workspace.
        name: The conversation, or minutes by name, slug, path or id.
        without: Agents that would not have taken part.
        threshold: Another threshold; 0 for the one that holds.
        blind: Only what each stated when it first saw the others counts.
        without_flips: The first stance of each to each counts, not the latest.

    Raises:
        UsageError: It is no deliberation, nothing was judged yet, or the change cannot be made.
        NotFoundError: There is no such conversation and there are no such minutes.
    """
    return judged_again(
        recall(place, name),
        without=without,
        threshold=threshold,
        blind=blind,
        without_flips=without_flips,
    )


def judged_again(
    recalled: Recalled,
    *,
    without: Sequence[str] = (),
    threshold: int = 0,
    blind: bool = False,
    without_flips: bool = False,
) -> WhatIf:
    """Judge a deliberation that was read already, as `what_if` does."""
    state = recalled.state
    _check(state, without, threshold)
    judged = judge(state)
    if not judged.history:
        raise UsageError(
            f"no round of {state.name} is closed yet", "wait for the first one: council status"
        )
    if blind and without_flips:
        raise UsageError("--blind and --without-flips exclude each other", "choose one of them")
    changes = [
        *([f"without {' and '.join(without)}"] if without else []),
        *([f"threshold {threshold}"] if threshold else []),
        *(["by the first look at the others"] if blind else []),
        *(["without flips"] if without_flips else []),
    ]
    rules = rules_of(state)
    changed = replay(
        judged.agents,
        judged.history,
        threshold=threshold or rules.threshold,
        floor=rules.confidence_floor,
        without=without,
        blind=blind,
        without_flips=without_flips,
    )
    return WhatIf(
        **vars(recalled),
        change=", ".join(changes),
        real=judged.verdict,
        changed=changed if changes else None,
        hangs_on=judged.hangs_on,
    )


def _check(state: Conversation, without: Sequence[str], threshold: int) -> None:
    """Refuse a change that cannot be made.

    Raises:
        UsageError: It cannot.
    """
    if PROCEDURES[state.procedure].verdict != "stances":
        raise UsageError(
            f"{state.name} is a {state.procedure}: nobody states stances in it",
            "what-if is for deliberations: council convene --procedure deliberation",
        )
    agents = counted(state)
    for agent in without:
        if agent not in agents:
            raise UsageError(
                f"{agent} does not count in {state.name}", f"those who do: {', '.join(agents)}"
            )
    left = [agent for agent in agents if agent not in without]
    if len(left) < 2 and without:
        who = f"{left[0]} alone" if left else "nobody"
        raise UsageError(f"{who} would be left, and a verdict needs two", "leave fewer out")
    if not 0 <= threshold <= len(agents):
        raise UsageError(
            f"--threshold {threshold} is not from 1 to {len(agents)}",
            f"{len(agents)} agents count for the consensus",
        )


class Standing(Record):
    """How a conversation stands now, and stood at the end of rounds: number, phase, verdict.

    `verdict` is None where statuses decide: then the consensus and the blocking
    issues of the `state` say all there is.
    """

    state: Conversation
    verdict: Verdict | None = None
    rounds: list[tuple[int, str, Verdict]] = []
    doubts: list[Doubt] = []
    lines: list[str] = []

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `show --consensus --json`."""
        record = self.state.as_json("name phase tour has_consensus blocking_issues")
        if self.verdict is not None:
            record |= self.verdict.to_record()
            record["judged"] = self.verdict.spoke > 1
            record["doubts"] = [one.as_json("kind agents position?") for one in self.doubts]
            record["rounds"] = [
                {"tour": tour, "phase": phase, **verdict.to_record()}
                for tour, phase, verdict in self.rounds
            ]
        return record

    def to_text(self) -> str:
        """Return the lines for people."""
        if self.verdict is None:
            said = "consensus" if self.state.has_consensus else "no consensus"
            blocking = [f"blocking: {one}" for one in self.state.blocking_issues]
            return "\n".join([f"{self.state.name}: {said}", *blocking])
        return "\n".join(self.lines)


def standing(state: Conversation) -> Standing:
    """Return how a conversation stands; stances that were stated so far are counted."""
    stands = Standing(state=state)
    if PROCEDURES[state.procedure].verdict == "stances":
        played = deliberation.history(state)
        stands.verdict = deliberation.verdict_now(state, [one for one in played if one.turns])
        stands.rounds = [
            (one.tour, one.phase, Verdict.from_record(one.verdict))
            for one in state.rounds
            if one.verdict
        ]
        heard = [one for one in judgement.named_history(state) if one.turns]
        judged = judgement.judge(state, heard)
        stands.doubts = judgement.doubts(judged)
        stands.lines = _lines(stands, judged)
    return stands


def _lines(stands: Standing, judged: Judgement) -> list[str]:
    """Return the lines for people, in the language of the conversation."""
    state = stands.state
    page = Page(state, words_of(state.lang, "minutes", "deliberation"))
    colon, verdict = page.words["colon"], judged.verdict

    def said(one: Verdict) -> str:
        line = verdict_line(page, one)
        return line if one.spoke < 2 else f"{line}{colon}{tally(page, one, len(one.towards))}"

    lines = [f"{state.name}{colon}{said(verdict)}"]
    if verdict.spoke > 1 and verdict.agree:
        who = display_name(state, verdict.reference)
        lines.append(f"  {page.say('consensus-with', who=who)}")
    lines += [f"  {page.labelled('doubts', one)}" for one in doubt_lines(page, judged)]
    if len(stands.rounds) > 1 or (stands.rounds and stands.rounds[-1][0] != state.tour):
        lines += [
            f"  {page.round(tour, phase)}{colon}{said(one)}" for tour, phase, one in stands.rounds
        ]
    return lines


def questions_record(state: Conversation) -> dict[str, Any]:
    """Return the JSON object of `show --open-questions --json`: what waits for whose answer."""
    return {
        "name": state.name,
        "round": round_number(state),
        "questions": [one.as_json("asker asked tour text") for one in _open(state)],
        "guidance": [
            one.as_json("entry tour target? text acknowledged missing:owed answered?")
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
        f"round {one.tour}: guidance not acknowledged by {', '.join(one.missing)}: {one.text}"
        for one in _guidance(state)
        if one.missing
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
