"""The link: the one process of a machine that keeps a workspace connected to its engine.

Commands ask the database through its socket: for each of them a thread passes the frames to a
connection, which stays theirs while they hold a lock. A further thread is told by the
database what others commit. Everything that touches the workspace is done by the main
thread, for locks set alarms: it brings what is new. Heartbeats are processes of
their own, as one with threads must not fork.

Source: EN-003, EN-005, EN-008.
"""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, Self

from council.core.errors import ConflictError, CouncilError, NotFoundError, UnreachableError
from council.operations.detach import run_heartbeat
from council.operations.place import Place, open_place
from council.store import files
from council.store.engine import postgres, sessions
from council.store.lock import holder_of
from council.store.slots import take

LOOK_EVERY_S = 10.0
_MOST_SESSIONS = 16
_FREE_WITHIN_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_BACKLOG = 1024

Say = Callable[[str], None]


class Link:
    """The link of a workspace while a `with` block lasts; its threads end with the process.

    Args:
        place: The workspace.
        say: Takes a line for people about what is worth one.
        wake: Called when there may be something to bring, by any thread.
    """

    def __init__(self, place: Place, say: Say, wake: Callable[[], object]) -> None:
        if place.engine is None:
            raise NotFoundError(
                f"{place.root} has joined no engine", "join one: council engine join URL"
            )
        self._place, self._say, self._wake = place, say, wake
        self._engine = place.engine
        self._control = place.paths.control
        self._connections = _Connections(self._engine.said)
        self._is_due = threading.Event()
        self._refused = ""
        self._brought_at = 0.0
        self._lock = -1
        self._stands = True
        self.farewell = f"{place.paths.settings} names this engine no more, so the link ends"

    def __enter__(self) -> Self:
        path = f"{self._control}/link.lock"
        files.make_folder(self._control)
        lock = take(path)
        if lock is None:
            who = holder_of(path)
            raise ConflictError(
                f"council link runs already for {self._place.root}{f' ({who})' if who else ''}",
                "one serves all commands of this machine",
            )
        self._lock = lock
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"pid {os.getpid()}\n".encode(), 0)
        try:
            self._listener = self._listening()
        except OSError as error:
            os.close(lock)
            raise files.explained(
                error, "listen at", f"{self._control}/{sessions.SOCKET}"
            ) from None
        for work in (self._accept, self._hear, self._keep_beating):
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stands = False
        if self._is_found():
            files.remove(f"{self._control}/{sessions.SOCKET}")
        self._listener.close()
        os.close(self._lock)

    def _listening(self) -> socket.socket:
        files.remove(f"{self._control}/{sessions.SOCKET}")  # left by one that was killed
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            with sessions.address_in(self._control) as address:
                listener.bind(address)
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
        self._socket = os.lstat(f"{self._control}/{sessions.SOCKET}")
        return listener

    def _is_found(self) -> bool:
        """Return true if what listens here is what commands find, and not another link's."""
        with suppress(OSError):
            found = os.lstat(f"{self._control}/{sessions.SOCKET}")
            return os.path.samestat(found, self._socket)
        return False

    # What the main thread does.

    def stands(self) -> bool:
        """Return false once the settings name another engine, or none, or no command finds it."""
        if not self._is_found():
            gone = f"{self._control}/{sessions.SOCKET} was removed"
            self.farewell = f"{gone}, so the link ends; start it again"
            return False
        with suppress(CouncilError):  # a person may be editing them
            return open_place(self._place.root, "", self._place.environ).engine is self._engine
        return True

    def bring(self, *, is_told: bool = True) -> bool:
        """Bring what others committed; return true if anything changed here.

        What is refused is said once, and tried again with the next call. Unless there `is_told`
        to be something, it is looked for every `LOOK_EVERY_S` only.
        """
        if not is_told and time.monotonic() - self._brought_at < LOOK_EVERY_S:
            return False
        from council.operations.engine.outgoing import waiting
        from council.operations.engine.replica import catch_up

        self._brought_at = time.monotonic()
        try:
            is_any = catch_up(self._place)
            self._refused = ""
        except CouncilError as error:
            if not isinstance(error, UnreachableError) and error.message != self._refused:
                self._say(error.message)
                self._refused = error.message
            return False
        return is_any or bool(waiting(self._place))  # which a heartbeat sends

    def beat(self) -> None:
        """Have a heartbeat begin, after the one under way if there is any."""
        self._is_due.set()

    # What the other threads do.

    def _keep_beating(self) -> None:
        while True:
            self._is_due.wait()
            self._is_due.clear()
            run_heartbeat(self._place)

    def _hear(self) -> None:
        """Be told what others commit; say when the database goes away and comes back."""
        pause, is_first = _FIRST_PAUSE_S, True
        while self._stands:
            try:
                with closing(postgres.Session(self._engine.said)) as session:
                    session.listen()
                    if is_first or self._connections.gone:
                        machine, url = self._engine.machine, self._engine.said["url"]
                        self._say(
                            f"{machine} is linked to {url}" if is_first else "the engine is back"
                        )
                    self._connections.gone, is_first, pause = None, False, _FIRST_PAUSE_S
                    self._wake()
                    while self._stands:
                        if session.notified(LOOK_EVERY_S):
                            self._wake()
            except CouncilError as error:
                if self._connections.gone is None:
                    self._say(f"{error.message}; it is tried again")
                self._connections.gone = error
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                if not self._stands:
                    return
                time.sleep(_FIRST_PAUSE_S)  # so many files are open that no more may be
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Answer one client until it ends. What it holds then is given back."""
        with client, _Client(self._connections) as asked, suppress(OSError, ValueError):
            while (question := sessions.received(client)) is not None:
                verb, words, named = question
                try:
                    is_ours = words in ([], [self._engine.said])
                    answer = {"is": asked.answer(verb, words, named) if verb else is_ours}
                except CouncilError as error:
                    answer = {"error": sessions.told(error)}
                sessions.send(client, answer)
                if asked.is_lost:
                    return


class _Connections:
    """The connections to the database: so many at most, each for one client at a time.

    Attributes:
        gone: Why the database is known to be away, None while it answers.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._free: queue.LifoQueue[postgres.Session | None] = queue.LifoQueue()
        for _ in range(_MOST_SESSIONS):
            self._free.put(None)
        self.gone: CouncilError | None = None

    def take(self) -> postgres.Session:
        """Return a connection that holds nothing.

        Raises:
            UnreachableError: There is none to be had.
        """
        if self.gone is not None:
            raise self.gone
        try:
            session = self._free.get(timeout=_FREE_WITHIN_S)
        except queue.Empty:
            why = f"all {_MOST_SESSIONS} connections of council link are in use"
            raise UnreachableError(self._config["url"], why, "try again") from None
        if session is not None:
            if session.is_fresh():
                return session
            session.close()
        try:
            return postgres.Session(self._config)
        except BaseException:
            self._free.put(None)
            raise

    def give(self, session: postgres.Session, *, is_clean: bool) -> None:
        """Take a connection back; one that may hold something is ended, and all it held is free."""
        if not is_clean:
            session.close()
        self._free.put(session if is_clean else None)


class _Client:
    """What is asked by one client. While it holds a lock, one connection is its own."""

    def __init__(self, connections: _Connections) -> None:
        self._connections = connections
        self._session: postgres.Session | None = None
        self.is_lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self._connections.give(self._session, is_clean=False)

    def answer(self, verb: str, words: list[Any], named: dict[str, Any]) -> Any:
        """Do what a verb says.

        Raises:
            CouncilError: It is refused.
        """
        if verb not in postgres.VERBS:
            raise CouncilError(f"the engine has no verb {verb!r}", "install the same council again")
        session = self._session or self._connections.take()
        is_clean, was_holding = False, session.is_holding
        try:
            result = getattr(session, verb)(*words, **named)
            is_clean = True
        except UnreachableError:
            self.is_lost = was_holding
            raise
        except CouncilError:
            is_clean = True  # it was refused, and changed nothing
            raise
        except Exception as error:
            self.is_lost = was_holding
            raise CouncilError(f"council link failed: {type(error).__name__}: {error}") from error
        finally:
            self._session = session if is_clean and session.is_holding else None
            if self._session is None:
                self._connections.give(session, is_clean=is_clean)
        return result
