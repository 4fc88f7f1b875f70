"""What a request of the web comes to, in the process that was forked for it (`council.working`).

It is a command of the table, or a reading that gathers what one page shows. A request that shows
who it is by the token of a run may do what a command may inside that run.

Source: DL-061 to DL-065, OP-008, SC-002, P8-005.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr
from io import StringIO
from tempfile import TemporaryFile
from typing import Any

from council.commands.options import command, unset
from council.commands.output import Output, carried_out
from council.core.conversations.anonymity import as_shown
from council.core.errors import (
    ConflictError,
    CouncilError,
    InvalidInputError,
    NotFoundError,
    NotShownError,
    RefusedError,
    StaleError,
    UsageError,
)
from council.core.plain_text import json_text
from council.core.trust import permit
from council.operations.conversations.editing import difference
from council.operations.conversations.recalling import name_of
from council.operations.place import Place, is_shown_run, open_place, own_agent
from council.store import kept_answers, outbox
from council.store.files import explained
from council.web.readings import READINGS
from council.web.readings.hiding import Hiding
from council.working.process import Answer, Request, carry_out_calls

# What an exit code is where the command answers all the same. Of a command that finds faults in
# what it looks at (3), that was cut short (7) or whose agent failed (1) the answer says so itself.
_REFUSALS = {one.exit_code: one for one in (ConflictError, NotFoundError, RefusedError)}
# What it is where the answer is an `error`.
_ERRORS = {one.exit_code: one for one in (UsageError, InvalidInputError)} | _REFUSALS


def answered(request: Request) -> Answer:
    """Carry out one request.

    `request` has the `call`, the name of a command or one of `READINGS`, and its `arguments`,
    and besides, if there are any, the variables `environ` of a run that shows who it is, the
    revision `expected` by `If-Match`, the text `typed` in. `file` and `raw` say that it
    has a standard input and output of its own; `raw` that what is printed goes there as bytes.
    """
    os.environ.update(request.get("environ") or {})
    try:
        _enter(os.environ["COUNCIL_ROOT"])
        told = _answered(request)
    except StaleError as stale:
        told = {"error": {**_refusal(stale), "difference": _difference(stale)}}
    except CouncilError as refused:
        told = {"error": _refusal(refused)}
    except OSError as failed:
        if not failed.filename:
            raise
        told = {"error": _refusal(explained(failed, "use", str(failed.filename)))}
    return Answer(**told)


def _enter(root: str) -> None:
    try:
        os.chdir(root)
    except FileNotFoundError:
        raise NotFoundError(
            f"the workspace {root} is not there any more", "put it back, or end this server"
        ) from None


def _refusal(error: CouncilError) -> dict[str, Any]:
    return {**error.to_record(), "status": error.http_status}


def _difference(stale: StaleError) -> Any:
    """Return the lines by which something differs from the revision that was expected."""
    if stale.difference is not None:
        return stale.difference
    try:
        place = open_place("", "", os.environ)
        state = place.conversations.read(stale.name)
        if as_shown(state, "") is not state:  # its file names who said what
            return []
        return difference(place, stale.name, stale.expected, None).lines
    except CouncilError:  # that revision was pruned, or never was
        return []


def _answered(request: Request) -> dict[str, Any]:
    """Carry a request out, or find what it was answered with before (OP-008)."""
    name, given = request["call"], {**request["arguments"]}
    place = open_place("", "", os.environ)
    place.freshen()
    reading, verb = READINGS.get(name, (None, name))
    permit(verb, in_run=place.is_in_run)
    if place.is_in_run:
        _require_shown(place)
    # A run is refused by each command what names who is who, and its context has pseudonyms.
    veil = None if name == "context" or place.is_in_run else Hiding(place)
    is_reading = request.get("is_reading", False)
    if is_reading:
        place.paths.veil = veil
    operation = given.pop("operation_id", "")
    asked = json_text([name, given, request.get("typed"), request.get("expected")])
    # Without an id of its own a request counts once until its caller has the answer.
    outbox.asked([name, operation or asked])

    def done() -> dict[str, Any]:
        if reading:
            if not command(verb).reads:
                place.begin_writing()
            return {"record": reading(place, given)}
        return _commanded(place, request, given)

    if is_reading or not operation:
        told = done()
    else:
        who = os.environ.get("COUNCIL_TASK_ID", "")
        key = f"{who} {operation}"
        told = kept_answers.answered_once(
            place.paths.outbox, key, asked, lambda: Answer(**done()).to_record()
        )
        outbox.told()
    return {**told, "record": veil.record(told["record"])} if veil and "record" in told else told


def _require_shown(place: Place) -> None:
    """Let a run pass that shows by its token that it is under way.

    Raises:
        NotShownError: It is not the token of that run.
        RefusedError: Its task is over.

    Source: SC-002.
    """
    try:
        agent = own_agent(place)
    except CouncilError as error:
        raise NotShownError(error.message, "send its token and its task as it was given") from None
    try:
        is_under_way = is_shown_run(place, agent)
    except CouncilError:  # there is nothing left of what it was started for
        is_under_way = False
    if not is_under_way:
        raise RefusedError("the task of this run is over", "its token has ended with it")


def _commanded(place: Place, request: Request, given: dict[str, Any]) -> dict[str, Any]:
    """Call a command; what it prints as it goes is its record, a line of JSON each."""
    found, is_raw = command(request["call"]), request.get("raw", False)
    values = {**unset(found), **given, **found.fixed, "json": not is_raw}
    if values.get("name"):
        values["name"] = name_of(place, values["name"])
    if not (is_raw or request.get("file")):
        # What stands for standard input on a command line is a text like any other here.
        _use(0, (request.get("typed") or "-").encode())
        _use(1)

    def expect(opened: Place) -> None:
        opened.expected = opened.conversations.expected = request.get("expected")
        opened.paths.veil = place.paths.veil

    with redirect_stderr(StringIO()):  # what it tells people beside
        output = carried_out(found, values, os.environ, expect)
    sys.stdout.flush()
    if isinstance(output, Output):
        return _told(output, _REFUSALS)
    if is_raw:
        return {"record": None}
    with open(1, "rb", closefd=False) as printed:
        printed.seek(0)
        lines = [json.loads(line) for line in printed]
    first = next(iter(lines), None)
    is_many = request.get("lists") and not (first or {}).get("error")
    return _told(Output(record=lines if is_many else first, code=output or 0), {})


def _told(output: Output, refusals: Mapping[int, type[CouncilError]]) -> dict[str, Any]:
    """Return what a command answers, as a refusal where that is what its exit code means."""
    record = output.as_json("record")["record"]
    error = record.get("error") if isinstance(record, dict) else None
    kind = (_ERRORS if error else refusals).get(output.code)
    if kind is None:
        return {"record": record, "text": output.text, "code": output.code}
    said = _refusal(kind("; ".join(output.notes) or output.text))
    rest = {name: one for name, one in record.items() if name != "error"}
    return {"error": {**said, **(error or {}), **({"record": rest} if rest else {})}}


def _use(standard: int, content: bytes = b"") -> None:
    """Let a file with that content be standard input (0) or output (1)."""
    with TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        os.dup2(file.fileno(), standard)


if __name__ == "__main__":
    carry_out_calls(answered)
