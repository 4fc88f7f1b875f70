"""Commands of the user that are told of events: `[hooks]` in `council.toml`.

Each gets the event as JSON on standard input, runs detached, and is never waited for.
"""

from __future__ import annotations

import os

from council.kernel import codec, ids
from council.kernel.record import Any
from council.observe.status import owed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App
    from council.councils.model import State

_BY_TYPE = {"round.begun": "phase_changed", "run.failed": "failed", "archived": "closed"}
_MOVES = ("round.begun", "answered", "passed", "joined", "ended")
_MOST = 60_000  # bytes: a pipe holds that much, so writing never waits


def fire(app: App, events: list[dict[str, Any]], state: State) -> int:
    """Start the hooks that a change calls for; return how many.

    Args:
        app: The workspace.
        events: Those of the change.
        state: After it.
    """
    try:
        with open(f"{app.root}/council.toml", "rb") as file:
            if b"[hooks]" not in file.read():  # most have none, and the parser is slow to import
                return 0
    except OSError:
        return 0
    commands = app.settings.tables.get("hooks", {})
    told = [(name, event) for name, event in named(events, state) if commands.get(name)]
    for at, (name, event) in enumerate(told):
        more = {"eventId": f"{state.conversation_id}:{state.rev}.{at}", "hook": name}
        more |= {"traceId": state.conversation_id, "conversationId": state.conversation_id}
        more |= {"name": state.name, "phase": state.phase, "tour": state.tour}
        shown = {k: v for k, v in event.items() if k not in ("text", "heard", "config")}
        shown = {k: ids.cut(v, 2000) if isinstance(v, str) else v for k, v in shown.items()}
        _start(app, commands[name], codec.dumps({"agentId": "", **more, **shown}))
    return len(told)


def named(events: list[dict[str, Any]], state: State) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the hooks that events call for, with what they are told; pure."""
    for event in events:
        if event["type"] in _BY_TYPE and not (event["type"] == "round.begun" and state.tour == 1):
            yield _BY_TYPE[event["type"]], {**event, "agentId": event.get("agent", "")}
        if event.get("reason") in ("agreed", "consensus"):
            yield "consensus", event
    moves = [event for event in events if event["type"] in _MOVES]
    begun = [event for event in moves if event["type"] in ("round.begun", "joined")]
    asked = owed(state) if moves and not state.ended_at else []
    if state.rounds and state.round().parallel and not begun:
        asked = []  # told when the round began
    waiting = [one for one in asked if state.participants[one].person]
    if state.ended_at and state.config.sign_off and any(e["type"] == "ended" for e in moves):
        waiting = [state.config.sign_off]
    for ident in waiting:
        yield "waiting_for_person", {"type": "waiting", "agentId": ident, "at": state.updated_at}


def _start(app: App, command: Any, text: str) -> None:
    argv = [str(one) for one in command] if isinstance(command, list) else ["sh", "-c", command]
    reader, writer = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    env = {k: v for k, v in app.env.items() if k not in ("COUNCIL_TOKEN", "COUNCIL_SUPERVISED")}
    try:
        os.write(writer, text.encode("utf-8", "replace")[:_MOST] + b"\n")
        os.posix_spawnp(
            argv[0],
            argv,
            {**env, "COUNCIL_ROOT": app.root},
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, source, to)
                for source, to in ((reader, 0), (null, 1), (null, 2))
            ],
        )
    except OSError:
        pass  # doctor names a hook whose program is missing
    finally:
        for one in (reader, writer, null):
            os.close(one)
