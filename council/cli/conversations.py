"""The commands on conversations.

Source: `cli.md` section 2 (documents 000 and 003).
"""

from __future__ import annotations

import os

from council.cli.edge import Output, read_text
from council.cli.parameters import (
    AS,
    JSON,
    LANG,
    NAME,
    NAME_OPTION,
    REVISION,
    argument,
    command,
    flag,
    option,
)
from council.core.errors import InvalidStateError, UsageError
from council.core.times import parse_duration, render_duration, render_instant
from council.operations.place import Place, conversation_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.steer import Steered

TEXT = argument("[TEXT|-]", "The text, or - for stdin.")
FILE = option("--file", "PATH", "Read the text from a file.")


@command("inject", 'council inject "The budget is fixed." --to henry')
def inject(
    place: Place,
    message: str = TEXT,
    file: str = FILE,
    to: str = option("--to", "ID", "This agent is to answer it; all read it."),
    as_: str = AS,
    name: str = NAME_OPTION,
) -> Output:
    """Add guidance that the agents read in their next prompt."""
    from council.operations.conversations.steer import inject as add

    text = read_text(message, file, place.settings.max_text_bytes)
    step = add(place, conversation_name(place, name), text, author=as_, target=to)
    return _steered(step, f"guidance added; {_readers(to)}")


def _readers(target: str) -> str:
    return "all will read it" + (f", {target} is to answer it" if target else "")


@command("say", 'council say "Mind the deadline." --to active')
def say(
    place: Place,
    message: str = TEXT,
    file: str = FILE,
    to: str = option("--to", "TARGET", "A conversation, a channel, an agent, or a task S1/T1."),
    as_: str = AS,
    name: str = NAME_OPTION,
) -> Output:
    """Say something as a person: to a conversation, a channel, an agent, or a task."""
    from council.operations.conversations.steer import Steered
    from council.operations.conversations.steer import say as tell

    text = read_text(message, file, place.settings.max_text_bytes)
    if to[:1] in ("S", "T"):  # conversations, channels and agents have small letters
        from council.cli.message_sending import answered

        return answered(place, to, text)
    done, whom = tell(place, text, to=to, name=name, author=as_)
    if isinstance(done, Steered):
        return _steered(done, f"said; {_readers(whom)}")
    from council.cli.room_views import posted_output

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


@command("stop", "council stop")
def stop(place: Place, name: str = NAME) -> Output:
    """End the rounds now; the vote or the synthesis is next."""
    from council.operations.conversations.steer import stop as end_rounds

    step = end_rounds(place, conversation_name(place, name))
    return _steered(step, f"stopped; {step.state.phase} (round {step.state.tour})")


@command("pause", "council pause")
def pause(place: Place, name: str = NAME) -> Output:
    """Let a conversation stand still: nobody is woken, no deadline passes."""
    from council.operations.conversations.steer import pause as stand_still

    return _steered(stand_still(place, conversation_name(place, name)), "paused")


@command("resume", "council resume")
def resume(
    place: Place,
    all_: bool = flag("--all", "End the halt of the whole workspace."),
    name: str = NAME,
) -> Output:
    """Let a paused conversation go on; its deadline moves by the pause."""
    if all_:
        from council.cli.running import resume_all

        if name:
            raise UsageError("--all and --name contradict each other", "choose one")
        return resume_all(place)
    from council.operations.conversations.steer import resume as go_on

    step = go_on(place, conversation_name(place, name))
    return _steered(step, f"goes on until {render_instant(step.state.timeout_at)}")


@command("cancel", "council cancel")
def cancel(place: Place, name: str = NAME) -> Output:
    """End a conversation without a synthesis; what was said goes to the minutes."""
    from council.operations.conversations.steer import cancel as end

    step, path = end(place, conversation_name(place, name))
    return _steered(step, "cancelled", path)


