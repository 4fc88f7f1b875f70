r"""The marks of a conversation file, what may stand between them, and its fixed words.

A mark is a line that starts with `<!--council`. Marks are found by exact
search at line starts, never by headings or patterns. A text between marks is
byte for byte what was given: a line of it that could be read as a mark gets a
backslash when written and loses it when read. This module knows where marks
are; what they mean for the conversation is decided elsewhere.

The words are known in English and French, written and recognised. Both languages
are always read, in any case and with or without accents; the conversation's
language decides which is written. Each word has the key of
the item it names: `h:` for sections, `meta:`, `conv:`, `next:` for lines.

Source: C0-004, C0-009, C0-011 to C0-013, XC-010, XC-012, `store.md` section 4.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from council.core.reading import by_language, read_json
from council.core.record import Any, Record

OPEN = "<!--council"
BRIEF = "<!--council:brief-->"
ENTRY = "<!--council:entry "
END = "<!--council:end-->"
NOTE = "<!--council:note-->"
STATE = "<!--council-state"
EOF = "<!--council-eof-->"
STRUCTURE = (BRIEF, ENTRY, END, EOF)
_CLOSE = "-->"
_DIGEST_CHARS = 16


class Region(Record):
    """What lies between a pair of marks, from the start of the first to the end of the last.

    `kind` is `brief`, `entry`, `state` or `eof`. `id` is what the mark of an
    entry says; `body` is the text with its escapes undone.
    """

    kind: str
    start: int
    end: int
    body: str = ""
    id: str = ""


class Marks(Record):
    """Every region of a file in order, and the lines that resemble marks and are none."""

    regions: list[Region]
    strays: list[tuple[int, str]]


def escape(text: str) -> str:
    """Return `text` with a backslash before each line that could be read as a mark."""
    if OPEN not in text:
        return text
    return "\n".join(
        "\\" + line if line.lstrip("\\").startswith(OPEN) else line for line in text.split("\n")
    )


def unescape(text: str) -> str:
    """Undo `escape`."""
    if OPEN not in text:
        return text
    return "\n".join(
        line[1:] if line[:1] == "\\" and line.lstrip("\\").startswith(OPEN) else line
        for line in text.split("\n")
    )


def plain(text: str) -> str:
    r"""Return a file's text without byte order mark, and with `\n` where an editor converted all.

    A single CRLF inside a contribution is the author's and stays; the line of
    the state block is ours, by which one knows a converted file.
    """
    if text.startswith("\ufeff"):
        text = text[1:]
    if "\r\n" in text and (f"\n{STATE}\r\n" in text or text.count("\r\n") == text.count("\n")):
        text = text.replace("\r\n", "\n")
    return text


def same_lines(text: str) -> str:
    r"""Return `text` with every line end as `\n`: for comparing only."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def entry_text(entry_id: str, tour: int, digest: str, text: str, said_by: str = "") -> str:
    """Return one contribution between its marks; `said_by` is a line for readers before it."""
    kind = " told=1" if said_by else ""
    mark = f"{ENTRY}id={entry_id} tour={tour} sha256={digest[:_DIGEST_CHARS]}{kind}-->"
    told = f"{said_by}\n" if said_by else ""
    return f"{mark}\n{told}[Tour {tour}]: {escape(text)}\n{END}"


def brief_text(brief: str) -> str:
    """Return the brief between its marks."""
    return f"{BRIEF}\n{escape(brief)}\n{END}"


def woven(
    found: list[tuple[str, str]], gaps: dict[str, str], usual: Callable[[str, str], str]
) -> str:
    """Return items, each a key and its text, with the free text that stands after them.

    `usual` says what stands between two of them where nobody wrote anything.
    """
    parts = [gaps.get("", "")]
    for (key, text), (following, _) in zip(found, [*found[1:], ("", "")], strict=True):
        gap = gaps.get(key)
        if gap is None:
            gap = usual(key, following)
        elif following and not gap.endswith("\n"):
            gap += "\n"
        parts += (text, gap)
    return "".join(parts)


def without_prefix(text: str) -> str:
    """Return `text` without a leading `[Tour N]: `."""
    if text.startswith("[Tour "):
        close = text.find("]:", 6, 24)
        if close > 0 and text[6:close].strip().isdecimal():
            rest = text[close + 2 :]
            return rest[1:] if rest[:1] == " " else rest
    return text


def scan(text: str) -> Marks:
    """Find all regions of a file, in time proportional to its length."""
    starts = [0] if text.startswith(OPEN) else []
    at = text.find("\n" + OPEN)
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n" + OPEN, at + 1)
    found = Marks(regions=[], strays=[])
    limits = [*starts[1:], len(text)]
    number = 0
    while number < len(starts):
        start, limit = starts[number], limits[number]
        line = _line(text, start)
        if line == BRIEF or (line.startswith(ENTRY) and line.endswith(_CLOSE)):
            if limit < len(text) and _line(text, limit) == END:
                found.regions.append(_texts(text, start, limit, line))
                number += 2
                continue
            found.strays.append((start, line))
        elif line == EOF:
            found.regions.append(Region(kind="eof", start=start, end=start + len(EOF)))
        elif line.startswith(STATE) and line[len(STATE) : len(STATE) + 1] in ("", " ", "{", "\t"):
            found.regions.append(_state(text, start, limit))
        elif line != NOTE:
            found.strays.append((start, line))
        number += 1
    return found


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)].rstrip()


