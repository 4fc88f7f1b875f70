"""Who is shown what: the prompt of a turn, the context of an agent, notices.

It brings together what an agent may see (`core.sight`), the words
(`prompts`), and the places where they are put down.

Samples, conversations in which nothing was said yet, show what a prompt is like
where the phase that a prompt belongs to is not under way, or nothing is open at all.
Nothing that was said ever enters one, so a sample shows no one what is not yet to
be seen.

Source: C0-027, C0-035, C0-041, C0-047, `cli.md` sections 2 and 5, DL-018, DL-029, DL-030.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from council.core.conversations.conversation import Conversation, Participant
from council.core.conversations.due import Notify, Wake, due_agents
from council.core.conversations.handles import is_anonymous
from council.core.conversations.machine import begin
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.conversations.sight import parts as parts_of
from council.core.errors import NotFoundError, UsageError
from council.core.ids import split_task_id
from council.core.plain_text import shell_word
from council.core.record import Any
from council.core.times import render_instant
from council.operations.conversations.prompts import (
    bare_name,
    cached_prompt,
    in_quotes,
    prompt_kind,
)
from council.operations.place import Place, conversation_name, program_for
from council.store.agents import persona_of, way_of_answering
from council.store.files import make_folder, names_in, remove, replace
from council.store.keys import run_key
from council.store.settings import language

PROMPT_KINDS = ("turn", "vote", "synthesis")
_KEY_BYTES = 32


def prompt_and_parts(
    place: Place,
    state: Conversation,
    agent: str,
    lang: str = "",
    kind: str = "",
    *,
    keep: bool = True,
    way: str = "",
) -> tuple[str, str, dict[str, Any]]:
    """Return the prompt that an agent gets now, where it is kept, and what it is made of.

    Args:
        place: The workspace.
        state: The conversation.
        agent: Who gets it.
        lang: The language, "" for the conversation's.
        kind: `turn`, `vote` or `synthesis` for one who may answer, "" for what is asked now.
        keep: Keep it for the next time.
        way: How it hands in its answer, "" for the way of its runs.
    """
    if lang:
        lang = language(place.settings, lang, place.environ)
    seen = parts_of(state, agent, place.now())
    folder = place.paths.conversation_folder(state.conversation_id)
    if seen["blind"] and any(one["tour"] == state.tour for one in seen["own"]):
        keep = False  # it shows a sealed text
    prompt, path = cached_prompt(
        f"{folder}/prompts" if keep else "",
        kind if kind and seen["mayAnswer"] else prompt_kind(seen),
        seen,
        # A dry run makes nothing, not even the key.
        key=run_key(place.paths) if os.path.isdir(folder) else os.urandom(_KEY_BYTES),
        lang=lang or state.lang,
        root=place.root,
        persona=_persona(place, state, agent),
        file=place.paths.conversation_file(state.name),
        way=way or way_of_answering(place.root, place.settings, agent),
        program=program_for(place, agent),
    )
    return prompt, path, seen


def prompt_of(
    place: Place, kind: str, *, name: str = "", agent: str = "", lang: str = "", way: str = ""
) -> str:
    """Return the prompt of a kind that an agent would get now.

    Where the phase of that kind is not under way, or nothing is open, it is what
    the prompt with nothing said.

    Args:
        place: The workspace.
        kind: `turn`, `vote` or `synthesis`.
        name: The conversation, "" for the only open one.
        agent: Who would get it, "" for the one whose turn it is.
        lang: The language, "" for the conversation's.
        way: How it hands in its answer, "" for the way of its runs.

    Raises:
        UsageError: There is no such kind.
        NotFoundError: A conversation is named and not open.

    Source: DL-018, DL-029, DL-030.
    """
    if kind not in PROMPT_KINDS:
        known = (*PROMPT_KINDS, "orchestrator", "worker", "research")
        raise UsageError(f"no prompt {kind!r}", f"choose one of: {', '.join(known)}")
    wanted = agent or place.environ.get("COUNCIL_AGENT", "")
    try:
        state = place.conversations.read(conversation_name(place, name))
    except NotFoundError:
        if name:
            raise
        wanted = wanted or "agent"
        spoken = language(place.settings, lang, place.environ)
        state = sample(kind, wanted, place.now(), spoken)
    else:
        wanted = wanted or (due_agents(state) or tuple(state.participants))[0]
        if not is_under_way(state, kind) and phase_of(state, kind):
            state = untouched(state, kind, wanted, place.now())
        elif not is_under_way(state, kind):
            state = sample(kind, wanted, place.now(), state.lang)
    # One that has nothing to do now reads so instead of being asked.
    return prompt_and_parts(place, state, wanted, lang, kind, keep=False, way=way)[0]


def turn_prompt(place: Place, state: Conversation, agent: str, *, keep: bool = True) -> str:
    """Return the prompt of an agent for the round under way; `keep` it for the next time."""
    return prompt_and_parts(place, state, agent, keep=keep)[0]


def _persona(place: Place, state: Conversation, agent: str) -> str:
    text = persona_of(place.root, place.settings, agent)
    if not text or not is_anonymous(state):
        return text
    from council.core.conversations.anonymity import without_peers

    return without_peers(state, agent, text)


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
        for file in names_in(folder):
            task = split_task_id(file.removesuffix(".md"))
            if task and task[0] == state.conversation_id and task[1] < before:
                remove(f"{folder}/{file}")


def write_notice(place: Place, state: Conversation, notice: Notify) -> None:
    """Inform the coordinator, by a file, that a round began (C0-035)."""
    words = _NOTICE["fr" if state.lang == "fr" else "en"]
    last = state.rounds[-2] if len(state.rounds) > 1 else None
    absent = ", ".join(last.absent) if last and last.absent else words["nobody"]
    text = words["text"].format(
        topic=in_quotes(state.topic),
        before=bare_name(last.phase if last else ""),
        after=bare_name(state.phase),
        tour=state.tour,
        reason=bare_name(last.reason if last else ""),
        absent=bare_name(absent),
        deadline=render_instant(state.timeout_at),
        file=place.paths.conversation_file(state.name),
        name=shell_word(state.name),
        root=shell_word(place.root),
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
Whose answer is awaited: `council status --root {root}`.
To steer: `council say --name {name} --root {root} "…"`.
""",
    },
    "fr": {
        "nobody": "personne",
        "text": """# {topic}

{before} est terminée ({reason}) ; {after} (tour {tour}) a commencé. Absents : {absent}.
La phase se clôt quand tous ont répondu, au plus tard à {deadline}.

La conversation : {file}
Voir qui doit répondre : `council status --root {root}`.
Intervenir : `council say --name {name} --root {root} "…"`.
""",
    },
}


