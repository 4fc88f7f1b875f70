"""The prompts of those who take part in the protocol: orchestrator, worker, research worker.

They are filled from the registry as it stands: who there is, what each can
do, how deep it may be called, which version it speaks. What else a run is
about (its material, its line) stands at the end.

Source: PR-593 to PR-596, `trust.md` (text of others is data).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from council.core.agents import Agent
from council.core.bounds import V5
from council.core.errors import UsageError
from council.core.protocol.exchange import BUDGETS
from council.core.protocol.grouping import groups_of
from council.core.protocol.messages import COORDINATOR
from council.core.protocol.protocol_ids import ROUTER, WORKER, is_protocol_id, role_of
from council.core.protocol.registry import Entry, Registry, capabilities_in
from council.core.protocol.selection import candidates_of, select
from council.operations.conversations.prompts import plain_prompt
from council.operations.place import Place
from council.operations.protocol.registry_changes import not_registered, registry_of
from council.store.protocol.task_settings import task_rules
from council.wire.forms import SEGMENTS

ORCHESTRATOR, WORKING, RESEARCH = "orchestrator", "worker", "research"
PROTOCOL_KINDS = (ORCHESTRATOR, WORKING, RESEARCH)
# Who can do all of these reads how to research.
RESEARCH_CAPABILITIES = ("web_search", "web_fetch", "summarize")

_PROCEDURE = "protocol"
_ANALYSIS = ("data_analysis", "reason")
_SAMPLE_WORKER = "W1"
_RESEARCH_DEPTH = 2
# What a prompt says of the rules of tasks.
_RULES = ("max_depth", "max_retries", "max_clarifications", "threshold")


def orchestrator_prompt(
    place: Place,
    registry: Registry,
    *,
    agent: str = "",
    asked: str = "",
    material: Sequence[tuple[str, str]] = (),
    lang: str = "",
) -> str:
    """Return the prompt of the agent that orchestrates.

    Args:
        place: The workspace.
        registry: The registry, informed.
        agent: The agent of the workspace that gets it, "" for none in particular.
        asked: What it is to do now, in our words; it stands last.
        material: What it needs for that: titles and texts of others.
        lang: The language, "" for the workspace's.

    Raises:
        InvalidInputError: A template of the workspace is broken.
    """
    one = _agent(place, agent)
    entry = registry.of_agent(agent)
    protocol_id = entry.id if entry is not None and entry.is_here else COORDINATOR
    parts = {
        **_common(place, registry, protocol_id, one, V5, material),
        "asked": asked,
        "others": [
            _told(registry, entry)
            for entry in registry.here()
            if role_of(entry.id) not in (WORKER, ROUTER) and entry.id != protocol_id
        ],
    }
    return plain_prompt(place, ORCHESTRATOR, parts, one.persona if one else "", lang=lang)


def worker_prompt(
    place: Place,
    registry: Registry,
    who: str | Entry,
    *,
    line: str = "",
    refused: str = "",
    material: Sequence[tuple[str, str]] = (),
    kind: str = "",
    lang: str = "",
) -> str:
    """Return the prompt of a worker, with the line that it has to act on at its end.

    Args:
        place: The workspace.
        registry: The registry, informed.
        who: The worker: its id, or its entry.
        line: The message, in the version that the worker speaks; "" for none yet.
        refused: What was wrong with what it said before, "" for nothing.
        material: What that line refers to: titles and texts of others.
        kind: `worker` or `research`; "" goes by what it can do.
        lang: The language, "" for the workspace's.

    Raises:
        InvalidInputError: A template of the workspace is broken.
    """
    entry = who if isinstance(who, Entry) else registry.get(who) or Entry(id=who)
    can_research = set(RESEARCH_CAPABILITIES) <= set(entry.capabilities)
    wanted = kind or (RESEARCH if can_research else WORKING)
    capabilities = entry.capabilities
    one = _agent(place, entry.agent)
    common = _common(place, registry, entry.id, one, entry.version, material)
    if wanted == RESEARCH:
        capabilities = tuple(dict.fromkeys((*capabilities, *RESEARCH_CAPABILITIES)))
        common["max_depth"] = min(common["max_depth"], _RESEARCH_DEPTH)
    parts = {
        **common,
        "capabilities": list(capabilities),
        "description": entry.description,
        "serves_below": entry.serves_below,
        "analyst": _analyst(registry, entry.id),
        "refused": refused,
        "line": line.strip(),
    }
    return plain_prompt(place, wanted, parts, one.persona if one else "", lang=lang)


def _analyst(registry: Registry, but: str) -> str:
    """Return the worker to hand an analysis on to, "" without one."""
    for capability in _ANALYSIS:
        found = select([capability], candidates_of(registry), without=[but]).first()
        if found:
            return found[0]
    return ""


def _agent(place: Place, agent: str) -> Agent | None:
    return place.agent(agent) if agent and agent in place.agents() else None


def _common(
    place: Place,
    registry: Registry,
    protocol_id: str,
    one: Agent | None,
    version: str,
    material: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    rules = task_rules(place.settings)
    names = (one.id, one.label, one.role) if one else (protocol_id, protocol_id, "")
    return {
        **dict(zip(("agent", "label", "role"), names, strict=True)),
        "procedure": _PROCEDURE,
        "name": protocol_id,
        "id": protocol_id,
        "version": version,
        "format": _format(version),
        "workers": [_told(registry, entry) for entry in candidates_of(registry)],
        "routers": [entry.id for entry in registry.here() if role_of(entry.id) == ROUTER],
        "groups": {name: list(many) for name, many in sorted(registry.groups.items())},
        "budgets": {name: tokens for name, tokens in BUDGETS.items() if tokens is not None},
        **{name: getattr(rules, name) for name in _RULES},
        "material": [{"title": title, "text": text} for title, text in material],
    }


def _format(version: str) -> str:
    """Return the line that shows the form of a message of a version."""
    names = {"msg": "M<n>", "route": "FROM>TO"}
    return "|".join(names.get(one, one.upper()) for one in SEGMENTS[version])


def _told(registry: Registry, entry: Entry) -> dict[str, Any]:
    return {
        **entry.as_json("id agent capabilities status load queue version"),
        # What an agent from outside says of itself is no word of ours.
        "description": entry.description if entry.is_own else "",
        "serves_below": entry.serves_below,
        "groups": groups_of(registry, entry.id),
    }


def protocol_prompt_of(place: Place, kind: str, *, who: str = "", lang: str = "") -> str:
    """Return the prompt of a kind as it would be given now.

    Args:
        place: The workspace.
        kind: `orchestrator`, `worker` or `research`.
        who: A protocol id or an agent; "" for any that fits.
        lang: The language, "" for the workspace's.

    Raises:
        UsageError: There is no such kind, or it is no prompt for that role.
        NotFoundError: No agent bears that id.
        InvalidInputError: A template of the workspace is broken.
    """
    if kind not in PROTOCOL_KINDS:
        raise UsageError(f"no prompt {kind!r}", f"choose one of: {', '.join(PROTOCOL_KINDS)}")
    registry = registry_of(place)
    wanted = who or place.environ.get("COUNCIL_AGENT", "")
    if kind == ORCHESTRATOR:
        entry = registry.get(wanted) if is_protocol_id(wanted) else None
        agent = entry.agent if entry is not None else "" if is_protocol_id(wanted) else wanted
        return orchestrator_prompt(place, registry, agent=agent, lang=lang)
    return worker_prompt(place, registry, _worker(place, registry, wanted), kind=kind, lang=lang)


def _worker(place: Place, registry: Registry, wanted: str) -> Entry:
    """Return the worker that a prompt is for; an agent that has not joined is shown as it would be.

    Raises:
        NotFoundError: No agent bears that id.
        UsageError: It is no worker.
    """
    if is_protocol_id(wanted):
        entry = registry.get(wanted)
        if entry is None:
            raise not_registered(wanted)
        if role_of(wanted) != WORKER:
            raise UsageError(f"{wanted} is no worker", "see: council context --kind orchestrator")
        return entry
    own = registry.of_agent(wanted)
    if own is not None and own.is_here:
        return own
    if wanted:
        one = place.agent(wanted)
        return Entry(
            id=next((name for name in one.handles if is_protocol_id(name)), _SAMPLE_WORKER),
            agent=wanted,
            capabilities=capabilities_in(one.capabilities),
            description=one.role,
        )
    return next(iter(candidates_of(registry)), Entry(id=_SAMPLE_WORKER))
