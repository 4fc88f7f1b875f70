"""Rooms on Discord by the command line, as real processes."""

from __future__ import annotations

import json

import pytest

from council.operations.rooms.discord import URL
from tests.cli.commands import wait_until
from tests.drivers.discord_server import GENERAL, TOKEN, discord_server


@pytest.fixture
def there(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    (council.root / "council.toml").write_text(
        '[agents.owl]\nargv = ["echo", "The roof leaks."]\n[channels]\nmax_repeats = 1\n'
    )
    words = ("channel", "create", "chat", "weather", "--participants", "owl,gecko")
    assert council(*words).code == 0
    with discord_server() as server:
        server.join(4711, "Alice")
        yield server


def env(there) -> dict[str, str]:
    return {"DISCORD_TOKEN": TOKEN, URL: there.url}


@pytest.mark.req("DG-088", "DG-101", "DG-083")
def test_a_room_is_tied_by_one_command_and_one_heartbeat_hears_and_answers(council, there):
    tied = council("channel", "tie", "weather", "--discord", str(GENERAL), env=env(there))
    assert tied.code == 0, tied.err
    assert tied.out.startswith("weather: tied to general on Discord")
    there.write(4711, "Will it rain?")

    assert council("heartbeat", env=env(there)).code == 0

    wait_until(lambda: there.said())
    assert there.said() == ["🦉 **owl**\nThe roof leaks."] or there.said()[0].endswith("leaks.")
    shown = council("channel", "show", "weather").out
    assert "Alice (4711)" in shown and "owl (verified)" in shown
    assert TOKEN not in shown + json.dumps(council("channel", "show", "weather", "--json").json())

    again = council("channel", "tie", "weather", env=env(there))
    assert (again.code, again.out.split("\n")[0]) == (
        0,
        f"weather: tied to channel {GENERAL} of Discord, and alike",
    )
    assert council("channel", "tie", "weather", "--remove").code == 0
    asked = len(there.requests)
    assert council("heartbeat", env=env(there)).code == 0
    assert len(there.requests) == asked


@pytest.mark.req("DG-088", "XC-006")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--discord", "12345"), 6, "not there, or the bot does not see it"),
        (("--discord", "#general"), 2, "by its number"),
        (("--discord", "200", "--token-env", "NOWHERE"), 6, "the variable NOWHERE"),
        ((), 2, "tied to no channel of Discord"),
    ],
)
def test_what_cannot_be_tied_is_one_line_with_the_way_out(council, there, words, code, said):
    done = council("channel", "tie", "weather", *words, env=env(there))

    assert done.code == code
    assert said in done.err and done.err.count("\n") == 1 and "Traceback" not in done.err


@pytest.mark.req("DG-088", "SC-002")
def test_a_run_ties_no_room(council, there):
    inside = {**env(there), "COUNCIL_TASK_ID": "weather.1.owl.1", "COUNCIL_AGENT": "owl"}
    done = council("channel", "tie", "weather", "--discord", str(GENERAL), env=inside)

    assert done.code == 6 and "not allowed inside a run" in done.err
