"""Document 003's interface to the letter: `/api/council/debates`; a debate is a deliberation."""

from __future__ import annotations

import os
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from council.app import App
from council.archive import minutes
from council.councils import service, views
from council.councils.model import State
from council.kernel import ids
from council.kernel.errors import Conflict, Invalid, NotFound, Refusal
from council.web import api
from council.web.api import Injection, Key, Name, Shape, Text, Word, opened, person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DELIBERATION = "deliberation"
Status = Literal["active", "voting", "synthesizing", "complete", "cancelled"]
router = APIRouter(prefix=f"{api.PREFIX}/debates", tags=["debates"])


class Agent(Shape):
    """Who takes part; which model and program it uses, its workspace says."""

    agent_id: Word
    model: Word | None = None
    role: Word | None = None
    role_description: Annotated[Text, Field(max_length=2000)] | None = None


class Config(Shape):
    """How a debate is held; the settings of the workspace say what is left out."""

    max_rounds: Annotated[int, Field(ge=1, le=1000)] | None = None
    agents: Annotated[list[Agent], Field(max_length=100)] | None = None
    consensus_threshold: Annotated[int, Field(ge=1, le=100)] | None = None


class Debate(Shape):
    """A debate to start."""

    topic: Annotated[api.SomeText, Field(max_length=300, examples=["Tabs or spaces?"])]
    context: Text | None = None
    config: Config | None = None


def returns(shape: str, status: int = 200, *, many: bool = False) -> dict[str, Any]:
    """Return what the description of the interface says of a route's response."""
    schema: dict[str, Any] = {"$ref": f"#/components/schemas/{shape}"}
    schema = {"type": "array", "items": schema} if many else schema
    content = {"application/json": {"schema": schema}}
    return {
        "status_code": status,
        "response_model": None,
        "responses": {status: {"description": "Done.", "content": content}},
    }


@router.post("", **returns("DebateSession", 201))
def start(request: Request, body: Debate, key: Key = "") -> Response:
    """Start a debate; its first agents are woken at once."""
    app, config = opened(request), body.config or Config()
    topic, brief = " ".join(body.topic.split()), api.checked(app, body.context or "").strip()
    if not topic:
        raise Invalid("no-topic", "there is no question", "give a topic")
    roles = {
        one.agent_id: ": ".join(filter(None, (one.role, one.role_description)))
        for one in config.agents or []
        if one.role or one.role_description
    }
    asked = service.Opening(
        topic=topic, brief=brief, procedure=DELIBERATION, roles=roles,
        agents=[one.agent_id for one in config.agents or []],
        config={"max_rounds": config.max_rounds, "threshold": config.consensus_threshold},
    )  # fmt: skip
    word = ids.digest(f"{request.state.person} {key}") if key else os.urandom(4).hex()
    asked.name = f"debate-{word[:8]}"
    state = next(_named(app, asked.name), None) if key else None
    if state is None:
        ident = service.convene(app, asked)["conversationId"]
        state = service.find(app, ident)
    elif (state.topic, state.brief.strip()) != (topic, brief):
        raise Invalid("key", "this Idempotency-Key belongs to another debate", "use another")
    session = views.debate_session(state)
    return JSONResponse(session, 201, {"Location": f"{api.PREFIX}/debates/{session['id']}"})


@router.get("", **returns("DebateSession", many=True))
def listed(
    request: Request,
    status: Status | SkipJsonSchema[None] = None,
    last: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Any:
    """List debates with all that was said: open ones first, then the newest."""
    session = (views.debate_session(state) for state in _debates(opened(request)))
    return list(islice((one for one in session if status in (None, one["status"])), last))


@router.get("/{id}", **returns("DebateSession"))
def show(request: Request, id: Name) -> Any:
    """Return the status of a debate and all that was said; `id` may also be its name."""
    return views.debate_session(found(opened(request), id))


@router.post("/{id}/inject", **returns("HumanInjection", 202))
def inject(request: Request, id: Name, body: Injection, key: Key = "") -> Any:
    """Say something that agents read in their next prompt, and have to acknowledge."""
    app, to = opened(request), body.target_agent or ""
    state, text = _open(app, id), api.checked(app, body.message)
    service.say(app, state.name, text, to, person(request), key)
    now = service.find(app, state.conversation_id)
    ours = [e for e in now.entries if (e.kind, e.target) == ("guidance", to) and e.text == text]
    return views.injection(now, ours[-1])


@router.delete("/{id}", **returns("DebateSession"))
def cancel(request: Request, id: Name) -> Any:
    """Cancel a debate; its minutes keep what was said."""
    app = opened(request)
    state = _open(app, id)
    service.steer(app, state.name, "cancel", by=person(request))
    return views.debate_session(service.find(app, state.conversation_id))


def found(app: App, ident: str) -> State:
    """Return the debate with an id, a conversation's id or a name.

    Raises:
        NotFound: There is none.
    """
    state = next(_named(app, ident), None)
    if state is None:
        raise NotFound("not-found", f"no debate {ident[:80]!r}", f"see: GET {api.PREFIX}/debates")
    return state


def _open(app: App, ident: str) -> State:
    state = found(app, ident)
    if state.ended_at:
        where = f"read its minutes: {state.minutes}" if state.minutes else ""
        raise Conflict("over", f"the debate {state.name} is over", where)
    return state


def _named(app: App, ident: str) -> Iterator[State]:
    """Yield the debates with an id, a conversation's id or a name, the newest first."""
    return _debates(app, lambda own, name: ident in (own, name, _cuid(own, ident)))


def _cuid(own: str, ident: str) -> str:
    """Return the cuid of a conversation, with the time that another one begins with."""
    return ident[:12] + ids.cuid(own, 0)[12:] if ident[:1] == "c" else own


def _debates(app: App, is_meant: Any = lambda *_: True) -> Iterator[State]:
    """Yield debates, open ones first, then the newest; what cannot be read is left out.

    `is_meant` gets the id and the name of a conversation.
    """
    for name in app.conversations():
        try:
            state: State = app.conversation(name).peek()
            if state.procedure == DELIBERATION and is_meant(state.conversation_id, name):
                yield app.conversation(name).read()
        except Refusal:
            continue
    for row in minutes.rows(app.root):
        if row.get("procedure") == DELIBERATION and is_meant(row["conversation"], row.get("name")):
            try:
                yield service.find(app, row["conversation"])
            except Refusal:
                continue
