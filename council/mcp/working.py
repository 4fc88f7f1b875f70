"""The process that carries calls out, and the child that each of them gets.

A process with threads must not fork, and operations do: a heartbeat goes on by itself. They also
set alarms, wait for locks and note what a command was asked. So the server, which has threads,
starts this process, which has none and has read nothing of the workspace; it forks a child for
each call, which then lives as a command does: it carries out one operation, answers and ends.
Many calls are carried out at once, and one that is cut off is ended as a command is, by a signal.

The server sends a socket for each call over the one that is the standard input of this process.
The child reads its request from there, answers with its process id, then with the answer; each is
a line of JSON.

Source: IO-004, OP-001, OP-008.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from typing import Any, NoReturn

from council.core.errors import CouncilError, InvalidInputError
from council.core.plain_text import json_text
from council.core.record import Record
from council.core.trust import permit
from council.mcp.reading import READINGS
from council.mcp.tools import TOOLS, Given, Told
from council.operations.place import Place, open_place
from council.store import outbox
from council.store.files import explained


class _Answer(Record):
    """What goes back to the server."""

    _keys = "error~"

    record: Any = None
    text: str = ""
    error: Given | None = None


def carried_out(request: Given) -> _Answer:
    """Carry out one call; what is refused is an answer as well.

    `request` has the `call`, a tool or one of `READINGS`, and its `arguments`.
    """
    place: Place | None = None
    try:
        place = open_place("", "", os.environ)
        told = _done(place, request["call"], request.get("arguments") or {})
    except CouncilError as refused:
        told = Told(record=None, failed=refused)
    except OSError as refused:
        if not refused.filename:
            raise
        told = Told(record=None, failed=explained(refused, "use", str(refused.filename)))
    if place is not None and place.warnings and isinstance(told.record, dict):
        told.record.setdefault("warnings", place.warnings)
    error = told.failed.to_record() if told.failed is not None else None
    return _Answer(record=told.record, text=told.text, error=error)


def _done(place: Place, name: str, given: Given) -> Told:
    if reading := READINGS.get(name):
        return Told(record=reading(place, given))
    tool = TOOLS[name]
    permit(tool.verb, in_run=place.is_in_run)
    if tool.reads:
        return tool.do(place, given)
    place.refuse_newer_settings()
    _refuse_long(given, place.settings.max_text_bytes)
    given = {**given}
    operation = given.pop("operation_id", "")
    # Without an id of its own a call counts once until its caller has the answer.
    outbox.asked([name, operation or json_text(given)])
    return tool.do(place, given)


def _refuse_long(given: Given, most: int) -> None:
    for name, text in given.items():
        if isinstance(text, str) and len(text.encode("utf-8", "replace")) > most:
            raise InvalidInputError(
                f"`{name}` is longer than {most} bytes",
                "shorten it, or raise max_text_bytes in council.toml",
            )


def _serve(connection: socket.socket) -> NoReturn:
    """Carry out the call that comes in, as the child that was forked for it, and end."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with connection, connection.makefile("rb") as lines:
            request = json.loads(lines.readline())
            connection.sendall(f"{os.getpid()}\n".encode())
            try:
                answer = carried_out(request).to_record()
            except Exception as error:
                traceback.print_exc()
                kind = f"{type(error).__name__}: {error}"
                failed = CouncilError(f"unexpected failure: {kind}", "see the log of the server")
                answer = _Answer(error=failed.to_record()).to_record()
            connection.sendall(f"{json_text(answer)}\n".encode("utf-8", "replace"))
        # The note of a call that has an id stays for a day: who repeats it finds what was done.
        if not (request.get("arguments") or {}).get("operation_id"):
            outbox.told()
        code = 0
    finally:
        os._exit(code)


def main() -> None:
    """Fork a child for each socket that comes in, until the server is gone."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):  # nothing that is printed may reach the protocol
        os.dup2(null, standard)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child that has ended is waited for
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        connection = socket.socket(fileno=descriptors[0])
        try:
            is_child = os.fork() == 0
        except OSError as error:
            sys.stderr.write(f"council: no process for a call: {error.strerror}\n")
            is_child = False
        if is_child:
            control.close()
            _serve(connection)
        connection.close()


if __name__ == "__main__":
    main()
