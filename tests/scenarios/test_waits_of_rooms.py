"""What `explain` says of a room that waits, and that what it advises is taken."""

from __future__ import annotations

import re
import shlex

import pytest

# What stands in an advised command for what people fill in.
_FILLED_IN = {"AGENT": "gecko", "NAME": "other", "…": "A word."}


def make(council, mode: str, *members: str) -> None:
    words = ("channel", "create", mode, "rain", "--participants", ",".join(members))
    assert council(*words).code == 0


def idle(council) -> None:
    """Open a discussion by hand and let all pass."""
    parts = "## Topic\nRain\n\n## Goals\nOne\n\n## Completion criteria\nAll agree\n"
    (council.root / "guide.md").write_text(parts)
    words = ("discussion", "create", "rain", "--guide", "guide.md", "--participants", "gecko,fox")
    assert council(*words, "--as", "owl").code == 0
    for agent in ("gecko", "fox"):
        words = ("turn", "end", "rain", "--as", agent, "--run-id", agent, "--text", "**NO_REPLY.**")
        assert council(*words).code == 0
    folder = council.root / "memory/shared/discussion-summary"
    folder.mkdir(parents=True)
    (folder / "rain.md").write_text("All agree.\n")


def asleep(council) -> None:
    make(council, "chat", "owl", "alice")
    assert council("channel", "post", "rain", "Rain?", "--as", "alice").code == 0
    words = ("turn", "end", "rain", "--as", "owl", "--run-id", "1", "--post", "--text", "Yes.")
    assert council(*words).code == 0


def begun(council) -> None:
    make(council, "chat", "owl", "gecko")
    assert council("channel", "post", "rain", "Rain?", "--as", "alice").code == 0
    assert council("turn", "begin", "rain", "--as", "owl", "--run-id", "mine").code == 0


@pytest.mark.req("OP-014")
@pytest.mark.parametrize(
    ("wait", "advised"),
    [
        (lambda council: make(council, "work", "owl"), "channel create chat"),
        (lambda council: make(council, "report", "owl"), "channel mode"),
        (lambda council: make(council, "chat", "alice"), "channel members"),
        (asleep, "say"),
        (idle, "discussion complete"),
        (begun, "turn end"),
    ],
    ids=["work", "report", "no agent", "alone and asleep", "idle", "begun"],
)
def test_what_explain_advises_for_a_room_is_taken(council, wait, advised: str):
    assert council("init", "--agents", "owl,gecko,fox").code == 0
    wait(council)
    found = council("explain", "rain", "--json").json()["hindrances"]
    fixes = [one["fix"] for one in found if one["what"] not in ("no-heartbeat", "no-clock")]
    commands = [shlex.split(one)[1:] for fix in fixes for one in re.findall(r"council [^;(]+", fix)]
    assert any(" ".join(words).startswith(advised) for words in commands), found
    for words in commands:
        if words[0] not in ("heartbeat", "schedule"):
            taken = council(*(_FILLED_IN.get(word, word) for word in words))
            assert taken.code == 0, (words, taken.err)


@pytest.mark.req("OP-014", "HR-014")
@pytest.mark.parametrize("word", ["NO_REPLY.", "`NO_REPLY`", "**NO_REPLY**", '"NO_REPLY"'])
def test_a_word_for_silence_is_posted_on_no_way_in(council, word: str):
    assert council("init", "--agents", "owl,gecko").code == 0
    make(council, "chat", "owl", "gecko")
    assert council("channel", "post", "rain", "Rain?", "--as", "alice").code == 0

    refused = council("channel", "post", "rain", word, "--as", "owl")
    words = ("turn", "end", "rain", "--as", "owl", "--run-id", "1", "--post", "--text", word)
    assert council(*words).code == 0

    assert refused.code == 3
    assert "nothing to say" in refused.err
    shown = council("channel", "show", "rain", "--json").json()
    assert [one["content"] for one in shown["messages"]] == ["Rain?"]
    assert shown["currentSpeaker"] == "gecko"