@command("extend", "council extend 30m")
def extend(
    place: Place,
    duration: str = argument("DURATION", "Such as 30m or 1h."),
    name: str = NAME_OPTION,
) -> Output:
    """Move the deadline of the phase under way."""
    from council.operations.conversations.steer import extend as move

    by = parse_duration(duration)
    step = move(place, conversation_name(place, name), by)
    deadline = render_instant(step.state.timeout_at)
    return _steered(step, f"{render_duration(by)} more, until {deadline}")


@command("archive", "council archive")
def archive(place: Place, name: str = NAME) -> Output:
    """End a conversation now and write its minutes."""
    from council.operations.conversations.steer import archive as finish

    step, path = finish(place, conversation_name(place, name))
    return _steered(step, "archived", path)


@command("show", "council show --json", reads=True)
def show(
    place: Place,
    format: str = option("--format", "md|json|debate-session", "How to print it.", "md"),
    consensus: bool = flag("--consensus", "Only where the consensus stands, by round."),
    open_questions: bool = flag("--open-questions", "Only what was asked and is not answered."),
    name: str = NAME,
    json: bool = JSON,
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
        from council.operations.conversations import judging

        if consensus:
            stands = judging.standing(found.state)
            return Output(record=stands.to_record(), text=stands.to_text())
        record = judging.questions_record(found.state)
        return Output(record=record, text=judging.questions_text(found.state))
    if json or format != "md":
        session = format == "debate-session"
        record = debate_session(place, found.state) if session else whole(found.state)
        from json import dumps

        return Output(record=record, text=dumps(record, ensure_ascii=False, indent=2))
    return Output(text=as_text(markdown_view(text_of(found))))


@command("list", "council list --archived --search weather", reads=True)
def list_(
    place: Place,
    archived: bool = flag("--archived", "List the minutes instead of what is open."),
    search: str = option("--search", "WORDS", "Only those that hold all words."),
) -> Output:
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


@command("history", "council history", reads=True)
def history(place: Place, name: str = NAME) -> Output:
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


@command("restore", "council restore 4")
def restore(place: Place, revision: int = REVISION, name: str = NAME) -> Output:
    """Put a conversation back as it was at a revision, as a new revision."""
    from council.operations.conversations.steer import restore as put_back

    step = put_back(place, conversation_name(place, name), revision)
    return _steered(step, f"is again as at revision {revision} (now {step.state.rev})")


@command("adopt", "council adopt")
def adopt(place: Place, name: str = NAME) -> Output:
    """Take the file as it stands, changed contributions included, as a new revision."""
    from council.operations.conversations.steer import adopt as take

    step = take(place, conversation_name(place, name))
    return _steered(step, f"taken as it stands (revision {step.state.rev})")


@command("check", "council check", reads=True)
def check(place: Place, name: str = NAME) -> Output:
    """Say whether the file is well formed, was edited, and agents set their status."""
    from council.operations.conversations.editing import check as look

    checked = look(place, conversation_name(place, name))
    said = [f"{checked.name}: well formed", *checked.notices]
    return Output(
        record=checked.to_record(),
        text="" if checked.faults else "\n".join(said),
        notes=[f"council: {fault}" for fault in checked.faults],
        code=InvalidStateError.exit_code if checked.faults else 0,
    )


@command("prompt", "council prompt turn --as henry --lang fr", reads=True)
def prompt(
    place: Place,
    kind: str = argument(
        "KIND", "Which prompt: turn, vote, synthesis, orchestrator, worker or research."
    ),
    as_: str = AS,
    name: str = NAME,
    lang: str = LANG,
) -> Output:
    """Print the prompt an agent would get now."""
    if kind in ("orchestrator", "worker", "research"):
        from council.operations.protocol.protocol_prompts import protocol_prompt_of

        text = protocol_prompt_of(place, kind, who=as_, lang=lang)
    else:
        from council.operations.conversations.prompting import prompt_of

        text = prompt_of(place, kind, name=name, agent=as_, lang=lang)
    return Output(record={"kind": kind, "prompt": text}, text=text, verbatim=True)
