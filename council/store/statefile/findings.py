"""What is not as it should be in a conversation file, said for a person.

It looks at the file as it lies there and at the conversation as it was last
recorded, and changes nothing.

Source: C0-006 to C0-010, C0-016, C0-067, DL-013, DL-015.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, has_answered
from council.core.conversations.owed import is_asked_again, owing, passed_over, takes_turns
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.records import from_record
from council.core.deliberation.fault_words import fault_in_words
from council.core.errors import InvalidStateError
from council.core.ids import is_uuid4, text_digest
from council.store.statefile.claims import section_keys
from council.store.statefile.layout import items
from council.store.statefile.marks import NOTE, same_lines
from council.store.statefile.sections import (
    claims_its_section,
    current_section,
    phase_of,
    takes_text,
)
from council.store.statefile.statefile import Page, brief_of, free_text, lines_of


def findings(state: Conversation, page: Page) -> list[str]:
    """Return one line for each thing that is wrong, unclaimed or edited.

    Args:
        state: The conversation as last recorded.
        page: The file as it lies there now.
    """
    return [
        *page.faults,
        *_block(state, page),
        *_texts(state, page),
        *_lines(state, page),
        *_statuses(state, page),
        *_notes(state, page),
    ]


def remarks(state: Conversation) -> list[str]:
    """Return what the turns of a deliberation lack, and who is asked for its answer once more.

    Nothing is wrong with the file for it.
    """
    if PROCEDURES[state.procedure].verdict != "stances":
        return []
    from council.core.deliberation.deliberation import history
    from council.core.reading_answers.turns import missing_responses

    found = []
    heard: dict[str, None] = {}
    for played in history(state):
        before: list[str] = []
        for agent, turn in played.turns.items():
            owed = heard if played.vote else before
            faults = [*turn.faults, *missing_responses(turn, [one for one in owed if one != agent])]
            if faults:
                said = "; ".join(
                    fault_in_words(one.code, "en", agent=one.agent, found=one.found)
                    for one in faults
                )
                where = f"what {agent} said in round {played.tour}"
                found.append(f"{where} is not all that the form asks for: {said}")
            if not played.blind:
                before.append(agent)
        heard |= {} if played.vote else dict.fromkeys(played.turns)
    for one in state.participants.values():
        if is_asked_again(state, one.id) and state.finished_at is None:
            found.append(f"{one.id} is asked for its answer in {state.phase} once more")
    return found


def _block(state: Conversation, page: Page) -> list[str]:
    found = []
    if page.record is not None:
        try:
            from_record(page.record)
        except InvalidStateError as error:
            found.append(error.message)
    if not is_uuid4(state.conversation_id):
        found.append(f"conversationId is not a version 4 UUID: {state.conversation_id}")
    return found


def _texts(state: Conversation, page: Page) -> list[str]:
    found = []
    brief = same_lines(brief_of(page))
    try:
        digests = {text_digest(brief), text_digest(brief_of(page))}
    except UnicodeEncodeError:
        digests = set()
    if state.brief_digest not in digests and brief != same_lines(state.brief):
        found.append("the brief is not the one of the beginning; it is put back at the next write")
    for entry in state.entries:
        said = page.texts.get(entry.id)
        if said is None:
            found.append(f"the contribution {entry.id} is missing; it is put back")
        elif same_lines(said) != same_lines(entry.text):
            found.append(f"the contribution {entry.id} was altered; it is put back")
    return found


def _lines(state: Conversation, page: Page) -> list[str]:
    """Name readable lines that say something else than the state."""
    ours = lines_of(state)
    raw = {key: text.split("\n")[0] for key, text in items(state, bare=True)}
    found = []
    for key, value in ours.items():
        said = page.lines.get(key)
        if said is None and page.order:
            found.append(f"a line is missing: {raw[key]}")
        elif said is not None and said != value:
            found.append(f"a line was edited: it says {said!r}, the state says {value!r}")
    return found


def _statuses(state: Conversation, page: Page) -> list[str]:
    """Tell whether agents that write the file themselves set their status (C0-067)."""
    found = []
    here = current_section(state)
    in_turn = (*owing(state), *passed_over(state))
    people = (page.record or {}).get("participants")
    for one in state.participants.values():
        said = page.sections.get(f"{here}:{one.id}")
        value = people.get(one.id) if isinstance(people, dict) else None
        status = value.get("status") if isinstance(value, dict) else str(one.status)
        waits = status == "WAITING" and page.lines.get(f"p:{one.id}", "WAITING") == "WAITING"
        claims = said and waits and claims_its_section(state, one.id, here)
        if claims and takes_turns(state) and one.id not in in_turn:
            found.append(
                f"{one.id} wrote text in {state.phase} out of turn: "
                f"it counts only when it has the floor; now {', '.join(owing(state))} has it"
            )
        elif claims:
            found.append(
                f"{one.id} wrote text in {state.phase} but its status is still WAITING: "
                "it counts once the status is RESPONDED, AGREED or DONE"
            )
        spoke = one.sealed or state.entry_of(one.id, state.tour) is not None
        now = has_answered(one) and one.last_action is not None and state.phase != SYNTHESIZE
        in_round = now and (
            not state.rounds or (one.last_action or state.created_at) >= state.rounds[-1].started_at
        )
        if in_round and not spoke and not said:
            found.append(f"{one.id} is {one.status} in {state.phase} without a contribution")
    return found


def _notes(state: Conversation, page: Page) -> list[str]:
    found = []
    for place, keys in section_keys(state).items():
        section, agent = place.split(":", 1)
        marked = any(NOTE in page.gaps.get(key, "") for key in keys)
        loose = place in page.sections and not takes_text(state, agent, section)
        if marked or loose:
            text = free_text(next((page.gaps[key] for key in keys if key in page.gaps), ""))
            first = text.replace(NOTE, "").strip().split("\n")[0][:60]
            phase = phase_of(section)
            found.append(f"a note in the section of {agent} in {phase} is no contribution: {first}")
    return found
