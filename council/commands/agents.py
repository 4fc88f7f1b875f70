"""The commands on agents and routing: `agent add|register|list|show|edit|remove|scan`, `route …`.

Source: `cli.md` section 2, DG-013 to DG-022, P8-071 to P8-075, XC-101.
"""

from __future__ import annotations

import os
from typing import Any

from council.commands.output import Output
from council.core.delegation.routing import Facts, Route, Warned
from council.core.plain_text import plain_line
from council.core.protocol.protocol_ids import role_word
from council.operations.agent_profiles import Profile, profile, profiles
from council.operations.agents import Changed, add, edit
from council.operations.agents import register as register_own
from council.operations.agents import remove as remove_agent
from council.operations.place import Place
from council.operations.rooms.scanning import Scan, source_is_there
from council.operations.rooms.scanning import scan as take_over

# What `SOUL.md` holds of an agent, and the options that say it.
_FACTS = {
    **{fact: fact for fact in ("name", "emoji", "role", "model", "driver", "preset")},
    **{"capabilities": "capability", "handles": "handle"},
}


def _facts(values: dict[str, Any]) -> Any:
    return {fact: values[option] for fact, option in _FACTS.items() if values[option]}


def agent_add(place: Place, agent: str, account: str, values: dict[str, Any]) -> Output:
    """Add an agent: its SOUL.md, and its account if you give one; never overwrites."""
    server = {key: values[key] for key in ("base_url", "api_key_env") if values[key]}
    return _changed(place, add(place, agent, _facts(values), account, server))


def agent_edit(place: Place, agent: str, account: str, values: dict[str, Any]) -> Output:
    """Change what is known of an agent; whatever else you wrote into its SOUL.md stays."""
    return _changed(place, edit(place, agent, _facts(values), account))


def agent_register(place: Place, account: str, name: str, as_: str) -> Output:
    """Register your own account as an agent, or change it; no agent registers another."""
    return _changed(place, register_own(place, as_, account, name))


def _changed(place: Place, done: Changed) -> Output:
    lines = [
        f"{done.agent}: {'nothing to change' if done.outcome == 'unchanged' else done.outcome}"
    ]
    if done.identity:
        lines.append(f"  account {done.identity.account}, shown as {done.identity.name}")
    if done.soul:
        lines.append(f"  wrote {os.path.relpath(done.soul, place.root)}")
    if done.has_table:
        lines.append(f"  wrote [agents.{done.agent}] into council.toml")
    return Output(record=done, text="\n".join(lines))


def agent_list(place: Place, json: bool) -> Output:
    """List all agents with their accounts and how they are run."""
    from council.commands.drawing import rows_text

    found, faults = profiles(place)
    rows = []
    for one in found:
        agent, name = one.agent, f"{one.agent.emoji} {one.name}" if one.settled else one.name
        accounts = ", ".join(entry.account for entry in one.identities)
        driver = agent.driver if place.has(agent.id) else "elsewhere"
        rows.append((agent.id, name, one.protocol_id, accounts, driver, agent.role))
    columns = ("agent", "name", "protocol", "account", "driver", "role")
    table = rows_text(columns, rows, whole=("agent", "protocol", "account"))
    lines = [table if rows else "no agents yet; next: council agent add ID"]
    if not json and source_is_there(place):
        source = os.path.relpath(place.paths.ego)
        lines.append(f"to take over the accounts of {source}: council agent scan")
    notes = [*faults, *(fault for one in found for fault in one.agent.faults)]
    return Output(record=found, text="\n".join(one.rstrip("\n") for one in lines), notes=notes)


def agent_show(place: Place, agent: str) -> Output:
    """Show one agent: all its ids, what is known of it, and where that stands."""
    one = profile(place, agent)
    return Output(record=one, text=_shown(place, one), notes=one.agent.faults)


