"""Whole answers: each part read, and a fault for what is missing or cannot be told."""

from __future__ import annotations

import re

from council.councils import answers_values as values
from council.councils.answers_labels import Piece, pieces, strongest
from council.councils.answers_stances import insights, stances
from council.councils.answers_unwrap import readable, split_fences
from council.councils.answers_words import plain, search, without
from council.councils.model import AGREED, Fault, Heard
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
    if "{" in text:
        from council.councils.answers_json import as_markdown  # late: it loads `json`

        text = as_markdown(text, form)
    text, quoted = _own(without("status behind text", readable(text), r"\1\n\n\2"), form)
    found = pieces(text, form)
    if not _has_form(found, form) and (label := _label(text, form)):
        found = pieces(label + text, form)
    fields: dict[str, Any] = {"faults": []}
    fields["blockers"], doubts = values.blockers(strongest(found, "blocking"))
    fields["resolved"] = values.blockers(strongest(found, "resolved"))[0]
    if form.kind == "contribution" and not doubts and not fields["blockers"]:
        prose = "\n".join(piece.text() for piece in found if not piece.part)
        doubts = [sentence] if (sentence := values.blocker_in_prose(prose)) else []
    if doubts:
        _fault(fields, "blockers", "unclear-blocker", " … ".join(doubts))
    if form.kind == "contribution":
        _read_status(found, quoted, form, fields)
    elif form.kind == "synthesis":
        _read_synthesis(found, form, fields)
    else:
        _read_turn(found, form, fields)
    return Heard(**fields)


def _fault(fields: dict[str, Any], part: str, code: str, seen: str = "") -> None:
    fields["faults"].append(Fault(part=part, code=code, seen=seen[:600]))


def _has_form(found: list[Piece], form: Form) -> bool:
    return any(piece.part in _KEYS[form.kind] for piece in found)


def _own(text: str, form: Form) -> tuple[str, str]:
    """Return the author's own words, and what is quoted in fences.

    A fence counts where the form is in it and nowhere else.
    """
    outside, fences = split_fences(text)
    if form.kind == "contribution":
        few = len(re.findall(r"\w+", outside)) <= 12
        return ("\n".join([outside, *fences]), "") if few else (outside, "\n".join(fences))
    forms = [fence for fence in fences if _has_form(pieces(fence, form), form)]
    if not forms or _has_form(pieces(outside, form), form):
        return outside, ""
    return "\n\n".join(forms), ""


def _label(text: str, form: Form) -> str:
    """Return the label that is left out: of a synthesis, or of the one part that is asked."""
    part, _, peer = (form.asked[0] if len(form.asked) == 1 else "").partition(":")
    if "confidence" in form.asked and re.fullmatch(r"\W*[1-5](?:/5)?\W*", text):
        part = "confidence"
    if part == "stance":
        return "## responses\n" + f"- @{peer}: " * (peer not in text)
    if form.kind == "synthesis":
        return "## recommendation\n"
    if form.kind == "vote" and not form.asked and len(text) < 40:
        return "## choice\n"
    return f"status: {part}"[:8] if part == "status" else f"## {part}\n" * bool(part)


def _read_turn(found: list[Piece], form: Form, fields: dict[str, Any]) -> None:
    if form.kind == "vote" and (own := strongest(found, "choice") or _votes(found, form)):
        fields["choice"], vague = values.choice(own, form)
        if not fields["choice"]:
            _fault(fields, "choice", "unclear-choice", vague)
    final = strongest(found, "final") or strongest(found, "position")
    text, doubt, fields["unchanged"] = values.position(final, form)
    fields["reasoning"] = "\n\n".join(piece.text() for piece in strongest(found, "reasoning"))
    moved = search("has moved", plain(f"{text} {fields['reasoning']}"))
    fields["moved"] = form.kind == "vote" and bool(moved)
    letter = re.fullmatch(r"\W*(?:option )?([a-z])\W*", plain(text))
    if form.kind == "vote" and letter and letter[1].upper() in form.options:
        text = form.options[letter[1].upper()]
        fields.setdefault("choice", letter[1].upper())
    level, vague = values.confidence(strongest(found, "confidence"))
    fields |= {"position": text, "confidence": level}
    fields["stances"], unclear = stances(found, form)
    if fields.get("choice") == "abstain":
        return
    if doubt:
        _fault(fields, "position", "unclear-position", doubt)
    elif not text and fields.get("choice", "new") == "new":
        _fault(fields, "position", "no-position")
    if level is None:
        _fault(fields, "confidence", "unclear-confidence" if vague else "no-confidence", vague)
    fields["faults"] += unclear


def _votes(found: list[Piece], form: Form) -> list[Piece]:
    """Return a line such as "I vote for A", or a first line that is only a letter, as a part."""
    lines = [line for piece in found for line in [piece.inline, *piece.lines] if line.strip()]
    votes = [line.strip() for line in lines if search("vote line", line[:300])]
    votes += [line for line in lines[:1] if line.strip(" *_.()") in form.options]
    return [Piece(part="choice", inline=line) for line in votes[:3]]


def _read_synthesis(found: list[Piece], form: Form, fields: dict[str, Any]) -> None:
    fields |= {part: "\n\n".join(_texts(found, part)) for part in ("consensus", "disagreement")}
    asked, other = _DECIDED if form.options else _DECIDED[::-1]
    texts = _texts(found, asked) or _texts(found, other)
    fields["recommendation"] = texts[0] if len(texts) == 1 else ""
    if len(texts) != 1:
        code = "unclear-recommendation" if texts else "no-recommendation"
        _fault(fields, "recommendation", code, " … ".join(texts))
    fields["insights"] = insights(found, form)


def _texts(found: list[Piece], *parts: str) -> list[str]:
    """Return what the pieces of some parts say, each once, without a status at its end."""
    own = [piece.text() for part in parts for piece in strongest(found, part)]
    texts = {plain(text): without("status behind text", text, r"\1") for text in own}
    return [text for words, text in texts.items() if not values.is_none(words)]


def unlabelled(text: str, form: Form) -> str:
    """Return what a synthesis says that is not in its form, without labels and statuses."""
    found = pieces(readable(text), form)
    decided = any(piece.part in _DECIDED for piece in found)
    return "\n\n".join(_texts(found, *(_DECIDED if decided else _PROSE)))


def _read_status(
    found: list[Piece], quoted: str, form: Form, fields: dict[str, Any]
) -> None:  # fmt: skip
    own = "\n".join(p for piece in found if not piece.part for p in piece.paragraphs())
    word, doubt = values.status(strongest(found, "status"), own, form)
    if not word and not doubt and search("agreed quoted", quoted):
        doubt = quoted.strip()
    if word == AGREED and fields["blockers"]:
        _fault(fields, "status", "agreed-and-blocking", fields["blockers"][0])
    elif doubt:
        _fault(fields, "status", "unclear-status", doubt)
    else:
        fields["status"] = word
