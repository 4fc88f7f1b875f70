"""What a trial finds, by arithmetic: scripted members of known error rates, without processes."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from council.councils import decisions, kind, prompts, views
from council.councils.model import Participant
from council.kernel.errors import Refusal
from council.runs import work
from council.runs.drivers import Output
from council.trial import model, report, service
from council.trial.model import Question, State
from council.trial.row import TRIALS
from tests.vectors.rows import tables_of

MADE = tables_of("trial")
NOW = datetime(2026, 11, 28, 9, tzinfo=UTC)
APP = SimpleNamespace(root="/", env={"PATH": "/usr/bin:/bin"})
SOURCE = Path(__file__).parents[2]
RATES = {"ada": 0.6, "bea": 0.7, "cy": 0.65}
A, B, C = RATES.values()
VOTES = A * B * C + A * B * (1 - C) + A * (1 - B) * C + (1 - A) * B * C
SEEDS, SIZE = range(1, 21), 80
# How often talk turns a right vote wrong, and a wrong one right.
SAME, BETTER = (0.06, 0.06 * VOTES / (1 - VOTES)), (0.01, (0.2 + 0.01 * VOTES) / (1 - VOTES))


def folded(state: State, *events: model.Event) -> None:
    for event in events:
        model.evolve(state, json.loads(json.dumps(event)))
    while more := model.due(state, NOW):
        for event in more:
            model.evolve(state, event)


def played(seed: int, size: int = SIZE) -> State:
    """Return a trial as its row would play it, with members that err at their rates."""
    draw, state = Random(seed), State()
    asked = [Question(id=f"q{n}", question="?", answer="yes", options=["yes", "no"])
             for n in range(size)]  # fmt: skip
    new = State(name="t", agents=list(RATES), arms=list(model.ARMS), questions=asked, seed=seed)
    new = new.copy(max_runs=9999, created_at="2026-11-28T09:00:00Z")
    folded(state, {"type": "trial.opened", **new.to_json()})
    while todo := model.work(state, NOW):
        for one in todo:
            folded(state, work.claimed(one, "t", NOW, timedelta(minutes=1)))
            text = "ANSWER: yes" if draw.random() < RATES[one.agent] else "**Answer:** No."
            run = state.runs.by_id[one.ident("t")]
            folded(state, *TRIALS.handed_in(None, state, run, Output(text=text), NOW))  # type: ignore
    assert not state.ended_at
    assert len(state.singles) == state.runs.count == 2 * size * len(RATES)
    for key in state.left():
        arm, number = key.split(".")
        said = [state.singles[state.key(int(number), 2, one)].text for one in RATES]
        vote = model.plurality(asked[0], said) == "yes"
        down, up = {"council": SAME, "deliberation": BETTER}[arm]
        right = draw.random() > down if vote else draw.random() < up
        folded(state, {"type": "trial.talked", "key": key, "text": "yes" if right else "no",
                       "runs": 1, "minutes": f"{key}.md"})  # fmt: skip
    assert state.ended_at
    return state


@pytest.fixture(scope="module")
def found() -> list[dict[str, object]]:
    return [report.figures(APP, played(seed)) for seed in SEEDS]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arm", "rate"),
    [*RATES.items(), ("vote", VOTES), ("council", VOTES), ("deliberation", VOTES + 0.2)],
)
def test_the_interval_holds_what_arithmetic_says(found, arm, rate):
    rows = [row for one in found for row in one["arms"] if row["arm"] == arm]
    assert [row["n"] for row in rows] == [SIZE] * 20
    assert sum(row["low"] <= 100 * rate <= row["high"] for row in rows) >= 17


@pytest.mark.slow
@pytest.mark.parametrize(("arm", "verdict"), [("council", "same"), ("deliberation", "different")])
def test_an_effect_is_called_one_and_none_is_not(found, arm, verdict):
    rows = [row for one in found for row in one["differences"]]
    said = [row["verdict"] for row in rows if (row["arm"], row["against"]) == (arm, "vote")]
    assert said.count(verdict) >= 18


@pytest.mark.slow
def test_the_best_member_is_not_measured_by_the_answers_it_is_chosen_by(found):
    rows = [{row["arm"]: row["accuracy"] for row in one["arms"]} for one in found]
    chosen = [one["best"] for one in found]
    assert [row["best"] for row in rows] == [row[b] for row, b in zip(rows, chosen, strict=True)]
    assert sum(row["best"] for row in rows) / 20 < 100 * B + 3
    assert all(-30 < one["noise"]["difference"] < 30 and one["changed"] > 30 for one in found)


def test_with_few_questions_nothing_is_called_equal():
    assert report.compared([True] * 19, [True] * 19)["verdict"] == "unclear"
    assert report.compared([True] * 20, [True] * 20)["verdict"] == "same"
    assert report.compared([True] * 6, [False] * 6)["verdict"] == "different"
    assert report.compared([], [])["verdict"] == "unclear"
    alike = report.compared([True] * 20, [False] * 20)  # exact: 1 - 0.025 ** (1 / 20) = 16.8 %
    assert (round(alike["low"], 1), alike["high"]) == (66.3, 100)


def test_a_report_names_where_talk_changed_the_vote():
    state = played(1, 20)
    made = report.figures(APP, state)  # type: ignore[arg-type]
    for lang in ("en", "fr"):
        text = report.text(state.copy(lang=lang), made)
        assert all(one["minutes"] in text and one["id"] in text for one in made["turned"])
        assert made["turned"]
        assert "{" not in text


def test_a_ceiling_pauses_and_a_lost_answer_is_none():
    state = State()
    one = Question(id="q", question="?", answer="1", tolerance=0)
    new = State(name="t", agents=["ada", "bea"], arms=["alone"], questions=[one], max_runs=3)
    folded(state, {"type": "trial.opened", **new.to_json(), "createdAt": "2026-11-28T09:00:00Z"})
    for _ in range(3):
        work_ = model.work(state, NOW)[0]
        folded(state, work.claimed(work_, "t", NOW, timedelta(minutes=1)))
        folded(state, work.failed(work_.ident("t"), "2026-11-28T09:00:00Z", "refused-key", "no"))
    assert state.paused.startswith("the ceiling of 3 runs")
    assert model.work(state, NOW) == []
    folded(state, {"type": "trial.resumed", "maxRuns": 4, "maxUsd": 0.0})
    assert [one.agent for one in model.work(state, NOW)] == ["bea"]
    assert [said.text for said in state.singles.values()] == ["", "", ""]


@pytest.mark.parametrize("name", MADE["questions"])
def test_an_answer_is_read_and_judged(name):
    group = MADE["questions"][name]
    one = Question(id="n", question="?", **group["question"])
    for text, right in group["rows"]:
        assert model.is_right(one, model.answer_in(text, one)) is right, text


def test_a_tie_is_no_decision():
    named = Question(id="o", question="?", answer="Elm", options=["Elm", "Elm tree", "Fir"])
    assert model.plurality(named, ["Elm", "fir", "FIR."]) == "fir"
    assert model.plurality(named, ["Elm", "Fir", ""]) == ""


@pytest.mark.parametrize(("row", "told"), MADE["bad-rows"])
def test_a_bad_row_is_named_before_anything_runs(tmp_path, row, told):
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "a", "question": "?", "answer": 3}\n' + row + "\n\n")
    with pytest.raises(Refusal) as refused:
        service.questions(str(path))
    assert f"{path}, {told}" in refused.value.message


def test_what_a_command_says_of_an_answer():
    many = [["grep", "-q", "7"], ["sh", "-c", "exit 3"], ["/nowhere"]]
    asked = [Question(id=str(n), question="?", check=one) for n, one in enumerate(many)]
    state = State(agents=["a", "b"], arms=["council"], questions=asked)
    state.talks = {f"council.{n}": model.Said(text="17") for n in (1, 2, 3)}
    made = report.figures(APP, state)  # type: ignore[arg-type]
    assert (made["arms"][0]["right"], made["arms"][0]["n"]) == (1, 3)
    assert [one.split(":")[0] for one in made["errors"]] == ["/nowhere", "sh"]


def test_what_one_member_alone_knows_is_told_to_it_alone():
    state, two = kind.new(), {"ada": Participant(), "bea": Participant()}
    new = state.copy(topic="Elm?", participants=two, private={"ada": "Elm is ill."})
    for event in decisions.opened(state, new, at=NOW):
        kind.evolve(state, event)
    assert "Elm is ill." in prompts.prompt(state, "ada", "contribution")
    shown = [prompts.prompt(state, "bea", "contribution"), kind.render(state)]
    assert "Elm is ill." not in "".join([*shown, str(views.shown(state))])


def test_the_packs_are_made_anew_by_their_seed(tmp_path):
    subprocess.run([sys.executable, SOURCE / "tools/packs", "--out", tmp_path], check=True)
    for name in ("hidden-profile", "known-answers"):
        made = (tmp_path / f"{name}.jsonl").read_bytes()
        assert made == Path(f"{service.PACKS}/{name}.jsonl").read_bytes()
        assert len(service.questions(name)) == 40


def test_a_hidden_profile_misleads_every_seat_and_nobody_together():
    for one in service.questions("hidden-profile"):
        shared = one.question.partition("Everyone knows this: ")[2]

        def best(*facts: str, shared=shared, one=one) -> list[str]:
            lines = [*(line for line in shared.split(".") if line.strip()), *facts]
            points = dict.fromkeys(one.options, 0)
            for line in lines:
                name, _, fact = line.strip(" .").partition(" ")
                points[name] += 1 if fact in PACKS.GOOD else -1
                assert fact in PACKS.GOOD + PACKS.BAD
            return [name for name, sum_ in points.items() if sum_ == max(points.values())]

        alone = [best(*seat) for seat in one.facts]
        assert all(len(seen) == 1 and seen != [one.answer] for seen in alone)
        assert best(*[fact for seat in one.facts for fact in seat]) == [one.answer]


PACKS = SimpleNamespace()
exec((SOURCE / "tools/packs").read_text(), PACKS.__dict__)
