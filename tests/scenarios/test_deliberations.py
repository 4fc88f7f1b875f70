"""Deliberations from end to end: real programs that answer well, badly, late, or not at all."""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter

import pytest

from tests.cli.commands import wait_until
from tests.operations.tables import adopt_orphans, all_is_quiet
from tests.scenarios.deliberating import Forum, absences, said, verdicts, without_times

QUICK = ("--max-rounds", "1")


@pytest.fixture
def forum(council) -> Forum:
    return Forum(council)


@pytest.mark.req("DL-023", "DL-025", "DL-031", "DL-047", "DL-096")
def test_two_agents_who_agree_need_a_round_a_vote_and_a_synthesis(forum: Forum):
    forum.settle("ada", "bob")

    record = forum.play("ada,bob", "--sealed")

    assert [one["phase"] for one in record["rounds"]] == [
        *("DELIBERATE", "DELIBERATE", "VOTE", "SYNTHESIZE"),
    ]
    assert verdicts(record) == ["none", "strong", "strong"], "who sees nobody agrees with nobody"
    assert said(record, "synthesis") == [(4, "ada")]
    assert (record["status"], record["closedReason"]) == ("CONVERGED", "consensus")
    assert "all 7 texts verified" in forum.minutes()
    checked = [one["data"]["type"] for one in forum.events("consensus.checked")]
    assert checked == verdicts(record)


@pytest.mark.req("DL-013", "DL-015", "DL-021")
def test_three_agents_of_whom_one_is_asked_again_and_one_never_learns(forum: Forum):
    forum.settle("ada", bob="--bad 1", cyd="--bad 9")

    record = forum.play("ada,bob,cyd", *QUICK)

    assert said(record)[:3] == [(1, "ada"), (1, "bob"), (1, "cyd")]
    assert sorted(said(record, "draft")) == [
        *[(1, "bob"), (1, "cyd"), (1, "cyd")],
        *[(2, "bob"), (2, "cyd"), (2, "cyd")],
    ]
    assert absences(record) == [], "who answers badly was heard"
    towards = record["rounds"][1]["verdict"]["towards"]
    assert towards == {"ada": "agree", "bob": "agree", "cyd": "absent"}
    assert verdicts(record)[-1] == "soft"
    tries = Counter(one["agentId"] for one in forum.events("task.started"))
    assert (tries["bob"], tries["cyd"]) == (4, 6), "a third time for stances alone, and no more"


@pytest.mark.req("DL-013")
def test_agent_that_insists_on_the_same_words_holds_up_nobody(forum: Forum):
    forum.settle("ada", "bob", cyd="--says noise")

    record = forum.play("ada,bob,cyd", *QUICK, "--sealed")

    assert said(record, "draft") == []
    assert Counter(agent for _, agent in said(record)) == {"ada": 2, "bob": 2, "cyd": 2}
    assert record["rounds"][1]["verdict"]["towards"]["cyd"] == "absent"
    tries = Counter(one["agentId"] for one in forum.events("task.started"))
    assert tries["cyd"] == 4
    assert [one["state"] for one in record["tasks"].values()] == ["D"] * len(record["tasks"])


@pytest.mark.req("DL-013", "DL-015")
def test_word_printed_after_an_answer_by_the_tool_is_no_second_answer(forum: Forum):
    forum.settle("ada", bob="--bad 1 --tool")

    record = forum.play("ada,bob", *QUICK)

    shown = forum.minutes()
    assert said(record, "draft") == [(1, "bob"), (2, "bob")]
    assert "I have handed in my answer." not in shown
    assert verdicts(record)[-1] == "strong"


@pytest.mark.long
@pytest.mark.req("DL-081", "DL-086", "DL-088", "DL-013")
def test_six_agents_of_whom_only_two_are_of_any_use(forum: Forum):
    forum.settle(
        "ada",
        head="max_runs = 8\nmax_text_bytes = 200000",
        bob="--crash 1 --only 1",
        cyd="--crash 99",
        dan="--says empty",
        eve="--says binary",
        fay="--says huge",
    )

    record = forum.play("ada,bob,cyd,dan,eve,fay", *QUICK, "--sealed", "--threshold", "2")

    assert sorted(said(record)) == [(1, "ada"), (1, "bob"), (2, "ada"), (2, "bob")]
    gone = absences(record)
    assert {(tour, agent) for tour, agent, _ in gone} == {
        (tour, agent) for tour in (1, 2) for agent in ("cyd", "dan", "eve", "fay")
    }
    assert all(reason and reason != "timeout" for _, _, reason in gone), "each with its reason"
    tries = Counter(
        one["agentId"] for one in forum.events("task.started") if ".1." in one["data"]["task"][36:]
    )
    assert (tries["bob"], tries["cyd"]) == (2, 2)
    assert verdicts(record) == ["none", "soft"]
    assert record["rounds"][1]["verdict"]["absent"] == 4
    assert len(forum.minutes()) < 100_000, "a megabyte of agreement is no answer"


