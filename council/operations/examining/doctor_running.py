"""What `doctor` says of running: the clock, the halt, agents that rest, counts, limits, hooks.

Source: `cli.md` section 2 (`doctor`), `trust.md` (bounds).
"""

from __future__ import annotations

from datetime import timedelta

from council.core.bounds import LIMITS
from council.core.delegation.delegation import DEFAULTS
from council.core.times import render_instant
from council.operations.examining.finding import Finding
from council.operations.gate import reached_today, resting_agents
from council.operations.halting import read_halt
from council.operations.place import Place
from council.operations.schedule import SYSTEMD, astray, clocks, unit_name
from council.operations.telling.hooks import plan_of
from council.store import files
from council.store.paths import record_files
from council.store.tally import edit_tally, is_damaged

_FRESH_BEAT = timedelta(minutes=15)


def examine_running(place: Place, *, repair: bool) -> list[Finding]:
    """Look at what starts runs and at what keeps them from being started."""
    return [
        *_clock(place),
        *_halt(place),
        *_rests(place),
        *_counts(place, repair),
        *_limits(place),
        *_hooks(place),
    ]


def _clock(place: Place) -> list[Finding]:
    found = clocks(place)
    if found:
        said = f"the heartbeat is run by {', '.join(found)}"
        return [Finding(what="clock", ok=True, found=said)]
    last = place.last_beat()
    fresh = last is not None and place.now() - last <= _FRESH_BEAT
    well = fresh or not place.conversations.names()
    said = "none is known: answers move a council, no deadline is kept (see: council schedule)"
    fix = "" if well else "council schedule --install"
    return [Finding(what="clock", ok=well, found=said, fix=fix), *_astray(place)]


def _astray(place: Place) -> list[Finding]:
    found = []
    for kind, root in astray(place):
        unit = f"systemctl --user disable --now {unit_name(root)}.timer"
        old = unit if kind == SYSTEMD else "crontab -e"
        said = f"{kind} runs the heartbeat of {root}, where no folder is: was it moved?"
        fix = f"council schedule --install here; then take the old one out: {old}"
        found.append(Finding(what="clock", ok=False, found=said, fix=fix))
    return found


def _halt(place: Place) -> list[Finding]:
    halt = read_halt(place)
    if halt is None:
        return []
    since = f" since {render_instant(halt.at)}" if halt.at else ""
    why = f": {halt.reason}" if halt.reason else ""
    said = f"no run is started{since}{why}"
    return [Finding(what="halted", ok=False, found=said, fix="council resume --all")]


def _rests(place: Place) -> list[Finding]:
    return [
        Finding(
            what=agent,
            ok=False,
            found=f"rests after {lapse.failures} failures in a row, the last: {lapse.reason}",
            fix="mend it, then let it answer once: council doctor --probe",
        )
        for agent, lapse in resting_agents(place).items()
    ]


def _counts(place: Place, repair: bool) -> list[Finding]:
    if not is_damaged(place.paths):
        return []
    if repair:
        for path in record_files(place.paths.tally):
            files.remove(path)
        edit_tally(place.paths, lambda tally: tally.councils.clear())
    mended = not is_damaged(place.paths)
    said = "counts of runs begin anew" if mended else f"{place.paths.tally} cannot be read"
    fix = "" if mended else f"council doctor --repair, or remove {place.paths.tally}"
    return [Finding(what="counts", ok=mended, found=said, fix=fix)]


def _limits(place: Place) -> list[Finding]:
    found = [
        Finding(
            what="limits",
            ok=False,
            found=f"no limit is called {name}",
            fix=f"there are: {', '.join((*LIMITS, *DEFAULTS))}",
        )
        for name in place.settings.limits
        if name not in LIMITS and name not in DEFAULTS
    ]
    return found + [
        Finding(what="limits", ok=False, found=f"{cap} is reached", fix="wait, or raise it")
        for cap in reached_today(place)
    ]


def _hooks(place: Place) -> list[Finding]:
    plan = plan_of(place.settings.hooks)
    if not place.settings.hooks:
        return []
    faults = [
        Finding(what="hooks", ok=False, found=fault, fix="correct it in council.toml")
        for fault in plan.faults
    ]
    named = ", ".join(plan.commands) or "none"
    return faults or [Finding(what="hooks", ok=True, found=named)]
