"""Reading the log of a run: what was started, how it ended, what it printed last.

Drivers write it (`drivers/environment`); values of secrets are masked in it already.

Source: XC-017, `cli.md` section 5.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from council.core.conversations.conversation import Task, TaskState
from council.core.errors import CouncilError
from council.core.reading import read_json
from council.core.reasons import NO_REASON, Reason, read_reason
from council.core.record import Record
from council.operations.place import Place
from council.store.files import explaining

_HEAD_BYTES = 16 * 1024
_TAIL_BYTES = 8 * 1024
_LINES = 6
_LINE_CHARS = 200
_ERRORS = "--- standard error ---"
_PRINTED = "--- standard output ---"


class RunLog(Record):
    """What the log of a run says; "" for what it does not."""

    path: str = ""
    argv: str = ""
    folder: str = ""
    seconds: str = ""
    outcome: Reason = NO_REASON
    output: list[str] = []


def read_run_log(place: Place, task: str) -> RunLog:
    """Return what the log of a task's run says; an empty one when there is none to read."""
    if not task:
        return RunLog()
    try:
        path = place.paths.run_file(task, "log")
        with explaining("read", path):
            text = _ends_of(path)
    except (CouncilError, FileNotFoundError):
        return RunLog()
    head, _, rest = text.partition(f"\n{_ERRORS}\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    errors, _, printed = rest.partition(f"\n{_PRINTED}\n")
    said = errors.strip() or printed.removeprefix(_PRINTED).strip()
    return RunLog(
        path=os.path.relpath(path, place.root),
        argv=_as_command(fields.get("argv", "")),
        folder=fields.get("folder", ""),
        seconds=fields.get("duration", ""),
        outcome=_outcome(fields.get("outcome", "")),
        output=[line[:_LINE_CHARS] for line in said.splitlines()[-_LINES:] if line.strip()],
    )


def reason_with_output(place: Place, task: str, reason: Reason) -> Reason:
    """Return why a run failed, with the last line that its program printed, where it said why."""
    if reason.code not in ("exit", "signal"):
        return reason
    output = read_run_log(place, task).output
    return reason.with_values(output=output[-1]) if output else reason


def failed_runs(place: Place, tasks: Iterable[Task]) -> tuple[dict[str, Reason], dict[str, str]]:
    """Return by agent why its last failed run failed, and where to read more of it."""
    failures: dict[str, Reason] = {}
    logs: dict[str, str] = {}
    for task in tasks:
        if task.state is TaskState.F:
            failures[task.agent] = reason_with_output(place, task.id, task.reason)
            log = place.paths.run_file(task.id, "log")
            if os.path.isfile(log):
                logs[task.agent] = log
    return failures, logs


def _outcome(text: str) -> Reason:
    """Return why a run failed, from the line of its log; no reason where it answered."""
    if text == "answered":
        return NO_REASON
    with suppress(ValueError):
        return read_reason(read_json(text))
    return read_reason(text)


def _ends_of(path: str) -> str:
    """Return the beginning and the end of a file, which may be long in between."""
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
        size = os.fstat(file.fileno()).st_size
        file.seek(max(len(head), size - _TAIL_BYTES))
        return (head + file.read()).decode("utf-8", "replace")


def _as_command(argv: str) -> str:
    """Return an argv, which the log holds as JSON, as one would type it."""
    import shlex

    with suppress(ValueError):
        if isinstance(words := read_json(argv), list):
            return shlex.join(map(str, words))
    return argv
