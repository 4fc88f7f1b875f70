"""The commands on conversations.

Source: `cli.md` section 2 (documents 000 and 003).
"""

from __future__ import annotations

import os
import shutil

from council.cli.edge import Output, read_text
from council.cli.options import listed, whole_number
from council.core.errors import InvalidStateError, UsageError
from council.core.times import parse_duration, render_duration, render_instant
from council.operations.place import Place, conversation_name

_WIDEST = 100

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.steer import Steered


def inject(place: Place, message: str, file: str, to: str, as_: str, name: str) -> Output:
    """Add guidance that the agents read in their next prompt."""
    from council.operations.conversations.steer import inject as add

    text = read_text(message, file, place.settings.max_text_bytes)
    step = add(place, conversation_name(place, name), text, author=as_, target=to)
    return _steered(step, f"guidance added; {_readers(to)}")


def _readers(target: str) -> str:
    return "all will read it" + (f", {target} is to answer it" if target else "")


def say(place: Place, message: str, file: str, to: str, as_: str, name: str) -> Output:
    """Say something as a person: to a conversation, a channel, an agent, or a task."""
    from council.operations.conversations.steer import Steered
    from council.operations.conversations.steer import say as tell

    text = read_text(message, file, place.settings.max_text_bytes)
    if not to:
        from council.operations.conversations.steer import inject as add

        step = add(place, conversation_name(place, name), text, author=as_)
        return _steered(step, f"said; {_readers('')}")
    if to[:1] in ("S", "T"):  # conversations, channels and agents have small letters
        from council.cli.message_sending import answered

        return answered(place, to, text)
    done, whom = tell(place, text, to=to, name=name, author=as_)
    if isinstance(done, Steered):
        return _steered(done, f"said; {_readers(whom)}")
    from council.cli.rooms import posted_output

    return posted_output(done.channel, done.message, done.outcome, done.answer, done.unnoticed)


def _steered(step: Steered, said: str, minutes: str = "") -> Output:
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
    from council.operations.conversations.steer import stop as end_rounds

    step = end_rounds(place, conversation_name(place, name))
    return _steered(step, f"stopped; {step.state.phase} (round {step.state.tour})")


def pause(place: Place, all: bool, reason: str, name: str) -> Output:
    """Let a conversation stand still: nobody is woken, no deadline passes."""
    _refuse_both(all, name)
    if all:
        return _halted(place, reason)
    if reason:
        raise UsageError("--reason goes with --all", "leave it out, or halt the whole workspace")
    from council.operations.conversations.steer import pause as stand_still

    return _steered(stand_still(place, conversation_name(place, name)), "paused")


def resume(place: Place, all: bool, name: str) -> Output:
    """Let a paused conversation go on; its deadline moves by the pause."""
    _refuse_both(all, name)
    if all:
        return _resumed(place)
    from council.operations.conversations.steer import resume as go_on

    step = go_on(place, conversation_name(place, name))
    return _steered(step, f"goes on until {render_instant(step.state.timeout_at)}")


def _refuse_both(all: bool, name: str) -> None:
    if all and name:
        raise UsageError("--all and --name contradict each other", "choose one")


def _halted(place: Place, reason: str) -> Output:
    """Start no more runs anywhere in a workspace, for `pause --all`."""
    from council.operations.halting import halt as stop_starting

    done = stop_starting(place, reason)
    said = "halted: no run is started" if done.changed else "it was halted already"
    if done.running:
        said += f"; {done.running} under way will end by themselves"
    return Output(record=done.to_record(), text=f"{said} (go on with: council resume --all)")


def _resumed(place: Place) -> Output:
    """End the halt of a whole workspace, for `resume --all`."""
    from council.operations.halting import resume_all as start_again

    done = start_again(place)
    said = "the halt is over; who waited is served" if done.changed else "nothing was halted"
    return Output(record=done.to_record(), text=said)


def cancel(place: Place, name: str) -> Output:
    """End a conversation without a synthesis; what was said goes to the minutes."""
    from council.operations.conversations.steer import cancel as end

    step, path = end(place, conversation_name(place, name))
    return _steered(step, "cancelled", path)


def extend(place: Place, duration: str, name: str) -> Output:
    """Move the deadline of the phase under way."""
    from council.operations.conversations.steer import extend as move

    by = parse_duration(duration)
    step = move(place, conversation_name(place, name), by)
    deadline = render_instant(step.state.timeout_at)
    return _steered(step, f"{render_duration(by)} more, until {deadline}")


def archive(place: Place, name: str) -> Output:
    """End a conversation now and write its minutes."""
    from council.operations.conversations.steer import archive as finish

    step, path = finish(place, conversation_name(place, name))
    return _steered(step, "archived", path)


