"""What an answer says to its peers: agree, partial, disagree, or something that has to be asked.

An entry is a line that begins with a peer, or with a stance and a peer. Its words must begin with a
stance; the rest of the line can only cast doubt on it, never decide.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import Piece, strongest, without_marks
from council.councils.answers_words import fold, match, pattern, plain, value
from council.councils.model import Fault, Stance
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

    _Clause = tuple[list[set[str]], str]  # who is named (several where it is ambiguous), the words


class Entry(Record):
    """What one line says to a peer: a word ("" if it cannot be told), a comment, what was read."""

    peer: str
    word: str = ""
    comment: str = ""
    seen: str = ""
    code: str = "unclear-stance"


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
        self.one = rf"(?<![\w@])@?(?:{loose})(?!\w|[-.]\w)(?:\s?\((?:{loose})\))?"
        self.several = rf"{self.one}(?:\s*(?:,|&|/|and|et|und|y|,\s*and)\s*{self.one})*"

    def owners(self, words: str) -> list[set[str]]:
        """Return for each name in words who bears it."""
        named = [one[0].partition("(") for one in pattern(self.one, "").finditer(fold(words))]
        return [self._owners[_key(ident or name)] for name, _, ident in named]


def stances(found: list[Piece], form: Form) -> tuple[dict[str, Stance], list[Fault]]:
    """Return the stances that are clear, and a fault for each that is not or is missing."""
    names, entries, loose = Names(form), list[Entry](), list[Entry]()
    stated = [*strongest(found, "responses"), *strongest(found, "response")]
    for piece in found:
        if any(piece is one for one in stated):
            entries += _entries(piece, names)
        elif piece.part not in ("blocking", "status"):
            loose += _loose(piece, names)
    spoken = {entry.peer for entry in entries}
    entries += [entry for entry in loose if entry.peer not in spoken]
    clear: dict[str, Stance] = {}
    faults = []
    for peer in form.peers:
        own = [entry for entry in entries if entry.peer == peer]
        words, part = {entry.word for entry in own}, f"stance:{peer}"
        if len(words) == 1 and own[0].word:
            clear[peer] = Stance(word=own[0].word, comment=own[0].comment)
        elif own:
            seen = " … ".join(dict.fromkeys(entry.seen for entry in own))
            faults.append(Fault(part=part, code=own[0].code, seen=seen))
        elif peer in form.needs:
            faults.append(Fault(part=part, code="no-stance"))
    return clear, faults


def insights(found: list[Piece], form: Form) -> dict[str, str]:
    """Return the insight that a synthesis credits to each member."""
    names, said = Names(form), dict[str, str]()
    for piece in strongest(found, "insights"):
        for line in [piece.inline, *piece.lines]:
            for owners, words in _clauses(line.lstrip("# "), names)[:1]:
                if owners and words:
                    said.setdefault(min(owners[0]), words)
    return said


def _entries(piece: Piece, names: Names) -> list[Entry]:
    """Return the entries of a part of responses, each with the lines below it."""
    opened: list[tuple[list[set[str]], list[str], int]] = []  # who, the words, the indent
    doubted: list[str] = []
    if piece.part == "response":
        opened.append((names.owners(piece.besides), [], -1))
    fresh = True
    for line in [piece.inline, *piece.lines]:
        body, indent = line.lstrip("# "), len(line) - len(line.lstrip())
        below = opened and opened[-1][1] and indent > opened[-1][2] >= 0
        clauses = [] if below or body.startswith(">") else _clauses(body, names)
        opened += [(owners, [words] if words else [], indent) for owners, words in clauses]
        if body and not clauses and not body.startswith(">"):
            doubted += [body] if fresh and match("later words", plain(body)) else []
            if opened:
                opened[-1][1].append(body)
        fresh = not body
    entries = [entry for owners, words, _ in opened for entry in _entry(owners, words)]
    for words in doubted:
        named = {peer for owners in names.owners(words) for peer in owners}
        for entry in entries:
            if entry.peer in named or not named:
                entry.word, entry.seen = "", f"{entry.seen} … {words}"
    return entries


def _entry(owners: list[set[str]], words: list[str]) -> list[Entry]:
    """Return what the words behind and below some names say to each of them."""
    words = [without_marks(one) for one in words]
    first = next((one for one in words if match("labelled stance", plain(one))), "".join(words[:1]))
    word, comment = value("stance", re.sub(r"[*_`~]", "", first).strip())
    rest = [one for one in words if one is not first]
    if word == "agree" and any(match("denied", plain(one)) for one in rest[:3]):
        word = ""
    comment = "\n".join([comment.strip(" :.,;—–-)]\"'"), *rest]).strip()
    seen = " ".join(" ".join(words).split())
    return [
        Entry(peer=peer, word=word, comment=comment, seen=seen)
        if len(own) == 1
        else Entry(peer=peer, seen=seen, code="ambiguous-name")
        for own in owners
        for peer in sorted(own)
    ]


def _clauses(line: str, names: Names) -> list[_Clause]:
    """Split a line into entries; [] where it begins with no peer and no stance to one.

    An entry without owners ends the one before it: to a stranger, or a signature.
    """
    if len(line) > 5000:
        return []
    signed, body = line.lstrip()[:1] in ("—", "–"), without_marks(line)
    body = re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", body).strip("—– ")
    stance_with_one = rf"{{=lead}}{{=stance}}{{=with}}(?P<who>{names.several})(?!')"
    made: list[_Clause] = []
    for part in _parts(body, names):
        folded = fold(part)
        named = pattern(rf"{{=prefix}}({names.several}){{=topic}}", "").match(folded)
        if named:
            words = part[named.end() :].strip().lstrip(":：→=>|—–-., ")
            is_entry = not signed or value("stance", words)[0]
            made.append((names.owners(named[1]) if is_entry else [], words))
        elif re.match(r"@\w", folded):
            made.append(([], ""))
        elif front := pattern(stance_with_one, folded).match(folded):
            word = next(word for word in ("partial", "disagree", "agree") if front[word])
            made.append((names.owners(front["who"]), f"{word} {part[front.end() :]}"))
    return made


def _parts(body: str, names: Names) -> list[str]:
    """Split a line where a further entry begins, but not within "@a and @b: agree"."""
    folded, made, start = fold(body), list[str](), 0
    if len(names.owners(body)) < 2:
        return [body]
    to_one = rf"{{=lead}}{{=any stance}}\s+with\s+{names.one}"
    one_is = rf"{names.one}\s*[(\[:=→—–-]*\s*{{=lead}}{{=any stance}}"
    again = rf"(?:[.;,|!)]\s*(?:and |but |while )?|\s(?:but|and) )(?={to_one}|{one_is})"
    for split in pattern(again, folded).finditer(folded, 1):
        only_names = pattern(rf".?\W*(?:to |re )?{names.several}\W*", "")
        if not only_names.fullmatch(folded, start, split.start()):
            made.append(body[start : split.start()])
            start = split.end()
    return [*made, body[start:]]


def _loose(piece: Piece, names: Names) -> list[Entry]:
    """Return the entries outside of responses that are plainly a peer, a sign and a stance."""
    plainly = rf"(?:to )?{names.several}\s*[:(\[—–→-]+\s*{{=begins}}"
    entries: list[Entry] = []
    for line in [piece.inline, *piece.lines]:
        if len(line) < 2000 and pattern(names.one, "").search(folded := fold(line)):
            body = re.sub(r"[*_`]", "", without_marks(line.lstrip("# ")))
            if pattern(plainly, folded).match(fold(body)):
                for owners, words in _clauses(body, names):
                    entries += _entry(owners, [words])
    return entries


def _key(name: str) -> str:
    return re.sub(r"[-_\s.@()]", "", fold(name))
