"""Who takes part: lines to the registry, and what O1 answers."""

from datetime import timedelta
from typing import Any

import pytest

from council.agents import registry
from council.kernel.errors import Invalid, NotFound, Refused, Usage
from council.tasks import joining
from council.tasks.model import Context
from council.tasks.wire.writing import message_of
from tests.tasks.play import AT, BEGAN


class Office:
    def __init__(self) -> None:
        self.registry, self.now = registry.new(), BEGAN

    def send(self, kind: str, data: str = "ok", sender: str = "W1", agent: str = "ada") -> str:
        message = message_of(f"M1|{sender}>O1|{kind}|T0|P1|N|-|0|S0|-|{data}")
        events, text = joining.answer(self.registry, message, agent, self.now)
        for event in events:
            registry.evolve(self.registry, event)
        return text


@pytest.fixture
def office() -> Office:
    made = Office()
    assert made.send("J", "caps=web_search,plan;max_depth=2") == "registered;id=W1;status=active"
    made.send("J", "caps=plan;version=V4", "W10.b", "bea")
    return made


def test_a_worker_joins_changes_and_leaves(office: Office) -> None:
    one = office.registry.workers["W1"]
    told = (one.agent_id, one.caps, one.max_depth, one.version)
    assert told == ("ada", ["web_search", "plan"], 2, "V5")
    assert office.send("K", "caps=test") == "ok" and office.registry.workers["W1"].caps == ["test"]
    assert office.send("Q", "filter=W*") == "agents=W1,W10.b;count=2"
    assert office.send("Q", "filter=W10;status=inactive") == "agents=;count=0"
    answer = office.send("J", "version=V6;fallback=V4", "W3", "eve")
    assert answer.endswith("version=V4;mode=compat")
    assert office.send("L", "reason=done") == "left;id=W1"
    with pytest.raises(NotFound):
        office.send("L")


REFUSED: list[tuple[str, str, str, str, type[Exception]]] = [
    ("J", "caps=x", "W1", "bea", Refused), ("J", "version=V9;fallback=V2", "W3", "eve", Refused),
    ("J", "caps=Web search", "W3", "eve", Invalid), ("K", "caps=a-b", "W1", "ada", Invalid),
    ("H", "load=200%", "W1", "ada", Invalid), ("H", "load=1%", "W7", "ada", NotFound),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "sender", "agent", "error"), REFUSED)
def test_what_is_refused(office: Office, kind: str, data: str, sender: str, agent: str, error: Any):
    with pytest.raises(error):
        office.send(kind, data, sender, agent)


def test_one_liveness_message_counts_and_silence_is_noticed(office: Office) -> None:
    context = Context(name="S1")
    assert office.send("H", "load=40%;queue=2") == "ok"
    assert office.send("H", "load=50%").startswith("dropped")
    assert office.registry.workers["W1"].load == 40
    (event,) = joining.news(context, office.registry, office.now, {"W1": 3})
    assert event["workers"]["W1"]["load"] == 70 and event["down"] == []
    late = office.now + timedelta(minutes=4)
    (event,) = joining.news(context, office.registry, late)
    assert event["down"] == ["W1"]  # W10 never said that it lives
    assert joining.news(context.copy(closed_at="now"), office.registry, late) == []


def test_the_next_number_is_given_and_groups_have_members(office: Office) -> None:
    fields = {"caps": ["web_search", "plan"], "maxDepth": 2}
    for role, agent, ident in (("W", "eve", "W11"), ("W", "ada", "W1"), ("O", "eve", "O2")):
        text = joining.join(office.registry, agent, role, fields, AT)[1]
        assert text.startswith(f"registered;id={ident};")
    for count in (1, 0):
        events, _ = joining.join(office.registry, "ada", "W", fields, AT, "G1")
        assert [one["type"] for one in events] == [registry.GROUPED] * count
        for event in events:
            registry.evolve(office.registry, event)
    assert office.registry.groups == {"G1": ["W1"]}
    office.send("L")
    assert office.registry.groups == {"G1": []}
    with pytest.raises(Usage):
        joining.join(office.registry, "ada", "W", fields, AT, "team")
