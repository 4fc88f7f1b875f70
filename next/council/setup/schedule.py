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
from string import Template

from council.kernel import times
from council.kernel.errors import Invalid, NotFound, Refusal, Unexpected, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.setup import clocks, keys
from council.setup.init import FILES

if TYPE_CHECKING:
    from council.app import App

BEGIN, END = "# >>> council schedule: ", "# <<< council schedule: "
_PLAIN = frozenset("/._-+:@,=")  # beside letters and digits


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
    kind = kind or ("systemd" if _has_user_manager(env) else "cron")
    made: dict[str, Any] = {"kind": kind, "root": root, "everyS": seconds, "outcome": "shown"}
    made |= {"files": {}, "crontab": "", "envFile": keys.path_of(root, env), "warnings": []}
    argv = [*command(), "heartbeat", "--root", root]
    if kind == "systemd":
        made["files"] = _units(root, argv, seconds, env)
    elif not remove:
        line = f"{fields(seconds)} {' '.join(map(escaped, argv))} >/dev/null"
        made["crontab"] = f"{BEGIN}{root}\n{line}\n{END}{root}\n"
    if install:
        _keep_variables(made["envFile"], env)
    if install or remove:
        act = _change_timer if kind == "systemd" else _change_crontab
        act(made, env, remove)
        made["outcome"] = "removed" if remove else "installed"
    if remove and set(keys.read(made["envFile"])) - {"PATH"}:
        made["warnings"].append(f"kept, since you wrote in it: {made['envFile']}")
    elif remove:
        with suppress(FileNotFoundError):
            os.unlink(made["envFile"])
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
    if minutes < 60 and 60 % minutes == 0:
        return "* * * * *" if minutes == 1 else f"*/{minutes} * * * *"
    if not odd and 0 < hours <= 24 and 24 % hours == 0:
        return f"0 {({1: '*', 24: '0'}).get(hours, f'*/{hours}')} * * *"
    hint = "choose one that divides an hour or a day, such as 5m, 15m, 1h, 6h, or use --systemd"
    raise Usage("bad-interval", "cron cannot keep that interval", hint)


def escaped(word: str) -> str:
    """Return a word for a crontab line: a backslash before each character that is not plain."""
    return "".join(c if c.isalnum() or c in _PLAIN or not c.isascii() else f"\\{c}" for c in word)


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


def _change_crontab(made: dict[str, Any], env: Mapping[str, str], _: bool) -> None:
    before = clocks.read_crontab(env)
    others = without_lines(before, made["root"])
    others += "\n" if others and not others.endswith("\n") else ""
    table = (others + made["crontab"]).encode("utf-8", "surrogateescape")
    if table.decode("utf-8", "surrogateescape") == before:
        return
    code, _out, words = clocks.called(["crontab", "-"], env, table)
    if code:
        raise Unexpected("no-crontab", f"crontab: {words}", "the old crontab is unchanged")


def _units(root: str, argv: list[str], seconds: int, env: Mapping[str, str]) -> dict[str, str]:
    words = [one.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") for one in argv]
    values = {"root": root.replace("%", "%%"), "seconds": seconds, "unit": keys.unit(root)}
    values["command"] = " ".join(f'"{one}"' for one in words).replace("%", "%%")
    path = f"{keys.config(env)}/systemd/user/{values['unit']}"
    return {
        f"{path}.{end}": _file(f"heartbeat.{end}").substitute(values)
        for end in ("service", "timer")
    }


def _change_timer(made: dict[str, Any], env: Mapping[str, str], remove: bool) -> None:
    timer = f"{keys.unit(made['root'])}.timer"
    standing = [path for path in made["files"] if os.path.exists(path)]
    if remove:
        if standing:
            _systemctl(env, "disable", "--now", timer)
        for path in standing:
            os.unlink(path)
        return
    for path, unit in made["files"].items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit)
    try:
        _systemctl(env, "daemon-reload")
        _systemctl(env, "enable", "--now", timer)
        _systemctl(env, "restart", timer)  # else it keeps the interval that it had
    except Refusal:
        for path in set(made["files"]) - set(standing):
            os.unlink(path)
        raise
    if not os.path.exists(f"/var/lib/systemd/linger/{os.path.basename(keys.home(env))}"):
        made["warnings"].append("The timer stops when you log out: loginctl enable-linger")


def _keep_variables(path: str, env: Mapping[str, str]) -> None:
    """Make the file of keys with the present PATH, unless there is one."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(_file("keys.env").substitute(path=env.get("PATH", os.defpath)))


def _file(name: str) -> Template:
    with open(f"{FILES}/{name}", encoding="utf-8") as file:
        return Template(file.read())


def _has_user_manager(env: Mapping[str, str]) -> bool:
    try:
        return clocks.called(["systemctl", "--user", "show-environment"], env)[0] == 0
    except (NotFound, Unexpected):
        return False


def _systemctl(env: Mapping[str, str], *words: str) -> None:
    code, _, errors = clocks.called(["systemctl", "--user", *words], env)
    if code:
        what = f"systemctl --user {words[0]}: {errors}"
        raise Unexpected("no-systemd", what, "use: council schedule --cron")
