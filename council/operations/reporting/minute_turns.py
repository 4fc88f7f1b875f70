"""The record part of the minutes of a deliberation: votes, changes of mind, every turn.

Each round has its section, in the order in which it was spoken; guidance
stands where it came in. Texts are quoted whole, as in all minutes; what was
read out of them stands in a line of ours above each.

Source: DL-016, DL-054, DL-081, DL-085, DL-086, DL-097, DL-098, DL-100, DL-103.
"""

from __future__ import annotations

from council.core.conversations.account import display_name
from council.core.conversations.conversation import Entry, EntryKind, Round
from council.core.conversations.handles import is_anonymous, named, pseudonyms
from council.core.conversations.procedures import SYNTHESIZE, VOTE
from council.core.deliberation.consensus import ABSENT
from council.core.deliberation.fault_words import fault_in_words
from council.core.deliberation.flips import STANCE
from council.core.deliberation.judgement import Judgement, round_of
from council.core.deliberation.played import stances_until
from council.core.deliberation.questions import Guidance, asked_questions, guidance
from council.core.plain_text import excerpt
from council.core.reading_answers.json_fields import json_object
from council.core.reading_answers.stances import STANCES
from council.core.reading_answers.turns import Fault, Turn, missing_responses, own_answer
from council.core.reasons import Reason
from council.operations.reporting.minute_transcript import (
    Page,
    aside,
    closing_tables,
    entry_blocks,
    mark_of,
    minute,
    preface,
    table,
    whom,
)
from council.operations.reporting.minute_verdict import MARKS, POSITION_MAX_CHARS
from council.store.reason_words import reason_words
from council.store.statefile.quoting import cell, inline, quoted

_FOUND_MAX_CHARS = 60


def turns_transcript(page: Page, judged: Judgement) -> list[str]:
    """Return the blocks after the summary, in order, without the state block."""
    state, words = page.state, page.words
    blocks = [f"## {words['votes']}", *_votes(page, judged)]
    if judged.history:
        blocks += [f"## {words['course']}", _course(page)]
        blocks += [f"## {words['flips']}", _flips(page, judged)]
    if asked := _questions(page):
        blocks += [f"## {words['questions']}", "\n".join(asked)]
    blocks += preface(page)
    guided = {one.tour for one in state.entries if one.kind is EntryKind.INJECTION}
    for one in state.rounds:
        if one.phase != SYNTHESIZE or one.tour in guided:
            blocks += _round(page, judged, one)
    blocks += aside(page, EntryKind.DRAFT, "drafts")
    blocks += aside(page, EntryKind.LATE, "late")
    return blocks + closing_tables(page)


def _votes(page: Page, judged: Judgement) -> list[str]:
    """Return the table of the votes: final positions and the stance of each to each."""
    words = page.words
    votes = next((one.turns for one in reversed(judged.history) if one.vote), None)
    if votes is None:
        return [words["votes.none"]]
    stances = stances_until(judged.history)
    everybody = list(page.state.participants)
    rows = []
    for agent in everybody:
        vote, towards = votes.get(agent), stances.get(agent, {})
        said = cell(excerpt(vote.position, POSITION_MAX_CHARS)) if vote is not None else ""
        sure = f"{vote.confidence}/5" if vote is not None and vote.confidence else "–"
        marks = [MARKS[towards.get(one, ABSENT)] if one != agent else "" for one in everybody]
        rows.append([page.cell(agent), said or words["no-vote"], sure, *marks])
    head = " | ".join([words["votes.head"], *map(page.cell, everybody)])
    return [table(head, rows), words["votes.note"]]


def _course(page: Page) -> str:
    """Return the table that says what the stances came to after each round (DL-047)."""
    rows = []
    for one in page.state.rounds:
        if found := one.verdict:
            title = page.words["vote.title"] if one.phase == VOTE else _number(page, one)
            kind = page.words.get(f"type.{found.get('type')}", "")
            who = page.cell(str(found.get("reference", "")))
            rows.append([title, kind, who, *(str(found.get(stance, 0)) for stance in MARKS)])
    return table(page.words["course.head"], rows)


def _number(page: Page, one: Round) -> str:
    """Return which round of its phase a round is, from 1."""
    same = [other for other in page.state.rounds if other.phase == one.phase]
    return str(sum(1 for other in same if other.tour <= one.tour))


def _flips(page: Page, judged: Judgement) -> str:
    """Return the log of all changes of mind (DL-098)."""
    words, rows = page.words, []
    for one in judged.flips:
        is_stance = one.kind == STANCE
        about = display_name(page.state, one.towards) if is_stance else words["flips.own"]
        change = [
            words[f"word.{text}"] if is_stance else cell(excerpt(text, _FOUND_MAX_CHARS))
            for text in (one.before, one.after)
        ]
        cites = page.names(one.cites) if one.cites else "–"
        reason = words["yes" if one.reasoned else "no"]
        if one.peer_moved and not one.reasoned:
            reason = page.say("flips.moved", who=cell(about))
        facts = [str(one.tour), page.cell(one.agent), cell(about), *change, cell(cites), reason]
        rows.append(facts)
    return table(words["flips.head"], rows) if rows else words["flips.none"]


