"""The commands that send messages and read what was sent: `msg send|answer|inbox|log|resolve`.

Who waits for an answer is asked right there what the answer depends on.

Source: `cli.md` section 2, OP-004, OP-007, PR-303, PR-304, PR-309, PR-553, PR-576, PR-577,
PR-586.
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Any

from council.commands.options import listed, whole_number
from council.commands.output import Output, read_text
from council.core.errors import CouncilError, InvalidInputError, RefusedError, UsageError
from council.core.plain_text import indented, plain_line, plain_text
from council.core.protocol.exchange import DEFAULT_COMPLEXITY
from council.core.times import parse_duration
from council.operations.detach import wake_next
from council.operations.place import Place
from council.operations.protocol.asking import Asked, answer_to, choose, request
from council.operations.protocol.exchanging import Sent
from council.operations.protocol.mail import inbox as letters_of
from council.operations.protocol.mail import log_lines
from council.operations.protocol.payloads import resolved_in
from council.operations.protocol.sending import send as send_line
from council.wire.log_lines import parse_log_line

_REFUSED = RefusedError.exit_code
_FAILED = CouncilError.exit_code
_MOST_LETTERS = 1000
_LONGEST_WAIT = "1h"


def msg_send(place: Place, message: str, user: str, wait: bool, values: dict[str, Any]) -> Output:
    """Send a line to whom it names, or a request of yours to the orchestrator."""
    most = place.settings.max_text_bytes
    longest = parse_duration(values["timeout"] or _LONGEST_WAIT)
    options = ("complexity", "caps", "priority", "ctx", "lang")
    if message and (user or any(values[one] for one in options)):
        raise UsageError("a line says all that itself", "give a line, or --user TEXT")
    if message:
        done = send_line(place, read_text(message, "", most).rstrip("\r\n"))
    else:
        done = request(
            place,
            read_text(user, values["file"], most).strip(),
            caps=tuple(listed(values["caps"])),
            complexity=values["complexity"] or DEFAULT_COMPLEXITY,
            priority=values["priority"] or "P1",
            context=values["ctx"],
            lang=values["lang"],
        )
    if done.outcome == "refused" or not done.context:
        return _sent(done)
    if wait:
        return _waited(place, done, longest.total_seconds())
    wake_next(place)
    return _sent(done)


def _sent(done: Sent) -> Output:
    where = "/".join(one for one in (done.context, done.task) if one) or "registry"
    said = f"{where}: {done.outcome}"
    if done.to:
        said += f" to {', '.join(done.to)}"
    if done.code or done.reason:
        said += f", {' '.join(one for one in (done.code, done.reason) if one)}"
    lines = [plain_line(said), *(plain_line(f"  {one}") for one in done.answers)]
    code = _REFUSED if done.outcome == "refused" else 0
    return Output(record=done, text="\n".join(lines), code=code)


def _waited(place: Place, done: Sent, longest_s: float) -> Output:
    person = Person(place)
    try:
        found = answer_to(place, done.context, done.task, longest_s, person.put)
    finally:
        person.leave()
    told = {"answer": found.text, "done": found.is_done, "verdict": found.verdict}
    said, verdict = plain_text(found.text), plain_line(found.verdict)
    is_told = found.is_failed and said.strip().rstrip(".") in verdict
    return Output(
        record={**done.to_record(), **told},
        text=verdict if is_told else f"{said}\n\n{verdict}",
        code=_FAILED if found.is_failed else 0,
    )


def msg_answer(place: Place, where: str, choice: str, file: str) -> Output:
    """Answer a question that a task asks you."""
    return answered(place, where, read_text(choice, file, place.settings.max_text_bytes))


def answered(place: Place, where: str, choice: str) -> Output:
    """Give the user's answer to a task, for `msg answer` and `say --to`."""
    done = choose(place, where, choice)
    wake_next(place)
    return _sent(done)


