"""A room that is a channel of Discord, against a local server."""

from pathlib import Path

import pytest

from council.app import App
from council.kernel.errors import Refusal
from council.rooms import decisions, service
from council.rooms.row import ROOMS
from council.runs import heartbeat
from council.setup import agents, init
from tests.rooms.discord_server import CHANNEL, TOKEN, discord_server

pytest.importorskip("hikari")
HENRY, SAGE, ZOE = 11, 12, 13


def team(root: Path, url: str, token: str = TOKEN) -> App:
    init.init(str(root), ["henry", "sage"], "en", {})
    env = {"COUNCIL_DISCORD_TOKEN": token, "COUNCIL_DISCORD_URL": url, "HOME": str(root)}
    app = App(str(root), env=env)
    app.check_format()
    for agent, account in (("henry", HENRY), ("sage", SAGE)):
        agents.add(app, agent, discord=str(account))
    service.create(app, "chat", "den", "zoe", [])
    service.change(app, "den", "zoe", decisions.tie, str(CHANNEL))
    return app


def test_guilds_are_those_that_the_bot_administers(tmp_path: Path) -> None:
    with discord_server() as there:
        (guild,) = service.guilds(team(tmp_path, there.url))
        assert (guild["name"], guild["channels"]) == ("Home", {str(CHANNEL): "den"})
        assert guild["tied"][str(CHANNEL)].name == "den"


@pytest.mark.slow
def test_both_sides_hear_each_other(tmp_path: Path) -> None:
    with discord_server() as there:
        there.names |= {HENRY: "henry-bot", SAGE: "sage-bot", ZOE: "Zoe"}
        there.limits = ["POST messages", "GET messages"]
        app = team(tmp_path, there.url)
        there.write(ZOE, "Which kettle?")
        heartbeat.beat(app)
        room = ROOMS.document(app, "den").peek()
        assert room.agents() == ["henry", "sage"]  # who is there was asked
        said = [(one.author, one.content, one.origin) for one in room.messages]
        assert said == [("zoe", "Which kettle?", "discord")]
        assert (room.turn_state, room.current_speaker) == ("normal", "henry")
        assert there.deleted == ["➡️"]  # the schedule identifier
        assert there.said() == []
        # Henry's program speaks there itself, in two parts; its hook reports the end of the turn.
        service.begin(app, "den", "henry", "r1")
        text = "A long answer. " * 10 + "The quiet one is the one that I would take, said Henry."
        there.write(HENRY, text[:150])
        there.write(HENRY, text[150:])
        done = service.end(app, "den", "henry", "r1", text)
        assert (done["outcome"], done["currentSpeaker"]) == ("advanced", "sage")
        # Sage posts here; it is put there once, however often, in parts that fit.
        service.post(app, "den", "word " * 700, "sage")
        for _ in range(2):
            heartbeat.beat(app)
        assert [len(one) for one in there.said()] == [1900, 1611]
        assert there.said()[0].startswith("**🦎 Sage**\nword word")
        assert there.deleted == ["➡️", "➡️"]
        del there.names[SAGE]
        heartbeat.beat(app)
        assert ROOMS.document(app, "den").peek().agents() == ["henry"]


def test_a_wrong_token_is_named_and_stops_nobody_else(tmp_path: Path) -> None:
    with discord_server() as there:
        app = team(tmp_path, there.url, "another")
        report = heartbeat.beat(app)
        assert [one["code"] for one in report["errors"]] == ["discord"]
        with pytest.raises(Refusal, match="Unauthorized"):
            ROOMS.exchange(app, "den")
