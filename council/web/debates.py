"""The interface of document 003, word for word: `/api/council/debates` and what lies below.

Source: DL-051 to DL-056, DL-061 to DL-065.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from council.web import problems
from council.web.api import PREFIX, Key, NoneMatch, answer
from council.web.schemas import TEXT, WORD
from council.working.calling import Worker

_SUBJECT = "Debates"
_MOST_AGENTS = 100
_MOST_ROUNDS = 1000
_MOST_LISTED = 1000

Status = Literal["active", "voting", "synthesizing", "complete", "cancelled"]
Stance = Literal["agree", "disagree", "partial"]
Confidence = Annotated[int, Field(ge=1, le=5)]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
# A field that is left out where there is nothing; it is never null.
Absent = SkipJsonSchema[None]
Word = Annotated[str, Field(max_length=200, pattern=WORD.replace("*", "+"))]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class PeerResponse(_Shape):
    """What an agent says of another one's position."""

    agent_id: str
    stance: Stance
    comment: str


class AgentTurn(_Shape):
    """One turn; its confidence is null where none was stated."""

    agent_id: str
    round_number: Annotated[int, Field(ge=1)]
    position: str
    responses: list[PeerResponse]
    reasoning: str
    confidence: Confidence | None
    timestamp: Instant | None


class DebateRound(_Shape):
    """One round of talk."""

    round_number: Annotated[int, Field(ge=1)]
    turns: list[AgentTurn]
    started_at: Instant
    completed_at: Instant | Absent = None


class Agreement(_Shape):
    """With whom a voter agrees."""

    agent_id: str
    stance: Stance


class Vote(_Shape):
    """One vote."""

    agent_id: str
    final_position: str
    confidence: Confidence | None
    agreements: list[Agreement]


class VotingRound(_Shape):
    """The vote, and once it is closed what it came to."""

    votes: list[Vote]
    consensus_reached: bool
    consensus_type: Literal["strong", "soft", "none"] | Absent = None


class Insight(_Shape):
    """What one agent brought in."""

    agent_id: str
    insight: str


class Synthesis(_Shape):
    """What was decided and what was not."""

    synthesizer_id: str
    consensus_summary: str | Absent = None
    disagreement_summary: str | Absent = None
    key_insights: list[Insight]
    recommendation: str
    created_at: Instant


class Acknowledgement(_Shape):
    """Who has taken notice, and when."""

    agent_id: str
    timestamp: Instant | Absent = None


class HumanInjection(_Shape):
    """What a person said: in which round, after how many of its turns, and who took notice."""

    message: str
    injected_at: Instant
    target_agent: str | Absent = None
    round: Annotated[int, Field(ge=1)]
    place: Annotated[int, Field(ge=0)]
    acknowledgements: list[Acknowledgement]


class AgentConfig(_Shape):
    """One agent of a debate."""

    agent_id: str
    model: str
    role: str
    role_description: str
    driver: str


class DebateConfig(_Shape):
    """How a debate is held."""

    max_rounds: Annotated[int, Field(ge=1)]
    agents: list[AgentConfig]
    consensus_threshold: Annotated[int, Field(ge=1)]


class DebateSession(_Shape):
    """A debate, with all that was said in it and is not sealed."""

    id: Annotated[str, Field(pattern="^c[a-z0-9]{24}$", description="A cuid.")]
    topic: str
    context: str | Absent = None
    status: Status
    config: DebateConfig
    rounds: list[DebateRound]
    voting_round: VotingRound | Absent = None
    synthesis: Synthesis | Absent = None
    created_at: Instant
    completed_at: Instant | Absent = None
    human_injections: list[HumanInjection]


class AgentWanted(_Shape):
    """An agent that is to take part; how it is run, its workspace says."""

    agent_id: Word
    model: Word | None = None
    role: Word | None = None
    role_description: Annotated[str, Field(max_length=2000, pattern=WORD)] | None = None
    driver: Annotated[
        str | None, Field(deprecated=True, max_length=200, description="Read only: not heeded.")
    ] = None


