"""Positions: when two texts are the same one, and which option an answer holds.

Letters and words alone are compared; what a text means is never guessed.
"""

from __future__ import annotations

from council.councils.model import Heard, Option

# Behind a shared beginning these words limit or deny it: the longer text says something else.
_LIMITING = (
    "not no never none nor neither nothing without but unless except only if until although though"
    " however or provided assuming when while once instead rather otherwise against partly later"
    " condition subject ne pas non jamais aucun aucune ni rien sans mais sauf seulement si jusqu"
    " jusque sinon excepté hormis quoique ou pourvu quand plutôt contre condition réserve"
)
_LIMITS = frozenset(_LIMITING.split())


def plain(text: str) -> str:
    """Return a text as repetitions are compared: without blanks at its ends and those of lines."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def words(text: str) -> list[str]:
    """Return the words of a text without case and punctuation; `C++` and `40%` keep their signs."""
    folded = f" {text.casefold()}".replace("’", "'").replace("n't", " not").replace(" n'", " ne ")
    marked = "".join(one if one.isalnum() or one in "#%&€$£_+" else " " for one in folded)
    return [word for word in marked.split() if word.strip("+")]


def same(position: str, others: list[str]) -> int | None:
    """Return the place of the text that says the same as `position`, None where none does.

    It has the same words, or one of the two only says more: after the words of the other there is
    a sentence or clause break, and the rest has no negation or limit.
    """
    own, said = words(position), [words(other) for other in others]
    if own in said:
        return said.index(own)
    fits = [_says_more(position, one) or _says_more(one, position) for one in others]
    return fits.index(True) if True in fits else None


def _says_more(longer: str, shorter: str) -> bool:
    long, short = words(longer), words(shorter)
    if not short or len(long) <= len(short) or long[: len(short)] != short:
        return False
    breaks = [at for at, letter in enumerate(longer) if letter in ".,;:!?—–-(…\n"]
    ends = any(words(longer[:at]) == short for at in breaks)
    return ends and not _LIMITS.intersection(long[len(short) :])


def letter_of(index: int) -> str:
    """Return A for 0, Z for 25, AA for 26."""
    before, last = divmod(index, 26)
    return (letter_of(before - 1) if before else "") + chr(65 + last)


def held_after(heard: Heard, held: str, options: list[Option], vote: bool, by: str = "") -> str:
    """Return the letter that `by` holds after an answer; a new option is added to `options`."""
    if any(one.letter == heard.choice for one in options):
        return heard.choice
    if heard.choice == "abstain" or not heard.position or (heard.unchanged and not heard.choice):
        return held
    found = same(heard.position, [one.text for one in options])
    if found is not None:
        return options[found].letter
    if vote and held and not heard.moved and heard.choice != "new":
        return held
    options.append(Option(letter=letter_of(len(options)), text=heard.position, by=by))
    return options[-1].letter


def is_readable(heard: Heard) -> bool:
    """Return whether anything that counts was understood of an answer."""
    return bool(heard.position or heard.choice or heard.stances or heard.unchanged)


def alike(one: str, other: str) -> bool:
    """Return whether two texts share at least nine tenths of their words."""
    left, right = words(one), words(other)
    shared = sum(min(left.count(word), right.count(word)) for word in set(left))
    return bool(left) and 2 * shared >= 0.9 * (len(left) + len(right))
