"""The registry at work: facts in their places, answers in inboxes, runs as themselves."""

from __future__ import annotations

import shutil
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from council.core.errors import (
    IdConflictError,
    InvalidStateError,
    NotFoundError,
    ProtocolRefusedError,
    RefusedError,
    UsageError,
)
from council.core.protocol.registering import Joining
from council.core.trust import run_claim
from council.operations.agent_profiles import profile
from council.operations.agents import add, remove
from council.operations.examining.doctor import examine
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.protocol import registry
from council.operations.protocol.asking import request
from council.operations.protocol.messages import sign
from council.operations.protocol.registry import protocol_id_of, query, weigh, whom
from council.operations.protocol.registry_changes import Done, registry_of
from council.operations.protocol.sending import send
from council.operations.reporting.explaining import find_problems
from council.store.events import tail
from council.store.keys import run_key
from council.store.protocol import protocol_registry
from council.store.protocol.inboxes import read_inbox
from council.store.protocol.protocol_log import read_log
from council.wire.carried import message_of
from council.wire.messages import parse
from tests.cli.commands import tree
from tests.operations.crashes import killed_at
from tests.store.records import value_in


@pytest.fixture
def place(workspace: Path, now) -> Place:
    return Place(str(workspace), {}, now)


def at(place: Place, **later: float) -> Place:
    return Place(place.root, place.environ, place.now() + timedelta(**later))


def soul(place: Place, agent: str) -> str:
    return (Path(place.root) / "memory/agents" / agent / "SOUL.md").read_text()


def entry_on_disk(place: Place, protocol_id: str) -> dict:
    return value_in(protocol_registry.registry_path(place.paths))["agents"][protocol_id]


def sent(place: Place, line: str, **options: object) -> Done:
    return registry.receive(place, message_of(line), **options)


@pytest.mark.req("PR-507", "PR-510")
def test_what_an_agent_of_the_workspace_can_do_stands_in_its_soul_alone(place: Place):
    add(place, "owl", {"name": "Owl", "role": "Thinker", "capabilities": ["plan", "Deep Thought"]})

    done = registry.join(place, Joining(agent="owl"))

    assert done.entry is not None
    assert (done.id, done.entry.capabilities) == ("W1", ("plan",))
    assert "capabilities" not in entry_on_disk(place, "W1")
    registry.declare(place, "W1", ["reason", "translate"])
    assert "capabilities: [reason, translate, Deep Thought]" in soul(place, "owl")
    assert "role: Thinker" in soul(place, "owl")
    assert "capabilities" not in entry_on_disk(place, "W1")
    assert registry_of(place).entries["W1"].capabilities == ("reason", "translate")


@pytest.mark.req("PR-507")
def test_of_one_from_outside_it_stands_in_the_registry(place: Place):
    sent(place, "M1|W3>O1|J|T0|-|-|-|0|S0|-|caps=plan;desc=Planner;max_depth=2;agent=crawler")

    assert entry_on_disk(place, "W3")["capabilities"] == ["plan"]
    assert entry_on_disk(place, "W3")["agentId"] == "crawler"
    assert not (Path(place.root) / "memory/agents/crawler").exists()


@pytest.mark.req("PR-405", "PR-510")
def test_a_line_from_a_shell_does_not_replace_what_an_agent_that_is_there_can_do(place: Place):
    add(place, "owl", {"capabilities": ["plan"]})
    registry.join(place, Joining(agent="owl"))

    again = sent(place, "M1|W1>O1|J|T0|P1|N|-|0|S0|-|caps=plan")
    taken_over = sent(place, "M1|W1>O1|J|T0|P1|N|-|0|S0|-|caps=code_exec")

    assert again.outcome == "already-registered"
    assert (taken_over.outcome, taken_over.reason) == ("conflict", "W1 is taken by owl")
    assert "desc=ID_CONFLICT;id=W1" in taken_over.answers[0]
    assert registry_of(place).entries["W1"].capabilities == ("plan",)
    named = sent(place, "M1|W1>O1|J|T0|P1|N|-|0|S0|-|caps=code_exec;agent=owl")
    assert (named.outcome, named.id) == ("registered", "W1")


def test_removing_an_agent_tells_that_it_still_exchanges_messages(place: Place):
    add(place, "owl", {}, "1")
    registry.join(place, Joining(agent="owl"))

    assert "exchanges messages as W1: council agent leave W1" in remove(place, "owl").left


