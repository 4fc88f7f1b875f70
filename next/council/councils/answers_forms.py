"""Whole answers: each part read, and a fault for what is missing or cannot be told."""

from __future__ import annotations

import re

from council.councils import answers_values as values
from council.councils.answers_json import as_markdown
from council.councils.answers_labels import Piece, pieces, strongest
from council.councils.answers_stances import Names, insights, stances
from council.councils.answers_unwrap import readable, split_fences
from council.councils.answers_words import pattern, plain
from council.councils.model import AGREED, Fault, Heard
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

_KEYS = {
    "turn": {"position", "final", "responses", "response", "confidence"},
    "vote": {"choice", "position", "final", "responses", "confidence"},
    "synthesis": {"recommendation", "consensus", "disagreement", "insights"},
    "contribution": {"blocking", "resolved", "status"},
}


def read(text: str, form: Form) -> dict[str, Any]:
    """Return the fields of `Heard` for an unwrapped answer."""
    if values.is_pass(text, form):
        return {"faults": [Fault(part="answer", code="nothing-said")]}
    text, quoted = _own(readable(as_markdown(text, form)), form)
    found = pieces(text, form)
    if len(form.asked) == 1 and not _KEYS[form.kind].intersection(p.part for p in found):
        found = pieces(_labelled(form.asked[0], text), form)
    fields: dict[str, Any] = {"faults": []}
    _read_blockers(found, text, form, fields)
    if form.kind == "contribution":
        _read_status(found, text, quoted, fields)
    elif form.kind == "synthesis":
        _read_synthesis(found, form, fields)
    else:
        _read_turn(found, form, fields)
    return fields


def _own(text: str, form: Form) -> tuple[str, str]:
    """Return the author's own words and what is quoted in fences.

    A fence counts where the form is in it and nowhere else.
    """
    outside, fences = split_fences(text)
    keys = _KEYS[form.kind]
    if not fences:
        return text, ""
    if form.kind == "contribution":
        few = len(re.findall(r"\w+", outside)) <= 12
        return ("\n".join([outside, *fences]), "") if few else (outside, "\n".join(fences))
    if keys.intersection(piece.part for piece in pieces(outside, form)):
        return outside, ""
    forms = [f for f in fences if keys.intersection(piece.part for piece in pieces(f, form))]
    return "\n\n".join([*forms] or [outside]), ""


def _labelled(part: str, text: str) -> str:
    """Return an answer to one question as that part of the form."""
    if part.startswith("stance:"):
        named = part.removeprefix("stance:")
        return f"## responses\n{text}" if named in text else f"## responses\n- @{named}: {text}"
    return f"status: {text}" if part == "status" else f"## {part}\n{text}"


def _read_turn(found: list[Piece], form: Form, fields: dict[str, Any]) -> None:
    faults: list[Fault] = fields["faults"]
    if form.kind == "vote":
        _read_choice(found, form, fields)
    if fields.get("choice") == "abstain":
        faults.clear()
    final = strongest(found, "final")
    own = final or strongest(found, "position")
    text, doubt, unchanged = values.position(own, form)
    fields |= {"position": text, "unchanged": unchanged}
    fields["reasoning"] = "\n\n".join(p.text() for p in strongest(found, "reasoning"))
    fields["moved"] = form.kind == "vote" and _moved(final, text, fields["reasoning"])
    level, vague = values.confidence(strongest(found, "confidence"))
    fields["confidence"] = level
    fields["stances"], unclear = stances(found, form)
    if fields.get("choice") == "abstain":
        return
    letter = re.fullmatch(r"\W*(?:option )?([a-z])\W*", plain(text))
    if form.kind == "vote" and letter and letter[1].upper() in form.options:
        fields["position"] = form.options[letter[1].upper()]
        fields.setdefault("choice", letter[1].upper())
    chosen = fields.get("choice", "") or any(fault.part == "choice" for fault in faults)
    if doubt:
        faults.append(Fault(part="position", code="unclear-position", seen=doubt))
    elif not text and (not chosen or fields.get("choice") == "new"):
        faults.append(Fault(part="position", code="no-position"))
    if level is None:
        code = "unclear-confidence" if vague else "no-confidence"
        faults.append(Fault(part="confidence", code=code, seen=vague))
    faults += unclear


def _read_choice(found: list[Piece], form: Form, fields: dict[str, Any]) -> None:
    own = strongest(found, "choice")
    if not own:
        vote = re.compile(r"(?i)^\W*i (?:vote for|choose|abstain)\b[^\n]{0,200}$", re.M)
        lines = [m[0] for p in found for m in vote.finditer("\n".join([p.inline, *p.lines]))]
        own = [Piece(part="choice", inline=line) for line in lines[:3]]
    if not own:
        return
    chosen, doubt = values.ballot(own, form, Names(form).one)
    if chosen:
        fields["choice"] = chosen
    else:
        fields["faults"].append(Fault(part="choice", code="unclear-choice", seen=doubt))


def _moved(final: list[Piece], text: str, reasoning: str) -> bool:
    return bool(pattern("{moved}").search(plain(f"{text} {reasoning}"))) and bool(text or final)


def _read_synthesis(found: list[Piece], form: Form, fields: dict[str, Any]) -> None:
    for part in ("recommendation", "consensus", "disagreement"):
        own = strongest(found, part)
        texts = {plain(text): text for piece in own if (text := piece.text())}
        if part == "recommendation" and len(texts) != 1:
            code = "unclear-recommendation" if texts else "no-recommendation"
            seen = " … ".join(texts.values())[:600]
            fields["faults"].append(Fault(part=part, code=code, seen=seen))
        elif texts:
            text = "\n\n".join(texts.values())
            fields[part] = "" if values.is_none(plain(text)) else text
    if "recommendation" in fields and not fields["recommendation"]:
        fields["faults"].append(Fault(part="recommendation", code="no-recommendation"))
    fields["insights"] = insights(found, form)


def _read_blockers(found: list[Piece], text: str, form: Form, fields: dict[str, Any]) -> None:
    fields["blockers"], doubts = values.blockers(strongest(found, "blocking"), form)
    fields["resolved"], _ = values.blockers(strongest(found, "resolved"), form)
    if not doubts and not fields["blockers"] and form.kind == "contribution":
        loose = "\n".join(piece.text() for piece in found if not piece.part)
        doubts = [sentence] if (sentence := values.blocker_in_prose(loose)) else []
    if doubts:
        fault = Fault(part="blockers", code="unclear-blocker", seen=" … ".join(doubts)[:300])
        fields["faults"].append(fault)


def _read_status(found: list[Piece], text: str, quoted: str, fields: dict[str, Any]) -> None:
    faults: list[Fault] = fields["faults"]
    own = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">"))
    word, doubt = values.status(strongest(found, "status"), own)
    if not word and not doubt and re.search(r"(?im)^\W*(?:status|statut) ?: ?agreed", quoted):
        doubt = quoted.strip()[:300]
    if word == AGREED and fields["blockers"]:
        faults.append(Fault(part="status", code="agreed-and-blocking", seen=fields["blockers"][0]))
    elif doubt:
        faults.append(Fault(part="status", code="unclear-status", seen=doubt))
    else:
        fields["status"] = word
