"""The clock of a workspace: what runs its heartbeat when nothing else does.

Three kinds: a timer of systemd's user manager, a line in the crontab, a
command automation of OpenClaw. Each is shown, put in place or taken away;
doing so twice changes nothing more.

Source: `cli.md` section 2 (`schedule`), `openclaw.md` fact 3.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from council.core.errors import CouncilError, NotFoundError, UsageError
from council.core.record import Record
from council.drivers import cron, openclaw_program
from council.operations.clocks import (
    CRON,
    EVERY,
    KINDS,
    OPENCLAW,
    SYSTEMD,
    automation,
    clocks_of,
    crontab,
    env_file,
    live,
    stale,
    unit_name,
)
from council.operations.place import Place, council_argv
from council.store import files

_ENV_TEXT = """# Variables for the heartbeat and the agents that it starts, one NAME=value a line.
# An agent sees only those that council.toml allows it. Keep this file to yourself (0600).
PATH={path}
# ANTHROPIC_API_KEY=...
"""


class Plan(Record):
    """What runs the heartbeat: files to write, or a crontab part, or a command to run."""

    kind: str
    root: str
    every: timedelta
    files: dict[str, str] = {}
    crontab: str = ""
    command: list[str] = []
    env_file: str = ""
    done: str = "shown"
    changed: bool = False
    stale: list[str] = []
    left: list[str] = []
    warnings: list[str] = []

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `schedule --json`."""
        rest = self.as_json("files crontab? command? env_file? done changed stale left warnings")
        return {**self.as_json("kind root"), "everyS": int(self.every.total_seconds()), **rest}

    def to_text(self) -> str:
        """Return what is put in place, as people would do it by hand."""
        parts = [f"# {path}\n{text}" for path, text in self.files.items()]
        parts += [self.crontab] if self.crontab else []
        parts += [shlex.join(self.command) + "\n"] if self.command else []
        return "\n".join(parts)


def plan(place: Place, kind: str, every: timedelta) -> Plan:
    """Return what would run the heartbeat of a workspace; nothing is changed.

    Raises:
        UsageError: That kind cannot keep that interval.
    """
    if every < timedelta(minutes=1):
        raise UsageError("a clock beats once a minute at most", "answers move a council at once")
    root, environ = place.root, place.environ
    if any(not letter.isprintable() for letter in root):
        raise UsageError(f"no clock can be told the path {root!r}", "move the workspace")
    argv = [*council_argv(), "heartbeat", "--root", root]
    made = Plan(kind=kind, root=root, every=every)
    if kind == OPENCLAW:
        try:
            agent = _owner(place)
        except NotFoundError as error:
            agent = "AGENT"
            made.warnings.append(f"{error.message}; put the id of one of its agents behind --agent")
        made.command = openclaw_program.automation_argv(automation(root), agent, argv, root, every)
        return made
    made.env_file = env_file(root, environ)
    if kind == CRON:
        made.crontab = cron.cron_lines(root, argv, made.env_file, every)
        return made
    folder, unit = cron.unit_folder(environ), unit_name(root)
    made.files = {
        f"{folder}/{unit}.service": cron.service_unit(root, argv, made.env_file),
        f"{folder}/{unit}.timer": cron.timer_unit(root, every, unit),
    }
    if not cron.lingers(environ):
        made.warnings.append(
            "the timer stops when you log out, unless you run once: loginctl enable-linger"
        )
    return made


def best_kind(place: Place) -> str:
    """Return the clock that fits this machine best."""
    return SYSTEMD if cron.manager_answers(place.environ) else CRON


def install(place: Place, kind: str, every: timedelta) -> Plan:
    """Put a clock in place, instead of an older one of the same kind.

    Raises:
        CouncilError: What keeps the time refuses; nothing is left behind.
    """
    made = plan(place, kind, every)
    made.done = "installed"
    if made.env_file:
        _write_env_file(place, made)
    if kind == SYSTEMD:
        _install_units(place, made)
    elif kind == CRON:
        standing = cron.read_crontab(place.environ)
        wanted = cron.with_lines(standing, place.root, made.crontab)
        made.changed = standing.count(made.crontab) != 1
        if made.changed:
            cron.write_crontab(wanted, place.environ)
    else:
        if made.warnings:
            raise NotFoundError(made.warnings[0], "openclaw agents list")
        made.changed = True
        _remove_automations(place)
        said = openclaw_program.openclaw(place.environ, *made.command[1:])
        files.make_folder(place.paths.control)
        job = openclaw_program.job_of(said) or "installed"
        files.replace(place.paths.openclaw_clock, f"{job}\n".encode())
    if made.env_file and made.changed:  # its date says since when the clock runs
        with suppress(OSError):
            os.utime(made.env_file, (time.time(), time.time()))
    return made


def remove(place: Place, kind: str) -> Plan:
    """Take a clock away, and with it all that `council schedule` made for what is gone since.

    A file of variables in which somebody wrote stays, for it may hold keys.

    Raises:
        CouncilError: What keeps the time refuses.
    """
    made = Plan(kind=kind, root=place.root, every=EVERY, done="removed")
    if kind == OPENCLAW:
        made.changed = _remove_automations(place)
        files.remove(place.paths.openclaw_clock)
    else:
        made.changed = _taken_away(kind, place.root, place.environ)
    _forget_variables(place.root, place.environ, made)
    for one in stale(place):
        _remove_stale(one.kind, one.root, place.environ, made, is_ours=one.is_ours)
    return made


