"""Commands of the user that are told of events: `[hooks]` in `council.toml`.

Each gets the event as JSON on standard input, runs detached, and is never waited for.
"""

from __future__ import annotations

from council.kernel import codec, ids
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App
    from council.councils.model import State
    from council.kernel.document import Change
    from council.runs.kinds import KindRow

Event = dict[str, Any]
_BY_TYPE = {"round.begun": "phase_changed", "run.failed": "failed", "archived": "closed"}
_ASKS = ("round.begun", "joined")
_MOVES = (*_ASKS, "answered", "passed", "ended")
_LONG = ("text", "heard", "config")
_MOST = 60_000  # bytes: a pipe holds that much, so writing never waits
_OURS = ("COUNCIL_TOKEN", "COUNCIL_SUPERVISED")


def fire(app: App, change: Change, row: KindRow | None) -> None:
    """Start the hooks that a change of a document calls for; without a row of a conversation."""
    commands, state = app.settings.tables.get("hooks", {}), change.state
    if not commands:
        return
    from council.councils.model import State  # late: most workspaces have no hooks

    row = row or app.kinds[0]
    ident, events = row.ident(state), change.events
    others = [(row.hooks[e["type"]], e) for e in events if e["type"] in row.hooks]
    found = [*named(events, state)] if isinstance(state, State) else others
    for at, (name, event) in enumerate(found):
        shown = {
            **{"eventId": f"{ident}:{state.rev}.{at}", "hook": name, "traceId": ident},
            **{"conversationId": ident, "kind": row.name, "agentId": event.get("agent", "")},
            **{key: getattr(state, key, "") for key in ("name", "phase", "tour")},
            **{key: one for key, one in event.items() if key not in _LONG},
        }
        short = {k: ids.cut(v, 2000) if isinstance(v, str) else v for k, v in shown.items()}
        if commands.get(name):
            _start(app, commands[name], codec.dumps(short))


def named(events: list[Event], state: State) -> Iterator[tuple[str, Event]]:
    """Yield the hooks that events call for, each with what it is told; pure."""
    from council.councils import rules  # late: as above

    moves = [event for event in events if event["type"] in _MOVES]
    for event in events:
        if event["type"] in _BY_TYPE and not (event["type"] == "round.begun" and state.tour == 1):
            yield _BY_TYPE[event["type"]], {**event, "agentId": event.get("agent", "")}
        if event.get("reason") in ("agreed", "consensus"):
            yield "consensus", event
    # In a parallel round everyone was told when it began; otherwise each gets the floor by a move.
    begins = any(event["type"] in _ASKS for event in moves)
    is_told = not moves or (state.rounds and state.round().parallel and not begins)
    asked = [] if is_told else rules.asked(state)
    people = [one for one in asked if state.participants[one].person]
    if any(event["type"] == "ended" for event in moves):
        people = list(filter(None, [state.config.sign_off]))
    for ident in people:
        yield "waiting_for_person", {"type": "waiting", "agentId": ident, "at": state.updated_at}


def _start(app: App, command: Any, text: str) -> None:
    from subprocess import DEVNULL, PIPE, Popen  # late: most workspaces have no hooks

    argv = [str(one) for one in command] if isinstance(command, list) else ["sh", "-c", command]
    env = {k: v for k, v in app.env.items() if k not in _OURS} | {"COUNCIL_ROOT": app.root}
    how: Any = {"stdout": DEVNULL, "stderr": DEVNULL, "env": env, "start_new_session": True}
    try:
        told: Any = Popen(argv, stdin=PIPE, **how).stdin
        with told:
            told.write(text.encode("utf-8", "replace")[:_MOST] + b"\n")
    except OSError:
        pass  # doctor names a hook whose program is missing
