"""Rooms that a master keeps for slaves: several workspaces, real servers, real processes."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from council.operations.rooms.discord import URL
from tests.cli.commands import tree, wait_until
from tests.conftest import Council, Ran
from tests.drivers.discord_server import GENERAL, TOKEN, discord_server

pytest.importorskip("fastapi")

TEXT = "The quiet one, because nobody likes noise before the ninth hour."
SILENT = "dirigent/no-reply"


class Instance:
    """A workspace of its own with the command in it; a master has a server, a slave its token."""

    def __init__(self, root: Path, forks: Any, *, agents: str) -> None:
        root.mkdir(parents=True)
        home = root.parent / f"home-{root.name}"
        home.mkdir()
        self.root, self.council, self.token = root, Council(root, home, forks), ""
        assert self.council("init", "--agents", agents).code == 0

    def __call__(self, *words: str, **how: Any) -> Ran:
        return self.council(*words, env={"COUNCIL_RELAY_TOKEN": self.token}, **how)

    def json(self, *words: str) -> Any:
        done = self(*words, "--json")
        assert done.code == 0, done.err
        return done.json()

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return self.council.start(*words, "--json", env={"COUNCIL_RELAY_TOKEN": self.token})

    def settings(self, text: str) -> None:
        with (self.root / "council.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")

    def events(self, kind: str, room: str) -> list[dict[str, Any]]:
        logs = sorted(self.root.glob("memory/shared/events/*.jsonl"))
        told = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        return [one for one in told if (one["type"], one["conversationId"]) == (kind, room)]

    @contextmanager
    def served(self, port: int = 0, **env: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        """Serve it; yield its address and the process."""
        words = self.council.argv("serve", "--port", str(port))
        env = self.council.env(env={"COUNCIL_RELAY_TOKEN": self.token, **env})
        with subprocess.Popen(words, cwd=self.root, env=env, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                found = re.match(r"http://127\.0\.0\.1:\d+", server.stdout.readline().decode())
                assert found
                yield found.group(), server
            finally:
                server.kill()

    @property
    def web_token(self) -> str:
        return (self.root / "memory/shared/.council/web-token").read_text().strip()

    def obeys(self, url: str, token: str) -> None:
        self.token = token
        self.settings(f'[relay]\nrole = "slave"\nurl = "{url}"')


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory, forks) -> Iterator[list[Instance]]:
    """A master that is served, and two slaves of it."""
    base = tmp_path_factory.mktemp("relay")
    master = Instance(base / "master", forks, agents="owl,gecko,fox")
    slaves = [Instance(base / f"slave-{one}", forks, agents=one) for one in ("owl", "gecko")]
    assert master("agent", "edit", "owl", "--account", "4711", "--name", "The Owl").code == 0
    with master.served() as (url, _):
        for one in slaves:
            one.obeys(url, master.web_token)
        yield [master, *slaves]


@pytest.fixture
def room(instances: list[Instance]) -> str:
    """A chat of the master in which owl has the floor, and something to answer."""
    master, name = instances[0], f"room-{uuid4().hex[:12]}"
    made = master("channel", "create", "chat", name, "--participants", "owl,gecko,alice")
    assert made.code == 0, made.err
    assert master("channel", "post", name, "Which kettle?", "--as", "alice").code == 0
    return name


@pytest.fixture
def master(instances: list[Instance]) -> Instance:
    return instances[0]


@pytest.fixture
def owls(instances: list[Instance]) -> Instance:
    return instances[1]


@pytest.fixture
def geckos(instances: list[Instance]) -> Instance:
    return instances[2]


@pytest.mark.req("DG-156", "DG-154")
def test_a_slave_asks_its_master_whether_an_agent_may_speak(master, owls, geckos, room):
    turn = ("turn", "begin", room, "--as")
    assert geckos.json(*turn, "gecko", "--run-id", "g1") == {
        "allowed": False,
        "currentSpeaker": "owl",
        "model": SILENT,
        "reason": "not-the-speaker",
    }
    begun = {"allowed": True, "currentSpeaker": "owl", "anchor": 1}
    assert owls.json(*turn, "owl", "--run-id", "o1") == begun
    asked = ("relay", "check-turn", room, "--as", "owl", "--run-id", "o1")
    assert owls.json(*asked) == master.json(*asked) == begun
    assert owls(*turn, "owl", "--run-id", "o1").out == "owl: speak; floor: owl\n"
    (event,) = master.events("turn.began", room)
    assert event["agentId"] == "owl"


@pytest.mark.req("DG-157", "DG-160", "DG-154", "DG-080")
def test_a_real_turn_elsewhere_is_over_when_the_master_sees_the_end_of_its_text(master, owls, room):
    begun = owls.json("turn", "begin", room, "--as", "owl", "--run-id", "o1")
    words = ("turn", "end", room, "--as", "owl", "--run-id", "o1", "--text", TEXT)

    ended = owls.json(*words, "--anchor", str(begun["anchor"]))

    assert (ended["accepted"], ended["outcome"]) == (True, "awaiting-delivery")
    assert owls.json("relay", "get-channel-state", room)["currentSpeaker"] == "owl"
    waiting = master.json("channel", "show", room)["awaitingDelivery"]
    assert (waiting["anchor"], waiting["tail"]) == (1, TEXT[-40:])
    assert master("channel", "post", room, TEXT, "--as", "owl").code == 0
    assert owls.json("relay", "get-channel-state", room)["currentSpeaker"] == "gecko"
    assert len(master.events("delivery.confirmed", room)) == 1
    assert owls.json(*words)["outcome"] == "already-ended"


@pytest.mark.req("DG-160")
def test_words_from_before_the_turn_confirm_no_delivery(master, owls, room):
    assert master("channel", "post", room, TEXT, "--as", "owl").code == 0
    begun = owls.json("relay", "check-turn", room, "--as", "owl", "--run-id", "o1")
    assert begun["anchor"] == 2

    words = ("relay", "turn-complete", room, "--as", "owl", "--run-id", "o1", "--tail", TEXT[-40:])
    ended = owls.json(*words, "--anchor", str(begun["anchor"]))

    assert ended["outcome"] == "awaiting-delivery"
    assert owls.json("relay", "get-channel-state", room)["currentSpeaker"] == "owl"


@pytest.mark.req("DG-157", "DG-145")
def test_a_pass_elsewhere_advances_at_once_and_the_end_of_another_changes_nothing(
    master, owls, geckos, room
):
    other = geckos.json("relay", "turn-complete", room, "--as", "gecko", "--empty")
    assert (other["accepted"], other["reason"]) == (False, "not-the-speaker")
    assert other["currentSpeaker"] == "owl"

    ended = owls.json("turn", "end", room, "--as", "owl", "--text", "NO_REPLY")

    assert ended == {
        "accepted": True,
        "outcome": "advanced",
        "currentSpeaker": "gecko",
        "cycle": 1,
        "dormant": False,
    }
    assert master.json("turn", "status", room)["currentSpeaker"] == "gecko"


@pytest.mark.req("DG-154", "DG-160")
def test_a_text_that_a_slave_hands_on_is_posted_once_and_claimed(master, owls, room):
    words = ("turn", "end", room, "--as", "owl", "--run-id", "o1", "--post", "--text", TEXT)

    assert owls.json(*words)["outcome"] == "advanced"
    assert owls.json(*words)["outcome"] == "already-ended"

    said = master.json("channel", "show", room)["messages"]
    assert [(one["content"], one.get("origin")) for one in said[1:]] == [(TEXT, "claimed")]
    assert owls("turn", "end", room, "--as", "owl", "--text", "Me.").out.startswith("owl: ignored")


@pytest.mark.req("DG-153", "DG-154", "DG-155")
def test_rooms_accounts_and_signals_are_the_masters_alone(master, owls, geckos, room):
    for slave, agent in ((owls, "owl"), (geckos, "gecko")):
        turn = (room, "--as", agent, "--run-id", agent)
        assert slave.json("turn", "begin", *turn)["allowed"]
        assert slave("turn", "end", *turn, "--post", "--text", TEXT).code == 0
        assert slave("heartbeat").code == 0

    files = tree(owls.root) | tree(geckos.root)
    assert not [one for one in files if "channels" in one or "identities" in one or room in one]
    assert not [one for one in files if "events" in one]
    assert (master.root / f"memory/shared/channels/{room}.md").exists()
    kept = master.json("channel", "show", room)
    assert kept["signalled"] == kept["turn"] == len(master.events("floor.given", room)) == 3


@pytest.mark.req("DG-158")
def test_the_entry_of_an_account_comes_from_the_master(master, owls):
    entry = {"discordUserId": "4711", "agentId": "owl", "agentName": "The Owl"}
    assert owls.json("relay", "get-identity", "4711") == entry
    assert master.json("relay", "get-identity", "4711") == entry
    for one in (owls, master):
        missing = one("relay", "get-identity", "4712")
        assert missing.code == 5
        assert "no agent has the account 4712" in missing.err
    for said, code in ((b"\xff&x=", 5), (b"\xff&x=\n", 3)):  # an account stands in one line
        odd = said.decode("utf-8", "surrogateescape")
        assert owls("relay", "get-identity", odd).code == code


@pytest.mark.req("DG-159")
def test_the_state_of_a_channel_has_three_fields(master, owls, room):
    state = {"mode": "chat", "tmState": "normal", "currentSpeaker": "owl"}
    assert owls.json("relay", "get-channel-state", room) == state
    assert master.json("relay", "get-channel-state", room) == state
    nothing = {"mode": "none", "tmState": "disabled", "currentSpeaker": None}
    assert owls.json("relay", "get-channel-state", "never-used") == nothing
    assert owls("relay", "get-channel-state", "../x").code == 3


@pytest.mark.req("DG-156", "DG-157")
def test_of_many_that_ask_from_two_slaves_at_once_one_agent_speaks(master, owls, geckos, room):
    begin = ("turn", "begin", room, "--run-id", "same", "--as")
    asking = [
        one.start(*begin, agent)
        for _ in range(3)
        for one, agent in ((owls, "owl"), (geckos, "gecko"))
    ]
    answers = [json.loads(one.communicate()[0]) for one in asking]
    assert [one["allowed"] for one in answers] == [True, False] * 3

    end = ("turn", "end", room, "--as", "owl", "--run-id", "same", "--post", "--text", TEXT)
    ending = [owls.start(*end) for _ in range(4)]
    outcomes = sorted(json.loads(one.communicate()[0])["outcome"] for one in ending)
    assert outcomes == ["advanced", *["already-ended"] * 3]
    assert len(master.json("channel", "show", room)["messages"]) == 2


@pytest.mark.req("DG-161", "DG-157")
def test_a_master_that_is_killed_in_the_middle_of_a_turn_loses_nothing(tmp_path, forks):
    master = Instance(tmp_path / "master", forks, agents="owl,gecko")
    slave = Instance(tmp_path / "slave", forks, agents="owl")
    master("channel", "create", "chat", "kitchen", "--participants", "owl,gecko")
    turn = ("--as", "owl", "--run-id", "o1")
    end = ("turn", "end", "kitchen", *turn, "--post", "--text", TEXT)
    with master.served() as (url, server):
        slave.obeys(url, master.web_token)
        assert slave.json("turn", "begin", "kitchen", *turn)["allowed"]
        server.kill()
        server.wait()

        told = slave("turn", "begin", "kitchen", *turn, "--json")
        lost = slave(*end, "--json")

    assert told.code == 0
    hint = told.json().pop("hint")
    assert told.json() == {
        "allowed": False,
        "currentSpeaker": None,
        "model": SILENT,
        "reason": "master_unreachable",
        "hint": hint,
    }
    assert hint == f"the master at {url} is not reached: Connection refused"
    assert (lost.code, lost.json()["error"]["code"]) == (1, "master_unreachable")
    assert lost.err.count("\n") == 1
    assert not (slave.root / "memory/shared/channels").exists()
    with master.served(int(url.rpartition(":")[2])):
        assert slave.json(*end)["outcome"] == "advanced"
        assert slave.json(*end)["outcome"] == "already-ended"
    said = master.json("channel", "show", "kitchen")["messages"]
    assert [one["content"] for one in said] == [TEXT]


@pytest.mark.long
@pytest.mark.req("DG-160", "DG-083", "DG-154")
def test_a_turn_elsewhere_in_a_room_on_discord_is_over_when_its_last_fragment_lies_there(
    tmp_path, forks
):
    master = Instance(tmp_path / "master", forks, agents="owl,gecko")
    slave = Instance(tmp_path / "slave", forks, agents="owl")
    master("agent", "edit", "owl", "--account", "555")
    master("channel", "create", "chat", "kitchen", "--participants", "owl,gecko")
    turn = ("kitchen", "--as", "owl", "--run-id", "o1")
    with discord_server() as there:
        there.join(555, "Owl", bot=True)
        there.join(4711, "Alice")
        env = {"DISCORD_TOKEN": TOKEN, URL: there.url}
        with master.served(**env) as (url, _):
            slave.obeys(url, master.web_token)
            master.council("channel", "tie", "kitchen", "--discord", str(GENERAL), env=env)
            there.write(4711, "Which kettle?")
            assert master.council("heartbeat", env=env).code == 0
            begun = slave.json("turn", "begin", *turn)
            there.write(555, TEXT[:30])
            words = ("turn", "end", *turn, "--anchor", str(begun["anchor"]), "--text", TEXT)

            ending = slave.start(*words)
            wait_until(lambda: master.events("turn.ended", "kitchen"))
            assert master.json("channel", "show", "kitchen")["awaitingDelivery"]
            there.write(555, TEXT[30:])
            ended = json.loads(ending.communicate()[0])

    assert (ended["outcome"], ended["currentSpeaker"]) == ("advanced", "gecko")
    assert len(master.events("delivery.confirmed", "kitchen")) == 1
    assert not (slave.root / "memory/shared/channels").exists()


@pytest.mark.req("DG-154", "DG-161")
def test_a_slave_answers_for_no_master_not_even_for_itself(tmp_path, forks):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    slave = Instance(tmp_path / "slave", forks, agents="owl")
    slave.obeys(f"http://127.0.0.1:{port}", "0" * 32)
    with slave.served(port):
        slave.token = slave.web_token

        told = slave.json("turn", "begin", "kitchen", "--as", "owl")

        assert (told["allowed"], told["reason"]) == (False, "refused")
        assert "this workspace is a slave" in told["hint"]
        assert slave("turn", "end", "kitchen", "--as", "owl").code == 6
    assert not (slave.root / "memory/shared/channels").exists()


@pytest.mark.req("DG-154", "XC-014")
def test_a_master_with_strict_trust_believes_no_slave(master, owls, room):
    file = master.root / "council.toml"
    before = file.read_text()
    file.write_text(f'trust = "strict"\n{before}')
    try:
        told = owls.json("turn", "begin", room, "--as", "owl", "--run-id", "o1")
        ended = owls("turn", "end", room, "--as", "owl", "--run-id", "o1", "--text", TEXT)
    finally:
        file.write_text(before)

    assert (told["allowed"], told["reason"]) == (False, "refused")
    assert "trust is strict" in told["hint"]
    assert ended.code == 6


@pytest.mark.req("DG-161")
def test_a_token_that_the_master_does_not_take_lets_no_one_speak(owls, room):
    for token in ("wrong-token-0123456789", "", "zwölf"):
        env = {"COUNCIL_RELAY_TOKEN": token}
        told = owls.council("turn", "begin", room, "--as", "owl", "--json", env=env).json()
        assert (told["allowed"], told["reason"]) == (False, "master_unreachable")
        assert "COUNCIL_RELAY_TOKEN" in told["hint"]
        assert not token or token not in told["hint"]


@pytest.mark.req("DG-161")
def test_the_token_stands_in_no_file_of_a_slave(owls, room):
    assert owls.json("turn", "begin", room, "--as", "owl")["allowed"]
    files = [one for one in owls.root.rglob("*") if one.is_file()]
    assert files
    assert not any(owls.token.encode() in one.read_bytes() for one in files)