def remove_gone(root: str, environ: Mapping[str, str]) -> Plan:
    """Take away every clock of a workspace that is gone.

    Raises:
        CouncilError: What keeps the time refuses.
    """
    made = Plan(kind=CRON, root=root, every=EVERY, done="removed")
    for kind in (SYSTEMD, CRON):
        with suppress(NotFoundError):  # without cron there is no line of it
            _remove_stale(kind, root, environ, made, is_ours=True)
    return made


def _remove_stale(
    kind: str, root: str, environ: Mapping[str, str], made: Plan, *, is_ours: bool
) -> None:
    if not is_ours:
        made.warnings.append(
            f"a person wrote what runs the heartbeat of {root} ({kind}): edit it by hand"
        )
    elif _taken_away(kind, root, environ):
        made.stale.append(f"{kind}: {root}")
        _forget_variables(root, environ, made)


def _taken_away(kind: str, root: str, environ: Mapping[str, str]) -> bool:
    """Take away what `council schedule` made for a workspace; return true if there was any."""
    if kind == CRON:
        standing = cron.read_crontab(environ)
        left = cron.without_lines(standing, root)
        if left != standing:
            cron.write_crontab(left, environ)
        return left != standing
    unit = f"{cron.unit_folder(environ)}/{unit_name(root)}"
    paths = [path for path in (f"{unit}.service", f"{unit}.timer") if os.path.lexists(path)]
    if paths:
        cron.disable_timer(unit_name(root), environ)
        for path in paths:
            files.remove(path)
        cron.reload_units(environ)
    return bool(paths)


def _forget_variables(root: str, environ: Mapping[str, str], made: Plan) -> None:
    """Remove the file of variables of a clock, unless somebody wrote in it or it is still read."""
    path = env_file(root, environ)
    unit = f"{cron.unit_folder(environ)}/{unit_name(root)}.service"
    standing = files.content_of(path)
    if not standing or os.path.lexists(unit) or root in cron.crontab_roots(crontab(environ)):
        return
    if standing == _env_text(environ).encode():
        files.remove(path)
    else:
        made.left.append(path)


def _remove_automations(place: Place) -> bool:
    """Remove what OpenClaw runs for a workspace; return true if there was any."""
    jobs = openclaw_program.automations(automation(place.root), place.environ)
    for job in jobs:
        openclaw_program.openclaw(place.environ, "cron", "rm", job)
    return bool(jobs)


def clocks(place: Place) -> list[str]:
    """Return the kinds of clock that run the heartbeat of a workspace, as far as is known.

    A crontab or a unit that a person wrote by hand counts when it runs the heartbeat of this very
    directory.
    """
    known = {one.kind for one in live(clocks_of(place))}
    return [kind for kind in KINDS if kind in known]


def installed(place: Place) -> list[str]:
    """Return the kinds of clock that `council schedule` made for a workspace, running or not."""
    known = {one.kind for one in clocks_of(place) if one.is_ours}
    return [kind for kind in KINDS if kind in known]


def astray(place: Place) -> list[tuple[str, str]]:
    """Return the clocks for workspaces that are gone, as after a move: kind and folder.

    Source: OP-010.
    """
    return [(one.kind, one.root) for one in stale(place)]


def _owner(place: Place) -> str:
    """Return the agent of OpenClaw to which the automation belongs, one that is there.

    The coordinator if it is run by OpenClaw, else another that is, else OpenClaw's own default.

    Raises:
        NotFoundError: No agent of OpenClaw is known.
    """
    ours = [one for one, told in place.settings.agents.items() if told.driver == OPENCLAW]
    if not ours:
        from council.operations.integrating.openclaw import agents_of

        found = sorted(agents_of(place.environ), key=lambda one: not one.is_default)
        ours = [one.id for one in found]
    if not ours:
        raise NotFoundError("OpenClaw has no agent to run the clock", "openclaw agents add ID")
    return place.settings.coordinator if place.settings.coordinator in ours else ours[0]


def _env_text(environ: Mapping[str, str]) -> str:
    """Return a new file of variables."""
    path = environ.get("PATH") or os.defpath
    # Both readers, systemd and sh, take a value between double quotes the same way.
    shown = '"' + "".join(f"\\{one}" if one in '\\"$`' else one for one in path) + '"'
    return _ENV_TEXT.format(path=shown)


def _write_env_file(place: Place, made: Plan) -> None:
    """Make the file of variables, unless there is one; outside the workspace, for its keys."""
    files.make_folder(os.path.dirname(made.env_file), mode=0o700)
    files.write_new(made.env_file, _env_text(place.environ).encode(), mode=0o600)


def _install_units(place: Place, made: Plan) -> None:
    before = {path: files.read_stable(path) for path in made.files}
    wanted = {path: text.encode("utf-8") for path, text in made.files.items()}
    made.changed = wanted != {path: one and one.data for path, one in before.items()}
    try:
        for path, data in wanted.items():
            files.make_folder(os.path.dirname(path))
            files.replace(path, data)
        cron.enable_timer(unit_name(place.root), place.environ)
    except CouncilError:
        for path, standing in before.items():
            if standing is None:
                files.remove(path)
            else:
                files.replace(path, standing.data)
        raise
