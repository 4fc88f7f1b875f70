"""Which clocks run the heartbeat of a workspace, as far as can be seen: each with what is wrong.

A clock counts for this very directory, reached by whatever path, and only if it is certain to run
council: a line that is commented out, whose program is gone, or that runs under a condition, is
found and does not count.

Source: FW-008, OP-010.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from council.core.errors import CouncilError, NotFoundError
from council.core.ids import sha256_hex, slug
from council.core.record import Any, Record
from council.drivers import cron, crontabs, executables, openclaw_program, timers
from council.operations.place import Place
from council.store.paths import find_root, is_ghost

SYSTEMD, CRON, OPENCLAW = "systemd", "cron", "openclaw"
KINDS = (SYSTEMD, CRON, OPENCLAW)
SYSTEM_UNITS = "/etc/systemd/system"
_PATH = "/usr/bin:/bin"  # that of cron and of systemd's manager where nothing else is set
EVERY = timedelta(minutes=5)
_SLACK = timedelta(minutes=1)
_OF_PROGRAMS = {
    executables.MISSING: "clock-no-program",
    executables.FORBIDDEN: "clock-no-right",
}
_USELESS_SHELLS = ("false", "nologin", "true")


class Clock(Record):
    """A clock that is meant for a workspace.

    Attributes:
        kind: Which of `KINDS`.
        root: The workspace it runs the heartbeat of.
        fault: Why it does not, as a key of `texts/explanations.txt`; "" where it does.
        values: What is put into that sentence.
        due: The instant since which a heartbeat must have run, None where that is unknown.
        is_ours: Whether `council schedule` made it.
    """

    kind: str
    root: str
    fault: str = ""
    values: dict[str, Any] = {}
    due: datetime | None = None
    is_ours: bool = False


def clocks_of(place: Place) -> list[Clock]:
    """Return the clocks that are meant for a workspace, those that do not run included."""
    found = [*_cron_clocks(place), *_timers(place), *_automations(place)]
    own = os.path.realpath(place.root)
    return [one for one in found if os.path.realpath(one.root) == own]


def live(found: list[Clock]) -> list[Clock]:
    """Return the clocks that run the heartbeat."""
    return [one for one in found if not one.fault]


def stale(place: Place) -> list[Clock]:
    """Return the clocks of directories in which no workspace is, as after a move."""
    found = [one for one in (*_cron_clocks(place), *_timers(place)) if one.fault != "clock-off"]
    marked = {CRON: cron.crontab_roots(crontab(place.environ))}
    marked[SYSTEMD] = cron.units_roots(cron.unit_folder(place.environ))
    found += [Clock(kind=kind, root=root, is_ours=True) for kind in marked for root in marked[kind]]
    return list({(one.kind, one.root): one for one in found if is_gone(one.root)}.values())


def is_gone(root: str) -> bool:
    """Return true if no workspace is where a clock says, or only what a run left there."""
    return not os.path.isdir(root) or is_ghost(root)


def crontab(environ: Mapping[str, str]) -> str:
    """Return the crontab; one that cannot be read is no clock that we know of."""
    with suppress(CouncilError):
        if shutil.which("crontab", path=environ.get("PATH")):
            return cron.read_crontab(environ)
    return ""


def _cron_clocks(place: Place) -> Iterator[Clock]:
    text, now = crontab(place.environ), place.now().astimezone()
    ours = set(cron.crontab_roots(text))
    home = place.environ.get("HOME", "")
    for line in crontabs.parse(text):
        variables = {"HOME": home, **line.variables}
        for beat in crontabs.beats(line.command, variables):
            root = _root_of(beat)
            due = line.latest(now, 2)
            clock = Clock(kind=CRON, root=root, due=due - _SLACK if due else None)
            clock.is_ours = root in ours
            clock.fault, clock.values = _fault_of(beat, place.environ)
            shell = line.variables.get("SHELL", "/bin/sh")
            if line.is_off:
                clock.fault = "clock-off"
            elif not line.when:
                clock.fault = "clock-at-boot"
            elif os.path.basename(shell) in _USELESS_SHELLS or not os.access(shell, os.X_OK):
                clock.fault, clock.values = "clock-shell", {"shell": f"SHELL={shell}"}
            yield clock


def _root_of(beat: crontabs.Beat) -> str:
    """Return the workspace that a heartbeat is for, as council itself would find it."""
    folder = os.path.join(beat.variables.get("HOME", "/"), beat.folder)
    if named := beat.root or beat.variables.get("COUNCIL_ROOT", ""):
        return os.path.join(folder, named)
    try:
        return find_root(folder, {**beat.variables, "COUNCIL_ROOT": ""})
    except NotFoundError:
        return folder


def _fault_of(beat: crontabs.Beat, environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return why a heartbeat cannot be counted on, ("", {}) where it can."""
    searched = beat.variables.get("PATH", _PATH)
    if beat.reads_more:  # a file of variables may add to it what the user has
        searched += os.pathsep + environ.get("PATH", "")
    folder = os.path.join(beat.variables.get("HOME", "/"), beat.folder)
    kind, program = executables.fault_of(beat.program[0], folder, searched)
    if kind:
        return _OF_PROGRAMS[kind], {"program": program}
    return ("", {}) if beat.is_certain else ("clock-condition", {})


