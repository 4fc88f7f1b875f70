"""One change of the registry: a rule, and all that follows from it outside of the registry.

A rule is applied under the lock of the registry, to the registry as the
workspace knows it: what an agent of the workspace can do stands in its
`SOUL.md`, and goes there when it declares something else. What is answered is
logged and lies in the inbox of whom it is for; what is refused leaves an event.

Source: PR-404, PR-405, PR-507 to PR-514, `cli.md` section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from council.core.bounds import V5
from council.core.errors import NotFoundError
from council.core.protocol import grouping, liveness
from council.core.protocol import registering as rules
from council.core.protocol.messages import COORDINATOR, USER, Message
from council.core.protocol.registry import (
    Entry,
    EntryStatus,
    Registry,
    RegistryStep,
    Reply,
    capabilities_in,
    informed,
    shown,
)
from council.core.protocol.registry_messages import is_conflict
from council.core.record import Any
from council.operations.place import Place
from council.store import agent_folders
from council.store.heartbeat.survey import doubt_contexts
from council.store.protocol import protocol_registry
from council.store.protocol.context_outbox import Post
from council.store.protocol.protocol_registry import RegistryChange
from council.wire.carried import line_of, reply_line
from council.wire.log_lines import log_line
from council.wire.messages import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.agent_folders import Facts

    Rule = Callable[[Registry], RegistryStep]
    # What agents of the workspace can do and what they are there for, by agent.
    Known = dict[str, tuple[tuple[str, ...], str]]

_JOINED = (rules.REGISTERED, rules.STANDS)


class Done(RegistryStep):
    """What an act on the registry came to.

    `answers` is what was answered, each line in the version of its receiver; `code` is the wire
    code of what kept it from being done, "" for none.
    """

    answers: list[str]

    @property
    def entry(self) -> Entry | None:
        """The agent as it stands now, None where there is none."""
        return self.registry.entries.get(self.id)

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of the commands that change the registry."""
        entry = self.entry
        return {
            **self.as_json("outcome id"),
            "agentId": entry.agent or None if entry else None,
            "answer": self.answers[0] if self.answers else None,
            "answers": self.answers,
            "agent": shown(entry, grouping.groups_of(self.registry, self.id)) if entry else None,
        }


def registry_of(place: Place) -> Registry:
    """Return the registry with what the workspace knows of its own agents laid into it.

    Raises:
        InvalidStateError: Its file cannot be understood.
    """
    standing = protocol_registry.load(place.paths)
    return informed(standing, _known(place, standing))


def _known(place: Place, registry: Registry, *agents: str) -> Known:
    """Return by agent of the workspace what it can do and what it is there for."""
    wanted = {one.agent for one in registry.entries.values() if one.agent} | set(agents)
    found = {}
    for agent in wanted & set(place.agents()):
        facts = place.agent(agent)
        found[agent] = (tuple(facts.capabilities), facts.role)
    return found


def not_registered(protocol_id: str) -> NotFoundError:
    """Return the error of who names an id that no agent bears."""
    return NotFoundError(f"{protocol_id} is not registered", "see who is: council agent query")


def no_group(group: str) -> NotFoundError:
    """Return the error of who names a group that there is not."""
    return NotFoundError(f"there is no group {group}", "see: council agent group list")


def is_own(place: Place, agent: str) -> bool:
    """Return true if an agent is one of the workspace."""
    return agent in place.agents()


def changed(
    place: Place,
    rule: Rule,
    message: Message | None = None,
    agent: str = "",
    *,
    quick: bool = False,
) -> Done:
    """Apply a rule to the registry and write down what follows from it.

    Args:
        place: The workspace.
        rule: The rule.
        message: The message that it answers, for the log.
        agent: One that may not be in the registry yet.
        quick: Whether the rule asks nothing of what agents can do.
    """
    now = place.now()
    told: list[Done] = []
    gone: list[str] = []

    def work(standing: Registry) -> RegistryChange:
        known = {} if quick else _known(place, standing, agent)
        before = standing if quick else informed(standing, known)
        step = rule(before)
        if step.outcome in _JOINED and step.id in step.registry.entries:
            step = step.copy(registry=_with_own_facts(step.registry, step.id, known))
        _write_facts(place, step.registry, known)
        lines = [reply_line(one) for one in step.replies]
        told.append(_done(step, lines))
        has_changed = step.registry != before
        gone[:] = sorted(_at_work(before) - _at_work(step.registry))
        return RegistryChange(
            registry=step.registry if has_changed else None,
            events=step.events,
            log=[] if step.outcome == liveness.DROPPED else _log_of(message, step.replies, now),
            posts=[
                Post(**one.message.as_json("receiver:inbox sender receiver"), text=line)
                for one, line in zip(step.replies, lines, strict=True)
                if not one.to_caller and one.message.receiver not in (COORDINATOR, USER)
            ],
        )

    protocol_registry.change(place.paths, work, now, place.settings.protocol)
    if gone:
        doubt_contexts(place.paths)  # who waits for one of them does not know it yet
    return told[-1]


def _at_work(registry: Registry) -> set[str]:
    return {one.id for one in registry.entries.values() if one.status is EntryStatus.ACTIVE}


def _with_own_facts(registry: Registry, protocol_id: str, known: Known) -> Registry:
    """Let an agent that joined without saying what it can do have what its `SOUL.md` says."""
    entry = registry.entries[protocol_id]
    if not entry.is_own or entry.agent not in known:
        return registry
    capabilities, role = known[entry.agent]
    return registry.with_entry(
        entry.copy(
            capabilities=entry.capabilities or capabilities_in(capabilities),
            description=entry.description or role,
        )
    )


def _write_facts(place: Place, registry: Registry, known: Known) -> None:
    """Write into the `SOUL.md` of agents what they have declared anew."""
    for entry in registry.entries.values():
        if not entry.is_own or entry.agent not in known:
            continue
        capabilities, role = known[entry.agent]
        facts: Facts = {}
        if capabilities_in(capabilities) != entry.capabilities:
            others = [one for one in capabilities if one not in capabilities_in(capabilities)]
            facts["capabilities"] = [*entry.capabilities, *others]
        if entry.description and entry.description != role:
            facts["role"] = entry.description
        if facts:
            agent_folders.write_facts(place.paths, place.settings, entry.agent, facts)


def _done(step: RegistryStep, lines: list[str]) -> Done:
    first = step.replies[0].message if step.replies else None
    code = first.code if first is not None else step.code
    if first is not None and is_conflict(first) and step.replies[0].version != V5:
        code = lines[0].split("|")[6]
    return Done(**{**vars(step), "code": code, "answers": lines})


def _log_of(message: Message | None, replies: list[Reply], now: datetime) -> list[str]:
    """Return what the log says of a message and its answers, all in the shape of V5."""
    said = [*([message] if message is not None else []), *(one.message for one in replies)]
    return [log_line(parse(line_of(one), V5), now) for one in said]
