"""The commands on agents: `agent add|register|list|show|edit|remove|scan`.

Source: `cli.md` section 2, DG-013 to DG-022, XC-101.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any

import typer

from council.cli.edge import Output
from council.cli.options import EVERYWHERE, Command, Option
from council.cli.parameters import As, Json, Now, Root, do, help_text, typer_function
from council.core.protocol.protocol_ids import role_word
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.agents import Changed
    from council.operations.profiles import Profile
    from council.operations.rooms.scanning import Scan
    from council.store.souls import Facts

Agent = Annotated[str, typer.Argument(metavar="ID", help="The agent.", show_default=False)]
Title = Annotated[str, typer.Option("--name", metavar="NAME", help="The name to show.")]
_ID = Option(name="agent", metavar="ID", help="The agent.", required=True)
_FACTS = (
    Option(name="name", flags=("--name",), metavar="NAME", help="The name to show."),
    Option(name="emoji", flags=("--emoji",), metavar="EMOJI", help="Stands before the name."),
    Option(name="role", flags=("--role",), metavar="ROLE", help="What it is there for."),
    Option(name="model", flags=("--model",), metavar="MODEL", help="The model it runs on."),
    Option(
        name="driver",
        flags=("--driver",),
        metavar="DRIVER",
        help="How it is run: manual, command, scripted.",
    ),
    Option(
        name="preset",
        flags=("--preset",),
        metavar="PRESET",
        help="A ready-made command, such as claude.",
    ),
    Option(
        name="capabilities",
        flags=("--capability",),
        metavar="WORD",
        many=True,
        help="What it can do; once for each.",
    ),
    Option(
        name="handles",
        flags=("--handle",),
        metavar="HANDLE",
        many=True,
        help="What else it is called, such as W3; each.",
    ),
    Option(
        name="account", flags=("--account",), metavar="ACCOUNT", help="Its account in channels."
    ),
)


def _facts(values: dict[str, Any]) -> Facts:
    """Return what was given of the facts that `SOUL.md` holds."""
    names = [one.name for one in _FACTS if one.name != "account"]
    return {name: values[name] for name in names if values[name]}


def _add(values: dict[str, Any]) -> None:
    def command(place: Place) -> Output:
        from council.operations.agents import add as add_agent

        return _changed(place, add_agent(place, values["agent"], _facts(values), values["account"]))

    do("agent add", values["json"], values["root"], values["now"], command)


def _edit(values: dict[str, Any]) -> None:
    def command(place: Place) -> Output:
        from council.operations.agents import edit as edit_agent

        return _changed(
            place, edit_agent(place, values["agent"], _facts(values), values["account"])
        )

    do("agent edit", values["json"], values["root"], values["now"], command)


def _of_facts(name: str, summary: str, example: str, run: Any) -> Callable[..., None]:
    """Return a command that takes an agent and what is known of it."""
    given = (_ID, *_FACTS, *EVERYWHERE)
    return typer_function(
        Command(name=name, panel="Agents", summary=summary, example=example, options=given),
        run,
    )


def register(
    account: Annotated[
        str, typer.Argument(metavar="ACCOUNT", help="Your account in channels.", show_default=False)
    ],
    name: Title = "",
    as_: As = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Register your own account as an agent, or change it; nobody registers another agent."""

    def command(place: Place) -> Output:
        from council.operations.agents import register as register_own

        return _changed(place, register_own(place, as_, account, name))

    do("agent register", json, root, now, command)


def _changed(place: Place, done: Changed) -> Output:
    lines = [
        f"{done.agent}: {'nothing to change' if done.outcome == 'unchanged' else done.outcome}"
    ]
    if done.identity:
        lines.append(f"  account {done.identity.account}, shown as {done.identity.name}")
    if done.soul:
        lines.append(f"  wrote {os.path.relpath(done.soul, place.root)}")
    return Output(record=done.to_record(), text="\n".join(lines))


def list_(root: Root = "", now: Now = "", json: Json = False) -> None:
    """List all agents with their accounts and how they are run."""

    def command(place: Place) -> Output:
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

    do("agent list", json, root, now, command)


def show(agent: Agent, root: Root = "", now: Now = "", json: Json = False) -> None:
    """Show one agent: all its ids, what is known of it, and where that stands."""

    def command(place: Place) -> Output:
        from council.operations.profiles import profile

        one = profile(place, agent)
        return Output(
            record=one.to_record(),
            text=_shown(place, one),
            notes=[f"council: {fault}" for fault in one.agent.faults],
        )

    do("agent show", json, root, now, command)


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


def remove(
    agent: Agent,
    account: Annotated[
        str, typer.Option("--account", metavar="ACCOUNT", help="Only this one of its accounts.")
    ] = "",
    folder: Annotated[
        bool, typer.Option("--folder", help="Move its folder aside, too; nothing in it is lost.")
    ] = False,
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Take an agent out of the registry; its persona stays, or is moved aside."""

    def command(place: Place) -> Output:
        from council.operations.agents import remove as remove_agent

        done = remove_agent(place, agent, account, folder=folder)
        lines = [f"removed account {one.account} of {agent}" for one in done.identities]
        if done.folder:
            lines.append(f"moved its folder to {os.path.relpath(done.folder, place.root)}/")
        lines = lines or [f"{agent} has no account"]
        lines += [f"left: {one}" for one in done.left]
        return Output(record=done.to_record(), text="\n".join(lines))

    do("agent remove", json, root, now, command)


def scan(
    file: Annotated[
        str, typer.Option("--file", metavar="PATH", help="The ego.json; else `[paths] ego`.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Take over accounts from an ego.json; entries that stand are kept."""

    def command(place: Place) -> Output:
        from council.operations.rooms.scanning import scan as take_over

        found = take_over(place, file)
        return Output(record=found.to_record(), text=_scanned(found))

    do("agent scan", json, root, now, command)


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


_EXAMPLES: dict[str, tuple[Callable[..., None], str]] = {
    "register": (register, "council agent register 123456789012345678 --as henry"),
    "list": (list_, "council agent list --json"),
    "show": (show, "council agent show henry"),
    "remove": (remove, "council agent remove henry --folder"),
    "scan": (scan, "council agent scan --file ~/.openclaw/ego.json"),
}
for _function, _example in _EXAMPLES.values():
    _function.__doc__ = help_text(_function.__doc__ or "", _example)
COMMANDS: dict[str, Callable[..., None]] = {
    "agent add": _of_facts(
        "add",
        "Add an agent: its SOUL.md, and its account if you give one; never overwrites.",
        "council agent add henry --name Henry --role Skeptic --preset claude",
        _add,
    ),
    "agent register": register,
    "agent list": list_,
    "agent show": show,
    "agent edit": _of_facts(
        "edit",
        "Change what is known of an agent; whatever else you wrote into its SOUL.md stays.",
        "council agent edit henry --account 123456789012345678",
        _edit,
    ),
    "agent remove": remove,
    "agent scan": scan,
}
