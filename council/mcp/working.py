"""What a call of the server comes to, in the process that was forked for it (`council.working`).

Source: IO-004, OP-001, OP-008.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, InvalidInputError
from council.core.plain_text import json_text
from council.core.trust import permit
from council.mcp.reading import READINGS
from council.mcp.tools import TOOLS, Given, Told
from council.operations.place import Place, open_place
from council.store import outbox
from council.store.files import explained
from council.working.process import Answer, carry_out_calls


def carried_out(request: Given) -> Answer:
    """Carry out one call; what is refused is an answer as well.

    `request` has the `call`, a tool or one of `READINGS`, and its `arguments`.
    """
    place: Place | None = None
    try:
        place = open_place("", "", os.environ)
        place.freshen()
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
    return Answer(record=told.record, text=told.text, error=error)


def _done(place: Place, name: str, given: Given) -> Told:
    if reading := READINGS.get(name):
        return Told(record=reading(place, given))
    tool = TOOLS[name]
    permit(tool.verb, in_run=place.is_in_run)
    if tool.reads:
        return tool.do(place, given)
    place.begin_writing()
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


if __name__ == "__main__":
    carry_out_calls(carried_out)
