"""A person's edit of the file itself, and what differs between two texts of it.

The editor works on a copy, so that people who edit at the same time cannot
save over each other. No lock is held while it is open. What was changed in the
copy is taken in under the same rules as a save over the live file, at once,
and the person reads what became of it.

`check` asks of a file: is it well formed, was it edited, did agents set their status? A
fault is what a person should know or mend; a notice is what the next command will take
in as it stands. Nothing is written.

Source: C0-019, C0-078, `cli.md` section 2 (`edit`, `diff`), `store.md` section 3, C0-006 to
C0-010, C0-067, `cli.md` section 2 (`check`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from council.core.conversations import due, machine
from council.core.conversations.conversation import Conversation
from council.core.errors import ConflictError, CouncilError, InvalidInputError, NotFoundError
from council.core.events import Event
from council.core.ids import is_conversation_name
from council.core.record import Record
from council.core.times import render_instant
from council.operations.conversations.steer import PERSON
from council.operations.detach import wake_next
from council.operations.place import Place
from council.operations.view import readable
from council.store.conversations.naming import Places, decoded
from council.store.conversations.views import View
from council.store.events import tail
from council.store.files import make_folder, paths_in, read_stable, write_new
from council.store.statefile import statefile
from council.store.statefile.claims import findings, remarks
from council.store.statefile.marks import plain

if TYPE_CHECKING:
    from council.store.conversations.views import Revision

LIVE = "live file"
_LOOSE = frozenset(("edit.reverted", "file.restored", "journal.behind"))


class TakenIn(Record):
    """What became of what an editor saved.

    `events` are those of the revisions that took it in, `kept` the files in
    which lies what could not be merged, `code` how the editor ended.
    """

    state: Conversation
    path: str
    changed: bool
    code: int
    events: list[dict[str, Any]]
    kept: list[str]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `edit --json`."""
        return {
            **self.state.as_json("name conversation_id rev"),
            **self.as_json("changed code:editorCode events kept"),
        }


def edit(place: Place, name: str, open_editor: Callable[[str], int]) -> TakenIn:
    """Let a person edit a copy of the file, then take in at once what they changed.

    Args:
        place: The workspace.
        name: The conversation.
        open_editor: Opens the file at a path, waits, returns the editor's exit code.

    Raises:
        NotFoundError: There is no such conversation.
        ConflictError: It was archived while the editor was open.
        CouncilError: What `open_editor` raises, or the store.
    """
    before = _take_in(place, name)
    conversation_id = before.conversation_id
    kept_before = set(_kept(place, name, conversation_id))
    said_before = {one["eventId"] for one in _loose_events(place, conversation_id)}
    path = place.paths.conversation_file(name)
    copy, text = _copy_of(path)
    code = open_editor(copy)
    saved = _saved(copy)
    try:
        if saved != text:
            place.conversations.take_in(name, saved, now=place.now())
        state = _take_in(place, name)
    except CouncilError as error:
        if saved == text:
            raise
        ended = isinstance(error, NotFoundError)
        said = f"{name} ended while you edited it" if ended else error.message
        kept_in = _put_aside(place, name, conversation_id, copy, saved)
        raise ConflictError(said, f"what you saved is kept in {kept_in}") from error
    shutil.rmtree(os.path.dirname(copy), ignore_errors=True)
    if due.pending(state, place.now(), backoff=place.settings.retry_backoff):
        wake_next(place)
    history = place.conversations.history(name)
    revisions = [one for one in history if one.rev > before.rev and one.actor == "external"]
    found = _loose_events(place, conversation_id)
    loose = [one for one in found if one["eventId"] not in said_before and one["type"] in _LOOSE]
    return TakenIn(
        state=state,
        path=path,
        changed=bool(revisions),
        code=code,
        events=[event for one in revisions for event in one.events] + loose,
        kept=[one for one in _kept(place, name, conversation_id) if one not in kept_before],
    )


def _copy_of(path: str) -> tuple[str, bytes]:
    """Return the path of a private copy of the live file, and its bytes."""
    reading = read_stable(path)
    if reading is None:
        raise NotFoundError(f"{path} is not there", "see: council check")
    copy = os.path.join(tempfile.mkdtemp(prefix="council-edit-"), os.path.basename(path))
    with open(copy, "xb") as file:
        file.write(reading.data)
    return copy, reading.data


