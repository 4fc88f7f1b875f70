"""What is wrapped around an answer, and taken off.

`bare` takes off what nobody should read (thoughts, tokens of chat templates, an echo of the prompt,
a fence or JSON around everything): its result is what is recorded. `readable` makes a text uniform
for the readers of its parts; that text is never kept.
"""

from __future__ import annotations

import json
import re
import unicodedata

_TAGS = (
    "think|thinking|thought|thoughts|analysis|scratchpad|reflection|seed:think|reasoning_content"
    "|reasoning_process|inner_monologue|antthinking|internal"
)
_THOUGHT = re.compile(
    rf"(?P<begin>^[ \t]*(?:<(?:{_TAGS})(?:\s[^<>\n]{{0,80}})?>|\[THINK\]|◁think▷"
    r"|<\|START_THINKING\|>|<\|begin_of_thought\|>))"
    rf"|(?<!`)(?:</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>)(?!`)",
    re.M | re.I,
)
_CONTROL = re.compile(
    r"\x1b\[[0-?]{0,40}[ -/]{0,5}[@-~]|\x1b\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_FINAL = re.compile(
    r"<\|channel\|>\s{0,9}final[^<]{0,60}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|start|channel|call)\|>")
_ROLE = re.compile(
    r"(?:<\|im_start\|>|<start_of_turn>|<\|start\|>|<\|start_header_id\|>)[ \t]{0,9}(\w{1,20})"
    r"(?:<\|end_header_id\|>)?|<\|(user|assistant|system)\|>"
)
_TOKEN = re.compile(
    r"<\|[\w▁ -]{1,40}\|>|<｜[^｜\n]{1,40}｜>|</s>[ \t]*$|^<s>|\[/?INST\]|<(?:end|start)_of_turn>"
    r"|<(?:eos|bos|pad)>|</?(?:answer|final_answer|final|output|contribution)>",
    re.M,
)
_CALL = re.compile(r"<(tool_call|function_calls?|invoke|tool_use)\b[^>\n]{0,200}>")
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^`\n]{0,80})$", re.M)
_HERE = re.compile(r"^[^\n]{0,400}<<-?[ \t]?(['\"]?)([A-Za-z][\w-]{0,40})\1[ \t]*$", re.M)
_WRAPS = ("response", "text", "content", "answer", "message", "output", "result", "contribution")
_FORM = {"position", "choice", "confidence", "blocking", "resolved", "recommendation", "name"}
_WRAPS += ("markdown", "reply", "body", "final", "choices", "parts", "candidates", "arguments")


def bare(text: str, prompt: str) -> str:
    """Return the words of an answer without what is wrapped around them; "" if none are left.

    Args:
        text: What a program printed or a person typed.
        prompt: What it was asked, to find an echo of it; "" if unknown.
    """
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    for _ in range(6):
        before = text
        text = _without_echo(text.strip("\n"), prompt.strip())
        text = _spoken(_without_thoughts(text))
        text = _without_calls(_TOKEN.sub("", text))
        text = _inside(text.strip())
        if text == before:
            break
    return text


def readable(text: str) -> str:
    """Return a text without comments and invisible signs, with tables as lists."""
    text = re.sub("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe0e\ufe0f]", "", text)
    text = unicodedata.normalize("NFC", text)
    text = re.sub("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]", " ", text)
    text = re.sub(r"\\([_*`~@#.()\[\]<>|+-])", r"\1", text.replace("‐", "-").replace("‑", "-"))
    text = re.sub(r"\\boxed\{([^{}\n]{0,80})\}", r"\1", re.sub(r"<br ?/?>", "\n", text))
    lines = _without_comments(text).split("\n")
    if all(line.lstrip().startswith(">") for line in lines if line.strip()):
        lines = [line.lstrip()[1:].removeprefix(" ") for line in lines if line.strip()]
    return "\n".join(_untabled(lines))


def split_fences(text: str) -> tuple[str, list[str]]:
    """Return a text without its fenced blocks, and what is in each of them."""
    outside, blocks, inside, mark = [], [], None, ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if inside is not None:
            if fence and fence[1].startswith(mark) and not fence[2].strip():
                blocks.append("\n".join(inside))
                inside = None
            else:
                inside.append(line)
        elif fence:
            inside, mark = [], fence[1]
        else:
            outside.append(line)
    if inside is not None:
        blocks.append("\n".join(inside))
    return "\n".join(outside), blocks


def _without_echo(text: str, prompt: str) -> str:
    if len(prompt) < 20:
        return text
    at = text.find(prompt)
    if at >= 0:
        return (text[:at] + text[at + len(prompt) :]).strip("\n")
    lines, asked = text.split("\n"), [line.split() for line in prompt.split("\n") if line.strip()]
    count = 0
    for number, line in enumerate(lines):  # the same words on the same lines, blanks aside
        if not line.strip():
            continue
        if line.split() != asked[count]:
            break
        count += 1
        if count == len(asked):
            return "\n".join(lines[number + 1 :]).strip("\n")
    return text


