"""The commands that send messages and read what was sent: `msg send|answer|inbox|log|resolve`.

Source: `cli.md` section 2, PR-303, PR-304, PR-309, PR-553, PR-577, PR-586.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output, read_text
from council.cli.parameters import Json, Lang, Now, Root, do, help_text, listed, whole_number
from council.core.errors import InvalidInputError, RefusedError, UsageError
from council.core.times import parse_duration
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.protocol.sent import Sent

_REFUSED = RefusedError.exit_code
_MOST_LETTERS = 1000
_LONGEST_WAIT = "1h"

File = Annotated[str, typer.Option("--file", metavar="PATH", help="Take the text from a file.")]


def send(
    message: Annotated[
        str,
        typer.Argument(
            metavar="[MESSAGE|-]", help="A line of V2 to V5; with -, one from standard input."
        ),
    ] = "",
    user: Annotated[
        str, typer.Option("--user", metavar="TEXT", help="A request of yours, in plain words.")
    ] = "",
    file: File = "",
    complexity: Annotated[
        str,
        typer.Option(
            "--complexity",
            metavar="simple|medium|complex|unlimited",
            help="The budget: 100, 500, 2000 tokens, or none.",
        ),
    ] = "",
    caps: Annotated[
        str, typer.Option("--caps", metavar="A,B", help="The capabilities that it needs.")
    ] = "",
    priority: Annotated[
        str, typer.Option("--priority", metavar="P0|P1|P2", help="How urgent it is; else P1.")
    ] = "",
    ctx: Annotated[
        str, typer.Option("--ctx", metavar="ID", help="An open context that it belongs to.")
    ] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the answer, and print it.")
    ] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="Wait no longer; else 1h.")
    ] = "",
    lang: Lang = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Send a line to whom it names, or a request of yours to the orchestrator."""

    def command(place: Place) -> Output:
        from council.core.protocol.exchange import DEFAULT_COMPLEXITY
        from council.operations.conversations.answer import wake_next
        from council.operations.protocol.asking import request
        from council.operations.protocol.sending import send as send_line

        most = place.settings.max_text_bytes
        longest = parse_duration(timeout or _LONGEST_WAIT)
        options = (complexity, caps, priority, ctx, lang)
        if message and (user or any(options)):
            raise UsageError("a line says all that itself", "give a line, or --user TEXT")
        if message:
            text = read_text(message, "", most).rstrip("\r\n")
            done = send_line(place, text)
        else:
            text = read_text(user, file, most)
            done = request(
                place,
                text.strip(),
                caps=tuple(listed(caps)),
                complexity=complexity or DEFAULT_COMPLEXITY,
                priority=priority or "P1",
                context=ctx,
                lang=lang,
            )
        if done.outcome == "refused" or not done.context:
            return _sent(done)
        if wait:
            return _waited(place, done, longest.total_seconds())
        wake_next(place)
        return _sent(done)

    do("msg send", json, root, now, command)


def _sent(done: Sent) -> Output:
    from council.core.plain_text import plain_line

    where = "/".join(one for one in (done.context, done.task) if one) or "registry"
    said = f"{where}: {done.outcome}"
    if done.to:
        said += f" to {', '.join(done.to)}"
    if done.code or done.reason:
        said += f", {' '.join(one for one in (done.code, done.reason) if one)}"
    lines = [plain_line(said), *(plain_line(f"  {one}") for one in done.answers)]
    code = _REFUSED if done.outcome == "refused" else 0
    return Output(record=done.to_record(), text="\n".join(lines), code=code)


def _waited(place: Place, done: Sent, longest_s: float) -> Output:
    from council.core.plain_text import plain_line, plain_text
    from council.operations.protocol.waiting import answer_to

    def tell(line: str) -> None:
        sys.stderr.write(plain_line(f"council: {line}") + "\n")

    answer, is_done = answer_to(place, done.context, done.task, longest_s, tell)
    record = {**done.to_record(), "answer": answer, "done": is_done}
    return Output(record=record, text=plain_text(answer), code=0 if is_done else _REFUSED)


