"""The commands that only look: status, show, list, explain, log."""

from __future__ import annotations

from council.app import App
from council.cli import printing
from council.cli.printing import Said
from council.cli.values import one_of
from council.councils import service
from council.kernel.errors import Usage
from council.kernel.record import Any


def status(
    app: App, *, which: str, name: str, problems: bool, watch: bool, advance: bool
) -> Said:
    """Show what is open, who owes an answer, and what failed."""
    from council.observe import status as look

    only = one_of(which, name)
    only = service.named(app, only) if only else ""
    if watch:
        return _watched(app, only, problems, advance)
    if advance:
        raise Usage("usage", "--advance goes with --watch", "once: council heartbeat")
    made = look.status(app, only)
    return Said(data=made, text=look.text(made, problems))


def watch(app: App, *, which: str, name: str, problems: bool, advance: bool) -> Said:
    """Keep showing the status until interrupted."""
    return status(
        app, which=which, name=name, problems=problems, watch=True, advance=advance
    )


def _watched(app: App, only: str, problems: bool, advance: bool) -> Said:
    import sys
    import time

    from council.observe import status as look
    from council.runs import heartbeat

    shown = ""
    while True:
        app.again()
        if advance:
            heartbeat.beat(app, only)
        text = look.text(look.status(app, only), problems)
        if text != shown:
            if printing.has_colours(sys.stdout):
                sys.stdout.write("\x1b[2J\x1b[H")
            printing.out(text)
            sys.stdout.flush()
            shown = text
        time.sleep(1)


def show(
    app: App,
    *,
    what: str,
    name: str,
    format: str,
    consensus: bool,
    at: int | None,
    last: int | None,
    section: str,
    archived: bool,
) -> Said:
    """Print a conversation, minutes or an agent by its name."""
    del archived  # minutes are found without being told so
    found = service.find(app, one_of(what, name), at or 0)
    if consensus:
        tally = service.consensus(found)
        return Said(data=tally, text=service.consensus_text(tally))
    if format == "debate-session":
        session = service.session(found)
        return Said(data=session, text=printing.dumps(session, indent=True))
    data = service.shown(found, last or 0)
    if format == "json":
        return Said(data=data, text=printing.dumps(data, indent=True))
    return Said(data=data, text=service.page_text(found, last or 0, section))


def list_(app: App, *, kinds: str, search: str, since: str, stats: bool, archived: bool) -> Said:
    """List open conversations, minutes or agents."""
    kind = "minutes" if archived or stats else kinds
    if kind == "minutes":
        return _minutes(app, search, since, stats)
    if kind == "agents":
        rows = service.agents(app)
        cells = [(r["agentId"], r["name"], r["driver"], r["role"]) for r in rows]
        text = printing.table(("id", "name", "driver", "role"), cells)
        return Said(data=rows, text=text if rows else "No agents. Add one: council agent add ID")
    if kind:
        raise Usage("usage", f"cannot list {kind!r}", "use minutes or agents, or nothing")
    rows = service.rows(app, search, since)
    cells = [
        (r["name"], r["currentPhase"], str(r["tour"]), ", ".join(r["waiting"]), r["topic"])
        for r in rows
    ]
    text = printing.table(("name", "phase", "round", "waiting for", "topic"), cells)
    return Said(data=rows, text=text if rows else "Nothing is open.")


def _minutes(app: App, search: str, since: str, stats: bool) -> Said:
    from council.archive import minutes

    rows = minutes.rows(app.root, search, since)
    if stats:
        measured = minutes.stats(rows)
        lines = [f"{key}: {'-' if one is None else one}" for key, one in measured.items()]
        return Said(data=measured, text="\n".join(lines))
    text: list[str] = []
    for row in rows:
        text.append(f"{_day(row['endedAt'])}  {row['outcome']}  {printing.cut(row['title'], 45)}")
        if row.get("decision"):
            text.append(f"    {printing.cut(' '.join(str(row['decision']).split()), 74)}")
        text.append(f"    {row['path']}")
    return Said(data=rows, text="\n".join(text) if rows else "No minutes.")


def _day(at: str) -> str:
    return f"{at[:10]} {at[11:16]} UTC" if len(at) > 10 else at


def explain(app: App, *, what: str, name: str) -> Said:
    """Say what something waits for, what is in the way, and the cure."""
    from council.observe import explain as examine

    found = examine.explain(app, one_of(what, name))
    return Said(data=found, text=examine.text(found))


def log(
    app: App, *, which: str, name: str, follow: bool, number: int | None, format: str, since: str
) -> Said:
    """Print revisions and events of one conversation, or of all."""
    from council.observe import events

    return events.printed(app, one_of(which, name), follow, number or 0, format, since)


def history(app: App, **values: Any) -> Said:
    """Print the revisions of a conversation."""
    return log(app, **values)
