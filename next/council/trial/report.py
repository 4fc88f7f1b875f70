"""What a trial shows: accuracy with its interval, paired differences, what is noise, what it cost.

Only questions count that every arm has answered. The best member is chosen by the first answers
and measured by the second ones, since who is chosen and measured by the same answers looks better
than it is. Of intervals, those of accuracy are exact, those of differences bootstrapped.
"""

from __future__ import annotations

import os

import numpy
from scipy import stats

from council.councils import words
from council.kernel import files
from council.kernel.record import TYPE_CHECKING, Any
from council.trial import model
from council.trial.model import ALONE, TALKS, VOTE, Said, State

if TYPE_CHECKING:
    from council.app import App

LEVEL = 0.05
MARGIN = 0.2  # "no difference" means that one of 20 points is ruled out
ENOUGH = 20  # questions below which no difference is ruled out
SAMPLES = 4999


def compared(these: list[bool], those: list[bool], seed: int = 0) -> dict[str, Any]:
    """Return how `these` differ from `those`, question by question, and what one may call it.

    `p` is of the exact sign test, `low` and `high` are of a bootstrap over questions.
    """
    n, gains = len(these), sum(a > b for a, b in zip(these, those, strict=True))
    losses = gains - sum(these) + sum(those)
    apart, p, low, high = [gains - losses], 1.0, -1.0, 1.0
    if gains + losses:
        p = float(stats.binomtest(gains, gains + losses).pvalue)
    if n >= 2:
        rows = (numpy.array(these) * 1 - numpy.array(those) * 1,)
        drawn = numpy.random.default_rng(seed)
        found = stats.bootstrap(
            rows, numpy.mean, method="percentile", n_resamples=SAMPLES, rng=drawn
        ).confidence_interval
        low, high = float(found.low), float(found.high)
    verdict = "different" if p < LEVEL else "unclear"
    if p >= LEVEL and n >= ENOUGH and -MARGIN < low <= high < MARGIN:
        verdict = "same"
    made = {"n": n, "gains": gains, "losses": losses, "difference": apart[0] / max(1, n)}
    return {**made, "low": low, "high": high, "p": p, "verdict": verdict}


def _vote(state: State, number: int, time: int) -> Said:
    """Return the vote on a question, which costs what its voters cost; they answer side by side."""
    said = [state.single(number, time, agent) for agent in state.agents]
    text = model.plurality(state.questions[number - 1], [one.text for one in said])
    usd = [one.usd for one in said if one.usd is not None]
    tokens, ms = sum(one.tokens for one in said), max(one.ms for one in said)
    return Said(text=text, tokens=tokens, ms=ms, usd=sum(usd) if usd else None)


