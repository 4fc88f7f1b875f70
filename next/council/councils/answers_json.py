"""Answers in JSON: the schema that programs get, and JSON made into the form in Markdown.

Programs honour a schema fully, by half or not at all, so JSON is never read as such: what it has of
the form becomes headings, and one reader reads both.
"""

from __future__ import annotations

import json
import re
from os.path import join

from council.councils.answers_labels import label_of
from council.councils.answers_words import TEXTS, table
from council.councils.model import STANCES
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form


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
            found, end = json.JSONDecoder(strict=False).raw_decode(text, begin)
            lines = _lines(found, form, 1 if text[begin:end] == whole else 2)
        except (ValueError, RecursionError):
            lines, end = [], begin + 1
        own = "\n".join([_unfenced(text[at:begin]), "", *lines, ""]) if lines else text[at:end]
        made, at = made + (own if lines else text[at : begin + 1]), end if lines else begin + 1
        after = re.match(r"\s{0,20}(?:```|~~~)", text[at : at + 30]) if lines else None
        at += len(after[0]) if after else 0
    return made + text[at:]


def _unfenced(text: str) -> str:
    return text[:-40] + re.sub(r"(?:```|~~~)\w{0,9}\s*$", "", text[-40:])


def _lines(found: dict[str, Any], form: Form, least: int, depth: int = 4) -> list[str]:
    """Return an object as Markdown; [] unless it has `least` parts of the form."""
    parts = [(label_of(_spaced(key), form)[0], given) for key, given in found.items()]
    known = [(part, given) for part, given in parts if part not in ("", "other", "former")]
    if len(known) < least:
        inner = [given for given in found.values() if isinstance(given, dict)]
        return _lines(inner[0], form, least, depth - 1) if len(inner) == 1 and depth else []
    lines = [str(given) for key, given in found.items() if key in ("text", "content", "message")]
    for part, given in known:
        items = given if isinstance(given, list) else [given]
        if part in ("blocking", "resolved", "status"):
            lines += ["", *(f"{part}: {_text(one)}" for one in items)]
        else:
            words = _entries(given) if part in ("responses", "insights") else [_text(given)]
            lines += ["", f"## {table(part)[0]}", *words, ""]
    return lines


def _entries(given: Any) -> list[str]:
    """Return stances or insights, which may be a list or an object of texts or objects."""
    if isinstance(given, dict):
        pairs = [(who, w if isinstance(w, dict) else {"stance": w}) for who, w in given.items()]
        given = [{"agent": who, **words} for who, words in pairs]
    lines = []
    for item in given if isinstance(given, list) else [given]:
        if not isinstance(item, dict):
            lines.append(f"- {_text(item)}")
            continue
        keys = {_spaced(key).replace(" ", "").casefold(): words for key, words in item.items()}
        who = next((keys.pop(key) for key in [*keys] if key in table("who")), "")
        word = next((keys.pop(key) for key in [*keys] if key in table("what")), "")
        lines.append(f"- @{str(who).lstrip('@')}: {_text(word)}")
        lines += [f"  - {_text(words)}" for words in keys.values() if words]
    return lines


def _spaced(key: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", key)


def _text(given: Any) -> str:
    if isinstance(given, list):
        return "\n\n".join(_text(item) for item in given)
    whole = int(given) if isinstance(given, float) and given.is_integer() else given
    return "" if given is None else str(whole)


def schema(form: Form) -> dict[str, Any]:
    """Return the JSON schema of an answer of this form; every key is required."""
    with open(join(TEXTS, "answers-schema.json"), encoding="utf-8") as file:
        made: dict[str, Any] = json.load(file)[form.kind]
    words: dict[str, list[Any]] = {"stances": list(STANCES), "levels": [1, 2, 3, 4, 5]}
    words |= {"peers": form.needs or [*form.peers] or ["none"], "statuses": ["RESPONDED", "AGREED"]}
    words |= {"options": [*form.options, "new", "abstain"], "members": [form.author, *form.peers]}
    return _filled(made, words)


def _filled(part: dict[str, Any], words: dict[str, list[Any]]) -> dict[str, Any]:
    """Return a part of a schema with the values that are possible here."""
    if isinstance(part.get("enum"), str):
        return {**part, "enum": words[part["enum"]]}
    return {k: _filled(v, words) if isinstance(v, dict) else v for k, v in part.items()}
