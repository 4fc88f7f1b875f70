"""An answer without its wrapping, split into its labelled parts.

`bare` takes off what nobody should read: its result is recorded. `readable` makes a text uniform
for `parts`: tags and rows of tables become headings and lists. A label is a heading, bold words, a
line with a colon, dash or equals sign, or alone on its line. The strongest shape of a part counts.
"""

from __future__ import annotations

import re
import unicodedata

from council.agents.expressions import pattern, plain, search, table, unechoed, unwrapped, without
from council.councils.model import Form
from council.kernel.record import Any, Record

HEADING, BOLD, PLAIN = 3, 2, 1
_TURN = ("position", "final", "responses", "response", "reasoning", "confidence", "choice")
_COUNCIL = ("blocking", "resolved", "status")
_SYNTHESIS = ("recommendation", "decision", "consensus", "disagreement", "insights", "synthesis")
PARTS = {"turn": _TURN, "vote": _TURN, "synthesis": _SYNTHESIS, "contribution": _COUNCIL}
_NAMED = ("other", *_SYNTHESIS, *_COUNCIL, *(name for name in _TURN if name != "response"))
_UNIFORM = {"unseen": "", "blank": " ", "hyphen": "-", "escaped": r"\1\2", "line break": "\n"}
_UNIFORM |= {"comment": "", "joined tags": r"\1\n", "tag": r"\n## \1\n", "end tag": "\n---\n"}
_UNIFORM |= {"header": "", "row": r"- \1: \2", "status behind text": r"\1\n\n\2"}
_UNIFORM |= {"row of keys": r"- @\1: \2 — \3", "corrected part": r"\1 (corrected)\2"}


def bare(text: str, prompt: str) -> str:
    """Return the words of an answer without what is around them: an echo of its prompt, say."""
    text = without("control", text.replace("\r\n", "\n").replace("\r", "\n"))
    for _ in range(5):  # one may be within another
        text = _inside(unwrapped(unechoed(text, prompt), is_form=True))
    return text


def readable(text: str, free: bool) -> str:
    """Return a text without comments and invisible signs, its JSON, tags and tables as Markdown.

    JSON that is only a part of a `free` text is an example, and what it folds is as if in a fence.
    """
    text = pattern("{=folded}", "").sub(r"\n~~~~~~\n\1\n~~~~~~\n", text) if free else text
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
    half, again = text[: len(text) // 2].strip(), text[len(text) // 2 :].strip()
    if text[:1] == "{" and half == again:
        return half
    value = _json(text) if text[:1] in ("{", "[", '"') else None
    if len(texts := _texts(value)) == 1 and not search("key of a form", text):
        return texts[0]
    if value is None and "\n" not in text and text.count("\\n") > 2:  # typed in a shell
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
    keys = value if isinstance(value, dict) and not {"name", "arguments"} <= value.keys() else {}
    labels = [(label_of(key, "")[0], given) for key, given in keys.items()]
    named = [_part(name, given) for name, given in labels if name not in ("", "other")]
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


class Part(Record):
    """A labelled part of an answer, or a stretch of text without a label (`name` is "").

    No heading below `level` ends it; `lines` begin with the words on the line of the label. A line
    that it quotes is empty there, and in `quotes` by its place.
    """

    name: str = ""
    besides: str = ""
    shape: int = PLAIN
    level: int = 0
    lines: list[str] = []
    quotes: dict[int, str] = {}

    def paragraphs(self, quoting: bool = False) -> list[str]:
        """Return the words, paragraph by paragraph, perhaps with what they quote."""
        lines = [(quoting and self.quotes.get(at)) or line for at, line in enumerate(self.lines)]
        text = "\n".join(map(str.rstrip, lines))
        return [words.strip() for words in text.split("\n\n") if words.strip()]

    def first(self) -> str:
        """Return the first paragraph, "" where there is none."""
        return (self.paragraphs() or [""])[0]

    def stated(self) -> str:
        """Return a position: all below a heading, or the first paragraph and one that limits it."""
        paragraphs = self.paragraphs()
        limited = len(paragraphs) > 1 and search("joined", plain(paragraphs[1]))
        below = self.shape == HEADING and not self.lines[0]
        return "\n\n".join(paragraphs[: None if below else 2 if limited else 1])


def parts(text: str, form: Form) -> list[Part]:
    """Return all parts of a readable text in order, with what is in none of them."""
    found = [Part(lines=[""])]
    for line in text.split("\n"):
        now, heading = found[-1], search("heading", line) if "#" in line[:4] else None
        own = "" if line.lstrip().startswith(">") else line  # what others said
        if made := _labelled(own, heading, now, form):
            found.append(made)
        elif heading and len(heading[1]) <= now.level:
            found.append(Part(lines=[line]))
        elif not search("rule", line):
            now.quotes |= {} if own else {len(now.lines): line}
            now.lines.append(own)
        elif now.name in ("position", "final", "confidence", "choice") and now.first():
            found.append(Part(lines=[""]))
    names = [part.name for part in found]  # one that comes again may be an echo of the form
    texts = [one.first() if names.count(one.name) > 1 else " ".join(one.lines) for one in found]
    said = [plain(text[:500] * bool(name)) for text, name in zip(texts, names, strict=True)]
    both = zip(found, said, strict=True)
    return [part for part, words in both if not search("words of a form", words)]


def strongest(found: list[Part], name: str) -> list[Part]:
    """Return the parts of a name in their strongest shape; of some every shape counts."""
    own = [part for part in found if part.name == name]
    every = name in (*_COUNCIL, "reasoning", "response")
    best = max((part.shape for part in own if not every), default=0)
    return [part for part in own if part.shape >= best or part.besides == "corrected"]


def label_of(words: str, author: str) -> tuple[str, str]:
    """Return the part that a label or key names ("" for none), and what it says besides."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", words)
    label = search("label", plain(words).removeprefix(f"{plain(author)}'s "))
    if not label or len(words) > 120:
        return "", ""
    name = next((name for name in _NAMED if label["name"] in table(name)), "")
    core = without("label frame", label["name"])
    name = name or next((name for name in _SYNTHESIS if core in table(name)), "")
    to = None if name else search("answer to", label["name"])
    return ("response", to[1]) if to else (name, label["besides"] or "")


def unmarked(words: str) -> str:
    """Return a line without the marks of lists, numbers and signs before it."""
    for _ in range(3):
        words = without("signs", without("marks", words))
    return words.strip()


def _labelled(line: str, heading: re.Match[str] | None, now: Part, form: Form) -> Part | None:
    """Return the part that a line begins, or None."""
    own = without("in brackets", unmarked((heading[2] if heading else line)[:2000]), r"\1")
    found = search("label line", own)
    name, besides = label_of(found["label"], form.author) if found else ("", "")
    shape = HEADING if heading else BOLD if found and found["bold"] else PLAIN
    if not found or not name:
        return None
    words = without("hint", found["words"]) + line[2000:]
    if found["bold"] and words.count(found["bold"]) % 2:  # the label and its words are bold
        words = words.replace(found["bold"], "", 1)
    words = words.lstrip(":：—–=→|.-*_? ").rstrip() or words.strip(" :*_=→")
    again = shape < now.shape and name == now.name and not now.first()  # below its heading
    if again or (shape < HEADING and name not in (*PARTS[form.kind], *_COUNCIL)):
        return None
    level = len(heading[1]) if heading else 7
    return Part(name=name, besides=besides, shape=shape, level=level, lines=[words])
