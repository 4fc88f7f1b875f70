"""Rooms of several instances (document 001, section 8): a master decides, its slaves ask it.

The four rules take and return what the document names; the master's `service.answer` is served
below `PATH`.
"""

from __future__ import annotations

from council.kernel import codec
from council.kernel.errors import Refusal, Refused, Unexpected
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from council.app import App

PATH = "/api/council/relay"
TOKEN, SECONDS, UNREACHABLE = "COUNCIL_RELAY_TOKEN", 10, "master_unreachable"
REFUSALS = (400, 403, 404, 409, 422)


def is_slave(app: App) -> bool:
    """Return whether this instance asks another one about its rooms."""
    table = app.settings.tables.get("relay", {})
    return "slave" in (table.get("role"), table.get("dirigentRole"))


def refuse_slave(app: App) -> None:
    """Refuse to change rooms and identities where the master has them."""
    if is_slave(app):
        url = app.settings.tables["relay"].get("url", "")
        raise Refused("slave", f"rooms and identities are kept by the master {url}", "do it there")


def ask(app: App, rule: str, **request: Any) -> dict[str, Any]:
    """Return the master's answer; the key goes over https or to this machine, never further."""
    from http import client  # late: slow to import
    from urllib.parse import urlsplit  # late: as above

    table = app.settings.tables["relay"]
    url, key = urlsplit(str(table.get("url", ""))), str(table.get("token_env", TOKEN))
    head = {"Authorization": f"Bearer {app.env.get(key, '')}", "Content-Type": "application/json"}
    is_safe, host = url.scheme == "https", str(url.hostname)
    connection = client.HTTPSConnection if is_safe else client.HTTPConnection
    try:
        if not (is_safe or host in ("127.0.0.1", "::1", "localhost")):
            raise OSError("the url is neither https nor this machine")
        there = connection(host, url.port, timeout=SECONDS)
        there.request("POST", f"{url.path.rstrip('/')}{PATH}/{rule}", codec.encoded(request), head)
        got = there.getresponse()
        found = codec.loads(got.read(1 << 20), "the master's answer")
        if got.status != 200 and got.status not in REFUSALS:
            raise OSError(f"it answers {got.status}")
    except (OSError, ValueError, client.HTTPException, Refusal) as error:
        what = f"the master {table.get('url', '')} is out of reach: {error or type(error).__name__}"
        raise Unexpected(UNREACHABLE, what, "try again with the same --run-id") from None
    if got.status != 200:
        raise Refused("refused-by-master", f"the master refuses: {codec.dumps(found)[:200]}")
    return dict(found)
