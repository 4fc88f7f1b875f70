"""Over time: files of a released version go on, files of a newer one are read and never written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from council.core.conversations.conversation import Step
from council.core.ids import sha256_hex
from council.core.times import parse_instant
from council.operations.forget import migrate
from council.operations.place import Place
from council.store.documents import journal
from council.store.versions import KNOWN, STEPS
from tests.examples import one_in
from tests.store.processes import at_call, die, forked, status_of

GOLDEN = Path(__file__).parent.parent / "golden"
SHARED = Path("memory/shared")
NOW = "2026-02-08T21:00:00Z"
PHASES = ("collect", "challenge", "resolve", "synthesize")
NEWER = '"schemaVersion": 2'


@pytest.fixture(params=sorted(path.name for path in GOLDEN.glob("v*")))
def released(request: pytest.FixtureRequest, council) -> str:
    """The workspace as a released version left it, in the place of the empty one."""
    shutil.rmtree(council.root)
    shutil.copytree(GOLDEN / request.param, council.root)
    return str(request.param)


def tree(root: Path) -> dict[str, bytes]:
    """Return every file of a workspace but locks and notes of when something ran."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "lock" not in path.name and path.parent.name != ".council"
    }


@pytest.mark.req("XC-013", "C0-018")
def test_every_released_version_is_read_as_it_is(council, released: str):
    before = tree(council.root)
    for name in PHASES:
        state = council("show", name, "--json", now=NOW).json()
        assert state["currentPhase"] == name.upper()
        assert state["brief"] == f"All about {name}.\n\n> 1 < 2"
        assert state["topic"] == f"Is {name} — «naïve» or not?"
        said = [(one["agent"], one["tour"]) for one in state["contributions"]]
        tours = range(1, PHASES.index(name) + 1)
        assert said == [(agent, tour) for tour in tours for agent in ("henry", "sage")]
        assert all(one["text"].endswith("costs <!-- no -->") for one in state["contributions"])
        assert [one["text"] for one in state["guidance"]] == ["Keep it short."]
        assert council("check", "--name", name, now=NOW).code == 0
        assert council("diff", "1", "--name", name, now=NOW).code == 0
    assert len(council("list", "--archived", "--json").json()) == 1
    events = council("events", "tail", "--json", "--lines", "1000").out.splitlines()
    assert sum(json.loads(line)["type"] == "contribution.recorded" for line in events) == 19
    assert tree(council.root) == before


@pytest.mark.req("XC-013")
def test_every_released_version_goes_on_to_its_minutes(council, released: str):
    for at, name in enumerate(PHASES):
        if name != "synthesize":
            for agent in ("henry", "sage")[1 if name == "collect" else 0 :]:
                said = council("respond", "--name", name, "--as", agent, "Now we agree.", now=NOW)
                assert said.code == 0, said.err
            assert council("show", name, "--json").json()["currentPhase"] == PHASES[at + 1].upper()
        else:
            written = council("synthesize", "--name", name, "--as", "henry", "Done.", now=NOW)
            assert written.code == 0, written.err
    live = council.root / SHARED / "council-challenge-conversation.md"
    assert "A remark by hand." in live.read_text(encoding="utf-8")
    for name in PHASES[:3]:
        assert council("archive", "--name", name, now=NOW).code == 0
    assert council("heartbeat", now=NOW).code == 0
    assert len(council("list", "--archived", "--json").json()) == 5
    minutes = "".join(path.read_text() for path in (council.root / "conseils").iterdir())
    assert "Seen by nobody yet." in minutes
    assert council("purge", "ended", "--yes").code == 0
    assert len(council("list", "--archived", "--json").json()) == 4


@pytest.mark.req("XC-013")
def test_migrate_brings_journals_forward_and_says_of_all_else_that_there_is_nothing_to_do(
    council, released: str
):
    journals = 6 if (council.root / SHARED / "channels").exists() else 5
    before = tree(council.root)
    foretold = council("migrate", "--dry-run", "--json", now=NOW)
    assert foretold.code == 0, foretold.err
    assert tree(council.root) == before

    moved = 5 if released == "v1" else 0
    done = council("migrate", "--json", now=NOW)
    for told, count in ((foretold.json(), 0), (done.json(), moved)):
        assert (told["ok"], told["moved"], told["dryRun"]) == (True, count, told["dryRun"])
        kinds = sorted(one["kind"] for one in told["files"])
        assert kinds == ["conversation"] * 4 + ["events"] + ["journal"] * journals + [
            *("minutes", "settings")
        ]
        assert {one["standing"] for one in told["files"] if one["kind"] != "journal"} == {"current"}
        older = [one for one in told["files"] if one["standing"] == "older"]
        assert len(older) == moved
        assert all(one["bytesAfter"] > 0 for one in older)
        sizes = [sum(one[key] for one in older) for key in ("bytesAfter", "bytes")]
        assert sizes[0] < sizes[1] or not older

    after = tree(council.root)
    kept = {path: data for path, data in before.items() if not _is_of_version_one(path)}
    assert {path: after[path] for path in kept} == kept
    assert not any(_is_of_version_one(path) for path in after)
    assert "nothing was written" in council("migrate", now=NOW).out
    assert tree(council.root) == after


