"""What tasks are given out by, at one instant: the registry, the agents behind its ids, the rules.

Everything that changes a context needs it; it is read once for a command or a
heartbeat, and changes nothing.

Source: PR-501, PR-503, PR-553, PR-561, PR-590, PR-598.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from council.core.agents import Agent
from council.core.delegation.artifacts import TEXT_TYPE
from council.core.errors import CouncilError
from council.core.events import Event
from council.core.protocol.exchange import Exchange, ExchangeStep, TaskRules
from council.core.protocol.liveness import used
from council.core.protocol.messages import COORDINATOR
from council.core.protocol.registry import Registry
from council.core.protocol.transaction import Transaction
from council.operations.place import Place
from council.operations.protocol.registry import note_seen, note_used
from council.operations.protocol.registry_changes import registry_of
from council.store.delegation import artifacts
from council.store.outbox import Operation
from council.store.protocol.task_settings import task_rules

ORCHESTRATOR_ROLE = "orchestrator"
CHOSEN, HEARD = "worker.chosen", "message.received"


class Roster:
    """The agents that may be given tasks, and the rules for it, read once.

    Args:
        place: The workspace.
        now: The instant of the reading.
        operation: What its caller asks for, None for what the workspace does by itself.

    Attributes:
        registry: The registered agents, with what the workspace knows of its own agents.
        rules: What may be chosen of tasks.

    Raises:
        CouncilError: The registry or an agent's file cannot be read.
    """

    def __init__(self, place: Place, now: datetime, operation: Operation | None = None) -> None:
        self.place = place
        self.now = now
        self.operation = operation or Operation()
        self.registry: Registry = registry_of(place)
        self.rules: TaskRules = task_rules(place.settings)
        self._agents: dict[str, Agent | None] = {}

    @property
    def orchestrator(self) -> str:
        """The agent that splits requests and composes answers, "" where there is none."""
        own = self.registry.get(COORDINATOR)
        if own is not None and own.agent and self.agent(COORDINATOR) is not None:
            return own.agent
        for name in self.place.agents():
            one = self.place.agent(name)
            if one.role.lower() == ORCHESTRATOR_ROLE and one.driver != "manual":
                return one.id
        return ""

    def agent(self, who: str) -> Agent | None:
        """Return the agent of the workspace behind a protocol id or its own id.

        None for one that joined from outside: it cannot be started here.
        """
        if who not in self._agents:
            entry = self.registry.get(who)
            name = entry.agent if entry is not None else who
            is_known = name in self.place.agents()
            self._agents[who] = self.place.agent(name) if is_known else None
        return self._agents[who]

    def on(self, exchange: Exchange) -> Transaction:
        """Return a transaction on a context, now and with these rules."""
        return Transaction(exchange, self.now, registry=self.registry, rules=self.rules)

    def after(self, step: ExchangeStep) -> Transaction:
        """Return a transaction that goes on from a step, with all that happened in it."""
        tx = self.on(step.exchange)
        tx.events, tx.messages = [*step.events], [*step.messages]
        return tx

    def published(self, text: str, publisher: str, trace: str) -> str:
        """Publish a text that no DATA can hold; return the id of the artifact."""
        data, facts = text.encode("utf-8", "replace"), {"content_type": TEXT_TYPE, "trace": trace}
        facts["publisher"] = publisher
        return artifacts.publish(self.place.paths, data, now=self.now, **facts).artifact_id

    def note(self, events: Iterable[Event]) -> None:
        """Remember whom these events gave work, and who was heard.

        The next task goes to another one of equals (PR-561), and who is heard is
        alive (PR-422). These are hints: what cannot be written stops no one.
        """
        told = list(events)
        chosen = tuple(dict.fromkeys(one.agent for one in told if one.type == CHOSEN))
        self.registry = used(self.registry, self.now, *chosen)
        try:
            if chosen:
                note_used(self.place, *chosen)
            for one in dict.fromkeys(one.agent for one in told if one.type == HEARD):
                entry = self.registry.get(one)
                if entry is not None and entry.watched:
                    note_seen(self.place, one)
        except CouncilError:
            return

    def version_of(self, protocol_id: str) -> str:
        """Return the version that an agent reads and writes."""
        return self.registry.version_of(protocol_id)
