"""Exit codes, one line for an error, one document for a program."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.commands import (
    WITHOUT_JSON,
    WITHOUT_WORKSPACE,
    all_commands,
    shortest,
    tree,
    wait_until,
)

NOT_UTF_8 = b"caf\xe9"


def is_one_line_that_helps(err: str) -> bool:
    return (
        err.startswith("council: ")
        and err.endswith("\n")
        and err.count("\n") == 1
        and ("(" in err or ";" in err)
    )


@pytest.mark.req("XC-006", "C0-042")
def test_the_same_answer_again_is_success_and_changes_nothing(opened, now):
    assert opened("respond", "Yes.", "--as", "owl", now=now).code == 0
    before = tree(opened.root)

    again = opened("respond", "Yes.", "--as", "owl", "--json", now=now)

    assert again.code == 0
    assert again.json()["outcome"] == "already-recorded"
    assert tree(opened.root) == before


@pytest.mark.req("XC-006")
def test_an_unexpected_failure_exits_1_in_one_line_and_names_the_log_with_the_traceback(
    opened, tmp_path: Path
):
    logs = tmp_path / "logs"
    logs.mkdir()
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            opened.argv("status", "--json"),
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=opened.root,
            env=opened.env(env={"TMPDIR": str(logs)}),
            check=False,
        )

    said = done.stderr.decode()
    assert done.returncode == 1
    assert is_one_line_that_helps(said), said
    named = re.search(r"/\S+\.log", said)
    assert named
    assert "Traceback" in Path(named[0]).read_text()
    assert "OSError" in Path(named[0]).read_text()


@pytest.mark.req("XC-006")
def test_wrong_usage_exits_2(opened):
    unknown = opened("respnd", "--json")
    no_option = opened("status", "--problem-free")
    bad_value = opened("extend", "ten minutes")

    assert (unknown.code, no_option.code, bad_value.code) == (2, 2, 2)
    assert is_one_line_that_helps(unknown.err)
    assert is_one_line_that_helps(no_option.err)
    assert "--problem-free" in no_option.err
    assert "90s" in bad_value.err


@pytest.mark.req("XC-006", "XC-005")
def test_text_that_is_not_utf_8_exits_3_and_nothing_is_written(opened, now):
    before = tree(opened.root / "memory" / "shared" / ".council")
    file = opened.root / "memory" / "shared" / "council-active-conversation.md"
    text = file.read_text()

    refused = opened("respond", "-", "--as", "owl", "--json", stdin=NOT_UTF_8, now=now)

    assert refused.code == 3
    assert refused.json()["error"]["code"] == "invalid-input"
    assert "UTF-8" in refused.err
    assert file.read_text() == text
    assert tree(opened.root / "memory" / "shared" / ".council") == before


@pytest.mark.req("XC-006", "C0-042")
def test_another_text_after_an_answer_exits_4_and_changes_nothing(opened, now):
    assert opened("respond", "Yes.", "--as", "owl", now=now).code == 0
    before = opened("show", "--json", now=now).json()

    refused = opened("respond", "No.", "--as", "owl", "--json", now=now)

    assert refused.code == 4
    assert refused.json()["error"]["code"] == "already-answered"
    assert opened("show", "--json", now=now).json() == before


@pytest.mark.req("XC-006")
def test_what_does_not_exist_exits_5(opened):
    for words in (("show", "nope"), ("respond", "x", "--as", "owl", "--name", "nope")):
        done = opened(*words, "--json")

        assert done.code == 5
        assert done.json()["error"]["code"] == "not-found"
        assert "nope" in done.err

    assert opened("restore", "999").code == 5


@pytest.mark.req("XC-006", "XC-008")
def test_a_refusal_by_a_guard_exits_6_and_is_an_event(opened, now):
    refused = opened("respond", "Let me in.", "--as", "stranger", "--json", now=now)

    assert refused.code == 6
    assert refused.json()["error"]["code"] == "not-a-participant"
    assert "owl" in refused.err
    events = [json.loads(line) for line in opened("events", "tail", "--json").out.splitlines()]
    assert [one["agentId"] for one in events if one["type"] == "answer.refused"] == ["stranger"]


@pytest.mark.req("XC-006")
def test_a_wait_that_is_over_exits_7_and_says_who_is_owed(opened, now):
    late = opened("heartbeat", "--wait", "1s", "--json", now=now)

    assert late.code == 7
    assert late.json()["conversations"][0]["waiting"] == ["gecko", "owl"]


@pytest.mark.req("XC-006")
def test_an_interrupted_wait_exits_130_and_leaves_the_council_as_it_is(opened, now):
    mark = opened.root / "memory" / "shared" / ".council" / "last-heartbeat"
    mark.unlink(missing_ok=True)
    before = opened("show", "--json").json()
    waiting = opened.start("heartbeat", "--wait", now=now)

    wait_until(mark.exists)
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=300)

    assert waiting.returncode == 130
    assert err.decode().splitlines()[-1] == "interrupted"
    assert b"Traceback" not in out + err
    assert opened("show", "--json").json() == before


@pytest.mark.req("XC-005")
@pytest.mark.parametrize("name", sorted(set(all_commands()) - WITHOUT_JSON - WITHOUT_WORKSPACE))
def test_every_command_says_an_error_in_one_line_and_one_document(council, tmp_path: Path, name):
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()

    lost = council(*shortest(name), "--json", cwd=nowhere)

    assert lost.code == 5
    assert lost.err == "council: no council workspace here or above; run: council init\n"
    assert set(lost.json()) == {"error"}
    assert set(lost.json()["error"]) >= {"code", "message", "hint"}
    assert list(nowhere.iterdir()) == []


@pytest.mark.req("XC-005")
def test_a_wrong_option_is_one_document_too(opened):
    for words in (["status", "--nope"], ["heartbeat", "--nope"], ["nope"], []):
        wrong = opened("--json", *words)

        assert wrong.code == 2
        assert wrong.json()["error"]["code"] == "usage"
        assert is_one_line_that_helps(wrong.err), wrong.err


@pytest.mark.req("XC-005")
def test_every_command_has_json_but_the_live_view_and_what_stays(council):
    assert {"mcp", "serve", "link"} == {
        name
        for name, command in all_commands().items()
        if not any("--json" in one.opts for one in command.params)
    }
    for words in (("watch",), ("status", "--watch")):
        refused = council(*words, "--json")
        assert (refused.code, refused.json()["error"]["message"]) == (2, "--watch is for people")


def test_json_behind_a_double_dash_is_text(opened, now):
    said = opened("respond", "--as", "owl", "--", "--json", now=now)

    assert said.code == 0
    assert said.out.startswith("owl: recorded")


def test_a_reader_that_goes_away_is_no_failure(opened):
    done = subprocess.run(
        ["/bin/sh", "-c", '"$1" history --json | :', "sh", opened.argv()[0]],
        capture_output=True,
        cwd=opened.root,
        env=opened.env(),
        check=False,
    )

    assert done.stderr == b""


@pytest.mark.parametrize("words", ["status", "heartbeat --json"])
def test_closed_streams_do_no_harm(opened, now, words: str):
    file = opened.root / "memory" / "shared" / "council-active-conversation.md"
    before = file.read_bytes()

    done = subprocess.run(
        ["/bin/sh", "-c", f"{opened.argv()[0]} {words} <&- >&- 2>&-"],
        cwd=opened.root,
        env=opened.env(now=now),
        check=False,
    )

    assert done.returncode == 0
    assert file.read_bytes() == before


def test_control_characters_of_others_do_not_reach_the_terminal(opened):
    refused = opened("respond", "x", "--as", "owl", "--name", "\x1b[31mred\n\x07", "--json")

    assert refused.code == 3
    assert "\x1b" not in refused.err + refused.out
    assert refused.err.count("\n") == 1


@pytest.mark.req("XC-006")
@pytest.mark.parametrize("spoilt", ["memory/shared/.council/heartbeat.lock", "memory/agents/owl"])
def test_a_place_that_the_system_refuses_is_named_in_one_line(opened, now, spoilt):
    place = opened.root / spoilt
    if place.is_dir():
        place.rename(place.with_name("away"))
        place.touch()
    else:
        place.unlink(missing_ok=True)
        place.mkdir()
    ran = opened("heartbeat", now=now + timedelta(hours=3))

    assert ran.code in (1, 3)
    assert ran.err.startswith("council: ") and ran.err.count("\n") == 1, ran.err
    assert str(place) in ran.err
    assert "unexpected" not in ran.err
