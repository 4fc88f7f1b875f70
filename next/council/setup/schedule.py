r"""Printing, installing and removing what runs the heartbeat: a crontab line or a systemd timer.

A crontab line is right under every cron only if it needs no shell words and has a backslash, not
quotation marks, before each odd character: some crons hand `\%` on as it is. A timer has to be
monotonic (a calendar timer skips at midnight and when the clocks change), and its service needs
KillMode=process, or systemd ends the agents' runs with the heartbeat that started them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

from council.kernel import times
from council.kernel.errors import Invalid, NotFound, Refusal, Unexpected, Usage
from council.kernel.record import Any
from council.setup import clocks, keys

BEGIN, END = "# >>> council schedule: ", "# <<< council schedule: "
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@,=")
_SERVICE = """[Unit]
Description=Heartbeat of the council in {root}

[Service]
Type=oneshot
WorkingDirectory={root}
ExecStart={command}
# Runs of agents continue after the heartbeat that started them.
KillMode=process
"""
_TIMER = """[Unit]
Description=Timer of the council in {root}

[Timer]
OnActiveSec=10s
OnUnitActiveSec={seconds}s
AccuracySec=5s
Unit={unit}.service

[Install]
WantedBy=timers.target
"""


def schedule(
    root: str,
    env: Mapping[str, str],
    *,
    kind: str = "",
    every: str = "",
    install: bool = False,
    remove: bool = False,
) -> dict[str, Any]:
    """Return what runs the heartbeat of a workspace; install or remove it if asked to.

    Args:
        root: The workspace.
        env: The environment; its PATH is kept for the agents.
        kind: `cron`, `systemd`, or "" for the one that fits this machine.
        every: The interval, `5m` by default.
        install: Put it in place, instead of an earlier one of this workspace.
        remove: Take it away.

    Returns:
        `kind`, `root`, `everyS`, `outcome` (`shown`, `installed`, `removed`), `files` (path to
        text), `crontab` (our lines), `envFile`, `warnings`.

    Raises:
        Usage: The clock cannot keep that interval.
        Refusal: The clock refuses; nothing was changed.
    """
    seconds = int(times.duration(every or "5m").total_seconds())
    if seconds < 60 or seconds % 60:
        raise Usage("bad-interval", "a clock runs every full minute at most", "use 1m or more")
    if not root.isprintable():
        raise Invalid("bad-path", f"no clock can be given the path {root!r}", "rename the folder")
    kind = kind or ("systemd" if _has_user_manager(env) else "cron")
    made: dict[str, Any] = {"kind": kind, "root": root, "everyS": seconds, "outcome": "shown"}
    made |= {"files": {}, "crontab": "", "envFile": keys.path_of(root, env), "warnings": []}
    argv = [*command(), "heartbeat", "--root", root]
    if kind == "cron":
        line = "" if remove else f"{fields(seconds)} {' '.join(map(escaped, argv))} >/dev/null"
        made["crontab"] = f"{BEGIN}{root}\n{line}\n{END}{root}\n"
    else:
        made["files"] = _units(root, argv, seconds, env)
    if install:
        _keep_variables(made["envFile"], env)
        _install_cron(made, env) if kind == "cron" else _install_timer(made, env)
    elif remove:
        _remove(made, env)
    return made


def text(made: dict[str, Any]) -> str:
    """Return what `schedule` prints: the lines or units themselves, or what was done."""
    if made["outcome"] == "shown":
        parts = [f"# {path}\n{unit}" for path, unit in made["files"].items()]
        return "\n".join(parts) or str(made["crontab"])
    lines = [f"{made['kind']}: {made['outcome']}"]
    if made["outcome"] == "installed":
        lines.append(f"keys for the agents, one NAME=value a line: {made['envFile']}")
    return "\n".join([*lines, *made["warnings"], ""])


def command() -> list[str]:
    """Return the absolute command that runs council, from any directory."""
    script = os.path.join(os.path.dirname(sys.executable), "council")
    if os.access(script, os.X_OK):
        return [script]
    return [sys.executable, "-P", "-m", "council"]


def fields(seconds: int) -> str:
    """Return the five fields of a crontab line, in the only form that all crons take.

    Raises:
        Usage: The interval divides neither the hour nor the day.
    """
    minutes = seconds // 60
    hours, odd = divmod(minutes, 60)
    if minutes == 1:
        return "* * * * *"
    if minutes < 60 and 60 % minutes == 0:
        return f"*/{minutes} * * * *"
    if not odd and hours in (1, 24):
        return "0 * * * *" if hours == 1 else "0 0 * * *"
    if not odd and hours < 24 and 24 % hours == 0:
        return f"0 */{hours} * * *"
    raise Usage(
        "bad-interval",
        "cron cannot keep that interval",
        "choose one that divides an hour or a day, such as 5m, 15m, 1h, 6h, or use --systemd",
    )


def escaped(word: str) -> str:
    """Return a word for a crontab line: a backslash before each character that is not plain."""
    return "".join(c if c in _PLAIN or not c.isascii() else f"\\{c}" for c in word)


def without_lines(table: str, root: str) -> str:
    """Return a crontab without the lines of a workspace; all else byte for byte.

    Raises:
        Invalid: A marker has lost its other half (`bad-crontab`).
    """
    kept, inside = [], False
    for line in table.splitlines(keepends=True):
        if line.rstrip("\r\n") == (END if inside else BEGIN) + root:
            inside = not inside
        elif not inside:
            kept.append(line)
    if inside or f"{END}{root}\n" in kept:
        hint = "remove those lines: crontab -e"
        raise Invalid("bad-crontab", f"the markers for {root} in the crontab do not match", hint)
    return "".join(kept)


def _install_cron(made: dict[str, Any], env: Mapping[str, str]) -> None:
    before = clocks.read_crontab(env)
    others = without_lines(before, made["root"])
    others += "\n" if others and not others.endswith("\n") else ""
    if before.count(made["crontab"]) != 1:
        _write_crontab(others + made["crontab"], env)
    made["outcome"] = "installed"


def _write_crontab(table: str, env: Mapping[str, str]) -> None:
    done = clocks.called(["crontab", "-"], env, table.encode("utf-8", "surrogateescape"))
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise Unexpected("no-crontab", f"crontab: {reason}", "the old crontab is unchanged")


def _units(root: str, argv: list[str], seconds: int, env: Mapping[str, str]) -> dict[str, str]:
    unit, plain = keys.unit(root), root.replace("%", "%%")
    words = [one.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") for one in argv]
    line = " ".join(f'"{one}"' for one in words).replace("%", "%%")
    path = f"{clocks.unit_folder(env)}/{unit}"
    return {
        f"{path}.service": _SERVICE.format(root=plain, command=line),
        f"{path}.timer": _TIMER.format(root=plain, seconds=seconds, unit=unit),
    }


def _install_timer(made: dict[str, Any], env: Mapping[str, str]) -> None:
    fresh = [path for path in made["files"] if not os.path.exists(path)]
    for path, unit in made["files"].items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit)
    timer = f"{keys.unit(made['root'])}.timer"
    try:
        _systemctl(env, "daemon-reload")
        _systemctl(env, "enable", "--now", timer)
        _systemctl(env, "restart", timer)  # else it keeps the interval that it had
    except Refusal:
        for path in fresh:
            os.unlink(path)
        raise
    made["outcome"] = "installed"
    user = os.path.basename(keys.home(env))
    if not os.path.exists(f"/var/lib/systemd/linger/{user}"):
        made["warnings"].append("The timer stops when you log out: loginctl enable-linger")


def _remove(made: dict[str, Any], env: Mapping[str, str]) -> None:
    if made["kind"] == "cron":
        before = clocks.read_crontab(env)
        others = without_lines(before, made["root"])
        if others != before:
            _write_crontab(others, env)
    else:
        standing = [path for path in made["files"] if os.path.exists(path)]
        if standing:
            _systemctl(env, "disable", "--now", f"{keys.unit(made['root'])}.timer")
        for path in standing:
            os.unlink(path)
    made["outcome"], path = "removed", made["envFile"]
    if set(keys.read(path)) - {"PATH"}:
        made["warnings"].append(f"kept, since you wrote in it: {path}")
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _keep_variables(path: str, env: Mapping[str, str]) -> None:
    """Make the file of keys with the present PATH, unless there is one."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(keys.NEW.format(path=env.get("PATH", os.defpath)))


def _has_user_manager(env: Mapping[str, str]) -> bool:
    try:
        return clocks.called(["systemctl", "--user", "show-environment"], env).returncode == 0
    except (NotFound, Unexpected):
        return False


def _systemctl(env: Mapping[str, str], *words: str) -> None:
    done = clocks.called(["systemctl", "--user", *words], env)
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise Unexpected(
            "no-systemd", f"systemctl --user {words[0]}: {reason}", "use: council schedule --cron"
        )
