"""Judging a deliberation again with something changed: `council what-if`.

Recorded stances only; nobody is asked anything again and nothing is written.

Source: DL-104.
"""

from __future__ import annotations

from council.core.conversations.procedures import PROCEDURES
from council.core.deliberation.consensus import Verdict
from council.core.deliberation.counterfactual import Variant, replay
from council.core.deliberation.deliberation import counted, rules_of
from council.core.deliberation.judgement import judge
from council.core.errors import UsageError
from council.core.record import Record
from council.operations.conversations.recalling import recall
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from council.core.conversations.conversation import Conversation


class WhatIf(Record):
    """What a verdict is, what it would be with the change that was asked for, what it hangs on.

    `changed` is None when no change was asked for.
    """

    name: str
    conversation_id: str
    topic: str
    path: str
    archived: bool
    change: str
    real: Verdict
    changed: Verdict | None
    hangs_on: list[Variant]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `what-if --json`."""
        return {
            **self.as_json("name conversation_id topic path archived real:verdict change? changed"),
            "differs": self.changed is not None and self.changed.type != self.real.type,
            "hangsOn": [
                one.as_json("name without threshold? without_flips size verdict")
                for one in self.hangs_on
            ],
        }

    def to_text(self) -> str:
        """Return the same for people."""
        lines = [self.topic, "", f"verdict: {said(self.real)}"]
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
        blind: Only what each stated at its first look at the others counts.
        without_flips: The first stance of each to each counts, not the latest.

    Raises:
        UsageError: It is no deliberation, nothing was judged yet, or the change cannot be made.
        NotFoundError: There is no such conversation and there are no such minutes.
    """
    recalled = recall(place, name)
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
        name=state.name,
        conversation_id=state.conversation_id,
        topic=state.topic,
        path=recalled.path,
        archived=recalled.archived,
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
