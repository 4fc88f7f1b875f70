"""Document 002 through the installed command: its four flows, and lines that are sent by hand."""

import json
import os
import sys
from collections.abc import Callable

import pytest

from council.app import App
from council.tasks import service as tasks
from tests.runs.processes import until
from tests.scenarios.workspaces import Workspace

WORKER = """import pathlib, sys
folder = pathlib.Path(__file__).parent
prompt = sys.stdin.read()
asked = [x.strip() for x in prompt.splitlines() if x.strip().count("|") in (7, 10)][-1].split("|")
count = folder / (sys.argv[1] + ".runs")
run = int(count.read_text()) if count.exists() else 0
count.write_text(str(run + 1))
(folder / f"{sys.argv[1]}.{run}.prompt").write_text(prompt)
lines = (folder / (sys.argv[1] + ".say")).read_text().split("\\n---\\n")
line = lines[min(run, len(lines) - 1)]
print(line.replace("{M}", "M%d" % (int(asked[0][1:]) + 1)))
"""


@pytest.fixture
def office(workspace: Callable[..., Workspace]) -> Workspace:
    """Return a workspace with two workers, ada (W1) and bea (W2)."""
    team = workspace("ada", "bea")
    (team.root / "worker.py").write_text(WORKER)
    return team


def hire(team: Workspace, agent: str, caps: str, *lines: str) -> None:
    """Let an agent join and print these lines, one a run."""
    argv = json.dumps([sys.executable, str(team.root / "worker.py"), agent])
    with (team.root / "council.toml").open("a") as file:
        file.write(f"\n[agents.{agent}]\nargv = {argv}\n")
    (team.root / f"{agent}.say").write_text("\n---\n".join(lines))
    assert team.run("agent", "join", agent, "--role", "worker", "--caps", caps).returncode == 0


def line(kind: str, data: str, route: str = "W1>O1", depth: int = 0, budget: str = "B300") -> str:
    state = {"S": "D", "E": "F"}.get(kind, "R")
    return f"{{M}}|{route}|{kind}|T1|P1|{state}|-|{depth}|S1|{budget}|{data}"


ASK = ["msg", "send", "--wait", "--timeout", "20s", "--user"]


def flow(team: Workspace) -> list[str]:
    rows = team.run("log", "S1", "--format", "protocol").stdout.splitlines()
    return [" ".join(row.split()[4:6]) for row in rows]


def test_a_request_goes_out_and_its_result_comes_back(office: Workspace) -> None:
    progress = line("U", "progress=50%;found=12 articles", budget="B450")
    hire(office, "ada", "web_search", progress + "\n" + line("S", "results=5;top1=Rain"))
    done = office.json(*ASK, "Search the latest AI news", "--caps", "web_search")
    assert (done["answer"], done["done"], done["to"]) == ("results: 5\ntop1: Rain", True, ["W1"])
    assert done["message"].endswith("|B500|call=web_search;query=Search the latest AI news")
    assert flow(office) == ["O1>W1 R", "W1>O1 U", "W1>O1 S"]
    assert office.json("show", "S1")["answer"] == done["answer"]
    asked = "M9|O1>W1|R|T1|P1|N|-|0|S1|-|a=#REF:T1:S;b=#MSG:M9"
    read = json.loads(office.run("msg", "parse", "--resolve", "--json", asked).stdout)
    assert read["references"] == {"#REF:T1:S": "results: 5\ntop1: Rain", "#MSG:M9": None}
    assert [one["code"] for one in read["errors"]] == ["E43"]
    assert office.run("msg", "send", "--user", "More", "--ctx", "S1").returncode == 6
    assert "is closed (see: council show S1)" in office.run("cancel", "S1").stderr


def test_an_orchestrator_joins_several_results(office: Workspace) -> None:
    hire(office, "ada", "plan", line("S", "result=Red"))
    hire(office, "bea", "plan", line("S", "result=Blue", "W2>O1"))
    argv = json.dumps(["sh", "-c", "cat > cal.prompt; echo Red and blue."])
    with (office.root / "council.toml").open("a") as file:
        file.write(f"\n[agents.cal]\nargv = {argv}\n")
    office.json("agent", "add", "cal")
    office.json("agent", "join", "cal", "--role", "O")
    both = "M1|O1>W*|R|T1|P1|N|-|0|-|B500|call=plan;query=Which colour"
    done = office.json("msg", "send", both, "--wait", "--timeout", "20s")
    assert (done["answer"], done["done"], done["to"]) == ("Red and blue.", True, ["W1", "W2"])
    told = (office.root / "cal.prompt").read_text()
    assert "T1: W1]]\nRed" in told and "T1: W2]]\nBlue" in told


