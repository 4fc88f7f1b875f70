"""Where in an answer its form stands, and in which shape it is written.

An answer may hold several forms: a draft before the final one, the template
echoed back, another's in a quotation, one in a fence behind a preamble.
Found are those that are the author's own; which of them counts is decided
here, too. Where two contradict each other and neither is marked as the last
word, only what both say alike counts.

Source: DL-012, DL-017, DL-026, HR-003, HR-004.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from council.core.reading_answers.cleaning import PROSE, clean, closes_fence
from council.core.reading_answers.json_fields import json_object, normal_key
from council.core.reading_answers.structure import (
    EMPHASIS,
    Line,
    Mark,
    bodies_of,
    fence_language,
    heading,
    is_rule,
    is_unfilled,
    marks_of,
    opened_fence,
    own_lines,
    plain,
)
from council.core.record import Any, Record

# Before the key of a name that means a part only where no part has a better one.
WEAK = "?"

_MAX_JSON_TRIES = 40
_LINE_CHARS = 400
_NEAR_LINES = 120
_NEAR_PARAGRAPHS = 3
_MAX_MARKED_CHARS = 300
# What an author says between a draft and the answer that takes its place.
_FINAL = (
    "final", "revised", "corrected", "correction", "updated version", "on reflection", "wait",
    "actually", "let me revise", "let me redo", "change my mind", "changed my mind", "scratch that",
    "instead", "here is my answer", "version finale", "en fait", "reflexion faite", "corrige",
    "endgultig", "korrigiert", "uberarbeitet", "definitiva", "corregid", "en realidad",
)  # fmt: skip
_OFFERS = (
    "let me know", "please let me know", "i hope this", "hope this", "happy to", "feel free",
    "i kept to", "i'm happy to", "i am happy to", "would you like me", "if you'd like",
    "n'hesitez pas", "j'espere que", "dites-moi", "gerne", "ich hoffe", "sag mir", "lass mich",
    "espero que", "avisame", "no dudes",
)  # fmt: skip
_OFFER_LINES = 3
_DRAFT = ("draft", "brouillon", "entwurf", "borrador", "first attempt", "first pass")
_FORM_FIELDS = ("position", "finalposition", "confidence", "recommendation", "consensussummary")


class Form(Record):
    """One form: the bodies of its parts, and the paragraphs before it, the latest first.

    What stands in no part is the first body of all, under "".
    """

    bodies: dict[str, list[list[Line]]]
    before: list[str] = []
    is_final: bool = False
    is_loose: bool = False


def own_text(text: str, labels: Mapping[str, str]) -> str:
    """Return the part of a text in which its author answers: cleaned, tags made headings.

    That is the text in a fence, in a quotation or in JSON if the form stands in
    there and none outside, or if it is announced there as the last word; the
    text itself otherwise.
    """
    text = _untagged(clean(text), labels)
    inside = list(_enclosed(text, labels))
    final = [one for one, before in inside if says_final(before)]
    if final:
        return final[-1]
    if _is_form(text, labels):
        return text
    lines = text.strip().split("\n")
    if all(not line.strip() or line.lstrip()[:1] == ">" for line in lines):
        quoted = "\n".join([line.lstrip()[1:].removeprefix(" ") for line in lines])
        return quoted if _is_form(quoted, labels) or json_object(quoted) is not None else text
    return "\n\n".join([one for one, _ in inside]) or text


def _is_form(text: str, labels: Mapping[str, str]) -> bool:
    """Return true if a text holds a form that its author has filled in."""
    lines = own_lines(text)
    return any(
        mark.key.removeprefix(WEAK) in ("position", "consensus", "recommendation")
        and not is_unfilled(mark.rest or _next_words(lines, mark.at))
        for mark in marks_of(lines, labels)
    )


def _next_words(lines: list[Line], at: int) -> str:
    """Return the first line with words below a line, "" for none nearby."""
    below = (line.strip() for line, _ in lines[at + 1 : at + 4])
    return next((line for line in below if line), "")


def _has_form_fields(fields: Mapping[str, Any] | None) -> bool:
    return fields is not None and any(normal_key(key) in _FORM_FIELDS for key in fields)


def _enclosed(text: str, labels: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the forms in fences and in JSON, each with the paragraphs before it."""
    if "{" not in text and "```" not in text and "~~~" not in text:
        return
    lines = text.split("\n")
    at = offset = tries = 0
    while at < len(lines):
        line, begin, start = lines[at], at, offset
        at, offset = at + 1, offset + len(lines[at]) + 1
        fence = "" if line.lstrip().startswith(">") else opened_fence(line)
        if fence:
            while at < len(lines) and not closes_fence(lines[at], fence):
                at, offset = at + 1, offset + len(lines[at]) + 1
            inside = "\n".join(lines[begin + 1 : at])
            if fence_language(line) in (*PROSE, "yaml") and (
                _is_form(inside, labels) or _has_form_fields(json_object(inside))
            ):
                yield inside, _paragraphs_before(lines, begin, labels)
            if at < len(lines):
                at, offset = at + 1, offset + len(lines[at]) + 1
        elif line.lstrip().startswith("{") and tries < _MAX_JSON_TRIES:
            tries += 1
            found = _json_at(text, start + len(line) - len(line.lstrip()))
            if found:
                yield found, _paragraphs_before(lines, begin, labels)
                skipped = found.count("\n")
                offset += sum(len(one) + 1 for one in lines[at : at + skipped])
                at += skipped