def clean_up(place: Place, state: Conversation) -> None:
    """Take away the prompts that were handed over; run logs and notices stay."""
    take_back(place, state, before=state.tour + 1)
    for file in names_in(place.paths.runs):
        if file.startswith(f"{state.conversation_id}.") and file.endswith(".prompt.md"):
            remove(f"{place.paths.runs}/{file}")


_PROCEDURE = "deliberation"
_OTHERS = ("second", "third")
_LASTING = (
    *("conversation_id", "name", "topic", "brief", "mode", "procedure", "phases", "phase_timeout"),
    *("sealed_phases", "rules", "lang"),
)
_LATER = timedelta(hours=1)


def phase_of(state: Conversation, kind: str) -> str:
    """Return the first phase of a conversation in which a prompt of this kind is given.

    It is "" where the procedure has none; `turn` also means a phase that asks for text.
    """
    procedure = PROCEDURES[state.procedure]
    for name in state.phases:
        asks = "synthesis" if name == SYNTHESIZE else procedure.phase(name).form
        if kind == {"text": "turn"}.get(asks, asks):
            return name
    return ""


def is_under_way(state: Conversation, kind: str) -> bool:
    """Return true if the phase under way is one in which a prompt of this kind is given."""
    wanted = phase_of(state.copy(phases=(state.phase,)), kind)
    return bool(wanted) and state.finished_at is None


def untouched(state: Conversation, kind: str, agent: str, now: datetime) -> Conversation:
    """Return a conversation as it would be if it began with the phase of a prompt.

    Topic, brief, participants and rules stay; `agent` comes first and it is its turn.
    """
    others = [one for one in state.participants.values() if one.id != agent]
    # Who sums up need not take part.
    speaks = agent in state.participants or kind != "synthesis"
    first = [state.participants.get(agent) or Participant(id=agent)] if speaks else []
    fresh = [
        Participant(id=one.id, name=one.name, emoji=one.emoji, role=one.role, model=one.model)
        for one in (*first, *others)
    ]
    began = Conversation(
        **{field: getattr(state, field) for field in _LASTING},
        phase=phase_of(state, kind),
        created_at=now,
        updated_at=now,
        timeout_at=now + state.phase_timeout,
        participants={one.id: one for one in fresh},
        synthesizer=agent if kind == "synthesis" else state.synthesizer,
    )
    return begin(began, now).state


def sample(kind: str, agent: str, now: datetime, lang: str) -> Conversation:
    """Return a deliberation about nothing among `agent` and two others."""
    names = dict.fromkeys((agent, *_OTHERS))
    blank = Conversation(
        conversation_id="sample",
        name="active",
        topic="…",
        brief="…",
        procedure=_PROCEDURE,
        phases=tuple(one.name for one in PROCEDURES[_PROCEDURE].phases),
        phase=PROCEDURES[_PROCEDURE].phases[0].name,
        created_at=now,
        updated_at=now,
        timeout_at=now + _LATER,
        participants={name: Participant(id=name) for name in names},
        sealed_phases=False,
        lang=lang,
    )
    return untouched(blank, kind, agent, now)
