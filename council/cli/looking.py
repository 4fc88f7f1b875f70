"""The commands that only look: status, show, list, log."""

from __future__ import annotations

import sys

from council.app import App
from council.cli import printing
from council.cli.printing import Said
from council.cli.quick import Given
from council.kernel import codec, files, times
from council.kernel.errors import Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import named

if TYPE_CHECKING:
    from collections.abc import Callable

Rows = list[dict[str, Any]]
_OVER = ("archived", "closed")  # rooms and contexts that `list` still shows


def status(app: App, given: Given) -> Said:
    """Show what is open, who owes an answer, and what failed."""
    only, shown = app.find(given.which) if given.which else "", ""
    for _ in named.changes(app.root, given.watch):
        app.again()
        if given.advance:
            from council.runs import heartbeat  # late: as above

            heartbeat.beat(app, only)
        made = _status(app, only, clocks=given.problems)
        others = [row for kind in app.kinds[1:] for row in made[kind.place_in_report]]
        others = [row for row in others if row["status"] not in _OVER]
        more = {"others": others, "idle": not (made["conversations"] or others or made["errors"])}
        said = Said(data=made, more=more, reply="problems" if given.problems else "status")
        if given.watch and (text := printing.text(said)) != shown:
            sys.stdout.write("\x1b[2J\x1b[H" * (sys.stdout.isatty() and not given.json))
            printing.out(codec.printed(made) if given.json else text)
            shown = text
    return said


def show(app: App, given: Given) -> Said:
    """Print a conversation, minutes, an agent, an artifact or a brief by its name."""
    which = given.which
    if which and not app.is_open(which):  # an id is meant before a part of a title
        rows = _artifacts(app) if which[:4] == "art_" else [*_brief(app, which), *_agents(app)]
        for row in [row for row in rows if which == next(iter(row.values()))]:
            known = {_label(key): one for key, one in row.items() if one and key != "agentName"}
            if "agentId" in row:
                from council.delegation import service  # late: as above

                reads = app.env.get("COUNCIL_AGENT") == which  # itself
                row |= {"inbox": inbox} if (inbox := service.inbox(app, which, reads)) else {}
            text = codec.printed(row) * (given.format == "json")
            return Said(data=row, text=text, more={"data": known}, reply="facts")
    form = "consensus" if given.consensus else given.format
    data, text = named.show(app, which, form, given.at or 0, given.last or 0)
    if given.section and "contributions" in data:  # of which there is one
        texts = [one["text"] for one in data["contributions"] if one["kind"] == "synthesis"]
        text = "\n\n".join(texts[-1:]) or "No synthesis."
        return Said(data={"section": given.section, "text": text}, text=text)
    if given.last and form in ("", "md") and "contributions" in data:
        return Said(data=data, more={"said": data["contributions"]}, reply="said")
    return Said(data=data, text=text)


def _label(key: str) -> str:
    """Return a key of JSON as people read it: `agentId` is `agent id`."""
    return "".join(f" {one.lower()}" if one.isupper() else one for one in key)


def list_(app: App, given: Given) -> Said:
    """List open conversations, minutes, agents or artifacts."""
    kind, begin = given.kinds or "conversations", _since(given)
    if given.stats or given.archived or kind == "minutes":
        from council.archive import minutes  # late: as above

        kind, rows = "minutes", minutes.rows(app.root, given.search, begin)
        if given.stats:
            measured = minutes.stats(rows)
            told = {_label(key): one for key, one in _cells(measured).items()}
            return Said(data=measured, more={"data": told}, reply="facts")
    elif kind in _LISTS:
        words, rows = given.search.casefold().split(), _LISTS[kind](app)
        rows = [row for row in rows if row.get("createdAt", "~") >= begin]
        rows = [row for row in rows if all(w in str([*row.values()]).casefold() for w in words)]
    else:
        hint = "use minutes, agents, rooms, tasks or artifacts"
        raise Usage("usage", f"cannot list {kind[:40]!r}", hint)
    shown = rows if kind == "minutes" else list(map(_cells, rows))
    nothing = "" if rows else "missed" if given.search or given.since else "none"
    return Said(data=rows, more={"rows": shown, nothing: True}, reply=kind)


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for a table: lists with commas, and a dash where there is nothing."""
    joined = {k: ", ".join(map(str, v)) if isinstance(v, list) else v for k, v in row.items()}
    return {key: "-" if one in ("", None) else one for key, one in joined.items()}


def _since(given: Given) -> str:
    """Return the beginning of the time that `--since` means, as comparable text; "" is all."""
    return str(given.since and times.text(times.instant(given.since))).removesuffix("T00:00:00Z")


def _status(app: App, only: str = "", *, clocks: bool = False) -> dict[str, Any]:
    from council.observe import status as look  # late: minutes need no status

    return look.status(app, only, clocks=clocks)


def _open(app: App) -> Rows:
    found, unread = _status(app), {"currentPhase": "broken", "tour": "", "waiting": []}
    broken = [{**unread, "name": e["name"], "topic": e["message"]} for e in found["errors"]]
    return [*found["conversations"], *broken]


def _agents(app: App) -> Rows:
    from council.runs import starting  # late: as above
    from council.setup.agents import shown  # late: as above

    protocol = {one.agent_id: key for key, one in starting.registry_of(app).workers.items()}
    rows = map(shown, app.agents().values())
    return [{**row, "protocolId": protocol.get(row["agentId"], "")} for row in rows]


def _artifacts(app: App) -> Rows:
    from council.archive import artifacts  # late: as above

    return [artifacts.about(app.root, one).to_json() for one in artifacts.known(app.root)]


def _brief(app: App, which: str) -> Rows:
    """Return the brief of a hand-off, by the name of its file."""
    name = which.rpartition("/")[2].removesuffix(".json")
    path = f"{app.root}/memory/shared/briefs/{name}.json"
    found = files.content(path) if "-to-" in name and len(name) <= 250 else None
    return [{"brief": which, **codec.loads(found)}] if found else []


_LISTS: dict[str, Callable[[App], Rows]] = {
    "conversations": _open, "agents": _agents, "artifacts": _artifacts,
    "rooms": lambda app: _status(app)["channels"], "tasks": lambda app: _status(app)["tasks"],
}  # fmt: skip


def log(app: App, given: Given) -> Said:
    """Print revisions and events of one conversation, or of all."""
    form, seen = given.format or "text", -1
    read = named.log if form == "text" else named.lines
    if form == "otlp":
        from council.observe import otlp  # late: only for this form

        read = otlp.traces
    for _ in named.changes(app.root, given.follow):
        rows = list(read(app, given.which, _since(given)))
        most = len(rows) if given.number is None else given.number
        data, seen = rows[max(0, len(rows) - most) if seen < 0 else seen :], len(rows)
        said = Said(data=data, more={"rows": data * (form == "text")}, reply="log")
        if form in ("json", "otlp"):
            said.text = "\n".join(map(codec.printed, data))
        if form == "protocol":
            from council.tasks.row import protocol_line  # late: only for this form

            said.text = "\n".join(protocol_line(one) for one in data if "line" in one)
        if given.follow and (text := printing.text(said).strip()):
            printing.out("\n".join(map(codec.printed, data)) if given.json else text)
    return said
