"""Answers in JSON: the schema that programs get, and JSON made into the form in Markdown.

Programs honour a schema fully, by half or not at all, so JSON is never read as such: what it has of
the form becomes headings, and one reader reads both.
"""

from __future__ import annotations

import json
import re
from os.path import join

from council.councils.answers_labels import label_of
from council.councils.answers_words import TEXTS, pattern, table
from council.councils.model import STANCES
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

_WHO = ("agentid", "agent", "name", "to", "id", "peer", "member", "participant", "target")
_WORD = ("stance", "agreement", "verdict", "response", "vote", "insight", "position", "status")
_STATUS = ("AGREED", "RESPONDED", "DONE")


def as_markdown(text: str, form: Form) -> str:
    """Return a text in which each JSON object that fills in the form is written as headings.

    In a contribution JSON counts only where it is the whole text: elsewhere it is an example.
    """
    whole = text.strip()
    if form.kind == "contribution" and not (whole.startswith("{") and whole.endswith("}")):
        return text
    text = re.sub(r",(\s{0,99}[}\]])", r"\1", text) if '"' in text and ",\n" in text else text
    made, at = "", 0
    for _ in range(50):
        begin = text.find("{", at)
        if begin < 0:
            break
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(text, begin)
            lines = _lines(value, form, 1 if text[begin:end] == whole else 2)
        except (ValueError, RecursionError):
            lines = []
        if lines:
            before = pattern("{=fence}").sub("", text[at:begin][-40:])
            made += "\n".join([text[at:begin][:-40] + before, "", *lines, ""])
            after = re.match(r"\s{0,20}(?:```|~~~)", text[end:])
            at = end + (len(after[0]) if after else 0)
        else:
            made, at = made + text[at : begin + 1], begin + 1
    return made + text[at:]


def _lines(value: dict[str, Any], form: Form, least: int, depth: int = 4) -> list[str]:
    """Return an object as Markdown; [] unless it has `least` parts of the form."""
    parts = [(label_of(_spaced(key), form)[0], given) for key, given in value.items()]
    known = [(part, given) for part, given in parts if part not in ("", "other", "former")]
    if len(known) < least:
        inner = [given for given in value.values() if isinstance(given, dict)]
        return _lines(inner[0], form, least, depth - 1) if len(inner) == 1 and depth else []
    lines = [given for key, given in value.items() if key in ("text", "content", "message")]
    for part, given in known:
        if part in ("blocking", "resolved"):
            items = given if isinstance(given, list) else [given]
            lines += [f"{part}: {_text(one)}" for one in items]
        elif part == "status":
            stated = any(_text(given).casefold() in table(status) for status in _STATUS)
            lines += ["", f"status: {given}"] if stated else []
        else:
            words = _entries(given) if part in ("responses", "insights") else [_text(given)]
            lines += [f"## {table(part)[0]}", *words, ""]
    return [line for line in lines if isinstance(line, str)]


def _entries(given: Any) -> list[str]:
    """Return stances or insights, which may be a list or an object of texts or objects."""
    if isinstance(given, dict):
        pairs = [(who, w if isinstance(w, dict) else {"stance": w}) for who, w in given.items()]
        given = [{**words, "agent": who} for who, words in pairs]
    lines = []
    for item in given if isinstance(given, list) else [given]:
        if not isinstance(item, dict):
            lines.append(f"- {_text(item)}")
            continue
        keys = {_spaced(key).replace(" ", "").casefold(): words for key, words in item.items()}
        who = next((keys.pop(key) for key in _WHO if key in keys), "")
        word = next((keys.pop(key) for key in _WORD if key in keys), "")
        lines.append(f"- @{str(who).lstrip('@')}: {_text(word)}")
        lines += [f"  - {_text(words)}" for words in keys.values() if words]
    return lines


def _spaced(key: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", key)


def _text(given: Any) -> str:
    if isinstance(given, list):
        return "\n\n".join(_text(item) for item in given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return "" if given is None else str(given)


def schema(form: Form) -> dict[str, Any]:
    """Return the JSON schema of an answer of this form; every key is required."""
    with open(join(TEXTS, "answers-schema.json"), encoding="utf-8") as file:
        keys = json.load(file)[form.kind]
    words: dict[str, list[Any]] = {"stances": list(STANCES), "levels": [1, 2, 3, 4, 5]}
    words |= {"peers": form.needs or [*form.peers] or ["none"], "statuses": ["RESPONDED", "AGREED"]}
    words |= {"options": [*form.options, "new", "abstain"], "members": [form.author, *form.peers]}
    return _object(keys, words)


def _object(keys: dict[str, Any], words: dict[str, list[Any]]) -> dict[str, Any]:
    made = {}
    for key, kind in keys.items():
        if "list" in kind:
            kind = {"type": "array", "items": _object(kind["list"], words)}
        elif "enum" in kind:
            values = words[kind["enum"]]
            kind = {"type": "integer" if values[0] == 1 else "string", "enum": values}
        made[key] = kind
    required = {"required": [*made], "additionalProperties": False}
    return {"type": "object", "properties": made, **required}
