"""The table `[tasks]` of the settings: what may be chosen of tasks.

It is read by those who work with tasks alone, so that no other command pays
for it.

Source: PR-555, PR-564, PR-575, PR-576, PR-580, PR-584, `cli.md` section 4.
"""

from __future__ import annotations

from council.core.errors import InvalidInputError
from council.core.protocol.exchange import TaskRules
from council.core.record import Any
from council.store.settings import DURATION, Settings, one_of, whole

_CHOICES = {
    "choice_policy": ("wait", "first", "abandon"),
    "budget_policy": ("raise-once", "simpler", "give-up"),
}
_KINDS = {
    **dict.fromkeys(("task_timeout", "worker_timeout", "choice_timeout"), DURATION),
    **{name: one_of(*words) for name, words in _CHOICES.items()},
    "max_depth": whole(1, 5),
    "max_clarifications": whole(0, 20),
    "max_retries": whole(0, 20),
    "parallel": whole(1, 9),
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
        if name not in _KINDS:
            raise _wrong(name, value, f"what may be set: {', '.join(sorted(_KINDS))}")
        expected, is_good, made = _KINDS[name]
        if not is_good(value):
            choices = ", ".join(_CHOICES.get(name, ()))
            raise _wrong(name, value, f"choose: {choices}" if choices else f"write {expected}")
        told[name] = made(value)
    return TaskRules(**told)


def _wrong(name: str, value: object, hint: str) -> InvalidInputError:
    return InvalidInputError(f"council.toml: tasks.{name} cannot be {value!r}", hint)
