"""The pages: each shows what a service returns; each form calls one, and says what it refused."""

from __future__ import annotations

import os
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from council.agents import programs, souls
from council.app import App
from council.archive import artifacts, minutes
from council.councils import service, sight
from council.kernel import times
from council.kernel.errors import NotFound, Refusal
from council.kernel.ids import slug
from council.observe import status as look
from council.rooms import decisions, rules
from council.rooms import service as rooms
from council.rooms.model import FREE
from council.rooms.row import ROOMS, member
from council.runs import starting
from council.setup import agents as setup
from council.setup import identities
from council.web import markdown, problems
from council.web.guard import FORM_TOKEN
from council.web.portrait import face, glance, portrait
from council.web.problems import Problem

CARDS, ROWS, MESSAGES = 24, 100, 50  # most of open councils, of minutes, of messages on a page
NOTICES = {
    "answer": "Your answer is recorded.", "say": "Said.", "stop": "The rounds end.",
    "archive": "The minutes are written.", "pause": "Paused.", "resume": "Resumed.",
    "extend": "The deadline is later now.", "cancel": "Cancelled.", "approve": "Approved.",
    "reject": "Rejected.", "rate": "Thank you for the rating.", "saved": "Saved.",
    "asked": "One point is unclear: see the question below.", "late": "Too late: it is kept, but not counted.",
}  # fmt: skip
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_ENV = Environment(
    loader=FileSystemLoader(f"{os.path.dirname(__file__)}/templates"), autoescape=True,
    trim_blocks=True, lstrip_blocks=True,
    finalize=lambda value: markdown.plain(value) if type(value) is str else "" if value is None else value,
)  # fmt: skip


def pages(_: App) -> APIRouter:
    """Return the routes of all pages and forms."""
    return router


def refused(request: Request, problem: Problem) -> Response:
    """Return the page of an error; without a session it is the one to sign in."""
    name = "signin.html" if problem.status == 401 else "error.html"
    values = {"status": problem.status, "title": problem.detail, "hint": problem.hint}
    return _page(request, name, problem.status, **values)


# --- making a page ---


def _when(at: str | None) -> Markup:
    if not at:
        return Markup("")
    text = times.instant(at).strftime("%-d %b, %H:%M UTC")
    return Markup('<time datetime="{}" data-when>{}</time>').format(at, text)


def _span(at: str | None, now: Any, sign: int) -> Markup:
    if not at:
        return Markup("")
    length = (times.instant(at) - now) * sign
    seconds = max(0, int(length.total_seconds()))
    keep = (
        seconds
        if seconds < 60
        else seconds // 60 * 60
        if seconds < 86400
        else seconds // 3600 * 3600
    )
    kind = "until" if sign > 0 else "since"
    words = times.spoken(length - length + type(length)(seconds=keep))
    return Markup('<time datetime="{}" data-{}>{}</time>').format(at, Markup(kind), words)


def _timed(text: str) -> Markup:
    """Return a sentence with the instants in it made readable."""
    words = [
        _when(w) if len(w) == 20 and w[10] == "T" and w[-1] == "Z" else w for w in text.split()
    ]
    return Markup(" ").join(words)


def _amount(number: int) -> str:
    return (
        f"{number / 1e6:.1f}M"
        if number >= 1e6
        else f"{number / 1e3:.1f}k"
        if number >= 1e3
        else str(number)
    )


def _page(request: Request, name: str, code: int = 200, **values: Any) -> HTMLResponse:
    """Return a page made from a template, with what every page needs."""
    state, path = request.state, request.url.path
    opened = (
        request.app.state.open() if hasattr(request, "app") and "app" in request.scope else None
    )
    now = opened.now if opened else times.datetime.now(times.UTC)

    def current(place: str) -> Markup:
        here = path == place or (place != "/" and path.startswith(place))
        return Markup(' aria-current="page"' if here else "")

    common = {
        "form_token": state.form_token, "token_name": FORM_TOKEN, "signed_in": state.signed_in,
        "notice": NOTICES.get(request.query_params.get("done", ""), ""), "typed": {}, "current": current,
        "workspace": os.path.basename(opened.root) if opened else "council", "face": face,
        "since": lambda at: _span(at, now, -1), "until": lambda at: _span(at, now, 1),
        "when": _when, "timed": _timed, "amount": _amount,
    }  # fmt: skip
    return HTMLResponse(_ENV.get_template(name).render({**common, **values}), code)


