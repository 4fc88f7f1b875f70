"""What is to be run, what came back, and what a run reports of its tool calls on the way.

It cannot be seen from outside which tools a program uses. A run that wants to be
counted adds a line to the file that `COUNCIL_REPORT` names, one for each
tool call, in any words; one that reports nothing is held by the time limit alone.
A line `usage tokens=1200 usd=0.03` is no call: it says what was used since the
line before it.

Source: P8-055, OP-018, `cli.md` section 5.
"""

from __future__ import annotations

import os
from datetime import timedelta

from council.core.reasons import NO_ANSWER, NO_REASON, Reason
from council.core.record import Record

_LINE_END_BYTES = 2
# What stands for a byte that is no UTF-8, and what `surrogateescape` makes of such bytes.
_MARK = "\N{REPLACEMENT CHARACTER}"
_MARKS = dict.fromkeys(range(0xDC80, 0xDD00), _MARK)
_PIECE_BYTES = 64 * 1024
_LINE_BYTES = 200
_DIGITS = 13


class EndAsked(SystemExit):
    """This process was asked to end, with the program that it supervises."""


class Turn(Record):
    """What is asked of an agent.

    Args:
        name: The name of the conversation.
        task: The id of the attempt; the answer names it.
        prompt: The whole prompt, as the agent reads it.
        cwd: Where the agent works, "" for the workspace of everybody.
        token: Proof that the answer comes from this run, "" for none.
        traceparent: The W3C trace context, "" to derive it from the ids.
        variables: Added to the environment of the run.
        max_tool_calls: It is ended when it reports one more, None for no bound.
    """

    name: str
    task: str
    phase: str = ""
    tour: int = 0
    prompt: str
    cwd: str = ""
    token: str = ""
    traceparent: str = ""
    variables: dict[str, str] = {}
    max_tool_calls: int | None = None


class Run(Turn):
    """One turn that an agent is woken for.

    Args:
        agent: The id of the agent.
        conversation: The id of the conversation.
        prompt_file: The prompt in a file that the caller has written, "" for none.
        root: The workspace of everybody.
        workspace: The folder of the agent.
        timeout: The time limit of the run.
        max_text_bytes: The largest answer that is taken.
        model: The model the agent is to use, "" for its own choice.
        log_file: Where the log of the run goes, "" for nowhere.
        report_file: Where the run reports tool calls and what it uses, "" for nowhere.
        keep: Descriptors that hold its place; they stay open until all it has started is gone.
    """

    agent: str
    conversation: str
    prompt_file: str = ""
    root: str
    workspace: str = ""
    timeout: timedelta = timedelta(seconds=120)
    max_text_bytes: int = 1024 * 1024
    model: str = ""
    log_file: str = ""
    report_file: str = ""
    keep: tuple[int, ...] = ()

    @property
    def max_read_bytes(self) -> int:
        """How much of what is said is read: the largest answer, and a line end."""
        return self.max_text_bytes + _LINE_END_BYTES

    @property
    def too_long(self) -> Reason:
        """Why it failed, if the answer is larger than what is taken."""
        return Reason.of("too-long", most=self.max_text_bytes)

    @property
    def too_late(self) -> Reason:
        """Why it failed, if the time limit ended it."""
        return Reason.of("timed-out", after=_seconds(self.timeout.total_seconds()))


class Answer(Record):
    """What came back from a run.

    Args:
        ok: False for a failed attempt, then `reason` says why.
        text: The contribution, "" when it came or comes another way.
        status: The status in lower case that the answer states, "" for none.
        timed_out: The time limit ended the run; it is not tried again.
        hopeless: Another attempt of the same turn would fail alike, so there is none either.
        exit_code: What the program returned, None when none ran or a signal ended it.
        tokens: How many tokens it used, None where nothing said it.
        usd: What it cost in dollars, None where nothing said it.
        waits: Nothing runs; the answer comes by itself, whenever it comes.
        by_tool: The run was to answer by `council respond`; the caller checks whether it did.
        log_error: Why the log of the run is missing or not complete, else "".
        tool_calls: How many tool calls it reported.
        too_many_tool_calls: It was ended because it reported one too many.
        at_once: It failed within seconds, by no fault that passes by itself.
    """

    ok: bool
    text: str = ""
    status: str = ""
    reason: Reason = NO_REASON
    timed_out: bool = False
    hopeless: bool = False
    exit_code: int | None = None
    tokens: int | None = None
    usd: float | None = None
    waits: bool = False
    by_tool: bool = False
    log_error: str = ""
    tool_calls: int = 0
    too_many_tool_calls: bool = False
    at_once: bool = False

    @property
    def is_final(self) -> bool:
        """Return true if the same turn is not tried again."""
        return self.timed_out or self.hopeless


def _seconds(seconds: float) -> float:
    """Return seconds, as a whole number where they are one."""
    return int(seconds) if seconds == int(seconds) else seconds


def failed(
    reason: Reason,
    *,
    timed_out: bool = False,
    hopeless: bool = False,
    exit_code: int | None = None,
) -> Answer:
    """Return a failed attempt."""
    return Answer(
        ok=False, reason=reason, timed_out=timed_out, hopeless=hopeless, exit_code=exit_code
    )


