"""The JSON in which an answer may state what its form asks for.

Keys count without case and signs; of a key that is given twice the first counts.

Source: DL-012, DL-026, HR-003.
"""

from __future__ import annotations

from council.core.nesting import read_json
from council.core.reading_answers.structure import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

FIELDS = {
    "position": ("position", "finalposition", "myposition", "coreposition"),
    "responses": (
        "responses", "responsestoothers", "agreements", "agreement", "stances",
        "agreementwithothers", "agreementwithotheragents", "responsestootheragents",
    ),
    "reasoning": ("reasoning", "evidence", "rationale", "argument", "arguments"),
    "confidence": ("confidence", "confidencelevel"),
    "agent": ("agentid", "agent", "id", "name", "to", "peer", "participant", "target"),
    "stance": ("stance", "position", "agreement", "verdict", "vote"),
    "comment": ("comment", "reason", "response", "text", "rationale", "explanation", "why"),
}  # fmt: skip


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, None when it is none."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        return read_json(text, object_pairs_hook=_first_of_each)  # type: ignore[no-any-return]
    except ValueError:
        return None


def _first_of_each(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        fields.setdefault(key, value)
    return fields


def normal_key(key: str) -> str:
    """Return a JSON key without case, hyphens and underscores."""
    return "".join(letter for letter in plain(key) if letter.isalnum())


def normal(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a JSON object under keys without case and signs."""
    return _first_of_each((normal_key(key), value) for key, value in item.items())


def field(given: Mapping[str, Any], part: str) -> Any:
    """Return what stands under the first of the keys that a part may have, None for nothing."""
    return next((given[key] for key in FIELDS[part] if key in given), None)


def text_field(given: Mapping[str, Any], part: str) -> str:
    """Return the text under the first of the keys that a part may have, "" for none."""
    return json_text(field(given, part))


def json_text(value: object) -> str:
    """Return a JSON value if it is text that can be written, else ""."""
    return value.encode("utf-8", "replace").decode().strip() if isinstance(value, str) else ""


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a JSON list, none for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def said_in(value: object) -> list[tuple[str, str, str]]:
    """Return agent, stance and comment of each response in a JSON list or map."""
    if isinstance(value, dict):
        items = [
            {"agentid": agent} | (normal(said) if isinstance(said, dict) else {"stance": said})
            for agent, said in value.items()
        ]
    else:
        items = [normal(item) for item in objects(value)]
    return [
        (text_field(item, "agent"), text_field(item, "stance"), text_field(item, "comment"))
        for item in items
    ]
