"""The crontab lines and systemd timers that run the heartbeat of a workspace, and their faults.

Lines and units are read, never run. What is not understood runs no heartbeat that we know of.
"""

from __future__ import annotations

import glob
import os
import shlex
import subprocess
from collections.abc import Mapping

from council.kernel.errors import NotFound, Unexpected
from council.kernel.record import Record
from council.setup import keys

_NONE_YET = ("no crontab", "no fcrontab", "no such file or directory", "does not exist")
_FORBIDDEN = ("denied", "not allowed", "permission")
_NAMED = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS = "sun mon tue wed thu fri sat"
_STARTS = ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnCalendar")


class Clock(Record, settled=True):
    """Something that runs the heartbeat of a workspace.

    Attributes:
        kind: `cron` or `systemd`.
        when: Its five fields or its interval.
        where: The crontab line, or the path of the timer.
        fault: Why it does not work as it should; "" where it does.
        fix: What to do about the fault.
        dead: The fault keeps it from ever running.
    """

    kind: str
    when: str
    where: str
    fault: str = ""
    fix: str = ""
    dead: bool = False


def clocks(root: str, env: Mapping[str, str]) -> list[Clock]:
    """Return what runs the heartbeat of `root` as this user, working or not."""
    try:
        lines = read_crontab(env).splitlines()
    except (NotFound, Unexpected):
        lines = []
    found = [one for line in lines if (one := _cron_clock(line, root))]
    return found + [
        one
        for path in sorted(glob.glob(f"{glob.escape(unit_folder(env))}/*.timer"))
        if (one := _timer_clock(path, root))
    ]


def unit_folder(env: Mapping[str, str]) -> str:
    """Return where the units of this user are."""
    config = env.get("XDG_CONFIG_HOME", "")
    config = config if os.path.isabs(config) else f"{keys.home(env)}/.config"
    return f"{config}/systemd/user"


def called(
    argv: list[str], env: Mapping[str, str], data: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a short command of the system and return what came of it.

    Raises:
        NotFound: There is no such program (`no-program`).
        Unexpected: It does not end, or cannot be started.
    """
    plain = {**env, "LC_ALL": "C", "LANGUAGE": ""}
    try:
        return subprocess.run(argv, input=data, capture_output=True, env=plain, timeout=30)
    except FileNotFoundError:
        other = "--systemd" if argv[0] == "crontab" else "--cron"
        raise NotFound(
            "no-program", f"no program {argv[0]} here", f"use: council schedule {other}"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unexpected("no-answer", f"{argv[0]}: {error}", "nothing was changed") from None


def read_crontab(env: Mapping[str, str]) -> str:
    """Return the crontab of this user, "" where there is none yet.

    Raises:
        NotFound: There is no program `crontab`.
        Unexpected: It cannot be read for certain (`no-crontab`).
    """
    done = called(["crontab", "-l"], env)
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "surrogateescape")
    reason = " ".join(done.stderr.decode("utf-8", "replace").split())
    low = reason.lower()
    if any(one in low for one in _NONE_YET) and not any(one in low for one in _FORBIDDEN):
        return ""
    raise Unexpected(
        "no-crontab", f"crontab -l: {reason or done.returncode}", "the crontab was not changed"
    )


def _cron_clock(line: str, root: str) -> Clock | None:
    line = line.strip()
    if line.startswith(_NAMED):
        fields, command = line.split()[:1], line.partition(" ")[2]
    else:
        *fields, command = line.split(None, 5) if line.count(" ") > 4 else ("", "")
    if line.startswith("#") or not _runs(command.replace("\\%", "%"), root):
        return None
    states = [] if len(fields) < 5 else [_state(*one) for one in zip(fields, _FIELDS, strict=True)]
    if "wrong" in states:
        return None
    if "over" not in states:
        return Clock(kind="cron", when=" ".join(fields), where=line)
    return Clock(
        kind="cron",
        when=" ".join(fields),
        where=line,
        fault=f"the crontab line {' '.join(fields)} never runs: a range goes past the end",
        fix="write the range in two parts, such as 22-23,0-6: crontab -e",
        dead=True,
    )


def _state(field: str, bounds: tuple[int, int]) -> str:
    """Return `right`, `over` (a range past the end, which the usual crons never run) or `wrong`."""
    names = {12: _MONTHS, 7: _DAYS}.get(bounds[1], "").split()
    for part in field.lower().split(","):
        span, slash, step = part.partition("/")
        if slash and not (step.isdigit() and int(step)):
            return "wrong"
        if span in ("*", "~"):
            continue
        ends = [
            names.index(one) + bounds[0] if one in names else int(one) if one.isdigit() else -1
            for one in span.replace("~", "-").split("-")
        ]
        if len(ends) > 2 or any(not bounds[0] <= one <= bounds[1] for one in ends):
            return "wrong"
        if ends[0] > ends[-1]:
            return "over"
    return "right"


def _runs(command: str, root: str) -> bool:
    """Return whether a command of the shell runs `council heartbeat` for a workspace."""
    try:
        words = [one.rstrip(";") for one in shlex.split(command)]
    except ValueError:
        return False
    at = words.index("heartbeat") if "heartbeat" in words else 0
    names = [one.rpartition("/")[2] for one in words[:at]]
    folders = [one.rpartition("=")[2] if "=/" in one else one for one in words]
    return "council" in names and os.path.realpath(root) in map(os.path.realpath, folders)


def _timer_clock(path: str, root: str) -> Clock | None:
    timer = _unit(path)
    folder, name = os.path.split(path)
    service = _unit(f"{folder}/{timer.get('Unit') or name.removesuffix('.timer') + '.service'}")
    command = service.get("ExecStart", "").replace("%%", "%").replace("$$", "$")
    inside = service.get("WorkingDirectory", "").replace("%%", "%")
    if not _runs(f"{command} {shlex.quote('=' + inside)}", root):
        return None
    every = timer.get("OnUnitActiveSec") or timer.get("OnUnitInactiveSec", "")
    fault = fix = ""
    if not any(one in timer for one in _STARTS):
        fault, fix = "never starts: it has no first start", f"add OnActiveSec=10s to {path}"
    elif not os.path.lexists(f"{folder}/timers.target.wants/{name}"):
        fault, fix = "is not enabled", f"systemctl --user enable --now {name}"
    dead = bool(fault)
    if not fault and service.get("KillMode") != "process":
        fault = "ends the agents' runs with each heartbeat"
        fix = "add KillMode=process to its service, or: council schedule --systemd --install"
    when = every or timer.get("OnCalendar", "")
    return Clock(
        kind="systemd", when=when, where=path, fault=fault and f"{name} {fault}", fix=fix, dead=dead
    )


def _unit(path: str) -> dict[str, str]:
    """Return the last value of each setting of a unit."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(65536).splitlines()
    except OSError:
        return {}
    pairs = (line.strip().partition("=") for line in lines if not line.startswith(("#", ";")))
    return {name.strip(): value.strip() for name, is_set, value in pairs if is_set}
