"""Which agents live on this machine, and the lease that lets an agent run once over all machines.

An agent lives where its `machines` say, else wherever it has a program. What a machine can run
it says to the others, so that none of them takes an agent of another for one that answers by
hand. The lease of a run ends by the time of the database. Its supervisor renews it, and ends
the run when it could not be renewed in time: another machine may begin one then.

Source: EN-006.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from council.core.errors import ConflictError, CouncilError
from council.core.ids import sha256_hex
from council.operations.engine.pulled import read_pulled
from council.operations.place import Place
from council.store.agents import DEFAULT_DRIVER, is_woken, known_agents
from council.store.engine.joined import Engine
from council.store.keys import made
from council.store.paths import Workspace
from council.store.slots import Slots

LEASE_S = 60.0  # a database may be away for nearly as long before runs are ended
_RENEWED_EVERY_S = 15.0
_TRY_AGAIN_S = 1.0
# A question that is not answered, and what the run has started, are ended in that time.
_ENDS_BEFORE_S = 15.0
_KEEPER_ENDS_BEFORE_S = 5.0  # where this process was stopped, and the program was not
# What names stand for leases, for the marks of machines, and for what each of them can run.
_LEASES, MACHINES, _RUNS = "agent/", "machine/", "/runs"


def _now() -> float:
    """Return the seconds of a clock that goes on while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def lives_here(place: Place, agent: str) -> bool:
    """Return true if an agent is run, or asked by hand, on this machine."""
    if place.engine is None or _is_named_here(place, place.engine, agent):
        return True
    return not (place.settings.agent(agent).machines or machines_of(place, agent))


def _is_named_here(place: Place, engine: Engine, agent: str) -> bool:
    """Return true if the files of this machine say that it runs an agent, or asks it."""
    told = place.settings.agent(agent)
    if told.machines:
        return engine.machine in told.machines
    if not told.implied_driver and is_woken(place.root, place.settings, agent):
        return place.agent(agent).driver != DEFAULT_DRIVER
    return told.implied_driver not in ("", DEFAULT_DRIVER)


def machines_of(place: Place, agent: str) -> list[str]:
    """Return the other machines that can run an agent, as far as this one has been told."""
    return [name for name, agents in read_pulled(place).runs.items() if agent in agents]


def homes_of(place: Place, agent: str) -> list[str]:
    """Return the machines on which an agent lives that does not live here."""
    return list(place.settings.agent(agent).machines) or machines_of(place, agent)


def is_homeless(place: Place, agent: str) -> bool:
    """Return true if no machine of this engine bears a name that the settings of an agent give."""
    pulled, named = read_pulled(place), place.settings.agent(agent).machines
    return bool(pulled.at and named) and not place.has(agent) and not {*named} & {*pulled.runs}


def elsewhere(place: Place) -> set[str]:
    """Return the agents that other machines can run, as far as this one has been told."""
    return {agent for agents in read_pulled(place).runs.values() for agent in agents}


def mark_of(workspace: Workspace) -> str:
    """Return what distinguishes a workspace from any other, also one with the same settings.

    It names no path. A copy of its files on another host, or in another folder, has another one.
    """
    own = made(f"{workspace.control}/machine")
    known = f"{os.uname().nodename}:{workspace.root}:".encode() + (own.data if own else b"")
    return sha256_hex(known)[:32]


def holder_of(engine: Engine) -> str:
    """Return by whom a lease of this machine is held: two that have one name are two."""
    return f"{engine.machine}/{mark_of(engine.workspace)}"


def known_machines(place: Place, engine: Engine) -> dict[str, str]:
    """Return the names of machines; warn where this one's is that of another workspace.

    Raises:
        UnreachableError: The database is not reached.
    """
    known, mark = engine.session.names(MACHINES), mark_of(place.paths)
    name = MACHINES + engine.machine
    if (known.get(name) or engine.session.claim(name, mark)) != mark:
        said = (
            f"the engine knows another workspace as machine {engine.machine!r}: give this one a"
            " name of its own, machine under [engine] in council.toml; or, if that was this one"
            " before it lost .council: council engine rebuild"
        )
        place.warnings += [said] if said not in place.warnings else []
    return known


def tell_runs(place: Place, engine: Engine) -> dict[str, list[str]]:
    """Say which agents this machine can run; return what each of the others can.

    Raises:
        UnreachableError: The database is not reached.
    """
    agents = known_agents(place.root, place.settings)
    own = [one for one in agents if _is_named_here(place, engine, one)]
    known = known_machines(place, engine)
    name, value = MACHINES + engine.machine + _RUNS, ",".join(own)
    if known.get(name) != value:  # at once, or another machine would find none of them here
        freed = [[name, known[name]]] if name in known else []
        with suppress(ConflictError):  # another process of this machine has just done so
            engine.session.commit("", [], claims=[[name, value]], freed=freed)
    return {one: told for one, told in runs_of(known).items() if one != engine.machine}


def runs_of(known: dict[str, str]) -> dict[str, list[str]]:
    """Return the agents that each machine can run, of what `known_machines` returns."""
    return {
        name.removeprefix(MACHINES).removesuffix(_RUNS): [one for one in agents.split(",") if one]
        for name, agents in known.items()
        if name.endswith(_RUNS)
    }


def take_leave(place: Place, engine: Engine) -> None:
    """Let the engine forget the name of this machine, and which agents it can run.

    Raises:
        UnreachableError: The database is not reached.
    """
    known, name = engine.session.names(MACHINES), MACHINES + engine.machine
    if known.get(name) == mark_of(place.paths):  # else they are another workspace's
        own = [one for one in (name, name + _RUNS) if one in known]
        engine.session.commit("", [], freed=[[one, known[one]] for one in own])


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


def rules(place: Place) -> list[object]:
    """Return what decides about who lives here: a note made under other rules does not hold."""
    told = place.settings.agents.items()
    named = sorted([one, sorted(known.machines), known.implied_driver] for one, known in told)
    return [named, sorted(map(list, read_pulled(place).runs.items()))]


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