def test_who_edits_its_soul_is_known_by_it_at_once(place: Place):
    add(place, "owl", {"capabilities": ["plan"]})
    registry.join(place, Joining(agent="owl"))

    add_file = Path(place.root) / "memory/agents/owl/SOUL.md"
    add_file.write_text(add_file.read_text().replace("[plan]", "[translate]"))

    assert weigh(place, ["translate"]).order == ("W1",)


def test_a_soul_that_no_program_may_change_is_left_alone_and_nothing_is_half_done(place: Place):
    add(place, "owl", {"capabilities": ["plan"]})
    registry.join(place, Joining(agent="owl"))
    path = Path(place.root) / "memory/agents/owl/SOUL.md"
    path.write_text("---\ncapabilities: [\n---\n")
    before = tree(Path(place.root))

    with pytest.raises(InvalidStateError):
        registry.declare(place, "W1", ["reason"])

    assert tree(Path(place.root)) == before


@pytest.mark.req("XC-101")
def test_an_agent_proposes_the_id_among_its_handles_and_shows_the_one_it_got(place: Place):
    add(place, "owl", {"handles": ["W7"]}, "123")
    add(place, "gecko", {"handles": ["W7"]})
    assert profile(place, "owl").to_record()["protocol"] is None

    first = registry.join(place, Joining(agent="owl"))
    second = registry.join(place, Joining(agent="gecko"))

    assert (first.id, second.id) == ("W7", "W1")
    record = profile(place, "owl").to_record()
    assert (record["agentId"], record["protocolId"], record["accounts"]) == ("owl", "W7", ["123"])
    assert record["protocol"] == {
        "role": "worker",
        "status": "active",
        "version": "V5",
        "maxDepth": None,
    }


def test_a_line_from_the_id_in_a_soul_is_that_agents(place: Place):
    add(place, "owl", {"handles": ["W7"], "capabilities": ["plan"]})

    done = sent(place, "M1|W7>O1|J|T0|-|-|-|0|S0|-|max_depth=3;version=V5")

    assert done.entry is not None
    assert (done.entry.agent, done.entry.capabilities) == ("owl", ("plan",))
    assert registry.owner_of(place, "W7") == "owl"


@pytest.mark.req("PR-405", "PR-514")
def test_a_taken_id_is_a_conflict_and_the_event_is_written(place: Place):
    registry.join(place, Joining(proposed="W3"))

    with pytest.raises(IdConflictError, match="ID_CONFLICT: W3 is taken") as refused:
        registry.join(place, Joining(proposed="W3", capabilities=("plan",)))
    with pytest.raises(IdConflictError) as in_v4:
        registry.join(place, Joining(proposed="W3", version="V4"))

    assert refused.value.exit_code == 4
    assert refused.value.answer.split("|")[6] == "E99"
    assert in_v4.value.answer == "M2|O1>W3|E|-|-|-|E11|ID_CONFLICT"
    assert [one["type"] for one in tail(place.paths)] == ["agent.joined", *["agent.refused"] * 2]
    # The refusal is no letter for W3.
    assert len(read_inbox(place.paths, ["W3"])) == 1


def test_messages_and_answers_are_logged_and_lie_in_the_inbox(place: Place):
    sent(place, "M1|W3>O1|J|T0|-|-|-|0|S0|-|caps=plan")

    assert [line for _, line in read_log(place.paths)] == [
        "[72000] [INFO] [S0] [T0] W3>O1 J - caps=plan",
        "[72000] [INFO] [S0] [T0] O1>W3 A - registered id=W3",
    ]
    assert [one.text for one in read_inbox(place.paths, ["W3"])] == [
        "M2|O1>W3|A|T0|-|-|-|0|S0|-|registered;id=W3;status=active"
    ]


@pytest.mark.req("PR-404", "PR-517")
def test_members_of_a_group_are_told_in_the_version_they_speak(place: Place):
    registry.join(place, Joining(version="V4"))
    registry.join(place, Joining())

    registry.change_group(place, "G1", ["W1", "W2"], add=True)

    assert [read_inbox(place.paths, [one])[-1].text for one in ("W1", "W2")] == [
        "M1|O1>W1|B|-|-|-|-|JOIN;group=G1;members=W1,W2",
        "M2|O1>W2|B|T0|-|-|-|0|S0|-|JOIN;group=G1;members=W1,W2",
    ]


