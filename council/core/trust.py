"""What a run may do, and how it shows who it is.

A run that the heartbeat starts carries a token; the verbs it may use stand in
one table. Both are rules only: the key comes from the store, the refusal goes
out at the edge.

Source: XC-014, XC-015, `trust.md`.
"""

from __future__ import annotations

from collections.abc import Mapping

from council.core.errors import RefusedError

# What the coordinator signs when it claims a run: no run can choose one of them by itself.
CLAIMED = ("COUNCIL_AGENT", "COUNCIL_TASK_ID", "COUNCIL_NOW", "COUNCIL_CWD")
CLAIM = "COUNCIL_CLAIM"

RUN_VERBS = frozenset(
    (
        *("context", "respond", "vote", "synthesize", "show", "status", "agent call", "mcp"),
        *("agent message", "artifact", "msg", "turn", "channel post"),
    )
)


def permit(verb: str, *, in_run: bool) -> None:
    """Let a command pass, or refuse it inside a run.

    Args:
        verb: The command with its subcommand, such as `agent call`.
        in_run: Whether the process belongs to a run.

    Raises:
        RefusedError: The verb is not in the table.
    """
    if not is_permitted(verb, in_run=in_run):
        raise RefusedError(
            f"`council {verb}` is not allowed inside a run",
            f"a run may use: {', '.join(sorted(RUN_VERBS))}",
        )


def is_permitted(verb: str, *, in_run: bool) -> bool:
    """Return true if `permit` lets a command pass."""
    return not in_run or verb in RUN_VERBS or verb.partition(" ")[0] in RUN_VERBS


def run_token(key: bytes, conversation_id: str, tour: int, agent: str, attempt: int) -> str:
    """Derive the token of one run: HMAC-SHA256 over what it was started for."""
    message = f"{conversation_id}/{tour}/{agent}/{attempt}".encode()
    import hmac  # only an answer from a run needs it, and it loads a library

    return hmac.new(key, message, "sha256").hexdigest()


def run_claim(key: bytes, environ: Mapping[str, str]) -> str:
    """Return what shows that the `CLAIMED` variables are those with which a run was claimed.

    Source: SC-002.
    """
    import hmac

    said = "\0".join(environ.get(name, "") for name in CLAIMED)
    return hmac.new(key, said.encode("utf-8", "surrogateescape"), "sha256").hexdigest()


def is_token(token: str, expected: str) -> bool:
    """Compare two tokens in time that does not depend on where they differ."""
    given = token.encode("utf-8", "surrogatepass")  # a variable may hold bytes that are no text
    import hmac

    return hmac.compare_digest(given, expected.encode())
