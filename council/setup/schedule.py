r"""What runs the heartbeat of a workspace: a crontab line or a systemd timer.

A crontab line is right under every cron only if it needs no shell words and has a backslash, not
quotation marks, before each odd character: some crons hand `\%` on as it is. A timer has to be
monotonic (a calendar timer skips at midnight and when the clocks change), and its service needs
KillMode=process, or systemd ends the agents' runs with the heartbeat that started them.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

from council.agents import programs, settings
from council.kernel import files, times, words
from council.kernel.errors import Invalid, NotFound, Refusal, Unexpected, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import starting
from council.setup import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from council.app import App

BEGIN, END = "# >>> council schedule: ", "# <<< council schedule: "
_PLAIN = frozenset("/._-+:@,=")  # beside letters and digits
_NONE_YET = ("no crontab", "no fcrontab", "no such file or directory", "does not exist")
_FORBIDDEN = ("denied", "not allowed")
_CURES = {
    "crontab": "another way: council schedule --systemd --install",
    "systemctl": "another way: council schedule --cron --install",
    "no openclaw": "npm i -g openclaw",
    "openclaw": "is its gateway running? see: openclaw doctor",
}
_ORDER = "jan feb mar apr may jun jul aug sep oct nov dec sun mon tue wed thu fri sat"
_UNQUOTED = dict.fromkeys(map(ord, "\\'\""))


def schedule(
    app: App, *, every: str = "", install: bool = False, remove: bool = False, **kinds: bool
) -> dict[str, Any]:
    """Return what runs the heartbeat of a workspace; install or remove it if asked to.

    `kinds` are `cron` and `systemd`; without one it is what fits this machine. The present PATH is
    kept for the agents. Where the clock refuses, nothing was changed.
    """
    root, env = app.root, app.env
    seconds = int(times.duration(every or "5m").total_seconds())
    if seconds % 60:
        raise Usage("bad-interval", "a clock runs at full minutes", "use 1m, 2m and so on")
    if not root.isprintable():
        raise Invalid("bad-path", f"no clock can be given the path {root!r}", "rename the folder")
    is_cron = bool(kinds.get("cron"))
    if not (is_cron or kinds.get("systemd")):
        try:
            _systemctl(env, "show-environment")
        except Refusal:  # this user has no manager of timers
            is_cron = True
    argv = [*command(), "heartbeat", "--root", root]
    line = f"{fields(seconds)} {' '.join(map(escaped, argv))} >/dev/null" if is_cron else ""
    crontab = f"{BEGIN}{root}\n{line}\n{END}{root}\n" * is_cron
    units = {} if is_cron else _units(root, argv, seconds, env)
    path, warnings = keys.path_of(root, env), list[str]()
    if is_cron and (install or remove):
        _change_crontab(root, "" if remove else crontab, env)
    elif install or remove:
        warnings += _change_units(root, units, env, remove)
    if install and not remove:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        line = f"PATH={keys.environment(root, env)['PATH']}"
        text = keys.text_of(path) or words.template("setup/files/keys.env")
        made = re.sub("(?m)^PATH=.*", lambda _: line, text).encode("utf-8", "surrogateescape")
        files.replace(os.path.realpath(path), made, 0o600)
    if remove and set(keys.read(path)) - {"PATH"}:
        warnings.append(f"kept, since you wrote in it: {path}")
    elif remove:
        files.remove(path)
    if any(one.driver == "openclaw" for one in app.settings.agents.values()) and not remove:
        warnings.append("OpenClaw's own clock does it, too: council integrate openclaw")
    done = "removed" if remove else "installed" if install else ""
    shown = {"crontab": "", "files": {}} if done else {"crontab": crontab, "files": units}
    kind = "cron" if is_cron else "systemd"
    return {"kind": kind, "done": done, **shown, "envFile": path, "warnings": warnings}


def clocks(root: str, env: Mapping[str, str]) -> list[dict[str, str]]:
    """Return what runs the heartbeat of `root` as this user: its `kind`, and `when`."""
    kinds = {"cron": _crontab_times(root, env), "systemd": _timer_times(root, env)}
    kinds["openclaw"] = ["openclaw cron list"] * os.path.exists(f"{root}/{starting.CLOCK}")
    return [{"kind": kind, "when": one} for kind, found in kinds.items() for one in found]


def command() -> list[str]:
    """Return the absolute command that runs council, from any directory."""
    script = os.path.join(os.path.dirname(sys.executable), "council")
    return [script] if os.access(script, os.X_OK) else [sys.executable, "-P", "-m", "council"]


def fields(seconds: int) -> str:
    """Return the five fields of a crontab line, in the only form that all crons take."""
    hours, minutes = divmod(seconds // 60, 60)
    if not hours and 60 % minutes == 0:
        return "* * * * *" if minutes == 1 else f"*/{minutes} * * * *"
    if not minutes and 24 % hours == 0:
        return f"0 {({1: '*', 24: '0'}).get(hours, f'*/{hours}')} * * *"
    hint = "choose one that divides an hour or a day, such as 5m, 15m, 1h, 6h, or use --systemd"
    raise Usage("bad-interval", "cron cannot keep that interval", hint)


def escaped(word: str) -> str:
    """Return a word for a crontab line: a backslash before each character that is not plain."""
    return "".join(c if c.isalnum() or c in _PLAIN or not c.isascii() else f"\\{c}" for c in word)


def _crontab(env: Mapping[str, str]) -> str:
    """Return the crontab of this user, "" where it is certain that there is none yet."""
    try:
        return called(["crontab", "-l"], env)
    except Unexpected as error:
        low = error.message.lower()
        if any(one in low for one in _NONE_YET) and not any(one in low for one in _FORBIDDEN):
            return ""
        raise


def _change_crontab(root: str, made: str, env: Mapping[str, str]) -> None:
    """Put lines between the markers of a workspace, or remove them; all else byte for byte."""
    before = _crontab(env)
    begin, end = (f"^{re.escape(one + root)}\\s*?$" for one in (BEGIN, END))
    others = re.sub(rf"{begin}\n(?:.*\n)*?{end}\n?", "", before, flags=re.M)
    if re.search(f"{begin}|{end}", others, re.M):
        what = f"the markers for {root} in the crontab do not match"
        raise Invalid("bad-crontab", what, "remove those lines: crontab -e")
    after = others + "\n" * (others[-1:] not in ("", "\n")) + made
    if after != before:
        called(["crontab", "-"], env, after)


def _crontab_times(root: str, env: Mapping[str, str]) -> list[str]:
    """Return when lines of the crontab run the heartbeat of `root`."""
    lines, found = "", list[str]()
    with suppress(Refusal):
        lines = _crontab(env)
    for line in map(str.strip, lines.splitlines()):
        *when, command = line.split(None, 1 if line[:1] == "@" else 5) or [""]
        runs = line[:1] != "#" and when != ["@reboot"] and not any(map(_is_over, when))
        found += [" ".join(when)] if runs and is_heartbeat(command, root) else []
    return found


def _is_over(field: str) -> bool:
    """Return whether a range goes past the end, as 22-6 or fri-mon: most crons never run it."""
    ranges = re.findall(r"(\w+)-(\w+)", field.lower())
    ends = [[int(e) if e.isdecimal() else _ORDER.find(e) for e in one] for one in ranges]
    return any(first > last for first, last in ends)


def _units(root: str, argv: list[str], seconds: int, env: Mapping[str, str]) -> dict[str, str]:
    """Return the service and the timer of a workspace by their paths."""
    safe = [one.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") for one in argv]
    values = {"root": root.replace("%", "%%"), "seconds": seconds, "unit": keys.unit(root)}
    values["command"] = " ".join(f'"{one}"' for one in safe).replace("%", "%%")
    texts = {end: words.template(f"setup/files/heartbeat.{end}") for end in ("service", "timer")}
    stem = f"{_folder(env)}/{keys.unit(root)}"
    return {f"{stem}.{end}": words.fill(text, values) for end, text in texts.items()}


def _folder(env: Mapping[str, str]) -> str:
    return f"{keys.config(env)}/systemd/user"


def _change_units(
    root: str, made: dict[str, str], env: Mapping[str, str], remove: bool
) -> list[str]:
    """Write and start the units of a workspace, or stop and remove them; return warnings."""
    timer, before = f"{keys.unit(root)}.timer", [path for path in made if os.path.exists(path)]
    if remove:
        if before:
            _systemctl(env, "disable", "--now", timer)
        for path in before:
            os.unlink(path)
        return []
    try:
        for path, text in made.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            files.replace(path, text.encode("utf-8", "surrogateescape"))
        for argv in (["daemon-reload"], ["enable", timer], ["restart", timer]):
            _systemctl(env, *argv)
    except Refusal:
        for path in set(made) - set(before):
            os.unlink(path)
        raise
    lingers = os.path.exists(f"/var/lib/systemd/linger/{os.path.basename(keys.home(env))}")
    return [] if lingers else ["The timer stops when you log out: loginctl enable-linger"]


def _timer_times(root: str, env: Mapping[str, str]) -> list[str]:
    """Return how often timers that are enabled run the heartbeat of `root`."""
    rows = []
    for name in sorted(files.names(f"{_folder(env)}/timers.target.wants")):
        stem = f"{_folder(env)}/{name.removesuffix('.timer')}"
        paths = [os.path.realpath(f"{stem}.{end}") for end in ("service", "timer")]
        found = [settings.content(path) or b"" for path in paths]  # a unit may be a link
        service, timer = (one.decode("utf-8", "replace") for one in found)
        text = service.replace("%%", "%").replace("$$", "$").replace("\n", " ").replace("%h", "~")
        starts = re.search(r"^On(Calendar|(Active|Boot|Startup)Sec)=.", timer, re.M)
        if starts and is_heartbeat(text, root):
            when = re.search(r"OnUnit\w*activeSec=(.*)", timer, re.I)
            kills = "; without KillMode=process it ends runs" * ("KillMode=process" not in service)
            rows.append((when[1] if when else "by the calendar") + kills)
    return rows


def _systemctl(env: Mapping[str, str], *what: str) -> None:
    called(["systemctl", "--user", *what], env)


def called(argv: list[str], env: Mapping[str, str], text: str = "", seconds: float = 30) -> str:
    """Return what a short program printed; refuse where there is none, or it fails."""
    cure = _CURES[argv[0]]
    if not programs.which(argv[0], env.get("PATH", os.defpath)):
        hint = f"install it; {_CURES.get(f'no {argv[0]}', cure)}"
        raise NotFound("no-program", f"no program {argv[0]} on PATH", hint)
    import subprocess  # late: slow, and most machines lack one of the programs

    how: Any = {"env": {**env, "LC_ALL": "C"}, "timeout": seconds, "capture_output": True}
    done: subprocess.CompletedProcess[bytes]
    try:
        done = subprocess.run(argv, input=text.encode("utf-8", "surrogateescape"), **how)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unexpected("no-answer", f"{argv[0]}: {error}", "run the command again") from None
    if done.returncode:
        errors = " ".join(done.stderr.decode(errors="replace").split())[:300]
        what = f"{' '.join(argv[:3])}: {errors or done.returncode}"
        raise Unexpected("program-failed", what, cure)
    return done.stdout.decode("utf-8", "surrogateescape")


def is_heartbeat(command: str, root: str) -> bool:
    """Return whether a command of the shell, or a service, runs `council heartbeat` for `root`.

    It is read without its quotation marks, never run; other commands around it do not matter.
    """
    text = os.path.expandvars(command.translate(_UNQUOTED)) + " "
    text = text.replace("~/", os.path.expanduser("~/"))
    before, is_there, after = text.partition(" heartbeat")
    names = any(f"{root.translate(_UNQUOTED)}{end}" in text for end in (" ", ";", ")", "/ "))
    return bool(is_there) and "council" in before and names and "--dry-run" not in after
