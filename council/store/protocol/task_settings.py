"""The table `[tasks]` of the settings: what may be chosen of tasks.

It is read by those who work with tasks alone, so that no other command pays
for it.

Source: PR-555, PR-564, PR-575, PR-576, PR-580, PR-584, `cli.md` section 4.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.errors import InvalidInputError, UsageError
from council.core.protocol.exchange import TaskRules
from council.core.times import parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.store.settings import Settings

_DURATIONS = ("task_timeout", "worker_timeout", "choice_timeout")
_CHOICES = {
    "choice_policy": ("wait", "first", "abandon"),
    "budget_policy": ("raise-once", "simpler", "give-up"),
}
_NUMBERS = {
    "max_depth": (1, 5),
    "max_clarifications": (0, 20),
    "max_retries": (0, 20),
    "parallel": (1, 9),
}


def task_rules(settings: Settings) -> TaskRules:
    """Return what holds for tasks: what `[tasks]` says, else what is usual.

    Raises:
        InvalidInputError: A value cannot be what it is, or there is no such setting.
    """
    told: dict[str, Any] = {
        "threshold": settings.protocol.threshold,
        "backoff": settings.retry_backoff,
    }
    for name, value in settings.tasks.items():
        if name in _DURATIONS:
            told[name] = _duration(name, value)
        elif name in _CHOICES:
            if value not in _CHOICES[name]:
                raise _wrong(name, value, f"choose: {', '.join(_CHOICES[name])}")
            told[name] = value
        elif name in _NUMBERS:
            least, most = _NUMBERS[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise _wrong(name, value, f"write a whole number from {least} to {most}")
            told[name] = value
        else:
            known = sorted((*_DURATIONS, *_CHOICES, *_NUMBERS))
            raise _wrong(name, value, f"what may be set: {', '.join(known)}")
    return TaskRules(**told)


def _duration(name: str, value: object) -> timedelta:
    try:
        return parse_duration(value if isinstance(value, str) else "")
    except UsageError:
        raise _wrong(name, value, "write a duration like 90s, 15m or 1h") from None


def _wrong(name: str, value: object, hint: str) -> InvalidInputError:
    return InvalidInputError(f"council.toml: tasks.{name} cannot be {value!r}", hint)
