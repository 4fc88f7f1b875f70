"""What an answer says to others: about whom a line speaks and which stance it takes.

A line may begin with names (`- @gpt: agree — …`), with the stance (`Agree with
@gpt`), or be a row of a table or a heading for one agent. In an answer without
a part for responses, whole sentences count: `I disagree with @gpt, because …`.

Source: DL-013 to DL-015, DL-017, HR-005, HR-006.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from council.core.reading_answers.cleaning import one_of
from council.core.reading_answers.names import Names
from council.core.reading_answers.stances import (
    ACK,
    LABELS,
    MAX_CHARS,
    WITH,
    Stated,
    Word,
    behind,
    is_less,
    joined,
    stance_at,
    stated,
    words_of,
)
from council.core.reading_answers.structure import (
    COLONS,
    DASHES,
    EMPHASIS,
    UNSEEN_CHARS,
    Line,
    is_rule,
    plain,
    sentences,
    without_bullet,
)

ANY_DEPTH = 1 << 20  # before the first bullet, one may be set as deep as it likes

_JOINERS = one_of(", / & + and et und y e ;")
_ADDRESSES = (
    "response to ", "responses to ", "responding to ", "reply to ", "in response to ", "re: ",
    "re ", "as for ", "to ", "on ", "about ", "regarding ", "both ", "for ", "réponse à ", "à ",
    "antwort an ", "an ", "zu ", "respuesta a ", "a ",
)  # fmt: skip
_SETTING_OFF = COLONS + DASHES + "-=→>|"
_LEAD = EMPHASIS + "[" + UNSEEN_CHARS
_BEHIND_A_NAME = EMPHASIS + "]" + UNSEEN_CHARS
_NAME_CHARS = 40
_TOPIC_CHARS = 80
_SHOWN_CHARS = 80
_MAX_SEGMENTS = 40
_SENTENCE_CHARS = 4 * MAX_CHARS
_CLAUSES = one_of("and but so while yet therefore thus hence et mais donc und aber also y pero")
_OPENERS = (
    "i think i", "i", "we", "i'm", "i am", "i do", "i have to", "i must", "i also", "je", "je suis",
    "j'", "nous sommes", "ich", "ich bin", "yo", "estoy", "overall i", "here i", "therefore i",
)  # fmt: skip
_LIMITS = (
    "but not", "but only", "except", "however", "not entirely", "not fully", "mais pas", "sauf",
    "aber nicht", "pero no", "only if", "unless", "up to a point", "to some extent", "to a degree",
    "on most", "on some", "mostly", "largely", "if ", "would ", "wish ", "used to ",
)  # fmt: skip
_IN_PART = ("in part", "partly", "partially", "only in part", "en partie", "teilweise", "zum teil",
            "en parte")  # fmt: skip
_STATING = LABELS | {"agreement"}
_AGENT_HEADERS = one_of("agent peer participant name member to who nom teilnehmer")
_STANCE_HEADERS = _STATING | one_of("position accord view")


class Spoken(Stated):
    """What one line says to one agent, and the lines that go on with it.

    `agent` is "" where the line speaks of an unknown agent; `token` is then
    the name, and otherwise what stands in the place of the stance. `said` is
    all that stands behind the name.
    """

    agent: str
    said: str = ""
    more: list[Line] = []

    def settle(self) -> None:
        """Take the stance from the lines below or from a sentence if it stands not in front."""
        if not self.stance and not self.token.strip():
            self._take_from_lines()
        lines = [line[2:] if line.startswith("  ") else line.lstrip() for line, _ in self.more]
        while lines and (not lines[-1].strip() or is_rule(lines[-1])):
            lines.pop()
        if self.agent and not self.stance and not self.is_doubtful:
            said = [self.token if self.token.strip() else self.comment]
            said += [line for line, is_own in self.more if is_own]
            self.stance = _said_in_sentences("\n".join(said))
        self.comment = "\n".join([self.comment, *lines]).strip()
        opposite = {self.stance, stated(self.comment).stance} == {"agree", "disagree"}
        if opposite and _takes_back(self.stance, self.comment):
            self.token, self.stance = f"{self.stance} / {self.comment}", ""
        if self.comment[:1] == "[" and self.comment.find("]") == len(self.comment) - 1:
            self.comment = self.comment[1:-1].strip()

    def _take_from_lines(self) -> None:
        """Take the stance from the first line below, or from one that is labelled."""
        is_first = True
        for at, (line, is_own) in enumerate(self.more):
            words = without_bullet(line.strip())
            if not words or not is_own:
                continue
            label = plain(words.split(":", 1)[0].strip(EMPHASIS + " "))
            is_labelled = ":" in words[:_NAME_CHARS] and label in _STATING
            if is_first or is_labelled:
                rest = words.split(":", 1)[1] if is_labelled else words
                said = stated(rest.lstrip(_LEAD))
                self.token, self.stance = said.token, said.stance
                self.is_doubtful = said.is_doubtful
                if said.stance or is_labelled:
                    before = [(one, own) for one, own in self.more[:at] if one.strip()]
                    self.comment, self.more = said.comment, before + self.more[at + 1 :]
                    return
                self.token = words
            is_first = False


def spoken_in(
    bodies: Sequence[Sequence[Line]], names: Names, *, is_prose: bool = False
) -> list[Spoken]:
    """Return what the lines of some parts say to whom, each settled with the lines that go on.

    In prose, outside a part for responses, a blank line ends what goes on.
    """
    found: list[Spoken] = []
    for body in bodies:
        depth = ANY_DEPTH
        here: list[Spoken] = []
        for line, is_own in _without_tables(body):
            new = about(line, names, depth) if is_own else []
            if new:
                here, depth = new, indent_of(line)
                found.extend(new)
            elif is_prose and not line.strip():
                here = []
            elif here:
                here[-1].more.append((line, is_own))
    for one in found:
        one.settle()
    return found


def about(line: str, names: Names, depth: int = ANY_DEPTH) -> list[Spoken]:
    """Return what a line says to agents, nothing for a line that goes on with a comment.

    A bullet with `@name` that is set no deeper than the bullet before it always
    speaks to an agent; other lines only with a colon, a dash or a stance.
    """
    start = line.lstrip()
    body = without_bullet(start.lstrip("#").lstrip() if start[:1] == "#" else start)
    is_sure = body is not start and indent_of(line) <= depth
    first, *others = _segments(body)
    later = [_about(one, names, is_sure=False) for one in others]
    is_list = any(one.agent and one.stance for new in later for one in new)
    found = _about(first if is_list else body, names, is_sure=is_sure)
    _cut_out_later(found, names)
    for segment, new in zip(others, later, strict=True) if found and is_list else ():
        if new and all(one.agent and one.stance for one in new):
            _cut_out_later(new, names)
            found.extend(new)
        else:
            found[-1].comment = f"{found[-1].comment}; {segment}".strip("; ")
    return found


def indent_of(line: str) -> int:
    """Return how deep a line is set."""
    return len(line) - len(line.lstrip())


def _segments(body: str) -> list[str]:
    """Return the pieces of a line that each may speak to another agent."""
    if (";" not in body and " | " not in body) or body.count(";") > _MAX_SEGMENTS:
        return [body]
    return [one.strip() for one in body.replace(" | ", ";").split(";") if one.strip()] or [body]


def _about(body: str, names: Names, *, is_sure: bool) -> list[Spoken]:
    """Return what the beginning of one piece of a line says to agents."""
    lead = body.lstrip(_LEAD)
    at = 0
    while at < len(lead) and lead[at] > "\u2190" and not lead[at].isalnum():
        at += 1
    picture, lead = lead[:at], lead[at:].lstrip(_LEAD)
    lead = lead[_past_address(lead, names) :]
    is_named = lead.lstrip(_LEAD)[:1] == "@"
    agents, past = _names_at(lead, 0, names)
    if agents:
        said, is_set_off = _behind_names(lead[past:])
        if picture and said.stance:
            said = stated(f"{picture} {lead[past:].lstrip(_SETTING_OFF + _LEAD)}")
        if (is_named and is_sure) or is_set_off or said.stance:
            return [Spoken(agent=one, said=behind(lead[past:]), **vars(said)) for one in agents]
        return []
    towards = _stance_first(body, names)
    return towards or _about_unknown(lead, is_named=is_named, is_sure=is_sure)


def _past_address(lead: str, names: Names) -> int:
    """Return where a line goes on behind words such as `Response to `, if names follow them."""
    low = lead[:_NAME_CHARS].lower()
    past = next((len(one) for one in _ADDRESSES if low.startswith(one)), 0)
    return past if _names_at(lead, past, names)[0] else 0


def _about_unknown(lead: str, *, is_named: bool, is_sure: bool) -> list[Spoken]:
    """Return a line that takes a stance to an agent that is not known, nothing for other lines."""
    name, rest = cut(lead)
    bare = name.lstrip(_LEAD + "@")
    if not (is_sure and is_named):
        is_short = len(name) <= _NAME_CHARS and bare and (is_named or is_sure)
        is_word = not is_named and bare.strip()[:1].islower()
        if not is_short or is_word or not stated(rest).stance:
            return []
    words = bare.split() or ["@"]
    shown_name = words[0].rstrip(COLONS) if is_named else name.strip(_BEHIND_A_NAME)
    return [Spoken(agent="", token=shown_name or "@", comment=rest)]


def _names_at(text: str, start: int, names: Names) -> tuple[list[str], int]:
    """Return the agents of a list of names such as `@ann, @bo and @cy`, and where it ends."""
    agents: list[str] = []
    past = at = start
    while at < len(text):
        while at < len(text) and text[at] in _LEAD + "\\":
            at += 1
        at += text.startswith("@", at)
        agent, end = names.found_at(text, at)
        if not agent:
            break
        agents.append(agent)
        past = at = end
        gap = text[at : at + 8].lstrip(_BEHIND_A_NAME)
        at += len(text[at : at + 8]) - len(gap)
        joiner = gap[:1] if gap[:1] in _JOINERS else gap.split(" ", 1)[0] if " " in gap else ""
        if not joiner or joiner not in _JOINERS:
            break
        at += len(joiner)
        rest = text[at : at + 6].lstrip(UNSEEN_CHARS)
        if joiner == "," and rest[:4].casefold().startswith(("and ", "et ", "und ", "y ")):
            at += len(text[at : at + 6]) - len(rest) + rest.index(" ")
    return list(dict.fromkeys(agents)), past


def _behind_names(rest: str) -> tuple[Stated, bool]:
    """Return what is stated behind names, and whether it is set off from them."""
    rest = rest.lstrip(_BEHIND_A_NAME)
    if rest.startswith("(") and ")" in rest[:_TOPIC_CHARS]:
        remark, after = rest[1:].split(")", 1)
        said = stated(remark)
        if said.stance and not said.comment:
            comment = after.lstrip(_BEHIND_A_NAME + _SETTING_OFF + ".,").strip()
            if _takes_back(said.stance, comment):
                return Stated(token=remark, comment=comment, is_doubtful=True), True
            return said.copy(comment=comment), True
        rest = after.lstrip(_BEHIND_A_NAME)
    bare = rest.lstrip(_SETTING_OFF + UNSEEN_CHARS)
    is_set_off = not rest[: len(rest) - len(bare)].isspace() and bare is not rest
    if bare[:1] in EMPHASIS and bare.lstrip(EMPHASIS)[:1].isspace():
        bare = bare.lstrip(EMPHASIS).lstrip()
    said = stated(bare.removeprefix(","))
    if is_set_off or not bare:
        return stated(bare), True
    is_alone = said.is_first_person or not said.comment
    if is_alone and (said.stance or bare[0] == ","):
        return said, False
    topic = None if bare[0] == "," else _behind_topic(bare)
    return topic or Stated(token=bare[:MAX_CHARS]), topic is not None


def _takes_back(stance: str, comment: str) -> bool:
    return not stated(f"{stance} — {comment}").stance if comment else False


def _behind_topic(rest: str) -> Stated | None:
    """Return what is stated behind a topic such as `on atomic refactors:`, None without one."""
    for at, letter in enumerate(rest[:_TOPIC_CHARS]):
        is_dash = letter in DASHES or (letter == "-" and rest[at - 1 : at].isspace())
        if letter in COLONS or is_dash:
            topic = rest[:at]
            said = stated(rest[at + 1 :])
            has_stance = any(stance_at(words_of(topic), place)[0] for place in range(12))
            return said if said.stance and not has_stance and "@" not in topic else None
        if letter in ".!?\n":
            break
    return None


def _stance_first(body: str, names: Names) -> list[Spoken]:
    """Return what lines such as `Agree with @ann — …` or `Agree: @ann, @bo` say."""
    if "@" not in body[: 2 * MAX_CHARS] and not any(
        word in body[:_NAME_CHARS].casefold() for word in (*WITH, ":")
    ):
        return []
    words = words_of(body, _SENTENCE_CHARS)
    found: list[Spoken] = []
    at = 0
    while at < len(words):
        clause = _opened_clause(words, at)
        stance, end = stance_at(words, clause)
        if not stance or stance == ACK or end >= len(words):
            break
        joiner = words[end]
        if joiner.plain not in WITH and joiner.plain not in COLONS:
            break
        agents, past = _names_at(body, joiner.end, names)
        if not agents:
            break
        comment, at = _up_to_next(body, past, words, names)
        bare = comment.lstrip(EMPHASIS + "]: " + _SETTING_OFF + ".,").strip()
        low = plain(comment[:MAX_CHARS])
        is_limited = any(limit in low for limit in _LIMITS) or is_less(bare)
        if low.startswith(_IN_PART) and stance == "agree":
            stance, is_limited = "partial", False
        if comment.startswith("?") or is_limited or _takes_back(stance, bare):
            said = Stated(token=body[:MAX_CHARS], comment=bare, is_doubtful=True)
        else:
            token = body[words[clause].begin : words[end - 1].end]
            said = Stated(stance=stance, token=token, comment=bare)
        found += [Spoken(agent=agent, **vars(said)) for agent in agents]
    return found


def _opened_clause(words: list[Word], at: int) -> int:
    """Return where a clause begins behind its pictures, joining words and `I`."""
    while at < len(words) and (
        (not words[at].is_word and words[at].plain not in "?\"'“”«»") or words[at].plain in _CLAUSES
    ):
        at += 1
    return at + next((many for many in (3, 2, 1) if joined(words, at, many) in _OPENERS), 0)


def _up_to_next(body: str, past: int, words: list[Word], names: Names) -> tuple[str, int]:
    """Return the text up to the next clause that takes a stance to an agent, and its word."""
    for at, word in enumerate(words):
        if word.begin < past or (word.is_word and word.plain not in _CLAUSES):
            continue
        stance, end = stance_at(words, _opened_clause(words, at))
        is_towards = stance and end < len(words) and words[end].plain in WITH
        if is_towards and _names_at(body, words[end].end, names)[0]:
            return body[past : word.begin], at
    return body[past:], len(words)


def _cut_out_later(new: list[Spoken], names: Names) -> None:
    """Find further `@name: stance` in the comment of a line; each is a response of its own."""
    comment = new[-1].comment if new else ""
    began = 0
    for at, _ in names.mentions(comment):
        if at < began:
            continue
        agents, past = _names_at(comment, at, names)
        rest = comment[past : past + 2 * MAX_CHARS].lstrip(_BEHIND_A_NAME)
        if not rest or rest[0] not in COLONS + DASHES + "=":
            continue
        said = stated(rest.lstrip(_SETTING_OFF + _LEAD))
        if said.stance and said.stance != ACK:
            new[-1].comment = comment[began:at].rstrip(" ,;|—–-")
            new.extend([Spoken(agent=agent, **vars(said)) for agent in agents])
            began = past
            new[-1].comment = comment[past:].lstrip(_BEHIND_A_NAME).lstrip(_SETTING_OFF + _LEAD)


def _without_tables(body: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines of a part; a row of a table becomes the line that it means."""
    order: list[int] = []
    for line, is_own in body:
        start = line.strip()
        if not is_own or start[:1] != "|" or start.count("|") < 2:
            order = []
            yield line, is_own
            continue
        cells = [cell.strip() for cell in start.strip("|").replace("\\|", "¦").split("|")]
        if not any(cell.strip("-: ") for cell in cells):
            continue
        if not order:
            order = _order_of(cells)
            if order and order[0] >= 0:
                continue
            order = [0, 1]
        if max(order) < len(cells):
            first, second = order
            rest = [cell for at, cell in enumerate(cells) if at not in order and cell]
            yield f"- {cells[first]}: {cells[second]}" + "".join(f" — {one}" for one in rest), True


