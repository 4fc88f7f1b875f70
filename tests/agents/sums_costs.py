"""Adds up what each option costs, weighs the risks with their chance, keeps to the ceiling."""

from __future__ import annotations

from reading import ME, PHASE, Figures, prompt, quote, speak

seen = prompt()
figures = Figures(seen)
weighted = {one: figures.weighted(one) for one in figures.options}
best = min(figures.options, key=weighted.__getitem__)
rows = "\n".join(
    f"- {one}: {figures.base[one]:,} by the offers, {weighted[one]:,} with the risks"
    + (" (over the ceiling)" if weighted[one] > figures.ceiling else "")
    for one in figures.options
)

if PHASE == "COLLECT":
    speak(
        f"Position: option {best}, because it costs {weighted[best]:,} when each risk is counted "
        f"with its chance, and the ceiling is {figures.ceiling:,}.",
        f"The offers alone mislead. The sums over all rows of the table:\n\n{rows}",
        "The cheapest offer is not the cheapest option: what is saved in the fees comes back in "
        "the risks. I would change my mind if somebody showed that a chance in the table is wrong.",
    )
elif PHASE == "CHALLENGE":
    points = []
    for one in seen.others("COLLECT"):
        if one.option and weighted[one.option] > figures.ceiling:
            over = weighted[one.option] - figures.ceiling
            points.append(
                quote(
                    one.agent,
                    one.line("Position: "),
                    f"Option {one.option} costs {weighted[one.option]:,} with its risks, "
                    f"{over:,} above the ceiling of {figures.ceiling:,}. Being early is no use "
                    "when the money ends before the contract does.",
                )
            )
        elif not one.option:
            chances = [chance for _, chance, _, _ in figures.risks[best]]
            together = 100.0
            for chance in chances:
                together *= chance
            points.append(
                quote(
                    one.agent,
                    one.line("Position: "),
                    f"All {len(chances)} risks of option {best} come true together with a chance "
                    f"of {together:.1f} %. A board that plans for that can take no option ever.",
                )
            )
    speak(*points)
else:
    after = weighted[best] + figures.extension
    asked = [one for one in seen.others("CHALLENGE") if f"@{ME}" in one.text]
    by_blocker = next((one for one in asked if one.line("BLOCKING:")), None)
    speak(
        f"Position: option {best}, at {after:,} with the risks and with the extension, which is "
        f"{figures.ceiling - after:,} below the ceiling.",
        by_blocker
        and quote(
            by_blocker.agent,
            by_blocker.line("BLOCKING:").removeprefix("BLOCKING:").strip(),
            f"Conceded, and paid for: the extension costs {figures.extension:,} once. "
            f"{weighted[best]:,} and {figures.extension:,} make {after:,}.",
        ),
        f"Next: order the extension of the old system for {figures.extension:,} before "
        f"{figures.order_by}; the treasurer.",
        status="agreed" if after <= figures.ceiling else "responded",
    )
