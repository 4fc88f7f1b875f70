"""Any history of joining and leaving: no id is borne by two, numbers go in order."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from council.core.protocol.grouping import add_members, targets
from council.core.protocol.liveness import expire, next_due
from council.core.protocol.protocol_ids import ROLES, is_protocol_id, number_of, role_of
from council.core.protocol.registering import CONFLICT, Joining, join, leave
from council.core.protocol.registry import Registry, registry_from_record
from tests.core.registries import NOW, RULES, lines_of, told
from tests.examples import examples

IDS = st.builds(lambda role, number: f"{role}{number}", st.sampled_from("OWR"), st.integers(1, 9))
NAMES = st.sampled_from(["", "owl", "gecko", "fox"])


class Histories(RuleBasedStateMachine):
    """Agents come, go and fall silent in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = Registry()
        self.now = NOW

    def _take(self, step) -> None:
        lines_of(step)  # whatever is answered is a message that passes the strict check
        self.registry = step.registry

    @rule(
        proposed=st.one_of(st.just(""), IDS),
        role=st.sampled_from("WWWR"),
        agent=NAMES,
        insists=st.booleans(),
    )
    def somebody_joins(self, proposed: str, role: str, agent: str, insists: bool) -> None:
        before = self.registry
        wish = Joining(proposed=proposed, role=role, agent=agent, insists=insists)
        step = join(before, wish, self.now, RULES)
        self._take(step)
        if step.outcome == CONFLICT:
            assert self.registry == before
            return
        standing = before.entries.get(step.id)
        own = bool(agent) and before.of_agent(agent)
        if standing is not None and standing.is_here:
            assert standing.agent == agent or not (standing.agent or agent)
        elif not proposed and not own:
            used = {number_of(one) for one in before.entries if role_of(one) == role}
            fresh = [number for number in range(1, ROLES[role] + 1) if number not in used]
            assert number_of(step.id) == fresh[0] if fresh else standing is not None

    @rule(protocol_id=IDS)
    def somebody_leaves(self, protocol_id: str) -> None:
        step = leave(self.registry, protocol_id, "enough", self.now)
        self._take(step)
        assert protocol_id not in {one.id for one in self.registry.here()} - {"O1"}

    @rule(protocol_id=IDS, load=st.integers(0, 100))
    def somebody_is_alive(self, protocol_id: str, load: int) -> None:
        line = f"M1|{protocol_id}>O1|H|T0|-|R|-|0|S0|-|load={load}%;queue=0"
        self._take(told(self.registry, line, self.now))

    @rule(group=st.integers(1, 3), members=st.lists(IDS, max_size=4))
    def a_group_is_filled(self, group: int, members: list[str]) -> None:
        self._take(add_members(self.registry, f"G{group}", members))

    @rule(minutes=st.integers(1, 20))
    def time_passes(self, minutes: int) -> None:
        due = next_due(self.registry, RULES)
        self.now += timedelta(minutes=minutes)
        step = expire(self.registry, self.now, RULES)
        # The note of the next instant hides no agent that falls silent.
        assert bool(step.events) is (due is not None and due <= self.now)
        self._take(step)

    @invariant()
    def each_id_is_of_one_and_each_agent_has_one(self) -> None:
        here = self.registry.here()
        ids = [one.id for one in here]
        names = [one.agent for one in here if one.agent]
        assert len(set(ids)) == len(ids)
        assert len(set(names)) == len(names)
        assert all(map(is_protocol_id, ids))
        assert ids[0] == "O1"

    @invariant()
    def groups_hold_registered_workers(self) -> None:
        for group, members in self.registry.groups.items():
            assert all(self.registry.get(one) for one in members)
            assert set(targets(self.registry, "O1", group)) == set(members)

    @invariant()
    def nothing_is_lost_on_the_disk(self) -> None:
        record = self.registry.to_record()
        assert registry_from_record(record).to_record() == record


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
