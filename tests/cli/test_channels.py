"""The commands on channels, turns and discussions: outputs, exit codes, what is shown."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.test_start_up import heavy, modules_after

GUIDE = "## Topic\nUmbrellas\n## Goals\nA list.\n## Completion criteria\nAll agree.\n"


@pytest.fixture
def room(council, now):
    """The command in a workspace with a chat of owl and gecko and a person."""
    assert council("init", "--agents", "owl,gecko,fox").code == 0
    words = ("channel", "create", "chat", "weather", "--participants", "owl,gecko,alice")
    made = council(*words, "--as", "owl", now=now)
    assert made.code == 0, made.err
    return council


@pytest.fixture
def unwritable(room, workspace: Path):
    """Have the state of the room refuse every write until it is called again."""
    folder = workspace / "memory/shared/.council/channels/weather/displaced"
    locked = False

    def turn() -> None:
        nonlocal locked
        locked = not locked
        if os.geteuid():
            folder.chmod(0o555 if locked else 0o755)
        elif subprocess.run(["chattr", "+i" if locked else "-i", folder], check=False).returncode:
            pytest.skip("only root on a disk with attributes can be kept from writing")

    yield turn
    if locked:
        turn()


@pytest.mark.req("DG-101", "XC-001")
@pytest.mark.parametrize(
    "command",
    [
        ("channel", "post", "weather", "two", "--as", "alice"),
        ("say", "two", "--to", "weather", "--as", "alice"),
    ],
)
def test_a_message_that_holds_is_posted_though_the_room_cannot_be_written(
    room, now, workspace, unwritable, command
):
    room("channel", "post", "weather", "one", "--as", "alice", now=now)
    unwritable()

    said = room(*command, now=now)

    assert said.code == 0
    assert "message 2 posted" in said.out
    assert "the message stands, do not post it again" in said.err
    beat = room("heartbeat", now=now)
    assert beat.code == 3
    assert "weather" in beat.err
    assert "nothing is open" not in beat.out
    unwritable()
    assert room("heartbeat", now=now).code == 0
    log = (workspace / "memory/shared/channels/weather.jsonl").read_text()
    assert [json.loads(line)["content"] for line in log.splitlines()] == ["one", "two"]


@pytest.mark.req("DG-073", "DG-074")
def test_begin_answers_in_the_words_that_hooks_read(room, now):
    speaker = room("turn", "begin", "weather", "--as", "owl", "--run-id", "r1", "--json", now=now)
    other = room("turn", "begin", "weather", "--as", "gecko", "--run-id", "r2", "--json", now=now)

    assert speaker.json() == {"allowed": True, "currentSpeaker": "owl"}
    assert (other.code, other.json()) == (
        0,
        {
            "allowed": False,
            "currentSpeaker": "owl",
            "model": "dirigent/no-reply",
            "reason": "not-the-speaker",
        },
    )


@pytest.mark.req("DG-076", "DG-144")
def test_end_reads_the_last_word_of_the_assistant(room, now, tmp_path: Path):
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": "NO_REPLY"}]},
        {"role": "user", "content": "and?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Take an "},
                {"type": "text", "text": "umbrella."},
            ],
        },
    ]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(messages))
    words = ("turn", "end", "weather", "--as", "owl", "--run-id", "r1", "--post", "--json")

    done = room(*words, "--messages", file, now=now)

    assert done.json() == {
        "outcome": "advanced",
        "currentSpeaker": "gecko",
        "cycle": 1,
        "dormant": False,
    }
    shown = room("channel", "show", "weather", "--json", now=now).json()
    assert [one["content"] for one in shown["messages"]] == ["Take an umbrella."]


@pytest.mark.req("DG-096")
def test_status_says_that_nobody_has_the_floor_and_why(room, now):
    for agent in ("owl", "gecko"):
        assert room("turn", "end", "weather", "--as", agent, "--text", "NO", now=now).code == 0

    told = room("turn", "status", "weather", now=now)
    record = room("turn", "status", "weather", "--json", now=now).json()

    assert "all have had their turn" in " ".join(told.out.split())
    assert max(map(len, told.out.splitlines())) <= 80
    assert (record["currentSpeaker"], record["dormant"]) == (None, True)


@pytest.mark.req("DG-137")
def test_the_list_tells_mode_state_and_speaker(room, now):
    assert room("channel", "create", "report", "log", now=now).code == 0

    [log, weather] = room("channel", "list", "--json", now=now).json()["channels"]

    assert (log["mode"], log["turnState"], log["currentSpeaker"]) == ("report", "dead", None)
    assert (weather["mode"], weather["turnState"], weather["currentSpeaker"]) == (
        "chat",
        "normal",
        "owl",
    )


@pytest.mark.req("DG-040")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("channel", "mode", "weather", "work"), 6),
        (("channel", "mode", "weather", "loud"), 3),
        (("channel", "create", "discussion", "x"), 2),
        (("channel", "create", "chat", "weather", "--participants", "fox"), 4),
        (("channel", "post", "weather", "hi", "--as", "fox"), 6),
        (("channel", "post", "weather", " ", "--as", "owl"), 3),
        (("channel", "post", "weather", "hi"), 2),
        (("channel", "members", "weather", "remove", "bob"), 3),
        (("channel", "members", "nowhere", "add", "owl"), 5),
        (("channel", "show", "../weather"), 3),
        (("turn", "begin", "--as", "owl"), 2),
        (("turn", "begin", "../weather", "--as", "owl"), 3),
        (("turn", "end", "weather", "--as", "owl", "--messages", "council.toml"), 3),
        (("turn", "wake", "nowhere"), 5),
        (("discussion", "complete", "weather", "--as", "owl", "--summary", "x"), 3),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_refusal_has_its_exit_code_and_changes_nothing(room, now, words, code: int):
    (room.root / "council.toml").touch()
    before = (room.root / "memory/shared/channels/weather.md").read_bytes()

    refused = room(*words, now=now)

    assert refused.code == code, refused.err
    assert refused.err.startswith("council: ")
    assert (room.root / "memory/shared/channels/weather.md").read_bytes() == before


def test_a_discussion_goes_from_guide_to_minutes(room, now):
    (room.root / "guide.md").write_text(GUIDE)
    folder = room.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "u.md").write_text("We like them.")
    words = ("discussion", "create", "umbrellas", "--as", "owl", "--guide", "guide.md")

    opened = room(*words, "--participants", "gecko,fox", "--callback", "weather", now=now)
    closed = room(
        "discussion", "complete", "umbrellas", "--as", "owl", "--summary", "u.md", "--json", now=now
    )

    assert opened.code == 0, opened.err
    assert closed.json()["outcome"] == "completed"
    assert (room.root / closed.json()["discussion"]["minutes"]).is_file()
    after = room("channel", "post", "umbrellas", "More.", "--as", "gecko", "--json", now=now)
    assert after.json()["answer"] == "This discussion is closed."
    assert room("channel", "members", "umbrellas", "add", "newbie", now=now).code == 6


def test_a_post_may_come_from_standard_input(room, now):
    done = room("channel", "post", "weather", "-", "--as", "alice", now=now, stdin="été\n")

    assert done.code == 0, done.err
    assert "été" in room("channel", "show", "weather", now=now).out


@pytest.mark.parametrize(
    "words",
    [
        ("turn", "begin", "weather", "--as", "owl", "--run-id", "r1"),
        ("turn", "begin", "weather", "--as", "gecko", "--run-id", "r1"),
        ("turn", "end", "weather", "--as", "owl", "--run-id", "r1", "--text", "Yes.", "--post"),
    ],
    ids=lambda words: " ".join(words[:5]),
)
def test_hooks_load_nothing_heavy(room, tmp_path: Path, words):
    code, modules = modules_after(room, tmp_path, *words)

    assert code == 0
    assert heavy(modules) == []


@pytest.mark.req("DG-033")
def test_only_its_creation_makes_a_work_channel_and_turns_are_off_there(room, now):
    words = ("channel", "create", "work", "bench", "--participants", "owl,gecko", "--json")
    made = room(*words, now=now).json()

    assert (made["mode"], made["turnState"], made["currentSpeaker"]) == ("work", "disabled", None)
    assert room("channel", "mode", "weather", "work", now=now).code == 6
    for agent in ("owl", "gecko"):
        asked = room("turn", "begin", "bench", "--as", agent, "--json", now=now).json()
        assert (asked["allowed"], asked["reason"]) == (True, "disabled")


@pytest.mark.req("DG-052")
def test_a_report_channel_has_a_name_and_the_members_that_are_given(room, now):
    bare = room("channel", "create", "report", "log", "--json", now=now).json()
    words = ("channel", "create", "report", "daily news", "--members", "gecko,alice", "--json")
    made = room(*words, now=now).json()

    assert list(bare["members"]) == ["moderator"]
    assert (made["name"], made["channelId"]) == ("daily news", "daily-news")
    assert list(made["members"]) == ["moderator", "gecko", "alice"]
    assert (made["mode"], made["turnState"]) == ("report", "dead")


@pytest.mark.req("DG-053")
def test_a_work_channel_has_a_name_and_members_if_any_are_given_and_is_locked_for_ever(room, now):
    bare = room("channel", "create", "work", "desk", "--json", now=now).json()
    words = ("channel", "create", "work", "night shift", "--members", "gecko,alice", "--json")
    made = room(*words, now=now).json()

    assert list(bare["members"]) == ["moderator"]
    assert (made["name"], made["channelId"]) == ("night shift", "night-shift")
    assert list(made["members"]) == ["moderator", "gecko", "alice"]
    for mode in ("chat", "report", "discussion", "none"):
        assert room("channel", "mode", "night-shift", mode, now=now).code == 6
    assert room("channel", "show", "night-shift", "--json", now=now).json()["mode"] == "work"


@pytest.mark.req("DG-036")
def test_a_chat_is_set_by_its_creation_and_by_a_command_and_goes_on(room, now):
    def weather() -> tuple[str, str, str | None]:
        seen = room("channel", "show", "weather", "--json", now=now).json()
        return seen["mode"], seen["turnState"], seen["currentSpeaker"]

    assert weather() == ("chat", "normal", "owl")
    assert room("channel", "mode", "weather", "report", now=now).code == 0
    assert weather() == ("report", "dead", None)
    assert room("channel", "mode", "weather", "chat", now=now).code == 0
    assert weather() == ("chat", "normal", "owl")
    for agent in ("owl", "gecko", "owl", "gecko"):
        assert room("channel", "post", "weather", "Rain.", "--as", agent, now=now).code == 0
        assert weather()[0] == "chat"


@pytest.mark.req("DG-055")
def test_a_channel_is_made_in_the_workspace_of_the_caller(room, now, tmp_path: Path):
    other = tmp_path / "other"
    assert room("init", str(other), "--agents", "owl,gecko").code == 0
    words = ("channel", "create", "chat", "tea", "--participants", "owl,gecko")

    assert room(*words, "--root", other, now=now).code == 0
    assert room(*words[:3], "inside", *words[4:], cwd=other / "memory", now=now).code == 0

    made = sorted(one.name for one in (other / "memory/shared/channels").glob("*.md"))
    assert made == ["inside.md", "tea.md"]
    here = sorted(one.name for one in (room.root / "memory/shared/channels").glob("*.md"))
    assert here == ["weather.md"]


def test_the_heartbeat_tells_of_rooms_in_json_and_in_words(room, now):
    assert room("channel", "post", "weather", "Rain?", "--as", "alice", now=now).code == 0

    told = room("heartbeat", "--json", now=now).json()
    again = room("heartbeat", now=now)

    assert told["channels"] == [
        {
            "channelId": "weather",
            "mode": "chat",
            "tmState": "normal",
            "currentSpeaker": "owl",
            "cycle": 1,
            "dormant": False,
            "woken": ["owl"],
            "waiting": ["owl"],
            "archived": None,
        }
    ]
    assert told["changed"]
    assert again.out == "weather: owl has the floor (cycle 1); waiting for owl\n"
    quiet = room("heartbeat", "--reply-token", "NO_REPLY", now=now)
    assert (quiet.code, quiet.out.strip()) == (0, "NO_REPLY")
    assert room("heartbeat", "--name", "nowhere", now=now).code == 5
    assert room("heartbeat", "--name", "weather", "--wait", "1s", now=now).code == 7


def test_an_idle_heartbeat_with_a_room_loads_nothing_heavy(room, now, tmp_path: Path):
    assert room("heartbeat", now=now).code == 0

    code, modules = modules_after(room, tmp_path, "heartbeat", "--json")

    assert code == 0
    assert heavy(modules) == []
    assert "council.operations.heartbeat.queue" not in modules


def test_show_tells_of_an_edit_that_is_not_taken_in_yet(room, now):
    live = room.root / "memory/shared/channels/weather.md"
    text = live.read_text().replace("- **Topic:** -", "- **Topic:** Frost")
    text = text.replace("- gecko (agent)\n", "- fox\n").replace("Floor:** owl", "Floor:** gecko")
    live.write_text(text)
    before = sorted(path.stat().st_mtime_ns for path in room.root.rglob("*"))

    shown = room("channel", "show", "weather", now=now)
    told = room("channel", "show", "weather", "--json", now=now).json()

    assert "edit:    topic becomes Frost, with the next command" in shown.out
    assert "edit:    gecko goes, with the next command" in shown.out
    assert "edit:    fox comes in, with the next command" in shown.out
    assert "floor will be put back: it is rendered from the state" in shown.out
    assert {one["field"] for one in told["pendingEdits"]} >= {"topic", "floor", "members.fox"}
    assert told["topic"] == ""
    assert sorted(path.stat().st_mtime_ns for path in room.root.rglob("*")) == before
    assert all(len(line) <= 80 for line in shown.out.splitlines())

    assert room("turn", "wake", "weather", now=now).code == 0
    after = room("channel", "show", "weather", "--json", now=now).json()
    assert (after["topic"], after["pendingEdits"]) == ("Frost", [])
    assert "gecko" not in after["members"]


def test_doctor_tells_of_broken_rooms_and_of_faults_in_the_registry(room, now):
    registry = room.root / "memory/shared/identities.json"
    registry.write_text('[{"discordUserId": "1", "agentId": "owl"}, {"agentId": "gecko"}, 5]')
    words = ("channel", "create", "chat", "tea", "--participants", "owl,gecko")
    assert room(*words, now=now).code == 0
    (room.root / "memory/shared/channels/tea.md").write_bytes(b"\xff")
    (room.root / "memory/shared/.council/channels/tea/revisions.jsonl").write_bytes(b"x\n")

    found = room("doctor", "--json", now=now).json()["findings"]
    wrong = {one["what"]: one for one in found if not one["ok"]}

    assert {"tea", "identities"} <= set(wrong)
    assert all(wrong[what]["fix"] for what in ("tea", "identities"))
    assert "identities.json" in wrong["identities"]["found"]

    registry.write_text("{")
    found = room("doctor", "--json", now=now).json()["findings"]
    (broken,) = [one for one in found if one["what"] == "identities"]
    assert "is not JSON" in broken["found"]


@pytest.mark.req("DG-051", "DG-066")
@pytest.mark.parametrize(
    "words",
    [
        ("agent", "register", "moderator", "--as", "gecko"),
        ("agent", "register", "77", "--as", "moderator"),
        ("agent", "add", "moderator"),
        ("agent", "add", "newt", "--account", "moderator"),
        ("agent", "edit", "gecko", "--account", "moderator"),
        ("init", "--agents", "moderator"),
    ],
    ids=" ".join,
)
def test_no_agent_becomes_the_moderator_of_rooms(room, now, words):
    refused = room(*words, now=now)

    assert (refused.code, "moderat" in refused.err) == (6, True)
    assert not (room.root / "memory/agents/moderator").exists()
    assert not (room.root / "memory/shared/identities.json").exists()


@pytest.mark.req("DG-066")
def test_an_agent_registered_as_the_moderator_is_told_of_and_keeps_its_place_in_rooms(room, now):
    registry = room.root / "memory/shared/identities.json"
    registry.write_text('[{"discordUserId": "moderator", "agentId": "gecko"}]')
    (room.root / "memory/agents/moderator").mkdir()

    made = room("channel", "create", "chat", "tea", "--participants", "owl,gecko", now=now)
    found = room("doctor", "--json", now=now).json()["findings"]
    edited = room("agent", "edit", "moderator", "--role", "Judge", now=now)

    assert made.code == 0, made.err
    members = room("channel", "show", "tea", "--json", now=now).json()["members"]
    assert {"owl", "gecko", "moderator"} == set(members)
    wrong = {one["what"]: one for one in found if not one["ok"]}
    assert "gecko" in wrong["identities"]["found"] and wrong["moderator"]["fix"]
    assert edited.code == 6


@pytest.mark.req("DG-007", "DG-101")
@pytest.mark.parametrize("content", ["{bad", '{"a": 1}', "\xff"])
def test_a_broken_registry_stops_no_word_and_is_told_of(room, now, content):
    registry = room.root / "memory/shared/identities.json"
    registry.write_bytes(content.encode("latin-1"))

    posted = room("channel", "post", "weather", "Rain?", "--as", "bob", "--json", now=now)
    said = room("say", "Snow?", "--to", "weather", now=now)
    stranger = room("channel", "post", "weather", "Hail?", "--as", "fox", now=now)
    beaten = room("heartbeat", "--json", now=now)

    assert (posted.code, posted.json()["message"]["author"]) == (0, "bob"), posted.err
    assert posted.json()["currentSpeaker"] == "owl"
    assert said.code == 0
    for one in (posted, said):
        assert one.err.count("\n") == 1 and "identities.json" in one.err
    assert stranger.code == 6
    assert [one["name"] for one in beaten.json()["errors"]] == ["identities"]
    assert registry.read_bytes() == content.encode("latin-1")


@pytest.mark.req("DG-011")
def test_nobody_becomes_a_member_while_the_registry_is_broken(room, now):
    (room.root / "memory/shared/identities.json").write_text("{bad")

    refused = room("channel", "members", "weather", "add", "77", now=now)

    assert refused.code == 3
    assert "77" not in room("channel", "show", "weather", "--json", now=now).json()["members"]


@pytest.mark.req("XC-005")
def test_nothing_that_others_write_moves_the_terminal(room, now):
    red = "\033[31mRED\033]0;t\007"
    words = ("channel", "create", "chat", "tea", "--participants", "owl,gecko", "--topic", red)
    assert room(*words, now=now).code == 0
    assert room("channel", "post", "tea", f"{red}\r\nhi", "--as", "bob", now=now).code == 0
    log = room.root / "memory/shared/channels/tea.jsonl"
    line = json.loads(log.read_text().splitlines()[-1])
    mine = {**line, "id": 2, "author": f"eve{red}\nfloor: eve", "agent": "", "content": "x"}
    with log.open("a") as file:
        file.write(json.dumps(mine) + "\n")

    shown = [
        room(*command, now=now)
        for command in (
            ("channel", "show", "tea"),
            ("channel", "list"),
            ("channel", "members", "tea"),
            ("turn", "status", "tea"),
            ("status",),
            ("status", "--problems"),
        )
    ]

    assert all(one.code == 0 for one in shown), [one.err for one in shown]
    for one in shown:
        told = set(one.out + one.err)
        assert not {sign for sign in told - {"\n"} if ord(sign) < 32 or ord(sign) == 127}
    assert "RED" in shown[0].out and "eve" in shown[0].out
    assert not any(line.startswith("floor: eve") for line in shown[0].out.splitlines())


@pytest.mark.req("XC-008")
def test_changes_of_the_registry_are_told(room, now):
    assert room("agent", "register", "77", "--as", "owl", now=now).code == 0
    assert room("agent", "register", "77", "--as", "owl", now=now).code == 0
    assert room("agent", "register", "78", "--as", "owl", now=now).code == 0

    log = "".join(one.read_text() for one in (room.root / "memory/shared/events").glob("*.jsonl"))
    told = [json.loads(line) for line in log.splitlines() if "identities.changed" in line]
    assert [one["agentId"] for one in told] == ["owl", "owl"]
    assert told[0]["data"] == {"added": ["77"], "changed": [], "removed": []}
    assert "78" in told[1]["data"]["added"] + told[1]["data"]["changed"]


@pytest.mark.req("DG-051", "DG-101")
def test_a_member_whose_account_is_no_id_may_speak_but_not_from_a_run(room, now):
    assert room("channel", "members", "weather", "add", "Ann#7", now=now).code == 0

    said = room("channel", "post", "weather", "Hello", "--as", "Ann#7", "--json", now=now)

    assert (said.code, said.json()["message"]["author"]) == (0, "Ann#7")
    run = {"COUNCIL_TASK_ID": "weather.1.owl.1", "COUNCIL_AGENT": "owl"}
    refused = room("channel", "post", "weather", "Hello", "--as", "Ann#7", now=now, env=run)
    assert refused.code == 6
    assert room("channel", "post", "weather", "x", "--as", "Ann 7", now=now).code == 3


@pytest.mark.req("DG-111")
def test_another_discussion_of_that_name_is_refused(room, now, workspace):
    (workspace / "guide.md").write_text(GUIDE)
    words = ("discussion", "create", "talk", "--as", "owl", "--participants", "gecko,fox")
    made = (*words, "--guide", "guide.md")
    assert room(*made, "--callback", "weather", now=now).code == 0

    assert room(*made, "--callback", "weather", now=now).code == 0
    assert room(*made, now=now).code == 4


@pytest.mark.req("DG-122")
def test_a_summary_says_why_it_is_none(room, now, workspace):
    (workspace / "guide.md").write_text(GUIDE)
    words = ("discussion", "create", "talk", "--as", "owl", "--participants", "gecko,fox")
    assert room(*words, "--guide", "guide.md", now=now).code == 0
    folder = workspace / "memory/shared/discussion-summary"
    (folder / "notes").mkdir(parents=True)
    (folder / "link.md").symlink_to("/etc/hostname")

    def complete(summary: Path) -> tuple[int, str]:
        done = room("discussion", "complete", "talk", "--as", "owl", "--summary", str(summary))
        return done.code, done.err

    for no_file in (folder, folder / "notes"):
        code, why = complete(no_file)
        assert (code, "is not a regular file" in why) == (3, True)
    code, why = complete(folder / "link.md")
    assert (code, "leads out of" in why) == (6, True)
    code, why = complete(workspace / "guide.md")
    assert (code, "does not lie in" in why) == (6, True)


@pytest.mark.req("DG-039")
def test_a_chat_of_one_agent_begins_and_work_takes_no_turns(room, now):
    made = room("channel", "create", "chat", "alone", "--participants", "owl", now=now)
    assert "floor: owl since" in made.out
    work = room("channel", "create", "work", "desk", "--members", "owl", now=now)
    assert "free: turns are not taken here" in work.out


@pytest.mark.req("DG-035")
def test_whoever_makes_a_discussion_as_a_channel_is_told_how(room, now):
    refused = room("channel", "create", "discussion", "talk", now=now)

    assert refused.code == 2
    assert "council discussion create NAME --guide FILE" in refused.err
