"""What is wrapped around an answer, and taken off.

`bare` takes off what nobody should read (thoughts, tokens of chat templates, an echo of the prompt,
a fence or JSON around everything): its result is recorded. `readable` makes a text uniform for the
readers of its parts, with Markdown for JSON; that text is not kept.
"""

from __future__ import annotations

import re
import unicodedata

from council.councils.answers_labels import label_of
from council.councils.answers_words import pattern, search, table, without
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form


_NO_PARTS = ("", "other", "former")


def bare(text: str, prompt: str) -> str:
    """Return the words of an answer without what is around them: an echo of its prompt, say."""
    text, echo, before = text.replace("\r\n", "\n").replace("\r", "\n"), prompt.strip(), ""
    text = without("control", text)
    for _ in range(6):
        if text == before:
            break
        before = text
        text = text.replace(echo, "", 1) if len(echo) >= 20 else text
        begin, end = search("thought", text), search("thought ends", text)
        if end and (begin is None or end.start() < begin.start()):
            text = text[end.end() :]  # the thought began with the text
        for wrapping in ("channels", "thought", "thought ends", "other turn", "token", "call"):
            text = without(wrapping, text)
        text = _inside(text.strip())
    return text


def readable(text: str, form: Form) -> str:
    """Return a text without comments and invisible signs, in Markdown."""
    if "{" in text:
        text = _as_markdown(text, form)
    if not text.isascii():
        text = without("blank", unicodedata.normalize("NFC", without("unseen", text)), " ")
        text = text.replace("‐", "-").replace("‑", "-")
    if "\\" in text:
        text = without("boxed", without("escaped", text, r"\1"), r"\1")
    text = without("comment", without("line break", text, "\n")).replace("\t", " ")
    lines = text.split("\n")
    if all(line.lstrip().startswith(">") for line in lines if line.strip()):
        lines = [line.lstrip()[1:].removeprefix(" ") for line in lines]
    return "\n".join(lines)


def fenced(text: str) -> tuple[str, list[str]]:
    """Return a text without its fenced blocks, and what is in each of them."""
    blocks = [block["inner"] or "" for block in pattern("{=fenced}", "").finditer(text)]
    return without("fenced", text), blocks


def _inside(text: str) -> str:
    """Return what is within a fence or JSON that is all of a text."""
    outside, blocks = fenced(text)
    if not outside.strip() and len(blocks) == 1:
        return blocks[0].strip()
    if text[:1] in ("{", "[", '"') and not search("key of a form", text):
        import json  # late: few answers need it

        try:
            texts = _texts(json.loads(text))
        except (ValueError, RecursionError):
            return text
        return texts[0] if len(texts) == 1 else text
    if "\n" not in text and text.count("\\n") > 2:
        return text.replace("\\n", "\n").replace('\\"', '"')
    return text


def _texts(value: Any) -> list[str]:
    """Return the texts of several lines within a JSON value."""
    if isinstance(value, str):
        return [value.strip()] if "\n" in value.strip() else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _texts(one)]


def _as_markdown(text: str, form: Form) -> str:
    """Return a text in which each JSON object that fills in the form is written as headings.

    In a contribution JSON counts only where it is the whole text: elsewhere it is an example.
    """
    import json  # late: few answers need it

    if form.kind == "contribution" and not re.fullmatch(r"(?s)\s*\{.*\}\s*", text):
        return text
    text = re.sub(r",(\s{0,99}[}\]])", r"\1", text) if '"' in text else text
    decoder, made, at = json.JSONDecoder(strict=False, parse_float=_number), "", 0
    for begin in [found.start() for found in re.finditer(r"\{", text)][:50]:
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        names = {key: label_of(key, form.author)[0] for key in value}
        named = [_part(name, value[key]) for key, name in names.items() if name not in _NO_PARTS]
        if begin >= at and len(named) > (text[begin:end] != text.strip()):
            said = [str(value[key]) for key in ("text", "content") if key in value]
            made, at = "\n".join([made + text[at:begin], *said, *named, ""]), end
    return made + text[at:]


def _part(name: str, given: Any) -> str:
    """Return a part of JSON in Markdown; entries may be in a list or an object."""
    items = given if isinstance(given, list) else [given]
    if name in ("blocking", "resolved", "status"):
        return "\n".join(["", *(f"{name}: {item or ''}" for item in items)])
    mark = "- " if name in ("responses", "insights") else ""
    if isinstance(given, dict):
        items = [{"": who, **(w if isinstance(w, dict) else {"-": w})} for who, w in given.items()]
    rows = [item.values() if isinstance(item, dict) else [item] for item in items]
    texts = ["\n  - ".join(str(word or "") for word in row) for row in rows]
    entries = [mark + text.replace("\n  -", ":", 1) for text in texts]
    return "\n".join(["", f"## {table(name)[0]}", *entries, ""])


def _number(text: str) -> str:
    return text.removesuffix(".0")
