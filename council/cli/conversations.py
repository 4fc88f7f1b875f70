"""The commands on conversations.

Source: `cli.md` section 2 (documents 000 and 003).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output, read_text
from council.cli.parameters import As, Json, Lang, Name, Now, Revision, Root, do, help_text
from council.core.errors import InvalidStateError, UsageError
from council.core.times import parse_duration, render_duration, render_instant
from council.operations.place import Place, conversation_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.steer import Steered

Text = Annotated[str, typer.Argument(metavar="[TEXT|-]", help="The text, or - for stdin.")]
File = Annotated[str, typer.Option("--file", metavar="PATH", help="Read the text from a file.")]


def inject(
    message: Text = "",
    file: File = "",
    to: Annotated[
        str, typer.Option("--to", metavar="ID", help="This agent is to answer it; all read it.")
    ] = "",
    as_: As = "",
    name: Name = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Add guidance that the agents read in their next prompt."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import inject as add

        text = read_text(message, file, place.settings.max_text_bytes)
        step = add(place, conversation_name(place, name), text, author=as_, target=to)
        return _steered(step, f"guidance added; {_readers(to)}")

    do("inject", json, root, now, command)


def _readers(target: str) -> str:
    return "all will read it" + (f", {target} is to answer it" if target else "")


def say(
    message: Text = "",
    file: File = "",
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="TARGET", help="A conversation, a channel, an agent, or a task S1/T1."
        ),
    ] = "",
    as_: As = "",
    name: Name = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Say something as a person: to a conversation, a channel, an agent, or a task."""

    def command(place: Place) -> Output:
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

    do("say", json, root, now, command)


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


def stop(name: Name = "", root: Root = "", now: Now = "", json: Json = False) -> None:
    """End the rounds now; the vote or the synthesis is next."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import stop as end_rounds

        step = end_rounds(place, conversation_name(place, name))
        return _steered(step, f"stopped; {step.state.phase} (round {step.state.tour})")

    do("stop", json, root, now, command)


def pause(name: Name = "", root: Root = "", now: Now = "", json: Json = False) -> None:
    """Let a conversation stand still: nobody is woken, no deadline passes."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import pause as stand_still

        return _steered(stand_still(place, conversation_name(place, name)), "paused")

    do("pause", json, root, now, command)


