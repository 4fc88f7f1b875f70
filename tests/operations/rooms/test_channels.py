"""Channels as agents and people use them: posts, turns, deliveries, discussions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from council.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
)
from council.core.rooms.channels import Channel, MessageKind, Mode, TurnState
from council.core.rooms.due import pending
from council.core.times import render_instant
from council.operations.place import Place, open_place
from council.operations.rooms import (
    channels,
    discord,
    discord_ties,
    discussing,
    rooms,
    showing,
    turns,
)
from tests.drivers.discord_server import GENERAL, TOKEN, Server, discord_server
from tests.operations.halls import GUIDE, WAYS
from tests.operations.tables import adopt_orphans, all_is_quiet

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
AGENTS = ("owl", "gecko", "fox")


@pytest.fixture
def at(workspace: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Place]]:
    """The workspace with three agents, so many seconds after 20:00, in one of both ways."""
    table = "".join(f'[agents.{agent}]\nname = "{agent}"\n' for agent in AGENTS)
    (workspace / "council.toml").write_text(f"schemaVersion = 1\n{table}")

    environ: dict[str, str] = {}

    def opened(seconds: int = 0) -> Place:
        now = NOW + timedelta(seconds=seconds)
        return open_place(str(workspace), render_instant(now), environ)

    if getattr(request, "param", WAYS[0]) == WAYS[0]:
        yield opened
        return
    adopt_orphans()
    with discord_server() as server:
        environ.update({"DISCORD_TOKEN": TOKEN, discord.URL: server.url})
        server.join(4711, "alice")
        SERVERS[server.url] = server
        yield opened
        all_is_quiet()


SERVERS: dict[str, Server] = {}
on_both_ways = pytest.mark.parametrize("at", WAYS, indirect=True)


def server_of(place: Place) -> Server | None:
    return SERVERS.get(place.environ.get(discord.URL, ""))


def chat(place: Place, *members: str, name: str = "weather") -> Channel:
    made = channels.create(place, "chat", name, members or ("owl", "gecko"))
    if server_of(place):
        discord_ties.tie(place, name, str(GENERAL), "", "")
    return made


def a_person_says(place: Place, text: str) -> Channel:
    """Let alice speak, where people speak, and return the room once that has arrived."""
    server = server_of(place)
    if server is None:
        return channels.post(place, "weather", "alice", text)[1].channel
    server.write(4711, text)
    discord.exchange(place, "weather", waits=True)
    return standing(place)


def lies_there(place: Place, *texts: str) -> bool:
    """Return true if this is all that our agents have said on Discord, if that is the way."""
    all_is_quiet()
    server = server_of(place)
    return server is None or [one.partition("\n")[2] for one in server.said()] == list(texts)


def standing(place: Place, name: str = "weather") -> Channel:
    return showing.standing(place, name).channel


def said(place: Place, name: str = "weather") -> list[str]:
    store = rooms.channels(place)
    return [one.content for one in store.newest(store.see(name).channel, 100)]


def events(place: Place, kind: str) -> list[dict]:
    lines = []
    for day in sorted(Path(place.paths.events).glob("*.jsonl")):
        lines += [json.loads(line) for line in day.read_text().splitlines()]
    return [one["data"] for one in lines if one["type"] == kind]


def passes(place: Place, *agents: str) -> None:
    for agent in agents:
        turns.end(place, "weather", agent, "", "NO_REPLY")


# Modes and members


@pytest.mark.req("DG-051")
def test_the_moderator_is_in_every_chat(at):
    assert chat(at()).members["moderator"].moderator


@pytest.mark.req("DG-031", "DG-032")
def test_a_channel_never_seen_has_no_mode_and_looking_makes_none(at):
    channel = standing(at(), "new")

    assert (channel.mode, channel.state) == (Mode.NONE, TurnState.DISABLED)
    assert rooms.open_channels(at()) == []


@pytest.mark.req("DG-037", "DG-040")
def test_work_is_locked_and_cannot_be_chosen(at):
    channels.create(at(), "work", "bench", ["owl"])
    chat(at())

    with pytest.raises(RefusedError, match="locked"):
        channels.change_mode(at(), "bench", "chat")
    with pytest.raises(RefusedError, match="only its creation"):
        channels.change_mode(at(), "weather", "work")
    assert standing(at(), "bench").mode is Mode.WORK


@pytest.mark.req("DG-038")
def test_chat_and_report_change_freely(at):
    chat(at())

    assert channels.change_mode(at(), "weather", "report").channel.state is TurnState.DEAD
    assert channels.change_mode(at(), "weather", "chat").channel.speaker == "owl"


@pytest.mark.req("DG-041")
def test_without_the_moderator_the_mode_is_not_changed(at):
    chat(at())
    channels.change_members(at(), "weather", remove=["moderator"])

    with pytest.raises(RefusedError, match="moderator"):
        channels.change_mode(at(), "weather", "report")


def test_the_same_creation_again_changes_nothing_and_another_is_refused(at):
    first = chat(at())

    assert chat(at(5)) == first
    with pytest.raises(ConflictError):
        chat(at(), "fox")


@pytest.mark.req("DG-066")
def test_accounts_are_resolved_and_people_are_not_in_the_list(at):
    path = Path(at().paths.identities)
    path.write_text('[{"discordUserId": "4711", "agentId": "owl", "agentName": "Owl"}]')

    channel = chat(at(), "4711", "gecko", "alice")

    assert channel.members["4711"].agent == "owl"
    assert channel.speakers == ("owl", "gecko")


@on_both_ways
@pytest.mark.req("DG-067", "DG-098", "DG-088")
def test_who_joins_waits_for_the_boundary(at):
    chat(at())
    channels.change_members(at(), "weather", add=["fox"])
    assert standing(at()).speakers == ("owl", "gecko")

    passes(at(), "owl", "gecko")

    assert set(standing(at()).speakers) == set(AGENTS)


@on_both_ways
@pytest.mark.req("DG-097", "DG-088")
def test_a_speaker_who_leaves_is_skipped_at_once(at):
    chat(at(), *AGENTS)
    first, second, _ = standing(at()).speakers

    channels.change_members(at(), "weather", remove=[first])

    assert standing(at()).speaker == second


# Posts


@pytest.mark.req("DG-062", "DG-034")
def test_a_post_in_a_report_channel_wakes_nobody(at):
    channels.create(at(), "report", "log", ["owl", "gecko"])

    _, step = channels.post(at(), "log", "owl", "All is well.")

    assert (step.channel.state, pending(step.channel, NOW)) == (TurnState.DEAD, ())
    assert said(at(), "log") == ["All is well."]


@on_both_ways
@pytest.mark.req("DG-101", "DG-096", "DG-088")
def test_a_room_that_sleeps_is_woken_by_a_post(at):
    chat(at())
    passes(at(), "owl", "gecko")
    asleep = standing(at())
    assert (asleep.speaker, asleep.results) == ("", [])

    woken = a_person_says(at(5), "It rains.")

    assert (woken.speaker, woken.cycle) == ("owl", asleep.cycle + 1)


@on_both_ways
@pytest.mark.req("DG-142", "DG-088")
def test_a_post_of_the_speaker_does_not_end_its_turn(at):
    chat(at())
    turns.begin(at(), "weather", "owl", "r1")

    _, step = channels.post(at(), "weather", "owl", "I think aloud.")

    assert step.channel.speaker == "owl"


def test_an_agent_that_is_no_member_may_not_post_and_a_person_may(at):
    chat(at())

    with pytest.raises(RefusedError, match="no member"):
        channels.post(at(), "weather", "fox", "Let me in.")
    channels.post(at(), "weather", "alice", "Good evening.")

    assert said(at()) == ["Good evening."]


def test_a_post_with_a_key_or_of_a_run_is_made_once(at):
    chat(at())
    for _ in range(2):
        channels.post(at(), "weather", "alice", "hello", key="k1")
        channels.post(at(), "weather", "owl", "hello", run="r1")

    assert said(at()) == ["hello", "hello"]


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "a\ud800b"])
def test_a_text_that_cannot_be_kept_is_refused(at, text):
    chat(at())

    with pytest.raises(InvalidInputError):
        channels.post(at(), "weather", "alice", text)
    assert said(at()) == []


# Turns


@pytest.mark.req("DG-061", "DG-006")
def test_the_first_use_makes_a_channel_in_which_all_may_speak(at):
    for agent in ("owl", "gecko"):
        assert turns.begin(at(), "new", agent, "r1").allowed

    assert len(events(at(), "channel.initialized")) == 1


@on_both_ways
@pytest.mark.req("DG-071", "DG-072", "DG-074", "DG-088")
def test_only_the_speaker_begins_and_the_newest_message_is_its_anchor(at):
    chat(at())
    a_person_says(at(), "one")
    a_person_says(at(), "two")

    refused = turns.begin(at(), "weather", "gecko", "r1")
    allowed = turns.begin(at(), "weather", "owl", "r1")

    assert (refused.allowed, refused.model) == (False, "dirigent/no-reply")
    assert (allowed.allowed, allowed.model, allowed.channel.anchor) == (True, "", 2)


def test_the_silent_model_is_configurable(at, workspace):
    with (workspace / "council.toml").open("a") as file:
        file.write('[channels]\nsilent_model = "mute"\n')
    chat(at())

    assert turns.begin(at(), "weather", "gecko", "r1").model == "mute"


@on_both_ways
@pytest.mark.req("DG-004", "DG-088")
def test_begin_and_end_of_one_run_count_once(at):
    chat(at())
    rev = turns.begin(at(), "weather", "owl", "r1").channel.rev
    assert turns.begin(at(), "weather", "owl", "r1").channel.rev == rev
    turns.end(at(), "weather", "owl", "r1", "NO")

    again = turns.end(at(), "weather", "owl", "r1", "NO")

    assert (again.outcome, standing(at()).speaker) == ("already-ended", "gecko")


@on_both_ways
@pytest.mark.req("DG-080", "DG-084", "DG-088")
def test_a_real_turn_waits_until_its_text_lies_in_the_channel(at):
    chat(at())
    turns.begin(at(), "weather", "owl", "r1")
    step = turns.end(at(), "weather", "owl", "r1", "Take an umbrella.")
    assert (step.outcome, step.channel.speaker) == ("awaiting-delivery", "owl")

    channels.post(at(3), "weather", "owl", "Take an umbrella.")

    assert lies_there(at(3), "Take an umbrella.")
    assert standing(at(3)).speaker == "gecko"
    assert len(events(at(), "delivery.confirmed")) == 1


@on_both_ways
@pytest.mark.req("DG-087", "XC-008", "DG-088")
def test_whoever_comes_after_the_patience_goes_on_and_says_so(at):
    chat(at())
    turns.end(at(), "weather", "owl", "r1", "It never comes.")
    assert not turns.begin(at(14), "weather", "gecko", "r2").allowed

    assert turns.begin(at(16), "weather", "gecko", "r2").allowed
    assert len(events(at(), "delivery.timed_out")) == 1


@on_both_ways
@pytest.mark.req("DG-086", "DG-088")
def test_a_word_of_somebody_else_interrupts_the_wait(at):
    chat(at())
    turns.end(at(), "weather", "owl", "r1", "It never comes.")

    heard = a_person_says(at(3), "Wait!")

    assert (heard.speaker, heard.cycle) == ("owl", 2)


@on_both_ways
@pytest.mark.req("DG-088")
def test_an_end_may_post_its_text_and_does_so_once(at):
    chat(at())
    for _ in range(2):
        step = turns.end(at(), "weather", "owl", "r1", "Take an umbrella.", post=True)

    assert said(at()) == ["Take an umbrella."]
    assert lies_there(at(), "Take an umbrella.")
    assert step.channel.speaker == "gecko"


@on_both_ways
@pytest.mark.req("DG-088")
def test_an_end_does_not_post_what_its_agent_has_posted(at):
    chat(at())
    turns.begin(at(), "weather", "owl", "r1")
    channels.post(at(), "weather", "owl", "Take an umbrella.")

    turns.end(at(), "weather", "owl", "r1", "Take an umbrella.", post=True)

    assert said(at()) == ["Take an umbrella."]
    assert lies_there(at(), "Take an umbrella.")
    assert standing(at()).speaker == "gecko"


def test_what_silent_agents_ask_is_answered_without_writing(at, workspace):
    chat(at())
    turns.begin(at(), "weather", "gecko", "r1")
    before = {path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.is_file()}

    for _ in range(3):
        assert not turns.begin(at(), "weather", "gecko", "r1").allowed

    assert before == {
        path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.is_file()
    }


def test_a_room_can_be_woken_by_hand(at):
    chat(at())
    passes(at(), "owl", "gecko")

    assert turns.wake(at(), "weather", "alice").channel.speaker == "owl"


# Discussions


def discuss(place: Place, **given: str) -> Channel:
    return discussing.create(place, "umbrellas", "owl", GUIDE, ["gecko", "fox"], **given)


def summary(place: Place, text: str = "We like them.") -> str:
    folder = Path(place.paths.shared) / "discussion-summary"
    folder.mkdir(exist_ok=True)
    (folder / "u.md").write_text(text)
    return "memory/shared/discussion-summary/u.md"


@pytest.mark.req("DG-111", "DG-115", "DG-116", "DG-117", "DG-118", "DG-054")
def test_a_discussion_is_private_and_begins_with_its_guide(at):
    channel = discuss(at())

    assert channel.private
    assert (channel.discussion.initiator, list(channel.members)) == (
        "owl",
        ["moderator", "gecko", "fox"],
    )
    assert said(at(), "umbrellas") == [GUIDE]
    assert (channel.state, channel.speaker) == (TurnState.NORMAL, "gecko")
    assert [one.agent for one in pending(channel, NOW) if hasattr(one, "agent")] == ["gecko"]


@pytest.mark.req("DG-114")
def test_a_guide_without_goals_is_refused_and_nothing_is_made(at):
    with pytest.raises(InvalidInputError, match="goals"):
        discussing.create(at(), "u", "owl", "## Topic\n## Completion criteria\n", ["gecko"])

    assert rooms.open_channels(at()) == []


@pytest.mark.req("DG-113")
def test_the_channel_to_call_back_must_be_a_known_group(at):
    channels.create(at(), "chat", "alone", ["owl"])

    with pytest.raises(NotFoundError):
        discuss(at(), callback="nowhere")
    with pytest.raises(InvalidInputError, match="group"):
        discuss(at(), callback="alone")


@pytest.mark.req("DG-112")
def test_a_workspace_that_cannot_be_written_is_refused(at, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    with pytest.raises(RefusedError):
        discuss(at())


@pytest.mark.req("XC-008")
@pytest.mark.parametrize("word", ["NO_REPLY", " NO\n"])
def test_the_word_for_silence_of_an_agent_wakes_nobody_and_is_no_message(at, word):
    chat(at(), "owl", "gecko", "alice")
    for agent in ("owl", "gecko"):
        turns.end(at(), "weather", agent, agent, "")
    assert standing(at()).speaker == ""

    with pytest.raises(InvalidInputError, match="nothing to say"):
        channels.post(at(), "weather", "gecko", word)

    assert (said(at()), standing(at()).speaker) == ([], "")
    assert [one["code"] for one in events(at(), "answer.refused")] == ["invalid-input"]
    channels.post(at(), "weather", "alice", word)  # a person says what she says
    assert standing(at()).speaker == "owl"


def test_a_discussion_may_be_the_first_thing_in_a_workspace(at):
    import shutil

    shutil.rmtree(at().paths.shared, ignore_errors=True)

    assert discuss(at()).speaker == "gecko"


@pytest.mark.req("DG-119")
def test_an_idle_discussion_leaves_its_initiator_one_word_and_sleeps_on(at):
    discuss(at())
    for run in ("1", "2"):
        for agent in ("gecko", "fox"):
            turns.end(at(), "umbrellas", agent, f"{agent}{run}", "")
    for _ in range(2):
        rooms.advance(at(60), "umbrellas", NOW)

    [note] = Path(at().paths.tasks("owl")).iterdir()
    assert note.read_text().startswith(
        "Discussion is idle. Please summarize and call discussion-complete."
    )
    assert standing(at(), "umbrellas").speaker == ""
    assert len(events(at(), "initiator.reminded")) == 1


@pytest.mark.req("DG-119")
@pytest.mark.parametrize("end", ["wake", "post", "complete"])
def test_the_word_that_a_discussion_is_idle_goes_when_it_is_not_idle_any_more(at, end):
    tasks = Path(at().paths.tasks("owl"))
    discuss(at())
    for run in ("1", "2"):
        for agent in ("gecko", "fox"):
            turns.end(at(), "umbrellas", agent, f"{agent}{run}", "")
    rooms.advance(at(60), "umbrellas", NOW)
    (tasks / "umbrellas.note.md").write_text("mine")
    (tasks / "rain.1.idle.md").write_text("of another discussion")
    assert len(list(tasks.iterdir())) == 3
    # The process that was to take this one away was killed.
    (tasks / "umbrellas.0.idle.md").write_text("of a cycle long ago")

    if end == "wake":
        turns.wake(at(120), "umbrellas", "owl")
    elif end == "post":
        channels.post(at(120), "umbrellas", "alice", "Go on.")
    else:
        discussing.complete(at(120), "umbrellas", "owl", summary(at()))

    assert {one.name for one in tasks.iterdir()} == {"umbrellas.note.md", "rain.1.idle.md"}


@pytest.mark.req("DG-120", "DG-123", "DG-124")
def test_a_completed_discussion_is_sealed_told_and_minuted_once(at):
    chat(at())
    discuss(at(), callback="weather")
    turns.end(at(), "umbrellas", "gecko", "1", "I like them.", post=True)
    for _ in range(2):
        step, troubles = discussing.complete(at(), "umbrellas", "owl", summary(at()))

    about = step.channel.discussion
    assert (step.channel.state, troubles) == (TurnState.ARCHIVED, [])
    assert about.summary == "memory/shared/discussion-summary/u.md"
    assert [about.summary in one for one in said(at())] == [True]
    [minutes] = Path(at().paths.minutes).iterdir()
    text = minutes.read_text()
    for told in (about.summary, "gecko, fox", "We like them.", "I like them.", "Closed: completed"):
        assert told in text


@pytest.mark.req("DG-124", "XC-012")
def test_the_minutes_of_a_discussion_speak_the_language_of_its_document(at):
    settings = Path(at().paths.settings)
    before = settings.read_text() if settings.exists() else "schemaVersion = 1\n"
    settings.write_text(
        before.replace("schemaVersion = 1\n", 'schemaVersion = 1\nlanguage = "fr"\n')
    )
    discuss(at())
    turns.end(at(), "umbrellas", "gecko", "1", "J'en suis.", post=True)
    discussing.complete(at(), "umbrellas", "owl", summary(at()))

    [minutes] = Path(at().paths.minutes).iterdir()
    text = minutes.read_text()
    for told in ("# Discussion : umbrellas", "Terminée par owl ;", "## Résumé", "(déclaré)"):
        assert told in text
    for english in ("Completed", "Closed", "## Summary", "## What", "claimed)"):
        assert english not in text


@pytest.mark.req("DG-065", "DG-123")
def test_a_word_to_a_closed_discussion_is_answered_and_wakes_nobody(at):
    discuss(at())
    discussing.complete(at(), "umbrellas", "owl", summary(at()))

    _, step = channels.post(at(), "umbrellas", "gecko", "One more thing.")

    assert said(at(), "umbrellas")[1:] == ["One more thing.", "This discussion is closed."]
    assert step.channel.speaker == ""
    assert MessageKind.AUTO in {one.kind for one in rooms.channels(at()).newest(step.channel, 5)}


@pytest.mark.req("DG-065")
def test_nobody_joins_or_leaves_a_sealed_room(at):
    discuss(at())
    discussing.complete(at(), "umbrellas", "owl", summary(at()))
    before = Path(at().paths.channels, "umbrellas.md").read_bytes()

    with pytest.raises(RefusedError):
        channels.change_members(at(), "umbrellas", add=["alice"])
    with pytest.raises(RefusedError):
        channels.change_members(at(), "umbrellas", remove=["fox"])

    assert Path(at().paths.channels, "umbrellas.md").read_bytes() == before
    assert [one for one in events(at(), "member.joined") if one["account"] == "alice"] == []


@pytest.mark.req("DG-065")
def test_a_member_written_into_the_document_of_a_sealed_room_is_put_back(at):
    discuss(at())
    discussing.complete(at(), "umbrellas", "owl", summary(at()))
    page = Path(at().paths.channels, "umbrellas.md")
    text = page.read_text()
    line = next(one for one in text.splitlines() if one.startswith("- fox"))
    page.write_text(text.replace(line, f"{line}\n{line.replace('fox', 'newt')}"))

    channels.post(at(60), "umbrellas", "alice", "Hello?")

    assert "newt" not in standing(at(), "umbrellas").members
    assert [one["field"] for one in events(at(), "edit.refused")] == ["members.newt"]


@pytest.mark.req("DG-121", "DG-122")
def test_who_may_complete_and_with_which_summary(at, tmp_path):
    discuss(at())
    good = summary(at())
    folder = Path(at().paths.shared) / "discussion-summary"
    (tmp_path / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder.md").mkdir()

    for caller, path, refusal in (
        ("gecko", good, RefusedError),
        ("owl", str(folder / "none.md"), NotFoundError),
        ("owl", str(tmp_path / "secret.md"), RefusedError),
        ("owl", str(folder / "link.md"), RefusedError),
        ("owl", str(folder / "folder.md"), InvalidInputError),
    ):
        with pytest.raises(refusal):
            discussing.complete(at(), "umbrellas", caller, path)
    assert standing(at(), "umbrellas").state is TurnState.NORMAL


# A log that lost its end


def asleep(place: Place) -> Path:
    """Make a room in which three messages were heard and all passed; return its log."""
    chat(place)
    for number in range(3):
        channels.post(place, "weather", "bob", f"word {number}")
    passes(place, "owl", "gecko")
    assert standing(place).speaker == ""
    return Path(place.root, "memory/shared/channels/weather.jsonl")


@pytest.mark.req("DG-101")
@pytest.mark.parametrize("kept", [None, 0, 1, 2])
def test_a_room_whose_log_lost_its_end_wakes_at_the_next_message(at, kept: int | None):
    place = at()
    log = asleep(place)
    lines = log.read_bytes().splitlines(keepends=True)
    if kept is None:
        log.unlink()
    else:
        log.write_bytes(b"".join(lines[:kept]))
    rooms.advance(place, "weather", place.now())
    assert standing(place).speaker == ""

    said_now, _ = channels.post(place, "weather", "bob", "Is anybody there?")

    assert said_now.id == 4
    assert standing(place).speaker == "owl"
    assert events(place, "log.shortened") == [{"seen": 3, "last": kept or 0}]
    with log.open("a") as file:
        file.write("And one more.\n")
    assert rooms.look(place, "weather", place.now()).newest == 5
    assert rooms.advance(place, "weather", place.now()).channel.seen == 5


@pytest.mark.req("DG-101")
@pytest.mark.parametrize("kept", [0, 1])
def test_a_line_added_by_hand_to_a_log_that_lost_its_end_wakes_the_room_once(at, kept: int):
    place = at()
    log = asleep(place)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:kept]) + b"Good morning!\n")

    assert rooms.look(place, "weather", place.now()).due
    assert rooms.advance(place, "weather", place.now()).channel.speaker == "owl"
    assert events(place, "log.shortened") == [{"seen": 3, "last": kept + 1}]
    cycle = standing(place).cycle
    passes(place, "owl", "gecko")
    again = rooms.advance(place, "weather", place.now()).channel
    assert (again.speaker, again.cycle) == ("", cycle)
    assert len(events(place, "channel.woken")) == 1


@pytest.mark.req("DG-084", "DG-101")
def test_a_text_that_is_added_by_hand_to_a_shortened_log_arrives(at):
    place = at()
    log = asleep(place)
    channels.post(place, "weather", "bob", "And now?")
    turns.end(place, "weather", "owl", "r9", "It will rain all day and all night.")
    line = {"author": "owl", "content": "It will rain all day and all night."}
    log.write_text(json.dumps(line) + "\n")

    assert rooms.advance(place, "weather", place.now()).channel.speaker == "gecko"
    assert len(events(place, "delivery.confirmed")) == 1


def test_doctor_tells_that_a_log_lost_its_end(at):
    from council.operations.reporting.explaining import find_problems

    place = at()
    log = asleep(place)

    def cut() -> list[str]:
        return [one.line() for one in find_problems(place).found if one.code == "log-cut"]

    assert cut() == []
    log.write_bytes(b"")

    (told,) = cut()
    assert told.startswith("weather: its log of messages ends at 0")
    channels.post(place, "weather", "bob", "On we go.")
    assert cut() == []


def test_what_is_added_by_the_thousand_is_taken_notice_of_in_pieces(at, monkeypatch):
    from council.store.rooms import long_log

    chat(at())
    monkeypatch.setattr(long_log, "PIECE_LINES", 1000)
    log = Path(at().paths.channels, "weather.jsonl")
    with log.open("a") as file:
        file.writelines(f"word {number} {'and so on ' * 9}\n" for number in range(4500))

    message, step = channels.post(at(1), "weather", "ann", "Hello")

    assert (message.id, step.channel.seen, step.channel.speaker) == (4501, 4501, "owl")
    assert step.outcome == "posted"
    assert step.channel.rev >= 5  # the lock was free between any two of them
    assert [one.content for one in rooms.channels(at()).newest(step.channel, 1)] == ["Hello"]


def test_of_very_many_words_to_a_sealed_room_the_newest_are_answered(at):
    rooms_of = chat(at())
    with rooms.channels(at()).open(rooms_of.channel_id, NOW) as session:
        sealed = session.channel.copy(state=TurnState.ARCHIVED, speaker="", turn_at=None)
        session.commit(sealed, page=None, events=[])
    with Path(at().paths.channels, "weather.jsonl").open("a") as file:
        file.writelines(f"word {number}\n" for number in range(1, 301))

    rooms.advance(at(1), "weather", at(1).now())

    answers = [one for one in rooms.channels(at()).newest(sealed, 500) if one.reply_to]
    assert [one.reply_to for one in answers] == list(range(201, 301))
    assert len(events(at(), "message.declined")) == 300
