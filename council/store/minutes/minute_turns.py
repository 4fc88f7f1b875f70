"""The record part of the minutes of a deliberation: votes, changes of mind, every turn.

Each round has its section, in the order in which it was spoken; guidance
stands where it came in. Texts are quoted whole, as in all minutes; what was
read out of them stands in a line of ours above each.

Source: DL-016, DL-054, DL-081, DL-085, DL-086, DL-097, DL-098, DL-100, DL-103.
"""

from __future__ import annotations

from council.core.conversations.account import cause_of, display_label, display_name
from council.core.conversations.conversation import Conversation, Entry, EntryKind, Round
from council.core.conversations.handles import is_anonymous, named, pseudonyms
from council.core.conversations.procedures import SYNTHESIZE, VOTE
from council.core.deliberation.consensus import ABSENT
from council.core.deliberation.fault_words import fault_in_words
from council.core.deliberation.flips import STANCE
from council.core.deliberation.judgement import Judgement, round_of
from council.core.deliberation.played import stances_until
from council.core.deliberation.questions import asked_questions, guidance
from council.core.excerpts import excerpt
from council.core.reading_answers.json_fields import json_object
from council.core.reading_answers.stances import STANCES
from council.core.reading_answers.turns import Fault, missing_responses, own_answer
from council.store.minutes.minute_summary import (
    minute,
    names,
    origin_word,
    round_name,
)
from council.store.minutes.minute_transcript import aside, closing_tables, entry_blocks, preface
from council.store.minutes.minute_verdict import MARKS, POSITION_MAX_CHARS
from council.store.statefile.quoting import cell, inline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.deliberation.questions import Guidance
    from council.core.reading_answers.turns import Turn

_FOUND_MAX_CHARS = 60