def _order_of(cells: Sequence[str]) -> list[int]:
    """Return the columns of agent and stance that a header names, [-1] for a row that is none."""
    bare = [plain(cell.strip(EMPHASIS + " ")) for cell in cells]
    agent = next((at for at, cell in enumerate(bare) if cell in _AGENT_HEADERS), -1)
    stance = next((at for at, cell in enumerate(bare) if cell in _STANCE_HEADERS), -1)
    return [agent, stance] if agent >= 0 and stance >= 0 else [-1]


def heading_about(line: str, names: Names, author: str) -> str:
    """Return `@name: …` for a heading about one other agent, "" for any other line.

    A bold line counts only with a stance in it: bold names stand in any text.
    """
    start = line.strip()
    is_title = start[:1] == "#"
    if not is_title and start[:2] not in ("**", "__"):
        return ""
    lead = without_bullet(start.lstrip("#").lstrip()).lstrip(_LEAD)
    begin = _past_address(lead, names)
    agents, past = _names_at(lead, begin, names)
    if not agents or author in agents:
        return ""
    rest = lead[past:].lstrip(_BEHIND_A_NAME)
    said, is_set_off = _behind_names(lead[past:])
    if rest and not is_set_off and not said.stance:
        return ""
    if not said.stance and not (is_title and (not rest or begin or lead[begin : begin + 1] == "@")):
        return ""
    return f"{lead[begin:past]}: {rest.lstrip(_SETTING_OFF + ' ')}"


