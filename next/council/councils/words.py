"""Sentences: templates of `prompts/` and `texts/`, and all that is said about a tally.

A template has no logic but this: `{name}` is filled in, `{?name} line` and `{!name} line` are kept
where it is set or not set, `{*name} line` is repeated for each row: a dict, or `{it}`. With nothing
behind it, the lines up to `{/}` are meant; such blocks are not nested.
"""

from __future__ import annotations

import os

from council.councils.model import State, Tally
from council.kernel.record import Any

PACKAGE = os.path.dirname(os.path.dirname(__file__))
Sides = tuple[str, ...]
SIDES: Sides = ("holders", "approve", "partial", "disagree")


def template(name: str) -> str:
    """Return a file of the package, such as `prompts/en/turn.md`."""
    with open(f"{PACKAGE}/{name}", encoding="utf-8") as file:
        return file.read()


def load(name: str) -> dict[str, str]:
    """Return the lines `key = words` of a file, up to a line `====`; `#` begins a remark."""
    lines = template(name).partition("\n====\n")[0].split("\n")
    rows = (line.partition(" = ") for line in lines if line[:1] not in ("#", ""))
    return {key: words for key, _, words in rows}


def fill(template: str, values: dict[str, Any]) -> str:
    """Return a template with its values filled in; of several empty lines it keeps one."""
    made: list[str] = []
    _fill(template.split("\n"), values, made)
    return "\n".join(made).strip("\n") + "\n"


def _fill(lines: list[str], values: dict[str, Any], made: list[str]) -> None:
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line[:2] in ("{?", "{!", "{*"):
            name, _, rest = line[2:].partition("}")
            end = at if rest else lines.index("{/}", at)
            body, at = ([rest[1:]], at) if rest else (lines[at:end], end + 1)
            value = values.get(name)
            if line[1] == "*":
                for row in value or ():
                    _fill(body, values | (row if row.__class__ is dict else {"it": row}), made)
            elif bool(value) is (line[1] == "?"):
                _fill(body, values, made)
        elif line or (made and made[-1]):
            made.append(line.format_map(values))


def headline(tally: Tally, lang: str) -> str:
    """Return the verdict of a deliberation in one sentence without its full stop."""
    say, sides = load(f"texts/tally-{lang}.txt"), {one.letter: one for one in tally.options}
    leading = tally.winners or tally.leading
    counts = [len(sides[letter].approve) for letter in leading]
    if not leading:
        key = "unsaid" if tally.n - len(tally.absent) > 1 else "unheard"
    elif tally.winners:
        key = tally.type if len(leading) == 1 else "undecided"
    else:
        apart = "camps" if min(counts) >= tally.threshold else "tied"
        key = "leads" if len(leading) == 1 else apart
    figures = {"count": max(counts, default=0), "n": tally.n, "threshold": tally.threshold}
    options, kind = f" {say['and']} ".join(leading), say.get(f"kind-{tally.type}", "")
    return say[key].format(options=options, Kind=kind, **figures)


def agreement(agreed: int, n: int, blockers: int, lang: str) -> str:
    """Return how many of a council's participants agreed, and how many blockers are open."""
    say = load(f"texts/tally-{lang}.txt")
    key = "none" if not agreed else "all" if agreed == n else "some"
    more = say["blockers-one" if blockers == 1 else "blockers-many"].format(count=blockers)
    return say[f"agreed-{key}"].format(count=agreed, n=n) + f", {more}" * bool(blockers)


def sentences(tally: Tally, names: dict[str, str], lang: str, sides: Sides = SIDES) -> list[str]:
    """Return what the tally holds: by option (`sides` of each), who was not counted, who moved."""
    say, made = load(f"texts/tally-{lang}.txt"), list[str]()

    def tell(key: str, ids: list[str], **more: Any) -> None:
        who = ", ".join(names.get(one, one) for one in ids)
        made.extend([say[key].format(who=who, n=tally.n, count=len(ids), **more)] if ids else [])

    for side in tally.options:
        for key in sides:
            tell(key, getattr(side, key), option=say["option"].format(letter=side.letter))
    tell("absent", tally.absent)
    tell("abstained", tally.abstained)
    for one in tally.moved:
        tell("moved", [one["agent"]], **one)
    return made


def told(state: State, tally: Tally, names: dict[str, str], sides: Sides = SIDES) -> list[str]:
    """Return all that can be said of the tally of a conversation, the headline first."""
    if state.procedure == "deliberation":
        return [headline(tally, state.lang), *sentences(tally, names, state.lang, sides)]
    blockers = sum(one.open for one in state.blockers)
    return [agreement(len(tally.agreed), tally.n, blockers, state.lang)]
