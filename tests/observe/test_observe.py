"""status, explain, doctor, check, log, board and forget over real conversations."""

import os
from pathlib import Path

import pytest

from council.agents import registry
from council.cli import printing
from council.councils import decisions, service
from council.councils.hearing import Stated, Understood
from council.councils.model import Heard
from council.kernel.errors import Conflict, NotFound
from council.observe import board, doctor, explain, forget, named, status
from council.runs import heartbeat, work


def codes(app, name=""):
    return [one["code"] for one in status.status(app, name)["problems"]]


def run(agent="ada", attempt=1, at="2026-11-28T09:00:00Z", place=-1):
    made = {"type": "run.claimed", "id": f"x.1.{agent}.{attempt}", "agent": agent, "tour": 1}
    made |= {"task": "contribution", "attempt": attempt, "at": at, "place": place}
    return {**made, "lease": "2026-11-28T09:10:00Z"}


def failure(agent="ada", attempt=1, code="refused-key"):
    return work.failed(f"x.1.{agent}.{attempt}", "2026-11-28T09:01:00Z", code, "401 Unauthorized")


def respond(ws, agent, text, minutes=1.0):
    at, said = ws.at(minutes).now, Understood(text=text, heard=Heard())
    ws.change("k", lambda state: decisions.respond(state, agent, said, Stated(), at=at))


def test_status_says_who_owes_an_answer_and_what_each_does(ws):
    respond(ws, "bob", "Yes.")
    ws.add("k", run())
    row = status.status(ws.at(3))["conversations"][0]
    assert (row["waiting"], row["running"], row["queued"]) == (["ada", "eve"], ["ada"], [])
    assert {i: (p["status"], p["doing"]) for i, p in row["participants"].items()} == {
        "ada": ("WAITING", "running for 3m"),
        "bob": ("RESPONDED", ""),
        "eve": ("WAITING", "answers by hand"),
    }
    assert status.status(ws.app)["problems"] == []


@pytest.mark.parametrize(
    ("happened", "minutes", "code", "words"),
    [([run(), failure()], 2, "refused-key", "401 Unauthorized"),
     ([run(place=0)], 2, "lost", "ended unexpectedly"),
     ([{"type": "kept", "file": "ab.md", "why": "torn"}], 2, "kept", "k/conflicts/ab"),
     ([], 75, "no-clock", "no heartbeat ran"), ([], -20, "ahead", "began in the future"),
     ([{"type": "paused", "pausedAt": "2026-11-28T09:01:00Z"}], 75, None, "")],
)  # fmt: skip
def test_each_problem_is_named_with_its_cure(ws, happened, minutes, code, words):
    ws.add("k", *happened) if happened else None
    folder = ws.app.conversation("k").folder + "/conflicts"
    os.makedirs(folder)
    open(f"{folder}/ab.md", "w").close()
    found = status.status(ws.at(minutes))["problems"]
    found = [one for one in found if one["code"] != "not-started"]
    if code is None:
        assert found == []
        return
    assert [one["code"] for one in found] == [code]
    assert words in found[0]["what"] and found[0]["fix"]
    assert words in printing.text(printing.Said(data=status.status(ws.app), reply="status"))
    assert found[0]["what"] in [one["what"] for one in explain.explain(ws.app, "k")["hindrances"]]
    os.remove(f"{folder}/ab.md")
    left = [one["code"] for one in status.status(ws.at(minutes))["problems"]]
    assert "kept" not in left


