"""How a server has a call carried out: by a process of its own, through a socket of its own.

Source: IO-004.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from council.core.errors import CouncilError

_MOST_ANSWER_BYTES = 1 << 30
_MOST_AT_ONCE = 32
_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)")


def _as_field(option: str) -> str:
    return f"`{option.replace('-', '_')}`"


def in_fields(said: str, named: Callable[[str], str] = _as_field) -> str:
    """Return a sentence for those who call by fields: `--max-rounds` is `max_rounds` there.

    `named` says what an option is called there. One that names a command line stays as it is.
    """
    if "council " in said:
        return said
    return _OPTION.sub(lambda one: named(one[1]), said)


class Worker:
    """The process that carries calls out; it is started with the first one, and again if it died.

    Args:
        module: What that process runs, by `process.carry_out_calls`.
        environ: The environment of all calls. It says who acts, and where.
    """

    def __init__(self, module: str, environ: Mapping[str, str]) -> None:
        self._module = module
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._free = asyncio.Semaphore(_MOST_AT_ONCE)

    async def call(
        self, name: str, arguments: Mapping[str, Any], files: Sequence[int] = (), **more: object
    ) -> dict[str, Any]:
        """Return what a call answers; if this is cancelled, the call is ended.

        So many are carried out at once, the others wait. `files` are descriptors of its standard
        input and output, if it has any; `more` goes with the request as it is.

        The answer has `record`, `text` and, where it came to nothing, `error`.

        Raises:
            CouncilError: There is no process for it, or it ended without an answer.
        """
        async with self._free:
            return await self._call({"call": name, "arguments": dict(arguments), **more}, files)

    async def _call(self, request: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        with theirs:
            self._hand_over([theirs.fileno(), *files])
        reader, writer = await asyncio.open_connection(sock=ours, limit=_MOST_ANSWER_BYTES)
        process, answer = 0, b""
        try:
            writer.write(f"{json.dumps(request)}\n".encode())
            process = int(await reader.readline() or 0)
            answer = await reader.readline()
            process = 0  # it ends by itself
        except ConnectionError:
            process = 0  # the process was killed before it took the call, or with it
        finally:
            if process:
                with suppress(OSError):
                    os.kill(process, signal.SIGTERM)
            writer.close()
        if not answer:
            raise CouncilError(
                f"the call of {request['call']} ended without an answer", "call it again"
            )
        return json.loads(answer)  # type: ignore[no-any-return]

    def _hand_over(self, descriptors: list[int]) -> None:
        for control in (self._control, None):
            try:
                socket.send_fds(control or self._started(), [b"."], descriptors)
            except OSError as error:
                if control is None:
                    why = f"cannot start a process: {error.strerror or error}"
                    raise CouncilError(why, "end some, then call again") from None
            else:
                return

    def _started(self) -> socket.socket:
        """Start the process and return the socket over which it gets its calls."""
        self.end()
        self._control, theirs = socket.socketpair()
        with theirs:
            # -P: a module that lies in the workspace must not be imported for one of ours.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", self._module],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=dict(self._environ),
            )
        return self._control

    def end(self) -> None:
        """End the process; calls under way go on to their end."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.wait()
        self._control = self._process = None
