"""What a trial shows: accuracy with its interval, paired differences, what is noise, what it cost.

Only questions count that every arm has answered. The best member is chosen by first answers and
measured by second ones: who is chosen and measured by the same answers looks better than it is.
Intervals of accuracy are exact, those of differences are bootstrapped. All shares are in percent.
"""

from __future__ import annotations

import os
import subprocess

import numpy
from scipy import stats

from council.councils import words
from council.kernel import files
from council.kernel.record import TYPE_CHECKING, Any
from council.trial import model
from council.trial.model import ALONE, TALKS, VOTE, Said, State

if TYPE_CHECKING:
    from council.app import App

LEVEL, SAMPLES, CHECK = 0.05, 4999, 10  # CHECK: seconds that a command may take
MARGIN = 20  # "no difference" means that one of so many points is ruled out
ENOUGH = 20  # questions below which none is ruled out
Column = list[Said]


def compared(these: list[bool], those: list[bool], seed: int = 0) -> dict[str, Any]:
    """Return how `these` differ from `those`, question by question, and what one may call it.

    `p` is of the exact sign test, `low` and `high` are of a bootstrap over questions.
    """
    apart = 100 * (numpy.array(these, float) - numpy.array(those, float))
    n, gains, losses = len(apart), int((apart > 0).sum()), int((apart < 0).sum())
    p = float(stats.binomtest(gains, gains + losses).pvalue) if gains + losses else 1.0
    low, high, verdict = -100.0, 100.0, "different" if p < LEVEL else "unclear"
    if n > 1:
        how = {"n_resamples": SAMPLES, "method": "percentile", "random_state": seed}
        low, high = map(float, stats.bootstrap((apart,), numpy.mean, **how).confidence_interval)
    if verdict == "unclear" and n >= ENOUGH and -MARGIN < low <= high < MARGIN:
        verdict = "same"
    made = {"n": n, "gains": gains, "losses": losses, "low": low, "high": high, "p": p}
    return {**made, "difference": float(apart.mean()) if n else 0.0, "verdict": verdict}


def _columns(state: State) -> tuple[list[int], dict[str, Column], dict[str, Column]]:
    """Return the numbers of whole questions, what each arm said to them, and before that."""
    numbers, now, before = list[int](), dict[str, Column](), dict[str, Column]()
    for n, one in enumerate(state.questions, 1):
        rows = [{a: state.single(n, t, a) for a in state.agents} for t in (1, 2) if state.tours()]
        talks = {arm: state.talks.get(f"{arm}.{n}") for arm in TALKS if arm in state.arms}
        if not all(
            [*(s for row in rows for s in row.values()), *(t and t.over for t in talks.values())]
        ):
            continue
        numbers.append(n)
        for row, table in [*zip(rows, (before, now)), (talks, now)]:
            said = [s for s in row.values() if s]
            if row is not talks:  # voters answer side by side
                vote = Said(
                    text=model.plurality(one, [s.text for s in said]), ms=max(s.ms for s in said)
                )
                row[VOTE] = vote.copy(
                    tokens=sum(s.tokens for s in said), usd=sum(s.usd or 0 for s in said)
                )
            for arm, s in row.items():
                table.setdefault(arm, []).append(s)
    return numbers, now, before


def _checked(app: App, argv: list[str], text: str) -> str:
    """Return what a command says of an answer: `right`, `wrong`, or what is the matter with it."""
    env = {key: one for key, one in app.env.items() if not key.startswith("COUNCIL_")}
    null, said = subprocess.DEVNULL, f"{text}\n".encode("utf-8", "replace")
    try:
        done = subprocess.run(
            argv, input=said, cwd=app.root, env=env, timeout=CHECK, stdout=null, stderr=null
        )
    except subprocess.TimeoutExpired:
        return f"{argv[0]} took longer than {CHECK} seconds"
    except (OSError, ValueError) as error:
        return f"{argv[0]}: {error}"
    return {0: "right", 1: "wrong"}.get(done.returncode, f"{argv[0]}: exit {done.returncode}")


