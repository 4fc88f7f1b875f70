"""The pages: what a person sees and steers, rendered here from what a reading or command answers.

Each page is a row of `PAGES`: its address, its template, and the reading (`council.web.readings`)
or command that it shows. What stands in braces and the fields of the query go to it as they are.

Source: C0-030, DL-097, DL-072 to DL-075, DG-131 to DG-137, P8-005.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.routing import compile_path

from council.core.reading import LANGUAGES
from council.web.asking import ask
from council.web.frame import LANGUAGE_COOKIE, language_of, rendered

PAGES = """
/                          home.html          home page
/minutes                   minutes_list.html  minutes page
/minutes/{which}           minutes.html       council minutes page
/new                       new.html           new page
/councils/{name}           council.html       council page
/councils/{name}/at        revision.html      nearest revision page
/councils/{name}/at/{rev}  revision.html      revision page
/agents                    agents.html        agents page
/rooms                     rooms.html         rooms page
/rooms/{channel}           room.html          room page
/dirigent                  dirigent.html      dirigent page
/events                    events.html        events page
/tasks                     tasks.html         task list
/tasks/{target:path}       task.html          task show
/artifacts                 artifacts.html     artifact list
/metrics                   metrics.html       metrics page
"""
ROWS = [line.split(None, 2) for line in PAGES.strip().split("\n")]
_MOST_QUERY_CHARS = 2000
_YEAR_S = 365 * 24 * 60 * 60


def router() -> APIRouter:
    """Return the routes of all pages of the table."""
    made = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    for path, template, call in ROWS:
        made.add_api_route(path, _endpoint(template, call), methods=["GET"], response_model=None)
    made.add_api_route("/minutes/{which}/file", _minutes_file, methods=["GET"])
    return made


def _endpoint(template: str, call: str) -> Callable[..., Any]:
    async def endpoint(request: Request) -> Response:
        return await shown(request, template, call, request.path_params)

    return endpoint


async def _minutes_file(request: Request, which: str) -> Response:
    """Return minutes as one file to send on."""
    given = {"name": which, "archived": True, "format": "html"}
    told = await ask(request, "show", given, raw=True)
    name = quote(f"{which.removesuffix('.md')}.html", "")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(told["text"], media_type="text/html", headers=headers)


async def shown(
    request: Request, template: str, call: str, inside: dict[str, str], **facts: Any
) -> Response:
    """Return the page that shows a reading or command; `inside` are the names in its path."""
    query = {key: text[:_MOST_QUERY_CHARS] for key, text in request.query_params.items()}
    query["lang"] = language_of(request)
    told = await ask(request, call, {**query, **inside} if call.endswith(" page") else inside)
    return page(template, request, record=told["record"], **facts)


async def page_at(request: Request, path: str, status: int, **facts: Any) -> Response:
    """Return the page of an address of the table, with more facts, such as why one is refused."""
    for row, template, call in ROWS:
        found = compile_path(row)[0].match(path)
        if found:
            told = {"path": quote(path), **facts}
            answer = await shown(request, template, call, found.groupdict(), **told)
            answer.status_code = status
            return answer
    return page("error.html", request, status, **facts)


def page(template: str, request: Request, status: int = 200, **facts: Any) -> HTMLResponse:
    """Return a page made of a template, in the language of its reader."""
    answer = HTMLResponse(rendered(template, request, **facts), status)
    if (lang := request.query_params.get("lang", "")) in LANGUAGES:
        answer.set_cookie(LANGUAGE_COOKIE, lang, max_age=_YEAR_S, samesite="strict")
    return answer
