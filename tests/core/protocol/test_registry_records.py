"""The JSON form of the registry: what is kept, what is refused."""

from __future__ import annotations

import json

import pytest

from council.core.errors import InvalidStateError, NewerVersionError
from council.core.protocol.registry import informed, registry_from_record
from tests.core.registries import joined, team, told


def test_fields_from_the_future_survive():
    record = team("plan").to_record()
    record["mood"] = {"é": [None]}
    record["agents"]["W1"]["colour"] = "blue"

    found = registry_from_record(json.loads(json.dumps(record))).to_record()

    assert found == record


def test_what_an_agent_of_the_workspace_can_do_is_not_written():
    registry = joined("M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=plan;agent=owl", registry=team())
    known = informed(registry, {"owl": (("reason", "Deep Thought"), "thinks")})

    entry = known.entries["W1"]
    assert (entry.capabilities, entry.description) == (("reason",), "thinks")
    assert "capabilities" not in known.to_record()["agents"]["W1"]
    assert registry.to_record()["agents"]["W1"]["capabilities"] == ["plan"]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("agents", "W0"), {}),
        (("agents", "W1"), []),
        (("agents", "W1", "status"), "asleep"),
        (("agents", "W1", "load"), 101),
        (("agents", "W1", "maxDepth"), True),
        (("agents", "W1", "agentId"), "Not A Name"),
        (("agents", "W1", "version"), "V3"),
        (("groups", "W1"), ["W1"]),
        (("groups", "G1"), ["nobody"]),
        (("nextMessage",), 0),
    ],
)
def test_a_value_that_cannot_be_is_named(where: tuple[str, ...], value: object):
    record = told(team("plan"), "M1|O1>G2|B|-|-|-|-|JOIN;members=W1").registry.to_record()
    place = record
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value

    with pytest.raises(InvalidStateError) as refused:
        registry_from_record(record)
    assert where[-1] in str(refused.value) or where[0] in str(refused.value)


def test_a_newer_registry_is_not_understood():
    with pytest.raises(NewerVersionError):
        registry_from_record({"schemaVersion": 2})
