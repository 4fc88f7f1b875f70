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

from council.web.api import PREFIX, Key, answer, described
from council.web.schemas import SOME_WORD, TEXT, WORD

_SUBJECT = "Debates"
_MOST_AGENTS = 100
_MOST_ROUNDS = 1000
_MOST_LISTED = 1000

_SESSION = "DebateSession"
Status = Literal["active", "voting", "synthesizing", "complete", "cancelled"]
Word = Annotated[str, Field(max_length=200, pattern=SOME_WORD)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


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


Id = Annotated[
    str,
    Path(max_length=200, pattern=SOME_WORD, description="Either id, or the name."),
]


def router() -> APIRouter:
    """Return the routes of debates."""
    made = APIRouter(prefix=f"{PREFIX}/debates", tags=[_SUBJECT])

    @made.post("", status_code=201, **_told("post_debates", _SESSION, 201))
    async def start(
        request: Request,
        wanted: Annotated[DebateWanted, Body()],
        _key: Key = None,
    ) -> Response:
        """Start a debate; its agents are woken at once."""
        given = wanted.model_dump(by_alias=True, exclude_none=True)
        answered = await answer(request, "debates.start", given, 201)
        id = json.loads(bytes(answered.body))["id"]
        answered.headers["Location"] = f"{PREFIX}/debates/{id}"
        return answered

    @made.get("", **_told("get_debates", _SESSION, many=True))
    async def listed(
        request: Request,
        status: Status | SkipJsonSchema[None] = None,
        last: Annotated[int, Query(ge=1, le=_MOST_LISTED)] = 20,
    ) -> Response:
        """List debates with all that was said in them, those that are open first."""
        return await answer(request, "debates.list", {"status": status, "last": last})

    @made.get("/{id}", **_told("get_debates_id", _SESSION))
    async def show(request: Request, id: Id) -> Response:
        """Return how a debate stands, and all that was said."""
        return await answer(request, "debates.show", {"id": id})

    @made.post(
        "/{id}/inject", status_code=202, **_told("post_debates_id_inject", "HumanInjection", 202)
    )
    async def inject(
        request: Request,
        id: Id,
        wanted: Annotated[InjectionWanted, Body()],
        _key: Key = None,
    ) -> Response:
        """Say something that the agents read in their next prompt."""
        given = {"id": id, **wanted.model_dump(by_alias=True, exclude_none=True)}
        return await answer(request, "debates.inject", given, 202)

    @made.delete("/{id}", **_told("delete_debates_id", _SESSION))
    async def cancel(request: Request, id: Id, _key: Key = None) -> Response:
        """Cancel a debate; what was said stays in its minutes."""
        return await answer(request, "debates.cancel", {"id": id})

    return made


def _told(name: str, shape: str, status: int = 200, *, many: bool = False) -> dict[str, Any]:
    """Return what is said of a route in the description of the interface."""
    changes = not name.startswith("get")
    schema: dict[str, Any] = {"$ref": f"#/components/schemas/{shape}"}
    schema = {"type": "array", "items": schema} if many else schema
    responses = described(status, schema, changes=changes)
    return {"operation_id": name, "response_model": None, "responses": responses}
