"""What an answer says to its peers: agree, partial, disagree, or something that has to be asked.

An entry is a line that begins with a peer, or with a stance and a peer. Its words must begin with a
stance; the rest of the line can only cast doubt on it, never decide.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import MARKS, Piece, strongest
from council.councils.answers_words import fold, pattern, plain
from council.councils.model import Fault, Stance
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

_QUOTED = re.compile(
    r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|(?<!\w)'[^'\n]{0,300}'(?!\w)"
)
_SIGN = r"[^\w@\"'«“(\[<?/]*"
_LEAD = r"(?:{stance lead}\s+){0,4}"
_STANCE = r"(?:(?P<partial>{partial})|(?P<disagree>{disagree})|(?P<agree>{agree}))"
_ANY = r"(?:{partial}|{disagree}|{agree})"
_BEGINS = rf"{_SIGN}[\"'(\[]?(?:{{stance label}}\s*(?:is|[:=])\s*)?{_SIGN}[\"'(\[]?{_LEAD}{_STANCE}"
_ENDS = r"(?=[^\w?/|]*$|[\"')\]]?\s*[^\w\s?/|-]|[\"')\]]?\s+-|\s+{stance behind}|[^\x00-\u2e80])"
_ARROW = r"\s*(?:→|->|=>|➡)\s*"
_PREFIX = r"(?:re|to|for|on|regarding|response to|reply to|a|an)?\s*:?\s*"
_TOPIC = r"(?:\s*'s? [^:—–(\[]{1,60}(?=[:—–(\[])|\s+(?:on|re|about|regarding|sur|concernant|zu)\s[^:—–]{1,80}(?=[:—–]))?"
_DENIED = ("but", "but only", "only", "except", "if", "unless", "not", "provided", "mais", "sauf")


class Entry(Record):
    """What one line says to a peer: a word, "" if it cannot be told, and what was read."""

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
            for word in (ident, name):
                if key := _key(word):
                    self._owners.setdefault(key, set()).add(ident)
        for ident in form.peers:
            self._owners[_key(ident)] = {ident}
        keys = sorted(self._owners, key=len, reverse=True)
        loose = "|".join(r"[-_\s]{0,2}".join(map(re.escape, key)) for key in keys) or r"(?!)"
        self.one = rf"(?<![\w@])@?(?:{loose})(?!\w|[-.]\w)(?:\s?\((?:{loose})\))?"
        self.several = rf"{self.one}(?:\s*(?:,|&|/|and|et|und|y|,\s*and)\s*{self.one})*"

    def owners(self, words: str) -> list[set[str]]:
        """Return for each name in words who bears it; several where it is ambiguous."""
        found = []
        for match in re.finditer(self.one, words):
            name, _, ident = match[0].partition("(")
            own = self._owners.get(_key(ident)) if ident else None
            found.append(own or self._owners[_key(name)])
        return found


def stances(found: list[Piece], form: Form) -> tuple[dict[str, Stance], list[Fault]]:
    """Return the stances that are clear, and a fault for each that is not or is missing.

    Args:
        found: All pieces of the answer.
        form: Who the peers are, and who of them is owed a stance.
    """
    names = Names(form)
    parts = [*strongest(found, "responses"), *strongest(found, "response")]
    entries = [entry for piece in parts for entry in _entries(piece, names)]
    spoken = {entry.peer for entry in entries}
    entries += [
        entry
        for piece in found
        if all(piece is not part for part in parts)
        for entry in _loose(piece, names)
        if entry.peer not in spoken
    ]
    clear: dict[str, Stance] = {}
    faults = []
    for peer in form.peers:
        own = [entry for entry in entries if entry.peer == peer]
        words = {entry.word for entry in own}
        if len(words) == 1 and "" not in words:
            clear[peer] = Stance(word=own[0].word, comment=own[0].comment)
        elif own:
            code = own[0].code if len(words) == 1 else "unclear-stance"
            seen = " … ".join(dict.fromkeys(entry.seen for entry in own))
            faults.append(Fault(part=f"stance:{peer}", code=code, seen=seen))
        elif peer in form.needs:
            faults.append(Fault(part=f"stance:{peer}", code="no-stance"))
    return clear, faults


def read_stance(words: str, names: Names) -> tuple[str, str]:
    """Return the stance with which words begin ("" if it cannot be told) and what follows it."""
    words = re.sub(r"[*_`~]", "", words).strip()
    folded = fold(words)
    match = pattern(rf"^{_BEGINS}{_ENDS}").match(folded)
    while match and (arrow := re.match(_ARROW, folded[match.end() :])):
        rest = folded[match.end() + arrow.end() :]
        folded, words = rest, words[len(words) - len(rest) :]
        match = pattern(rf"^{_BEGINS}{_ENDS}").match(folded)
    if not match:
        return "", ""
    word = next(name for name in ("partial", "disagree", "agree") if match[name])
    tail = folded[match.end() :]
    comment = words[match.end() :].lstrip(" :.,;—–-)]\"'").rstrip()
    return ("" if _doubtful(word, tail, names) else word), comment


def _doubtful(word: str, tail: str, names: Names) -> bool:
    """Return whether the rest of a line casts doubt on its stance."""
    tail = _QUOTED.sub('""', tail)
    if pattern(r"(?:^|[.;,:(—–!]|\s-)\s*(?:oh,? |no,? )?{corrections}(?!\w)").search(tail):
        return True
    if word == "partial":
        return False
    if word == "disagree":
        tail = re.sub(
            r"\bi (?:do |fully )?agree (?:it|the|that|with|on)\b[^.]{0,200}?(?:\bbut\b|\byet\b|,)",
            "",
            tail,
        )
        return bool(pattern("{verbs}").search(tail))
    tail = pattern(r"{harmless}").sub(" ", tail)
    tail = pattern(r"[^.,;]{0,60}{turned}").sub(" ", tail)
    if pattern(r"{verbs}|{limits}").search(tail) or re.search(r"\?\s*$", tail):
        return True
    about = re.match(r"[\s\"')\]]*\(?(?:with|on|about|regarding|avec|sur|mit|con)\s+(.*)", tail)
    if about and not re.match(rf"(?:@|{names.one}(?!')(?! (?:on|about)\b))|(?!.*)", about[1]):
        if not pattern(r"^{whole}(?! of\b)").match(about[1]):
            return True
    if re.match(r"[\s\"')\]]*[,(]\s*(\w+(?:ly|ing))\b", tail):
        return not pattern(r"[\s\"')\]]*[,(]\s*{full}").match(tail)
    return bool(pattern(r"[\W]*(?:i |it's |it is |that is )?{hedges}").match(tail))


def _entries(piece: Piece, names: Names) -> list[Entry]:
    """Return the entries of a part of responses, each with the lines below it."""
    open_entry: list[tuple[list[set[str]], list[str], int]] = []
    if piece.part == "response":
        owners = names.owners(fold(piece.extra))
        open_entry.append((owners, [piece.inline] if piece.inline else [], -1))
    doubted: list[str] = []
    fresh = True
    for line in [piece.inline, *piece.lines] if piece.part == "responses" else piece.lines:
        if not line.strip():
            fresh = True
            continue
        if line.lstrip().startswith(">"):
            continue
        indent = len(line) - len(line.lstrip())
        body = re.sub(r"^[#\s]*", "", line)
        below = open_entry and indent > open_entry[-1][2] >= 0 and not line.startswith("#")
        clauses = [] if below and open_entry[-1][1] else _clauses(body, names)
        started = False
        for owners, words in clauses:
            if owners is None:
                if open_entry and not started:
                    open_entry.append(([], [], -1))
                continue
            open_entry.append((owners, [words] if words.strip(" :—–-*_.→=|()[]") else [], indent))
            started = True
        if not clauses:
            if fresh and pattern(r"^\W*(?:no,? )?{corrections}(?!\w)").match(plain(body)):
                doubted.append(body)
            if open_entry:
                open_entry[-1][1].append(body)
        fresh = False
    entries = [e for owners, words, _ in open_entry for e in _entry(owners, words, names)]
    for words in doubted:
        named = {peer for owners in names.owners(fold(words)) for peer in owners}
        for entry in entries:
            if entry.peer in named or not named:
                entry.word, entry.seen = "", f"{entry.seen} … {words}"
    return entries


def _entry(owners: list[set[str]], words: list[str], names: Names) -> list[Entry]:
    """Return what the words below or behind some names say to each of them."""
    stated = [w for w in words if pattern(r"^\W*{stance label}\W*[:=]").match(plain(w))]
    first = (stated or words or [""])[0]
    word, comment = read_stance(MARKS.sub("", first, count=1), names)
    others = [line for line in words if line is not first]
    limits = pattern(r"^\W*(?:{corrections}|" + "|".join(_DENIED) + r")(?!\w)")
    if any(limits.match(plain(line)) for line in others[:3] if word == "agree"):
        word = ""
    comment = "\n".join([comment, *(MARKS.sub("", line, count=1) for line in others)]).strip()
    seen = " ".join(" ".join(words).split())[:300]
    return [
        Entry(peer=peer, word="" if len(own) > 1 else word, comment=comment, seen=seen)
        if len(own) == 1
        else Entry(peer=peer, seen=seen, code="ambiguous-name")
        for own in owners
        for peer in sorted(own)
    ]


def _clauses(body: str, names: Names) -> list[tuple[list[set[str]] | None, str]]:
    """Split a line into entries: whom each is for (None: a stranger, or a signature) and its words.

    A line that begins with no peer and no stance to one is no entry: [].
    """
    signed = re.match(r"\s*[—–]\s*", body)
    body = re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", MARKS.sub("", body, count=1))
    body = re.sub(r"^[—–]\s*", "", body.strip())
    folded = fold(body)
    begin = re.match(_SIGN, folded).end()  # type: ignore[union-attr]
    starts = [begin]
    again = pattern(
        rf"(?:[.;,|]\s*|\s+)(?:and|but|while)?\s*(?={_LEAD}{_ANY}\s+with\s+{names.one})"
        rf"|(?:[.;,|!)]\s*(?:and |but |while )?|\s(?:but|and) )(?={names.one}\s*[(\[:=→—–-]*\s*{_LEAD}{_ANY})"
    )
    for match in again.finditer(folded, begin + 1):  # not within "@a and @b: agree"
        if not re.fullmatch(rf"{_PREFIX}{names.several}\s*", folded[starts[-1] : match.start()]):
            starts.append(match.end())
    made: list[tuple[list[set[str]] | None, str]] = []
    for at, end in zip(starts, [*starts[1:], len(body)], strict=True):
        front = pattern(
            rf"{_LEAD}{_STANCE}\s*(?:(?:with|to|avec|mit|con)\s+|[:—–-]+\s*)({names.several})(?!'|\s*wrote)"
        ).match(folded, at, end)
        peer = re.match(
            rf"{_PREFIX}({names.several})(?:\s*\((?![^)]*agree|partial)[^)]{{0,40}}\))?{_TOPIC}",
            folded[at:end],
        )
        if front:
            word = next(name for name in ("partial", "disagree", "agree") if front[name])
            owners = names.owners(front[front.lastindex or 0])
            made.append((owners, f"{word} {body[front.end() : end].strip()}"))
        elif peer:
            words = body[at + peer.end() : end].strip().lstrip(":：→=>|—–-., ")
            if not (signed and not read_stance(words, names)[0]):
                made.append((names.owners(peer[1]), words))
            else:
                made.append((None, words))
        elif re.match(r"@[\w-]+", folded[at:end]):
            made.append((None, body[at:end]))
    return made


def _loose(piece: Piece, names: Names) -> list[Entry]:
    """Return the entries outside of responses that are plainly a peer, a sign and a stance."""
    entries = []
    plainly = pattern(rf"^{_SIGN}(?:to )?{names.several}\s*[:(\[—–→-]+\s*{_STANCE}")
    lines = [piece.inline, *piece.lines] if piece.part not in ("blocking", "status") else []
    for line in lines:
        body = re.sub(r"[*_`]", "", re.sub(r"^[#\s]*", "", line))
        if len(line) > 2000 or not plainly.match(fold(MARKS.sub("", body, count=1).strip())):
            continue
        for owners, words in _clauses(body, names):
            entries += _entry(owners, [words], names) if owners else []
    return entries


def insights(found: list[Piece], form: Form) -> dict[str, str]:
    """Return the insight that a synthesis credits to each member."""
    names = Names(form)
    said: dict[str, str] = {}
    for piece in strongest(found, "insights"):
        for line in [piece.inline, *piece.lines]:
            for owners, words in _clauses(line.lstrip("# "), names)[:1]:
                if owners and len(owners[0]) == 1 and words.strip():
                    said.setdefault(next(iter(owners[0])), words.strip())
    return said


def _key(name: str) -> str:
    return re.sub(r"[-_\s.@()]", "", fold(name))
