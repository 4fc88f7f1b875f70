"""Commands of the user that are told of events: `[hooks]` in `council.toml`.

Each gets the event as JSON on standard input, runs detached, and is never waited for.
"""

from __future__ import annotations

import os

from council.councils import rules
from council.kernel import codec, ids
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App
    from council.councils.model import State

_BY_TYPE = {"round.begun": "phase_changed", "run.failed": "failed", "archived": "closed"}
_ASKS = ("round.begun", "joined")
_MOVES = (*_ASKS, "answered", "passed", "ended")
_LONG = ("text", "heard", "config")
_MOST = 60_000  # bytes: a pipe holds that much, so writing never waits


def fire(app: App, events: list[dict[str, Any]], state: State) -> int:
    """Start the hooks that a change calls for, given the state after it; return how many."""
    try:
        with open(f"{app.root}/council.toml", "rb") as file:
            if b"\n[hooks]" not in b"\n" + file.read():  # most have none; the parser is slow
                return 0
    except OSError:
        return 0
    commands = app.settings.tables.get("hooks", {})
    due = [(name, event) for name, event in named(events, state) if commands.get(name)]
    for at, (name, event) in enumerate(due):
        shown: dict[str, Any] = {
            **{"eventId": f"{state.conversation_id}:{state.rev}.{at}", "hook": name},
            **{"traceId": state.conversation_id, "conversationId": state.conversation_id},
            **{"agentId": "", "name": state.name, "phase": state.phase, "tour": state.tour},
            **{key: one for key, one in event.items() if key not in _LONG},
        }
        short = {k: ids.cut(v, 2000) if isinstance(v, str) else v for k, v in shown.items()}
        _start(app, commands[name], codec.dumps(short))
    return len(due)


def named(events: list[dict[str, Any]], state: State) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the hooks that events call for, each with what it is told; pure."""
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
    argv = [str(one) for one in command] if isinstance(command, list) else ["sh", "-c", command]
    env = {k: v for k, v in app.env.items() if k not in ("COUNCIL_TOKEN", "COUNCIL_SUPERVISED")}
    (reader, writer), null = os.pipe(), os.open(os.devnull, os.O_RDWR)
    ends = [(os.POSIX_SPAWN_DUP2, source, to) for to, source in enumerate((reader, null, null))]
    try:
        os.write(writer, text.encode("utf-8", "replace")[:_MOST] + b"\n")
        env["COUNCIL_ROOT"] = app.root
        os.posix_spawnp(argv[0], argv, env, setsid=True, file_actions=ends)
    except OSError:
        pass  # doctor names a hook whose program is missing
    finally:
        for one in (reader, writer, null):
            os.close(one)
