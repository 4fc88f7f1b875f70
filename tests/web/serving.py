"""A real server in a workspace, and what asks it: plain HTTP, and readers of its streams."""

from __future__ import annotations

import http.client
import json
import queue
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlencode

from council.operations.place import open_place
from council.store.paths import Workspace
from council.web.starting import fresh_link
from tests.conftest import Council
from tests.forks import Forked

API = "/api/council"
WAIT_S = 60.0  # how long a test waits for what must come


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    def json(self) -> Any:
        """Return the body as the one JSON document it must be."""
        return json.loads(self.body)


class Message(NamedTuple):
    """One message of a stream; `event` is "message" where none is named, `id` "" for none."""

    event: str
    id: str
    data: str
    comment: str

    def json(self) -> Any:
        """Return what was sent with it."""
        return json.loads(self.data)


class Reader:
    """A reader of a stream; a thread takes what comes, so that any wait can have an end.

    Attributes:
        status: What the request was answered with.
        headers: The same.
        body: The answer where it was no stream.
        raw: Every byte that came.
        retry: After how many milliseconds it is asked to come back, None if it was not asked.
        last: The id of the last message that had one: what a browser would come back with.
    """

    def __init__(self, port: int, path: str, headers: dict[str, str]) -> None:
        self.raw = bytearray()
        self.retry: int | None = None
        self.last = headers.get("Last-Event-ID", "")
        self.body = b""
        self._came: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._asked = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        self._asked.request("GET", path, headers=headers)
        self._socket = self._asked.sock
        self._answer = self._asked.getresponse()
        self.status, self.headers = self._answer.status, dict(self._answer.getheaders())
        if self.status == 200:
            self._socket.settimeout(None)
            self._thread = Thread(target=self._take, daemon=True)
            self._thread.start()
        else:
            self.body = self._answer.read()
            self._came.put(None)

    def _take(self) -> None:
        fields: dict[str, str] = {}
        with suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            while line := self._answer.readline():
                self.raw += line
                name, _, value = line.decode().rstrip("\n").partition(":")
                value = value.removeprefix(" ")
                if line != b"\n":
                    known = fields.get(name)
                    fields[name] = value if known is None else f"{known}\n{value}"
                elif fields:
                    self._put(fields)
                    fields = {}
        self._came.put(None)

    def _put(self, fields: dict[str, str]) -> None:
        if "retry" in fields:
            self.retry = int(fields["retry"])
        self.last = fields.get("id", self.last)
        told = (fields.get(one, "") for one in ("id", "data", ""))
        self._came.put(Message(fields.get("event", "message"), *told))

    def next(self, timeout_s: float = WAIT_S, *, comments: bool = False) -> Message | None:
        """Return the next message, None when the server has ended the stream.

        Raises:
            TimeoutError: None came in time.
        """
        ends = time.monotonic() + timeout_s
        while True:
            try:
                found = self._came.get(timeout=max(0.0, ends - time.monotonic()))
            except queue.Empty:
                raise TimeoutError("no message came") from None
            if found is None:
                self._came.put(None)  # it stays ended
            if found is None or comments or found.data or found.event != "message":
                return found

    def until(self, wanted: Callable[[Message], bool], timeout_s: float = WAIT_S) -> list[Message]:
        """Return what came up to and with the first message that is wanted.

        Raises:
            TimeoutError: It did not come in time.
            EOFError: The stream ended before.
        """
        ends, found = time.monotonic() + timeout_s, []
        while True:
            message = self.next(ends - time.monotonic())
            if message is None:
                raise EOFError(f"the stream ended after {[one.event for one in found]}")
            found.append(message)
            if wanted(message):
                return found

    def until_type(self, kind: str, timeout_s: float = WAIT_S) -> list[Message]:
        """Return what came up to and with the first event of a type, such as `phase.changed`."""
        return self.until(lambda one: bool(one.id) and one.json()["type"] == kind, timeout_s)

    def until_id(self) -> str:
        """Return the id with which it would come back, once it was told one."""
        while not self.last:
            if self.next(comments=True) is None:
                raise EOFError("the stream ended without an id")
        return self.last

    def rest(self) -> list[Message]:
        """Return what came and was not taken, up to the end of the stream, which must come."""
        return list(iter(self.next, None))

    def close(self) -> None:
        """Go away."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if self.status == 200:
            self._thread.join(WAIT_S)
        with suppress(OSError):
            self._asked.close()


class Served:
    """`council serve` in a workspace; every request bears its token unless `headers` say else."""

    def __init__(
        self,
        council: Council,
        log: Path,
        env: dict[str, str] | None = None,
        around: Callable[[list[str]], list[str]] = list,
    ) -> None:
        self.council = council
        self.log = log
        self._env = env
        self._around = around
        self.port = 0
        self.link = ""
        self.process: subprocess.Popen[bytes] | Forked | None = None
        self.readers: list[Reader] = []

    @property
    def url(self) -> str:
        """Where it is: scheme, name and port."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The token of programs."""
        return Path(Workspace(str(self.council.root)).control, "web-token").read_text().strip()

    def start(self) -> None:
        """Start it, at the port that it had before if there was one, and wait until it serves."""
        plain = self.council.argv("serve", "--port", str(self.port))
        argv, env = self._around(plain), self.council.env(env=self._env)
        forks = self.council.forks
        with self.log.open("ab") as log:
            if forks is not None and argv == plain and forks.can_run(env):
                self.process = forks.start(argv, self.council.root, env, log)
            else:
                self.process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self.council.root,
                    env=env,
                )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/\S*)", line)
        assert found, line + self.log.read_text()
        self.port, self.link = int(found[1]), found[2]

    def kill(self) -> None:
        """Kill it as a machine does that fails; its readers see their streams end."""
        assert self.process is not None
        self.process.kill()
        self._buried()

    def restart(self) -> None:
        """Kill it, and start it at the same port."""
        self.kill()
        self.start()

    def end(self, timeout_s: float = 30) -> int:
        """End it as Ctrl-C does, with all its readers; return its exit code."""
        for reader in self.readers:
            reader.close()
        self.readers.clear()
        if self.process is None:
            return 0
        self.process.terminate()
        return self._buried(timeout_s)

    def _buried(self, timeout_s: float = 30) -> int:
        assert self.process is not None and self.process.stdout is not None
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()
            self.process = None
        return code

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> Reply:
        """Return the answer to a request; `Accept_Language` is the header, None leaves one out."""
        given = {} if "Authorization" in headers else {"Authorization": f"Bearer {self.token}"}
        given |= {name.replace("_", "-"): one for name, one in headers.items()}  # type: ignore[misc]
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            kept = {name: one for name, one in given.items() if one is not None}
            asked.request(method, path, body, kept)
            answer = asked.getresponse()
            told = {name.lower(): one for name, one in answer.getheaders()}
            return Reply(answer.status, told, answer.read())
        finally:
            asked.close()

    def get(self, path: str, **headers: str | None) -> Reply:
        """Return the answer to a GET."""
        return self.ask("GET", path, **headers)

    def post(self, path: str, record: Any = None, **headers: str | None) -> Reply:
        """Return the answer to a POST of JSON."""
        headers = {"Content_Type": "application/json", **headers}
        return self.ask("POST", path, json.dumps(record or {}).encode(), **headers)

    def delete(self, path: str, **headers: str | None) -> Reply:
        """Return the answer to a DELETE."""
        return self.ask("DELETE", path, **headers)

    def cookie(self) -> str:
        """Return the cookie that the printed link gives, once."""
        reply = self.get(self.link, Authorization=None)
        assert reply.status == 303, reply
        return reply.headers["set-cookie"].partition(";")[0]

    def submit(self, path: str, cookie: str, **fields: str) -> Reply:
        """Post a form as a browser with that cookie does."""
        return self.ask(
            "POST",
            path,
            urlencode(fields).encode(),
            Authorization=None,
            Cookie=cookie,
            Origin=self.url,
            Content_Type="application/x-www-form-urlencoded",
        )

    def read(self, path: str = f"{API}/events", last: str = "", **headers: str) -> Reader:
        """Return a new reader of a stream; `last` is the id of the last event that it had."""
        given = {"Authorization": f"Bearer {self.token}", **headers}
        if last:
            given["Last-Event-ID"] = last
        reader = Reader(self.port, path, given)
        self.readers.append(reader)
        return reader

    def worker(self) -> int:
        """Return the process that carries its calls out."""
        assert self.process is not None
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(listed.read_text().split()[0])


