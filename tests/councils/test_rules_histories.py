"""Random histories: whatever happens in whatever order, a conversation ends and counts once."""

from collections import Counter
from contextlib import suppress
from itertools import pairwise

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from council.councils import decisions, rules, sight
from council.councils.model import SYNTHESIZE, Heard, Stance
from council.kernel import times
from council.kernel.errors import Refusal
from tests.councils.play import FAULTY, Play

AGENTS = "a,b,c,d"
WORDS = st.sampled_from(["Tiles.", "Tin.", "Wait.", ""])


class History(RuleBasedStateMachine):
    """Commands, failures and time in any order."""

    @initialize(
        procedure=st.sampled_from(["council", "deliberation"]),
        order=st.sampled_from(["rotate", "parallel", "shuffle"]),
        blind=st.booleans(),
        people=st.sampled_from(["", "d", AGENTS]),
        max_runs=st.sampled_from([2, 40]),
        sign_off=st.sampled_from(["", "chief"]),
    )
    def begin(self, procedure: str, **more: object) -> None:
        self.play = Play(procedure, AGENTS, max_rounds=3, **more)
        self.claimed: list[rules.Work] = []

    def tries(self, *args: object, **more: object) -> None:
        with suppress(Refusal):
            self.play.do(*args, **more)  # type: ignore[arg-type]

    def says(self, *args: str, **more: object) -> None:
        with suppress(Refusal):
            self.play.says(*args, **more)

    @rule(
        agent=st.sampled_from(AGENTS.split(",")),
        position=WORDS,
        word=st.sampled_from(["agree", "partial", "disagree"]),
        status=st.sampled_from(["", "agreed", "agreed", "done"]),
        **dict.fromkeys(("faulty", "amend", "blocks"), st.booleans()),
    )
    def answers(
        self, agent: str, position: str, word: str, status: str, *, faulty: bool, amend: bool,
        blocks: bool,
    ) -> None:  # fmt: skip
        stances = {peer: Stance(word=word) for peer in "abc" if peer != agent}
        text = f"{position} {agent} {self.play.state.tour} {word}"
        blockers = ["the beams"] if blocks and status != "agreed" else []
        heard = Heard(position=position, stances=stances, blockers=blockers)
        heard = FAULTY if faulty and not amend else heard
        self.says(agent, text, heard=heard, status=status, amend=amend, repeats=False)

    @rule(agent=st.sampled_from(AGENTS.split(",")), tour=st.integers(1, 5))
    def is_late(self, agent: str, tour: int) -> None:
        self.says(agent, f"late {tour}", task=f"c-1.{tour}")

    @rule(minutes=st.sampled_from([0.5, 5, 20, 61]))
    def time_passes(self, minutes: float) -> None:
        self.play.later(minutes)

    @rule()
    def runs_start(self) -> None:
        self.claimed += self.play.claim()

    @rule(code=st.sampled_from(["crashed", "refused-key", "lost"]))
    def a_run_fails(self, code: str) -> None:
        if self.claimed:
            self.play.fails(self.claimed.pop(), code)

    @rule(now=st.booleans())
    def stops(self, now: bool) -> None:
        if self.play.state.tour > 2:
            self.tries(decisions.stop, now=now)

    @rule(pauses=st.booleans())
    def is_paused(self, pauses: bool) -> None:
        self.tries(decisions.pause if pauses else decisions.resume)

    @rule(approve=st.booleans())
    def signs(self, approve: bool) -> None:
        self.tries(decisions.sign, "chief", approve=approve, repeats=False)

    @rule(comes=st.booleans())
    def members_change(self, comes: bool) -> None:
        state, one = self.play.state, {"agent": "d", "at": times.text(self.play.now)}
        if state.ended_at or comes == ("d" in state.participants):
            return
        named = {"name": "D", "emoji": "", "role": "", "person": False, "model": ""}
        self.play.take([{"type": "joined", **one, **named} if comes else {"type": "left", **one}])

    @invariant()
    def counts_once(self) -> None:
        state = self.play.state
        said = [(e.agent, e.tour) for e in state.entries if not e.late and e.kind != "guidance"]
        assert not [one for one, count in Counter(said).items() if count > 1]
        assert len({entry.id for entry in state.entries}) == len(state.entries)
        assert [one.tour for one in state.rounds] == list(range(1, len(state.rounds) + 1))
        assert all(one.ended_at for one in state.rounds[:-1])
        phases, order = [one.phase for one in state.rounds], state.config.phases
        backward = [a for a, b in pairwise(phases) if order.index(b) < order.index(a)]
        assert backward in ([], [SYNTHESIZE])
        for agent in rules.asked(state):
            assert agent in state.round().order and agent not in state.round().absent
        sight.tally(state)

    def teardown(self) -> None:
        """Silence from now on: it ends by itself."""
        if hasattr(self, "play"):
            self.tries(decisions.resume)
            steps = 0
            while not self.play.state.ended_at and (steps := steps + 1) < 40:
                self.play.later(61)
            assert self.play.state.ended_at


History.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestHistory = History.TestCase
