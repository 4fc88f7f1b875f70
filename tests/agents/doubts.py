"""Believes nothing that rests on an average: searches for the number at which a plan breaks."""

from __future__ import annotations

import re

from reading import PHASE, Figures, prompt, quote, speak

seen = prompt()
figures = Figures(seen)
rows = "\n".join(
    f"- {one}: {figures.worst(one):,}, which is {figures.worst(one) - figures.ceiling:,} over"
    for one in figures.options
)
nearest = min(figures.options, key=figures.worst)

if PHASE == "COLLECT":
    speak(
        f"Position: none yet. If all risks come true, every option costs more than "
        f"{figures.ceiling:,}, and the council should say so before it chooses.",
        f"The full sums:\n\n{rows}",
        f"Option {nearest} comes nearest. That is a reason to look at it first, and no reason to "
        "stop looking.",
    )
elif PHASE == "CHALLENGE":
    points = []
    for one in seen.others("COLLECT"):
        line = one.line("Position: ")
        if one.option and re.search(r"\d,\d{3}", line):
            name, _, cost, _ = max(figures.risks[one.option], key=lambda risk: risk[2])
            points.append(
                quote(
                    one.agent,
                    line,
                    f"A risk does not come true by its chance; it comes or it does not. {name} "
                    f"alone costs {cost:,} in the year in which it comes. Say from what it is "
                    "paid then.",
                )
            )
        elif one.option:
            name, chance, _, weeks = max(figures.risks[one.option], key=lambda risk: risk[1])
            points.append(
                quote(
                    one.agent,
                    line,
                    f"Your yes does not name the likeliest thing to go wrong with option "
                    f"{one.option}: {name}, with {chance:.0%} and {weeks} weeks. It belongs into "
                    "the same sentence.",
                )
            )
    speak(*points)
else:
    wanted = [one.option for one in seen.others("COLLECT") if one.option]
    most = max(sorted(set(wanted)), key=wanted.count)
    account = figures.weighted(most) + figures.extension
    margin = figures.ceiling - account
    name, chance, cost, _ = max(figures.risks[most], key=lambda risk: risk[2])
    payer = next(one for one in seen.others("COLLECT") if re.search(r"\d,\d{3}", one.text))
    if cost <= margin:
        speak(f"Position: option {most}. The margin of {margin:,} carries its largest risk.")
    else:
        speak(
            f"Position: option {most} only when its largest risk is smaller than what is left. "
            f"I do not agree as it stands: {account:,} leave {margin:,}, and {name} costs "
            f"{cost:,} with a chance of {chance:.0%}.",
            quote(
                payer.agent,
                payer.line("Position: "),
                f"With the extension the margin is {margin:,}. The number at which I disagree is "
                f"{cost - margin:,}: by so much the largest single risk exceeds it.",
            ),
            f"Next: go through the archived records before the contract is signed, so that the "
            f"{cost:,} of {name.split(':')[0]} shrink; the archive with the working group.",
        )
