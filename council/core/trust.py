"""What a run may do, and how it shows who it is.

A run that the heartbeat starts carries a token; the verbs it may use stand in
one table. Both are rules only: the key comes from the store, the refusal goes
out at the edge.

Source: XC-014, XC-015, `trust.md`.
"""

from __future__ import annotations

from council.core.errors import RefusedError

RUN_VERBS = frozenset(
    {
        "context",
        "respond",
        "vote",
        "synthesize",
        "show",
        "status",
        "agent call",
        "agent message",
        "artifact",
        "msg",
        "turn",
        "channel post",
    }
)


def permit(verb: str, *, in_run: bool) -> None:
    """Let a command pass, or refuse it inside a run.

    Args:
        verb: The command with its subcommand, such as `agent call`.
        in_run: Whether the process was started for a turn (`COUNCIL_TASK_ID` is set).

    Raises:
        RefusedError: The verb is not in the table.
    """
    if in_run and verb not in RUN_VERBS and verb.partition(" ")[0] not in RUN_VERBS:
        raise RefusedError(
            f"`council {verb}` is not allowed inside a run",
            f"a run may use: {', '.join(sorted(RUN_VERBS))}",
        )


def run_token(key: bytes, conversation_id: str, tour: int, agent: str, attempt: int) -> str:
    """Derive the token of one run: HMAC-SHA256 over what it was started for."""
    message = f"{conversation_id}/{tour}/{agent}/{attempt}".encode()
    import hmac  # only an answer from a run needs it, and it loads a library

    return hmac.new(key, message, "sha256").hexdigest()


def is_token(token: str, expected: str) -> bool:
    """Compare two tokens in time that does not depend on where they differ."""
    given = token.encode("utf-8", "surrogatepass")  # a variable may hold bytes that are no text
    import hmac

    return hmac.compare_digest(given, expected.encode())
