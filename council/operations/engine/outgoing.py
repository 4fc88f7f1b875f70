"""What is said while the engine is out of reach: it waits here, and is sent once when it is back.

Only what adds something said can wait; whatever changes how things stand is refused. A file
stands for each call, in a folder of the user's own, named by its time, the id under which it
counts once and a digest of what was asked. It holds the values of the call and who made it. An
answer is kept with the task of its round, so that it is recorded there, or late.

Source: EN-005, OP-008.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress

from council.core.errors import (
    TRANSIENT,
    CouncilError,
    KeptError,
    LockTimeoutError,
    MovedOnError,
    NotFoundError,
    RefusedError,
    StorageError,
    TimedOutError,
    UnreachableError,
)
from council.core.events import Event
from council.core.ids import sha256_hex, task_id
from council.core.record import Any, Record
from council.operations.place import Place, is_inside, open_place
from council.store import files, outbox
from council.store.conversations.naming import pointer_of
from council.store.events import append, loose_records
from council.store.lock import Lock

# The calls that can wait, and where they are found.
CALLS = {
    "respond": "conversations.answer",
    "inject": "conversations.steer",
    "post": "rooms.channels",
    "message": "delegation.delegating",
    "send": "protocol.sending",
    "request": "protocol.asking",
    "choose": "protocol.asking",
}
_IN_CONVERSATIONS = ("respond", "inject")
_SAID_BY = ("COUNCIL_", "LANG", "LC_")
# The records among the values of calls, and where they are found.
_RECORDS = {
    "Stated": "council.operations.conversations.stating",
    "Response": "council.core.reading_answers.turns",
    "Request": "council.operations.delegation.handing_over",
}
_KIND = "$kind"
_KEY_DIGITS = 16
_REFUSED = ".refused"
_PATIENCE_S = 5.0


def done_or_kept(
    place: Place, call: Callable[..., Any], words: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Do what is asked, or keep it where the engine is out of reach.

    Raises:
        KeptError: It is kept.
        CouncilError: It is refused, now or by what is known here.
    """
    if named.get("check"):
        return call(place, *words, **named)
    asked = {"call": call.__name__, "words": words, "named": named, "environ": _caller(place)}
    key = sha256_hex(_encoded(asked))[:_KEY_DIGITS]
    path = next((one for one in waiting(place) if one.endswith(key)), "")
    entry = _entry(path) if path else None
    if entry is None:  # none waits, or it was sent just now
        path = ""
    try:
        done = _done(place, path, entry, place) if entry else call(place, *words, **named)
    except UnreachableError as away:
        place.engine.rest(away)  # type: ignore[union-attr]
        said = "" if path else _pinned(place, call, asked)
        if isinstance(said, Record):
            return said
        raise KeptError(path or _keep(place, asked, key), away) from None
    if path:
        files.remove(path)
    elif waiting(place):
        from council.operations.detach import wake_next

        wake_next(place)
    return done


def waiting(place: Place, ending: str = "") -> list[str]:
    """Return the files of what waits for the engine, the oldest first; or of what was refused."""
    folder = _folder(place)
    dots = 3 if ending else 2
    names = [one for one in files.names_in(folder) if one.count(".") == dots]
    return [f"{folder}/{one}" for one in sorted(names) if one.endswith(ending)]


def refused(place: Place) -> list[tuple[str, str]]:
    """Return the file of each call that waited and was refused, and why."""
    found = waiting(place, _REFUSED)
    return [(one, str((_entry(one) or {}).get("refused", "it is damaged"))) for one in found]


def send(place: Place) -> None:
    """Send what waits, in the order in which it was said; a heartbeat and a supervisor do it.

    Raises:
        TimedOutError: The engine is not reached, or another process sends for too long; the
            rest waits on.
        StorageError: The system refuses; the rest waits on.
    """
    if not waiting(place):
        return
    try:
        with Lock(f"{_folder(place)}/lock", _PATIENCE_S):
            for path in waiting(place):
                _send(place, path)
    except (LockTimeoutError, MovedOnError) as late:
        raise TimedOutError(late.message, late.hint) from None


