"""What `respond`, `vote`, `synthesize`, `context` and `heartbeat` do, for both parsers.

Source: `cli.md` sections 2 and 3.
"""

from __future__ import annotations

import os
import sys

from council.cli.edge import Output, read_text
from council.core.errors import ConflictError
from council.operations.place import Place, conversation_name, open_place, speaker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from council.operations.conversations.recording import Answered
    from council.operations.conversations.stating import Stated

NOTHING_OPEN = "nothing is open; start with: council convene"


def _place(values: dict[str, Any]) -> Place:
    return open_place(values["root"], values["now"], os.environ)


def respond(values: dict[str, Any], *, only: str = "") -> Output:
    """Record an answer and say what became of it; `only` refuses all other phases."""
    from council.operations.conversations.answer import respond as record

    place = _place(values)
    place.refuse_newer_settings()
    name = conversation_name(place, values["name"])
    agent = speaker(place, values["as_"])
    stated = _stated(values)
    given = values["text"] or values["file"] or stated is None
    most = place.settings.max_text_bytes
    answered = record(
        place,
        name,
        agent,
        read_text(values["text"], values["file"], most) if given else "",
        task=values["task"] or place.environ.get("COUNCIL_TASK_ID", ""),
        status=values.get("status") or "responded",
        token=place.environ.get("COUNCIL_TOKEN", ""),
        only=only,
        stated=stated,
    )
    where = f"{answered.phase} (round {answered.tour})"
    said = {
        "recorded": f"{agent}: recorded for {where}",
        "already-recorded": f"{agent}: this answer for {where} stands already",
        "late": f"{agent}: {where} is closed; the text is kept among the late contributions",
    }[answered.outcome]
    if answered.moved_to:
        said += f"; {answered.moved_from} is over, {answered.moved_to} begins"
        if answered.moved_from == answered.moved_to:
            said = f"{agent}: recorded for {where}; the next round begins"
    if answered.finished:
        said += "; finished, the minutes are on their way"
    late = answered.outcome == "late"
    return Output(
        record=answered.to_record(),
        text="" if late else said,
        notes=[f"council: {said}"] if late else _lacks(answered),
        code=ConflictError.exit_code if late else 0,
    )


def _stated(values: dict[str, Any]) -> Stated | None:
    """Return what was stated by options, None when nothing was."""
    if not (values.get("position") or values.get("stance") or values.get("confidence")):
        return None
    from council.operations.conversations.stating import stated

    return stated(values["position"], values["stance"], values["confidence"])


_IN_DOUBT = (
    "it raises a blocker, which stays open, so it counts as RESPONDED and not as AGREED;"
    " answer once more: without a blocker to agree, without --status agreed to keep it"
)


def _lacks(answered: Answered) -> list[str]:
    """Return what people are told of an answer whose form lacks something."""
    if not answered.faults:
        return [f"council: {_IN_DOUBT}"] if answered.asked_again else []
    from council.core.deliberation.fault_words import fault_in_words

    notes = [
        "council: in the answer: "
        + fault_in_words(one["code"], "en", agent=one["agent"], found=one["found"])
        for one in answered.faults
    ]
    if answered.asked_again:
        notes.append("council: it is kept; answer once more with what is missing")
    return notes


def synthesize(values: dict[str, Any]) -> Output:
    """Record the synthesis."""
    return respond(values, only="synthesis")


def vote(values: dict[str, Any]) -> Output:
    """Record a vote."""
    return respond(values, only="vote")


def context(values: dict[str, Any]) -> Output:
    """Show what an agent may see now."""
    from council.operations.conversations.context import context as see

    place = _place(values)
    name = conversation_name(place, values["name"])
    seen = see(place, name, speaker(place, values["as_"]), values["lang"], parts=values["json"])
    return Output(record=seen.parts, text=seen.prompt, verbatim=True)


def heartbeat(values: dict[str, Any]) -> Output:
    """Advance what is due, wake who is owed a start."""
    from council.operations.heartbeat import beat, wait

    place = _place(values)
    if not values["dry_run"]:
        place.refuse_newer_settings()
    only = values["name"]
    if values["wait"]:
        from council.core.times import parse_duration

        report, timed_out = wait(place, only, parse_duration(values["wait"]), _tell)
    else:
        report, timed_out = beat(place, only, dry_run=values["dry_run"]), False
    if values["reply_token"] and not report.changed and not report.errors:
        record = report.to_record() if values["json"] else None
        return Output(record=record, text=values["reply_token"])
    notes = [f"council: {name}: {error.message}" for name, error in report.errors]
    return Output(
        record=report.to_record() if values["json"] else None,
        text="" if values["json"] else report.to_text() or ("" if report.errors else NOTHING_OPEN),
        notes=notes,
        code=7 if timed_out else 3 if report.errors else 0,
    )


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


RUN: dict[str, Callable[[dict[str, Any]], Output]] = {
    "respond": respond,
    "synthesize": synthesize,
    "vote": vote,
    "context": context,
    "heartbeat": heartbeat,
}
