"""Where, who, which, when, what: the options that every command understands alike."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import at_rest

NO_WORKSPACE = "council: no council workspace here or above; run: council init\n"


# Which workspace


def test_the_workspace_is_the_option_then_the_variable_then_upwards(council, tmp_path: Path):
    def root_of(*words: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
        done = council("status", "--json", *words, env=env, cwd=cwd)
        assert done.code == 0, done.err
        return done.json()["root"]

    by_option, by_variable, deep = tmp_path / "one", tmp_path / "two", council.root / "a" / "b"
    for folder in (by_option, by_variable, deep):
        folder.mkdir(parents=True)
    settings_only = tmp_path / "three"
    settings_only.mkdir()
    (settings_only / "council.toml").write_text("")

    variable = {"COUNCIL_ROOT": str(by_variable)}
    assert root_of("--root", str(by_option), env=variable) == str(by_option)
    assert root_of(env=variable) == str(by_variable)
    assert root_of(cwd=deep) == str(council.root)
    assert root_of(cwd=settings_only) == str(settings_only)


def test_an_option_for_all_commands_may_stand_before_the_command(council, tmp_path: Path):
    done = council("--root", council.root, "--json", "status", cwd=tmp_path)
    with_equals = council(f"--root={council.root}", "heartbeat", "--json", cwd=tmp_path)

    assert done.json()["root"] == str(council.root)
    assert with_equals.json()["changed"] is False


def test_without_any_the_personal_workspace_is_taken(council, tmp_path: Path):
    data, nowhere = tmp_path / "data", tmp_path / "nowhere"
    nowhere.mkdir()
    env = {"XDG_DATA_HOME": str(data)}

    assert council("status", cwd=nowhere, env=env).err == NO_WORKSPACE
    made = council("init", "--personal", "--json", cwd=nowhere, env=env)
    assert made.code == 0
    assert Path(made.json()["root"]).is_relative_to(data)
    found = council("status", "--json", cwd=nowhere, env=env)

    assert found.json()["root"] == made.json()["root"]
    assert list(nowhere.iterdir()) == []
    assert council("status", cwd=nowhere, env={"HOME": str(nowhere)}).code == 5


def test_no_workspace_exits_5_with_that_line(council, tmp_path: Path):
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()

    for command in ("status", "heartbeat"):
        lost = council(command, cwd=nowhere)
        assert (lost.code, lost.out, lost.err) == (5, "", NO_WORKSPACE)


def test_a_workspace_that_is_not_there_is_named(council):
    lost = council("status", "--root", "/no/such/place")

    assert lost.code == 5
    assert "/no/such/place" in lost.err


# Who speaks


def test_the_speaker_is_the_option_then_the_variable_then_the_folder(opened, now):
    folder = opened.root / "memory" / "agents" / "gecko" / "notes"
    folder.mkdir(parents=True, exist_ok=True)

    def who(*words: str, env: dict[str, str] | None = None) -> str:
        return opened("context", "--json", *words, env=env, cwd=folder, now=now).json()["agent"]

    assert who("--as", "owl", env={"COUNCIL_AGENT": "gecko"}) == "owl"
    assert who(env={"COUNCIL_AGENT": "owl"}) == "owl"
    assert who() == "gecko"


def test_the_speaker_may_be_known_by_a_configured_folder(opened, now, tmp_path: Path):
    place = tmp_path / "owls-place"
    place.mkdir()
    (opened.root / "council.toml").write_text(f'[agents.owl]\nworkspace = "{place}"\n')

    said = opened("respond", "Yes.", "--root", opened.root, "--json", cwd=place, now=now)

    assert said.json()["agent"] == "owl"


def test_nobody_speaking_exits_2_and_names_the_three_ways(opened):
    for words in (("context",), ("respond", "Yes.")):
        refused = opened(*words)

        assert refused.code == 2
        for way in ("--as", "COUNCIL_AGENT", "folder"):
            assert way in refused.err


# Which conversation


def test_the_conversation_is_the_option_then_the_variable_then_the_only_one(council, now):
    assert council("convene", "One", "--name", "one", "--agents", "owl,gecko", now=now).code == 0
    assert council("check", "--json", now=now).json()["name"] == "one"

    assert council("convene", "Two", "--name", "two", "--agents", "owl,gecko", now=now).code == 0
    env = {"COUNCIL_NAME": "two"}
    assert council("check", "--json", now=now, env=env).json()["name"] == "two"
    assert council("check", "--json", "--name", "one", now=now, env=env).json()["name"] == "one"
    for words in (("check",), ("context", "--as", "owl")):
        several = council(*words, now=now)
        assert several.code == 2
        assert "one, two" in several.err
        assert "--name" in several.err

    assert council("convene", "Three", "--agents", "owl,gecko", now=now).code == 0
    assert council("check", "--json", now=now).json()["name"] == "active"


# When


@pytest.mark.req("XC-003")
def test_now_replaces_the_clock_and_the_option_wins_over_the_variable(council):
    def instant(*words: str, **given: str) -> str:
        return council("heartbeat", "--json", *words, **given).json()["now"]

    assert instant("--now", "2026-02-08T20:00:00Z") == "2026-02-08T20:00:00Z"
    assert instant(now="2026-02-08T21:00:00+01:00") == "2026-02-08T20:00:00Z"
    assert instant("--now", "2030-01-01", now="2026-02-08T20:00:00Z") == "2030-01-01T00:00:00Z"


@pytest.mark.parametrize("wrong", ["yesterday", "2026-02-30T00:00:00Z", "20:00"])
def test_a_time_that_is_none_exits_2(council, wrong: str):
    for done in (council("status", "--now", wrong), council("heartbeat", now=wrong)):
        assert done.code == 2
        assert "2026-02-08T20:00:00Z" in done.err


def anonymous(root: Path) -> dict[str, list[bytes]]:
    """Return every file and its content, without the drawn id and what derives from it.

    Task ids, traces, digests, marks of prompts and opaque names all follow from
    the id; what is left in their place is that something of that length stood there.
    """
    uuid = rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
    derived = (
        rb"(?<![0-9a-f])([0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}|(?<=-)[0-9a-f]{8}(?=:))(?![0-9a-f])"
    )
    # What a replacement left over, kept for recovery: named by clock, process and chance.
    displaced = rb"old-[0-9]+-[0-9]+-<derived>-[0-9a-f]{8}"

    def plain(data: bytes) -> bytes:
        return re.sub(displaced, b"old", re.sub(derived, b"<derived>", re.sub(uuid, b"<id>", data)))

    found: dict[str, list[bytes]] = {}
    for path in root.rglob("*"):
        name = plain(os.fsencode(path.relative_to(root))).decode()
        # The key is drawn; a lock names its holder; the cache knows files by their time stamps.
        if path.is_file() and path.name not in ("key", "lock", "settings-cache.json"):
            found.setdefault(name, []).append(plain(path.read_bytes()))
    return {name: sorted(contents) for name, contents in found.items()}


@pytest.mark.req("XC-003")
def test_the_same_inputs_at_the_same_instants_give_the_same_bytes(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    fresh = council.root.with_name("fresh")
    shutil.copytree(council.root, fresh)

    def play() -> dict[str, list[bytes]]:
        def at(minute: int, *words: str) -> None:
            done = council(*words, now=f"2026-02-08T20:{minute:02}:00Z")
            assert done.code == 0, done.err

        at(0, "convene", "A bot?", "--open", "--phases", "collect,synthesize")
        at(1, "respond", "Yes.\n\nBLOCKING: no budget", "--as", "owl")
        at(2, "inject", "Keep it short.")
        at(3, "respond", "No.", "--as", "gecko", "--status", "done")
        # The agent that writes the synthesis is woken by a process of its own.
        at_rest(council.root)
        assert council("status", "--json").json()["conversations"][0]["waiting"]
        return anonymous(council.root)

    first = play()
    shutil.rmtree(council.root)
    shutil.copytree(fresh, council.root)
    second = play()

    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


@pytest.mark.parametrize(
    ("written", "deadline"),
    [("90s", "20:01:30"), ("15m", "20:15:00"), ("2h30m", "22:30:00"), ("1h", "21:00:00")],
)
def test_durations_are_written_like_this(council, now, written: str, deadline: str):
    words = ("convene", "A bot?", "--agents", "owl,gecko", "--timeout", written)
    assert council(*words, now=now).code == 0

    assert council("status", "--json", now=now).json()["conversations"][0]["timeoutAt"] == (
        f"2026-02-08T{deadline}Z"
    )


@pytest.mark.parametrize("wrong", ["", "0s", "1", "5 parsecs", "-5m", "1.5h", "m5"])
def test_what_is_no_duration_exits_2(opened, wrong: str):
    assert opened("extend", "--", wrong).code == 2


# What


def test_text_comes_from_the_argument_a_file_or_standard_input(council, now, tmp_path: Path):
    assert council("convene", "A bot?", "--agents", "a,b,c,d", "--open", now=now).code == 0
    said = "Été\r\n`$(true)`\n"
    file = tmp_path / "answer.md"
    file.write_bytes(said.encode())

    assert council("respond", said, "--as", "a", now=now).code == 0
    assert council("respond", "--file", file, "--as", "b", now=now).code == 0
    assert council("respond", "-", "--as", "c", stdin=said, now=now).code == 0
    assert council("respond", "--file", "-", "--as", "d", stdin=said, now=now).code == 0

    texts = [one["text"] for one in council("show", "--json", now=now).json()["contributions"]]
    assert texts == [said] * 4


def test_no_text_and_two_texts_exit_2(opened, tmp_path: Path):
    file = tmp_path / "answer.md"
    file.write_text("Yes.")

    assert opened("respond", "--as", "owl").code == 2
    assert opened("respond", "No.", "--file", file, "--as", "owl").code == 2


@pytest.mark.parametrize(
    "data",
    [b"caf\xe9", b"a\0b", b"x" * (1024 * 1024 + 1), b"", b" \n"],
    ids=["not UTF-8", "NUL", "over 1 MiB", "empty", "blank"],
)
def test_text_that_cannot_be_kept_exits_3_and_nothing_is_written(opened, now, data: bytes):
    shared = opened.root / "memory" / "shared"
    live = shared / "council-active-conversation.md"
    before = live.read_bytes()
    revisions = len(opened("history", "--json").json())

    for command in ("respond", "inject"):
        refused = opened(command, "-", "--as", "owl", stdin=data, now=now)
        assert refused.code == 3, command

    assert live.read_bytes() == before
    assert len(opened("history", "--json").json()) == revisions


def test_a_text_of_just_one_mebibyte_is_kept(opened, now):
    said = "x" * (1024 * 1024)

    assert opened("respond", "-", "--as", "owl", "--json", stdin=said, now=now).code == 0


def test_the_size_of_a_text_can_be_configured(opened, now):
    (opened.root / "council.toml").write_text("max_text_bytes = 10\n")

    assert opened("respond", "x" * 11, "--as", "owl", now=now).code == 3
    assert opened("respond", "x" * 10, "--as", "owl", now=now).code == 0


def test_an_unreadable_file_exits_3_and_is_named(opened):
    refused = opened("respond", "--file", "/no/such/answer.md", "--as", "owl")

    assert refused.code == 3
    assert "/no/such/answer.md" in refused.err


# Language


@pytest.mark.req("XC-012")
def test_the_language_is_the_option_then_the_setting_then_the_locale(council, now):
    def lang(name: str, *words: str, env: dict[str, str] | None = None) -> str:
        made = council("convene", "t", "--name", name, "--agents", "a,b", *words, now=now, env=env)
        assert made.code == 0, made.err
        return council("show", name, "--json", now=now).json()["lang"]

    assert lang("plain") == "en"
    assert lang("locale", env={"LANG": "fr_CA.UTF-8"}) == "fr"
    (council.root / "council.toml").write_text('language = "fr"\n')
    assert lang("setting") == "fr"
    assert lang("option", "--lang", "en") == "en"


def test_a_language_we_do_not_speak_exits_2_and_nothing_is_made(council, now, tmp_path: Path):
    fresh = tmp_path / "fresh"
    calls = [
        ("init", str(fresh), "--lang", "de"),
        ("convene", "t", "--agents", "a,b", "--lang", "de"),
    ]
    for words in calls:
        refused = council(*words, now=now)
        assert refused.code == 2
        assert "en, fr" in refused.err
    assert not fresh.exists()

    assert council("convene", "t", "--agents", "a,b", now=now).code == 0
    assert council("context", "--as", "a", "--lang", "de", now=now).code == 2
    french = council("context", "--as", "a", "--lang", "fr", now=now)
    assert french.code == 0
    assert "tour" in json.dumps(french.out)
