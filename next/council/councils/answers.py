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
_TELLING += ("d'accord", "d’accord", "heartbeat", "reply", "response", "ѕ", "\u200b", "\\", "🅰")


class Form(Record, settled=True):
    """What an answer was asked for.

    Attributes:
        kind: `turn`, `vote`, `synthesis` or `contribution` (document 000, free text).
        peers: Other members, id to name.
        needs: The peers to whom a stance is owed: those that have spoken.
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
    if not _is_wrapped(text, form):
        return text.strip("\n")
    from council.councils import answers_unwrap  # late: most contributions need no `re`

    return answers_unwrap.bare(text, form.prompt)


def read(text: str, form: Form) -> Heard:
    """Return what is understood of an answer, with its faults."""
    own = said(text, form)
    low = own.casefold()
    asking = {"questions": _questions(own, form)} if "@" in own and "?" in own else {}
    plainly = len(own) > 12 and any(letter.isalnum() for letter in own[:2000])
    if form.kind == "contribution" and plainly and not any(word in low for word in _TELLING):
        return Heard(**asking)
    from council.councils import answers_forms  # late: most contributions need no `re`

    return Heard(**answers_forms.read(own, form), **asking)


def merge(first: Heard, second: Heard, faults: list[Fault]) -> Heard:
    """Return a first answer with the parts in doubt taken from the second; all else stays."""
    parts = {fault.part for fault in faults}
    if "answer" in parts:
        return second
    taken: dict[str, Any] = {}
    if parts & {"position", "choice"}:
        names = ("position", "choice", "unchanged", "moved")
        taken = {name: value for name in names if (value := getattr(second, name))}
    for name in ("confidence", "recommendation", "status"):
        if name in parts:
            taken[name] = getattr(second, name)
    peers = {part.removeprefix("stance:") for part in parts if part.startswith("stance:")}
    answered = {peer: word for peer, word in second.stances.items() if peer in peers}
    taken["stances"] = {**first.stances, **answered}
    if parts & {"blockers", "status"}:
        taken["blockers"] = list(dict.fromkeys([*first.blockers, *second.blockers]))
        taken["resolved"] = list(dict.fromkeys([*first.resolved, *second.resolved]))
    left = [fault for fault in second.faults if fault.part in parts]
    merged = first.copy(**taken, faults=left)
    open_ones = set(merged.blockers) - set(merged.resolved)
    if merged.status == AGREED and open_ones and "status" in parts:
        fault = Fault(part="status", code="agreed-and-blocking", seen=min(open_ones))
        merged = merged.copy(status="", faults=[*left, fault])
    return merged


def question(heard: Heard, form: Form) -> str:
    """Return the one question about all that is missing or unclear, in the form's language."""
    from council.councils import answers_asked  # late: it loads its texts

    return answers_asked.question(heard, form)


def schema(form: Form) -> dict[str, Any]:
    """Return the JSON schema for programs that answer by one; its answers are read by `read`."""
    from council.councils import answers_json  # late: it loads `json`

    return answers_json.schema(form)


def written(heard: Heard, form: Form) -> str:
    """Return what was heard as the form in Markdown: what is recorded of an answer by options."""
    from council.councils import answers_asked  # late: it loads its texts

    return answers_asked.written(heard, form)


