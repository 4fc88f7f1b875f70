"""Rooms as a row of the table of kinds: how their runs are told and heard, and what is shown."""

from __future__ import annotations

import os

from council.kernel import files, ids, times
from council.kernel.document import Document
from council.kernel.errors import Invalid, Refused, Unexpected
from council.kernel.ids import cut
from council.kernel.page import one_line, shown
from council.kernel.record import TYPE_CHECKING, Any, camel
from council.kernel.times import datetime
from council.kernel.words import fill, template
from council.rooms import decisions, hearing, page, rules
from council.rooms.model import DISCORD, FIELDS, MODERATOR, Event, Member, Room
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.agents.settings import AgentSettings
    from council.app import App
    from council.runs.drivers import Output

SUMMARIES = "memory/shared/discussion-summary"
_FRAME, _HEAD = 4000, 120  # characters of a prompt around the messages, and around each of them


def view(state: Room) -> dict[str, Any]:
    """Return what every verb says of a room."""
    keys = ("name", "mode", "turn_state", "current_speaker", "speakers", "cycle")
    made = {camel(key): getattr(state, key) for key in keys}
    made |= {"dormant": bool(state.dormant_at), "private": bool(state.initiator)}
    path = f"memory/shared/channels/{state.name}.md"
    return {**made, "members": list(state.members), "path": path}


def member(app: App, word: str) -> tuple[str, Member]:
    """Return a member's id and what is known of it, by its id or its account on Discord."""
    from council.runs import starting  # late: members that speak are known to the room

    name = " ".join(word.strip(" @").split())[:64]
    known = starting.registry_of(app, True).identities.get(name)
    ident = known.agent_id if known else hearing.same_name(name)
    if not ident:
        raise Invalid("no-name", f"not a name: {word[:40]!r}", "name an agent or a person")
    if agent := app.agents().get(ident):
        return ident, Member(agent_id=ident, name=agent.name, emoji=agent.emoji)
    # One that is known all the same is an agent of another program.
    return ident, Member(agent_id=ident, name=known.agent_name) if known else Member(name=name)


def author(app: App, state: Room, by: str) -> tuple[str, str | None, str]:
    """Return author, agent and origin of what is said as `by`; a run speaks for its agent alone."""
    if hearing.same_name(by) == MODERATOR:
        raise Refused("moderator", "nobody speaks for the moderator", "say --as ID")
    ident, agent = page.speaker(state, by)
    if ident not in state.members:
        ident, one = member(app, ident)
        agent = one.agent_id
    app.check_run(agent or ident, is_agent=agent is not None)
    return ident, agent, "verified" if app.env.get("COUNCIL_TOKEN") else "claimed"


def discord() -> Any:
    """Return the module that reaches Discord, an extra."""
    try:
        from council.rooms import discord as module  # late: an extra
    except ImportError:
        hint = "install it: pip install 'council-files[discord]'"
        raise Unexpected("no-discord", "Discord needs hikari", hint) from None
    return module


