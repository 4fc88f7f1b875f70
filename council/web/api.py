"""The interface for programs, and what forms do: each calls a service and returns its JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from council.councils import opening, service, views
from council.delegation import service as delegation
from council.kernel import times
from council.kernel.errors import Invalid, NotFound
from council.kernel.ids import slug
from council.observe import status as look
from council.rooms import decisions
from council.rooms import service as rooms
from council.rooms.row import ROOMS
from council.setup import identities
from council.tasks import service as tasks
from council.web.operations import (
    PREFIX,
    Asked,
    Count,
    Line,
    Name,
    SomeText,
    Text,
    Topic,
    Word,
    Words,
    Workspace,
    operation,
    tag_of,
    tags_in,
)

Kind = Literal["", "vote", "synthesis"]
Stances = Annotated[list[Line], Field(max_length=100)] | dict[str, Line]
Confidence = Annotated[int, Field(ge=1, le=5)] | None
COUNCIL, ROOM = "/councils/{name}", "/rooms/{name}"
NONE: list[str] = []
NO_PAIRS: dict[str, str] = {}
councils = APIRouter(prefix=PREFIX, tags=["councils"])
others = APIRouter(prefix=PREFIX, tags=["workspace"])


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
def council(
    app: Workspace,
    name: Name,
    last: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """Return a conversation, open or over, with its newest `last` contributions (0: all)."""
    state = service.find(app, name)
    tag = tag_of(state)
    headers = {"ETag": f'"{tag}"'}
    if tags_in(if_none_match) & {tag, "*"}:
        return Response(status_code=304, headers=headers)
    return JSONResponse(views.shown(state, last), headers=headers)


@operation(councils, "/councils", 201, "/new", COUNCIL)
def convene(
    app: Asked, *, topic: Topic, brief: Text = "", name: Line = "", agents: Words = NONE,
    people: Words = NONE, procedure: Literal["council", "deliberation"] = "council",
    options: Words = NONE, timeout: Line = "", max_rounds: Count = None, sign_off: Line = "",
) -> Any:  # fmt: skip
    """Open a council; its first speakers are woken at once."""
    name = name or slug(topic, 40) * app.is_open(service.DEFAULT) or service.DEFAULT
    asked = {"topic": topic, "brief": brief, "name": name, "agents": agents, "people": people}
    asked |= {"procedure": procedure, "options": options, "timeout": timeout}
    return service.convene(
        app, opening.opening({**asked, "max_rounds": max_rounds, "sign_off": sign_off})
    )


@operation(councils, f"{COUNCIL}/answers", 201, COUNCIL)
def answer(
    app: Asked, name: str, *, as_: Word, text: Text = "", position: Text = "", new: Text = "",
    choice: Line = "", stances: Stances = NONE, kind: Kind = "", round: Line = "",
    confidence: Confidence = None, status: Line = "", task: Line = "", key: Line = "",
    amend: bool = False, check: bool = False,
) -> Any:  # fmt: skip
    """Give the answer of this round: `text`, or the other fields, or both.

    `new` is the position of the choice `new`.
    """
    if isinstance(stances, dict):
        stances = [f"{peer}={word}" for peer, word in stances.items()]
    stated = service.Stated(
        position=position or new * (choice in ("", "new")), choice=choice, stances=stances,
        confidence=confidence, status=status, only=kind, task=task, mark=round, key=key,
        amend=amend, check=check,
    )  # fmt: skip
    if not (text.strip() or stated.is_answer()):
        raise Invalid("no-text", "there is no text", "give text, or a position, choice or stances")
    agent = service.who(app, app.sender or as_)
    return service.respond(app, app.find(name), agent, text, stated)


@operation(councils, f"{COUNCIL}/inject", 202, COUNCIL)
def inject(
    app: Asked, name: str, key: str = "", *, message: SomeText, target_agent: Word | None = None
) -> Any:
    """Tell the participants something, or one of them."""
    return service.say(app, app.find(name), message, target_agent or "", app.person(), key)


@operation(councils, f"{COUNCIL}/{{verb}}", 200, COUNCIL)
def steer(
    app: Asked, name: str, verb: str, *, now: bool = False, more: Line = "", reason: Line = "",
    approve: bool = False, why: Text = "", as_: Line = "",
) -> Any:  # fmt: skip
    """End the rounds (stop, `now`: at once), pause, resume, cancel; sign for who has to approve."""
    words: dict[str, dict[str, Any]] = {
        "stop": {"now": now},
        "pause": {},
        "resume": {"more": times.duration(more)} if more else {},
        "cancel": {"reason": reason},
        "sign": {"approve": approve, "why": why},
    }
    if verb not in words:
        raise NotFound("not-found", f"no such verb: {verb[:40]!r}", f"use {', '.join(words)}")
    by = app.person(as_)
    return service.steer(app, app.find(name), verb, *[by] * (verb == "sign"), by=by, **words[verb])


@operation(others, "/rooms")
def new_room(
    app: Asked, *, name: Word, mode: Literal["chat", "report", "work", "discussion"],
    participants: Words = NONE, guide: Text = "", callback: Line = "", as_: Line = "",
) -> Any:  # fmt: skip
    """Make a room; a discussion has a guide, and its initiator is `as`."""
    if mode == "discussion" and not guide.strip():
        raise Invalid("no-guide", "a discussion needs a guide", "give its text as guide")
    return rooms.create(app, mode, name, app.person(as_), participants, guide, callback)


@operation(others, f"{ROOM}/messages", 201, ROOM)
def post(app: Asked, name: str, *, text: SomeText, key: Line = "", as_: Line = "") -> Any:
    """Say something in a room, as a person or as the agent `as`."""
    return rooms.post(app, name, text, app.person(as_), key)


@operation(others, f"{ROOM}/mode", 200, ROOM)
def change(app: Asked, name: str, *, mode: Word) -> Any:
    """Change the mode of a room."""
    name = rooms.named(app, name)
    return rooms.change(app, name, lambda state: decisions.mode(state, mode, app.now), app.person())


@operation(others, "/identities", 200, "/dirigent")
def identify(app: Asked, *, account: Word, agent: Line = "", name: Line = "") -> Any:
    """Note the account of an agent, or change it; without an agent it is removed."""
    identities.register(app, agent, account, name)
    return {"outcome": "changed"}


@operation(others, "/identities/scan", 200, "/dirigent")
def scan(app: Asked) -> Any:
    """Take in the new accounts of padded-cell's file."""
    return {"outcome": "changed", "faults": identities.look(app)}


@operation(others, "/agents/tell", 200, "/agents")
def tell(
    app: Asked, *, to: Word, message: SomeText, how: Literal["message", "call"] = "message"
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
    app: Asked, *, line: Text = "", user: Text = "", as_: Line = "", ctx: Line = "",
    caps: Words = NONE, priority: Literal["", "P0", "P1", "P2"] = "", complexity: Line = "",
    set: dict[Word, Line] = NO_PAIRS,
) -> Any:  # fmt: skip
    """Send one line of document 002, or ask the orchestrator for what a `user` wants."""
    if bool(line.strip()) is bool(user.strip()):
        raise Invalid("no-text", "give either line or user", "line: a message; user: a request")
    if line:
        return tasks.send(app, line, as_, ctx)
    return tasks.request(app, user, caps, priority, complexity, ctx, {**set})
