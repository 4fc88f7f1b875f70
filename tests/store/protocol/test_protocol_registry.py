"""The registry on the disk: many at once, processes that die, files that are broken."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from council.core.bounds import ProtocolRules
from council.core.errors import CouncilError, InvalidStateError, NewerVersionError
from council.core.protocol.liveness import expire
from council.core.protocol.registering import Joining, join
from council.core.protocol.registry import Registry
from council.store.events import tail
from council.store.notes import liveness_is_due
from council.store.paths import Workspace
from council.store.protocol.context_outbox import Post
from council.store.protocol.inboxes import read_inbox
from council.store.protocol.protocol_log import read_log
from council.store.protocol.protocol_registry import (
    RegistryChange,
    change,
    load,
    note_due,
    registry_path,
)
from council.wire.carried import reply_line
from tests.core.registries import told
from tests.store.looking import as_written
from tests.store.processes import at_call, die, forked, status_of, together
from tests.store.records import of_version_one, put, value_in

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
RULES = ProtocolRules()


def joining(**wish: object):
    """Return the rule by which an agent joins, and what follows from it."""

    def rule(registry: Registry) -> RegistryChange:
        step = join(registry, Joining(**wish), NOW, RULES)
        line = reply_line(step.replies[0])
        posts = [Post(inbox=step.id, sender="O1", receiver=step.id, text=line)]
        return RegistryChange(
            registry=step.registry if step.registry != registry else None,
            events=step.events,
            log=[f"log of {line}"],
            posts=posts if step.id else [],
        )

    return rule


def join_one(workspace: Workspace, **wish: object) -> None:
    change(workspace, joining(**wish), NOW, RULES)


@pytest.mark.long
@pytest.mark.req("PR-404", "PR-514")
def test_fifty_who_join_at_once_get_fifty_ids(tmp_path):
    workspace = Workspace(str(tmp_path))

    works = [lambda: join_one(workspace)] * 50
    assert together(works) == [0] * 50

    registry = load(workspace)
    assert sorted(registry.entries, key=lambda one: int(one[1:])) == [
        f"W{number}" for number in range(1, 51)
    ]
    assert registry.rev == 50
    assert len([one for one in tail(workspace) if one["type"] == "agent.joined"]) == 50
    assert all(len(read_inbox(workspace, [one])) == 1 for one in registry.entries)


def test_what_follows_from_joining_is_told_once_wherever_a_process_dies(tmp_path):
    survived = False
    for number in count(1):
        root = tmp_path / str(number)
        workspace = Workspace(str(root))
        join_one(workspace, agent="first")

        def dying(place: Workspace = workspace, call: int = number) -> None:
            at_call(call, die)
            join_one(place, agent="owl")

        survived = status_of(forked(dying)) == 0
        join_one(workspace, agent="last")  # the next one makes up for it

        ids = {one.agent: one.id for one in load(workspace).entries.values()}
        assert list(ids) in (["first", "owl", "last"], ["first", "last"])
        joined = [one["data"]["id"] for one in tail(workspace) if one["type"] == "agent.joined"]
        assert sorted(joined) == sorted(ids.values())
        for one in ids.values():
            told = f"M1|O1>{one}|A|T0|-|-|-|0|S0|-|registered;id={one};status=active"
            assert [line for _, line in read_log(workspace)].count(f"log of {told}") == 1
            assert (root / f"memory/shared/protocol/inbox/{one}.jsonl").read_text().count(told) == 1

        join_one(workspace, agent="owl")  # as who got no answer does
        assert sorted(one.id for one in load(workspace).entries.values()) == ["W1", "W2", "W3"]
        if survived:
            break
    assert number > 10


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_unknown_fields_and_mode_survive_a_change(tmp_path, form: str):
    workspace = Workspace(str(tmp_path))
    join_one(workspace)
    path = Path(registry_path(workspace))
    put(path, {**value_in(path), "mood": "\ud800"})
    if form == "json":
        path = of_version_one(path)
    os.chmod(path, 0o640)

    join_one(workspace)

    path = Path(registry_path(workspace))
    found = value_in(path)
    assert (found["mood"], found["rev"]) == ("\ud800", 2)
    assert list(found["agents"]) == ["W1", "W2"]
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff{}",
        b"[" * 100_000,
        b'{"agents": []}',
        b'{"agents": {"W1": {"load": "much"}}}',
        b'{"outbox": {"events": [{}]}}',
        b'{"outbox": []}',
    ],
)
def test_a_broken_file_is_said_in_one_line_and_never_written_over(
    tmp_path, content: bytes, form: str
):
    workspace = Workspace(str(tmp_path))
    path = tmp_path / f"memory/shared/protocol/registry.{form}"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    with pytest.raises(InvalidStateError) as refused:
        join_one(workspace)

    assert "\n" not in refused.value.message
    assert refused.value.hint
    assert path.read_bytes() == content


def test_a_newer_registry_is_not_written(tmp_path):
    workspace = Workspace(str(tmp_path))
    path = tmp_path / "memory/shared/protocol/registry.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"schemaVersion": 2}')

    with pytest.raises(NewerVersionError):
        join_one(workspace)

    assert path.read_text() == '{"schemaVersion": 2}'


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    workspace = Workspace(str(tmp_path))
    folder = tmp_path / "memory/shared/protocol"
    folder.mkdir(parents=True)
    target = tmp_path / "target.json"
    target.write_text("{}")
    (folder / "registry.json").symlink_to(target)

    with pytest.raises(CouncilError):
        join_one(workspace)

    assert target.read_text() == "{}"


def test_what_stays_the_same_is_not_written_and_its_events_are(tmp_path):
    workspace = Workspace(str(tmp_path))
    join_one(workspace, proposed="W1")
    before = as_written(registry_path(workspace))

    join_one(workspace, proposed="W1")

    assert as_written(registry_path(workspace)) == before
    assert [one["type"] for one in tail(workspace)] == ["agent.joined", "agent.refused"]


# The note until when no process has to read.


def alive(workspace: Workspace, now: datetime) -> None:
    def rule(registry: Registry) -> RegistryChange:
        line = "M1|W1>O1|H|-|-|R|-|load=1%;queue=0"
        return RegistryChange(registry=told(registry, line, now).registry)

    change(workspace, rule, now, RULES)


@pytest.mark.req("PR-422")
def test_a_heartbeat_need_not_open_a_registry_in_which_nobody_can_fall_silent(tmp_path):
    workspace = Workspace(str(tmp_path))
    far = NOW + timedelta(days=99)

    assert not liveness_is_due(workspace.protocol, far)
    join_one(workspace)
    assert not liveness_is_due(workspace.protocol, far)
    alive(workspace, NOW)
    assert not liveness_is_due(workspace.protocol, NOW + timedelta(minutes=14))
    assert liveness_is_due(workspace.protocol, NOW + RULES.liveness_timeout)


@pytest.mark.parametrize("lost", ["gone", "torn", "edited"])
def test_a_note_that_says_nothing_of_this_file_costs_a_look(tmp_path, lost: str):
    workspace = Workspace(str(tmp_path))
    join_one(workspace)
    note = tmp_path / "memory/shared/protocol/.told/liveness"
    if lost == "gone":
        note.unlink()
    elif lost == "torn":
        note.write_text(note.read_text()[:5])
    else:
        path = Path(registry_path(workspace))
        path.write_text(path.read_text() + " ")

    assert liveness_is_due(workspace.protocol, NOW)

    note_due(workspace, RULES)
    assert not liveness_is_due(workspace.protocol, NOW)


def test_who_fell_silent_is_not_due_again(tmp_path):
    workspace = Workspace(str(tmp_path))
    join_one(workspace)
    alive(workspace, NOW)
    late = NOW + timedelta(hours=1)

    change(
        workspace,
        lambda registry: RegistryChange(registry=expire(registry, late, RULES).registry),
        late,
        RULES,
    )

    assert load(workspace).to_record()["agents"]["W1"]["status"] == "unavailable"
    assert not liveness_is_due(workspace.protocol, late + timedelta(days=9))
