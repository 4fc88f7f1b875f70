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


class Said(Shape):
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


def person(request: Request, given: str = "") -> str:
    """Return who asks: the name given, the one that a proxy passes on, else the login name."""
    return service.person(opened(request), given or request.state.person)


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
def answer(request: Request, name: Name, given: Answer, key: Key = "") -> Any:
    """Give the answer of this round."""
    app, stances = opened(request), given.stances
    if isinstance(stances, dict):
        stances = [f"{peer}={word}" for peer, word in stances.items()]
    stated = service.Stated(
        position=checked(app, given.position), choice=given.choice, confidence=given.confidence,
        stances=stances, status=given.status, only=given.kind, task=given.task,
        mark=given.round, key=given.key or key, amend=given.amend, check=given.check,
    )  # fmt: skip
    if not (given.text.strip() or stated.is_answer()):
        raise Invalid("no-text", "there is no text", "give text, or a position, choice or stances")
    agent = service.who(app, given.as_)
    return service.respond(app, app.find(name), agent, checked(app, given.text), stated)


@router.post("/councils/{name}/inject", status_code=202, tags=["councils"])
def inject(request: Request, name: Name, given: Injection, key: Key = "") -> Any:
    """Tell the participants something, or one of them."""
    app, to = opened(request), given.target_agent or ""
    return service.say(app, app.find(name), checked(app, given.message), to, person(request), key)


@router.post("/councils/{name}/stop", tags=["councils"])
def stop(request: Request, name: Name, given: Stop | None = None) -> Any:
    """End the rounds: the vote or the synthesis comes next, or the minutes."""
    app, now = opened(request), bool(given and given.now)
    return service.steer(app, app.find(name), "stop", by=person(request), now=now)


@router.get("/rooms", tags=["rooms"])
def all_rooms(request: Request) -> Any:
    """List rooms."""
    return look.status(opened(request))[ROOMS.place_in_report]


@router.post("/rooms", status_code=201, tags=["rooms"])
def new_room(request: Request, given: NewRoom) -> Any:
    """Make a room."""
    app, by = opened(request), person(request, given.as_)
    if given.mode == "discussion" and not given.guide.strip():
        raise Invalid("no-guide", "a discussion needs a guide", "give its text as guide")
    guide = checked(app, given.guide)
    return rooms.create(app, given.mode, given.name, by, given.participants, guide, given.callback)


@router.post("/rooms/{name}/messages", status_code=201, tags=["rooms"])
def post(request: Request, name: Name, given: Said, key: Key = "") -> Any:
    """Say something in a room."""
    app, by = opened(request), person(request, given.as_)
    return rooms.post(app, name, checked(app, given.text), by, given.key or key)


@router.post("/relay/{rule}", tags=["relay"])
def relay(
    request: Request,
    rule: Literal["check-turn", "turn-complete", "get-identity", "get-channel-state"],
    given: Annotated[dict[str, Any], Body()],
) -> Any:
    """Answer a slave about the rooms of this workspace (document 001, section 8)."""
    return rooms.answer(opened(request), rule, given)


@router.post("/messages", status_code=201, tags=["messages"])
def message(request: Request, given: Message) -> Any:
    """Ask the orchestrator for something, or send one line of document 002."""
    app = opened(request)
    if bool(given.line.strip()) is bool(given.user.strip()):
        raise Invalid("no-text", "give either line or user", "line: a message; user: a request")
    if given.line:
        return tasks.send(app, checked(app, given.line), given.as_, given.ctx)
    words = (given.priority, given.complexity, given.ctx, dict(given.set))
    return tasks.request(app, checked(app, given.user), given.caps, *words)
