"""The vectors that the course of a task decides: transitions, retries and whole sequences.

Each sequence is played through the rules of a context, every message in turn:
what an orchestrator writes is sent, what a worker or the user writes is taken.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from council.core.conversations.conversation import TaskState
from council.core.protocol.assigning import strategy
from council.core.protocol.exchange import OK, TaskRules, transition
from council.core.protocol.protocol_ids import ORCHESTRATOR, role_of
from council.core.protocol.registry import Entry, EntryStatus, Registry
from council.wire.carried import message_of
from council.wire.codes import mapped
from council.wire.messages import parse, validate
from council.wire.signing import verify
from tests.core.exchanges import Context
from tests.wire.known import known_in

FOLDER = Path(__file__).parent


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def cases(area: str) -> list[Any]:
    found = [one for one in read("rules.jsonl") if one["area"] == area]
    return [pytest.param(one, id=one["id"]) for one in found]


SEQUENCES = [
    pytest.param(one, id=one["id"]) for one in read("messages.jsonl") if one["kind"] == "sequence"
]


@pytest.mark.req("PR-412", "PR-551", "PR-552")
@pytest.mark.parametrize("case", cases("transition"))
def test_a_transition_is_what_its_vector_says(case: dict[str, Any]):
    states = TaskState(case["input"]["from"]), TaskState(case["input"]["to"])

    assert transition(*states) == case["expect"]


@pytest.mark.req("PR-412")
def test_nothing_but_the_five_transitions_is_allowed():
    allowed = {
        f"{old}{new}" for old in TaskState for new in TaskState if transition(old, new) == OK
    }

    assert allowed == {"NR", "RD", "RF", "NX", "RX"}


@pytest.mark.req("PR-580")
@pytest.mark.parametrize("case", cases("retry"))
def test_what_follows_on_a_code_is_what_its_vector_says(case: dict[str, Any]):
    assert strategy(case["input"]) == case["expect"]


def registry_of(context: dict[str, Any]) -> Registry:
    """Return the workers that a vector knows."""
    entries = {}
    for name, told in context["agents"].items():
        entries[name] = Entry(
            id=name,
            capabilities=tuple(told.get("caps", ())),
            max_depth=told.get("max_depth"),
            load=100 if name in context.get("busy", ()) else 0,
            status=EntryStatus.UNAVAILABLE
            if name in context.get("down", ())
            else EntryStatus.ACTIVE,
        )
    return Registry(entries=entries)


def in_version(code: str, version: str) -> str:
    """Return a code of V5 as an older version writes it."""
    for older in ("V4", "V3")[: ("V5", "V4", "V3").index(version)]:
        newer = {"V4": "V5", "V3": "V4"}[older]
        code = mapped(code, newer, older)[0]
    return code


@pytest.mark.req("PR-412", "PR-501", "PR-551", "PR-552", "PR-560", "PR-562", "PR-564", "PR-565")
@pytest.mark.req("PR-545", "PR-571", "PR-575")
@pytest.mark.parametrize("vector", SEQUENCES)
def test_a_sequence_goes_as_its_vector_says(vector: dict[str, Any]):
    given, version = vector["parsed"]["context"], vector["version"]
    rules = TaskRules(max_depth=given.get("max_depth", TaskRules().max_depth))
    context = Context(registry_of(given), rules=rules)
    context.exchange.values.update(dict.fromkeys(given.get("ctx_keys", ()), "something"))
    context.exchange.kept_open = True
    nonces: set[tuple[str, str]] = set()
    found: list[str | None] = []

    for text in vector["raw"].split("\n"):
        reading = parse(text)
        assert (reading.version, reading.valid) == (version, True)
        known = known_in(
            context.exchange, context.registry, fields=given.get("fields", ()), payloads=None
        )
        faults = [fault.code for fault in validate(reading, context=known).errors]
        if given.get("require_auth"):
            verdict = verify(text, given["key"], nonces)
            faults += [one["code"] for one in verdict.errors]
            nonces |= {verdict.used} if verdict.used else set()
        message = message_of(text)
        if faults:
            found.append(faults[0])
        elif message.task == "T0":
            found.append(None)  # for the registry
        else:
            by_orchestrator = role_of(message.sender) == ORCHESTRATOR
            step = context.order(text) if by_orchestrator else context.hear(text)
            found.append(in_version(step.code, version) if step.code else None)

    assert found == vector["parsed"]["expect"]