def figures(app: App, state: State) -> dict[str, Any]:
    """Return the figures of a trial, as far as it has come; answers are checked by commands here."""
    numbers, now, before = _columns(state)
    checked = dict[tuple[int, str], str]()

    def is_right(number: int, text: str) -> bool:
        one, key = state.questions[number - 1], (number, text)
        if not (one.check and text):
            return model.is_right(one, text)
        checked[key] = checked.get(key) or _checked(app, one.check, text)
        return checked[key] == "right"

    def rights(column: Column) -> list[bool]:
        return [is_right(n, said.text) for n, said in zip(numbers, column, strict=True)]

    right, old = {a: rights(c) for a, c in now.items()}, {a: rights(c) for a, c in before.items()}
    members = [agent for agent in state.agents if agent in old]
    best = max(members, key=lambda one: sum(old[one]), default="") if ALONE in state.arms else ""
    if best:
        now["best"], right["best"] = now[best], right[best]
    arms = [arm for arm in (*state.agents, "best", VOTE, *TALKS) if arm in now]
    arms = [arm for arm in arms if best or arm not in members]
    pairs = [(a, b) for a in (VOTE, *TALKS) for b in ("best", VOTE) if a != b and {a, b} <= {*now}]
    flips = [a != b for one in members for a, b in zip(right[one], old[one], strict=True)]
    talks = [arm for arm in TALKS if arm in now and VOTE in now]
    return {
        **{"name": state.name, "agents": state.agents, "questions": len(state.questions)},
        **{"compared": len(numbers), "over": bool(state.ended_at), "paused": state.paused},
        **{"best": best, "arms": [{"arm": arm, **_row(now[arm], right[arm])} for arm in arms]},
        "differences": [
            {"arm": a, "against": b, **compared(right[a], right[b], state.seed)} for a, b in pairs
        ],
        "noise": compared(right[VOTE], old[VOTE], state.seed) if old else {},
        "changed": 100 * sum(flips) / max(1, len(flips)),
        "turned": [
            {"arm": arm, "id": state.questions[n - 1].id, "right": right[arm][at]}
            | {"minutes": getattr(now[arm][at], "minutes", "")}
            for arm in talks
            for at, n in enumerate(numbers)
            if right[arm][at] != right[VOTE][at]
        ],
        "errors": sorted({*checked.values()} - {"right", "wrong"}),
    }


def _row(column: Column, right: list[bool]) -> dict[str, Any]:
    """Return accuracy and cost of an arm; the cost is that of a right answer, None without one."""
    n, count = len(column), sum(right)
    ends = stats.binomtest(count, n).proportion_ci()
    spent = {"usd": sum(s.usd or 0 for s in column), "tokens": sum(s.tokens for s in column)}
    spent["seconds"] = sum(s.ms for s in column) / 1000
    made: dict[str, Any] = {"n": n, "right": count, "none": sum(not s.text for s in column)}
    made |= {"accuracy": 100 * count / n, "low": 100 * float(ends[0]), "high": 100 * float(ends[1])}
    return made | {key: value / count if count else None for key, value in spent.items()}


def text(state: State, made: dict[str, Any]) -> str:
    """Return the report with its figures as Markdown, in the language of the workspace."""
    file = f"texts/trial-{state.lang}.md"
    say, forms = words.load(file), {"usd": "{:.4f}".format, "count": "{:.0f}".format}
    forms |= {"time": "{:.1f}".format, "say": lambda word: say.get(word, word)}
    turned, more = made["turned"], {"part": made["compared"] < made["questions"]}
    more |= {"worse": [one for one in turned if not one["right"]]}
    more |= {"better": [one for one in turned if one["right"]]}
    return words.fill(words.template(file).partition("\n====\n")[2], {**made, **more}, forms)


def write(app: App, state: State) -> str:
    """Write the report of a trial and return its path; the same trial gives the same file."""
    path = f"{app.root}/trials/{state.name}.md"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    files.replace(path, text(state, figures(app, state)).encode())
    return path
