"""Calls to agents that live on another machine: run there, once, and answered here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from council.store.delegation.elsewhere import calls_elsewhere
from council.store.delegation.traces import held_notes, read_trace
from tests.conftest import BIN
from tests.engine.links import direct_to, linked
from tests.engine.machines import Machine, Machines, Maker
from tests.operations.tables import until

pytestmark = pytest.mark.engine

ASK = ("agent", "call", "--as", "user", "--trace", "t1", "--json", "--to")
# Notes each run beside the workspace, so that it can be counted, and says where it is.
RUNS = 'cat >/dev/null; echo run >> "$COUNCIL_ROOT/ran"; '
SAYS = RUNS + 'echo "$COUNCIL_AGENT at depth $COUNCIL_DEPTH of $COUNCIL_CALL_PATH."'
HANGS = RUNS + "exec sleep 600"


def calls(target: str) -> str:
    return RUNS + f'{BIN}/council agent call --to {target} "go on" --json || true'


def seat(machine: Machine, shell: str, *agents: str) -> None:
    for agent in agents:
        argv = json.dumps(["/bin/sh", "-c", shell])
        machine.configure(f"[agents.{agent}]\nargv = {argv}\n")


def told(machines: Machines) -> None:
    """Let each machine know who lives on the others."""
    for one in (*machines, *machines):
        one.do("engine", "pull")


def runs(*machines: Machine) -> int:
    files = [one.root / "ran" for one in machines]
    return sum(len(one.read_text().splitlines()) for one in files if one.exists())


def begin(machine: Machine, *words: str) -> subprocess.Popen[bytes]:
    """Start a call and return once other machines can know of it."""
    asking = machine.start(*ASK, *words)
    until(lambda: calls_elsewhere(machine.place.paths), "the call was asked for")
    return asking


def beat(machine: Machine) -> None:
    machine.do("engine", "pull")
    machine.do("heartbeat")


def supervisors_of(machine: Machine) -> list[int]:
    """Return the processes that run the call of a machine: they hold its note open."""
    (note,) = Path(machine.place.paths.control, "delegation/calls").glob("*.json")
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if link.samefile(note):
                found.append(int(link.parts[2]))
    return found


def answer(asking: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, err = asking.communicate(timeout=60)
    assert out, err
    return json.loads(out)  # type: ignore[no-any-return]


@pytest.mark.req("EN-006")
def test_a_call_runs_where_the_agent_lives_and_is_answered_here(machines: Maker):
    here, there = both = machines(2)
    seat(there, SAYS, "sage")
    told(both)
    with linked(here), linked(there):
        done = here.do(*ASK, "sage", "do it").json()
        again = here.do(*ASK, "sage", "do it").json()

    assert done["status"] == "ok" and done["summary"] == "sage at depth 0 of user,sage."
    assert again == done
    assert (runs(here), runs(there)) == (0, 1)
    assert calls_elsewhere(here.place.paths) == []
    assert [one.state for one in read_trace(here.place.paths, "t1").calls] == ["ok"]
    here.do("engine", "pull")
    kinds = [
        json.loads(one)["type"] for one in here.do("events", "tail", "--json").out.splitlines()
    ]
    assert kinds.count("agent.call.start") == kinds.count("agent.call.end") == 1


@pytest.mark.req("EN-006", "P8-027")
def test_the_form_of_the_answer_is_known_where_the_agent_runs(machines: Maker, tmp_path: Path):
    here, there = both = machines(2)
    seat(there, RUNS + """echo '{"n": 3}'""", "sage")
    told(both)
    form = tmp_path / "form.json"
    form.write_text('{"type": "object", "required": ["n"]}')
    with linked(here), linked(there):
        done = here.do(*ASK, "sage", "do it", "--schema", str(form)).json()
        form.write_text('{"type": "object", "required": ["m"]}')
        wrong = here(*ASK, "sage", "do more", "--schema", str(form)).json()

    assert done["status"] == "ok"
    assert wrong["error"]["guard"] == "expectedSchema"
    assert runs(there) == 3  # which was asked once more for another form


@pytest.mark.req("EN-006", "P8-060")
def test_a_circle_over_machines_is_refused(machines: Maker):
    here, there = both = machines(2)
    seat(here, calls("sage"), "ann")
    seat(there, calls("ann"), "sage")
    told(both)
    with linked(here), linked(there):
        done = here.do(*ASK, "ann", "do it").json()

    assert "cycle" in done["summary"] and "E16" in done["summary"]
    assert (runs(here), runs(there)) == (1, 1)


@pytest.mark.req("EN-006", "P8-060", "XC-016")
def test_a_run_that_waits_for_another_machine_lends_its_place(machines: Maker):
    here, there = both = machines(2)
    settings = here.root / "council.toml"
    settings.write_text("max_runs = 1\n" + settings.read_text())
    seat(here, calls("sage"), "ann")
    seat(here, SAYS, "cid")
    seat(there, calls("cid"), "sage")
    told(both)
    with linked(here), linked(there):
        done = here.do(*ASK, "ann", "do it").json()

    assert "cid at depth 2 of user,ann,sage,cid." in done["summary"]


@pytest.mark.req("EN-006")
def test_machines_that_beat_at_once_run_a_call_once(machines: Maker):
    here, *others = all_of = machines(3)
    for one in others:
        seat(one, SAYS, "sage")
    told(all_of)
    asking = begin(here, "sage", "do it")
    for one in others:
        one.do("engine", "pull")
    for one in [one.start("heartbeat") for one in others]:
        assert one.wait(60) == 0

    assert answer(asking)["status"] == "ok"
    assert runs(*all_of) == 1


@pytest.mark.req("EN-006")
def test_a_call_that_no_machine_takes_up_fails_and_says_where_the_agent_lives(machines: Maker):
    here, there = both = machines(2)
    seat(there, SAYS, "sage")
    told(both)
    ran = here(*ASK, "sage", "do it", "--limit", "timeoutMs=400")
    beat(there)

    assert ran.code == 6 and "sage lives on m2" in ran.err
    assert runs(there) == 0
    assert read_trace(here.place.paths, "t1").calls == []


@pytest.mark.req("EN-006")
def test_the_policy_of_the_machine_that_would_run_the_agent_holds(machines: Maker):
    here, there = both = machines(2)
    seat(there, SAYS, "sage")
    policy = there.root / "memory/agents/sage/policy.json"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text('{"call": {"allow": ["ann"]}}')
    told(both)
    with linked(here), linked(there):
        ran = here(*ASK, "sage", "do it")

    assert ran.code == 6 and ran.json()["error"]["guard"] == "policy"
    assert runs(there) == 0


@pytest.mark.req("EN-006", "P8-028")
def test_a_call_whose_caller_was_killed_is_not_begun(machines: Maker):
    here, there = both = machines(2)
    seat(there, SAYS, "sage")
    told(both)
    asking = begin(here, "sage", "do it")
    asking.send_signal(signal.SIGKILL)
    asking.wait(30)
    here.do("heartbeat")
    beat(there)

    assert runs(there) == 0
    assert read_trace(there.place.paths, "t1").calls == []


@pytest.mark.req("EN-006", "P8-028")
def test_a_call_ends_with_the_process_that_runs_it(machines: Maker):
    here, there = both = machines(2)
    seat(there, HANGS, "sage")
    told(both)
    asking = begin(here, "sage", "do it")
    beat(there)
    until(lambda: runs(there), "it runs")
    for one in supervisors_of(there):
        os.kill(one, signal.SIGKILL)
    until(lambda: not list(held_notes(there.place.paths)), "it has ended")
    beat(there)

    error = answer(asking)["error"]
    assert "machine m2 ended before the answer came" in error["message"]
    assert runs(there) == 1


@pytest.mark.req("EN-006", "EN-008")
def test_a_call_ends_when_the_machine_that_runs_it_is_gone(machines: Maker):
    here, there = both = machines(2)
    seat(there, HANGS, "sage")
    told(both)
    asking = begin(here, "sage", "do it")
    beat(there)
    until(lambda: runs(there), "it runs")
    session = direct_to(here)
    (holder, _) = session.leases("agent/")["agent/sage"]
    assert holder.startswith("m2/")
    assert asking.stdout is not None and asking.poll() is None
    for one in supervisors_of(there):
        os.kill(one, signal.SIGKILL)
    session.lease("agent/sage", holder, 0.001)  # as the time of the lease does in a minute

    error = answer(asking)["error"]
    assert "machine m2" in error["message"] and "does not answer" in error["message"]
    assert [one.state for one in read_trace(here.place.paths, "t1").calls] == ["lost"]


@pytest.mark.req("EN-006", "XC-016")
def test_two_runs_that_wait_for_each_other_over_machines_are_refused(machines: Maker):
    here, there = both = machines(2)
    meet = 'while [ ! -e "{other}/ran" ]; do sleep 0.05; done; '
    for one, other, agent, target in ((here, there, "ann", "sage"), (there, here, "sage", "ann")):
        call = f'council agent call --to {target} "go on" --json || true'
        seat(one, f"{RUNS}{meet.format(other=other.root)}{BIN}/{call}", agent)
    told(both)
    with linked(here), linked(there):
        asking = [
            one.start("agent", "call", "--as", "user", "--trace", trace, "--json", "--to", to, "go")
            for one, to, trace in ((here, "ann", "t1"), (there, "sage", "t2"))
        ]
        found = [answer(one)["summary"] for one in asking]

    assert any("E16" in one and "cycle" in one for one in found), found
