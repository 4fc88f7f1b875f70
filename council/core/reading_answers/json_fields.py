"""The JSON in which an answer may state what its form asks for.

Keys count without case and signs; of a key that is given twice the first counts.

Besides, it finds the JSON values that stand in an answer, and the one that is its result.

Source: DL-012, DL-026, HR-003, HR-013, P8-027.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

from council.core.reading import read_json
from council.core.reading_answers.cleaning import clean
from council.core.reading_answers.structure import plain
from council.core.record import Any

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


_MOST_LOOKED_AT = 100
_MOST_BROKEN = 10_000
_OPENING = re.compile(r"[\[{]")
_BEGUN = re.compile(r"\{[ \t\r\n]*\"|\[[ \t\r\n]*[\[{\"]|[\[{][ \t\r\n]*\Z")
_decode = json.JSONDecoder().raw_decode


def result_in(text: str, accepts: Callable[[Any], bool]) -> str | None:
    r"""Return the last JSON value in a text that is accepted, as it is written there.

    None where there is none, and where the last value is cut off: what stands
    before it may be a draft of it.

    >>> result_in('First {"n": 1}, then:\n```json\n{"n": 2}\n```', lambda one: True)
    '{"n": 2}'
    """
    found = reversed(values_in(text)[-_MOST_LOOKED_AT:])
    return next((source for source, value in found if accepts(value)), None)


def values_in(text: str) -> list[tuple[str, Any]]:
    """Return the outermost JSON values in a text, in order, each as written and as read.

    A value that is no object and no list counts where it is the whole text or
    a line of its own, and no other value is there. Nothing is returned for a
    text whose last value is cut off, or in which too many values are broken.
    """
    said = clean(text).strip()
    found: list[tuple[str, Any]] = []
    opening = _OPENING.search(said)
    broken = 0
    while opening:
        at = opening.start()
        try:
            value, end = _decode(said, at)
            found.append((said[at:end], value))
        except json.JSONDecodeError as error:
            if _is_cut(said, at, error):
                return []
            broken += 1
            if broken > _MOST_BROKEN:
                return []  # each costs time in proportion to what stands before it
            end = max(at + 1, error.pos)  # nothing inside of what is broken counts
        except (RecursionError, ValueError):
            return []
        opening = _OPENING.search(said, end)
    return found or _plain_values(said)


def _is_cut(said: str, at: int, error: json.JSONDecodeError) -> bool:
    """Return true if a value that began at `at` has no end."""
    is_open = error.pos >= len(said) or error.msg.startswith("Unterminated string")
    return is_open and _BEGUN.match(said, at) is not None


def _plain_values(said: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for line in (said, *said.split("\n")[-_MOST_LOOKED_AT:]):
        try:
            found.append((line.strip(), read_json(line)))
        except ValueError:
            continue
    return found
