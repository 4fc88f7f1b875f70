"""What is wrapped around an answer, and taken off.

`bare` takes off what nobody should read: its result is recorded. `readable` makes a text uniform
for the readers of its parts.
"""

from __future__ import annotations

import re
import unicodedata

from council.councils.answers_labels import label_of
from council.councils.answers_words import pattern, search, table, without
from council.kernel.record import Any

_UNIFORM = {"unseen": "", "blank": " ", "hyphen": "-", "escaped": r"\1", "boxed": r"\1"}
_UNIFORM |= {"line break": "\n", "comment": "", "tag": r"\n## \1\n", "end tag": "\n---\n"}
_UNIFORM |= {"header": "", "empty row": "", "row": r"- \1: \2", "status behind text": r"\1\n\n\2"}


def bare(text: str, prompt: str) -> str:
    """Return the words of an answer without what is around them: an echo of its prompt, say."""
    text, echo = text.replace("\r\n", "\n").replace("\r", "\n"), prompt.strip()
    text = without("control", text)
    for _ in range(5):  # one may be within another
        text = text.replace(echo, "", 1) if len(echo) >= 20 else text
        begin, end = search("thought", text), search("thought ends", text)
        if end and (begin is None or end.start() < begin.start()):
            text = text[end.end() :]  # the thought began with the text
        for wrapping in ("channels", "thought", "thought ends", "other turn", "token", "call"):
            text = without(wrapping, text)
        text = _inside(text.strip())
    return text


def readable(text: str, free: bool) -> str:
    """Return a text without comments and invisible signs, its JSON, tags and tables as Markdown.

    JSON that is only a part of a `free` text is an example.
    """
    if "{" in text and (not free or re.fullmatch(r"(?s)\s*\{.*\}\s*", text)):
        text = _as_markdown(text)
    if all(line.lstrip()[:1] in (">", "") for line in text.split("\n")):
        text = without("quote mark", text)
    text = unicodedata.normalize("NFC", text)
    for name, instead in _UNIFORM.items():
        text = without(name, text, instead)
    return text


def fenced(text: str) -> tuple[str, list[str]]:
    """Return a text without its fenced blocks, and what is in each of them."""
    blocks = [block["inner"] or "" for block in pattern("{=fenced}", "").finditer(text)]
    return without("fenced", text), blocks


def _inside(text: str) -> str:
    """Return what is within a fence or JSON that is all of a text."""
    outside, blocks = fenced(text)
    if not outside.strip() and len(blocks) == 1:
        return blocks[0].strip()
    texts = _texts(_json(text)) if text[:1] in ("{", "[", '"') else []
    if len(texts) == 1 and not search("key of a form", text):
        return texts[0]
    if "\n" not in text and text.count("\\n") > 2:
        return text.replace("\\n", "\n").replace('\\"', '"')
    return text


def _texts(value: Any) -> list[str]:
    """Return the texts of several lines within a JSON value."""
    if isinstance(value, str):
        return [value.strip()] if "\n" in value.strip() else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _texts(one)]


def _json(text: str) -> Any:
    """Return the value that some JSON is, None where it is none."""
    import json  # late: few answers need it

    try:
        return json.loads(re.sub(r",(\s{0,99}[}\]])", r"\1", text), strict=False)
    except (ValueError, RecursionError):
        return None


def _as_markdown(text: str) -> str:
    """Return a text in which the JSON object that fills in the form is written as headings."""
    begin, end = text.index("{"), text.rfind("}") + 1
    value = _json(text[begin:end])
    while isinstance(value, dict) and [type(inner) for inner in value.values()] == [dict]:
        (value,) = value.values()
    keys = value if isinstance(value, dict) else {}
    named = [
        _part(name, keys[key])
        for key in keys
        if (name := label_of(key, "")[0]) not in ("", "other")
    ]
    said = [str(keys[key]) for key in ("text", "content") if key in keys]
    is_form = len(named) > (text[begin:end] != text.strip())
    return "\n".join([text[:begin], *said, *named, text[end:]]) if is_form else text


def _part(name: str, given: Any) -> str:
    """Return a part of JSON in Markdown; entries may be in a list or an object."""
    items = given if isinstance(given, list) else [given]
    mark = "- " if name in ("responses", "insights", "blocking", "resolved") else ""
    if isinstance(given, dict):
        items = [{"": who, **(w if isinstance(w, dict) else {"-": w})} for who, w in given.items()]
    rows = [item.values() if isinstance(item, dict) else [item] for item in items]
    texts = ["\n  - ".join(str(word or "").removesuffix(".0") for word in row) for row in rows]
    entries = [mark + text.replace("\n  -", ":", 1) for text in texts]
    return "\n".join(["", f"## {table(name)[0]}", *entries, ""])
