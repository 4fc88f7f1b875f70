"""Who is shown what: the prompt of a turn, the context of an agent, notices.

It brings together what an agent may see (`core.sight`), the words
(`prompts`), and the places where they are put down.

Source: C0-027, C0-035, C0-041, C0-047, `cli.md` sections 2 and 5.
"""

from __future__ import annotations

import os

from council.core.conversation import Conversation
from council.core.errors import UsageError
from council.core.ids import split_task_id
from council.core.owed import Notify, Wake
from council.core.sight import parts as parts_of
from council.core.times import render_instant
from council.operations.place import Place
from council.operations.prompts import cached_prompt, prompt_kind
from council.store.agents import persona_of
from council.store.files import make_folder, remove, replace
from council.store.keys import run_key
from council.store.settings import language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


PROMPT_KINDS = ("turn", "synthesis")


def prompt_and_parts(
    place: Place, state: Conversation, agent: str, lang: str
) -> tuple[str, str, dict[str, Any]]:
    """Return the prompt that an agent gets now, where it is kept, and what it is made of."""
    seen = parts_of(state, agent, place.now())
    return *_prompt(place, state, seen, agent, lang), seen


def prompt_of_kind(place: Place, name: str, agent: str, kind: str, lang: str) -> str:
    """Return the prompt of a kind (`turn`, `synthesis`) that an agent would get now.

    Raises:
        UsageError: There is no such kind.
    """
    if kind not in PROMPT_KINDS:
        raise UsageError(f"no prompt {kind!r}", f"choose one of: {', '.join(PROMPT_KINDS)}")
    state = place.conversations.read(name)
    return _prompt(place, state, parts_of(state, agent, place.now()), agent, lang, kind)[0]


def turn_prompt(place: Place, state: Conversation, agent: str, *, keep: bool = True) -> str:
    """Return the prompt of an agent for the round under way; `keep` it for the next time."""
    seen = parts_of(state, agent, place.now())
    return _prompt(place, state, seen, agent, "", keep=keep)[0]


def _prompt(
    place: Place,
    state: Conversation,
    seen: dict[str, Any],
    agent: str,
    lang: str,
    kind: str = "",
    *,
    keep: bool = True,
) -> tuple[str, str]:
    if lang:
        lang = language(place.settings, lang, place.environ)
    folder = place.paths.conversation_folder(state.conversation_id)
    return cached_prompt(
        f"{folder}/prompts" if keep else "",
        kind or prompt_kind(seen),
        seen,
        key=run_key(place.paths),
        lang=lang or state.lang,
        root=place.root,
        persona=persona_of(place.root, place.settings, agent),
        file=place.paths.conversation_file(state.name),
    )


def hand_over(place: Place, state: Conversation, wake: Wake) -> None:
    """Put the prompt of a turn where an agent that answers by itself finds it."""
    folder = place.paths.tasks(wake.agent)
    make_folder(folder)
    text = turn_prompt(place, state, wake.agent)
    replace(f"{folder}/{wake.task}.md", text.encode("utf-8"))


def take_back(place: Place, state: Conversation, *, before: int) -> None:
    """Take away the prompts that were handed over for rounds before `before`."""
    for agent in {*state.participants, state.coordinator, state.synthesizer} - {""}:
        folder = place.paths.tasks(agent)
        for file in _listed(folder):
            task = split_task_id(file.removesuffix(".md"))
            if task and task[0] == state.conversation_id and task[1] < before:
                remove(f"{folder}/{file}")


def write_notice(place: Place, state: Conversation, notice: Notify) -> None:
    """Tell the coordinator, by a file, that a round began (C0-035)."""
    words = _NOTICE["fr" if state.lang == "fr" else "en"]
    last = state.rounds[-2] if len(state.rounds) > 1 else None
    absent = ", ".join(last.absent) if last and last.absent else words["nobody"]
    text = words["text"].format(
        topic=state.topic,
        before=last.phase if last else "",
        after=state.phase,
        tour=state.tour,
        reason=last.reason if last else "",
        absent=absent,
        deadline=render_instant(state.timeout_at),
        file=place.paths.conversation_file(state.name),
        name=state.name,
    )
    folder = place.paths.tasks(notice.agent)
    make_folder(folder)
    path = f"{folder}/{state.conversation_id}.{notice.tour}.notice.md"
    replace(path, text.encode("utf-8"))


_NOTICE = {
    "en": {
        "nobody": "nobody",
        "text": """# {topic}

{before} is over ({reason}); {after} (round {tour}) has begun. Absent: {absent}.
It closes when all have answered, at the latest at {deadline}.

The conversation: {file}
To see who is owed an answer: `council status`. To steer: `council inject --name {name} "…"`.
""",
    },
    "fr": {
        "nobody": "personne",
        "text": """# {topic}

{before} est terminée ({reason}) ; {after} (tour {tour}) a commencé. Absents : {absent}.
La phase se clôt quand tous ont répondu, au plus tard à {deadline}.

La conversation : {file}
Voir qui doit répondre : `council status`. Intervenir : `council inject --name {name} "…"`.
""",
    },
}


def clean_up(place: Place, state: Conversation) -> None:
    """Take away the prompts of a conversation that has ended; run logs and notices stay."""
    take_back(place, state, before=state.tour + 1)
    for file in _listed(place.paths.runs):
        if file.startswith(f"{state.conversation_id}.") and file.endswith(".prompt.md"):
            remove(f"{place.paths.runs}/{file}")
    kept = f"{place.paths.conversation_folder(state.conversation_id)}/prompts"
    for file in _listed(kept):
        remove(f"{kept}/{file}")


def _listed(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []
