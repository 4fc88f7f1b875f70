"""What the command line may do to trials: plan one, start it, pause and resume it."""

from __future__ import annotations

import os

from council.kernel import codec, files, ids, times
from council.kernel.errors import Conflict, Invalid, NotFound, Refusal, Refused, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.trial import model
from council.trial.model import ALONE, ARMS, VOTE, Question, State
from council.trial.row import TRIALS

if TYPE_CHECKING:
    from council.app import App

PACKS = os.path.join(os.path.dirname(__file__), "packs")
_FRAME, _SAID, _MOST_BYTES = 1200, 300, 16 << 20  # tokens of a frame, of an answer; of a file


def questions(path: str) -> list[Question]:
    """Return the questions of a file, or of a pack that ships: one JSON object a line.

    Raises:
        Invalid: A row is none; its line and what is wrong with it are named (`bad-question`).
        NotFound: There is no such file.
    """
    path = f"{PACKS}/{path}.jsonl" if ids.is_name(path) and not os.path.exists(path) else path
    made = dict[str, Question]()
    with files.reported("read", path):
        if (found := files.read(os.path.realpath(path), _MOST_BYTES)) is None:
            packs = ", ".join(sorted(one.removesuffix(".jsonl") for one in files.names(PACKS)))
            raise NotFound("no-questions", f"no file {path}", f"name a file, or a pack: {packs}")
    for at, line in enumerate(ids.checked_text(found[0], _MOST_BYTES).split("\n"), 1):
        try:
            one = _question(codec.loads(line, "the row")) if line.strip() else None
        except (ValueError, Refusal) as error:
            what = ids.cut(getattr(error, "message", str(error)), 200)
            hint = "docs/trial.md shows what a row may say"
            raise Invalid("bad-question", f"{path}, line {at}: {what}", hint) from None
        if one and made.setdefault(one.id, one) is not one:
            raise Invalid("bad-question", f"{path}, line {at}: the id {one.id!r} is there twice")
    if not made:
        raise Invalid("bad-question", f"{path} has no questions", "write one JSON object a line")
    return list(made.values())


def _question(row: Any) -> Question:
    """Return a question from its row; a ValueError or a refusal says what is wrong."""
    if not isinstance(row, dict) or {*row} - {*Question._kinds}:
        raise ValueError(f"it must be an object with the keys {', '.join(Question._kinds)}")
    if type(row.get("answer")) in (int, float):
        row |= {"answer": repr(row["answer"]), "tolerance": row.get("tolerance") or 0}
    one = Question.from_json({"id": "", "question": "", **row})
    options, answer = [model.plain(text) for text in one.options], model.plain(one.answer)
    is_number = one.tolerance is None or (model.number(answer) is not None and one.tolerance >= 0)
    wrong = {
        "id and question must not be empty": not (one.id.strip() and one.question.strip()),
        "it needs either an answer or a check": bool(one.check) == bool(answer),
        "the answer must be one of the options": options and answer not in options,
        "options must differ": len({*options} - {""}) < len(options),
        "a tolerance needs an answer that is a number, without options": not is_number
        or (options and one.tolerance is not None),
    }
    if faults := [what for what, is_wrong in wrong.items() if is_wrong]:
        raise ValueError(faults[0])
    return one


def plan(
    app: App, path: str, agents: list[str], arms: list[str], limit: int | None, seed: int | None
) -> State:
    """Return a new trial, not yet started. A seed draws the order and, with `limit`, the questions.

    Raises:
        Usage: An arm is none, or fewer than two agents take part.
        NotFound: An agent is not one of the workspace.
        Refused: An agent cannot be run (`not-runnable`).
    """
    from council.agents import programs, souls  # late: only where a trial begins

    asked, known = questions(path), souls.agents(app.root, app.settings)
    chosen, arms = list(dict.fromkeys(agents)) or list(known), arms or list(ARMS)
    if unknown := [arm for arm in arms if arm not in ARMS]:
        raise Usage("bad-arm", f"no such arm: {unknown[0][:40]}", f"use {', '.join(ARMS)}")
    if unknown := [one for one in chosen if one not in known]:
        hint = f"agents are: {', '.join(known) or 'none yet'}"
        raise NotFound("no-agent", f"no agent {unknown[0][:64]!r}", hint)
    if len(chosen) < 2:
        raise Usage("too-few", "a trial needs two agents", "council agent add ID")
    for one in map(known.__getitem__, chosen):
        by_hand = "it answers by hand" * (one.driver == "manual")
        if words := programs.fault(one, app.world, app.root)[1] or by_hand:
            hint = "choose others with --agents, or ask council doctor"
            raise Refused("not-runnable", f"{one.id} cannot be run: {words}", hint)
    if seed is not None:
        asked.sort(key=lambda one: ids.digest(f"{seed} {one.id}"))
    made = State(agents=chosen, arms=arms, questions=asked[: limit or None], seed=seed or 0)
    many, settings = len(chosen), app.settings
    most = {
        "council": 3 * many + 1,
        "deliberation": (settings.deliberation.max_rounds + 1) * many + 1,
    }
    bound = settings.limits.max_runs_per_council or 10_000
    made.most = {arm: min(one, bound) for arm, one in most.items()}
    made.backoff, made.lang = settings.retry_backoff, settings.language or "en"
    made.name = f"{_stem(path)}-{ids.digest(repr(made))[:6]}"
    made.max_usd = settings.limits.max_usd_per_council
    return made


