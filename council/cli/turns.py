"""What `turn begin` and `turn end` do, for both parsers: hooks call them at every turn.

Source: DG-073 to DG-080, `cli.md` sections 2 and 3.
"""

from __future__ import annotations

from council.cli.edge import Output, open_workspace, read_text
from council.core.errors import InvalidInputError, UsageError
from council.core.nesting import read_json
from council.core.rooms.channels import is_asleep
from council.operations.place import Place, speaker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from council.core.rooms.channels import ChannelStep


def _place(values: dict[str, Any]) -> Place:
    place = open_workspace(values["root"], values["now"])
    if not values["channel"]:
        raise UsageError("which channel?", "give its id; see: council channel list")
    place.refuse_newer_settings()
    return place


def _run_of(place: Place, values: dict[str, Any]) -> str:
    run = str(values["run_id"] or place.environ.get("COUNCIL_TASK_ID", ""))
    if len(run) > 200 or any(not one.isprintable() or one == " " for one in run):
        raise InvalidInputError(f"not a run id: {run[:60]!r}", "give one word")
    return run


def begin(values: dict[str, Any]) -> Output:
    """Answer whether an agent may speak now."""
    from council.operations.rooms.turns import begin as ask

    place = _place(values)
    agent = speaker(place, values["as_"])
    step = ask(place, values["channel"], agent, _run_of(place, values))
    record: dict[str, Any] = {
        "allowed": step.allowed,
        "currentSpeaker": step.channel.speaker or None,
    }
    if step.model:
        record["model"] = step.model
    if step.reason:
        record["reason"] = step.reason
    said = f"{agent}: speak" if step.allowed else f"{agent}: stay silent ({step.reason})"
    return Output(record=record, text=f"{said}; {_floor(step)}")


def _floor(step: ChannelStep) -> str:
    from council.store.rooms.channel_page import floor_line

    return f"floor: {floor_line(step.channel)}"


def end(values: dict[str, Any]) -> Output:
    """Note that a turn has ended."""
    from council.operations.rooms.turns import end as finish

    place = _place(values)
    agent = speaker(place, values["as_"])
    run, text = _run_of(place, values), _final_text(place, values)
    step = finish(place, values["channel"], agent, run, text, post=values["post"])
    channel = step.channel
    outcome = step.outcome
    if outcome == "awaiting-delivery" and channel.delivery is None:
        outcome = "advanced"
    record: dict[str, Any] = {
        "outcome": outcome,
        "currentSpeaker": channel.speaker or None,
        "cycle": channel.cycle,
        "dormant": is_asleep(channel),
    }
    if step.reason:
        record["reason"] = step.reason
    why = f" ({step.reason})" if step.reason else ""
    return Output(record=record, text=f"{agent}: {outcome}{why}; {_floor(step)}")


def _final_text(place: Place, values: dict[str, Any]) -> str:
    """Return the final text of a run; with neither option it said nothing."""
    if values["messages"] and values["text"]:
        raise UsageError("the text was given twice", "give --messages or --text")
    most = place.settings.max_text_bytes
    if values["text"]:
        return read_text(values["text"], "", most)
    if not values["messages"]:
        return ""
    from council.core.rooms.floor import final_text

    # A run holds the whole talk of its agent, not only what is said in the end.
    data = read_text("", values["messages"], 64 * most)
    try:
        messages = read_json(data)
    except ValueError:
        raise InvalidInputError(
            "the messages of the run are no JSON", "give the list `event.messages`"
        ) from None
    text = final_text(messages)
    if len(text.encode("utf-8", "replace")) > most:
        raise InvalidInputError(f"the text is longer than {most} bytes", "shorten it")
    return text


RUN: dict[str, Callable[[dict[str, Any]], Output]] = {"turn begin": begin, "turn end": end}
