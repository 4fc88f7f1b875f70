"""What the command line may do to trials: plan, start, pause and resume one."""

from __future__ import annotations

import os

from council.kernel import codec, files, ids, times
from council.kernel.errors import Conflict, Invalid, NotFound, Refusal, Refused, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.trial import model
from council.trial.model import ALONE, ARMS, TALKS, VOTE, Question, State
from council.trial.row import TRIALS

if TYPE_CHECKING:
    from council.app import App

PACKS = os.path.join(os.path.dirname(__file__), "packs")
_FRAME, _SAID = 1200, 300  # tokens around what was said in a prompt, and of an answer
_MOST_BYTES = 16 << 20


def questions(path: str) -> list[Question]:
    """Return the questions of a file, or of a pack that ships, one JSON object a line.

    Raises:
        Invalid: A row is none; its line and what is wrong with it are named (`bad-question`).
    """
    pack, made = f"{PACKS}/{path}.jsonl", dict[str, Question]()
    path = pack if ids.is_name(path) and not os.path.exists(path) else path
    with files.reported("read", path):
        found = files.read(os.path.realpath(path), _MOST_BYTES)
    if found is None:
        packs = ", ".join(sorted(one[:-6] for one in files.names(PACKS)))
        raise NotFound("no-questions", f"no file {path}", f"name a file, or a pack: {packs}")
    text = ids.checked_text(found[0], _MOST_BYTES)
    for at, line in enumerate(text.split("\n"), 1):
        try:
            one = _question(codec.loads(line, "")) if line.strip() else None
            if one and one.id in made:
                raise ValueError(f"the id {one.id!r} is there twice")
        except (ValueError, Refusal) as error:
            what = f"{path}, line {at}: {ids.cut(getattr(error, 'message', str(error)), 200)}"
            raise Invalid("bad-question", what, "docs/trial.md has the form of a row") from None
        made |= {one.id: one} if one else {}
    if not made:
        raise Invalid("bad-question", f"{path} has no questions", "give one JSON object a line")
    return list(made.values())


def _question(row: Any) -> Question:
    """Return a question from its row; a ValueError or a refusal says what is wrong."""
    if not isinstance(row, dict) or {*row} - {*Question._kinds}:
        raise ValueError(f"its keys can be {', '.join(Question._kinds)}")
    answer = row.get("answer")
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        row = {**row, "answer": repr(answer), "tolerance": row.get("tolerance") or 0}
    one = Question.from_json({"id": "", "question": "", **row})
    if not (one.id.strip() and one.question.strip()):
        raise ValueError("id and question must be texts that are not empty")
    if bool(one.check) == bool(model.plain(one.answer)):
        raise ValueError("it needs an answer or a check, and not both")
    value, options = model.number(one.answer), [model.plain(text) for text in one.options]
    if one.tolerance is not None and (value is None or one.tolerance < 0 or options):
        raise ValueError("tolerance goes with an answer that is a number")
    if "" in options or len({*options}) < len(options):
        raise ValueError("options must differ and must not be empty")
    if options and (one.check or model.plain(one.answer) not in options):
        raise ValueError("the answer must be one of the options")
    return one


def plan(
    app: App, path: str, agents: list[str], arms: list[str], limit: int | None = None,
    seed: int | None = None,
) -> State:  # fmt: skip
    """Return a new trial, not yet started. A seed draws the order and, with `limit`, the questions.

    Raises:
        Usage: An arm is none, or too few agents take part.
        NotFound: An agent is not one of the workspace.
        Refused: An agent cannot be run.
    """
    from council.agents import programs, souls  # late: only where a trial begins

    known, asked = souls.agents(app.root, app.settings), questions(path)
    arms, chosen = [one for one in ARMS if one in (arms or ARMS)], agents or list(known)
    chosen = list(dict.fromkeys(chosen))
    if unknown := sorted({*arms} ^ {*arms, *(one for one in chosen if one not in known)}):
        hint = f"agents are: {', '.join(known) or 'none yet'}"
        raise NotFound("no-agent", f"no agent {unknown[0][:64]!r}", hint)
    if len(chosen) < 2:
        raise Usage("too-few", "a trial needs two agents", "council agent add ID")
    for one in [app.settings.agent(one, app.soul(one)) for one in chosen]:
        code, words = programs.fault(one, app.world, app.root)
        if code or one.driver == "manual":
            what = f"{one.id} cannot be run: {words or 'it answers by hand'}"
            raise Refused("not-runnable", what, "choose others with --agents, or council doctor")
    if seed is not None:
        asked.sort(key=lambda one: ids.digest(f"{seed} {one.id}"))
    asked = asked[: limit or None]
    count, rounds = len(chosen), app.settings.deliberation.max_rounds
    most = {"council": 3 * count + 1, "deliberation": (rounds + 1) * count + 1}
    bound = app.settings.limits.max_runs_per_council
    made = State(agents=chosen, arms=arms, questions=asked, seed=seed or 0)
    made.most = {arm: min(one, bound or one) for arm, one in most.items()}
    made.backoff, made.lang = app.settings.retry_backoff, app.settings.language or "en"
    whole = codec.encoded([one.to_json() for one in asked]) + repr((chosen, arms, seed)).encode()
    stem = ids.slug(os.path.splitext(os.path.basename(path))[0], 40) or "trial"
    made.name = f"{stem}-{ids.digest(whole)[:6]}"
    return made


