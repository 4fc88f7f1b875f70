"""Why a run may not be started now: halted, resting, the day's ceilings, a missing program.

Ceilings of one conversation are decided by its rules, since its members are absent for them.
"""

from __future__ import annotations

import os

from council.kernel import times
from council.kernel.record import Any, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.agents.settings import AgentSettings
    from council.app import App


class Hindrance(Record, settled=True):
    """Why a run waits.

    Attributes:
        code: `halted`, `resting`, `max_runs_per_day`, `max_usd_per_day`.
        words: One line for a person.
        until: When time alone cures it, or None.
    """

    code: str
    words: str
    until: str | None = None


def registry_of(app: App) -> Any:
    """Return the registry's state; a new one where nothing was ever noted."""
    document = app.registry()
    return document.peek() if document.exists() else document.kind.new()