class ConfigWanted(_Shape):
    """How a debate is to be held; what is left out is as usual."""

    max_rounds: Annotated[int, Field(ge=1, le=_MOST_ROUNDS)] | None = None
    agents: Annotated[list[AgentWanted], Field(max_length=_MOST_AGENTS)] | None = None
    consensus_threshold: Annotated[int, Field(ge=1, le=_MOST_AGENTS)] | None = None


class DebateWanted(_Shape):
    """A debate to start."""

    topic: Annotated[str, Field(min_length=1, max_length=300, pattern=TEXT, examples=["Tea?"])]
    context: Annotated[str, Field(pattern=TEXT)] | None = None
    config: ConfigWanted | None = None


class InjectionWanted(_Shape):
    """What a person has to say."""

    message: Annotated[str, Field(min_length=1, pattern=TEXT, examples=["Mind the budget."])]
    target_agent: Word | None = None


class Wanted(_Shape):
    """Which debates are listed: so many at most, those that are open first."""

    status: Status | None = None
    last: Annotated[int, Field(ge=1, le=_MOST_LISTED)] = 20


Id = Annotated[
    str,
    Path(max_length=200, pattern=WORD.replace("*", "+"), description="Either id, or the name."),
]


def router(worker: Worker) -> APIRouter:
    """Return the routes of debates."""
    made = APIRouter(prefix=f"{PREFIX}/debates", tags=[_SUBJECT])

    @made.post("", status_code=201, **_told("post_debates", DebateSession, 201))
    async def start(
        request: Request,
        wanted: Annotated[DebateWanted, Body()],
        idempotency_key: Key = None,
    ) -> Response:
        """Start a debate; its agents are woken at once."""
        given = wanted.model_dump(by_alias=True, exclude_none=True)
        key = idempotency_key or ""
        answered = await answer(worker, request, "debates.start", given, 201, key=key)
        if answered.status_code == 201:
            id = json.loads(bytes(answered.body))["id"]
            answered.headers["Location"] = f"{PREFIX}/debates/{id}"
        return answered

    @made.get("", **_told("get_debates", list[DebateSession]))
    async def listed(
        request: Request, wanted: Annotated[Wanted, Query()], if_none_match: NoneMatch = None
    ) -> Response:
        """List debates with all that was said in them."""
        given = wanted.model_dump(by_alias=True, exclude_none=True)
        return await answer(worker, request, "debates.list", given, known=if_none_match or "")

    @made.get("/{id}", **_told("get_debates_id", DebateSession))
    async def show(request: Request, id: Id, if_none_match: NoneMatch = None) -> Response:
        """Return how a debate stands, and all that was said."""
        given = {"id": id}
        return await answer(worker, request, "debates.show", given, known=if_none_match or "")

    @made.post(
        "/{id}/inject", status_code=202, **_told("post_debates_id_inject", HumanInjection, 202)
    )
    async def inject(
        request: Request,
        id: Id,
        wanted: Annotated[InjectionWanted, Body()],
        idempotency_key: Key = None,
    ) -> Response:
        """Say something that the agents read in their next prompt."""
        given = {"id": id, **wanted.model_dump(by_alias=True, exclude_none=True)}
        return await answer(
            worker, request, "debates.inject", given, 202, key=idempotency_key or ""
        )

    @made.delete("/{id}", **_told("delete_debates_id", DebateSession))
    async def cancel(request: Request, id: Id, idempotency_key: Key = None) -> Response:
        """Cancel a debate; what was said stays in its minutes."""
        given = {"id": id}
        return await answer(worker, request, "debates.cancel", given, key=idempotency_key or "")

    return made


def _told(name: str, model: Any, status: int = 200) -> dict[str, Any]:
    """Return what is said of a route in the description of the interface."""
    changes = not name.startswith("get")
    said: dict[int | str, dict[str, Any]] = {
        status: {"description": "It was done.", "model": model}
    }
    if not changes:
        said[304] = {"description": "It is as in the ETag that was sent."}
    refusals = problems.described(changes=changes)
    return {"operation_id": name, "response_model": None, "responses": said | refusals}
