"""The mark of a replica: what was brought last, when, and what other machines can run.

Source: EN-003, EN-005.
"""

from __future__ import annotations

import json

from council.core.reading import read_json
from council.core.record import Record
from council.operations.place import Place
from council.store import files, notes

_SCHEMA_VERSION = 1


class Pulled(Record):
    """What the mark says.

    Args:
        offset: By how many seconds the clock of the database is ahead of this machine's.
        since: From where on the heads of the database are news.
        at: When it was brought, in seconds of this machine's clock.
        left: Streams that could not be brought, with the reason; they are tried again.
        runs: The agents that other machines can run, by the machine.
    """

    _keys = "offset since at left runs"

    offset: float = 0.0
    since: str = ""
    at: float = 0.0
    left: dict[str, str] = {}
    runs: dict[str, list[str]] = {}


def read_pulled(place: Place) -> Pulled:
    """Return what the mark says; of one that is missing or torn, that nothing was brought."""
    try:
        said = read_json(files.content_of(place.paths.pulled))
        return Pulled(
            offset=float(said["offset"]),
            since=str(said["since"]),
            at=float(said["at"]),
            left={str(stream): str(why) for stream, why in said["left"].items()},
            runs={str(one): list(map(str, agents)) for one, agents in said["runs"].items()},
        )
    except (ValueError, TypeError, LookupError, AttributeError):
        return Pulled()


def write_pulled(place: Place, pulled: Pulled) -> None:
    """Keep the mark.

    Raises:
        CouncilError: The system refuses.
    """
    said = {"schemaVersion": _SCHEMA_VERSION, **pulled.to_record()}
    files.make_folder(place.paths.control)
    files.replace(place.paths.pulled, json.dumps(said).encode() + b"\n", mode=0o600)


def was_missed(place: Place) -> bool:
    """Return true if the engine was not reached when it was tried last; nothing is asked of it."""
    return missed_at(place) > read_pulled(place).at


def missed_at(place: Place) -> float:
    """Return when the engine was not reached last, in seconds of this machine's clock; or 0."""
    try:
        return float(notes.text_in(_missed(place)) or 0)
    except ValueError:  # a power cut leaves zeros
        return 0.0


def note_missed(place: Place, at: float) -> None:
    """Note that the engine was not reached at an instant, in seconds of this machine's clock."""
    notes.write_text(_missed(place), f"{at:.3f}")


def _missed(place: Place) -> str:
    return f"{place.paths.pulled}.missed"
