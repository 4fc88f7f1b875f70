"""The clock of a workspace: what runs its heartbeat when nothing else does.

Three kinds: a timer of systemd's user manager, a line in the crontab, a
command automation of OpenClaw. Each is shown, put in place or taken away;
doing so twice changes nothing more.

Source: `cli.md` section 2 (`schedule`), `openclaw.md` fact 3.
"""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import suppress
from datetime import timedelta
from typing import Any

from council.core.errors import CouncilError, NotFoundError, UsageError
from council.core.ids import sha256_hex, slug
from council.core.record import Record
from council.drivers import cron, openclaw_program
from council.operations.place import Place, council_argv
from council.store import files

SYSTEMD, CRON, OPENCLAW = "systemd", "cron", "openclaw"
KINDS = (SYSTEMD, CRON, OPENCLAW)
EVERY = timedelta(minutes=5)
_SYSTEM_UNITS = "/etc/systemd/system"
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
    warnings: list[str] = []

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `schedule --json`."""
        rest = self.as_json("files crontab? command? env_file? done changed warnings")
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
        made.command = openclaw_program.automation_argv(_automation(root), agent, argv, root, every)
        return made
    made.env_file = _env_file(place)
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
    return made


def remove(place: Place, kind: str) -> Plan:
    """Take a clock away; the file of variables stays, it may hold keys.

    Raises:
        CouncilError: What keeps the time refuses.
    """
    is_openclaw = kind == OPENCLAW  # to take it away, no agent need be there any more
    made = (
        Plan(kind=kind, root=place.root, every=EVERY) if is_openclaw else plan(place, kind, EVERY)
    )
    made.done, made.warnings = "removed", []
    if kind == SYSTEMD:
        paths = [path for path in made.files if os.path.lexists(path)]
        made.changed = bool(paths)
        if paths:
            cron.disable_timer(unit_name(place.root), place.environ)
            for path in paths:
                files.remove(path)
            cron.reload_units(place.environ)
    elif kind == CRON:
        standing = cron.read_crontab(place.environ)
        left = cron.without_lines(standing, place.root)
        made.changed = left != standing
        if made.changed:
            cron.write_crontab(left, place.environ)
    else:
        made.changed = _remove_automations(place)
        files.remove(place.paths.openclaw_clock)
    return made


def _remove_automations(place: Place) -> bool:
    """Remove what OpenClaw runs for a workspace; return true if there was any."""
    jobs = openclaw_program.automations(_automation(place.root), place.environ)
    for job in jobs:
        openclaw_program.openclaw(place.environ, "cron", "rm", job)
    return bool(jobs)


def clocks(place: Place) -> list[str]:
    """Return the kinds of clock that are in place for a workspace, as far as is known.

    A crontab or a unit that a person wrote by hand counts when it names the
    heartbeat and the workspace.
    """
    units = (cron.unit_folder(place.environ), _SYSTEM_UNITS)
    serves = {
        SYSTEMD: any(cron.units_serve(folder, place.root) for folder in units),
        CRON: cron.crontab_serves(_crontab(place), place.root),
        OPENCLAW: os.path.lexists(place.paths.openclaw_clock),
    }
    return [kind for kind, is_served in serves.items() if is_served]


def astray(place: Place) -> list[tuple[str, str]]:
    """Return the clocks of ours for workspaces that are not there: kind of clock and folder.

    That is how it is after a workspace was moved.

    Source: OP-010.
    """
    units = cron.unit_folder(place.environ)
    known = [(SYSTEMD, root) for root in cron.units_roots(units)]
    known += [(CRON, root) for root in cron.crontab_roots(_crontab(place))]
    return [(kind, root) for kind, root in known if not os.path.isdir(root)]


def _crontab(place: Place) -> str:
    """Return the crontab; one that cannot be read is no clock that we know of."""
    with suppress(CouncilError):
        if shutil.which("crontab", path=place.environ.get("PATH")):
            return cron.read_crontab(place.environ)
    return ""


def unit_name(root: str) -> str:
    """Return the name of a workspace's units: readable, and no other's."""
    return f"council-{slug(os.path.basename(root), 30)}-{sha256_hex(root.encode())[:8]}"


def _automation(root: str) -> str:
    return unit_name(root).replace("council-", "council-heartbeat-", 1)


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


def _env_file(place: Place) -> str:
    config = os.path.dirname(os.path.dirname(cron.unit_folder(place.environ)))
    return f"{config}/council/{unit_name(place.root)}.env"


def _write_env_file(place: Place, made: Plan) -> None:
    """Make the file of variables, unless there is one; outside the workspace, for its keys."""
    files.make_folder(os.path.dirname(made.env_file), mode=0o700)
    path = place.environ.get("PATH") or os.defpath
    # Both readers, systemd and sh, take a value between double quotes the same way.
    shown = '"' + "".join(f"\\{one}" if one in '\\"$`' else one for one in path) + '"'
    files.write_new(made.env_file, _ENV_TEXT.format(path=shown).encode(), mode=0o600)


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
