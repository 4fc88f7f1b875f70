"""Which agents live on this machine, and on which others.

An agent lives where its `machines` say, else wherever it has a program. What a machine can run
it says to the others, so that none of them takes an agent of another for one that answers by
hand.

Source: EN-006.
"""

from __future__ import annotations

import os
from contextlib import suppress

from council.core.errors import ConflictError
from council.core.ids import sha256_hex
from council.operations.engine.pulled import read_pulled
from council.operations.place import Place
from council.store.agents import DEFAULT_DRIVER, is_woken, known_agents
from council.store.engine.joined import Engine
from council.store.keys import made
from council.store.paths import Workspace

# What names stand for the marks of machines, and for what each of them can run.
MACHINES, _RUNS = "machine/", "/runs"


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
    known[name] = known.get(name) or engine.session.claim(name, mark)
    if known[name] != mark:
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


def rules(place: Place) -> list[object]:
    """Return what decides about who lives here: a note made under other rules does not hold."""
    told = place.settings.agents.items()
    named = sorted([one, sorted(known.machines), known.implied_driver] for one, known in told)
    return [named, sorted(map(list, read_pulled(place).runs.items()))]
