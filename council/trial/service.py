"""What the command line may do to trials: plan one, start it, pause and resume it."""

from __future__ import annotations

import os

from council.councils import opening, service
from council.kernel import codec, files, ids, times
from council.kernel.errors import Conflict, Invalid, NotFound, Refusal, Refused, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.trial import model
from council.trial.model import ALONE, ARMS, VOTE, Question, State
from council.trial.row import TRIALS

if TYPE_CHECKING:
    from council.app import App

BY_HAND = "a person paused it"
PACKS = os.path.join(os.path.dirname(__file__), "packs")
_FRAME, _SAID, _MOST = 1200, 300, 16 << 20  # tokens of a frame, of an answer; bytes of a file


def questions(path: str) -> list[Question]:
    """Return the questions of a file or pack; a row that is none is refused with its line."""
    made, hint = dict[str, Question](), "docs/trial.md shows what a row may say"
    pack = f"{PACKS}/{path}.jsonl" if ids.is_name(path) and not os.path.exists(path) else path
    if (found := files.content(os.path.realpath(pack), _MOST)) is None:
        raise NotFound("no-questions", f"no file {path}", "name a file, or known-answers")
    for at, line in enumerate(ids.checked_text(found, _MOST).split("\n"), 1):
        try:
            one = _question(codec.loads(line, "the row")) if line.strip() else None
            if one and made.setdefault(one.id, one) is not one:
                raise ValueError("its id is there twice")
        except (ValueError, Refusal) as error:
            what = ids.cut(getattr(error, "message", str(error)), 200)
            raise Invalid("bad-question", f"{path}, line {at}: {what}", hint) from None
    if made:
        return list(made.values())
    raise Invalid("bad-question", f"{path} has no questions", hint)


def _question(row: Any) -> Question:
    """Return a question from its row; a ValueError or a refusal says what is wrong."""
    known = f"an object with the keys {', '.join(Question._kinds)}"
    if not isinstance(row, dict):
        raise ValueError(f"it must be {known}")
    for key in [one for one in row if one not in Question._kinds]:
        raise ValueError(f"unknown key {key[:40]!r}; it must be {known}")
    if row.get("answer").__class__ in (int, float):
        row |= {"answer": repr(row["answer"]), "tolerance": row.get("tolerance") or 0}
    one = Question.from_json({"id": "", "question": "", **row})
    options, answer = [model.plain(text) for text in one.options], model.plain(one.answer)
    is_number, value = one.tolerance is not None, model.number(one.answer)
    wrong = {
        "id and question must not be empty": not (one.id.strip() and one.question.strip()),
        "it needs either an answer or a check": bool(one.check) == bool(answer),
        "a tolerance needs an answer that is a number": is_number and (value is None or options),
        "the answer must be one of the options": options and answer not in options,
        "options must differ": len({*options} - {""}) < len(options),
    }
    for what in filter(wrong.get, wrong):
        raise ValueError(what)
    return one


def plan(
    app: App, path: str, agents: list[str], arms: list[str], limit: int | None, seed: int | None
) -> State:
    """Return a new trial; a seed draws its order. The same parts are the same trial by name."""
    from council.agents import programs  # late: only where a trial begins

    asked, settings = questions(path), app.settings
    for arm in [one for one in arms if one not in ARMS]:
        raise Usage("bad-arm", f"no such arm: {arm[:40]}", f"use {', '.join(ARMS)}")
    of = opening.Opening(topic=path, agents=agents, procedure="deliberation")
    made = State(agents=[*opening.members(app, of)], arms=arms or [*ARMS], seed=seed or 0)
    for one in map(app.agent, made.agents):
        by_hand = "it answers by hand" * (one.driver == "manual")
        if words := programs.fault(one, app.world, app.root)[1] or by_hand:
            raise Refused("not-runnable", f"{one.id} cannot be run: {words}", "use --agents")
    if seed is not None:
        asked.sort(key=lambda one: ids.digest(f"{seed} {one.id}"))
    made.questions, made.lang = asked[: limit or None], settings.language or "en"
    stem = ids.slug(os.path.basename(path).split(".")[0], 30) or "trial"
    made.name = f"{stem}-{ids.digest(repr(made))[:6]}"
    made.backoff, made.max_usd = settings.retry_backoff, settings.limits.max_usd_per_council
    return made


def estimate(app: App, new: State) -> dict[str, Any]:
    """Return the most runs, but for further attempts, and an estimate of tokens, by arm."""
    many, count, arms = len(new.agents), len(new.questions), dict[str, dict[str, int]]()
    own = sum(len(f"{one.question}{one.options}{one.facts}") for one in new.questions) // 4 // count
    rounds = {"council": 3, "deliberation": app.settings.deliberation.max_rounds + 1}
    for arm in new.arms:
        runs = (rounds[arm] * many + 1) * count if arm in rounds else new.tours() * many
        runs *= arm != VOTE or ALONE not in new.arms  # a vote is counted from the same answers
        said = _SAID * (1 + rounds.get(arm, 0) * many // 2)  # also by others, in a prompt
        arms[arm] = {"runs": runs, "tokens": runs * (_FRAME + own + said)}
    made = {"name": new.name, "questions": count, "agents": new.agents, "arms": arms}
    return made | {key: sum(one[key] for one in arms.values()) for key in ("runs", "tokens")}


def start(app: App, new: State, max_runs: int | None, max_usd: float | None) -> None:
    """Begin a trial that keeps to its ceilings; one that is there goes on, unless paused."""
    needed = estimate(app, new)["runs"]
    if max_runs is not None and needed > max_runs:
        hint = f"allow that with --max-runs {needed}, or use --limit, --agents, --arms"
        raise Refused("too-many-runs", f"this trial may take {needed} runs", hint)
    new.max_runs = max_runs or needed + needed // 10 + 10  # some are tried again
    new.max_usd = new.max_usd if max_usd is None else max_usd
    event = {"type": "trial.opened", **new.copy(created_at=times.text(app.now)).to_json()}
    how: dict[str, Any] = {"op": "opened", "by": "person", "at": app.now, "create": True}
    if TRIALS.document(app, new.name).change(lambda _: [event], **how).state.paused:
        raise Conflict("paused", f"{new.name} is paused", f"council trial {new.name} --resume")


def steer(app: App, name: str, verb: str, runs: int | None, usd: float | None) -> list[str]:
    """Pause or resume a trial, perhaps with other ceilings; return its open conversations."""

    def decide(state: State) -> list[dict[str, Any]]:
        most = {"maxRuns": runs or state.max_runs, "maxUsd": state.max_usd if usd is None else usd}
        return [] if state.ended_at else [{"type": f"trial.{verb}d", "why": BY_HAND, **most}]

    if not TRIALS.knows(app, name):
        raise NotFound("no-trial", f"no trial {name}", f"begun are: {', '.join(TRIALS.names(app))}")
    document = TRIALS.document(app, name)
    with files.Lock(f"{document.folder}/exchange.lock"):  # nobody is about to open a conversation
        state = document.change(decide, by="person", at=app.now).state
    talks = [one for _, one in map(state.talk, state.left()) if app.is_open(one)]
    for talk in talks:
        service.steer(app, talk, verb)
    return talks