def from_fields(
    form: Form,
    text: str = "",
    *,
    position: str = "",
    choice: str = "",
    confidence: int | None = None,
    stances: list[str] | None = None,
    status: str = "",
) -> Heard:
    """Return an answer given by options; what no option says is read from the text.

    Args:
        form: What was asked for.
        text: The reasoning, or a form with the other parts.
        position: The position to the letter.
        choice: A letter, `new` or `abstain`.
        confidence: 1 to 5.
        stances: Each `PEER=WORD` or `PEER=WORD:comment`.
        status: RESPONDED, AGREED or DONE, in any case.

    Raises:
        Invalid: A value is none of those (`bad-stance`, `bad-confidence`, …).
    """
    given: dict[str, Any] = {}
    if position.strip():
        given["position"] = position.strip()
    if choice:
        given["choice"] = _choice(choice, form)
    if confidence is not None:
        if confidence not in (1, 2, 3, 4, 5):
            raise Invalid("bad-confidence", f"not a confidence: {confidence}", "use 1 to 5")
        given["confidence"] = confidence
    if status:
        given["status"] = status.upper()
        if given["status"] not in ANSWERED:
            raise Invalid(
                "bad-status", f"not a status: {status[:40]!r}", "use agreed, responded or done"
            )
    stated = dict(_stance(one, form) for one in stances or [])
    free = form.copy(kind="contribution") if position.strip() or choice else form
    heard = read(text, free) if text.strip() else Heard()
    if "position" in given and not heard.reasoning:
        given["reasoning"] = text.strip()
    parts = {"status"} if status else set()
    faults = [
        f for f in heard.faults if f.part not in parts and (f.part == "blockers" or free is form)
    ]
    whole = heard.copy(**given, stances={**heard.stances, **stated}, faults=faults)
    return (
        whole.copy(faults=_missing(whole, form, faults)) if form.kind in ("turn", "vote") else whole
    )


def _missing(heard: Heard, form: Form, faults: list[Fault]) -> list[Fault]:
    """Return the faults that are left when options are taken together with the text."""
    if heard.choice == "abstain":
        return []
    given = {"position": heard.position or (heard.choice and heard.choice != "new")}
    given |= {"confidence": heard.confidence, "choice": heard.choice}
    given |= {f"stance:{peer}": peer in heard.stances for peer in heard.stances}
    left = [fault for fault in faults if not given.get(fault.part)]
    there = {fault.part for fault in left} | {part for part, value in given.items() if value}
    owed = {"position": "no-position", "confidence": "no-confidence"}
    owed |= {f"stance:{peer}": "no-stance" for peer in form.needs}
    left += [Fault(part=part, code=code) for part, code in owed.items() if part not in there]
    return [fault for fault in left if fault.part != "answer"]


def _choice(words: str, form: Form) -> str:
    word = words.strip().rstrip(".")
    if word.casefold() in ("new", "abstain"):
        return word.casefold()
    if word.upper() in form.options:
        return word.upper()
    same = [letter for letter, text in form.options.items() if text.casefold() == words.casefold()]
    if not same:
        letters = ", ".join([*form.options, "new", "abstain"])
        raise Invalid("bad-choice", f"not a choice: {words[:80]!r}", f"use one of {letters}")
    return same[0]


def _stance(option: str, form: Form) -> tuple[str, Stance]:
    peer, _, rest = option.partition("=")
    word, _, comment = rest.partition(":")
    peer, word = peer.strip().removeprefix("@"), word.strip().casefold()
    if peer not in form.peers:
        peers = ", ".join(form.peers) or "nobody"
        raise Invalid("bad-stance", f"not a peer: {peer[:80]!r}", f"peers are {peers}")
    if word not in STANCES:
        raise Invalid(
            "bad-stance", f"not a stance: {rest[:80]!r}", "use PEER=agree, partial or disagree"
        )
    return peer, Stance(word=word, comment=comment.strip())


def _questions(text: str, form: Form) -> dict[str, str]:
    """Return the question put to each peer: from `@id` to a question mark in the same sentence."""
    found: dict[str, str] = {}
    for piece in text.split("@")[1:]:
        name = piece.replace("\\", "").partition("?")[0]
        ident = next((p for p in (*form.peers, "human") if name.casefold().startswith(p)), "")
        rest = piece[len(ident) :]
        if not ident or "?" not in rest or (rest[0].isalnum() or rest[0] in "-_"):
            continue
        asked = rest.partition("?")[0]
        if len(asked) < 400 and not any(
            end in asked for end in ("\n\n", ". ", "! ", ".\n", "\n- ")
        ):
            found.setdefault(ident, " ".join(asked.split()).lstrip(" :,—–-*") + "?")
    return found


def _is_wrapped(text: str, form: Form) -> bool:
    low = text.casefold()
    begin = low[:40].lstrip()
    starts = ("```", "~~~", "thinking", "analysis", '"', "[", ">")
    echo = bool(form.prompt) and form.prompt.strip()[:20].casefold() in low
    here = "<<" in text
    return echo or here or begin.startswith(starts) or any(mark in low for mark in _WRAPPED)
