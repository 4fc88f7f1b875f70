"""The commands on the registry of the protocol: who takes part in it, and how they are.

`agent join|leave|caps|query|liveness|select`, `agent group add|remove|list`.

Source: `cli.md` sections 2 and 3, PR-404, PR-405, PR-421, PR-504 to PR-518, PR-561.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from council.commands.drawing import rows_text
from council.commands.glance import ago
from council.commands.options import listed, whole_number
from council.commands.output import Output
from council.core.errors import NotFoundError, UsageError
from council.core.plain_text import plain_line
from council.core.protocol.messages import inline, is_inline
from council.core.protocol.protocol_ids import is_protocol_id, role_word
from council.core.protocol.registering import Joining
from council.core.protocol.registry import CAPABILITIES
from council.core.protocol.selection import Selection
from council.operations.detach import wake_next
from council.operations.place import Place
from council.operations.protocol.registry import (
    change_group,
    declare,
    protocol_id_of,
    tell_liveness,
    weigh,
    whom,
)
from council.operations.protocol.registry import join as register
from council.operations.protocol.registry import leave as take_out
from council.operations.protocol.registry import query as look
from council.operations.protocol.registry_changes import Done, not_registered, registry_of

_ROLES = {"orchestrator": "O", "worker": "W", "router": "R", "o": "O", "w": "W", "r": "R"}
_VERSIONS = ("V4", "V5")


def agent_join(place: Place, who: str, as_: str, caps: str, values: dict[str, Any]) -> Output:
    """Give an agent its protocol id: the one it proposes, or the next free one."""
    proposed, agent = whom(place, who, as_)
    wish = Joining(
        proposed=proposed,
        role=_role(values["role"], proposed),
        agent=agent,
        capabilities=tuple(dict.fromkeys(listed(caps))) if caps else None,
        description=_line(values["desc"]),
        max_depth=whole_number(values["max_depth"], "--max-depth", 6) or None,
        version=_version(values["version"], "--version"),
        fallback=_version(values["fallback"], "--fallback"),
    )
    return _done(register(place, wish))


def _role(word: str, proposed: str) -> str:
    letter = _ROLES.get(word.lower()) if word else proposed[:1] or "W"
    if word.lower() in ("g", "group"):
        raise UsageError("a group does not join", "make one: council agent group add G1 W1 W2")
    if letter is None:
        raise UsageError(f"no role {word!r}", "choose worker, orchestrator or router")
    if proposed and letter != proposed[0]:
        raise UsageError(f"{proposed} is no {word}", "leave --role out, or propose another id")
    return letter


def _version(word: str, option: str) -> str:
    if word and word.upper() not in _VERSIONS:
        raise UsageError(f"{option} {word!r} is not spoken here", "choose V4 or V5")
    return word.upper()


def _line(text: str) -> str:
    if text and not is_inline(text):
        raise UsageError(
            "--desc does not fit into a message", f"such as: {inline(text, 60)}; no | > ; or quotes"
        )
    return text


def _done(done: Done, note: str = "") -> Output:
    """Say what an act on the registry came to: the word, then what was answered."""
    entry = done.entry
    about = done.id
    if entry is not None and entry.agent:
        about = f"{done.id} ({entry.agent})"
    lines = [f"{about}: {done.outcome.replace('-', ' ')}", *(f"  {one}" for one in done.answers)]
    return Output(record=done, text="\n".join(lines), notes=[note] if note else [])


def agent_leave(place: Place, who: str, reason: str, as_: str) -> Output:
    """Take an agent out of the protocol, and out of all its groups."""
    done = take_out(place, protocol_id_of(place, who or as_), reason)
    wake_next(place)  # what it was at goes to another worker
    return _done(done)


def agent_caps(place: Place, who: str, capabilities: str, as_: str) -> Output:
    """Declare what an agent can do, or show it; without an agent, the standard capabilities."""
    if not (who or as_):
        return Output(record={"standard": list(CAPABILITIES)}, text="\n".join(CAPABILITIES))
    about, wanted = (as_, who) if as_ and not is_protocol_id(who) else (who or as_, "")
    one = protocol_id_of(place, about)
    wanted = capabilities or wanted
    if wanted:
        return _done(declare(place, one, listed(wanted)))
    entry = registry_of(place).get(one)
    if entry is None:
        raise not_registered(one)
    record = {"id": one, "capabilities": list(entry.capabilities)}
    return Output(record=record, text="\n".join(entry.capabilities) or "none declared")


def agent_query(place: Place, pattern: str, status: str, filter: str) -> Output:
    """List who takes part in the protocol: ids, agents, status, load, capabilities."""
    found = look(place, filter or pattern, status)
    if not found.entries:
        return Output(record=found, text="nobody fits; next: council agent join --as AGENT")
    rows = []
    for one in found.entries:
        agent = one.agent or ("coordinator" if one.id == "O1" else "-")
        load = f"{one.load}%" if one.alive_at else "-"
        able = ", ".join(one.capabilities) or "-"
        rows.append((one.id, agent, role_word(one.id), str(one.status), load, one.version, able))
    columns = ("id", "agent", "role", "status", "load", "speaks", "capabilities")
    lines = [rows_text(columns, rows, whole=("id", "agent", "status")).rstrip("\n")]
    groups = sorted(found.registry.groups.items())
    lines += [plain_line(f"{name}: {' '.join(many)}") for name, many in groups]
    return Output(record=found, text="\n".join(lines))


def agent_liveness(place: Place, who: str, load: str, queue: str, as_: str) -> Output:
    """Say that an agent is alive, with load and queue; without --load, show who is."""
    if not load and not queue:
        found = look(place, protocol_id_of(place, who or as_) if who or as_ else "*")
        now, rows = place.now(), []
        for one in found.entries:
            percent, waiting = (f"{one.load}%", str(one.queue)) if one.alive_at else ("-", "-")
            seen = ago(now, one.seen_at) if one.seen_at else "never"
            watched = "yes" if one.watched else "no"
            rows.append((one.id, one.agent or "-", one.status, percent, waiting, seen, watched))
        columns = ("id", "agent", "status", "load", "queue", "last sign of life", "watched")
        text = rows_text(columns, rows, whole=("id", "agent", "status"))
        return Output(record=found, text=text)
    busy, letters = _count(load, "--load"), _count(queue, "--queue")
    done = tell_liveness(place, protocol_id_of(place, who or as_), busy, letters)
    output = _done(done, note=f"warning: {done.reason}" if done.reason else "")
    return output.copy(record={**done.to_record(), "warning": done.reason or None})


def _count(text: str, option: str) -> int:
    digits = text.removesuffix("%") or "0"
    if not (digits.isascii() and digits.isdigit() and len(digits) < 7):
        raise UsageError(f"{option} {text!r} is not a whole number from 0")
    return int(digits)


def agent_select(
    place: Place, capabilities: str, explain: bool, count: str, depth: str, threshold: str
) -> Output:
    """Say which worker would get a task, by capabilities, load and last use."""
    wanted = listed(capabilities)
    if not wanted:
        raise UsageError("no capability was named", "such as: council agent select plan")
    found = weigh(place, wanted, depth=_count(depth, "--depth"), threshold=_share(threshold))
    chosen = found.first(whole_number(count, "--count", 99) or 1)
    record = {**found.as_json("required threshold"), "selected": list(chosen)}
    record |= found.as_json("order candidates")
    text = _explained(found, chosen, place.now()) if explain else "\n".join(chosen)
    if chosen:
        return Output(record=record, text=text)
    needed = ", ".join(found.required) or "it"
    refused = NotFoundError(
        f"nobody fits {needed}", "see why: council agent select CAPS --explain; or: agent query"
    )
    record["error"] = refused.to_record()
    notes = [f"{refused.message} ({refused.hint})"]
    return Output(record=record, text=text, notes=notes, code=refused.exit_code)


def _share(text: str) -> float | None:
    if not text:
        return None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"--threshold {text!r} is not a number from 0 to 1")
    return share


def agent_group_add(place: Place, group: str, members: list[str]) -> Output:
    """Put workers into a group; a message to it reaches each of them once."""
    return _change_group(place, group, members, add=True)


def agent_group_remove(place: Place, group: str, members: list[str] | None) -> Output:
    """Take workers out of a group; without any left there is no such group."""
    if members is not None and not listed(*members):
        raise UsageError("members names nobody", "name the workers to take out")
    return _change_group(place, group, members or [], add=False)


def _change_group(place: Place, group: str, members: list[str], *, add: bool) -> Output:
    named = [protocol_id_of(place, one) for one in listed(*members)]
    done = change_group(place, group, named, add=add)
    left = done.registry.groups.get(group, [])
    record = {"outcome": done.outcome, "group": group, "members": left, "answers": done.answers}
    return Output(record=record, text=f"{group}: {' '.join(left) or 'nobody'}")


def agent_group_list(place: Place) -> Output:
    """List the groups and their members."""
    groups = {name: list(many) for name, many in sorted(registry_of(place).groups.items())}
    lines = [f"{name}: {' '.join(many) or 'nobody'}" for name, many in groups.items()]
    none = "no groups yet; make one: council agent group add G1 W1 W2"
    return Output(record={"groups": groups}, text="\n".join(lines) or none)


def _explained(found: Selection, chosen: Sequence[str], now: datetime) -> str:
    """Return every candidate with what speaks for it, the best first."""
    if not found.candidates:
        return "there are no workers; next: council agent join --as AGENT"
    rows = []
    for weighed in found.candidates:
        one = weighed.candidate
        mark = "->" if one.id in chosen else ""
        used = ago(now, one.used_at) if one.used_at else "never"
        has = ", ".join(weighed.matched) or "-"
        why = weighed.why_not or (f"lacks {', '.join(weighed.missing)}" if weighed.missing else "")
        rows.append((mark, one.id, f"{weighed.score:.2f}", f"{one.load}%", used, has, why))
    columns = ("", "id", "score", "load", "last used", "has", "note")
    return rows_text(columns, rows, whole=("", "id", "score", "load"))
