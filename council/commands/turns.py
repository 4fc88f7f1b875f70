"""What `turn begin` and `turn end` do: hooks call them at every turn.

Source: DG-073 to DG-080, `cli.md` sections 2 and 3.
"""

from __future__ import annotations

from council.commands.options import whole_number
from council.commands.output import Output, read_text
from council.core.errors import InvalidInputError, UsageError
from council.core.reading import read_json
from council.core.rooms.channels import ChannelStep
from council.core.rooms.relay import Allowed, Completed, allowed, completed
from council.operations.place import Place, speaker


def run_of(place: Place, channel: str, run_id: str) -> str:
    """Return the run that a turn is of: the one given, else ours.

    Raises:
        UsageError: No channel is named.
        InvalidInputError: It can be none.
    """
    if not channel:
        raise UsageError("which channel?", "give its id; see: council channel list")
    run = run_id or place.environ.get("COUNCIL_TASK_ID", "")
    if len(run) > 200 or any(not one.isprintable() or one == " " for one in run):
        raise InvalidInputError(f"not a run id: {run[:60]!r}", "give one word")
    return run


def turn_begin(place: Place, channel: str, as_: str, run_id: str) -> Output:
    """Answer whether an agent may speak now."""
    from council.operations.rooms.turns import begin as ask

    run, agent = run_of(place, channel, run_id), speaker(place, as_)
    if place.is_slave:
        from council.operations.rooms.relaying import check_turn

        return told_of_begin(agent, check_turn(place, channel, agent, run))
    step = ask(place, channel, agent, run)
    output = told_of_begin(agent, allowed(step), _floor(step))
    output.record = output.record.as_json("allowed speaker:currentSpeaker? model~ reason~")
    return output


def told_of_begin(agent: str, told: Allowed, floor: str = "") -> Output:
    """Say whether an agent may speak, and why not; `floor` says more of who has the floor."""
    why = f" ({': '.join(filter(None, [told.reason, told.hint]))})" if told.reason else ""
    said = f"{agent}: speak" if told.allowed else f"{agent}: stay silent{why}"
    known = floor or told.speaker
    return Output(record=told, text=_plain(f"{said}; floor: {known}" if known else said))


def _plain(said: str) -> str:
    """Return a line that a terminal may be given; words of a master may be of any kind."""
    if said.isprintable():
        return said
    from council.core.plain_text import plain_line  # which a turn here does without

    return plain_line(said)


def _floor(step: ChannelStep) -> str:
    from council.store.rooms.channel_page import floor_line

    return floor_line(step.channel)


def turn_end(
    place: Place,
    channel: str,
    as_: str,
    run_id: str,
    messages: str,
    text: str,
    post: bool,
    anchor: str,
) -> Output:
    """Note that a turn has ended."""
    from council.operations.rooms.turns import end as finish

    run, agent = run_of(place, channel, run_id), speaker(place, as_)
    said = _final_text(place, messages, text)
    if place.is_slave:
        from council.operations.rooms.relaying import told_of, turn_complete

        told = told_of(place, said, whole_number(anchor, "--anchor", 2**53))
        posted = said if post and not told.empty else ""
        return told_of_end(agent, turn_complete(place, channel, agent, run, told, text=posted))
    step = finish(place, channel, agent, run, said, post=post)
    output = told_of_end(agent, completed(step), _floor(step))
    output.record = output.record.as_json("outcome speaker:currentSpeaker? cycle dormant reason~")
    return output


def told_of_end(agent: str, done: Completed, floor: str = "") -> Output:
    """Say what the end of a turn came to; `floor` says more of who has the floor."""
    why = f" ({done.reason})" if done.reason else ""
    said = f"{agent}: {done.outcome}{why}; floor: {floor or done.speaker or 'nobody'}"
    return Output(record=done, text=_plain(said))


def _final_text(place: Place, messages: str, text: str) -> str:
    """Return the final text of a run; with neither option it said nothing."""
    if messages and text:
        raise UsageError("the text was given twice", "give --messages or --text")
    most = place.settings.max_text_bytes
    if text:
        return read_text(text, "", most)
    if not messages:
        return ""
    from council.core.rooms.floor import final_text

    # A run holds the whole talk of its agent, not only what is said in the end.
    data = read_text("", messages, 64 * most)
    try:
        said = final_text(read_json(data))
    except ValueError:
        raise InvalidInputError(
            "the messages of the run are no JSON", "give the list `event.messages`"
        ) from None
    if len(said.encode("utf-8", "replace")) > most:
        raise InvalidInputError(f"the text is longer than {most} bytes", "shorten it")
    return said
