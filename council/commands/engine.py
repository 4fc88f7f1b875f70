"""The commands of the engine: one council on many machines.

Source: EN-002, EN-003.
"""

from __future__ import annotations

import os
from datetime import timedelta

from council.commands.integrating import require
from council.commands.output import Output
from council.core.plain_text import plain_line
from council.core.times import render_duration
from council.operations.engine import membership, replica
from council.operations.engine.pulled import read_pulled
from council.operations.examining.causes import cause
from council.operations.place import Place
from council.store.settings import EngineSettings


def engine_init(place: Place, url: str, machine: str, schema: str, role: str) -> Output:
    """Make an engine of a database, with what the workspace has."""
    require("postgres", "the engine")
    made = membership.begin(place, url, machine, schema, role)
    where = "" if schema == EngineSettings().schema else f" --schema {schema}"
    others = f"on each machine more: council engine join {made.url}{where}"
    return _joined(made, "the engine is made", others)


def engine_join(place: Place | None, url: str, machine: str, schema: str, root: str) -> Output:
    """Take part in an engine; in an empty folder a workspace is made for it."""
    require("postgres", "the engine")
    if place is None:
        from council.operations.setup import set_up

        where = root or os.getcwd()
        set_up(where, (), "", os.environ)
        place = Place(os.path.realpath(where), os.environ, None)
    return _joined(membership.join(place, url, machine, schema), "this workspace has joined")


def _joined(joined: membership.Joined, what: str, *more: str) -> Output:
    lines = [f"{what}: {joined.url}", f"this machine is called {joined.machine} there"]
    lines += ["next: council link (keep it running), council engine status", *more]
    return Output(record=joined, text="\n".join(lines), notes=_left(joined.left))


def _left(left: dict[str, str]) -> list[str]:
    return [plain_line(f"{stream} waits: {why}") for stream, why in sorted(left.items())]


def engine_status(place: Place) -> Output:
    """Show how the workspace stands with its engine."""
    found = membership.standing(place)
    lines = [f"engine: {found.url}, {'reached' if found.reached else 'not reached'}"]
    if found.why:
        lines += [f"  {found.why}", f"  → {found.fix}"]
    lines += [f"machine: {found.machine}"]
    lines += [f"link: {'runs' if found.linked else 'does not run; start it: council link'}"]
    lines += [f"replica: {_replica(found)}"]
    if found.kept:
        lines += [f"kept: {found.kept} to be sent when it is reached"]
    if found.refused:
        lines += [f"refused of what was kept: {found.refused} (see: council status)"]
    for name, seconds in found.machines:
        runs = ", ".join(found.runs.get(name, ())) or "no agent"
        lines += [f"  {name}: seen {_ago(seconds)}; can run {runs}"]
    if found.asynchronous:
        loose = cause("engine-loose")
        lines += [f"warning: {loose.said()}; {loose.fix()}"]
    code = 0 if found.reached else 7
    text = "\n".join(plain_line(one) for one in lines)
    return Output(record=found, text=text, notes=_left(found.left), code=code)


def _ago(seconds: float) -> str:
    return f"{render_duration(timedelta(seconds=max(0.0, seconds)))} ago"


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _replica(found: membership.Standing) -> str:
    brought = "never brought" if found.age_s is None else f"brought {_ago(found.age_s)}"
    if not found.reached:
        return brought
    if not found.behind:
        return f"up to date, {brought}"
    return f"{_counted(found.behind, 'file')} may be behind (council engine pull), {brought}"


def engine_pull(place: Place) -> Output:
    """Bring and show what other machines committed."""
    changed = replica.catch_up(place)
    left = read_pulled(place).left
    text = "brought what others committed" if changed else "nothing new"
    return Output(record={"changed": changed, "left": left}, text=text, notes=_left(left))


def engine_leave(place: Place) -> Output:
    """Let the workspace go on alone with what it has."""
    url = membership.leave(place)
    return Output(record={"url": url}, text=f"left {url}: this workspace goes on alone")


def engine_rebuild(place: Place, database: bool) -> Output:
    """Fill the replica from the database, or an empty database from the replica."""
    done = membership.rebuild(place, database=database)
    text = f"{done.url} has what lies here" if database else f"all of {done.url} is here"
    return Output(record=done, text=text, notes=_left(done.left))


def engine_migrate(place: Place) -> Output:
    """Bring the tables of the engine to what this council knows."""
    steps = membership.migrate(place)
    text = f"{_counted(steps, 'step')} made" if steps else "the tables are of this version"
    return Output(record={"steps": steps}, text=text)
