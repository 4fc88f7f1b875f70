"""What the page of one conversation shows: where it stands, who does what, what was said.

Each fact comes from the operation that the command line shows it by, so the two cannot differ. Of
an anonymous conversation that is not over everything is made with pseudonyms for names, as people
are shown them, or as the participant is that `as` names.

Source: DL-072 to DL-074, DL-097, DL-098, DL-100, DL-102, DL-104.
"""

from __future__ import annotations

from contextlib import suppress

from council.core.conversations import due
from council.core.conversations.account import display_label, display_name
from council.core.conversations.activity import (
    PASSED,
    RESTING,
    Activity,
    Surroundings,
    activities,
)
from council.core.conversations.anonymity import as_shown
from council.core.conversations.conversation import Conversation
from council.core.conversations.handles import is_anonymous
from council.core.conversations.procedures import PROCEDURES
from council.core.deliberation.questions import open_to_people
from council.core.errors import CouncilError, UsageError
from council.core.ids import task_id
from council.core.record import Any
from council.core.times import render_instant
from council.operations.activity import Activities
from council.operations.conversations.judging import judged_again, questions_record, standing
from council.operations.conversations.recalling import Recalled, recall
from council.operations.place import Place
from council.operations.reporting.explaining import explain_in_short
from council.operations.reporting.minute_transcript import Page
from council.operations.view import shown
from council.store.reason_words import reason_words
from council.store.texts import words_of
from council.web.charts import pictures
from council.web.markdown import block_of
from council.web.readings.transcript import absence, rounds

_MANUAL = "manual"
_MOST_DIGITS = 10
# Of a conversation with more texts what all of them come to is fetched after the page.
MOST_AT_ONCE = 60