def answer(
    where: Annotated[
        str, typer.Argument(metavar="TASK", help="What asks: S1/T1, T1, or the context S1.")
    ],
    choice: Annotated[
        str,
        typer.Argument(metavar="CHOICE", help="An option: its number, opt2, or its words."),
    ] = "",
    file: File = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Answer a question that a task asks you."""

    def command(place: Place) -> Output:
        return answered(place, where, read_text(choice, file, place.settings.max_text_bytes))

    do("msg answer", json, root, now, command)


def answered(place: Place, where: str, choice: str) -> Output:
    """Give the user's answer to a task, for `msg answer` and `say --to`."""
    from council.operations.conversations.answer import wake_next
    from council.operations.protocol.asking import choose

    done = choose(place, where, choice)
    wake_next(place)
    return _sent(done)


def resolve(
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="A line, or a reference: #CTX:key, #REF:art_…, #MSG:M3."
        ),
    ],
    ctx: Annotated[
        str, typer.Option("--ctx", metavar="ID", help="The context; else that of the line or run.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Print what the references in a line mean: values, results, messages, artifacts."""

    def command(place: Place) -> Output:
        from council.operations.protocol.payloads import resolved_in

        given = read_text(text, "", place.settings.max_text_bytes)
        found = resolved_in(place, given, ctx)
        record = {"references": [{"reference": name, "text": told} for name, told in found]}
        only = found[0][1] if len(found) == 1 else ""
        lines = [f"{name}\n{told}\n" for name, told in found]
        return Output(record=record, text=only or "\n".join(lines), verbatim=True)

    do("msg resolve", json, root, now, command)


def inbox(
    as_: Annotated[
        str,
        typer.Option(
            "--as", metavar="ID", help="An id such as W1, an agent, or User; else COUNCIL_AGENT."
        ),
    ] = "",
    ctx: Annotated[
        str, typer.Option("--ctx", metavar="ID", help="Only what belongs to this context.")
    ] = "",
    last: Annotated[
        str, typer.Option("--last", metavar="N", help="Only so many of the newest.")
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Show what was sent to somebody: P0 first, then the oldest."""

    def command(place: Place) -> Output:
        from council.core.plain_text import indented, plain_line
        from council.operations.protocol.mail import inbox as letters_of

        letters = letters_of(
            place, as_, context=ctx, last=whole_number(last, "--last", _MOST_LETTERS)
        )
        lines = [
            f"{plain_line(f'{one.priority} {one.at} {one.sender}')}: {indented(one.text, '    ')}"
            for one in letters
        ]
        record = {"letters": [one.to_record() for one in letters]}
        return Output(record=record, text="\n".join(lines) or "nothing was sent")

    do("msg inbox", json, root, now, command)


def log(
    since: Annotated[
        str, typer.Option("--since", metavar="DAY", help="From this day on, as 2026-02-08.")
    ] = "",
    ctx: Annotated[str, typer.Option("--ctx", metavar="ID", help="Only this context.")] = "",
    task: Annotated[str, typer.Option("--task", metavar="ID", help="Only this task.")] = "",
    level: Annotated[
        str,
        typer.Option("--level", metavar="INFO|WARN|ERROR", help="Only these and graver ones."),
    ] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Print the log of messages, one line each: time, level, context, task, route, type."""

    def command(place: Place) -> Output:
        from council.core.plain_text import plain_line
        from council.operations.protocol.mail import log_lines

        found = list(log_lines(place, since=since, context=ctx, task=task, level=level))
        record = {"lines": [_parts(day, line) for day, line in found]}
        return Output(record=record, text="\n".join(plain_line(line) for _, line in found))

    do("msg log", json, root, now, command)


def _parts(day: str, line: str) -> dict[str, str]:
    """Return a line of the log as JSON; one that somebody wrote by hand has no parts."""
    from council.wire.log_lines import parse_log_line

    try:
        return {"day": day, "line": line, **parse_log_line(line)}
    except InvalidInputError:
        return {"day": day, "line": line}


_EXAMPLES: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "msg send": (
        send,
        (
            'council msg send --user "Latest news on AI" --caps web_search --wait',
            'council msg send "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"',
        ),
    ),
    "msg answer": (answer, ("council msg answer S1/T1 2",)),
    "msg inbox": (inbox, ("council msg inbox --as W1", "council msg inbox --as User")),
    "msg resolve": (resolve, ('council msg resolve "#CTX:request" --ctx S1',)),
    "msg log": (log, ("council msg log --ctx S1",)),
}
COMMANDS: dict[str, Callable[..., None]] = {name: one for name, (one, _) in _EXAMPLES.items()}
for _function, _examples in _EXAMPLES.values():
    _function.__doc__ = help_text(_function.__doc__ or "", *_examples)
