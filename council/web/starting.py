"""Starting the server: one a workspace, at one port of this machine, until it is asked to end.

`python -m council.web.starting ROOT PATH PROCESS` serves for the command with that process id, and
ends with it.

Source: DL-066, DG-005, DG-017.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from ipaddress import ip_address
from secrets import token_urlsafe
from types import FrameType

import uvicorn

from council.core.errors import CouncilError, NotFoundError
from council.core.reporting.sentences import filled
from council.operations.page_server import HOST, PageServer, running_server
from council.operations.place import Place, open_place
from council.operations.rooms.scanning import scan_if_changed
from council.operations.watch import Duty, leave
from council.store.files import remove
from council.store.settings import language
from council.store.slots import is_held
from council.store.texts import words_of
from council.web.connections import Connection
from council.web.guard import LINK, MOST_HEAD_BYTES
from council.web.serving import application
from council.web.sessions import Sessions
from council.working.listening import BACKLOG, listening, token_in

_STARTS_S = 10.0
_GRACE_S = 1
_TAKEN_IN = 64  # at once, before they are counted and those that are too many closed


def serve(
    place: Place,
    tell: Callable[[str], None],
    *,
    host: str = HOST,
    port: int | None = None,
    path: str = "/",
    advance: bool = False,
    parent: int = 0,
) -> None:
    """Serve the workspace on this machine until the process is asked to end.

    Where a server of the workspace runs already, a fresh link of that one is told instead.

    Args:
        place: The workspace.
        tell: Gets the lines that say where it is; the first one is a link.
        host: Where it listens: an address, or the name of one.
        port: The port, 0 for any that is free; None for that of the settings.
        path: The page that the link opens.
        advance: Run the heartbeat as well, in a process of its own.
        parent: The process with which this one ends, 0 for none; a port that is taken is then
            no fault: any other is.

    Raises:
        UsageError: The port is taken, `host` is not of this machine, or there is no token.
    """
    words = words_of(language(place.settings, "", place.environ), "web")
    duty = Duty(place, place.paths.web_lock, service="page")
    if running_server(place) is None:
        wanted = place.settings.serve.port if port is None else port
        with listening(wanted, host, or_any=bool(parent)) as listener:
            if duty.is_mine():
                try:
                    signal.signal(signal.SIGTERM, leave)  # else no event would tell its end
                    name = _named(host, listener, words)
                    _run(
                        place,
                        listener,
                        name,
                        words,
                        tell,
                        path=path,
                        advance=advance,
                        parent=parent,
                    )
                finally:
                    with suppress(NotFoundError):  # it was moved away, or removed
                        remove(place.paths.web_server)
                    duty.end()
                return
    tell(fresh_link(place, path))
    tell(words["serve-runs"])


def fresh_link(place: Place, path: str = "/") -> str:
    """Return a new link of the server that runs.

    Raises:
        NotFoundError: None does.
    """
    deadline = time.monotonic() + _STARTS_S
    while (found := running_server(place)) is None:
        is_starting = is_held(place.paths.web_lock)
        if not is_starting or time.monotonic() > deadline:
            raise NotFoundError("no server of this workspace runs", "start it: council serve")
        time.sleep(0.05)
    return _link(place, found, path)


def _link(place: Place, server: PageServer, path: str) -> str:
    word = Sessions(token_in(place.paths.web_token), server.start).link(int(time.time()))
    return f"{server.url}{path}?{LINK}={word}"


def _named(host: str, listener: socket.socket, words: dict[str, str]) -> str:
    """Return how a host is called in addresses; warn if other machines may reach it."""
    at = ip_address(listener.getsockname()[0].partition("%")[0])
    if not at.is_loopback:
        sys.stderr.write(f"council: {words['serve-others']}\n")
    if at.is_unspecified:
        return HOST if at.version == 4 else "[::1]"
    return f"[{host}]" if ":" in host else host.lower()


def _run(
    place: Place,
    listener: socket.socket,
    host: str,
    words: dict[str, str],
    tell: Callable[[str], None],
    *,
    path: str,
    advance: bool,
    parent: int,
) -> None:
    port = listener.getsockname()[1]
    at = PageServer(host=host, port=port, start=token_urlsafe(9), process=os.getpid())
    sessions = Sessions(token_in(place.paths.web_token), at.start)
    served, end = application(place, sessions, host, port)
    config = uvicorn.Config(
        served,
        http=Connection,
        ws="none",
        loop="asyncio",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_level="error",
        h11_max_incomplete_event_size=MOST_HEAD_BYTES,
        timeout_graceful_shutdown=_GRACE_S,
        backlog=_TAKEN_IN,
    )
    try:
        scan_if_changed(place)
    except CouncilError as error:
        place.warnings.append(error.message)
    at.note(place)
    token = os.path.relpath(place.paths.web_token, place.root)
    values = {"token": token, "origins": ", ".join(place.settings.serve.origins)}
    tell(_link(place, at, path))
    told = [
        filled(words[f"serve-{one}"], values)
        for one in ("opens", "link", "origins", "token", "end")
    ]
    for line in filter(None, [*told, *place.warnings]):
        tell(f"  {line}")
    with _clock(place) if advance else nullcontext(), suppress(KeyboardInterrupt):
        _Server(config, end, parent).run([listener])


class _Server(uvicorn.Server):
    """A server that ends with the process it was started for, and its streams with it."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None], parent: int) -> None:
        super().__init__(config)
        self._end = end
        self._parent = parent

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End: streams are ended first, else they would be waited for."""
        super().handle_exit(sig, frame)
        self._end()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, with as many connections that wait to be taken in as before."""
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        """Return true if it is to end."""
        is_left = bool(self._parent) and os.getppid() != self._parent
        if is_left:
            self._end()
        return await super().on_tick(counter) or is_left


@contextmanager
def _clock(place: Place) -> Iterator[None]:
    """Have the heartbeat run by a process of its own, which has no threads and may start agents."""
    # -P: a module that lies in the workspace must not be imported for one of ours.
    command = [sys.executable, "-P", "-m", "council.operations.watch", place.root]
    command.append(str(os.getpid()))
    clock = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=dict(place.environ)
    )
    try:
        yield
    finally:
        clock.terminate()
        clock.wait()


def main() -> None:
    """Serve for the process that started this one."""
    root, path, parent = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        place = open_place(root, "", os.environ)
        serve(place, lambda line: print(line, flush=True), path=path, parent=parent)
    except CouncilError as error:
        print(error.message)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
