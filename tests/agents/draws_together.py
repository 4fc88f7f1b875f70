"""Writes the synthesis by counting: last positions, who agreed, conditions, what is next."""

from __future__ import annotations

from reading import Figures, prompt, speak

seen = prompt()
figures = Figures(seen)
last = [one for one in seen.said if one.phase == "RESOLVE"]
options = [one.option for one in last if one.option]
chosen = max(sorted(set(options)), key=options.count)
agreed = [one for one in last if one.status == "AGREED"]
apart = [one for one in last if one.status != "AGREED"]
cost = figures.weighted(chosen) + figures.extension


def lines(start: str) -> list[str]:
    return [
        f"- {one.line(start).removeprefix(start)} (@{one.agent})" for one in last if one.line(start)
    ]


def first(text: str) -> str:
    return text.split("\n\n", 1)[0].removeprefix("Position: ")


conditions = "\n".join(lines("Condition: ")) or "None."
steps = "\n".join(lines("Next: ")) or "None."
dissent = "\n\n".join(f"@{one.agent} does not agree:\n> {first(one.text)}" for one in apart)
holds = "\n".join(f"- @{one.agent}: {first(one.text)}" for one in last)
whole = "All" if not apart else f"{len(agreed)} of {len(last)}"
speak(
    f"## Decision\n{whole} recommend option {chosen}. With its risks and the extension it costs "
    f"{cost:,}; the ceiling is {figures.ceiling:,}. It is finished on {figures.done(chosen)}, or "
    f"on {figures.done(chosen, late=True)} if every risk comes true.",
    f"## Summary\n{holds}",
    f"## Dissent\n{dissent or 'None.'}",
    f"## Recommendation\nTake option {chosen} under these conditions:\n{conditions}",
    f"## Next step\n{steps}",
    "## Absent\nNone.",
)
