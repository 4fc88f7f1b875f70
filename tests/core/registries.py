"""Registries for the tests of the rules: lines of the protocol in, lines out."""

from __future__ import annotations

from datetime import UTC, datetime

from council.core.bounds import ProtocolRules
from council.core.protocol.registry import Registry, RegistryStep
from council.core.protocol.registry_messages import receive
from council.wire.carried import message_of, reply_line

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
RULES = ProtocolRules()


def told(registry: Registry, line: str, now: datetime = NOW, **options: object) -> RegistryStep:
    """Give the registry a line of V4 or V5."""
    speaks = "V4" if line.count("|") == 7 else "V5"
    rules = options.pop("rules", RULES)
    return receive(registry, message_of(line), now, rules, speaks=speaks, **options)


def lines_of(step: RegistryStep) -> list[str]:
    """Return what the registry answers, as lines."""
    return [reply_line(one) for one in step.replies]


def joined(*lines: str, registry: Registry | None = None) -> Registry:
    """Return a registry after these lines; each of them must have been accepted."""
    registry = registry or Registry()
    for line in lines:
        step = told(registry, line)
        assert not step.reason, (line, step.reason)
        registry = step.registry
    return registry


def team(*capabilities: str) -> Registry:
    """Return a registry with one worker for each word, `W1` with the first one."""
    return joined(
        *(
            f"M1|W{number}>O1|J|T0|-|-|-|0|S0|-|caps={one}"
            for number, one in enumerate(capabilities, start=1)
        )
    )