def _send(place: Place, path: str) -> None:
    entry = _entry(path)
    if entry is None:
        with suppress(FileNotFoundError):  # the same command, given again, has done it
            os.rename(path, path + _REFUSED)
        return
    told = {"call": str(entry.get("call")), "outcome": "sent", "reason": "", "file": ""}
    try:
        told["outcome"] = _outcome(_done(place, path, entry, None))
    except (*TRANSIENT, StorageError, OSError):
        raise
    except Exception as error:  # one that can never be sent must not hold up the others
        said = error.message if isinstance(error, CouncilError) else f"{error!r}"
        told |= {"outcome": "refused", "reason": said}
        kept = path + _REFUSED
        if entry.get("call") == "respond":
            from council.operations.conversations.answer import keep_refused

            _, agent, text, *_ = entry["words"]
            kept = keep_refused(place, agent, text) or kept
        told["file"] = os.path.relpath(kept, place.root)
        data = _encoded({**entry, "refused": f"{said}; the text is in {told['file']}"})
        files.replace(path + _REFUSED, data, mode=0o600)
    event = Event(type="kept.sent", data=told)
    append(place.paths, loose_records([event], str(entry.get("conversation", "")), place.now()))
    files.remove(path)


def _outcome(done: Any) -> str:
    """Return what became of a call, by what it answered.

    Raises:
        RefusedError: That was a refusal.
    """
    done = done[1] if isinstance(done, tuple) else done
    found = getattr(done, "outcome", "") or getattr(done, "status", "") or "sent"
    if found in ("refused", "rejected"):
        raise RefusedError(getattr(done, "reason", "") or getattr(done, "summary", "") or found)
    return "sent" if found == "ok" else str(found)


def _done(place: Place, path: str, entry: dict[str, Any], by: Place | None) -> Any:
    """Carry a call out that waited, under the id under which it was kept.

    Args:
        place: The workspace.
        path: Its file.
        entry: What that says.
        by: The workspace as its caller has it, None to open it so.
    """
    call, words = entry["call"], entry["words"]
    if by is None:
        own = {name: one for name, one in place.environ.items() if not name.startswith(_SAID_BY)}
        if "COUNCIL_NOW" in place.environ:
            own["COUNCIL_NOW"] = place.environ["COUNCIL_NOW"]
        by = open_place(place.root, "", {**own, **entry["environ"]})
    if call in _IN_CONVERSATIONS:
        standing = pointer_of(place.paths, words[0])
        if standing and standing != entry["conversation"]:
            raise NotFoundError(f"the conversation {words[0]} that this was said in is over")
    module = __import__(f"council.operations.{CALLS[call]}", fromlist=("",))
    with outbox.resumed(os.path.basename(path).split(".")[1]):
        return getattr(module, call).__wrapped__(by, *words, **entry["named"])


def _pinned(place: Place, call: Callable[..., Any], asked: dict[str, Any]) -> Any:
    """Note what a call is meant for as things stand here.

    Returns:
        What is answered at once to words that stand already, None otherwise.

    Raises:
        CouncilError: It is refused by what is known here.
    """
    if asked["call"] in _IN_CONVERSATIONS:
        asked["conversation"] = pointer_of(place.paths, asked["words"][0])
    if asked["call"] != "respond":
        return None
    named = asked["named"]
    seen = call(place, *asked["words"], **{**named, "check": True})
    if seen.outcome == "already-recorded":
        return seen
    pinned = named.get("task") or task_id(seen.conversation_id, seen.tour, seen.agent, 1)
    asked["named"] = {**named, "task": pinned}
    return None


def _keep(place: Place, asked: dict[str, Any], key: str) -> str:
    """Keep a call durably; return its file."""
    folder = _folder(place)
    outbox.make_folder(folder)
    files.sync_folder(os.path.dirname(folder))
    path = f"{folder}/{time.time_ns():016x}.{outbox.own_id()}.{key}"
    files.replace(path, _encoded(asked), mode=0o600)
    return path


def _folder(place: Place) -> str:
    return f"{place.paths.outbox}/{os.getuid()}.waiting"


def _caller(place: Place) -> dict[str, str]:
    """Return the variables that say who calls; the clock of one is not that of its sender."""
    found = {name: one for name, one in place.environ.items() if name.startswith(_SAID_BY)}
    if not is_inside(place.environ):
        found.pop("COUNCIL_NOW", None)
    return found


def _encoded(asked: dict[str, Any]) -> bytes:
    text = json.dumps(asked, default=_as_json, ensure_ascii=False, indent=1)
    return text.encode("utf-8", "surrogatepass")


def _entry(path: str) -> dict[str, Any] | None:
    """Return what a file says, None where it has gone or is damaged."""
    try:
        found = json.loads(files.content_of(path), object_hook=_from_json)
        return {**found, **{one: found[one] for one in ("call", "words", "named", "environ")}}
    except (ValueError, TypeError, LookupError):
        return None


def _as_json(one: Record) -> dict[str, Any]:
    return {_KIND: type(one).__name__, **{name: getattr(one, name) for name in one._fields}}


def _from_json(found: dict[str, Any]) -> Any:
    if _KIND not in found:
        return found
    kind = found.pop(_KIND)
    return getattr(__import__(_RECORDS[kind], fromlist=("",)), kind)(**found)
