"""The commands on artifacts and briefs: what goes in comes out, or nothing does."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pty
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from council.commands.artifacts import _Progress
from council.core.delegation.artifacts import Brief
from council.core.event_types import event_schema
from council.store.delegation import artifacts, briefs
from council.store.events import tail
from council.store.paths import Workspace
from tests.cli.commands import tree
from tests.conftest import NOW, Council
from tests.store.records import put

HELLO = "art_5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def folder(council: Council) -> Path:
    return council.root / "memory/shared/artifacts"


def events(council: Council, kind: str) -> list[dict]:
    return [one for one in tail(Workspace(str(council.root))) if one["type"] == kind]


def damage(council: Council, artifact: str = HELLO) -> None:
    path = folder(council) / f"{artifact}.json"
    path.chmod(0o644)
    path.write_bytes(b"other\n")


def old(path: Path) -> None:
    """Let a file seem unwritten for a long time."""
    at = (NOW - timedelta(days=1)).timestamp()
    os.utime(path, (at, at))


# publish


@pytest.mark.req("P8-031", "P8-032", "P8-033")
def test_file_is_published_under_the_digest_that_sha256sum_tells(council):
    assert council("init", "--agents", "owl").code == 0
    given = council.root / "forecast.csv"
    given.write_bytes(os.urandom(3_000_000))

    made = council("artifact", "publish", given, "--as", "owl", "--trace", "t1", now=NOW)

    told = subprocess.run(["sha256sum", given], capture_output=True, check=True).stdout.decode()
    wanted = "art_" + told.split()[0]
    assert (made.code, made.out) == (0, wanted + "\n")
    assert (folder(council) / f"{wanted}.json").read_bytes() == given.read_bytes()
    assert json.loads((folder(council) / f"{wanted}.meta.json").read_text()) == {
        "schemaVersion": 1,
        "artifactId": wanted,
        "size": 3_000_000,
        "contentType": "text/csv",
        "publisher": "owl",
        "traceId": "t1",
        "createdAt": "2026-02-08T20:00:00Z",
    }


def test_standard_input_is_published_with_a_dash_and_without(council):
    assert council("artifact", "publish", "-", stdin="hello\n").out == HELLO + "\n"
    assert council("artifact", "publish", stdin="hello\n").out == HELLO + "\n"
    assert council("artifact", "publish", "-", "--json", stdin="hello\n").json()["outcome"] == (
        "already-there"
    )


@pytest.mark.req("P8-034", "P8-037", "P8-084")
def test_same_bytes_twice_are_one_file_and_two_events(council):
    council("artifact", "publish", "--as", "owl", "--trace", "t1", stdin="hello\n", now=NOW)
    before = tree(folder(council))
    council("artifact", "publish", "--as", "fox", "--trace", "t2", stdin="hello\n")

    assert tree(folder(council)) == before
    assert len(before) == 2
    told = events(council, "artifact.publish")
    assert [(one["agentId"], one["traceId"]) for one in told] == [("owl", "t1"), ("fox", "t2")]
    assert [one["artifactIds"] for one in told] == [[HELLO], [HELLO]]
    assert [one["data"]["new"] for one in told] == [True, False]


def test_artifact_of_a_run_belongs_to_the_trace_of_the_run(council):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    around = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    made = council("artifact", "publish", "--json", stdin="hello\n", env=around)
    assert made.json()["traceId"] == trace


def test_what_cannot_be_published_is_said_in_one_line(council, tmp_path):
    for words, code in (
        (("nothing.csv",), 5),
        ((str(tmp_path),), 3),
        (("-", "--type", "text\nplain"), 3),
        (("-", "--as", "No Body"), 3),
    ):
        said = council("artifact", "publish", *words)
        assert (said.code, said.out, said.err.count("\n")) == (code, "", 1)
    assert not folder(council).exists() or tree(folder(council)) == {}


# fetch


@pytest.mark.req("P8-037", "P8-084")
def test_artifact_is_fetched_to_a_file_to_a_folder_and_to_standard_output(council, tmp_path):
    council("artifact", "publish", stdin="hello\n")

    out = tmp_path / "out.txt"
    assert council("artifact", "fetch", HELLO, "--out", out, "--as", "owl").code == 0
    assert out.read_bytes() == b"hello\n"
    out.write_text("older")
    assert council("artifact", "fetch", "#REF:" + HELLO, "--out", out).code == 0
    assert out.read_bytes() == b"hello\n"
    assert council("artifact", "fetch", HELLO, "--out", tmp_path).code == 0
    assert (tmp_path / HELLO).read_bytes() == b"hello\n"
    assert council("artifact", "fetch", HELLO).out == "hello\n"
    assert council("artifact", "fetch", HELLO, "--json").json()["text"] == "hello\n"
    told = events(council, "artifact.fetch")
    assert [one["agentId"] for one in told] == ["owl", None, None, None, None]
    assert {tuple(one["artifactIds"]) for one in told} == {(HELLO,)}


@pytest.mark.req("P8-035")
def test_damaged_artifact_is_not_fetched_and_nothing_appears(council, tmp_path):
    council("artifact", "publish", stdin="hello\n")
    damage(council)
    out = tmp_path / "out.txt"
    out.write_text("older")

    to_file = council("artifact", "fetch", HELLO, "--out", out)
    to_pipe = council("artifact", "fetch", HELLO)

    assert [to_file.code, to_pipe.code] == [3, 3]
    assert to_pipe.out == ""
    assert "damaged" in to_file.err and to_file.err.count("\n") == 1
    assert out.read_text() == "older"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.txt"]
    assert [one["artifactIds"] for one in events(council, "artifact.damaged")] == [[HELLO]] * 2
    asked = council("artifact", "fetch", HELLO, "--out", out, "--json")
    assert asked.json()["error"]["code"] == "damaged-artifact"

    council("artifact", "publish", stdin="hello\n")
    assert council("artifact", "fetch", HELLO).out == "hello\n"


def test_beginning_of_an_id_is_enough_where_only_one_begins_so(council):
    council("artifact", "publish", stdin="hello\n")
    assert council("artifact", "fetch", HELLO[:10]).out == "hello\n"
    assert council("artifact", "fetch", HELLO[:9]).code == 2
    assert council("artifact", "fetch", "art_000000").code == 5

    twin = folder(council) / f"{HELLO[:60]}00000000.json"
    twin.write_bytes(b"")
    assert council("artifact", "fetch", HELLO[:20]).code == 2


def test_what_cannot_be_fetched_is_said_in_one_line(council, tmp_path):
    council("artifact", "publish", stdin=b"\xff\xfe")
    (wanted,) = [path.stem for path in folder(council).glob("art_*.meta.json")]
    wanted = wanted.removesuffix(".meta")
    os.mkfifo(tmp_path / "pipe")
    for words, code in (
        ((HELLO,), 5),
        (("nonsense",), 3),
        ((wanted, "--json"), 2),
        ((wanted, "--out", tmp_path / "no" / "out"), 5),
        ((wanted, "--out", f"{tmp_path}/no/"), 5),
        ((wanted, "--out", tmp_path / "pipe"), 3),
    ):
        said = council("artifact", "fetch", *words)
        assert (said.code, said.err.count("\n")) == (code, 1), words


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("given", ["../identities", "/etc/passwd", "art_/../../x"])
@pytest.mark.parametrize("verb", ["fetch", "verify"])
def test_path_in_the_place_of_an_id_is_refused_and_told(council, verb, given):
    said = council("artifact", verb, given)

    assert said.code == 6
    (told,) = events(council, "guard.rejected")
    assert told["data"]["guard"] == "path"


@pytest.mark.req("XC-009")
def test_link_in_the_place_of_an_artifact_is_refused_and_told(council, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hello\n")
    folder(council).mkdir()
    (folder(council) / f"{HELLO}.json").symlink_to(secret)

    said = council("artifact", "fetch", HELLO)

    assert (said.code, said.out) == (6, "")
    assert len(events(council, "guard.rejected")) == 1


def test_artifact_can_be_had_where_nothing_can_be_written(council):
    council("artifact", "publish", stdin="hello\n", now=NOW)
    events_folder = council.root / "memory/shared/events"
    (day,) = events_folder.iterdir()
    day.unlink()
    day.mkdir()  # no event can be written into a folder

    said = council("artifact", "fetch", HELLO, now=NOW)

    assert (said.code, said.out) == (0, "hello\n")
    assert "event log" in said.err


def test_progress_is_told_at_a_terminal_once_it_takes_long_and_taken_away(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    clock = [100.0]
    monkeypatch.setattr("council.commands.artifacts.time.monotonic", lambda: clock[0])
    for stream, expected in (
        (Terminal(), "\rpublishing 3.0 MiB\x1b[K\rpublishing 5.0 MiB\x1b[K\r\x1b[K"),
        (io.StringIO(), ""),
    ):
        monkeypatch.setattr("sys.stderr", stream)
        progress = _Progress("publishing")
        for seconds, mib in ((0.5, 1), (0.6, 3), (0.1, 4), (0.3, 5)):
            clock[0] += seconds
            progress(mib * 2**20)
        progress.end()
        assert stream.getvalue() == expected


# list and verify


def test_list_names_artifacts_the_newest_first(council):
    assert "artifact publish FILE" in council("artifact", "list").out
    council("artifact", "publish", "--type", "text/plain", stdin="hello\n", now=NOW)
    council("artifact", "publish", "--as", "owl", stdin="more\n", now=NOW + timedelta(hours=1))

    listed = council("artifact", "list", "--json").json()

    assert [one["publisher"] for one in listed] == ["owl", None]
    assert listed[1]["artifactId"] == HELLO
    shown = council("artifact", "list").out.splitlines()
    assert shown[0].split() == ["artifact", "size", "type", "publisher", "published"]
    assert shown[2].split()[:4] == [HELLO[:16], "6", "bytes", "text/plain"]
    assert max(map(len, shown)) <= 80


@pytest.mark.req("P8-035")
def test_verify_tells_which_artifacts_are_damaged(council):
    council("artifact", "publish", stdin="hello\n")
    good = council("artifact", "publish", stdin="good\n").out.strip()
    assert council("artifact", "verify", "--all").out == "2 artifacts verified\n"
    assert council("artifact", "verify", HELLO).code == 0
    damage(council)

    said = council("artifact", "verify", "--all", "--json")

    assert said.code == 3
    assert said.json()["ok"] is False
    told = {one["artifactId"]: one["ok"] for one in said.json()["artifacts"]}
    assert told == {HELLO: False, good: True}
    assert HELLO in council("artifact", "verify", "--all").err
    assert council("artifact", "verify", good).code == 0
    assert council("artifact", "verify").code == 2
    assert council("artifact", "verify", HELLO, "--all").code == 2


@pytest.mark.req("P8-035", "XC-009")
@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_only_bears_the_name_of_an_artifact_is_named_and_stops_nothing(council, kind):
    council("artifact", "publish", stdin="hello\n", now=NOW)
    strange = folder(council) / f"art_{'b' * 64}.json"
    if kind == "link":
        strange.symlink_to("/etc/passwd")
    else:
        strange.mkdir()

    listed = council("artifact", "list")
    verified = council("artifact", "verify", "--all", "--json")
    collected = council("artifact", "gc", now=NOW + timedelta(days=90))

    assert listed.code == 0 and HELLO[:16] in listed.out and "art_bbbb" not in listed.out
    assert strange.name in listed.err
    told = {one["artifactId"]: one["ok"] for one in verified.json()["artifacts"]}
    assert verified.code == 3 and told == {HELLO: True, f"art_{'b' * 64}": False}
    assert strange.name in verified.err
    assert collected.code == 0 and f"removed {HELLO}" in collected.out
    assert strange.name in collected.err and os.path.lexists(strange)
    assert strange.name in council("doctor").out.replace("\n", "")


@pytest.mark.req("P8-001")
def test_run_publishes_and_fetches_as_itself_alone(council):
    run = {"COUNCIL_TASK_ID": "t", "COUNCIL_AGENT": "owl"}
    assert council("artifact", "publish", "--as", "fox", stdin="x", env=run).code == 6
    made = council("artifact", "publish", "--json", stdin="hello\n", env=run).json()
    assert made["publisher"] == "owl"
    assert council("artifact", "fetch", HELLO, "--as", "fox", env=run).code == 6
    told = events(council, "guard.rejected")
    assert [(one["agentId"], one["data"]["guard"]) for one in told] == [("owl", "identity")] * 2
    assert events(council, "artifact.fetch") == []


@pytest.mark.req("P8-037", "P8-082", "P8-084")
def test_every_event_about_artifacts_has_the_form_of_the_schema(council):
    council("artifact", "publish", "--trace", "t1", stdin="hello\n", now=NOW)
    council("artifact", "fetch", HELLO, now=NOW)
    council("artifact", "fetch", "../x", now=NOW)
    _publish(council, "x")
    assert council("artifact", "gc", now=NOW + timedelta(days=40)).code == 0
    council("artifact", "publish", stdin="hello\n")
    damage(council)
    council("artifact", "fetch", HELLO)

    found = list(tail(Workspace(str(council.root))))

    kinds = {"artifact.publish", "artifact.fetch", "artifact.damaged", "artifact.removed"}
    assert {one["type"] for one in found} == kinds | {"guard.rejected"}
    schema = Draft202012Validator(event_schema())
    assert [fault.message for one in found for fault in schema.iter_errors(one)] == []
    assert all(one["artifactIds"] for one in found if one["type"] in kinds)
    assert all(one["traceId"] and one["eventId"] for one in found)


# gc


def _publish(council: Council, text: str) -> str:
    return council("artifact", "publish", stdin=text, now=NOW).out.strip()


@pytest.mark.req("XC-018")
def test_gc_removes_what_nothing_refers_to_and_nothing_else(council):
    assert council("init", "--agents", "owl").code == 0
    shared, owl = council.root / "memory/shared", council.root / "memory/agents/owl"
    held = {place: _publish(council, str(place)) for place in range(8)}
    held["inner"] = _publish(council, "is named by the next one")
    held["outer"] = _publish(council, f"about {held['inner']}")
    loose = _publish(council, "nobody names this")
    chain = _publish(council, f"nobody names this, and it names {loose}")

    convened = ("convene", f"On {held[0]}", "--agents", "owl,fox", "--brief", f"#REF:{held[1]}")
    assert council(*convened).code == 0
    (shared / "channels").mkdir(exist_ok=True)
    (shared / "channels/weather.jsonl").write_text(f'{{"text": "{held[2]}"}}')
    put(shared / "protocol/contexts/S1.jsonl", {"data": f"src=#REF:{held[3]};x=1"})
    (owl / "sessions").mkdir(exist_ok=True)
    (owl / "sessions/inbox.jsonl").write_text(f'{{"text": "{held[4]}"}}')
    (council.root / "conseils").mkdir(exist_ok=True)
    (council.root / "conseils/2026-02-08-x.md").write_text(held[5])
    paths = Workspace(str(council.root))
    known = {"trace": "t1", "from_agent": "owl", "to_agent": "fox", "created_at": NOW}
    briefs.write(paths, Brief(goal="x", refs=[held[6]], **known))
    sealed = shared / ".council/x/sealed/1"
    sealed.parent.mkdir(parents=True)
    sealed.write_text("a" * (artifacts.PIECE_BYTES - 20) + held[7])
    (shared / "note.md").write_text(held["outer"])
    later = NOW + timedelta(days=40)

    assert council("artifact", "gc", "--json", now=NOW + timedelta(days=20)).json()["bytes"] == 0
    before = tree(council.root)
    would = council("artifact", "gc", "--dry-run", "--json", now=later)
    assert tree(council.root) == before
    done = council("artifact", "gc", "--json", now=later)

    assert {one["artifactId"] for one in would.json()["artifacts"]} == {loose, chain}
    assert done.json()["artifacts"] == would.json()["artifacts"]
    assert set(artifacts.ids(paths)) == set(held.values())
    assert len(list(folder(council).iterdir())) == 2 * len(held)
    (told,) = events(council, "artifact.removed")
    assert set(told["artifactIds"]) == {loose, chain}
    assert "nothing to remove" in council("artifact", "gc", now=later).out


def test_gc_spares_what_was_published_again_or_fetched_of_late(council):
    again, fetched, neither = (_publish(council, text) for text in ("a", "b", "c"))
    lately = NOW + timedelta(days=35)
    council("artifact", "publish", stdin="a", now=lately)
    council("artifact", "fetch", fetched, now=lately)

    for words in (("--dry-run",), ()):
        done = council("artifact", "gc", "--json", *words, now=NOW + timedelta(days=40))
        assert [one["artifactId"] for one in done.json()["artifacts"]] == [neither]

    assert set(artifacts.ids(Workspace(str(council.root)))) == {again, fetched}


def test_gc_takes_what_a_publisher_that_died_left_and_spares_one_at_work(council):
    _publish(council, "hello\n")
    dead, busy = folder(council) / ".tmp-1", folder(council) / ".tmp-2"
    dead.write_text("half")
    old(dead)
    busy.write_text("half")
    os.utime(busy, (NOW.timestamp(), NOW.timestamp()))
    lost = folder(council) / f"art_{hashlib.sha256(b'x').hexdigest()}.meta.json"
    lost.write_text("{}")

    done = council("artifact", "gc", "--json", now=NOW)

    assert sorted(done.json()["remains"]) == sorted(map(str, (dead, lost)))
    assert sorted(path.name for path in folder(council).iterdir()) == sorted(
        [".tmp-2", f"{HELLO}.json", f"{HELLO}.meta.json"]
    )


def test_gc_removes_nothing_while_a_file_cannot_be_read(council):
    loose = _publish(council, "x")
    council("init", "--agents", "owl")
    hidden = council.root / "memory/agents/owl/notes.md"
    hidden.write_text(loose)
    hidden.chmod(0)
    if os.access(hidden, os.R_OK):
        pytest.skip("root reads everything")

    assert council("artifact", "gc", now=NOW + timedelta(days=40)).code == 6
    assert list(artifacts.ids(Workspace(str(council.root)))) == [loose]


def test_run_does_not_hasten_gc(council):
    _publish(council, "x")
    run = {"COUNCIL_TASK_ID": "t", "COUNCIL_AGENT": "owl"}
    later = NOW + timedelta(days=2)
    assert council("artifact", "gc", "--older-than", "1d", env=run, now=later).code == 6
    assert council("artifact", "gc", "--older-than", "1d", now=later).code == 0


# briefs


@pytest.mark.req("P8-036", "P8-041")
def test_brief_is_shown_by_its_name_and_by_its_trace(council):
    assert "no briefs yet" in council("brief", "show").out
    paths = Workspace(str(council.root))
    given = Brief(
        trace="t1",
        from_agent="owl",
        to_agent="fox",
        goal="Sum up\nthe forecasts",
        inputs=["three forecasts"],
        constraints=["one page"],
        refs=[HELLO],
        created_at=NOW,
    )
    briefs.write(paths, given)
    briefs.write(paths, given.copy(goal="And in French"))

    (one,) = council("brief", "show", "t1-owl-to-fox-2", "--json").json()
    assert one == {
        "name": "t1-owl-to-fox-2",
        **given.copy(goal="And in French").to_record(),
    }
    assert [one["goal"] for one in council("brief", "show", "t1", "--json").json()] == [
        "And in French",
        "Sum up\nthe forecasts",
    ]
    shown = council("brief", "show", "t1-owl-to-fox").out
    assert "owl to fox" in shown and "- one page" in shown and HELLO in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert council("brief", "show", "t9").code == 5
    assert council("brief", "show", "../x").code == 6


# messages


def _built(council: Council, *words: str, **more) -> tuple[str, str]:
    built = council("msg", "build", "msg=1", "from=W1", "to=O1", "type=S", "tid=1", *words, **more)
    assert built.code == 0, built.err
    return built.out.strip(), built.err


@pytest.mark.req("PR-536", "XC-107")
def test_long_payload_of_a_message_is_an_artifact_that_the_message_refers_to(council):
    payload = "It will rain. " * 357 + "No."

    text, noted = _built(council, f"data={payload}")

    wanted = "art_" + hashlib.sha256(payload.encode()).hexdigest()
    assert len(payload) >= 5000
    assert text == f"M1|W1>O1|S|T1|P1|-|-|0|S0|-|#REF:{wanted}"
    assert wanted in noted
    assert council("msg", "validate", "--strict", text).code == 0
    (listed,) = council("artifact", "list", "--json").json()
    assert listed["artifactId"] == wanted
    reference = text.rpartition("|")[2]
    assert council("artifact", "fetch", reference).out == payload


@pytest.mark.req("PR-536")
def test_only_the_long_value_of_a_message_is_moved(council):
    said = council(
        *("msg", "build", "msg=1", "to=W1", "type=R", "tid=1", "--json", "--pid", "M7"),
        f"data=call=summarize;text={'word ' * 200}end",
    ).json()
    (moved,) = said["artifacts"]
    assert said["text"].endswith(f"|pid=M7;call=summarize;text=#REF:{moved}")
    assert council("artifact", "fetch", moved).out == "word " * 200 + "end"


def test_message_that_cannot_be_built_publishes_nothing(council):
    said = council("msg", "build", "msg=1", "to=nobody here", "type=R", f"data={'x' * 900}")
    assert said.code != 0
    assert council("artifact", "list", "--json").json() == []


_WORDS = ("msg", "build", "msg=1", "to=W1", "type=R", "tid=1")


def test_message_without_a_workspace_is_refused_as_ever(council, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    said = council(*_WORDS, f"data={'x' * 900}", cwd=outside)
    assert said.code == 3


def test_publishing_nothing_at_a_terminal_asks_for_a_file_instead_of_waiting(council):
    council("init")
    ours, theirs = pty.openpty()
    running = council.start("artifact", "publish", stdin=theirs)
    os.close(theirs)

    _, said = running.communicate(timeout=120)

    os.close(ours)
    assert running.returncode == 2
    assert b"what is to be published? (name a file" in said
