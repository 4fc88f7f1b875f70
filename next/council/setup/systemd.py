"""The systemd timer that runs the heartbeat of a workspace.

It has to be monotonic (a calendar timer skips at midnight and when the clocks change), and its
service needs KillMode=process, or systemd ends the agents' runs with the heartbeat.
"""

from __future__ import annotations

import os

from council.councils import words
from council.kernel import files
from council.kernel.errors import Refusal, Unexpected
from council.kernel.record import TYPE_CHECKING
from council.setup import keys
from council.setup.clocks import Clock, called, is_heartbeat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STARTS = ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnCalendar")


def parts(root: str, argv: list[str], seconds: int, env: Mapping[str, str]) -> dict[str, str]:
    """Return the service and the timer by their paths."""
    escaped = [one.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") for one in argv]
    values = {"root": root.replace("%", "%%"), "seconds": seconds, "unit": keys.unit(root)}
    values["command"] = " ".join(f'"{one}"' for one in escaped).replace("%", "%%")
    return {
        f"{_units(env)}/{keys.unit(root)}.{end}": words.fill(
            words.template(f"setup/files/heartbeat.{end}"), values
        )
        for end in ("service", "timer")
    }


def change(root: str, made: dict[str, str], env: Mapping[str, str], remove: bool) -> list[str]:
    """Write and start the units of a workspace, or stop and remove them; return warnings.

    Raises:
        Refusal: systemd does not start them; new files are removed.
    """
    timer, before = f"{keys.unit(root)}.timer", [path for path in made if os.path.exists(path)]
    if remove:
        if before:
            _systemctl(env, "disable", "--now", timer)
        for path in before:
            os.unlink(path)
        return []
    for path, text in made.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    try:
        _systemctl(env, "daemon-reload")
        _systemctl(env, "enable", "--now", timer)
        _systemctl(env, "restart", timer)  # else it keeps the interval that it had
    except Refusal:
        for path in set(made) - set(before):
            os.unlink(path)
        raise
    lingers = os.path.exists(f"/var/lib/systemd/linger/{os.path.basename(keys.home(env))}")
    return [] if lingers else ["The timer stops when you log out: loginctl enable-linger"]


def is_here(env: Mapping[str, str]) -> bool:
    """Return whether this user has a manager of timers."""
    try:
        return called(["systemctl", "--user", "show-environment"], env)[0] == 0
    except Refusal:
        return False


def found(root: str, env: Mapping[str, str]) -> Iterator[Clock]:
    """Yield the timers that run the heartbeat of `root`, working or not."""
    folder = _units(env)
    for name in sorted(one for one in files.names(folder) if one.endswith(".timer")):
        timer = _unit(f"{folder}/{name}")
        service = _unit(f"{folder}/{timer.get('Unit') or name.removesuffix('.timer') + '.service'}")
        told = (service.get("ExecStart", ""), service.get("WorkingDirectory", "").lstrip("-"))
        home = os.path.expanduser("~")
        command, inside = (one.replace("%h", home).replace("%%", "%") for one in told)
        if not is_heartbeat(command.replace("$$", "$"), root, inside):
            continue
        fault = fix = ""
        if not any(one in timer for one in _STARTS):
            fault, fix = f"{name} never starts", f"add OnActiveSec=10s to {folder}/{name}"
        elif not os.path.lexists(f"{folder}/timers.target.wants/{name}"):
            fault, fix = f"{name} is not enabled", f"systemctl --user enable --now {name}"
        elif service.get("KillMode") != "process":
            fault = f"the service of {name} ends the agents' runs with each heartbeat"
            fix = "add KillMode=process to it, or: council schedule --systemd --install"
        when = timer.get("OnUnitActiveSec") or timer.get("OnUnitInactiveSec", "by the calendar")
        yield Clock(kind="systemd", when=when, fault=fault, fix=fix)


def _units(env: Mapping[str, str]) -> str:
    return f"{keys.config(env)}/systemd/user"


def _unit(path: str) -> dict[str, str]:
    """Return the last value of each setting of a unit."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file.read(65536).splitlines() if line[:1] not in "#;"]
    except OSError:
        return {}
    pairs = (line.strip().partition("=") for line in lines)
    return {name.strip(): value.strip() for name, is_set, value in pairs if is_set}


def _systemctl(env: Mapping[str, str], *what: str) -> None:
    code, _, errors = called(["systemctl", "--user", *what], env)
    if code:
        told = f"systemctl --user {what[0]}: {errors}"
        raise Unexpected("no-systemd", told, "use: council schedule --cron")
