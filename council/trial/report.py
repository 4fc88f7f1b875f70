"""What a trial shows: accuracy with its interval, paired differences, what is noise, what it cost.

Only questions count that every arm has answered. The best member is chosen by first answers and
measured by second ones, else it looks better than it is. All shares are in percent.
"""

from __future__ import annotations

import subprocess

import numpy
from scipy import stats

from council.kernel import words
from council.kernel.record import TYPE_CHECKING, Any
from council.trial import model
from council.trial.model import ALONE, TALKS, VOTE, Said, State

if TYPE_CHECKING:
    from council.app import App

LEVEL, SAMPLES, CHECK = 0.05, 4999, 10  # CHECK: seconds that a command may take
MARGIN, ENOUGH = 20, 20  # points that "no difference" rules out, if there are so many questions


def compared(these: list[bool], those: list[bool], seed: int = 0) -> dict[str, Any]:
    """Return how `these` differ from `those`: exact sign test, bootstrap, and what to call it."""
    apart = 100 * (numpy.array(these, float) - numpy.array(those, float))
    n, gains, losses = len(apart), int((apart > 0).sum()), int((apart < 0).sum())
    p = float(stats.binomtest(gains, gains + losses).pvalue) if gains + losses else 1.0
    low, high, verdict = -100.0, 100.0, "different" if p < LEVEL else "unclear"
    if n > 1:
        how = {"n_resamples": SAMPLES, "method": "percentile", "random_state": seed}
        low, high = map(float, stats.bootstrap((apart,), numpy.mean, **how).confidence_interval)
        if low == high:  # nothing to draw, since all differ alike: how rare is another question?
            rest = stats.binomtest(0, n).proportion_ci().high * (100 + abs(low))
            low, high = max(-100.0, low - rest), min(100.0, high + rest)
    if verdict == "unclear" and n >= ENOUGH and -MARGIN < low <= high < MARGIN:
        verdict = "same"
    made = {"n": n, "gains": gains, "losses": losses, "low": low, "high": high, "p": p}
    return {**made, "difference": float(apart.mean()) if n else 0.0, "verdict": verdict}


def figures(app: App, state: State) -> dict[str, Any]:
    """Return the figures of a trial, as far as it has come; commands check answers here."""
    numbers = [n for n in range(1, len(state.questions) + 1) if state.is_whole(n)]
    checked, members = dict[tuple[int, str], str](), state.agents * bool(state.tours())

    def is_right(number: int, text: str) -> bool:
        one, key = state.questions[number - 1], (number, text)
        if not (one.check and text):
            return model.is_right(one, text)
        checked[key] = checked.get(key) or _checked(app, one.check, text)
        return checked[key] == "right"

    def columns(time: int) -> dict[str, list[Said]]:
        made = {a: [state.singles[state.key(n, time, a)] for n in numbers] for a in members}
        return made | ({VOTE: [_vote(state, n, time) for n in numbers]} if members else {})

    now, before = columns(2), columns(1)
    now |= {a: [state.talks[f"{a}.{n}"] for n in numbers] for a in TALKS if a in state.arms}
    right, old = (
        {a: [is_right(*pair) for pair in zip(numbers, (s.text for s in c), strict=True)]
         for a, c in table.items()} for table in (now, before)
    )  # fmt: skip
    if best := max(members, key=lambda one: sum(old[one]), default="") * (ALONE in state.arms):
        now["best"], right["best"] = now[best], right[best]
    arms = [a for a in (*members * bool(best), "best", VOTE, *TALKS) if a in now]
    pairs = [(a, b) for a in (VOTE, *TALKS) for b in ("best", VOTE) if a != b and {a, b} <= {*now}]
    flips = [a != b for one in members for a, b in zip(right[one], old[one], strict=True)]
    return {
        **{"name": state.name, "agents": state.agents, "questions": len(state.questions)},
        **{"compared": len(numbers), "over": bool(state.ended_at), "paused": state.paused},
        **{"best": best, "arms": [{"arm": arm, **_row(now[arm], right[arm])} for arm in arms]},
        "differences": [{"arm": a, "against": b, **compared(right[a], right[b], state.seed)}
                        for a, b in pairs],
        "noise": compared(right[VOTE], old[VOTE], state.seed) if members else {},
        "changed": 100 * sum(flips) / max(1, len(flips)),
        "turned": [
            {"arm": a, "id": state.questions[numbers[at] - 1].id, "right": right[a][at],
             "minutes": now[a][at].minutes}
            for a in TALKS if {a, VOTE} <= {*now} for at in range(len(numbers))
            if right[a][at] != right[VOTE][at]
        ],
        "errors": sorted({*checked.values()} - {"right", "wrong"}),
    }  # fmt: skip


def _vote(state: State, number: int, time: int) -> Said:
    """Return the vote on a question: it costs what its voters cost, who answer side by side."""
    said = [state.singles[state.key(number, time, agent)] for agent in state.agents]
    text = model.plurality(state.questions[number - 1], [one.text for one in said])
    tokens, usd = sum(one.tokens for one in said), sum(one.usd for one in said)
    return Said(text=text, tokens=tokens, usd=usd, ms=max(one.ms for one in said))


def _row(column: list[Said], right: list[bool]) -> dict[str, Any]:
    """Return accuracy and cost of an arm; the cost is that of a right answer, None without one."""
    n, count = len(column), sum(right)
    low, high = stats.binomtest(count, n).proportion_ci() if n else (0.0, 1.0)
    spent = {key: sum(getattr(one, key) for one in column) for key in ("usd", "tokens", "ms")}
    each = {key: value / count if count else None for key, value in spent.items()}
    made: dict[str, Any] = {"n": n, "right": count, "none": sum(not one.text for one in column)}
    made |= {"accuracy": 100 * count / max(1, n), "low": 100 * float(low)}
    return {**made, "high": 100 * float(high), **each}


def _checked(app: App, argv: list[str], text: str) -> str:
    """Return what a command says of an answer: `right`, `wrong`, or what is the matter with it."""
    null, said = subprocess.DEVNULL, f"{text}\n".encode("utf-8", "replace")
    told = {"stdout": null, "stderr": null, "timeout": CHECK, "cwd": app.root, "env": app.env}
    try:
        code = subprocess.run(argv, input=said, **told).returncode  # type: ignore[call-overload]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"{argv[0]}: {error}"
    return {0: "right", 1: "wrong"}.get(code, f"{argv[0]}: exit {code}")


def text(state: State, made: dict[str, Any]) -> str:
    """Return the report with its figures as Markdown, in the language of the workspace."""
    file = f"texts/trial-{state.lang}.md"
    say, forms = words.load(file), dict[str, Any](usd="{:.4f}".format, count="{:.0f}".format)
    forms |= {"time": lambda ms: f"{ms / 1000:.1f}", "say": lambda word: say.get(word, word)}
    return words.fill(words.template(file).partition("\n====\n")[2], made, forms)
