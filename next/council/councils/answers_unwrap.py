"""What is wrapped around an answer, and taken off.

`bare` takes off what nobody should read (thoughts, tokens of chat templates, an echo of the prompt,
a fence or JSON around everything): its result is recorded. `readable` makes a text uniform for the
readers of its parts; that text is not kept.
"""

from __future__ import annotations

import json
import re
import unicodedata

from council.councils.answers_words import pattern

_WRAPS = ("response", "text", "content", "answer", "message", "output", "result", "contribution")
_MORE = ("markdown", "reply", "body", "final", "choices", "parts", "candidates")
_FORM = {"position", "choice", "confidence", "blocking", "resolved", "recommendation", "name"}


def bare(text: str, prompt: str) -> str:
    """Return the words of an answer without what is wrapped around them; "" if none are left.

    Args:
        text: What a program printed or a person typed.
        prompt: What it was asked, to cut off an echo of it; "" if unknown.
    """
    text = pattern("{=control}").sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    for _ in range(6):
        before, echo = text, prompt.strip()
        text = text.replace(echo, "", 1) if len(echo) >= 20 else text
        text = pattern("{=token}").sub("", _spoken(_without_thoughts(text)))
        text = _inside(_without(text, pattern("{=call}"), "</{}>").strip())
        if text == before:
            break
    return text


def readable(text: str) -> str:
    """Return a text without comments and invisible signs, with tables as lists."""
    text = unicodedata.normalize("NFC", pattern("{=unseen}").sub("", text))
    text = pattern("{=blank}").sub(" ", text).replace("‐", "-").replace("‑", "-")
    text = pattern("{=boxed}").sub(r"\1", pattern("{=escaped}").sub(r"\1", text))
    text = _without(re.sub(r"<br ?/?>", "\n", text), pattern("{=comment}"), "-->")
    lines = text.split("\n")
    if all(line.lstrip().startswith(">") for line in lines if line.strip()):
        lines = [line.lstrip()[1:].removeprefix(" ") for line in lines]
    made: list[str] = []
    for line in lines:
        row = line.strip()
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if not (row.startswith("|") and row.count("|") > 2):
            made.append(line)
        elif any(set(cell) - set(":-= ") for cell in cells):
            made.append(f"- {cells[0]}: {' — '.join(cell for cell in cells[1:] if cell)}")
        elif made and made[-1].startswith("- "):
            made.pop()  # the header of the table
    return "\n".join(made)


def split_fences(text: str) -> tuple[str, list[str]]:
    """Return a text without its fenced blocks, and what is in each of them."""
    outside: list[str] = []
    blocks: list[list[str]] = []
    mark = ""
    for line in text.split("\n"):
        fence = pattern("{=fence}").match(line)
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
    for mark in pattern("{=thought}").finditer(text):
        if mark["begin"] and thinking:
            continue
        if not thinking:
            kept.append(text[at : mark.start()])
        if not (mark["begin"] or thinking or seen):
            kept.clear()  # the thought began with the text
        thinking, seen, at = bool(mark["begin"]), True, mark.end()
    text = "".join(kept) + ("" if thinking else text[at:])
    begin = text.lstrip()[:12].casefold()
    if begin.startswith(("thinking...", "thinking…")) and "done thinking." in text:
        text = text.partition("done thinking.")[2]
    if begin.startswith("analysis") and "assistantfinal" in text:  # channels without their marks
        text = text.rpartition("assistantfinal")[2]
    return text


def _spoken(text: str) -> str:
    """Return what the final channel says, or the parts of the assistant in a chat template."""
    if "<|channel|>" in text:
        finals = list(pattern("{=final_channel}").finditer(text))
        spoken = text[finals[-1].end() :] if finals else ""
        return re.split(r"<\|(?:end|return|start|call)\|>", spoken)[0]
    kept, at, ours = [], 0, True
    for mark in pattern("{=role}").finditer(text):
        kept.append(text[at : mark.start()] if ours else "")
        ours, at = (mark[1] or mark[2] or "").casefold() in ("assistant", "model"), mark.end()
        if mark["inst"] and (end := text.find("[/INST]", at)) >= 0:
            ours, at = True, end
    return "".join(kept) + (text[at:] if ours else "")


def _without(text: str, begins: re.Pattern[str], end: str) -> str:
    """Drop all from each begin to its end, or to the end of the text."""
    kept, at = [], 0
    while mark := begins.search(text, at):
        kept.append(text[at : mark.start()])
        closing = end.format(mark[1])
        close = text.find(closing, mark.end())
        at = close + len(closing) if close >= 0 else len(text)
    return "".join(kept) + text[at:]


def _inside(text: str) -> str:
    """Return what is within a fence, a here-document or JSON that is all of a text."""
    fences = list(pattern("{=fence}").finditer(text)) if text[:3] in ("```", "~~~") else []
    if len(fences) > 1 and fences[-1].end() == len(text):
        named = [bool(fence[2].strip()) for fence in fences[1:]]
        if named == [True, False] * (len(named) // 2) + [False]:
            return text[fences[0].end() : fences[-1].start()].strip()
    if here := pattern("{=here}").search(text[:2000]):
        rest = re.sub(rf"(?m)^{here[2]}$", "", text[here.end() :], count=1)
        return (text[: here.start()] + rest).strip()
    if text[:1] in ("{", "[", '"'):
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
        inner = [value[key] for key in (*_WRAPS, *_MORE) if key in value]
    return next((text for one in inner if depth and (text := _wrapped(one, depth - 1))), "")