@pytest.mark.long
@pytest.mark.req("DL-086", "DL-031")
def test_agent_that_fails_at_once_is_passed_over_at_once_and_no_clock_is_needed(forum: Forum):
    limits = "[limits]\nfailures_before_rest = 1"
    forum.settle("ada", bob="--stance disagree", cyd="--crash 99", head=limits)
    forum.convene("cyd,ada,bob", "--max-rounds", "2")

    # No heartbeat is called: each run wakes the next.
    wait_until(lambda: forum.council("list", "--archived", "--json").json())
    record = forum.record()

    assert [(tour, agent) for tour, agent, _ in absences(record)][:3] == [
        (tour, "cyd") for tour in (1, 2, 3)
    ]
    assert absences(record)[1][2]["code"] == "exit"
    assert [tour for tour, agent in said(record) if agent == "ada"] == [1, 2, 3]
    assert len([one for one in forum.events("task.started") if one["agentId"] == "cyd"]) == 4


@pytest.mark.long
@pytest.mark.req("DL-021", "DL-025", "DL-042")
def test_twelve_agents_speak_one_after_the_other_and_vote(forum: Forum):
    agents = [f"a{number:02}" for number in range(1, 13)]
    habits = {"a05": "--stance disagree", "a07": "--bad 1", "a09": "--crash 9"}
    forum.settle(*agents, **habits)

    record = forum.play(",".join(agents), *QUICK)

    spoken = [agent for tour, agent in said(record) if tour == 1]
    assert spoken == [agent for agent in agents if agent != "a09"]
    assert absences(record)[0][:2] == (1, "a09")
    vote = record["rounds"][1]["verdict"]
    assert (vote["type"], vote["threshold"]) == ("soft", 8)
    assert (vote["agree"], vote["disagree"], vote["absent"]) == (10, 1, 1)
    assert vote["reference"] == "a01", "all agree with it, and it refuses all: it does not lead"


@pytest.mark.long
@pytest.mark.req("DL-031", "DL-032")
def test_run_to_the_end_and_heartbeat_by_heartbeat_give_the_same_file(forum: Forum):
    forum.settle("ada", bob="--bad 1", head="max_runs = 1")
    forum.convene("ada,bob", *QUICK, run=True)
    at_once = forum.minutes()
    one = forum.record()
    gone = forum.council("purge", one["conversationId"], "--yes")
    assert gone.code == 0, gone.err

    forum.convene("ada,bob", *QUICK)
    while forum.council("heartbeat", "--json").json()["conversations"]:
        pass
    stepwise = forum.minutes()
    two = forum.record()

    labels = {run["data"]["label"] for run in forum.events("task.started")}
    assert labels == {f"council-{two['conversationId']}-{agent}" for agent in ("ada", "bob")}
    ids = (one["conversationId"], two["conversationId"], one["id"], two["id"])
    assert said(one) == said(two)
    assert without_times(at_once, *ids) == without_times(stepwise, *ids)


@pytest.mark.long
@pytest.mark.req("C0-077", "DL-031", "XC-001")
def test_killed_again_and_again_it_ends_with_one_turn_of_each(forum: Forum):
    forum.settle("ada", "bob", cyd="--until 2")
    forum.convene("ada,bob,cyd", "--max-rounds", "2", "--sealed")
    for _ in range(6):
        beat = forum.council.start("heartbeat", "--wait", "60s")
        try:
            beat.wait(0.4)
        except Exception:
            beat.send_signal(signal.SIGKILL)
        beat.communicate()
    forum.finish()

    record = forum.record()
    assert Counter(said(record)) == {
        (tour, agent): 1 for tour in (1, 2, 3) for agent in ("ada", "bob", "cyd")
    }
    assert verdicts(record) == ["none", "strong", "strong"]