class _Rooms(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module = "room", "channels", page
    hooks = {"run.failed": "failed", "filed": "closed"}

    def names(self, app: App) -> list[str]:
        pages = files.names(f"{app.root}/memory/shared/channels")
        found = {*files.names(f"{app.state_folder}/rooms"), *(n.removesuffix(".md") for n in pages)}
        return sorted(n for n in found if ids.is_name(n) and self.document(app, n).exists())

    def document(self, app: App, name: str) -> Document[Any]:
        os.makedirs(f"{app.root}/memory/shared/channels", exist_ok=True)
        made = super().document(app, name)
        made.segment = 1 << 18  # it is written often, and its page is small
        return made

    def place(self, name: str) -> tuple[str, str]:
        return f"rooms/{name}", f"../channels/{name}.md"

    def ident(self, state: Room) -> str:
        return state.channel_id

    def prompt(self, app: App, state: Room, one: Work, by_hand: bool = False) -> str:
        said = state.messages
        own = [at for at, m in enumerate(said) if m.agent_id == one.agent]
        if own and one.task == "turn":  # what was said since, and before that a little
            said = said[max(0, min(own[-1], len(said) - 6)) :]
        known = app.settings.agent(one.agent)
        limit = min(known.context_limit or app.settings.context_limit, app.settings.context_limit)
        newest, left = list[Any](), max(1000, limit - _FRAME)
        for m in reversed(said):
            if left > 0:
                text, asks = m.content[:left] + "…" * (len(m.content) > left), m.asks
                newest.insert(0, {**vars(m), "asks": asks and f", to @{asks}", "content": text})
            left -= len(m.content) + _HEAD
        values = {
            **{"agent": one.agent, "room": state.name, "cycle": state.cycle, "said": newest},
            "members": ", ".join(f"@{name}" for name in state.members if name != MODERATOR),
            "order": ", ".join(f"@{name}" for name in state.speakers),
            **{"task": one.ident(state.channel_id), one.task: True, "by_hand": by_hand},
            **{f"manual_{one.task}": by_hand, "left_out": left < -_HEAD},
        }
        return app.told(f"prompts/{state.lang}/room.md", one.agent, state, values)

    def starts(self, state: Room, agent: AgentSettings) -> bool:
        """Agents of OpenClaw take their turns in its channel, once a hook has ended one there."""
        hooks = [one for one in state.ended_runs if f" {state.channel_id}." not in one]
        return agent.driver != "openclaw" or not (state.channel or hooks)

    def handed_in(
        self, app: App, state: Room, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        when, is_turn = times.text(at), run.task == "turn"
        if output.code and not (output.code == "no-answer" and is_turn):
            return [work.failed(run.id, when, output.code, output.words, output.use)]
        end = work.answered(run.id, when, output.use, output.cut)
        if run.tour != state.turn or rules.asked(state) != (run.agent, run.task):
            return [end]  # it was not waited for any longer
        text = hearing.spoken(output.text, run.agent, state.members)
        if not is_turn:
            from council.archive import artifacts  # late: only at the end

            path = f"{SUMMARIES}/{run.id}.md"
            artifacts.put(f"{app.root}/{path}", text.encode("utf-8", "replace"), replace=True)
            return [*decisions.complete(state, run.agent, path, at), end]
        how = {"origin": "verified", "run_id": run.id}
        said = decisions.post(state, run.agent, run.agent, text, at, **how) if text else []
        return [*said, *decisions.end(state, run.agent, run.id, text, 0, at), end]

    def exchange(self, app: App, name: str) -> None:
        room = self.document(app, name)
        if room.peek().channel:
            discord().exchange(app, room, member)

    def is_over(self, state: Room) -> bool:
        return bool(state.completed_at) and not state.minutes

    def finish(self, app: App, name: str) -> str:
        """Report a completed discussion to its callback, and write its minutes; the room stays."""
        room = self.document(app, name)
        state: Room = room.read()
        if not self.is_over(state):
            return state.minutes
        how: Any = {"by": MODERATOR, "at": app.now}
        said = [rules.by_moderator("summary", state.summary, times.text(app.now))]
        if state.callback in self.names(app):
            op = f"summary:{state.channel_id}"
            self.document(app, state.callback).change(lambda _: said, op=op, **how)
        path = _minutes(app, room, state)
        filed: Event = {"type": "filed", "minutes": os.path.relpath(path, app.root)}
        room.change(lambda now: [filed] * self.is_over(now), **how)
        return path

    def report(self, state: Room, events: list[Event]) -> dict[str, Any]:
        return view(state)

    def passed(self, one: Work, code: str, words: str, at: datetime) -> list[Event]:
        made = {"type": "missed", "agent": one.agent, "code": code, "words": words}
        return [{**made, "at": times.text(at)}] if one.task == "turn" else []

    def kept(self, state: Room) -> list[str]:
        path = os.path.normpath(state.summary)
        return [path] * path.startswith(f"{SUMMARIES}/")

    def status(self, app: App, name: str, state: Room) -> dict[str, Any]:
        made, folder = super().status(app, name, state), self.document(app, name).folder
        what = {"name": name, "code": "kept", "what": "an edit of the page could not be used"}
        kept = [one for one in files.names(f"{folder}/conflicts") if one in state.kept_aside]
        fixes = [f"use what counts of {folder}/conflicts/{one}, then delete it" for one in kept]
        made["problems"] = [{**what, "fix": fix} for fix in fixes]
        if state.channel and not app.world.get(DISCORD):
            what |= {"code": "discord", "what": f"{name} is not read: {DISCORD} is not set"}
            what["fix"] = "set it, also in the file of keys that `council schedule --install` names"
            made["problems"].append(what)
        status = "asleep" if state.dormant_at else state.turn_state
        return {**made, **view(state), "status": status, "calmed": state.calmed}

    def line(self, row: dict[str, Any]) -> str:
        floor = f", floor: {row['currentSpeaker']}" if row["currentSpeaker"] else ""
        calmed = f" ({row['calmed']}: a person's message wakes it)" if row["calmed"] else ""
        return f"{row['name']}: {row['mode']}, {row['status']}{floor}{calmed}"

    def explained(self, app: App, name: str, state: Room) -> dict[str, Any]:
        made, speaker = super().explained(app, name, state), state.current_speaker
        since, until = state.began_at or state.turn_at, rules.until(state) or None
        turn = "turn" if since else "turn (the first word)"
        what = f"{speaker}'s {'text to arrive' if state.tail else turn}"
        waits = {"what": what, "agentId": speaker, "since": since, "until": until}
        then = f"then {', '.join(state.queue) or 'the next cycle'}" if speaker else "no turns"
        if state.dormant_at:
            then = f"the next message{' of a person' * bool(state.calmed)} wakes it"
        return {**made, "waitsFor": [waits] if speaker else [], "next": [then]}

    def shown(self, app: App, name: str, state: Room, last: int) -> tuple[dict[str, Any], str]:
        said, lines = state.messages[-last:], [self.line(self.status(app, name, state)), ""]
        rows = [one.row((*FIELDS, "content")) for one in said]
        for one in said:
            lines.append(f"{one.id}  {one.at[:16].replace('T', ' ')} UTC  {one.author}")
            lines += [f"    {line}" for line in one.content.split("\n")]
        made = {**page.block(state), **view(state), "messages": rows, "notes": state.notes}
        return made, "\n".join(lines)


def _minutes(app: App, room: Document[Any], state: Room) -> str:
    """Write the minutes of a completed discussion; return their path."""
    from council.archive import minutes  # late: only at the end

    ended, said = state.completed_at, list[dict[str, str]]()
    for one in [one for line in room.history() for one in line.events if one["type"] == "said"]:
        text = shown(one["content"], 4).replace("\n", "\n> ").replace("> \n", ">\n")
        said.append({"author": one_line(one["author"]), "at": one["at"], "text": text})
    with open(f"{app.root}/{state.summary}", encoding="utf-8", errors="replace") as file:
        summary = file.read()
    form = template(f"texts/room-{state.lang}.txt").partition("\n====\n")[2]
    body = fill(form, {"name": state.name, "summary": shown(summary, 3), "said": said})
    front = {
        **{"title": state.name, "topic": state.name, "date": ended[:10], "name": state.name},
        **{"conversation": state.channel_id, "mode": state.mode, "procedure": "room"},
        **{"participants": state.agents(), "initiator": state.initiator, "outcome": "completed"},
        **{"rounds": state.cycle, "closed_reason": "completed", "summary": state.summary},
        **{"ended": ended, "decision": cut(summary, 300)},
    }
    return minutes.write(app.root, front, body, ended[:10])


ROOMS = _Rooms()
