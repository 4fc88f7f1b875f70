"""The interface for programs: each route calls one service and returns its JSON (`json.md`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from council.app import App
from council.councils import service, views
from council.kernel.document import Change, Document
from council.kernel.errors import Invalid
from council.observe import status as look
from council.rooms import service as rooms
from council.rooms.row import ROOMS
from council.tasks import service as tasks
from council.web.problems import Problem

PREFIX = "/api/council"
# A text may have lines; a word is on one line. Neither has characters that terminals obey.
_TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
_WORD, _SOME_WORD = r"^[^\x00-\x1f\x7f]*$", r"^[^\x00-\x1f\x7f]+$"
Text = Annotated[str, Field(pattern=_TEXT)]
SomeText = Annotated[str, Field(min_length=1, pattern=_TEXT)]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=_SOME_WORD)]
Words = Annotated[list[Word], Field(max_length=100)]
Line = Annotated[str, Field(max_length=1000, pattern=_WORD)]
Name = Annotated[str, Path(max_length=200, pattern=_SOME_WORD)]
Key = Annotated[
    Annotated[str, Field(max_length=200, pattern=r"^[\x21-\x7e]*$")],
    Header(alias="Idempotency-Key", description="A request repeated with its key counts once."),
]
router = APIRouter(prefix=PREFIX)


class Shape(BaseModel):
    """A body: its keys in camelCase, `as` for `as_`, and no others."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=lambda name: to_camel(name.rstrip("_"))
    )


class Answer(Shape):
    """An answer of an agent or a person; without `text` the other fields are the answer."""

    as_: Word
    text: Text = ""
    position: Text = ""
    choice: Line = ""
    confidence: Annotated[int, Field(ge=1, le=5)] | None = None
    stances: Annotated[list[Line], Field(max_length=100)] | dict[str, Line] = []
    status: Line = ""
    kind: Literal["", "vote", "synthesis"] = ""
    task: Line = ""
    round: Line = ""
    key: Line = ""
    amend: bool = False
    check: bool = False


class Injection(Shape):
    """What a person says to a conversation, or to one of its participants."""

    message: SomeText
    target_agent: Word | None = None


class Stop(Shape):
    """With `now` the minutes are written at once."""

    now: bool = False


class NewRoom(Shape):
    """A room; a discussion has a guide, and its initiator is `as`."""

    name: Word
    mode: Literal["chat", "report", "work", "discussion"]
    participants: Words = []
    guide: Text = ""
    callback: Line = ""
    as_: Line = ""


class Post(Shape):
    """A message for a room, from a person or from the agent `as`."""

    text: SomeText
    key: Line = ""
    as_: Line = ""


class Message(Shape):
    """A line of document 002, or what a `user` asks the orchestrator for."""

    line: Text = ""
    user: Text = ""
    as_: Line = ""
    ctx: Line = ""
    caps: Words = []
    priority: Literal["", "P0", "P1", "P2"] = ""
    complexity: Line = ""
    set: dict[Word, Line] = {}


class Asked(App):
    """The workspace for one request.

    Attributes:
        expected: The revisions that the next change of a conversation may follow, none for any.
    """

    expected: frozenset[str] = frozenset()

    def conversation(self, name: str) -> Document[Any]:
        """Return an open conversation."""
        found = super().conversation(name)
        change = found.change

        def changed(decide: Any, **how: Any) -> Change:
            made = change(lambda state: decide(self._fitting(state)), **{"via": "http", **how})
            self.expected = frozenset()
            return made

        found.change = changed  # type: ignore[method-assign]
        return found

    def _fitting(self, state: Any) -> Any:
        if self.expected and not self.expected & {str(state.rev), "*"}:
            hint = "read it again, then repeat the request with the new ETag"
            what = f"{state.name} is at revision {state.rev}"
            raise Problem(412, "other-revision", what, hint, rev=state.rev)
        return state


def opened(request: Request) -> Asked:
    """Return the workspace for a request, with the revisions of its If-Match.

    A proxy that compresses makes an ETag weak or adds `-gzip` to it; the revision is the same.
    """
    app: Asked = request.app.state.open()
    tags = filter(None, map(str.strip, request.headers.get("if-match", "").split(",")))
    app.expected = frozenset(one.removeprefix("W/").strip('"').partition("-")[0] for one in tags)
    return app


def person(request: Request, name: str = "") -> str:
    """Return who asks: `name`, else the one that a proxy passes on, else the login name."""
    return service.person(opened(request), name or request.state.person)


