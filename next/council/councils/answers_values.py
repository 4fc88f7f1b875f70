"""The values of an answer's parts: position, confidence, choice, status, blockers.

Each reader returns a value and the words in doubt. What is neither clear nor missing is asked;
nothing is converted, completed or guessed.
"""

from __future__ import annotations

import re

from council.councils.answers_labels import HEADING, Part, without_marks
from council.councils.answers_words import pattern, plain, search, table, value, without
from council.councils.model import AGREED, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.councils.answers import Form


def position(found: list[Part], form: Form) -> tuple[str, str, bool]:
    """Return a position, the words in doubt, and whether it is the one that was held before."""
    texts = list({plain(text): text for part in found if (text := _stated(part))}.values())
    seen = " … ".join(texts)
    if len(texts) != 1 or any(map(_is_corrected, found)):
        return "", seen, False
    text, words = _unwrapped(without_marks(texts[0])), plain(texts[0]).strip(" .\"'()[]")
    if search("kept", words):
        return form.held, text, True
    if (named := search("an option", words)) and named[1].upper() in form.options:
        return form.options[named[1].upper()], "", False
    too_long = len(text) > 600 or len(pattern("{=sentence}", "").findall(text)) > 4
    unclear = too_long or search("nothing", words) or search("no position", words)
    return "" if unclear else text, seen, False


def confidence(found: list[Part]) -> tuple[int | None, str]:
    """Return a whole number from 1 to 5, or the words in doubt."""
    level, seen = _one(found, lambda words: value("level", without("no level", words))[0])
    return int(level[1:]) if level else None, seen


def choice(found: list[Part], form: Form) -> tuple[str, str]:
    """Return a choice (a letter, `new`, `abstain`) or the words in doubt."""
    return _one(found, lambda words: _chosen(words, form))


def status(found: list[Part], text: str, quoted: str) -> tuple[str, str]:
    """Return the status that lines of their own state, or the words in doubt.

    What is quoted, and a line about a peer, is no statement of the author.
    """
    word, seen = _one(found, lambda words: value("status", words.strip(" .:!()[]\"'"))[0])
    if seen:
        return "" if word == DONE else word, seen if search("status like", plain(seen)) else ""
    if search("agreed alone", text):
        return AGREED, ""
    prose = search("agreed in prose", without("quoted", text))
    return "", prose[0].strip() if prose else quoted if search("agreed quoted", quoted) else ""


def _one(found: list[Part], read: Callable[[str], str]) -> tuple[str, str]:
    """Return the one value that parts agree on ("" if it cannot be told), and their words."""
    firsts = [first for part in found if (first := part.first())]
    values = {read(plain(first)) for first in firsts}
    clear = len(values) == 1 and not any(map(_is_corrected, found))
    return values.pop() if clear else "", " … ".join(firsts)[:300]


def _chosen(words: str, form: Form) -> str:
    raw = _bare(without("no choice", words))
    options = {letter: _bare(text) for letter, text in form.options.items() if _bare(text)}
    same = [letter for letter, option in options.items() if option == raw]
    if (word := value("choice", raw)[0]) or len(same) == 1:
        return word or same[0]
    letter, tail = found.groups() if (found := search("letter", raw)) else ("", "")
    comment = _bare(tail.strip(" .,:;()[]—–-\"'“”"))
    told = {other for other, option in options.items() if comment.startswith(option)}
    plainly = told == {letter.upper()} or (not told and search("reason", tail))
    doubt = search("letter doubt", comment)
    return letter.upper() if letter.upper() in options and plainly and not doubt else ""


def blockers(found: list[Part]) -> tuple[list[str], list[str]]:
    """Return the blockers (or resolved ones) that lines state, and the words in doubt."""
    stated, doubts = dict[str, None](), list[str]()
    for part in found:
        listed = [line for line in part.lines[1:] if search("item", line)]
        first = part.lines[0].lstrip("? ") or " ".join(part.first().partition("\n- ")[0].split())
        inline = part.lines[0] or not listed or is_none(plain(first))
        for item in [first] if inline else map(without_marks, listed):
            words = _unwrapped(without("last signs", item))
            empty = is_none(plain(words))
            if empty is None:
                doubts.append(item)
            elif not empty:
                stated[words] = None
    return list(stated), doubts


def is_none(words: str) -> bool | None:
    """Return whether words say that there is none; None if that cannot be told."""
    words = without("item mark", words).strip(" .-–—*()[]!\"'")
    if search("none but", words):
        return None
    return True if search("none at all", words) else None if search("none rather", words) else False


def blockers_in_prose(text: str) -> list[str]:
    """Return a sentence that speaks of a blocker as one that is there."""
    said = [
        one for one in re.split(r"(?<=[.!?])\s|\n", text) if search("a blocker", plain(one[:999]))
    ]
    return [one.strip() for one in said if not search("no blocker", plain(one[:999]))][:1]


def is_pass(text: str, form: Form) -> bool:
    """Return whether nothing is said: no words, or nothing but a word of machines for that."""
    around = " .!:-()[]<>\"'"
    lines = [plain(line).strip(around) for line in text.replace("\\", "").split("\n")]
    said = [line.removeprefix(form.author or "-").strip(around) for line in lines]
    return not any(words not in table("pass") and re.search(r"\w", words) for words in said)


def _is_corrected(part: Part) -> bool:
    """Return whether a paragraph behind the first one takes it back."""
    return any(search("later words", plain(p)) for p in part.paragraphs()[1:])


def _stated(part: Part) -> str:
    """Return the text of a part: all below a heading, or the first paragraph and what limits it."""
    paragraphs = part.paragraphs()
    limited = len(paragraphs) > 1 and search("joined", plain(paragraphs[1]))
    below = part.shape == HEADING and not part.lines[0]
    return "\n\n".join(paragraphs[: None if below else 2 if limited else 1])


def _unwrapped(text: str) -> str:
    """Take off brackets, quotation marks and emphasis that stand around all of a text."""
    while around := search("around", text.strip()):
        text = around["inner"] or around["inner2"]
    return text.strip()


def _bare(words: str) -> str:
    return plain(words).strip(" .!\"'()“”«»")