def council(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the page of a conversation shows, open or archived.

    `given` has its `name`; `lang`; `as`, the participant who reads it, "" for a person; `round`,
    one that is shown whole; `figures` where those of a long one are wanted, too; and of what if:
    `without.ID`, `threshold`, `blind`, `flips`.

    Raises:
        NotFoundError: There is none of that name.
    """
    return page_of(place, recall(place, given.get("name", "")), given)


def page_of(place: Place, found: Recalled, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the page of a conversation shows that was read already."""
    real, reader = found.state, given.get("as", "")
    state = as_shown(real, reader)
    is_hidden = state is not real
    state = state.copy(lang=given.get("lang") or state.lang)
    found = found.copy(state=state)
    is_open = not found.archived and state.finished_at is None
    is_now = is_open and not given.get("at")
    stances = PROCEDURES[state.procedure].verdict == "stances"
    names = ("minutes", "deliberation") if stances else ("minutes",)
    why = _why(place, state, is_hidden=is_hidden) if is_now else {}
    is_long = len(state.entries) > MOST_AT_ONCE
    is_whole = not is_long or bool(given.get("figures"))
    judged = _judged(found, given, is_hidden=is_hidden) if is_whole else _not_judged(state)
    return {
        **_head(found, is_hidden=is_hidden),
        "at": bool(given.get("at")),
        "brief": block_of(state.brief) if state.brief.strip() != state.topic else "",
        **judged,
        "isLong": is_long,
        "whole": is_whole,
        "turns": len(state.entries),
        "agents": _agents(place, real, state, why),
        "why": why,
        "blockers": state.blocking_issues,
        "rounds": rounds(Page(state, words_of(state.lang, *names)), number_in(given, "round")),
        "people": _people(place, real, reader) if is_now else [],
        "guides": [] if is_hidden else _names(state),
    }


def _judged(found: Recalled, given: dict[str, Any], *, is_hidden: bool) -> dict[str, Any]:
    """Return what all turns come to, which takes the longer the more there are."""
    state = found.state
    stands, record = standing(state), shown(state)
    if is_hidden:  # the order in which they were convened shows who is who
        known = sorted(record["participants"], key=_counted)
        record["participants"] = {one: record["participants"][one] for one in known}
    verdict = stands.to_record()
    return {
        "verdict": verdict,
        "verdictLines": stands.to_text().splitlines(),
        "questions": _questions(state),
        "asked": [
            {**one, **{key: display_name(state, one[key]) for key in ("asker", "asked")}}
            for one in questions_record(state)["questions"]
        ],
        "whatIf": _what_if(found, given) if "towards" in verdict else None,
        "pictures": pictures(record, verdict, state.lang),
    }


def _not_judged(state: Conversation) -> dict[str, Any]:
    """Return the same as it was when the last round was closed, as far as that is on record."""
    closed = [one.verdict for one in state.rounds if one.verdict]
    last = {**closed[-1], "judged": True} if closed else {"judged": False}
    verdict = {**state.as_json("has_consensus"), **last}
    empty: dict[str, Any] = {"verdictLines": [], "questions": [], "asked": [], "pictures": {}}
    return {"verdict": verdict, "whatIf": None, **empty}


def _head(found: Recalled, *, is_hidden: bool) -> dict[str, Any]:
    state = found.state
    is_open = not found.archived and state.finished_at is None
    return {
        **state.as_json("name topic procedure phase tour rev status"),
        **state.as_json("timeout_at paused_at finished_at closed_reason"),
        **dict(zip(("round", "mostRounds"), due.counted_round(state), strict=True)),
        "archived": found.archived,
        "open": is_open,
        "minutes": found.path.rpartition("/")[2] if found.archived else "",
        "anonymous": is_anonymous(state) or is_hidden,
        "hidden": is_hidden,
        "blind": is_open and due.is_blind(state),
        "stances": PROCEDURES[state.procedure].verdict == "stances",
        "judged": last_judged(state),
        "waitsFor": [display_label(state, one) for one in _in_order(state, is_hidden=is_hidden)],
    }


def last_judged(state: Conversation) -> dict[str, Any] | None:
    """Return what the stances came to in the last round that was judged, None before it."""
    for one in reversed(state.rounds):
        if one.verdict:
            return {**one.verdict, **one.as_json("tour phase")}
    return None


def number_in(given: dict[str, Any], name: str) -> int:
    """Return a whole number that the address of a page has, 0 for none."""
    text = str(given.get(name) or "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS else 0


def _in_order(state: Conversation, *, is_hidden: bool) -> list[str]:
    """Return whose answer is due; of an anonymous one in an order that says nothing."""
    asked = list(due.due_agents(state))
    return sorted(asked, key=_counted) if is_hidden else asked


# --- Who takes part, and what each is doing


def _agents(
    place: Place, real: Conversation, state: Conversation, why: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the participants as they are shown, in an order that says nothing of who is who."""
    is_hidden = real.participants.keys() != state.participants.keys()
    hindrances = {one["agentId"]: one for one in why.get("hindrances", ()) if one["agentId"]}
    if why and not is_hidden:
        doing = Activities(place).of(state)
    else:  # behind a pseudonym, or of the past: only what the state says
        doing = activities(state, state.updated_at, Surroundings())
    found = []
    for one in state.participants.values():
        told = {
            **one.as_json("id emoji role model status"),
            "name": display_name(state, one.id),
            **_doing(doing[one.id], state.lang),
        }
        if one.id in hindrances:
            told |= {key: hindrances[one.id][key] for key in ("said", "fix")}
        found.append(told)
    writers = [one for one in doing if one not in state.participants]
    found += [{"id": one, "name": one, **_doing(doing[one], state.lang)} for one in writers]
    return sorted(found, key=lambda one: _counted(one["id"])) if is_hidden else found


def _doing(one: Activity, lang: str) -> dict[str, Any]:
    """Return what a participant does just now, since when, and why where that is a reason."""
    told: dict[str, Any] = {"doing": one.code, **one.as_json("since~ attempt~ again")}
    if one.code == PASSED:
        return told | absence(one.reason, lang)
    if one.reason:
        told["reason"] = reason_words(one.reason, lang)
    if one.code == RESTING and one.until:
        told["rests"] = render_instant(one.until)
    return told


def _counted(pseudonym: str) -> tuple[str, int]:
    stem, _, number = pseudonym.rpartition("-")
    return stem, int(number) if number.isdecimal() else 0


# --- What it waits for, what it hangs on, what people may do


def _why(place: Place, state: Conversation, *, is_hidden: bool) -> dict[str, Any]:
    """Return why it waits and until when; of an anonymous one what shows no name."""
    if is_hidden:
        return {"waitsFor": [], "hindrances": [], "next": []}
    with suppress(CouncilError):  # it ended between two looks
        return explain_in_short(place, state).to_record(state.lang)
    return {}


def _questions(state: Conversation) -> list[dict[str, Any]]:
    return [
        {**one.as_json("asker tour text"), "who": display_label(state, one.asker)}
        for one in open_to_people(state)
    ]


def _what_if(found: Recalled, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the verdict hangs on, and what it would be with what is asked changed."""
    changes: dict[str, Any] = {
        "without": [one for one in found.state.participants if given.get(f"without.{one}")],
        "threshold": number_in(given, "threshold"),
        "blind": bool(given.get("blind")),
        "without_flips": bool(given.get("flips")),
    }
    refused = ""
    try:
        told = judged_again(found, **changes).to_record()
    except UsageError as error:
        refused = f"{error.message}; {error.hint}"
        try:
            told = judged_again(found).to_record()
        except UsageError:  # no round is closed yet: nothing hangs on anything
            return None
    names = {one: display_name(found.state, one) for one in found.state.participants}
    return {**told, "asked": changes, "refused": refused, "names": names}


def _people(place: Place, state: Conversation, reader: str) -> list[dict[str, Any]]:
    """Return who is to answer by hand, with what the form of the answer asks for.

    Who that is of an anonymous conversation is told to no one: its forms are found by a name.
    """
    asked = due.due_agents(state)
    known = [one for one in asked if place.agent(one).driver == _MANUAL]
    if is_anonymous(state):
        known = [one for one in known if one == reader]
    phase = due.current_phase(state)
    return [
        {
            "id": one,
            "form_id": f"answer-{one}",
            "label": display_label(state, one),
            "phase": phase.name,
            "form": "synthesis" if phase.speakers == "synthesizer" else phase.form,
            "task": _task(state, one),
            "peers": _peers(state, one) if phase.form == "vote" or not due.is_blind(state) else [],
            "again": due.is_asked_again(state, one),
        }
        for one in known
    ]


def _task(state: Conversation, agent: str) -> str:
    tasks = due.tasks_of(state, agent)
    return tasks[-1].id if tasks else task_id(state.conversation_id, state.tour, agent, 1)


def _peers(state: Conversation, agent: str) -> list[dict[str, str]]:
    shown = as_shown(state, agent)
    mine = dict(zip(shown.participants, state.participants, strict=True))
    peers = [one for one in shown.participants if mine[one] != agent]
    peers = sorted(peers, key=_counted) if shown is not state else peers
    return [{"id": one, "name": display_name(shown, one)} for one in peers]


def _names(state: Conversation) -> list[dict[str, str]]:
    return [{"id": one, "name": display_label(state, one)} for one in state.participants]
