"""Random histories of conversations, replayed: each revision is rebuilt as it really was.

The machines of `test_histories` and `test_deliberation_histories` play; every step that changed
something is kept as a revision with its events, as the journal keeps it. At the end each is
rebuilt from the final state and compared with what it was.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from council.core.conversations.conversation import Conversation
from council.core.conversations.machine import begin
from council.core.conversations.replaying import Moment, Replay, made_up
from tests.core.conversations.samples import CONVERSATION_ID, NOW
from tests.core.test_deliberation_histories import Deliberations as Debates
from tests.core.test_histories import Histories
from tests.examples import examples

# What runs used and how they stood is in no event, and is not rebuilt.
_NOT_REBUILT = {
    **{"tasks": {}, "usage": {}, "sealed": {}, "notified_tour": 1},
    **{"updated_at": NOW, "ends_at": None},
}


def _seen(state: Conversation) -> dict[str, object]:
    """Return what of a state a replay must show."""
    seen = dict(state.copy(**_NOT_REBUILT).copy().__dict__)
    for agent, one in seen.pop("participants").items():
        # Of a text that was replaced the salt is gone.
        seen |= {f"{agent} {key}": value for key, value in one.__dict__.items()}
        seen[f"{agent} sealed"] = bool(one.sealed)
    seen["rounds"] = [one.copy(started_at=NOW) for one in state.rounds]
    return seen


class Recorder:
    """Keeps the states and events of a machine as revisions, and replays them at its end."""

    state: Conversation

    def move(self, act):
        before, now = self.state.copy(), self.now
        step = super().move(act)
        if not hasattr(self, "kept"):
            self.kept = [(NOW, before, begin(before, NOW).events)]
        if step.state != before:
            self.kept.append((now, step.state.copy(), step.events))
        return step

    def teardown(self) -> None:
        super().teardown()
        if not hasattr(self, "kept"):
            return
        final = self.kept[-1][1]
        moments = [
            Moment(
                rev=rev,
                at=at,
                phase=state.phase,
                tour=state.tour,
                events=[one.to_line("id", "trace", CONVERSATION_ID, "at") for one in events],
            )
            for rev, (at, state, events) in enumerate(self.kept, 1)
        ]
        replay = Replay(final, moments)
        for moment, (_, state, _) in zip(moments, self.kept, strict=True):
            assert replay.can_show(moment.rev)
            shown, was = _seen(replay.state_at(moment.rev)), _seen(state.copy(rev=moment.rev))
            assert {key: (shown[key], one) for key, one in was.items() if shown[key] != one} == {}
        self.each_text_is_shown_once(final)

    def each_text_is_shown_once(self, final: Conversation) -> None:
        """A conversation without a journal is replayed text by text."""
        replay = Replay(final, [])
        counts = [len(replay.state_at(one.rev).entries) for one in made_up(final)]
        assert counts[0] == 0
        assert counts == sorted(counts)
        assert counts[-1] == len(final.entries)
        given = [one.id for moment in made_up(final) for one in replay.answers_of(moment.rev)]
        assert sorted(given) == sorted(one.id for one in final.entries)


class Councils(Recorder, Histories):
    """Councils that answer at once."""


class Deliberations(Recorder, Debates):
    """Deliberations, but for what people change in the file, which is in no event."""

    join = leave = be_done = end_it_in_the_file = cancel = None


class InTurn(Deliberations):
    """Councils in every order of speaking."""

    procedure = "council"


Councils.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=30)
Deliberations.TestCase.settings = settings(max_examples=examples(30), stateful_step_count=40)
InTurn.TestCase.settings = settings(max_examples=examples(30), stateful_step_count=30)


@pytest.mark.req("FW-012.1")
class TestCouncils(Councils.TestCase):
    """Played by pytest."""


@pytest.mark.req("FW-012.1")
class TestDeliberations(Deliberations.TestCase):
    """Played by pytest."""


@pytest.mark.req("FW-012.1")
class TestCouncilsInTurn(InTurn.TestCase):
    """Played by pytest."""