def show(
    place: Place, format: str, consensus: bool, open_questions: bool, name: str, json: bool
) -> Output:
    """Print a conversation: for people, or as JSON with all its texts."""
    from council.cli.views import as_text, markdown_view
    from council.operations.conversations.recalling import recall, text_of
    from council.operations.view import debate_session
    from council.operations.view import shown as whole

    if format not in ("md", "json", "debate-session"):
        raise UsageError(f"no format {format!r}", "choose md, json or debate-session")
    found = recall(place, name)
    if consensus or open_questions:
        from council.operations.conversations import agreement

        if consensus:
            stands = agreement.standing(found.state)
            return Output(record=stands.to_record(), text=stands.to_text())
        record = agreement.questions_record(found.state)
        return Output(record=record, text=agreement.questions_text(found.state))
    if json or format != "md":
        session = format == "debate-session"
        record = debate_session(place, found.state) if session else whole(found.state)
        from json import dumps

        return Output(record=record, text=dumps(record, ensure_ascii=False, indent=2))
    return Output(text=as_text(markdown_view(text_of(found))))


def list_(place: Place, archived: bool, search: str) -> Output:
    """List open conversations, or with --archived the minutes."""
    from council.cli.views import as_text, minutes_view, rows_view
    from council.operations import view

    if archived:
        found = view.archived(place, search)
        listed = [
            (one.get("date"), one.get("outcome"), one.get("title"), os.path.relpath(one["path"]))
            for one in found
        ]
        table = minutes_view(listed)
        return Output(record=found, text=as_text(table) if found else "no minutes found")
    overview = view.status(place)
    words = search.lower().split()
    standings = [
        one
        for one in overview.standings
        if all(word in f"{one.state.topic} {one.state.brief}".lower() for word in words)
    ]
    rows = [
        (one.state.name, one.state.phase, one.state.tour, ", ".join(one.owing), one.state.topic)
        for one in standings
    ]
    table = rows_view(("name", "phase", "round", "waiting for", "topic"), rows)
    notes = [f"council: {bad}: {error.message}" for bad, error in overview.errors]
    return Output(
        record=[one.to_record() for one in standings],
        text=as_text(table) if rows else "nothing is open",
        notes=notes,
    )


def history(place: Place, name: str) -> Output:
    """List the revisions of a conversation: who changed what, when."""
    from council.cli.views import as_text, rows_view
    from council.operations.conversations.recalling import history_of

    _, revisions = history_of(place, conversation_name(place, name))
    rows = [
        (one.rev, one.at, one.actor, ", ".join(event["type"] for event in one.events) + hole)
        for one in revisions
        for hole in [f" ({one.hole})" if one.hole.startswith("purged") else ""]
    ]
    table = rows_view(("rev", "at", "by", "what"), rows)
    return Output(record=[one.to_record() for one in revisions], text=as_text(table))


def restore(place: Place, revision: int, name: str) -> Output:
    """Put a conversation back as it was at a revision, as a new revision."""
    from council.operations.conversations.steer import restore as put_back

    step = put_back(place, conversation_name(place, name), revision)
    return _steered(step, f"is again as at revision {revision} (now {step.state.rev})")


def adopt(place: Place, name: str) -> Output:
    """Take the file as it stands, changed contributions included, as a new revision."""
    from council.operations.conversations.steer import adopt as take

    step = take(place, conversation_name(place, name))
    return _steered(step, f"taken as it stands (revision {step.state.rev})")


def check(place: Place, name: str) -> Output:
    """Say whether the file is well formed, was edited, and agents set their status."""
    from council.operations.conversations.checking import check as look

    checked = look(place, conversation_name(place, name))
    said = [f"{checked.name}: well formed", *checked.notices]
    return Output(
        record=checked.to_record(),
        text="" if checked.faults else "\n".join(said),
        notes=[f"council: {fault}" for fault in checked.faults],
        code=InvalidStateError.exit_code if checked.faults else 0,
    )


def what_if(
    place: Place, without: list[str], threshold: str, blind: bool, without_flips: bool, name: str
) -> Output:
    """Judge a deliberation again with something changed; say what its verdict hangs on."""
    from council.operations.conversations.judging import what_if as judge_again

    found = judge_again(
        place,
        name,
        without=listed(*without),
        threshold=whole_number(threshold, "--threshold"),
        blind=blind,
        without_flips=without_flips,
    )
    return Output(record=found.to_record(), text=found.to_text())


def metrics(place: Place) -> Output:
    """Tell how conversations went: over all minutes, and by procedure."""
    from council.operations.conversations.metrics import metrics as gather

    found = gather(place)
    notes = [f"council: {path}: {reason}" for path, reason in found.skipped]
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return Output(record=found.to_record(), text=found.to_text(width), notes=notes)


def rate(place: Place, which: str, stars: str, as_: str) -> Output:
    """Say how useful the synthesis of a conversation was; kept with its minutes."""
    from council.operations.conversations.rating import rate as add

    if not (stars.isascii() and stars.isdigit()):
        raise UsageError(f"{stars!r} is not a rating", "give whole stars from 1 to 5")
    rated = add(place, which, int(stars), as_ or _login(place))
    many = f"{len(rated.ratings)} ratings" if len(rated.ratings) > 1 else "1 rating"
    said = f"{rated.path}: {rated.stars} of 5; mean {rated.mean:.1f} of {many}"
    return Output(record=rated.to_record(), text=said)


def _login(place: Place) -> str:
    """Return the name of the person at the keyboard."""
    import getpass

    try:
        return place.environ.get("COUNCIL_AGENT") or getpass.getuser()
    except (OSError, KeyError):  # no such user, as in some containers
        return "user"
