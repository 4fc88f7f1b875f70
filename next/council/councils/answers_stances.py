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

Peers = dict[str, str]  # id to name
Said = tuple[dict[str, Stance], list[Fault]]


class Entry(Record):
    """What is said to some peers, line by line; some names may be shared by others."""

    peers: list[str]
    shared: bool = False
    lines: list[str] = []
    indent: int = -1
    plainly: bool = False

    def stance(self) -> Stance:
        """Return the stance that it begins with, its word "" if it cannot be told."""
        word, comment = value("stance", "".join(self.lines[:1]))
        denied = any(search("denied", plain(line)) for line in self.lines[1:4])
        words = "\n".join([comment.strip(" :.,;—–-)]|\"'"), *self.lines[1:]])
        return Stance(word="" if word == "agree" and denied else word, comment=words.strip())


class Names:
    """The names by which peers may be called, and how entries begin with them (folded)."""

    def __init__(self, peers: Peers) -> None:
        self._owners: dict[str, list[str]] = {}
        for ident, name in peers.items():
            self._owners.setdefault(_key(name), []).append(ident)
        self._owners |= {_key(ident): [ident] for ident in peers}
        names = {fold(name) for pair in peers.items() for name in pair if _key(name)}
        parts = [re.split(r"[-_\s.@()]+", name) for name in sorted(names, key=len, reverse=True)]
        loose = "|".join(r"[-_\s.]{0,2}".join(map(re.escape, one)) for one in parts) or "(?!)"
        self.one = rf"(?<![\w@])@?(?:{loose})(?!\w|[-.]\w)(?:\s?\((?:{loose})\))?"
        several = rf"{self.one}(?:\s*(?:,|&|/|and|et|und|y|,\s*and)\s*{self.one})*"
        front = rf"{{=lead}}{{=stance}}{{=with}}(?P<front>{several})(?!')"
        further = rf"[.;,|] *(?:and |but )?(?P<further>{several})(?=[ :=(—–-]*{{=any stance}})"
        begins = rf"(?:{{=prefix}}(?P<who>{several}){{=topic}}|{front}|@\w+)"
        self.entry = rf"{{=before an entry}}{begins}|{further}"

    def entry_to(self, words: str, indent: int) -> Entry:
        """Return an entry to those that are named; without any it ends the one before it."""
        named = [one[0].partition("(") for one in pattern(self.one, "").finditer(fold(words))]
        owners = [self._owners[_key(ident or name)] for name, _, ident in named]
        peers = [peer for one in owners for peer in one]
        return Entry(peers=peers, shared=len(peers) > len(owners), indent=indent)


def stances(found: list[Part], peers: Peers, needs: list[str]) -> Said:
    """Return the stances that are clear, and a fault for each that is not or is missing.

    Outside of responses only a peer without an entry, a sign and a stance are one.
    """
    names, responses = Names(peers), strongest(found, "responses") + strongest(found, "response")
    entries = [entry for part in responses for entry in _entries(part, names)]
    spoken = {peer for entry in entries for peer in entry.peers}
    for part in found:
        if part.name not in ("responses", "response", "blocking", "status"):
            said = [entry for entry in _entries(part, names) if entry.plainly]
            loose = [entry for entry in said if not spoken.intersection(entry.peers)]
            entries += [entry.copy(lines=entry.lines[:1]) for entry in loose]
    paragraphs = [plain(words) for part in responses for words in part.paragraphs()]
    doubted = any(search("later words", words) for words in paragraphs)
    clear, faults = dict[str, Stance](), []
    for peer in peers:
        own = [entry for entry in entries if peer in entry.peers]
        words, shared = {entry.stance().word for entry in own}, any(entry.shared for entry in own)
        if len(words) == 1 and "" not in words and not (shared or doubted):
            clear[peer] = own[0].stance()
        elif own or peer in needs:
            code = "ambiguous-name" if shared else "unclear-stance" if own else "no-stance"
            seen = " … ".join(" ".join(entry.lines) for entry in own)
            faults.append(Fault(part=f"stance:{peer}", code=code, seen=seen))
    return clear, faults


def insights(found: list[Part], peers: Peers) -> dict[str, str]:
    """Return the insight that a synthesis credits to each member."""
    parts, names = strongest(found, "insights"), Names(peers)
    said = [entry for part in parts for entry in _entries(part, names)]
    return {entry.peers[0]: entry.lines[0] for entry in said[::-1] if entry.peers}


def _entries(part: Part, names: Names) -> list[Entry]:
    """Return what a part says to each peer, with the lines below it."""
    text = re.sub(r"[*`~]|(?<!\w)_+|_+(?!\w)", "", "\n".join(part.lines))
    folded = fold(text) if len(text) < 50_000 else ""
    made, front, at = [names.entry_to(part.besides, -1)], "", 0
    for found in [*pattern(names.entry, folded).finditer(folded), None]:
        words = text[at : found.start()] if found else text[at:]
        indent = len(found["indent"] or "") if found else 0
        if indent > made[-1].indent >= 0 and words.strip():
            continue  # below the entry
        lines = (front + words if front else words.lstrip(":：→=>|—–-., ")).split("\n")
        made[-1].plainly = bool(search("plain entry", fold(words.partition("\n")[0])))
        made[-1].lines = [line for line in map(without_marks, lines) if line]
        if found:
            said, at = found.groupdict(), found.end()
            front = next((word for word in STANCES if said.get("front") and said[word]), "")
            whom = said["who"] or said.get("front") or said["further"] or ""
            made.append(names.entry_to(whom, indent))
    return [entry for entry in made if entry.lines or not entry.peers]


def _key(name: str) -> str:
    return re.sub(r"[-_\s.@()]", "", fold(name))
