"""Why a run may not be started now: halted, resting, the day's ceilings.

Ceilings of one conversation are decided by its rules, since its members are absent for them.
"""

from __future__ import annotations

from datetime import timedelta

from council.kernel import times
from council.kernel.record import Any, Record
from council.runs import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.agents.settings import AgentSettings
    from council.app import App


class Hindrance(Record, settled=True):
    """Why a run waits: `halted`, `resting` or the name of a ceiling; `until` is a text or None."""

    code: str
    words: str
    until: str | None = None


def registry_of(app: App) -> Any:
    """Return the registry's state; a new one where nothing was ever noted."""
    from council.agents import registry  # late: an idle command has no work

    document = app.registry()
    return document.peek() if document.exists() else registry.new()


def hindrance(app: App, state: Any, agent: AgentSettings) -> Hindrance | None:
    """Return why no run of an agent may be started now by the registry's state, None if one may."""
    from council.agents import registry  # late: an idle command has no work

    now, limits = app.now, app.settings.limits
    if state.halted:
        return Hindrance(code="halted", words="paused for all: council resume --all")
    if rest := registry.rest_of(state, agent, now):
        words = f"{agent.id} rests until {rest.until} after failures: {rest.words}"
        return Hindrance(code="resting", words=words, until=rest.until)
    used, code, most = registry.today(state, now), "", 0.0
    open_runs = len(places.held(f"{app.state_folder}/places"))
    if limits.max_runs_per_day and used.runs + open_runs >= limits.max_runs_per_day:
        code, most = "max_runs_per_day", limits.max_runs_per_day
    elif limits.max_usd_per_day and used.usd >= limits.max_usd_per_day:
        code, most = "max_usd_per_day", limits.max_usd_per_day
    words = f"{code} = {most} of council.toml is reached for today"
    midnight = f"{times.text(now + timedelta(days=1))[:10]}T00:00:00Z"
    return Hindrance(code=code, words=words, until=midnight) if code else None
