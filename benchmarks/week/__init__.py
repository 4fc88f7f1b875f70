"""A simulated week of real use: `python -m benchmarks.week`, or `make week`.

Councils, rooms and tasks are played by real processes while the clock is set by `--now`: cron
beats, eight agents each with a fault of its own, two people, and what befalls a machine within
a week. Whatever was acknowledged is looked for afterwards; whatever stands still has to be
explained by its true cause. `agent` is the program of the agents, `machine` runs commands and
breaks things, `people` says what the two people do, `promises` checks.
"""