def test_problems_of_the_workspace(ws):
    copies = [f"council-{n}" for n in ("k-conversation.md.conflict1", "k-conversation-LAPTOP.md")]
    for name in [*copies, "council-gone-conversation.md"]:  # the last one was saved late
        Path(f"{ws.root}/memory/shared/{name}").write_text("words")
    with open(f"{ws.root}/council.toml", "a") as file:
        file.write("typo = 1\n")
    ws.open("small", max_runs=1)
    ws.add("small", run(), work.answered("x.1.ada.1", "2026-11-28T09:01:00Z", work.Use(tokens=5)))
    assert status.status(ws.app)["limitsReached"] == ["max_runs"]
    ws.change("small", lambda _: [{"type": "paused", "pausedAt": "2026-11-28T09:01:00Z"}])
    found = status.status(ws.at(1), clocks=True)["problems"]
    assert sorted(one["code"] for one in found) == [
        *(*["conflict-copy"] * 3, "max_runs", "no-clock", "not-started", "settings")
    ]
    assert "LAPTOP" in printing.text(printing.Said(data=status.status(ws.app), reply="status"))


@pytest.mark.parametrize(
    ("toml", "happened", "code", "cure"),
    [("", [], "not-started", "council heartbeat"), ("", ["halt"], "halted", "council resume --all"),
     ("max_runs_per_day = 1", ["count"], "max_runs_per_day", "raise max_runs_per_day"),
     ("max_usd_per_day = 0.5", ["count"], "max_usd_per_day", "raise max_usd_per_day"),
     ("failures_before_rest = 1", ["fail"], "resting", "Give /nonexistent/ada the prompt"),
     ("", ["halt", "tear"], "registry", "restore that file, or move it away")],
)  # fmt: skip
def test_what_keeps_an_agent_from_being_started_is_named(ws, toml, happened, code, cure):
    with open(f"{ws.root}/council.toml", "a") as file:
        file.write(f"[limits]\n{toml}\n")
    app = ws.at(1)
    ran = work.Run(
        **{"id": "y.1.ada.1", "agent": "ada", "task": "contribution", "tour": 1, "attempt": 1},
        **{"at": "2026-11-28T09:00:00Z", "lease": "2026-11-28T09:10:00Z"},
    )
    ran.ended, ran.use, ran.outcome = ran.at, work.Use(tokens=5, usd=0.5), "answered"
    if "fail" in happened:
        ran.outcome, ran.code, ran.words = "failed", "crashed", "exit 1"
    agent, limits = app.settings.agent("ada", app.soul("ada")), app.settings.limits
    acts = {"halt": lambda state: registry.halt(state, True, app.now)}
    for one in happened:
        act = acts.get(one, lambda state: registry.run_ended(state, ran, agent, limits, app.now))
        if one == "tear":
            Path(app.registry().folder, "journal.jsonl").write_text("torn\n")
            assert heartbeat.beat(app)["errors"][0]["name"] == "registry"
            break
        app.registry().change(act, by="test", at=app.now, create=True)
    for found in (status.status(app)["problems"], explain.explain(app, "k")["hindrances"]):
        assert [one for one in found if cure in one["fix"]], found
    assert code in codes(app)
    assert status.status(app)["limitsReached"] == [code] * code.startswith("max_")


def test_one_broken_conversation_hides_no_other(ws):
    ws.open("other")
    with open(f"{ws.app.state_folder}/conversations/other/journal.jsonl", "r+") as file:
        file.write("nonsense")
    found = status.status(ws.app)
    assert [one["name"] for one in found["conversations"]] == ["k"]
    assert [one["name"] for one in found["errors"]] == ["other"]
    made = explain.explain(ws.app, "other")
    assert made["status"] == "broken" and made["hindrances"][0]["what"]
    assert not doctor.doctor(ws.app)["ok"]


def test_reading_writes_nothing(ws):
    def files():
        inside = os.walk(ws.root)
        return {
            f"{f}/{n}": os.stat(f"{f}/{n}").st_mtime_ns for f, _, names in inside for n in names
        }

    status.status(ws.app)  # settings are kept once
    before = files()
    status.status(ws.app)
    explain.explain(ws.app, "k")
    doctor.doctor(ws.app)
    doctor.check(ws.app, "k")
    list(named.log(ws.app, "k"))
    assert files() == before


