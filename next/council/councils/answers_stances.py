"""What an answer says to its peers: agree, partial, disagree, or something that has to be asked.

An entry is a line that begins with a peer, or with a stance and a peer. Its words must begin with a
stance; the rest of the line can only cast doubt on it, never decide.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import Part, strongest, without_marks
from council.councils.answers_words import fold, pattern, plain, search, value
from council.councils.model import STANCES, Fault, Stance
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form


class Entry(Record):
    """What is said to some peers, line by line; several may bear a name."""

    owners: list[set[str]]
    lines: list[str]
    indent: int = 0

    def stance(self) -> Stance:
        """Return the stance that it begins with, its word "" if it cannot be told."""
        word, comment = value("stance", "".join(self.lines[:1]))
        denied = any(search("denied", plain(line)) for line in self.lines[1:4])
        comment = comment.strip(" :.,;—–-)]\"'")
        return Stance(
            word="" if word == "agree" and denied else word,
            comment="\n".join([comment, *self.lines[1:]]).strip(),
        )


class Names:
    """The names by which peers may be called, as expressions over folded text."""

    def __init__(self, form: Form) -> None:
        self._owners: dict[str, set[str]] = {}
        for ident, name in form.peers.items():
            self._owners.setdefault(_key(name), set()).add(ident)
        self._owners |= {_key(ident): {ident} for ident in form.peers}
        names = {fold(name) for pair in form.peers.items() for name in pair if _key(name)}
        parts = [re.split(r"[-_\s.@()]+", name) for name in sorted(names, key=len, reverse=True)]
        loose = "|".join(r"[-_\s.]{0,2}".join(map(re.escape, one)) for one in parts) or "(?!)"
        one = rf"(?<![\w@])@?(?:{loose})(?!\w|[-.]\w)(?:\s?\((?:{loose})\))?"
        several = rf"{one}(?:\s*(?:,|&|/|and|et|und|y|,\s*and)\s*{one})*"
        front = rf"{{=lead}}{{=stance}}{{=with}}(?P<front>{several})(?!')"
        further = rf"[.;,|] *(?:and |but )?(?P<further>{several})(?=[ :=(—–-]*{{=any stance}})"
        begins = rf"(?:{{=prefix}}(?P<who>{several}){{=topic}}|{front}|@\w+)"
        plainly = rf"(?:to )?(?P<who>{several})\s*[:(\[—–→-]+\s*(?={{=begins}})"
        self.one, self.entry = one, rf"{{=before an entry}}{begins}|{further}"
        self.plain = rf"{{=before an entry}}{plainly}|{further}"

    def owners(self, words: str) -> list[set[str]]:
        """Return for each name in words who bears it."""
        named = [one[0].partition("(") for one in pattern(self.one, "").finditer(fold(words))]
        return [self._owners[_key(ident or name)] for name, _, ident in named]


def stances(found: list[Part], form: Form) -> tuple[dict[str, Stance], list[Fault]]:
    """Return the stances that are clear, and a fault for each that is not or is missing.

    Outside of responses counts only what is plainly a peer, a sign and a stance, and only for a
    peer without an entry.
    """
    names, entries, loose, doubted = Names(form), list[Entry](), list[Entry](), False
    for part in found:
        if part.name in ("responses", "response") and part in strongest(found, part.name):
            entries += _entries(part, names, names.entry)
            doubted |= any(search("later words", plain(words)) for words in part.paragraphs())
        elif part.name not in ("blocking", "status"):
            told = _entries(part, names, names.plain)
            loose += [entry.copy(lines=entry.lines[:1]) for entry in told]
    spoken = {peer for entry in entries for owners in entry.owners for peer in owners}
    entries += [entry for entry in loose if not any(spoken & owners for owners in entry.owners)]
    clear, faults = dict[str, Stance](), []
    for peer in form.peers:
        own = [(entry, owners) for entry in entries for owners in entry.owners if peer in owners]
        said = [entry.stance() for entry, _ in own]
        shared = any(len(owners) > 1 for _, owners in own)
        if not shared and not doubted and len({one.word for one in said}) == 1 and said[0].word:
            clear[peer] = said[0]
        elif own:
            code = "ambiguous-name" if shared else "unclear-stance"
            seen = " … ".join(" ".join(" ".join(entry.lines).split()) for entry, _ in own)
            faults.append(Fault(part=f"stance:{peer}", code=code, seen=seen))
        elif peer in form.needs:
            faults.append(Fault(part=f"stance:{peer}", code="no-stance"))
    return clear, faults


def insights(found: list[Part], form: Form) -> dict[str, str]:
    """Return the insight that a synthesis credits to each member."""
    parts, names = strongest(found, "insights"), Names(form)
    said = [entry for part in parts for entry in _entries(part, names, names.entry)]
    return {min(one.owners[0]): one.lines[0] for one in said[::-1] if one.owners and one.lines}


def _entries(part: Part, names: Names, begin: str) -> list[Entry]:
    """Return what a part says to each peer, with the lines below it.

    An entry without owners ends the one before it: it is to a stranger.
    """
    text = re.sub(r"[*`~]|(?<!\w)_+|_+(?!\w)", "", "\n".join(part.lines))
    folded = fold(text) if len(text) < 50_000 else ""
    made, front, at = [Entry(owners=names.owners(part.besides), lines=[], indent=-1)], "", 0
    for found in [*pattern(begin, folded).finditer(folded), None]:
        words = text[at : found.start()] if found else text[at:]
        indent = len(found["indent"] or "") if found else 0
        if indent > made[-1].indent >= 0 and words.strip():
            continue  # below the entry
        lines = (front + words if front else words.lstrip(":：→=>|—–-., ")).split("\n")
        made[-1].lines = [line for line in map(without_marks, lines) if line]
        if found:
            said = found.groupdict()
            owners = names.owners(said["who"] or said.get("front") or said["further"] or "")
            front = next((word for word in STANCES if said.get("front") and said[word]), "")
            made.append(Entry(owners=owners, lines=[], indent=indent))
            at = found.end()
    return made


def _key(name: str) -> str:
    return re.sub(r"[-_\s.@()]", "", fold(name))
