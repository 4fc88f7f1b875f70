"""The line of the log for each message: `[TS] [LEVEL] [CTX] [TID] FROM>TO TYPE ERR SUMMARY`."""

from __future__ import annotations

from council.kernel import times
from council.kernel.record import Any
from council.tasks.wire import conversion, data

_SUMMARY_CHARS = 60


def logged(event: dict[str, Any]) -> str:
    """Return the log line of an event that carries a message (`line`, `at`), "" for another.

    TS is the second of the UTC day. E90 to E99 are ERROR, other codes WARN (PR-587).
    """
    if "line" not in event:
        return ""
    one, at = conversion.from_line(event["line"]), times.instant(event["at"])
    code = one.code.replace("E00", "")
    level = "ERROR" if code[:2] == "E9" else "WARN" if code or one.kind == "E" else "INFO"
    head = f"[{int(at.timestamp()) % 86_400:05}] [{level}] [{one.context or '-'}]"
    route = f"[{one.task or '-'}] {one.sender}>{one.receiver} {one.kind}"
    return f"{head} {route} {one.code or '-'} {summary(one.data)}"


def summary(text: str) -> str:
    """Return the first item of DATA, behind a flag also the next one (PR-588)."""
    first, *more = [item for item in data.parted(text, ";") if item] or [text]
    return (f"{first} {more[0]}" if more and "=" not in first else first)[:_SUMMARY_CHARS]
