"""What is not as it should be in a conversation file, said for a person.

It looks at the file as it lies there and at the conversation as it was last
recorded, and changes nothing.

Source: C0-006 to C0-010, C0-016, C0-067.
"""

from __future__ import annotations

from council.core.conversation import Conversation, has_answered
from council.core.errors import InvalidStateError
from council.core.ids import is_uuid4, text_digest
from council.core.procedures import SYNTHESIZE
from council.core.records import from_record
from council.store.claims import section_keys
from council.store.layout import claims_its_section, items
from council.store.marks import NOTE, same_lines
from council.store.statefile import Page, brief_of, free_text, parse, render


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
    ours = parse(render(state)).lines
    raw = {key: text.split("\n")[0] for key, text in items(state)}
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
    people = (page.record or {}).get("participants")
    for one in state.participants.values():
        said = page.sections.get(f"{state.phase}:{one.id}")
        value = people.get(one.id) if isinstance(people, dict) else None
        status = value.get("status") if isinstance(value, dict) else str(one.status)
        waits = status == "WAITING" and page.lines.get(f"p:{one.id}", "WAITING") == "WAITING"
        if said and waits and claims_its_section(state, one.id, state.phase):
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
    for section, keys in section_keys(state).items():
        phase, agent = section.split(":", 1)
        marked = any(NOTE in page.gaps.get(key, "") for key in keys)
        loose = section in page.sections and not claims_its_section(state, agent, phase)
        if marked or loose:
            text = free_text(next((page.gaps[key] for key in keys if key in page.gaps), ""))
            first = text.replace(NOTE, "").strip().split("\n")[0][:60]
            found.append(f"a note in the section of {agent} in {phase} is no contribution: {first}")
    return found