def _texts(text: str, start: int, limit: int, line: str) -> Region:
    body = text[text.find("\n", start) + 1 : limit - 1]
    end = limit + len(END)
    if line == BRIEF:
        return Region(kind="brief", start=start, end=end, body=unescape(body))
    said = dict(word.partition("=")[::2] for word in line[len(ENTRY) : -len(_CLOSE)].split())
    if "told" in said:
        body = body.partition("\n")[2]
    return Region(
        kind="entry",
        start=start,
        end=end,
        body=unescape(without_prefix(body)),
        id=said.get("id", ""),
    )


def _state(text: str, start: int, limit: int) -> Region:
    """Return a candidate for the state block; one that is not closed reaches to the next mark."""
    close = text.find("\n" + _CLOSE, start, limit) + 1
    if close == 0:
        close = text.find(_CLOSE, start, limit)
    if close < 0:
        return Region(kind="state", start=start, end=limit, body="")
    body = text[start + len(STATE) : close]
    return Region(kind="state", start=start, end=close + len(_CLOSE), body=body)


def read_block(body: str) -> dict[str, Any] | None:
    """Return the JSON object of a state block, None if it is none."""
    try:
        value = read_json(body, parse_constant=_refuse_constant)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_LISTED = ("participants", "convergence", "rounds", "tasks", "ledger")


compact = json.JSONEncoder(ensure_ascii=False).encode


def block_text(record: dict[str, Any]) -> str:
    """Return the state block: one field a line, one participant, round, task or entry a line."""
    lines = [
        f" {compact(key)}: {_lines(value) if key in _LISTED else compact(value)}"
        for key, value in record.items()
    ]
    # In bytes, line by line: one emoji makes a text four times as large, and a search ten times.
    try:
        data = b"{\n" + b",\n".join([line.encode() for line in lines]) + b"\n}"
    except UnicodeEncodeError:
        data = json.dumps(record, indent=1).encode()
    data = data.replace(b"<", b"\\u003c").replace(b">", b"\\u003e")
    data = data.replace(b"--", b"\\u002d\\u002d")
    return f"{STATE}\n{data.decode()}\n{_CLOSE}"


def _lines(value: Any) -> str:
    if isinstance(value, dict) and value:
        inner = [f"  {compact(key)}: {compact(one)}" for key, one in value.items()]
        return "{\n" + ",\n".join(inner) + "\n }"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {compact(one)}" for one in value) + "\n ]"
    return compact(value)


# The fixed words

WORDS = by_language("""
title || Active conversation || Conversation Active
h:metadata || Metadata || Métadonnées
h:brief || Brief (immutable) || Brief (immuable)
h:participants || Participants || Participants
h:phase || Responses - Phase || Réponses - Phase
round || round || tour
h:late || Late contributions || Contributions tardives
h:guidance || Guidance (injections) || Consignes (injections)
h:convergence || Convergence || État de Convergence
h:next || Next phase || Phase Suivante
meta:id || Conversation ID || Conversation ID
meta:mode || Mode || Mode
meta:phase || Current phase || Phase courante
meta:tour || Round || Tour
meta:created || Created || Créé
meta:updated || Last updated || Dernière mise à jour
meta:timeout || Timeout || Timeout
meta:status || Status || Status
meta:speaker || Speaker || Parole à
conv:rate || Response rate || Taux de réponse
conv:consensus || Convergence detected || Convergence détectée
conv:blockers || Blockers || Blocages identifiés
next:condition || Passing condition || Condition de passage
next:actions || Required actions || Actions requises
yes || yes || oui
no || no || non
none || none || aucun
late || *{who}, {phase}, round {tour}: it came after the round was closed*
    || *{who}, {phase}, tour {tour} : arrivée après la fin du tour*
guidance || *{who} to {target}, round {tour}* || *{who} à {target}, tour {tour}*
draft || *{who}, round {tour}: first answer; asked once more, it answered anew*
    || *{who}, tour {tour} : première réponse ; redemandée, elle est récrite ensuite*
everybody || everybody || tous
when || all answered or timeout || tous répondus ou timeout
when_written || synthesis written or timeout || synthèse écrite ou timeout
when_spoken || each has spoken or let its turn pass || chacun a parlé ou laissé passer son tour
answers || answer from {who}; then {phase} || réponse de {who} ; puis {phase}
advance || everybody has answered: council heartbeat goes on to {phase}
    || tous ont répondu : council heartbeat passe à {phase}
synthesis || synthesis from {who}; then the minutes || synthèse de {who} ; puis le procès-verbal
floor || {who} has the floor; then {after} || {who} a la parole ; puis {after}
turns || turns of {who}; then the round is judged
    || prises de parole de {who} ; puis le tour est jugé
votes || votes of {who}; then {phase} || votes de {who} ; puis {phase}
judged || all have spoken: council heartbeat judges the round
    || tous ont parlé : council heartbeat juge le tour
ended || the rounds are over: council heartbeat goes on to {phase}
    || les tours sont terminés : council heartbeat passe à {phase}
close || the round is judged || le tour est jugé
until || {who}, until {end} || {who}, jusqu'au {end}
unjudged || not judged yet || pas encore jugé
verdict || {type}; with {who} {agree} agree, {partial} partly, {disagree} disagree, {absent} absent
    of {total}; {threshold} needed
    || {type} ; avec {who} {agree} d'accord, {partial} en partie, {disagree} pas d'accord, {absent}
    absents sur {total} ; il en faut {threshold}
strong || strong || consensus fort
soft || soft || consensus souple
nobody || nobody || personne
paused || paused: council resume || en pause : council resume
minutes || the minutes: council heartbeat || le procès-verbal : council heartbeat
""")
_ALSO = {
    "h:metadata": ("meta", "metadonnees"),
    "h:brief": ("brief",),
    "h:convergence": ("convergence", "etat de convergence"),
    "h:guidance": ("guidance", "injections", "consignes"),
    "h:next": ("next phase", "phase suivante"),
    "meta:phase": ("phase",),
    "meta:status": ("statut",),
    "meta:updated": ("updated",),
    "meta:timeout": ("echeance", "deadline"),
    "meta:id": ("id de conversation",),
    "conv:blockers": ("blocages", "blocking issues"),
}
NOTHING = frozenset(("", "none", "aucun", "aucune", "-", "[]"))


