"""The crontab lines and systemd timers that run the heartbeat of a workspace, and their faults.

Lines and units are read, never run. What is not understood runs no heartbeat that we know of.
"""

from __future__ import annotations

import os
import select

from council.kernel import files
from council.kernel.errors import NotFound, Unexpected
from council.kernel.record import TYPE_CHECKING, Record
from council.setup import keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATIENCE = 30.0  # seconds for a program of the system to end
_NONE_YET = ("no crontab", "no fcrontab", "no such file or directory", "does not exist")
_FORBIDDEN = ("denied", "not allowed")
_NAMED = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS = "sun mon tue wed thu fri sat"
_STARTS = ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnCalendar")


class Clock(Record, settled=True):
    """Something that runs the heartbeat: `cron` or `systemd`, its interval, its fault and cure."""

    kind: str
    when: str
    fault: str = ""
    fix: str = ""


def clocks(root: str, env: Mapping[str, str]) -> Iterator[Clock]:
    """Yield what runs the heartbeat of `root` as this user, working or not."""
    lines = _table(env).decode("utf-8", "surrogateescape").splitlines()
    found = [_cron_clock(line, root) for line in lines]
    units = f"{keys.config(env)}/systemd/user"
    timers = sorted(one for one in files.names(units) if one.endswith(".timer"))
    found += [_timer_clock(f"{units}/{name}", root) for name in timers]
    yield from filter(None, found)


def _table(env: Mapping[str, str]) -> bytes:
    """Return what `crontab -l` prints, as quickly as can be: `subprocess` is slow to import."""
    paths = (f"{one}/crontab" for one in env.get("PATH", os.defpath).split(":"))
    program = next((one for one in paths if os.access(one, os.X_OK)), "")
    (out, put), null, said = os.pipe(), os.open(os.devnull, os.O_RDWR), b""
    streams = [(os.POSIX_SPAWN_DUP2, one, to) for to, one in enumerate((null, put, null))]
    try:
        argv, world = ["crontab", "-l"], {**env, "LC_ALL": "C"}
        pid = os.posix_spawn(program, argv, world, file_actions=streams)
        os.close(put)
        put = -1
        while (there := select.select([out], [], [], _PATIENCE)[0]) and (
            more := os.read(out, 65536)
        ):
            said += more
        if not there:
            os.kill(pid, 9)
        return said if os.waitpid(pid, 0)[1] == 0 else b""
    except OSError:  # there is no such program
        return b""
    finally:
        for one in {out, put, null} - {-1}:
            os.close(one)


def called(argv: list[str], env: Mapping[str, str], data: bytes = b"") -> tuple[int, bytes, str]:
    """Run a short command of the system; return its exit code, output, and errors in one line.

    Raises:
        NotFound: There is no such program (`no-program`).
        Unexpected: It does not end, or cannot be started.
    """
    import subprocess  # late: slow, and who only reads does without

    try:
        done = subprocess.run(
            argv, input=data, capture_output=True, env={**env, "LC_ALL": "C"}, timeout=_PATIENCE
        )
    except FileNotFoundError:
        other = "--systemd" if argv[0] == "crontab" else "--cron"
        hint = f"install it, or use: council schedule {other} --install"
        raise NotFound("no-program", f"no program {argv[0]} here", hint) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unexpected("no-answer", f"{argv[0]}: {error}", "nothing was changed") from None
    return done.returncode, done.stdout, " ".join(done.stderr.decode("utf-8", "replace").split())


def read_crontab(env: Mapping[str, str]) -> str:
    """Return the crontab of this user, "" where there is none yet.

    Raises:
        NotFound: There is no program `crontab`.
        Unexpected: It cannot be read for certain (`no-crontab`).
    """
    code, table, words = called(["crontab", "-l"], env)
    if code == 0:
        return table.decode("utf-8", "surrogateescape")
    low = words.lower()
    if any(one in low for one in _NONE_YET) and not any(one in low for one in _FORBIDDEN):
        return ""
    raise Unexpected("no-crontab", f"crontab -l: {words or code}", "the crontab is unchanged")


def _cron_clock(line: str, root: str) -> Clock | None:
    line = line.strip()
    parts = line.split(None, 1 if line.startswith(_NAMED) else 5)
    if line.startswith("#") or not _runs(parts[-1].replace("\\%", "%") if parts else "", root):
        return None
    when = " ".join(parts[:-1])
    ranges = [_range(*one) for one in zip(parts[:-1], _FIELDS, strict=False) if when[0] != "@"]
    if "wrong" in ranges:
        return None
    if "over" not in ranges:
        return Clock(kind="cron", when=when)
    fault = f"the crontab line {when} never runs: a range goes past the end"
    fix = "write the range in two parts, such as 22-23,0-6: crontab -e"
    return Clock(kind="cron", when=when, fault=fault, fix=fix)


def _range(field: str, bounds: tuple[int, int]) -> str:
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


def _runs(command: str, root: str, folder: str = "") -> bool:
    """Return whether a command of the shell, in a folder, runs `council heartbeat` for `root`."""
    if "heartbeat" not in command:
        return False
    import shlex  # late: it imports `re`

    try:
        words = [one.rstrip(";") for one in shlex.split(command.strip("() "))]
    except ValueError:
        return False
    if any(" " in one and _runs(one, root, folder) for one in words):  # sh -c '...'
        return True
    at = words.index("heartbeat") if "heartbeat" in words else 0
    names = [one.rpartition("/")[2] for one in words[:at]]
    words += [os.path.expanduser(os.path.expandvars(one)) for one in words]
    folders = [one.rpartition("=")[2] if "=/" in one else one for one in words]
    folders += [folder] if folder else []
    return "council" in names and os.path.realpath(root) in map(os.path.realpath, folders)


def _timer_clock(path: str, root: str) -> Clock | None:
    timer, (folder, name) = _unit(path), os.path.split(path)
    service = _unit(f"{folder}/{timer.get('Unit') or name.removesuffix('.timer') + '.service'}")
    told = (service.get("ExecStart", ""), service.get("WorkingDirectory", "").lstrip("-"))
    command, inside = (w.replace("%h", os.path.expanduser("~")).replace("%%", "%") for w in told)
    if not _runs(command.replace("$$", "$"), root, inside):
        return None
    fault = fix = ""
    if not any(one in timer for one in _STARTS):
        fault, fix = f"{name} never starts", f"add OnActiveSec=10s to {path}"
    elif not os.path.lexists(f"{folder}/timers.target.wants/{name}"):
        fault, fix = f"{name} is not enabled", f"systemctl --user enable --now {name}"
    elif service.get("KillMode") != "process":
        fault = f"the service of {name} ends the agents' runs with each heartbeat"
        fix = "add KillMode=process to it, or: council schedule --systemd --install"
    when = timer.get("OnUnitActiveSec") or timer.get("OnUnitInactiveSec", "by the calendar")
    return Clock(kind="systemd", when=when, fault=fault, fix=fix)


def _unit(path: str) -> dict[str, str]:
    """Return the last value of each setting of a unit."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file.read(65536).splitlines() if line[:1] not in "#;"]
    except OSError:
        return {}
    pairs = (line.strip().partition("=") for line in lines)
    return {name.strip(): value.strip() for name, is_set, value in pairs if is_set}
