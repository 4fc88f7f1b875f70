"""What runs the heartbeat of a workspace: the crontab, or a timer of systemd.

Of the crontab only the lines between our own markers are ours. It is read with
`crontab -l` and replaced with `crontab -`; every other line goes back byte for byte.
When it cannot be read for certain, it is not written.

The service of systemd's user manager is a oneshot, and systemd ends what a oneshot
leaves behind. Runs of agents must outlive the heartbeat that started them, so the unit
says `KillMode=process`. Units of their own (`systemd-run`) would not do: a run
inherits the lock that is its place among the running ones, and a unit that
another process starts inherits nothing.

Source: `cli.md` section 2 (`schedule`).
"""

from __future__ import annotations

import glob
import os
import shlex
import subprocess
from collections.abc import Mapping
from datetime import timedelta

from council.core.errors import CouncilError, InvalidStateError, UsageError
from council.drivers.short_calls import called

_CRON_BEGIN = "# >>> council schedule: "
_CRON_END = "# <<< council schedule: "
# Periods of one minute, one hour and one day, in minutes.
_USUAL_WHEN = {1: "* * * * *", 60: "0 * * * *", 24 * 60: "0 0 * * *"}


def cron_when(every: timedelta) -> str:
    """Return the five fields of a crontab line for a period.

    Raises:
        UsageError: cron knows no such period: one that does not divide an hour or a day.
    """
    minutes, seconds = divmod(int(every.total_seconds()), 60)
    hours, odd = divmod(minutes, 60)
    if not seconds and minutes in _USUAL_WHEN:
        return _USUAL_WHEN[minutes]
    if not seconds and 0 < minutes < 60 and 60 % minutes == 0:
        return f"*/{minutes} * * * *"
    if not seconds and not odd and 0 < hours < 24 and 24 % hours == 0:
        return f"0 */{hours} * * *"
    raise UsageError(
        "cron cannot keep that interval",
        "choose one that divides an hour or a day (1m, 5m, 10m, 15m, 30m, 1h, 6h), or --systemd",
    )


def cron_lines(root: str, argv: list[str], env_file: str, every: timedelta) -> str:
    """Return the lines that belong to a workspace, markers included."""
    env = shlex.quote(env_file)
    command = f"set -a; [ ! -r {env} ] || . {env}; set +a; exec {shlex.join(argv)} >/dev/null"
    # cron ends a command at a bare percent sign.
    line = f"{cron_when(every)} {command}".replace("%", "\\%")
    return f"{_CRON_BEGIN}{root}\n{line}\n{_CRON_END}{root}\n"


def read_crontab(environ: Mapping[str, str]) -> str:
    """Return the crontab of this user, "" when there is none.

    Raises:
        NotFoundError: There is no program `crontab`.
        CouncilError: It could not be read for certain.
    """
    done = _crontab(["-l"], environ)
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "surrogateescape")
    said = done.stderr.decode("utf-8", "replace").strip()
    if "no crontab" in said.lower():
        return ""
    raise CouncilError(f"crontab -l failed: {said or done.returncode}", "nothing was changed")


def write_crontab(text: str, environ: Mapping[str, str]) -> None:
    """Replace the crontab of this user.

    Raises:
        CouncilError: `crontab` refuses; the old one stands.
    """
    done = _crontab(["-"], environ, text.encode("utf-8", "surrogateescape"))
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise CouncilError(f"crontab refused: {said or done.returncode}", "the old one stands")


def without_lines(text: str, root: str) -> str:
    """Return a crontab without the lines of a workspace.

    Raises:
        InvalidStateError: A marker has lost its other half: what is between is unknown.
    """
    kept: list[str] = []
    awaited, inside = (f"{_CRON_BEGIN}{root}", f"{_CRON_END}{root}"), False
    for line in text.splitlines(keepends=True):
        marker = line.rstrip("\r\n")
        if marker in awaited:
            in_turn = marker == awaited[inside]
            inside = not inside or not in_turn
            if not in_turn:
                break
        elif not inside:
            kept.append(line)
    if inside:
        raise InvalidStateError(
            f"the markers for {root} in the crontab do not match",
            "take those lines out with: crontab -e",
        )
    return "".join(kept)


