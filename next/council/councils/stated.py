"""Answers by options: what they state, how that is recorded, and where refused ones are kept."""

from __future__ import annotations

import os

from council.councils import hearing, sight
from council.councils.model import Stance, State
from council.kernel import ids
from council.kernel.errors import Refusal
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App


class Stated(Record):
    """What is said of an answer by options, beside or instead of its text.

    Attributes:
        stances: Each `PEER=WORD` or `PEER=WORD:WHY`.
        only: The one kind that is accepted, `vote` or `synthesis`.
        task: The id of the run that it answers; "" is COUNCIL_TASK_ID.
        mark: The round that it answers; "" is COUNCIL_ROUND.
        key: It counts once.
        amend: It replaces the answer of this round.
        check: Only what would be understood is wanted.
    """

    position: str = ""
    choice: str = ""
    confidence: int | None = None
    stances: list[str] = []
    status: str = ""
    only: str = ""
    task: str = ""
    mark: str = ""
    key: str = ""
    amend: bool = False
    check: bool = False

    def is_answer(self) -> bool:
        """Return whether it can be an answer without a text."""
        return bool(self.position or self.choice or self.stances)


def heard(state: State, agent: str, text: str, stated: Stated) -> hearing.Understood:
    """Return the words that are recorded, what is understood of them, and what is to be asked."""
    if not stated.is_answer() and stated.confidence is None:
        return hearing.understood(state, agent, text)
    from council.councils import answers, answers_asked  # late: most answers are texts

    form = sight.form(state, agent)
    stances = {
        peer.strip().removeprefix("@"): Stance(word=word.strip().lower(), comment=why.strip())
        for one in stated.stances
        for peer, _, rest in [one.partition("=")]
        for word, _, why in [rest.partition(":")]
    }
    choice = stated.choice
    if choice:  # a letter, or words such as those of an option
        ballot = answers.read(f"## Choice\n\n{choice}", form.copy(kind="vote"))
        choice = ballot.choice or choice
    found = answers.from_fields(
        stated.position, choice, stated.confidence, stances, stated.status, text, form
    )
    words = answers_asked.written(found, form) if stated.is_answer() else text
    return hearing.completed(state, agent, words, found)


def keep_refused(app: App, state: State, agent: str, text: str, refusal: Refusal) -> None:
    """Put an answer that is refused in its author's folder, so it is not lost with its input."""
    folder = f"{app.root}/memory/agents/{agent}/tasks"
    if not text or not ids.is_name(agent) or not os.path.isdir(folder):
        return
    path = f"{folder}/refused-{ids.digest(text)[:8]}.md"
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"{state.name} ({state.conversation_id}): {refusal.message}\n\n{text}\n")
    except OSError:
        pass  # the refusal is what its author has to see
