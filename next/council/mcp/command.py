"""`council mcp`, which says what is missing where the extra is not installed."""

from __future__ import annotations

from contextlib import suppress

from council.app import App
from council.councils import service
from council.kernel.errors import NotFound, Usage
from council.kernel.ids import checked_name
from council.kernel.record import Any


def serve_mcp(
    app: App, as_: str = "", http: bool = False, port: int | None = None
) -> dict[str, Any]:
    """Serve clients until they are gone, or the process is ended.

    Raises:
        NotFound: The SDK is not installed (`no-extra`).
        Usage: The port cannot be used, or one is given without `http`.
        Invalid: The agent's id or the token is none.
    """
    agent = ""
    with suppress(Usage):  # without an agent it acts as a person
        agent = checked_name(service.who(app, as_), "agent id")
    if port is not None and not http:
        raise Usage("usage", "--port needs --http", "council mcp --http --port N")
    try:
        from council.mcp import transports  # late: it needs the extra
    except ModuleNotFoundError as error:
        what = f"the Python package {error.name} is missing"
        raise NotFound("no-extra", what, "pip install 'council-files[mcp]'") from None
    if http:
        transports.over_http(app, agent, transports.PORT if port is None else port)
    else:
        transports.over_stdio(app, agent)
    return {}
