"""Waiting for a conversation in front of the terminal: what is said as it comes, then the verdict.

Source: OP-003, OP-004, `cli.md` section 2 (`ask`, `convene --run`).
"""

from __future__ import annotations

import signal
from typing import Any

from council.cli.edge import Output
from council.cli.stage import Stage
from council.cli.views import as_text, markdown_view
from council.core.conversations.conversation import Conversation
from council.operations.conversations.follow import Ended, follow, minutes_of
from council.operations.place import Place
from council.operations.reporting.minute_words import WORDS

_WORDS = {
    "en": {
        "answers": "{who} answers by hand: {command}",
        "answer": "{who} answer by hand: {command}",
        "left": "{name} stays open; go on with: council ask --resume {name}",
    },
    "fr": {
        "answers": "{who} répond à la main : {command}",
        "answer": "{who} répondent à la main : {command}",
        "left": "{name} reste ouvert ; pour continuer : council ask --resume {name}",
    },
}


def watch_to_the_end(place: Place, state: Conversation, *, quiet: bool, first: str = "") -> Output:
    """Show what is said until the minutes are written, then the verdict.

    Progress goes to standard error, so that standard output holds the verdict alone.
    Ctrl-C leaves after the look under way, a second one at once.
    """
    stage = Stage(quiet=quiet, beside=True)
    lang = state.lang if state.lang in _WORDS else "en"
    stage.speak(lang)
    said, left = _WORDS[lang], Left()
    told: list[str] = []
    if first:
        stage.note(first, whole=False)
    with left, stage:
        shown_rev = -1
        for seen in follow(place, state.name, state.conversation_id):
            if seen.rev != shown_rev:
                shown_rev = seen.rev
                stage.show(seen)
                by_hand = [one for one in _by_hand(seen) if one not in told]
                if by_hand:
                    told += by_hand
                    key = "answer" if len(by_hand) > 1 else "answers"
                    command = f"council respond --as {by_hand[0]} --name {seen.name}"
                    stage.note(said[key].format(who=", ".join(by_hand), command=command))
            stage.tick(seen, place.now())
            if left.asked:
                break
    if left.asked:
        stage.note(said["left"].format(name=state.name))
        raise KeyboardInterrupt
    ended = minutes_of(place, state.conversation_id)
    return Output(
        record=_record(state, ended),
        text=f"{as_text(markdown_view(first_minute(ended))).rstrip()}\n\n{ended.line}",
        code=ended.code,
    )


class Left:
    """Whether the user has asked to leave, by Ctrl-C; asked once more, the process is interrupted.

    A change that is being written is finished first, and so is a run that is being started.
    """

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:  # of a job in the background
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *failure: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, *_: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def _by_hand(state: Conversation) -> list[str]:
    """Return who was handed a prompt and answers it by hand."""
    tasks = state.tasks.values()
    return [one.agent for one in tasks if one.state == "R" and one.driver == "manual"]


def first_minute(ended: Ended) -> str:
    """Return the first minute of the minutes, the decision and the verdict last.

    A terminal of 24 rows shows its end: there the decision stands, once.
    """
    body = ended.text
    if body.startswith("---"):
        body = body.split("\n---", 1)[-1].split("\n", 1)[-1]
    body = "\n".join(line for line in body.splitlines() if not line.startswith("<!--council:"))
    head, *sections = body.split("\n## ")
    titles = tuple(f"{words['glance']}\n" for words in WORDS.values())
    last = next((at for at, one in enumerate(sections) if one.startswith(titles)), len(sections))
    decided, *others = [f"## {one.strip()}" for one in sections[: last + 1]] or [""]
    title, _, said = head.strip().partition("\n")
    return "\n\n".join([*others, decided, title, said])


def _record(state: Conversation, ended: Ended) -> dict[str, Any]:
    return {
        "name": state.name,
        "conversationId": state.conversation_id,
        "minutes": ended.path,
        "verdict": ended.front,
        "line": ended.line,
    }
