"""The commands that only look: status, show, list, explain, log."""

from __future__ import annotations

import sys
import time

from council.app import App
from council.cli import printing
from council.cli.printing import Said
from council.cli.values import Given
from council.councils import service, service_views
from council.kernel.errors import NotFound, Usage
from council.kernel.record import Any


def status(app: App, given: Given) -> Said:
    """Show what is open, who owes an answer, and what failed."""
    from council.observe import status as look  # late: `show` needs no status

    only = service.named(app, given.conversation()) if given.conversation() else ""
    if not given.watch:
        if given.advance:
            raise Usage("usage", "--advance goes with --watch", "once: council heartbeat")
        made = look.status(app, only)
        return Said(data=made, text=look.text(made, given.problems))
    shown = ""
    while True:
        app.again()
        if given.advance:
            from council.runs import heartbeat  # late: as above

            heartbeat.beat(app, only)
        text = look.text(look.status(app, only), given.problems)
        if text != shown:
            printing.clear()
            printing.out(text)
            sys.stdout.flush()
        shown = text
        time.sleep(1)


def show(app: App, given: Given) -> Said:
    """Print a conversation, minutes or an agent by its name."""
    which = given.conversation()
    try:
        found = service.find(app, which, given.at or 0)
    except NotFound:
        if not service.is_agent(app, which):
            raise
        rows = [one for one in agents(app) if one["agentId"] == which]
        return Said(data=rows[0], text="\n".join(f"{k}: {v}" for k, v in rows[0].items()))
    if given.consensus:
        tally = service_views.consensus(found)
        return Said(data=tally, text=service_views.consensus_text(found))
    if given.format == "debate-session":
        from council.councils import session  # late: only for this form

        data = session.debate_session(found)
        return Said(data=data, text=printing.dumps(data, indent=True))
    data = service_views.shown(found, given.last or 0)
    if given.format == "json":
        return Said(data=data, text=printing.dumps(data, indent=True))
    if given.section == "synthesis":
        texts = [one["text"] for one in data["contributions"] if one["kind"] == "synthesis"]
        return Said(data={"section": given.section, "text": "\n\n".join(texts)}, text=texts[-1])
    return Said(data=data, text=service.text(app, found))


def list_(app: App, given: Given) -> Said:
    """List open conversations, minutes or agents."""
    kind = "minutes" if given.archived or given.stats else given.kinds
    if kind == "minutes":
        return _minutes(app, given)
    if kind == "agents":
        rows = agents(app)
        cells: list[Any] = [(r["agentId"], r["agentName"], r["driver"], r["role"]) for r in rows]
        text = printing.table(("id", "name", "driver", "role"), cells)
        return Said(data=rows, text=text if rows else "No agents. Add one: council agent add ID")
    if kind:
        raise Usage("usage", f"cannot list {kind!r}", "use minutes or agents, or nothing")
    from council.observe import status as look  # late: minutes need no status

    wanted = given.search.casefold().split()
    rows = [
        one
        for one in look.status(app)["conversations"]
        if all(word in one["topic"].casefold() for word in wanted)
    ]
    cells = [
        (r["name"], r["currentPhase"], str(r["tour"]), ", ".join(r["waiting"]), r["topic"])
        for r in rows
    ]
    text = printing.table(("name", "phase", "round", "waiting for", "topic"), cells)
    return Said(data=rows, text=text if rows else "Nothing is open.")


def agents(app: App) -> list[dict[str, Any]]:
    """Return the agents of the workspace."""
    from council.agents import souls  # late: as above

    return [
        {
            **{"agentId": ident, "agentName": one.name, "name": one.name, "emoji": one.emoji},
            **{"role": one.role, "model": one.model, "driver": one.driver},
            **{"capabilities": one.capabilities, "faults": one.faults},
            **{"accounts": [], "discordUserId": "", "protocolId": ""},
        }
        for ident, one in souls.agents(app.root, app.settings).items()
    ]


def _minutes(app: App, given: Given) -> Said:
    from council.archive import minutes  # late: as above

    rows = minutes.rows(app.root, given.search, given.since)
    if given.stats:
        measured = minutes.stats(rows)
        lines = [f"{key}: {'-' if one is None else one}" for key, one in measured.items()]
        return Said(data=measured, text="\n".join(lines))
    text: list[str] = []
    for row in rows:
        day = row["endedAt"].replace("T", " ")[:16]
        text.append(f"{day} UTC  {row['outcome']}  {printing.one_line(row['title'], 50)}")
        text += [f"    {printing.one_line(row['decision'], 74)}"] if row.get("decision") else []
        text.append(f"    {row['path']}")
    return Said(data=rows, text="\n".join(text) or "No minutes.")


def explain(app: App, given: Given) -> Said:
    """Say what something waits for, what is in the way, and the cure."""
    from council.observe import explain as examine  # late: as above

    found = examine.explain(app, given.conversation())
    return Said(data=found, text=examine.text(found))


def log(app: App, given: Given) -> Said:
    """Print revisions and events of one conversation, or of all."""
    from council.observe import events  # late: as above

    which, form = given.conversation(), given.format or "text"
    if form not in ("text", "json"):
        raise Usage("usage", f"no format {form!r} here", "use text or json")
    if form == "json" or (given.follow and not which):
        lines = [printing.dumps(one) for one in events.lines(app, which, given.since)]
        return Said(text="\n".join(lines[-(given.number or 0) :]))
    seen = 0
    while True:
        rows = events.log(app, which, given.number or 0, given.since)
        if not given.follow:
            return Said(data=rows, text=events.text(rows))
        new = [one for one in rows if one["rev"] > seen]
        if new:
            printing.out(events.text(new))
            sys.stdout.flush()
            seen = new[-1]["rev"]
        time.sleep(0.2)