def _is_of_version_one(path: str) -> bool:
    return path.endswith("/journal.jsonl") or "/obj/" in path


def told_of(council, name: str) -> list[object]:
    """Return what history and diff show of a conversation, up to what it is now."""
    revisions = council("history", "--name", name, "--json", now=NOW).json()
    last = str(revisions[-1]["rev"])
    return [
        revisions,
        council("history", "--name", name, now=NOW).out,
        *(council("diff", rev, last, "--whole", "--name", name, now=NOW).out for rev in "123"),
    ]


@pytest.mark.req("XC-013")
def test_what_was_brought_over_has_its_history_and_goes_on(council, released: str):
    before = {name: told_of(council, name) for name in PHASES}
    assert council("migrate", now=NOW).code == 0
    assert {name: told_of(council, name) for name in PHASES} == before
    ended = council("history", "--name", "ended", now=NOW)
    assert ended.code == 0, ended.err
    said = council("respond", "--name", "challenge", "--as", "henry", "We agree.", now=NOW)
    assert said.code == 0, said.err
    revisions = council("history", "--name", "challenge", "--json", now=NOW).json()
    known = before["challenge"][0]
    assert revisions[: len(known)] == known
    assert len(revisions) > len(known)
    assert council("purge", "ended", "--entry", "1-sage", "--yes", now=NOW).code == 0


@pytest.mark.req("XC-013", "XC-001")
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 13])
def test_a_migration_that_was_killed_at_any_call_is_finished_by_the_next(tmp_path: Path, step: int):
    told: set[str] = set()
    killed, number = True, 0
    while killed:
        number += step
        root = tmp_path / str(number)
        shutil.copytree(GOLDEN / "v1", root)
        place = Place(str(root), {}, parse_instant(NOW))

        def dying(place: Place = place, number: int = number) -> None:
            at_call(number, die)
            migrate(place)

        killed = status_of(forked(dying)) != 0
        if killed and number % 3 == 0:  # a command that writes may come first
            place.conversations.edit("resolve", lambda state: Step(state=state), now=place.now())
        assert all(one.ok for one in migrate(place))
        assert not any(_is_of_version_one(str(path)) for path in root.rglob("*"))
        revisions = [place.conversations.history(name) for name in PHASES]
        texts = [
            place.conversations.text_at(name, one.rev)
            for name, found in zip(PHASES, revisions, strict=True)
            for one in found
        ]
        told.add(sha256_hex("".join(texts).encode()))
        shutil.rmtree(root)
    assert number > 50
    assert len(told) == 1, "every text is the one it was, wherever the migration was killed"


@pytest.mark.req("XC-013")
def test_a_room_of_version_one_is_brought_over_with_all_it_had(council):
    for words in (
        ("channel", "create", "chat", "den", "--participants", "owl,gecko", "--as", "owl"),
        ("channel", "post", "den", "Hear!", "--as", "zoe"),
    ):
        assert council(*words, now=NOW).code == 0
    folder = council.root / SHARED / ".council/channels/den"
    as_version_one(folder)
    before = council("channel", "show", "den", "--json", now=NOW).json()
    told = council("migrate", "--json", now=NOW)
    assert told.code == 0, told.err
    assert told.json()["moved"] == 1
    assert not (folder / "obj").exists()
    assert council("channel", "show", "den", "--json", now=NOW).json() == before
    assert council("channel", "post", "den", "Hear me!", "--as", "zoe", now=NOW).code == 0


def as_version_one(folder: Path) -> None:
    """Write a journal as version 1 did: a line names its text, which lies in a file of its own."""
    past = journal.Past(str(folder / journal.FILE))
    (folder / "obj").mkdir()
    data, parent = b"", ""
    for at, line in enumerate(past.lines):
        head = dict(line.head)
        (folder / "obj" / head["digest"]).write_bytes(past.text_at(at))
        record = {
            "v": 1,
            "parent": parent,
            "seen": parent,
            "opId": head.pop("op"),
            "actor": head.pop("by"),
            **{key: one for key, one in head.items() if key not in ("v", "seq", "spent", "body")},
        }
        body = json.dumps({**record, "parent": parent}, separators=(",", ":"))[:-1].encode()
        data += body + b',"sum":"' + sha256_hex(body)[:16].encode() + b'"}\n'
        parent = head["digest"]
    (folder / "journal.jsonl").write_bytes(data)
    (folder / journal.FILE).unlink()