def test_explain_says_what_is_awaited_since_when_and_what_comes_next(ws):
    respond(ws, "bob", "Yes.")
    ws.add("k", run(attempt=1), failure(attempt=1, code="quota"), run(attempt=2))
    made = explain.explain(ws.at(2), "k")
    assert [(one["what"], one["until"]) for one in made["waitsFor"]] == [
        ("ada's run (attempt 2)", "2026-11-28T09:10:00Z"),
        ("eve's answer by hand", "2026-11-28T10:00:00Z"),
    ]
    assert [(one["attempt"], one["code"]) for one in made["tried"]] == [(1, "quota")]
    assert made["next"][0] == "when all have answered: CHALLENGE"
    for ask in (explain.explain, lambda app, name: list(named.log(app, name))):
        for which, says in (("quux", "quux"), ("ada", "ada is an agent")):
            with pytest.raises(NotFound, match=says):
                ask(ws.app, which)


def test_doctor_names_faults_and_repairs_what_needs_no_decision(ws):
    odd = '\ufeff{"limit": {}, "call": {"denny": []}, "limits": {"max_depth": 1}}'
    for agent, policy in (("bob", "<<< HEAD\n{}\n"), ("eve", '{"call": 5}'), ("ada", odd)):
        Path(f"{ws.root}/memory/agents/{agent}/policy.json").write_text(policy)
    Path(f"{ws.root}/memory/agents/eve/SOUL.md").write_text("---\nname: Bob\n---\n")
    os.link(ws.app.page_of("k"), f"{ws.root}/other")
    os.unlink(f"{ws.root}/skills/council/SKILL.md")
    found = {one["found"] for one in doctor.doctor(ws.app)["findings"] if not one["ok"]}
    for words in (
        *(
            "not found: /nonexistent/ada",
            "ada/policy.json: unknown key limit; did you mean limits?",
            "ada/policy.json: unknown key call.denny; did you mean deny?",
            "ada/policy.json: unknown key limits.max_depth; did you mean maxDepth?",
            "bob/policy.json: not JSON: Expecting value: line 1",
        ),
        *("eve/policy.json.call: not an object", "bob and eve have the same name"),
        *("hard link", "skills/council/SKILL.md is missing"),
    ):
        assert any(words in one for one in found), words
    folder = f"{ws.app.state_folder}/conversations/k"
    for path in (f"{folder}/journal.jsonl", ws.app.page_of("k")):
        os.rename(path, f"{path}.conflict1")
    os.unlink(f"{ws.app.state_folder}/.gitignore")
    made = doctor.doctor(ws.app, repair=True)
    assert sum(one["what"] == "repaired" for one in made["findings"]) == 3
    (row,) = status.status(ws.app)["conversations"]
    assert row["waiting"] == ["ada", "bob", "eve"]


@pytest.mark.parametrize("left", [None, 0, 300])
def test_minutes_that_are_gone_or_damaged_are_named_and_written_again(ws, left):
    service.steer(ws.app, "k", "cancel")
    path = f"{ws.root}/conseils/2026-11-28-kettle-k.md"
    with open(path) as file:
        whole = file.read()
    os.unlink(path)
    if left is not None:
        with open(path, "w") as file:
            file.write(whole[:left])
    assert "Kettle k?" in named.show(ws.app, "k")[1]
    problems = status.status(ws.app, clocks=True)["problems"]
    for found in (problems, doctor.doctor(ws.app)["findings"]):
        (fix,) = (one["fix"] for one in found if "k.md" in str(one))
        assert "council doctor --repair" in fix
    assert doctor.doctor(ws.app, repair=True)["findings"][0]["what"] == "repaired"
    with open(path) as file:
        assert file.read()[:1000] == whole[:1000]
    assert os.path.exists(f"{path}.damaged") is (left is not None)
    assert "are gone" not in str(doctor.doctor(ws.app)["findings"])


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [("(agent:bob): WAITING", "(agent:bob): MAYBE", "findings"),
     ("(agent:bob): WAITING", "(agent:bob): RESPONDED", ""), ("# Active", "# Active", ""),
     ("<!--council:draft 1-bob-->\n", "<!--council:draft 1-bob-->\n\nYes.\n", "notices")],
)  # fmt: skip
def test_check_finds_a_broken_page_and_answers_that_do_not_count_yet(ws, old, new, found):
    path = Path(ws.app.page_of("k"))
    path.write_text(path.read_text().replace(old, new))
    made = doctor.check(ws.app, "k")
    assert [key for key in ("findings", "notices") if "bob" in str(made[key])] == [found] * bool(
        found
    )
    assert made["ok"] is (found != "findings")
    assert doctor.check(ws.app, "k")["ok"]  # it is mended by looking


