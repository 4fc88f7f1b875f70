"""Rooms and the heartbeat: the speaker is woken, what it prints is its turn, the next one follows.

Agents are real little programs; each run is a process of its own.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.conversations.due import Wake
from council.core.errors import NotFoundError
from council.core.reasons import read_reason
from council.core.rooms.channels import is_asleep
from council.operations.heartbeat.beat import beat, wait
from council.operations.heartbeat.gate import halt, resume_all
from council.operations.heartbeat.rooms import ServedRoom
from council.operations.rooms import channels, discussing
from council.store.reason_words import reason_words
from council.store.tally import read_tally
from tests.drivers.discord_server import discord_server
from tests.examples import one_in
from tests.operations.halls import FAILS, MINUTE, PASSES, WAYS, Hall, talks, woken
from tests.operations.tables import (
    SPEAKS,
    all_is_quiet,
    running_processes,
    script,
    until,
)

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
COUNCIL = f"{sys.executable} -m council"


@pytest.fixture
def hall(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Hall]:
    hall = Hall(tmp_path / "workspace")
    if getattr(request, "param", WAYS[0]) == WAYS[0]:
        yield hall
        return
    with discord_server() as hall.server:
        yield hall
        assert hall.is_alike()


on_both_ways = pytest.mark.parametrize("hall", WAYS, indirect=True)


# --- one word, and the agents talk it out ------------------------------------------------------


@on_both_ways
@pytest.mark.req("DG-001", "DG-063", "DG-096", "DG-101", "XC-011", "DG-088")
def test_one_word_starts_a_talk_that_ends_by_itself_and_leaves_nothing_running(hall: Hall):
    hall.seat({"owl": talks(2), "gecko": talks(1)}).room("owl", "gecko", "alice")

    hall.post("Will it rain?")
    all_is_quiet()

    assert hall.said() == [
        "alice: Will it rain?",
        "owl: owl in cycle 1",
        "gecko: gecko in cycle 1",
        "owl: owl in cycle 2",
    ]
    assert is_asleep(hall.standing())
    assert running_processes() == []
    before = hall.digest_of_the_tree()
    assert not hall.beat().changed
    assert hall.digest_of_the_tree() == before


@on_both_ways
@pytest.mark.req("DG-074", "DG-142", "DG-088")
def test_one_speaks_at_a_time_and_each_hears_the_one_before(hall: Hall):
    hears = 'grep -c "in cycle" >>"$COUNCIL_ROOT/heard"; echo "$COUNCIL_AGENT in cycle 1"'
    once = f'if [ "$COUNCIL_TOUR" = 1 ]; then {hears}; else cat >/dev/null; echo NO; fi'
    hall.seat_all(once, ("owl", "gecko", "fox")).room("owl", "gecko", "fox").post()
    all_is_quiet()

    assert (hall.root / "heard").read_text().split() == ["0", "1", "2"]
    began = [one for one in hall.kinds("floor.given", "turn.ended") if one.split()[0]]
    assert [one.split()[0] for one in began] == ["floor.given", "turn.ended"] * 6


@pytest.mark.req("DG-077", "DG-079")
@pytest.mark.parametrize("says", ["echo NO_REPLY", "echo NO", "true", "echo '   '"])
def test_a_run_that_says_nothing_passes(hall: Hall, says: str):
    hall.seat_all(f"cat >/dev/null; {says}", ("owl", "gecko")).room().post()
    all_is_quiet()

    assert hall.said() == ["alice: Will it rain?"]
    assert is_asleep(hall.standing())
    assert hall.kinds("task.failed", "turn.missed", "agent.rested") == []


@pytest.mark.req("DG-034", "DG-062", "DG-039", "DG-061")
@pytest.mark.parametrize(
    ("mode", "members"),
    [("report", ("owl", "gecko")), ("work", ("owl", "gecko")), ("chat", ("bob", "alice"))],
)
def test_where_no_turns_are_taken_a_word_wakes_nobody(
    hall: Hall, mode: str, members: tuple[str, ...]
):
    hall.seat_all(SPEAKS, ("owl", "gecko")).room(*members, mode=mode).post()
    hall.beat_to_rest(MINUTE)

    assert hall.said() == ["alice: Will it rain?"]
    assert hall.kinds("task.started") == []


@pytest.mark.req("OP-014")
@pytest.mark.parametrize(
    ("says", "heard"), [("It will.", ["owl: It will."]), ("'**NO_REPLY.**'", [])]
)
def test_the_only_agent_of_a_room_answers_a_person_once(hall: Hall, says: str, heard: list[str]):
    hall.seat({"owl": script(f"cat >/dev/null; echo {says}")}).room("owl", "alice").post()
    all_is_quiet()

    assert hall.said() == ["alice: Will it rain?", *heard]
    assert is_asleep(hall.standing())
    assert hall.kinds("task.started") == ["task.started owl"]
    assert not hall.beat().changed


@pytest.mark.req("DG-101", "DG-117")
def test_nobody_is_woken_before_something_was_said_and_the_guide_is_something(hall: Hall):
    hall.seat_all(PASSES, ("owl", "gecko")).room().beat_to_rest()
    assert hall.kinds("task.started") == []

    hall.discuss("owl", "gecko")
    all_is_quiet()
    assert hall.kinds("task.started")[:2] == ["task.started owl", "task.started gecko"]


# --- a discussion that falls idle --------------------------------------------------------------

SUMS_UP = 'if grep -q "^# Discussion"; then {}; else echo NO_REPLY; fi'


def idle_by_hand(hall: Hall, does: str) -> None:
    """Let a discussion fall idle that a program has opened and others hold by hand."""
    hall.seat({"owl": script(SUMS_UP.format(does)), "gecko": {}, "fox": {}})
    hall.discuss("gecko", "fox")
    for agent in ("gecko", "fox"):
        hall.end(agent, "NO_REPLY", "umbrellas")


@pytest.mark.req("OP-014", "DG-119", "DG-123", "DG-124")
@pytest.mark.parametrize("initiator", ["owl", "fox"], ids=["takes part", "does not"])
def test_the_program_of_its_initiator_sums_up_a_discussion_that_fell_idle(
    hall: Hall, initiator: str
):
    hall.seat_all(SUMS_UP.format("echo All want umbrellas."), ("owl", "gecko", "fox"))
    hall.discuss("owl", "gecko", by=initiator)
    all_is_quiet()

    runs = hall.events("task.started")
    assert len({one["eventId"] for one in runs}) == 3
    about = hall.standing("umbrellas").discussion
    attempt = 2 if initiator == "owl" else 1
    task = f"umbrellas.1.{initiator}.{attempt}"
    where = f"memory/shared/discussion-summary/{task}.md"
    assert (about.closed_reason, about.summary) == ("completed", where)
    assert (hall.root / where).read_text() == "All want umbrellas.\n"
    assert "All want umbrellas." in (hall.root / about.minutes).read_text()
    assert hall.standing("umbrellas").tasks[task].state == "D"
    assert list(Path(hall.place.paths.tasks(initiator)).iterdir()) == []
    assert not hall.beat().changed


@pytest.mark.req("OP-014")
@pytest.mark.parametrize("link", [False, True])
def test_an_agent_that_answers_by_tool_writes_the_summary_to_the_file_it_is_told(
    hall: Hall, link: bool
):
    (hall.root / "secret").write_text("Secret.")
    folder = "memory/shared/discussion-summary"
    file = f"{folder}/$COUNCIL_TASK_ID.md"
    writes = f'ln -sf "$COUNCIL_ROOT/secret" "{file}"' if link else f'echo Rain. >"{file}"'
    runs = script(f'mkdir -p {folder}; if grep -q "{folder}"; then {writes}; fi')
    hall.seat({"owl": {**runs, "answer": "tool"}, "gecko": {}, "fox": {}})
    hall.discuss("gecko", "fox")
    for agent in ("gecko", "fox"):
        hall.end(agent, "NO_REPLY", "umbrellas")
    all_is_quiet()

    about = hall.standing("umbrellas").discussion
    assert about.summary == ("" if link else f"{folder}/umbrellas.1.owl.1.md")
    assert len(hall.kinds("task.failed")) == int(link)
    assert bool(about.minutes) is not link


@pytest.mark.req("OP-014")
def test_who_completes_an_idle_discussion_by_hand_ends_the_run_for_its_summary(hall: Hall):
    waits = 'touch "$COUNCIL_ROOT/up"; until [ -e "$COUNCIL_ROOT/go" ]; do sleep 0.05; done; '
    idle_by_hand(hall, waits + "echo Too late.")
    until((hall.root / "up").exists, "the summary is written")

    folder = hall.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "mine.md").write_text("Mine.")
    discussing.complete(hall.place, "umbrellas", "owl", "mine.md")
    (hall.root / "go").touch()
    all_is_quiet()

    assert hall.standing("umbrellas").discussion.summary.endswith("/mine.md")
    assert os.listdir(folder) == ["mine.md"]
    assert hall.kinds("task.failed", "agent.rested") == []


@pytest.mark.req("OP-014")
@pytest.mark.parametrize("does", ["echo NO_REPLY", "exit 3", "true"])
def test_without_a_summary_a_discussion_stays_idle_after_three_attempts(hall: Hall, does: str):
    idle_by_hand(hall, does)
    for _ in range(4):
        hall.beat_to_rest(MINUTE)

    standing = hall.standing("umbrellas")
    failed = [one for one in standing.tasks.values() if one.agent == "owl"]
    assert [(one.attempt, one.state) for one in failed] == [(1, "F"), (2, "F"), (3, "F")]
    assert standing.discussion.completed_at is None
    assert not (hall.root / "memory/shared/discussion-summary").exists()
    (note,) = Path(hall.place.paths.tasks("owl")).iterdir()
    assert note.name == "umbrellas.1.idle.md"


@pytest.mark.req("OP-014")
def test_a_word_ends_the_wait_for_a_summary_and_what_a_run_then_prints_completes_nothing(
    hall: Hall,
):
    waits = 'touch "$COUNCIL_ROOT/up"; until [ -e "$COUNCIL_ROOT/go" ]; do sleep 0.05; done; '
    idle_by_hand(hall, waits + "echo Too early.")
    until((hall.root / "up").exists, "the summary is written")

    hall.post("Wait!", name="umbrellas")
    (hall.root / "go").touch()
    all_is_quiet()

    standing = hall.standing("umbrellas")
    assert (standing.speaker, standing.discussion.completed_at) == ("gecko", None)
    assert standing.tasks["umbrellas.1.owl.1"].state == "X"


@pytest.mark.req("OP-014", "OP-006")
def test_a_run_for_a_summary_that_was_killed_is_missed_and_tried_again(hall: Hall):
    waits = 'touch "$COUNCIL_ROOT/up"; exec sleep 60'
    idle_by_hand(hall, f'if [ -e "$COUNCIL_ROOT/up" ]; then echo Rain.; else {waits}; fi')
    until((hall.root / "up").exists, "the run is up")
    for one in running_processes_by_id():
        os.kill(one, signal.SIGKILL)
    all_is_quiet()

    hall.beat_to_rest(SECOND)
    hall.beat_to_rest(MINUTE)
    assert hall.kinds("task.lost") == ["task.lost owl"]
    assert hall.standing("umbrellas").discussion.closed_reason == "completed"


@pytest.mark.req("OP-014")
def test_an_idle_discussion_waits_for_who_answers_by_hand_and_starts_nothing(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}, "fox": {}}).discuss("gecko", "fox")
    for agent in ("gecko", "fox"):
        hall.end(agent, "NO_REPLY", "umbrellas")
    hall.beat_to_rest(MINUTE)

    assert hall.standing("umbrellas").tasks == {}
    assert not hall.beat().changed


# --- what counts as the turn of a run ----------------------------------------------------------


@on_both_ways
@pytest.mark.req("DG-004", "DG-142", "DG-088")
@pytest.mark.parametrize(
    "does",
    one_in(
        2,
        [
            f'{COUNCIL} turn end weather --post --text "It rains." >/dev/null; echo I said so.',
            f'{COUNCIL} channel post weather "It rains." >/dev/null; echo "I have said so."',
            f'{COUNCIL} channel post weather "It rains." >/dev/null; echo NO_REPLY',
            f'{COUNCIL} channel post weather "It rains." >/dev/null',
            f'{COUNCIL} turn begin weather --run-id mine >/dev/null; echo "It rains."',
        ],
    ),
    ids=["ends", "posts", "posts and passes", "posts and is silent", "begins"],
)
def test_a_run_that_speaks_by_itself_is_heard_once(hall: Hall, does: str):
    once = f'cat >/dev/null; if [ "$COUNCIL_TOUR" = 1 ]; then {does}; else echo NO; fi'
    hall.seat({"owl": script(once), "gecko": script(PASSES)}).room().post()
    all_is_quiet()

    assert hall.said() == ["alice: Will it rain?", "owl: It rains."]
    assert hall.kinds("turn.ended")[:2] == ["turn.ended owl", "turn.ended gecko"]
    assert hall.kinds("cycle.ended") == ["cycle.ended"] * 2
    assert hall.kinds("task.failed") == []


@pytest.mark.req("C0-046")
def test_a_run_that_answers_by_tool_and_does_not_is_a_failed_attempt(hall: Hall):
    silent = {**script("cat >/dev/null"), "answer": "tool"}
    hall.seat({"owl": silent, "gecko": script(PASSES)}).room().post()
    all_is_quiet()

    assert hall.kinds("task.failed") == ["task.failed owl"]
    assert hall.standing().speaker == "owl"


@pytest.mark.req("C0-046")
def test_a_run_that_answers_by_tool_has_done_so_once_its_turn_is_over(hall: Hall):
    ends = f"cat >/dev/null; {COUNCIL} turn end weather >/dev/null"
    tool = {**script(ends), "answer": "tool"}
    hall.seat({"owl": tool, "gecko": tool}).room().post()
    all_is_quiet()

    assert is_asleep(hall.standing())
    assert read_tally(hall.place.paths).lapses == {}


@on_both_ways
@pytest.mark.req("XC-016", "DG-087", "DG-088")
def test_a_run_that_fails_is_tried_again_and_then_the_turn_passes_on(hall: Hall):
    hall.seat({"owl": script(FAILS), "gecko": talks(1)}).room().post()
    all_is_quiet()
    assert not hall.beat_to_rest(9 * SECOND).changed
    hall.beat_to_rest(SECOND)
    assert hall.kinds("task.failed") == ["task.failed owl"] * 2
    assert hall.said() == ["alice: Will it rain?"]

    hall.beat_to_rest(MINUTE)
    assert hall.kinds("turn.missed")[0] == "turn.missed owl"
    assert hall.said()[1:] == ["gecko: gecko in cycle 1"]
    (missed, *_) = hall.events("turn.missed")
    assert reason_words(read_reason(missed["data"]["reason"])) == "exit 3"


def test_a_run_that_hits_its_time_limit_is_not_tried_again(hall: Hall):
    slow = {**script("cat >/dev/null; exec sleep 60"), "timeout": "1s"}
    hall.seat({"owl": slow, "gecko": script(PASSES)}).room().post()
    all_is_quiet()

    assert hall.kinds("task.failed") == ["task.failed owl"]
    assert hall.kinds("turn.missed") == ["turn.missed owl"]
    assert hall.kinds("turn.ended") == ["turn.ended gecko"]


@on_both_ways
@pytest.mark.req("DG-003", "OP-006", "DG-088")
def test_a_run_whose_supervisor_was_killed_is_missed_and_tried_again(hall: Hall):
    waits = 'cat >/dev/null; touch "$COUNCIL_ROOT/up"; exec sleep 60'
    once = f'if [ -e "$COUNCIL_ROOT/up" ]; then echo NO; else {waits}; fi'
    hall.seat({"owl": script(once), "gecko": script(PASSES)}).room().post()
    until((hall.root / "up").exists, "the run is up")
    for one in running_processes_by_id():
        os.kill(one, signal.SIGKILL)
    all_is_quiet()

    hall.beat_to_rest(SECOND)
    hall.beat_to_rest(MINUTE)
    assert hall.kinds("task.lost") == ["task.lost owl"]
    assert is_asleep(hall.standing())


def running_processes_by_id() -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                facts = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(facts[1]) == os.getpid() and facts[0] not in "ZX":
                found.append(int(entry))
    return found


@on_both_ways
@pytest.mark.req("DG-092", "DG-101", "DG-088")
def test_what_is_said_while_the_speaker_runs_is_heard_before_the_room_sleeps(hall: Hall):
    counts = 'grep -c "And you" >>"$COUNCIL_ROOT/heard-$COUNCIL_AGENT"; touch "$COUNCIL_ROOT/up"'
    waits = 'while [ ! -e "$COUNCIL_ROOT/go" ]; do sleep 0.05; done; echo NO_REPLY'
    hall.seat_all(f"{counts}; {waits}", ("owl", "gecko")).room().post()
    until((hall.root / "up").exists, "owl is running")
    hall.post("And you?")
    (hall.root / "go").touch()
    all_is_quiet()

    assert (hall.root / "heard-owl").read_text().split() == ["0", "1"]
    assert is_asleep(hall.standing())


@pytest.mark.req("XC-011")
def test_scripted_agents_talk_by_the_number_of_the_cycle(hall: Hall):
    (hall.root / "said.md").write_text("## owl 1\nIt rains.\n\n## * TURN\nNO_REPLY\n")
    scripted = {"driver": "scripted", "answers": "said.md"}
    hall.seat({"owl": scripted, "gecko": scripted}).room().post()
    all_is_quiet()

    assert hall.said() == ["alice: Will it rain?", "owl: It rains."]
    assert is_asleep(hall.standing())


# --- agents that answer by hand ----------------------------------------------------------------


@pytest.mark.req("XC-011")
def test_who_answers_by_hand_finds_its_prompt_and_it_is_taken_back_after_the_turn(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room("owl", "gecko", "alice").post("Will it rain?")
    assert hall.tasks("owl") == []

    assert woken(hall.beat()) == {"weather": ["owl"]}
    (prompt,) = hall.tasks("owl")
    assert "Will it rain?" in prompt.read_text(encoding="utf-8")
    assert hall.tasks("gecko") == []
    assert not hall.beat(MINUTE).changed

    assert hall.end("owl", "It will.") == "awaiting-delivery"
    assert hall.tasks("owl") == []
    assert woken(hall.beat()) == {"weather": ["gecko"]}
    (prompt,) = hall.tasks("gecko")
    assert "It will." in prompt.read_text(encoding="utf-8")


def test_a_prompt_for_a_turn_that_went_on_meanwhile_is_not_left_behind(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
):
    hall.seat({"owl": {}, "gecko": {}}).room().post()
    hand_over = ServedRoom.hand_over

    def late(room: ServedRoom, wake: Wake) -> None:
        hand_over(room, wake)
        if wake.agent == "owl":
            hall.end("owl", "NO_REPLY")

    monkeypatch.setattr(ServedRoom, "hand_over", late)
    hall.beat()

    assert hall.tasks("owl") == []
    assert hall.standing().speaker == "gecko"


@pytest.mark.req("DG-087")
def test_who_does_not_answer_by_hand_loses_the_floor_after_a_while(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room().post().beat()

    hall.beat(HOUR)

    assert hall.standing().speaker == "gecko"
    assert (hall.tasks("owl"), len(hall.tasks("gecko"))) == ([], 1)


# --- bounds, over everything -------------------------------------------------------------------


@pytest.mark.req("XC-016", "XC-109")
def test_rooms_and_councils_wait_for_one_place_the_oldest_first(hall: Hall):
    order = 'cat >/dev/null; echo "$COUNCIL_NAME" >>"$COUNCIL_ROOT/order"; echo NO_REPLY'
    agents = dict.fromkeys(("ann", "bob", "cyd", "dan"), script(order))
    hall.seat(agents, max_runs=1)
    halt(hall.place)
    hall.room("ann", "bob", name="young", mode="chat")
    hall.room("cyd", "dan", name="old", mode="chat")
    hall.post(name="old")
    all_is_quiet()  # the post has had a heartbeat done, at its own time
    hall.beat(SECOND)
    hall.convene(agents=("ann", "bob"), phases=("collect", "synthesize"))
    hall.now += SECOND
    hall.post(name="young")
    all_is_quiet()
    hall.beat(SECOND)
    assert hall.kinds("task.started") == []

    resume_all(hall.place)
    all_is_quiet()

    started = (hall.root / "order").read_text().split()
    assert started[:3] == ["old", "active", "active"]
    assert "young" in started


CAPPED = "[channels]\nmax_repeats = 0\n[limits]\nmax_runs_per_day = 25\n"


@pytest.mark.long
@pytest.mark.req("XC-109", "XC-016")
def test_a_council_a_deliberation_and_a_discussion_share_agents_places_and_caps(hall: Hall):
    counts = (
        'cat >/dev/null; cd "$COUNCIL_ROOT"; mkdir "busy-$COUNCIL_AGENT" || touch twice; '
        'ls -d busy-* | wc -l >>together; sleep 0.05; rmdir "busy-$COUNCIL_AGENT"; '
        'echo "$COUNCIL_NAME" >>served; echo "I am $COUNCIL_AGENT, $COUNCIL_TASK_ID"'
    )
    trio = ("ann", "bob", "cyd")
    hall.seat_all(counts, trio, max_runs=2)
    (hall.root / "council.toml").write_text((hall.root / "council.toml").read_text() + CAPPED)
    hall.convene(name="council", agents=trio)
    hall.convene(name="debate", agents=trio, procedure="deliberation")
    hall.discuss(*trio)
    all_is_quiet()
    for _ in range(30):
        hall.beat_to_rest(SECOND)

    served = (hall.root / "served").read_text().split()
    assert set(served) == {"council", "debate", "umbrellas"}
    together = {int(one) for one in (hall.root / "together").read_text().split()}
    assert together <= {1, 2}
    assert not (hall.root / "twice").exists()
    assert len(served) == 25
    refused = hall.events("task.refused")
    reasons = {reason_words(read_reason(one["data"]["reason"])) for one in refused}
    assert reasons == {"not started: max_runs_per_day = 25 is reached"}
    about = {one["conversationId"] for one in refused}
    assert "umbrellas" in about
    assert len(about) > 1


def test_under_a_halt_the_speaker_waits_and_its_time_stands_still(hall: Hall):
    hall.seat_all(PASSES, ("owl", "gecko")).room()
    halt(hall.place)
    hall.post().beat_to_rest()
    assert hall.kinds("task.queued") == ["task.queued owl"]
    assert not hall.beat(3 * HOUR).changed
    assert hall.standing().speaker == "owl"

    resume_all(hall.place)
    all_is_quiet()

    assert is_asleep(hall.standing())
    assert hall.kinds("turn.missed") == []


def test_who_rests_is_passed_over(hall: Hall):
    hall.seat({"owl": script(FAILS), "gecko": script(PASSES)}, retry_backoff=[]).room()
    for _ in range(3):
        assert hall.kinds("agent.rested") == []
        hall.post()
        all_is_quiet()
        hall.beat_to_rest(SECOND)
    assert hall.kinds("agent.rested") == ["agent.rested owl"]

    failed = len(hall.kinds("task.failed"))
    hall.post("And now?")
    all_is_quiet()
    assert len(hall.kinds("task.failed")) == failed
    assert hall.kinds("task.refused") == ["task.refused owl"]
    assert is_asleep(hall.standing())


@pytest.mark.long
@pytest.mark.req("DG-092")
def test_three_agents_that_always_answer_each_other_are_stopped_and_the_log_says_why(hall: Hall):
    trio = ("ann", "bob", "cyd")
    thanks = 'cat >/dev/null; echo "Thank you all, says $COUNCIL_AGENT."'
    new = 'cat >/dev/null; echo "$COUNCIL_AGENT has the thought no. $COUNCIL_TASK_ID."'
    hall.seat_all(thanks, trio).room(*trio).post()
    all_is_quiet()
    (calmed,) = hall.events("channel.calmed")
    assert calmed["data"] == {"reason": "repetition", "cycles": 3, "repeats": 3}
    assert len(hall.said()) == 1 + 4 * 3

    hall.seat_all(new, trio)
    with (hall.root / "council.toml").open("a") as file:
        file.write("[channels]\nmax_cycles = 5\nalike = 1.0\n")
    hall.room(*trio, name="other").post(name="other")
    all_is_quiet()
    reasons = [one["data"]["reason"] for one in hall.events("channel.calmed")]
    assert reasons == ["repetition", "max-cycles"]
    assert len(hall.said("other")) == 1 + 6 * 3
    assert not hall.beat(MINUTE).changed
    hall.post("Once more!", by="ann", name="other")
    assert hall.kinds("wake.refused") == ["wake.refused ann"]


# --- faults ------------------------------------------------------------------------------------


def test_one_broken_room_is_reported_and_hides_no_other(hall: Hall):
    hall.seat_all(PASSES, ("owl", "gecko")).room(name="broken").room()
    live = hall.root / "memory/shared/channels/broken.md"
    halt(hall.place)
    hall.post()
    live.write_bytes(b"\xff\xfe not a channel")
    (hall.root / "memory/shared/.council/channels/broken/revisions.jsonl").write_bytes(b"nothing\n")
    resume_all(hall.place)
    all_is_quiet()

    report = hall.beat()

    assert [name for name, _ in report.errors] == ["broken"]
    assert is_asleep(hall.standing())


@pytest.mark.req("XC-012")
def test_a_broken_template_is_a_failed_attempt_with_its_line(hall: Hall):
    hall.seat_all(PASSES, ("owl", "gecko")).room()
    (hall.root / "prompts").mkdir()
    (hall.root / "prompts/room-turn.md.j2").write_text("{{ nothing }}\n{% if %}")
    hall.post()
    all_is_quiet()

    (failed, *_) = hall.events("task.failed")
    assert "room-turn.md.j2, line 2 is broken" in reason_words(
        read_reason(failed["data"]["reason"])
    )


def test_a_call_back_to_a_channel_that_is_gone_is_told_once_and_the_minutes_written(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room().discuss("owl", "gecko", callback="weather")
    for path in (hall.root / "memory/shared/channels").glob("weather*"):
        path.unlink()
    (hall.root / "memory/shared/.council/channels/weather/revisions.jsonl").unlink()
    folder = hall.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "s.md").write_text("We buy two.")

    _, troubles = discussing.complete(hall.place, "umbrellas", "owl", str(folder / "s.md"))

    assert len(troubles) == 1
    assert len(hall.minutes()) == 1
    assert hall.kinds("summary.undelivered") == ["summary.undelivered"]
    report = hall.beat()
    assert (report.errors, report.changed) == ([], False)


# --- --name and --wait -------------------------------------------------------------------------


def test_a_heartbeat_may_be_for_one_room(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room().room(name="other")
    hall.post().post(name="other")

    assert woken(hall.beat(only="other")) == {"other": ["owl"]}
    assert woken(hall.beat()) == {"weather": ["owl"]}
    with pytest.raises(NotFoundError):
        hall.beat(only="nowhere")


def test_a_name_of_both_is_served_in_both(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room()
    hall.convene(name="weather", agents=("owl", "gecko"))
    hall.post()

    report = hall.beat(only="weather")

    assert (len(report.conversations), woken(report)) == (1, {"weather": ["owl"]})


def test_waiting_ends_when_the_rooms_sleep_and_not_before(hall: Hall):
    hall.now = None  # type: ignore[assignment]
    hall.seat_all(talks(2)["argv"][2], ("owl", "gecko")).room().room(name="never used")
    hall.post()

    report, timed_out = wait(hall.place, "", 5 * MINUTE, lambda line: None)

    assert not timed_out
    assert len(hall.said()) == 5
    assert [one.asleep for one in report.all_rooms() if one.name == "weather"] == [True]
    assert wait(hall.place, "weather", 5 * MINUTE, lambda line: None)[1] is False


def test_waiting_for_somebody_who_answers_by_hand_runs_out_of_time(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room().post()
    told: list[str] = []

    _, timed_out = wait(hall.place, "weather", SECOND, told.append)

    assert timed_out
    assert told == ["weather: owl has the floor (cycle 1); woke owl"]


def test_a_dry_run_says_who_would_be_woken_and_does_nothing(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room().post()
    before = hall.digest_of_the_tree()

    report = beat(hall.place, dry_run=True)

    assert woken(report) == {"weather": ["owl"]}
    assert hall.digest_of_the_tree() == before


@pytest.mark.req("DG-017")
def test_a_heartbeat_takes_over_identities_and_reports_a_broken_source(hall: Hall):
    hall.seat({"owl": {}})
    ego = hall.root / "ego.json"
    (hall.root / "council.toml").write_text(
        (hall.root / "council.toml").read_text() + '[paths]\nego = "ego.json"\n'
    )
    ego.write_text('{"columns": ["discord-id"], "agentScope": {"owl": {"discord-id": "77"}}}')
    hall.beat()
    assert '"77"' in (hall.root / "memory/shared/identities.json").read_text()

    ego.write_text("{")
    assert [name for name, _ in hall.beat().errors] == ["identities"]


def test_nothing_may_be_run_for_who_is_on_the_floor_of_an_archived_discussion(hall: Hall):
    hall.seat_all(PASSES, ("owl", "gecko")).discuss("owl", "gecko", by="owl")
    all_is_quiet()
    folder = hall.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "s.md").write_text("Done.")
    discussing.complete(hall.place, "umbrellas", "owl", str(folder / "s.md"))
    started = len(hall.kinds("task.started"))

    channels.post(hall.place, "umbrellas", "alice", "One more thing")
    hall.beat_to_rest()

    assert len(hall.kinds("task.started")) == started
    assert hall.said("umbrellas")[-1] == "moderator: This discussion is closed."


def test_a_save_that_a_change_overtook_is_taken_in_by_the_next_heartbeat(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room()
    document = hall.root / "memory/shared/channels/weather.md"
    text = document.read_text(encoding="utf-8")
    with document.open("r+", encoding="utf-8") as slow:
        channels.change_mode(hall.place, "weather", "none")
        hall.beat()
        slow.write(f"A thought of mine.\n{text}")
        slow.truncate()

    (seen,) = hall.beat().rooms

    assert seen.tended
    assert "A thought of mine." in document.read_text(encoding="utf-8")
    assert hall.standing().mode == "none"
    assert not hall.beat().rooms[0].tended