def turns_transcript(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    """Return the blocks after the summary, in order, without the state block."""
    blocks = [f"## {words['votes']}", *_votes(state, judged, words)]
    if judged.history:
        blocks += [f"## {words['course']}", "\n".join(_course(state, words))]
        blocks += [f"## {words['flips']}", *_flips(state, judged, words)]
    if asked := _questions(state, words):
        blocks += [f"## {words['questions']}", "\n".join(asked)]
    blocks += preface(state, words)
    for one in state.rounds:
        if one.phase != SYNTHESIZE or _guidance_in(state, one.tour):
            blocks += _round(state, judged, one, words)
    blocks += aside(state, EntryKind.DRAFT, "drafts", words)
    blocks += aside(state, EntryKind.LATE, "late", words)
    return blocks + closing_tables(state, words)


def _table(head: str, rows: list[list[str]]) -> list[str]:
    lines = [f"| {head} |", "|" + "---|" * (head.count("|") + 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def _votes(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    """Return the table of the votes: final positions and the stance of each to each."""
    votes = next((one.turns for one in reversed(judged.history) if one.vote), None)
    if votes is None:
        return [words["votes.none"]]
    stances = stances_until(judged.history)
    everybody = list(state.participants)
    head = " | ".join([words["votes.head"], *(cell(display_name(state, one)) for one in everybody)])
    rows = []
    for agent in everybody:
        vote = votes.get(agent)
        said = words["no-vote"]
        if vote is not None:
            said = cell(excerpt(vote.position, POSITION_MAX_CHARS)) or words["no-vote"]
        rows.append(
            [
                cell(display_name(state, agent)),
                said,
                f"{vote.confidence}/5" if vote is not None and vote.confidence else "–",
                *(
                    MARKS[stances.get(agent, {}).get(other, ABSENT)] if other != agent else ""
                    for other in everybody
                ),
            ]
        )
    return ["\n".join(_table(head, rows)), words["votes.note"]]


def _course(state: Conversation, words: dict[str, str]) -> list[str]:
    """Return the table that tells what the stances came to after each round (DL-047)."""
    rows = []
    for one in state.rounds:
        if not one.verdict:
            continue
        who = str(one.verdict.get("reference", ""))
        counts = [str(one.verdict.get(stance, 0)) for stance in MARKS]
        kind = words.get(f"type.{one.verdict.get('type')}", "")
        rows.append(
            [_short_title(state, one, words), kind, cell(display_name(state, who)), *counts]
        )
    return _table(words["course.head"], rows)


def _short_title(state: Conversation, one: Round, words: dict[str, str]) -> str:
    return words["vote.title"] if one.phase == VOTE else str(_number(state, one))


def _number(state: Conversation, one: Round) -> int:
    """Return which round of its phase a round is, from 1."""
    return sum(1 for other in state.rounds if other.phase == one.phase and other.tour <= one.tour)


def _flips(state: Conversation, judged: Judgement, words: dict[str, str]) -> list[str]:
    """Return the log of all changes of mind (DL-098)."""
    rows = []
    for one in judged.flips:
        is_stance = one.kind == STANCE
        about = display_name(state, one.towards) if is_stance else words["flips.own"]
        change = [
            words[f"word.{text}"] if is_stance else cell(excerpt(text, _FOUND_MAX_CHARS))
            for text in (one.before, one.after)
        ]
        cites = names(state, [*one.cites], words) if one.cites else "–"
        reason = words["yes" if one.reasoned else "no"]
        if one.peer_moved and not one.reasoned:
            reason = words["flips.moved"].format(who=cell(about))
        who = cell(display_name(state, one.agent))
        rows.append([str(one.tour), who, cell(about), *change, cell(cites), reason])
    return ["\n".join(_table(words["flips.head"], rows))] if rows else [words["flips.none"]]


def _questions(state: Conversation, words: dict[str, str]) -> list[str]:
    lines = []
    phases = {one.tour: one.phase for one in state.rounds}
    for one in asked_questions(state):
        if not one.answered:
            where = round_name(one.tour, phases.get(one.tour, ""), words)
            said = words["question"].format(
                asker=inline(display_name(state, one.asker)),
                asked=inline(display_name(state, one.asked)),
                round=where,
            )
            text = inline(excerpt(named(state, one.asker, one.text), POSITION_MAX_CHARS))
            lines.append(f"- {said}{words['colon']}{text}")
    return lines


def _round(state: Conversation, judged: Judgement, one: Round, words: dict[str, str]) -> list[str]:
    """Return the section of one round: turns and guidance as they came, then who was missing."""
    played = round_of(judged, one.tour)
    title = words["vote.title"]
    if one.phase == SYNTHESIZE:
        title = words["guidance"]
    elif one.phase != VOTE:
        title = words["round.title"].format(number=_number(state, one))
        title += words["round.blind"] if played.blind else ""
    blocks = [f"## {title}"]
    given = {known.entry: known for known in guidance(state)}
    heard: list[str] = []
    for entry in state.entries:
        if entry.tour == one.tour and entry.kind is EntryKind.INJECTION:
            blocks += _guidance(state, entry, given[entry.id], words)
        elif entry.tour == one.tour and entry.kind is EntryKind.CONTRIBUTION:
            owed = [] if played.blind or played.vote else heard
            blocks += _turn(state, entry, played.turns.get(entry.agent), owed, words)
            heard = [*heard, entry.agent]
    missed = [_missed(state, agent, reason, words) for agent, reason in one.absent.items()]
    if missed:
        blocks.append("\n".join(missed))
    elif len(blocks) == 1:
        blocks.append(words["nobody-answered"])
    return blocks


def _guidance_in(state: Conversation, tour: int) -> bool:
    return any(one.kind is EntryKind.INJECTION and one.tour == tour for one in state.entries)


def _missed(state: Conversation, agent: str, reason: str, words: dict[str, str]) -> str:
    """Return the line for one who was passed over, with the error if there was one (DL-086)."""
    cause = cause_of(reason)
    line = "- " + words["missed"].format(who=inline(display_name(state, agent)), reason=cause)
    return line if cause == reason else f"{line}{words['colon']}{inline(reason)}"


def _turn(
    state: Conversation, entry: Entry, turn: Turn | None, heard: list[str], words: dict[str, str]
) -> list[str]:
    """Return one turn: what was read out of it, then its text whole."""
    facts = []
    if turn is not None and turn.confidence:
        facts.append(words["sure"].format(confidence=turn.confidence))
    head, line, *rest = entry_blocks(state, entry.copy(status=""), words, " · ".join(facts))
    told = []
    if turn is not None:
        told += _read_out(state, entry, turn, words)
        if lacks := _lacks(state, [*turn.faults, *missing_responses(turn, heard)], words):
            told.append(lacks)
    return [head, line, *told, *_key_to_names(state, entry, words), *rest]


def _read_out(state: Conversation, entry: Entry, turn: Turn, words: dict[str, str]) -> list[str]:
    stances = {
        one.agent: turn.stance_to(one.agent)
        for one in turn.responses
        if turn.stance_to(one.agent) in STANCES and one.agent in state.participants
    }
    told = []
    if stances:
        told.append(
            " · ".join(
                f"{MARKS[stance]} {inline(display_name(state, agent))}"
                for agent, stance in stances.items()
            )
        )
    if (
        turn.position and json_object(own_answer(entry.text)) is not None
    ):  # JSON hides it from people
        said = inline(excerpt(turn.position, POSITION_MAX_CHARS))
        told.append(f"**{words['position']}**{words['colon']}{said}")
    return told


def _lacks(state: Conversation, faults: list[Fault], words: dict[str, str]) -> str:
    """Say what of the form is missing in a turn that stands as it is, "" for nothing."""
    said = [
        fault_in_words(
            one.code,
            state.lang,
            agent=inline(display_name(state, one.agent)),
            found=inline(excerpt(one.found, _FOUND_MAX_CHARS)),
        )
        for one in faults
    ]
    return f"*⚠ {words['lacks']}{words['colon']}{'; '.join(said)}*" if said else ""


def _key_to_names(state: Conversation, entry: Entry, words: dict[str, str]) -> list[str]:
    """Say who stands behind the pseudonyms in a text, which is quoted as it was written."""
    if not is_anonymous(state):
        return []
    text = entry.text.casefold()
    key = [
        words["pseudonym"].format(pseudonym=pseudonym, who=inline(display_name(state, agent)))
        for agent, pseudonym in pseudonyms(state, entry.agent).items()
        if pseudonym in text or pseudonym.replace("-", " ") in text
    ]
    return [f"*{words['pseudonyms']}{words['colon']}{', '.join(key)}*"] if key else []


def _guidance(
    state: Conversation, entry: Entry, given: Guidance, words: dict[str, str]
) -> list[str]:
    """Return an injection where it came in, and who acknowledged it (DL-085)."""
    whom = words["to"].format(who=display_name(state, entry.target))
    facts = [minute(entry.at), origin_word(entry, words), whom if entry.target else words["to-all"]]
    _, line, text = entry_blocks(state, entry, words)
    mark = line.partition("\n")[0]
    who = inline(display_label(state, entry.agent))
    told = [
        words["by-in-round"].format(who=inline(display_name(state, agent)), tour=tour)
        for agent, tour in given.acknowledged.items()
    ]
    said = f"{words['acknowledged']}{words['colon']}{', '.join(told) or words['nobody']}"
    if given.owed:
        said += (
            f"{words['semicolon']}{words['not-acknowledged']} {names(state, [*given.owed], words)}"
        )
    return [
        f"### ➤ {words['guidance-by'].format(who=who)}",
        f"{mark}\n*{' · '.join(inline(fact) for fact in facts)}*",
        text,
        f"*{said}*",
    ]
