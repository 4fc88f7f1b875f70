"""What codes and words of document 002 mean, for `council explain`."""

from __future__ import annotations

from council.kernel.record import Any
from council.tasks.wire import tables


def explain(which: str, lang: str = "en") -> dict[str, Any] | None:
    """Return the explanation of a code (`E13`), a version, a type or a warning, else None."""
    sentences, lang = list[str](), lang or "en"
    if which[:1] == "E" and which[1:].isdecimal():
        for version in tables.VERSIONS[1:]:
            meaning = tables.meanings(version, lang).get(which)
            kind = tables.described(f"% {version}", which, lang)
            sentences += [f"{version}: {meaning}" + f" ({kind})" * bool(kind)] if meaning else []
        if which != "E00" and which in tables.meanings("V5"):
            sentences.append(f"V5: {tables.described('!', which, lang)}")
    else:
        rows = (line.partition(": ") for line in tables.lines("protocol-words"))
        sentences = [words.split(" | ")[lang == "fr"] for key, _, words in rows if key == which]
    if not sentences:
        return None
    lists: dict[str, Any] = {key: [] for key in ("waitsFor", "hindrances", "tried")}
    return {"kind": "code", "id": which, "name": which, "status": "", **lists, "next": sentences}
