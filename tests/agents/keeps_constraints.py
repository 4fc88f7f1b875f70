"""Holds each option against each constraint: the number required against the number offered."""

from __future__ import annotations

from reading import PHASE, number, prompt, quote, speak

seen = prompt()
limits = seen.table("constraint")
options = limits.header[1:]
broken: dict[str, list[str]] = {one: [] for one in options}
for name, (required, *offered) in limits.rows.items():
    for option, offer in zip(options, offered, strict=True):
        short = number(offer) - number(required)
        if short > 0 if name.endswith("at most") else short < 0:
            key, _, about = name.partition(": ")
            kind = about.rsplit(", ", 1)
            broken[option].append(f"{key} ({kind[0]}: {offer}, {kind[1]} {required})")
best = min(options, key=lambda one: len(broken[one]))
rows = "\n".join(
    f"- {one}: " + ("meets all" if not broken[one] else "fails " + "; ".join(broken[one]))
    for one in options
)

if PHASE == "COLLECT":
    speak(
        f"Position: option {best}, because it fails {len(broken[best])} of the {len(limits.rows)} "
        "constraints, the fewest of all.",
        rows,
        "The brief says that these are not wishes. Whoever wants another option has to say for "
        "each failed line how it will be met, by when, and who pays.",
    )
elif PHASE == "CHALLENGE":
    points = [
        quote(
            one.agent,
            one.line("Position: "),
            f"You leave the constraints out. Option {one.option} fails {len(broken[one.option])} "
            f"of them: {'; '.join(broken[one.option])}. Say how each will be met, or choose an "
            "option that meets it.",
        )
        for one in seen.others("COLLECT")
        if one.option and len(broken[one.option]) > len(broken[best])
    ]
    speak(*points or ["All positions so far meet the constraints. I have nothing to object."])
else:
    worried = next((one for one in seen.others("CHALLENGE") if one.line("BLOCKING:")), None)
    speak(
        f"Position: option {best}, which meets every constraint that the brief counts.",
        worried
        and quote(
            worried.agent,
            worried.line("BLOCKING:").removeprefix("BLOCKING:").strip(),
            "A fair point, and none of the constraints is touched by it: the old system meets "
            "them as long as it is maintained, and the extension keeps it maintained.",
        ),
        "Condition: the worklist of the laboratory is promised in the contract and not after it, "
        "since the limits on failure hold for the laboratory, too.",
        status="agreed",
    )