def test_the_log_hides_what_is_sealed_until_the_round_is_over(ws):
    respond(ws, "bob", "Sealed words.")
    rows = list(named.log(ws.app, "k"))
    assert [row["rev"] for row in rows] == [1, 2]
    assert "Sealed words" not in str(rows) and "Sealed words" not in str(list(named.lines(ws.app)))
    respond(ws, "ada", "Yes.")
    respond(ws, "eve", "No.")
    rows = list(named.log(ws.app, "k"))
    assert "Sealed words" in str(rows)
    assert (rows[-1]["phase"], rows[-1]["tour"]) == ("CHALLENGE", 2)
    every = list(named.lines(ws.app, "k"))
    assert len({one["eventId"] for one in every}) == len(every)
    assert all(one["traceId"] and one["agentId"] and one["at"] for one in every)
    assert "answered: bob, RESPONDED" in [line for row in rows for line in row["lines"]]


def test_the_board_is_written_only_when_it_changes(ws):
    path = f"{ws.root}/memory/shared/BOARD.md"
    assert board.board(ws.app) and not board.board(ws.at(5))
    assert "waiting for ada, bob, eve" in Path(path).read_text()
    respond(ws, "bob", "Yes.")
    assert board.board(ws.app)
    assert "waiting for ada, eve" in Path(path).read_text()


def test_one_entry_is_forgotten_in_journal_page_logs_and_tasks(ws):
    respond(ws, "bob", "Zanzibar.")
    respond(ws, "ada", "Yes.")
    respond(ws, "eve", "No.")
    ident = ws.app.conversation("k").peek().conversation_id
    for path in (
        f"memory/shared/.council/runs/{ident}.2.ada.1/prompt.md",
        "memory/agents/ada/tasks/t.md",
        "memory/shared/council-k-conversation.sync-conflict-1.md",
    ):
        os.makedirs(os.path.dirname(f"{ws.root}/{path}"), exist_ok=True)
        Path(f"{ws.root}/{path}").write_text(f"{ident}: Zanzibar.")
    with pytest.raises(Conflict):
        forget.plan(ws.app, "k")
    with pytest.raises(NotFound):
        forget.plan(ws.app, "k", entry="9-bob")
    plan = forget.plan(ws.app, "k", entry="1-bob")
    assert plan["redact"] and "prompt.md" not in str(plan["remove"])
    assert holding(ws.root, "Zanzibar")
    forget.carry_out(ws.app, plan)
    assert holding(ws.root, "Zanzibar") == []
    assert [one.agent for one in ws.app.conversation("k").peek().entries] == ["bob", "ada", "eve"]


def test_old_run_logs_are_forgotten_by_age(ws):
    for name, age in (("old", 40), ("new", 1)):
        folder = f"{ws.app.state_folder}/runs/{name}"
        os.makedirs(folder)
        Path(f"{folder}/output").write_text("x")
        at = ws.app.now.timestamp() - age * 86400
        for path in (f"{folder}/output", folder):
            os.utime(path, (at, at))
    plan = forget.plan(ws.app, "", older_than="30d")
    assert plan["remove"] == ["memory/shared/.council/runs/old"]
    forget.carry_out(ws.app, plan)
    assert os.listdir(f"{ws.app.state_folder}/runs") == ["new"]


def holding(root, word):
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            found += [f"{folder}/{name}"] * (word.encode() in Path(f"{folder}/{name}").read_bytes())
    return found
