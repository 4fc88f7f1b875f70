"""The values of an answer's parts: position, confidence, choice, status, blockers.

Each reader returns a value and the words in doubt; one of them is empty. What is neither clear nor
missing is asked; nothing is converted, completed or guessed.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import MARKS, Piece
from council.councils.answers_words import choice, pattern, plain, table
from council.councils.model import AGREED, DONE, RESPONDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

_PAIRS = {"[": "]", "(": ")", '"': '"', "“": "”", "«": "»", "`": "`", "{": "}"}
_SENTENCE = re.compile(r"[.!?]+[\"')\]»”*_]*(?:\s|$)")
_JOINED = r"^(?:but|only if|only|unless|if|provided|except|mais|sauf|a condition)\b"
_LATER = r"^\W*(?:oh,? |no,? )?(?:{corrections}|{turns})(?!\w)"
_LIMIT = r"^\W*(?:{except})"


def position(pieces: list[Piece], form: Form) -> tuple[str, str, bool]:
    """Return a position, the words in doubt, and whether it is the one that was held before."""
    texts = list(dict.fromkeys(_first(piece) for piece in pieces))
    texts = [text for text in texts if text]
    if not texts:
        quoted = [line for piece in pieces for line in piece.lines if line.strip()]
        return "", " ".join(quoted)[:300], False
    if len({plain(text) for text in texts}) > 1 or any(corrected(piece) for piece in pieces):
        return "", " … ".join(texts)[:600], False
    text, words = _stripped(texts[0]), plain(texts[0]).strip(" .\"'()[]")
    if pattern(r"^{unchanged}(?:$|[.,;:(—–-]| (?:from|in|since|de|du|vom) )").match(words):
        return form.held, "" if form.held else text, True
    letter = pattern(r"^(?:same as |i support |i choose |i vote for )?option ([a-z])$").match(words)
    if letter and letter[1].upper() in form.options:
        return form.options[letter[1].upper()], "", False
    too_long = len(text) > 600 or len(_SENTENCE.findall(text)) > 4
    if too_long or pattern(r"{refusals}|{doubted}").search(words) or words in table("none"):
        return "", text[:600], False
    return text if re.search(r"\w", text) else "", "" if re.search(r"\w", text) else text, False


def corrected(piece: Piece) -> bool:
    """Return whether a paragraph behind the first one takes it back."""
    return any(pattern(_LATER).match(plain(p)) for p in piece.paragraphs()[1:])


def confidence(pieces: list[Piece]) -> tuple[int | None, str]:
    """Return a whole number from 1 to 5, or the words in doubt."""
    firsts = [(piece.paragraphs() or [""])[0] for piece in pieces]
    numbers = {_number(first) for first in firsts if first}
    if len(numbers) == 1 and None not in numbers and not any(corrected(p) for p in pieces):
        return numbers.pop(), ""
    return None, " … ".join(dict.fromkeys(first for first in firsts if first))[:300]


def _number(words: str) -> int | None:
    if "~~" in words:
        return None
    words = re.sub(r"[^\w\s.,:;/%?!()\[\]+→>=<–—½'-]", " ", plain(words))
    lead = rf"(?:[\W]*{choice('confidence lead')}(?:\s+(?:of|at|is))?[\s:=,.(\[–—-]*)*"
    numbers = "|".join(rf"(?P<n{n}>{choice(f'number {n}')})" for n in range(1, 6))
    scale = r"\s*\)?\s*(?:/|out of|sur|von|auf|de|of|di|su|van)\s*(?:5|five|cinq|funf|cinco)(?!\d)(?:\.0)?"
    match = pattern(rf"^[(\[\s]*{lead}[(\[\s]*(?:{numbers})(?P<scale>{scale})?").match(words)
    while match and (arrow := re.match(r"\s*(?:→|->|=>)\s*", words[match.end() :])):
        words = words[match.end() + arrow.end() :]
        match = pattern(rf"^(?:{numbers})(?P<scale>{scale})?").match(words)
    if not match:
        return None
    value = next(n for n in range(1, 6) if match[f"n{n}"])
    tail = words[match.end() :]
    if match["scale"]:
        tail = re.sub(r"^\s*[(=,—–-]*\s*\d{2} ?%", "", tail)
    tail = re.sub(r"\((?:was|up from|down from|previously|before|avant)\W+\d(?:/5)?\)", "", tail)
    if re.match(
        r"\s?[.,]?\d|\s?[½+%]|\s*(?:-|–|—|/|to|or|a|ou|bis)\s*\d|\s*(?:-|/|to|or|ou|bis)\s*(?:one|two|three|four|five|ten|dix)\b",
        tail,
    ):
        return None
    if re.search(r"\?|½|%|\bif\b|\bhalf\b|\d/10|(?:of|sur|von) (?:10|ten|100)\b", tail):
        return None
    digits = {
        int(d) for d in re.findall(r"(?<![\d/])\d(?!\d)", re.sub(r"(?:/|out of|sur) ?5", "", tail))
    }
    return (
        value
        if digits <= {value}
        and not pattern(r"(?:^|[.;(—–])\s*(?:{corrections}|{turns})(?!\w)").search(tail)
        else None
    )


def ballot(pieces: list[Piece], form: Form, names: str) -> tuple[str, str]:
    """Return a choice (a letter, `new`, `abstain`) or the words in doubt.

    Args:
        pieces: The parts labelled as the choice.
        form: The options and who holds them.
        names: An expression for the peers' names, see `answers_stances.Names`.
    """
    firsts = [(piece.paragraphs() or [""])[0] for piece in pieces]
    chosen = {_chosen(first, form, names) for first in firsts if first}
    if len(chosen) == 1 and "" not in chosen and not any(corrected(p) for p in pieces):
        return chosen.pop(), ""
    return "", " … ".join(dict.fromkeys(first for first in firsts if first))[:300]


def _chosen(words: str, form: Form, names: str) -> str:
    raw = re.sub(r"[*_`~]|[^\w\s.,:;?!()\[\]\"'“”’«»@—–/+&-]", "", words).strip(" \"“”«»'")
    text = plain(raw)
    if "?" in text:
        return ""
    for name in ("abstain", "new"):
        if pattern(rf"^{{{name}}}(?:[.!)]*$|\s*[:(—–-])").match(text):
            return name
    by_text = {letter for letter, option in form.options.items() if _same(raw, option)}
    if len(by_text) == 1:
        return by_text.pop()
    holder = pattern(
        rf"^(?:i am |i'm )?(?:with )?({names})(?:'s?)?(?: (?:option|position|proposal|view))?\W*$"
    ).match(text)
    if holder:
        key = re.sub(r"[-_\s.@]", "", holder[1])
        held = {
            letter
            for letter, own in form.holders.items()
            for peer in own
            if key in (re.sub(r"[-_\s.]", "", plain(n)) for n in (peer, form.peers.get(peer, peer)))
        }
        return held.pop() if len(held) == 1 else ""
    match = re.match(
        r"(?i:option|letter|choice|vote|i vote for|i choose|my vote is|option\s)?[\s:(\[]*([A-Za-z])[)\]]?(?=$|[\s.,:;(—–-])(.*)",
        raw,
        re.S,
    )
    if not match or match[1].upper() not in form.options:
        return ""
    letter, tail = match[1].upper(), match[2]
    if re.match(r"\s+\w", tail) and not re.match(r"\s+(?:because|since|as|for|car|weil)\b", tail):
        return ""
    comment = tail.strip(" .,:;()[]—–-\"'“”")
    if pattern(r"(?:^|[.;] )(?:{choice behind}|{corrections}|{turns})(?!\w)").search(
        plain(comment)
    ):
        return ""
    others = [option for other, option in form.options.items() if other != letter]
    named = any(
        _same(comment, option) or plain(comment).startswith(plain(option).rstrip("."))
        for option in others
        if option
    )
    own = plain(form.options[letter]).rstrip(".")
    if named and not (own and plain(comment).startswith(own)):
        return ""
    spare = {c for c in re.findall(r"(?<![\w'])([A-Z])(?![\w'])", tail) if c in form.options} - {
        letter
    }
    behind = re.match(r"\s*[.:(—–-]", tail)
    return "" if spare and not behind else letter


def _same(words: str, option: str) -> bool:
    return plain(words).strip(" .!\"'()") == plain(option).strip(" .!\"'()") != ""


def status(pieces: list[Piece], text: str) -> tuple[str, str]:
    """Return the status that lines of their own state, or the words in doubt."""
    values = [_status((piece.paragraphs() or [""])[0]) for piece in pieces]
    values += [("", piece.text()) for piece in pieces if corrected(piece)]
    values = [value for value in values if value[0] or value[1]]
    alone = [
        line for line in text.split("\n") if re.fullmatch(r"[\W_]{0,20}AGREED[\W_]{0,20}", line)
    ]
    values += [(AGREED, "")] * (not values and bool(alone))
    found, doubts = {word for word, _ in values if word}, [seen for _, seen in values if seen]
    if len(found) == 1 and not doubts:
        word = found.pop()
        return ("", "DONE") if word == DONE else (word, "")
    if not values and (prose := re.search(r"[^\n]{0,80}\bAGREED\b[^\n]{0,80}", text)):
        return "", prose[0].strip()
    return "", " … ".join([*sorted(found), *doubts])


def _status(words: str) -> tuple[str, str]:
    given = re.sub(r"^[\W_]+|[\W_]+$", "", plain(words).replace("(", " ").replace(")", " "))
    for word in (AGREED, RESPONDED, DONE):
        if match := pattern(rf"^{{{word}}}").match(given):
            rest = re.sub(r"\W+", " ", given[match.end() :].replace("'", "")).strip()
            if "?" not in words and (not rest or pattern(r"^(?:{status behind}\s*)+$").match(rest)):
                return word, ""
            return "", words
    return "", words if any(word in given for word in table("status like")) else ""


def blockers(pieces: list[Piece], form: Form) -> tuple[list[str], list[str]]:
    """Return the blockers (or resolved ones) that lines state, and the words in doubt."""
    found: list[str] = []
    doubts: list[str] = []
    for piece in pieces:
        if not piece.inline:
            items = _items(piece.lines)
        elif piece.inline.lstrip(" *_`").startswith("?"):
            items = [piece.inline.lstrip("? ")]
        else:
            items = [piece.inline]
        for item in items:
            words = _unwrapped(re.sub(r"\s*[\u2600-\u27bf\U0001f300-\U0001faff]+\s*$", "", item))
            empty = is_none(plain(words))
            if empty is None:
                doubts.append(item)
            elif not empty and re.search(r"\w", words):
                found.append(words)
            elif empty and item is items[0] and plain(words).rstrip(" .:") not in ("", "-"):
                if len(items) > 1 and not is_none(plain(items[1])):
                    break  # "None. I tried:" and a list of what was tried
    return list(dict.fromkeys(found)), doubts


def is_none(words: str) -> bool | None:
    """Return whether words say that there is none; None if that cannot be told."""
    words = re.sub(r"^(?:\[p?\d\]|\(p?\d\)|p\d:)\s*", "", words).strip(" .-–—*()[]!\"'")
    if not words:
        return True
    match = pattern(r"^{none}").match(words)
    if not match:
        return False
    rest = words[match.end() :]
    if not rest.strip(" .!,;)"):
        return True
    if pattern(_LIMIT).match(rest):
        return None
    if re.match(r"\s*[.;!]", rest) or pattern(
        r"^(?:[\s,(]*{none behind}[\s.,)]*)+(?:$|[.;—–-])"
    ).match(rest):
        return True
    return None if re.match(r"\s*[,:(—–-]", rest) else False


def _items(lines: list[str]) -> list[str]:
    """Return the items of the list below a label, or its first paragraph."""
    items: list[str] = []
    for line in lines:
        marked = MARKS.match(line)
        if marked and marked.end() and marked[0].strip():
            if line[:2].strip() or not items:
                items.append(line[marked.end() :])
        elif not line.strip():
            if items and not MARKS.match(items[0]):
                break
        elif not items:
            items.append(line.strip())
        elif not any(re.match(r"\s*[-*+•\d]", own) for own in lines):
            items[-1] += f" {line.strip()}"
    return items


def blocker_in_prose(text: str) -> str:
    """Return a sentence that speaks of a blocker as one that is there, "" for none."""
    for sentence in re.split(r"(?<=[.!?])\s|\n", text):
        if len(sentence) > 1000 or not re.search(r"(?i)block|bloqu|blocage", sentence):
            continue
        words = plain(sentence)
        named = re.search(
            r"\b(?:blockers?|blocking (?:issues?|points?|concerns?|problem)|points? bloquants?|bloquants?|blocages?)\b",
            words,
        )
        said = re.search(r"\bis (?:still |a |the |my )*block(?:er|ing)\b|\best bloquant", words)
        if (named or said) and not pattern(r"{settled}|n't").search(words):
            return sentence.strip()
    return ""


def is_pass(text: str, form: Form) -> bool:
    """Return whether nothing is said: no words, or nothing but a word of machines for that."""
    lines = [plain(line).strip(" .!:-()[]<>\"'") for line in re.sub(r"\\", "", text).split("\n")]
    own = rf"^(?:\[?{re.escape(form.author) or '-'}\]?\s*:?\s*)?"
    lines = [re.sub(own, "", line).strip(" :.]").replace("_", " ") for line in lines]
    silent = {word.replace("_", " ") for word in table("pass")} | {"noreply", "heartbeatok"}
    return all(line in silent or not re.search(r"\w", line) for line in lines)


def _first(piece: Piece) -> str:
    """Return the text of a part: all below a heading, or the first paragraph and what limits it."""
    paragraphs = piece.paragraphs()
    if not piece.inline and piece.level < 7:
        return "\n\n".join(paragraphs)
    if len(paragraphs) > 1 and re.match(_JOINED, plain(paragraphs[1])):
        return "\n\n".join(paragraphs[:2])
    return paragraphs[0] if paragraphs else ""


def _stripped(text: str) -> str:
    text = _unwrapped(text)
    return MARKS.sub("", text, count=1) if "\n" not in text else text


def _unwrapped(text: str) -> str:
    """Take off brackets, quotation marks and emphasis that stand around all of a text."""
    text = text.strip()
    for _ in range(4):
        for mark in ("***", "**", "__", "*", "_"):
            inner = text[len(mark) : -len(mark)]
            if text.startswith(mark) and text.endswith(mark) and inner and mark not in inner:
                text = inner.strip()
        if len(text) > 1 and _PAIRS.get(text[0]) == text[-1]:
            inner = text[1:-1]
            text = text if text[0] in inner or text[-1] in inner else inner.strip()
    return text
