"""What forms post: any command that has a route that changes something, by `/do/COMMAND`.

A field is an option by its name. One named `OPTION.KEY` adds `KEY=VALUE` to an option that may be
given often; blank fields are not given. A browser sends nothing for boxes that are not ticked, so a
list that means everyone where a command line leaves it out is empty here: a form that names nobody
means nobody. A council that is convened by a form has at most the ceiling that its page shows.

Beside these fields are `from`, the address that the form is on, `then`, where it goes on, with
names of the record in braces, `form`, which form of the page it is, `rev`, the revision that was
read, `none`, the lists that are empty whatever is ticked in them, and `show`, a flag to give where
the answer is to be shown on the page itself, such as what would be understood.

A refusal comes back on the page of the form with everything that was typed; `field` says at which
of its fields it is shown.

Source: DL-075, DG-133, DG-136, P8-005, FW-011.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ValidationError

from council.commands.options import Command
from council.web.asking import RefusedError, ask
from council.web.frame import language_of, noticed, words
from council.web.pages import page, page_at
from council.web.routes import Route, routes
from council.web.schemas import arguments_of, field_name, model_of

_BESIDE = ("form_token", "from", "then", "form", "rev", "none", "show")
# The page that shows the usual values of a command: what its form leaves blank.
_USUAL_OF = {"convene": "new page"}
_OPTION = re.compile(r"--([a-z][a-z-]*)")
_NAME = re.compile(r"\{(\w+)\}")


def router(most_text_bytes: int) -> APIRouter:
    """Return the routes of all forms.

    Args:
        most_text_bytes: How long a text may be.
    """
    made = APIRouter(include_in_schema=False)

    @made.post("/do/{words:path}")
    async def do(request: Request, words: str) -> Response:
        body = (await request.body()).decode("utf-8", "replace").replace("%0D%0A", "%0A")
        given = parse_qs(body, keep_blank_values=True)  # the guard has counted its fields
        beside = {name: (given.pop(name, None) or [""])[-1] for name in _BESIDE}
        where = unquote(beside["from"]) or "/"
        typed = {**beside, **{name: ",".join(texts) for name, texts in given.items()}}
        given |= {beside["show"]: ["1"]} if beside["show"] else {}
        try:
            route = _route(words, given)
            arguments, more = given_arguments(route, given, beside["none"], most_text_bytes)
            if page_call := _USUAL_OF.get(route.command.name):
                shown = await ask(request, page_call, {})
                arguments = {**shown["record"]["usual"], **arguments}
            more |= {"expected": int(rev)} if (rev := beside["rev"]).isdecimal() else {}
            told = await ask(request, route.command.name, arguments, **more)
        except RefusedError as failed:
            refused = {**failed.error, "field": _field_of(failed.error)}
            return await page_at(request, where, refused["status"], refused=refused, given=typed)
        if beside["show"]:
            return await page_at(request, where, 200, result=told["record"], given=typed)
        return RedirectResponse(
            _onwards(request, route.command, beside["then"] or where, told), 303
        )

    @made.get("/ask/{words:path}", response_class=HTMLResponse)
    async def ask_first(request: Request, words: str) -> Response:
        fields = {one: text for one, text in request.query_params.items() if one not in _BESIDE}
        beside = {one: request.query_params.get(one, "") for one in ("from", "then")}
        return page(
            "ask.html", request, command=words.replace("/", " "), fields=fields, beside=beside
        )

    return made


def _route(path: str, given: dict[str, list[str]]) -> Route:
    """Return the route of a command that a form means: the one that fixes what it gives.

    Raises:
        RefusedError: There is none.
    """
    name = path.replace("/", " ")
    for route in routes():
        if route.changes and route.command.name == name and not route.takes_body:
            fixed = {one.rstrip("_"): said for one, said in route.fixed.items()}
            told = {
                one: True if said is True else given.get(one, [""])[-1]
                for one, said in fixed.items()
            }
            known = {field_name(one) for one in (*route.within, *route.fields)} | set(fixed)
            if told == fixed and {one.partition(".")[0] for one in given} <= known:
                return route
    raise RefusedError(404, "not-found", "no form does that")


def given_arguments(
    route: Route, given: dict[str, list[str]], empty: str, most_text_bytes: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a form says, as arguments of its command, and what goes with them.

    Args:
        route: The route of the command.
        given: The fields of the form.
        empty: The names of the lists that are empty whatever the form gives.
        most_text_bytes: How long a text may be.

    Raises:
        RefusedError: A field is not of its kind.
    """
    options = {field_name(one): one for one in (*route.within, *route.fields)}
    said: dict[str, Any] = {}
    for name, texts in given.items():
        of, _, key = name.partition(".")
        filled = [one for one in texts if one.strip()]
        if filled and of in options:
            if key:
                said.setdefault(of, []).append(f"{key}={':'.join(filled)}")
            else:
                said[of] = filled if options[of].many else options[of].is_flag or ",".join(filled)
    for name, option in options.items():
        if option.means_all_without and (name not in said or name in empty.split(",")):
            said[name] = []
    whole = route.copy(method="POST", fields=list(options.values()))
    try:
        checked: BaseModel = model_of(whole, most_text_bytes)(**said)
    except ValidationError as error:
        faults = [
            f"--{str(one['loc'][0]).replace('_', '-')}: {one['msg']}" for one in error.errors()
        ]
        raise RefusedError(422, "invalid-input", "; ".join(dict.fromkeys(faults))) from None
    return arguments_of(whole, checked)


def _field_of(refusal: dict[str, Any]) -> str:
    """Return the field that a refusal, or what it says to do, names first; "" for none."""
    for said in (refusal["message"], refusal["hint"]):
        if "council " not in said and (named := _OPTION.search(said)):
            return named[1].replace("-", "_")
    return ""


def _onwards(request: Request, found: Command, then: str, told: dict[str, Any]) -> str:
    """Return where a form leads that was done, with a word on it."""
    record = told["record"] if isinstance(told["record"], dict) else {}
    where = _NAME.sub(lambda one: quote(str(record.get(one[1], "")), ""), then)
    if not where.startswith("/") or where[1:2] in ("/", "\\"):
        where = "/"
    t = words(language_of(request))
    return noticed(request, where, t.named("done", found.name, t("done")))
