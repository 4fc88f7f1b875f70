"""The commands that only look: status, show, list, explain, log."""

from __future__ import annotations

import time

from council.app import App
from council.cli import printing
from council.cli.printing import Said, one_line, table
from council.cli.values import Given, since
from council.councils import service, service_views
from council.kernel import codec
from council.kernel.errors import Usage
from council.kernel.record import Any

Rows = list[dict[str, Any]]


def status(app: App, given: Given) -> Said:
    """Show what is open, who owes an answer, and what failed."""
    from council.observe import status as look  # late: `show` needs no status

    only = service.named(app, given.conversation()) if given.conversation() else ""
    if given.advance and not given.watch:
        raise Usage("usage", "--advance goes with --watch", "once: council heartbeat")
    shown = ""
    while True:
        if given.advance:
            from council.runs import heartbeat  # late: as above

            heartbeat.beat(app, only)
        made = look.status(app, only, clocks=given.problems)
        text = look.text(made, given.problems)
        if not given.watch:
            return Said(data=made, text=text)
        if text != shown:
            printing.clear()
            printing.out(text)
        if not shown:
            from council.observe import watch  # late: slow to import

            changes = watch.changes(f"{app.root}/memory/shared")
        shown = text
        next(changes)
        app.again()


def show(app: App, given: Given) -> Said:
    """Print a conversation, minutes, an agent or an artifact by its name."""
    which = given.conversation()
    if which and not service.is_open(app, which):  # an id is meant before a part of a title
        for row in _artifacts(app) if which[:4] == "art_" else _agents(app):
            if which == next(iter(row.values())):
                text = "\n".join(f"{key}: {_cell(one)}" for key, one in row.items() if one)
                return Said(data=row, text=text)
    found = service.find(app, which, given.at or 0)
    if given.consensus:
        tally, text = service_views.consensus(found)
        return Said(data=tally, text=text)
    data = service_views.shown(found, given.last or 0)
    if given.format == "debate-session":
        from council.councils import session  # late: only for this form

        data = session.debate_session(found)
    if given.format in ("json", "debate-session"):
        return Said(data=data, text=printing.dumps(data))
    if given.section == "synthesis":
        texts = [one["text"] for one in data["contributions"] if one["kind"] == "synthesis"]
        text = "\n\n".join(texts[-1:]) or "No synthesis."
        return Said(data={"section": given.section, "text": text}, text=text)
    if given.section:
        raise Usage("usage", f"no section {given.section[:40]!r}", "use synthesis")
    return Said(data=data, text=service_views.text(found, app.root))


def list_(app: App, given: Given) -> Said:
    """List open conversations, minutes, agents or artifacts."""
    kind = "minutes" if given.stats or given.archived else given.kinds
    if kind == "minutes":
        return _minutes(app, given)
    if kind not in _LISTS:
        raise Usage("usage", f"cannot list {kind[:40]!r}", "use minutes, agents or artifacts")
    every, columns, nothing = _LISTS[kind]
    words = given.search.casefold().split()
    rows = [
        row
        for row in every(app)
        if row.get("createdAt", "~") >= since(given.since)
        and all(word in str(list(row.values())).casefold() for word in words)
    ]
    nothing = "Nothing fits." if words or given.since else nothing
    pairs = [one.rsplit(" ", 1) for one in columns.split(", ")]
    cells = [[_cell(row[key]) for _, key in pairs] for row in rows]
    return Said(data=rows, text=table([one for one, _ in pairs], cells) if rows else nothing)


def _cell(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _open(app: App) -> Rows:
    from council.observe import status as look  # late: minutes need no status

    found, unread = look.status(app), {"currentPhase": "broken", "tour": "", "waiting": []}
    broken = [{**unread, "name": e["name"], "topic": e["message"]} for e in found["errors"]]
    return [*found["conversations"], *broken]


def _agents(app: App) -> Rows:
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


def _artifacts(app: App) -> Rows:
    from council.archive import artifacts  # late: as above

    return [artifacts.about(app.root, one).to_json() for one in artifacts.known(app.root)]


_OPEN = "name name, phase currentPhase, round tour, waiting for waiting, topic topic"
_LISTS = {  # the rows, the columns with their titles, and what is said where there is none
    "": (_open, _OPEN, "Nothing is open."),
    "agents": (
        *(_agents, "id agentId, name agentName, driver driver, role role"),
        "No agents. Add one: council agent add ID",
    ),
    "artifacts": (
        *(_artifacts, "size size, type contentType, publisher publisher, id artifactId"),
        "No artifacts.",
    ),
}


def _minutes(app: App, given: Given) -> Said:
    from council.archive import minutes  # late: as above

    rows, text = minutes.rows(app.root, given.search, since(given.since)), list[str]()
    if given.stats:
        measured = minutes.stats(rows)
        text = [f"{key}: {'-' if one is None else one}" for key, one in measured.items()]
        return Said(data=measured, text="\n".join(text))
    none = "No minutes fit." if given.search or given.since else "No minutes."
    for row in rows:
        day = row["endedAt"].replace("T", " ")[:16]
        text.append(f"{day} UTC  {row['outcome']}  {one_line(str(row['title']), 50)}")
        text += [f"    {one_line(str(row['decision']), 74)}"] if row.get("decision") else []
        text.append(f"    {row['path']}")
    return Said(data=rows, text="\n".join(text) or none)


def log(app: App, given: Given) -> Said:
    """Print revisions and events of one conversation, or of all."""
    from council.observe import events  # late: as above

    which, form, number = given.conversation(), given.format or "text", given.number or 0
    if form not in ("text", "json"):
        raise Usage("usage", f"no format {form[:40]!r} here", "use text or json")
    seen, begin = 0, since(given.since)
    while True:
        as_json = form == "json"
        rows = list((events.lines if as_json else events.log)(app, which, since=begin))
        data, seen = rows[seen:][-number:], len(rows)
        text = "\n".join(map(codec.dumps, data)) if as_json else events.text(data)
        if not given.follow:
            return Said(data=data, text=text)
        if text.strip():
            printing.out(text)
        time.sleep(0.2)