def words_of(lang: str) -> dict[str, str]:
    """Return the words of a language; an unknown one is written in English."""
    return WORDS.get(lang, WORDS["en"])


def folded(text: str) -> str:
    """Return `text` in lower case, without accents, with single spaces."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        text = "".join(sign for sign in apart if not unicodedata.combining(sign))
        text = text.replace("–", "-").replace("—", "-").replace("’", "'")
    return " ".join(text.casefold().split())


def line_of(text: str) -> str:
    """Return `text` as it can stand in one line: line ends as spaces, nothing around it."""
    if "\n" in text or "\r" in text:
        text = text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
    return text.strip()


@lru_cache(256)  # one file shows the same few again and again
def label_line(emoji: str, name: str, agent: str) -> str:
    """Return emoji and display name as one line that cannot be taken for an id."""
    return line_of(f"{line_of(emoji)} {line_of(name) or agent}").replace("(agent:", "(agent ")


def _table(prefixes: tuple[str, ...]) -> dict[str, str]:
    named = {
        folded(word): key
        for words in WORDS.values()
        for key, word in words.items()
        if key.startswith(prefixes)
    }
    return named | {
        word: key for key, also in _ALSO.items() for word in also if key in named.values()
    }


_SECTIONS = _table(("h:",))
_LABELS = _table(("meta:", "conv:", "next:"))
_TITLES = tuple(folded(words["title"]) for words in WORDS.values())
_PHASES = tuple(folded(words["h:phase"]) for words in WORDS.values())
_ROUNDS = tuple(words["round"].upper() for words in WORDS.values())
_LABEL_MAX_CHARS = 40
_ROUND_MAX_CHARS = 6


def section_key(heading: str) -> str:
    """Return the key of the section that a heading names, "" for none of ours."""
    plain = folded(heading)
    key = _SECTIONS.get(plain, "")
    if key and key != "h:phase":
        return key
    for start in _PHASES:
        if plain.startswith(start + " "):
            return _phase_key(plain[len(start) + 1 :].strip(" []").upper().split())
    return ""


def _phase_key(said: list[str]) -> str:
    """Return the key for `COLLECT` or for `DELIBERATE, ROUND 2`."""
    if len(said) == 1:
        return f"h:phase:{said[0]}"
    is_round = len(said) == 3 and said[1] in _ROUNDS and said[2].isdecimal()
    if not is_round or len(said[2]) > _ROUND_MAX_CHARS:
        return ""
    return f"h:phase:{said[0].rstrip('],')}/{int(said[2])}"


def line_key(label: str) -> str:
    """Return the key of the line that a label names, "" for none of ours."""
    return _LABELS.get(folded(label), "") if len(label) <= _LABEL_MAX_CHARS else ""


def split_title(heading: str) -> tuple[str, str] | None:
    """Return (the words before the topic, the topic) of a title, None when it has no such words."""
    before, colon, topic = heading.partition(":")
    if colon and folded(before) in _TITLES:
        return before.strip(), topic.strip()
    if folded(heading) in _TITLES:
        return heading.strip(), ""
    return None


def language_of(text: str) -> str:
    """Return the language whose words a heading or title uses, "" when it is unknown."""
    plain = folded(text)
    for lang, words in WORDS.items():
        other = WORDS["fr" if lang == "en" else "en"]
        for key in ("title", "h:metadata", "h:phase", "h:convergence", "h:next"):
            if words[key] != other[key] and plain.startswith(folded(words[key])):
                return lang
    return ""
