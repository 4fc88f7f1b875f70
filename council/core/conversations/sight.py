"""Sight: what one agent may see of a conversation now.

It decides whose texts an agent may read in which phase and gathers them, with
everything else an agent needs for its turn, as one JSON-ready object: the
parts of its prompt, and the answer of `council context --json`. It decides
nothing about wording.

In a blind phase nothing of the round under way is seen, not even by those who
have answered. Where all speak at once, with sight of everything, the others'
answers of this round are seen after one's own; where one speaks after the
other, at once. Earlier rounds are always seen. Who does not take part sees the
closed rounds; who writes the synthesis sees everything, late contributions
included. Guidance of people is seen by all, with the name of the one who is to answer it.

Who is challenged, and with which passages, is read from names and `@` mentions
only; whether a challenge is fair, or was answered, is not judged.

A prompt shows in full what was said since its reader spoke last, and of what
came earlier, and of the reader's own words, only the gist: of a turn with a
form its position, its stances and its confidence, of any other text its
beginning. So a prompt grows with what is new and not with what is old. The
synthesis is written from everything, and its author is shown all in full.

Source: C0-041, C0-047 to C0-051, DL-018, DL-100, DL-103, A-05, `trust.md`, C0-050, HR-028.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import (
    TURNS,
    Conversation,
    Entry,
    EntryKind,
    Participant,
    Status,
    has_answered,
)
from council.core.conversations.due import (
    current_phase,
    due_agents,
    is_asked_again,
    is_blind,
    is_synthesized,
    passed_over,
    takes_turns,
    tasks_of,
)
from council.core.conversations.handles import is_anonymous, names
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.quotations import Checker
from council.core.ids import task_id
from council.core.plain_text import excerpt
from council.core.reading_answers.cleaning import clean
from council.core.reading_answers.names import Names
from council.core.record import Any


def parts(state: Conversation, agent: str, now: datetime) -> dict[str, Any]:
    """Return everything `agent` may know for its turn, as JSON values.

    The keys are those of `council context --json` and the variables of the
    prompt templates. Nothing in it depends on `now` but `overdue`, so that
    the same state gives the same prompt.
    """
    participant, phase = state.participants.get(agent), current_phase(state)
    refusal = why_not(state, agent)
    seen = [entry for entry in state.entries if may_see(state, agent, entry)]
    others = [entry for entry in seen if entry.agent != agent and entry.kind in TURNS]
    mine = _own(state, agent)
    quoted = Checker(state)
    last = {
        one.agent: one.status
        for one in state.entries
        if one.kind in TURNS and one.tour < state.tour
    }
    found = {
        **state.as_json("name conversation_id"),
        "agent": agent,
        "label": label(state, agent),
        "role": participant.role if participant else "",
        **state.as_json("phase phases tour"),
        "task": current_task(state, agent),
        "status": str(participant.status) if participant else None,
        "mayAnswer": not refusal,
        "whyNot": refusal,
        "blind": is_blind(state),
        "mayAgree": not is_blind(state)
        and (phase.speakers, phase.form) == ("participants", "text"),
        "askedAgain": is_asked_again(state, agent),
        **state.as_json("mode procedure lang topic brief timeout_at:deadline"),
        "overdue": state.finished_at is None and now >= state.timeout_at,
        **state.as_json("status:conversationStatus closed_reason has_consensus"),
        "synthesizer": (due_agents(state) or ("",))[0] if state.phase == SYNTHESIZE else "",
        "participants": [
            {
                **one.as_json("id label role"),
                "status": "RESPONDED" if one.sealed else str(one.status),
                "last": last.get(one.id, ""),
            }
            for one in state.participants.values()
        ],
        "own": [_item(state, entry, quoted) for entry in mine],
        "contributions": [_item(state, entry, quoted) for entry in others],
        "late": [
            _item(state, entry)
            for entry in seen
            if entry.kind is EntryKind.LATE and entry.agent != agent
        ],
        "injections": [
            {**_item(state, entry), "target": entry.target, "forYou": entry.target == agent}
            for entry in seen
            if entry.kind is EntryKind.INJECTION
        ],
        "challenges": challenges(state, agent, others),
        "blockers": _blockers(state, [*mine, *seen]),
        "absent": _absent(state),
    }
    mark_new(state, agent, found)
    if PROCEDURES[state.procedure].verdict == "stances":
        from council.core.deliberation import deliberation_sight  # only where stances are asked for

        deliberation_sight.complete(state, agent, found, seen)
        if is_anonymous(state):
            from council.core.conversations.anonymity import anonymised

            found = anonymised(state, agent, found)
    add_gists(found)
    return found


def why_not(state: Conversation, agent: str) -> str:
    """Return why `agent` may not answer now, as a word; "" when it may.

    One of `finished`, `paused`, `not-a-participant`, `not-your-turn`,
    `already-answered`, `left` (it is DONE), `ending` (the rounds are over and
    the synthesis has not begun).

    Source: C0-042, C0-043, DL-021.
    """
    if state.finished_at is not None:
        return "finished"
    if state.paused_at is not None:
        return "paused"
    participant = state.participants.get(agent)
    if current_phase(state).speakers == "synthesizer":
        if is_synthesized(state):
            return "already-answered"
        refusal = "not-your-turn" if participant else "not-a-participant"
        return "" if _sums_up(state, agent) else refusal
    return _why_not_speak(state, participant) if participant else "not-a-participant"


def _why_not_speak(state: Conversation, participant: Participant) -> str:
    agent = participant.id
    is_done = has_answered(participant) or bool(participant.sealed)
    if is_done and not is_asked_again(state, agent):
        return "left" if participant.status == "DONE" else "already-answered"
    if state.status is not Status.ACTIVE:
        return "ending"
    # Who was passed over may still speak while the round is open.
    has_floor = not takes_turns(state) or agent in (*due_agents(state), *passed_over(state))
    return "" if has_floor else "not-your-turn"


def _sums_up(state: Conversation, agent: str) -> bool:
    """Return true if `agent` may write the synthesis that is due."""
    if state.phase != SYNTHESIZE:
        return False
    named = {one for one in (state.synthesizer, state.coordinator) if one}
    return agent in {*named, *due_agents(state)} or (not named and agent in state.participants)


def may_see(state: Conversation, agent: str, entry: Entry) -> bool:
    """Return true if `agent` may read `entry` now.

    Source: C0-047, C0-048, C0-051, A-05, HR-025.
    """
    is_own = entry.agent == agent
    if is_own or state.finished_at is not None or entry.kind is EntryKind.INJECTION:
        return True
    if entry.kind is EntryKind.LATE:
        return _sums_up(state, agent)
    return entry.tour < state.tour or _sees_this_round(state, agent)


def _sees_this_round(state: Conversation, agent: str) -> bool:
    phase = current_phase(state)
    participant = state.participants.get(agent)
    if is_blind(state) or participant is None:
        return False
    return phase.sight == "blind" or takes_turns(state) or has_answered(participant)


def current_task(state: Conversation, agent: str) -> str:
    """Return the id of the agent's attempt at this turn; of its first one before it is started."""
    attempts = tasks_of(state, agent)
    return attempts[-1].id if attempts else task_id(state.conversation_id, state.tour, agent, 1)


