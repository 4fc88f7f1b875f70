"""`council context`: exactly what an agent may see now.

Agents ask again and again, and mostly nothing has changed. So beside each
prompt that is kept lies a note of what it was made from: the digest of the
file, the agent, its persona, the templates. As long as that is the same, the
prompt is shown as it is, and the conversation is not even parsed. The note is
only ever a shortcut; where anything is in doubt the prompt is made anew.

Source: C0-041, C0-047, `cli.md` section 2.
"""

from __future__ import annotations

import json
import os

from council import __version__
from council.core.errors import CouncilError, NotFoundError
from council.core.ids import sha256_hex
from council.core.record import Any, Record
from council.operations.conversations import kept_prompts
from council.operations.place import Place, program_for
from council.store.agents import persona_of, way_of_answering
from council.store.conversations.views import standing_digest
from council.store.keys import run_key


class Seen(Record):
    """What `council context` shows: the parts, and the prompt made of them."""

    parts: dict[str, Any] | None
    prompt: str


def context(
    place: Place, name: str, agent: str, lang: str = "", *, parts: bool = False, way: str = ""
) -> Seen:
    """Return exactly what `agent` may see of a conversation now.

    Args:
        place: The workspace.
        name: The conversation.
        agent: Who reads it.
        lang: The language of the prompt, "" for the conversation's.
        parts: Only the parts are wanted, else only the prompt.
        way: How it hands in its answer, "" for the way of its runs.

    Raises:
        NotFoundError: No such conversation is open; says where the minutes are if it is over.
    """
    try:
        if parts:
            from council.core.conversations.sight import parts as parts_of

            place.conversations.require_adopted(name)
            state = place.conversations.read(name)
            return Seen(parts=parts_of(state, agent, place.now()), prompt="")
        way = way or way_of_answering(place.root, place.settings, agent)
        note = _note_path(place, name, agent, lang, way)
        kept = kept_prompts.read_noted(note, place.now().timestamp()) if note else None
        made = _made(place, name, agent, lang, way, note) if kept is None else kept
        return Seen(parts=None, prompt=made)
    except NotFoundError as error:
        from council.operations.conversations.recalling import explained

        raise explained(place, name, error) from None


def _made(place: Place, name: str, agent: str, lang: str, way: str, note: str) -> str:
    """Make a prompt, and note what it was made from."""
    from council.operations.conversations.prompting import prompt_and_parts

    place.conversations.require_adopted(name)
    state = place.conversations.read(name)
    prompt, path, seen = prompt_and_parts(place, state, agent, lang, way=way)
    # The revision that was read is the noted one only if that is still the last.
    if note and os.path.dirname(note) == os.path.dirname(path):
        again = _note_path(place, name, agent, lang, way)
        ends = None if state.finished_at is not None else state.timeout_at.timestamp()
        since, until = (ends, None) if seen["overdue"] else (None, ends)
        if again == note:
            kept_prompts.note(note, path, since, until)
    return prompt


def _note_path(place: Place, name: str, agent: str, lang: str, way: str) -> str:
    """Return where the note of this prompt would lie, "" where none can be trusted."""
    try:
        conversation_id, digest = standing_digest(place.paths, name)
        if not conversation_id:
            return ""
        made_from = [
            __version__,
            digest,
            agent,
            lang,
            place.settings.language,
            persona_of(place.root, place.settings, agent),
            way,
            program_for(place, agent),
            run_key(place.paths).hex(),
            place.paths.conversation_file(name),
            kept_prompts.stamps(place.root, *kept_prompts.LANGUAGES),
        ]
    except CouncilError:
        return ""  # the one that reads the conversation says what is wrong
    text = json.dumps(made_from, ensure_ascii=True)
    folder = place.paths.conversation_folder(conversation_id)
    return f"{folder}/prompts/{sha256_hex(text.encode('ascii'))}.note"
