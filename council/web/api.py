"""The interface for programs, and what forms do: each calls a service and returns its JSON.

The last part is document 003's interface to the letter: a debate is a deliberation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BeforeValidator, Field

from council.app import App
from council.archive import minutes
from council.councils import opening, service, views
from council.councils.model import State
from council.councils.verdict import plain
from council.delegation import service as delegation
from council.kernel import ids
from council.kernel.errors import Conflict, Invalid, NotFound, Refusal
from council.observe import status as look
from council.rooms import decisions
from council.rooms import service as rooms
from council.rooms.row import ROOMS
from council.setup import identities
from council.tasks import service as tasks
from council.web.operations import PREFIX, Line, Name, Shape, Workspace, operation, tag_of, tags_in

# A text may have lines; a word is on one line. Neither has characters that terminals obey.
_TEXT = r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
Text = Annotated[str, Field(pattern=f"^{_TEXT}")]
SomeText = Annotated[str, Field(min_length=1, pattern=f"^{_TEXT}")]
Topic = Annotated[
    str, Field(max_length=300, pattern=rf"^[\t\n\r ]*[^\x00-\x20\x7f]{_TEXT}", examples=["Tea?"])
]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Words = Annotated[list[Word], Field(max_length=100)]
_WHOLE = BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)
Count = Annotated[int, _WHOLE, Field(ge=1, le=1000)] | None
Kind = Literal["", "vote", "synthesis"]
Stances = Annotated[list[Line], Field(max_length=100, examples=[["ada=agree:it is cheap"]])]
Confidence = Annotated[int, _WHOLE, Field(ge=1, le=5)] | None
COUNCIL, ROOM = "/councils/{name}", "/rooms/{name}"
NONE: list[str] = []
NO_PAIRS: dict[str, str] = {}
councils = APIRouter(prefix=PREFIX, tags=["councils"])
others = APIRouter(prefix=PREFIX, tags=["workspace"])
debates = APIRouter(prefix=f"{PREFIX}/debates", tags=["debates"])


@others.get("/status")
def status(app: Workspace) -> Any:
    """Return what is open, who owes an answer and what failed."""
    return look.status(app)


@councils.get("/councils")
def all_councils(app: Workspace) -> Any:
    """List open conversations."""
    return look.status(app)["conversations"]


@others.get("/rooms")
def all_rooms(app: Workspace) -> Any:
    """List rooms."""
    return look.status(app)[ROOMS.place_in_report]


@councils.get(COUNCIL, responses={304: {"description": "It has this ETag still."}})
def council(app: Workspace, name: Name, if_none_match: Annotated[str, Header()] = "") -> Response:
    """Return a conversation, open or over."""
    state = service.find(app, name)
    tag = tag_of(state)
    headers = {"ETag": f'"{tag}"'}
    if tags_in(if_none_match) & {tag, "*"}:
        return Response(status_code=304, headers=headers)
    return JSONResponse(views.shown(state), headers=headers)


@operation(councils, "/councils", 201, "/new", COUNCIL)
def convene(
    app: Workspace, *, topic: Topic, brief: Text = "", name: Line = "", agents: Words = NONE,
    people: Words = NONE, procedure: Literal["council", "deliberation"] = "council",
    options: Words = NONE, timeout: Line = "", max_rounds: Count = None, sign_off: Line = "",
) -> Any:  # fmt: skip
    """Open a council; its first speakers are woken at once."""
    if not name and app.is_open(service.DEFAULT):
        name = ids.slug(topic, 40) or f"question-{ids.digest(topic)[:6]}"
    asked = {"topic": topic, "brief": brief, "name": name, "agents": agents, "people": people}
    asked |= {"procedure": procedure, "options": options, "timeout": timeout, "sign_off": sign_off}
    return service.convene(app, opening.opening({**asked, "max_rounds": max_rounds}))


@operation(councils, f"{COUNCIL}/answers", 201, COUNCIL)
def answer(
    app: Workspace, name: Name, *, as_: Word, text: Text = "", position: Text = "", new: Text = "",
    choice: Line = "", stances: Stances = NONE, kind: Kind = "", confidence: Confidence = None,
    status: Line = "", task: Line = "", key: Line = "", amend: bool = False, check: bool = False,
) -> Any:  # fmt: skip
    """Give the answer of this round: `text`, or the other fields, or both.

    `new` is the position of the choice `new`.
    """
    stated = service.Stated(
        position=position or new * (choice in ("", "new")), choice=choice, stances=stances,
        confidence=confidence, status=status, only=kind, task=task, key=key, amend=amend,
        check=check,
    )  # fmt: skip
    if ids.is_blank(text) and not stated.is_answer():
        raise Invalid("no-text", "there is no text", "give text, or a position, choice or stances")
    return service.respond(app, app.find(name), app.who(app.sender or as_), text, stated)


@operation(councils, f"{COUNCIL}/inject", 202, COUNCIL)
def inject(
    app: Workspace, name: Name, *, message: SomeText, target_agent: Word | None = None,
    key: Line = "",
) -> Any:  # fmt: skip
    """Tell the participants something, or one of them."""
    return service.say(app, app.find(name), message, target_agent or "", app.person(), key)


@operation(councils, f"{COUNCIL}/{{verb}}", 200, COUNCIL)
def steer(
    app: Workspace, name: Name, verb: Name, *, now: bool = False, more: Line = "",
    reason: Line = "", approve: bool = False, why: Text = "", as_: Line = "",
) -> Any:  # fmt: skip
    """End the rounds (stop, `now`: at once), pause, resume, cancel; sign for who has to approve."""
    words = {"now": now, "more": more, "reason": reason, "approve": approve, "why": why}
    return service.steered(app, name, verb, app.person(as_), words)


@operation(others, "/rooms")
def new_room(
    app: Workspace, *, name: Word, mode: Literal["chat", "report", "work", "discussion"],
    participants: Words = NONE, guide: Text = "", callback: Line = "", as_: Line = "",
) -> Any:  # fmt: skip
    """Make a room; a discussion has a guide, and its initiator is `as`."""
    return rooms.create(app, mode, name, app.person(as_), participants, guide, callback)


@operation(others, f"{ROOM}/messages", 201, ROOM)
def post(app: Workspace, name: Name, *, text: SomeText, key: Line = "", as_: Line = "") -> Any:
    """Say something in a room, as a person or as the agent `as`."""
    return rooms.post(app, name, text, app.person(as_), key)


@operation(others, f"{ROOM}/mode", 200, ROOM)
def change(app: Workspace, name: Name, *, mode: Word) -> Any:
    """Change the mode of a room."""
    return rooms.change(app, rooms.named(app, name), app.person(), decisions.mode, mode)


@operation(others, "/identities", 200, "/dirigent")
def identify(app: Workspace, *, account: Word, agent: Line = "", name: Line = "") -> Any:
    """Note the account of an agent, or change it; without an agent it is removed."""
    identities.register(app, agent, account, name)
    return {"outcome": "changed"}


@operation(others, "/identities/scan", 200, "/dirigent")
def scan(app: Workspace) -> Any:
    """Take in the new accounts of padded-cell's file."""
    return {"outcome": "changed", "faults": identities.look(app)}