def _shown(place: Place, one: Profile) -> str:
    agent = one.agent
    entries = [
        entry.account + (f" ({entry.name})" if entry.name != agent.id else "")
        for entry in one.identities
    ]
    told: dict[str, Any] = {
        "agent id": agent.id,
        "protocol id": _protocol(one),
        "account": ", ".join(entries),
        "handles": ", ".join(agent.handles),
        "takes part in": ", ".join(
            name + (f" as {role}" if role else "") for name, role in one.roles.items()
        ),
        "role": agent.role,
        "model": agent.model,
        "driver": agent.driver,
        "capabilities": ", ".join(agent.capabilities),
        "works in": os.path.relpath(agent.workspace, place.root),
        "persona": os.path.relpath(one.soul, place.root) if one.soul else "",
    }
    width = max(map(len, told))
    lines = [f"{what:<{width}}  {text or '-'}" for what, text in told.items()]
    return "\n".join([f"{agent.emoji} {one.name}", *lines])


def _protocol(one: Profile) -> str:
    if one.entry is None:
        return f"{one.protocol_id} (has not joined)" if one.protocol_id else ""
    return f"{one.entry.id} ({role_word(one.entry.id)}, {one.entry.status}, {one.entry.version})"


def agent_remove(place: Place, agent: str, account: str, folder: bool) -> Output:
    """Take an agent out of the registry; its persona stays, or is moved aside."""
    done = remove_agent(place, agent, account, folder=folder)
    lines = [f"removed account {one.account} of {agent}" for one in done.identities]
    if done.folder:
        lines.append(f"moved its folder to {os.path.relpath(done.folder, place.root)}/")
    lines = lines or [f"{agent} has no account"]
    lines += [f"left: {one}" for one in done.left]
    return Output(record=done, text="\n".join(lines))


def agent_scan(place: Place, file: str) -> Output:
    """Take over accounts from an ego.json; entries that stand are kept."""
    found = take_over(place, file)
    return Output(record=found, text=_scanned(found))


def _scanned(found: Scan) -> str:
    if found.done is None:
        return f"no identity source at {found.source} (or without a column discord-id)"
    lines = [f"added {one.agent}: {one.account}" for one in found.done.added]
    lines += [
        f"kept {one.agent}: {one.standing}, though the source says {one.account}"
        for one in found.done.kept
    ]
    lines += [f"skipped {one}" for one in found.done.skipped]
    return "\n".join(lines) or "nothing new"


_MARKS = {"chosen": "->", "no-such-agent": "x", "no-match": "-"}


def route_explain(place: Place, values: dict[str, Any]) -> Output:
    """Say which agent something that comes in would go to, and why; nothing is started."""
    from council.operations.delegation.routing import explain as explained

    told = {name: values[name] for name in Facts._fields if name in values}
    facts = Facts(**told, capabilities=tuple(values["capability"]))
    found = explained(place, facts)
    return Output(record={"facts": facts, **found.to_record()}, text=_explained(found))


def _explained(found: Route) -> str:
    if found.agent:
        head = f"{found.agent}  by {found.rule} (tier: {found.tier})"
        lines = [head, f"session: {found.session}"]
    else:
        lines = [
            "nobody: no rule holds, and there is no default",
            "add to council.toml: [[bindings]] with default = true and agent = ID",
        ]
    lines += ["", "Looked at, the most specific first:"]
    for one in found.path:
        said = f"{one.rule} names {one.agent}" if one.rule else "no rule holds"
        said += ", who does not exist" if one.outcome == "no-such-agent" else ""
        lines.append(f"  {_MARKS[one.outcome]:<3}{one.tier:<9}{said}")
    if found.others:
        lines += ["", "Next would have been:", *(f"  {one.to_text()}" for one in found.others)]
    return "\n".join([*map(plain_line, lines), *_warned(found.warnings)])


def _warned(warnings: list[Warned]) -> list[str]:
    return [plain_line(f"warning ({one.kind}): {one.said}") for one in warnings]


def route_check(place: Place, strict: bool) -> Output:
    """Look for rules that are ambiguous, name no agent, or let direct messages meet."""
    from council.operations.delegation.routing import rules, warnings

    known, found = rules(place), warnings(place)
    some = "1 rule" if len(known) == 1 else f"{len(known)} rules"
    record = {"ok": not found, "rules": len(known), "warnings": found}
    text = "\n".join(_warned(found) or [f"{some}; nothing to warn of"])
    return Output(record=record, text=text, code=3 if strict and found else 0)
