"""A slave before masters that are none, and what it refuses; two workspaces: `scenarios`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.cli.commands import at_rest, tree
from tests.conftest import Council, Ran
from tests.test_start_up import heavy, modules_after

TOKEN = "token-of-the-master-0123456789"
BEGIN = ("turn", "begin", "kitchen", "--as", "owl", "--run-id", "r1", "--json")


class Pretended(ThreadingHTTPServer):
    """A server on loopback that answers what a test says, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.status, self.answer, self.headers = 200, b"", {}
        self.ended = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Pretended

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.asked.append((self.command, self.path, dict(self.headers), body))
        if self.server.answer == b"silence":
            self.server.ended.wait(30)
            return
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def master() -> Iterator[Pretended]:
    server = Pretended()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def slave(council: Council, master: Pretended) -> Callable[..., Ran]:
    """The command in a workspace that is a slave of the pretended master."""
    assert council("init", "--agents", "owl,gecko").code == 0
    obey(council, master.url)
    return lambda *words, **how: council(*words, env={"COUNCIL_RELAY_TOKEN": TOKEN}, **how)


def obey(council: Council, url: str) -> None:
    with (council.root / "council.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[relay]\nrole = "slave"\nurl = "{url}"\n')


def problem(status: int, code: str, detail: str) -> tuple[int, bytes]:
    told = {"type": "about:blank", "title": "No", "status": status, "detail": detail, "code": code}
    return status, json.dumps(told).encode()


@pytest.mark.req("DG-156", "DG-157", "DG-160")
def test_the_rules_are_asked_in_the_words_of_the_document(slave, master):
    master.answer = b'{"accepted": true, "outcome": "awaiting-delivery", "currentSpeaker": "owl"}'
    text = "A text that ends with more than forty characters, as most of them do.\n"
    end = ("turn", "end", "kitchen", "--as", "owl")

    assert slave(*end, "--run-id", "r1", "--anchor", "7", "--text", text).code == 0
    assert slave(*end, "--text", "NO_REPLY").code == 0
    assert slave(*end, "--anchor", "seven", "--text", text).code == 2

    told = [json.loads(body) for *_, body in master.asked]
    whose = {"agentId": "owl", "channelId": "kitchen"}
    assert told == [
        {**whose, "runId": "r1", "isEmpty": False, "anchor": 7, "tail": text.rstrip()[-40:]},
        {**whose, "runId": "", "isEmpty": True},
    ]
    method, path, headers, _ = master.asked[0]
    assert (method, path) == ("POST", "/api/council/relay/turn-complete")
    assert headers["authorization"] == f"Bearer {TOKEN}"


ODD = {
    "a page": (200, b"<html>Welcome</html>"),
    "a list": (200, b"[true]"),
    "a word for a flag": (200, b'{"allowed": "yes", "currentSpeaker": "owl"}'),
    "another answer": (200, b'{"currentSpeaker": "owl"}'),
    "half an answer": (200, b'{"allowed": true, "currentSp'),
    "no text": (200, b'\xff\xfe{"allowed": true}'),
    "a deep one": (200, b'{"allowed":' + b"[" * 60_000),
    "an endless one": (200, b'{"allowed": true, "x": "' + b"x" * 8_000_000 + b'"}'),
    "a page that is not there": (404, b"<html>Not Found</html>"),
    "a gateway": (502, b'{"detail": "bad gateway"}'),
    "an echo": (401, TOKEN.encode()),
    "elsewhere": (302, b'{"allowed": true, "currentSpeaker": "owl"}'),
}


@pytest.mark.req("DG-161")
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_is_no_answer_lets_no_one_speak_and_is_one_line(slave, master, odd):
    master.status, master.answer = odd
    master.headers = {"location": f"{master.url}/elsewhere"} if odd[0] == 302 else {}

    told = slave(*BEGIN)

    assert told.code == 0
    answer = told.json()
    assert (answer["allowed"], answer["reason"]) == (False, "master_unreachable")
    assert answer["model"] == "dirigent/no-reply"
    assert answer["hint"].startswith(f"the master at {master.url} is not reached: ")
    ended = slave("turn", "end", "kitchen", "--as", "owl", "--text", "Yes.")
    assert ended.code == 1
    assert ended.err.startswith(f"council: the master at {master.url} is not reached: ")
    assert len(ended.err) < 500 and ended.err.count("\n") == 1
    assert TOKEN not in told.out + told.err + ended.out + ended.err
    assert len(master.asked) == 2, "no redirect is followed with the token"


@pytest.mark.req("DG-161")
@pytest.mark.parametrize("status", [403, 409, 422])
def test_what_the_master_refuses_is_said_in_its_words_without_the_token(slave, master, status):
    master.status, master.answer = problem(status, "refused", f"not with {TOKEN}\n\x1b[2J now")

    told = slave(*BEGIN)
    ended = slave("turn", "end", "kitchen", "--as", "owl", "--text", "Yes.")

    assert (told.json()["allowed"], told.json()["reason"]) == (False, "refused")
    said = f"the master at {master.url} answered: not with *** "
    assert told.json()["hint"].startswith(said)
    assert ended.code == {403: 6, 409: 4, 422: 3}[status]
    assert said in ended.err
    assert TOKEN not in told.out + ended.err and "\x1b" not in told.out + ended.err


@pytest.mark.req("DG-161")
def test_a_slave_that_has_no_token_or_no_network_says_so_and_asks_nobody(council, slave, master):
    for wrong in ("", " \n", "two\nlines-0123456789", "dash \u2014 0123456789"):
        told = council(*BEGIN, env={"COUNCIL_RELAY_TOKEN": wrong})
        assert told.json()["hint"].endswith("the variable COUNCIL_RELAY_TOKEN holds no token")
    assert council(*BEGIN).out == council(*BEGIN, env={"COUNCIL_RELAY_TOKEN": ""}).out
    assert master.asked == []

    settings = council.root / "council.toml"
    settings.write_text(settings.read_text().replace(master.url, "https://no-such-host.invalid"))
    told = slave(*BEGIN)
    assert told.json()["reason"] == "master_unreachable"
    shown = slave(*BEGIN[:-1])
    assert shown.out.startswith("owl: stay silent (master_unreachable: the master at https://no-")
    assert shown.out.count("\n") == 1


@pytest.mark.long
@pytest.mark.req("DG-161")
def test_a_master_that_is_silent_is_not_waited_for_longer_than_a_hook_may_wait(slave, master):
    master.answer = b"silence"
    begun = time.monotonic()

    told = slave(*BEGIN)

    assert time.monotonic() - begun < 8, "the hook of OpenClaw takes silence for a yes after 8 s"
    assert told.json()["hint"].endswith("no answer within 5 s")


@pytest.mark.req("DG-162", "DG-155")
def test_what_is_the_masters_is_refused_by_a_slave_and_names_the_master(
    slave, council, master, tmp_path
):
    (tmp_path / "guide.md").write_text("## Topic\nA\n## Goals\nB\n## Completion criteria\nC\n")
    guide = ("--guide", str(tmp_path / "guide.md"), "--participants", "elsewhere")
    refused = [
        *(("agent", "add", "fox"), ("agent", "edit", "owl", "--name", "Owl")),
        *(("agent", "remove", "owl"), ("agent", "register", "47", "--as", "owl")),
        *(("agent", "scan"), ("channel", "create", "chat", "x", "--participants", "owl")),
        *(("channel", "mode", "x"), ("channel", "mode", "x", "chat"), ("channel", "list")),
        *(("channel", "members", "x"), ("channel", "members", "x", "add", "owl")),
        *(("channel", "tie", "x", "--discord", "47"), ("channel", "tie", "x", "--remove")),
        *(("channel", "post", "x", "Hello.", "--as", "owl"), ("channel", "show", "x")),
        *(("discussion", "create", "x", "--as", "owl", *guide), ("turn", "status", "x")),
        ("discussion", "complete", "x", "--as", "owl", "--summary", "x.md"),
        ("turn", "wake", "x"),
    ]
    slave("status")  # settings that were read once are kept
    before = tree(council.root)
    for words in refused:
        done = slave(*words)
        assert (done.code, master.url in done.err) == (6, True), words
    assert master.asked == []
    assert tree(council.root) == before


@pytest.mark.req("DG-155", "DG-162")
def test_rooms_that_a_workspace_had_rest_while_it_is_a_slave(council, master, now):
    assert council("init").code == 0
    ran = council.root / "ran"
    with (council.root / "council.toml").open("a", encoding="utf-8") as file:
        file.write(f'[paths]\nego = "ego.json"\n[agents.owl]\nargv = ["touch", "{ran}"]\n')
    ego = {"columns": ["discord-id"], "agentScope": {"owl": {"discord-id": "4711"}}}
    words = ("channel", "create", "chat", "kitchen", "--participants", "owl,alice")
    assert council(*words, now=now).code == 0
    log = council.root / "memory/shared/channels/kitchen.jsonl"
    log.write_text('{"author": "alice", "content": "Which kettle?"}\n')
    (council.root / "ego.json").write_text(json.dumps(ego))
    obey(council, master.url)
    rooms = council.root / "memory/shared/channels"
    before = tree(rooms)

    beaten = council("heartbeat", "--json", now=now)
    at_rest(council.root)

    assert beaten.code == 0 and "kitchen" not in beaten.out
    assert "kitchen" not in council("status", "--json", now=now).out
    assert council("heartbeat", "kitchen", now=now).code == 6
    assert tree(rooms) == before
    accounts = ("agent", "list", "--json")
    assert not ran.exists() and "4711" not in council(*accounts).out
    assert "council agent scan" not in council("agent", "list").out
    settings = council.root / "council.toml"
    settings.write_text(settings.read_text().replace("slave", "master"))
    assert "council agent scan" in council("agent", "list").out
    council("heartbeat", now=now)
    at_rest(council.root)
    assert ran.exists(), "a master wakes the agent"
    assert "4711" in council(*accounts).out, "and takes over accounts"


@pytest.mark.req("DG-151", "DG-152", "DG-156")
def test_without_a_relay_a_workspace_answers_itself_and_loads_no_network(council, tmp_path, now):
    assert council("init", "--agents", "owl,gecko").code == 0
    words = ("channel", "create", "chat", "kitchen", "--participants", "owl,gecko")
    assert council(*words, now=now).code == 0

    asked = ("relay", "check-turn", "kitchen", "--as", "gecko", "--json")
    answer = council(*asked, now=now).json()
    code, modules = modules_after(council, tmp_path, *BEGIN)

    assert (answer["allowed"], answer["currentSpeaker"]) == (False, "owl")
    assert code == 0
    assert not {"http.client", "socket", "ssl", "urllib.parse"} & modules
    assert heavy(modules) == []


@pytest.mark.req("DG-152")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[relay]\nrole = "slave"', "relay.url is not given, and a slave needs it"),
        ('dirigentRole = "slave"', "relay.url is not given, and a slave needs it"),
        ('[relay]\nrole = "both"', "relay.role is not one of master, slave (it is 'both')"),
        ('[relay]\nurl = "http://10.0.0.1:80"', "relay.url is not a URL such as https://"),
        ('[relay]\nurl = "http://127.0.0.1.org"', "relay.url is not a URL such as https://"),
        ('[relay]\nurl = "https://me:key@host"', "relay.url is not a URL such as https://"),
        ('[relay]\ntoken_env = "a b"', "relay.token_env is not the name of a variable"),
        ('dirigentRole = "slave"\n[relay]\nrole = "master"', "dirigentRole is not master, as rel"),
    ],
)
def test_a_relay_that_cannot_be_is_one_clear_refusal(council, text, said):
    (council.root / "council.toml").write_text(text)
    refused = council("turn", "begin", "kitchen", "--as", "owl")
    assert (refused.code, refused.err.count("\n")) == (3, 1)
    assert said in refused.err


@pytest.mark.req("DG-152")
@pytest.mark.parametrize("text", ['dirigentRole = "slave"\n[relay]\n', '[relay]\nrole = "slave"\n'])
def test_the_role_is_read_by_either_name(council, master, text):
    (council.root / "council.toml").write_text(f'{text}url = "{master.url}/"\ntoken_env = "MINE"\n')
    master.answer = b'{"allowed": true, "currentSpeaker": "owl", "later": {"more": 1}}'

    told: Any = council(*BEGIN, env={"MINE": TOKEN}).json()

    assert told == {"allowed": True, "currentSpeaker": "owl"}
    assert [path for _, path, *_ in master.asked] == ["/api/council/relay/check-turn"]
    assert f"slave of {master.url}/" in council("doctor").out
