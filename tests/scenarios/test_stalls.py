"""Things that stand still: from `explain` and `events story` alone the cause and the way out show.

Each test prepares one stall as it happens to people, and reads only what those
two commands print.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from council.core.protocol.registering import Joining
from council.operations.protocol import registry
from tests.cli.commands import wait_until
from tests.scenarios.office import Office
from tests.scenarios.stalled import (
    AGENTS,
    NEVER,
    QUICK,
    explained,
    kinds,
    open_council,
    program,
    python,
    told,
    until_told,
)


def test_a_program_that_is_not_there(council):
    open_council(council, QUICK + program("owl", "/opt/nope/agent"), agents="owl,elk")
    story = until_told(council, "attempt 1 failed")

    why = explained(council)

    assert "not found: /opt/nope/agent" in story
    assert "the program of owl is not there: /opt/nope/agent" in why
    assert "install it, or correct argv of [agents.owl] in council.toml" in why
    assert "$ /opt/nope/agent" in why
    assert "COLLECT is out of time; CHALLENGE begins, without owl" in why


def test_a_program_that_fails_shows_what_it_said(council):
    open_council(council, NEVER + python("owl", "fails.py", "7"), agents="owl,elk")
    story = until_told(council, "attempt 2 failed")

    why = explained(council)

    assert "owl attempt 1 failed: exit 7" in story
    assert "the program of owl failed: exit 7; it said: the model is not available" in why
    assert "council respond --as owl" in why
    assert "fails.py 7" in why
    record = council("explain", "active", "--json").json()
    *_, tried = [one for one in record["tried"] if one["agentId"] == "owl"]
    assert (tried["state"], tried["cameBack"]) == ("F", "exit 7")
    assert tried["output"] == ["the model is not available"]
    assert (council.root / tried["log"]).is_file()


def test_a_program_that_takes_too_long(council):
    open_council(
        council,
        NEVER + python("owl", "slow.py", "60", more='timeout = "1s"\n'),
        agents="owl,elk",
    )
    story = until_told(council, "timed out")

    why = explained(council)

    assert "attempt 1 failed: timed out after 1s" in story
    assert "the program of owl was ended: it timed out after 1s" in why
    assert 'timeout = "10m" under [agents.owl]' in why


def test_an_agent_that_rests(council):
    once = QUICK + "[limits]\nfailures_before_rest = 1\n"
    open_council(council, once + python("owl", "fails.py"), agents="owl,elk")
    until_told(council, "rests until")

    why = explained(council)

    assert "owl rests until" in why
    assert "it failed once (exit 3: the model is not available)" in why
    assert "council doctor --probe" in why


def test_a_cap_that_is_reached(council):
    limits = "[limits]\nmax_runs_per_council = 1\n"
    open_council(council, limits + python("owl", "echo.py"), gecko_answers=False)
    story = until_told(council, "not started")

    why = explained(council)

    assert "not started: max_runs_per_council = 1 is reached" in story
    assert "the cap max_runs_per_council = 1 is reached: no more runs are started" in why
    assert "raise it under [limits] in council.toml" in why


def test_a_workspace_that_is_halted(council):
    assert council("halt", "--reason", "the bill").code == 0
    open_council(council, python("owl", "echo.py"), gecko_answers=False)

    why, story = explained(council), told(council)

    assert "waits for a place" in story
    assert "the workspace is halted since" in why
    assert "the bill: no run is started" in why
    assert "council resume --all" in why


def test_a_heartbeat_that_does_not_run_any_more_or_never_ran(council):
    open_council(council, "", agents="owl,elk")  # none whose run would beat meanwhile
    later = "2099-01-01T00:00:00Z"

    why = " ".join(council("explain", "active", now=later).out.split())

    assert "the last heartbeat ran" in why
    assert "ago, and no clock runs it" in why
    assert "council schedule --install" in why
    assert "(due now): COLLECT is out of time" in why
    (council.root / "memory/shared/.council/last-heartbeat").unlink()
    why = " ".join(council("explain", "active", now=later).out.split())
    assert "no heartbeat has ever run here, and no clock runs it" in why


def test_an_agent_that_answers_by_hand_and_has_not(council):
    open_council(council, "")

    why, story = explained(council), told(council)

    assert "owl prompt handed over, to answer by hand" in story
    assert "no program answers for owl: it answers by hand, and has not" in why
    assert 'council respond --as owl --name active "…" (its prompt: memory/agents/owl/tasks/' in why
    assert kinds(council) == ["by-hand"]


def test_a_state_file_that_nobody_here_may_write(council):
    open_council(council, "", agents="owl,elk")
    file = council.root / "memory/shared/council-active-conversation.md"
    text = file.read_text()
    file.write_text(text.replace('"schemaVersion": 1', '"schemaVersion": 99', 1))
    assert file.read_text() != text
    assert council("heartbeat").code == 3

    why = explained(council)

    assert "its file has schemaVersion 99, which only a newer council can write" in why
    assert "install a council that knows schemaVersion 99" in why
    assert "council restore REV" in why
    assert "opened" in told(council)


def test_all_places_taken_by_a_run_that_hangs(council, tmp_path):
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    hanging = python("wolf", "slow.py", "60", "--ready", ready)
    settings = "max_runs = 1\n" + python("owl", "echo.py") + hanging
    (council.root / "council.toml").write_text(settings + python("gecko", "echo.py"))
    assert council("convene", "First?", "--agents", "wolf,elk", "--name", "first").code == 0
    with ready.open("rb") as started:
        assert started.read(1) == b"!"
        assert council("convene", "Second?", "--agents", "owl,gecko", "--name", "second").code == 0

        why, story = explained(council, "second"), told(council, "second")

        assert "owl waits for a place" in story
        assert "all 1 places are taken: by wolf in first" in why
        assert "max_runs in council.toml" in why
        assert "It does not count against the deadline" in why
        log = council("explain", "first", "--json").json()
        assert [one["what"] for one in log["waitsFor"] if one["agentId"] == "wolf"] == ["run"]
        assert council("halt").code == 0
        kill_run(council, "wolf")


def kill_run(council, agent: str) -> None:
    """Kill the run of an agent with all that watches over it, as a power cut would."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            held = [os.readlink(one) for one in (entry / "fd").iterdir()]
        except OSError:
            continue
        mine = f"COUNCIL_ROOT={council.root}".encode() in environment
        place = f"{council.root}/memory/shared/.council/runs/places/agent-{agent}"
        if place in held or (mine and f"COUNCIL_AGENT={agent}".encode() in environment):
            try:
                os.kill(int(entry.name), signal.SIGKILL)
            except ProcessLookupError:
                continue