def estimate(new: State) -> dict[str, Any]:
    """Return the most runs that a trial takes and an estimate of its tokens, by arm and in all.

    A run that is tried again, and an answer that is asked about, come on top.
    """
    count, arms = len(new.questions), dict[str, dict[str, int]]()
    each = (
        sum(len(f"{one.question}{one.options}{one.facts}") for one in new.questions) // 4 // count
    )
    for arm in new.arms:
        is_free = arm == VOTE and ALONE in new.arms  # it is counted from the same answers
        runs = new.most.get(arm, 0) * count or new.tours() * len(new.agents) * (not is_free)
        said = _SAID * new.most.get(arm, 0) // 2  # by others, in a prompt
        arms[arm] = {"runs": runs, "tokens": runs * (_FRAME + each + said + _SAID)}
    total = {key: sum(one[key] for one in arms.values()) for key in ("runs", "tokens")}
    return {
        "name": new.name,
        "questions": count,
        "agents": new.agents,
        "arms": arms,
        "total": total,
    }


def start(app: App, new: State, max_runs: int | None, max_usd: float | None) -> str:
    """Begin a trial and return its name; one that is there already goes on as it is.

    Raises:
        Refused: It may take more runs than are allowed (`too-many-runs`), or scipy is missing.
        Conflict: It is paused.
    """
    _check_extra()
    needed = estimate(new)["total"]["runs"]
    if max_runs is not None and needed > max_runs:
        hint = f"allow that with --max-runs {needed}, or use --limit, --agents, --arms"
        raise Refused("too-many-runs", f"this trial may take {needed} runs", hint)
    if not TRIALS.knows(app, new.name):
        new.max_runs = max_runs or needed + needed // 10 + 10  # some are tried again
        new.max_usd = new.max_usd if max_usd is None else max_usd
        opened = {"type": "trial.opened", **new.copy(created_at=times.text(app.now)).to_json()}
        TRIALS.document(app, new.name).change(
            lambda now: [] if now.created_at else [opened], by="person", at=app.now, create=True
        )
    elif TRIALS.peek(app, new.name).paused:
        hint = f"council trial {new.name} --resume"
        raise Conflict("paused", f"{new.name} has begun and is paused", hint)
    return new.name


def resume(app: App, which: str, max_runs: int | None, max_usd: float | None) -> str:
    """Continue the open trial of a name or of a file of questions, perhaps with other ceilings."""
    _check_extra()
    stem, names = _stem(which), TRIALS.names(app)
    found = [one for one in names if which == one or stem == one.rpartition("-")[0]]
    if len(found) != 1:
        hint = f"open are: {', '.join(names) or 'none'}"
        raise NotFound("no-trial", f"{len(found)} open trials fit {which[:80]!r}", hint)
    steer(app, found[0], "resume", max_runs, max_usd)
    return found[0]


def steer(
    app: App, name: str, verb: str, max_runs: int | None = None, max_usd: float | None = None
) -> list[str]:
    """Pause or resume a trial and its conversations; return the names of these."""
    from council.councils import service  # late: only here

    def decide(state: State) -> list[dict[str, Any]]:
        usd = state.max_usd if max_usd is None else max_usd
        more = {"why": "paused", "maxRuns": max_runs or state.max_runs, "maxUsd": usd}
        return [{"type": f"trial.{verb}d", **more}]

    state = TRIALS.document(app, name).change(decide, by="person", at=app.now).state
    open_ = [one.name for one in state.talks.values() if not one.over and app.is_open(one.name)]
    for one in open_:
        service.steer(app, one, verb)
    return open_


def _stem(path: str) -> str:
    return ids.slug(os.path.basename(path).split(".")[0], 40) or "trial"


def _check_extra() -> None:
    """Refuse where scipy is missing: a trial is dear, and its report needs intervals."""
    from importlib.util import find_spec  # late: only here

    if find_spec("scipy") is None:
        hint = "install it: pip install 'council-files[trial]'"
        raise Refused("no-extra", "a trial needs the Python package scipy", hint)
