"""Reckons when each option would be finished and holds it against the dates of the brief."""

from __future__ import annotations

from datetime import timedelta

from reading import PHASE, Figures, prompt, quote, speak

seen = prompt()
figures = Figures(seen)
in_time = [one for one in figures.options if figures.done(one) <= figures.ends]


def expected_delay(option: str) -> float:
    return sum(chance * weeks for _, chance, _, weeks in figures.risks[option])


best = min(in_time, key=lambda one: (figures.done(one), expected_delay(one)))
rows = "\n".join(
    f"- {one}: {figures.weeks[one]} weeks, finished on {figures.done(one)}, "
    f"{expected_delay(one):.1f} weeks of delay to be expected"
    for one in figures.options
)

if PHASE == "COLLECT":
    speak(
        f"Position: option {best}, because it is finished on {figures.done(best)}, before the "
        f"maintenance ends on {figures.ends}, and has the least delay to fear.",
        f"All start on {figures.start}:\n\n{rows}",
        "A plan that ends after the maintenance is no plan but a hope. I look at dates alone; "
        "whoever shows me that the date can be moved moves me with it.",
    )
elif PHASE == "CHALLENGE":
    points, blocker = [], ""
    for one in seen.others("COLLECT"):
        if one.option and one.option not in in_time:
            days = (figures.done(one.option) - figures.ends).days
            points.append(
                quote(
                    one.agent,
                    one.line("Position: "),
                    f"And when? {figures.weeks[one.option]} weeks from {figures.start} are over on "
                    f"{figures.done(one.option)}. That is {days} days after the end of the "
                    "maintenance, and these days are not in your account.",
                )
            )
            blocker = (
                f"BLOCKING: option {one.option} is finished {days} days after the maintenance of "
                "the old system ends, and no extension is planned"
            )
    speak(*points, blocker)
else:
    wanted = [one.option for one in seen.others("COLLECT") if one.option]
    most = max(sorted(set(wanted)), key=wanted.count)
    extended = (figures.ends.replace(day=1) + timedelta(days=93)).replace(day=1) + timedelta(29)
    worst = figures.done(most, late=True)
    if worst <= extended:
        supporter = next(one for one in seen.others("COLLECT") if one.option == most)
        speak(
            f"Position: option {most} instead of {best}, on the condition that the extension of "
            f"the old system is ordered by {figures.order_by}.",
            quote(
                supporter.agent,
                supporter.line("Position: "),
                f"With the extension the old system lasts until {extended}. Even if every risk of "
                f"option {most} comes true, all three houses have moved by {worst}. My blocker is "
                "answered by the brief itself, and I withdraw it; without the order it stands "
                "again.",
            ),
            f"Condition: the extension is ordered by {figures.order_by}; after that day there is "
            "none.",
            status="agreed",
        )
    else:
        speak(f"Position: option {best}. No extension makes option {most} end in time.")
