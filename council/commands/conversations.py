"""The commands that show, judge and steer conversations, and those for the file itself.

Source: `cli.md` section 2 (documents 000 and 003), DL-091 to DL-094, DL-104.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from council.commands.drawing import drawn, markdown_text, page_width, rows_text, text_of, width_of
from council.commands.options import listed, whole_number
from council.commands.output import Output, read_text
from council.core.errors import InvalidStateError, NotFoundError, UsageError
from council.core.plain_text import plain_line
from council.core.times import parse_duration, render_duration, render_instant
from council.operations.conversations import recalling, sections, steer
from council.operations.heartbeat import gate
from council.operations.place import Place, conversation_name, login

if TYPE_CHECKING:
    from council.core.conversations.conversation import Conversation

_WIDEST = 100


def show(
    place: Place,
    format: str,
    consensus: bool,
    open_questions: bool,
    archived: bool,
    section: str,
    at: int | None,
    name: str,
    json: bool,
    values: dict[str, Any],
) -> Output:
    """Print a conversation: for people, or as JSON with all its texts."""
    from council.operations.view import debate_session
    from council.operations.view import shown as whole

    if format not in ("md", "json", "debate-session", "html"):
        raise UsageError(f"no format {format!r}", "choose md, json, debate-session or html")
    notes = []
    if at is None:
        found = recalling.recall(place, name, archived=archived)
    else:
        from council.operations.conversations.replay import replayed

        past = replayed(place, name)
        found = past.recalled_at(at)
        if past.revision(at).hole:
            notes = [f"revision {at} is rebuilt from what was said"]
    if section:
        part = sections.section_of(found, section)
        return Output(record=part, text=markdown_text(part.text), notes=notes)
    if consensus or open_questions:
        return _judged(found.state, consensus=consensus)
    if format == "html" and not json:
        return Output(text=_html(place, found), verbatim=True)
    if json or format not in ("md", "html"):
        session = format == "debate-session"
        record = debate_session(place, found.state) if session else whole(found.state)
        if not session:
            record |= recalling.paged(record, values["after"], values["last"])
        from json import dumps

        return Output(record=record, text=dumps(record, ensure_ascii=False, indent=2))
    text = sections.text_of(found)
    if found.state.usage and not found.archived:  # minutes say it themselves
        from council.operations.reporting.usage import used_line
        from council.store.texts import words_of

        words = words_of(found.state.lang, "minutes")
        used = used_line(found.state.usage, str, found.state.lang)
        text = f"{text.rstrip()}\n\n**{words['used']}**{words['colon']}{used}\n"
    return Output(text=markdown_text(text), notes=notes)


def _judged(state: Conversation, *, consensus: bool) -> Output:
    """Return where the consensus stands, else the questions that nobody has answered."""
    from council.operations.conversations import judging

    if consensus:
        stands = judging.standing(state)
        return Output(record=stands, text=stands.to_text())
    return Output(record=judging.questions_record(state), text=judging.questions_text(state))


def _html(place: Place, found: recalling.Recalled) -> str:
    """Return one file that shows a conversation in a browser; what draws it stands above us."""
    from importlib import import_module

    from council.commands.integrating import require

    require("web", "the page")
    text: str = import_module("council.web.readings.minutes").html_file(place, found)
    return text


def list_(
    place: Place,
    archived: bool,
    search: str,
    outcome: str,
    agent: str,
    since: str,
    until: str,
    last: int | None,
    after: str,
) -> Output:
    """List open conversations, or with --archived the minutes."""
    from council.core.ids import folded

    if archived:
        from council.operations.conversations import listing

        wanted = listing.Wanted(
            search=search, outcome=outcome, agent=agent, since=since, until=until
        )
        found = listing.archived(place, wanted, after=after, most=last)
        counted = f"{len(found)} found" if search else ""
        text = _minutes_text(found) if found else "no minutes found"
        return Output(record=found, text=text, notes=[counted] if found and counted else [])
    if outcome or since or until:
        raise UsageError("--outcome, --since and --until go with --archived", "add --archived")
    from council.operations import view

    overview = view.status(place)
    words = search.lower().split()
    standings = [
        one
        for one in overview.standings
        if all(word in f"{one.state.topic} {one.state.brief}".lower() for word in words)
        and (not agent or folded(agent) in one.state.participants)
    ]
    rows = [
        (state.name, state.phase, state.tour, ", ".join(one.due_agents), state.topic)
        for one in standings
        for state in [one.state]
    ]
    table = rows_text(("name", "phase", "round", "waiting for", "topic"), rows)
    notes = [f"{bad}: {error.message}" for bad, error in overview.errors]
    return Output(record=standings, text=table if rows else "nothing is open", notes=notes)


def _minutes_text(found: list[dict[str, Any]]) -> str:
    """Return the list of minutes; where a row does not fit, its parts have lines of their own."""
    columns = ["ended", "outcome", "title", "decision", "who", "minutes"]
    rows = [
        [
            *(_ended(one), text_of(one.get("outcome")), text_of(one.get("title"))),
            *(text_of(one["decision"]), ", ".join(map(text_of, _people(one)))),
            plain_line(os.path.relpath(one["path"])),
        ]
        for one in found
    ]
    if any("hits" in one for one in found):
        columns.insert(-1, "where")
        for one, row in zip(found, rows, strict=True):
            row.insert(-1, f"“{text_of(one['snippet'])}” ({one['hits']})")
    widths = [max(map(width_of, column)) for column in zip(columns, *rows, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) <= page_width():
        return rows_text(tuple(columns), rows)
    # A path that is copied is wanted in one piece, wherever the terminal breaks it.
    lines = [
        line
        for row in rows
        for line in (
            ("  ".join(row[:3]), ""),
            *((f"  {part}", "") for part in row[3:-1] if part),
            (f"  {row[-1]}", "path"),
        )
    ]
    return drawn(*lines)


def _people(one: dict[str, Any]) -> list[Any]:
    people = one.get("participants")
    return people if isinstance(people, list) else []


def _ended(one: dict[str, Any]) -> str:
    """Return when minutes say that it ended; `~` marks the time of the file."""
    at, source = str(one["endedAt"]), one.get("endedFrom")
    day, minute = at[: len("2026-02-08")], at[len("2026-02-08T") : len("2026-02-08T20:00")]
    if source == "date":
        return day
    return f"{'~' if source == 'file' else ''}{day} {minute}"


def history(place: Place, name: str) -> Output:
    """List the revisions of a conversation: who changed what, when."""
    from council.operations.conversations.replay import replayed
    from council.operations.reporting.event_words import revision_words

    found = replayed(place, name)
    rows = [
        (one.rev, one.at, one.actor, revision_words(one.events, one.op_id, one.actor, "en") + hole)
        for one in found.revisions
        for hole in [f" ({one.hole})" if one.hole.startswith("purged") else ""]
    ]
    notes = [f"{found.missing} revisions cannot be shown any more"] if found.missing else []
    text = rows_text(("rev", "at", "by", "what"), rows)
    return Output(record=found.revisions, text=text, notes=notes)


def check(place: Place, name: str) -> Output:
    """Say whether the file is well formed, was edited, and agents set their status."""
    from council.operations.conversations.editing import check as look

    name = conversation_name(place, name)
    place.conversations.refuse_veiled(name)
    checked = look(place, name)
    if checked.faults:
        code = InvalidStateError.exit_code
        return Output(record=checked, notes=checked.faults, code=code)
    said = [f"{checked.name}: well formed", *checked.notices]
    return Output(record=checked, text="\n".join(said))


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
    return Output(record=found, text=found.to_text())


def metrics(place: Place) -> Output:
    """Summarise all conversations: outcomes, rounds and costs, by procedure."""
    from council.operations.conversations.metrics import metrics as gather

    found = gather(place)
    notes = [f"{path}: {reason}" for path, reason in found.skipped]
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return Output(record=found, text=found.to_text(width), notes=notes)


def rate(place: Place, which: str, stars: str, as_: str) -> Output:
    """Say how useful the synthesis of a conversation was; kept with its minutes."""
    from council.operations.conversations.metrics import rate as add

    if not (stars.isascii() and stars.isdigit()):
        raise UsageError(f"{stars!r} is not a rating", "give whole stars from 1 to 5")
    rated = add(place, which, int(stars), as_ or login(place))
    many = f"{len(rated.ratings)} ratings" if len(rated.ratings) > 1 else "1 rating"
    said = f"{rated.path}: {rated.stars} of 5; mean {rated.mean:.1f} of {many}"
    return Output(record=rated, text=said)


_TELL_IT_TO_WAIT = (
    "nothing was changed (an editor that opens in the background must be told to wait, "
    'such as EDITOR="code --wait")'
)


def edit(place: Place, name: str, json: bool) -> Output:
    """Open the file in your editor, then take in at once what you saved."""
    from council.operations.conversations.editing import edit as take_part
    from council.operations.conversations.editing import sentences

    words = _editor()
    wanted = conversation_name(place, name)
    taken = take_part(place, wanted, lambda path: _opened(words, path, quiet=json))
    lines = sentences(taken.events)
    if taken.changed and not lines:
        lines.append("taken in: your text")
    lines += [f"kept apart: {path}" for path in taken.kept]
    text = "\n".join(lines) or _TELL_IT_TO_WAIT
    if taken.changed:
        text = f"{wanted}: revision {taken.state.rev}\n{text}"
    if not taken.code:
        return Output(record=taken, text=text)
    ended = f"the editor ended with {taken.code}; what it saved counts"
    return Output(record=taken, text=text, notes=[ended], code=1)


def _editor() -> list[str]:
    """Return the words that start the person's editor.

    Raises:
        UsageError: There is none.
    """
    for variable in ("VISUAL", "EDITOR"):
        given = os.environ.get(variable, "").strip()
        if given:
            try:
                return shlex.split(given)
            except ValueError as error:
                raise UsageError(f"{variable} is no command: {error}", "mend its quotes") from None
    raise UsageError(
        "no editor is set",
        "set VISUAL or EDITOR, such as EDITOR=vim; or open the file yourself: it is plain Markdown",
    )


def _opened(words: list[str], path: str, *, quiet: bool) -> int:
    """Run the editor on a file and return its exit code; Ctrl-C is the editor's while it runs.

    Raises:
        NotFoundError: There is no such program.
    """
    import subprocess

    def ignore(_number: int, _frame: FrameType | None) -> None:
        return

    # A handler, unlike SIG_IGN, is not handed down: the editor still gets its own signals.
    before = {one: signal.signal(one, ignore) for one in (signal.SIGINT, signal.SIGQUIT)}
    try:
        done = subprocess.run([*words, path], stdout=sys.stderr if quiet else None, check=False)
    except OSError as error:
        raise NotFoundError(
            f"cannot start the editor {words[0]!r}: {error.strerror}", "set VISUAL or EDITOR"
        ) from None
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    return done.returncode


def diff(place: Place, revision: int, other: int | None, whole: bool, name: str) -> Output:
    """Show what differs between two revisions, or a revision and the file as it is."""
    from council.operations.conversations.editing import difference

    found = difference(place, name, revision, other, whole=whole)
    if found.lines:
        text = _coloured(found.lines)
    elif found.hidden:
        text = "only marks and the state block differ; to see them: --whole"
    else:
        text = "no difference"
    return Output(record=found, text=text)


def _coloured(lines: list[str]) -> str:
    if not sys.stdout.isatty():
        return "\n".join(lines)

    heads = ("---", "+++")
    styles = ["bold" if one.startswith(heads) else _STYLES.get(one[:1], "") for one in lines]
    return drawn(*zip(lines, styles, strict=True)).rstrip("\n")


_STYLES = {"+": "green", "-": "red", "@": "cyan"}


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
    if to[:1] in ("S", "T") and to[1:2].isdecimal():  # a context or a task
        from council.commands.message_sending import answered

        return answered(place, to, text)
    done, whom = steer.say(place, text, to=to, name=name, author=as_)
    if isinstance(done, steer.Steered):
        return _steered(done, f"said; {_readers(whom)}")
    from council.commands.rooms import posted_output

    return posted_output(done.channel, done.message, done.outcome, done.answer, done.unnoticed)


def _steered(step: steer.Steered, said: str, minutes: str = "") -> Output:
    record = step.to_record()
    text = f"{step.state.name}: {step.stood or said}"
    if minutes:
        record["minutes"] = minutes
        text += f"; minutes in {minutes}"
    return Output(record=record, text=text)


def stop(place: Place, name: str) -> Output:
    """End the rounds now; the vote or the synthesis is next."""
    step = steer.stop(place, conversation_name(place, name))
    return _steered(step, f"stopped; {step.state.phase} (round {step.state.tour})")


def pause(place: Place, all: bool, reason: str, name: str) -> Output:
    """Let a conversation stand still: no agent is woken, no deadline passes."""
    _refuse_both(all, name)
    if all:
        done = gate.halt(place, reason)
        said = "halted: no run is started" if done.changed else "it was halted already"
        if done.running:
            said += f"; {done.running} under way will end by themselves"
        if place.engine is not None:
            said += "; other machines follow once they have brought this"
        return Output(record=done, text=f"{said} (go on with: council resume --all)")
    if reason:
        raise UsageError("--reason goes with --all", "leave it out, or halt the whole workspace")
    return _steered(steer.pause(place, conversation_name(place, name)), "paused")


def resume(place: Place, all: bool, name: str) -> Output:
    """Let a paused conversation go on; its deadline moves by the pause."""
    _refuse_both(all, name)
    if all:
        done = gate.resume_all(place)
        said = "the halt is over; who waited is served" if done.changed else "nothing was halted"
        return Output(record=done, text=said)
    step = steer.resume(place, conversation_name(place, name))
    return _steered(step, f"goes on until {render_instant(step.state.timeout_at)}")


def _refuse_both(all: bool, name: str) -> None:
    if all and name:
        raise UsageError("--all and --name contradict each other", "choose one")


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
