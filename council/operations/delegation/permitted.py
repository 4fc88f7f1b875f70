"""Which files an agent may name inside a run.

A run works in its own folder, where it was started, and with what is shared;
the folders of other agents and the inside of the store are not its business.
People, outside a run, name whatever the system lets them.

Source: P8-001, XC-008, XC-009, `trust.md`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import BinaryIO

from council.core.errors import (
    CouncilError,
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    RefusedError,
)
from council.core.events import Event
from council.core.ids import is_name
from council.operations.place import Place, is_inside, open_place, own_agent
from council.store import files

RUN_FOLDER = "COUNCIL_CWD"
# What council itself reads of an agent's folder: by these an agent would be changed.
_READ_OF_AGENTS = ("SOUL.md", "policy.json", "tasks")


def permitted(path: str, environ: Mapping[str, str], *, writing: bool = False) -> str:
    """Return a path that a command was given, inside a run with all its links resolved.

    Args:
        path: What was given; "" and `-` name no file.
        environ: The environment of the command.
        writing: Whether the file is to be written: in the agent's own folder, or where the
            run was started, and never over what council keeps or another file of the workspace.

    Raises:
        RefusedError: A run may not touch that file; the event is written.
    """
    if not is_inside(environ) or path in ("", "-"):
        return path

    place = open_place("", "", environ)
    real = os.path.realpath(path)
    with reporting_refusals(place):
        (_check_written if writing else _check)(place, real, path)
    return real


def open_permitted(given: str, environ: Mapping[str, str], place: Place | None = None) -> BinaryIO:
    """Open a file that a command was given, which must be a regular file.

    Args:
        given: The file. A pipe is read from standard input (`-`) alone, as it may never end.
        environ: The environment of the command.
        place: The workspace, None to find it inside a run alone.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: It is no regular file, or cannot be read.
        RefusedError: A run may not read it, or it belongs to the store by another name.
    """
    path = permitted(given, environ)
    try:
        file = open(files.open_regular(path, follow=True), "rb", buffering=0)  # noqa: SIM115
    except FileNotFoundError:
        raise NotFoundError(f"no such file: {given}", "name a file, or - for stdin") from None
    except InvalidStateError:
        raise InvalidInputError(
            f"{given} is not a regular file", "name a file, or give it by standard input: -"
        ) from None
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {given}: {error.strerror}", "name a file that can be read"
        ) from None
    if place is None and is_inside(environ):
        place = open_place("", "", environ)
    if place is not None and files.is_also_in(place.paths.control, file.fileno()):
        file.close()
        with reporting_refusals(place):
            raise RefusedError(f"{given} is a file of .council", "name a file of your own")
    return file


def _check_written(place: Place, real: str, given: str) -> None:
    agent = own_agent(place)
    own = _own_folders(place)
    home, state, sessions = map(
        os.path.realpath,
        (place.paths.agent(agent), place.paths.agent_state(agent), place.paths.sessions(agent)),
    )
    if _inside(real, [home, state]):
        read = [os.path.join(home, one) for one in _READ_OF_AGENTS]
        may = not _inside(real, [*read, sessions])
    else:
        started_in = [place.environ[RUN_FOLDER]] if place.is_as_claimed() else []
        may = _inside(real, [*own, *map(os.path.realpath, started_in)])
        may = may and not place.paths.keeps(real)
    if not may:
        raise RefusedError(
            f"{given} is not where this run may write",
            "name a file in your own folder, or in the one you were started in",
        )
    root = os.path.realpath(place.root)
    if not _inside(real, own) and _inside(real, [root]) and os.path.lexists(real):
        raise RefusedError(f"{given} is there already", "a run replaces files in its own folder")


def _check(place: Place, real: str, given: str) -> None:
    if _inside(real, _own_folders(place)):
        return
    shared, control, agents = map(
        os.path.realpath, (place.paths.shared, place.paths.control, place.paths.agents)
    )
    allowed = [shared, os.path.realpath(place.environ.get(RUN_FOLDER) or os.getcwd())]
    if not _inside(real, allowed) or _inside(real, [agents, control]):
        raise RefusedError(
            f"{given} lies outside of what this run may use",
            "use your own folder, the one you were started in, or memory/shared",
        )


def _own_folders(place: Place) -> list[str]:
    """Return the folders of the agent that runs."""
    agent = place.environ.get("COUNCIL_AGENT", "")
    if not is_name(agent):
        return []
    from council.store.agents import agent_workspace

    agents = os.path.realpath(place.paths.agents)
    own = (place.paths.agent(agent), place.paths.agent_state(agent), place.paths.sessions(agent))
    works = agent_workspace(place.root, place.settings, agent)
    # Who works in the root, or above the folders of the others, has no folder of its own by that.
    return [
        folder for folder in map(os.path.realpath, (*own, works)) if not _inside(agents, [folder])
    ]


def _inside(path: str, folders: list[str]) -> bool:
    return any(path == one or path.startswith(one.rstrip(os.sep) + os.sep) for one in folders)


@contextmanager
def reporting_refusals(place: Place, guard: str = "path") -> Iterator[None]:
    """Write the event of what a run is refused within, and by which guard (XC-008).

    A disk that refuses that hides no refusal.
    """
    try:
        yield
    except RefusedError as error:
        from council.store.events import append, loose_records

        agent = ""  # a name that nothing shows is no agent's deed
        with suppress(CouncilError):
            agent = own_agent(place)
        data = {"guard": guard, "code": error.code, "message": error.message}
        event = Event(type="guard.rejected", agent=agent, data=data)
        with suppress(CouncilError):
            append(place.paths, loose_records([event], "", place.now()))
        raise
