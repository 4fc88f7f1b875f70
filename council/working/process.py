"""The process that carries the calls of a server out, and the child that each of them gets.

A process with threads must not fork, and operations do: a heartbeat goes on by itself. They also
set alarms, wait for locks and note what a command was asked. So a server, which has threads,
starts this process, which has none and has read nothing of the workspace; it forks a child for
each call, which then lives as a command does: it carries out one thing, answers and ends.
Many calls are carried out at once, and one that is cut off is ended as a command is, by a signal.

The server sends a socket for each call over the one that is the standard input of this process,
and with it the files that are the standard input and output of the call, if it has any.
The child reads its request from there, answers with its process id, then with the answer; each is
a line of JSON.

Source: IO-004, OP-001, OP-008, DL-061.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from council.core.errors import CouncilError
from council.core.plain_text import json_text
from council.core.record import Record
from council.store import outbox

_MOST_FILES = 3

Request = dict[str, Any]


class Answer(Record):
    """What goes back to the server.

    `error` is a refusal as JSON, None where there was none; `code` the exit code of a command.
    """

    _keys = "error~ code~"

    record: Any = None
    text: str = ""
    error: dict[str, Any] | None = None
    code: int = 0


def carry_out_calls(carried_out: Callable[[Request], Answer]) -> None:
    """Fork a child for each socket that comes in, until the server is gone.

    Args:
        carried_out: Carries out one request, with its `call` and `arguments`. What is refused
            is an answer as well; what it raises is a fault of ours.
    """
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):  # nothing that is printed may reach the protocol
        os.dup2(null, standard)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child that has ended is waited for
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, _MOST_FILES)
        if not descriptors:
            return
        connection = socket.socket(fileno=descriptors.pop(0))
        try:
            is_child = os.fork() == 0
        except OSError as error:
            sys.stderr.write(f"council: no process for a call: {error.strerror}\n")
            is_child = False
        if is_child:
            control.close()
            for standard, one in enumerate(descriptors):
                os.dup2(one, standard)
            _serve(connection, carried_out)
        connection.close()
        for one in descriptors:
            os.close(one)


def _serve(connection: socket.socket, carried_out: Callable[[Request], Answer]) -> NoReturn:
    """Carry out the call that comes in, as the child that was forked for it, and end."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with connection, connection.makefile("rb") as lines:
            request = json.loads(lines.readline())
            connection.sendall(f"{os.getpid()}\n".encode())
            try:
                answer = json_text(carried_out(request).to_record())
            except Exception as error:
                traceback.print_exc()
                kind = f"{type(error).__name__}: {error}"
                failed = CouncilError(f"unexpected failure: {kind}", "see the log of the server")
                answer = json_text(Answer(error=failed.to_record()).to_record())
            connection.sendall(f"{answer}\n".encode("utf-8", "replace"))
        # The note of a call that has an id stays for a day: who repeats it finds what was done.
        if not (request.get("arguments") or {}).get("operation_id"):
            outbox.told()
        code = 0
    finally:
        os._exit(code)