def resume(
    all_: Annotated[
        bool, typer.Option("--all", help="End the halt of the whole workspace.")
    ] = False,
    name: Name = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Let a paused conversation go on; its deadline moves by the pause."""

    def command(place: Place) -> Output:
        if all_:
            from council.cli.running import resume_all

            if name:
                raise UsageError("--all and --name contradict each other", "choose one")
            return resume_all(place)
        from council.operations.conversations.steer import resume as go_on

        step = go_on(place, conversation_name(place, name))
        return _steered(step, f"goes on until {render_instant(step.state.timeout_at)}")

    do("resume", json, root, now, command)


def cancel(name: Name = "", root: Root = "", now: Now = "", json: Json = False) -> None:
    """End a conversation without a synthesis; what was said goes to the minutes."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import cancel as end

        step, path = end(place, conversation_name(place, name))
        return _steered(step, "cancelled", path)

    do("cancel", json, root, now, command)


def extend(
    duration: Annotated[str, typer.Argument(metavar="DURATION", help="Such as 30m or 1h.")],
    name: Name = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Move the deadline of the phase under way."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import extend as move

        by = parse_duration(duration)
        step = move(place, conversation_name(place, name), by)
        deadline = render_instant(step.state.timeout_at)
        return _steered(step, f"{render_duration(by)} more, until {deadline}")

    do("extend", json, root, now, command)


def archive(name: Name = "", root: Root = "", now: Now = "", json: Json = False) -> None:
    """End a conversation now and write its minutes."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import archive as finish

        step, path = finish(place, conversation_name(place, name))
        return _steered(step, "archived", path)

    do("archive", json, root, now, command)


def show(
    shown: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Which conversation; else --name.")
    ] = "",
    format: Annotated[
        str, typer.Option("--format", metavar="md|json|debate-session", help="How to print it.")
    ] = "md",
    consensus: Annotated[
        bool, typer.Option("--consensus", help="Only where the consensus stands, by round.")
    ] = False,
    open_questions: Annotated[
        bool, typer.Option("--open-questions", help="Only what was asked and is not answered.")
    ] = False,
    name: Name = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Print a conversation: for people, or as JSON with all its texts."""

    def command(place: Place) -> Output:
        from council.cli.views import as_text, markdown_view
        from council.operations.conversations.recalling import recall, text_of
        from council.operations.view import debate_session
        from council.operations.view import shown as whole

        if format not in ("md", "json", "debate-session"):
            raise UsageError(f"no format {format!r}", "choose md, json or debate-session")
        found = recall(place, shown or name)
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

    do("show", json, root, now, command)


def list_(
    archived: Annotated[
        bool, typer.Option("--archived", help="List the minutes instead of what is open.")
    ] = False,
    search: Annotated[
        str, typer.Option("--search", metavar="WORDS", help="Only those that hold all words.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """List open conversations, or with --archived the minutes."""

    def command(place: Place) -> Output:
        from council.cli.views import as_text, minutes_view, rows_view
        from council.operations import view

        if archived:
            found = view.archived(place, search)
            listed = [
                (
                    one.get("date"),
                    one.get("outcome"),
                    one.get("title"),
                    os.path.relpath(one["path"]),
                )
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

    do("list", json, root, now, command)


def history(name: Name = "", root: Root = "", now: Now = "", json: Json = False) -> None:
    """List the revisions of a conversation: who changed what, when."""

    def command(place: Place) -> Output:
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

    do("history", json, root, now, command)


def restore(
    revision: Revision, name: Name = "", root: Root = "", now: Now = "", json: Json = False
) -> None:
    """Put a conversation back as it was at a revision, as a new revision."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import restore as put_back

        step = put_back(place, conversation_name(place, name), revision)
        return _steered(step, f"is again as at revision {revision} (now {step.state.rev})")

    do("restore", json, root, now, command)


def adopt(name: Name = "", root: Root = "", now: Now = "", json: Json = False) -> None:
    """Take the file as it stands, changed contributions included, as a new revision."""

    def command(place: Place) -> Output:
        from council.operations.conversations.steer import adopt as take

        step = take(place, conversation_name(place, name))
        return _steered(step, f"taken as it stands (revision {step.state.rev})")

    do("adopt", json, root, now, command)


def check(name: Name = "", root: Root = "", now: Now = "", json: Json = False) -> None:
    """Say whether the file is well formed, was edited, and agents set their status."""

    def command(place: Place) -> Output:
        from council.operations.conversations.checking import check as look

        checked = look(place, conversation_name(place, name))
        said = [f"{checked.name}: well formed", *checked.notices]
        return Output(
            record=checked.to_record(),
            text="" if checked.faults else "\n".join(said),
            notes=[f"council: {fault}" for fault in checked.faults],
            code=InvalidStateError.exit_code if checked.faults else 0,
        )

    do("check", json, root, now, command)


def prompt(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="Which prompt: turn, vote, synthesis, orchestrator, worker or research.",
        ),
    ],
    as_: As = "",
    name: Name = "",
    lang: Lang = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Print the prompt an agent would get now."""

    def command(place: Place) -> Output:
        if kind in ("orchestrator", "worker", "research"):
            from council.operations.protocol.protocol_prompts import protocol_prompt_of

            text = protocol_prompt_of(place, kind, who=as_, lang=lang)
        else:
            from council.operations.conversations.prompting import prompt_of

            text = prompt_of(place, kind, name=name, agent=as_, lang=lang)
        return Output(record={"kind": kind, "prompt": text}, text=text, verbatim=True)

    do("prompt", json, root, now, command)


_EXAMPLES: dict[str, tuple[Callable[..., None], str]] = {
    "inject": (inject, 'council inject "The budget is fixed." --to henry'),
    "say": (say, 'council say "Mind the deadline." --to active'),
    "stop": (stop, "council stop"),
    "pause": (pause, "council pause"),
    "resume": (resume, "council resume"),
    "cancel": (cancel, "council cancel"),
    "extend": (extend, "council extend 30m"),
    "show": (show, "council show --json"),
    "list": (list_, "council list --archived --search weather"),
    "history": (history, "council history"),
    "restore": (restore, "council restore 4"),
    "adopt": (adopt, "council adopt"),
    "check": (check, "council check"),
    "archive": (archive, "council archive"),
    "prompt": (prompt, "council prompt turn --as henry --lang fr"),
}
COMMANDS: dict[str, Callable[..., None]] = {name: one for name, (one, _) in _EXAMPLES.items()}
for _function, _example in _EXAMPLES.values():
    _function.__doc__ = help_text(_function.__doc__ or "", _example)
