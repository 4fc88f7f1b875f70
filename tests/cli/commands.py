"""All commands of the command line, as Typer built them, and how to read a workspace."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from council.cli.loading import whole
from council.commands.options import ROWS, is_group

# A live view has no end and so no document.
WITHOUT_JSON = frozenset({"watch", "mcp", "serve", "link"})
# As long as a machine may take that has other things to do.
_PATIENCE_S = 240
# These make their own workspace or need none.
WITHOUT_WORKSPACE = frozenset(
    {
        *("init", "demo", "ask", "engine join"),
        *("msg build", "msg convert", "msg diff", "msg explain"),
        *("msg lint", "msg parse", "msg validate"),
        "events schema",
    }
)


def all_commands() -> dict[str, Any]:
    """Return each command by its whole name, such as `events tail`; old names, too."""
    found = {}
    for name in ROWS:
        one: Any = whole()
        for word in name.split():
            one = one.get_command(None, word)
        if not is_group(name):
            found[name] = one
    return found


def shortest(name: str) -> list[str]:
    """Return the words of the shortest legal call of a command: `1` for each argument it needs."""
    needed = [one for one in all_commands()[name].params if one.required]
    words = []
    for one in needed:
        words += [one.opts[0], "1"] if one.opts[0].startswith("-") else ["1"]
    return [*name.split(), *words]


def tree(root: Path) -> dict[str, str]:
    """Return the digest of every file below `root`."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def wait_until(look: Callable[[], Any]) -> Any:
    """Ask until the answer is true, and return it; another process does the work meanwhile."""
    ends_at = time.monotonic() + _PATIENCE_S
    while not (answer := look()):
        assert time.monotonic() < ends_at, "it did not happen in time"
        time.sleep(0.02)
    return answer


def at_rest(root: Path) -> None:
    """Wait until no process works in a workspace any more: nothing there changes by itself."""

    def somebody_works() -> bool:
        return any(works_in(root, one) for one in os.listdir("/proc"))

    # Twice: who was not in the list yet may have been begun by one who is gone already.
    wait_until(lambda: not somebody_works() and not somebody_works())


def works_in(root: Path, process: str) -> bool:
    """Return true if a process, by its name in /proc, works in a workspace."""
    try:
        return Path(os.readlink(f"/proc/{process}/cwd")).is_relative_to(root)
    except OSError:  # it is none, or none any more
        return False
