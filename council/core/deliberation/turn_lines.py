"""What one line says: about whom it speaks, which stance it takes, how sure its author is.

A stance counts only if the whole token up to the dash is one of the words for
it; words are never searched for. Direct questions are found here, too.

Source: DL-013, DL-014, DL-016, DL-017.
"""

from __future__ import annotations

from council.core.conversations.quotations import Names
from council.core.deliberation.turn_parts import (
    COLONS,
    DASHES,
    EMPHASIS,
    heading,
    labels_of,
    own_lines,
    plain,
    sentence_ends,
    without_bullet,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from council.core.deliberation.turn_parts import Line

STANCES = ("agree", "partial", "disagree")
ACK = "acknowledged"
ANY_DEPTH = 1 << 20  # before the first bullet, one may be set as deep as it likes

_WORDS = labels_of(
    {
        "agree": "agree|agreed|agrees|d'accord|accord",
        "disagree": "disagree|disagreed|disagrees|disagreement|pas d'accord|désaccord|en désaccord",
        "partial": "partial|partially|partial agreement|partly|partially agree|partially agreed"
        "|partially agrees|partly agree|partly agreed|partly agrees|partiel|partielle|partiellement"
        "|partiellement d'accord|en partie|en partie d'accord|accord partiel|d'accord en partie",
        ACK: "acknowledged|acknowledge|acknowledges|ack|noted|vu|pris en compte",
    }
)
SECTIONS = labels_of(
    {
        "position": "position|final position|position finale|position statement|my position"
        "|core position|ma position",
        "responses": "responses to others|responses|response to others|responses to other agents"
        "|agreement|agreements|agreement with others|agreement with other agents|stances"
        "|réponses aux autres|réponses|accords|accord|accords avec les autres"
        "|accord avec les autres",
        "reasoning": "reasoning|evidence|evidence reasoning|reasoning and evidence|arguments"
        "|raisonnement|argumentation|preuves",
        "confidence": "confidence|confidence level|confiance|niveau de confiance",
    }
)
_SCALES = ("/5", "/ 5", "out of 5", "sur 5")
_JOINERS = frozenset(("", "and", "et", "&", "+", "/", ","))
_SHOWN_CHARS = 80
_NAME_CHARS = 40


class Spoken:
    """One line about somebody and the lines that go on with it."""

    def __init__(self, agent: str, rest: str, depth: int) -> None:
        self.agent = agent
        self.rest = rest
        self.depth = depth
        self.token, self.stance, self.comment = _stated(rest)
        self.more: list[Line] = []

    def settle(self) -> None:
        """Take the stance from the next line if there is none beside the name."""
        for at, (line, is_own) in enumerate(self.more if not self.token else ()):
            if line.strip():
                if is_own:
                    self.token, self.stance, self.comment = _stated(_without_label(line))
                    self.more = self.more[at + 1 :]
                break
        lines = [line[2:] if line.startswith("  ") else line.lstrip() for line, _ in self.more]
        self.comment = "\n".join([self.comment, *lines]).strip()


def line_about(line: str, known: Names, names: Mapping[str, str], depth: int) -> Spoken | None:
    """Return what a line says about somebody, None for a line that goes on with a comment.

    A bullet with `@name` that is set no deeper than the bullet before it always
    speaks about somebody; other lines only with a colon, a dash or a stance.
    """
    start = line.lstrip()
    indent = len(line) - len(start)
    body = without_bullet(start.lstrip("#").lstrip() if start[:1] == "#" else start)
    is_item = body is not start
    body = body.lstrip(EMPHASIS + "[")
    is_named = body[:1] == "@"
    body = body.lstrip("@").lstrip(EMPHASIS) if is_named else body
    is_sure = is_named and is_item and indent <= depth
    agent = known.at(body, 0) if body else ""
    if agent:
        rest, is_set_off = _after_name(body[_name_length(body, agent, names) :])
        one = Spoken(agent, rest, indent)
        return one if is_sure or is_set_off or one.stance else None
    name, rest = _cut(body)
    if not is_sure and not (
        (is_named or is_item) and len(name) <= _NAME_CHARS and _stated(rest)[1]
    ):
        return None
    one = Spoken("", "", indent)
    one.token = (name.split() or ["@"])[0] if is_named else name.strip(EMPHASIS + " ]")
    return one


def _name_length(body: str, agent: str, names: Mapping[str, str]) -> int:
    return max(
        len(name)
        for name, of in names.items()
        if of == agent and body[: len(name)].casefold() == name.casefold()
    )


def _after_name(rest: str) -> tuple[str, bool]:
    """Return what follows a name and its colon or dash, and whether there was one."""
    rest = rest.lstrip(EMPHASIS + "] ")
    if rest.startswith("(") and ")" in rest[:_SHOWN_CHARS]:
        remark, after = rest[1:].split(")", 1)
        if not stance_of(remark):
            rest = after.lstrip(EMPHASIS + "] ")
    bare = rest.lstrip(COLONS + DASHES + "-=→> \t\u00a0\u202f")
    is_set_off = not rest[: len(rest) - len(bare)].isspace() and bare is not rest
    closed = bare.lstrip(EMPHASIS)
    return closed.lstrip() if closed[:1].isspace() else bare, is_set_off or not bare


def _stated(rest: str) -> tuple[str, str, str]:
    """Split `stance — comment` into what stands for the stance, the stance, the comment."""
    token, comment = _cut(rest)
    for mark in ("**", "__", "`", "*"):
        if token.count(mark) % 2 and comment.startswith(mark):
            token, comment = token + mark, comment[len(mark) :].lstrip()
    stance = stance_of(token)
    other = stance_of(_cut(comment)[0]) if stance else ""
    if other not in ("", stance, ACK):
        return rest, "", ""  # two answers at once, as in a form that nobody has filled in
    return token.strip(), stance, comment


def stance_of(token: str) -> str:
    """Return the stance a whole token is, "" for anything else."""
    if len(token) > _SHOWN_CHARS:
        return ""
    return _WORDS.get(plain(token.strip(EMPHASIS + "[]() \t\u00a0\u202f")), "")


def _cut(text: str) -> tuple[str, str]:
    """Cut a text at its first dash, colon or full stop."""
    for at, letter in enumerate(text[: 2 * _SHOWN_CHARS]):
        after = text[at + 1 : at + 2]
        if letter in DASHES or letter in COLONS:
            return text[:at], text[at + 1 :].strip()
        if letter == "." and not after.strip():
            return text[:at], text[at + 1 :].strip()
        if letter == "-" and (after == "-" or not after.strip() or text[at - 1 : at].isspace()):
            long = 3 if text.startswith("---", at) else 2 if after == "-" else 1
            return text[:at], text[at + long :].strip()
    return text, ""


def _without_label(line: str) -> str:
    """Return the text of a line without a bullet and without `Stance:` before it."""
    words = without_bullet(line.strip())
    label, rest = _cut(words)
    return rest if plain(label.strip(EMPHASIS + " ")) == "stance" else words


def confidence_of(line: str) -> int:
    """Return the number from 1 to 5 that a line states, 0 when it states none.

    After the number may come the scale (`/5`) and, set off by a dash, a colon,
    a comma, a parenthesis or a full stop, words. A range, a fraction or a
    number of another scale is none.
    """
    named = heading(line.strip(), SECTIONS)
    words = named[2] if named and named[0] == "confidence" else line.strip()
    words = words[1:] if words[:2] in ("- ", "* ", "• ") else words
    words = "".join(letter for letter in words[:200] if letter not in EMPHASIS + "[]").strip(" ()")
    if words[:1] not in tuple("12345"):
        return 0
    rest = words[1:]
    for scale in _SCALES:
        if rest.lstrip().casefold().startswith(scale):
            rest = rest.lstrip()[len(scale) :]
            break
    mark, after = rest.strip()[:1], rest.strip()[1:]
    is_spaced = rest[:1].isspace() or after[:1].isspace()
    is_end = (
        not mark
        or (mark in DASHES + COLONS + "(;,")
        or (mark == "-" and (is_spaced or after[:1] == "-") and after.strip("-") != "")
        or (mark == "." and not after[:1].strip())
    )
    is_range = (
        after.lstrip(" -" + DASHES)[:1].isdigit()
        or (mark == "," and any(map(str.isdigit, after)))
        or (words[0] == "1" and "5" in after.replace("(", " ").replace("=", " ").split())
    )
    return int(words[0]) if is_end and not is_range else 0


def shown(found: str) -> str:
    """Return what was found in one short line."""
    return " ".join(found[: 4 * _SHOWN_CHARS].split())[:_SHOWN_CHARS]


def direct_questions(
    text: str, known: Names, names: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield (asked agent, sentence) for each question with `@agent` in it, or after `@agent:`."""
    for words in _paragraphs(text):
        if "@" not in words or not ("?" in words or "？" in words):
            continue
        mentions = list(known.mentions(words))
        opening, past = _addressed(words, 0, mentions, names)
        if words[past:].lstrip(EMPHASIS + "] ")[:1] not in tuple(",-" + COLONS + DASHES):
            opening = []
        begin, passed = 0, 0
        for end in sentence_ends(words):
            sentence = words[begin:end]
            first = passed
            while passed < len(mentions) and mentions[passed][0] < end:
                passed += 1
            if "?" in _end_mark(sentence) or "？" in _end_mark(sentence):
                inside = mentions[first:passed]
                asked = _addressed(words, begin, inside, names)[0] or [one for _, one in inside]
                shown_once = " ".join(sentence.split())
                for agent in dict.fromkeys(asked or opening):
                    yield agent, shown_once
            begin = end


def _end_mark(sentence: str) -> str:
    """Return the marks at the end of a sentence."""
    bare = sentence.rstrip()
    at = len(bare)
    while at and not bare[at - 1].isalnum() and not bare[at - 1].isspace():
        at -= 1
    return bare[at:]


def _addressed(
    words: str, begin: int, mentions: list[tuple[int, str]], names: Mapping[str, str]
) -> tuple[list[str], int]:
    """Return whom a sentence that starts with names speaks to, and where the last name ends."""
    asked: list[str] = []
    past = begin
    for at, agent in mentions:
        gap = words[past:at].split() if at - past < _SHOWN_CHARS else ["…"]
        if not all(word.strip(EMPHASIS + ",([") in _JOINERS for word in gap):
            break
        asked.append(agent)
        past = at + 1 + _name_length(words[at + 1 : at + 1 + 4 * _SHOWN_CHARS], agent, names)
    return asked, past


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the author's own paragraphs and list items, without bullets."""
    lines: list[str] = []
    for line, is_own in own_lines(text):
        start = line.strip()
        body = without_bullet(start)
        goes_on = is_own and start and body is start and start[0] not in "#|"
        if not goes_on:
            yield "\n".join(lines)
            lines = []
        if is_own and start:
            lines.append(body.lstrip("# "))
            if start[0] == "#":
                yield "\n".join(lines)
                lines = []
    yield "\n".join(lines)
