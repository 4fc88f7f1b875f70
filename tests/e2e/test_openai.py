"""Models behind a server: councils of the driver `openai` against moods of the model server."""

from __future__ import annotations

import pytest

from tests.cli.commands import wait_until
from tests.e2e.model_server import INPUT_TOKENS, OUTPUT_TOKENS, model_server

# What `explain` names in each mood, and in which words of the server.
CAUSES = {
    "refuses": ("key-refused", "Incorrect API key provided"),
    "limits": ("limited", "You exceeded your current quota"),
    "fails": ("provider", "The server had an error"),
    "hangs": ("no-sign", "no sign of its model for 2s"),
    "stalls": ("no-sign", "no sign of its model for 2s"),
    "babbles": ("too-long", "answer longer than 20000 bytes"),
}


def seat(council, **bases: str) -> None:
    """Let agents be models behind these addresses, by the command that a person would use."""
    (council.root / "council.toml").write_text("retry_backoff = []\nmax_text_bytes = 20000\n")
    for agent, base in bases.items():
        added = council("agent", "add", agent, "--model", "scripted", "--base-url", base)
        assert added.code == 0, added.err
        with (council.root / "council.toml").open("a") as settings:
            settings.write('first_output = "2s"\n')


@pytest.mark.long
@pytest.mark.req("CL-004")
def test_two_models_behind_a_server_agree_and_what_they_used_is_shown(council):
    with model_server() as server:
        seat(council, lama=server.base("answers", "/v1"), qwen=server.base("answers", "/v1"))
        probe = council("doctor", "--probe", "--json").json()["findings"]
        asked = council("ask", "A bot?", "--agents", "lama,qwen")
        calls = len(server.model_calls())

    assert [one["found"].split(" (")[0] for one in probe if one["what"] in ("lama", "qwen")] == [
        *["driver openai"] * 2,
        *["answered: ready"] * 2,
    ]
    assert asked.code == 0, asked.err
    assert "Agreed" in asked.out
    runs = calls - 2
    used = council("metrics", "--json").json()["used"]
    assert used["tokens"] == runs * (INPUT_TOKENS + OUTPUT_TOKENS)
    assert set(used["agents"]) == {"lama", "qwen"}


@pytest.mark.e2e
@pytest.mark.req("CL-004")
@pytest.mark.parametrize("mood", CAUSES)
def test_a_cause_is_named_in_the_words_of_the_server_and_is_no_contribution(
    council, model_server, row, mood
):
    code, words = CAUSES[mood]
    with row("openai", mood) as told:
        good, bad = model_server.base("answers", "/v1"), model_server.base(mood, "/v1")
        seat(council, good=good, bad=bad)
        # Ann, who says nothing, keeps the phase open.
        opened = council("convene", "A bot?", "--agents", "good,bad,ann", "--people", "ann")
        assert opened.code == 0, opened.err
        named: dict[str, str] = {}

        def is_named() -> bool:
            found = council("explain", "active", "--json").json()["hindrances"]
            named.update({one["what"]: one["said"] for one in found})
            return code in named

        def status(agent: str) -> str:
            return council("show", "--json").json()["participants"][agent]["status"]

        wait_until(is_named)
        wait_until(lambda: status("good") == "RESPONDED")
        assert words in named[code]
        assert status("bad") == "WAITING"
        assert words not in council("show").out
        told.came_out = named[code]