def _questions(page: Page) -> list[str]:
    lines = []
    phases = {one.tour: one.phase for one in page.state.rounds}
    for one in asked_questions(page.state):
        if not one.answered:
            asker, asked = page.name(one.asker), page.name(one.asked)
            where = page.round(one.tour, phases.get(one.tour, ""))
            said = page.say("question", asker=asker, asked=asked, round=where)
            text = inline(excerpt(named(page.state, one.asker, one.text), POSITION_MAX_CHARS))
            lines.append(f"- {said}{page.words['colon']}{text}")
    return lines


def _round(page: Page, judged: Judgement, one: Round) -> list[str]:
    """Return the section of one round: turns and guidance as they came, then who was missing."""
    words, played = page.words, round_of(judged, one.tour)
    title = words["vote.title"]
    if one.phase == SYNTHESIZE:
        title = words["guidance"]
    elif one.phase != VOTE:
        title = page.say("round.title", number=_number(page, one))
        title += f" {words['round.blind']}" if played.blind else ""
    blocks = [f"## {title}"]
    given = {known.entry: known for known in guidance(page.state)}
    heard: list[str] = []
    for entry in page.state.entries:
        if entry.tour == one.tour and entry.kind is EntryKind.INJECTION:
            blocks += _guidance(page, entry, given[entry.id])
        elif entry.tour == one.tour and entry.kind is EntryKind.CONTRIBUTION:
            expected = [] if played.blind or played.vote else heard
            blocks += _turn(page, entry, played.turns.get(entry.agent), expected)
            heard = [*heard, entry.agent]
    missed = [_missed(page, agent, reason) for agent, reason in one.absent.items()]
    if missed:
        blocks.append("\n".join(missed))
    elif len(blocks) == 1:
        blocks.append(words["nobody-answered"])
    return blocks


def _missed(page: Page, agent: str, reason: Reason) -> str:
    """Return the line for one who was passed over, with the error if there was one (DL-086)."""
    cause = reason.cause
    line = f"- {page.say('missed', who=page.name(agent), reason=cause)}"
    if cause == reason.code:
        return line
    return f"{line}{page.words['colon']}{inline(reason_words(reason, page.state.lang))}"


def _turn(page: Page, entry: Entry, turn: Turn | None, heard: list[str]) -> list[str]:
    """Return one turn: what was read out of it, then its text whole."""
    sure = turn.confidence if turn is not None else 0
    fact = page.say("sure", confidence=sure) if sure else ""
    head, line, *rest = entry_blocks(page, entry.copy(status=""), fact)
    told = []
    if turn is not None:
        told += _read_out(page, entry, turn)
        if lacks := _lacks(page, [*turn.faults, *missing_responses(turn, heard)]):
            told.append(lacks)
    return [head, line, *told, *_key_to_names(page, entry), *rest]


def _read_out(page: Page, entry: Entry, turn: Turn) -> list[str]:
    stances = {one.agent: turn.stance_to(one.agent) for one in turn.responses}
    shown = [
        f"{MARKS[stance]} {page.name(agent)}"
        for agent, stance in stances.items()
        if stance in STANCES and agent in page.state.participants
    ]
    told = [" · ".join(shown)] if shown else []
    # JSON hides a position from people.
    if turn.position and json_object(own_answer(entry.text)) is not None:
        said = inline(excerpt(turn.position, POSITION_MAX_CHARS))
        told.append(f"**{page.words['position']}**{page.words['colon']}{said}")
    return told


def _lacks(page: Page, faults: list[Fault]) -> str:
    """Say what of the form is missing in a turn that stands as it is, "" for nothing."""
    said = []
    for one in faults:
        who, found = page.name(one.agent), inline(excerpt(one.found, _FOUND_MAX_CHARS))
        said.append(fault_in_words(one.code, page.state.lang, agent=who, found=found))
    return f"*⚠ {page.labelled('lacks', '; '.join(said))}*" if said else ""


def _key_to_names(page: Page, entry: Entry) -> list[str]:
    """Say who stands behind the pseudonyms in a text, which is quoted as it was written."""
    if not is_anonymous(page.state):
        return []
    text = entry.text.casefold()
    key = [
        page.say("pseudonym", pseudonym=pseudonym, who=page.name(agent))
        for agent, pseudonym in pseudonyms(page.state, entry.agent).items()
        if pseudonym in text or pseudonym.replace("-", " ") in text
    ]
    return [f"*{page.labelled('pseudonyms', ', '.join(key))}*"] if key else []


def _guidance(page: Page, entry: Entry, given: Guidance) -> list[str]:
    """Return an injection where it came in, and who acknowledged it (DL-085)."""
    facts = [minute(entry.at), page.origin(entry), whom(page, entry)]
    told = page.in_rounds(given.acknowledged.items()) or page.words["nobody"]
    said = page.labelled("acknowledged", told)
    if given.missing:
        said += f"{page.words['semicolon']}{page.words['not-acknowledged']} "
        said += page.names(given.missing)
    return [
        f"### ➤ {page.say('guidance-by', who=page.label(entry.agent))}",
        f"{mark_of(entry)}\n*{' · '.join(inline(fact) for fact in facts)}*",
        quoted(entry.text),
        f"*{said}*",
    ]
