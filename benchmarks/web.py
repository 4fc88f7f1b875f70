"""How soon the readers of the server have what happened, and what serving them costs.

`python -m benchmarks.web --hour` serves for an hour before it looks at the memory.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import results
from benchmarks.measuring import Part, Row, in_turns, tell
from benchmarks.workspaces import COUNCIL, PASS, Site
from council.core.events import Event
from council.store.events import append, loose_records

READERS = 200
EVENTS = 2_000
MEDIAN_MS, MOST_MS = 300.0, 1000.0
BOUND = 1.1
MOST_MB = 150.0
STATE_SIZE = 30_000
_IDLE_S = 10.0
_MOST_IDLE_MS = 20.0  # of a second
_PATIENCE_S = 60.0


def measure(
    folder: Path, rounds: int, readers: int = READERS, events: int = EVENTS, hours: float = 0.0
) -> list[Part]:
    """Measure turns of three kinds, an answer with and without the server, and the server itself.

    Args:
        folder: Where.
        rounds: How many rounds count.
        readers: How many read along.
        events: How many events there are before the memory is looked at.
        hours: Over how long these are spread.
    """
    site = Site(folder).with_agents()
    seats = site.seats(STATE_SIZE, 3 * (rounds + 1) + 8)
    tell(f"{readers} readers: {rounds} rounds")
    with _served(site, readers) as crowd:
        parts = [_latencies(site, crowd, seats, rounds)]
    alone = _alone(site, seats, rounds, readers)
    tell(f"{events} events to {readers} readers")
    with _served(site, readers) as crowd:
        grown = _grown(site, crowd, events, hours)
        time.sleep(1)
        before = crowd.cpu_ms()
        time.sleep(_IDLE_S)
        idle = (crowd.cpu_ms() - before) / _IDLE_S
    memory = Row(f"after {events:,} events", grown, "what it may take", MOST_MB, 1.0)
    bare = site.timed(PASS)
    rows = [
        Row("council respond, served", alone["served"], "not served", alone["alone"], BOUND),
        Row("the server in a quiet second", idle, "python -c pass", bare, limit_ms=_MOST_IDLE_MS),
    ]
    return [
        *parts,
        Part(
            f"What serving {readers} readers costs",
            f"An answer while `council serve` sends everything to {readers} readers, in turns with "
            "the same answer while the server is stopped (SIGSTOP); and the time that server and "
            "worker take of a processor while nothing happens.",
            rows,
        ),
        Part(
            f"Memory of the server with {readers} readers",
            "Resident memory of the server and of the process that carries its calls out.",
            [memory],
            unit="MB",
        ),
    ]


def _latencies(site: Site, crowd: _Crowd, seats: Iterator[tuple[str, str]], rounds: int) -> Part:
    taken: dict[str, list[float]] = {"respond": [], "save": [], "heartbeat": []}
    bare = []
    for number in range(rounds + 1):
        name, agent = next(seats)
        answer = partial(site.printed, "respond", "--as", agent, "--name", name, "Yes.")
        found = {"respond": crowd.after(_recorded(agent), answer)}
        name, agent = next(seats)
        found["save"] = crowd.after(b"event: changed", partial(_save, site, name, agent))
        found["heartbeat"] = crowd.after(_recorded(agent), partial(site.printed, "heartbeat"))
        bare.append(site.timed(PASS))
        for what, many in found.items():
            taken[what] += many if number else []
    against = ("python -c pass", statistics.median(bare))
    rows = []
    told = {
        "respond": "council respond",
        "save": "a save by an editor",
        "heartbeat": "a heartbeat that takes it in",
    }
    for what, many in taken.items():
        rows.append(
            Row(f"{told[what]}, median", statistics.median(many), *against, limit_ms=MEDIAN_MS)
        )
        rows.append(Row(f"{told[what]}, slowest", max(many), *against, limit_ms=MOST_MS))
    return Part(
        f"From a turn to {crowd.size} readers",
        "From the end of a command of another process, or of a save, to the message at each "
        f"reader of {API}; a message that came before the command ended counts as 0. The readers "
        "are sockets of the process that measures, on the same machine.",
        rows,
    )


API = "/api/council/events"


def _recorded(agent: str) -> bytes:
    return b'"agentId":"%s","type":"contribution.recorded"' % agent.encode()


def _save(site: Site, name: str, agent: str) -> None:
    """Answer for an agent as a person does with an editor that renames."""
    file = site.file(name)
    text = file.read_text(encoding="utf-8")
    text = text.replace(f"(agent:{agent}): WAITING", f"(agent:{agent}): RESPONDED")
    heading = f"{agent.capitalize()}\n"
    at = text.index(heading, text.index("\n## Responses - Phase CHALLENGE")) + len(heading)
    fresh = file.with_suffix(".new")
    said = f"[Tour {re.findall(r'- Round: ([0-9]+)', text)[0]}]: Yes, says {agent}."
    fresh.write_text(f"{text[:at]}{said}\n{text[at:]}", encoding="utf-8")
    fresh.replace(file)


def _alone(
    site: Site, seats: Iterator[tuple[str, str]], rounds: int, readers: int
) -> dict[str, float]:
    def answer() -> float:
        name, agent = next(seats)
        return site.timed((COUNCIL, "respond", "--as", agent, "--name", name, "Yes."))

    with _served(site, readers) as crowd:

        def stopped() -> float:
            crowd.signal("STOP")
            try:
                return answer()
            finally:
                crowd.signal("CONT")
                time.sleep(0.5)  # what it has to send now is no cost of the next one

        def served() -> float:
            try:
                return answer()
            finally:
                time.sleep(0.5)

        return in_turns({"alone": stopped, "served": served}, max(3, rounds // 2))


def _grown(site: Site, crowd: _Crowd, events: int, hours: float) -> float:
    """Return the MB of the server after so many events, each of which all readers have got."""
    paths = site.place().paths
    for number in range(events):
        [record] = loose_records(
            [Event(type="council.resumed", data={"number": number})], "", site.place().now()
        )
        write = partial(append, paths, [record])
        if number % 100 == 0 or number == events - 1:
            crowd.after(record["eventId"].encode(), write)
        else:
            write()
        time.sleep(max(0.005, hours * 3600 / events))
    return crowd.resident_mb()


# --- A server, and many who read


@contextmanager
def _served(site: Site, readers: int) -> Iterator[_Crowd]:
    process = subprocess.Popen(
        [COUNCIL, "serve", "--port", "0"], cwd=site.root, env=site.env, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        found = re.search(r":(\d+)/", process.stdout.readline().decode())
        assert found, "the server did not start"
        token = Path(site.place().paths.control, "web-token").read_text().strip()
        crowd = _Crowd(process.pid, int(found[1]), token, readers)
        yield crowd
        crowd.end()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


class _Crowd:
    """Readers of the stream of everything, in a thread of their own.

    Attributes:
        size: How many they are.
    """

    def __init__(self, process: int, port: int, token: str, size: int) -> None:
        self.size = size
        self.wanted, self.number = b"", 0
        self.came: list[float] = []
        self.all_came = threading.Event()
        self._process = process
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asked = f"GET {API} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}"
        begun = self._wait_for(b"HTTP/1.1 200")
        joining = self._join(port, f"{asked}\r\n\r\n".encode())
        asyncio.run_coroutine_threadsafe(joining, self._loop).result(_PATIENCE_S)
        begun()

    async def _join(self, port: int, asked: bytes) -> None:
        for _ in range(self.size):
            transport, _ = await self._loop.create_connection(
                lambda: _Reader(self), "127.0.0.1", port
            )
            transport.write(asked)

    def _wait_for(self, wanted: bytes) -> Callable[[], list[float]]:
        self.came, self.wanted, self.number = [], wanted, self.number + 1
        self.all_came.clear()

        def waited() -> list[float]:
            assert self.all_came.wait(_PATIENCE_S), f"{len(self.came)} of {self.size} got {wanted}"
            return self.came

        return waited

    def after(self, wanted: bytes, work: Callable[[], object]) -> list[float]:
        """Return in how many milliseconds after `work` each reader has got what is wanted."""
        waited = self._wait_for(wanted)
        work()
        ended = time.perf_counter()
        return [max(0.0, one - ended) * 1000 for one in waited()]

    def got(self) -> None:
        """Note that one more reader has it."""
        self.came.append(time.perf_counter())
        if len(self.came) == self.size:
            self.all_came.set()

    def processes(self) -> list[int]:
        """Return the server and its worker."""
        listed = Path(f"/proc/{self._process}/task/{self._process}/children").read_text()
        return [self._process, *map(int, listed.split())]

    def signal(self, name: str) -> None:
        """Send a signal to both."""
        for one in self.processes():
            subprocess.run(["kill", f"-{name}", str(one)], check=True)

    def resident_mb(self) -> float:
        """Return how much memory both have."""
        texts = (Path(f"/proc/{one}/status").read_text() for one in self.processes())
        return sum(int(text.split("VmRSS:")[1].split()[0]) for text in texts) / 1024

    def cpu_ms(self) -> float:
        """Return how long both, and what they started, have had a processor."""
        found = 0
        for one in self.processes():
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            found += sum(map(int, fields[11:15]))
        return found * 10.0

    def end(self) -> None:
        """Let all go away."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Reader(asyncio.Protocol):
    def __init__(self, crowd: _Crowd) -> None:
        self._crowd = crowd
        self._had, self._rest = 0, b""

    def data_received(self, data: bytes) -> None:
        wanted, number = self._crowd.wanted, self._crowd.number
        if number == self._had:
            return
        self._rest = self._rest[-len(wanted) :] + data
        if wanted in self._rest:
            self._had, self._rest = number, b""
            self._crowd.got()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="council-bench-") as name:
        parts = measure(Path(name).resolve() / "web", 5, hours="--hour" in sys.argv)
    print(results.table(parts))
