"""Contributions that agents with file access alone write into their own section.

Text in the section of the round under way becomes the agent's contribution
once its status says that it has answered, whichever of the two was saved
first; where one speaks after the other, only when it has the floor. An agent
that is asked once more has said so already: what it adds is its answer anew.
Text for a closed round, as its `[Tour N]` says, is kept as late. Any other
text there is a note and stays where it is.

`findings` and `remarks` say for a person what is not as it should be in the file
as it lies there, and change nothing.

Source: HR-030, C0-001, C0-067, DL-013, DL-021, A-10, C0-006 to C0-010, C0-016, DL-015.
"""

from __future__ import annotations

from council.core.conversations.answers import respond
from council.core.conversations.conversation import (
    ANSWERED,
    ANY_ANSWERED,
    Conversation,
    ParticipantStatus,
    SealedText,
    has_answered,
)
from council.core.conversations.due import due_agents, is_asked_again, passed_over, takes_turns
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.records import from_record
from council.core.deliberation.fault_words import fault_in_words
from council.core.errors import CouncilError, InvalidStateError
from council.core.events import Event
from council.core.ids import is_uuid4, task_id, text_digest
from council.store.statefile.layout import (
    claims_its_section,
    current_section,
    fits,
    items,
    phase_of,
    section_of,
    sections_of,
    takes_text,
    tour_of,
)
from council.store.statefile.marks import NOTE, same_lines, without_prefix
from council.store.statefile.people import People
from council.store.statefile.statefile import Page, brief_of, free_text, lines_of, placed

_TOUR_MAX_CHARS = 6


def section_keys(state: Conversation) -> dict[str, list[str]]:
    """Return the keys of the items in each agent's subsection, by `SECTION:agent`."""
    found: dict[str, list[str]] = {}
    for key, place in placed(key for key, _ in items(state)):
        if place:
            found.setdefault(place, []).append(key)
    return found


def section_text(gaps: dict[str, str], keys: list[str]) -> str:
    """Return the unmarked free text in a section."""
    said = [free_text(gaps.get(key, "")) for key in keys]
    return "\n\n".join(one for one in said if one and NOTE not in one)


def drop_said(state: Conversation, gaps: dict[str, str], before: dict[str, str]) -> None:
    """Drop texts from sections that were taken in from an earlier save. Changes `gaps`.

    A program that saves its old copy of the file again brings its text back.
    """
    for place, keys in section_keys(state).items():
        section, agent = place.split(":", 1)
        texts = [_comparable(one) for one in _texts_in(state, section, agent)]
        again = section == current_section(state) and is_asked_again(state, agent)
        for key in keys:
            gap = gaps.get(key, "")
            if gap == before.get(key, "") or NOTE in gap:
                continue
            said = _comparable(without_prefix(free_text(gap)))
            known = (text for text in texts if f"{said}\n".startswith(f"{text}\n"))
            text = max(known, key=len, default="")
            rest = free_text(said[len(text) :])
            if text and not (rest and again):  # its answer anew may well begin like the first
                gaps[key] = f"\n\n{rest}\n\n" if rest else ""
            if not gaps.get(key):
                gaps.pop(key, None)


def _texts_in(state: Conversation, section: str, agent: str) -> list[str]:
    """Return what an agent has said in a section, sealed texts too."""
    texts = [
        one.text
        for one in state.entries
        if one.agent == agent and section_of(state.procedure, one.phase, one.tour) == section
    ]
    sealed = state.sealed.get(agent) if section == current_section(state) else None
    return texts if sealed is None else [*texts, sealed.text, *sealed.drafts]


def _comparable(text: str) -> str:
    return free_text(same_lines(text))


def take_claims(
    facts: People, gaps: dict[str, str], nonce: str, strict: bool = False
) -> list[SealedText]:
    """Take in texts together with the wished statuses. Changes the state and `gaps`.

    With `strict` no text is taken in: nothing shows who wrote it (XC-014).

    Returns:
        The texts that must be sealed before the state is committed.
    """
    seal: list[SealedText] = []
    section = current_section(facts.state)
    keys = section_keys(facts.state)
    _take_late(facts, gaps, keys, strict)
    for agent in sections_of(facts.state)[section]:
        one = facts.state.participants.get(agent)
        status = facts.statuses.get(agent, one.status if one is not None else None)
        said = section_text(gaps, keys.get(f"{section}:{agent}", []))
        open_yet = takes_text(facts.state, agent, section) and not _has_left(facts, agent)
        if said and open_yet and (one is None or status is not ParticipantStatus.WAITING):
            text = without_prefix(said)
            taken = None
            if strict:
                why = "nothing shows who wrote it, and trust is strict"
                facts.refuse(f"contribution.{agent}", text, why)
            else:
                taken = _claim(facts, agent, status, text, nonce)
            if taken is not None:
                seal += taken
                for key in keys[f"{section}:{agent}"]:
                    if NOTE not in gaps.get(key, ""):
                        gaps.pop(key, None)
                continue
            if one is not None and not has_answered(one):
                continue
        if one is not None and status is not None:
            facts.set_status(agent, status)
    return seal


