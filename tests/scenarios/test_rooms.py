"""Fifty processes at one room: one speaker, every message once, every turn counted once."""

from __future__ import annotations

import json

import pytest

MANY = 50


@pytest.fixture
def room(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    words = ("channel", "create", "chat", "weather", "--participants", "owl,gecko,alice")
    assert council(*words, "--as", "owl").code == 0
    return council


def all_at_once(council, commands: list[tuple[str, ...]]) -> list[dict]:
    running = [council.start(*words, "--json") for words in commands]
    answers = []
    for process in running:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err.decode()
        answers.append(json.loads(out))
    return answers


def kinds(council) -> list[str]:
    found: dict[str, str] = {}
    for day in (council.root / "memory/shared/events").glob("*.jsonl"):
        for line in day.read_text().splitlines():
            record = json.loads(line)
            found[record["eventId"]] = record["type"]
    return list(found.values())


@pytest.mark.long
@pytest.mark.req("DG-003", "DG-004", "DG-006")
def test_fifty_hooks_at_once_agree_on_one_speaker_and_make_a_channel_once(room):
    begins = [
        ("turn", "begin", "weather", "--as", ("owl", "gecko")[at % 2], "--run-id", f"r{at % 2}")
        for at in range(MANY - 10)
    ]
    firsts = [("turn", "begin", "new", "--as", "owl", "--run-id", f"n{at}") for at in range(10)]

    answers = all_at_once(room, [*begins, *firsts])

    allowed = [at for at, one in enumerate(answers[: len(begins)]) if one["allowed"]]
    assert allowed == list(range(0, len(begins), 2))
    assert {one["currentSpeaker"] for one in answers[: len(begins)]} == {"owl"}
    assert all(one["allowed"] for one in answers[len(begins) :])
    assert kinds(room).count("turn.began") == 1
    assert kinds(room).count("channel.initialized") == 2  # one for each channel


@pytest.mark.long
@pytest.mark.req("DG-003", "DG-004")
def test_fifty_ends_and_posts_at_once_lose_nothing_and_double_nothing(room):
    ends = [
        ("turn", "end", "weather", "--as", "owl", "--run-id", "r1", "--text", "Rain.", "--post")
    ] * 10
    posts = [("channel", "post", "weather", f"word {at}", "--as", "alice") for at in range(40)]

    answers = all_at_once(room, [*ends, *posts])

    lines = (room.root / "memory/shared/channels/weather.jsonl").read_text().splitlines()
    messages = [json.loads(line) for line in lines]
    assert [one["id"] for one in messages] == list(range(1, 42))
    assert sorted(one["content"] for one in messages) == sorted(
        ["Rain.", *(f"word {at}" for at in range(40))]
    )
    outcomes = [one["outcome"] for one in answers[:10]]
    assert sorted(set(outcomes)) == ["advanced", "already-ended"]
    assert outcomes.count("advanced") == 1
    assert kinds(room).count("turn.ended") == 1
    shown = room("turn", "status", "weather", "--json").json()
    assert (shown["seen"], shown["currentSpeaker"]) == (41, "gecko")


@pytest.mark.slow
def test_a_million_messages_slow_down_no_post_and_no_turn(tmp_path):
    from benchmarks import rooms

    for row in rooms.measure(tmp_path, 15).rows:
        assert not row.missed, row