@operation(others, "/agents/tell", 200, "/agents")
def tell(
    app: Workspace, *, to: Word, message: SomeText, how: Literal["message", "call"] = "message"
) -> Any:
    """Leave an agent a message, or call it and wait for its answer."""
    send: Callable[..., Any] = delegation.call if how == "call" else delegation.message
    return send(app, message, app.person(), to)


@others.post("/relay/{rule}")
def relay(
    app: Workspace,
    rule: Literal["check-turn", "turn-complete", "get-identity", "get-channel-state"],
    body: Annotated[dict[str, Any], Body()],
) -> Any:
    """Answer a slave about the rooms of this workspace (document 001, section 8)."""
    return rooms.answer(app, rule, body)


@operation(others, "/messages")
def message(
    app: Workspace, *, line: Text = "", user: Text = "", as_: Line = "", ctx: Line = "",
    caps: Words = NONE, priority: Literal["", "P0", "P1", "P2"] = "", complexity: Line = "",
    set: dict[Word, Line] = NO_PAIRS,
) -> Any:  # fmt: skip
    """Send one line of document 002, or ask the orchestrator for what a `user` wants."""
    if bool(line.strip()) is bool(user.strip()):
        raise Invalid("no-text", "give either line or user", "line: a message; user: a request")
    if line:
        return tasks.send(app, line, as_, ctx)
    return tasks.request(app, user, caps, priority, complexity, ctx, {**set})


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


@operation(debates, "", **returns("DebateSession", 201))
def start(
    app: Workspace, *, topic: Topic, context: Text | None = None, config: Config | None = None,
    key: Line = "",
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
    else:
        stated = {name: one for name, one in asked.config.items() if one}
        known = {name: getattr(state.config, name) for name in stated}
        is_same = known == stated and asked.agents in ([], [*state.participants])
        if not is_same or (state.topic, state.brief.strip()) != (asked.topic, asked.brief):
            raise Invalid("key", "this Idempotency-Key belongs to another debate", "use another")
    session = views.debate_session(state)
    return JSONResponse(session, 201, {"Location": f"{PREFIX}/debates/{session['id']}"})


@debates.get("", **returns("DebateSession", many=True))
def listed(app: Workspace, last: Annotated[int, Query(ge=1, le=1000)] = 20) -> Any:
    """List debates with all that was said: open ones first, then the newest."""
    return [views.debate_session(one) for one in islice(_debates(app), last)]


@debates.get("/{id}", **returns("DebateSession"))
def show(app: Workspace, id: Name) -> Any:
    """Return the status of a debate and all that was said; `id` may also be its name."""
    return views.debate_session(debate(app, id))


@operation(debates, "/{id}/inject", name="inject", **returns("HumanInjection", 202))
def inject_debate(
    app: Workspace, id: Name, *, message: SomeText, target_agent: Word | None = None,
    key: Line = "",
) -> Any:  # fmt: skip
    """Say something that agents read in their next prompt, and have to acknowledge."""
    state, to = debate(app, id, is_open=True), target_agent or ""
    service.say(app, state.name, message, to, app.person(), key)
    now = service.find(app, state.conversation_id)
    ours = [e for e in now.entries if (e.kind, e.target) == ("guidance", to)]
    return views.injection(now, [e for e in ours if plain(e.text) == plain(message)][-1])


@debates.delete("/{id}", **returns("DebateSession"))
def cancel(app: Workspace, id: Name) -> Any:
    """Cancel a debate; its minutes keep what was said."""
    state = debate(app, id, is_open=True)
    service.steer(app, state.name, "cancel", by=app.person())
    return views.debate_session(service.find(app, state.conversation_id))


def debate(app: App, ident: str, is_open: bool = False) -> State:
    """Return the debate with an id, a conversation's id or a name."""
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
