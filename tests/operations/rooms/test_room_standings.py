"""Rooms in `status` and among the problems: who has the floor, who sleeps, what wants an action."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.commands.glance import rooms_view
from council.commands.screens import renderable
from council.operations.clocks import SYSTEMD, Clock
from council.operations.heartbeat.gate import halt
from council.operations.reporting.explaining import find_problems
from council.operations.view import status
from tests.operations.halls import FAILS, MINUTE, PASSES, Hall
from tests.operations.tables import all_is_quiet, script, until

HOUR = timedelta(hours=1)


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "workspace")


def shown(hall: Hall) -> str:
    """Return the rooms as people see them, 80 columns wide."""
    from rich.console import Console

    overview = status(hall.place)
    console = Console(width=80)
    with console.capture() as captured:
        for part in rooms_view(overview.rooms, overview.now):
            console.print(renderable(part))
    return captured.get()


def row(hall: Hall, name: str) -> list[str]:
    (line,) = [one for one in shown(hall).splitlines() if one.startswith(name)]
    return line.rstrip().split(maxsplit=3)


def problems(hall: Hall) -> list[tuple[str, str]]:
    clock = Clock(kind=SYSTEMD, root=hall.place.root)
    found = find_problems(hall.place, known_clocks=[clock]).found
    return [(one.code, one.where) for one in found if not one.code.endswith("-heartbeat")]


@pytest.mark.req("DG-137", "DG-096")
def test_rooms_are_shown_with_who_has_the_floor_since_when_and_which_sleep(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}, "ann": script(PASSES), "bob": script(PASSES)})
    hall.room().room(name="fresh").room(name="silent", mode="report").room("ann", "bob", name="bed")
    hall.post().post(name="bed")
    all_is_quiet()
    hall.beat()
    hall.now += 5 * MINUTE

    assert row(hall, "weather") == ["weather", "owl", "5m", "answering by hand"]
    assert row(hall, "fresh") == ["fresh", "owl", "5m", "nobody has said anything yet"]
    assert "asleep: bed" in shown(hall)
    assert "silent" not in shown(hall)
    assert all(len(line) <= 80 for line in shown(hall).splitlines())

    record = {one["channelId"]: one for one in status(hall.place).to_record()["channels"]}
    assert set(record) == {"weather", "fresh", "silent", "bed"}
    weather, bed = record["weather"], record["bed"]
    assert (weather["currentSpeaker"], weather["since"]) == ("owl", "2026-02-08T20:00:00Z")
    assert (weather["waiting"], weather["running"]) == (["owl"], ["owl"])
    assert (bed["currentSpeaker"], bed["dormant"], bed["waiting"]) == (None, True, [])
    assert record["fresh"]["waiting"] == []


def test_failed_runs_are_shown_with_their_log_and_are_a_problem_that_says_what_to_do(hall: Hall):
    hall.seat({"owl": script(FAILS), "gecko": script(PASSES)}).room().post()
    all_is_quiet()

    assert row(hall, "weather")[3] == "failed: exit 3"
    (standing,) = status(hall.place).rooms
    assert Path(standing.logs["owl"]).read_text()
    (problem,) = [one for one in find_problems(hall.place).found if one.code == "exit"]
    assert problem.line() == "weather: the program of owl failed: exit 3"
    assert str(hall.root / problem.log) == standing.logs["owl"]
    assert "turn end" in problem.to_record()["fix"]


def test_who_waits_for_a_place_is_shown_so(hall: Hall):
    hall.seat({"owl": script(PASSES), "gecko": script(PASSES)}).room()
    halt(hall.place)
    hall.post().beat()

    assert row(hall, "weather")[3] == "waiting for a place"
    assert status(hall.place).rooms[0].queued
    hall.now += HOUR
    assert problems(hall) == [("halted", "")]


def test_a_speaker_whom_no_heartbeat_wakes_is_a_problem_after_a_minute(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room().post()
    assert problems(hall) == []

    hall.now += MINUTE

    assert problems(hall) == [("not-woken", "weather")]
    hall.beat()
    assert problems(hall) == []


@pytest.mark.req("DG-119")
def test_an_idle_discussion_waits_for_its_summary_and_says_so(hall: Hall):
    hall.seat({"owl": script(PASSES), "gecko": script(PASSES)}).discuss("owl", "gecko")
    all_is_quiet()

    assert row(hall, "umbrellas")[3].startswith("idle: waits for the summary of owl; failed: ")
    assert problems(hall) == [("no-answer", "umbrellas")]
    assert status(hall.place).rooms[0].to_record()["waitsForSummaryOf"] == "owl"


@pytest.mark.req("OP-014")
def test_a_run_that_sums_up_an_idle_discussion_is_shown_and_is_no_problem(hall: Hall):
    waits = 'while [ ! -e "$COUNCIL_ROOT/go" ]; do sleep 0.05; done; echo All agree.'
    sums_up = f'if grep -q "^# Discussion"; then {waits}; else echo NO_REPLY; fi'
    hall.seat({"owl": script(sums_up), "gecko": script(PASSES)}).discuss("owl", "gecko")
    until(lambda: row(hall, "umbrellas")[3].endswith("work"), "the summary is written")

    assert row(hall, "umbrellas")[3] == "idle: waits for the summary of owl; its run is at work"
    assert status(hall.place).rooms[0].to_record()["running"] == ["owl"]
    assert problems(hall) == []
    (hall.root / "go").touch()
    all_is_quiet()
    assert status(hall.place).rooms[0].to_record()["tmState"] == "archived"


@pytest.mark.req("OP-014")
def test_a_speaker_that_runs_is_speaking_and_a_room_of_one_is_shown(hall: Hall):
    waits = 'cat >/dev/null; while [ ! -e "$COUNCIL_ROOT/go" ]; do sleep 0.05; done; echo Yes.'
    hall.seat({"owl": script(waits)}).room("owl", "alice")
    document = hall.root / "memory/shared/channels/weather.md"
    assert row(hall, "weather")[3] == "nobody has said anything yet"
    assert "owl since 2026-02-08T20:00:00Z, has not begun" in document.read_text()

    hall.post()
    until(lambda: row(hall, "weather")[3] == "is speaking", "owl runs")

    speaks = "owl since 2026-02-08T20:00:00Z, is speaking"
    until(lambda: speaks in document.read_text(), "the document shows what is committed")
    (hall.root / "go").touch()
    all_is_quiet()
    assert "asleep: weather" in shown(hall)
    assert "all have had their turn; the next message wakes the room" in document.read_text()


def test_a_calmed_room_is_a_problem_for_a_day(hall: Hall):
    hall.seat_all("cat >/dev/null; echo Thanks.", ("owl", "gecko")).room().post()
    all_is_quiet()

    assert row(hall, "weather")[3].startswith("calmed: repetition")
    assert problems(hall) == [("calmed", "weather")]
    hall.now += timedelta(days=1, seconds=1)
    assert problems(hall) == []


def test_a_room_that_cannot_be_read_is_told_of(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room().room(name="other")
    (hall.root / "memory/shared/channels/weather.md").write_bytes(b"\xff")
    (hall.root / "memory/shared/.council/channels/weather/revisions.jsonl").write_bytes(b"x\n")

    overview = status(hall.place)

    assert [name for name, _ in overview.errors] == ["weather"]
    assert [one.channel.channel_id for one in overview.rooms] == ["other"]
    assert ("broken-document", "weather") in problems(hall)


def test_the_command_shows_rooms_and_says_nothing_is_open_only_where_nothing_is(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    assert "nothing is open" in council("status").out

    assert council("channel", "create", "chat", "weather", "--participants", "owl,gecko").code == 0
    assert council("channel", "post", "weather", "Rain?", "--as", "alice").code == 0
    shown = council("status").out

    assert "nothing is open" not in shown
    assert "weather" in shown
    assert council("status", "--json").json()["channels"][0]["currentSpeaker"] == "owl"
