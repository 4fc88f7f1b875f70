"""Why a run failed, was not started or is absent: a code with values, which rules compare.

A reason has no words. Those are in `texts/reasons.txt`, and are made where something is shown
(`store/reason_words`). What a program, a server or a person wrote is a value of its reason, and
no rule reads it.

In JSON a reason is its code, or an object of its code and its values. Files of earlier versions
have sentences: `earlier_reasons` reads those that were written well. Any other text, and what is
malformed, becomes the reason `said`, which decides nothing.

Source: FI-015.
"""

from __future__ import annotations

import json
from datetime import datetime

from council.core.errors import UsageError
from council.core.record import Any, Record
from council.core.times import parse_instant, render_instant

# Which values a reason needs, by its code; it may have others as well, such as `output`.
CODES: dict[str, str] = {
    # No run was started, and no attempt is used up.
    "rests": "until failures",
    "cap": "limit most",
    "ceiling": "limit",
    "halted": "",
    # The run was not needed any more, or died.
    **dict.fromkeys(
        (
            "lost",
            "round-closed",
            "ended",
            "answered",
            "turn-over",
            "dropped",
            "interrupted",
            "paused",
        ),
        "",
    ),
    "set-aside": "context",
    # A round or turn went on without the agent.
    **dict.fromkeys(("timeout", "stopped", "cancelled", "same-answer"), ""),
    # The run came to nothing: by its program,
    "exit": "status",
    "signal": "signal",
    "timed-out": "after",
    "no-sign": "for",
    "tool-calls": "count most",
    # by its answer,
    **dict.fromkeys(
        ("no-answer", "silent", "nul", "not-utf8", "unusable", "cut-short", "no-script"), ""
    ),
    "too-long": "most",
    "strange-output": "program text",
    "refused": "text",
    # by its provider,
    **dict.fromkeys(
        ("key-refused", "quota-spent", "long-prompt", "limit-reached", "provider-failed"), "text"
    ),
    "error": "text",
    "broken-client": "how",
    "no-report": "how",
    "gateway": "text",
    # or before it began.
    "no-program": "program",
    "no-right": "program",
    "cannot-start": "program text",
    "no-process": "text",
    "no-folder": "folder",
    "no-command": "",
    "no-preset": "preset known",
    "no-driver": "driver known",
    "no-model": "",
    "preset-model": "preset",
    "no-library": "package",
    "no-key": "variable",
    "not-ready": "text",
    "no-prompt": "text",
    "broke": "text",
    # A failure of which no more may be known, and any other text.
    "failed": "",
    "said": "text",
}
# No run was started for these.
NOT_STARTED = ("rests", "cap", "ceiling", "halted")
# No run failed for these absences.
PLAIN_ABSENCES = ("timeout", "stopped", "cancelled")
_WHOLE = ("failures", "status", "count")
_NUMBERS = ("most", "after", "for", "retried", "timeout")


class Reason(Record, settled=True):
    """Why: a code of `CODES`, "" for no reason, and its values, as JSON has them.

    A reason is false if there is none.
    """

    code: str = ""
    values: dict[str, Any] = {}

    @classmethod
    def of(cls, code: str, **values: Any) -> Reason:
        """Return a reason; values that are None or empty texts are left out."""
        shown = {
            name: render_instant(one) if isinstance(one, datetime) else one
            for name, one in values.items()
            if one is not None and one != ""
        }
        return cls(code=code, values=shown)

    def __bool__(self) -> bool:
        return bool(self.code)

    def with_values(self, **values: Any) -> Reason:
        """Return it with more values; what is None or empty changes nothing."""
        return self.copy(values={**self.values, **Reason.of("", **values).values})

    def value(self, name: str) -> str:
        """Return a value as text, "" if there is none."""
        return str(self.values.get(name, ""))

    @property
    def is_start(self) -> bool:
        """Whether a run was started: true of every reason but the bounds that keep one back."""
        return self.code not in NOT_STARTED

    @property
    def rests_until(self) -> datetime | None:
        """When the rest ends that it speaks of, None for any other reason."""
        return parse_instant(self.values["until"]) if self.code == "rests" else None

    @property
    def cause(self) -> str:
        """Why an agent is absent, in a word: for `NO RESPONSE (timeout)`.

        `timeout`, `stopped` or `cancelled` (by a person), `resting` (after failures in
        a row), `not started` (a cap was reached), and `failed` for every failed run.

        Source: C0-073, HR-026.
        """
        if self.code in PLAIN_ABSENCES:
            return self.code
        if self.code == "rests":
            return "resting"
        return "failed" if self.is_start else "not started"

    def to_record(self) -> Any:
        """Return it as JSON has it."""
        return {"code": self.code, **self.values} if self.values else self.code


NO_REASON = Reason()
TIMEOUT = Reason.of("timeout")
LOST = Reason.of("lost")
NO_ANSWER = Reason.of("no-answer")


def said(text: str) -> Reason:
    """Return the reason that some text is; no reason for an empty one."""
    return Reason.of("said", text=text) if text else NO_REASON


def read_reason(value: object) -> Reason:
    """Return the reason that a value of JSON is; anything can be read.

    A sentence of an earlier version is translated. What is no reason of ours is `said`.
    """
    if value is None or value == "":
        return NO_REASON
    if isinstance(value, dict):
        code = value.get("code")
        values = {name: one for name, one in value.items() if name != "code"}
        if isinstance(code, str) and is_reason(code, values):
            return Reason(code=code, values=values)
        return said(json.dumps(value, ensure_ascii=False))
    if not isinstance(value, str):
        return said(json.dumps(value, ensure_ascii=False))
    if CODES.get(value) == "":
        return Reason(code=value)
    from council.core.earlier_reasons import translated  # only files of earlier versions need it

    return translated(value) or said(value)


def is_reason(code: str, values: dict[str, Any]) -> bool:
    """Return true if these are values that a reason of a code may have."""
    needed = CODES.get(code)
    if needed is None or not all(name in values for name in needed.split()):
        return False
    return all(_is_value(name, one) for name, one in values.items())


def _is_value(name: str, value: object) -> bool:
    if name == "until":
        try:
            return isinstance(value, str) and bool(parse_instant(value))
        except (UsageError, ValueError):
            return False
    if name in _WHOLE or name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return 0 <= value < 2**53 and (name in _NUMBERS or isinstance(value, int))
    return isinstance(value, str)
