"""The line of the log for each message: `[TS] [LEVEL] [CTX] [TID] FROM>TO TYPE ERR SUMMARY`."""

from __future__ import annotations

from council.kernel import times
from council.kernel.record import Any
from council.kernel.times import datetime
from council.tasks.wire import conversion, data
from council.tasks.wire.model import Message

_SUMMARY_CHARS = 60


def log_line(message: Message, at: datetime) -> str:
    """Return the line that logs a message.

    TS is the second of the UTC day. E90 to E99 are ERROR, other codes WARN (PR-587).
    """
    seconds, code = int(at.timestamp()) % 86_400, message.code.replace("E00", "")
    level = "WARN" if code or message.kind == "E" else "INFO"
    level = "ERROR" if code[:2] == "E9" else level
    rest = f"{short_line(message)} {message.code or '-'} {summary(message.data)}"
    return f"[{seconds:05}] [{level}] {rest}"


def short_line(message: Message) -> str:
    """Return the shortest line that shows a message: `[CTX] [TID] FROM>TO TYPE` (A-75)."""
    route = f"{message.sender}>{message.receiver}"
    return f"[{message.context or '-'}] [{message.task or '-'}] {route} {message.kind}"


def summary(text: str) -> str:
    """Return the first item of DATA, behind a flag also the next one (PR-588)."""
    first, *more = [item for item in data.parted(text, ";") if item] or [text]
    return (f"{first} {more[0]}" if more and "=" not in first else first)[:_SUMMARY_CHARS]


def logged(event: dict[str, Any]) -> str:
    """Return the log line of an event that carries a message (`line`, `at`), "" for another."""
    line, at = event.get("line"), event["at"]
    return log_line(conversion.message_of(line), times.instant(at)) if line else ""