_ENV.filters.update(md=markdown.html, face_in=lambda ident, who: who.get(ident) or face(ident))


def _app(request: Request) -> App:
    app: App = request.app.state.open()
    return app


async def _fields(request: Request) -> dict[str, Any]:
    """Return the fields of a form; `agents` is a list, line ends are those of the web no more."""
    form = await request.form()
    made: dict[str, Any] = {key: str(value).replace("\r\n", "\n") for key, value in form.items()}
    made.pop(FORM_TOKEN, None)
    return made | {"agents": [str(one) for one in form.getlist("agents")]}


Opened = Annotated[App, Depends(_app)]
Fields = Annotated[dict[str, Any], Depends(_fields)]


def _many(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _by(request: Request, app: App) -> str:
    return service.person(app, request.state.person)


def _sent(request: Request, typed: dict[str, Any], do: Any, page: Any, then: str) -> Response:
    """Carry out a form: go to `then`, or show the page again with what was typed and refused."""
    try:
        done = do() or "saved"
    except Refusal as error:
        shown: Response = page(problem=error, typed=typed)
        shown.status_code = problems.of(error).status
        return shown
    path, _, anchor = then.partition("#")
    return RedirectResponse(f"{path}?done={done}{'#' * bool(anchor)}{anchor}", 303)


def _known(app: App, members: Any = None) -> Any:
    """Return what gives the face of anybody, by id."""
    agents = souls.agents(app.root, app.settings)
    places = {ident: at for at, ident in enumerate(agents)}
    people = members or {}
    return lambda one: face(one, agents.get(one) or people.get(one), places.get(one, -1))


# --- councils ---


@router.get("/")
def home(request: Request, app: Opened) -> Response:
    """Show what needs a person, what is open and what was decided."""
    made, needs, cards = look.status(app), list[dict[str, Any]](), list[Any]()
    for row in made["conversations"]:
        state = app.conversation(row["name"]).peek()
        card = glance(app, state)
        asked = [one["id"] for one in card["people"] if one["person"] and one["does"] == "owes"]
        path = f"/councils/{quote(row['name'])}"
        needs += [{"what": f"{one} is asked: {row['topic']}", "do": "Answer",
                   "href": f"{path}?as={quote(one)}#answer"} for one in asked]  # fmt: skip
        if one := sight.signing(state):
            what = f"{one} has to approve: {row['topic']}"
            needs.append({"what": what, "do": "Decide", "href": f"{path}#sign"})
        if len(cards) < CARDS:
            cards.append(card)
    for one in made["problems"]:
        link = (
            {"do": "Answer", "href": f"/tasks/{quote(one['name'])}"}
            if one["code"] == "asked"
            else {}
        )
        needs.append({**one, **link})
    return _page(
        request, "home.html", needs=needs[:ROWS], halted=made["halted"], councils=cards,
        more=len(made["conversations"]) - len(cards), broken=made["errors"],
        rooms=made["channels"][:8], minutes=_minutes(app)[:6], events="/api/council/events",
    )  # fmt: skip


@router.get("/councils/{name}")
def council(
    request: Request, app: Opened, name: str, problem: Any = None, typed: Any = None
) -> Response:
    """Show a council: live while it runs, the decision first when it has ended."""
    state = service.find(app, name)
    made = portrait(app, state, (typed or {}).get("as") or request.query_params.get("as", ""))
    made["path"] = state.name if made["open"] else state.conversation_id
    events = f"/api/council/councils/{quote(state.name)}/events" if made["open"] else ""
    return _page(request, "council.html", c=made, events=events, problem=problem, typed=typed or {})


def _answer(app: App, name: str, who: str, typed: dict[str, Any]) -> str:
    stances = [
        f"{key[7:]}={word}" + (f":{why}" if (why := typed.get(f"comment-{key[7:]}", "").strip()) else "")
        for key, word in typed.items() if key[:7] == "stance-" and word
    ]  # fmt: skip
    sure, text = typed.get("confidence", ""), typed.get("text", "")
    position, choice = typed.get("position", "").strip(), typed.get("choice", "")
    stated = service.Stated(
        choice=choice, position=position if choice in ("", "new") else "", stances=stances,
        confidence=int(sure) if sure.isdecimal() else None, mark=typed.get("mark", ""),
        status="AGREED" if typed.get("agreed") else "",
    )  # fmt: skip
    made = service.respond(app, name, who, text, stated)
    return "asked" if made["askedAgain"] else "late" if made["outcome"] == "late" else "answer"


@router.post("/councils/{name}/{verb}")
def steer(request: Request, app: Opened, name: str, verb: str, typed: Fields) -> Response:
    """Answer in a council, or steer it."""
    by, word = _by(request, app), typed.get
    why = {
        "approve": {"approve": True, "why": ""},
        "reject": {"approve": False, "why": word("why", "")},
    }
    steps: dict[str, tuple[str, dict[str, Any]]] = {
        "stop": ("stop", {"now": False}), "archive": ("stop", {"now": True}), "pause": ("pause", {}),
        "resume": ("resume", {}), "cancel": ("cancel", {"reason": word("reason", "")}),
        **{one: ("sign", more) for one, more in why.items()},
    }  # fmt: skip

    def do() -> str:
        found = app.find(name)
        if verb == "answer":
            return _answer(app, found, request.state.person or word("as", ""), typed)
        if verb == "say":
            service.say(app, found, word("message", ""), word("to", ""), by)
        elif verb == "extend":
            service.steer(app, found, "resume", by=by, more=times.duration(word("duration", "")))
        elif verb in steps:
            step, more = steps[verb]
            signer = [request.state.person or word("as", "") or by] * (step == "sign")
            service.steer(app, found, step, *signer, by=by, **more)
        else:
            raise NotFound("not-found", f"no such verb: {verb[:40]}")
        return verb

    return _sent(
        request,
        typed,
        do,
        lambda **more: council(request, app, name, **more),
        f"/councils/{quote(name)}",
    )


@router.get("/new")
def new(request: Request, app: Opened, problem: Any = None, typed: Any = None) -> Response:
    """Show the form for a new council."""
    known = souls.agents(app.root, app.settings)
    agents = [{**setup.shown(one), "face": one} for one in known.values()]
    taken = app.is_open(service.DEFAULT)
    return _page(
        request, "new.html", agents=agents, taken=taken, problem=problem, typed=typed or {}
    )


@router.post("/new")
def convene(request: Request, app: Opened, typed: Fields) -> Response:
    """Open a council."""
    topic, name = " ".join(typed.get("topic", "").split()), typed.get("name", "").strip()
    if not name and app.is_open(service.DEFAULT):
        name = slug(topic, 40) or "question"
    timeout, most = typed.get("timeout", "").strip(), typed.get("maxRounds", "")

    def do() -> str:
        config: dict[str, Any] = {
            "timeout": int(times.duration(timeout).total_seconds()) if timeout else None,
            "max_rounds": int(most) if most.isdecimal() else None,
            "options": _many(typed.get("options", "")), "sign_off": typed.get("signOff", "").strip(),
        }  # fmt: skip
        people = _many(typed.get("people", ""))
        service.convene(app, service.Opening(
            topic=topic, brief=typed.get("brief", "").strip(), name=name, people=people,
            procedure=typed.get("procedure", "council"), agents=typed["agents"], config=config,
        ))  # fmt: skip
        return "saved"

    then = f"/councils/{quote(name or service.DEFAULT)}"
    return _sent(request, typed, do, lambda **more: new(request, app, **more), then)


# --- minutes ---


def _minutes(app: App, search: str = "") -> list[dict[str, Any]]:
    rows = minutes.rows(app.root, search)
    return [{**row, "file": os.path.basename(row["path"]).removesuffix(".md")} for row in rows]


@router.get("/minutes")
def archive(request: Request, app: Opened, search: str = "") -> Response:
    """List minutes."""
    rows = _minutes(app, search)
    more = len(rows) - ROWS if len(rows) > ROWS else 0
    return _page(
        request,
        "minutes.html",
        rows=rows[:ROWS],
        more=more,
        search=search,
        events="/api/council/events",
    )


@router.get("/minutes/{file}")
def minute(
    request: Request, app: Opened, file: str, problem: Any = None, typed: Any = None
) -> Response:
    """Show minutes."""
    row = minutes.find(app.root, file)
    text = (artifacts.read(row["path"]) or b"").decode("utf-8", "replace")
    text = text.partition("\n---\n")[2] if text[:4] == "---\n" else text
    blocks = text.partition("<!--council-state")[0].split("\n\n")
    body = "\n\n".join(one for one in blocks if one.strip()[:12] != "<!--council:")
    return _page(
        request, "minute.html", row=row, file=file, body=body, problem=problem, typed=typed
    )


@router.post("/minutes/{file}/rate")
def rate(request: Request, app: Opened, file: str, typed: Fields) -> Response:
    """Rate minutes."""

    def do() -> str:
        stars = typed.get("stars", "")
        path = minutes.find(app.root, file)["path"]
        minutes.rate(path, int(stars) if stars.isdecimal() else 0, _by(request, app))
        return "rate"

    return _sent(
        request,
        typed,
        do,
        lambda **more: minute(request, app, file, **more),
        f"/minutes/{quote(file)}",
    )


# --- rooms ---


@router.get("/rooms")
def room_list(request: Request, app: Opened, problem: Any = None, typed: Any = None) -> Response:
    """List rooms."""
    found = look.status(app)["channels"]
    values = {"rooms": found, "known": _known(app), "problem": problem, "typed": typed or {}}
    return _page(request, "rooms.html", **values, events="/api/council/events")


@router.post("/rooms")
def room_new(request: Request, app: Opened, typed: Fields) -> Response:
    """Make a room."""

    def do() -> None:
        people, by = _many(typed.get("participants", "")), _by(request, app)
        guide, back = typed.get("guide", ""), typed.get("callback", "")
        rooms.create(app, typed.get("mode", ""), typed.get("room", ""), by, people, guide, back)

    return _sent(request, typed, do, lambda **more: room_list(request, app, **more), "/rooms")


@router.get("/rooms/{name}")
def room(
    request: Request, app: Opened, name: str, problem: Any = None, typed: Any = None
) -> Response:
    """Show a room: who has the floor, what was said, who is in it."""
    state = ROOMS.document(app, rooms.named(app, name)).read()
    row = ROOMS.status(app, state.name, state)
    made = {**row, "messages": ROOMS.shown(app, state.name, state, MESSAGES)[0]["messages"]}
    made |= {
        "older": state.count - len(made["messages"]),
        "queue": state.queue,
        "notes": state.notes,
    }
    made["deadline"] = rules.until(state)
    return _page(
        request, "room.html", room=made, known=_known(app, state.members), free=FREE,
        problems=row["problems"], agents=list(souls.agents(app.root, app.settings)), problem=problem,
        typed=typed or {}, events=f"/api/council/rooms/{quote(state.name)}/events",
    )  # fmt: skip


@router.post("/rooms/{name}/{verb}")
def room_steer(request: Request, app: Opened, name: str, verb: str, typed: Fields) -> Response:
    """Say something in a room, or change its mode or members."""
    by, word = _by(request, app), typed.get

    def do() -> str:
        if verb == "messages":
            rooms.post(app, name, word("text", ""), by)
            return "say"
        found, words = rooms.named(app, name), [word("mode", "")]
        if verb in ("join", "leave"):
            ident, one = member(app, word("who", ""))
            words = [ident, one if verb == "join" else None]
        decide = {"mode": decisions.mode, "join": decisions.join, "leave": decisions.join}.get(verb)
        if not decide:
            raise NotFound("not-found", f"no such verb: {verb[:40]}")
        rooms.change(app, found, lambda state: decide(state, *words, app.now), by)
        return "saved"

    then = "/dirigent" if word("then") == "/dirigent" else f"/rooms/{quote(name)}"
    return _sent(request, typed, do, lambda **more: room(request, app, name, **more), then)


@router.get("/dirigent")
def dirigent(request: Request, app: Opened, problem: Any = None, typed: Any = None) -> Response:
    """Show document 001's control page: rooms with their modes, and identities."""
    known = starting.registry_of(app).identities
    return _page(
        request, "dirigent.html", rooms=look.status(app)["channels"], free=FREE, known=_known(app),
        identities=known, source="", problem=problem, typed=typed or {},
        events="/api/council/events",
    )  # fmt: skip


@router.post("/dirigent/{verb}")
def identify(request: Request, app: Opened, verb: str, typed: Fields) -> Response:
    """Add, change or remove an identity, or read the source of them again."""

    def do() -> None:
        if verb == "scan":
            identities.scan(app, identities.FILE)
        else:
            agent, name = typed.get("agent", "").strip(), typed.get("name", "").strip()
            identities.register(app, agent, typed.get("account", "").strip(), name)

    return _sent(
        request, typed, do, lambda **more: dirigent(request, app, **more), "/dirigent#identities"
    )


# --- agents and tasks ---


@router.get("/agents")
def agents(request: Request, app: Opened, problem: Any = None, typed: Any = None) -> Response:
    """Show the agents, and what they asked of one another."""
    made, known = look.status(app), souls.agents(app.root, app.settings)
    calls = next(
        (row.document(app, row.names(app)[0]).peek() for row in app.kinds if row.name == "call"),
        None,
    )
    rows = []
    for ident, one in known.items():
        mine = [row["name"] for row in made["conversations"] if ident in row["participants"]]
        code, words = programs.fault(one, app.world, app.root)
        more = {"face": one, "councils": mine, "rests": made["resting"].get(ident, "")}
        more["inbox"] = sum(m.to_agent_id == ident for m in calls.messages) if calls else 0
        rows.append({**setup.shown(one), **more, "faults": [*one.faults, *[words] * bool(code)]})
    newest = {"calls": calls.calls[:-21:-1], "messages": calls.messages[:-21:-1]} if calls else {}
    return _page(
        request, "agents.html", agents=rows, known=_known(app), presets=list(programs.presets()),
        **newest, problem=problem, typed=typed or {}, events="/api/council/events",
    )  # fmt: skip


@router.post("/agents")
@router.post("/agents/{verb}")
def agents_change(request: Request, app: Opened, typed: Fields, verb: str = "") -> Response:
    """Add, change or remove an agent; leave it a message or call it."""

    def do() -> str:
        word = typed.get
        if verb == "tell":
            from council.delegation import service as delegation  # late: few use it

            sent = delegation.call if word("how") == "call" else delegation.message
            sent(app, word("message", ""), _by(request, app), word("to", ""))
            return "say"
        if verb == "remove":
            setup.remove(app, word("agent", ""))
        else:
            setup.add(
                app,
                word("agent", ""),
                preset=word("preset", ""),
                name=word("name"),
                role=word("role"),
            )
        return "saved"

    return _sent(request, typed, do, lambda **more: agents(request, app, **more), "/agents")


@router.get("/tasks")
def tasks(request: Request, app: Opened, problem: Any = None, typed: Any = None) -> Response:
    """List the open requests to workers."""
    found = look.status(app)["tasks"]
    return _page(
        request,
        "tasks.html",
        contexts=found,
        problem=problem,
        typed=typed or {},
        events="/api/council/events",
    )


@router.get("/tasks/{name}")
def task(
    request: Request, app: Opened, name: str, problem: Any = None, typed: Any = None
) -> Response:
    """Show a context: its tasks, what it asks a person, and its messages."""
    kind = app.other(name)
    if not kind or kind.name != "context":
        raise NotFound("not-found", f"there is no context {name[:40]!r}", "see /tasks")
    state = kind.document(app, name).read()
    row, asked = kind.status(app, name, state), state.pending()
    for one in row["tasks"]:
        one["question"] = state.tasks[one["id"]].question if one["id"] in asked else ""
    lines = list(state.lines.values())[-ROWS:]
    values = {"name": name, "row": row, "lines": lines, "answer": state.answer, "problem": problem}
    return _page(request, "task.html", **values, events="/api/council/events")


@router.post("/tasks")
@router.post("/tasks/{name}/{ident}")
def request_task(
    request: Request, app: Opened, typed: Fields, name: str = "", ident: str = ""
) -> Response:
    """Send a request to the workers, or answer what a task asks."""
    from council.tasks import service as work  # late: few use it

    def do() -> str:
        text = typed.get("text", "")
        if name:
            work.say(app, f"{name}/{ident}", text, _by(request, app))
            return "answer"
        work.request(app, text, _many(typed.get("caps", "")), typed.get("priority", ""), "", "", {})
        return "saved"

    page, then = (task, f"/tasks/{quote(name)}") if name else (tasks, "/tasks")
    again = {"name": name} if name else {}
    return _sent(request, typed, do, lambda **more: page(request, app, **again, **more), then)
