"""Rooms as a row of the table of kinds: how their runs are told and heard, and what is shown."""

from __future__ import annotations

import os
from datetime import datetime

from council.kernel import files, ids, times
from council.kernel.document import Document
from council.kernel.errors import NotFound
from council.kernel.ids import digest
from council.kernel.page import one_line, shown
from council.kernel.record import TYPE_CHECKING, Any
from council.rooms import decisions, hearing, page, rules
from council.rooms.model import MODERATOR, Event, Room
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers.output import Output
    from council.runs.starting import Started

SUMMARIES = "memory/shared/discussion-summary"


def view(state: Room) -> dict[str, Any]:
    """Return what every verb says of a room."""
    shown = ("name", "mode", "turnState", "currentSpeaker", "speakers", "cycle")
    known = state.to_json()
    made = {key: known[key] for key in shown}
    made |= {"dormant": bool(state.dormant_at), "members": list(state.members)}
    return {**made, "path": f"memory/shared/channels/{state.name}.md"}


class _Rooms(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module = "room", "channels", page

    def names(self, app: App) -> list[str]:
        pages = files.names(f"{app.root}/memory/shared/channels")
        found = {name[:-3] for name in pages if name[-3:] == ".md"}
        found |= set(files.names(f"{app.state_folder}/rooms"))
        return sorted(n for n in found if ids.is_name(n) and self.document(app, n).exists())

    def document(self, app: App, name: str) -> Document[Any]:
        shown = f"{app.root}/memory/shared/channels/{name}.md"
        os.makedirs(os.path.dirname(shown), exist_ok=True)
        folder = f"{app.state_folder}/rooms/{name}"
        made: Document[Any] = Document(folder, shown, page, now=app.fixed)
        made.segment = 1 << 18  # it is written often, and its page is small
        return made

    def place(self, name: str) -> tuple[str, str]:
        return f"rooms/{name}", f"../channels/{name}.md"

    def ident(self, state: Room) -> str:
        return state.channel_id

    def prompt(self, app: App, state: Room, one: Work, by_hand: bool = False) -> str:
        soul, about, said = app.soul(one.agent), state.discussion, state.messages
        own = [n for n, m in enumerate(said) if m.agent_id == one.agent]
        first = min(own[-1], len(said) - 6) if own and one.task == "turn" else 0
        texts = [f"{m.author}{m.content}" for m in said]
        values = {
            **{"agent": one.agent, "room": state.name, "persona": soul.persona if soul else ""},
            "members": ", ".join(f"@{name}" for name in state.members if name != MODERATOR),
            "order": ", ".join(f"@{name}" for name in state.speakers),
            **{"task": one.ident(state.channel_id), "by_hand": by_hand, one.task: True},
            f"manual_{one.task}": by_hand,
            **{"b": digest(f"{state.mark}{texts}")[:8], "cycle": state.cycle},
            "initiator": about.initiator if about else "",
            "said": [
                {"id": m.id, "who": m.author, "at": m.at, "origin": m.origin, "text": m.content}
                | {"asks": f", to @{m.asks}" if m.asks else ""}
                for m in said[max(0, first) :]
            ],
        }
        return app.filled(f"prompts/{state.lang}/room.md", values)

    def variables(self, state: Room, one: Work) -> dict[str, str]:
        return {
            **{"COUNCIL_NAME": state.name, "COUNCIL_PHASE": "ROOM", "COUNCIL_TOUR": str(one.tour)},
            "COUNCIL_TRACE": state.channel_id,
        }

    def handed_in(
        self, app: App, state: Room, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        when, is_turn = times.text(at), run.task == "turn"
        if output.code and not (output.code == "no-answer" and is_turn):
            end = work.failed(run.id, when, output.code, output.words, output.use, output.again)
            return [end]
        end = work.answered(run.id, when, output.use, output.cut)
        if run.tour != state.turn or rules.asked(state) != (run.agent, run.task):
            return [end]  # it was not waited for any longer
        text = hearing.spoken(output.text, run.agent, state.members)
        if not is_turn:
            from council.archive import artifacts  # late: only at the end

            path = f"{SUMMARIES}/{run.id}.md"
            data = text.encode("utf-8", "replace")
            artifacts.put(f"{app.root}/{path}", data, replace=True)
            return [*decisions.complete(state, run.agent, path, at), end]
        said, more = list[Event](), {"origin": "verified", "run_id": run.id}
        if text:
            said = decisions.post(state, run.agent, run.agent, text, at, **more)
        return [*said, *decisions.end(state, run.agent, run.id, text, at), end]

    def exchange(self, app: App, name: str) -> None:
        if self.document(app, name).peek().tie:
            from council.rooms import discord  # late: an extra

            discord.exchange(app, self.document(app, name))

    def is_over(self, state: Room) -> bool:
        about = state.discussion
        return about is not None and bool(about.completed_at) and not about.minutes

    def finish(self, app: App, name: str) -> str:
        """Report a completed discussion to its callback, and write its minutes; the room stays."""
        room = self.document(app, name)
        state: Room = room.read()
        about = state.discussion
        if about is None or not self.is_over(state):
            return about.minutes if about else ""
        said = decisions.post(state, MODERATOR, None, about.summary, app.now, kind="summary")
        try:
            back = self.document(app, about.callback) if about.callback else None
            if back:
                op = f"summary:{state.channel_id}"
                back.change(lambda _: said, op=op, by=MODERATOR, at=app.now)
        except NotFound:
            pass  # that room is gone
        path = _minutes(app, room, state, about.completed_at or "")
        filed: Event = {"type": "filed", "minutes": os.path.relpath(path, app.root)}
        room.change(lambda now: [filed] * self.is_over(now), by=MODERATOR, at=app.now)
        return path

    def report(
        self, state: Room, events: list[Event], started: Started, filed: str
    ) -> dict[str, Any]:
        made = {"woken": started.woken, "waiting": started.waiting, "archived": filed}
        running = sum(run.is_open() for run in state.runs.by_id.values())
        return {**view(state), **made, "running": running}

    def passed(self, one: Work, code: str, words: str, at: datetime) -> list[Event]:
        made = {"type": "missed", "agent": one.agent, "code": code, "words": words}
        return [{**made, "at": times.text(at)}] if one.task == "turn" else []

    # What observers ask

    def status(self, app: App, name: str, state: Room) -> dict[str, Any]:
        waiting, problems = rules.asked(state)[0], []
        for file in state.kept_aside:
            what = f"an edit of the page of {name} could not be used: {file}"
            fix = f"read it: memory/shared/.council/rooms/{name}/conflicts/{file}"
            problems.append({"name": name, "code": "kept", "what": what, "fix": fix})
        running = sorted(r.agent for r in state.runs.by_id.values() if r.is_open())
        status = "asleep" if state.dormant_at else state.turn_state
        made = {"status": status, "waiting": [waiting] if waiting else [], "running": running}
        return {**view(state), **made, "calmed": state.calmed, "problems": problems}

    def line(self, row: dict[str, Any]) -> str:
        floor = f", floor: {row['currentSpeaker']}" if row["currentSpeaker"] else ""
        calmed = f" ({row['calmed']}: a person's message wakes it)" if row["calmed"] else ""
        return f"{row['name']}: {row['mode']}, {row['status']}{floor}{calmed}"

    def explained(self, app: App, name: str, state: Room) -> dict[str, Any]:
        row = self.status(app, name, state)
        until, since = rules.wake(state), state.began_at or state.turn_at
        waits = {"what": f"{state.current_speaker}'s turn", "agentId": state.current_speaker}
        waits |= {"since": since, "until": times.text(until) if until else None}
        after = f"then {', '.join(state.queue) or 'the next cycle'}"
        woken = "the next message of a person" if state.calmed else "the next message"
        made = {"kind": "room", "id": state.channel_id, "name": name, "status": row["status"]}
        made |= {"waitsFor": [waits] if since else [], "hindrances": row["problems"], "tried": []}
        return {**made, "next": [f"{woken} wakes it" if state.dormant_at else after]}

    def shown(self, app: App, name: str, state: Room, last: int) -> tuple[dict[str, Any], str]:
        said = [{"agentId": None, **one.to_json()} for one in state.messages[-last:]]
        made = {**page.block(state), **view(state), "messages": said, "notes": state.notes}
        row = self.status(app, name, state)
        lines = [self.line({**row, "currentSpeaker": state.current_speaker}), ""]
        for one in state.messages[-last:]:
            lines.append(f"{one.id}  {one.at[:16].replace('T', ' ')} UTC  {one.author}")
            lines += [f"    {line}" for line in one.content.split("\n")]
        return made, "\n".join(lines)


def _minutes(app: App, room: Document[Any], state: Room, ended: str) -> str:
    """Write the minutes of a completed discussion; return their path."""
    from council.archive import minutes  # late: only at the end

    about = state.discussion
    assert about is not None
    events = (event for line in room.history() for event in line.events)
    said = [event for event in events if event["type"] == "said"]
    with open(f"{app.root}/{about.summary}", encoding="utf-8", errors="replace") as file:
        summary = file.read().strip()
    front = {
        **{"title": state.name, "topic": state.name, "date": ended[:10], "name": state.name},
        **{"conversation": state.channel_id, "mode": state.mode, "procedure": "room"},
        **{"participants": state.agents(), "initiator": about.initiator, "outcome": "completed"},
        **{"rounds": state.cycle, "closed_reason": "completed", "summary": about.summary},
        "endedAt": ended,
    }
    t = page.texts(state.lang)
    body = [f"# {t['title']} {state.name}", f"## {t['summary']}", shown(summary, 3)]
    body.append(f"## {t['messages']}")
    for one in said:
        quoted = shown(one["content"], 4).replace("\n", "\n> ")
        body += [f"**{one_line(one['author'])}** {one['at']}", f"> {quoted}"]
    return minutes.write(app.root, front, "\n\n".join([*body, ""]), ended[:10])


ROOMS = _Rooms()
