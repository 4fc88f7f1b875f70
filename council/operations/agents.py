"""Changing what is known of agents: register, add, edit, remove.

Each fact goes to its one place: accounts to the identity registry, what makes
a person to `SOUL.md`, the driver to `SOUL.md` unless `council.toml` names it.
What stands in `council.toml` is changed by people alone; `add` adds a table there
where one is needed: an agent may write its `SOUL.md`, and a key goes to no server
that is named there.

Source: DG-013 to DG-016, `cli.md` section 5.
"""

from __future__ import annotations

import os

from council.core.agents import DRIVERS, is_base_url, is_line, is_variable
from council.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from council.core.ids import checked_name
from council.core.record import Any, Record
from council.core.rooms import identities as rules
from council.core.rooms.identities import ADDED, UNCHANGED, UPDATED, Identity, Registry
from council.drivers.programs import PRESETS
from council.operations.agent_profiles import joined_in, must_be_known, named, roles_of
from council.operations.place import Place, speaker
from council.operations.rooms.scanning import change_registry
from council.store import agent_folders
from council.store.agents import agent_of_directory, default_emoji, soul_path
from council.store.files import explaining, make_folder, sync_folder
from council.store.rooms import identities
from council.store.settings_file import add_tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.agent_folders import Facts


OPENAI = "openai"
_SERVER_KEYS = {
    "base_url": (is_base_url, "http://127.0.0.1:11434/v1"),
    "api_key_env": (is_variable, "OPENROUTER_API_KEY"),
}
REMOVED_FOLDER = ".removed"
_MAX_FACT_CHARS = 200


