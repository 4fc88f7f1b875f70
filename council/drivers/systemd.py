"""A timer and a service of systemd's user manager.

The service is a oneshot, and systemd ends what a oneshot leaves behind. Runs
of agents must outlive the heartbeat that started them, so the unit says
`KillMode=process`. Units of their own (`systemd-run`) would not do: a run
inherits the lock that is its place among the running ones, and a unit that
another process starts inherits nothing.

Source: `cli.md` section 2 (`schedule`).
"""

from __future__ import annotations

import glob
import os
from datetime import timedelta

from council.core.errors import CouncilError
from council.drivers.crontab import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S = 30
_BEGIN = "Description=Heartbeat of the council in "


def unit_folder(environ: Mapping[str, str]) -> str:
    """Return where the units of this user lie."""
    home = environ.get("HOME") or os.path.expanduser("~")
    config = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(home, ".config")
    return os.path.join(config, "systemd", "user")


def service(root: str, argv: list[str], env_file: str) -> str:
    """Return the text of the service."""
    return f"""[Unit]
{_BEGIN}{_specifiers(root)}

[Service]
Type=oneshot
WorkingDirectory={_specifiers(root)}
EnvironmentFile=-{_specifiers(env_file)}
ExecStart={" ".join(_quoted(word) for word in argv)}
# The runs of agents go on after the heartbeat has ended.
KillMode=process
"""


def timer(root: str, every: timedelta, unit: str) -> str:
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


def enable(unit: str, environ: Mapping[str, str]) -> None:
    """Let the user manager read its units again and start the timer, now and at each login.

    Raises:
        CouncilError: There is no user manager that answers, or it refuses.
    """
    _systemctl(["daemon-reload"], environ)
    _systemctl(["enable", "--now", f"{unit}.timer"], environ)
    # A timer that ran before keeps its old interval until it is started again.
    _systemctl(["restart", f"{unit}.timer"], environ)


def disable(unit: str, environ: Mapping[str, str]) -> None:
    """Stop the timer.

    Raises:
        CouncilError: There is no user manager that answers, or it refuses.
    """
    _systemctl(["disable", "--now", f"{unit}.timer"], environ)


def reload(environ: Mapping[str, str]) -> None:
    """Let the user manager read its units again.

    Raises:
        CouncilError: There is no user manager that answers, or it refuses.
    """
    _systemctl(["daemon-reload"], environ)


def answers(environ: Mapping[str, str]) -> bool:
    """Tell whether a user manager runs and answers."""
    try:
        _systemctl(["show-environment"], environ)
    except CouncilError:
        return False
    return True


def lingers(environ: Mapping[str, str]) -> bool | None:
    """Tell whether the timer runs while the user is logged out; None when nobody says."""
    words = ["loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value"]
    try:
        done = called(words, environ, ("no loginctl", ""), "")
    except CouncilError:
        return None
    return {b"yes": True, b"no": False}.get(done.stdout.strip()) if not done.returncode else None


def roots(folder: str) -> list[str]:
    """Return the workspaces for which there are services of ours in a folder of units."""
    paths = glob.glob(f"{glob.escape(folder)}/council-*.service")
    found = [line for path in paths for line in _lines(path) if line.startswith(_BEGIN)]
    return [line[len(_BEGIN) :].replace("%%", "%") for line in found]


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(64 * 1024).splitlines()
    except OSError:
        return []


def serves(folder: str, root: str) -> bool:
    """Tell whether a service in a folder of units beats for the workspace, by a timer there."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        if not name.endswith(".service") or f"{name[:-8]}.timer" not in names:
            continue
        text = "\n".join(_lines(f"{folder}/{name}"))
        if "heartbeat" in text and root in text.replace("%%", "%"):
            return True
    return False


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
