"""From the words or options of an answer to what is understood, with what has to be asked.

Quotations in it are lines that begin with `>`, and words in quotation marks that a member is
credited with; each is looked up in what was said.
"""

from __future__ import annotations

from council.councils import answers, sight
from council.councils.evolution import as_answered, said_by
from council.councils.model import AGREED, STANCES, Fault, Form, Heard, Quote, Stance, State
from council.councils.verdict import begins
from council.kernel.errors import Invalid
from council.kernel.ids import cut
from council.kernel.record import Record

_MARKS = {'"': '"', "“": "”", "„": "“", "«": "»"}
_NEAR, _JUST, _WORDS, _MOST = 80, 20, 3, 100
_SAME = {ord(c): '"' for c in "“”„«»"} | {ord(c): "'" for c in "‘’"} | {ord(c): "-" for c in "–—‑"}
_SAME |= {ord("…"): "...", ord("*"): "", ord("`"): "", ord("_"): ""}


class Understood(Record):
    """An answer as it is recorded: its words, what was heard, and the question about the rest."""

    text: str
    heard: Heard
    question: str = ""


class Stated(Record):
    """What is said of an answer by options, beside or instead of its text."""

    position: str = ""
    choice: str = ""
    confidence: int | None = None
    stances: list[str] = []  # each PEER=WORD or PEER=WORD:WHY
    status: str = ""
    only: str = ""  # the one kind that is accepted, `vote` or `synthesis`
    task: str = ""  # the run or round that it answers; "" is COUNCIL_TASK_ID
    key: str = ""  # it counts once
    amend: bool = False  # it replaces the answer of this round
    check: bool = False  # only what would be understood is wanted

    def is_answer(self) -> bool:
        """Return whether it can be an answer without a text."""
        return bool(self.position or self.choice or self.stances or self.confidence)


def heard(
    state: State, agent: str, text: str, stated: Stated | None = None, prompt: str = ""
) -> Understood:
    """Return what is understood of an answer; an echo of `prompt`, its author's, is none.

    Options count over the text. Where a status is among them, or none counts yet, nothing is asked
    about one in the text.
    """
    form = sight.form(state, agent).copy(prompt=prompt)
    words, stated = answers.said(text, form), stated or Stated()
    given, parts = _given(stated, form)
    if stated.is_answer():
        words = written(given, words, form)
    if state.config.anonymous:
        from council.councils import prompts  # late: most councils have no pseudonyms

        words = prompts.unmasked(state, agent, words)
    read = answers.read(words, form)
    is_json = words[:1] == "{" and words[-1:] == "}" and form.kind in ("turn", "vote")
    if is_json and not (read.faults or read.blockers):  # people read it, too
        words = written(read, read.reasoning, form)
    if read.position in form.options.values():  # as `Option B` is read
        given = given.copy(position=read.position)
    heard = answers.merge(read, given, parts)
    asked = said_by(state, state.tour) if agent in state.round().asked else []
    for first in [entry.heard for entry in asked if entry.agent == agent]:  # which it corrects
        heard = answers.merge(first, heard, {fault.part for fault in first.faults})
    code, own = "unclear-resolved" if form.blockers else "not-yours", form.blockers + heard.blockers
    ended = [text for text in heard.resolved if any(begins(text, one) for one in own)]
    idle = [Fault(part="resolved", code=code, seen=t) for t in heard.resolved if t not in ended]
    heard = heard.copy(resolved=ended, faults=heard.faults + idle)
    heard = answers.consistent(heard, form.blockers)
    is_advocate = agent in state.participants and state.participants[agent].advocate
    moot = {f"stance:{peer}" for peer in form.peers if is_advocate}  # they are not counted
    if as_answered(state, AGREED) != AGREED or (stated.status and not heard.blockers):
        moot.add("status")
    heard = heard.copy(faults=[one for one in heard.faults if one.part not in moot])
    said = [("", text) for text in (state.topic, state.brief, *form.options.values())]
    said += [(entry.agent, entry.text) for entry in sight.visible(state, agent)]
    told = any(who not in ("", agent) for who, _ in said)  # else nobody can have been quoted
    quoted = quotations(words, said, {i: one.name or i for i, one in state.participants.items()})
    heard = heard.copy(quotations=[one for one in quoted if one.found or one.of or told])
    if form.kind == "turn":  # a line on somebody that ends with a question puts it to them
        asks = {p: s.comment[-280:] for p, s in heard.stances.items() if s.comment[-1:] == "?"}
        heard = heard.copy(questions={**asks, **heard.questions})
    question = answers.question(heard, form) if heard.faults else ""
    return Understood(text=words, heard=heard, question=question)


def written(given: Heard, text: str, form: Form) -> str:
    """Return an answer given by options as the form in Markdown; its text is the reasoning."""
    texts = answers.texts(form)
    stances = [f"- @{p}: {s.word} — {s.comment}".rstrip(" —") for p, s in given.stances.items()]
    parts = {"choice": given.choice, "position": given.position, "stance": "\n".join(stances)}
    parts |= {"reasoning": text.strip(), "confidence": str(given.confidence or "")}
    return "\n\n".join(f"## {texts[f'name.{p}']}\n\n{words}" for p, words in parts.items() if words)


