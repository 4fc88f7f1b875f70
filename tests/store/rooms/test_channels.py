"""Channels on the disk: one document, one log, one lock; nothing lost, nothing said twice."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from council.core.errors import ConflictError, NotFoundError
from council.core.events import Event
from council.core.rooms import floor
from council.core.rooms.channels import RULES, Channel, Member, Message, Mode, TurnState
from council.store.paths import Workspace
from council.store.rooms import channel_messages as log
from council.store.rooms import channel_page
from council.store.rooms.channel_messages import DELETES
from council.store.rooms.channels import Channels
from tests.store.journals import whole_texts

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)


def member(name: str) -> Member:
    return Member(account=name, agent="" if name == "alice" else name)


def room(*agents: str, mode: Mode = Mode.CHAT) -> Channel:
    members = {"moderator": Member(account="moderator", moderator=True)}
    members |= {name: member(name) for name in agents}
    made = Channel(
        channel_id="weather",
        name="weather",
        mode=mode,
        created_at=NOW,
        updated_at=NOW,
        members=members,
    )
    return floor.opened(made, NOW).channel


@pytest.fixture
def store(workspace: Path) -> Channels:
    return Channels(Workspace(str(workspace)), member, RULES)


@pytest.fixture
def document(workspace: Path) -> Path:
    return workspace / "memory/shared/channels/weather.md"


@pytest.fixture
def messages(document: Path) -> Path:
    return document.with_suffix(".jsonl")


def events(workspace: Path) -> list[str]:
    lines = []
    for day in sorted((workspace / "memory/shared/events").glob("*.jsonl")):
        lines += [json.loads(line)["type"] for line in day.read_text().splitlines()]
    return lines


def settled(store: Channels) -> Channel:
    """Do what every command does first: take in what is there."""
    with store.open("weather", NOW) as session:
        step = floor.settle(session.channel, session.messages, NOW)
        if step.channel != session.channel:
            session.commit(step.channel, page=session.page, events=step.events)
        return session.channel


def say(store: Channels, text: str, author: str = "alice") -> Message:
    with store.open("weather", NOW) as session:
        return session.post(Message(id=1, at=NOW, author=author, content=text))


# The document


def test_a_channel_is_read_as_it_was_made(store, document):
    made = store.create(room("owl", "gecko"), NOW, [])

    assert store.see("weather").channel == made
    assert store.ids() == ["weather"]
    assert made.speaker == "owl"


@pytest.mark.req("DG-007")
def test_a_second_channel_of_that_id_is_refused_and_changes_nothing(store, document):
    store.create(room("owl", "gecko"), NOW, [])
    before = document.read_bytes()

    with pytest.raises(ConflictError):
        store.create(room("fox"), NOW, [])

    assert document.read_bytes() == before


def test_an_unknown_channel_is_not_found_and_leaves_no_trace(store, workspace):
    with pytest.raises(NotFoundError):
        store.open("nowhere", NOW)

    assert not (workspace / "memory/shared/.council").exists()


def test_a_document_says_in_plain_words_who_has_the_floor_and_why():
    asleep = room("owl", "gecko").copy(speaker="", dormant_at=NOW)

    assert channel_page.floor_line(room("owl", "gecko")).startswith(
        "owl since 2026-02-08T20:00:00Z"
    )
    assert "all have had their turn" in channel_page.floor_line(asleep)
    assert "only repeated" in channel_page.floor_line(asleep.copy(calmed="repetition"))
    assert "too long" in channel_page.floor_line(asleep.copy(calmed="max-cycles"))
    assert "when an agent is here" in channel_page.floor_line(room("alice"))
    assert channel_page.cycle_line(asleep) == "it is over"
    assert channel_page.cycle_line(room("owl", "gecko")) == "no turn has ended yet"
    work = room("owl", "gecko").copy(mode=Mode.WORK, state=TurnState.DISABLED, speaker="")
    assert "turns are not taken" in channel_page.floor_line(work)
    assert "only post" in channel_page.floor_line(room("owl", mode=Mode.REPORT))


def test_an_unchanged_document_is_not_touched(store, document):
    store.create(room("owl", "gecko"), NOW, [])
    before = os.stat(document)

    settled(store)

    after = os.stat(document)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


# What people edit


def edit(document: Path, old: str, new: str) -> None:
    text = document.read_text()
    assert old in text
    document.write_text(text.replace(old, new, 1))


def test_topic_mode_and_notes_of_a_person_are_taken_in(store, document, workspace):
    store.create(room("owl", "gecko"), NOW, [])
    edit(document, "- **Topic:** -", "- **Topic:** rain\n\nA note of mine.")
    edit(document, "- **Mode:** chat", "- **Mode:** report")

    channel = settled(store)

    assert (channel.topic, channel.mode, channel.state) == ("rain", Mode.REPORT, TurnState.DEAD)
    assert "A note of mine." in document.read_text()
    assert events(workspace).count("edit.accepted") == 2


@pytest.mark.req("DG-037")
def test_a_locked_mode_is_put_back_and_said(store, document, workspace):
    store.create(room("owl", mode=Mode.WORK), NOW, [])
    edit(document, '"mode": "work"', '"mode": "chat"')

    channel = settled(store)

    assert channel.mode is Mode.WORK
    assert "- **Mode:** work" in document.read_text()
    assert "edit.refused" in events(workspace)


def test_members_are_added_and_removed_by_their_lines(store, document):
    store.create(room("owl", "gecko", "alice"), NOW, [])
    edit(document, "- alice (person)", "- fox")

    channel = settled(store)

    assert list(channel.members) == ["moderator", "owl", "gecko", "fox"]
    assert channel.members["fox"].agent == "fox"
    assert channel.speakers == ("owl", "gecko")  # who joins waits for the boundary


def test_what_only_commands_set_is_put_back_and_the_text_kept(store, document, workspace):
    store.create(room("owl", "gecko"), NOW, [])
    edit(document, '"currentSpeaker": "owl"', '"currentSpeaker": "gecko"')
    edited = document.read_bytes()

    assert settled(store).speaker == "owl"

    kept = list((workspace / "memory/shared/.council/channels/weather/conflicts").iterdir())
    assert any(edited in one.read_bytes() for one in kept)
    assert "edit.refused" in events(workspace)


@pytest.mark.parametrize("damage", [b"", b"no channel at all\n", None])
def test_a_damaged_or_missing_document_comes_back(store, document, damage):
    made = store.create(room("owl", "gecko"), NOW, [])
    document.unlink() if damage is None else document.write_bytes(damage)

    assert settled(store).members == made.members
    assert "<!--council-eof-->" in document.read_text()


@pytest.mark.req("DG-007")
def test_without_its_folder_a_channel_goes_on_from_its_document(store, document, workspace):
    import shutil

    made = store.create(room("owl", "gecko"), NOW, [])
    say(store, "hello")
    shutil.rmtree(workspace / "memory/shared/.council")

    channel = settled(store)

    assert (channel.members, channel.seen) == (made.members, 1)


# Messages


def test_messages_are_numbered_from_one_and_read_from_the_end(store):
    store.create(room("owl", "gecko"), NOW, [])
    for number in range(1, 31):
        assert say(store, f"word {number}").id == number
        settled(store)

    seen = store.see("weather")

    assert [one.id for one in seen.messages] == list(range(11, 31))
    assert seen.newest == 30


@pytest.mark.parametrize(
    "line",
    [
        '{"content": "by hand"}\n',
        '{"content": "by hand", "author": "bob"}\n',
        "by hand\n",
        "by hand",
    ],
)
def test_a_line_that_a_person_appends_is_a_message(store, messages, line):
    store.create(room("owl", "gecko"), NOW, [])
    say(store, "first")
    with messages.open("a") as file:
        file.write(line)

    assert settled(store).seen == 2
    assert say(store, "third").id == 3
    found = store.newest(store.see("weather").channel, 9)
    assert [(one.id, one.content) for one in found] == [(1, "first"), (2, "by hand"), (3, "third")]
    assert found[1].author == ("bob" if "bob" in line else "somebody")


def test_a_line_whose_writer_died_is_cut_off_and_kept_apart(store, messages, workspace):
    store.create(room("owl", "gecko"), NOW, [])
    say(store, "first")
    with messages.open("ab") as file:
        file.write(b'{"id":2,"at":"2026-02-08T20:0')

    assert store.see("weather").newest == 1
    assert say(store, "second").id == 2
    assert [json.loads(line)["content"] for line in messages.read_text().splitlines()] == [
        "first",
        "second",
    ]
    folder = workspace / "memory/shared/.council/channels/weather/conflicts"
    assert any(b'{"id":2,"at"' in one.read_bytes() for one in folder.iterdir())


def test_a_message_that_no_state_has_taken_notice_of_is_taken_notice_of_by_the_next(store):
    store.create(room("owl", "gecko"), NOW, [])
    for number in range(40):
        say(store, f"word {number}")  # each time the writer dies before it commits

    assert store.see("weather").channel.seen == 0
    assert settled(store).seen == 40


def test_the_end_of_a_long_log_is_found_whatever_its_lines_are(tmp_path):
    path = tmp_path / "long.jsonl"
    lines = [json.dumps({"id": at, "content": "x" * (at % 997)}) for at in range(1, 3001)]
    path.write_text("\n".join(lines) + "\nplain\n" + "y" * 70_000 + "\n")

    tail = log.read_tail(str(path), NOW, count=5)

    assert tail.last_id == 3002
    assert [one.id for one in tail.messages] == [2998, 2999, 3000, 3001, 3002]


def test_a_deleted_message_is_not_shown(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(
        '{"id":1,"content":"a"}\n{"id":2,"content":"b"}\n{"id":3,"content":"","deletes":1}\n'
    )

    tail = log.read_tail(str(path), NOW)

    assert [one.content for one in tail.messages] == ["b"]
    assert tail.last_id == 3


# History and signal


@pytest.mark.req("DG-143")
def test_a_folder_delivers_and_what_was_deleted_is_not_seen(store):
    store.create(room("owl"), NOW, [])

    with store.open("weather", NOW) as session:
        first = session.post(Message(id=1, at=NOW, author="owl", content="one"))
        second = session.post(Message(id=1, at=NOW, author="moderator", content="signal"))
        deletes = Message(id=1, at=NOW, author="moderator", content="", extra={DELETES: second.id})
        session.post(deletes)
        session.read_log()
        third = session.post(Message(id=1, at=NOW, author="owl", content="two"))

        assert (first.id, second.id, third.id) == (1, 2, 4)
        assert [one.content for one in session.messages_after(0)] == ["one", "two"]
        assert [one.content for one in session.messages_after(1)] == ["two"]
        assert list(session.channel.members) == ["moderator", "owl"]


def test_history_stays_bounded_however_often_turns_change(store, workspace):
    channel = store.create(room("owl", "gecko"), NOW, [])
    folder = workspace / "memory/shared/.council/channels/weather"
    sizes = []
    long = Event(type="something.happened", data={"at": "length " * 500})
    for number in range(160):
        with store.open("weather", NOW) as session:
            changed = session.channel.copy(topic=f"{number}")
            session.commit(changed, page=None, events=[long])
            channel = session.channel
        sizes.append((folder / "revisions.jsonl").stat().st_size)

    assert max(sizes) < 200 * 1024
    assert whole_texts(folder) < 100
    assert store.see("weather").channel == channel
    assert channel.rev == 161


@pytest.mark.req("DG-085", "DG-143")
def test_each_change_of_speaker_is_signalled_and_no_file_is_left(store, document, monkeypatch):
    shown = []
    store.create(room("owl", "gecko"), NOW, [])
    real = os.unlink

    def unlink(path, **given):
        if str(path).endswith(".signal"):
            shown.append(os.path.exists(path))
        real(path, **given)

    monkeypatch.setattr(os, "unlink", unlink)
    for agent in ("owl", "gecko"):
        with store.open("weather", NOW) as session:
            step = floor.end(session.channel, agent, f"run-{agent}", "NO", NOW)
            session.commit(step.channel, page=None, events=step.events)
    settled(store)

    assert shown == [True]  # owl to gecko; then the room sleeps and no agent is signalled
    assert not document.with_suffix(".signal").exists()


@pytest.mark.req("DG-085")
def test_a_floor_that_an_edit_gave_on_is_signalled_with_the_post_that_met_it(
    store, document, monkeypatch
):
    shown = []
    store.create(room("owl", "gecko"), NOW, [])
    real = os.unlink

    def unlink(path, **given):
        shown.extend([path] if str(path).endswith(".signal") else [])
        real(path, **given)

    monkeypatch.setattr(os, "unlink", unlink)
    with store.open("weather", NOW) as session:
        step = floor.end(session.channel, "owl", "run-owl", "NO", NOW)
        page = channel_page.parse(document.read_text())
        session.take(step.channel, page, b"what somebody wrote", events=step.events)
        session.commit(session.channel.copy(topic="more"), page=None, events=[])

    assert len(shown) == 1


@pytest.mark.req("XC-012")
def test_a_french_document_says_the_same_and_is_read_like_an_english_one(store, document):
    store.create(room("owl", "gecko", "alice").copy(lang="fr"), NOW, [])
    text = document.read_text()

    assert text.startswith("# Salon : weather\n\n- **Mode :** chat\n- **Sujet :** -\n")
    assert "- **Parole :** owl depuis 2026-02-08T20:00:00Z, n'a pas commencé ; puis gecko" in text
    assert "## Membres\n\n- moderator (modérateur)" in text
    assert "- alice (personne)" in text

    text = text.replace("Sujet :** -", "Sujet :** Le gel").replace("- gecko (agent)\n", "")
    document.write_text(text.replace("# Salon", "Un mot de moi.\n\n# Salon"))
    settled(store)

    channel = store.see("weather").channel
    assert (channel.topic, list(channel.members)) == ("Le gel", ["moderator", "owl", "alice"])
    assert "Un mot de moi." in document.read_text()
    assert "- **Sujet :** Le gel\n" in document.read_text()


@pytest.mark.req("XC-012")
def test_the_words_are_there_in_both_languages():
    assert set(channel_page._WORDS["en"]) == set(channel_page._WORDS["fr"])
    for key, words in channel_page._WORDS["en"].items():
        french = channel_page._WORDS["fr"][key]
        assert words.count("{") == french.count("{"), key
