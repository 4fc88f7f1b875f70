"""What is wrapped around an answer, and taken off.

`bare` takes off what nobody should read (thoughts, tokens of chat templates, an echo of the prompt,
a fence or JSON around everything): its result is recorded. `readable` makes a text uniform for the
readers of its parts; that text is not kept.
"""

from __future__ import annotations

import unicodedata

from council.councils.answers_words import match, pattern, search, without

_FORM = {"position", "choice", "confidence", "blocking", "resolved", "recommendation", "name"}
_AROUND = ["response", "text", "content", "answer", "message", "output", "result", "contribution"]
_AROUND += ["markdown", "reply", "body", "final", "choices", "parts", "candidates"]


def bare(text: str, prompt: str) -> str:
    """Return the words of an answer without what is around them: an echo of its prompt, say."""
    text, echo, before = text.replace("\r\n", "\n").replace("\r", "\n"), prompt.strip(), ""
    text = without("control", text)
    for _ in range(6):
        if text == before:
            break
        before = text
        text = text.replace(echo, "", 1) if len(echo) >= 20 else text
        text = without("token", _final(_without_thoughts(text)))
        text = _inside(_cut(text, "call", "</{}>").strip())
    return text


def readable(text: str) -> str:
    """Return a text without comments and invisible signs."""
    if not text.isascii():
        text = without("blank", unicodedata.normalize("NFC", without("unseen", text)), " ")
        text = text.replace("‐", "-").replace("‑", "-")
    if "\\" in text:
        text = without("boxed", without("escaped", text, r"\1"), r"\1")
    if "<" in text:
        text = _cut(text.replace("<br>", "\n").replace("<br/>", "\n"), "comment", "-->")
    lines = text.replace("\t", " ").split("\n")
    if all(line.lstrip().startswith(">") for line in lines if line.strip()):
        lines = [line.lstrip()[1:].removeprefix(" ") for line in lines]
    return "\n".join(lines)


def split_fences(text: str) -> tuple[str, list[str]]:
    """Return a text without its fenced blocks, and what is in each of them."""
    outside: list[str] = []
    blocks: list[list[str]] = []
    mark = ""
    for line in text.split("\n"):
        fence = match("fence", line) if "```" in line or "~~~" in line else None
        if mark and fence and fence[1].startswith(mark) and not fence[2].strip():
            mark = ""
        elif not mark and fence:
            mark = fence[1]
            blocks.append([])
        else:
            (blocks[-1] if mark else outside).append(line)
    return "\n".join(outside), ["\n".join(block) for block in blocks]


def _without_thoughts(text: str) -> str:
    kept, at, thinking, seen = [], 0, False, False
    for mark in pattern("{=thought}", "").finditer(text):
        if mark["begin"] and thinking:
            continue
        if not thinking:
            kept.append(text[at : mark.start()])
        if not (mark["begin"] or thinking or seen):
            kept.clear()  # the thought began with the text
        thinking, seen, at = bool(mark["begin"]), True, mark.end()
    return "".join(kept) + ("" if thinking else text[at:])


def _final(text: str) -> str:
    """Return what the final channel says, without a turn that the program made up for others."""
    begin = text.lstrip()[:12].casefold()
    if begin.startswith(("thinking...", "thinking…")) and "done thinking." in text:
        text = text.partition("done thinking.")[2]
    if begin.startswith("analysis") and "assistantfinal" in text:  # channels without their marks
        text = text.rpartition("assistantfinal")[2]
    if "<|channel|>" in text:
        ends = [one.end() for one in pattern("{=final channel}", "").finditer(text)]
        text = text[ends[-1] :] if ends else ""
    other = search("other role", text)
    return text[: other.start()] if other and text[: other.start()].strip() else text


def _cut(text: str, begins: str, end: str) -> str:
    """Drop all from each begin to its end, or to the end of the text."""
    kept, at = [], 0
    while mark := pattern(f"{{={begins}}}", "").search(text, at):
        kept.append(text[at : mark.start()])
        closing = end.format(mark[1])
        close = text.find(closing, mark.end())
        at = close + len(closing) if close >= 0 else len(text)
    return "".join(kept) + text[at:]


def _inside(text: str) -> str:
    """Return what is within a fence or JSON that is all of a text."""
    outside, blocks = split_fences(text) if text[:3] in ("```", "~~~") else (text, [])
    if not outside.strip() and len(blocks) == 1:
        return blocks[0].strip()
    if text[:1] in ("{", "[", '"'):
        import json  # late: few answers need it

        try:
            return _wrapped(json.loads(text), 5) or text
        except (ValueError, RecursionError):
            return text
    if "\n" not in text and text.count("\\n") > 2:
        return text.replace("\\n", "\n").replace('\\"', '"')
    return text


def _wrapped(value: object, depth: int) -> str:
    """Return the one text of several lines that a JSON value is made around, or ""."""
    if isinstance(value, str):
        return value.strip() if "\n" in value.strip() else ""
    inner = value if isinstance(value, list) and len(value) == 1 else []
    if isinstance(value, dict) and not _FORM.intersection(value):
        inner = [value[key] for key in _AROUND if key in value]
    return next((text for one in inner if depth and (text := _wrapped(one, depth - 1))), "")