def with_lines(text: str, root: str, ours: str) -> str:
    """Return a crontab with the lines of a workspace at its end, instead of older ones."""
    others = without_lines(text, root)
    if others and not others.endswith("\n"):
        others += "\n"
    return others + ours


def crontab_roots(text: str) -> list[str]:
    """Return the workspaces for which a crontab has lines of ours."""
    return [line[len(_CRON_BEGIN) :] for line in text.splitlines() if line.startswith(_CRON_BEGIN)]


def _crontab(
    arguments: list[str], environ: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    missing = "there is no program crontab here", "install cron, or use: council schedule --systemd"
    ascii_words = {**environ, "LC_ALL": "C"}
    return called(["crontab", *arguments], ascii_words, missing, "nothing was changed", stdin=stdin)


# --- A timer and a service of systemd's user manager

_UNIT_BEGIN = "Description=Heartbeat of the council in "


def unit_folder(environ: Mapping[str, str]) -> str:
    """Return where the units of this user lie."""
    home = environ.get("HOME") or os.path.expanduser("~")
    config = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(home, ".config")
    return os.path.join(config, "systemd", "user")


def service_unit(root: str, argv: list[str], env_file: str) -> str:
    """Return the text of the service."""
    return f"""[Unit]
{_UNIT_BEGIN}{_specifiers(root)}

[Service]
Type=oneshot
WorkingDirectory={_specifiers(root)}
EnvironmentFile=-{_specifiers(env_file)}
ExecStart={" ".join(_quoted(word) for word in argv)}
# The runs of agents go on after the heartbeat has ended.
KillMode=process
"""


def timer_unit(root: str, every: timedelta, unit: str) -> str:
    """Return the text of the timer."""
    return f"""[Unit]
Description=Clock of the council in {_specifiers(root)}

[Timer]
OnActiveSec=10s
OnUnitActiveSec={int(every.total_seconds())}s
AccuracySec=5s
Unit={unit}.service

[Install]
WantedBy=timers.target
"""


def enable_timer(unit: str, environ: Mapping[str, str]) -> None:
    """Let the user manager read its units again and start the timer, now and at each login.

    Raises:
        CouncilError: There is no user manager that answers, or it refuses.
    """
    _systemctl(["daemon-reload"], environ)
    _systemctl(["enable", "--now", f"{unit}.timer"], environ)
    # A timer that ran before keeps its old interval until it is started again.
    _systemctl(["restart", f"{unit}.timer"], environ)


def disable_timer(unit: str, environ: Mapping[str, str]) -> None:
    """Stop the timer.

    Raises:
        CouncilError: There is no user manager that answers, or it refuses.
    """
    _systemctl(["disable", "--now", f"{unit}.timer"], environ)


def reload_units(environ: Mapping[str, str]) -> None:
    """Let the user manager read its units again.

    Raises:
        CouncilError: There is no user manager that answers, or it refuses.
    """
    _systemctl(["daemon-reload"], environ)


def manager_answers(environ: Mapping[str, str]) -> bool:
    """Return true if a user manager runs and answers."""
    try:
        _systemctl(["show-environment"], environ)
    except CouncilError:
        return False
    return True


def lingers(environ: Mapping[str, str]) -> bool | None:
    """Return true if the timer runs while the user is logged out; None when that is unknown."""
    words = ["loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value"]
    try:
        done = called(words, environ, ("no loginctl", ""), "")
    except CouncilError:
        return None
    return {b"yes": True, b"no": False}.get(done.stdout.strip()) if not done.returncode else None


def units_roots(folder: str) -> list[str]:
    """Return the workspaces for which there are services of ours in a folder of units."""
    paths = glob.glob(f"{glob.escape(folder)}/council-*.service")
    found = [line for path in paths for line in _lines_of(path) if line.startswith(_UNIT_BEGIN)]
    return [line[len(_UNIT_BEGIN) :].replace("%%", "%") for line in found]


def _lines_of(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(64 * 1024).splitlines()
    except OSError:
        return []


def _systemctl(arguments: list[str], environ: Mapping[str, str]) -> None:
    hint = "log in on this machine first, or use: council schedule --cron --install"
    missing = "there is no systemd here", "use: council schedule --cron"
    done = called(["systemctl", "--user", *arguments], environ, missing, hint)
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise CouncilError(f"systemctl --user {arguments[0]}: {said or done.returncode}", hint)


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{_specifiers(escaped)}"'
