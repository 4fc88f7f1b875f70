"""The server of the pages as every process finds it: whether one runs, and where.

It holds a lock for as long as it runs, and has noted beside it where it is.

Source: DL-066, DG-005.
"""

from __future__ import annotations

import json

from council.core.record import Record
from council.operations.place import Place
from council.store.files import content_of, json_object, replace
from council.store.slots import is_held

HOST = "127.0.0.1"


class PageServer(Record):
    """A server that runs; its links are made with `start`, a word of this start of it.

    `host` is its name in addresses.
    """

    host: str
    port: int
    start: str
    process: int

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{self.host}:{self.port}"

    def note(self, place: Place) -> None:
        """Note where it is."""
        noted = json.dumps(self.to_record())
        replace(place.paths.web_server, f"{noted}\n".encode(), mode=0o600)


def running_server(place: Place) -> PageServer | None:
    """Return the server of the workspace, None where none runs or it is not known where."""
    if not is_held(place.paths.web_lock):
        return None
    noted = json_object(content_of(place.paths.web_server)) or {}
    port, start, process = (noted.get(one) for one in ("port", "start", "process"))
    if isinstance(port, int) and isinstance(start, str) and isinstance(process, int):
        host = str(noted.get("host", HOST))
        return PageServer(host=host, port=port, start=start, process=process)
    return None