def spoken_in_sentences(text: str, names: Names) -> list[Spoken]:
    """Return the stances that whole sentences take, such as `I disagree with @ann on …`.

    A sentence about one agent that says elsewhere `I agree` or `I disagree`
    takes it to that agent. Questions, conditions and what others think state nothing.
    """
    found: list[Spoken] = []
    for sentence in _statements(text):
        words = sentence[:_SENTENCE_CHARS]
        if not plain(words).startswith(("if ", "si ", "wenn ", "i would ", "i'd ")):
            found += _in_sentence(words, names)
    return found


def _statements(text: str) -> Iterator[str]:
    """Yield the sentences that are no questions."""
    for sentence in sentences(text):
        if not sentence.rstrip(EMPHASIS + "\"'”») ").endswith(("?", "？")):
            yield sentence


def _in_sentence(sentence: str, names: Names) -> list[Spoken]:
    words = words_of(sentence, _SENTENCE_CHARS)
    for at, word in enumerate(words):
        begins = at == 0 or not words[at - 1].is_word or words[at - 1].plain in _CLAUSES
        if not begins or not (word.is_word or at == 0):
            continue
        towards = _stance_first(sentence[word.begin :], names)
        if towards:
            return towards
    mentioned = list(dict.fromkeys(agent for _, agent in names.mentions(sentence)))
    lead = sentence.lstrip(EMPHASIS)
    for address in _ADDRESSES:
        lead = lead[len(address) :] if lead.lower().startswith(address) else lead
    if len(mentioned) == 1 and lead[:1] == "@":
        stance = _said_in_sentences(sentence)
        if stance:
            return [Spoken(agent=mentioned[0], stance=stance, token=stance, comment=sentence)]
    return []


