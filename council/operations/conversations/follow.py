"""Following a conversation to its end, doing the heartbeat's work on the way.

For `ask` and `convene --run`: a person waits in front of the terminal. The
runs are detached all the same, so an interrupted wait loses nothing.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from council.core.bounds import Ceiling
from council.core.conversations.account import (
    TIMEOUT,
    absences,
    display_name,
    last_contributions,
    one_line,
    open_blockers,
    stances,
)
from council.core.conversations.conversation import CEILING, ClosedReason, Conversation, EntryKind
from council.core.errors import NotFoundError, TimedOutError, UsageError
from council.core.ids import folded
from council.core.plain_text import excerpt, first_paragraph
from council.core.record import Record
from council.operations.conversations.convene import checked_cwd
from council.operations.conversations.recalling import last_over
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.reporting.usage import grouped
from council.store.conversations.closing import minutes_path
from council.store.conversations.minutes import archived_at, facts
from council.store.reason_words import reason_words
from council.store.texts import words_of

_CHECK_EVERY_S = 0.2
_BEAT_EVERY_S = 2.0

_MOST_NAMED = 3
_WHY_CHARS = 80
_TOPIC_CHARS = 60


class Ended(Record):
    """A conversation that has come to its end: its minutes, and the exit code that says how.

    `line` says in one line what came of it: verdict, who dissents and why, the minutes.
    `code` is 0 where an agent was heard in time, 7 where none was, 1 where all of
    them failed or a person ended it before any was heard.
    """

    path: str
    front: dict[str, Any]
    text: str
    state: Conversation
    line: str = ""
    code: int = 0


def follow(place: Place, name: str, conversation_id: str) -> Iterator[Conversation]:
    """Yield a conversation several times a second until it is archived."""
    beaten_at = 0.0
    while True:
        try:
            if time.monotonic() - beaten_at >= _BEAT_EVERY_S:
                beat(place, name)
                beaten_at = time.monotonic()
            state = place.conversations.read(name)
        except NotFoundError:
            return
        if state.conversation_id != conversation_id:
            return
        yield state
        time.sleep(_CHECK_EVERY_S)


def resumed(place: Place, name: str, cwd: str) -> Conversation:
    """Return the conversation that `ask --resume` goes on with, or whose end it shows.

    Args:
        place: The workspace.
        name: Its name; "" for the only paused one, else the only open one that was asked in
            `cwd`, else the last of all if it was asked there.
        cwd: The folder in which the user is.

    Raises:
        NotFoundError: There is none.
        UsageError: There are several.

    Source: OP-004, OP-017, FW-007.
    """
    names, within, wanted = place.conversations.names(), checked_cwd(place, cwd), folded(name)
    states = [place.conversations.read(one) for one in names if wanted in ("", one)]
    asked = [one for one in states if name or (one.ceiling is not None and one.cwd == within)]
    paused = [one for one in states if one.paused_at is not None]
    meant = [one for one in asked if one in paused] or paused or asked
    if len(meant) > 1:
        which = "paused" if paused else "open"
        named = ", ".join(f"{one.name} ({excerpt(one.topic, _TOPIC_CHARS)})" for one in meant)
        raise UsageError(
            f"several conversations are {which}: {named}",
            f"name the one to continue: council ask --resume {meant[0].name}",
        )
    if meant:
        return meant[0]
    last = last_over(place, wanted)
    if last is not None and last.minutes:
        over = archived_at(last.minutes)
        if name or (over.ceiling is not None and over.cwd == within):
            return over
    raise NotFoundError(
        f"no conversation {name!r} was asked here" if name else "nothing was asked in this folder",
        f'open: {", ".join(names) or "nothing"}; ask: council ask "…"',
    )


def minutes_of(place: Place, conversation_id: str) -> Ended:
    """Return the minutes of a conversation that is archived.

    Raises:
        NotFoundError: There are none.
    """
    path = minutes_path(place.paths, conversation_id)
    if not path or not os.path.exists(path):
        raise NotFoundError("the minutes are not there", "see: council list --archived")
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    state = archived_at(path)
    line = " · ".join([*_outcome(state), path])
    return Ended(path=path, front=facts(path), text=text, state=state, line=line, code=_code(state))


def _outcome(state: Conversation) -> list[str]:
    """Return the verdict in a few words, who dissents and why, who was not heard, the ceiling.

    Source: OP-004, OP-018.
    """
    said = words_of(state.lang, "ask")
    verdict, objections = _by_stances(state) if state.rules else _by_statuses(state)
    parts = [verdict]
    spoke = {one.agent for one in state.entries if one.kind is EntryKind.CONTRIBUTION}
    silent = {
        one.agent: reason_words(one.missed[-1][2], state.lang)
        if one.cause == "failed"
        else one.cause
        for one in absences(state)
        if one.agent not in spoke
    }
    for key, named in (("dissent", objections), ("silent", silent)):
        shown = [
            display_name(state, agent) + (f" ({excerpt(one_line(why), _WHY_CHARS)})" if why else "")
            for agent, why in list(named.items())[:_MOST_NAMED]
        ]
        if len(named) > _MOST_NAMED:
            shown.append(said["more"].format(len(named) - _MOST_NAMED))
        parts += [said[key].format(", ".join(shown))] if shown else []
    if state.ceiling is not None and any(one.reason == CEILING for one in state.rounds):
        reached = state.ceiling.reached()
        parts.append(said["ceiling"].format(ceiling_words(state.ceiling, state.lang, reached)))
    return parts


def ceiling_words(ceiling: Ceiling, lang: str, only: str = "") -> str:
    """Return the bounds of a ceiling in a few words; `only` names the one to show."""
    said = words_of(lang, "ask")
    bounds = {"runs": ceiling.runs, "tokens": ceiling.tokens, "usd": ceiling.usd}
    return ", ".join(
        said[name].format(f"{most:g}" if name == "usd" else grouped(int(most), lang))
        for name, most in bounds.items()
        if most and only in ("", name)
    )


def _by_statuses(state: Conversation) -> tuple[str, dict[str, str]]:
    from council.operations.reporting.minute_summary import title_of
    from council.operations.reporting.minute_transcript import Page

    stood, last = stances(state), last_contributions(state)
    against = {
        entry.agent: f"BLOCKING: {one.text}"
        for one in open_blockers(state)
        for entry in one.raised_in[:1]
    }
    if stood.agreed:  # where no agent declares agreement, none dissents by keeping quiet
        for agent in stood.not_agreed:
            if last[agent].standing.dissents:
                against.setdefault(agent, first_paragraph(last[agent].text))
    return title_of(Page(state, words_of(state.lang, "minutes"))), against


def _by_stances(state: Conversation) -> tuple[str, dict[str, str]]:
    from council.core.deliberation.judgement import dissent, judge
    from council.operations.reporting.minute_transcript import Page
    from council.operations.reporting.minute_verdict import title_words

    words, judged = words_of(state.lang, "minutes", "deliberation"), judge(state)
    against = {
        one.agent: one.comment or words[f"word.{one.stance}"]
        for one in dissent(state, judged)
        if one.counts and one.stance in ("partial", "disagree")
    }
    return title_words(Page(state, words), judged), against


def _code(state: Conversation) -> int:
    """Return the exit code that says what came of a conversation."""
    if state.closed_reason is ClosedReason.CANCELLED:
        return 1
    if any(one.kind in (EntryKind.CONTRIBUTION, EntryKind.DRAFT) for one in state.entries):
        return 0
    return TimedOutError.exit_code if any(one.cause == TIMEOUT for one in absences(state)) else 1
