"""What an answer says: read tolerantly as to wrapping, never guessed as to content.

Every part is found, missing or unclear. What is needed and missing, and what is unclear, is asked
once, in one question; of the second answer only those parts are taken.
"""

from __future__ import annotations

from council.councils.model import AGREED, Fault, Heard
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

    return _consistent(read_form(own, form).copy(questions=asking))


def merge(first: Heard, second: Heard, parts: set[str]) -> Heard:
    """Return an answer with some parts (`Fault.part`) taken from another one; all else stays."""
    if "answer" in parts:
        return second
    names = [*parts & {"confidence", "recommendation", "status"}]
    if parts & {"position", "choice"}:
        told = ("position", "choice", "unchanged", "moved")
        names += [name for name in told if getattr(second, name)]
    taken: dict[str, Any] = {name: getattr(second, name) for name in names}
    answered = {peer: one for peer, one in second.stances.items() if f"stance:{peer}" in parts}
    taken["stances"] = {**first.stances, **answered}
    for name in ("blockers", "resolved") if parts & {"blockers", "status"} else ():
        taken[name] = list(dict.fromkeys([*getattr(first, name), *getattr(second, name)]))
    left = [fault for fault in first.faults if fault.part not in parts]
    left += [fault for fault in second.faults if fault.part in parts]
    return _consistent(first.copy(**taken, faults=left))


def _consistent(heard: Heard) -> Heard:
    """Return an answer in which nobody agrees whose own blocker is open: that is asked."""
    blocking = [text for text in heard.blockers if text not in heard.resolved]
    if heard.status != AGREED or not blocking:
        return heard
    fault = Fault(part="status", code="agreed-and-blocking", seen=blocking[0])
    return heard.copy(status="", faults=[*heard.faults, fault])


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
