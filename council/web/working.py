"""What a request of the web comes to, in the process that was forked for it (`council.working`).

It is a command of the table, or a reading that gathers what one page shows.

Source: DL-061 to DL-065, OP-008, SC-002, P8-005.
"""

from __future__ import annotations

import os
from typing import Any

from council.commands.options import command
from council.commands.output import Output, carried_out
from council.core.errors import ConflictError, CouncilError, StaleError
from council.core.plain_text import json_text
from council.core.trust import permit
from council.operations.conversations.editing import difference
from council.operations.place import is_inside, open_place
from council.store import outbox
from council.store.files import explained
from council.web.readings import READINGS
from council.working.process import Answer, Request, carry_out_calls

_AS_TOLD = {one.exit_code: one for one in (ConflictError,)}


def answered(request: Request) -> Answer:
    """Carry out one request.

    `request` has the `call`, the name of a command or one of `READINGS`; its `arguments`; the
    variables `environ` of a run that shows who it is; and the revision `expected` by `If-Match`.
    """
    environ = {**os.environ, **request.get("environ", {})}
    try:
        output = _done(request["call"], request["arguments"], environ, request.get("expected"))
    except StaleError as stale:
        return Answer(error={**_refusal(stale), "difference": _difference(stale)})
    except CouncilError as refused:
        return Answer(error=_refusal(refused))
    except OSError as failed:
        if not failed.filename:
            raise
        return Answer(error=_refusal(explained(failed, "use", str(failed.filename))))
    record = output.as_json("record")["record"]
    error = None
    if kind := _AS_TOLD.get(output.code):
        error = {**_refusal(kind("; ".join(output.notes) or output.text)), "record": record}
    return Answer(record=record, text=output.text, error=error)


def _refusal(error: CouncilError) -> dict[str, Any]:
    return {**error.to_record(), "status": error.http_status}


def _difference(stale: StaleError) -> list[str]:
    """Return the lines by which a conversation differs from the revision that was expected."""
    try:
        place = open_place("", "", os.environ)
        return difference(place, stale.name, stale.expected, None).lines
    except CouncilError:  # that revision was pruned, or never was
        return []


def _done(
    name: str, arguments: dict[str, Any], environ: dict[str, str], expected: int | None
) -> Output:
    given = {**arguments}
    operation = given.pop("operation_id", "")
    if reading := READINGS.get(name):
        permit(reading.verb, in_run=is_inside(environ))
        return Output(record=reading.read(open_place("", "", environ), given))
    permit(name, in_run=is_inside(environ))
    found = command(name)
    values = {one.name: [] if one.many else one.default for one in found.options}
    values |= {**given, **found.fixed, "json": True}
    # Without an id of its own a request counts once until its caller has the answer.
    outbox.asked([name, operation or json_text(given)])

    def expect(place: Any) -> None:
        if expected is not None:
            place.conversations.expected = expected

    output = carried_out(found, values, environ, expect)
    return output if isinstance(output, Output) else Output()


if __name__ == "__main__":
    carry_out_calls(answered)