def _said_in_sentences(text: str) -> str:
    """Return the one stance that `I agree` and its like take in a text, "" for none or several."""
    found: dict[str, None] = {}
    for sentence in _statements(text[: 8 * MAX_CHARS]):
        low = plain(sentence)
        if any(limit in low for limit in _LIMITS):
            continue
        for clause in _clauses(sentence):
            said = stated(clause)
            if said.is_first_person and said.stance and said.stance != ACK:
                found[said.stance] = None
    return next(iter(found)) if len(found) == 1 else ""


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence: what follows a comma, a dash or a joining word."""
    begin = 0
    for at, letter in enumerate(sentence):
        if letter in ",;" + COLONS + DASHES:
            yield _without_joiner(sentence[begin:at])
            begin = at + 1
    yield _without_joiner(sentence[begin:])


def _without_joiner(clause: str) -> str:
    first, _, rest = clause.strip(EMPHASIS + UNSEEN_CHARS).partition(" ")
    return rest if first.casefold() in _CLAUSES else f"{first} {rest}"


def cut(text: str) -> tuple[str, str]:
    """Cut a text at its first dash, colon or full stop."""
    for at, letter in enumerate(text[:MAX_CHARS]):
        after = text[at + 1 : at + 2]
        if letter in DASHES + COLONS or (letter == "." and not after.strip()):
            return text[:at], text[at + 1 :].strip()
        if letter == "-" and (after == "-" or not after.strip() or text[at - 1 : at].isspace()):
            long = 3 if text.startswith("---", at) else 2 if after == "-" else 1
            return text[:at], text[at + long :].strip()
    return text, ""


def shown(found: str) -> str:
    """Return what was found in one short line."""
    return " ".join(found[: 4 * _SHOWN_CHARS].split())[:_SHOWN_CHARS]