def test_refusals_are_raised_with_what_is_answered(place: Place):
    with pytest.raises(NotFoundError, match="E41: W9 is not registered"):
        registry.leave(place, "W9")
    with pytest.raises(NotFoundError):
        registry.tell_liveness(place, "W9", 1, 1)
    registry.join(place, Joining())
    with pytest.raises(ProtocolRefusedError) as refused:
        registry.declare(place, "W1", ["Web Search"])
    with pytest.raises(ProtocolRefusedError):
        registry.change_group(place, "G1", ["O1"], add=True)

    assert refused.value.to_record()["protocolCode"] == "E10"
    assert "E10" in str(refused.value.to_record()["answer"])


@pytest.mark.req("PR-422")
def test_the_heartbeat_marks_who_fell_silent_once(place: Place):
    registry.join(place, Joining())
    registry.tell_liveness(place, "W1", 45, 2)

    beat(at(place, minutes=14))
    assert query(place).entries[-1].status == "active"
    beat(at(place, minutes=15))
    after = tree(Path(place.root))
    beat(at(place, minutes=15))

    assert tree(Path(place.root)) == after
    assert query(place, "W1", "unavailable").to_record()["agents"] == ["W1"]
    events = [one for one in tail(place.paths) if one["type"] == "agent.unavailable"]
    assert [one["data"]["code"] for one in events] == ["E22"]
    assert any("O1>W1 E E22" in line for _, line in read_log(place.paths))


def test_what_is_wrong_with_those_who_exchange_messages_is_a_problem(place: Place):
    registry.join(place, Joining())
    registry.tell_liveness(place, "W1", 45, 2)
    assert find_problems(place).found == []
    beat(at(place, hours=1))

    silent = find_problems(at(place, hours=2)).found
    examined = {one.what: one for one in examine(at(place, hours=2))}
    Path(protocol_registry.registry_path(place.paths)).write_text("{")
    broken = find_problems(at(place, hours=2)).found

    assert [(one.code, one.where, one.said()) for one in silent] == [
        ("silent", "W1", "no sign of life for 2h")
    ]
    assert [one.code for one in broken] == ["registry"]
    assert not examined["W1"].ok
    assert examined["protocol"].found == "0 agents can be given work"
    assert not next(one for one in examine(place) if one.what == "protocol").ok


@pytest.mark.req("PR-414")
def test_a_message_that_is_dropped_leaves_an_event_and_no_line_of_log(place: Place):
    registry.join(place, Joining())
    registry.tell_liveness(place, "W1", 45, 2)
    before = list(read_log(place.paths))

    done = registry.tell_liveness(place, "W1", 46, 2)

    assert (done.outcome, done.entry.load) == ("dropped", 45)
    assert list(read_log(place.paths)) == before
    assert [one["type"] for one in tail(place.paths)][-1] == "liveness.dropped"


def test_a_sign_of_life_is_noted_of_whom_it_is_expected(place: Place):
    registry.join(place, Joining())
    before = tree(Path(place.root))
    registry.note_seen(at(place, minutes=5), "W1")
    assert tree(Path(place.root)) == before

    registry.tell_liveness(place, "W1", 45, 2)
    registry.note_seen(at(place, minutes=10), "W1")

    assert registry.expire_liveness(place, at(place, minutes=20).now()) == []
    assert registry.expire_liveness(place, at(place, minutes=25).now()) == ["W1"]


@pytest.mark.req("PR-561")
def test_who_was_given_work_stands_behind_its_equals(place: Place):
    for _ in range(3):
        registry.join(place, Joining(capabilities=("plan",)))

    registry.note_used(place, "W1")
    registry.note_used(at(place, minutes=1), "W2")

    assert weigh(place, ["plan"]).order == ("W3", "W1", "W2")


@pytest.mark.req("PR-561")
def test_tasks_of_one_kind_go_to_equals_in_turn(place: Place):
    for _ in range(3):
        registry.join(place, Joining(capabilities=("plan",)))

    for number in range(4):
        request(at(place, seconds=number), "Plan it.", caps=("plan",))

    chosen = [one["agentId"] for one in tail(place.paths) if one["type"] == "worker.chosen"]
    assert chosen == ["W1", "W2", "W3", "W1"]


@pytest.mark.req("PR-422")
def test_who_answers_a_task_is_alive(place: Place):
    registry.join(place, Joining(capabilities=("plan",)))
    registry.tell_liveness(place, "W1", 45, 2)
    task = request(place, "Plan it.")
    line = f"M2|W1>O1|U|{task.task}|P1|R|-|0|{task.context}|B500|progress=1%"
    send(at(place, minutes=10), line)

    assert registry.expire_liveness(place, at(place, minutes=20).now()) == []
    assert registry.expire_liveness(place, at(place, minutes=25).now()) == ["W1"]


