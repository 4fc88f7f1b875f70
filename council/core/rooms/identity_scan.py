"""Taking over accounts from the identity source of another program (`ego.json`).

The source counts as present when its columns name the account. Each agent in
it that has no entry gets one; an entry that stands is never changed, what
differs is reported.

Source: DG-017 to DG-021, A-21.
"""

from __future__ import annotations

from council.core.errors import CouncilError
from council.core.ids import is_name
from council.core.record import Record
from council.core.rooms.identities import Identity, Registry, account_in, register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

ACCOUNT_COLUMN = "discord-id"
NAME_COLUMNS = ("agent-name", "name")


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

    registry: Registry
    added: list[Identity] = []
    kept: list[Kept] = []
    skipped: list[str] = []


def is_source(document: object) -> bool:
    """Tell whether a document is an identity source: its columns name the account (DG-018)."""
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
    name_column = next((one for one in NAME_COLUMNS if one in document["columns"]), "")
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


def to_record(done: Scanned) -> dict[str, Any]:
    """Return what a scan came to as JSON."""
    return {
        "added": [one.to_record() for one in done.added],
        "kept": [one.to_record() for one in done.kept],
        "skipped": done.skipped,
    }
