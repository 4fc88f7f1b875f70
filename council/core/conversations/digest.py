"""The automatic digest: what stands as the synthesis when nobody wrote one in time.

It says what it is, counts by rule and quotes literally. It judges nothing and
decides nothing, and the words of the participants change no line of it but
the quoted ones.

Source: C0-063, C0-073, A-06.
"""

from __future__ import annotations

from council.core.conversations.account import (
    absences,
    answered_in,
    discussion_rounds,
    display_name,
    last_contributions,
    one_line,
    open_blockers,
    stances,
)
from council.core.conversations.conversation import Conversation, EntryKind
from council.core.conversations.procedures import PROCEDURES
from council.core.excerpts import excerpt, first_paragraph
from council.core.reading_answers.cleaning import clean
from council.core.reporting.sentences import rows, words_in

ISSUE_MAX_CHARS = 400

_WORDS = rows("""
first || Automatic digest, no judgement: nobody wrote a synthesis in time, so this was put together
       by rule. It contains no decision.
    || Relevé automatique, sans jugement : personne n'a écrit de synthèse à temps, ceci a donc été
       établi par règle. Il ne contient aucune décision.
answered || Who answered || Qui a répondu
round || round {tour}, {phase} || tour {tour}, {phase}
nobody || nobody || personne
none || none || aucun
agreement || Agreement || Accord
agreed || AGREED in their last contribution || AGREED dans leur dernière contribution
not_agreed || answered without AGREED || ont répondu sans AGREED
silent || never answered || n'ont jamais répondu
blockers || Open blocking issues || Points bloquants ouverts
raised || raised by || soulevé par
absent || Absent || Absents
late || Came late, not counted || Arrivées en retard, non comptées
last || The beginning of each last contribution, word for word
    || Le début de chaque dernière contribution, mot pour mot
""")


def automatic_digest(state: Conversation) -> str:
    """Return the text that stands as the synthesis of agent `council`.

    Source: C0-063, DL-084.
    """
    if PROCEDURES[state.procedure].verdict == "stances":
        # Only where stances are judged.
        from council.core.deliberation.verdict_digest import verdict_digest

        return verdict_digest(state)
    words = words_in(state.lang, _WORDS)
    parts = [
        [words["first"]],
        [f"## {words['answered']}", "", *_answered(state, words)],
        [f"## {words['agreement']}", "", *_agreement(state, words)],
        [f"## {words['blockers']}", "", *_blockers(state, words)],
    ]
    missing = [
        f"- {display_name(state, one.agent)}: NO RESPONSE ({one.cause})" for one in absences(state)
    ]
    if missing:
        parts.append([f"## {words['absent']}", "", *missing])
    parts.append([f"## {words['last']}", "", *_last_words(state, words)])
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _round(words: dict[str, str], tour: int, phase: str) -> str:
    return words["round"].format(phase=phase, tour=tour)


def _names(state: Conversation, agents: list[str], nobody: str) -> str:
    return ", ".join(display_name(state, agent) for agent in agents) or nobody


def _answered(state: Conversation, words: dict[str, str]) -> list[str]:
    lines = [
        f"- {_round(words, tour, phase)}{words['colon']}"
        + _names(state, answered_in(state, tour), words["nobody"])
        for tour, phase in discussion_rounds(state)
    ]
    late = [
        f"{display_name(state, one.agent)}, {_round(words, one.tour, one.phase)}"
        for one in state.entries
        if one.kind is EntryKind.LATE
    ]
    if late:
        lines.append(f"- {words['late']}{words['colon']}{'; '.join(late)}")
    return lines


def _agreement(state: Conversation, words: dict[str, str]) -> list[str]:
    stood = stances(state)
    lines = [f"- {words['agreed']}{words['colon']}{_names(state, stood.agreed, words['nobody'])}"]
    for key, agents in (("not_agreed", stood.not_agreed), ("silent", stood.silent)):
        if agents:
            lines.append(f"- {words[key]}{words['colon']}{_names(state, agents, '')}")
    return lines


def _blockers(state: Conversation, words: dict[str, str]) -> list[str]:
    lines = []
    for blocker in open_blockers(state):
        line = f"- {excerpt(one_line(blocker.text), ISSUE_MAX_CHARS)}"
        authors = dict.fromkeys(
            f"{display_name(state, entry.agent)}, {_round(words, entry.tour, entry.phase)}"
            for entry in blocker.raised_in
        )
        lines.append(line + (f" ({words['raised']} {'; '.join(authors)})" if authors else ""))
    return lines or [f"- {words['none']}"]


def _last_words(state: Conversation, words: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for agent, entry in last_contributions(state).items():
        where = _round(words, entry.tour, entry.phase)
        lines += [f"- {display_name(state, agent)}, {where}{words['colon'].rstrip()}", ""]
        quoted = excerpt(first_paragraph(clean(entry.text))).splitlines()
        lines += [*(f"  > {line}" for line in quoted), ""]
    return lines[:-1] or [f"- {words['nobody']}"]
