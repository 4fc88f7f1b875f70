"""Whether a conversation's file is just what its last revision says.

Where it is, its digest names everything that can be known of it, and what was
made of that revision once need not be made again.
"""

from __future__ import annotations

from council.core.ids import is_name
from council.store import files, journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.paths import Workspace


def standing_digest(workspace: Workspace, name: str) -> tuple[str, str]:
    """Return the id of an open conversation and the digest of its file.

    Both are empty when the file is not the last revision, for whatever
    reason; `Conversations.page` knows more then.

    Raises:
        CouncilError: The system refuses, or something else lies in the place of a file.
    """
    pointer = files.read_stable(f"{workspace.open_names}/{name}")
    conversation_id = "" if pointer is None else pointer.data.decode("utf-8", "replace").strip()
    if not is_name(conversation_id.lower()):
        return "", ""
    folder = workspace.conversation_folder(conversation_id)
    tail = journal.read_tail(f"{folder}/journal.jsonl")
    reading = files.read_stable(workspace.conversation_file(name))
    if tail is None or reading is None or tail.record.get("closing", {}).get("done"):
        return "", ""
    digest = str(tail.record["digest"])
    return (conversation_id, digest) if digest == reading.digest else ("", "")
