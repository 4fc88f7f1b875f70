"""The values of an answer's parts: position, confidence, choice, status, blockers.

Each reader returns a value and the words in doubt; one of them is empty. What is neither clear nor
missing is asked; nothing is converted, completed or guessed.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import HEADING, Piece, without_marks
from council.councils.answers_stances import Names
from council.councils.answers_words import (
    fold,
    match,
    pattern,
    plain,
    search,
    table,
    value,
    without,
)
from council.councils.model import AGREED, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.councils.answers import Form

_AROUND = ("****", "____", "**", "__", '""', "``", "[]", "()", "“”", "«»")


def position(pieces: list[Piece], form: Form) -> tuple[str, str, bool]:
    """Return a position, the words in doubt, and whether it is the one that was held before."""
    texts = list({plain(text): text for piece in pieces if (text := _stated(piece))}.values())
    seen = " … ".join(texts or [line for piece in pieces for line in piece.lines])[:600]
    if len(texts) != 1 or any(map(_is_corrected, pieces)):
        return "", seen, False
    text, words = _unwrapped(without_marks(texts[0])), plain(texts[0]).strip(" .\"'()[]")
    if match("kept", words):
        return form.held, "" if form.held else text, True
    named = match("an option", words)
    if named and named[1].upper() in form.options:
        return form.options[named[1].upper()], "", False
    too_long = len(text) > 600 or len(pattern("{=sentence}", "").findall(text)) > 4
    unclear = too_long or match("nothing", words) or search("no position", words)
    return ("", seen, False) if unclear else (text, "", False)


def confidence(pieces: list[Piece]) -> tuple[int | None, str]:
    """Return a whole number from 1 to 5, or the words in doubt."""
    level, seen = _one(pieces, lambda words: value("level", without("no level", plain(words)))[0])
    return int(level[1:]) if level else None, seen


def choice(pieces: list[Piece], form: Form) -> tuple[str, str]:
    """Return a choice (a letter, `new`, `abstain`) or the words in doubt."""
    return _one(pieces, lambda words: _chosen(words, form))


def _one(pieces: list[Piece], read: Callable[[str], str]) -> tuple[str, str]:
    """Return the one value that parts agree on ("" if it cannot be told), and their words."""
    firsts = [first for piece in pieces if (first := piece.first())]
    found = {read(first) for first in firsts}
    clear = len(found) == 1 and not any(map(_is_corrected, pieces))
    return found.pop() if clear else "", " … ".join(firsts)[:300]


def _chosen(words: str, form: Form) -> str:
    raw = without("no choice", words).strip(" \"“”«»'")
    options = {letter: _bare(text) for letter, text in form.options.items()}
    names, text = Names(form), plain(raw)
    word = value("choice", text)[0]
    same = [letter for letter, option in options.items() if option and option == _bare(text)]
    holder = pattern(rf"(?:i am |i'm )?(?:with )?({names.one})(?:'s?)?(?: \w+)?\W*", "")
    held = holder.fullmatch(text)
    owners = names.owners(held[1])[0] if held else set()
    same += [letter for letter, own in form.holders.items() if owners & {*own}]
    if word or len({*same}) == 1:
        return word or same[0]
    found = match("letter", raw)
    letter, tail = (found[1].upper(), found[2]) if found else ("", "")
    comment = _bare(tail.strip(" .,:;()[]—–-\"'“”"))
    told = {other for other, option in options.items() if option and comment.startswith(option)}
    plainly = letter in told or (match("reason", tail) and not (told or "?" in text))
    others = set(re.findall(r"(?<![\w'])[A-Z](?![\w'])", tail)) & {*options} - {letter}
    doubt = search("letter doubt", comment) or (others and not match("aside", tail))
    return letter if letter in options and plainly and not doubt else ""


def status(pieces: list[Piece], text: str, form: Form) -> tuple[str, str]:
    """Return the status that lines of their own state, or the words in doubt.

    What is quoted, and a line about a peer, is no statement of the author.
    """
    found: dict[str, None] = {}
    for piece in pieces:
        first = plain(piece.first()[:500]).strip(" .:!()[]\"'")
        word = value("status", first)[0]
        if word or search("status like", first):
            found[word or piece.first()] = None
        if _is_corrected(piece):
            found["\n".join(piece.paragraphs())] = None
    if not found:
        if search("agreed alone", text):
            return AGREED, ""
        other = pattern(rf"[^\w@]*(?:{Names(form).one}|.*\(agent:)", "")
        said = [line for line in without("quoted", text).split("\n") if not other.match(fold(line))]
        prose = search("agreed in prose", "\n".join(said))
        return "", prose[0].strip() if prose else ""
    word = next(iter(found))
    is_clear = len(found) == 1 and word in table("statuses")
    return (word, "") if is_clear and word != DONE else ("", " … ".join(sorted(found)))


def blockers(pieces: list[Piece]) -> tuple[list[str], list[str]]:
    """Return the blockers (or resolved ones) that lines state, and the words in doubt."""
    found, doubts = list[str](), list[str]()
    for piece in pieces:
        items = [piece.inline.lstrip("? ")] if piece.inline else _items(piece.lines)
        for number, item in enumerate(items):
            words = _unwrapped(without("last signs", item))
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
    words = without("item mark", words).strip(" .-–—*()[]!\"'")
    if match("none but", words):
        return None
    return True if match("none at all", words) else None if match("none rather", words) else False


def _items(lines: list[str]) -> list[str]:
    """Return the items of the list below a label, or its first paragraph."""
    listed = [line for line in lines if match("item", line)]
    text = "\n".join(lines).strip()
    first = text if not listed else text.partition(listed[0])[0]
    paragraph = " ".join(first.strip().split("\n\n")[0].split())
    return [*([paragraph] if paragraph else []), *map(without_marks, listed)]


def blocker_in_prose(text: str) -> str:
    """Return a sentence that speaks of a blocker as one that is there, "" for none."""
    for sentence in re.split(r"(?<=[.!?])\s|\n", text):
        words = plain(sentence[:1000])
        if search("a blocker", words) and not search("no blocker", words):
            return sentence.strip()
    return ""


def is_pass(text: str, form: Form) -> bool:
    """Return whether nothing is said: no words, or nothing but a word of machines for that."""
    for line in text.replace("\\", "").split("\n"):
        words = plain(line).strip(" .!:-()[]<>\"'").removeprefix(form.author or "-")
        words = words.strip(" .!:-()[]<>\"'")
        if words not in table("pass") and re.search(r"\w", words):
            return False
    return True


def _is_corrected(piece: Piece) -> bool:
    """Return whether a paragraph behind the first one takes it back."""
    return any(match("later words", plain(p)) for p in piece.paragraphs()[1:])


def _stated(piece: Piece) -> str:
    """Return the text of a part: all below a heading, or the first paragraph and what limits it."""
    paragraphs = piece.paragraphs()
    limited = len(paragraphs) > 1 and match("joined", plain(paragraphs[1]))
    below = piece.shape == HEADING and not piece.inline
    text = "\n\n".join(paragraphs[: None if below else 2 if limited else 1])
    return without("status behind text", text, r"\1")


def _unwrapped(text: str) -> str:
    """Take off brackets, quotation marks and emphasis that stand around all of a text."""
    for around in _AROUND * 2:
        half = len(around) // 2
        begin, end, inner = around[:half], around[half:], text.strip()[half:-half]
        is_around = text.strip() == begin + inner + end and inner != ""
        text = inner if is_around and begin not in inner and end not in inner else text
    return text.strip()


def _bare(words: str) -> str:
    return plain(words).strip(" .!\"'()")