def test_a_run_speaks_for_itself_alone(place: Place):
    add(place, "owl", {})
    registry.join(place, Joining(agent="owl"))
    registry.join(place, Joining())
    environ = {"COUNCIL_AGENT": "owl", "COUNCIL_TASK_ID": "t"}
    run = Place(place.root, environ, place.now())

    with pytest.raises(RefusedError, match="W1's and cannot speak as W2"):
        sent(run, "M1|W2>O1|L|T0|-|-|-|0|S0|-|reason=x")
    done = sent(run, "M1|W1>O1|L|T0|-|-|-|0|S0|-|reason=x")

    assert done.outcome == "left"


def test_a_run_joins_as_the_agent_it_is(place: Place):
    add(place, "owl", {"capabilities": ["plan"]})
    inside = {"COUNCIL_AGENT": "owl", "COUNCIL_TASK_ID": "t"}
    inside["COUNCIL_CLAIM"] = run_claim(run_key(place.paths), inside)
    run = Place(place.root, inside, place.now())

    done = sent(run, "M1|W4>O1|J|T0|-|-|-|0|S0|-|agent=fox;desc=me")

    assert done.entry is not None
    assert (done.id, done.entry.agent) == ("W4", "owl")


def test_names_are_resolved_to_ids(place: Place):
    add(place, "owl", {})
    with pytest.raises(NotFoundError, match="owl has not joined"):
        protocol_id_of(place, "owl")
    registry.join(place, Joining(agent="owl"))

    assert protocol_id_of(place, "owl") == protocol_id_of(place, "W1") == "W1"
    assert whom(place, "W3", "owl") == ("W3", "owl")
    assert whom(place, "owl", "") == ("", "owl")
    assert whom(place, "", "W3") == ("W3", "")
    with pytest.raises(UsageError):
        whom(place, "W3", "W4")


def test_a_broken_registry_is_a_fault_of_the_list_of_agents_and_stops_nobody(place: Place):
    add(place, "owl", {"handles": ["W7"]})
    path = Path(protocol_registry.registry_path(place.paths))
    path.parent.mkdir(parents=True)
    path.write_text("{")

    assert profile(place, "owl").protocol_id == "W7"
    with pytest.raises(InvalidStateError):
        query(place)
    report = beat(place)
    assert [name for name, _ in report.errors] == ["liveness"]


@pytest.mark.long
@pytest.mark.req("PR-404")
def test_joining_goes_on_wherever_the_process_is_killed(place: Place, tmp_path: Path):
    add(place, "owl", {"capabilities": ["plan"]})

    for number in count(1):
        root = tmp_path / str(number)
        shutil.copytree(place.root, root)
        copy = Place(str(root), {}, place.now())

        def work(there: Place = copy) -> None:
            registry.join(there, Joining(agent="owl", capabilities=("plan", "reason")))

        was_killed = killed_at(number, work)
        work()

        found = registry_of(copy)
        assert [one.id for one in found.entries.values()] == ["W1"]
        assert found.entries["W1"].capabilities == ("plan", "reason")
        joined = [one["eventId"] for one in tail(copy.paths) if one["type"] == "agent.joined"]
        assert len(joined) == 1
        if not was_killed:
            break
    assert number > 10


def test_an_agent_signs_as_the_id_it_joined_with(place: Place):
    add(place, "owl", {})
    registry.join(place, Joining(agent="owl"))
    own = parse("M1|W1>O1|S|T1|P1|D|-|0|S1|B5|done")
    other = parse("M1|W2>O1|S|T1|P1|D|-|0|S1|B5|done")
    inside = {"COUNCIL_AGENT": "owl", "COUNCIL_TASK_ID": "t"}
    inside["COUNCIL_CLAIM"] = run_claim(run_key(place.paths), inside)
    run = Place(place.root, inside, place.now())

    assert sign(place, own, signer="owl").text.startswith("M1|W1>O1|S|")
    assert sign(run, own).text.startswith("M1|W1>O1|S|")
    for who, signer in ((place, "owl"), (place, "fox"), (run, "")):
        with pytest.raises(RefusedError, match="cannot sign a message of W2"):
            sign(who, other, signer=signer)
