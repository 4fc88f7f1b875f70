"""Whole answers: the values of their parts, and a fault for what is missing or in doubt.

Nothing is converted, completed or guessed. An entry of the responses is a line that begins with a
peer, or with a stance and a peer. Its words must begin with a stance; the rest of the line can only
cast doubt on it, never decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile

from council.agents.expressions import fold, pattern, plain, search, value, without
from council.councils.answers_parts import PARTS, Part, fenced, parts, readable, strongest, unmarked
from council.councils.model import AGREED, DONE, STANCES, Fault, Form, Heard, Stance
from council.councils.verdict import same
from council.kernel.record import Any, Record

Peers = dict[str, str]  # id to name
Said = tuple[dict[str, Stance], list[Fault]]
_DECIDED = ("recommendation", "decision")
_PROSE = ("", "position", "final", "consensus", "synthesis")


def read_form(text: str, form: Form) -> Heard:
    """Return what is understood of an unwrapped answer, but for the questions in it."""
    text = text.replace("\\_", "_")
    who = rf"(?:[^:\n]{{1,60}}\(agent:)?{re.escape(form.author)}|{{=key of a text}}"
    passed = pattern(rf"\W*+(?:(?:{who})\W++)?(?:{{=a pass}}\W*+{{=pass remark}})?", plain(text))
    if all(passed.fullmatch(plain(line)) for line in text.split("\n")):
        return Heard(faults=[Fault(part="answer", code="nothing-said")])
    text, quoted = _own(readable(text, form.kind == "contribution"), form)
    found = parts(text, form)
    if fault := _nothing_but(text, found, form):
        return Heard(faults=[fault])
    if form.kind != "contribution" and (announced := search("final form", fold(text))):
        whole = parts(text[announced.end() :], form)
        found = whole if {one.name for one in found} <= {one.name for one in whole} else found
    if not _has_form(found, form) and (label := _label(form)):
        found = parts(label + text, form)
    made: dict[str, Any] = {"faults": []}
    made["blockers"], doubts = _blockers(strongest(found, "blocking"))
    made["resolved"] = _blockers(strongest(found, "resolved"))[0]
    if form.kind == "contribution":
        own = "\n".join(text for part in found if not part.name for text in part.paragraphs())
        doubts = doubts or ([] if made["blockers"] else _blockers_in_prose(own, form))
        doubts = doubts or _blockers(strongest(parts(quoted, form), "blocking"))[0]
        _take(made, "status", *_status(strongest(found, "status"), own, quoted))
    elif form.kind == "synthesis":
        made |= {part: "\n\n".join(_texts(found, part)) for part in ("consensus", "disagreement")}
        asked, other = _DECIDED if form.options else _DECIDED[::-1]
        texts = _texts(found, asked) or _texts(found, other)
        decided = texts[0] if len(texts) == 1 and not texts[0].startswith(("{", "[{")) else ""
        _take(made, "recommendation", decided, " … ".join(texts), True)
        made["insights"] = insights(found, form.peers)
    else:
        _read_turn(found, form, made)
    fault = Fault(part="blockers", code="unclear-blockers", seen=" … ".join(doubts)[:600])
    made["faults"] += [fault] if doubts else []
    return Heard(**made)


def unlabelled(text: str, form: Form) -> str:
    """Return what a synthesis says that is not in its form, without labels and statuses."""
    found = parts(readable(text, False), form)
    decided = any(part.name in _DECIDED for part in found)
    return "\n\n".join(_texts(found, *(_DECIDED if decided else _PROSE)))


def _nothing_but(text: str, found: list[Part], form: Form) -> Fault | None:
    """Return the fault of a text that only refuses, reports a failure, or fills in nothing."""
    if form.kind == "synthesis" and not any(_texts([part], part.name) for part in found):
        return Fault(part="answer", code="nothing-said")
    said = plain(text) if all(part.name in ("", "status", "reasoning") for part in found) else ""
    codes = ("refusal", "program-error") if len(said) < 700 else ()
    code = next((code for code in codes if search(code.replace("-", " "), said)), "")
    return Fault(part="answer", code=code, seen=text.strip()[:600]) if code else None


def _own(text: str, form: Form) -> tuple[str, str]:
    """Return the author's words, with a fence that alone has the form, and what else is fenced."""
    outside, fences = fenced(text)
    if form.kind == "contribution":
        own = fences if len(re.findall(r"\w+", outside)) <= 12 else []
    else:
        own = [fence for fence in fences if _has_form(parts(fence, form), form)]
        own = [] if own and _has_form(parts(outside, form), form) else own
    return "\n\n".join([outside, *own]), "" if own else "\n".join(fences)


def _has_form(found: list[Part], form: Form) -> bool:
    return any(part.name in PARTS[form.kind] for part in found)


def _label(form: Form) -> str:
    """Return the label that is left out: of a synthesis, or of the one part that is asked."""
    asked = form.asked[0] if len(form.asked) == 1 else ""
    part = "recommendation" if form.kind == "synthesis" else asked
    return f"## {part.replace('stance:', 'response to ')}\n" * bool(part)


