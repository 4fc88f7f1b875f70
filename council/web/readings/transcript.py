"""What was said in a conversation, round by round, as its page shows it.

What was read out of a turn stands beside its words: position, stances, confidence, what it quotes,
what its form lacks. Rounds that are folded come without their turns, and of those nothing is read.

Source: DL-016, DL-073, DL-085, DL-100, C0-049, XC-014.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from council.core.conversations.account import display_label, display_name
from council.core.conversations.conversation import TURNS, Entry, EntryKind, Round
from council.core.conversations.handles import named
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE, VOTE
from council.core.conversations.quotations import Checker
from council.core.deliberation.deliberation import whole_text
from council.core.deliberation.fault_words import fault_in_words
from council.core.deliberation.judgement import named_history
from council.core.deliberation.played import Played
from council.core.deliberation.questions import Guidance, guidance
from council.core.ids import sha256_hex
from council.core.plain_text import excerpt, plain_line
from council.core.reading_answers.stances import STANCES
from council.core.reading_answers.turns import Turn, missing_responses
from council.core.reasons import Reason
from council.core.record import Any
from council.operations.reporting.minute_transcript import Page
from council.store.reason_words import reason_words
from council.web.markdown import block_of

# So many turns stand on a page that asks for no round; the rounds before them are folded.
MOST_TURNS = 20
_FOUND_CHARS = 60
_SAID = (*TURNS, EntryKind.INJECTION, EntryKind.LATE, EntryKind.DRAFT)


def rounds(page: Page, asked_for: int = 0) -> list[dict[str, Any]]:
    """Return all rounds, oldest first; only those that are shown have `entries`.

    Args:
        page: The conversation, with the words of the reader.
        asked_for: A round that is shown in any case, 0 for none.
    """
    state = page.state
    by_tour: dict[int, list[Entry]] = {}
    for entry in state.entries:
        if entry.kind in _SAID:
            by_tour.setdefault(entry.tour, []).append(entry)
    played = {one.tour: one for one in state.rounds}
    for tour in (*by_tour, state.tour):
        if tour not in played:  # a file in the form of the document names no rounds
            said = by_tour.get(tour, [])
            phase = said[0].phase if said else state.phase
            played[tour] = Round(tour=tour, phase=phase, started_at=state.created_at)
    shown, left = {asked_for}, MOST_TURNS
    for tour in sorted(played, reverse=True):
        said = by_tour.get(tour, [])
        if left < MOST_TURNS and len(said) > left:
            break
        shown.add(tour)
        left = max(0, left - len(said))
    teller = _Teller(page, shown)
    found: list[dict[str, Any]] = []
    for tour in sorted(played, reverse=True):
        told = teller.round(played[tour], by_tour.get(tour, []), is_shown=tour in shown)
        # The newest round is open, and the one before it while nobody has spoken in that.
        told["open"] = tour == asked_for or not any(one["spoke"] for one in found)
        found.append(told)
    return found[::-1]


def absence(reason: Reason, lang: str) -> dict[str, str]:
    """Return why an agent is absent: the cause in a word, and the words where they say more."""
    cause = reason.cause
    return {"cause": cause, "reason": cause if reason.code == cause else reason_words(reason, lang)}


class _Teller:
    """What the rounds of one conversation are shown with; of `shown` ones the turns are read."""

    def __init__(self, page: Page, shown: set[int]) -> None:
        self._page, self._state = page, page.state
        self._name = partial(display_name, page.state)
        self._label = partial(display_label, page.state)
        self._checker = Checker(page.state)
        self._has_turns = PROCEDURES[page.state.procedure].verdict == "stances"
        entries = page.state.entries
        self._read = page.state.copy(entries=[one for one in entries if one.tour in shown])
        self._played: dict[int, Played] = {}
        self._given: dict[str, Guidance] = {}
        if self._has_turns:
            self._played = {one.tour: one for one in named_history(self._read)}
            given = (one for one in self._read.entries if one.kind is EntryKind.INJECTION)
            if first := next(given, None):
                after = page.state.copy(entries=entries[entries.index(first) :])
                self._given = {one.entry: one for one in guidance(after)}

    def round(self, one: Round, said: list[Entry], *, is_shown: bool) -> dict[str, Any]:
        state, words = self._state, self._page.words
        played = self._played.get(one.tour)
        spoke = [entry.agent for entry in said if entry.kind in TURNS]
        told: dict[str, Any] = {
            "tour": one.tour,
            "title": self._title(one),
            "blind": bool(played and played.blind),
            "now": one.tour == state.tour and state.finished_at is None,
            **one.as_json("ended_at?"),
            "why": words.get(f"reason.{one.reason}", one.reason) if one.ended_at else "",
            "verdict": one.verdict.get("type") if one.verdict else None,
            "spoke": [self._name(agent) for agent in spoke],
            "people": sum(entry.kind is EntryKind.INJECTION for entry in said),
            "absent": [
                {"name": self._name(agent), **absence(reason, state.lang)}
                for agent, reason in one.absent.items()
            ],
            "sealed": [],
            "entries": None,
        }
        if told["now"]:
            sealed = [who.id for who in state.participants.values() if who.sealed]
            told["sealed"] = sorted(map(self._label, sealed))
        if is_shown:
            heard = list(dict.fromkeys(spoke))
            is_alone = played is None or played.blind or played.vote
            turns = played.turns if played else {}
            told["entries"] = [
                self.entry(entry, turns, [] if is_alone else heard[: heard.index(entry.agent)])
                if entry.kind in TURNS
                else self.entry(entry, {}, [])
                for entry in said
            ]
        return told

    def _title(self, one: Round) -> str:
        words, state = self._page.words, self._state
        if one.phase == SYNTHESIZE:
            return words["synthesis"]
        if one.phase == VOTE and "vote.title" in words:
            return words["vote.title"]
        if not self._has_turns:
            return self._page.say("round", tour=one.tour, phase=one.phase, colon=words["colon"])
        number = sum(other.phase == one.phase for other in state.rounds if other.tour <= one.tour)
        return self._page.say("round.title", number=number or one.tour)

    def entry(self, entry: Entry, turns: dict[str, Turn], heard: list[str]) -> dict[str, Any]:
        """Return one text, with what was read out of it."""
        is_turn = entry.kind in TURNS
        turn = turns.get(entry.agent) if entry.kind is EntryKind.CONTRIBUTION else None
        text = whole_text(self._read, entry) if is_turn else entry.text
        text = named(self._state, entry.agent, text)
        told: dict[str, Any] = {
            **entry.as_json("id kind agent status at origin blocking"),
            "anchor": f"e-{sha256_hex(entry.id.encode())[:12]}",
            "label": self._label(entry.agent),
            "who": self._name(entry.agent),
            "verified": self._page.origin(entry),
            "html": block_of(text),
        }
        if entry.kind is EntryKind.INJECTION:
            told |= self._guidance(entry)
        if turn is not None:
            told |= self._turn(turn, text, heard)
        # A blocker is shown once: with the text that raises it, if that is shown.
        read = f"{turn.position} {turn.reasoning}" if turn and "whole" in told else text
        read = plain_line(read)
        told["unsaid"] = [one for one in entry.blocking if plain_line(one) not in read]
        if is_turn:
            told["quotations"] = [
                {**one.as_json("text found"), "of": self._name(one.of) if one.of else ""}
                for one in self._checker.in_entry(entry)
            ]
        return told

    def _turn(self, turn: Turn, text: str, heard: list[str]) -> dict[str, Any]:
        state = self._state
        stances = [
            {
                "who": self._name(agent),
                "stance": stance,
                "said": [one.comment for one in turn.responses if one.agent == agent][-1],
            }
            for agent, stance in turn.stances().items()
            if stance in STANCES and agent in state.participants
        ]
        told: dict[str, Any] = {"stances": stances, "confidence": turn.confidence or None}
        if turn.is_readable and (turn.position or turn.reasoning):
            told["position"] = block_of(turn.position) if turn.position else ""
            told["html"] = block_of(turn.reasoning) if turn.reasoning else ""
            told["whole"] = text
        told["faults"] = list(self._faults(turn, heard))
        return told

    def _faults(self, turn: Turn, heard: list[str]) -> Iterator[str]:
        for one in (*turn.faults, *missing_responses(turn, heard)):
            found = excerpt(plain_line(one.found), _FOUND_CHARS)
            who = self._name(one.agent) if one.agent else ""
            yield fault_in_words(one.code, self._state.lang, agent=who, found=found)

    def _guidance(self, entry: Entry) -> dict[str, Any]:
        given = self._given.get(entry.id)
        return {
            "to": self._name(entry.target) if entry.target else "",
            "acknowledged": [
                {"who": self._name(agent), "tour": tour}
                for agent, tour in (given.acknowledged.items() if given else ())
            ],
            "missing": sorted(self._name(one) for one in (given.missing if given else ())),
        }