def test_a_worker_hands_on_and_collects(office: Workspace) -> None:
    x = line("X", "call=generate_tests;reason=specialized", "W1>W2", 1, "B500")
    notice = line("U", "handoff=W2;subtask=generate_tests", budget="B500")
    hire(office, "ada", "analyze_code", f"{x}\n{notice}", line("S", "analysis=done;tests=3"))
    hire(office, "bea", "generate_tests", line("S", "tests=3;coverage=85%", "W2>W1", 1))
    words = ["Look at main.py", "--caps", "analyze_code", "--complexity", "complex"]
    assert office.json(*ASK, *words)["answer"] == "analysis: done\ntests: 3"
    assert flow(office) == ["O1>W1 R", "W1>W2 X", "W1>O1 U", "W2>W1 S", "W1>O1 S"]
    source, target = office.json("show", "S1")["hops"].values()
    facts = [target[key] for key in ("worker", "source", "depth", "grant")]
    assert (facts, source["budget"]) == (["W2", 1, 1, 500], 300)  # what was told with U and S
    assert "tests: 3\ncoverage: 85%" in (office.root / "ada.1.prompt").read_text()


def test_a_question_is_put_to_the_user(office: Workspace) -> None:
    question = line("C", "question=Which report?;options=short,detailed")
    hire(office, "ada", "generate_report", question, line("S", "result=A detailed one"))
    asked = office.json(*ASK, "Write a report", "--caps", "generate_report")
    assert (asked["done"], asked["asked"]) == (False, ["Which report?"])
    assert "S1 asks you: Which report?" in office.run("status").stdout
    assert office.run("say", "5", "--to", "T1").returncode == 3
    assert office.json("say", "2", "--to", "T1")["outcome"] == "recorded"
    assert office.run("heartbeat", "--wait", "20s").returncode == 0
    assert office.json("show", "S1")["answer"] == "A detailed one"
    assert flow(office)[2:5] == ["O1>User D", "User>O1 C", "O1>W1 C"]


def test_workers_join_leave_and_answer_by_hand(office: Workspace) -> None:
    send = ["msg", "send"]
    join = "M1|W3>O1|J|T0|P1|N|-|0|S0|-|caps=web_search,summarize;max_depth=2;version=V5"
    joined = office.json(*send, join, "--as", "ada")
    assert joined["answer"] == "M2|O1>W3|A|T0|P1|D|-|0|S0|-|registered;id=W3;status=active"
    conflict = office.run(*send, "M1|W3>O1|J|T0|P1|N|-|0|S0|-|caps=x", "--as", "bea")
    assert conflict.returncode == 6 and "ID_CONFLICT" in conflict.stderr
    assert office.json("agent", "join", "bea", "--caps", "plan", "--group", "G1")["id"] == "W4"
    office.json(*send, "M4|W4>O1|H|T0|P1|R|-|0|S0|-|load=100%;queue=3", "--as", "bea")
    busy = office.run(*send, "M1|O1>W4|R|T1|P1|N|-|0|-|B500|call=plan")
    assert busy.returncode == 6 and "E31" in busy.stderr
    sent = office.json(*send, "M1|O1>W3|R|T1|P1|N|-|0|-|B500|call=web_search;query=tea")
    assert (sent["context"], sent["to"]) == ("S1", ["W3"])
    assert len(list(office.root.glob("memory/agents/ada/tasks/S1.1.ada.1.md"))) == 1
    assert office.run(*send, "M2|W3>O1|S|T9|P1|D|-|0|S1|B400|x", "--as", "ada").returncode == 6
    assert office.run(*send, "M2|W3>O1|S|T1|P1|D|-|0|S1|B400|x", "--as", "bea").returncode == 6
    done = office.json(*send, "M2|W3>O1|S|T1|P1|D|-|result=Green tea", "--as", "ada")
    assert (done["answer"], done["done"]) == ("Green tea", True)
    office.json(*send, "M5|W3>O1|L|T0|P1|-|-|0|S0|-|reason=done", "--as", "ada")
    assert office.run("msg", "send", "--user", "Tea", "--caps", "web_search").returncode == 6