class Changed(Record):
    """What a change to an agent came to: `outcome` of all of it, the file that was written."""

    agent: str
    outcome: str
    identity: Identity | None = None
    soul: str = ""
    has_table: bool = False

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `agent add`, `register` and `edit`."""
        who = named(self.agent, self.identity)
        return {"outcome": self.outcome, **who, "soul": self.soul or None}


class Removed(Record):
    """What `agent remove` took away, where it put the folder, and what still names the agent."""

    _keys = "agent:agentId identities:removed folder?"

    agent: str
    identities: list[Identity]
    folder: str = ""
    left: list[str] = []


def register(place: Place, given: str, account: str, name: str = "") -> Changed:
    """Register the caller's own account (DG-013, DG-014).

    Args:
        place: The workspace.
        given: What the caller says who it is, "" to go by environment or folder.
        account: The account.
        name: The name to show; "" keeps the one that stands, else the agent's id.

    Raises:
        RefusedError: Environment or folder say that the caller is another one, or the
            workspace is a slave, as in all that is done here (DG-162).
        CouncilError: The account cannot be this agent's.
    """
    place.refuse_on_slave()
    caller = speaker(place, given)
    told = place.environ.get("COUNCIL_AGENT") or agent_of_directory(
        place.root, place.settings, os.getcwd()
    )
    if told and told != caller:
        raise RefusedError(
            f"{told} cannot register {caller}: an agent registers itself alone",
            f"leave --as out; a person uses: council agent edit {caller} --account …",
        )
    made = _registered(place, caller, account, name)
    return Changed(agent=caller, outcome=made.outcome, identity=made.identity)


def _registered(place: Place, agent_id: str, account: str, name: str) -> rules.Registered:
    known = place.agents()
    done: list[rules.Registered] = []

    def rule(registry: Registry) -> Registry:
        done.append(rules.register(registry, agent_id, account, name, known))
        return done[-1].registry

    change_registry(place, rule, by=agent_id)
    return done[-1]


def add(
    place: Place,
    agent_id: str,
    facts: Facts,
    account: str = "",
    server: dict[str, str] | None = None,
) -> Changed:
    """Add an agent: what its folder lacks, and its account if one is given.

    Args:
        place: The workspace.
        agent_id: The agent.
        facts: What `SOUL.md` is to say.
        account: Its account, "" for none.
        server: What its table in `council.toml` is to say of the server that it asks (CL-004).

    Raises:
        ConflictError: It is there already and differs.
        CouncilError: A fact cannot be what it is.
    """
    place.refuse_on_slave()
    rules.check_is_not_moderator(checked_name(agent_id, "agent id"), "id")
    facts, table = _with_table(place, agent_id, facts, server or {})
    _check_facts(place, agent_id, facts)
    standing = identities.load(place.paths).of_agent(agent_id)
    if account and standing and account not in [one.account for one in standing]:
        raise ConflictError(
            f"{agent_id} is registered as {standing[0].account}",
            f"change it: council agent edit {agent_id} --account {account}",
        )
    soul = soul_path(place.root, place.settings, agent_id)
    has_soul = os.path.lexists(soul)
    if has_soul and (other := _differing(place, agent_id, facts)):
        raise ConflictError(
            f"{agent_id} is there already, with another {', '.join(other)}",
            f"change it: council agent edit {agent_id}",
        )
    if table:
        add_tables(place.paths, {f"agents.{agent_id}": table})
    made = _registered(place, agent_id, account, str(facts.get("name", ""))) if account else None
    written = ""
    if not has_soul:
        whole = {**_usual(place, agent_id), **facts}
        written = agent_folders.write_facts(place.paths, place.settings, agent_id, whole)
    agent_folders.make(place.paths, agent_id)
    return _changed(agent_id, made, written, ADDED, has_table=bool(table))


def _with_table(
    place: Place, agent_id: str, facts: Facts, server: dict[str, str]
) -> tuple[Facts, dict[str, str]]:
    """Return the facts for `SOUL.md`, and those for a table in `council.toml` that is missing.

    Raises:
        ConflictError: The table is there and says otherwise.
        CouncilError: A fact cannot be what it is.
    """
    if not server:
        return facts, {}
    if facts.get("driver", OPENAI) != OPENAI or "preset" in facts:
        raise UsageError("--base-url and --api-key-env are for --driver openai", "leave them out")
    for key, (fits, such_as) in _SERVER_KEYS.items():
        if not fits(server.get(key, such_as)):
            raise InvalidInputError(f"not a {key}: {server[key]!r}", f"such as {such_as}")
    rest: Facts = {key: value for key, value in facts.items() if key != "driver"}
    if agent_id not in place.settings.agents:
        return rest, {"driver": OPENAI, **server}
    standing = place.settings.agents[agent_id]
    if any(getattr(standing, key) != value for key, value in server.items()):
        raise ConflictError(
            f"council.toml says how {agent_id} is run", f"change [agents.{agent_id}] there"
        )
    return rest, {}


def _usual(place: Place, agent_id: str) -> Facts:
    """Return the facts a new `SOUL.md` begins with: those that `council.toml` does not say."""
    told = place.settings.agent(agent_id)
    one = place.agent(agent_id)
    others = {place.agent(other).emoji for other in place.agents() if other != agent_id}
    emoji = default_emoji(agent_id, others)
    usual: Facts = {"name": one.name, "emoji": emoji, "role": ""}
    return {key: value for key, value in usual.items() if not getattr(told, key)}


def _changed(
    agent_id: str, made: rules.Registered | None, soul: str, how: str, *, has_table: bool = False
) -> Changed:
    outcomes = [made and made.outcome, how if soul or has_table else ""]
    outcome = next((one for one in (ADDED, UPDATED) if one in outcomes), UNCHANGED)
    identity = made.identity if made else None
    return Changed(
        agent=agent_id, outcome=outcome, identity=identity, soul=soul, has_table=has_table
    )


def edit(place: Place, agent_id: str, facts: Facts, account: str = "") -> Changed:
    """Change facts of an agent, each in its place; what a person wrote around them stays.

    Raises:
        NotFoundError: Nothing is known of it.
        UsageError: Nothing is to be changed.
        CouncilError: A fact cannot be what it is, or its file is not to be changed.
    """
    place.refuse_on_slave()
    if not (facts or account):
        raise UsageError("nothing is to be changed", "see: council agent edit --help")
    registry = identities.load(place.paths)
    must_be_known(place, agent_id, registry)
    rules.check_is_not_moderator(agent_id, "id")
    _check_facts(place, agent_id, facts)
    title = str(facts.get("name", ""))
    is_registered = bool(account or (title and registry.of_agent(agent_id)))
    if is_registered:  # what is refused must be so before anything is written
        rules.register(registry, agent_id, account, title, place.agents())
    written = ""
    if facts:
        written = agent_folders.write_facts(place.paths, place.settings, agent_id, facts)
    made = _registered(place, agent_id, account, title) if is_registered else None
    return _changed(agent_id, made, written, UPDATED)


def _check_facts(place: Place, agent_id: str, facts: Facts) -> None:
    """Let facts pass that can be what they are and have their place in `SOUL.md`.

    Raises:
        InvalidInputError: One cannot.
        ConflictError: `council.toml` says how the agent is run.
    """
    for key, value in facts.items():
        for text in value if isinstance(value, list) else [value]:
            if not text.strip() or not is_line(text) or len(text) > _MAX_FACT_CHARS:
                raise InvalidInputError(
                    f"the {key} {text[:60]!r} cannot be used",
                    f"give one line of up to {_MAX_FACT_CHARS} visible characters",
                )
    for key, known in (("driver", sorted(DRIVERS)), ("preset", PRESETS)):
        if facts.get(key, next(iter(known))) not in known:
            raise InvalidInputError(f"no {key} {facts[key]!r}", f"choose: {', '.join(known)}")
    told = place.settings.agent(agent_id)
    others = {
        key for key in ("driver", "preset") if facts.get(key, "") not in ("", getattr(told, key))
    }
    if others and told.implied_driver:
        raise ConflictError(
            f"council.toml says how {agent_id} is run", f"change [agents.{agent_id}] there"
        )


def _differing(place: Place, agent_id: str, facts: Facts) -> list[str]:
    one = place.agent(agent_id)
    standing = {**one.__dict__, "preset": one.settings.preset}
    return [key for key, value in facts.items() if standing.get(key, "") != value]


def remove(place: Place, agent_id: str, account: str = "", *, folder: bool = False) -> Removed:
    """Take the entries of an agent out of the registry; move its folder aside if asked to.

    Args:
        place: The workspace.
        agent_id: The agent.
        account: Take away only the entry of this account.
        folder: Move the agent's folder aside, too; nothing in it is removed.

    Raises:
        NotFoundError: Nothing is known of the agent, or it has no such account.
    """
    place.refuse_on_slave()
    registry = identities.load(place.paths)
    must_be_known(place, agent_id, registry)
    if account and account not in [one.account for one in registry.of_agent(agent_id)]:
        raise NotFoundError(f"{agent_id} has no account {account}", "see: council agent list")
    gone: list[Identity] = []

    def rule(standing: Registry) -> Registry:
        changed, gone[:] = rules.remove(standing, agent_id, account)
        return changed

    if registry.of_agent(agent_id):
        change_registry(place, rule)
    moved = _moved_aside(place, agent_id) if folder else ""
    left = [] if account else _left(place, agent_id)
    return Removed(agent=agent_id, identities=gone, folder=moved, left=left)


def _moved_aside(place: Place, agent_id: str) -> str:
    """Move the folder of an agent to `.removed/`; return where it lies now, "" without one."""
    home = place.paths.agent(agent_id)
    if not os.path.isdir(home):
        return ""
    aside = os.path.join(place.paths.agents, REMOVED_FOLDER)
    make_folder(aside)
    target = base = os.path.join(aside, f"{agent_id}-{place.now():%Y-%m-%d}")
    number = 2
    while os.path.lexists(target):
        target, number = f"{base}-{number}", number + 1
    with explaining("move", home):
        os.rename(home, target)
        sync_folder(aside)
        sync_folder(place.paths.agents)
    return target


def _left(place: Place, agent_id: str) -> list[str]:
    """Say what still names an agent that was to be removed."""
    left = [f"takes part in {name}" for name in roles_of(place)[0].get(agent_id, {})]
    if os.path.isdir(place.paths.agent(agent_id)):
        left.append(f"{os.path.relpath(place.paths.agent(agent_id), place.root)}/ is untouched")
    if agent_id in place.settings.agents:
        left.append(f"council.toml has [agents.{agent_id}]")
    entry = joined_in(place)[0].of_agent(agent_id)
    if entry is not None and entry.is_here:
        left.append(f"exchanges messages as {entry.id}: council agent leave {entry.id}")
    return left
