"""Events in the form of others: CloudEvents, OpenTelemetry.

Source: IO-001, IO-003, `cli.md` section 2 (`events export`).
"""

from __future__ import annotations

import os

from council.core.reporting.stories import belongs
from council.operations.place import Place
from council.operations.reporting.story import subject, unknown
from council.store.events import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLOUDEVENTS, OTLP = "cloudevents", "otlp-json"
FORMATS = (CLOUDEVENTS, OTLP)


def cloud_events(place: Place, *, since: str = "", about: str = "") -> Iterator[dict[str, Any]]:
    """Yield the events of the log as CloudEvents.

    Args:
        place: The workspace.
        since: The first day wanted (`2026-02-08`), "" for all.
        about: What they must belong to the story of, "" for all.

    Raises:
        NotFoundError: Nothing is known of `about`.
    """
    from council.core.reporting.cloud_events import cloud_event

    for event in _events(place, since, about):
        yield cloud_event(event, os.path.basename(place.root))


def otlp(place: Place, *, since: str = "", about: str = "") -> dict[str, Any]:
    """Return the events of the log as spans, in one request of the OpenTelemetry protocol.

    Raises:
        NotFoundError: Nothing is known of `about`.
    """
    from council import __version__
    from council.core.reporting.spans import trace_export
    from council.store.agents import agent, known_agents

    known = known_agents(place.root, place.settings)
    names = {one: agent(place.root, place.settings, one).name for one in known}
    return trace_export(
        _events(place, since, about),
        names=names,
        root_name=os.path.basename(place.root),
        version=__version__,
    )


def _events(place: Place, since: str, about: str) -> Iterator[dict[str, Any]]:
    wanted = subject(place, about) if about else None
    is_known = wanted is None or bool(wanted.name)
    for event in tail(place.paths, since=since):
        if wanted is not None and not belongs(event, wanted):
            continue
        is_known = True
        if all(event.get(key) for key in ("type", "traceId", "at")):
            yield event
    if wanted is None or is_known:
        return
    if not any(belongs(event, wanted) for event in tail(place.paths)):
        raise unknown(about)
