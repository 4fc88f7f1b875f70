"""All that is said about a tally, in sentences."""

from __future__ import annotations

from council.councils.model import State, Tally
from council.kernel.words import PACKAGE, Forms, fill, load, template

__all__ = ["PACKAGE", "Forms", "fill", "load", "template", "told"]


def told(state: State, tally: Tally, names: dict[str, str], holders: bool = True) -> list[str]:
    """Return all that can be said of a tally, the verdict first; perhaps with who holds what."""
    file, count = f"texts/tally-{state.lang}.txt", len(tally.agreed)
    key = "nobody" if not count else "everybody" if count == tally.n else "some"
    leading = tally.winners or tally.leading
    if state.procedure == "deliberation":
        sides = [len(one.approve) for one in tally.options if one.letter in leading]
        count, apart = max(sides, default=0), min(sides, default=0) >= tally.threshold
        if not leading:
            own = tally.n - len(tally.absent)
            key = "unsaid" if own > 1 else "aside" if own + len(tally.abstained) > 1 else "unheard"
        elif len(leading) == 1:
            key = tally.type if tally.winners else "leads"
        else:
            key = f"{tally.type}_tie" if tally.winners else "camps" if apart else "tied"
    values = {**vars(tally), "leading": leading, "count": count, "holding": holders, key: True}
    held = [one for one in tally.options if one.holders or one.letter in leading]
    values["options"] = [{**vars(one), "count": len(one.approve)} for one in held]
    values["blockers"] = sum(one.open for one in state.blockers)
    forms = {**load(file), "name": lambda one: names.get(one, one)}
    lines = fill(template(file).partition("\n====\n")[2], values, forms)
    return lines.rstrip("\n").split("\n")
