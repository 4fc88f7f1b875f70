"""The orchestrator: what follows from requests, messages and time in one context.

(essay follows)
"""

from __future__ import annotations

from datetime import datetime

from council.core.exchange import RULES, Exchange, ExchangeStep, TaskRules
from council.core.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.registry import Registry


def open_context(
    context: str,
    now: datetime,
    *,
    trace_id: str = "",
    lang: str = "en",
    kept_open: bool = False,
    ends_at: datetime | None = None,
) -> ExchangeStep:
    """Open a context without any task, for lines that are sent in it."""
    raise NotImplementedError


def request(
    exchange: Exchange,
    text: str,
    registry: Registry,
    now: datetime,
    *,
    caps: tuple[str, ...] = (),
    complexity: str = "medium",
    priority: str = "P1",
    atomic: bool = False,
    orchestrator: str = "",
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Take a request of the user: a task with its budget, and the worker who is best for it.

    Args:
        exchange: A context made by `open_context`, or one that is kept open.
        text: What the user wants, in full.
        registry: Who is there.
        now: The instant.
        caps: The capabilities that it needs; () asks whoever is free.
        complexity: A key of `exchange.BUDGETS`.
        priority: `P0`, `P1` or `P2`.
        atomic: Whether its runs may not be interrupted.
        orchestrator: The agent to ask how to split it, and for the answer; "" for none.
        rules: What may be chosen.

    Raises:
        InvalidInputError: The text is empty, or an option has no such value.
        ConflictError: The context is closed, or has no number left for a task (PR-644).

    Source: PR-553, PR-581.
    """
    raise NotImplementedError


def receive(
    exchange: Exchange,
    message: Message,
    registry: Registry,
    now: datetime,
    *,
    run: str = "",
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Take a message that a worker or the user sent, and do what follows from it.

    `outcome` is `taken`; `duplicate` for what was heard already; `ignored` for what a worker
    may not send; `refused` with `code` and `reason` for what its sender is answered with an E.
    `run` is the id of the run that wrote it, "" for none: it ends with the message.

    Source: PR-551, PR-552, PR-554, PR-559, PR-562 to PR-566, PR-574 to PR-579, PR-582, PR-584.
    """
    raise NotImplementedError


def send(
    exchange: Exchange,
    message: Message,
    registry: Registry,
    now: datetime,
    *,
    to: tuple[str, ...] = (),
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Send a line of an orchestrator, as a person or its agent wrote it.

    `outcome` is `sent`, or `refused` with `code` and `reason`: then nothing was sent. `to` are
    the members where the line goes to a group, to all workers or to all.

    Source: PR-304, PR-517, PR-551, PR-574.
    """
    raise NotImplementedError


def delivered(
    exchange: Exchange, number: int, now: datetime, *, rules: TaskRules = RULES
) -> ExchangeStep:
    """Note that a message is in the inboxes: a task becomes running by it (A-60).

    A question to the user has its time from here on.
    """
    raise NotImplementedError


def cancel(
    exchange: Exchange,
    task: str,
    now: datetime,
    *,
    reason: str = "",
    registry: Registry | None = None,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Cancel a task that is not over: everybody who works on it is told by U with state X."""
    raise NotImplementedError


def close(exchange: Exchange, now: datetime, *, reason: str = "closed") -> ExchangeStep:
    """Close a context; what is still open in it is cancelled (PR-571)."""
    raise NotImplementedError


def advance(
    exchange: Exchange, registry: Registry, now: datetime, *, rules: TaskRules = RULES
) -> ExchangeStep:
    """Take every step that is due at `now`; idempotent.

    Lost runs, deadlines, retries whose pause is over, workers for what has none, the end of
    tasks. Every other rule that takes the registry ends with it.

    Source: PR-555, PR-561, PR-580.
    """
    raise NotImplementedError