def _json_at(text: str, start: int) -> str:
    """Return the JSON object with fields of a form that begins at a place, "" for none."""
    try:
        fields, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return ""
    return text[start:end] if isinstance(fields, dict) and _has_form_fields(fields) else ""


def _paragraphs_before(lines: list[str], begin: int, labels: Mapping[str, str]) -> list[str]:
    """Return the last own paragraphs before a line, the latest first, without an empty form."""
    found: list[str] = []
    here: list[str] = []
    for at in range(begin - 1, max(-1, begin - _NEAR_LINES), -1):
        start = lines[at].strip()
        mark = heading(start, labels) if start else None
        if mark is not None and mark.key and not (mark.rest or mark.key.startswith(WEAK)):
            continue
        if start and start[0] != ">" and not is_rule(start) and not is_unfilled(start):
            here.insert(0, start[:_LINE_CHARS])
        elif here:
            found.append("\n".join(here))
            here = []
    return [*found, *(["\n".join(here)] if here else [])][:_NEAR_PARAGRAPHS]


def _untagged(text: str, labels: Mapping[str, str]) -> str:
    """Return a text whose parts in tags (`<position>…</position>`) are set off as headings."""
    if "</" not in text:
        return text

    def opened(found: re.Match[str]) -> str:
        name = found["name"].replace("_", " ").replace("-", " ")
        if plain(name) in ("response", "agreement", "stance") and found["more"].strip():
            given = dict(re.findall(r'(\w+)\s*=\s*"([^"\n]{0,80})"', found["more"]))
            agent = given.get("agent") or given.get("to") or given.get("id") or ""
            stance = given.get("stance") or given.get("value") or ""
            return f"\n- @{agent.lstrip('@')}: {stance} — " if agent and stance else found[0]
        return f"\n## {name}\n" if labels.get(plain(name)) else found[0]

    def closed(found: re.Match[str]) -> str:
        name = found["name"].replace("_", " ").replace("-", " ")
        is_ours = labels.get(plain(name), "") or plain(name) in ("response", "agreement")
        return "\n" if is_ours else found[0]

    tags = set(re.findall(r"</([A-Za-z_-]{3,40})\s*>", text))
    if not any(labels.get(plain(name.replace("_", " "))) for name in tags):
        return text
    text = re.sub(r"<(?P<name>[A-Za-z_-]{3,40})(?P<more>(?:\s[^<>\n]{0,200})?)>", opened, text)
    return re.sub(r"</(?P<name>[A-Za-z_-]{3,40})\s*>", closed, text)


def forms_of(
    text: str,
    labels: Mapping[str, str],
    *,
    greedy: str = "",
    about: Callable[[str], str] | None = None,
    single: tuple[str, ...] = ("position", "confidence"),
) -> list[Form]:
    """Return the forms that stand in a text, in order; one without parts if there is none.

    A new form begins where a part comes again that each form has once.
    """
    lines = _split_labels(_without_postamble(own_lines(text)), labels)
    marks = _settled(marks_of(lines, labels, about))
    starts: list[int] = []
    seen: dict[str, int] = {}
    for at, mark in enumerate(marks):
        if not mark.key:
            continue
        is_again = mark.key in seen and (mark.key in single or seen[mark.key] != mark.rank)
        if not starts or is_again:
            starts.append(at)
            seen = {}
        seen.setdefault(mark.key, mark.rank)
    if not starts:
        return [Form(bodies={"": [lines]}, is_loose=True)]
    words = [line for line, _ in lines]
    found: list[Form] = []
    for start, end in zip(starts, [*starts[1:], len(marks)], strict=True):
        is_first = start == starts[0]
        begin = 0 if is_first else marks[start].at
        past = marks[end].at if end < len(marks) else len(lines)
        mine = marks[:end] if is_first else marks[start:end]
        form = Form(bodies=bodies_of(lines, mine, begin, past, greedy=greedy))
        form.before = _paragraphs_before(words, marks[start].at, labels)
        form.is_final = not is_first and any(one.is_final for one in mine)
        form.is_loose = any(one.key and one.rank >= _LOOSE for one in mine)
        found.append(form)
    return found


