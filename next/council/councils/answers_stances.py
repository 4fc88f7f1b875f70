"""What an answer says to its peers: agree, partial, disagree, or something that has to be asked.

An entry is a line that begins with a peer, or with a stance and a peer. Its words must begin with a
stance; the rest of the line can only cast doubt on it, never decide.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import Piece, strongest
from council.councils.answers_words import fold, pattern, plain
from council.councils.model import STANCES, Fault, Stance
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
        named = [match[0].partition("(") for match in pattern(self.one).finditer(fold(words))]
        return [self._owners[_key(ident or name)] for name, _, ident in named]


def stances(found: list[Piece], form: Form) -> tuple[dict[str, Stance], list[Fault]]:
    """Return the stances that are clear, and a fault for each that is not or is missing."""
    names = Names(form)
    parts = [*strongest(found, "responses"), *strongest(found, "response")]
    entries = [entry for piece in parts for entry in _entries(piece, names)]
    spoken = {entry.peer for entry in entries}
    rest = [piece for piece in found if all(piece is not part for part in parts)]
    loose = [entry for piece in rest for entry in _loose(piece, names)]
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


def read_stance(words: str) -> tuple[str, str]:
    """Return the stance with which words begin ("" if it cannot be told) and what follows it."""
    words = re.sub(r"[*_`~]", "", words).strip()
    match = pattern("{=begins}").match(fold(words))
    while match and (arrow := pattern("{=arrow}").match(fold(words), match.end())):
        words = words[arrow.end() :]
        match = pattern("{=begins}").match(fold(words))
    if not match:
        return "", ""
    word, tail = next(word for word in STANCES if match[word]), words[match.end() :]
    return "" if _is_doubtful(word, fold(tail)) else word, tail.strip(" :.,;—–-)]\"'")


def _is_doubtful(word: str, tail: str) -> bool:
    """Return whether the rest of a line casts doubt on its stance."""
    if len(tail) > 3000:
        return True
    if not re.search(r"\w|\?", tail):
        return False
    tail = pattern("{=quoted}").sub('""', tail)
    if word == "disagree":
        tail = pattern("{=conceding}").sub("", tail)
    again = word != "partial" and pattern("{verbs}").search(tail)
    if again or pattern("{=correcting}").search(tail):
        return True
    if word != "agree":
        return False
    tail = pattern("{=harmless_words}").sub(" ", tail)
    about = pattern("{=about}").match(tail)
    return bool(
        pattern(r"{limits}|\?\s*$|\d ?%").search(tail)
        or pattern("{=in_part}").match(tail)
        or (about and not pattern("{=all_of_it}").match(about[1]))
    )


def _entries(piece: Piece, names: Names) -> list[Entry]:
    """Return the entries of a part of responses, each with the lines below it."""
    opened: list[tuple[list[set[str]], list[str], int]] = []  # who, the words, the indent
    doubted: list[str] = []
    if piece.part == "response":
        opened.append((names.owners(piece.besides), [], -1))
    fresh = True
    for line in [piece.inline, *piece.lines]:
        body, indent = re.sub(r"^[#\s]*", "", line), len(line) - len(line.lstrip())
        below = opened and opened[-1][1] and indent > opened[-1][2] >= 0
        clauses = [] if below or body.startswith(">") else _clauses(body, names)
        opened += [(owners, [words] if words else [], indent) for owners, words in clauses]
        if body and not clauses and not body.startswith(">"):
            if fresh and pattern(r"^\W*(?:no,? )?{corrections}(?!\w)").match(plain(body)):
                doubted.append(body)
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
    labelled = [one for one in words if pattern(r"^\W*{stance label}\W*[:=]").match(plain(one))]
    first = (labelled or words or [""])[0]
    word, comment = read_stance(pattern("{=marks}").sub("", first, count=1))
    rest = [pattern("{=marks}").sub("", one, count=1) for one in words if one is not first]
    if word == "agree" and any(pattern("{=denied}").match(plain(one)) for one in rest[:3]):
        word = ""
    comment, seen = "\n".join([comment, *rest]).strip(), " ".join(" ".join(words).split())
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
    signed, body = bool(re.match(r"\s*[—–]", line)), pattern("{=marks}").sub("", line, count=1)
    body = re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", body).strip("—– ")
    folded = fold(body)
    starts = [len(pattern("{=sign}").match(folded)[0])]  # type: ignore[index]
    if len(names.owners(body)) > 1:
        starts += _further(folded, starts[0], names)
    with_one = rf"(?:(?:with|to|avec|mit|con)\s+|[:—–-]+\s*)({names.several})(?!')"
    front = rf"{{=lead}}{{=stance}}\s*{with_one}"
    peer = pattern(rf"{{=prefix}}({names.several}){{=topic}}")
    made: list[_Clause] = []
    for at, end in zip(starts, [*starts[1:], len(body)], strict=True):
        if match := peer.match(folded, at, end):
            words = body[match.end() : end].strip().lstrip(":：→=>|—–-., ")
            is_entry = not signed or read_stance(words)[0]
            made.append((names.owners(match[1]) if is_entry else [], words))
        elif re.match(r"@\w", folded[at:end]):
            made.append(([], ""))
        elif pattern(names.one).search(folded, at, end) and (
            match := pattern(front).match(folded, at, end)
        ):
            word = next(word for word in STANCES if match[word])
            owners = names.owners(match[match.lastindex or 0])
            made.append((owners, f"{word} {body[match.end() : end]}"))
    return made


def _further(folded: str, start: int, names: Names) -> list[int]:
    """Return where further entries begin in a line, but not within "@a and @b: agree"."""
    to_one = rf"{{=lead}}{{=any_stance}}\s+with\s+{names.one}"
    one_is = rf"{names.one}\s*[(\[:=→—–-]*\s*{{=lead}}{{=any_stance}}"
    again = rf"(?:[.;,|!)]\s*(?:and |but |while )?|\s(?:but|and) )(?={to_one}|{one_is})"
    only_names = pattern(rf".?\W*(?:to |re )?{names.several}\W*")
    starts = [start]
    for split in pattern(again).finditer(folded, start + 1):
        if not only_names.fullmatch(folded, starts[-1], split.start()):
            starts.append(split.end())
    return starts[1:]


def _loose(piece: Piece, names: Names) -> list[Entry]:
    """Return the entries outside of responses that are plainly a peer, a sign and a stance."""
    plainly = pattern(rf"^{{=sign}}(?:to )?{names.several}\s*[:(\[—–→-]+\s*")
    entries: list[Entry] = []
    if not pattern(names.one).search(fold("\n".join([piece.inline, *piece.lines]))):
        return entries
    for line in [piece.inline, *piece.lines][: 0 if piece.part in ("blocking", "status") else None]:
        body = re.sub(r"[*_`]", "", pattern("{=marks}").sub("", line.lstrip("# "), count=1))
        named = plainly.match(fold(body)) if len(line) < 2000 else None
        if named and pattern("{=begins}").match(fold(body[named.end() :])):
            for owners, words in _clauses(body, names):
                entries += _entry(owners, [words])
    return entries


def _key(name: str) -> str:
    return re.sub(r"[-_\s.@()]", "", fold(name))
