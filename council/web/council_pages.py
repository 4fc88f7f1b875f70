"""What is fetched of a council and is no page: its minutes as one file to send on.

Source: C0-030, DL-097.
"""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from council.web.pages import ask


def router() -> APIRouter:
    """Return the routes."""
    made = APIRouter(include_in_schema=False)

    @made.get("/minutes/{which}/file")
    async def minutes(request: Request, which: str) -> Response:
        told = await ask(request, "minutes file", {"which": which})
        name = quote(f"{which.removesuffix('.md')}.html", "")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(told["record"]["html"], media_type="text/html", headers=headers)

    return made
