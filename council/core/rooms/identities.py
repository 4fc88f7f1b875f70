"""The identity registry: which account of the outside belongs to which agent.

It is the list of document 001, one entry for each account. Entries of a form
that we do not understand are kept where they stand, and so is whatever else
stands in an entry. An agent's own id always means that agent: no account may
bear it, so no agent can speak as another one by registering a name.

Accounts can be taken over from the identity source of another program (`ego.json`),
which counts as present when its columns name the account. Each agent in it that
has no entry gets one; an entry that stands is never changed, what differs is reported.

Rules only; the files belong to the store.

Source: DG-011 to DG-021, A-21, XC-101.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from council.core.agents import is_line
from council.core.errors import ConflictError, CouncilError, InvalidInputError, RefusedError
from council.core.ids import is_name
from council.core.record import Any, Record

ACCOUNT = "discordUserId"
AGENT = "agentId"
NAME = "agentName"
MODERATOR = "moderator"  # the account of rooms themselves, which no agent may have
ADDED, UPDATED, UNCHANGED = "added", "updated", "unchanged"

ACCOUNT_COLUMN = "discord-id"
_NAME_COLUMNS = ("agent-name", "name")
_MAX_CHARS = 200


class Identity(Record):
    """One entry: an account, its agent, the name it is shown by; `at` is its place in the list."""

    _keys = f"account:{ACCOUNT} agent:{AGENT} name:{NAME} at:-"

    account: str
    agent: str
    name: str
    at: int


class Registry(Record):
    """All entries as they stand in the file.

    `items` is the list itself, `identities` what was understood of it, and
    `faults` says what was not.
    """

    items: list[Any] = []
    identities: list[Identity] = []
    faults: list[str] = []

    @property
    def agents(self) -> set[str]:
        """The ids of all registered agents."""
        return {one.agent for one in self.identities}

    def of_agent(self, agent: str) -> list[Identity]:
        """Return the entries of one agent, the one that counts first."""
        return [one for one in self.identities if one.agent == agent]

    def of_account(self, account: str) -> Identity | None:
        """Return the entry of an account; of two, the first."""
        return next((one for one in self.identities if one.account == account), None)

    def account_of(self, agent: str) -> str:
        """Return the account of an agent, its own id when it has none."""
        return next((one.account for one in self.identities if one.agent == agent), agent)

    def resolve(self, accounts: Iterable[str], agents: Collection[str] = ()) -> dict[str, str]:
        """Return for each account or agent id which agent it means, "" for none.

        Args:
            accounts: Accounts or agent ids.
            agents: Agents of the workspace that need no entry.
        """
        known = self.agents | set(agents)
        owners = {one.account: one.agent for one in self.identities}
        return {one: one if one in known else owners.get(one, "") for one in accounts}


class Registered(Record):
    """What a change to one entry came to: added, updated or unchanged."""

    registry: Registry
    identity: Identity
    outcome: str


def registry_of(items: list[Any]) -> Registry:
    """Understand a list of entries; what cannot be used becomes a fault and stays."""
    registry = Registry(items=items)
    taken: dict[str, str] = {}
    for at, item in enumerate(items):
        identity = _understood(item, at)
        if isinstance(identity, str):
            registry.faults.append(f"entry {at + 1} {identity}")
            continue
        owner = taken.setdefault(identity.account, identity.agent)
        if owner != identity.agent:
            registry.faults.append(
                f"entry {at + 1} gives account {identity.account} to {identity.agent}; "
                f"it is {owner}'s"
            )
            continue
        registry.identities.append(identity)
    return registry


def _understood(item: object, at: int) -> Identity | str:
    """Return an entry, or what is wrong with it."""
    if not isinstance(item, dict):
        return "is not an object"
    account = account_in(item.get(ACCOUNT))
    if not is_account(account):
        return f"has no usable {ACCOUNT}"
    agent = item.get(AGENT)
    if not isinstance(agent, str) or not is_name(agent):
        return f"has no usable {AGENT}"
    if MODERATOR in (account, agent):
        return f"names {agent} with account {account}: {MODERATOR} is who moderates rooms"
    name = item.get(NAME)
    return Identity(
        account=account,
        agent=agent,
        name=name.strip() if isinstance(name, str) and _is_title(name.strip()) else agent,
        at=at,
    )


def account_in(value: object) -> str:
    """Return an account as text, also where a file holds it as a number; "" if it is neither."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def is_account(text: str) -> bool:
    """Return true if `text` can be an account: printable, without blanks or commas."""
    is_cut = any(letter.isspace() or letter == "," for letter in text)
    return 0 < len(text) <= _MAX_CHARS and text.isprintable() and not is_cut


def _is_title(text: str) -> bool:
    return 0 < len(text) <= _MAX_CHARS and is_line(text)