def _without_thoughts(text: str) -> str:
    kept, at, thinking, seen = [], 0, False, False
    for mark in _THOUGHT.finditer(text):
        if mark["begin"] and thinking:
            continue
        if not thinking:
            kept.append(text[at : mark.start()])
        if not mark["begin"] and not thinking and not seen:
            kept.clear()  # the thought began with the text
        thinking, seen, at = bool(mark["begin"]), True, mark.end()
    text = "".join(kept) + ("" if thinking else text[at:])
    begin = text.lstrip()[:40].casefold()
    if begin.startswith(("thinking...", "thinking…")):
        head, end, rest = text.partition("done thinking.")
        text = rest if end else head
    if begin.startswith("analysis") and "assistantfinal" in text:  # channels without their marks
        text = text.rpartition("assistantfinal")[2]
    return text


def _spoken(text: str) -> str:
    """Return what the final channel says, or the parts of the assistant in a chat template."""
    if "<|channel|>" in text:
        finals = list(_FINAL.finditer(text))
        return _CHANNEL_END.split(text[finals[-1].end() :], 1)[0] if finals else ""
    if "[INST]" in text and "[/INST]" in text:
        text = text.rpartition("[/INST]")[2]
    kept, at, ours = [], 0, True
    for mark in _ROLE.finditer(text):
        if ours:
            kept.append(text[at : mark.start()])
        ours, at = (mark[1] or mark[2]).casefold() in ("assistant", "model", "final"), mark.end()
    return "".join(kept) + (text[at:] if ours else "")


def _without_calls(text: str) -> str:
    """Drop printed tool calls: they were not made, and nobody was told what is in them."""
    for _ in range(20):
        mark = _CALL.search(text)
        if not mark:
            break
        end = text.find(f"</{mark[1]}>", mark.end())
        text = text[: mark.start()] + (text[end + len(mark[1]) + 3 :] if end >= 0 else "")
    return text


def _inside(text: str) -> str:
    """Return what is within a fence, a here-document or JSON that is all of a text."""
    fences = list(_FENCE.finditer(text)) if text.startswith(("```", "~~~")) else []
    if len(fences) > 1 and len(fences) % 2 == 0 and fences[-1].end() == len(text):
        nested = [bool(f[2].strip()) for f in fences[1:-1]]
        if nested == [True, False] * (len(nested) // 2):
            return text[fences[0].end() : fences[-1].start()].strip()
    here = _HERE.search(text[:2000])
    if here and ("council" in here[0] or "respond" in here[0]):
        body, end, rest = text[here.end() :].partition(f"\n{here[2]}\n")
        body = body if end else body.rstrip().removesuffix(here[2])
        if len(text[: here.start()].split()) + len(rest.split()) <= 30:
            return body.strip()
    if text[:1] in ("{", "[", '"') and len(text) < 2_000_000:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return _wrapped(value, 0) or text
    if "\n" not in text and text.count("\\n") > 2:
        return text.replace("\\n", "\n").replace('\\"', '"')
    return text


def _wrapped(value: object, depth: int) -> str:
    """Return the one text of several lines that a JSON value is made around; "" if there is none."""
    if isinstance(value, str):
        return value.strip() if "\n" in value.strip() else ""
    if isinstance(value, list) and len(value) == 1 and depth < 5:
        return _wrapped(value[0], depth + 1)
    if isinstance(value, dict) and depth < 5 and not _FORM.intersection(value):
        for key in _WRAPS:
            if key in value and (text := _wrapped(value[key], depth + 1)):
                return text
    return ""


def _without_comments(text: str) -> str:
    if "<!--" not in text:
        return text
    kept, at = [], 0
    while (begin := text.find("<!--", at)) >= 0:
        end = text.find("-->", begin + 4)
        coded = text[begin - 1 : begin] == "`"
        starts_line = not text[text.rfind("\n", 0, begin) + 1 : begin].strip()
        if coded or (end < 0 and not starts_line):
            kept.append(text[at : begin + 4])
            at = begin + 4
            continue
        kept.append(text[at:begin])
        at = end + 3 if end >= 0 else len(text)
    return "".join(kept) + text[at:]


def _untabled(lines: list[str]) -> list[str]:
    """Turn rows of tables into `- first: second — third`, without their headers."""
    made: list[str] = []
    for line in lines:
        row = line.strip()
        if not (row.startswith("|") and row.count("|") > 2):
            made.append(line)
            continue
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if all(set(cell) <= set(":-= ") for cell in cells):
            if made and made[-1].startswith("- "):
                made.pop()
        else:
            made.append(f"- {cells[0]}: {' — '.join(cell for cell in cells[1:] if cell)}")
    return made