# --- Timers of systemd


def _timers(place: Place) -> Iterator[Clock]:
    own = cron.unit_folder(place.environ)
    ours = set(cron.units_roots(own))
    for folder in (own, SYSTEM_UNITS):
        home = place.environ.get("HOME", "/")
        for unit in timers.timers(folder, home):
            variables = {"HOME": home, **unit.variables}
            for beat in crontabs.beats(unit.command, variables):
                beat.folder = os.path.join(unit.folder, beat.folder)
                clock = Clock(kind=SYSTEMD, root=_root_of(beat))
                clock.is_ours = folder == own and clock.root in ours
                if unit.every is not None:
                    clock.due = place.now() - 2 * unit.every - _SLACK
                clock.fault, clock.values = _fault_of(beat, place.environ)
                if not clock.fault and os.path.realpath(clock.root) == os.path.realpath(place.root):
                    clock.fault = _state_of(unit.unit, place.environ, is_user=folder == own)
                    clock.values = {"program": unit.unit}
                yield clock


def _state_of(timer: str, environ: Mapping[str, str], *, is_user: bool) -> str:
    try:
        if not timers.is_so("is-active", timer, environ, is_user=is_user):
            return "clock-inactive"
        if not timers.is_so("is-enabled", timer, environ, is_user=is_user):
            return "clock-disabled"
    except CouncilError:
        return "clock-unseen"
    return ""


# --- The automation of OpenClaw


def _automations(place: Place) -> Iterator[Clock]:
    if not os.path.lexists(place.paths.openclaw_clock):
        return
    clock = Clock(kind=OPENCLAW, root=place.root, is_ours=True)
    try:
        name = automation(place.root)
        if not openclaw_program.automations(name, place.environ, enabled=True):
            clock.fault, clock.values = "clock-no-job", {"program": name}
    except CouncilError as error:
        clock.fault, clock.values = "clock-unseen", {"program": "openclaw", "why": error.message}
    yield clock


def unit_name(root: str) -> str:
    """Return the name of a workspace's units: readable, and no other's."""
    return f"council-{slug(os.path.basename(root), 30)}-{sha256_hex(root.encode())[:8]}"


def automation(root: str) -> str:
    """Return the name of a workspace's automation of OpenClaw."""
    return unit_name(root).replace("council-", "council-heartbeat-", 1)


def removal(clock: Clock) -> str:
    """Return the command that takes a clock away."""
    if clock.is_ours:
        return f"council schedule --remove --{clock.kind} --root {shlex.quote(clock.root)}"
    return "crontab -e" if clock.kind == CRON else "systemctl --user edit --full"


def env_file(root: str, environ: Mapping[str, str]) -> str:
    """Return the file of variables of a clock; outside the workspace, for it may hold keys."""
    config = os.path.dirname(os.path.dirname(cron.unit_folder(environ)))
    return f"{config}/council/{unit_name(root)}.env"


def is_late(place: Place, running: list[Clock], patience: timedelta) -> bool:
    """Return true if no heartbeat ran when the clocks that run should have started one.

    Where a clock does not say when it runs, a heartbeat may be as old as `patience`. A clock that
    was just installed is given its first interval.
    """
    with suppress(OSError):
        installed = os.stat(env_file(place.root, place.environ)).st_mtime
        if place.now().timestamp() - installed < EVERY.total_seconds():
            return False
    due = [place.now() - patience if one.due is None else one.due for one in running]
    beat = place.last_beat()
    return bool(due) and (beat is None or beat < max(due))
