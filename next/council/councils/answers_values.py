"""The values of an answer's parts: position, confidence, choice, status, blockers.

Each reader returns a value and the words in doubt; one of them is empty. What is neither clear nor
missing is asked; nothing is converted, completed or guessed.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import HEADING, Piece, without_marks
from council.councils.answers_stances import Names
from council.councils.answers_words import pattern, plain, table
from council.councils.model import AGREED, ANSWERED, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

_PAIRS = [(mark, mark) for mark in ("***", "**", "__", "*", "_", '"', "`")]
_PAIRS += [("[", "]"), ("(", ")"), ("“", "”"), ("«", "»")]
_SENTENCE = re.compile(r"[.!?]+[\"')\]»”*_]*(?:\s|$)")


def position(pieces: list[Piece], form: Form) -> tuple[str, str, bool]:
    """Return a position, the words in doubt, and whether it is the one that was held before."""
    texts = list({plain(text): text for piece in pieces if (text := _stated(piece))}.values())
    seen = " … ".join(texts or [line for piece in pieces for line in piece.lines])[:600]
    if len(texts) != 1 or any(_is_corrected(piece) for piece in pieces):
        return "", seen, False
    text, words = _unwrapped(without_marks(texts[0])), plain(texts[0]).strip(" .\"'()[]")
    if pattern("{=kept}").match(words):
        return form.held, "" if form.held else text, True
    named = pattern("{=an_option}").match(words)
    if named and named[1].upper() in form.options:
        return form.options[named[1].upper()], "", False
    too_long = len(text) > 600 or len(_SENTENCE.findall(text)) > 4
    empty = pattern("{=no_position}").search(words) or words in table("none")
    unclear = too_long or empty or not re.search(r"\w", text)
    return ("", seen, False) if unclear else (text, "", False)


def confidence(pieces: list[Piece]) -> tuple[int | None, str]:
    """Return a whole number from 1 to 5, or the words in doubt."""
    firsts = [first for piece in pieces if (first := piece.first())]
    numbers = {_number(first) for first in firsts}
    if len(numbers) == 1 and not any(_is_corrected(piece) for piece in pieces):
        return numbers.pop(), " … ".join(firsts)[:300]
    return None, " … ".join(firsts)[:300]


def _number(words: str) -> int | None:
    struck = "~~" in words or len(words) > 2000
    words = "" if struck else re.sub(r"[^\w\s.,:;/%?!()\[\]+→>=<–—½'-]", " ", plain(words))
    match = pattern("{=level}").match(words)
    while match and (arrow := pattern("{=arrow}").match(words, match.end())):
        words = words[arrow.end() :]
        match = pattern("{=number}{=scale}").match(words)
    if not match:
        return None
    value, tail = next(n for n in range(1, 6) if match[f"n{n}"]), words[match.end() :]
    tail = pattern("{=percent}").sub("", tail) if match["scale"] else tail
    tail = pattern("{=earlier}").sub("", tail)
    others = {int(digit) for digit in re.findall(r"(?<![\d/])\d(?!\d)", tail)} - {value}
    return None if others or pattern("{=no_level}").search(tail) else value


def ballot(pieces: list[Piece], form: Form) -> tuple[str, str]:
    """Return a choice (a letter, `new`, `abstain`) or the words in doubt."""
    firsts = [first for piece in pieces if (first := piece.first())]
    chosen = {_chosen(first, form) for first in firsts}
    if len(chosen) == 1 and not any(_is_corrected(piece) for piece in pieces):
        return chosen.pop(), " … ".join(firsts)[:300]
    return "", " … ".join(firsts)[:300]


def _chosen(words: str, form: Form) -> str:
    raw = pattern("{=cleaned}").sub("", words).strip(" \"“”«»'")
    text, options = plain(raw), {letter: _bare(text) for letter, text in form.options.items()}
    for name in ("abstain", "new"):
        if pattern(rf"^{{{name}}}(?:[.!)]*$|\s*[:(—–-])").match(text) and "?" not in text:
            return name
    same = [letter for letter, option in options.items() if option and option == _bare(text)]
    names = Names(form)
    holder = pattern(rf"(?:i am |i'm )?(?:with )?({names.one})(?:'s?)?(?: \w+)?\W*").fullmatch(text)
    owners = names.owners(holder[1]) if holder else []
    held = [letter for letter, own in form.holders.items() if owners and owners[0] & {*own}]
    if len(same or held) == 1:
        return (same or held)[0]
    match = pattern("{=letter}").match(raw)
    letter, tail = (match[1].upper(), match[2]) if match else ("", "")
    comment = plain(tail).strip(" .,:;()[]—–-\"'“”")
    told = {other for other, option in options.items() if option and comment.startswith(option)}
    plainly = letter in told or pattern("{=reason}").match(tail)
    if letter not in options or "?" in text or not plainly:
        return ""
    letters = set(re.findall(r"(?<![\w'])[A-Z](?![\w'])", tail)) & {*options} - {letter}
    aside = re.match(r"\s*[.:(—–-]", tail)  # "B — A is too risky"
    doubt = pattern("{=choice_doubt}").search(comment) or (letters and not aside)
    return "" if doubt or (told and letter not in told) else letter


def status(pieces: list[Piece], text: str) -> tuple[str, str]:
    """Return the status that lines of their own state, or the words in doubt."""
    values = [_status(piece.first()) for piece in pieces]
    values += [("", "\n".join(piece.paragraphs())) for piece in pieces if _is_corrected(piece)]
    values = [value for value in values if any(value)]
    if not values:
        prose = pattern("{=agreed_in_prose}").search(text)
        alone = pattern("{=agreed_alone}").search(text)
        return (AGREED, "") if alone else ("", prose[0].strip() if prose else "")
    words = {word or seen for word, seen in values}
    word = values[0][0] if len(words) == 1 else ""
    return ("", " … ".join(sorted(words))) if word in ("", DONE) else (word, "")


def _status(words: str) -> tuple[str, str]:
    given = re.sub(r"\W+", " ", plain(words[:500]).replace("'", "")).strip(" _")
    for word in ANSWERED:
        for said in sorted((said.replace("'", "") for said in table(word)), key=len, reverse=True):
            rest = given.removeprefix(said).strip()
            is_word = given == said or given.startswith(f"{said} ")
            if is_word and "?" not in words and (not rest or pattern("{=thanks}").match(rest)):
                return word, ""
    return "", words if any(word in given for word in table("status like")) else ""


def blockers(pieces: list[Piece]) -> tuple[list[str], list[str]]:
    """Return the blockers (or resolved ones) that lines state, and the words in doubt."""
    found, doubts = list[str](), list[str]()
    for piece in pieces:
        items = [piece.inline.lstrip("? ")] if piece.inline else _items(piece.lines)
        for number, item in enumerate(items):
            words = _unwrapped(re.sub(r"[\s\u2600-\u27bf\U0001f300-\U0001faff]+$", "", item))
            empty = is_none(plain(words))
            if empty is None:
                doubts.append(item)
            elif not empty:
                found.append(words)
            elif number == 0 and re.search(r"\w", words) and not is_none(plain(items[-1])):
                break  # "None. I tried:" and a list of what was tried
    return list(dict.fromkeys(found)), doubts


def is_none(words: str) -> bool | None:
    """Return whether words say that there is none; None if that cannot be told."""
    words = pattern("{=item_mark}").sub("", words).strip(" .-–—*()[]!\"'")
    match = pattern("^{none}").match(words)
    rest = words[match.end() :] if match else words
    if not re.search(r"\w", rest):
        return True
    if not match or pattern(r"^\W*{except}").match(rest):
        return None if match else False
    if pattern("{=at_this_stage}").match(rest):
        return True
    return None if re.match(r"\s*[,:(—–-]", rest) else False


def _items(lines: list[str]) -> list[str]:
    """Return the items of the list below a label, or its first paragraph."""
    listed = [line for line in lines if re.match(r" {0,1}(?:[-*+•]|\d{1,2}[.)])\s", line)]
    text = "\n".join(lines).strip()
    first = text if not listed else text.partition(listed[0])[0]
    paragraph = " ".join(first.strip().split("\n\n")[0].split())
    return [*([paragraph] if paragraph else []), *map(without_marks, listed)]


def blocker_in_prose(text: str) -> str:
    """Return a sentence that speaks of a blocker as one that is there, "" for none."""
    for sentence in re.split(r"(?<=[.!?])\s|\n", text):
        words = plain(sentence[:1000])
        if pattern("{=a_blocker}").search(words) and not pattern("{=no_blocker}").search(words):
            return sentence.strip()
    return ""


def is_pass(text: str, form: Form) -> bool:
    """Return whether nothing is said: no words, or nothing but a word of machines for that."""
    own = rf"\W*(?:{re.escape(form.author or '-')}\W+)?(.*)"
    silent = {*table("pass"), ""}
    for line in text.replace("\\", "").split("\n"):
        words = re.sub(own, r"\1", plain(line)).strip(" .!:-()[]<>\"'")
        if words not in silent and re.search(r"\w", words):
            return False
    return True


def _is_corrected(piece: Piece) -> bool:
    """Return whether a paragraph behind the first one takes it back."""
    return any(pattern("{=later_words}").match(plain(p)) for p in piece.paragraphs()[1:])


def _stated(piece: Piece) -> str:
    """Return the text of a part: all below a heading, or the first paragraph and what limits it."""
    paragraphs = piece.paragraphs()
    limited = len(paragraphs) > 1 and pattern("{=joined}").match(plain(paragraphs[1]))
    below = piece.shape == HEADING and not piece.inline
    return "\n\n".join(paragraphs[: None if below else 2 if limited else 1])


def _unwrapped(text: str) -> str:
    """Take off brackets, quotation marks and emphasis that stand around all of a text."""
    text = text.strip()
    for begin, end in _PAIRS * 2:
        inner = text.removeprefix(begin).removesuffix(end)
        whole = len(inner) == len(text) - len(begin + end) > 0
        if whole and begin not in inner and end not in inner:
            text = inner.strip()
    return text


def _bare(words: str) -> str:
    return plain(words).strip(" .!\"'()")
