"""Answers in JSON: the schema that programs get, and JSON made into the form in Markdown.

Programs honour a schema fully, by half or not at all, so JSON is never read as such: what it has of
the form becomes headings, and one reader reads both.
"""

from __future__ import annotations

import json
import re

from council.councils.answers_labels import label_of
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

_WHO = ("agentid", "agent", "name", "to", "id", "peer", "member", "participant", "target")
_WORD = ("stance", "agreement", "verdict", "response", "vote", "insight", "position", "status")
_STATUS = ("agreed", "responded", "done", "d'accord", "accord")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|[_-]+")
_BEFORE = re.compile(r"(?:^|\n)[ \t]{0,3}(?:`{3,}|~{3,})[a-zA-Z0-9]{0,12}[ \t]*\n?\s{0,20}$")
_AFTER = re.compile(r"\s{0,20}(?:`{3,}|~{3,})[ \t]*(?=\n|$)")


def as_markdown(text: str, form: Form) -> str:
    """Return a text whose JSON objects that fill in the form are written as headings.

    In a contribution JSON counts only where it is the whole text: else it is an example.
    """
    whole = text.strip()
    if form.kind == "contribution" and not (whole.startswith("{") and whole.endswith("}")):
        return text
    if whole.startswith("{'") and whole.endswith("}") and len(whole) < 50_000:
        text = _double_quoted(whole)
    made, at = [], 0
    for _ in range(50):
        begin = text.find("{", at)
        if begin < 0:
            break
        value, end = _decoded(text, begin)
        lines = _lines(value, form, whole=begin == 0 and end == len(whole)) if value else []
        if not lines:
            made.append(text[at : begin + 1])
            at = begin + 1
            continue
        before = _BEFORE.sub("\n", text[max(at, begin - 60) : begin])
        after = _AFTER.match(text[end : end + 60])
        made += [text[at : max(at, begin - 60)], before, "\n\n", "\n".join(lines), "\n\n"]
        at = end + (after.end() if after else 0)
    return "".join(made) + text[at:]


def schema(form: Form) -> dict[str, Any]:
    """Return the JSON schema of an answer of this form; every key is required."""
    words: Any = {"type": "string"}
    peers: Any = {"type": "string", "enum": form.needs or sorted(form.peers) or ["none"]}
    stances: Any = {"type": "string", "enum": ["agree", "partial", "disagree"]}
    response = _closed({"agentId": peers, "stance": stances, "comment": words})
    confidence: Any = {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    responses = {"type": "array", "items": response}
    if form.kind == "contribution":
        status = {"type": "string", "enum": ["RESPONDED", "AGREED"]}
        lists = {"type": "array", "items": words}
        return _closed({"text": words, "status": status, "blocking": lists, "resolved": lists})
    if form.kind == "synthesis":
        members = {"type": "string", "enum": sorted({form.author, *form.peers})}
        insight = {"type": "array", "items": _closed({"agentId": members, "insight": words})}
        summaries = {"consensusSummary": words, "disagreementSummary": words}
        return _closed({**summaries, "keyInsights": insight, "recommendation": words})
    if form.kind == "vote":
        ballot = {"type": "string", "enum": [*form.options, "new", "abstain"]}
        last = {"confidence": confidence, "agreements": responses}
        return _closed({"choice": ballot, "finalPosition": words, **last})
    first = {"position": words, "responses": responses}
    return _closed({**first, "reasoning": words, "confidence": confidence})


def _closed(keys: dict[str, Any]) -> dict[str, Any]:
    required = {"required": list(keys), "additionalProperties": False}
    return {"type": "object", "properties": keys, **required}


def _decoded(text: str, begin: int) -> tuple[dict[str, Any] | None, int]:
    for candidate in (text, re.sub(r",(\s{0,99}[}\]])", r"\1", text) if ",\n" in text else ""):
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(candidate[begin:])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value, begin + end + (len(text) - len(candidate))
    return None, begin


def _double_quoted(text: str) -> str:
    import ast  # rarely needed

    try:
        return json.dumps(ast.literal_eval(text), ensure_ascii=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


def _lines(value: dict[str, Any], form: Form, *, whole: bool, depth: int = 0) -> list[str]:
    """Return an object as Markdown; [] if it is not this form filled in."""
    parts = [(label_of(_CAMEL.sub(" ", key), form), key, given) for key, given in value.items()]
    known = [(part, given) for (part, _), _, given in parts if part not in ("", "other")]
    if len(known) < (1 if whole else 2):
        inner = [given for given in value.values() if isinstance(given, dict)]
        found = _lines(inner[0], form, whole=whole, depth=depth + 1) if inner and depth < 4 else []
        return found if len(inner) == 1 else []
    lines: list[str] = []
    texts = [g for (part, _), key, g in parts if not part and key in ("text", "content", "message")]
    lines += [given for given in texts if isinstance(given, str)]
    for part, given in known:
        if part in ("responses", "insights"):
            lines += [f"## {part}", *_entries(given), ""]
        elif part in ("blocking", "resolved"):
            lines += [
                f"{part}: {_text(item)}" for item in (given if isinstance(given, list) else [given])
            ]
        elif part != "status":
            lines += [f"## {'final position' if part == 'final' else part}", _text(given), ""]
        elif _text(given).casefold() in _STATUS:
            lines += ["", f"status: {given}"]
    return lines


def _entries(given: Any) -> list[str]:
    """Return stances or insights, which may be a list or an object of texts or objects."""
    if isinstance(given, dict):
        given = [
            {**words, "agent": who} if isinstance(words, dict) else {"agent": who, "stance": words}
            for who, words in given.items()
        ]
    if not isinstance(given, list):
        return [_text(given)]
    lines = []
    for item in given:
        if not isinstance(item, dict):
            lines.append(f"- {_text(item)}")
            continue
        keys = {_CAMEL.sub("", key).casefold(): words for key, words in item.items()}
        who = next((keys.pop(key) for key in _WHO if key in keys), "")
        word = next((keys.pop(key) for key in _WORD if key in keys), "")
        lines.append(f"- @{str(who).lstrip('@')}: {_text(word)}")
        lines += [f"  - {_text(words)}" for words in keys.values() if words]
    return lines


def _text(given: Any) -> str:
    if isinstance(given, list):
        return "\n\n".join(_text(item) for item in given)
    if isinstance(given, dict):
        return "; ".join(f"{key}: {_text(words)}" for key, words in given.items())
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return "" if given is None else str(given)
