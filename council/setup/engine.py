"""One council on many machines: connect a workspace with a database, look, leave."""

from __future__ import annotations

import os

from council.kernel import shared, times
from council.kernel.errors import Conflict, NotFound, Refusal, Refused, Usage
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from council.app import App


def engine_join(app: App, url: str, begins: str = "") -> dict[str, Any]:
    """Let this workspace take part in the council of a database, or begin one with all its own.

    Returns:
        `server` (without secrets), `machine` (its number), `begins`.

    Raises:
        NotFound: There is no council in it to join (`no-engine`).
        Conflict: There is one already (`wrong-engine`), or the workspace has documents that the
            database does not know (`engine-parted`), or an engine.
        Away: It cannot be reached.
    """
    if os.environ.get("COUNCIL_TOKEN"):
        raise Refused("in-run", "a run cannot change the engine", "print your answer instead")
    if "://" not in url and "=" not in url:
        raise Usage("usage", "no URL", "write it like postgresql://USER@HOST/DATABASE")
    if shared.facts(app.state_folder).get("ready"):
        raise Conflict("engine-there", "this workspace has an engine", "council engine status")
    engine = shared.driver().join(app.state_folder, url, bool(begins), shared.FOLDERS)
    return {"server": engine.server.name, "machine": engine.machine, "begins": bool(begins)}


def engine_status(app: App) -> dict[str, Any]:
    """Return `server`, `machine`, `ok`, `away` (why it is not available) and `machines`.

    These are `number`, `name`, `joined` and `wrote` (the newest change, "" for none).
    """
    facts, machines, away = _facts(app), list[Any](), ""
    server = shared.driver().Server(facts["url"])
    query = """SELECT m.number, m.name, m.joined, max(l.at)
        FROM council.machines m LEFT JOIN council.log l ON l.machine = m.number
        GROUP BY m.number ORDER BY m.number"""
    try:
        for number, name, *instants in server.ask(query):
            joined, wrote = (times.text(at) if at else "" for at in instants)
            machines.append({"number": number, "name": name, "joined": joined, "wrote": wrote})
        app.fetch()
    except Refusal as refusal:
        away = f"{refusal.message} ({refusal.hint})"
    made = {"server": server.name, "machine": facts["machine"], "ok": not away, "away": away}
    return {**made, "machines": machines}


def engine_leave(app: App) -> dict[str, Any]:
    """Go on alone with what is here; `missing` says why that may not be the newest."""
    facts = _facts(app)
    missing = shared.driver().leave(app.state_folder, facts)
    return {"machine": facts["machine"], "missing": missing}


def _facts(app: App) -> dict[str, Any]:
    if not (facts := shared.facts(app.state_folder)):
        raise NotFound("no-engine", "this workspace has no engine", "council engine init URL")
    return facts
