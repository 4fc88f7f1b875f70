"""Holding event files to the published schema, and to what the table says of their data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from council.core.event_types import EVENTS, event_schema


@cache
def _strict(kind: str) -> Draft202012Validator:
    """Return what checks events of one type: the published schema, and no field beyond it."""
    schema = event_schema()
    rule = next(one for one in schema["allOf"] if one["if"]["properties"]["type"]["const"] == kind)
    data = {**schema["$defs"][kind], "additionalProperties": False}
    alone: dict[str, Any] = {
        **schema,
        "allOf": [{"required": rule["then"].get("required", [])}],
        "properties": {**schema["properties"], "type": {"const": kind}, "data": data},
        "additionalProperties": False,
    }
    del alone["$defs"]
    return Draft202012Validator(alone, format_checker=FormatChecker())


def faults_of(line: str) -> list[str]:
    """Return what is wrong with one line of an event file."""
    try:
        event = json.loads(line)
    except ValueError as error:
        return [f"not JSON: {error}"]
    kind = event.get("type")
    if kind not in EVENTS:
        return [f"no event is called {kind}"]
    return [
        f"{kind}: {'/'.join(map(str, one.path))} {one.message}"
        for one in _strict(kind).iter_errors(event)
    ]


def lines_under(root: Path) -> list[str]:
    """Return the lines of all event files of a workspace, in the order of their files."""
    days = sorted((root / "memory" / "shared" / "events").glob("*.jsonl"))
    return [line for day in days for line in day.read_text(encoding="utf-8").splitlines()]