def _take(made: dict[str, Any], part: str, value: Any, seen: str, needed: bool = False) -> None:
    """Take in what was read of a part, or a fault where that is in doubt or missing."""
    made[part] = value
    if not value and (seen or needed):
        code = f"unclear-{part}" if seen else f"no-{part}"
        made["faults"].append(Fault(part=part, code=code, seen=seen[:600]))


def _read_turn(found: list[Part], form: Form, made: dict[str, Any]) -> None:
    if form.kind == "vote":
        lines = [line.strip() for part in found for line in part.lines]
        votes = [Part(lines=[line]) for line in lines if search("vote line", line[:300])]
        own = strongest(found, "choice") or votes[:3]
        _take(made, "choice", *_one(own, lambda words: _chosen(words, form)))
    final = strongest(found, "final") or strongest(found, "position")
    text, seen = _one(final, lambda words: _position(words, form), Part.stated)
    made["unchanged"] = bool(search("kept", plain(seen)))
    made["reasoning"] = "\n\n".join(_texts(found, "reasoning"))
    moved = search("has moved", plain(f"{text} {made['reasoning']}"))
    made["moved"] = form.kind == "vote" and bool(moved)
    choice = made.get("choice", "")
    _take(made, "position", text, seen, choice == "new" or not (choice or made["faults"]))
    sure = strongest(found, "confidence")
    level, seen = _one(sure, lambda words: value("level", without("no level", plain(words)))[0])
    _take(made, "confidence", int(level[1:]) if level else None, seen, True)
    made["stances"], unclear = stances(found, form.peers, form.needs)
    made["faults"] = [] if choice == "abstain" else made["faults"] + unclear
    if form.kind == "turn" and form.options:
        made["choice"] = _named(found, text, form)


def _one(
    found: list[Part], read: Callable[[str], str], words_of: Callable[[Part], str] = Part.first
) -> tuple[str, str]:
    """Return the one value that parts agree on ("" if it cannot be told), and their words."""
    said = {plain(words): words for part in found if (words := words_of(part))}
    values = {read(words) for words in said.values()}
    later = [words for part in found for words in part.paragraphs()[1:]]
    later = [words for words in later if search("later words", plain(words))]
    clear = len(values) == 1 and not later
    return values.pop() if clear else "", " … ".join([*said.values(), *later])


def _position(words: str, form: Form) -> str:
    """Return the text of a position, also of one that is only named; "" if it cannot be told."""
    if search("kept", plain(words)):  # perhaps said again behind it, with more
        again = words.partition(":")[2].strip()
        return again if form.held and len(again.split()) > 7 else form.held
    if (named := search("an option", plain(words))) and named[1].upper() in form.options:
        return form.options[named[1].upper()]
    too_long = len(words) > 600 or len(pattern("{=sentence}", "").findall(words)) > 4
    return "" if too_long or search("no position", plain(words)) else _unwrapped(unmarked(words))


def _chosen(words: str, form: Form) -> str:
    """Return a choice: a letter, `new` or `abstain`, "" if it cannot be told."""
    exact = _unwrapped(words).strip(" .").casefold()  # signs count: `C#` is not `C`
    is_it = [one for one, text in form.options.items() if text.strip(" .").casefold() == exact]
    raw = _bare(without("no choice", plain(words)))
    options = {one: _bare(without("no choice", plain(t))) for one, t in form.options.items()}
    told = [one for one, t in options.items() if re.search(rf"(?<!\w){re.escape(t)}(?!\w)", raw)]
    fits = [one for one, text in form.options.items() if same(words, [text]) is not None]
    equal = is_it or [letter for letter, option in options.items() if option == raw != ""]
    equal = equal or (fits if fits == told and "?" not in raw else [])
    word = value("choice", raw)[0]
    if word or len(equal) == 1:  # an option may be called new
        return equal[0] if len(equal) == 1 and word != "abstain" else word
    found = search("letter", raw)
    letter, tail = (found[1].upper(), found[2]) if found else ("", "")
    rest = _bare(tail)
    next_to = [one for one in options.values() if re.match(re.escape(one) + r"(?!\w)", rest)]
    longest = options.get(rest.upper()) or max(next_to, key=len, default="")
    plainly = longest == options.get(letter) if longest else search("reason", tail)
    return letter if letter in options and plainly and not search("letter doubt", rest) else ""


def _named(found: list[Part], position: str, form: Form) -> str:
    """Return the option that a turn names: as its choice, or as its position begins."""
    first = fold(position.partition("\n\n")[0])
    said = without("moves to", without("unchanged aside", first)).lstrip('*_`"“« ')
    is_named = said != first or said.startswith("option ")
    own = strongest(found, "choice") or [Part(lines=[said])] * is_named
    named = _one(own, lambda words: _chosen(words, form))[0]
    return named if named in form.options else ""