def _saved(copy: str) -> bytes:
    try:
        with open(copy, "rb") as file:
            return file.read()
    except OSError as error:
        raise InvalidInputError(
            f"the editor left nothing to read in {copy}: {error.strerror}", "nothing was changed"
        ) from None


def _put_aside(place: Place, name: str, conversation_id: str, copy: str, saved: bytes) -> str:
    """Keep what could not be taken in beside the conversation, else where the copy lies."""
    path = f"{Places(place.paths, name, conversation_id).conflicts}/{os.urandom(12).hex()}.txt"
    try:
        make_folder(os.path.dirname(path), 0o700)
        write_new(path, saved, mode=0o600)
    except CouncilError:
        return copy
    shutil.rmtree(os.path.dirname(copy), ignore_errors=True)
    return path


def _take_in(place: Place, name: str) -> Conversation:
    """Have taken in whatever stands in the file, and take the steps that are due after it."""
    now = place.now()
    return place.conversations.edit(
        name, lambda state: machine.advance(state, now), actor=PERSON, now=now
    ).state


def _kept(place: Place, name: str, conversation_id: str) -> list[str]:
    return paths_in(Places(place.paths, name, conversation_id).conflicts)


def _loose_events(place: Place, conversation_id: str) -> list[dict[str, Any]]:
    """Return the events of a conversation since yesterday that stand in no revision."""
    found = tail(place.paths, since=render_instant(place.now())[:10])
    mine = f"{conversation_id}:x"
    return [one for one in found if str(one.get("eventId", "")).startswith(mine)]


def sentences(events: list[dict[str, Any]]) -> list[str]:
    """Return one line for each event that a person who edited the file wants to read."""
    told = []
    for event in events:
        words = _SENTENCES.get(str(event["type"]))
        if words is not None:
            data = {key: _shown(value) for key, value in event.get("data", {}).items()}
            wished = "taken out" if data.get("value") in (None, "nothing") else data["value"]
            facts = _Facts(data, agent=str(event.get("agentId") or ""), wished=wished)
            told.append(words.format_map(facts).strip())
    return told


class _Facts(dict[str, str]):
    """What a sentence may name; what an event does not hold is shown as None."""

    def __missing__(self, _: str) -> str:
        return "None"


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value) or "none"
    return "nothing" if value in (None, "") else " ".join(str(value).split())


_SENTENCES = {
    "edit.accepted": "accepted: {field}: {old} → {new}",
    "edit.refused": "refused: {field} {wished}: {reason}",
    "edit.conflict": "two values: {field} is {json} in the state block and {line} in its line; "
    "the block counts",
    "edit.reverted": "restored: the file was put back to an older text; to take it as it stands: "
    "council adopt",
    "file.restored": "restored: the file was missing",
    "journal.behind": "taken up: a later revision than the journal knew",
    "brief.restored": "restored: the brief; nobody changes it after the start",
    "contribution.restored": "restored: contribution {entry} of {agent}, which was {reason}",
    "block.restored": "restored: the state block ({reason})",
    "contribution.recorded": "taken in: the contribution of {agent}",
    "contribution.late": "taken in as late: a text of {agent}",
    "synthesis.written": "taken in: the synthesis of {agent}",
    "note.found": "kept as a note: text in the section of {agent}, whose status did not change",
    "phase.changed": "the phase changed ({reason})",
    "round.changed": "round {tour} began ({reason})",
}


