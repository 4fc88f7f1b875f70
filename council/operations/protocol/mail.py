"""Reading what was sent: an inbox, P0 first, and the log of all messages.

Source: PR-309, PR-586, P8-015, `cli.md` section 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from council.core.errors import NotFoundError, RefusedError, UsageError
from council.core.protocol.messages import USER
from council.operations.place import Place, own_agent, speaker
from council.operations.protocol.registry_changes import not_registered, registry_of
from council.store.protocol import protocol_log
from council.store.protocol.contexts import Contexts
from council.store.protocol.inboxes import Letter, read_inbox
from council.wire.identifiers import is_agent


def inbox(place: Place, who: str = "", *, context: str = "", last: int = 0) -> list[Letter]:
    """Return what was sent to an agent, by whatever id: P0, P1, P2, the oldest first.

    Args:
        place: The workspace.
        who: A protocol id, an agent, or `User`; "" for the caller.
        context: Only what belongs to this context, "" for all.
        last: Only so many of the newest, 0 for all.

    Raises:
        NotFoundError: No agent has that name.
        RefusedError: A run reads what was sent to another one.
        UsageError: Nothing says who reads.
    """
    letters = read_inbox(place.paths, _names(place, who))
    if not letters and is_agent(who) and registry_of(place).get(who) is None:
        raise not_registered(who)
    if context:
        letters = [one for one in letters if one.context == context]
    if last:
        letters = letters[-last:]
    return sorted(letters, key=lambda one: one.priority)


def _names(place: Place, who: str) -> list[str]:
    """Return the names under which an agent gets letters: protocol id and agent id."""
    registry = registry_of(place)
    if who == USER:
        if place.is_in_run:
            raise RefusedError("a run cannot read what was sent to the user", "leave --as out")
        return [USER]
    if not is_agent(who):
        agent = speaker(place, who)
        entry = registry.of_agent(agent)
        if entry is None and agent not in place.agents():
            raise NotFoundError(f"nobody is called {agent}", "see: council agent list")
        return [agent, *([entry.id] if entry is not None else [])]
    bearer = registry.agents.get(who, "") if registry.get(who) else ""
    own = own_agent(place) if place.is_in_run else ""
    if own and bearer != own:
        raise RefusedError(f"this run is {own}'s and cannot read the inbox of {who}", "leave --as")
    return [who, bearer] if bearer else [who]


def log_lines(
    place: Place, *, since: str = "", context: str = "", task: str = "", level: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield day and line of the messages that were logged, oldest first.

    Args:
        place: The workspace.
        since: The first day, such as `2026-02-08`; "" for all.
        context: Only lines of this context, "" for all.
        task: Only lines of this task, "" for all.
        level: Only lines of this level or a graver one, "" for all.

    Raises:
        UsageError: There is no such level.
        NotFoundError: There is no such context.
    """
    from council.wire.log_lines import LEVELS

    if level and level not in LEVELS:
        raise UsageError(f"no level {level!r}", f"choose: {', '.join(LEVELS)}")
    least = LEVELS.index(level) if level else 0
    found = False
    for day, line in protocol_log.read_log(place.paths, since=since):
        words = line.split(" ", 4)
        if len(words) < 5:
            continue
        if (context and words[2] != f"[{context}]") or (task and words[3] != f"[{task}]"):
            continue
        grade = words[1][1:-1]
        found = found or grade in LEVELS
        if grade in LEVELS and LEVELS.index(grade) >= least:
            yield day, line
    if context and not found:
        Contexts(place.paths).read(context)  # one that there is has said nothing yet