def msg_resolve(place: Place, text: str, ctx: str) -> Output:
    """Print what the references in a line mean: values, results, messages, artifacts."""
    given = read_text(text, "", place.settings.max_text_bytes)
    found = resolved_in(place, given, ctx)
    record = {"references": [{"reference": name, "text": told} for name, told in found]}
    only = found[0][1] if len(found) == 1 else ""
    lines = [f"{name}\n{told}\n" for name, told in found]
    return Output(record=record, text=only or "\n".join(lines), verbatim=True)


def msg_inbox(place: Place, as_: str, ctx: str, last: str) -> Output:
    """Show what was sent to somebody: P0 first, then the oldest."""
    letters = letters_of(place, as_, context=ctx, last=whole_number(last, "--last", _MOST_LETTERS))
    lines = [
        f"{plain_line(f'{one.priority} {one.at} {one.sender}')}: {indented(one.text, '    ')}"
        for one in letters
    ]
    return Output(record={"letters": letters}, text="\n".join(lines) or "nothing was sent")


def msg_log(place: Place, since: str, ctx: str, task: str, level: str) -> Output:
    """Print the log of messages, one line each: time, level, context, task, route, type."""
    found = list(log_lines(place, since=since, context=ctx, task=task, level=level))
    record = {"lines": [_parts(day, line) for day, line in found]}
    return Output(record=record, text="\n".join(plain_line(line) for _, line in found))


def _parts(day: str, line: str) -> dict[str, str]:
    """Return a line of the log as JSON; one that a person wrote by hand has no parts."""
    try:
        return {"day": day, "line": line, **parse_log_line(line)}
    except InvalidInputError:
        return {"day": day, "line": line}


_LONGEST_LINE = 4096  # a terminal hands over no longer one


class Person:
    """Who waits: shown each question once, and asked for the answer if there is a terminal.

    Without one a line says which command answers.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._shown: list[Asked] = []
        self._is_here = sys.stdin.isatty() and sys.stderr.isatty()

    def put(self, asked: list[Asked], longest_s: float) -> bool:
        """Show what is new, and wait for an answer, no longer than `longest_s` seconds.

        Returns true if the questions can be answered right here.
        """
        if not self._is_here:
            for one in asked:
                if one not in self._shown:
                    self._shown.append(one)
                    _say(_in_one_line(one))
            time.sleep(longest_s)
            return False
        first = asked[:1]
        if self._shown != first:
            self.leave()
            self._shown = first
            self._ask()
        if not first:
            time.sleep(longest_s)
        elif select.select([sys.stdin], [], [], longest_s)[0]:
            self._take(first[0])
        return True

    def leave(self) -> None:
        """Say that the question which stands there is not asked any more."""
        if self._is_here and self._shown:
            _say("")
            _say("council: this is not asked any more")
            self._shown = []

    def _ask(self) -> None:
        for one in self._shown:
            _say(f"council: {one.text}")
            for number, option in enumerate(one.options, start=1):
                _say(f"  {number} {option}")
            sys.stderr.write("> ")
            sys.stderr.flush()

    def _take(self, one: Asked) -> None:
        line = os.read(sys.stdin.fileno(), _LONGEST_LINE)
        if not line:  # the end of what is typed
            self._is_here, self._shown = False, []
            _say("")
            return
        try:
            done = choose(self._place, one.where, line.decode("utf-8", "replace"))
        except CouncilError as error:
            _say(f"council: {error.message} — {error.hint}")
            self._ask()
            return
        self._shown = []
        for told in done.answers:
            _say(f"council: {told}")


def _in_one_line(one: Asked) -> str:
    options = " · ".join(f"{number} {word}" for number, word in enumerate(one.options, start=1))
    wanted = "OPTION" if one.options else '"…"'
    return f"council: {one.text} {options} (answer with: council say {wanted} --to {one.where})"


def _say(line: str) -> None:
    sys.stderr.write(f"{plain_line(line)}\n")