class Difference(Record):
    """What differs between two texts of a conversation, as lines of a unified diff.

    `other` is None for the live file. `hidden` says that the texts differ in
    marks and state block alone, which the lines leave out.
    """

    name: str
    rev: int
    other: int | None
    lines: list[str]
    hidden: bool

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `diff --json`."""
        changes = [line for line in self.lines if not line.startswith(("---", "+++"))]
        return {
            **self.as_json("name rev:from other:to"),
            "changed": bool(self.lines) or self.hidden,
            "added": sum(line.startswith("+") for line in changes),
            "removed": sum(line.startswith("-") for line in changes),
            "diff": "\n".join(self.lines),
        }


def difference(
    place: Place, name: str, rev: int, other: int | None, *, whole: bool = False
) -> Difference:
    """Return what differs between two revisions, or a revision and the file as it is now.

    A revision whose text was pruned is rebuilt from what was said.

    Args:
        place: The workspace.
        name: The conversation, open or ended, as for `recall`.
        rev: The revision to start from.
        other: The revision to go to, None for the live file; for an ended conversation its last.
        whole: Whether marks and the state block count, too.

    Raises:
        NotFoundError: There is no such revision, or nothing shows it any more.
    """
    from difflib import unified_diff

    from council.operations.conversations.replay import replayed

    found = replayed(place, name)
    first, names = found.text_at(rev), (_title(found.revision(rev)), LIVE)
    second = _live_text(place, found.known) if other is None else None
    if second is None:
        last = found.revisions[-1].rev if other is None else other
        second, names = found.text_at(last), (names[0], _title(found.revision(last)))
    texts = [text.removeprefix("\ufeff").replace("\r\n", "\n") for text in (first, second)]
    shown = texts if whole else [readable(text) for text in texts]
    lines = list(
        unified_diff(shown[0].split("\n"), shown[1].split("\n"), names[0], names[1], lineterm="")
    )
    return Difference(
        name=found.state.name if found.state is not None else found.known,
        rev=rev,
        other=other,
        lines=lines,
        hidden=not lines and texts[0] != texts[1],
    )


def _title(one: Revision) -> str:
    return f"revision {one.rev} ({one.at}{', rebuilt' if one.hole else ''})"


def _live_text(place: Place, known: str) -> str | None:
    """Return the file of an open conversation, None where there is none."""
    if not is_conversation_name(known):
        return None
    reading = read_stable(place.paths.conversation_file(known))
    return None if reading is None else decoded(reading.data)


_STANDING = {
    "missing": "the file is missing; the next command puts it back",
    "behind": "the file lacks a change that is committed (a command died, or files were copied "
    "meanwhile); the next command shows it",
    "back": "somebody put an earlier text in its place; the next command brings it forward, "
    "unless council adopt takes it as it stands",
    "damaged": "the file was damaged; the next command restores it",
    "newer": "the file was written by a newer council; it is read and never written",
}
_TRIES = 50
_PAUSE_S = 0.02
# What taking a file in brings that needs no person's care; anything else is a fault.
_WELCOME = frozenset(
    (
        *("consensus.checked", "conversation.imported", "contribution.recorded", "edit.accepted"),
        *("phase.changed", "round.changed", "seal.opened", "synthesis.written"),
        *("turn.incomplete", "turn.missed", "turn.started"),
    )
)


class Checked(Record):
    """What `check` found."""

    name: str
    faults: list[str]
    notices: list[str]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `check --json`."""
        found = self.as_json("faults:findings notices")
        return {"name": self.name, "ok": not self.faults, **found}


def check(place: Place, name: str) -> Checked:
    """Read a conversation's file as it stands.

    Raises:
        NotFoundError: There is none of that name.
        InvalidStateError: It cannot be read at all.
    """
    view = _settled_view(place, name)
    faults = [_STANDING[view.standing]] if view.standing in _STANDING else []
    notices: list[str] = []
    for event in view.events:
        (notices if event.type in _WELCOME else faults).append(_line(event))
    if _is_without_effect(view):
        notices.append("lines that the tool writes were changed: its next change writes them again")
    page = view.page
    if view.standing in ("unknown", "edited"):
        # What counts beyond the events is the file as it will be once it is taken in.
        page = statefile.parse(statefile.render(view.state, page))
    return Checked(
        name=name,
        faults=faults + findings(view.state, page),
        notices=notices + remarks(view.state),
    )


def _is_without_effect(view: View) -> bool:
    """Return true if a person changed, beyond line ends, what is only a rendering of the state."""
    if view.standing != "edited" or view.events or plain(view.text) == plain(view.last):
        return False
    return statefile.render(view.state, view.page) == view.last


def _settled_view(place: Place, name: str) -> View:
    """Return the conversation as it stands when no process is about to show a change of it."""
    for _ in range(_TRIES):
        view = place.conversations.page(name, place.now())
        if view.standing != "behind":
            break
        time.sleep(_PAUSE_S)
    return view


def _line(event: Event) -> str:
    """Say what the next command will do with what a person changed."""
    record = {"type": event.type, "agentId": event.agent, "data": event.data}
    for sentence in sentences([record]):
        return f"with the next command: {sentence}"
    details = ", ".join(f"{key}={value}" for key, value in event.data.items() if value is not None)
    who = f" {event.agent}" if event.agent else ""
    return f"not taken in yet: {event.type}{who} {details}".rstrip()
