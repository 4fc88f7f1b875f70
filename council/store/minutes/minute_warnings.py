"""What is odd about a deliberation, in lines that the minutes show first.

None of it changes a verdict; all of it says how far to trust one.

Source: DL-085, DL-098, DL-101, DL-102, DL-103, `peers.md`.
"""

from __future__ import annotations

from council.core.conversations.account import display_name
from council.core.conversations.conversation import Conversation, EntryKind, Origin
from council.core.conversations.quotations import MISSING
from council.core.deliberation.deliberation import rules_of
from council.core.deliberation.flips import STANCE, Flip
from council.core.deliberation.judgement import Judgement, below_floor, unreadable
from council.core.deliberation.questions import guidance
from council.core.excerpts import excerpt
from council.store.minutes.minute_quotations import checked_quotations
from council.store.minutes.minute_summary import round_name
from council.store.statefile.quoting import inline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_OF_A_KIND = 3
_PASSAGE_MAX_CHARS = 80


def warnings(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    """Return one line for each thing that is odd, the gravest first."""

    def name(agent: str) -> str:
        return inline(display_name(state, agent))

    lines = [words["warning.collapse"].format(tour=tour) for tour in judged.collapses]
    changed = [_flip(state, one, words) for one in judged.suspect if one.kind == STANCE]
    lines += changed[:_MAX_OF_A_KIND]
    if len(changed) > _MAX_OF_A_KIND:
        lines.append(words["warning.more"].format(count=len(changed) - _MAX_OF_A_KIND))
    moved = [one for one in judged.suspect if one.kind != STANCE]
    if moved:
        who = ", ".join(
            words["by-in-round"].format(who=name(one.agent), tour=one.tour) for one in moved
        )
        lines.append(words["warning.position"].format(who=who))
    if judged.model:
        lines.append(words["warning.model"].format(model=inline(judged.model)))
    lines += _invented(state, words)
    phases = {one.tour: one.phase for one in state.rounds}
    lines += [
        words["warning.unreadable"].format(
            who=name(agent), round=round_name(tour, phases[tour], words)
        )
        for tour, agent in unreadable(judged)
    ]
    floor = rules_of(state).confidence_floor
    lines += [
        words["warning.floor"].format(who=name(agent), floor=floor)
        for agent in below_floor(state, judged)
    ]
    authors = {one.id: one.agent for one in state.entries}
    lines += [
        words["warning.guidance"].format(who=name(one.target), author=name(authors[one.entry]))
        for one in guidance(state)
        if one.target and not one.answered
    ]
    return lines


def _flip(state: Conversation, one: Flip, words: dict[str, str]) -> str:
    who = inline(display_name(state, one.agent))
    return words["warning.stance"].format(
        who=who,
        towards=inline(display_name(state, one.towards)),
        tour=one.tour,
        before=words[f"word.{one.before}"],
        after=words[f"word.{one.after}"],
    )


def _invented(state: Conversation, words: dict[str, str]) -> Iterator[str]:
    """Tell the quotations of peers that are found nowhere in what those peers said."""
    for entry in state.entries:
        if entry.kind not in (EntryKind.CONTRIBUTION, EntryKind.SYNTHESIS):
            continue
        if entry.origin is Origin.TOOL:
            continue
        missing = [one for one in checked_quotations(state, entry) if one.found == MISSING]
        for one in missing[:_MAX_OF_A_KIND]:
            passage = inline(excerpt(one.text, _PASSAGE_MAX_CHARS))
            yield words["warning.quotation"].format(
                who=inline(display_name(state, entry.agent)),
                round=round_name(entry.tour, entry.phase, words),
                passage=f"{words['open-quote']}{passage}{words['close-quote']}",
            )
