"""Programs to which our server is added, and taken away again, by their own commands.

What a program keeps, and where, is its own matter: no file of its is written or read here.

Source: CL-007.
"""

from __future__ import annotations

import re

from council.core.errors import CouncilError, UsageError
from council.core.plain_text import plain_line, shell_word
from council.core.record import Record
from council.drivers.short_calls import called
from council.operations.integrating import Integrated
from council.operations.place import Place, council_argv

SERVER = "council"
_LONGEST_S = 60
_NOT_THERE = re.compile(r"\bNo MCP server named\b|\bnot found\b")


class Client(Record):
    """One program: the words of its commands, in which `{scope}` is filled in.

    `scopes` are where it may keep the server, the usual one first; none if it asks nothing.
    """

    add: str
    remove: str
    check: str
    scopes: tuple[str, ...] = ()


CLIENTS = {
    "claude": Client(
        add=f"mcp add {SERVER} --scope {{scope}} --",
        remove=f"mcp remove {SERVER} --scope {{scope}}",
        check=f"mcp get {SERVER}",
        scopes=("user", "local", "project"),
    ),
    "codex": Client(
        add=f"mcp add {SERVER} --", remove=f"mcp remove {SERVER}", check=f"mcp get {SERVER}"
    ),
    "gemini": Client(
        add=f"mcp add --scope {{scope}} {SERVER}",
        remove=f"mcp remove --scope {{scope}} {SERVER}",
        check="mcp list",
        scopes=("user", "project"),
    ),
}


class Joining(Record):
    """The commands by which our server is added to a program, and by which it goes."""

    client: str
    add: list[str]
    remove: list[str]
    check: list[str]

    def to_text(self) -> str:
        """Return them as people would type them."""
        return "\n".join(" ".join(map(shell_word, one)) for one in (self.add, self.check))


def joining(place: Place, client: str, *, agent: str = "", scope: str = "") -> Joining:
    """Return how our server is added to a program.

    Args:
        place: The workspace that it is to serve.
        client: A name of `CLIENTS`.
        agent: Who acts by it, "" for a person.
        scope: Where the program keeps it, "" for the usual place.

    Raises:
        UsageError: The program has no such scope.
    """
    row = CLIENTS[client]
    if scope and scope not in row.scopes:
        known = f"one of: {', '.join(row.scopes)}" if row.scopes else "leave --scope out"
        raise UsageError(f"{client} has no scope {scope!r}", known)
    chosen = scope or next(iter(row.scopes), "")
    served = [*council_argv(), "mcp", "--root", place.root, *(["--as", agent] if agent else [])]

    def words(text: str) -> list[str]:
        return [client, *text.format(scope=chosen).split()]

    return Joining(
        client=client,
        add=[*words(row.add), *served],
        remove=words(row.remove),
        check=words(row.check),
    )


def add(place: Place, how: Joining) -> Integrated:
    """Add our server to a program, in the place of one of the same name; ask whether it is there.

    Raises:
        NotFoundError: The program is not on PATH.
        CouncilError: It refuses.
    """
    _run(place, how.remove)  # an older one; mostly there is none
    said = _run(place, how.add)
    if said is None or SERVER not in (_run(place, how.check) or ""):
        shown = " ".join(map(shell_word, how.add))
        raise CouncilError(f"{how.client} did not take the server", f"run by hand: {shown}")
    return Integrated(client=how.client, steps=[f"{how.client}: has the server {SERVER} now"])


def remove(place: Place, how: Joining) -> Integrated:
    """Take our server out of a program; where it is not there, nothing is done.

    Raises:
        NotFoundError: The program is not on PATH.
    """
    told = _run(place, how.remove)
    gone = told is not None and not _NOT_THERE.search(told)  # codex and gemini end with 0 as well
    said = f"no longer has the server {SERVER}" if gone else f"had no server {SERVER} there"
    return Integrated(client=how.client, steps=[f"{how.client}: {said}"])


def _run(place: Place, argv: list[str]) -> str | None:
    """Return what a command of a program prints, None if it fails."""
    missing = (f"no program {argv[0]} on PATH", "install it, or add it to PATH")
    done = called(argv, place.environ, missing, "run it by hand", timeout_s=_LONGEST_S)
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    return None if done.returncode else plain_line(text)
