"""The pages: each shows what services return; each form calls one, and says what it refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from council.agents import programs, souls
from council.archive import minutes
from council.councils import service, sight, views
from council.councils.model import State
from council.kernel import times
from council.kernel.errors import NotFound, Refusal
from council.kernel.ids import slug
from council.observe import status
from council.rooms import decisions, rules
from council.rooms import service as rooms
from council.rooms.model import FREE
from council.rooms.row import ROOMS, member
from council.runs import starting
from council.setup import agents as setup
from council.setup import identities
from council.web import markdown, problems
from council.web.guard import FORM_TOKEN
from council.web.portrait import Faces, glance, portrait

if TYPE_CHECKING:
    from council.app import App

CARDS, ROWS, MESSAGES = 24, 100, 50  # most councils of the home page, minutes, messages of a room
EVENTS = "/api/council/events"
NOTICES = {
    "answer": "Your answer is recorded.", "say": "Said.", "pause": "Paused.", "resume": "Resumed.",
    "stop": "The rounds end.", "cancel": "Cancelled.", "sign": "Recorded.", "saved": "Saved.",
    "late": "Too late: kept, but not counted.", "asked": "One point is unclear: see below.",
}  # fmt: skip
Values = dict[str, Any]
Made = Callable[["Asked"], Values]
Act = Callable[["Asked"], str | None]
router = APIRouter(include_in_schema=False)
PAGES: dict[str, tuple[str, Made]] = {}  # template and data by path


class Asked:
    """What a browser asks for.

    Attributes:
        app: The workspace.
        at: The words of the address, such as `name`, and of its query.
        typed: The fields of a form; `agents` is a list. Empty where none was sent.
        by: Who asks, as services name people.
    """

    def __init__(self, request: Request, typed: Values | None = None) -> None:
        self.app: App = request.app.state.open()
        self.request, self.typed = request, typed or {}
        self.problem: Refusal | None = None
        self.at: Values = {"search": "", "as": "", "done": "", **request.query_params}
        self.at |= request.path_params
        self.by = service.person(self.app, request.state.person)

    def word(self, key: str) -> str:
        """Return a field of the form without blanks around it, "" where it was not filled in."""
        return str(self.typed.get(key, "")).strip()

    def words(self, key: str) -> list[str]:
        """Return what stands between the commas of a field."""
        return [one.strip() for one in self.word(key).split(",") if one.strip()]

    def page(self, path: str, code: int = 200) -> Response:
        """Return a page of `PAGES`."""
        (template, made), now = PAGES[path], self.app.now
        common = {
            "notice": NOTICES.get(self.at["done"], ""), "problem": self.problem,
            "typed": self.typed,
            "workspace": os.path.basename(self.app.root), "events": EVENTS,
            "known": Faces(souls.agents(self.app.root, self.app.settings)),
            "since": lambda at: _span(at, now, "since"),
            "until": lambda at: _span(at, now, "until"),
        }  # fmt: skip
        return _page(self.request, template, code, {**common, **made(self)})


async def _fields(request: Request) -> Values:
    sent = await request.form()
    made = {key: str(one).replace("\r\n", "\n") for key, one in sent.items() if key != FORM_TOKEN}
    return {**made, "agents": [str(one) for one in sent.getlist("agents")]}


def page(path: str, template: str) -> Callable[[Made], Made]:
    """Show at a path what the decorated function returns."""

    def add(made: Made) -> Made:
        def show(request: Request) -> Response:
            return Asked(request).page(path)

        PAGES[path] = template, made
        router.get(path)(show)
        return made

    return add


def form(path: str, back: str, then: str = "") -> Callable[[Act], Act]:
    """Carry out a form by the decorated function, which returns a key of `NOTICES`.

    Then the page `then` is shown, by default `back`; on that one it is said what was refused, with
    all that was typed.
    """

    def add(act: Act) -> Act:
        def send(request: Request, typed: Annotated[Values, Depends(_fields)]) -> Response:
            asked = Asked(request, typed)
            try:
                done = act(asked) or "saved"
            except Refusal as error:
                asked.problem = error
                return asked.page(back, problems.of(error).status)
            at = {key: quote(str(one)) for key, one in (asked.at | asked.typed).items()}
            return RedirectResponse(f"{(then or back).format_map(at)}?done={done}", 303)

        router.post(path)(send)
        return act

    return add


def pages(_: App) -> APIRouter:
    """Return the routes of all pages and forms."""
    return router


def refused(request: Request, problem: problems.Problem) -> Response:
    """Return the page of an error; without a session it is the one to sign in."""
    name = "signin.html" if problem.status == 401 else "error.html"
    return _page(request, name, problem.status, {"error": problem})


def _page(request: Request, template: str, code: int, values: Values) -> Response:
    state = request.state
    common = {"form_token": state.form_token, "signed_in": bool(state.form_token)}
    common["path"] = request.url.path
    text = _ENV.get_template(template).render({**common, **values})
    return HTMLResponse(text.encode("utf-8", "replace"), code)


def _when(at: str | None) -> Markup:
    text = times.instant(at).strftime("%-d %b, %H:%M UTC") if at else ""
    return Markup('<time datetime="{}" data-when>{}</time>').format(at, text) if at else Markup("")


def _span(at: str, now: Any, kind: str) -> Markup:
    """Return how long ago or ahead an instant is, in its one or two largest units."""
    length = (times.instant(at) - now) if kind == "until" else (now - times.instant(at))
    seconds = max(0, int(length.total_seconds()))
    seconds -= seconds % (1 if seconds < 60 else 60 if seconds < 86400 else 3600)
    words = times.spoken(timedelta(seconds=seconds))
    return Markup('<time datetime="{}" data-{}>{}</time>').format(at, kind, words)


def _timed(text: str) -> Markup:
    """Return a sentence in which instants can be read."""
    words = text.split(" ")
    return Markup(" ").join(_when(w) if w[10:11] == "T" and w[-1] == "Z" else w for w in words)


def _shown(value: Any) -> Any:
    return markdown.plain(value) if type(value) is str else "" if value is None else value


_ENV = Environment(
    loader=FileSystemLoader(f"{os.path.dirname(__file__)}/templates"), finalize=_shown,
    autoescape=True, trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
_ENV.globals.update(when=_when, timed=_timed, token_name=FORM_TOKEN)
_ENV.filters["md"] = markdown.html


# --- councils ---


@page("/", "home.html")
def home(asked: Asked) -> Values:
    """Show what needs a person, what is open and what was decided."""
    app, needs, cards = asked.app, list[Values](), list[Values]()
    made = status.status(app)
    for row in made["conversations"]:
        try:
            state = app.conversation(row["name"]).peek()
        except NotFound:
            continue  # it ended just now
        card, path = glance(app, state), f"/councils/{quote(row['name'])}"
        people = [one["id"] for one in card["people"] if one["person"] and one["does"] == "owes"]
        about = {"name": row["name"], "do": "Answer"}
        for one in people:
            link = f"{path}?as={quote(one)}#answer"
            needs.append({**about, "what": f"{one} is asked: {row['topic']}", "href": link})
        if one := sight.signing(state):
            words = {"what": f"{one} has to approve: {row['topic']}", "do": "Decide"}
            needs.append({**about, **words, "href": f"{path}#sign"})
        cards += [card] if len(cards) < CARDS else []
    for one in made["problems"]:
        link = f"/tasks/{quote(one['name'])}" if one["code"] == "asked" else ""
        needs.append({**one, "do": "Answer", "href": link})
    more = len(made["conversations"]) - len(cards)
    shown = {"needs": needs[:ROWS], "councils": cards, "more": more, "broken": made["errors"]}
    return {**shown, "rooms": made["channels"][:8], "minutes": _minutes(app)[:6]}


@page("/councils/{name}", "council.html")
def council(asked: Asked) -> Values:
    """Show a council: live while it runs, the decision first when it has ended."""
    state = service.find(asked.app, asked.at["name"])
    made = portrait(asked.app, state, asked.word("as") or asked.at["as"], "all" in asked.at)
    made["path"] = state.name if made["open"] else state.conversation_id
    events = f"/api/council/councils/{quote(state.name)}/events" * made["open"]
    return {"c": made, "events": events}


@form("/councils/{name}/answer", "/councils/{name}")
def answer(asked: Asked) -> str:
    """Answer as a participant."""
    word, said = asked.word, list[str]()
    for key in [key for key in asked.typed if key[:7] == "stance-" and word(key)]:
        why = word(f"comment-{key[7:]}")
        said.append(f"{key[7:]}={word(key)}{':' * bool(why)}{why}")
    stated = service.Stated(
        choice=word("choice"), stances=said, mark=word("mark"),
        position=word("position") if word("choice") in ("", "new") else "",
        confidence=int(word("confidence")) if word("confidence").isdecimal() else None,
        status="AGREED" if word("agreed") else "",
    )  # fmt: skip
    who, name = asked.request.state.person or word("as"), asked.app.find(asked.at["name"])
    made = service.respond(asked.app, name, who, asked.typed.get("text", ""), stated)
    return "asked" if made["askedAgain"] else "late" if made["outcome"] == "late" else "answer"


@form("/councils/{name}/{verb}", "/councils/{name}")
def steer(asked: Asked) -> str:
    """Say something to a council, or steer it."""
    app, word, verb = asked.app, asked.word, str(asked.at["verb"])
    name, length = app.find(asked.at["name"]), word("duration")
    more: Values = {
        "stop": {"now": bool(word("now"))},
        "resume": {"more": times.duration(length)} if length else {},
        "cancel": {"reason": word("reason")},
        "sign": {"approve": bool(word("approve")), "why": word("why")},
        "pause": {},
    }
    if verb == "say":
        service.say(app, name, asked.typed.get("message", ""), word("to"), asked.by)
    elif verb in more:
        signer = [asked.request.state.person or word("as")] * (verb == "sign")
        service.steer(app, name, verb, *signer, by=asked.by, **more[verb])
    else:
        raise NotFound("not-found", f"there is no form {verb[:40]!r}")
    return verb


@page("/new", "new.html")
def new(asked: Asked) -> Values:
    """Show the form for a new council."""
    rows = [setup.shown(one) for one in souls.agents(asked.app.root, asked.app.settings).values()]
    return {"agents": rows, "taken": asked.app.is_open(service.DEFAULT)}


@form("/new", "/new", "/councils/{name}")
def convene(asked: Asked) -> None:
    """Open a council."""
    app, word, topic = asked.app, asked.word, " ".join(asked.word("topic").split())
    taken, most, timeout = app.is_open(service.DEFAULT), word("maxRounds"), word("timeout")
    asked.typed["name"] = word("name") or (slug(topic, 40) if taken else "") or service.DEFAULT
    config: Values = {"options": asked.words("options"), "sign_off": word("signOff")}
    config["timeout"] = int(times.duration(timeout).total_seconds()) if timeout else None
    config["max_rounds"] = int(most) if most.isdecimal() else None
    asked_for = service.Opening(
        topic=topic, brief=word("brief"), name=word("name"),
        procedure=word("procedure") or "council", agents=asked.typed["agents"],
        people=asked.words("people"), config=config,
    )  # fmt: skip
    service.convene(app, asked_for)


# --- minutes ---


def _minutes(app: App, search: str = "") -> list[Values]:
    rows = minutes.rows(app.root, search)
    return [{**row, "file": os.path.basename(row["path"]).removesuffix(".md")} for row in rows]


@page("/minutes", "minutes.html")
def archive(asked: Asked) -> Values:
    """List minutes, or those that have some words."""
    rows, search = _minutes(asked.app, asked.at["search"]), asked.at["search"]
    return {"rows": rows[:ROWS], "more": max(0, len(rows) - ROWS), "search": search}


@page("/minutes/{file}", "minute.html")
def minute(asked: Asked) -> Values:
    """Show minutes."""
    row = minutes.find(asked.app.root, asked.at["file"])
    where = State(minutes=os.path.relpath(row["path"], asked.app.root))
    body = views.text(where, asked.app.root).replace("\n## ", "\n\0## ").split("\0")
    return {"row": row, "file": asked.at["file"], "body": body, "events": ""}


# --- rooms ---


@page("/dirigent", "dirigent.html")  # document 001's control page
@page("/rooms", "rooms.html")
@page("/tasks", "tasks.html")
def listed(asked: Asked) -> Values:
    """List rooms, identities and open requests to workers."""
    known = starting.registry_of(asked.app).identities
    return {**status.status(asked.app), "free": FREE, "identities": known}


@form("/rooms", "/rooms")
def room_new(asked: Asked) -> None:
    """Make a room."""
    people, word = asked.words("participants"), asked.word
    about = (word("guide"), word("callback"))
    rooms.create(asked.app, word("mode"), word("room"), asked.by, people, *about)


@page("/rooms/{name}", "room.html")
def room(asked: Asked) -> Values:
    """Show a room: who has the floor, what was said, who is in it."""
    app, name = asked.app, rooms.named(asked.app, asked.at["name"])
    state = ROOMS.document(app, name).read()
    made = {**ROOMS.status(app, name, state), "queue": state.queue, "notes": state.notes}
    made["messages"] = ROOMS.shown(app, name, state, MESSAGES)[0]["messages"]
    made |= {"older": state.count - len(made["messages"]), "deadline": rules.until(state)}
    agents = list(souls.agents(app.root, app.settings))
    events = f"/api/council/rooms/{quote(name)}/events"
    return {"room": made, "free": FREE, "agents": agents, "events": events}


@form("/rooms/{name}/{verb}", "/rooms/{name}")
def room_steer(asked: Asked) -> str | None:
    """Say something in a room, or change its mode or members."""
    app, verb = asked.app, asked.at["verb"]
    if verb == "messages":
        rooms.post(app, asked.at["name"], asked.typed.get("text", ""), asked.by)
        return "say"
    name, words = rooms.named(app, asked.at["name"]), list[Any]([asked.word("mode")])
    if verb in ("join", "leave"):
        ident, one = member(app, asked.word("who"))
        words = [ident, one if verb == "join" else None]
    decide: Any = {"mode": decisions.mode, "join": decisions.join, "leave": decisions.join}.get(
        verb
    )
    if not decide:
        raise NotFound("not-found", f"there is no form {verb[:40]!r}")
    rooms.change(app, name, lambda state: decide(state, *words, app.now), asked.by)
    return None


@form("/dirigent/identities", "/dirigent")
def identify(asked: Asked) -> None:
    """Add or change an identity; without an agent it is removed."""
    identities.register(asked.app, *map(asked.word, ("agent", "account", "name")))


# --- agents and tasks ---


@page("/agents", "agents.html")
def agents(asked: Asked) -> Values:
    """Show the agents, and what they asked of one another."""
    app, rows, said = asked.app, list[Values](), list[Any]()
    made, known = status.status(app), souls.agents(app.root, app.settings)
    for kind in [one for one in app.kinds if one.name == "call"]:
        calls = kind.document(app, kind.names(app)[0]).peek()
        said = sorted([*calls.messages, *calls.calls], key=lambda one: one.at)[::-1]
    for ident, one in known.items():
        mine = [row["name"] for row in made["conversations"] if ident in row["participants"]]
        code, words = programs.fault(one, app.world, app.root)
        faults = [*one.faults, *[words] * bool(code)]
        more = {"councils": mine, "rests": made["resting"].get(ident), "faults": faults}
        rows.append({**setup.shown(one), **more})
    return {"agents": rows, "presets": [*programs.presets()], "said": said[:ROWS]}


@form("/agents/tell", "/agents")
def agent_tell(asked: Asked) -> str:
    """Leave an agent a message, or call it and wait for its answer."""
    from council.delegation import service as delegation  # late: few workspaces use it

    sent = delegation.call if asked.word("how") == "call" else delegation.message
    sent(asked.app, asked.word("message"), asked.by, asked.word("to"))
    return "say"


@page("/tasks/{name}", "task.html")
def task(asked: Asked) -> Values:
    """Show a context: its tasks, what it asks a person, and its messages."""
    app, name = asked.app, asked.at["name"]
    kind = app.other(name)
    if not kind or kind.name != "context":
        raise NotFound("not-found", f"there is no context {name[:40]!r}", "see /tasks")
    state = kind.document(app, name).read()
    questions = {one: state.tasks[one].question for one in state.pending()}
    shown = {"row": kind.status(app, name, state), "questions": questions, "answer": state.answer}
    return {**shown, "name": name, "lines": [*state.lines.values()][-ROWS:]}


@form("/tasks/{name}/{ident}", "/tasks/{name}")
def reply(asked: Asked) -> str:
    """Answer what a task asks a person."""
    from council.tasks import service as work  # late: few workspaces use it

    work.say(asked.app, f"{asked.at['name']}/{asked.at['ident']}", asked.word("text"), asked.by)
    return "answer"
