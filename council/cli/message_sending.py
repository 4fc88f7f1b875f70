"""The commands that send messages and read what was sent: `msg send|answer|inbox|log|resolve`.

Source: `cli.md` section 2, PR-303, PR-304, PR-309, PR-553, PR-577, PR-586.
"""

from __future__ import annotations

from council.cli.edge import Output, read_text
from council.cli.parameters import LANG, argument, command, flag, listed, option, whole_number
from council.core.errors import CouncilError, InvalidInputError, RefusedError, UsageError
from council.core.times import parse_duration
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.protocol.exchanging import Sent

_REFUSED = RefusedError.exit_code
_FAILED = CouncilError.exit_code
_MOST_LETTERS = 1000
_LONGEST_WAIT = "1h"

FILE = option("--file", "PATH", "Take the text from a file.")


@command(
    "msg send",
    'council msg send --user "Latest news on AI" --caps web_search --wait',
    'council msg send "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"',
)
def send(
    place: Place,
    message: str = argument("[MESSAGE|-]", "A line of V2 to V5; with -, one from standard input."),
    user: str = option("--user", "TEXT", "A request of yours, in plain words."),
    file: str = FILE,
    complexity: str = option(
        "--complexity",
        "simple|medium|complex|unlimited",
        "The budget: 100, 500, 2000 tokens, or none.",
    ),
    caps: str = option("--caps", "A,B", "The capabilities that it needs."),
    priority: str = option("--priority", "P0|P1|P2", "How urgent it is; else P1."),
    ctx: str = option("--ctx", "ID", "An open context that it belongs to."),
    wait: bool = flag("--wait", "Wait for the answer; what you are asked, you answer here."),
    timeout: str = option("--timeout", "DURATION", "Wait no longer; else 1h."),
    lang: str = LANG,
) -> Output:
    """Send a line to whom it names, or a request of yours to the orchestrator."""
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
    from council.cli.asking_here import Person
    from council.core.plain_text import plain_line, plain_text
    from council.operations.protocol.waiting import answer_to

    found = answer_to(place, done.context, done.task, longest_s, Person(place).put)
    told = {"answer": found.text, "done": found.is_done, "verdict": found.verdict}
    return Output(
        record={**done.to_record(), **told},
        text=f"{plain_text(found.text)}\n\n{plain_line(found.verdict)}",
        code=_FAILED if found.is_failed else 0,
    )


@command("msg answer", "council msg answer S1/T1 2")
def answer(
    place: Place,
    where: str = argument("TASK", "What asks: S1/T1, T1, or the context S1."),
    choice: str = argument("CHOICE", "An option: its number, opt2, or its words.", ""),
    file: str = FILE,
) -> Output:
    """Answer a question that a task asks you."""
    return answered(place, where, read_text(choice, file, place.settings.max_text_bytes))


def answered(place: Place, where: str, choice: str) -> Output:
    """Give the user's answer to a task, for `msg answer` and `say --to`."""
    from council.operations.conversations.answer import wake_next
    from council.operations.protocol.asking import choose

    done = choose(place, where, choice)
    wake_next(place)
    return _sent(done)


@command("msg resolve", 'council msg resolve "#CTX:request" --ctx S1', reads=True)
def resolve(
    place: Place,
    text: str = argument("TEXT", "A line, or a reference: #CTX:key, #REF:art_…, #MSG:M3."),
    ctx: str = option("--ctx", "ID", "The context; else that of the line or run."),
) -> Output:
    """Print what the references in a line mean: values, results, messages, artifacts."""
    from council.operations.protocol.payloads import resolved_in

    given = read_text(text, "", place.settings.max_text_bytes)
    found = resolved_in(place, given, ctx)
    record = {"references": [{"reference": name, "text": told} for name, told in found]}
    only = found[0][1] if len(found) == 1 else ""
    lines = [f"{name}\n{told}\n" for name, told in found]
    return Output(record=record, text=only or "\n".join(lines), verbatim=True)


@command("msg inbox", "council msg inbox --as W1", "council msg inbox --as User", reads=True)
def inbox(
    place: Place,
    as_: str = option("--as", "ID", "An id such as W1, an agent, or User; else COUNCIL_AGENT."),
    ctx: str = option("--ctx", "ID", "Only what belongs to this context."),
    last: str = option("--last", "N", "Only so many of the newest."),
) -> Output:
    """Show what was sent to somebody: P0 first, then the oldest."""
    from council.core.plain_text import indented, plain_line
    from council.operations.protocol.mail import inbox as letters_of

    letters = letters_of(place, as_, context=ctx, last=whole_number(last, "--last", _MOST_LETTERS))
    lines = [
        f"{plain_line(f'{one.priority} {one.at} {one.sender}')}: {indented(one.text, '    ')}"
        for one in letters
    ]
    record = {"letters": [one.to_record() for one in letters]}
    return Output(record=record, text="\n".join(lines) or "nothing was sent")


@command("msg log", "council msg log --ctx S1", reads=True)
def log(
    place: Place,
    since: str = option("--since", "DAY", "From this day on, as 2026-02-08."),
    ctx: str = option("--ctx", "ID", "Only this context."),
    task: str = option("--task", "ID", "Only this task."),
    level: str = option("--level", "INFO|WARN|ERROR", "Only these and graver ones."),
) -> Output:
    """Print the log of messages, one line each: time, level, context, task, route, type."""
    from council.core.plain_text import plain_line
    from council.operations.protocol.mail import log_lines

    found = list(log_lines(place, since=since, context=ctx, task=task, level=level))
    record = {"lines": [_parts(day, line) for day, line in found]}
    return Output(record=record, text="\n".join(plain_line(line) for _, line in found))


def _parts(day: str, line: str) -> dict[str, str]:
    """Return a line of the log as JSON; one that somebody wrote by hand has no parts."""
    from council.wire.log_lines import parse_log_line

    try:
        return {"day": day, "line": line, **parse_log_line(line)}
    except InvalidInputError:
        return {"day": day, "line": line}