def estimate(state: State) -> dict[str, dict[str, int]]:
    """Return the most runs and an estimate of their tokens, by arm; without runs tried again."""
    count, made = len(state.agents), dict[str, dict[str, int]]()
    asked = sum(len(f"{one.question}{one.options}{one.facts}") // 4 for one in state.questions)
    singles, total = state.tours() * count, len(state.questions)
    for arm in state.arms:
        runs = state.most[arm] * total if arm in TALKS else singles * (arm == ALONE)
        if arm == VOTE and ALONE not in state.arms:
            runs = singles
        each = _FRAME // 4 if arm not in TALKS else _FRAME + state.most[arm] // 2 * _SAID
        tokens = runs * (each + _SAID) + runs * asked // total
        made[arm] = {"runs": runs, "tokens": tokens}
    return made


def start(app: App, new: State, max_runs: int | None, max_usd: float | None) -> str:
    """Begin a trial and return its name; one that is there already goes on as it is.

    Raises:
        Refused: It could take more runs than it may (`too-many-runs`), or scipy is missing.
        Conflict: It is paused.
    """
    _check_extra()
    needed = sum(one["runs"] for one in estimate(new).values())
    if max_runs is not None and needed > max_runs:
        hint = f"--max-runs {needed}, or fewer with --limit, --agents, --arms"
        raise Refused("too-many-runs", f"it may take {needed} runs", hint)
    new.max_runs = max_runs or needed + max(10, needed // 10)  # some are tried again
    new.max_usd = app.settings.limits.max_usd_per_council if max_usd is None else max_usd
    if TRIALS.knows(app, new.name):
        if TRIALS.document(app, new.name).peek().paused:
            hint = f"council trial {new.name} --resume"
            raise Conflict("paused", f"{new.name} has begun and is paused", hint)
        return new.name
    new.created_at = times.text(app.now)
    event = {"type": "trial.opened", **new.to_json()}
    TRIALS.document(app, new.name).change(
        lambda state: [] if state.created_at else [event], by="person", at=app.now, create=True
    )
    return new.name


def find(app: App, which: str) -> str:
    """Return the name of the trial that a name, or the file of its questions, means.

    Raises:
        NotFound: There is none, or it is not clear which.
    """
    stem = ids.slug(os.path.splitext(os.path.basename(which))[0], 40)
    open_ = TRIALS.names(app)
    found = [one for one in open_ if one == which or one.rpartition("-")[0] == stem]
    if len(found) == 1 or TRIALS.knows(app, which):
        return found[0] if len(found) == 1 else which
    hint = f"open are: {', '.join(open_)}" if open_ else "council trial FILE starts one"
    raise NotFound(
        "no-trial", f"{'several trials fit' if found else 'no trial fits'} {which!r}", hint
    )


def steer(
    app: App, name: str, verb: str, max_runs: int | None = None, max_usd: float | None = None
) -> None:
    """Pause a trial and its conversations, or resume them, perhaps with other ceilings."""
    from council.councils import service  # late: only here

    if verb == "resume":
        _check_extra()

    def decide(state: State) -> list[dict[str, Any]]:
        most = {"maxRuns": max_runs or state.max_runs}
        most["maxUsd"] = state.max_usd if max_usd is None else max_usd  # type: ignore[assignment]
        resumed = {"type": "trial.resumed", **most}
        return [resumed if verb == "resume" else {"type": "trial.paused", "why": "paused"}]

    document = TRIALS.document(app, name)
    if document.peek().ended_at:
        return
    state = document.change(decide, by="person", at=app.now).state
    for talk in [one for one in state.talks.values() if not one.over and app.is_open(one.name)]:
        service.steer(app, talk.name, verb)


def _check_extra() -> None:
    """Refuse where scipy is missing: a trial costs much, and its report needs intervals."""
    from importlib.util import find_spec  # late: only here

    if find_spec("scipy") is None:
        hint = "install it: pip install 'council-files[trial]'"
        raise Refused("no-extra", "a trial needs the Python package scipy", hint)
