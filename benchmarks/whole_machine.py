"""The simulated talk once more, as texts through the whole machine of a deliberation.

Convened, answered in the order in which the machine asks, sealed where it is
blind, parsed, judged after each round, ended by the product's own stops, voted
on. What it judges must be what the rules say of the same talk without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice

from benchmarks.conformity import RIGHT, Luck, Setting, Talk, rounds_of, vote_of
from council.core.conversations.answers import respond
from council.core.conversations.conversation import Conversation, Participant
from council.core.conversations.due import due_agents
from council.core.conversations.machine import advance, begin
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE, VOTE, Rules
from council.core.deliberation.consensus import Verdict, standing
from council.core.reading_answers.rendering import render_turn

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
PHASES = tuple(phase.name for phase in PROCEDURES["deliberation"].phases)


@dataclass
class Machined:
    """What came of some runs: how many ended for which reason, and how they were judged."""

    runs: int = 0
    rounds: int = 0
    reached: int = 0
    wrong: int = 0
    differing: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


def through_the_machine(setting: Setting, seed: int, runs: int) -> Machined:
    """Play some runs through the machine and compare its verdicts with those of the rules."""
    found = Machined()
    for run in range(runs):
        state = played_out(setting, Talk(setting, Luck(seed, run)))
        judged = [Verdict.from_record(one.verdict) for one in state.rounds if one.verdict]
        talked = [one for one in state.rounds if one.phase not in (VOTE, SYNTHESIZE)]
        alone = Talk(setting, Luck(seed, run))
        history = list(islice(rounds_of(alone), len(talked)))
        history.append(vote_of(alone, len(history) + 1))
        by_rules = [standing(setting.counted, history[:n]) for n in range(1, len(history) + 1)]
        final = judged[-1]
        found.runs += 1
        found.rounds += len(talked)
        found.reached += final.reached
        found.wrong += final.reached and history[-1].turns[final.reference].position != RIGHT
        found.differing += judged != by_rules
        reason = talked[-1].reason
        found.reasons[reason] = found.reasons.get(reason, 0) + 1
    return found


def played_out(setting: Setting, talk: Talk) -> Conversation:
    """Return the conversation in which the agents of `talk` have answered until the synthesis."""
    state = begin(_convened(setting), NOW).state
    while state.phase != SYNTHESIZE:
        agent, vote = due_agents(state)[0], state.phase == VOTE
        turn = talk.vote(agent) if vote else talk.turn(agent, state.tour)
        text = render_turn(
            position=turn.position,
            responses=turn.responses,
            reasoning=turn.reasoning,
            confidence=turn.confidence,
            vote=vote,
        )
        state = respond(state, agent, text, now=NOW, nonce=f"salt-{agent}").state
        state = advance(state, NOW).state
    return state


def _convened(setting: Setting) -> Conversation:
    seat = setting.advocate
    return Conversation(
        conversation_id="0f8fad5b-d9cb-469f-a165-70867728950e",
        name="question",
        topic="Which of the options is right?",
        brief=", ".join("ABCDEFGH"[: setting.options]),
        procedure="deliberation",
        phases=PHASES,
        phase=PHASES[0],
        created_at=NOW,
        updated_at=NOW,
        timeout_at=NOW + timedelta(hours=1),
        participants={name: Participant(id=name) for name in setting.names},
        sealed_phases=setting.blind,
        rules=Rules(advocate=setting.names[seat] if seat >= 0 else ""),
    )