def label(state: Conversation, agent: str) -> str:
    """Return emoji and display name of a participant; of anybody else the id."""
    participant = state.participants.get(agent)
    return participant.label if participant else agent


def _own(state: Conversation, agent: str) -> list[Entry]:
    """Return what `agent` has said, also what lies sealed if the caller could read it."""
    mine = [
        entry
        for entry in state.entries
        if entry.agent == agent and entry.kind is not EntryKind.INJECTION
    ]
    sealed = state.sealed.get(agent)
    if sealed is not None and sealed.tour == state.tour and is_blind(state):
        hidden = state.new_entry(EntryKind.CONTRIBUTION, agent, sealed.text, sealed.at)
        mine.append(hidden.copy(status=sealed.status, origin=sealed.origin))
    return mine


def _item(state: Conversation, entry: Entry, quoted: Checker | None = None) -> dict[str, Any]:
    passages = quoted.in_entry(entry) if quoted is not None else []
    return {
        **entry.as_json("id kind agent"),
        "label": label(state, entry.agent),
        **entry.as_json("phase tour at status origin"),
        "text": _shown_text(state, entry),
        "quotations": [one.as_json("text of found") for one in passages],
    }


def _shown_text(state: Conversation, entry: Entry) -> str:
    """Return what an entry says, without thoughts and with what its author had said before."""
    if PROCEDURES[state.procedure].verdict != "stances" or entry.kind is not EntryKind.CONTRIBUTION:
        return clean(entry.text)
    from council.core.deliberation.deliberation import whole_text  # only where a form is asked for

    return whole_text(state, entry)


def _blockers(state: Conversation, seen: list[Entry]) -> list[dict[str, Any]]:
    """Return the open blockers, but for those only raised where the agent may not read."""
    shown = {entry.id for entry in seen}
    raised: dict[str, set[str]] = {}
    for entry in state.entries:
        for issue in entry.blocking:
            raised.setdefault(issue, set()).update([entry.agent] if entry.id in shown else [])
    return [
        {"text": issue, "agents": sorted(raised.get(issue, ()))}
        for issue in state.blocking_issues
        if raised.get(issue, True)
    ]


def _absent(state: Conversation) -> list[dict[str, Any]]:
    """Return who was absent in the closed rounds, and why."""
    return [
        {
            "agent": agent,
            "label": label(state, agent),
            "phase": one.phase,
            "tour": one.tour,
            "reason": reason.cause,
        }
        for one in state.rounds
        if one.ended_at is not None
        for agent, reason in one.absent.items()
    ]