def register(
    registry: Registry, agent: str, account: str, name: str = "", agents: Collection[str] = ()
) -> Registered:
    """Give an agent its account: its entry is added, or takes the new values (DG-014).

    Args:
        registry: What stands now.
        agent: Whose entry it is.
        account: The account; "" keeps the one that stands.
        name: The name to show; "" keeps the one that stands, else the agent's id (DG-015).
        agents: All agents of the workspace: their ids are no accounts of others.

    Raises:
        InvalidInputError: The account or the name cannot be one.
        RefusedError: The account is another agent's id, or it or the agent is the moderator.
        ConflictError: The account is another agent's.
    """
    own = registry.of_agent(agent)
    wanted = account.strip() or (own[0].account if own else "")
    check_account(registry, agent, wanted, agents)
    title = name.strip()
    if title and not _is_title(title):
        raise InvalidInputError(
            f"not a name of an agent: {title[:60]!r}", f"use one line of up to {_MAX_CHARS} letters"
        )
    standing = next((one for one in own if one.account == wanted), own[0] if own else None)
    title = title or (standing.name if standing else agent)
    if standing is None:
        items = [*registry.items, {ACCOUNT: wanted, AGENT: agent, NAME: title}]
        changed = registry_of(items)
        return Registered(registry=changed, identity=changed.identities[-1], outcome=ADDED)
    if (standing.account, standing.name) == (wanted, title):
        return Registered(registry=registry, identity=standing, outcome=UNCHANGED)
    entry = {**registry.items[standing.at], ACCOUNT: wanted, AGENT: agent, NAME: title}
    items = [*registry.items[: standing.at], entry, *registry.items[standing.at + 1 :]]
    return Registered(
        registry=registry_of(items),
        identity=standing.copy(account=wanted, name=title),
        outcome=UPDATED,
    )


def check_account(
    registry: Registry, agent: str, account: str, agents: Collection[str] = ()
) -> None:
    """Let an agent have an account, or say why it cannot.

    Raises:
        InvalidInputError: It cannot be an account.
        RefusedError: It is another agent's id, or the moderator's.
        ConflictError: It is another agent's.
    """
    check_is_not_moderator(agent, "id")
    check_is_not_moderator(account, "account")
    if not is_account(account):
        raise InvalidInputError(
            f"not an account: {account[:60]!r}", f"up to {_MAX_CHARS} signs, no blank and no comma"
        )
    if account != agent and (account in agents or account in registry.agents):
        raise RefusedError(
            f"{account} is the id of another agent", "an agent registers an account of its own"
        )
    standing = registry.of_account(account)
    if standing is not None and standing.agent != agent:
        raise ConflictError(
            f"account {account} is registered for {standing.agent}",
            f"free it first: council agent remove {standing.agent} --account {account}",
        )


def check_is_not_moderator(name: str, what: str) -> None:
    """Let an agent be called `name`, or say that it cannot.

    An agent that bears the moderator's account would be taken for the
    moderator and never have the floor of a room.

    Args:
        name: An agent id or an account.
        what: Which of the two, for the message.

    Raises:
        RefusedError: It is the moderator's.

    Source: DG-051, DG-066.
    """
    if name == MODERATOR:
        raise RefusedError(
            f"{name} is who moderates rooms, and no agent's {what}", f"choose another {what}"
        )


def remove(registry: Registry, agent: str, account: str = "") -> tuple[Registry, list[Identity]]:
    """Take the entries of an agent away, or only that of one account; say which went."""
    gone = [one for one in registry.of_agent(agent) if account in ("", one.account)]
    places = {one.at for one in gone}
    left = [item for at, item in enumerate(registry.items) if at not in places]
    return (registry_of(left) if gone else registry), gone


# --- Taking over accounts


class Kept(Record):
    """An entry that stands and differs from the source; `account` is what the source says."""

    _keys = "agent:agentId account:found"

    agent: str
    account: str
    standing: str


class Scanned(Record):
    """What a scan came to.

    `added` are the new entries, `kept` those that differ, `skipped` says of
    what is in the source why it cannot be taken over.
    """

    _keys = "registry:-"

    registry: Registry
    added: list[Identity] = []
    kept: list[Kept] = []
    skipped: list[str] = []


def is_source(document: object) -> bool:
    """Return true if a document is an identity source: its columns name the account (DG-018)."""
    if not isinstance(document, dict):
        return False
    columns = document.get("columns")
    return isinstance(columns, list) and ACCOUNT_COLUMN in columns


def scan(registry: Registry, document: object, agents: Collection[str] = ()) -> Scanned:
    """Add the agents of a source that have no entry (DG-020).

    Args:
        registry: What stands now.
        document: The source as parsed; what is no source adds nothing.
        agents: All agents of the workspace: their ids are no accounts of others.
    """
    done = Scanned(registry=registry)
    if not isinstance(document, dict) or not is_source(document):
        return done
    scope = document.get("agentScope")
    name_column = next((one for one in _NAME_COLUMNS if one in document["columns"]), "")
    for agent, facts in (scope if isinstance(scope, dict) else {}).items():
        account = account_in(facts.get(ACCOUNT_COLUMN)) if isinstance(facts, dict) else ""
        if account:
            name = facts.get(name_column)
            _take(done, agent, account, name if isinstance(name, str) else "", agents)
    return done


def _take(done: Scanned, agent: str, account: str, name: str, agents: Collection[str]) -> None:
    if not is_name(agent):
        done.skipped.append(f"{agent[:60]!r} is not a legal agent id")
        return
    own = done.registry.of_agent(agent)
    if own:
        if account not in [one.account for one in own]:
            done.kept.append(Kept(agent=agent, account=account, standing=own[0].account))
        return
    try:
        made = register(done.registry, agent, account, name, agents)
    except CouncilError as error:
        done.skipped.append(f"{agent}: {error.message}")
        return
    done.registry = made.registry
    done.added.append(made.identity)
