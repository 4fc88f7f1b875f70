"""The commands on agents: `agent add|register|list|show|edit|remove|scan`.

Source: `cli.md` section 2, DG-013 to DG-022, XC-101.
"""

from __future__ import annotations

import os
from typing import Any

from council.cli.edge import Output
from council.cli.parameters import AS, JSON, argument, command, flag, option
from council.core.protocol.protocol_ids import role_word
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.agents import Changed
    from council.operations.profiles import Profile
    from council.operations.rooms.scanning import Scan
    from council.store.agent_folders import Facts

AGENT = argument("ID", "The agent.")
TITLE = option("--name", "NAME", "The name to show.")


def _told(
    place: Place,
    agent: str = AGENT,
    name: str = TITLE,
    emoji: str = option("--emoji", "EMOJI", "Stands before the name."),
    role: str = option("--role", "ROLE", "What it is there for."),
    model: str = option("--model", "MODEL", "The model it runs on."),
    driver: str = option("--driver", "DRIVER", "How it is run: manual, command, scripted."),
    preset: str = option("--preset", "PRESET", "A ready-made command, such as claude."),
    capabilities: list[str] = option("--capability", "WORD", "What it can do; once for each.", []),
    handles: list[str] = option(
        "--handle", "HANDLE", "What else it is called, such as W3; each.", []
    ),
    account: str = option("--account", "ACCOUNT", "Its account in channels."),
) -> tuple[str, Facts, str]:
    """Return an agent, what was given of the facts that `SOUL.md` holds, and its account."""
    del place
    facts: Facts = {
        "name": name,
        "emoji": emoji,
        "role": role,
        "model": model,
        "driver": driver,
        "preset": preset,
        "capabilities": capabilities,
        "handles": handles,
    }
    return agent, {fact: given for fact, given in facts.items() if given}, account


@command(
    "agent add", "council agent add henry --name Henry --role Skeptic --preset claude", takes=_told
)
def add(place: Place, told: tuple[str, Facts, str]) -> Output:
    """Add an agent: its SOUL.md, and its account if you give one; never overwrites."""
    from council.operations.agents import add as add_agent

    return _changed(place, add_agent(place, *told))


@command("agent edit", "council agent edit henry --account 123456789012345678", takes=_told)
def edit(place: Place, told: tuple[str, Facts, str]) -> Output:
    """Change what is known of an agent; whatever else you wrote into its SOUL.md stays."""
    from council.operations.agents import edit as edit_agent

    return _changed(place, edit_agent(place, *told))


@command("agent register", "council agent register 123456789012345678 --as henry")
def register(
    place: Place,
    account: str = argument("ACCOUNT", "Your account in channels."),
    name: str = TITLE,
    as_: str = AS,
) -> Output:
    """Register your own account as an agent, or change it; nobody registers another agent."""
    from council.operations.agents import register as register_own

    return _changed(place, register_own(place, as_, account, name))


def _changed(place: Place, done: Changed) -> Output:
    lines = [
        f"{done.agent}: {'nothing to change' if done.outcome == 'unchanged' else done.outcome}"
    ]
    if done.identity:
        lines.append(f"  account {done.identity.account}, shown as {done.identity.name}")
    if done.soul:
        lines.append(f"  wrote {os.path.relpath(done.soul, place.root)}")
    return Output(record=done.to_record(), text="\n".join(lines))


@command("agent list", "council agent list --json", reads=True)
def list_(place: Place, json: bool = JSON) -> Output:
    """List all agents with their accounts and how they are run."""
    from council.cli.views import as_text, rows_view
    from council.operations.profiles import profiles
    from council.operations.rooms.scanning import source_is_there

    found, faults = profiles(place)
    rows = [
        (
            one.agent.id,
            f"{one.agent.emoji} {one.name}" if one.settled else one.name,
            one.protocol_id,
            ", ".join(entry.account for entry in one.identities),
            one.agent.driver,
            one.agent.role,
        )
        for one in found
    ]
    columns = ("agent", "name", "protocol", "account", "driver", "role")
    table = as_text(rows_view(columns, rows, whole=("agent", "protocol", "account")))
    lines = [table if rows else "no agents yet; next: council agent add ID"]
    if not json and source_is_there(place):
        source = os.path.relpath(place.paths.ego)
        lines.append(f"to take over the accounts of {source}: council agent scan")
    notes = [f"council: {fault}" for fault in faults]
    notes += [f"council: {fault}" for one in found for fault in one.agent.faults]
    return Output(
        record=[one.to_record() for one in found],
        text="\n".join(line.rstrip("\n") for line in lines),
        notes=notes,
    )


@command("agent show", "council agent show henry", reads=True)
def show(place: Place, agent: str = AGENT) -> Output:
    """Show one agent: all its ids, what is known of it, and where that stands."""
    from council.operations.profiles import profile

    one = profile(place, agent)
    return Output(
        record=one.to_record(),
        text=_shown(place, one),
        notes=[f"council: {fault}" for fault in one.agent.faults],
    )


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


@command("agent remove", "council agent remove henry --folder")
def remove(
    place: Place,
    agent: str = AGENT,
    account: str = option("--account", "ACCOUNT", "Only this one of its accounts."),
    folder: bool = flag("--folder", "Move its folder aside, too; nothing in it is lost."),
) -> Output:
    """Take an agent out of the registry; its persona stays, or is moved aside."""
    from council.operations.agents import remove as remove_agent

    done = remove_agent(place, agent, account, folder=folder)
    lines = [f"removed account {one.account} of {agent}" for one in done.identities]
    if done.folder:
        lines.append(f"moved its folder to {os.path.relpath(done.folder, place.root)}/")
    lines = lines or [f"{agent} has no account"]
    lines += [f"left: {one}" for one in done.left]
    return Output(record=done.to_record(), text="\n".join(lines))


@command("agent scan", "council agent scan --file ~/.openclaw/ego.json")
def scan(
    place: Place, file: str = option("--file", "PATH", "The ego.json; else `[paths] ego`.")
) -> Output:
    """Take over accounts from an ego.json; entries that stand are kept."""
    from council.operations.rooms.scanning import scan as take_over

    found = take_over(place, file)
    return Output(record=found.to_record(), text=_scanned(found))


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