def test_a_v4_worker_gets_v4_and_prompts_are_printed(office: Workspace) -> None:
    office.json("msg", "send", "M0|W1>O1|J|T0|-|-|-|0|-|-|version=V4;caps=plan", "--as", "ada")
    sent = office.json("msg", "send", "--user", "Plan it", "--caps", "plan")
    task = next(office.root.glob("memory/agents/ada/tasks/*.md")).read_text()
    assert sent["message"].count("|") == 10 and "\nM1|O1>W1|R|T1|P1|N|-|call=plan" in task
    assert "msg send" in task and "E16" not in task
    office.json("agent", "join", "bea", "--caps", "web_search,web_fetch,summarize")
    context = ["context", "--as", "bea", "--kind"]
    for kind, words in (
        ("worker", ["E16", "E33", "caps=web_search, web_fetch, summarize", "W1"]),
        ("research", ["top 5", "500 characters", "100 words"]),
        ("orchestrator", ["B2000", "50 %", "`W2` (bea)", "TYPE `D`"]),
    ):
        app = App(str(office.root), env={})
        assert tasks.prompt(app, "bea", kind)["prompt"] in office.run(*context, kind).stdout
        for lang in ("en", "fr"):
            app.settings.language = lang
            text = tasks.prompt(app, "bea", kind)["prompt"]
            here = [word for word in words if lang == "en" or word[0] in "BE`t"]
            assert not [word for word in here if word not in text], text


def test_a_task_is_cancelled_and_its_run_ends(office: Workspace) -> None:
    office.program("ada", f"echo $$ > {office.root}/ada.pid; exec sleep 60")
    office.json("agent", "join", "ada", "--caps", "plan")
    office.json("msg", "send", "--user", "Plan it")
    office.json("msg", "send", "--user", "Plan more", "--ctx", "S1")
    until(lambda: (office.root / "ada.pid").exists())
    assert office.json("cancel", "S1/T2", "--reason", "No longer")["done"] is False
    assert [one["state"] for one in office.json("status")["tasks"][0]["tasks"]] == ["R", "X"]
    assert office.json("cancel", "S1")["answer"].count("Cancelled.") == 2
    pid = (office.root / "ada.pid").read_text().strip()
    until(lambda: not os.path.exists(f"/proc/{pid}"))
    assert office.run("cancel", "S1").returncode == 6
    assert office.run("cancel", "S7").returncode == 5


@pytest.mark.parametrize(("code", "left"), [("E10", 3), ("E99", 6)])
def test_a_failed_request_has_the_exit_code_of_its_error(
    office: Workspace, code: str, left: int
) -> None:
    hire(office, "ada", "plan", line("E", "desc=odd").replace("|-|0|S1", f"|{code}|0|S1"))
    done = office.run(*ASK, "Plan it")
    assert (done.returncode, "No result" in done.stdout) == (left, True), done.stderr
    assert office.run("log", "--format", "otlp").returncode == 0  # of conversations alone


def test_a_request_belongs_to_the_trace_of_who_makes_it(office: Workspace) -> None:
    office.program("ada", "echo $TRACEPARENT > trace; echo Done.")
    office.json("agent", "join", "ada", "--caps", "plan")
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    office.run(*ASK, "Plan it", TRACEPARENT=f"00-{trace}-00f067aa0ba902b7-01")
    assert (office.root / "trace").read_text().split("-")[1] == trace


def test_hooks_and_the_board_know_requests_and_rooms(office: Workspace) -> None:
    told = office.root / "told"
    with (office.root / "council.toml").open("a") as file:
        file.write(f'\n[hooks]\nwaiting_for_person = "cat >> {told}"\nfailed = "cat >> {told}"\n')
    office.json("channel", "create", "chat", "den", "--participants", "ada,bea", "--as", "ann")
    office.json("msg", "send", "M1|O1>User|D|T1|P1|R|-|0|-|-|question=Which;opt1=a;opt2=b")
    until(lambda: told.exists() and "question=Which" in told.read_text())
    assert json.loads(told.read_text())["kind"] == "context"
    assert office.run("heartbeat").returncode == 0
    board = (office.root / "memory/shared/BOARD.md").read_text()
    assert "- [den](channels/den.md): chat" in board and "- S1: asks you" in board
    assert "S1: at work" in office.run("heartbeat", "--now", "2099-01-01").stdout
    ask = "M1|O1>User|D|T1|P1|R|-|0|-|-|question=Which;opt1=a;opt2=b"
    assert [office.json("msg", "send", ask)["context"] for _ in range(2)] == ["S2", "S3"]
    kept = office.json("artifact", "publish", "council.toml", "--as", "ada")["artifactId"]
    office.run("artifact", "fetch", kept)
    rows = office.run("log", "calls", "--format", "json").stdout.splitlines()
    found = [(one["type"], one["artifactIds"]) for one in map(json.loads, rows)]
    assert found == [("artifact.publish", [kept]), ("artifact.fetch", [kept])]
    refused = office.run("artifact", "fetch", kept, "--out", str(office.root)).stderr
    assert f"{office.root} is no regular file (name a file with --out)" in refused