@contextmanager
def serving(
    council: Council,
    folder: Path,
    env: dict[str, str] | None = None,
    around: Callable[[list[str]], list[str]] = list,
) -> Iterator[Served]:
    """Serve a workspace for as long as the block lasts; `folder` gets the server's log.

    `around` makes of the argv of the command that which is started.
    """
    served = Served(council, folder / "serve.log", env, around)
    served.start()
    try:
        yield served
    finally:
        served.end()
    log = served.log.read_text()
    assert "Traceback" not in log, log


@contextmanager
def begun_again(served: Served) -> Iterator[Served]:
    """Lend a server out with a fresh link; afterwards its workspace is as it was before.

    What is in it is put back under a server that runs: it keeps nothing of what it has shown.
    """
    root = served.council.root
    place = open_place(str(root), "", {})
    served.link = fresh_link(place).removeprefix(served.url)
    before = {one: None if one.is_dir() else one.read_bytes() for one in root.rglob("*")}
    yield served
    while strays := [one for one in sorted(root.rglob("*"), reverse=True) if one not in before]:
        for one in strays:
            with suppress(OSError):  # a heartbeat that an answer started writes to its end
                one.rmdir() if one.is_dir() and not one.is_symlink() else one.unlink()
    for one, data in sorted(before.items()):
        if data is None:
            one.mkdir(exist_ok=True)
        elif not one.exists() or one.read_bytes() != data:
            one.write_bytes(data)
    log = served.log.read_text()
    assert "Traceback" not in log, log
