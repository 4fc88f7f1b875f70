"""The contributions of a blind phase, out of sight until the phase closes.

Each lies in a file of its own, named by its salted digest, readable by the
owner alone. Which ones count is decided by the state: the digest that stands
with the participant.

Source: C0-048, A-05, `trust.md` (the seal), `store.md` section 1.
"""

from __future__ import annotations

import json

from council.core.conversations.answers import sealed_digest
from council.core.conversations.conversation import Conversation, Origin, SealedText
from council.core.errors import InvalidStateError, RefusedError, StorageError
from council.core.nesting import read_json
from council.core.times import parse_instant
from council.store import files


def write_sealed(folder: str, sealed: SealedText) -> None:
    """Put a sealed text away, durably; the same one twice is one.

    Raises:
        CouncilError: The system refuses.
    """
    record = sealed.as_json("agent tour text nonce at status origin task drafts")
    data = json.dumps(record).encode("ascii") + b"\n"
    path = f"{folder}/{sealed_digest(sealed.nonce, sealed.text)}.json"
    standing = files.read_stable(path)
    if standing is not None and standing.data == data:
        # Whoever wrote it may have died before its name was on the disk.
        files.sync_folder(folder)
    elif not files.write_new(path, data, mode=0o600):
        files.replace(path, data, mode=0o600)


def read_sealed(
    folder: str, state: Conversation, *, just_looking: bool = False
) -> dict[str, SealedText]:
    """Return the sealed texts that the state commits to, by agent.

    What is missing or was altered is left out. What cannot be read now is
    there all the same: whoever goes on to write without it would lose it.

    Args:
        folder: Where they lie.
        state: Says which ones count.
        just_looking: Leave out what cannot be read, too; nothing follows from it.

    Raises:
        CouncilError: The system refuses to read one.
    """
    found = {}
    for participant in state.participants.values():
        if participant.sealed:
            try:
                sealed = _read_one(folder, participant.sealed)
            except (RefusedError, StorageError):
                if not just_looking:
                    raise
                continue
            if sealed is not None and sealed.agent == participant.id:
                found[participant.id] = sealed
    return found


def _read_one(folder: str, digest: str) -> SealedText | None:
    if set(digest) - frozenset("0123456789abcdef"):
        return None
    try:
        standing = files.read_stable(f"{folder}/{digest}.json")
        if standing is None:
            return None
        record = read_json(standing.data)
        sealed = SealedText(
            agent=record["agent"],
            tour=record["tour"],
            text=record["text"],
            nonce=record["nonce"],
            at=parse_instant(record["at"]),
            status=record["status"],
            origin=Origin(record["origin"]),
            task=record["task"],
            drafts=record.get("drafts") or [one for one in (record.get("draft"),) if one],
        )
    except (ValueError, TypeError, KeyError, AttributeError, InvalidStateError):
        return None
    return sealed if sealed_digest(sealed.nonce, sealed.text) == digest else None


def names_of(state: Conversation) -> set[str]:
    """Return the names of the files that the state still commits to."""
    return {f"{one.sealed}.json" for one in state.participants.values() if one.sealed}