def checked(app: App, text: str) -> str:
    """Return a text; too long ones are Invalid."""
    if len(text.encode("utf-8", "replace")) > app.settings.max_text_bytes:
        most = app.settings.max_text_bytes
        raise Invalid("too-long", f"the text is longer than {most} bytes", "shorten it")
    return text


@router.get("/status", tags=["workspace"])
def status(request: Request) -> Any:
    """Return what is open, who owes an answer and what failed."""
    return look.status(opened(request))


@router.get("/councils", tags=["councils"])
def councils(request: Request) -> Any:
    """List open conversations."""
    return look.status(opened(request))["conversations"]


@router.get("/councils/{name}", tags=["councils"])
def council(
    request: Request, name: Name, last: Annotated[int, Query(ge=0, le=1_000_000)] = 0
) -> Response:
    """Return a conversation, open or over, with its newest `last` contributions (0: all)."""
    state = service.find(opened(request), name)
    return JSONResponse(views.shown(state, last), headers={"ETag": f'"{state.rev}"'})


@router.post("/councils/{name}/answers", status_code=201, tags=["councils"])
def answer(request: Request, name: Name, body: Answer, key: Key = "") -> Any:
    """Give the answer of this round."""
    app, stances = opened(request), body.stances
    if isinstance(stances, dict):
        stances = [f"{peer}={word}" for peer, word in stances.items()]
    stated = service.Stated(
        position=checked(app, body.position), choice=body.choice, confidence=body.confidence,
        stances=stances, status=body.status, only=body.kind, task=body.task,
        mark=body.round, key=body.key or key, amend=body.amend, check=body.check,
    )  # fmt: skip
    if not (body.text.strip() or stated.is_answer()):
        raise Invalid("no-text", "there is no text", "give text, or a position, choice or stances")
    agent = service.who(app, body.as_)
    return service.respond(app, app.find(name), agent, checked(app, body.text), stated)


@router.post("/councils/{name}/inject", status_code=202, tags=["councils"])
def inject(request: Request, name: Name, body: Injection, key: Key = "") -> Any:
    """Tell the participants something, or one of them."""
    app, to = opened(request), body.target_agent or ""
    return service.say(app, app.find(name), checked(app, body.message), to, person(request), key)


@router.post("/councils/{name}/stop", tags=["councils"])
def stop(request: Request, name: Name, body: Stop | None = None) -> Any:
    """End the rounds: the vote or the synthesis comes next, or the minutes."""
    app, now = opened(request), bool(body and body.now)
    return service.steer(app, app.find(name), "stop", by=person(request), now=now)


@router.get("/rooms", tags=["rooms"])
def all_rooms(request: Request) -> Any:
    """List rooms."""
    return look.status(opened(request))[ROOMS.place_in_report]


@router.post("/rooms", status_code=201, tags=["rooms"])
def new_room(request: Request, body: NewRoom) -> Any:
    """Make a room."""
    app, by = opened(request), person(request, body.as_)
    if body.mode == "discussion" and not body.guide.strip():
        raise Invalid("no-guide", "a discussion needs a guide", "give its text as guide")
    guide = checked(app, body.guide)
    return rooms.create(app, body.mode, body.name, by, body.participants, guide, body.callback)


@router.post("/rooms/{name}/messages", status_code=201, tags=["rooms"])
def post(request: Request, name: Name, body: Post, key: Key = "") -> Any:
    """Say something in a room."""
    app, by = opened(request), person(request, body.as_)
    return rooms.post(app, name, checked(app, body.text), by, body.key or key)


@router.post("/relay/{rule}", tags=["relay"])
def relay(
    request: Request,
    rule: Literal["check-turn", "turn-complete", "get-identity", "get-channel-state"],
    body: Annotated[dict[str, Any], Body()],
) -> Any:
    """Answer a slave about the rooms of this workspace (document 001, section 8)."""
    return rooms.answer(opened(request), rule, body)


@router.post("/messages", status_code=201, tags=["messages"])
def message(request: Request, body: Message) -> Any:
    """Ask the orchestrator for something, or send one line of document 002."""
    app = opened(request)
    if bool(body.line.strip()) is bool(body.user.strip()):
        raise Invalid("no-text", "give either line or user", "line: a message; user: a request")
    if body.line:
        return tasks.send(app, checked(app, body.line), body.as_, body.ctx)
    words = (body.priority, body.complexity, body.ctx, dict(body.set))
    return tasks.request(app, checked(app, body.user), body.caps, *words)
