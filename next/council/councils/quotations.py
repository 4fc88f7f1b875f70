"""What an answer quotes, and whether it was really said.

Quoted are lines that begin with `>`, and words in quotation marks that a member is credited with.
"""

from __future__ import annotations

from council.councils.model import Quote

_MARKS = {'"': '"', "“": "”", "„": "“", "«": "»"}
_NEAR, _WORDS, _MOST = 80, 3, 100
_SAME = {ord(c): '"' for c in "“”„«»"} | {ord(c): "'" for c in "‘’"} | {ord(c): "-" for c in "–—‑"}
_SAME |= {ord("…"): "...", ord("*"): "", ord("`"): "", ord("_"): ""}


def quotations(text: str, said: list[tuple[str, str]], names: dict[str, str]) -> list[Quote]:
    """Return what a text quotes, at most 100 passages, each with its speaker.

    `said` is (id, text) in order, with id "" for topic and brief; `names` is id to name.
    """
    if not any(mark in text for mark in ('"', "“", "„", "«", "\n>")) and text[:1] != ">":
        return []
    spoken = [(who, _plain(words)) for who, words in said]
    made, of, quoted = list[Quote](), "", ""
    for line in [*text.split("\n"), ""]:
        start = line.lstrip()
        if start.startswith(">"):
            quoted += start.lstrip("> ") + "\n"
            continue
        if quoted.strip():
            made.append(_checked(quoted.strip().strip('"“”«»'), of, spoken))
            of, quoted = made[-1].of, ""
        of = _named(line, names) or of
        for words, around in _in_marks(line):
            credited = _named(around, names)
            if (credited or of) and len(words.split()) >= _WORDS and len(made) < _MOST:
                made.append(_checked(words, credited, spoken, of))
        of = of if start or made else ""
    return made[:_MOST]


def _in_marks(line: str) -> list[tuple[str, str]]:
    """Return the words between quotation marks, each with what stands near it."""
    found, at = [], 0
    while at < len(line):
        if line[at] in _MARKS and (end := line.find(_MARKS[line[at]], at + 1)) > at:
            near = f"{line[end + 1 : end + _NEAR]} {line[max(0, at - _NEAR) : at]}"
            found.append((line[at + 1 : end].strip(), near))
            at = end
        at += 1
    return found


def _named(words: str, names: dict[str, str]) -> str:
    """Return the member named last in words, "" for none."""
    at = {i: max(words.rfind(f"@{i}"), words.rfind(n) if n else -1) for i, n in names.items()}
    best = max(at, key=lambda i: at[i], default="")
    return best if best and at[best] >= 0 else ""


def _checked(words: str, of: str, spoken: list[tuple[str, str]], perhaps: str = "") -> Quote:
    """Return a passage as a quotation: of whom it is credited to, else of who said it last."""
    parts = [part.strip(" .,;:") for part in _plain(words).replace("[...]", "\0").split("\0")]
    holders = [who for who, text in spoken if all(part in text for part in parts)]
    found = bool(holders) if not of else of in holders or "" in holders
    return Quote(text=words, of=of or (holders or [perhaps])[-1], found=found)


def _plain(text: str) -> str:
    return " ".join(text.translate(_SAME).casefold().split())
