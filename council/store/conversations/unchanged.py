"""Whether a conversation's file is just what its last revision says.

Where it is, its digest names everything that can be known of it, and what was
made of that revision once need not be made again.
"""

from __future__ import annotations

from council.core.errors import CouncilError
from council.core.ids import is_name
from council.store import files
from council.store.documents import journal
from council.store.statefile import statefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Conversation
    from council.store.documents.journal import Tail
    from council.store.files import Reading
    from council.store.paths import Workspace


def standing_digest(workspace: Workspace, name: str) -> tuple[str, str]:
    """Return the id of an open conversation and the digest of its file.

    Both are empty when the file is not the last revision, for whatever
    reason; `Conversations.page` knows more then.

    Raises:
        CouncilError: The system refuses, or something else lies in the place of a file.
    """
    conversation_id, found = _standing(workspace, name)
    return ("", "") if found is None else (conversation_id, found[1].digest)


def standing_state(workspace: Workspace, name: str) -> Conversation | None:
    """Return an open conversation whose file is its last revision, else None.

    It takes no lock. None is no judgement: `Conversations.page` knows more
    then, and says what is wrong.
    """
    try:
        _, found = _standing(workspace, name)
        if found is None:
            return None
        return statefile.load(found[1].data.decode("utf-8"), name)[0]
    except CouncilError:
        return None


def _standing(workspace: Workspace, name: str) -> tuple[str, tuple[Tail, Reading] | None]:
    """Return the id of an open conversation, and its last line and file if they agree."""
    pointer = files.read_stable(f"{workspace.open_names}/{name}")
    conversation_id = "" if pointer is None else pointer.data.decode("utf-8", "replace").strip()
    if not is_name(conversation_id.lower()):
        return "", None
    tail = journal.read_tail(f"{workspace.conversation_folder(conversation_id)}/{journal.FILE}")
    reading = files.read_stable(workspace.conversation_file(name))
    if tail is None or reading is None or tail.head.get("closing", {}).get("done"):
        return "", None
    agree = str(tail.head["digest"]) == reading.digest
    return (conversation_id, (tail, reading)) if agree else ("", None)