def failure(fault: Fault) -> tuple[str, str]:
    """Return why a run has failed whose program printed no answer: a code of `work`, and words."""
    from council.agents import readers  # late: of a failure only

    words = readers.told(" ".join(fault.seen.split())) or "it printed nothing that is an answer"
    if fault.code == "refusal":
        return "refused-by-model", f"the model refused: {words}"
    code = readers.classified(words, readers.status_in(fault.seen)) if fault.seen else ""
    return "no-answer" if code in ("", "crashed") else code, words


def _given(stated: Stated, form: Form) -> tuple[Heard, set[str]]:
    """Return what is said by options (a value that there is not is refused), and of which parts."""
    stances = {}
    for one in stated.stances:
        peer, _, rest = one.strip().removeprefix("@").partition("=")
        peer, (word, _, why) = peer.strip().casefold(), rest.partition(":")
        stances[peer] = Stance(word=word.strip().lower(), comment=why.strip())
        if peer not in form.peers or stances[peer].word not in STANCES:
            hint = f"peers: {', '.join(form.peers)}; stances: {', '.join(STANCES)}"
            raise Invalid("bad-stance", f"not a stance: {cut(one, 80)}", hint)
    ballot = form.copy(kind="vote")
    choice = stated.choice and answers.read(f"## Choice\n\n{stated.choice}", ballot).choice
    if stated.choice and not choice:
        hint = f"one of {', '.join([*form.options, 'new', 'abstain'])}"
        raise Invalid("bad-choice", f"not a choice: {cut(stated.choice, 80)}", hint)
    if (level := stated.confidence) not in (None, 1, 2, 3, 4, 5):
        raise Invalid("bad-confidence", f"not a confidence: {level}", "a whole number from 1 to 5")
    position = stated.position.strip()
    parts = {f"stance:{peer}" for peer in stances} | ({"confidence"} if level else set())
    parts |= {"choice", "position"} if position or choice not in ("", "new") else set()
    return Heard(position=position, choice=choice, confidence=level, stances=stances), parts


def quotations(text: str, said: list[tuple[str, str]], names: dict[str, str]) -> list[Quote]:
    """Return what a text quotes, at most 100 passages, each with its speaker.

    `said` is (id, text) in order, with id "" for topic and brief; `names` is id to name.
    """
    if not any(mark in text for mark in ('"', "“", "„", "«", "\n>")) and text[:1] != ">":
        return []
    spoken = [(who, _plain(words)) for who, words in said]
    made, of, quoted = list[Quote](), "", ""
    for line in [*text.split("\n"), ""]:
        if (start := line.lstrip()).startswith(">"):
            words, who = start.lstrip("> "), _named(start, names)
            if who and words.strip(" @*_:—–-").casefold() in (who, names[who].casefold()):
                of = who  # a line that says only whose words these are
            else:
                quoted += f"{words}\n"
            continue
        if quoted.strip():
            made.append(_checked(quoted.strip().strip('"“”«»'), of, spoken))
            of, quoted = made[-1].of, ""
        of = _named(line, names) or of
        for words, before in _in_marks(line):
            who = _named(before, names) or of
            if who and len(words.split()) >= _WORDS and len(made) < _MOST:
                quote = _checked(words, who, spoken)
                if quote.found or _named(before[-_JUST:], names):  # else they may quote nobody
                    made.append(quote)
        of = of if start or made else ""
    return made[:_MOST]


def _in_marks(line: str) -> list[tuple[str, str]]:
    """Return the words between quotation marks, with what is before them."""
    found, at = [], 0
    while at < len(line):
        if line[at] in _MARKS and (end := line.find(_MARKS[line[at]], at + 1)) > at:
            found.append((line[at + 1 : end].strip(), line[max(0, at - _NEAR) : at]))
            at = end
        at += 1
    return found


def _named(words: str, names: dict[str, str]) -> str:
    """Return the member named last in words, "" for none."""
    at = {i: max(words.rfind(f"@{i}"), words.rfind(n) if n else -1) for i, n in names.items()}
    best = max(at, key=lambda i: at[i], default="")
    return best if best and at[best] >= 0 else ""


def _checked(words: str, of: str, spoken: list[tuple[str, str]]) -> Quote:
    """Return a passage as a quotation of whom it is credited to, or of who else said it.

    What somebody else said is found: it was said, and the reader sees by whom.
    """
    parts = [part.strip(" .,;:") for part in _plain(words).replace("[...]", "\0").split("\0")]
    holders = [who for who, text in spoken if all(part in text for part in parts)]
    return Quote(text=words, of=of if of in holders else [of, *holders][-1], found=bool(holders))


def _plain(text: str) -> str:
    return " ".join(text.translate(_SAME).casefold().split())
