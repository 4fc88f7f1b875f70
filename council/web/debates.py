"""Document 003's interface to the letter: `/api/council/debates`; a debate is a deliberation."""

from __future__ import annotations

import os
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from council.app import App
from council.archive import minutes
from council.councils import opening, service, views
from council.councils.model import State
from council.kernel import ids
from council.kernel.errors import Conflict, Invalid, NotFound, Refusal
from council.web.operations import (
    PREFIX,
    Asked,
    Count,
    Name,
    Shape,
    SomeText,
    Text,
    Topic,
    Word,
    Workspace,
    operation,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Status = Literal["active", "voting", "synthesizing", "complete", "cancelled"]
router = APIRouter(prefix=f"{PREFIX}/debates", tags=["debates"])


class Agent(Shape):
    """Who takes part; which model and program it uses, its workspace says."""

    agent_id: Word
    model: Word | None = None
    role: Word | None = None
    role_description: Annotated[Text, Field(max_length=2000)] | None = None


class Config(Shape):
    """How a debate is held; the settings of the workspace say what is left out."""

    max_rounds: Count = None
    agents: Annotated[list[Agent], Field(max_length=100)] | None = None
    consensus_threshold: Count = None


def returns(shape: str, status: int = 200, *, many: bool = False) -> dict[str, Any]:
    """Return what the description of the interface says of a route's response."""
    schema: dict[str, Any] = {"$ref": f"#/components/schemas/{shape}"}
    schema = {"type": "array", "items": schema} if many else schema
    done = {"description": "Done.", "content": {"application/json": {"schema": schema}}}
    return {"status_code": status, "response_model": None, "responses": {status: done}}


@operation(router, "", **returns("DebateSession", 201))
def start(
    app: Asked, key: str = "", *, topic: Topic, context: Text | None = None,
    config: Config | None = None,
) -> Response:  # fmt: skip
    """Start a debate; its first agents are woken at once."""
    config = config or Config()
    agents = config.agents or []
    roles = {a.agent_id: ": ".join(filter(None, (a.role, a.role_description))) for a in agents}
    word = ids.digest(f"{app.sender} {key}") if key else os.urandom(4).hex()
    asked = opening.opening({
        "topic": topic, "brief": context or "", "name": f"debate-{word[:8]}",
        "procedure": "deliberation", "agents": [*roles],
        "roles": {agent: role for agent, role in roles.items() if role},
        "max_rounds": config.max_rounds, "threshold": config.consensus_threshold,
    })  # fmt: skip
    state = next(_debates(app, asked.name), None) if key else None
    if state is None:
        state = service.find(app, service.convene(app, asked)["conversationId"])
    elif (state.topic, state.brief.strip()) != (asked.topic, asked.brief):
        raise Invalid("key", "this Idempotency-Key belongs to another debate", "use another")
    session = views.debate_session(state)
    return JSONResponse(session, 201, {"Location": f"{PREFIX}/debates/{session['id']}"})


@router.get("", **returns("DebateSession", many=True))
def listed(
    app: Workspace,
    status: Status | SkipJsonSchema[None] = None,
    last: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Any:
    """List debates with all that was said: open ones first, then the newest."""
    session = map(views.debate_session, _debates(app))
    return list(islice((one for one in session if status in (None, one["status"])), last))


@router.get("/{id}", **returns("DebateSession"))
def show(app: Workspace, id: Name) -> Any:
    """Return the status of a debate and all that was said; `id` may also be its name."""
    return views.debate_session(found(app, id))


@operation(router, "/{id}/inject", **returns("HumanInjection", 202))
def inject(
    app: Asked, id: str, key: str = "", *, message: SomeText, target_agent: Word | None = None
) -> Any:
    """Say something that agents read in their next prompt, and have to acknowledge."""
    state, to = found(app, id, is_open=True), target_agent or ""
    service.say(app, state.name, message, to, app.person(), key)
    now = service.find(app, state.conversation_id)
    ours = [e for e in now.entries if (e.kind, e.target) == ("guidance", to)]
    return views.injection(now, [e for e in ours if e.text == message][-1])


@router.delete("/{id}", **returns("DebateSession"))
def cancel(app: Workspace, id: Name) -> Any:
    """Cancel a debate; its minutes keep what was said."""
    state = found(app, id, is_open=True)
    service.steer(app, state.name, "cancel", by=app.person())
    return views.debate_session(service.find(app, state.conversation_id))


def found(app: App, ident: str, is_open: bool = False) -> State:
    """Return the debate with an id, a conversation's id or a name.

    Raises:
        NotFound: There is none.
        Conflict: It has to be open, and is over.
    """
    state = next(_debates(app, ident), None)
    if state is None:
        raise NotFound("not-found", f"no debate {ident[:80]!r}", f"see: GET {PREFIX}/debates")
    if is_open and state.ended_at:
        where = f"read its minutes: {state.minutes}" if state.minutes else ""
        raise Conflict("over", f"the debate {state.name} is over", where)
    return state


def _debates(app: App, which: str = "") -> Iterator[State]:
    """Yield debates, open ones first, then the newest; what cannot be read is left out.

    Only those with an id, a conversation's id or a name, if that is given.
    """
    names = [{"name": one, "path": ""} for one in app.conversations()]
    for row in [*names, *minutes.rows(app.root)]:
        try:
            if not row["path"]:
                state: State = app.conversation(row["name"]).read()
                row |= {"procedure": state.procedure, "conversation": state.conversation_id}
            own = str(row["conversation"])
            cuid = which[:12] + ids.cuid(own, 0)[12:]  # its first characters are a time
            if row.get("procedure") == "deliberation" and which in ("", own, row.get("name"), cuid):
                yield service.find(app, own) if row["path"] else state
        except Refusal:
            continue
