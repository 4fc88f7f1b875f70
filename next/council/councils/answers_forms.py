"""Whole answers: each part read, and a fault for what is missing or cannot be told."""

from __future__ import annotations

import re

from council.councils import answers_values as values
from council.councils.answers_labels import Part, parts, strongest
from council.councils.answers_stances import insights, stances
from council.councils.answers_unwrap import readable, split_fences
from council.councils.answers_words import plain, search
from council.councils.model import Fault, Heard
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

_TURN = {"position", "final", "responses", "response", "confidence", "choice"}
_KEYS = {"turn": _TURN, "vote": _TURN, "contribution": {"blocking", "resolved", "status"}}
_KEYS["synthesis"] = {"recommendation", "decision", "consensus", "disagreement", "insights"}
_DECIDED = ("recommendation", "decision")
_PROSE = ("", "position", "final", "consensus", "synthesis")


def read_form(text: str, form: Form) -> Heard:
    """Return what is understood of an unwrapped answer, but for the questions in it."""
    if values.is_pass(text, form):
        return Heard(faults=[Fault(part="answer", code="nothing-said")])
    text, quoted = _own(readable(text, form), form)
    found = parts(text, form)
    if not _has_form(found, form) and (label := _label(text, form)):
        found = parts(label + text, form)
    made: dict[str, Any] = {"faults": []}
    made["blockers"], doubts = values.blockers(strongest(found, "blocking"))
    made["resolved"] = values.blockers(strongest(found, "resolved"))[0]
    if form.kind == "contribution":
        own = "\n".join(words for part in found if not part.name for words in part.paragraphs())
        doubts = doubts or ([] if made["blockers"] else values.blockers_in_prose(own))
        _take(made, "status", *values.status(strongest(found, "status"), own, quoted))
    elif form.kind == "synthesis":
        _read_synthesis(found, form, made)
    else:
        _read_turn(found, form, made)
    if doubts:
        seen = " … ".join(doubts)[:600]
        made["faults"].insert(0, Fault(part="blockers", code="unclear-blocker", seen=seen))
    return Heard(**made)


def unlabelled(text: str, form: Form) -> str:
    """Return what a synthesis says that is not in its form, without labels and statuses."""
    found = parts(readable(text, form), form)
    decided = any(part.name in _DECIDED for part in found)
    return "\n\n".join(_texts(found, *(_DECIDED if decided else _PROSE)))


def _take(made: dict[str, Any], part: str, value: Any, seen: str, needed: bool = False) -> None:
    """Take in what was read of a part, or a fault where that is in doubt or missing."""
    made[part] = value
    if not value and (seen or needed):
        code = f"unclear-{part}" if seen else f"no-{part}"
        made["faults"].append(Fault(part=part, code=code, seen=seen[:600]))


def _has_form(found: list[Part], form: Form) -> bool:
    return any(part.name in _KEYS[form.kind] for part in found)


def _own(text: str, form: Form) -> tuple[str, str]:
    """Return the author's own words, and what is quoted in fences.

    A fence counts where the form is in it and nowhere else.
    """
    outside, fences = split_fences(text)
    if form.kind == "contribution":
        few = len(re.findall(r"\w+", outside)) <= 12
        return ("\n".join([outside, *fences]), "") if few else (outside, "\n".join(fences))
    forms = [fence for fence in fences if _has_form(parts(fence, form), form)]
    if not forms or _has_form(parts(outside, form), form):
        return outside, ""
    return "\n\n".join(forms), ""


def _label(text: str, form: Form) -> str:
    """Return the label that is left out: of a synthesis, or of the one part that is asked."""
    part, _, peer = (form.asked[0] if len(form.asked) == 1 else "").partition(":")
    if "confidence" in form.asked and re.fullmatch(r"\W*[1-5](?:/5)?\W*", text):
        part = "confidence"
    elif form.kind == "synthesis":
        part = "recommendation"
    elif form.kind == "vote" and not form.asked and len(text) < 40:
        part = "choice"
    if part == "stance":
        return "## responses\n" + f"- @{peer}: " * (peer not in text)
    return f"{part}: " if part == "status" else f"## {part}\n" * bool(part)


def _read_turn(found: list[Part], form: Form, made: dict[str, Any]) -> None:
    final = strongest(found, "final") or strongest(found, "position")
    if form.kind == "vote":
        own = strongest(found, "choice") or _votes(found, form)
        own = own or [part for part in final if search("an option", plain(part.first()))]
        _take(made, "choice", *values.choice(own, form))
    text, seen, made["unchanged"] = values.position(final, form)
    reasons = [words for part in strongest(found, "reasoning") for words in part.paragraphs()]
    made["reasoning"] = "\n\n".join(reasons)
    if form.kind == "vote":
        made["moved"] = bool(search("has moved", plain(f"{text} {made['reasoning']}")))
    choice = made.get("choice", "")
    _take(made, "position", text, seen, choice == "new" or not (choice or made["faults"]))
    _take(made, "confidence", *values.confidence(strongest(found, "confidence")), True)
    made["stances"], unclear = stances(found, form)
    made["faults"] = [] if choice == "abstain" else made["faults"] + unclear


def _votes(found: list[Part], form: Form) -> list[Part]:
    """Return a line such as "I vote for A", or a first line that is only a letter, as a part."""
    lines = [line for part in found for line in part.lines if line.strip()]
    votes = [line.strip() for line in lines if search("vote line", line[:300])]
    votes += [line for line in lines[:1] if line.strip(" *_.()") in form.options]
    return [Part(name="choice", lines=[line]) for line in votes[:3]]


def _read_synthesis(found: list[Part], form: Form, made: dict[str, Any]) -> None:
    made |= {part: "\n\n".join(_texts(found, part)) for part in ("consensus", "disagreement")}
    asked, other = _DECIDED if form.options else _DECIDED[::-1]
    texts = _texts(found, asked) or _texts(found, other)
    _take(
        made, "recommendation", "".join(texts) if len(texts) == 1 else "", " … ".join(texts), True
    )
    made["insights"] = insights(found, form)


def _texts(found: list[Part], *names: str) -> list[str]:
    """Return what the parts of some names say, each once."""
    own = ["\n\n".join(part.paragraphs()) for name in names for part in strongest(found, name)]
    texts = {plain(text): text for text in own}
    return [text for words, text in texts.items() if not values.is_none(words)]
