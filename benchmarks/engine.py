"""What an engine costs: two machines with a link each, a PostgreSQL server that syncs."""

from __future__ import annotations

import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from benchmarks.crowds import make_idle
from benchmarks.measuring import Part, Row, in_turns, milliseconds, tell
from benchmarks.start_up import HOT_BOUND, STATE_SIZE
from benchmarks.turns import Played, program, until
from benchmarks.workspaces import COUNCIL, PASS, Site
from council.core.errors import NotFoundError
from council.drivers.postgres_server import Server, kept, own_server

CROWDS = (1_000, 10_000)
CROWD_BOUND = 15.0
WRITERS = 8
WRITERS_BOUND, LONGEST_BOUND = 3.0, 10.0
TURN_LIMIT_MS, EDIT_LIMIT_MS = 300.0, 1000.0
_SMALL = 30_000
# The heartbeat that a link begins once a file has changed is over then, and disturbs no other.
_LINK_RESTS_S = 0.8
_BARE = "python -c pass"


def measure(folder: Path, rounds: int, crowds: tuple[int, ...] = CROWDS) -> list[Part]:
    """Measure commands with a link, many who write at once, and the way between two machines."""
    try:
        with own_server(is_durable=True) as server:
            return [
                _commands(folder / "commands", server, rounds, crowds),
                _writers(folder / "writers", server, max(3, rounds // 2)),
                _between(folder / "between", server, rounds),
            ]
    except NotFoundError as error:
        tell(f"engine: {error.message}")
        return [Part("Two machines", f"Not measured: {error.message}.", [])]


class Joined(Site):
    """A workspace on one machine of an engine, with a link while a `with` block lasts."""

    def __init__(self, root: Path, server: Server) -> None:
        super().__init__(root)
        self.env |= server.secret
        self._url = server.url
        self._link = ExitStack()

    def __enter__(self) -> Joined:
        self._link.enter_context(
            kept(
                [COUNCIL, "link"],
                signal.SIGTERM,
                subprocess.DEVNULL,
                cwd=self.root,
                env=self.env,
            )
        )
        until((self.shared / ".council" / "link.sock").exists)
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()

    def come_in(self, how: str, schema: str) -> None:
        """Begin an engine, or join it; each has a schema of its own."""
        words = ("--machine", self.root.name, "--schema", schema)
        self.printed("engine", how, self._url, *words)


@contextmanager
def _two(folder: Path, server: Server, settings: str = "") -> Iterator[tuple[Joined, Joined]]:
    """Yield two machines of one council, each with a link."""
    north, south = (Joined(folder / name, server) for name in ("north", "south"))
    for site, how in ((north, "init"), (south, "join")):
        (site.root / "council.toml").write_text(settings)
        site.come_in(how, folder.name)
    with north, south:
        yield north, south


def _commands(folder: Path, server: Server, rounds: int, crowds: tuple[int, ...]) -> Part:
    moving, still = (Joined(folder / name, server).with_agents() for name in ("moving", "still"))
    seats = moving.seats(STATE_SIZE, rounds + 1)
    still.converse("active", STATE_SIZE)
    for site in (moving, still):
        site.come_in("init", site.root.name)
    joined = {"council heartbeat, nothing due": still}
    for number in crowds:
        tell(f"engine: {number} idle conversations")
        crowd = joined[f"council heartbeat, {number:,} idle"] = Joined(folder / str(number), server)
        make_idle(crowd.root, number)
        crowd.come_in("init", f"idle{number}")

    def respond() -> float:
        name, agent = next(seats)
        ms = moving.timed(
            (COUNCIL, "respond", "--name", name, "--as", agent, f"Yes, says {agent}.")
        )
        time.sleep(_LINK_RESTS_S)
        return ms

    runs: dict[str, Callable[[], float]] = {
        _BARE: lambda: still.timed(PASS),
        "council respond": respond,
    }
    for what, one in joined.items():
        runs[what] = lambda one=one: one.timed((COUNCIL, "heartbeat"))  # type: ignore[misc]
    with ExitStack() as links:
        for one in (moving, *joined.values()):
            links.enter_context(one)
            one.printed("heartbeat")
        tell(f"engine: {len(runs)} commands, {rounds} rounds")
        found = in_turns(runs, rounds)
    rows = [
        Row(what, ms, _BARE, found[_BARE], CROWD_BOUND if what.endswith(" idle") else HOT_BOUND)
        for what, ms in found.items()
        if what != _BARE
    ]
    return Part(
        "Commands with a link",
        "As above, in workspaces that have joined an engine and have `council link` running. The "
        "PostgreSQL server is on this machine, and syncs what it commits.",
        rows,
    )


def _writers(folder: Path, server: Server, rounds: int) -> Part:
    numbers, taken = count(), list[float]()
    files = Site(folder / "files")

    def write(what: str, sites: tuple[Site, ...]) -> float:
        name = f"w{next(numbers)}"
        sites[0].converse(name, _SMALL, people=WRITERS + 1)
        until(sites[-1].file(name).exists)

        def answer(number: int) -> float:
            words = ("--name", name, "--as", f"p{number}", f"Yes, says p{number}.")
            return sites[number % len(sites)].timed((COUNCIL, "respond", *words))

        with ThreadPoolExecutor(WRITERS) as pool:
            each: list[float] = []
            ms = milliseconds(lambda: each.extend(pool.map(answer, range(WRITERS))))
        if what == "engine":
            taken.extend(each)
        return ms

    with _two(folder / "many", server) as machines:
        tell(f"engine: {WRITERS} writers, {rounds} rounds")
        found = in_turns(
            {
                "files": lambda: write("files", (files,)),
                "engine": lambda: write("engine", machines),
            },
            rounds,
        )
    return Part(
        f"{WRITERS} who write one conversation from two machines",
        f"Wall time from the first start to the last end of {WRITERS} `council respond`, half of "
        "them on each machine, against as many in a workspace without an engine. Then the one that "
        "took longest in all rounds against the median of all.",
        [
            Row("two machines", found["engine"], "files alone", found["files"], WRITERS_BOUND),
            Row("the longest", max(taken), "median", statistics.median(taken), LONGEST_BOUND),
        ],
    )


def _between(folder: Path, server: Server, rounds: int) -> Part:
    starts, numbers = folder / "starts", count()
    settings = f'{program(starts)}machines = ["south"]\n'
    with _two(folder / "pair", server, settings) as (north, south):
        played = Played(north, starts)
        north.converse("edited", _SMALL)
        until(south.file("edited").exists)

        def edit() -> float:
            said = f"A person adds line {next(numbers)}."
            title, _, rest = north.file("edited").read_text(encoding="utf-8").partition("\n")
            draft = north.root / "draft"
            draft.write_text(f"{title}\n\n{said}\n{rest}", encoding="utf-8")
            begun = time.perf_counter()
            draft.replace(north.file("edited"))
            until(lambda: said in south.file("edited").read_text(encoding="utf-8"))
            return (time.perf_counter() - begun) * 1000

        tell(f"engine: between two machines, {rounds} rounds")
        found = in_turns(
            {
                _BARE: lambda: north.timed(PASS),
                "turn": lambda: played.turn(f"turn{next(numbers)}"),
                "edit": edit,
            },
            rounds,
        )
    return Part(
        "From one machine to the other",
        "From the beginning of the last `council respond` of a round on one machine to the start "
        "of the first program of the next round on the other; and from the moment at which an "
        "editor saves the file on one to that at which the words stand in the file on the other. "
        "Both have a link.",
        [
            Row(
                "last answer → next start",
                found["turn"],
                _BARE,
                found[_BARE],
                limit_ms=TURN_LIMIT_MS,
            ),
            Row(
                "edit → in the other file",
                found["edit"],
                _BARE,
                found[_BARE],
                limit_ms=EDIT_LIMIT_MS,
            ),
        ],
    )
