"""The pages: each shows what services return, and what the operation of its form refused."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from markupsafe import Markup
from pydantic import ValidationError
from starlette.datastructures import FormData

from council.agents import programs
from council.app import App
from council.archive import minutes
from council.councils import service, views
from council.councils.model import State
from council.kernel import times
from council.kernel.errors import NotFound, Refusal
from council.observe import status
from council.rooms import relay, rules
from council.rooms import service as rooms
from council.rooms.model import DISCORD, FREE
from council.rooms.row import ROOMS
from council.runs import starting
from council.setup import agents as setup
from council.setup import identities
from council.web import problems
from council.web.api import COUNCIL, ROOM
from council.web.operations import FORMS, PREFIX, Form, opened
from council.web.portrait import Faces, glance, label, portrait

CARDS, ROWS, MESSAGES = 24, 100, 50  # most councils of the home page, minutes, messages of a room
LONGEST, BRACKETS = 60_000, 2000  # of a text that is read as Markdown: `[` takes quadratic time
DEEPEST = 19  # levels of quotations and lists
_LINKED = "noopener noreferrer nofollow ugc"
_SCHEMES = ("http://", "https://", "mailto:")
_JOINERS = "\n\t\u200c\u200d"  # of letters and of emoji; other invisible signs are left out
Values = dict[str, Any]
Page = tuple[str, Callable[[App, Values], Values]]


def routes() -> APIRouter:
    """Return the routes of all pages and forms."""
    router = APIRouter()
    for path, page in PAGES.items():
        router.add_route(path, _live if path == COUNCIL else partial(_shown, page))
    for one in FORMS:
        router.add_route(one.path, partial(_sent, one), ["POST"])
    return router


def _live(request: Request) -> Response:
    """Return the page of a council; a window gets its head at once, and errors with status 200."""
    is_window = request.headers.get("sec-fetch-dest") == "document"
    if is_window and request.app.state.open().is_open(request.path_params["name"]):
        return StreamingResponse(_pieces(request), media_type="text/html")
    return _shown(PAGES[COUNCIL], request)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    yield _HEAD
    failed = request.app.exception_handlers[Exception]
    for page, begin, end in (TITLE, b"<title>", b"</h1>"), (PAGES[COUNCIL], b"</h1>", b"\0"):
        try:
            made = await run_in_threadpool(_shown, page, request)
        except Exception as error:
            made = await run_in_threadpool(failed, request, error)
        yield begin + bytes(made.body).partition(begin)[2].partition(end)[0]


async def _sent(one: Form, request: Request) -> Response:
    return await run_in_threadpool(_done, one, request, await request.form())


def _done(one: Form, request: Request, sent: FormData) -> Response:
    """Carry out an operation by a form, then show a page."""
    try:
        made = one.act(opened(request), body=one.shape.of_form(sent), **request.path_params)
        if fault := made.get("error"):  # of a call
            raise Refusal(fault["code"], fault["message"], fault.get("hint", ""), status=409)
    except (Refusal, ValidationError) as error:
        return _shown(PAGES[one.page], request, sent, problems.of(error))
    at = {key: quote(str(value)) for key, value in (made | request.path_params).items()}
    done = "asked" if made.get("askedAgain") else made.get("outcome", "")
    return RedirectResponse(f"{one.then.format_map(at)}?done={quote(str(done))}", 303)


def _shown(
    page: Page, request: Request, sent: FormData | None = None, problem: Any = None
) -> Response:
    """Return a page, with all that was typed where a form was refused."""
    (template, made), app = page, request.app.state.open()
    status = problem.more["status"] if problem else 200
    at: Values = {"search": "", "as": "", **request.query_params, **request.path_params}
    typed = sent or FormData()
    at["as"] = typed.get("as") or at["as"]
    common = {
        "notice": problems.INTERFACE["notices"].get(at["done"], "Done.") if "done" in at else "",
        "problem": problem, "typed": typed, "workspace": os.path.basename(app.root),
        "events": f"{PREFIX}/events",
        "known": Faces(app.agents()),
        "until": lambda at: _until(at, app.now),
    }  # fmt: skip
    return rendered(request, template, status, common | made(app, at))


def rendered(request: Request, template: str, code: int, values: Values) -> Response:
    """Return a template, filled in for who asks."""
    common = {"signed_in": request.state.sender, "path": request.url.path}
    text = _ENV.get_template(template).render({**common, **values})
    return HTMLResponse(text.encode("utf-8", "replace"), code)


def plain(text: str) -> str:
    """Return a text without control, direction and other invisible characters."""
    if text.isprintable():
        return text
    kept = (c if c.isprintable() or c in _JOINERS else " " for c in text.replace("\r\n", "\n"))
    return "".join(kept)


@lru_cache(maxsize=2000)
def html(text: str, above: int = 3) -> Markup:
    """Return Markdown as HTML without markup of its own, images or odd links.

    Its headings are below so many levels of the page.
    """
    clean, made = plain(text.strip()), ""
    if len(clean) <= LONGEST and clean.count("[") <= BRACKETS:
        with suppress(RecursionError):
            tokens = _READER.parse(clean)
            if all(one.level < DEEPEST for one in tokens):  # the library leaves out what is deeper
                for one in [part for token in tokens for part in (token, *(token.children or ()))]:
                    if one.type in ("heading_open", "heading_close"):
                        one.tag = f"h{min(int(one.tag[1]) + above, 6)}"
                    elif one.type == "link_open":
                        to = one.attrs["href"]
                        one.attrs = {"href": to, "rel": _LINKED, "title": to} if to else {}
                    elif one.type in ("th_open", "td_open"):
                        one.attrs = {}  # its alignment would be a style, which the page refuses
                made = _READER.renderer.render(tokens, _READER.options, {})
    # A reference such as &#8238; is a sign by now.
    return Markup(plain(made)) if made or not clean else Markup("<pre>{}</pre>").format(clean)


def _when(at: str | None) -> Markup:
    text = times.instant(at).strftime("%-d %b, %H:%M UTC") if at else ""
    return Markup('<time datetime="{}" data-when>{}</time>').format(at, text) if at else Markup("")


def _until(at: str, now: times.datetime) -> Markup:
    """Return how far ahead an instant is, in whole minutes."""
    left = max(times.instant(at) - now, timedelta())
    words = times.spoken(timedelta(minutes=left // timedelta(minutes=1)))
    return Markup('<time datetime="{}" data-until>{}</time>').format(at, words)


def _timed(text: str) -> Markup:
    """Return a sentence in which instants can be read."""
    words = text.split(" ")
    return Markup(" ").join(_when(w) if w[10:11] == "T" and w[-1] == "Z" else w for w in words)


_READER = MarkdownIt("js-default", {"html": False, "linkify": False})
_READER.disable("image")
_READER.validateLink = lambda url: url.lower().startswith(_SCHEMES)  # type: ignore[method-assign]
_FILES = FileSystemLoader(f"{os.path.dirname(__file__)}/templates")
_ENV = Environment(loader=_FILES, autoescape=True, trim_blocks=True, lstrip_blocks=True)
_ENV.finalize = lambda one: plain(one) if type(one) is str else "" if one is None else one
_HEAD = _FILES.get_source(_ENV, "base.html")[0].partition("<title>")[0].encode()  # no blocks in it
_ENV.globals.update(when=_when, timed=_timed, label=label)
_ENV.filters["md"] = html


def home(app: App, _: Values) -> Values:
    """Show what needs a person, what is open and what was decided."""
    needs, cards, made = list[Values](), list[Values](), status.status(app)
    for row in made["conversations"]:
        try:
            state = app.conversation(row["name"]).peek()
        except NotFound:
            continue  # it ended just now
        known, path = state.participants, f"/councils/{quote(row['name'])}"
        for one in [one for one in row["waiting"] if one in known and known[one].person]:
            what, link = f"{one} is asked: {row['topic']}", f"{path}?as={quote(one)}#answer"
            needs.append({"what": what, "do": "Answer", "href": link})
        if row["approval"]:
            what = f"{row['approval']} has to approve: {row['topic']}"
            needs.append({"what": what, "do": "Decide", "href": f"{path}#sign"})
        cards += [glance(app, state)] if len(cards) < CARDS else []
    needs += made["problems"]
    more = len(made["conversations"]) - len(cards)
    shown = {"needs": needs[:ROWS], "councils": cards, "more": more, "broken": made["errors"]}
    return {**shown, "rooms": made["channels"][:8], "minutes": minutes.rows(app.root)[:6]}


def title(app: App, at: Values) -> Values:
    """Show what a council is about."""
    state = service.find(app, at["name"])
    events = f"{PREFIX}/councils/{quote(state.name)}/events" * (not state.ended_at)
    return {"s": state, "events": events}


def council(app: App, at: Values) -> Values:
    """Show a council: live while it runs, the decision first when it has ended."""
    made = title(app, at)
    return {**made, "c": portrait(app, made["s"], at["as"], "all" in at)}


def new(app: App, _: Values) -> Values:
    """Show the form for a new council."""
    rows = [setup.shown(one) for one in app.agents().values()]
    return {"agents": rows, "taken": app.is_open(service.DEFAULT)}


def archive(app: App, at: Values) -> Values:
    """List minutes, or those that have some words."""
    rows = minutes.rows(app.root, at["search"])
    return {"rows": rows[:ROWS], "more": max(0, len(rows) - ROWS), "search": at["search"]}


def minute(app: App, at: Values) -> Values:
    """Show minutes."""
    row = minutes.find(app.root, at["file"])
    where = State(minutes=os.path.relpath(row["path"], app.root))
    body = views.text(where, app.root).replace("\n## ", "\n\0## ").split("\0")
    return {"row": row, "body": body, "events": ""}


def control(app: App, at: Values) -> Values:
    """List rooms and identities; where it is asked for, guilds of Discord."""
    relay.refuse_slave(app)
    more = {"discord": DISCORD in app.world, "guilds": rooms.guilds(app) if "guilds" in at else []}
    known = starting.registry_of(app).identities
    channels, source = status.status(app)["channels"], bool(identities.found(app))
    return {**more, "channels": channels, "free": FREE, "identities": known, "source": source}


def room(app: App, at: Values) -> Values:
    """Show a room: who has the floor, what was said, who is in it."""
    name = rooms.named(app, at["name"])
    state = ROOMS.document(app, name).read()
    made = {**ROOMS.status(app, name, state), "queue": state.queue, "notes": state.notes}
    made["messages"] = ROOMS.shown(app, name, state, MESSAGES)[0]["messages"]
    made |= {"older": state.count - len(made["messages"]), "deadline": rules.until(state)}
    return {"room": made, "free": FREE, "events": f"{PREFIX}/rooms/{quote(name)}/events"}


def agents(app: App, _: Values) -> Values:
    """Show the agents, and what they asked of one another."""
    rows, said, made = list[Values](), list[Any](), status.status(app)
    for kind in [one for one in app.kinds if one.name == "call"]:
        calls = kind.document(app, kind.names(app)[0]).peek()
        said = sorted([*calls.messages, *calls.calls], key=lambda one: one.at)[::-1]
    for ident, one in app.agents().items():
        mine = [row["name"] for row in made["conversations"] if ident in row["participants"]]
        code, words = programs.fault(one, app.world, app.root)
        faults = [*one.faults, *[words] * bool(code)]
        more = {"councils": mine, "rests": made["resting"].get(ident), "faults": faults}
        rows.append({**setup.shown(one), **more})
    return {"agents": rows, "said": said[:ROWS]}


# Template and data; the function gets the workspace, and the words of the address and its query.
TITLE: Page = ("title.html", title)  # how the page of a council begins
PAGES: dict[str, Page] = {
    "/": ("home.html", home),
    COUNCIL: ("council.html", council),
    "/new": ("new.html", new),
    "/minutes": ("minutes.html", archive),
    "/minutes/{file}": ("minute.html", minute),
    "/dirigent": ("dirigent.html", control),  # document 001's control page
    ROOM: ("room.html", room),
    "/agents": ("agents.html", agents),
}