def _take_late(
    facts: People, gaps: dict[str, str], keys: dict[str, list[str]], strict: bool
) -> None:
    """Keep as late what says that it is for a closed round, whose answer it would have been.

    The status that came with it answers no round: the one under way is another (HR-030).
    """
    here = current_section(facts.state)
    for place, parts in keys.items():
        section, agent = place.split(":", 1)
        said = section_text(gaps, parts) if section != here else ""
        tour = _closed_round(facts.state, section, agent, said)
        if not tour:
            continue
        status = facts.statuses.get(agent)
        stays = status in ANSWERED and status is not ParticipantStatus.DONE
        if stays and not section_text(gaps, keys.get(f"{here}:{agent}", [])):
            del facts.statuses[agent]
            why = f"its text is for round {tour}, which is closed: it is late"
            facts.refuse(f"participants.{agent}.status", str(status), why, keep=True)
        if strict:
            continue  # nothing shows who wrote it: it stays a note
        task = task_id(facts.state.conversation_id, tour, agent, 1)
        try:
            step = respond(facts.state, agent, without_prefix(said), now=facts.now, task=task)
        except CouncilError as error:
            facts.refuse(f"contribution.{agent}", said, error.message)
            continue
        facts.state = step.state
        facts.events += step.events
        facts.touched = True
        for key in parts:
            if NOTE not in gaps.get(key, ""):
                gaps.pop(key, None)


def _closed_round(state: Conversation, section: str, agent: str, said: str) -> int:
    """Return the closed round that a text in an agent's section names and lacks, 0 for none."""
    number = said[len("[Tour ") : said.find("]:")].strip() if said.startswith("[Tour ") else ""
    tour = int(number) if number.isdecimal() and len(number) <= _TOUR_MAX_CHARS else 0
    over = next((one for one in state.rounds if one.tour == tour), None)
    if over is None or over.ended_at is None or state.entry_of(agent, tour) is not None:
        return 0
    return tour if section_of(state.procedure, over.phase, tour) == section else 0


def _has_left(facts: People, agent: str) -> bool:
    """Return true if an agent was DONE before this round began."""
    one = facts.state.participants.get(agent)
    if one is None or one.status is not ParticipantStatus.DONE or not facts.state.rounds:
        return False
    return one.last_action is None or one.last_action < facts.state.rounds[-1].started_at


def _claim(
    facts: People, agent: str, status: ParticipantStatus | None, text: str, nonce: str
) -> list[SealedText] | None:
    """Record a text as the contribution it claims to be; None when the rules refuse it."""
    state = facts.state.copy()
    one = state.participants.get(agent)
    before = None if one is None else str(one.status)
    if one is not None:
        one.status = ParticipantStatus.WAITING
    word = "responded" if status is None else str(status).lower()
    salt = text_digest(f"{nonce}\n{agent}")[:32]
    try:
        step = respond(state, agent, text, now=facts.now, nonce=salt, status=word, anew=True)
    except CouncilError as error:
        facts.refuse(f"contribution.{agent}", text, error.message)
        return None
    facts.state = step.state
    if before is not None and before != str(status):
        counts = str(facts.state.participants[agent].status)  # AGREED beside a blocker does not
        facts.accept(f"participants.{agent}.status", before, counts, agent)
    facts.events += step.events
    facts.touched = True
    return step.seal


def found_notes(
    state: Conversation, gaps: dict[str, str], theirs: dict[str, str], base: dict[str, str]
) -> list[Event]:
    """Return an event for each text that is new in a section and stays a note."""
    events = []
    for place, keys in section_keys(state).items():
        section, agent = place.split(":", 1)
        said = section_text(gaps, keys)
        if said and place in theirs and theirs[place] != base.get(place):
            data: dict[str, object] = {"phase": phase_of(section), "chars": len(said)}
            if tour_of(section):
                data["tour"] = tour_of(section)
            events.append(Event(type="note.found", agent=agent, data=data))
    return events


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
            expected = heard if played.vote else before
            faults = [
                *turn.faults,
                *missing_responses(turn, [one for one in expected if one != agent]),
            ]
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
    is_ours = any(fits(one, state.brief_digest, "") for one in (brief, brief_of(page)))
    if not is_ours and brief != same_lines(state.brief):
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
    """Return true if agents that write the file themselves set their status (C0-067)."""
    found = []
    here = current_section(state)
    in_turn = (*due_agents(state), *passed_over(state))
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
                f"it counts only when it has the floor; now {', '.join(due_agents(state))} has it"
            )
        elif claims:
            found.append(
                f"{one.id} wrote text in {state.phase} but its status is still WAITING: "
                f"it counts once the status is {ANY_ANSWERED}"
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
