"""The commands that speak to conversations and steer them.

Source: `cli.md` section 2 (documents 000 and 003).
"""

from __future__ import annotations

from council.cli.edge import Output, read_text
from council.core.errors import UsageError
from council.core.times import parse_duration, render_duration, render_instant
from council.operations.conversations import steer
from council.operations.heartbeat import gate
from council.operations.place import Place, conversation_name


def inject(place: Place, message: str, file: str, to: str, as_: str, name: str) -> Output:
    """Add guidance that the agents read in their next prompt."""
    text = read_text(message, file, place.settings.max_text_bytes)
    step = steer.inject(place, conversation_name(place, name), text, author=as_, target=to)
    return _steered(step, f"guidance added; {_readers(to)}")


def _readers(target: str) -> str:
    return "all will read it" + (f", {target} is to answer it" if target else "")


def say(place: Place, message: str, file: str, to: str, as_: str, name: str) -> Output:
    """Say something as a person: to a conversation, a channel, an agent, or a task."""
    text = read_text(message, file, place.settings.max_text_bytes)
    if not to:
        step = steer.inject(place, conversation_name(place, name), text, author=as_)
        return _steered(step, f"said; {_readers('')}")
    if to[:1] in ("S", "T"):  # conversations, channels and agents have small letters
        from council.cli.message_sending import answered

        return answered(place, to, text)
    done, whom = steer.say(place, text, to=to, name=name, author=as_)
    if isinstance(done, steer.Steered):
        return _steered(done, f"said; {_readers(whom)}")
    from council.cli.rooms import posted_output

    return posted_output(done.channel, done.message, done.outcome, done.answer, done.unnoticed)


def _steered(step: steer.Steered, said: str, minutes: str = "") -> Output:
    state = step.state
    record = {
        **state.as_json("name conversation_id status phase tour timeout_at"),
        "paused": state.paused_at is not None,
        "changed": step.changed,
    }
    if step.stood:
        record["outcome"] = "already-recorded"
    text = f"{state.name}: {step.stood or said}"
    if minutes:
        record["minutes"] = minutes
        text += f"; minutes in {minutes}"
    return Output(record=record, text=text)


def stop(place: Place, name: str) -> Output:
    """End the rounds now; the vote or the synthesis is next."""
    step = steer.stop(place, conversation_name(place, name))
    return _steered(step, f"stopped; {step.state.phase} (round {step.state.tour})")


def pause(place: Place, all: bool, reason: str, name: str) -> Output:
    """Let a conversation stand still: nobody is woken, no deadline passes."""
    _refuse_both(all, name)
    if all:
        return _halted(place, reason)
    if reason:
        raise UsageError("--reason goes with --all", "leave it out, or halt the whole workspace")
    return _steered(steer.pause(place, conversation_name(place, name)), "paused")


def resume(place: Place, all: bool, name: str) -> Output:
    """Let a paused conversation go on; its deadline moves by the pause."""
    _refuse_both(all, name)
    if all:
        return _resumed(place)
    step = steer.resume(place, conversation_name(place, name))
    return _steered(step, f"goes on until {render_instant(step.state.timeout_at)}")


def _refuse_both(all: bool, name: str) -> None:
    if all and name:
        raise UsageError("--all and --name contradict each other", "choose one")


def _halted(place: Place, reason: str) -> Output:
    """Start no more runs anywhere in a workspace, for `pause --all`."""
    done = gate.halt(place, reason)
    said = "halted: no run is started" if done.changed else "it was halted already"
    if done.running:
        said += f"; {done.running} under way will end by themselves"
    return Output(record=done.to_record(), text=f"{said} (go on with: council resume --all)")


def _resumed(place: Place) -> Output:
    """End the halt of a whole workspace, for `resume --all`."""
    done = gate.resume_all(place)
    said = "the halt is over; who waited is served" if done.changed else "nothing was halted"
    return Output(record=done.to_record(), text=said)


def cancel(place: Place, name: str) -> Output:
    """End a conversation without a synthesis; what was said goes to the minutes."""
    step, path = steer.cancel(place, conversation_name(place, name))
    return _steered(step, "cancelled", path)


def extend(place: Place, duration: str, name: str) -> Output:
    """Move the deadline of the phase under way."""
    by = parse_duration(duration)
    step = steer.extend(place, conversation_name(place, name), by)
    deadline = render_instant(step.state.timeout_at)
    return _steered(step, f"{render_duration(by)} more, until {deadline}")


def archive(place: Place, name: str) -> Output:
    """End a conversation now and write its minutes."""
    step, path = steer.archive(place, conversation_name(place, name))
    return _steered(step, "archived", path)


def restore(place: Place, revision: int, name: str) -> Output:
    """Put a conversation back as it was at a revision, as a new revision."""
    step = steer.restore(place, conversation_name(place, name), revision)
    return _steered(step, f"is again as at revision {revision} (now {step.state.rev})")


def adopt(place: Place, name: str) -> Output:
    """Take the file as it stands, changed contributions included, as a new revision."""
    step = steer.adopt(place, conversation_name(place, name))
    return _steered(step, f"taken as it stands (revision {step.state.rev})")
