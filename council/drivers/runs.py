"""What is to be run, and what came back: the two values every driver speaks.

Source: `cli.md` section 5.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.record import Record

NO_ANSWER = "no answer"


class Run(Record):
    """One turn that an agent is woken for.

    Args:
        agent: The id of the agent.
        conversation: The id of the conversation.
        name: The name of the conversation.
        task: The id of the attempt; the answer names it.
        prompt: The whole prompt, as the agent reads it.
        prompt_file: The same in a file that the caller has written, "" for none.
        root: The workspace of everybody.
        workspace: The folder of the agent.
        cwd: Where the agent works, "" for `root`.
        timeout: The time limit of the run.
        max_text_bytes: The largest answer that is taken.
        model: The model the agent is to use, "" for its own choice.
        token: Proof that the answer comes from this run, "" for none.
        traceparent: The W3C trace context, "" to derive it from the ids.
        log_file: Where the log of the run goes, "" for nowhere.
        variables: Added to the environment of the run.
        report_file: Where the run reports tool calls and what it uses, "" for nowhere.
        max_tool_calls: It is ended when it reports one more, None for no bound.
        keep: Descriptors that hold its place; they stay open until all it has started is gone.
    """

    agent: str
    conversation: str
    name: str
    task: str
    phase: str
    tour: int
    prompt: str
    prompt_file: str = ""
    root: str
    workspace: str = ""
    cwd: str = ""
    timeout: timedelta = timedelta(seconds=120)
    max_text_bytes: int = 1024 * 1024
    model: str = ""
    token: str = ""
    traceparent: str = ""
    log_file: str = ""
    variables: dict[str, str] = {}
    report_file: str = ""
    max_tool_calls: int | None = None
    keep: tuple[int, ...] = ()


class Answer(Record):
    """What came back from a run.

    Args:
        ok: False for a failed attempt, then `reason` says why in a few words.
        text: The contribution, "" when it came or comes another way.
        status: `agreed` or `done` when the answer says so, else "".
        timed_out: The time limit ended the run; it is not tried again.
        hopeless: There is nothing to run, so it is not tried again either.
        exit_code: What the program returned, None when none ran or a signal ended it.
        tokens: How many tokens it used, as far as whoever answered told; 0 otherwise.
        usd: What it cost in dollars, as far as it told; 0 otherwise.
        waits: Nothing runs; the answer comes by itself, whenever it comes.
        by_tool: The run was to answer by `council respond`; the caller looks whether it did.
        log_error: Why the log of the run is missing or not complete, else "".
        tool_calls: How many tool calls it reported.
        too_many_tool_calls: It was ended because it reported one too many.
    """

    ok: bool
    text: str = ""
    status: str = ""
    reason: str = ""
    timed_out: bool = False
    hopeless: bool = False
    exit_code: int | None = None
    tokens: int = 0
    usd: float = 0.0
    waits: bool = False
    by_tool: bool = False
    log_error: str = ""
    tool_calls: int = 0
    too_many_tool_calls: bool = False

    @property
    def is_final(self) -> bool:
        """Return true if the same turn is not tried again."""
        return self.timed_out or self.hopeless


def failed(
    reason: str,
    *,
    timed_out: bool = False,
    hopeless: bool = False,
    exit_code: int | None = None,
) -> Answer:
    """Return a failed attempt."""
    return Answer(
        ok=False, reason=reason, timed_out=timed_out, hopeless=hopeless, exit_code=exit_code
    )
