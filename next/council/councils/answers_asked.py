"""The question about an answer that is not clear, and an answer written as its form."""

from __future__ import annotations

from os.path import dirname, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form
    from council.councils.model import Fault, Heard


def question(heard: Heard, form: Form) -> str:
    """Return what was understood, what is in doubt, and the form of those parts alone."""
    texts = _texts(form.lang)
    lines = [texts["intro"]]
    if understood := _understood(heard, texts):
        lines.append(texts["understood"].format(parts=", ".join(understood)))
    for fault in heard.faults:
        part, _, peer = fault.part.partition(":")
        what = f"@{peer}" if peer else texts.get(f"name.{part}", part)
        text = texts.get(fault.code, texts["unclear" if fault.seen else "missing"])
        rival = texts.get(f"between.{part}", texts["between"])
        seen = " ".join(fault.seen.split())[:300]
        lines.append("- " + text.format(part=what, seen=seen, between=rival))
    shape = _shape({fault.part: fault for fault in heard.faults}, form, texts)
    return "\n".join([*lines, "", texts["please"], "", *shape, "", texts["stays"]]).strip()


def written(heard: Heard, form: Form) -> str:
    """Return what was heard as the form in Markdown."""
    texts = _texts(form.lang)
    parts = [
        ("choice", heard.choice),
        ("final" if form.kind == "vote" else "position", heard.position),
    ]
    stances = [
        f"- @{p}: {s.word}" + (f" — {s.comment}" if s.comment else "")
        for p, s in heard.stances.items()
    ]
    parts.append(("agreement" if form.kind == "vote" else "responses", "\n".join(stances)))
    parts.append(("reasoning", heard.reasoning))
    parts.append(("confidence", str(heard.confidence or "")))
    return "\n\n".join(f"## {texts[f'name.{part}']}\n\n{text}" for part, text in parts if text)


def _understood(heard: Heard, texts: dict[str, str]) -> list[str]:
    named = [("choice", heard.choice), ("position", heard.position), ("status", heard.status)]
    named += [("confidence", str(heard.confidence or "")), ("recommendation", heard.recommendation)]
    said = [
        f"{texts[f'name.{part}']} {' '.join(value.split())[:160]}" for part, value in named if value
    ]
    return said + [f"@{peer} {stance.word}" for peer, stance in heard.stances.items()]


def _shape(faults: dict[str, Fault], form: Form, texts: dict[str, str]) -> list[str]:
    """Return the form of the parts in doubt, with names filled in."""
    peers = [part.partition(":")[2] for part in faults if part.startswith("stance:")]
    order = [
        "choice",
        "position",
        "responses",
        "confidence",
        "recommendation",
        "blockers",
        "status",
    ]
    shown = [part for part in order if part in faults or (part == "responses" and peers)]
    if "answer" in faults:
        shown = [part for part in order if f"whole.{form.kind}.{part}" in texts]
        peers = form.needs
    vote = form.kind == "vote"
    lines: list[str] = []
    for part in shown:
        name = {"position": "final", "responses": "agreement"}.get(part, part) if vote else part
        if part in ("blockers", "status"):
            lines.append(texts[f"hint.{part}"])
        elif part == "responses":
            lines += [
                f"## {texts[f'name.{name}']}",
                *(f"- @{peer}: {texts['hint.stance']}" for peer in peers),
            ]
        else:
            letters = ", ".join([*form.options, "new"])
            lines += [f"## {texts[f'name.{name}']}", texts[f"hint.{part}"].format(letters=letters)]
        lines.append("")
    return lines[:-1]


def _texts(lang: str) -> dict[str, str]:
    name = f"question-{'fr' if lang == 'fr' else 'en'}.txt"
    with open(join(dirname(dirname(__file__)), "texts", name), encoding="utf-8") as file:
        pairs = (line.rstrip("\n").partition(": ") for line in file if not line.startswith("#"))
        return {key: text for key, colon, text in pairs if colon}
