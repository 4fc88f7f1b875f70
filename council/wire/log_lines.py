"""One line of log for each message, and back.

`[TS] [LEVEL] [CTX] [TID] FROM>TO TYPE ERR SUMMARY`, with the seconds of the
UTC day in five digits and `-` for what is unused.

Source: PR-585 to PR-588, A-75.
"""

from __future__ import annotations

from datetime import UTC, datetime

from council.core.errors import InvalidInputError
from council.core.protocol.payload import items_of
from council.wire.identifiers import is_digits
from council.wire.parsed import Parsed

LEVELS = ("INFO", "WARN", "ERROR")
SUMMARY_CHARS = 60
_NO_ERROR = (None, "E00")
_PARTS = ("ts", "level", "ctx", "tid", "route", "type", "err", "summary")


def log_line(message: Parsed, now: datetime) -> str:
    """Return the line that logs a valid message at the instant `now`.

    Raises:
        InvalidInputError: The message has faults; log the one that answers it.
    """
    instant = now.astimezone(UTC)
    seconds = instant.hour * 3600 + instant.minute * 60 + instant.second
    told, fields = short_line(message), message.fields
    said = f"{told} {fields.get('err') or '-'} {summary_of(fields['data'])}"
    return f"[{seconds:05}] [{level_of(message)}] {said}"


def short_line(message: Parsed) -> str:
    """Return the shortest line that shows a message: `[CTX] [TID] FROM>TO TYPE`.

    Raises:
        InvalidInputError: The message has faults.
    """
    if message.errors:
        raise InvalidInputError("a message with faults has no log line", "log its reply")
    fields = message.fields
    task = fields.get("tid", fields.get("task")) or "-"
    sender = fields.get("from") or fields["role"]
    target = fields.get("to") or ("W" if sender == "O" else "O")
    return f"[{fields.get('ctx') or '-'}] [{task}] {sender}>{target} {fields['type']}"


def level_of(message: Parsed) -> str:
    """Return ERROR for E90 to E99, WARN for other errors and for warnings, else INFO."""
    err = message.fields.get("err")
    if err not in _NO_ERROR and err[1] == "9":
        return "ERROR"
    is_error = message.fields.get("type") in ("E", "ERR") or err not in _NO_ERROR
    return "WARN" if is_error or message.notes or message.errors else "INFO"


def summary_of(data: str) -> str:
    """Return the first item of DATA, after a flag the next one too, in 60 characters."""
    items = items_of(data) or [data]
    first = items[0]
    if len(items) > 1 and "=" not in first:
        first = f"{first} {items[1]}"
    return first[:SUMMARY_CHARS]


def parse_log_line(line: str) -> dict[str, str]:
    """Return the parts of a log line by name.

    Raises:
        InvalidInputError: It is no such line.
    """
    parts = line.rstrip("\r\n").split(" ", 7)
    marks = parts[:4]
    if len(parts) < 7 or not all(mark[:1] == "[" and mark[-1:] == "]" for mark in marks):
        raise InvalidInputError(f"this is no log line: {line[:40]!r}")
    ts, level, ctx, tid = (mark[1:-1] for mark in marks)
    if len(ts) != 5 or not is_digits(ts) or level not in LEVELS:
        raise InvalidInputError(f"this is no log line: {line[:40]!r}")
    return dict(zip(_PARTS, (ts, level, ctx, tid, *parts[4:], ""), strict=False))
