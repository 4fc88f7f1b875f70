"""Putting council into the programs that people use.

Source: CL-006, `cli.md` section 2.
"""

from __future__ import annotations

from council.cli.edge import Output
from council.core.errors import InvalidStateError, UsageError
from council.operations.place import Place

CLIENTS = ("openclaw",)


def integrate(place: Place, client: str, install: bool, uninstall: bool, untried: bool) -> Output:
    """Put council into a program, or take it out again."""
    if client not in CLIENTS:
        raise UsageError(f"no client {client!r}", f"choose one of: {', '.join(CLIENTS)}")
    if install == uninstall:
        raise UsageError("one of the two", "give --install or --uninstall")
    from council.operations.integrating import openclaw

    done = openclaw.install(place, tries=not untried) if install else openclaw.uninstall(place)
    code = 0 if done.ok else InvalidStateError.exit_code
    return Output(record=done, text="\n".join(done.steps), code=code)
