"""Rooms on Discord: what is said in either is said in both, once and in order, whatever breaks.

Discord is a server on loopback that answers as its documentation says (`discord_server`).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from council.core.errors import ConflictError, RefusedError, UsageError
from council.core.rooms import discord_texts as texts
from council.core.rooms.channels import Message, is_asleep
from council.operations.examining.doctor import examine
from council.operations.heartbeat.beat import beat
from council.operations.reporting.explaining import explain
from council.operations.rooms import (
    channels,
    discord,
    discord_exchange,
    discord_ties,
    discussing,
    rooms,
    turns,
)
from tests.drivers.discord_server import (
    BOT,
    GENERAL,
    GUILD,
    SEND,
    TOKEN,
    VIEW,
    Server,
    discord_server,
)
from tests.operations.crashes import killed_at
from tests.operations.halls import GUIDE, MINUTE, Hall, talks
from tests.operations.tables import LEASE, all_is_quiet
from tests.store.processes import forked, status_of

ALICE, BOB, OWL_BOT = 4711, 4712, 555
POST, LIST = "POST messages", "GET messages"


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with discord_server() as server:
        hall = Hall(tmp_path / "workspace")
        hall.seat({"owl": {"name": "Owl", "emoji": "☂"}, "gecko": {"name": "Gecko"}})
        hall.server = server
        server.join(ALICE, "Alice")
        server.join(BOB, "Bob")
        yield hall
        all_is_quiet()


def server(hall: Hall) -> Server:
    assert hall.server is not None
    return hall.server


def registers(hall: Hall, agent: str, account: int) -> None:
    path = Path(hall.place.paths.identities)
    path.write_text(f'[{{"discordUserId": "{account}", "agentId": "{agent}"}}]')


def words(hall: Hall) -> list[str]:
    """Return what our account has said, without the heading and with its number in brackets."""
    return [one.partition("\n")[2] or one for one in server(hall).said()]


# --- what comes in


@pytest.mark.req("DG-088")
def test_what_people_say_there_arrives_once_in_order_and_names_them(hall: Hall):
    server(hall).write(ALICE, "before the tie")
    hall.room("owl", "gecko")
    for text in ("one", "two", "three"):
        server(hall).write(ALICE, text)
    hall.exchange()
    hall.exchange()

    assert hall.said() == ["Alice: one", "Alice: two", "Alice: three"]
    newest = rooms.channels(hall.place).newest(hall.standing())
    assert {one.author for one in newest} == {str(ALICE)} and not any(one.agent for one in newest)


@pytest.mark.long
@pytest.mark.req("DG-088")
def test_more_than_a_page_of_messages_arrives_whole(hall: Hall):
    hall.room()
    for number in range(230):
        server(hall).write(ALICE, f"word {number}")
    hall.exchange()

    store = rooms.channels(hall.place)
    found = store.newest(store.see("weather").channel, 300)
    assert [one.content for one in found] == [f"word {number}" for number in range(230)]


@pytest.mark.req("DG-088", "DG-012")
def test_accounts_are_agents_by_the_registry_and_unknown_programs_are_no_persons(hall: Hall):
    registers(hall, "owl", OWL_BOT)
    server(hall).join(OWL_BOT, "The Owl", bot=True)
    server(hall).join(77, "News", bot=True)
    hall.room("owl", "gecko")
    server(hall).write(77, "Breaking news!")
    server(hall).write(OWL_BOT, "I saw it.")
    channel = hall.exchange()

    newest = rooms.channels(hall.place).newest(channel)
    assert [one.agent for one in newest] == ["discord-77", "owl"]
    assert channel.cycles_alone == 1  # neither counts as the word of a person


@pytest.mark.req("DG-088", "SC-004")
def test_what_cannot_be_kept_as_it_is_becomes_readable(hall: Hall):
    hall.room("owl", "gecko")
    file = {"id": "1", "filename": "roof.png", "size": 2048, "url": "x", "proxy_url": "x"}
    server(hall).write(ALICE, "Ask <@4712>\x1b[31m <:leak:99> <t:0:R> 👩‍👩‍👧", attachments=[file])
    server(hall).write(ALICE, "", type=7)  # Alice joined: nothing was said
    hall.exchange()

    assert hall.said() == [
        "Alice: Ask @Bob [31m :leak: 1970-01-01T00:00:00Z 👩‍👩‍👧\n"
        "[attachment: roof.png, 2048 bytes]"
    ]


@pytest.mark.req("DG-088")
def test_edits_and_deletions_there_change_nothing_of_what_was_heard(hall: Hall):
    hall.room("owl", "gecko")
    server(hall).write(ALICE, "It rains.")
    hall.exchange()
    message = server(hall).messages[GENERAL].pop()
    server(hall).messages[GENERAL].append({**message, "content": "It does not."})
    hall.exchange()
    server(hall).messages[GENERAL].clear()
    hall.exchange()

    assert hall.said() == ["Alice: It rains."]


@pytest.mark.req("DG-083", "DG-084", "DG-088")
def test_a_turn_of_an_agent_with_its_own_account_ends_when_its_text_is_seen_there(hall: Hall):
    registers(hall, "owl", OWL_BOT)
    server(hall).join(OWL_BOT, "The Owl", bot=True)
    hall.room(str(OWL_BOT), "gecko")
    polls: list[str] = []

    def appears_late(route: str) -> None:
        polls.append(route)
        if polls.count(LIST) == 3 and route == LIST:
            server(hall).write(OWL_BOT, "It comes in two")
            server(hall).write(OWL_BOT, "pieces.")

    server(hall).on_request = appears_late
    step = turns.end(hall.place, "weather", "owl", "r1", "It comes in two pieces.")

    assert (step.channel.speaker, step.channel.delivery) == ("gecko", None)
    assert words(hall) == []


# --- what goes out


@pytest.mark.req("DG-088")
def test_what_agents_and_people_say_here_is_posted_under_their_names_and_pings_nobody(hall: Hall):
    registers(hall, "gecko", BOB)
    hall.room("owl", "gecko")
    hall.end("owl", "Ask @gecko, not @everyone.")
    channels.post(hall.place, "weather", "carol", "Hello.")
    all_is_quiet()

    assert server(hall).said() == [
        f"☂ **Owl**\nAsk <@{BOB}>, not @everyone.",
        "**carol**\nHello.",
    ]  # the server refuses posts that may ping


@pytest.mark.req("DG-081", "DG-088")
def test_a_long_text_comes_in_pieces_and_the_next_one_speaks_only_after_the_last(hall: Hall):
    hall.room("owl", "gecko")
    text = "\n\n".join(f"Paragraph {number}. " + "It rains. " * 30 for number in range(20))
    seen: list[tuple[int, str]] = []

    def look(route: str) -> None:
        if route == f"done {POST}":
            seen.append((len(server(hall).said()), hall.standing().speaker))

    server(hall).on_request = look
    step = turns.end(hall.place, "weather", "owl", "r1", text, post=True)

    said = server(hall).said()
    assert len(said) == 4 and step.channel.speaker == "gecko"
    assert seen == [(number, "owl") for number in range(1, 5)]
    assert [one.split("\n")[0] for one in said] == [f"☂ **Owl** ({at}/4)" for at in range(1, 5)]
    assert "".join("".join(words(hall)).split()) == "".join(text.split())
    assert hall.said() == [f"owl: {text}"]


@pytest.mark.req("DG-085", "DG-088")
def test_a_speaker_that_listens_there_is_called_by_a_sign_that_vanishes(hall: Hall):
    registers(hall, "gecko", OWL_BOT)
    server(hall).join(OWL_BOT, "The Gecko", bot=True)
    hall.room("owl", str(OWL_BOT))
    server(hall).write(ALICE, "Will it rain?")
    hall.exchange()
    assert server(hall).deleted == []  # owl does not listen there

    hall.end("owl", "NO_REPLY")
    hall.exchange()
    hall.exchange()

    assert [one["content"] for one in server(hall).deleted] == [texts.SIGNAL]
    assert server(hall).said() == []


@pytest.mark.req("DG-085", "DG-088")
def test_a_sign_whose_giver_died_before_it_took_it_back_is_taken_back(hall: Hall):
    hall.room("owl", "gecko")
    server(hall).write(BOT, texts.SIGNAL)
    hall.exchange()

    assert (server(hall).said(), hall.said()) == ([], [])


# --- members, rights, private channels


@pytest.mark.req("DG-066", "DG-067", "DG-088")
def test_agents_that_may_read_the_channel_are_members_and_leave_with_that_right(hall: Hall):
    registers(hall, "gecko", OWL_BOT)
    hall.room("owl", "alice")
    assert list(hall.exchange().members) == ["moderator", "owl", "alice"]
    server(hall).join(OWL_BOT, "The Gecko", bot=True)
    hall.post("It does not matter when.")
    hall.end("owl", "NO_REPLY")
    hall.post("Will it rain?")
    assert str(OWL_BOT) in hall.exchange().members

    rule = {"id": str(OWL_BOT), "type": 1, "allow": "0", "deny": str(VIEW)}
    server(hall).channels[GENERAL]["permission_overwrites"] = [rule]
    hall.end("owl", "Yes.")
    assert hall.standing().speakers == ("owl", "gecko")
    hall.end("owl", "NO_REPLY")
    channel = hall.exchange()

    assert str(OWL_BOT) not in channel.members


@pytest.mark.req("DG-112", "DG-116", "DG-117", "DG-123", "DG-088")
def test_a_discussion_called_from_there_is_a_private_channel_for_its_participants(hall: Hall):
    registers(hall, "gecko", OWL_BOT)
    server(hall).join(OWL_BOT, "The Gecko", bot=True)
    hall.room("owl", "gecko")

    hall.discuss("owl", str(OWL_BOT), callback="weather")

    (made,) = [one for one in server(hall).channels.values() if one["name"] == "umbrellas"]
    may = {one["id"]: (one["allow"], one["deny"]) for one in made["permission_overwrites"]}
    assert may[str(GUILD)] == ("0", str(VIEW))
    assert set(may) == {str(GUILD), str(BOT), str(OWL_BOT)}
    assert server(hall).said(int(made["id"])) == [GUIDE.strip()]

    channels.change_members(hall.place, "umbrellas", add=[str(BOB)])
    hall.end("owl", "NO_REPLY", name="umbrellas")
    assert str(BOB) in hall.exchange("umbrellas").members
    assert str(BOB) in {one["id"] for one in made["permission_overwrites"]}

    folder = hall.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "s.md").write_text("We buy two.")
    discussing.complete(hall.place, "umbrellas", "owl", str(folder / "s.md"))
    server(hall).write(ALICE, "Too late?", int(made["id"]))
    hall.exchange("umbrellas")
    hall.exchange("weather")

    assert server(hall).said(int(made["id"]))[1:] == ["This discussion is closed."]
    assert "is completed. Its summary" in server(hall).said()[-1]


@pytest.mark.req("DG-112", "DG-088")
def test_without_the_right_to_administer_no_discussion_is_opened_from_there(hall: Hall):
    hall.room("owl", "gecko")
    server(hall).roles[101] = VIEW | SEND

    with pytest.raises(RefusedError, match="Administrator"):
        hall.discuss("owl", "gecko", callback="weather")
    assert rooms.open_channels(hall.place) == ["weather"]


@pytest.mark.req("DG-051", "DG-088")
def test_a_room_may_get_a_new_channel_which_is_made_once(hall: Hall):
    channels.create(hall.place, "chat", "tea", ["owl", "gecko"])
    server(hall).fail("POST channels", "lost", "lost", "lost")
    with pytest.raises(RefusedError, match="did not answer"):
        discord_ties.tie(hall.place, "tea", "", str(GUILD), "")
    discord_ties.tie(hall.place, "tea", "", str(GUILD), "")

    assert [one["name"] for one in server(hall).channels.values()] == ["general", "tea"]
    server(hall).write(ALICE, "Hello.", 301)
    hall.exchange("tea")
    assert hall.said("tea") == ["Alice: Hello."]


@pytest.mark.req("DG-088", "DG-041")
def test_a_room_is_tied_only_where_the_bot_may_read_and_write_and_to_no_other(hall: Hall):
    channels.create(hall.place, "chat", "tea", ["owl", "gecko"])
    hall.room("owl", "gecko")
    with pytest.raises(ConflictError, match="weather is tied"):
        discord_ties.tie(hall.place, "tea", str(GENERAL), "", "")
    with pytest.raises(RefusedError, match="not there"):
        discord_ties.tie(hall.place, "tea", "12345", "", "")
    with pytest.raises(UsageError):
        discord_ties.tie(hall.place, "tea", "#general", "", "")
    with pytest.raises(RefusedError, match="variable OTHER"):
        discord_ties.tie(hall.place, "tea", "12345", "", "OTHER")

    server(hall).add_channel(201, "read-only")
    server(hall).members[BOT] = []
    server(hall).roles[GUILD] = VIEW
    with pytest.raises(RefusedError, match=r"Read message history, Send messages|Send messages"):
        discord_ties.tie(hall.place, "tea", "201", "", "")
    assert hall.standing("tea").discord is None


# --- what is in the way


@pytest.mark.req("DG-088")
@pytest.mark.parametrize(
    "kind", ["lost", *(pytest.param(one, marks=pytest.mark.long) for one in ("error", "gone"))]
)
def test_a_service_that_fails_once_is_asked_again_and_a_text_is_posted_once(hall: Hall, kind: str):
    hall.room("owl", "gecko")
    server(hall).fail(POST, kind)

    hall.end("owl", "It will rain.")

    assert words(hall) == ["It will rain."]
    assert hall.standing().speaker == "gecko"


@pytest.mark.req("DG-088")
def test_a_text_whose_poster_died_is_posted_once_though_it_cannot_be_seen_yet(hall: Hall):
    dies_after_posting(hall)
    server(hall).lags = True

    channel = hall.exchange()

    assert words(hall) == ["It will rain."]
    assert channel.speaker == "gecko"


def dies_after_posting(hall: Hall) -> None:
    """Let owl end its turn by a process that is killed once its text is posted."""
    hall.room("owl", "gecko")

    def dying() -> None:
        hall.end("owl", "It will rain.")

    watched = server(hall)
    watched.on_request = lambda route: os.kill(pid[0], signal.SIGKILL) if route == done else None
    pid: list[int] = []
    done = f"done {POST}"
    pid.append(forked(dying))
    assert status_of(pid[0]) == -signal.SIGKILL
    watched.on_request = None
    assert (words(hall), hall.standing().speaker) == (["It will rain."], "owl")


@pytest.mark.req("DG-088")
def test_a_text_that_was_posted_though_its_answer_was_lost_is_known_by_its_words(hall: Hall):
    server(hall).takes_nonces = False
    dies_after_posting(hall)

    channel = hall.exchange()

    assert words(hall) == ["It will rain."]
    assert channel.speaker == "gecko"
    hall.end("gecko", "It will rain.")  # the same words again are another message
    assert words(hall) == ["It will rain."] * 2


@pytest.mark.req("DG-088")
def test_the_same_words_again_are_posted_though_the_first_ones_were_not_yet_seen(hall: Hall):
    hall.room("owl", "gecko")

    def hides_the_channel(route: str) -> None:
        if route == f"done {POST}":
            server(hall).fail(LIST, "404/10003")

    server(hall).on_request = hides_the_channel
    hall.end("owl", "Yes.")
    server(hall).on_request = None
    assert hall.standing().speaker == "gecko"
    hall.now += 20 * MINUTE
    _say_here(hall, "Yes.", by="owl", agent="owl")
    hall.exchange()

    assert words(hall) == ["Yes.", "Yes."]


@pytest.mark.req("DG-088", "XC-001")
def test_what_a_dead_process_took_in_without_moving_the_anchor_is_not_taken_in_again(hall: Hall):
    hall.room("owl", "gecko")
    number = server(hall).write(ALICE, "Once.")
    _say_here(hall, "Once.", by=str(ALICE), discord=str(number), named="Alice")
    hall.exchange()

    assert hall.said() == ["Alice: Once."]
    assert words(hall) == []


@pytest.mark.req("DG-088", "XC-001")
def test_a_text_that_a_dead_process_posted_is_found_behind_many_others(hall: Hall, monkeypatch):
    monkeypatch.setattr(discord_exchange, "_MOST_FETCHED", 10)
    server(hall).takes_nonces = False
    hall.room("owl", "gecko")
    _say_here(hall, "It will rain.")
    pid: list[int] = []

    def others_are_quicker(route: str) -> None:
        if route == POST:
            for number in range(30):
                server(hall).write(ALICE, f"word {number}")
        if route == f"done {POST}":
            os.kill(pid[0], signal.SIGKILL)

    server(hall).on_request = others_are_quicker
    pid.append(forked(lambda: discord.exchange(hall.place, "weather", waits=True)))
    assert status_of(pid[0]) == -signal.SIGKILL
    server(hall).on_request = None
    hall.exchange()

    assert words(hall) == ["It will rain."]
    assert len(hall_log(hall)) == 31


@pytest.mark.long
@pytest.mark.req("DG-081", "DG-087", "DG-088")
def test_a_text_that_keeps_coming_is_waited_for_though_all_of_it_takes_longer_than_patience(
    hall: Hall,
):
    with (hall.root / "council.toml").open("a") as file:
        file.write('[channels]\npatience = "4s"\n')
    hall.room("owl", "gecko")
    server(hall).on_request = lambda route: time.sleep(1.2) if route == POST else None
    hall.now = None  # type: ignore[assignment]
    step = turns.end(hall.place, "weather", "owl", "r1", "It rains. " * 900, post=True)

    assert (step.channel.speaker, hall.kinds("delivery.timed_out")) == ("gecko", [])
    assert len(words(hall)) > 3


@pytest.mark.long
@pytest.mark.req("DG-088")
def test_a_heartbeat_waits_once_for_a_service_that_says_nothing(hall: Hall, monkeypatch):
    monkeypatch.setattr("council.drivers.discord._LONGEST_CALL_S", 1.0)
    hall.room("owl", "gecko")
    for number in range(4):
        server(hall).add_channel(300 + number, f"room-{number}")
        channels.create(hall.place, "chat", f"room-{number}", ["owl"])
        discord_ties.tie(hall.place, f"room-{number}", str(300 + number), "", "")
    server(hall).fail("GET @me", *["hang"] * 9, seconds=2.0)
    begun_s = time.monotonic()
    hall.beat()

    assert time.monotonic() - begun_s < 2.5


@pytest.mark.req("DG-065", "DG-088")
def test_a_closed_discussion_is_asked_after_for_a_day(hall: Hall):
    hall.room("owl", "gecko").discuss("owl", "gecko", callback="weather")
    folder = hall.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "s.md").write_text("We buy two.")
    discussing.complete(hall.place, "umbrellas", "owl", str(folder / "s.md"))
    hall.exchange("umbrellas")
    hall.now += 25 * 60 * MINUTE
    asked = len(server(hall).requests)
    hall.exchange("umbrellas")

    assert len(server(hall).requests) == asked


@pytest.mark.long
@pytest.mark.req("DG-088", "XC-007")
def test_among_many_idle_rooms_the_one_on_discord_is_asked_each_time(hall: Hall):
    hall.room("owl", "gecko")
    for number in range(40):
        channels.create(hall.place, "chat", f"idle-{number}", ["owl"])
    time.sleep(2.1)  # a note vouches for no file that was just written
    hall.beat(20 * MINUTE)
    time.sleep(2.1)
    server(hall).write(ALICE, "Is anybody here?")
    assert len(hall.beat(20 * MINUTE).idle_rooms) == 40

    assert hall.said() == ["Alice: Is anybody here?"]


@pytest.mark.long
@pytest.mark.req("DG-088")
def test_a_short_limit_is_waited_for(hall: Hall):
    hall.room("owl", "gecko")
    server(hall).fail(POST, "limit", seconds=0.6, scope="shared")

    hall.end("owl", "It will rain.")

    assert words(hall) == ["It will rain."]
    assert hall.standing().speaker == "gecko"


@pytest.mark.req("DG-088", "DG-087")
@pytest.mark.parametrize("scope", ["user", "shared", "global"])
def test_a_long_limit_is_left_to_a_later_heartbeat_and_named(hall: Hall, scope: str):
    hall.room("owl", "gecko")
    server(hall).fail(POST, "limit", seconds=600, scope=scope)
    hall.end("owl", "It will rain.")
    assert words(hall) == [] and hall.said() == ["owl: It will rain."]

    tied = hall.standing().discord
    assert tied is not None and tied.trouble == "discord-limit"
    assert tied.until is not None and 100 < (tied.until - hall.now).total_seconds() < 620
    asked = len(server(hall).requests)
    hall.beat_to_rest(MINUTE)
    assert len(server(hall).requests) == asked  # it rests

    server(hall).limits.clear()
    hall.beat_to_rest(10 * MINUTE)
    assert words(hall) == ["It will rain."]
    tied = hall.standing().discord
    assert tied is not None and (tied.trouble, tied.until) == ("", None)


def removes_channel(server: Server) -> Callable[[], object]:
    gone = server.channels.pop(GENERAL)
    return lambda: server.channels.update({GENERAL: gone})


def takes_right(server: Server) -> Callable[[], object]:
    server.fail(LIST, "403/50001")
    server.fail(POST, "403/50013")
    return lambda: server.mishaps.clear()


def changes_token(server: Server) -> Callable[[], object]:
    server.fail("GET @me", "401/0")
    return lambda: None


def is_down(server: Server) -> Callable[[], object]:
    server.fail(LIST, *["error"] * 3)
    return lambda: None


def hides_texts(server: Server) -> Callable[[], object]:
    server.shows_content = False
    server.write(ALICE, "You do not see this.")

    def cured() -> None:
        server.shows_content = True
        server.write(ALICE, "Now you do.")

    return cured


@pytest.mark.req("DG-088", "OP-011")
@pytest.mark.parametrize(
    ("breaks", "code", "said"),
    [
        (removes_channel, "discord-channel", "not there"),
        (takes_right, "discord-right", "Missing Access"),
        (changes_token, "discord-refused", "refuses the token"),
        pytest.param(is_down, "discord-down", "did not answer", marks=pytest.mark.long),
        (hides_texts, "discord-empty", "without their text"),
    ],
)
def test_what_is_in_the_way_is_named_said_once_and_nothing_is_lost(
    hall: Hall, breaks: Callable[[Server], Callable[[], Any]], code: str, said: str
):
    hall.room("owl", "gecko")
    mend = breaks(server(hall))
    channels.post(hall.place, "weather", "carol", "Does it rain?")
    all_is_quiet()
    for _ in range(2):
        hall.beat_to_rest(MINUTE)

    if code != "discord-down":  # that is tried, and may be well, with each heartbeat
        named = {one.code: one.said() for one in explain(hall.place, "weather").hindrances}
        assert said in named[code]
        assert code in {one.cause.code for one in examine(hall.place) if one.cause}
    if code == "discord-channel":
        hall.now += 20 * MINUTE
        hall.exchange()
    told = [one for one in hall.events("discord.hindered") if one["data"]["cause"] == code]
    assert len({one["eventId"] for one in told}) == 1
    assert "carol: Does it rain?" in hall.said()

    mend()
    discord_ties.go_on(hall.place, "weather")
    assert words(hall) == ["Does it rain?"]
    assert code not in {one.code for one in explain(hall.place, "weather").hindrances}


@pytest.mark.req("DG-088", "OP-011")
def test_a_shell_without_the_token_is_named_only_where_no_heartbeat_has_it(hall: Hall):
    hall.room("owl", "gecko")
    hall.beat_to_rest()

    def named() -> set[str]:
        place = hall.place
        place.environ = {"PATH": os.environ["PATH"]}
        return {one.code for one in explain(place, "weather").hindrances}

    assert "discord-token" not in named()
    hall.now += 20 * MINUTE
    assert "discord-token" in named()
    hall.exchange()
    assert "discord-token" not in named()


@pytest.mark.req("DG-088", "OP-011")
def test_a_missing_library_is_named_and_stops_no_room(hall: Hall, monkeypatch):
    hall.room("owl", "gecko")
    monkeypatch.setattr(discord, "find_spec", lambda _: None)
    channels.post(hall.place, "weather", "carol", "Does it rain?")
    all_is_quiet()

    found = {one.code: one.fix() for one in explain(hall.place, "weather").hindrances}
    assert "[discord]" in found["discord-library"]
    assert hall.said() == ["carol: Does it rain?"]


@pytest.mark.long
@pytest.mark.req("DG-088", "XC-006")
def test_answers_that_are_none_break_nothing_and_lose_nothing(hall: Hall):
    hall.room("owl", "gecko")
    _say_here(hall, "Does it rain?")
    for route in ("GET @me", LIST, POST):
        for answer in ("{}", "[]", "[{}]", '"x"', '[{"id": "x"}]', '{"id": "99"}'):
            server(hall).fail(route, f"garbage {answer}")
            hall.exchange()
            server(hall).mishaps.clear()
    assert {one["content"] for one in server(hall).messages[GENERAL]} == {
        "**carol**\nDoes it rain?"
    }
    assert hall.said() == ["carol: Does it rain?"]


@pytest.mark.req("DG-088")
def test_a_message_that_is_never_taken_there_holds_up_no_other(hall: Hall):
    hall.room("owl", "gecko")
    server(hall).fail(POST, "400/200000")
    hall.end("owl", "A forbidden word.")
    hall.end("gecko", "A fine word.")

    assert words(hall) == ["A fine word."]
    assert len(hall.kinds("message.undelivered")) == 1
    assert hall.said() == ["owl: A forbidden word.", "gecko: A fine word."]


@pytest.mark.req("DG-088")
def test_a_room_that_is_untied_is_of_this_folder_alone_and_one_tied_anew_begins_there(hall: Hall):
    hall.room("owl", "gecko")
    discord_ties.untie(hall.place, "weather")
    server(hall).write(ALICE, "Unheard.")
    hall.end("owl", "Here only.")
    assert (words(hall), hall.standing().speaker) == ([], "gecko")

    discord_ties.tie(hall.place, "weather", str(GENERAL), "", "")
    server(hall).write(ALICE, "Heard.")
    hall.exchange()

    assert hall.said() == ["owl: Here only.", "Alice: Heard."]
    assert words(hall) == []


@pytest.mark.req("DG-088", "XC-014")
def test_a_run_has_no_token_and_exchanges_nothing(hall: Hall):
    shows = 'env >"$COUNCIL_ROOT/seen"; cat >/dev/null; echo NO_REPLY'
    hall.seat_all(shows, ("owl", "gecko")).room("owl", "gecko").post()
    all_is_quiet()

    assert TOKEN not in (hall.root / "seen").read_text()
    assert not any(
        TOKEN.encode() in path.read_bytes() for path in hall.root.rglob("*") if path.is_file()
    )
    place, asked = hall.place, len(server(hall).requests)
    place.environ = {**hall.environ, "COUNCIL_TASK_ID": "weather.1.owl.1"}
    discord.exchange(place, "weather", waits=True)
    assert len(server(hall).requests) == asked


# --- processes that die, and many at once


@pytest.mark.long
@pytest.mark.req("DG-088", "XC-001", "DG-003")
@pytest.mark.parametrize("nonces", [True, False])
def test_killed_at_any_request_nothing_is_lost_and_nothing_doubled(hall: Hall, nonces: bool):
    """Each request is a point to die at: before it is done, and after it is."""
    server(hall).takes_nonces = nonces
    hall.room("owl", "gecko")
    pids: list[int] = []
    number, died = 0, True
    said: list[str] = []
    while died:
        number += 1
        theirs, ours = f"their word {number}", f"our word {number} " + "x" * 2500
        server(hall).write(ALICE, theirs)
        met: list[str] = []

        def dies(route: str, number: int = number, met: list[str] = met) -> None:
            met.append(route)
            if len(met) == number:
                os.kill(pids[-1], signal.SIGKILL)

        _say_here(hall, ours)
        server(hall).on_request = dies
        pids.append(forked(lambda: discord.exchange(hall.place, "weather", waits=True)))
        died = status_of(pids[-1]) != 0
        server(hall).on_request = None
        hall.exchange()
        said += [theirs, ours]

        heard = [one.partition(": ")[2] for one in hall_log(hall)]
        assert sorted(heard) == sorted(said), number
        posted = "".join("".join(words(hall)).split())
        assert posted == "".join("".join(said[1::2]).split()), number
    assert number > 8


def _say_here(hall: Hall, text: str, by: str = "carol", agent: str = "", **extra: str) -> None:
    """Put a message into the log, and let nothing be done about it yet."""

    def rule(session: Any, step: Any) -> Any:
        said = Message(id=1, at=hall.now, author=by, agent=agent, content=text, extra=extra)
        session.post(said)
        return step

    rooms.change(hall.place, "weather", hall.now, rule)


def hall_log(hall: Hall) -> list[str]:
    store = rooms.channels(hall.place)
    found = store.newest(store.see("weather").channel, 1000)
    return [f"{one.author}: {one.content}" for one in found]


@pytest.mark.long
@pytest.mark.req("DG-088", "XC-001", "DG-003")
def test_killed_at_any_call_to_the_system_nothing_is_lost_and_nothing_doubled(tmp_path: Path):
    number, died = 0, True
    while died:
        number += 5
        with discord_server() as there:
            hall = Hall(tmp_path / str(number)).seat({"owl": {}, "gecko": {}})
            hall.server = there
            there.join(ALICE, "Alice")
            hall.room("owl", "gecko")
            for text in ("one", "two"):
                there.write(ALICE, text)
            _say_here(hall, "Hear, hear. " * 300)
            died = killed_at(
                number, lambda h=hall: discord.exchange(h.place, "weather", waits=True)
            )
            hall.exchange()

            heard = sorted(one.partition(": ")[2].strip() for one in hall_log(hall))
            assert heard == sorted([("Hear, hear. " * 300).strip(), "one", "two"]), number
            posted = "".join("".join(words(hall)).split())
            assert posted == "Hear,hear." * 300, number
    assert number > 20


@pytest.mark.long
@pytest.mark.req("DG-088", "DG-003")
def test_many_heartbeats_at_once_say_and_hear_everything_once(hall: Hall):
    hall.room("owl", "gecko")
    for number in range(5):
        server(hall).write(ALICE, f"theirs {number}")
        _say_here(hall, f"ours {number}")
    pids = [forked(lambda: beat(hall.place)) for _ in range(6)]
    assert [status_of(one) for one in pids] == [0] * 6
    hall.exchange()

    assert words(hall) == [f"ours {number}" for number in range(5)]
    heard = [one.content for one in rooms.channels(hall.place).newest(hall.standing(), 100)]
    assert sorted(heard) == sorted([*words(hall), *(f"theirs {number}" for number in range(5))])


@pytest.mark.long
@pytest.mark.req("DG-088", "DG-003", "DG-004")
def test_runs_killed_at_any_call_lose_no_turn_and_post_none_twice(tmp_path: Path):
    for number in range(7, 160, 19):
        with discord_server() as there:
            hall = Hall(tmp_path / str(number)).seat_all(talks(1)["argv"][2], ("owl", "gecko"))
            hall.server = there
            there.join(ALICE, "Alice")
            hall.room("owl", "gecko")
            there.write(ALICE, "Will it rain?")
            killed_at(number, lambda h=hall: beat(h.place), heirs=True)
            all_is_quiet()
            for _ in range(6):
                hall.beat_to_rest(LEASE)

            assert sorted(words(hall)) == ["gecko in cycle 1", "owl in cycle 1"], number
            assert is_asleep(hall.standing()), number


# --- texts


@pytest.mark.req("DG-081", "DG-088")
def test_fragments_fit_say_who_speaks_and_cut_no_visible_character():
    family = "👨‍👩‍👧"
    text = "```py\n" + "x = 1\n" * 700 + "```\n" + family * 900
    found = texts.fragments(text, texts.heading("O*w*l", "☂"), {})

    assert all(len(one.encode("utf-16-le")) // 2 <= texts.MOST_CHARS for one in found)
    assert all(
        one.startswith(f"☂ **Owl** ({at}/{len(found)})\n") for at, one in enumerate(found, 1)
    )
    assert all(one.count("```") % 2 == 0 for one in found)
    assert "".join(found).count(family) == 900


@pytest.mark.req("DG-088")
def test_of_a_text_without_end_the_beginning_is_posted_and_the_rest_is_named():
    found = texts.fragments("word " * 50_000, "**Owl**", {})

    assert len(found) == texts.MOST_FRAGMENTS
    assert "more characters stand in the log" in found[-1]


def test_one_letter_with_marks_without_end_fills_its_fragments():
    marks = "e" + "\u0301" * 5000
    found = texts.fragments(marks, "", {})
    assert len(found) == 3
    assert "".join(found) == marks


def test_no_fragment_is_empty():
    found = texts.fragments("a" + " " * 9000 + "b", "", {})
    assert [one.strip() for one in found] == ["a", "b"]
