"""Events as CloudEvents 1.0, in their JSON format.

Source: IO-001.
"""

from __future__ import annotations

from council.core.events import SCHEMA_VERSION
from council.core.reporting.trace_context import traceparent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def cloud_event(event: dict[str, Any], root_name: str) -> dict[str, Any]:
    """Return an event of the log as a CloudEvent.

    Args:
        event: The event as it stands in its line.
        root_name: The name of the workspace's folder.
    """
    data = dict(event.get("data") or {})
    about = str(data.get("task") or event.get("conversationId") or "")
    made: dict[str, Any] = {
        "specversion": "1.0",
        "id": event["eventId"],
        "source": f"/council/{_quoted(root_name)}",
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


def _quoted(name: str) -> str:
    """Return a name as one segment of a path in a URI."""
    return "".join(
        letter if letter in _UNRESERVED else "".join(f"%{byte:02X}" for byte in letter.encode())
        for letter in name
    )
