"""The driver that reads its answers from a file: for tests, demonstrations and rehearsals.

The file is markdown. A heading names whose answer follows and when it is due;
the answer is everything up to the next such heading::

    ## henry COLLECT
    Build it, small and soon.

    ## henry CHALLENGE agreed
    Sage is right about the cost.

    ## sage 3 done after 2s
    I have nothing to add.

    ## nova CALL using 3 tools
    I looked it up.

When it is due is a phase or the number of a round; a number counts before a
phase. `*` instead of an id is everybody. `agreed` or `done` is the status of
the answer; `after` delays it; `using` says how many tool calls it reports.
Other headings belong to the text.

For a message of document 002 the phase is TASK for what asks for work, ANSWER
for what answers the worker, REFUSED for what refuses its line; `needs 150` is
what the work takes in tokens. `scripted_worker` reads those answers.

Source: XC-011, C0-082, PR-558, P8-055, `cli.md` section 5.
"""

from __future__ import annotations

import os
import stat
import time
from datetime import timedelta

from council.core.errors import InvalidInputError, UsageError
from council.core.ids import is_name
from council.core.record import Record
from council.core.times import parse_duration
from council.drivers.runs import Answer, failed
from council.drivers.tool_reports import with_tool_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from council.core.agents import AgentSettings
    from council.drivers.runs import Run

ANSWERS_FILE = "answers.md"
WORKER = "COUNCIL_PROTOCOL_ID"
EVERYBODY = "*"

_MAX_FILE_BYTES = 16 * 1024 * 1024
_STATUSES = ("responded", "agreed", "done")


class ScriptedAnswer(Record):
    """One answer of the file and when it is due."""

    agent: str
    due: str
    status: str = ""
    needs: int = 0
    after: timedelta = timedelta()
    tools: int = 0
    text: str = ""


def read_answer(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:  # noqa: ARG001
    """Return the answer that the file holds for this turn."""
    path = os.path.join(run.root, settings.answers or os.path.join(run.workspace, ANSWERS_FILE))
    try:
        found = _due(parse_script(_content(path, os.path.relpath(path, run.root))), run)
    except InvalidInputError as error:
        return failed(error.message)
    if run.variables.get(WORKER):
        from council.drivers import scripted_worker  # no other run pays for reading messages

        answer = scripted_worker.answer(
            run, found.text if found else None, found.needs if found else 0
        )
        if found is None or not answer.ok:
            return answer
        found.text, found.status = answer.text, ""
    if found is None or not found.text:
        return failed("no scripted answer")
    if len(found.text.encode("utf-8")) > run.max_text_bytes:
        return failed(f"answer longer than {run.max_text_bytes} bytes")
    time.sleep(min(found.after, run.timeout).total_seconds())
    if found.after >= run.timeout:
        return failed(f"timed out after {run.timeout.total_seconds():g}s", timed_out=True)
    return with_tool_calls(Answer(ok=True, text=found.text, status=found.status), run, found.tools)


def _content(path: str, shown: str) -> str:
    try:
        with open(path, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidInputError(f"not a regular file: {shown}")
            content = file.read(_MAX_FILE_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError:
        raise InvalidInputError(f"not found: {shown}") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"not UTF-8: {shown}") from None
    if len(content) > _MAX_FILE_BYTES:
        raise InvalidInputError(f"larger than {_MAX_FILE_BYTES} bytes: {shown}")
    return text


def _at_once(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to is not waited for (SC-004)."""
    return os.open(path, flags | os.O_NONBLOCK)


def parse_script(text: str) -> list[ScriptedAnswer]:
    """Read a file of answers; text before the first heading is a comment."""
    script: list[ScriptedAnswer] = []
    lines: list[str] = []
    for line in [*text.replace("\r\n", "\n").split("\n"), None]:
        heading = None if line is None else _heading(line)
        if line is not None and heading is None:
            lines.append(line)
            continue
        if script:
            script[-1].text = "\n".join(lines).strip("\n")
        lines = []
        if heading is not None:
            script.append(heading)
    return script


def _heading(line: str) -> ScriptedAnswer | None:
    if not line.startswith("## "):
        return None
    agent, due, *rest = [*line[3:].split(), "", ""]
    words = [word for word in rest if word]
    number = due.isascii() and due.isdigit()
    phase = due.isascii() and due.isalpha() and due.isupper()
    if not (number or phase) or not (agent == EVERYBODY or is_name(agent)):
        return None
    answer = ScriptedAnswer(agent=agent, due=due)
    if words and words[0] in _STATUSES:
        answer.status = words.pop(0)
    if len(words) >= 2 and words[0] == "needs" and words[1].isascii() and words[1].isdigit():
        answer.needs, words = int(words[1]), words[2:]
    if len(words) >= 2 and words[0] == "after":
        try:
            answer.after = parse_duration(words[1])
        except UsageError:
            return None
        words = words[2:]
    if len(words) == 3 and words[::2] == ["using", "tools"] and words[1].isdecimal():
        answer.tools, words = int(words[1]), []
    return None if words else answer


def _due(script: list[ScriptedAnswer], run: Run) -> ScriptedAnswer | None:
    for agent in (run.agent, EVERYBODY):
        for due in (str(run.tour), run.phase):
            for one in script:
                if one.agent == agent and one.due == due:
                    return one
    return None
