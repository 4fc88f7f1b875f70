"""Having something carried out for a request: what it comes to, or the refusal that ends it."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from council.core.errors import CouncilError
from council.working.calling import Worker


class RefusedError(Exception):
    """What was asked for was refused; `error` is the refusal as JSON, with its `status`."""

    def __init__(self, status: int, code: str, message: str, hint: str = "", **more: Any) -> None:
        super().__init__(message)
        self.error = {"status": status, "code": code, "message": message, "hint": hint, **more}


async def ask(
    request: Request, call: str, arguments: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """Have a command or reading carried out for who asks; `more` goes with the request.

    Raises:
        RefusedError: It came to nothing.
    """
    worker, environ = request.app.state.worker, request.state.environ
    return await asked(worker, call, arguments, environ=environ, **more)


async def asked(
    worker: Worker, call: str, arguments: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """Do the same by a worker; `environ` says who asks."""
    try:
        told: dict[str, Any] = await worker.call(call, arguments, **more)
    except CouncilError as failed:  # no process carried it out to its end
        raise RefusedError(503, "unavailable", failed.message, failed.hint) from None
    if error := told.get("error"):
        raise RefusedError(**{"status": 500, **error})
    return told