# The reasons that a program or its provider gave by its structure: by a code, or by an HTTP status.
# Of the first three another attempt would come to the same.
_FAULTS = {
    "key-refused": "401 403 authentication_failed authentication_error permission_error "
    "invalid_api_key oauth_org_not_allowed API_KEY_INVALID UNAUTHENTICATED PERMISSION_DENIED "
    "ProviderAuthError",
    "quota-spent": "402 billing_error insufficient_quota usage_limit_reached",
    "long-prompt": "413 prompt_too_long context_length_exceeded ContextOverflowError "
    "request_too_large",
    "limit-reached": "429 rate_limit rate_limit_error RESOURCE_EXHAUSTED",
    "provider-failed": "500 502 503 504 520 522 524 529 overloaded overloaded_error server_error",
}
_HOPELESS = tuple(_FAULTS)[:3]
# Reasons that may be gone by the next attempt: the provider's, and those of the system.
PASSING = (*tuple(_FAULTS)[3:], "error", "gateway", "not-ready", "no-process", "broke", "signal")
# A run that fails sooner than this fails at once: no model has been asked for that long.
AT_ONCE_S = 5.0
# Of the statuses of refused requests (4xx), these may be others the next time.
_PASSING = (408, 409, 425, 429)
# With these it did reach its provider, by a key that is good: it lacks none of its variables.
ADMITTED = tuple(_FAULTS)[1:]
# With this one no model was asked.
REFUSED = next(iter(_FAULTS))


def fault(words: str, status: int = 0, code: str = "") -> Answer:
    """Return the failed attempt that an error message of a program or a provider is.

    Args:
        words: Its own words.
        status: The HTTP status that goes with it, 0 for none.
        code: The code that goes with it, "" for none.

    Source: CL-002.
    """
    for sign in (code, str(status)):  # a code says more than a status
        for reason, signs in _FAULTS.items():
            if sign in signs.split():
                return failed(Reason.of(reason, text=words or "-"), hopeless=reason in _HOPELESS)
    refused = 400 <= status < 500 and status not in _PASSING
    return failed(Reason.of("error", text=words or "-"), hopeless=refused)


def answer_of(run: Run, content: bytes) -> Answer:
    """Return what was said, without the line ends after it, or the attempt that it fails to be.

    Each byte that is no UTF-8 becomes a mark, and a line before the text says so (OP-012).
    """
    content = content.rstrip(b"\r\n")
    text = marked = content.decode("utf-8", "surrogateescape")
    fault = NO_REASON
    if len(content) > run.max_text_bytes:
        fault = run.too_long
    elif "\0" in text:
        fault = Reason.of("nul")
    elif not text.strip():
        fault = NO_ANSWER
    elif (marked := text.translate(_MARKS)) != text:
        lost = sum(ord(one) in _MARKS for one in text)
        bytes_were = "1 byte was" if lost == 1 else f"{lost} bytes were"
        is_text = bool(marked.replace(_MARK, "").strip())
        marked = f"[{bytes_were} no UTF-8; {_MARK} stands for each]\n\n{marked}"
        if not is_text:
            fault = Reason.of("not-utf8")
        elif len(marked.encode("utf-8")) > run.max_text_bytes:
            fault = run.too_long
    return failed(fault, exit_code=0) if fault else Answer(ok=True, exit_code=0, text=marked)


class ToolReports:
    """The reports of one run, counted as they come.

    Attributes:
        bounded: Whether there is a number that they may not pass.
    """

    def __init__(self, run: Run) -> None:
        self.bounded = bool(run.report_file) and run.max_tool_calls is not None
        self._run = run
        self._read_to = 0
        self._lines = 0
        self._begun = b""
        self._tokens: int | None = None
        self._usd: float | None = None

    def are_too_many(self) -> bool:
        """Return true if one call more was reported than is allowed."""
        most = self._run.max_tool_calls
        return most is not None and self.count() > most

    def count(self) -> int:
        """Return how many calls were reported until now."""
        if not self._run.report_file:
            return 0
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self._run.report_file, flags)
        except OSError:
            return self._lines
        try:
            while piece := os.pread(descriptor, _PIECE_BYTES, self._read_to):
                self._read_to += len(piece)
                *lines, self._begun = (self._begun + piece).split(b"\n")
                used = [one for one in lines if one.startswith(b"usage ")]
                self._lines += len(lines) - len(used)
                for one in used:
                    self._add(one.decode("ascii", "replace"))
                self._begun = self._begun[:_LINE_BYTES]
        except OSError:
            pass  # whatever stands in the place of the file, it reports nothing
        finally:
            os.close(descriptor)
        return self._lines

    def _add(self, usage: str) -> None:
        """Add what a line says was used; what is no number from 0 on counts for nothing."""
        for part in usage.split()[1:]:
            name, _, amount = part.partition("=")
            if name == "tokens" and amount.isdecimal() and len(amount) < _DIGITS:
                self._tokens = (self._tokens or 0) + int(amount)
            elif name == "usd" and amount.replace(".", "", 1).isdecimal() and len(amount) < _DIGITS:
                self._usd = (self._usd or 0.0) + float(amount)

    def judge(self, answer: Answer) -> Answer:
        """Return the answer of the run with what was reported; one too many makes it fail."""
        judged = with_tool_calls(answer, self._run, self.count())
        # A program whose output told it told it there: what it reports besides is the same.
        tokens = self._tokens if judged.tokens is None else judged.tokens
        return judged.copy(tokens=tokens, usd=self._usd if judged.usd is None else judged.usd)


def with_tool_calls(answer: Answer, run: Run, count: int) -> Answer:
    """Return an answer that says how many tool calls there were; one too many makes it fail."""
    most = run.max_tool_calls
    if most is None or count <= most or answer.timed_out:
        return answer.copy(tool_calls=count)
    return answer.copy(
        ok=False,
        text="",
        reason=Reason.of("tool-calls", count=count, most=most),
        tool_calls=count,
        too_many_tool_calls=True,
    )
