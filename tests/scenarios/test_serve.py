"""`council serve` as a process: its address, a link, live events, runs that it starts, its end."""

import http.client
import json
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.slow


class Server:
    """A server of a workspace; `said` is its JSON document."""

    def __init__(self, process, root) -> None:
        self.process, self.said = process, json.loads(process.stdout.readline())
        self.token = (root / self.said["token"]).read_text().strip()

    def ask(self, method: str, path: str, body=None, **headers: str):
        """Return the response to a request; its body is read later."""
        connection = http.client.HTTPConnection("127.0.0.1", self.said["port"], timeout=60)
        headers = headers or {"Authorization": f"Bearer {self.token}"}
        headers = {"Content-Type": "application/json", **headers}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        return connection.getresponse()

    def zombies(self) -> int:
        """Return how many children have ended and were not waited for."""
        command = ["ps", "-o", "stat=", "--ppid", str(self.process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.count("Z")


@contextmanager
def serving(workspace, *words: str):
    process = workspace.start("serve", "--port", "0", "--json", *words)
    try:
        yield Server(process, workspace.root)
    finally:
        process.kill()
        process.wait()


def test_a_server_from_its_link_to_its_end(workspace) -> None:
    w = workspace("ada", "bob")
    w.program("ada", 'echo "## Position"; echo "Green tea, says ada."')
    with serving(w) as server:
        assert server.said["url"] == f"http://127.0.0.1:{server.said['port']}"
        assert (w.root / server.said["token"]).stat().st_mode & 0o777 == 0o600
        link = server.said["link"].removeprefix(server.said["url"])
        opened = server.ask("GET", link, Accept="*/*")
        assert opened.status == 303
        cookie = opened.headers["Set-Cookie"].partition(";")[0]
        assert server.ask("GET", "/api/council/status", Cookie=cookie).status == 200
        stream = server.ask("GET", "/api/council/events")
        assert stream.headers["X-Accel-Buffering"] == "no"
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        assert stream.readline() == b"event: ready\n"
        assert server.ask("POST", "/api/council/debates", {"topic": "Tea?"}).status == 201
        while b"Green tea, says ada." not in stream.readline():
            pass
        w.json("say", "Mind the cost.")
        while b"Mind the cost." not in stream.readline():
            pass
        until = time.monotonic() + 30
        while server.zombies() and time.monotonic() < until:
            time.sleep(0.1)
        assert server.zombies() == 0
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0
        assert server.process.stderr.read() == ""


def test_what_cannot_be_served_is_one_line(workspace) -> None:
    w = workspace("ada")
    with serving(w) as server:
        port = str(server.said["port"])
        for words in (("--port", port), ("--port", "99999"), ("--host", "203.0.113.1")):
            done = w.run("serve", *words)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
