"""The lease that lets an agent run once at a time over all machines.

It ends by the time of the database. The supervisor of a run renews it, and ends the run when it
could not be renewed in time: another machine may begin one then.

Source: EN-006.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from council.core.errors import CouncilError
from council.operations.engine.living import holder_of
from council.operations.place import Place
from council.store.engine.joined import Engine
from council.store.slots import Slots

LEASE_S = 60.0  # a database may be away for nearly as long before runs are ended
_RENEWED_EVERY_S = 15.0
_TRY_AGAIN_S = 1.0
# A question that is not answered, and what the run has started, are ended in that time.
_ENDS_BEFORE_S = 15.0
_KEEPER_ENDS_BEFORE_S = 5.0  # where this process was stopped, and the program was not
_LEASES = "agent/"  # what their names begin with


def _now() -> float:
    """Return the seconds of a clock that goes on while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease:
    """The right to run an agent now, over all machines.

    Args:
        engine: The engine.
        agent: The agent.
        task: The task of the run.
        keeps: The file of the place, by which the keeper of the program knows when it is to end.
    """

    def __init__(self, engine: Engine, agent: str, task: str, keeps: int = -1) -> None:
        self._engine = engine
        self._name = f"{_LEASES}{agent}"
        self._holder = f"{holder_of(engine)}:{task}"
        self._keeps = keeps
        self._until = 0.0

    def take(self) -> bool:
        """Take it, or renew it, by one who holds the place here; false where another run has it.

        Raises:
            UnreachableError: The database is not reached.
        """
        asked, session = _now(), self._engine.session
        if not session.lease(self._name, self._holder, LEASE_S):
            holder = str(session.leases(self._name).get(self._name, ("",))[0])
            if holder.partition(":")[0] != self._holder.partition(":")[0]:
                return False
            session.lease(self._name, holder, 0)  # its place here was free: that run is gone
            if not session.lease(self._name, self._holder, LEASE_S):
                return False
        self._lasts_from(asked)
        return True

    def _lasts_from(self, asked: float) -> None:
        self._until = asked + LEASE_S
        if self._keeps >= 0:
            ends_at = time.monotonic() + self._until - _now() - _KEEPER_ENDS_BEFORE_S
            with suppress(OSError):  # a full disk is no reason not to run
                os.pwrite(self._keeps, b"%20.3f\n" % ends_at, 0)

    def end(self) -> None:
        """Give it back; where the database is not reached it ends by itself."""
        with suppress(CouncilError):
            self._engine.session.lease(self._name, self._holder, 0)

    @contextmanager
    def kept(self, *, ends_run: bool = True) -> Iterator[None]:
        """Renew it while the block lasts.

        Once that is too late, end this process as by SIGTERM where it `ends_run`; else go on: it
        may be had again.
        """
        is_over = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(is_over, ends_run), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            is_over.set()
            renewing.join()

    def _renew(self, is_over: threading.Event, ends_run: bool) -> None:
        from council.store.engine import sessions

        session, due = None, self._until - LEASE_S + _RENEWED_EVERY_S
        while not is_over.wait(_TRY_AGAIN_S):  # in steps: a wait stands still in a sleep, too
            asked = _now()
            if asked < due:
                continue
            try:
                if session is None or session.broken:
                    session = sessions.opened(self._engine.control, self._engine.said)
                if session.lease(self._name, self._holder, LEASE_S):
                    self._lasts_from(asked)
                    due = asked + _RENEWED_EVERY_S
                elif ends_run:
                    break  # it ended, and another run has it
            except CouncilError:
                if ends_run and _now() + _TRY_AGAIN_S > self._until - _ENDS_BEFORE_S:
                    break
        if session is not None:
            session.close()
        if not is_over.is_set():
            os.kill(os.getpid(), signal.SIGTERM)


def leased_tasks(place: Place) -> set[str] | None:
    """Return the tasks whose runs have a lease on any machine, None where that is not known.

    A run of this machine whose place is free is gone, however long its lease lasts yet.
    """
    if place.engine is None:
        return None
    try:
        found = place.engine.session.leases(_LEASES)
    except CouncilError:
        return None
    slots = Slots(place.paths.places, place.settings.max_runs)
    leased, ours = set(), holder_of(place.engine)
    for name, (holder, _) in found.items():
        machine, _, task = str(holder).partition(":")
        if machine != ours or not slots.is_free(name.removeprefix(_LEASES)):
            leased.add(task)
    return leased