PASSAGES_MAX_CHARS = 2000


def challenges(state: Conversation, agent: str, others: list[Entry]) -> list[dict[str, Any]]:
    """Return the challenges that name `agent`, with the passages that do (C0-050)."""
    known = names(state)
    at_names = Names(known.items())
    folds = [(name.casefold(), one) for name, one in known.items()]
    found = []
    for entry in others:
        if entry.phase == "CHALLENGE":
            folded = entry.text.casefold()
            present = [(fold, one) for fold, one in folds if fold in folded]
            is_called = any(one == agent for _, one in present)
            passages = is_called and _addressed(entry.text, agent, at_names, present)
            if passages:
                named = {**entry.as_json("id agent"), "label": label(state, entry.agent)}
                found.append({**named, "tour": entry.tour, "passages": passages})
    return found


def _addressed(text: str, agent: str, at_names: Names, known: list[tuple[str, str]]) -> str:
    """Return the lines of `text` that speak to `agent`, cut at `PASSAGES_MAX_CHARS`.

    A line that names participants speaks to them, and so do the lines after
    it until others are named. What is quoted names no one. `known` are the
    names (in lower case, with whose they are) that stand in the text at all: in a
    council of many most do not.
    """
    addressed: set[str] = set()
    kept: list[str] = []
    for line in text.splitlines():
        if not line.lstrip().startswith(">"):
            named = {one for _, one in at_names.mentions(line)} | _named_plainly(line, known)
            if named:
                addressed = named
            elif line.startswith("#"):
                addressed = set()
        if agent in addressed:
            kept.append(line.rstrip())
        elif kept and kept[-1]:
            kept.append("")
    passages = "\n".join(kept).strip()
    if len(passages) > PASSAGES_MAX_CHARS:
        return passages[:PASSAGES_MAX_CHARS].rstrip() + " […]"
    return passages


def _named_plainly(line: str, known: list[tuple[str, str]]) -> set[str]:
    """Return the participants whose name stands in `line` as a word of its own, without `@`."""
    folded = line.casefold()
    named = set()
    for word, agent in known:
        at = folded.find(word)
        while at >= 0 and agent not in named:
            end = at + len(word)
            if not folded[at - 1 : at].isalnum() and not folded[end : end + 1].isalnum():
                named.add(agent)
            at = folded.find(word, at + 1)
    return named


GIST_MAX_CHARS = 400


def mark_new(state: Conversation, agent: str, found: dict[str, Any]) -> None:
    """Say of each text in the parts of `agent` whether it is `new` to it. Changes `found`.

    `first` is added, too: True where the agent has taken no turn before this one.
    """
    had, has_spoken = _had_before(state, agent)
    whole = state.phase == SYNTHESIZE and found["mayAnswer"]
    for item in found["contributions"]:
        item["new"] = whole or item["id"] not in had
    for item in found["own"]:
        # What is to be completed has to be seen whole.
        item["new"] = whole or item["tour"] == state.tour
    found["first"] = not has_spoken


def _had_before(state: Conversation, agent: str) -> tuple[set[str], bool]:
    """Return the ids of the texts that `agent` could read when it spoke last, and if it did."""
    asked_again = is_asked_again(state, agent)
    mine = [
        (number, entry)
        for number, entry in enumerate(state.entries)
        if entry.agent == agent
        and entry.kind in TURNS
        and not (asked_again and entry.tour == state.tour)
    ]
    if not mine:
        return set(), False
    place, last = mine[-1]
    in_turn = takes_turns(state.copy(phase=last.phase, tour=last.tour))
    return {
        entry.id
        for number, entry in enumerate(state.entries)
        if entry.tour < last.tour or (in_turn and entry.tour == last.tour and number < place)
    }, True


def add_gists(found: dict[str, Any]) -> None:
    """Give each text that is not new its `short` form, "" where it is short itself.

    Changes `found`. It reads only what the parts show, so that it names no agent whom they hide.
    """
    forms = {one["id"]: one for one in (*found.get("turns", ()), *found.get("votes", ()))}
    for item in (*found["own"], *found["contributions"]):
        short = "" if item["new"] else _gist(item["text"], forms.get(item["id"]))
        item["short"] = short if len(short) < len(item["text"].strip()) else ""


def _gist(text: str, form: dict[str, Any] | None) -> str:
    if form is None or not form["position"]:
        return excerpt(text, GIST_MAX_CHARS)
    stances = [f"@{one['agent']}: {one['stance']}" for one in form["responses"] if one["stance"]]
    confidence = f"{form['confidence']}/5" if form["confidence"] else ""
    said = ", ".join([*stances, *([confidence] if confidence else [])])
    return "\n".join(one for one in (excerpt(form["position"]), said) if one)
