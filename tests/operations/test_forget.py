"""Forgetting: old history goes by age, one conversation goes for good."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from council.core.conversations.conversation import Step
from council.core.errors import ConflictError, LockTimeoutError
from council.core.events import Event
from council.operations import forget
from council.operations.place import Place
from council.store import events
from council.store.conversations import closing
from council.store.documents.journal import FILE
from council.store.maintenance import alone
from council.store.paths import Workspace
from council.store.purging.conversations import Conversation, find
from council.store.purging.erasing import erase_events, scope_of
from tests.cli.commands import wait_until
from tests.operations.tables import adopt_orphans, all_is_quiet
from tests.store.journals import whole_texts
from tests.store.processes import at_call, die, forked, status_of, together
from tests.store.rooms.samples import CONVERSATION_ID, NOW, Room

MONTH = timedelta(days=30)
SHARED = Path("memory/shared")
OTHER = "7a2f3c1e-0000-4000-8000-000000000001"
FIRST = "2026-02-08T20:00:00Z"
MUCH_LATER = "2026-06-08T20:00:00Z"


def finish(room: Room) -> str:
    return room.conversations.close("active", "conseils/2026-02-08-bot", "the minutes", now=NOW)


def place(root: Path, now: datetime = NOW + 2 * MONTH) -> Place:
    return Place(str(root), {}, now)


def revise(room: Room, number: int, phase: str) -> None:
    room.conversations.edit(
        "active",
        lambda state: Step(state=state.copy(phase=phase, extra={"n": number})),
        now=NOW,
    )


def bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.req("XC-018")
def test_a_thousand_revisions_archived_keep_at_most_one_snapshot_a_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for call in ("fsync", "fdatasync"):  # what is measured is room, not durability
        monkeypatch.setattr(os, call, lambda _descriptor: None)
    room = Room(tmp_path).open()
    phases = ("COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE")
    for number in range(1000):
        revise(room, number, phases[number // 250])
    text = room.live.stat().st_size
    assert bytes_below(room.folder) <= 4 * text + 1000 * 2048

    finish(room)

    assert whole_texts(room.folder) == len(phases)
    assert list((room.folder / "displaced").iterdir()) == []
    journal = (room.folder / FILE).stat().st_size
    assert bytes_below(room.folder) - journal <= 2 * text, "the last file"
    assert journal < 1_000 * 1_000 + 4 * text, "the heads, and four texts"

    collected = forget.gc(place(tmp_path), MONTH)

    assert collected.count == 5, "four texts of the journal, and the last file"
    assert sorted(path.name for path in room.folder.rglob("*") if path.is_file()) == [
        "lock",
        FILE,
    ]
    assert len(room.conversations.history(CONVERSATION_ID)) == 1001


@pytest.fixture
def ended(tmp_path: Path) -> Room:
    """An archived conversation with an edit that was put back, and the files of a run."""
    room = Room(tmp_path).open()
    room.answer("henry")
    room.edit_by_hand(lambda text: text.replace("The family asks", "Nobody asks"))
    room.touch()
    finish(room)
    runs = room.folder.parent / "runs"
    runs.mkdir()
    (runs / f"{CONVERSATION_ID}.1.henry.1.log").write_text("task: …\nexit: 0\n")
    (room.folder / "prompts").mkdir()
    (room.folder / "prompts" / "a.prompt").write_text("…")
    return room


@pytest.mark.req("XC-018")
def test_what_ended_too_lately_or_is_open_is_not_pruned(ended: Room):
    ended.conversations.create(ended.state.copy(conversation_id=OTHER), now=NOW)
    before = ended.tree()

    young = forget.gc(place(ended.root, NOW + MONTH - timedelta(seconds=1)), MONTH)

    assert (young.count, young.conversations) == (0, [])
    assert {path: ended.tree()[path] for path in before} == before
    old = forget.gc(place(ended.root), MONTH)
    assert [one.conversation_id for one in old.conversations] == [CONVERSATION_ID]
    assert ended.touch().state.conversation_id == OTHER


@pytest.mark.req("XC-018")
def test_a_dry_run_says_what_goes_and_touches_nothing(ended: Room):
    before = ended.tree()

    foretold = forget.gc(place(ended.root), MONTH, dry_run=True)

    assert ended.tree() == before
    (one,) = foretold.conversations
    counts = {kind: len(found) for kind, found in one.files.items()}
    assert counts == {"texts": 1, "displaced": 0, "prompts": 1, "copies": 1, "runs": 1}
    held = bytes_below(ended.root)
    removed = [path for kind, found in one.files.items() for path, _ in found if kind != "texts"]
    done = forget.gc(place(ended.root), MONTH)
    assert foretold.total_bytes == held - bytes_below(ended.root)
    assert done.to_record() == {**foretold.to_record(), "dryRun": False}
    assert set(before) - set(ended.tree()) == set(removed)
    assert forget.gc(place(ended.root), MONTH).count == 0


@pytest.mark.req("XC-018")
def test_what_was_never_merged_outlives_every_pruning(ended: Room):
    (ended.folder / "closed.md").write_text("Saved through an old descriptor after the end.\n")
    late = ended.folder / "displaced" / f"old-1-5-{'0' * 64}-00000000"
    late.write_text("A late write.\n")

    done = forget.gc(place(ended.root), MONTH)

    (one,) = done.conversations
    assert one.unmerged == [str(late), str(ended.folder / "closed.md")]
    assert late.read_text() == "A late write.\n"
    assert "Saved through" in (ended.folder / "closed.md").read_text()
    kept = [path.read_text() for path in (ended.folder / "conflicts").iterdir()]
    assert any("Nobody asks" in text for text in kept)


def test_run_files_of_a_conversation_that_is_gone_are_pruned_by_their_age(ended: Room):
    runs = ended.folder.parent / "runs"
    old, young = (runs / f"{OTHER}.{tour}.henry.1.log" for tour in (1, 2))
    old.write_text("exit: 0\n")
    os.utime(old, (0, 0))
    young.write_text("exit: 0\n")
    now = datetime.fromtimestamp(young.stat().st_mtime, UTC)

    assert closing.orphaned_runs(ended.workspace, (now - MONTH).timestamp()) == [(str(old), 8)]
    assert forget.gc(place(ended.root, now), MONTH).orphaned == [(str(old), 8)]
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.req("XC-002")
def test_one_at_a_time_maintains_a_workspace_and_other_programs_can_keep_it_off(ended: Room):
    path = f"{ended.workspace.control}/maintenance.lock"
    with FileLock(path), pytest.raises(LockTimeoutError), alone(ended.workspace, timeout_s=0.05):
        pass
    with alone(ended.workspace), pytest.raises(TimeoutError):
        FileLock(path).acquire(timeout=0.05)


# For good


def everywhere(root: Path, *words: str) -> list[str]:
    """Return the files under a workspace in whose name or bytes any of the words stands."""
    found = []
    for path in root.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        if any(word in str(path) or word.encode() in data for word in words):
            found.append(str(path.relative_to(root)))
    return sorted(found)


TOPIC, BRIEF, SAID = "Shall the zebra move?", "Only the pangolin knows why.", "An okapi might."


@pytest.fixture
def zoo(council):
    """Two open conversations with agents that run, answers, an edited brief and a late answer."""
    adopt_orphans()
    program = json.dumps(["/bin/sh", "-c", f"cat >/dev/null; echo '{SAID}'"])
    agents = "".join(f"[agents.{agent}]\nargv = {program}\n" for agent in ("henry", "sage"))
    (council.root / "council.toml").write_text(f"schemaVersion = 1\n{agents}")
    for name, topic, brief in (("zoo", TOPIC, BRIEF), ("farm", "Shall the cow?", "A brief.")):
        opened = council(
            *("convene", topic, "--brief", brief, "--name", name, "--agents", "henry,sage,hand"),
            *("--synthesizer", "hand", "--json"),
            now=FIRST,
        )
        assert opened.code == 0, opened.err
        council.ids = {**getattr(council, "ids", {}), name: opened.json()["conversationId"]}
    live = council.root / SHARED / "council-zoo-conversation.md"
    for name in ("zoo", "farm"):
        assert council("respond", "--name", name, "--as", "hand", "By hand.", now=FIRST).code == 0
        assert council("context", "--name", name, "--as", "hand", now=FIRST).code == 0
    wait_until(lambda: council("show", "zoo", "--json").json()["tour"] > 1)
    all_is_quiet()
    live.write_text(live.read_text().replace(BRIEF, f"{BRIEF} Or so."))
    assert council("heartbeat", now=FIRST).code == 0
    all_is_quiet()
    return council


@pytest.mark.req("XC-018")
@pytest.mark.parametrize("archived", [False, True], ids=["open", "archived"])
def test_after_a_purge_nothing_of_it_is_found_and_nothing_of_others_is_missing(zoo, archived: bool):
    root = zoo.root
    if archived:
        assert zoo("archive", "--name", "zoo").code == 0
        assert zoo("cancel", "--name", "farm").code == 0
    else:
        assert zoo("pause", "--name", "farm").code == 0  # else its runs go on writing
    known = zoo.ids["zoo"]
    all_is_quiet()
    words = (known, known.replace("-", ""), "zebra", "pangolin")
    assert len(everywhere(root, *words)) > 6
    folder = root / SHARED / ".council" / known
    history = [one for one in folder.rglob("*") if one.is_file() and one.name != "lock"]
    farm = everywhere(root, zoo.ids["farm"])
    told = [one for one in _events(root) if one["conversationId"] == zoo.ids["farm"]]

    refused = zoo("purge", "zoo")
    assert refused.code == 2
    assert "--yes" in refused.err
    done = zoo("purge", "zoo", "--yes", "--json")

    assert done.code == 0, done.err
    removed = done.json()["removed"]
    assert done.json()["left"] == []
    assert (len(removed["minutes"]), len(removed["files"])) == ((1, 0) if archived else (0, 1))
    assert removed["history"] == len(history) > 1
    assert removed["events"] > 3
    assert removed["runs"] or removed["tasks"]
    assert everywhere(root, *words) == []
    assert everywhere(root, zoo.ids["farm"]) == farm
    assert [one for one in _events(root) if one["conversationId"] == zoo.ids["farm"]] == told
    again = zoo("purge", known, "--yes")
    assert again.code == 5, again.err
    assert zoo("heartbeat").code == 0
    assert everywhere(root, *words) == []


def _events(root: Path) -> list[dict]:
    return list(events.tail(Workspace(str(root))))


@pytest.mark.long
@pytest.mark.req("XC-018")
def test_a_purge_that_was_killed_at_any_call_is_finished_by_the_next(tmp_path: Path):
    killed, number = True, 0
    while killed:
        number += 1
        root = tmp_path / str(number)
        room = Room(root, brief="Only the pangolin knows why.").open()
        room.answer("henry")

        def dying(room: Room = room, number: int = number) -> None:
            at_call(number, die)
            Conversation(room.workspace, CONVERSATION_ID).purge(4)

        killed = status_of(forked(dying)) != 0
        Conversation(room.workspace, CONVERSATION_ID).purge(4)
        assert everywhere(root, CONVERSATION_ID, "pangolin") == [], f"killed at call {number}"
    assert number > 10


def test_a_name_that_several_had_needs_an_id(tmp_path: Path):
    room = Room(tmp_path).open()
    finish(room)
    room.conversations.create(room.state.copy(conversation_id=OTHER), now=NOW)
    assert find(room.workspace, "active") == OTHER, "the open one before the archived one"
    finish(room)
    with pytest.raises(Exception, match="2 conversations had the name") as caught:
        find(room.workspace, "active")
    assert CONVERSATION_ID in caught.value.hint
    assert find(room.workspace, CONVERSATION_ID) == CONVERSATION_ID


def test_the_file_of_minutes_says_what_to_purge(council):
    for topic in ("Tea?", "Coffee?"):
        assert council("convene", topic, "--agents", "owl,gecko").code == 0
        assert council("cancel").code == 0
    tea, coffee = (Path(one["path"]) for one in _by_title(council))

    several = council("purge", "active", "--yes")
    done = council("purge", str(tea.relative_to(council.root)), "--yes", "--json")

    assert several.code == 2
    assert "'active' fits 2 conversations" in several.err
    assert f"{tea.stem}: Cancelled: Tea? (" in several.err
    assert done.code == 0, done.err
    assert done.json()["removed"]["minutes"] == [str(tea)]
    assert (tea.exists(), coffee.exists()) == (False, True)
    assert council("purge", str(tea), "--yes").code == 5


def _by_title(council) -> list[dict]:
    listed = council("list", "--archived", "--json").json()
    return sorted(listed, key=lambda one: one["title"], reverse=True)


def test_a_copy_of_the_file_goes_with_it_and_what_others_wrote_is_only_named(tmp_path: Path):
    room = Room(tmp_path).open()
    copy = room.live.with_name("council-copy-conversation.md")
    copy.write_bytes(room.live.read_bytes())
    notes = room.live.with_name("notes.md")
    notes.write_text(f"See {CONVERSATION_ID}.\n")
    done = Conversation(room.workspace, CONVERSATION_ID).purge(4)
    assert sorted(done.files) == sorted([str(room.live), str(copy)])
    assert done.left == [str(notes)]
    assert notes.exists()


def test_a_conversation_whose_run_is_under_way_is_not_purged(tmp_path: Path):
    from council.store.slots import Slots

    room = Room(tmp_path).open()
    log = tmp_path / SHARED / ".council" / "runs" / f"{CONVERSATION_ID}.1.henry.1.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("task: …\n")
    slot = Slots(room.workspace.places, 4).take("henry")
    assert slot is not None
    with pytest.raises(ConflictError, match="henry"):
        Conversation(room.workspace, CONVERSATION_ID).purge(4)
    slot.release()
    assert Conversation(room.workspace, CONVERSATION_ID).purge(4).runs == [str(log)]


@pytest.mark.req("XC-008")
def test_who_appends_while_events_are_erased_loses_none(tmp_path: Path):
    workspace = Workspace(str(tmp_path))

    def write(conversation: str) -> None:
        for number in range(150):
            happened = [Event(type="phase.changed", data={"n": number})]
            events.append(workspace, events.loose_records(happened, conversation, NOW))

    def erase() -> None:
        for _ in range(40):
            erase_events(workspace, scope_of(CONVERSATION_ID))

    write(CONVERSATION_ID)
    works = [lambda: write(OTHER), lambda: write(CONVERSATION_ID), erase]
    assert together(works) == [0, 0, 0]
    erase_events(workspace, scope_of(CONVERSATION_ID))
    found = [one for one in events.tail(workspace) if one["type"] == "phase.changed"]
    assert [one["data"]["n"] for one in found] == list(range(150))
    assert {one["conversationId"] for one in found} == {OTHER}
    day = next((tmp_path / SHARED / "events").iterdir())
    lines = [line for line in day.read_text().splitlines() if line]  # a blank line says nothing
    assert len(lines) == 450
    assert all(json.loads(line)["schemaVersion"] == 1 for line in lines)
    assert CONVERSATION_ID not in day.read_text()


def test_a_reader_who_follows_keeps_its_place_while_events_are_erased(tmp_path: Path):
    workspace = Workspace(str(tmp_path))

    def add(conversation: str, kind: str) -> None:
        events.append(workspace, events.loose_records([Event(type=kind)], conversation, NOW))

    add(CONVERSATION_ID, "one")
    add(OTHER, "two")
    turns = iter([True, False])

    def more() -> bool:
        erase_events(workspace, scope_of(CONVERSATION_ID))
        add(OTHER, "three")
        return next(turns)

    assert [one["type"] for one in events.tail(workspace, more=more)] == ["one", "two", "three"]


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
def test_on_a_terminal_it_asks_first(council, answer: str, code: int):
    assert council("convene", TOPIC, "--agents", "henry,sage").code == 0
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        council.argv("purge", "active"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=council.root,
        env=council.env(),
    )
    os.write(ours, f"{answer}\n".encode())
    _, said = started.communicate(timeout=300)
    os.close(ours)
    os.close(theirs)
    assert TOPIC in said.decode()
    assert started.returncode == code
    assert (council("show", "active").code == 0) == bool(code)


@pytest.mark.req("XC-015")
@pytest.mark.parametrize("words", [("purge", "active", "--yes"), ("gc",), ("migrate",), ("edit",)])
def test_a_run_may_not_forget_anything(council, words: tuple[str, ...]):
    assert council("convene", TOPIC, "--agents", "henry,sage").code == 0
    assert council(*words, env={"COUNCIL_TASK_ID": "x"}).code == 6
