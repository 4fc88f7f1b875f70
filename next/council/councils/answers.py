"""What an answer says: read tolerantly as to wrapping, never guessed as to content.

Every part is found, missing or unclear. What is needed and missing, and what is unclear, is asked
once, in one question; of the second answer only those parts are taken.
"""

from __future__ import annotations

from council.councils.model import AGREED, ANSWERED, STANCES, Fault, Heard, Stance
from council.kernel.errors import Invalid
from council.kernel.record import Any, Record

_WRAPPED = ("<", "{", "\x1b", "\r", "[think", "[inst", "◁", "＜", "\\n", "\x07", "\x08", "\x00")
_TELLING = ("block", "bloqu", "blocag", "status", "statut", "resolv", "résol", "resol", "agreed")
_ALSO = ("d'accord", "d’accord", "heartbeat", "reply", "response", "\\", "\u200b")


class Form(Record, settled=True):
    """What an answer was asked for.

    Attributes:
        kind: `turn`, `vote`, `synthesis` or `contribution` (document 000, free text).
        peers: Other members, id to name; `needs`: those that are owed a stance.
        options: Letter to text; `holders`: letter to the members that hold it.
        held: The position that the author held before.
        prompt: What the author was asked, to cut off an echo of it.
        asked: The parts that are asked again (`Fault.part`); empty the first time.
    """

    kind: str = "turn"
    lang: str = "en"
    author: str = ""
    peers: dict[str, str] = {}
    needs: list[str] = []
    options: dict[str, str] = {}
    holders: dict[str, list[str]] = {}
    held: str = ""
    prompt: str = ""
    asked: list[str] = []


def said(text: str, form: Form) -> str:
    """Return the words of an answer as they are recorded: without thoughts, echo and wrapping."""
    low, echo = text.casefold(), form.prompt.strip()[:20].casefold()
    starts = ("```", "~~~", "thinking", "analysis", '"', "[")
    wrapped = low.lstrip().startswith(starts) or any(mark in low for mark in _WRAPPED)
    if not (wrapped or (echo and echo in low)):
        return text.strip("\n")
    from council.councils.answers_unwrap import bare  # late: few contributions need `re`

    return bare(text, form.prompt)


def read(text: str, form: Form) -> Heard:
    """Return what is understood of an answer, with its faults."""
    own = said(text, form)
    low = own.casefold()
    asking = _questions(own, form) if "@" in own and "?" in own else {}
    plainly = len(own) > 12 and own[0] != "[" and any(letter.isalnum() for letter in own[:2000])
    telling = any(word in low for word in (*_TELLING, *_ALSO))
    if form.kind == "contribution" and plainly and not telling:
        return Heard(questions=asking)
    from council.councils.answers_forms import read_form  # late: few contributions need `re`

    return read_form(own, form).copy(questions=asking)


def merge(first: Heard, second: Heard, faults: list[Fault]) -> Heard:
    """Return a first answer with the parts in doubt taken from the second; all else stays."""
    parts = {fault.part for fault in faults}
    if "answer" in parts:
        return second
    names = [*parts & {"confidence", "recommendation", "status"}]
    if parts & {"position", "choice"}:
        told = ("position", "choice", "unchanged", "moved")
        names += [name for name in told if getattr(second, name)]
    taken: dict[str, Any] = {name: getattr(second, name) for name in names}
    answered = {peer: one for peer, one in second.stances.items() if f"stance:{peer}" in parts}
    taken["stances"] = {**first.stances, **answered}
    if parts & {"blockers", "status"}:
        taken["blockers"] = list(dict.fromkeys([*first.blockers, *second.blockers]))
        taken["resolved"] = list(dict.fromkeys([*first.resolved, *second.resolved]))
    left = [fault for fault in second.faults if fault.part in parts]
    merged = first.copy(**taken, faults=left)
    blocking = [text for text in merged.blockers if text not in merged.resolved]
    if "status" in parts and merged.status == AGREED and blocking:
        left.append(Fault(part="status", code="agreed-and-blocking", seen=blocking[0]))
        return merged.copy(status="", faults=left)
    return merged


def from_fields(
    position: str, choice: str, confidence: int | None, stances: dict[str, Stance], status: str,
    text: str, form: Form,
) -> Heard:  # fmt: skip
    """Return an answer given by options; what no option says is read from the text.

    Raises:
        Invalid: A value is not one of those that there are (`bad-stance`, `bad-confidence`, …).
    """
    letter = choice.strip().upper() if len(choice.strip()) < 2 else choice.strip().lower()
    given: dict[str, Any] = {"position": position.strip(), "choice": letter}
    given |= {"confidence": confidence, "status": status.upper()}
    allowed: dict[str, list[Any]] = {"choice": ["", *form.options, "new", "abstain"]}
    allowed |= {"status": ["", *ANSWERED], "confidence": [None, 1, 2, 3, 4, 5]}
    for name, values in allowed.items():
        if given[name] not in values:
            words = ", ".join(str(value) for value in values if value)
            raise Invalid(f"bad-{name}", f"not a {name}: {given[name]!s:.80}", f"one of {words}")
    for peer, stance in stances.items():
        if peer not in form.peers or stance.word not in STANCES:
            hint = f"peers: {', '.join(form.peers)}; stances: {', '.join(STANCES)}"
            raise Invalid("bad-stance", f"not a stance: {peer}={stance.word}", hint)
    free = form.kind == "contribution" or bool(position.strip() or choice)
    asked = form.copy(kind="contribution") if free else form
    heard = read(text, asked) if text.strip() else Heard()
    given = {name: value for name, value in given.items() if value}
    if free and form.kind != "contribution":
        given["reasoning"] = text.strip()
    heard = heard.copy(**given, stances={**heard.stances, **stances})
    settled = {"answer", *given, *(f"stance:{peer}" for peer in stances)}
    left = {fault.part: fault for fault in heard.faults if fault.part not in settled}
    if form.kind in ("turn", "vote") and heard.choice != "abstain":
        owed = [] if heard.position or heard.choice not in ("", "new") else ["position"]
        owed += [] if heard.confidence else ["confidence"]
        owed += [f"stance:{peer}" for peer in form.needs if peer not in heard.stances]
        missing = [Fault(part=part, code=f"no-{part.partition(':')[0]}") for part in owed]
        left = {**{fault.part: fault for fault in missing}, **left}
    return heard.copy(faults=list(left.values()))


def _questions(text: str, form: Form) -> dict[str, str]:
    """Return the question put to each peer: from `@id` to a question mark in the same sentence."""
    found: dict[str, str] = {}
    peers = sorted((*form.peers, "human"), key=len, reverse=True)
    for piece in text.replace("\\", "").split("@")[1:]:
        ident = next((peer for peer in peers if piece.casefold().startswith(peer)), "")
        rest, mark, _ = piece[len(ident) :].partition("?")
        ends = any(end in rest for end in ("\n\n", ". ", "! ", ".\n", "\n- "))
        if ident and mark and len(rest) < 400 and not ends and not rest[:1].isalnum():
            found.setdefault(ident, " ".join(rest.split()).lstrip(" :,—–-*") + "?")
    return found