def figures(state: State) -> dict[str, Any]:
    """Return the figures of a trial, as far as it has come (`json.md`)."""

    def is_whole(number: int) -> bool:
        said = [state.single(number, time, a).code for time in (1, 2) for a in state.agents]
        talks = [state.talks.get(f"{arm}.{number}") for arm in TALKS if arm in state.arms]
        return all(one and one.over for one in talks) and not (state.tours() and "none" in said)

    def rights(column: list[Said]) -> list[bool]:
        return [state.right(n, one.text) for n, one in zip(numbers, column, strict=True)]

    numbers = [n for n in range(1, len(state.questions) + 1) if is_whole(n)]
    columns, noise, best = dict[str, list[Said]](), dict[str, Any](), ""
    if state.tours():
        first = {a: rights([state.single(n, 1, a) for n in numbers]) for a in state.agents}
        alone = {a: [state.single(n, 2, a) for n in numbers] for a in state.agents}
        best = max(state.agents, key=lambda agent: sum(first[agent]))
        columns = {**alone, "best": alone[best]} if ALONE in state.arms else {}
        columns[VOTE] = [_vote(state, n, 2) for n in numbers]
        votes = rights([_vote(state, n, 1) for n in numbers])
        changed = [
            a != b for who in first for a, b in zip(first[who], rights(alone[who]), strict=True)
        ]
        noise = compared(rights(columns[VOTE]), votes, state.seed)
        noise["changed"] = sum(changed) / max(1, len(changed))
    columns |= {a: [state.talks[f"{a}.{n}"] for n in numbers] for a in TALKS if a in state.arms}
    right, arms = {arm: rights(column) for arm, column in columns.items()}, []
    for arm, column in columns.items():
        count, priced = sum(right[arm]), [one.usd for one in column if one.usd is not None]
        ends = stats.binomtest(count, len(column)).proportion_ci() if column else (0.0, 1.0)
        row = {
            "arm": arm,
            "n": len(column),
            "right": count,
            "accuracy": count / max(1, len(column)),
        }
        row |= {"low": float(ends[0]), "high": float(ends[1])}
        row |= {"none": sum(not one.text for one in column)}
        each = max(1, count)
        row |= {"usd": sum(priced) / each if priced and count else None}
        row |= {"tokens": sum(one.tokens for one in column) / each if count else None}
        row |= {"seconds": sum(one.ms for one in column) / 1000 / each if count else None}
        arms.append(row)
    pairs = [
        (a, b) for a in (VOTE, *TALKS) for b in ("best", VOTE) if a != b and {a, b} <= {*columns}
    ]
    apart = [{"arm": a, "against": b, **compared(right[a], right[b], state.seed)} for a, b in pairs]
    turned = [
        {"arm": arm, "id": state.questions[n - 1].id, "right": now, "minutes": one.minutes}
        for arm in TALKS
        if {arm, VOTE} <= {*columns}
        for n, one, now, then in zip(numbers, columns[arm], right[arm], right[VOTE], strict=True)
        if now != then
    ]
    errors = sorted({one for one in state.checked.values() if one not in ("right", "wrong")})
    made = {"name": state.name, "agents": state.agents, "questions": len(state.questions)}
    made |= {"compared": len(numbers), "best": best, "over": bool(state.ended_at), "errors": errors}
    return {
        **made,
        "paused": state.paused,
        "arms": arms,
        "differences": apart,
        "noise": noise,
        "turned": turned,
    }


def text(state: State) -> str:
    """Return the report as Markdown, in the language of the workspace."""
    file, made = f"texts/trial-{state.lang}.md", figures(state)
    say = words.load(file)

    def named(row: dict[str, Any]) -> dict[str, Any]:
        own = {
            key: say.get(str(row[key]), str(row[key])) for key in ("arm", "against") if key in row
        }
        values = {
            key: f"{100 * row[key]:+.0f}" for key in ("difference", "low", "high") if key in row
        }
        if "accuracy" in row:
            values = {key: f"{100 * row[key]:.0f}" for key in ("accuracy", "low", "high")}
            dollars, tokens, seconds = (row[key] for key in ("usd", "tokens", "seconds"))
            values |= {"usd": "-" if dollars is None else f"{dollars:.4f}"}
            values |= {"tokens": f"{tokens or 0:.0f}", "seconds": f"{seconds or 0:.1f}"}
        if "p" in row:
            values |= {"p": f"{row['p']:.3f}", "verdict": say[row["verdict"]]}
        return {**row, **own, **values}

    rows = {key: [named(row) for row in made[key]] for key in ("arms", "differences", "turned")}
    values = {**made, **rows, "worse": [one for one in rows["turned"] if not one["right"]]}
    values["better"] = [one for one in rows["turned"] if one["right"]]
    noise = made["noise"] and named(made["noise"])
    values |= {"noise": noise, "changed": f"{100 * noise['changed']:.0f}" if noise else ""}
    values["part"] = made["compared"] < made["questions"]
    return words.fill(words.template(file).partition("\n====\n")[2], values)


def write(app: App, state: State) -> str:
    """Write the report of a trial and return its path; the same trial gives the same file."""
    path = f"{app.root}/trials/{state.name}.md"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    files.replace(path, text(state).encode())
    return path
