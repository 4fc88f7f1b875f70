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
phase. `*` instead of an id is everybody. A status such as `agreed` is that of
the answer; `after` delays it; `using` says how many tool calls it reports.
Other headings belong to the text.

For a message of document 002 the phase is TASK for what asks for work, ANSWER
for what answers the worker, REFUSED for what refuses its line; `needs 150` is
what the work takes in tokens. The checks that every worker has to give come first: is the
message valid and meant for it, may it be called so deep, is the budget enough, can it
do that at all. What passes is answered by the script, line by line: a letter or a code
and DATA (`S results=5`, `E33 desc=file not found`, `C question=…`, `U progress=50%`,
`X W2 call=…`), a message as it stands, or just words.

Source: XC-011, C0-082, PR-558, PR-559, PR-583, P8-055, `cli.md` section 5.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Mapping
from datetime import timedelta

from council.core.conversations.conversation import ANSWERED
from council.core.errors import (
    ConversionRefusedError,
    InvalidInputError,
    InvalidMessageError,
    UsageError,
)
from council.core.ids import is_name
from council.core.reasons import Reason
from council.core.record import Record
from council.core.times import parse_duration
from council.drivers.runs import Answer, Run, failed, with_tool_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.agents import AgentSettings

ANSWERS_FILE = "answers.md"
WORKER = "COUNCIL_PROTOCOL_ID"
MAX_DEPTH = "COUNCIL_MAX_DEPTH"
CAPABILITIES = "COUNCIL_CAPABILITIES"
EVERYBODY = "*"

_MAX_FILE_BYTES = 16 * 1024 * 1024
_USUAL_DEPTH = "4"
_HEADING = re.compile(
    rf"## \s*(\S+)\s+([0-9]+|[A-Z]+)(?:\s+({'|'.join(ANSWERED).lower()}))?"
    r"(?:\s+needs\s+([0-9]+))?(?:\s+after\s+(\S+))?(?:\s+using\s+(\d+)\s+tools)?\s*"
)


class ScriptedAnswer(Record):
    """One answer of the file and when it is due."""

    agent: str
    due: str
    status: str = ""
    needs: int = 0
    after: timedelta = timedelta()
    tools: int = 0
    text: str = ""


def wake(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:  # noqa: ARG001
    """Return the answer that the file holds for this turn."""
    path = os.path.join(run.root, settings.answers or os.path.join(run.workspace, ANSWERS_FILE))
    try:
        found = _due(parse_script(_content(path, os.path.relpath(path, run.root))), run)
    except InvalidInputError as error:
        return failed(Reason.of("not-ready", text=error.message))
    if run.variables.get(WORKER):
        answer = _worker_answer(run, found.text if found else None, found.needs if found else 0)
        if found is None or not answer.ok:
            return answer
        found.text, found.status = answer.text, ""
    if found is None or not found.text:
        return failed(Reason.of("no-script"))
    if len(found.text.encode("utf-8")) > run.max_text_bytes:
        return failed(run.too_long)
    time.sleep(min(found.after, run.timeout).total_seconds())
    if found.after >= run.timeout:
        return failed(run.too_late, timed_out=True)
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
    """Open a file; a pipe without a writer is not waited for (SC-004)."""
    return os.open(path, flags | os.O_NONBLOCK)


def parse_script(text: str) -> list[ScriptedAnswer]:
    """Read a file of answers; text before the first heading is a comment."""
    script: list[tuple[ScriptedAnswer, list[str]]] = []
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        heading = _heading(line)
        if heading is None:
            lines.append(line)
        else:
            lines = []
            script.append((heading, lines))
    return [one.copy(text="\n".join(own).strip("\n")) for one, own in script]


def _heading(line: str) -> ScriptedAnswer | None:
    found = _HEADING.fullmatch(line)
    if found is None:
        return None
    agent, due, status, needs, after, tools = found.groups()
    try:
        pause = parse_duration(after) if after else timedelta()
    except UsageError:
        return None
    if agent != EVERYBODY and not is_name(agent):
        return None
    return ScriptedAnswer(
        agent=agent,
        due=due,
        status=status or "",
        needs=int(needs or 0),
        after=pause,
        tools=int(tools or 0),
    )


def _due(script: list[ScriptedAnswer], run: Run) -> ScriptedAnswer | None:
    ways = [(who, due) for who in (run.agent, EVERYBODY) for due in (str(run.tour), run.phase)]
    found = (one for way in ways for one in script if (one.agent, one.due) == way)
    return next(found, None)


def _worker_answer(run: Run, script: str | None, estimate: int) -> Answer:
    """Return what a worker with that script answers to the message of a run.

    Args:
        run: The run; its prompt ends with the message.
        script: What the script holds for it, None for nothing.
        estimate: The tokens that the work will take.
    """
    # No other run pays for reading messages.
    from council.wire.carried import line_of, message_of
    from council.wire.messages import parse
    from council.wire.replies import reply_to_fault
    from council.wire.working import Profile, is_for, refusal, written_short

    worker = run.variables[WORKER]
    found = parse(run.prompt.strip().rpartition("\n")[2])
    if found.errors:
        return Answer(ok=True, text=reply_to_fault(found, sender=worker) or "")
    request = message_of(found)
    if not is_for(request, worker):
        told = f"{request.sender} may not ask {worker}: no orchestrator, no valid hand-off"
        return failed(Reason.of("not-ready", text=told))
    capabilities = run.variables.get(CAPABILITIES, "")
    profile = Profile(
        worker=worker,
        caps=tuple(capabilities.split(",")) if capabilities else (),
        max_depth=int(run.variables.get(MAX_DEPTH, _USUAL_DEPTH)),
        estimate=estimate,
    )
    refused = refusal(request, profile)
    if refused is not None:
        return Answer(ok=True, text=line_of(refused, found.version))
    if not script:
        return failed(Reason.of("no-script"))
    lines = []
    for line in script.split("\n"):
        try:
            meant = [line_of(one, found.version) for one in written_short(line, request, worker)]
        except (InvalidMessageError, ConversionRefusedError) as error:
            told = f"the script says what no message can say: {error.message}"
            return failed(Reason.of("not-ready", text=told))
        lines += meant or [line]
    return Answer(ok=True, text="\n".join(lines))