def _status(found: list[Part], text: str, quoted: str) -> tuple[str, str]:
    """Return the status that lines of their own state, and their words.

    What is quoted, and a line about a peer, is no statement of the author.
    """
    word, seen = _one(found, lambda words: value("status", plain(words).strip(" .:!()[]\"'"))[0])
    if seen:
        return "" if word == DONE else word, seen if search("status like", plain(seen)) else ""
    if search("agreed alone", text):
        return AGREED, ""
    prose = search("agreed in prose", without("quoted", text))
    return "", prose[0].strip() if prose else quoted if search("agreed quoted", quoted) else ""


def _blockers(found: list[Part]) -> tuple[list[str], list[str]]:
    """Return the blockers (or resolved ones) that lines state, and the words in doubt."""
    stated, doubts = dict[str, None](), list[str]()
    for part in found:
        listed = [line for line in part.lines[1:] if search("item", line)]
        first = part.lines[0].lstrip("? ") or " ".join(part.first().partition("\n- ")[0].split())
        inline = part.lines[0] or not listed or _is_none(first)
        for item in [first] if inline else map(unmarked, listed):
            words = _unwrapped(without("last signs", item))
            if (empty := _is_none(words)) is None:
                doubts.append(item)
            elif not empty:
                stated[words] = None
    return list(stated), doubts


def _is_none(words: str) -> bool | None:
    """Return whether words say that there is none; None if that cannot be told."""
    words = without("item mark", plain(words)).strip(" .-–—*()[]!\"'")
    none = search("none at all", words)
    unclear = search("none but", words) or (search("none instead", words) and not none)
    return None if unclear else bool(none)


def _blockers_in_prose(text: str, form: Form) -> list[str]:
    """Return a sentence that speaks of a blocker as a new one, not of one that is known."""
    said = [one.strip() for one in re.split(r"(?<=[.!?])\s|\n", text)]
    said = [one for one in said if search("a blocker", plain(one[:999]))]
    other = rf"{{=no blocker}}|^\W*{Names(form.peers).one}{{=called so}}"
    other += "|{=own blocker}" * bool(form.blockers) + "|{=known blocker}" * form.raised
    return [one for one in said if not pattern(other, plain(one)).search(plain(one[:999]))][:1]


def _texts(found: list[Part], *names: str) -> list[str]:
    """Return what the parts of some names say, each once, with what they quote for it."""
    own = [part for name in names for part in strongest(found, name)]
    said = [(plain(" ".join(one.lines)), "\n\n".join(one.paragraphs(True))) for one in own]
    return [*{words: text for words, text in said if not search("said nothing", words)}.values()]


def _unwrapped(text: str) -> str:
    """Take off brackets, quotation marks and emphasis that stand around all of a text."""
    while around := search("around", text.strip()):
        text = around["inner"] or around["inner2"]
    return text.strip()


def _bare(words: str) -> str:
    return plain(words).strip(" .,:;!\"'()[]“”«»—–-")


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
        loose = "|".join(r"[-_\s.–—−]{0,2}".join(map(re.escape, one)) for one in parts) or "(?!)"
        self.one = rf"(?<![\w@])@?(?:agent:)?(?:{loose})(?!\w|[-.]\w)(?:\s?\(@?(?:{loose})\))?"
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
            loose = [one for one in _entries(part, names) if one.plainly]
            entries += [one.copy(lines=one.lines[:1]) for one in loose if not spoken & {*one.peers}]
    said = [words for part in responses for words in part.paragraphs()]
    doubts = [words for words in said if search("later words", plain(words))]
    clear, faults = dict[str, Stance](), []
    for peer in peers:
        own = [entry for entry in entries if peer in entry.peers]
        own = [one for one in own if not search("only asks", plain(" ".join(one.lines)))] or own
        words, shared = {entry.stance().word for entry in own}, any(entry.shared for entry in own)
        if len(words) == 1 and "" not in words and not (shared or doubts):
            clear[peer] = own[0].stance()
        elif own or peer in needs:
            code = "ambiguous-name" if shared else "unclear-stance" if own else "no-stance"
            seen = " … ".join([*(" ".join(one.lines) for one in own), *(doubts if own else [])])
            faults.append(Fault(part=f"stance:{peer}", code=code, seen=seen))
    return clear, faults


def insights(found: list[Part], peers: Peers) -> dict[str, str]:
    """Return the insight that a synthesis credits to each member."""
    made, names = dict[str, str](), Names(peers)
    for part in strongest(found, "insights"):
        lines = [part.quotes.get(at, line).lstrip() for at, line in enumerate(part.lines)]
        for entry in [one for one in _entries(part.copy(lines=lines), names) if one.peers]:
            quoted = takewhile(lambda line: line[:1] == ">", entry.lines[1:])
            made.setdefault(entry.peers[0], "\n".join([entry.lines[0], *quoted]))
    return made


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
        made[-1].lines = [line for line in map(unmarked, lines) if line]
        if found:
            said, at = found.groupdict(), found.end()
            front = next((word for word in STANCES if said.get("front") and said[word]), "")
            whom = said["who"] or said.get("front") or said["further"] or ""
            made.append(names.entry_to(whom, indent))
    return [entry for entry in made if entry.lines or not entry.peers]


def _key(name: str) -> str:
    return re.sub(r"^@?agent:|[-_\s.@()–—−]", "", fold(name))
