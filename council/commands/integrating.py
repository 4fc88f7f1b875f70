"""What joins council to the programs that people use: `integrate`.

Source: CL-006, CL-007, `cli.md` section 2.
"""

from __future__ import annotations

from council.commands.output import Output
from council.core.errors import InvalidStateError, NotFoundError, UsageError
from council.operations.integrating.mcp_clients import CLIENTS, add, joining, remove
from council.operations.place import Place
from council.store import extras

OPENCLAW = "openclaw"


def require(extra: str, what: str) -> None:
    """Refuse to go on where an extra of council is not installed.

    Args:
        extra: Its name, as in `council-files[web]`.
        what: What needs it.

    Raises:
        NotFoundError: One of its packages is not installed.
    """
    if extras.missing(extra):
        raise NotFoundError(
            f"{what} needs the extra {extra!r}, which is not installed",
            f"install it: {extras.command_that_adds(extra)}",
        )


def integrate(
    place: Place,
    client: str,
    install: bool,
    uninstall: bool,
    untried: bool,
    as_: str,
    scope: str,
) -> Output:
    """Put council into a program, take it out again, or say what would be run for that."""
    known = (OPENCLAW, *CLIENTS)
    if client not in known:
        raise UsageError(f"no client {client!r}", f"choose one of: {', '.join(known)}")
    if install and uninstall:
        raise UsageError("one of the two", "give --install or --uninstall")
    if client == OPENCLAW:
        from council.operations.integrating import openclaw

        if not (install or uninstall):
            raise UsageError("one of the two", "give --install or --uninstall")
        done = openclaw.install(place, tries=not untried) if install else openclaw.uninstall(place)
        code = 0 if done.ok else InvalidStateError.exit_code
        return Output(record=done, text="\n".join(done.steps), code=code)
    how = joining(place, client, agent=as_, scope=scope)
    if uninstall:
        done = remove(place, how)
    elif install:
        require("mcp", "the server")
        done = add(place, how)
    else:
        note = f"this would be run; to run it: council integrate {client} --install"
        return Output(record=how, text=how.to_text(), notes=[note])
    return Output(record=done, text="\n".join(done.steps))
