"""Events in the form of others: CloudEvents 1.0 in their JSON format, OpenTelemetry.

Source: IO-001, IO-003, `cli.md` section 2 (`events export`).
"""

from __future__ import annotations

import os

from council.core.events import SCHEMA_VERSION
from council.core.reporting.trace_context import traceparent
from council.operations.place import Place
from council.operations.reporting.story import belongs, subject, unknown
from council.store.events import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLOUDEVENTS, OTLP = "cloudevents", "otlp-json"
FORMATS = (CLOUDEVENTS, OTLP)
TYPE_PREFIX = "dev.council."

# Names of extension attributes are lower-case letters and digits, their values plain.
_EXTENSIONS = {
    "traceid": "traceId",
    "agentid": "agentId",
    "conversationid": "conversationId",
    "fromagent": "fromAgentId",
    "toagent": "toAgentId",
    "taskhash": "taskHash",
}


def cloud_events(place: Place, *, since: str = "", about: str = "") -> Iterator[dict[str, Any]]:
    """Yield the events of the log as CloudEvents.

    Args:
        place: The workspace.
        since: The first day wanted (`2026-02-08`), "" for all.
        about: What they must belong to the story of, "" for all.

    Raises:
        NotFoundError: Nothing is known of `about`.
    """
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


def cloud_event(event: dict[str, Any], root_name: str) -> dict[str, Any]:
    """Return an event of the log as a CloudEvent.

    Args:
        event: The event as it stands in its line.
        root_name: The name of the workspace's folder.
    """
    from urllib.parse import quote

    data = dict(event.get("data") or {})
    about = str(data.get("task") or event.get("conversationId") or "")
    made: dict[str, Any] = {
        "specversion": "1.0",
        "id": event["eventId"],
        "source": f"/council/{quote(root_name, safe='')}",
        "type": f"{TYPE_PREFIX}{event['type']}",
        "time": event["at"],
        "datacontenttype": "application/json",
        "dataschema": f"urn:council:event:{event.get('schemaVersion', SCHEMA_VERSION)}",
    }
    if about:
        made["subject"] = about
    for name, key in _EXTENSIONS.items():
        if event.get(key):
            made[name] = event[key]
    made["traceparent"] = traceparent(str(event["traceId"]), about or str(event["eventId"]))
    for key in ("limits", "artifactIds"):
        if key in event:
            data[key] = event[key]
    made["data"] = data
    return made
