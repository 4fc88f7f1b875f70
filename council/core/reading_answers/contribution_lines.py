"""The lines of a contribution that state a blocker or a status: their grammar.

A line is taken for what it states only if all of its beginning is part of the
grammar: marks of lists and headings, emphasis, signs, the marker, a separator.

Linear in the length of the text.

Source: HR-011, HR-012.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from council.core.conversations.conversation import ANSWERED
from council.core.reading_answers.cleaning import fence_of
from council.core.reading_answers.structure import is_rule, own_lines
from council.core.record import Record

_BLANK, _HEADING, _BOLD, _ITEM, _PLAIN = "blank", "heading", "bold", "item", "plain"
_MAX_LINE_CHARS = 4000
_CODE_INDENT = 4
_BELOW_ANY_HEADING = 7

# Signs that state nothing: emphasis, arrows, emoji and what joins them, French spaces.
_SIGN = (
    r"[*_`\u00a0\u202f\u200d\ufe0f\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2b00-\u2bff"
    r"\U0001f000-\U0001faff]"
)
_SIGNS = re.compile(rf"(?:{_SIGN}|[ \t])*")
_LIST_MARK = re.compile(r"(?:[-*+•‣◦–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))[ \t]+(?:\[ ?\][ \t]+)?")
_HEADING_LINE = re.compile(r"[ \t]{0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_BOLD_LINE = re.compile(r"[ \t]{0,3}(?:\*\*|__)[^*_]+(?:\*\*|__)[ \t]*:?[ \t]*")
_STRUCK = re.compile(r"~~[^~]*~~")

_WHICH = (
    r"(?:(?:my|our|the|an?|one|two|three|only|main|major|critical|hard|real|first|second|third|new"
    r"|open|still|remaining|mon|mes|notre|un|seul|premier|principal)[ \t]+){0,2}"
)
_NOUN = r"(?:issue|point|concern|problem|objection|question|item|condition|risk)s?"
_NOM = r"(?:point|probl[èe]me|question|objection|risque|sujet)s?"
_MARKER = (
    rf"{_WHICH}(?:blocking(?:[ \t]+{_NOUN})?|blockers?|{_NOM}[ \t]+bloquante?s?|bloquante?s?"
    r"|blocages?)(?![\w'’-])"
)
_SEPARATOR = r"(?:[:：=→]|[-–—]{1,2}>?(?=[ \t]|$))"
_ASIDE = r"[ \t]*(?:\((?P<aside>[^()]{0,80})\)|(?:n[°o.]|\#)?[ \t]*\d{1,2}(?!\w))"
_BLOCKER_LINE = re.compile(
    rf"(?P<open>\[?){_MARKER}(?:{_ASIDE})?(?P<close>\]?)(?P<behind>(?:{_SIGN}|[ \t])*)"
    rf"(?P<separator>{_SEPARATOR}?)(?P<issue>.*)",
    re.IGNORECASE,
)

_WHERE_AND_WHEN = (
    r"(?:[ \t]+(?:from (?:me|my (?:side|end|part)|here)|for (?:me|now|my part)|on my (?:side|part)"
    r"|at (?:this|the) (?:time|point|stage|moment)|at present|at all|(?:that )?i (?:can )?see"
    r"|to (?:report|raise|add)|identified|remaining|remains?|left|known|so far|currently|now"
    r"|any ?more|any longer|here|yet|today|found|raised|open|de ma part|de mon côté"
    r"|pour (?:moi|ma part|l['’]instant|le moment)|à ce (?:stade|jour)|à signaler|identifié|connu"
    r"|restant))*"
)
_WHAT = (
    rf"(?:blockers?|blocking[ \t]+{_NOUN}|{_NOM}[ \t]+bloquante?s?|blocages?"
    r"|open[ \t]+(?:issues?|blockers?|points?)|issues?|objections?|concerns?)"
)
_STOP = r"(?=[ \t]*(?:$|[.,;:!()–—]|-[ \t]))"
_NONE = re.compile(
    # "none from me", "no blockers"
    rf"(?:(?:absolutely |really )?none|nothing|nil|null|n/?a|no|non|zero|0|false|not applicable"
    rf"|nothing (?:blocks|blocking|is blocking)(?: me| us| this)?|nobody blocks|aucune?|rien|néant"
    rf"|sans objet|rien (?:de bloquant|ne bloque)"
    rf"|(?:no|no more|no longer any|zero|aucune?|pas de|plus de) {_WHAT}){_WHERE_AND_WHEN}{_STOP}"
    # "I see none", "there are no blocking issues left"
    rf"|(?:i|we|there)(?:['’]ve|['’]m| have| see| am| are| is| was| were| find| know| raise"
    rf"| do(?: not|n['’]t) (?:have|see|raise|find))(?: currently| now| aware of| of)?"
    rf" (?:none|nothing|any|(?:no|no more|any)(?: longer any)? {_WHAT}){_WHERE_AND_WHEN}{_STOP}"
    rf"|(?:je n['’]en (?:ai|vois)|nous n['’]en (?:avons|voyons)|il n['’]y en a) (?:pas|plus|aucun)"
    rf"|(?:je n['’]ai|je ne vois|il n['’]y a) (?:pas de|plus de|aucune?|rien de) ?"
    rf"(?:{_WHAT}|bloquant){_WHERE_AND_WHEN}{_STOP}"
    # "resolved", "withdrawn since"
    rf"|(?:now |already |since )?(?:resolved|solved|settled|withdrawn|lifted|cleared|removed"
    rf"|closed|addressed|dropped|résolue?|réglée?|levée?|retirée?)s?(?: since)?"
    rf"{_WHERE_AND_WHEN}{_STOP}",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(
    r"[ \t(\[–—:,-](?:now |already |is |has been |est )?"
    r"(?:resolved|solved|settled|withdrawn|lifted|cleared|résolue?|réglée?|levée?|retirée?)"
    r"[)\].! \t*_]*$",
    re.IGNORECASE,
)
# "Ben has withdrawn his; I see no other": somebody's blocker is spoken of, and none is raised.
_TAKEN_BACK = re.compile(
    r"\b(?:withdrawn|withdrew|withdraw|lifted|dropped|retiré|levé)[ \t]+"
    r"(?:his|her|hers|their|theirs|mine|my|its|it|that|the (?:blocker|objection)|le sien|le mien)\b"
    r"|\b(?:see|have|raise|know|vois|ai)[ \t]+(?:of[ \t]+)?(?:no|none|aucun)"
    r"(?:[ \t]+(?:other|others|further|more|autre))?[.!]?$",
    re.IGNORECASE,
)
_YES = re.compile(r"(?:yes|oui)[ \t]*(?:[,:]|[-–—](?=[ \t]))[ \t]*", re.IGNORECASE)
_UNFILLED = re.compile(r"[\W_]*|<[^<>]*>|\[[^\[\]]*\]")
_SAYING = re.compile(
    r"\b(?:wrote|writes|said|says|raised|raises|asked|objected|écrit|dit|soulevé)\b", re.IGNORECASE
)

_STATUS_WORDS = {said: one.lower() for one in ANSWERED for said in one.printed.split(", ")}
_STATUS_HEAD = r"(?:(?:my|final|mon|the)[ \t]+){0,2}(?:status|statut)(?:[ \t]+final)?"
_STATUS_LINE = re.compile(
    rf"{_STATUS_HEAD}(?:{_SIGN}|[ \t])*{_SEPARATOR}(?P<word>.*)", re.IGNORECASE
)
_STATUS_ALONE = re.compile(rf"{_STATUS_HEAD}(?:{_SIGN}|[ \t:：])*", re.IGNORECASE)
_STATUS_SENTENCE = re.compile(rf"[*_`]*{_STATUS_HEAD}[*_`]*[ \t]*[:：]", re.IGNORECASE)


class _Line(Record):
    """A line of the author's own prose.

    `depth` is the level of a heading, else the indentation; `bare` is the line
    without the signs before its first word, `signs` are those.
    """

    kind: str
    depth: int = 0
    bare: str = ""
    signs: str = ""


def blockers(text: str) -> list[str]:
    """Return the issues that a clean text raises, each once, in order."""
    own = list(_own_lines(text))
    found: list[str] = []
    at = 0
    while at < len(own):
        issue = _raised(own[at])
        at += 1
        issues, at = _below(own, at, own[at - 1]) if issue == "" else ([issue or ""], at)
        found += issues
    return list(dict.fromkeys(filter(None, found)))


def _own_lines(text: str) -> Iterator[_Line]:
    """Yield the lines of a text without code and without what others are quoted with."""
    is_quoting = False
    for line, is_own in own_lines(text):
        if not is_own or len(line) > _MAX_LINE_CHARS:
            continue
        if not line.strip() or is_rule(line):
            is_quoting = False
            yield _Line(kind=_BLANK)
        elif not is_quoting:
            is_quoting = _says_who(line)
            yield _read(line)


def _says_who(line: str) -> bool:
    """Return true if a line names an agent whose words follow: "@sage wrote:"."""
    return line.rstrip(" \t*_").endswith(":") and "@" in line and bool(_SAYING.search(line))


def _read(line: str) -> _Line:
    heading = _HEADING_LINE.fullmatch(line)
    bare = heading[2] if heading else line.strip()
    depth = len(heading[1]) if heading else len(line.expandtabs()) - len(line.expandtabs().lstrip())
    kind = _HEADING if heading else _ITEM if _LIST_MARK.match(bare) else _PLAIN
    if kind is _PLAIN and _BOLD_LINE.fullmatch(line):
        kind, depth = _BOLD, _BELOW_ANY_HEADING
    signs = ""
    while bare:
        mark = _LIST_MARK.match(bare) or _SIGNS.match(bare)
        if not mark or not mark.end():
            break
        signs += mark[0]
        bare = bare[mark.end() :]
    return _Line(kind=kind, depth=depth, bare=bare, signs=signs)


def _raised(line: _Line) -> str | None:
    """Return the issue that a line raises, "" where it stands below, None where it raises none."""
    found = _BLOCKER_LINE.fullmatch(line.bare)
    if found is None or not _is_marker(line, found) or _states_none(found["aside"] or "-"):
        return None
    is_bold = "*" in line.signs and "*" in found["behind"]
    is_set_off = bool(found["open"] and found["close"]) or is_bold
    rest = found["issue"]
    if not found["separator"] and rest and not is_set_off:
        heads = line.kind in (_HEADING, _BOLD) and re.fullmatch(_WHERE_AND_WHEN, " " + rest.strip())
        return "" if heads else None
    said = _YES.sub("", _tidied(rest, code="`" in line.signs), count=1)
    if not said and not _STRUCK.search(rest):
        return ""
    return None if _states_none(said) else said


def _is_marker(line: _Line, found: re.Match[str]) -> bool:
    """Return true if a marker at the start of a line is meant as one."""
    is_code = "`" in line.signs and "`" not in found["behind"]
    if is_code and not found["issue"].startswith("`"):
        return False  # all of the line is code
    if line.kind != _PLAIN or line.signs or found["open"]:
        return True
    return line.depth < _CODE_INDENT and not line.bare[0].islower()


def _tidied(said: str, *, code: bool = False) -> str:
    """Return an issue without emphasis, struck words and the full stop at its end."""
    said = _STRUCK.sub("", said).replace("**", "").replace("__", "").strip(" \t*_")
    if code:
        said = said.removeprefix("`").strip()
    is_stop = said.endswith((".", "。")) and not said.endswith("..")
    return said[:-1].rstrip() if is_stop else said


def _states_none(said: str) -> bool:
    """Return true if what stands in the place of an issue is none, or one no longer."""
    return bool(
        _NONE.match(said)
        or (said != "-" and _UNFILLED.fullmatch(said))
        or _NO_LONGER.search(said[-40:])
        or _TAKEN_BACK.search(said[:_MAX_LINE_CHARS])
    )


def _below(own: list[_Line], at: int, head: _Line) -> tuple[list[str], int]:
    """Return the issues that stand below a marker, and where the search goes on."""
    first = at
    while first < len(own) and own[first].kind == _BLANK:
        first += 1
    if first == len(own) or _BLOCKER_LINE.fullmatch(own[first].bare):
        return [], at
    line, is_next = own[first], first == at
    if line.kind == _ITEM:
        is_inside = head.kind != _ITEM or line.depth > head.depth
        return _items(own, first) if is_inside else ([], at)
    if line.kind == _HEADING:
        is_inside = head.kind == _HEADING and line.depth > head.depth
        return _headings(own, first) if is_inside else ([], at)
    if line.kind == _BOLD or (head.kind in (_PLAIN, _ITEM) and not is_next):
        return [], at
    words, after = _paragraph(own, first)
    if words.endswith(":") and any(one.kind == _ITEM for one in own[after : after + 2]):
        return _items(own, after + (own[after].kind == _BLANK))
    return _stated([words]), after


def _paragraph(own: list[_Line], at: int) -> tuple[str, int]:
    """Return a paragraph in one line, and where it ends."""
    words: list[str] = []
    while at < len(own) and own[at].kind == _PLAIN:
        words.append(own[at].signs.replace("*", "") + own[at].bare)
        at += 1
    return " ".join(words), at


def _items(own: list[_Line], at: int) -> tuple[list[str], int]:
    """Return the items of a list that begins there, and where it ends."""
    depth, found = own[at].depth, list[str]()
    while at < len(own):
        line = own[at]
        if line.kind == _BLANK:
            following = own[at + 1] if at + 1 < len(own) else line
            if following.kind not in (_BLANK, _ITEM) and following.depth <= depth:
                break
        elif line.kind == _ITEM and line.depth <= depth:
            if line.depth < depth or _BLOCKER_LINE.fullmatch(line.bare):
                break
            found.append(line.bare)
        elif line.kind in (_HEADING, _BOLD):
            break
        elif line.kind == _PLAIN and own[at - 1].kind != _BLANK:
            found[-1] += " " + line.bare
        at += 1
    return _stated([one for one in found if not one.startswith(("[x]", "[X]"))]), at


def _headings(own: list[_Line], at: int) -> tuple[list[str], int]:
    """Return the headings of one level that follow each other, and where the last one stands."""
    depth, found = own[at].depth, list[str]()
    while at < len(own):
        line = own[at]
        if line.kind == _HEADING:
            if line.depth < depth or _BLOCKER_LINE.fullmatch(line.bare):
                break
            if line.depth == depth:
                found.append(line.bare)
        at += 1
    return _stated(found), at


def _stated(found: list[str]) -> list[str]:
    """Return the issues that some lines state."""
    return [one for one in map(_tidied, found) if one and not _states_none(one)]


def split_status(text: str) -> tuple[str, str]:
    """Return a clean text without the status at its end, and the status, "" for none."""
    lines = text.split("\n")
    last = _last_of_substance(lines, len(lines))
    if last < 0:
        return text, ""
    cut, status = last, _status_of(lines[last])
    kept = ""
    if not status and fence_of(lines[last]):
        inner = _last_of_substance(lines, last)
        opening = _last_of_substance(lines, max(inner, 0))
        if inner > 0 and opening >= 0 and fence_of(lines[opening]):
            cut, status = opening, _status_of(lines[inner])
    if not status:
        before = _last_of_substance(lines, last)
        if before >= 0 and _STATUS_ALONE.fullmatch(_read(lines[before]).bare):
            cut, status = before, status_word(lines[last])
    if not status:
        kept, status = _in_last_sentence(lines[last])
    if not status:
        return text, ""
    behind = [line for line in lines[last + 1 :] if line.strip() and not is_rule(line)]
    before_it = _last_of_substance(lines, cut) + 1 if not kept else cut
    said = lines[: before_it if not behind else cut] + ([kept] if kept else []) + behind
    return "\n".join(said).strip("\n").rstrip(), status


def _last_of_substance(lines: list[str], end: int) -> int:
    """Return the number of the last line before `end` that says something, -1 for none."""
    for number in range(end - 1, -1, -1):
        line = lines[number]
        if line.strip() and not is_rule(line) and not _denies_blockers(line):
            return number
    return -1


def _denies_blockers(line: str) -> bool:
    found = len(line) <= _MAX_LINE_CHARS and _BLOCKER_LINE.fullmatch(_read(line).bare)
    return bool(found and found["separator"] and _states_none(_tidied(found["issue"]) or "x"))


def _status_of(line: str) -> str:
    """Return the status that a line states, "" for none."""
    if len(line) > _MAX_LINE_CHARS or line.lstrip().startswith(">"):
        return ""
    found = _STATUS_LINE.fullmatch(_read(line).bare)
    return status_word(found["word"]) if found else ""


def status_word(said: str) -> str:
    """Return the status that a word means, English or French, in lower case; "" for none."""
    bare = _SIGNS.sub("", said.strip(), count=1)
    while bare and (bare[-1] in " \t.!\"'”»" or _SIGNS.fullmatch(bare[-1])):
        bare = bare[:-1]
    return _STATUS_WORDS.get(bare.lstrip(' "“«').replace("’", "'").casefold(), "")


def _in_last_sentence(line: str) -> tuple[str, str]:
    """Return a line without its last sentence if that states a status, and the status."""
    found = list(_STATUS_SENTENCE.finditer(line)) if len(line) <= _MAX_LINE_CHARS else []
    if not found or line.lstrip().startswith(">"):
        return "", ""
    before = line[: found[-1].start()].rstrip()
    if before.rstrip('*_"”»)')[-1:] not in (".", "!", "?", "…"):
        return "", ""
    status = _status_of(line[found[-1].start() :])
    return (before, status) if status else ("", "")
