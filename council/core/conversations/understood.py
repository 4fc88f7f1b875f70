"""What was understood of an answer, said to its author as soon as it is recorded.

It is read as everything else that is concluded from texts, so what its author
is told is what will count. Nothing of it is stored.

Source: HR-010.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, Entry, EntryKind, Participant
from council.core.conversations.due import current_phase
from council.core.reading_answers.cleaning import blockers_in, may_quote
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any


class Understood(Record):
    """What one answer states; peers are called as its author knows them.

    `confidence` is 0 where none is stated. `questions` are pairs of who is
    asked and the question; `quotations` pairs of a passage and whether it was
    `found`, is `near` or `missing`. `status` is that of the participant now.
    """

    form: str = "text"
    position: str = ""
    stances: dict[str, str] = {}
    confidence: int = 0
    questions: list[tuple[str, str]] = []
    quotations: list[tuple[str, str]] = []
    blockers: list[str] = []
    status: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `respond --json` under `understood`."""
        stated = self.as_json("position stances confidence?") if self.form != "text" else {}
        return {
            **stated,
            "questions": [{"to": to, "text": text} for to, text in self.questions],
            "quotations": [{"text": text, "found": found} for text, found in self.quotations],
            **self.as_json("blockers status"),
        }


def understood(
    before: Conversation, after: Conversation, agent: str, text: str, now: datetime
) -> Understood:
    """Return what an answer to the round under way in `before` states.

    Args:
        before: The conversation as it was when the answer came.
        after: The conversation right after it.
        agent: Who answered; a participant.
        text: The answer.
        now: The time of the answer.
    """
    participant: Participant = after.participants[agent]
    form = current_phase(before).form
    found = Understood(form=form, blockers=blockers_in(text), status=str(participant.status))
    entry = before.new_entry(EntryKind.CONTRIBUTION, agent, text, now)
    if form != "text":
        _add_form(found, before, agent, text)
    if "@" in text:
        _add_questions(found, before, entry)
    if may_quote(text):
        from council.core.conversations.quotations import Checker

        found.quotations = [(one.text, str(one.found)) for one in Checker(before).in_entry(entry)]
    return found


def _add_form(found: Understood, state: Conversation, agent: str, text: str) -> None:
    from council.core.conversations.handles import known_to
    from council.core.deliberation import deliberation

    earlier = deliberation.said_in_round(state, agent)
    turn = deliberation.understood_turn(state, agent, [*earlier, text])
    found.position, found.confidence = turn.position, turn.confidence
    stances = turn.stances().items()
    found.stances = {known_to(state, agent, [one])[0]: said for one, said in stances if said}


def _add_questions(found: Understood, state: Conversation, entry: Entry) -> None:
    from council.core.conversations.handles import known_to, may_ask_people

    to_peers = found.form != "text"
    if to_peers or may_ask_people(state, entry.text):
        from council.core.deliberation.questions import questions_in

        asked = questions_in(state, entry, to_peers=to_peers)
        found.questions = [
            (known_to(state, entry.agent, [one.asked])[0], one.text) for one in asked
        ]
