"""Workspaces on several machines, joined to one database, and what must be the same in all.

Source: EN-001, EN-008.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from council.operations.place import Place
from tests.conftest import Council, Ran
from tests.engine.pairs import holding
from tests.faults.invariants import Expected, Watched
from tests.forks import Forks

_MOST_PULLS = 10
_OURS = Path("memory/shared/.council")
# Logs that are the union of what all machines wrote: their lines may stand in any order.
_UNIONS = ("memory/shared/protocol/inbox", "memory/shared/protocol/log")
_CONTEXTS = "memory/shared/protocol/contexts/"
_FOR_ALL = ("memory/shared/", "conseils/")
_FOR_ONE = (
    *(f"{_OURS}/", "memory/shared/events/", "memory/shared/BOARD.md"),
    "memory/shared/protocol/.told/liveness",
)


class Machine(Council):
    """One workspace and the commands given in it.

    Args:
        root: The workspace.
        name: What the engine knows the machine as.
        url: The database, without a password.
        forks: Where commands are forked from; None starts each.
        through: Words before each command, which put it into another network.

    Attributes:
        off: How wrong the machine's clock is.
    """

    declares = False

    def __init__(
        self,
        root: Path,
        name: str,
        url: str,
        *,
        forks: Forks | None = None,
        through: tuple[str, ...] = (),
    ) -> None:
        home = root.parent / f"{root.name}-home"
        (root / "memory" / "shared").mkdir(parents=True, exist_ok=True)
        home.mkdir(exist_ok=True)
        super().__init__(root, home, None if through else forks)
        self.name, self.url, self.through = name, url, through
        self.off = timedelta(0)

    def argv(self, *words: str | Path) -> list[str]:
        return [*self.through, *super().argv(*words)]

    def env(
        self, *, now: datetime | str | None = None, env: dict[str, str] | None = None
    ) -> dict[str, str]:
        wrong = now + self.off if isinstance(now, datetime) else now
        return super().env(now=wrong, env=env)

    def do(self, *words: str, now: datetime | str | None = None) -> Ran:
        """Run a command that must succeed."""
        ran = self(*words, now=now)
        assert ran.code == 0, (self.name, words, ran)
        return ran

    def init(self, *words: str) -> None:
        self.do("engine", "init", self.url, "--machine", self.name, *words)

    def join(self) -> None:
        self.do("engine", "join", self.url, "--machine", self.name)

    @property
    def place(self) -> Place:
        """The workspace as its next command finds it."""
        return Place(str(self.root), {}, None)

    def configure(self, tables: str) -> None:
        """Add tables to the settings."""
        with (self.root / "council.toml").open("a", encoding="utf-8") as settings:
            settings.write(tables)

    def watched(self, name: str = "active") -> Watched:
        return Watched(self.root, name)

    def save(self, words: str, name: str = "active") -> None:
        """Add a line to a live file as a person does."""
        live = self.watched(name).live
        title, _, rest = live.read_text(encoding="utf-8").partition("\n")
        draft = live.with_name(".draft")
        draft.write_text(f"{title}\n\n{words}\n{rest}", encoding="utf-8")
        draft.rename(live)

    def files(self) -> Iterator[Path]:
        """Yield every file of the workspace."""
        for folder, _, names in os.walk(self.root):
            yield from (Path(folder) / name for name in names)

    def shown(self) -> dict[str, object]:
        """Return what all machines have alike once all is quiet, by its place.

        These are the files for people, minutes and messages byte for byte, the last line
        of each journal, and the lines of other logs whatever their order.
        """
        found: dict[str, object] = {}
        for path in self.files():
            place = str(path.relative_to(self.root))
            if path.name.startswith("."):  # what a killed writer left, a lock
                continue
            if path.name == "revisions.jsonl" or place.startswith(_CONTEXTS):
                found[place] = path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2]
            elif place.startswith(_UNIONS):
                found[place] = frozenset(path.read_bytes().splitlines())
            elif place.startswith(_FOR_ALL) and not place.startswith(_FOR_ONE):
                found[place] = path.read_bytes()
        return found

    def holding(self, text: str) -> list[str]:
        """Return the files in which a text can be read."""
        return holding(self.root, text)


class Machines(list[Machine]):
    """The machines of one council; the first makes the engine, the others join it."""

    def begin(self) -> Machines:
        self[0].init()
        for one in self[1:]:
            one.join()
        return self

    def quiet(self) -> None:
        """Pull everywhere until nothing changes any more."""
        before: list[dict[str, object]] = []
        for _ in range(_MOST_PULLS):
            for one in self:
                one.do("engine", "pull")
            now = [one.shown() for one in self]
            if now == before:
                return
            before = now
        raise AssertionError(f"after {_MOST_PULLS} pulls on each machine it still changes")

    def same_everywhere(self) -> list[str]:
        """Return each place that is not the same on a machine as on the first."""
        first, *others = [one.shown() for one in self]
        return [
            f"{place} differs on {self[0].name} and {self[at].name}"
            for at, other in enumerate(others, start=1)
            for place in sorted(first.keys() | other.keys())
            if first.get(place) != other.get(place)
        ]

    def settled(self, expected: Expected | None = None) -> list[str]:
        """Pull until all is quiet; return what is not the same, or not as expected, everywhere."""
        self.quiet()
        wrong = self.same_everywhere()
        if expected is not None:
            for one in self:
                wrong += [f"{one.name}: {line}" for line in one.watched().settled(expected)]
        return wrong


Maker = Callable[..., Machines]
