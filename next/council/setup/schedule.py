"""Printing, installing and removing what runs the heartbeat: a crontab line or a systemd timer."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

from council.councils import words
from council.kernel import times
from council.kernel.errors import Invalid, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.setup import keys
from council.setup.clocks import Clock, Cron, Systemd, has_timers

if TYPE_CHECKING:
    from council.app import App

CLOCKS: dict[str, type[Cron | Systemd]] = {"cron": Cron, "systemd": Systemd}


def clocks(root: str, env: Mapping[str, str]) -> list[Clock]:
    """Return what runs the heartbeat of `root` as this user, working or not."""
    return [one for clock in CLOCKS.values() for one in clock.found(root, env)]


def schedule(
    app: App, *, every: str = "", install: bool = False, remove: bool = False, **kinds: bool
) -> dict[str, Any]:
    """Return what runs the heartbeat of a workspace; install or remove it if asked to.

    `kinds` are `cron` and `systemd`; without one it is what fits this machine. The present PATH is
    kept for the agents.

    Raises:
        Usage: The clock cannot keep that interval.
        Refusal: The clock refuses; nothing was changed.
    """
    root, env = app.root, app.env
    seconds = int(times.duration(every or "5m").total_seconds())
    if seconds % 60:
        raise Usage("bad-interval", "a clock runs at full minutes", "use 1m or more")
    if not root.isprintable():
        raise Invalid("bad-path", f"no clock can be given the path {root!r}", "rename the folder")
    kind = next((one for one in kinds if kinds[one]), "")
    kind = kind or ("systemd" if has_timers(env) else "cron")
    parts = CLOCKS[kind].parts(root, [*command(), "heartbeat", "--root", root], seconds, env)
    path, warnings = keys.path_of(root, env), list[str]()
    if install:
        _keep_variables(path, env)
    if install or remove:
        warnings = CLOCKS[kind].change(root, parts, env, remove)
    if remove and set(keys.read(path)) - {"PATH"}:
        warnings.append(f"kept, since you wrote in it: {path}")
    elif remove:
        with suppress(FileNotFoundError):
            os.unlink(path)
    done = "removed" if remove else "installed" if install else ""
    crontab, units = ("", {}) if done else (parts.pop("crontab", ""), parts)
    return {
        **{"kind": kind, "root": root, "everyS": seconds, "outcome": done or "shown"},
        **{"done": done, "crontab": crontab, "files": units},
        **{"envFile": path, "warnings": warnings},
    }


def command() -> list[str]:
    """Return the absolute command that runs council, from any directory."""
    script = os.path.join(os.path.dirname(sys.executable), "council")
    if os.access(script, os.X_OK):
        return [script]
    return [sys.executable, "-P", "-m", "council"]


def _keep_variables(path: str, env: Mapping[str, str]) -> None:
    """Make the file of keys with the present PATH, unless there is one."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            values = {"path": env.get("PATH", os.defpath)}
            file.write(words.fill(words.template("setup/files/keys.env"), values))