def _without_postamble(lines: list[Line]) -> list[Line]:
    """Return the lines without a last paragraph that only offers more: `Let me know if …`."""
    end = len(lines)
    while end and not lines[end - 1][0].strip():
        end -= 1
    begin = end
    while begin and lines[begin - 1][0].strip():
        begin -= 1
    is_offer = 0 < begin < end and plain(lines[begin][0][:_LINE_CHARS]).startswith(_OFFERS)
    return lines[:begin] if is_offer and end - begin <= _OFFER_LINES else lines


def _settled(marks: list[Mark]) -> list[Mark]:
    """Give parts with a weak name their key where none has the strong one, else none."""
    strong = {mark.key for mark in marks}
    for mark in marks:
        if mark.key.startswith(WEAK):
            key = mark.key.removeprefix(WEAK)
            mark.key = "" if key in strong else key
    return marks


_LOOSE = 7  # below headings: bold and bare labels


def _split_labels(lines: list[Line], labels: Mapping[str, str]) -> list[Line]:
    """Split lines such as `**Position:** … **Confidence:** 4`, in which labels follow another."""
    found: list[Line] = []
    for line, is_own in lines:
        if is_own and line.count(":") > 1 and len(line) <= 4 * _LINE_CHARS:
            found.extend([(piece, True) for piece in _pieces(line, labels)])
        else:
            found.append((line, is_own))
    return found


def _pieces(line: str, labels: Mapping[str, str]) -> list[str]:
    if not marks_of([(line, True)], labels) or line.lstrip()[:1] == "#":
        return [line]
    pieces, begin = [], 0
    at = line.find(":")
    while at >= 0:
        start = max(line.rfind(mark, begin, at) + 1 for mark in ".;|!?)")
        bold = line.rfind("**", begin, at - (line[at - 2 : at] == "**") * 2)
        start = bold if bold > start or (bold > begin and start <= begin) else start
        title = line[start:at].strip(EMPHASIS + " ")
        has_words = any(map(str.isalpha, line[begin:start]))
        is_label = has_words and title and labels.get(plain(title), "")
        if is_label and (title[:1].isupper() or line[start : start + 2] == "**"):
            pieces.append(line[begin:start].rstrip(" ;|"))
            begin = start
        at = line.find(":", at + 1)
    return [*pieces, line[begin:].lstrip()] if pieces else [line]


def chosen(forms: list[Form], is_empty: Callable[[Form], bool]) -> tuple[Form, list[Form]]:
    """Return the form that counts, and those beside it that are as good as it.

    Args:
        forms: The forms of an answer in order, at least one.
        is_empty: Returns true for a form that its author has not filled in.
    """
    filled = [one for one in forms if not is_empty(one)] or forms[-1:]
    last = filled[-1]
    if len(filled) == 1 or last.is_final or says_final(last.before):
        return last, []
    if _says(filled[0].before, _DRAFT):
        return last, [one for one in filled[1:-1] if not _says(one.before, _DRAFT)]
    return last, filled[:-1]


def says_final(before: list[str]) -> bool:
    """Return true if the paragraphs before a form announce it as the last word."""
    return _says(before, _FINAL)


def _says(before: list[str], words: tuple[str, ...]) -> bool:
    for paragraph in before:
        low = plain(paragraph.lstrip("#* "))
        is_announced = paragraph.rstrip(EMPHASIS + " ").endswith((":", "：")) or (
            paragraph[0] in "#*" and "\n" not in paragraph
        )
        is_short = len(low) <= _MAX_MARKED_CHARS
        if is_short and (
            low.startswith(words) or (is_announced and any(word in low for word in words))
        ):
            return True
    return False