def make_newer(root: Path, kind: str) -> Path:
    """Let a file of the workspace say that it is of version 2."""
    if kind == "conversation":
        path = root / SHARED / "council-resolve-conversation.md"
        path.write_text(path.read_text().replace('"schemaVersion": 1', NEWER, 1))
    elif kind == "settings":
        path = root / "council.toml"
        path.write_text('schemaVersion = 2\ntrust = "by oath"\nmoons = 2\n')
    elif kind == "minutes":
        (path,) = (root / "conseils").glob("*.md")
        path.write_text(path.read_text().replace("schemaVersion: 1", "schemaVersion: 2", 1))
    else:
        (path,) = (root / SHARED / "events").iterdir()
        path.write_text(path.read_text().replace('"schemaVersion":1', '"schemaVersion":2', 1))
    return path


@pytest.mark.req("XC-013")
@pytest.mark.parametrize("kind", one_in(3, sorted(set(KNOWN) - {"journal"})))
def test_a_file_of_a_newer_version_is_read_and_named_by_migrate(council, released: str, kind: str):
    path = make_newer(council.root, kind)
    before = path.read_bytes()
    told = council("migrate", "--json", now=NOW)
    assert told.code == 3
    (newer,) = (one for one in told.json()["files"] if one["standing"] == "newer")
    assert (newer["kind"], newer["schemaVersion"], newer["knows"]) == (kind, 2, 1)
    assert "schemaVersion 2" in council("migrate", now=NOW).err
    looks = ["status", "show resolve", "list --archived", "history --name resolve", "events tail"]
    for words in looks:
        assert council(*words.split(), now=NOW).code == 0, words
    assert len(council("list", "--archived", "--json", now=NOW).json()) == 1
    assert path.read_bytes() == before


@pytest.mark.req("XC-013", "XC-006")
def test_under_newer_settings_whatever_writes_is_refused_and_names_the_version(
    council, released: str
):
    make_newer(council.root, "settings")
    before = tree(council.root)
    for words in (
        ("respond", "--as", "henry", "--name", "resolve", "Yes."),
        ("heartbeat",),
        ("convene", "Why?", "--agents", "a,b", "--name", "new"),
        ("stop", "--name", "resolve"),
        ("edit", "--name", "resolve"),
        ("purge", "resolve", "--yes"),
        ("gc",),
        ("doctor", "--repair"),
    ):
        refused = council(*words, now=NOW, env={"EDITOR": "true"})
        assert (refused.code, "schemaVersion 2" in refused.err) == (3, True), words
    assert council("heartbeat", "--dry-run", now=NOW).code == 0
    assert council("context", "--as", "henry", "--name", "resolve", now=NOW).code == 0
    doctor = council("doctor", "--json", now=NOW)
    assert "schemaVersion is 2" in doctor.out
    after = tree(council.root)
    assert {path: after[path] for path in before} == before


@pytest.mark.req("XC-013")
def test_a_newer_conversation_stops_nobody_but_itself(council, released: str):
    path = make_newer(council.root, "conversation")
    before = path.read_bytes()
    refused = council("respond", "--as", "henry", "--name", "resolve", "Yes.", now=NOW)
    assert (refused.code, "schemaVersion 2" in refused.err) == (3, True)
    edited = council("edit", "--name", "resolve", now=NOW, env={"EDITOR": "true"})
    assert (edited.code, "schemaVersion 2" in edited.err) == (3, True)
    assert council("respond", "--as", "sage", "--name", "collect", "Yes.", now=NOW).code == 0
    assert path.read_bytes() == before


@pytest.mark.req("XC-013")
def test_an_older_file_without_a_step_is_named_and_left_alone(council, released: str):
    assert council("migrate", now=NOW).code == 0
    (path,) = (council.root / "conseils").glob("*.md")
    path.write_text(path.read_text().replace("schemaVersion: 1", "schemaVersion: 0", 1))
    before = tree(council.root)
    told = council("migrate", "--json", now=NOW)
    assert told.code == 3
    (older,) = (one for one in told.json()["files"] if one["standing"] == "older")
    assert "no step forward from schemaVersion 0" in older["said"]
    assert tree(council.root) == before


def test_there_is_a_table_of_steps_for_every_kind_of_file():
    assert set(STEPS) == set(KNOWN)
    for kind, steps in STEPS.items():
        assert sorted(steps) == list(range(1, KNOWN[kind])), kind


@pytest.mark.req("XC-013")
def test_fields_from_the_future_survive_a_change(council, released: str):
    live = council.root / SHARED / "council-resolve-conversation.md"
    live.write_text(
        live.read_text().replace('"schemaVersion": 1', '"schemaVersion": 1, "moons": {"n": [2]}', 1)
    )
    assert council("respond", "--as", "henry", "--name", "resolve", "Yes.", now=NOW).code == 0
    assert council("show", "resolve", "--json").json()["moons"] == {"n": [2]}
    assert '"moons"' in live.read_text()
