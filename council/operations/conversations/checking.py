"""Checking a conversation's file: is it well formed, was it edited, did agents set their status.

A fault is what a person should know or mend; a notice is what the next
command will take in as it stands. Nothing is written.

Source: C0-006 to C0-010, C0-067, `cli.md` section 2 (`check`).
"""

from __future__ import annotations

import time

from council.core.events import Event
from council.core.record import Record
from council.operations.place import Place
from council.store.statefile import statefile
from council.store.statefile.findings import findings, remarks
from council.store.statefile.marks import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.store.conversations.views import View

_STANDING = {
    "missing": "the file is missing; the next command puts it back",
    "behind": "the file lacks a change that is committed (a command died, or files were copied "
    "meanwhile); the next command shows it",
    "back": "somebody put an earlier text in its place; the next command brings it forward, "
    "unless council adopt takes it as it stands",
    "damaged": "the file was damaged; the next command restores it",
    "newer": "the file was written by a newer council; it is read and never written",
}
_LOOKS = 50
_PAUSE_S = 0.02
# What taking a file in brings and nobody has to worry about; anything else is a fault.
_WELCOME = frozenset(
    (
        "consensus.checked",
        "conversation.imported",
        "contribution.recorded",
        "edit.accepted",
        "phase.changed",
        "round.changed",
        "seal.opened",
        "synthesis.written",
        "turn.incomplete",
        "turn.missed",
        "turn.started",
    )
)


class Checked(Record):
    """What `check` found."""

    name: str
    faults: list[str]
    notices: list[str]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `check --json`."""
        return {
            "name": self.name,
            "ok": not self.faults,
            "findings": self.faults,
            "notices": self.notices,
        }


def check(place: Place, name: str) -> Checked:
    """Look at a conversation's file as it stands.

    Raises:
        NotFoundError: There is none of that name.
        InvalidStateError: It cannot be read at all.
    """
    view = _settled_view(place, name)
    said = _STANDING.get(view.standing)
    faults = [said] if said else []
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
    """Tell whether somebody changed, beyond line ends, what is only a rendering of the state."""
    return (
        view.standing == "edited"
        and not view.events
        and plain(view.text) != plain(view.last)
        and statefile.render(view.state, view.page) == view.last
    )


def _settled_view(place: Place, name: str) -> View:
    """Return the conversation as it stands when nobody is just about to show a change of it."""
    for _ in range(_LOOKS):
        view = place.conversations.page(name, place.now())
        if view.standing != "behind":
            break
        time.sleep(_PAUSE_S)
    return view


def _line(event: Event) -> str:
    """Say what the next command will do with what a person changed."""
    from council.operations.conversations.editing import sentences

    record = {"type": event.type, "agentId": event.agent, "data": event.data}
    for sentence in sentences([record]):
        return f"with the next command: {sentence}"
    details = ", ".join(f"{key}={value}" for key, value in event.data.items() if value is not None)
    who = f" {event.agent}" if event.agent else ""
    return f"not taken in yet: {event.type}{who} {details}".rstrip()