def test_a_run_that_died_without_a_word(council, tmp_path):
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    open_council(council, python("owl", "slow.py", "60", "--ready", ready))
    with ready.open("rb") as started:
        assert started.read(1) == b"!"
        kill_run(council, "owl")
        assert started.read() == b""
    wait_until(lambda: "lost" in kinds(council))

    why = explained(council)

    assert "the run of owl ended unexpectedly" in why
    assert "council heartbeat counts it as failed, and it is tried again" in why
    assert "the run of owl counts as lost" in why
    assert "owl attempt 1 started by command" in told(council)
    assert council("heartbeat", now="2099-01-01T00:00:00Z").code == 0
    assert "the run ended unexpectedly" in told(council)


def test_a_room_that_sleeps(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    words = ("channel", "create", "chat", "weather", "--participants", "owl,gecko,alice")
    assert council(*words, "--as", "owl").code == 0
    assert council("say", "Rain?", "--to", "weather").code == 0
    for agent in ("owl", "gecko"):
        assert council("turn", "begin", "weather", "--as", agent, "--run-id", agent).code == 0
        done = council(
            "turn", "end", "weather", "--as", agent, "--run-id", agent, "--text", "NO_REPLY"
        )
        assert done.code == 0, done.err

    why, story = explained(council, "weather"), told(council, "weather")

    assert "fell asleep: all passed" in story
    assert "channel weather: dormant (paused)" in why
    assert "all have had their turn" in why
    assert 'council say "…" --to weather' in why


def test_a_room_whose_speaker_fails_and_the_way_out_that_is_told_works(council):
    (council.root / "council.toml").write_text(
        NEVER + python("owl", "fails.py", "4") + python("gecko", "echo.py")
    )
    words = ("channel", "create", "chat", "hall", "--participants", "owl,gecko,alice")
    assert council(*words, "--as", "owl").code == 0
    assert council("say", "Rain?", "--to", "hall").code == 0
    wait_until(lambda: council("heartbeat") and "attempt 1 failed" in told(council, "hall"))

    why = explained(council, "hall")

    assert "the program of owl failed: exit 4; it said: the model is not available" in why
    assert "council turn end hall --as owl --run-id hand --post --text" in why
    assert "owl is tried again" in why
    assert "the turn of owl passes on" in why
    words = ("turn", "end", "hall", "--as", "owl", "--run-id", "hand", "--post", "--text", "No.")
    assert council(*words).code == 0
    until_told(council, "gecko", name="hall")


def test_a_conversation_that_is_paused(council):
    open_council(council, "")
    assert council("pause").code == 0

    why = explained(council)

    assert "paused: nobody is woken" in told(council)
    assert "it is paused since" in why
    assert "council resume --name active" in why
    assert "nothing by itself: a person is needed" in why


def test_a_task_that_waits_for_a_choice_of_the_user(council):
    office = Office(council)
    painter = (["asks", "Which?", "red,dark blue"], "paint")
    office.hire("", painter=painter)
    context = office.ask("Paint it")
    office.until(context, lambda one: one["tasks"]["T1"]["questions"])

    why, story = explained(council, context), told(council, context)

    assert "the user has not chosen yet: Which? (red, dark blue)" in why
    assert f"council say OPTION --to {context}/T1" in why
    assert "nothing by itself: a person is needed" in why
    assert "E20" not in why
    assert "an answer of painter" not in why
    assert "Which?" in story
    only = council("explain", f"{context}/T1", "--json").json()
    assert (only["kind"], [one["what"] for one in only["hindrances"]]) == ("task", ["choice-open"])
    assert "Which?" in told(council, f"{context}/T1")


def test_a_worker_that_answers_by_hand_and_has_not(council):
    office = Office(council)
    office.hire(scout=([], "web_search"))
    context = office.ask("What is new?", "--caps", "web_search")
    wait_until(lambda: "scout is out of time" in explained(council, context))

    why, story = explained(council, context), until_told(council, "M1 delivered", context)

    assert "no program answers for scout: it answers by hand, and has not" in why
    assert "council msg inbox --as scout" in why
    assert "scout is out of time; another one is asked" in why
    assert "M1 delivered to W1" in story


def test_a_worker_from_outside_that_has_not_answered(council):
    office = Office(council)
    joined = registry.join(office.place, Joining(proposed="W1", capabilities=("plan",)))
    assert joined.id == "W1"
    context = office.ask("Plan it", "--caps", "plan")
    wait_until(lambda: "W1 is out of time" in explained(council, context))

    why = explained(council, context)

    assert "no program answers for W1: it answers by hand, and has not" in why
    assert "council msg inbox --as W1" in why
    assert "W1, attempt 1: handed over, to answer by hand" in why
    assert "the run of W1" not in why


def test_the_second_task_of_a_worker_waits_for_a_place_and_not_for_the_run_of_the_first(council):
    office = Office(council)
    napping = council.root / "napping"
    office.hire(sleeper=(["naps", str(napping), "600"], "plan"))
    context = str(office.do("ctx", "open")["ctx"])
    for text in ("First", "Second"):
        office.ask(text, "--caps", "plan", "--ctx", context)
    office.until(
        context, lambda one: sorted(r["state"] for r in one["runs"].values()) == ["N", "R"]
    )
    wait_until(napping.exists)

    first, second = (explained(council, f"{context}/{one}") for one in ("T1", "T2"))

    assert "the run of sleeper" in first
    assert "the run of sleeper" not in second
    assert "sleeper, attempt 1: waits for a place" in second
    assert f"works.py naps {napping} 600" in first
    assert "works.py naps" not in second
    office.do("task", "cancel", context)


def test_a_worker_that_keeps_failing(council):
    office = Office(council)
    office.hire(scout=(["exits", "3"], "web_search"))
    context = office.ask("What is new?", "--caps", "web_search")
    office.answer(context)

    why, story = explained(council, context), told(council, context)

    assert "exit 3" in story
    assert "T1 failed:" in why
    assert f"council task show {context}/T1" in why
    assert "works.py exits 3" in why


def test_an_explanation_speaks_french(council):
    open_council(council, "")

    why = explained(council, "active", "--lang", "fr")

    assert "Ce qui bloque" in why
    assert "aucun programme ne répond pour owl" in why


def test_secrets_are_masked_in_what_was_tried(council):
    tells = f"{sys.executable} {AGENTS / 'tells_secrets.py'} API_KEY; exit 3"
    more = 'env = ["API_KEY"]\n'
    (council.root / "council.toml").write_text(
        NEVER + program("owl", "/bin/sh", "-c", tells, more=more)
    )
    secret = "sk-very-secret-value"
    done = council("convene", "Hm?", "--agents", "owl,gecko", env={"API_KEY": secret})
    assert done.code == 0
    until_told(council, "owl attempt 1 failed")

    why = council("explain", "active").out

    assert "key:" in why
    assert secret not in why
    assert secret not in council("events", "story", "active").out


def test_a_lock_that_somebody_holds_names_the_holder(council):
    from council.store.lock import Lock

    open_council(council, "", agents="owl,elk")
    known = council("status", "--json").json()["conversations"][0]["conversationId"]

    with Lock(str(council.root / f"memory/shared/.council/{known}/lock")):
        why = explained(council)

    assert f"pid {os.getpid()}" in why
    assert "holds its lock" in why


def test_what_is_over_waits_for_nothing(council):
    open_council(council, "", agents="owl,elk")
    known = council("status", "--json").json()["conversations"][0]["conversationId"]
    assert council("archive").code == 0

    record = council("explain", known, "--json").json()

    assert (record["waitsFor"], record["hindrances"]) == ([], [])
    assert [one["what"] for one in record["next"]] == ["over"]
    assert council("explain", "nobody", "--json").code == 5


def test_a_task_is_explained_as_what_concerns_its_agent(council):
    open_council(council, NEVER + python("owl", "fails.py", "7"), agents="owl,elk")
    until_told(council, "attempt 1 failed")
    task = council("explain", "active", "--json").json()["tried"][0]["task"]

    record = council("explain", task, "--json").json()

    assert {one["agentId"] for one in record["waitsFor"]} == {"owl"}
    assert {one["what"] for one in record["hindrances"]} == {"exit"}
    whole = council("explain", "active", "--json").json()
    assert {one["agentId"] for one in whole["waitsFor"]} == {"owl", "elk"}
