"""The streams of live events: what arrives, once each and in its order, and what never does."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from council.core.events import Event
from council.store.events import append, encode, loose_records
from council.store.paths import Workspace
from tests.conftest import Council
from tests.web.serving import API, Served, serving

EVERYTHING = f"{API}/events"
ACTIVE = f"{API}/councils/active/events"


def log_of(council, day="") -> Path:
    folder = Path(Workspace(str(council.root)).events)
    return folder / f"{day}.jsonl" if day else max(folder.glob("*.jsonl"))


def logged(council) -> list[str]:
    """Return the ids of all events in the order of the log, each once."""
    days = sorted(Path(Workspace(str(council.root)).events).glob("*.jsonl"))
    lines = [line for day in days for line in day.read_bytes().split(b"\n")]
    found = [json.loads(one)["eventId"] for one in lines if one.endswith(b"}")]
    return list(dict.fromkeys(found))


def say(council, now: datetime | None = None, **data) -> str:
    """Write an event of the workspace into the log; return its id."""
    records = loose_records([Event(type="council.resumed", data=data)], "", now or today())
    append(Workspace(str(council.root)), records)
    return records[0]["eventId"]


def today() -> datetime:
    return datetime.now(UTC)


def ids_until(reader, last: str) -> list[str]:
    """Return what `say` wrote, up to `last`; the background of a test may say other things."""
    came = [one for one in reader.until(lambda one: one.id == last) if not _is_of_server(one)]
    return [one.id or one.event for one in came if not one.id or one.id.startswith("workspace:")]


def _is_of_server(one) -> bool:
    return one.event == "message" and one.json().get("type", "").startswith("service.")


def convened(served: Served, name: str) -> Council:
    """Open one more council in a workspace that is served; return the command."""
    council = served.council
    assert council("convene", "Tea?", "--name", name, "--agents", "owl,gecko").code == 0
    return council


def nothing_more(served: Served, reader) -> bool:
    """Return true if all that a reader gets until a new event has come is that event."""
    mark = say(served.council)
    return ids_until(reader, mark) == [mark]


# --- What arrives


@pytest.mark.req("DL-071")
def test_what_other_processes_do_and_what_a_person_saves_arrives_within_a_second(shared):
    council = convened(shared, "turns")
    file, reader = log_of(council), shared.read()
    other = shared.read(f"{API}/councils/turns/events")
    assert (reader.status, reader.headers["content-type"]) == (
        200,
        "text/event-stream; charset=utf-8",
    )

    assert council("respond", "--as", "owl", "--name", "turns", "Yes, and soon.").code == 0
    (*_, came) = reader.until_type("contribution.recorded", 1)
    assert came.json() == json.loads(
        next(one for one in file.read_bytes().split(b"\n") if came.id.encode() in one)
    )
    live = council.root / "memory/shared/council-turns-conversation.md"
    text = live.read_text().replace("(agent:gecko): WAITING", "(agent:gecko): RESPONDED")
    at = text.index("Gecko\n", text.index("## Responses")) + 6
    live.write_text(f"{text[:at]}[Tour 1]: No.\n{text[at:]}")
    assert [reader.next(1).event, other.until(lambda one: not one.id, 1)[-1].event] == [
        "changed",
        "changed",
    ]
    assert council("heartbeat").code == 0
    kinds = [one.json()["type"] for one in reader.until_type("phase.changed", 1)]
    assert "contribution.recorded" in kinds
    assert reader.retry == 1000


@pytest.mark.req("DL-071")
def test_a_save_is_told_once_to_those_alone_who_look_at_that_council(shared):
    council = convened(shared, "tea")
    tea, active, everything = (
        shared.read(f"{API}/councils/tea/events"),
        shared.read(ACTIVE),
        shared.read(),
    )
    live = council.root / "memory/shared/council-active-conversation.md"
    for number in range(5):  # an editor that writes, writes again, and renames
        live.write_text(f"{live.read_text()}\nA word {number}.\n")
    fresh = live.with_suffix(".new")
    fresh.write_text(f"{live.read_text()}\nThe last one.\n")
    fresh.replace(live)
    assert active.next().event == "changed"
    everything.until(lambda one: one.event == "changed")
    time.sleep(0.7)
    assert council("respond", "--name", "tea", "--as", "owl", "Yes.").code == 0
    tea_events = [one.event for one in tea.until_type("contribution.recorded")]
    assert "changed" not in tea_events
    for reader in (active, everything):
        mark = say(council)
        if reader is everything:
            came = reader.until(lambda one, mark=mark: one.id == mark)
            assert "changed" not in [one.event for one in came]
    with pytest.raises(TimeoutError):
        active.next(0.3)


@pytest.mark.req("DL-071")
def test_what_a_command_writes_is_an_event_and_no_save_besides(shared):
    council = convened(shared, "words")
    reader = shared.read()
    assert council("respond", "--name", "words", "--as", "owl", "Yes.").code == 0
    reader.until_type("contribution.recorded")
    time.sleep(0.6)
    assert nothing_more(shared, reader)


@pytest.mark.req("DL-071")
def test_a_stream_of_one_thing_has_what_happens_to_it_and_no_more(shared):
    council = convened(shared, "one")
    assert convened(shared, "other")
    known = council("show", "--name", "one", "--json").json()["conversationId"]
    paths = ("councils/one/events", f"debates/{known}/events", "events?about=owl")
    tea, by_id, owl = (shared.read(f"{API}/{one}") for one in paths)
    assert council("respond", "--name", "other", "--as", "gecko", "No.").code == 0
    assert council("respond", "--name", "one", "--as", "owl", "Yes.").code == 0
    for reader in (tea, by_id):
        came = [one.json() for one in reader.until_type("contribution.recorded")]
        assert {one["conversationId"] for one in came} == {known}
    assert {one.json()["agentId"] for one in owl.until_type("contribution.recorded")} == {"owl"}

    assert council("cancel", "--name", "one").code == 0
    came = [one for one in tea.until_type("conversation.archived") if one.id]
    say(council)
    with pytest.raises(TimeoutError):  # its file went away, and that is all
        tea.until(lambda one: one.event != "changed", 0.5)
    again = shared.read(f"{API}/councils/one/events", came[-2].id)
    assert again.next().id == came[-1].id  # it stays consistent when it is over


@pytest.mark.req("DL-071")
def test_a_room_has_a_stream_to_which_every_message_comes(served):
    council = served.council
    assert council("channel", "create", "chat", "lobby", "--participants", "owl,gecko").code == 0
    room = served.read(f"{API}/rooms/lobby/events")
    active = served.read(ACTIVE)
    assert council("channel", "post", "lobby", "--as", "human", "Hello?").code == 0
    assert room.next(2)
    with pytest.raises(TimeoutError):
        active.next(0.5)


@pytest.mark.req("DL-071", "DL-065")
@pytest.mark.parametrize("path", ["councils/none", "debates/none", "rooms/active"])
def test_what_is_not_there_has_no_stream(shared, path):
    refused = shared.get(f"{API}/{path}/events")
    assert refused.status == 404
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "not-found" and refused.json()["hint"]


@pytest.mark.req("DL-071")
def test_an_unknown_trace_has_no_stream(shared):
    assert shared.get(f"{EVERYTHING}?about=nothing-of-that-name").status == 404


# --- Coming back


@pytest.mark.req("DL-071")
def test_a_reader_that_comes_back_gets_what_it_missed_once_and_in_order(shared):
    council = shared.council
    first = say(council)
    ids = [say(council, number=number) for number in range(30)]
    for at in (0, 17, 29):
        reader = shared.read(EVERYTHING, ids[at])
        mark = say(council)
        assert ids_until(reader, mark) == [*ids[at + 1 :], mark]
        ids.append(mark)
    by_query = shared.read(f"{EVERYTHING}?last={first}")
    assert ids_until(by_query, ids[-1]) == ids


@pytest.mark.req("DL-071")
def test_a_server_that_was_killed_goes_on_where_its_readers_were(served):
    council = served.council
    reader = served.read()
    have = [say(council) for _ in range(3)]
    assert ids_until(reader, have[-1]) == have
    served.kill()
    assert reader.rest() == []
    away = [say(council) for _ in range(3)]
    served.start()
    back = served.read(EVERYTHING, reader.last)
    after = say(council)
    assert ids_until(back, after) == [*away, after]


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_a_reader_that_had_nothing_yet_misses_nothing_when_it_comes_back(served):
    reader = served.read()
    reader.until_id()
    served.kill()
    away = say(served.council)
    served.start()
    assert served.read(EVERYTHING, reader.last).next().id == away


@pytest.mark.req("DL-071")
@pytest.mark.parametrize("last", ["never-was", "x" * 5000, "a b", "workspace:x00", "\xe9", '"'])
def test_a_reader_that_was_away_too_long_is_told_once_to_read_anew_and_goes_on(shared, last):
    reader = shared.read(EVERYTHING, last)
    reset = reader.next()
    assert (reset.event, bool(reset.id)) == ("reset", True)
    assert nothing_more(shared, reader)
    back = shared.read(EVERYTHING, reset.id)
    assert back.next().event == "message"  # it has a place again


@pytest.mark.req("DL-071")
def test_more_than_a_reader_can_be_given_at_once_is_a_reset(shared):
    first = say(shared.council)
    records = loose_records([Event(type="council.resumed")] * 2500, "", today())
    quick = shared.read()
    append(Workspace(str(shared.council.root)), records)
    quick.until(lambda one: one.id == records[-1]["eventId"])
    reader = shared.read(EVERYTHING, first)
    assert reader.next().event == "reset"
    assert nothing_more(shared, reader)


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_a_reader_that_does_not_read_is_bounded_and_told_to_read_anew(shared):
    council = shared.council
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.settimeout(60)
    slow.connect(("127.0.0.1", shared.port))
    told = f"GET {EVERYTHING} HTTP/1.1\r\nHost: 127.0.0.1:{shared.port}\r\n"
    slow.sendall(f"{told}Authorization: Bearer {shared.token}\r\n\r\n".encode())
    with slow:
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        quick = shared.read()
        before = resident_kb(shared.process.pid)
        for _ in range(20):
            last = say(council, text="x" * (1 << 20))
            quick.until(lambda one, last=last: one.id == last)
        assert resident_kb(shared.process.pid) - before < 60_000
        data, mark = b"", say(council)
        while mark.encode() not in data:
            data += slow.recv(1 << 20)
    assert data.count(b"event: reset") == 1


def resident_kb(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_there_are_so_many_readers_at_most(served):
    asked = f"GET {EVERYTHING} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    asked += f"Authorization: Bearer {served.token}\r\n\r\n"
    several = []
    try:
        for _ in range(500):
            one = socket.create_connection(("127.0.0.1", served.port), 60)
            one.sendall(asked.encode())
            several.append(one)
        assert all(one.recv(12) == b"HTTP/1.1 200" for one in several)
        refused = served.get(EVERYTHING)
        assert (refused.status, refused.json()["code"]) == (503, "busy")
        assert served.get(f"{API}/status").status == 200
        several.pop().close()
        deadline = time.monotonic() + 10
        while served.read().status != 200:
            assert time.monotonic() < deadline
    finally:
        for one in several:
            one.close()


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_a_server_that_is_asked_to_end_ends_its_streams_and_does_so_at_once(served):
    readers, begun = [served.read() for _ in range(3)], time.monotonic()
    served.process.terminate()
    assert [one.rest() for one in readers] == [[], [], []]
    assert served.end() in (0, -15) and time.monotonic() - begun < 1.5
    assert served.log.read_text() == ""


@pytest.mark.req("DL-071")
def test_a_reader_that_knows_more_than_the_watcher_gets_nothing_again(shared):
    for _ in range(20):  # a page may have been made of what is not read for the streams yet
        say(shared.council)
        last = say(shared.council)
        assert nothing_more(shared, shared.read(EVERYTHING, last))


# --- The log as it can be


@pytest.mark.req("DL-071")
def test_copies_and_torn_lines_in_the_log_are_no_events(shared):
    council, workspace = shared.council, Workspace(str(shared.council.root))
    reader, first = shared.read(), logged(council)[0]
    fresh = loose_records([Event(type="council.resumed")], "", today())
    append(workspace, fresh)
    append(workspace, [*fresh, *fresh])
    with log_of(council, f"{today():%F}").open("ab") as log:
        log.write(b'{"eventId":"torn","type":"council.resumed","at":"2026')
    a_copy = log_of(council).read_bytes().split(b"\n")[0]
    with log_of(council).open("ab") as log:
        log.write(a_copy + b"\n" + b'{"eventId": "a\\nb", "type": "x", "at": "y"}\n[]\n\xff\n')
    mark = say(council)
    assert ids_until(reader, mark) == [fresh[0]["eventId"], mark]
    assert first not in [fresh[0]["eventId"], mark]


@pytest.mark.req("DL-071")
def test_a_line_that_is_only_half_written_is_sent_when_it_is_whole(shared):
    council, reader = shared.council, shared.read()
    first = say(council)
    record = loose_records([Event(type="council.resumed")], "", today())
    (line,) = encode(record)[f"{today():%F}"]
    log = os.open(log_of(council, f"{today():%F}"), os.O_WRONLY | os.O_APPEND)
    os.write(log, line[:40])
    assert reader.next().id == first
    time.sleep(0.3)
    os.write(log, line[40:])
    os.close(log)
    assert reader.next().id == record[0]["eventId"]


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_a_day_that_ends_is_no_gap(served):
    council, reader = served.council, served.read()
    days = [today() + timedelta(days=number) for number in range(1, 6)]
    ids = []
    for day in days:
        ids.append(say(council, day))
        path = log_of(council, f"{day:%F}")
        os.utime(path, (day.timestamp(), day.timestamp()))
    assert ids_until(reader, ids[-1]) == ids
    served.restart()
    back = served.read(EVERYTHING, ids[1])
    assert ids_until(back, ids[-1])[-3:] == ids[2:]


@pytest.mark.req("DL-071")
def test_an_event_that_comes_late_to_a_day_before_is_sent_and_leaves_no_place_in_doubt(served):
    council, reader = served.council, served.read()
    second = say(council)
    assert ids_until(reader, second) == [second]
    late = say(council, today() - timedelta(days=1))
    assert ids_until(reader, late) == [late]
    for last in (second, late):  # nothing in the log says which of them a reader has had
        back = served.read(EVERYTHING, last)
        assert back.next().event == "reset"
        assert nothing_more(served, back)


@pytest.mark.req("DL-071")
def test_what_a_killed_command_did_not_copy_comes_with_the_next_one_once(served):
    council, reader = served.council, served.read()
    log = log_of(council)
    size = log.stat().st_size
    before = logged(council)
    assert council("respond", "--as", "owl", "Yes.").code == 0
    came = [one.id for one in reader.until_type("contribution.recorded")]
    lost = log.read_bytes()[size:]
    os.truncate(log, size)  # as if it had died before
    reset = reader.until(lambda one: one.event == "reset")[-1]
    assert council("respond", "--as", "gecko", "No.").code == 0
    again = reader.until_type("phase.changed")
    ids = [one.id for one in again if one.id]
    assert len(set(ids)) == len(ids) and lost
    assert set(ids) <= {*logged(council)} and reset.id in before
    assert came


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_folders_that_are_made_later_are_watched_too(council, tmp_path):
    with serving(council, tmp_path) as served:
        assert not Path(Workspace(str(council.root)).channels).exists()
        reader = served.read()
        reader.next(comments=True)
        assert council("init", "--agents", "owl,gecko").code == 0
        assert council("convene", "Tea?", "--agents", "owl,gecko").code == 0
        assert reader.until_type("conversation.opened", 2)
        assert (
            council("channel", "create", "chat", "lobby", "--participants", "owl,gecko").code == 0
        )
        assert reader.until_type("channel.created", 2)


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_a_log_that_is_taken_away_is_a_reset_for_all(served):
    readers = [served.read(), served.read(ACTIVE)]
    assert served.council("respond", "--as", "owl", "Yes.").code == 0
    for one in readers:
        one.until_type("contribution.recorded")
    shutil.rmtree(Workspace(str(served.council.root)).events)
    assert [one.next().event for one in readers] == ["reset", "reset"]
    assert nothing_more(served, readers[0])


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_where_the_system_allows_no_watches_events_come_within_a_second(opened, tmp_path):
    def limited(argv):
        deny = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"'
        return ["unshare", "-Ur", "sh", "-c", deny, "sh", *argv]

    if subprocess.run(limited(["true"]), capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody forbid watches")
    with serving(opened, tmp_path, around=limited) as served:
        reader = served.read()
        reader.next(comments=True)
        for _ in range(3):
            mark = say(opened)
            assert reader.next(1.5).id == mark


# --- What never arrives


def everything_sent(served: Served, *paths: str, first: str) -> bytes:
    """Return every byte of streams that were read all the while, and of such as come back now."""
    mark, sent = say(served.council), b""
    for reader in (*served.readers, *(served.read(path, first) for path in paths)):
        if reader.status == 200:
            with suppress(TimeoutError):  # what is of one council has no end that is known
                reader.until(lambda one: one.id == mark, 0.5)
        sent += bytes(reader.raw) + reader.body
    return sent


@pytest.mark.req("DL-071", "DL-100")
@pytest.mark.parametrize("trust", ["open", pytest.param("strict", marks=pytest.mark.slow)])
def test_of_an_anonymous_council_no_name_is_sent_before_it_is_over(council, tmp_path, trust):
    assert council("init", "--agents", "owl,gecko,heron").code == 0
    with (council.root / "council.toml").open("a") as settings:
        settings.write(f'\ntrust = "{trust}"\n')
    with serving(council, tmp_path) as served:
        served.read()
        first = say(council)
        words = ("--agents", "owl,gecko,heron", "--name", "masks")
        words += ("--procedure", "deliberation", "--anonymous", "--open")
        assert council("convene", "Shall we?", *words).code == 0
        served.read(f"{API}/councils/masks/events")
        served.read(f"{EVERYTHING}?about=owl")
        known = council("show", "--name", "masks", "--json").json()["conversationId"]
        for _ in range(2):
            council("heartbeat")
        answer(council, trust, "owl", f"I think so.\n\n{'x' * 7919}", "masks")
        council("respond", "--as", "heron", "--name", "masks", "AGREED STATUS=?? /none")
        council("inject", "--name", "masks", "--target", "owl", "Why?")
        trace = known.replace("-", "")
        shelf = council.root / "a.txt"
        shelf.write_text("A file.")
        env = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
        council("artifact", "publish", shelf, "--as", "heron", env=env)
        live = council.root / "memory/shared/council-masks-conversation.md"
        text = live.read_text()
        assert '"anonymous": true' in text or '"anonymous":true' in text
        forged = text.replace('"anonymous": true', '"anonymous": false')
        forged = forged.replace('"anonymous":true', '"anonymous":false')
        live.write_text(f"{forged}\nowl says heron is wrong.\n")
        sent = everything_sent(
            served,
            EVERYTHING,
            f"{API}/debates/{known}/events",
            f"{EVERYTHING}?about=owl",
            first=first,
        )
        assert known.encode() in sent
        for word in (b"owl", b"gecko", b"heron", b"7919", b"7931", b"7932"):
            assert word not in sent.lower(), word
        live.write_text(text)
        assert council("cancel", "--name", "masks").code == 0
        back = served.read(EVERYTHING, first)
        assert "owl" in str([one.data for one in back.until_type("conversation.archived")])


def answer(council, trust, agent, text, name):
    """Answer as an agent does: as a run that was started for it where trust is strict."""
    told = council("respond", "--as", agent, "--name", name, text)
    assert told.code == (0 if trust == "open" else 6), told


@pytest.mark.req("DL-071", "XC-101")
def test_of_a_sealed_answer_neither_a_word_nor_its_length_is_sent(council, tmp_path):
    assert council("init", "--agents", "owl,gecko").code == 0
    with serving(council, tmp_path) as shared:
        shared.read()
        first = say(council)
        assert council("convene", "Shall we?", "--agents", "owl,gecko").code == 0
        shared.read(ACTIVE)
        text = "Zanzibar, because of the Quokkas. @human shall I say so? " + "y" * 7862
        assert council("respond", "--as", "owl", text).code == 0
        live = council.root / "memory/shared/council-active-conversation.md"
        assert "Zanzibar" not in live.read_text()
        sent = everything_sent(shared, EVERYTHING, ACTIVE, first=first)
        assert b"contribution.recorded" in sent and b'"sealed":true' in sent
        for word in (b"Zanzibar", b"Quokka", b"yyyy", str(len(text)).encode()):
            assert word not in sent
        token = shared.token.encode()
        key = Path(Workspace(str(council.root)).control, "key")
        assert token not in sent and (not key.exists() or key.read_bytes().strip() not in sent)


@pytest.mark.req("DL-071")
def test_what_was_purged_is_sent_to_none_who_comes_back(shared):
    council = shared.council
    first, live = say(council), shared.read()
    assert council("convene", "Zanzibar?", "--name", "gone", "--agents", "owl,gecko").code == 0
    known = council("show", "--name", "gone", "--json").json()["conversationId"]
    assert council("cancel", "--name", "gone").code == 0
    live.until_type("conversation.archived")
    assert b"Zanzibar" in bytes(live.raw)
    assert council("purge", known, "--yes").code == 0
    back = shared.read(EVERYTHING, first)
    mark = say(council)
    came = back.until(lambda one: one.id == mark)
    assert b"Zanzibar" not in bytes(back.raw)
    assert known not in str([one.json() for one in came])
    assert "event.erased" not in [one.json().get("type") for one in came]


# --- Again and again


@pytest.mark.req("DL-071")
def test_a_worker_that_is_killed_stops_no_stream(served):
    reader = served.read()
    for _ in range(3):
        os.kill(served.worker(), signal.SIGKILL)
        mark = say(served.council)
        assert reader.next(3).id == mark


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_a_quiet_stream_says_that_it_lives_and_where_its_reader_is(shared):
    reader = shared.read(ACTIVE)
    begun = reader.until_id()
    mark = say(shared.council)  # nothing that is for this reader
    while not (ping := reader.next(20, comments=True)).comment:
        pass
    assert (ping.comment, reader.last != begun, reader.last) == ("still here", True, mark)


@pytest.mark.slow
@pytest.mark.req("DL-071")
def test_however_often_writers_and_the_server_are_killed_every_reader_has_every_event_once(served):
    council, chance = served.council, random.Random(17)
    readers = [Counting(served, EVERYTHING) for _ in range(6)]
    begun = len(logged(council))
    for tour in range(12):
        name = f"c{tour}"
        assert council("convene", "Tea?", "--name", name, "--agents", "owl,gecko").code == 0
        writers = [
            council.start("respond", "--as", agent, "--name", name, f"Yes, says {agent}.")
            for agent in ("owl", "gecko")
        ]
        time.sleep(chance.uniform(0.02, 0.25))
        chance.choice(writers).kill()
        if tour % 3 == 2:
            served.restart()
        for one in writers:
            one.communicate()
        for one in chance.sample(readers, 2):
            one.leave()
        council("heartbeat")
    for name in [one["name"] for one in council("list", "--json").json()]:
        for agent in ("owl", "gecko"):
            council("respond", "--as", agent, "--name", name, "At last.")
    mark = say(council)
    wanted = logged(council)[begun:]
    assert wanted[-1] == mark and len(wanted) > 60
    for one in readers:
        had = one.until(mark)
        assert had[: had.index(mark) + 1] == wanted


class Counting:
    """A reader that comes back each time its stream ends, and knows all ids that it ever got."""

    def __init__(self, served: Served, path: str) -> None:
        self.ids: list[str] = []
        self._served, self._path, self._ends = served, path, ""
        self._reader = served.read(path)
        self._reader.until_id()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Go away in the middle of whatever it is."""
        self._reader.close()

    def until(self, last: str) -> list[str]:
        """Return all ids, up to the last one."""
        self._ends = last
        self._thread.join(30)
        return self.ids

    def _run(self) -> None:
        while not self._ends or self._ends not in self.ids:
            try:
                message = self._reader.next(0.5)
            except TimeoutError:
                continue
            if message is None:
                with suppress(OSError, http.client.HTTPException):
                    self._reader = self._served.read(self._path, self._reader.last)
                time.sleep(0.02)
            elif message.id:
                self.ids.append(message.id if message.event == "message" else message.event)