@pytest.mark.req("DL-056", "C0-020")
@pytest.mark.parametrize("sealed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_deliberation_goes_on_from_the_file_alone(forum: Forum, sealed):
    adopt_orphans()
    forum.settle("ada", "bob")
    forum.convene(
        *("hand,ada,bob", "--max-rounds", "2", "--synthesizer", "ada"),
        *(("--sealed",) if sealed else ()),
    )
    respond(forum, "hand", {"ada": "partial", "bob": "partial"}, whole=not sealed)
    wait_until(lambda: forum.show()["tour"] == 2 and is_due(forum, "hand"))
    before = [(one["agent"], one["tour"], one["text"]) for one in forum.show()["contributions"]]
    assert len(before) == 5, "the first round, and the two before us in the second"
    all_is_quiet()  # a process still at work there would keep the folder from going
    shutil.rmtree(forum.root / "memory" / "shared" / ".council")
    shown = forum.show()["contributions"]
    assert [(one["agent"], one["tour"], one["text"]) for one in shown] == before
    respond(forum, "hand", {"ada": "agree", "bob": "agree"})
    wait_until(lambda: forum.show()["currentPhase"] == "VOTE" and is_due(forum, "hand"))
    voted = forum.council(
        *("vote", "--as", "hand", "--position", "Do it.", "--confidence", "4"),
        *("--stance", "ada=agree", "--stance", "bob=agree"),
    )
    assert voted.code == 0, voted.err
    forum.finish()

    record = forum.record()
    assert Counter(said(record)) == {
        (tour, agent): 1 for tour in (1, 2, 3) for agent in ("hand", "ada", "bob")
    }
    assert verdicts(record)[-1] == "strong"


def respond(forum: Forum, agent: str, stances: dict[str, str], *, whole: bool = True) -> None:
    words = ["respond", "--as", agent, "--position", "Do it.", "--confidence", "4"]
    for peer, stance in stances.items() if whole else ():
        words += ["--stance", f"{peer}={stance}"]
    done = forum.council(*words, f"Reasons of {agent}.")
    assert done.code == 0, done.err


def is_due(forum: Forum, agent: str) -> bool:
    """Return true if the agent is the one whose answer is missing, and no agent runs."""
    (seen,) = forum.council("status", "--json").json()["conversations"]
    return seen["waiting"] == [agent]


@pytest.mark.req("DL-081", "DL-087")
def test_late_turn_counts_in_its_round_and_is_kept_apart_after_it(council):
    def at(minutes: int) -> str:
        return f"2026-02-08T{20 + minutes // 60}:{minutes % 60:02}:00Z"

    def says(agent: str, minutes: int, *words: str, code: int = 0) -> dict:
        given = ("--position", f"{agent} in {minutes}.", "--confidence", "3", "Because.", *words)
        done = council("respond", "--as", agent, "--json", *given, now=at(minutes))
        assert done.code == code, done.err + done.out
        return json.loads(done.out) if done.out.startswith("{") else {}

    opened = council(
        *("convene", "Now?", "--procedure", "deliberation", "--agents", "ada,bob,cyd", "--json"),
        *("--timeout", "1h"),
        now=at(0),
    ).json()
    task = f"{opened['conversationId']}.1.ada.1"
    assert council("heartbeat", now=at(60)).code == 0
    shown = council("show", "--json").json()
    assert shown["rounds"][0]["absent"] == {"ada": "timeout"}
    assert shown["rounds"][0]["speaker"] == "bob"

    says("cyd", 61, code=6)
    assert council("heartbeat", now=at(120)).code == 0
    assert says("bob", 121)["outcome"] == "recorded", "passed over, and the round is open"
    assert says("cyd", 122, "--stance", "bob=agree")["transition"]["to"] == "DELIBERATE"
    late = says("ada", 123, "--task", task, "--stance", "bob=disagree", code=4)
    assert late["outcome"] == "late"
    says("cyd", 124, code=6)

    shown = council("show", "--json").json()
    assert [(one["agent"], one["tour"]) for one in shown["contributions"]] == [
        ("bob", 1),
        ("cyd", 1),
    ]
    assert shown["rounds"][0]["absent"] == {"ada": "timeout"}
    assert shown["rounds"][0]["verdict"]["towards"]["ada"] == "absent"
