"""The question about an answer that is not clear, and an answer written as its form."""

from __future__ import annotations

from council.councils.words import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form
    from council.councils.model import Heard

_ORDER = ("choice", "position", "responses", "confidence", "recommendation", "blockers", "status")
_WHOLE = {"turn": _ORDER[1:4], "vote": _ORDER[:4]}
_WHOLE |= {"synthesis": ("recommendation",), "contribution": ("status",)}


def question(heard: Heard, form: Form) -> str:
    """Return what was understood, what is in doubt, and the form of those parts alone."""
    texts, said = _texts(form), []
    for part in ("choice", "position", "confidence", "recommendation", "status"):
        words = " ".join(str(getattr(heard, part) or "").split())[:160]
        said += [f"{texts[f'name.{part}']} {words}"] if words else []
    said += [f"@{peer} {stance.word}" for peer, stance in heard.stances.items()]
    lines = [texts["intro"], *([texts["understood"].format(parts=", ".join(said))] if said else [])]
    for fault in heard.faults:
        part, _, peer = fault.part.partition(":")
        text = texts.get(fault.code, texts["unclear" if fault.seen else "missing"])
        between = texts.get(f"between.{part}", texts["between"])
        name, seen = f"@{peer}" if peer else texts[f"name.{part}"], " ".join(fault.seen.split())
        lines.append("- " + text.format(part=name, seen=seen[:300], between=between))
    parts = [fault.part for fault in heard.faults]
    peers = [part.partition(":")[2] for part in parts if part.startswith("stance:")]
    if "answer" in parts:
        parts, peers = [*_WHOLE[form.kind]], form.needs
    lines += ["", texts["please"]]
    for part in _ORDER:
        if part == "responses" and peers:
            lines += ["", f"## {texts['name.responses']}"]
            lines += [f"- @{peer}: {texts['hint.stance']}" for peer in peers]
        elif part in parts and part != "responses":
            lines += ["", f"## {texts[f'name.{part}']}"] if part in _ORDER[:5] else [""]
            lines.append(texts[f"hint.{part}"].format(letters=", ".join([*form.options, "new"])))
    return "\n".join([*lines, "", texts["stays"]])


def written(given: Heard, text: str, form: Form) -> str:
    """Return an answer given by options as the form in Markdown; its text is the reasoning."""
    texts = _texts(form)
    stances = [f"- @{p}: {s.word} — {s.comment}".rstrip(" —") for p, s in given.stances.items()]
    parts = {"choice": given.choice, "position": given.position, "responses": "\n".join(stances)}
    is_form = any(parts.values())
    parts |= {"reasoning": text.strip(), "confidence": str(given.confidence or "")}
    labels = {part: f"## {texts[f'name.{part}']}\n\n" for part in parts}
    labels["reasoning"] *= is_form
    return "\n\n".join(labels[part] + words for part, words in parts.items() if words)


def _texts(form: Form) -> dict[str, str]:
    texts = load(f"texts/question-{'fr' if form.lang == 'fr' else 'en'}.txt")
    ballot = {key[:-5]: text for key, text in texts.items() if key.endswith(".vote")}
    return texts | (ballot if form.kind == "vote" else {})
