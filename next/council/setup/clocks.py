r"""The clocks that run the heartbeat of a workspace: crontab lines and systemd timers.

A crontab line is right under every cron only if it needs no shell words and has a backslash, not
quotation marks, before each odd character: some crons hand `\%` on as it is. A timer has to be
monotonic (a calendar timer skips at midnight and when the clocks change), and its service needs
KillMode=process, or systemd ends the agents' runs with the heartbeat that started them.
"""

from __future__ import annotations

import os

from council.agents import programs
from council.councils import words
from council.kernel import files
from council.kernel.errors import Invalid, NotFound, Refusal, Unexpected, Usage
from council.kernel.record import TYPE_CHECKING, Record
from council.setup import keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BEGIN, END = "# >>> council schedule: ", "# <<< council schedule: "
_PLAIN = frozenset("/._-+:@,=")  # beside letters and digits
_NONE_YET = ("no crontab", "no fcrontab", "no such file or directory", "does not exist")
_FORBIDDEN = ("denied", "not allowed")
_NAMED = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_MONTHS, _DAYS = "jan feb mar apr may jun jul aug sep oct nov dec", "sun mon tue wed thu fri sat"
_FIELDS = ((0, 59, ""), (0, 23, ""), (1, 31, ""), (1, 12, _MONTHS), (0, 7, _DAYS))
_STARTS = ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnCalendar")
_UNQUOTED = dict.fromkeys(map(ord, "\\'\""))
_PATIENCE = 30.0  # seconds for a program of the system to end


class Clock(Record, settled=True):
    """Something that runs the heartbeat: `cron` or `systemd`, its interval, its fault and cure."""

    kind: str
    when: str
    fault: str = ""
    fix: str = ""


class Cron:
    """The crontab of this user."""

    @staticmethod
    def parts(root: str, argv: list[str], seconds: int, _: Mapping[str, str]) -> dict[str, str]:
        """Return the lines of a workspace, as a part called `crontab`."""
        line = f"{fields(seconds)} {' '.join(map(escaped, argv))} >/dev/null"
        return {"crontab": f"{BEGIN}{root}\n{line}\n{END}{root}\n"}

    @staticmethod
    def change(root: str, made: dict[str, str], env: Mapping[str, str], remove: bool) -> list[str]:
        """Put the lines of a workspace into the crontab, or remove them; all else byte for byte.

        Raises:
            Invalid: A marker has lost its other half (`bad-crontab`).
            Unexpected: The crontab cannot be read for certain, or not be written (`no-crontab`).
        """
        before, kept, inside = table(env), list[str](), False
        for line in before.splitlines(keepends=True):
            if line.rstrip("\r\n") == (END if inside else BEGIN) + root:
                inside = not inside
            elif not inside:
                kept.append(line)
        if inside or f"{END}{root}\n" in kept:
            what = f"the markers for {root} in the crontab do not match"
            raise Invalid("bad-crontab", what, "remove those lines: crontab -e")
        others = "".join(kept)
        others += "\n" if others and not others.endswith("\n") else ""
        after = others if remove else others + made["crontab"]
        if after != before:
            code, _, words = called(["crontab", "-"], env, after)
            if code:
                raise Unexpected("no-crontab", f"crontab: {words}", "the old crontab is unchanged")
        return []

    @staticmethod
    def found(root: str, env: Mapping[str, str]) -> Iterator[Clock]:
        """Yield the lines that run the heartbeat of `root`, working or not."""
        try:
            lines = table(env).splitlines()
        except Refusal:
            return
        for line in map(str.strip, lines):
            words = line.split(None, 1 if line.startswith(_NAMED) else 5)
            if line[:1] == "#" or not is_heartbeat("".join(words[-1:]).replace("\\%", "%"), root):
                continue
            when, fault, fix = " ".join(words[:-1]), "", ""
            try:
                if when[:1] != "@" and any(map(_is_over, words, _FIELDS)):
                    fault = f"the crontab line {when} never runs: a range goes past the end"
                    fix = "write the range in two parts, such as 22-23,0-6: crontab -e"
            except ValueError:  # it is no line of a crontab
                continue
            yield Clock(kind="cron", when=when, fault=fault, fix=fix)


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


def table(env: Mapping[str, str]) -> str:
    """Return the crontab of this user, "" where there is none yet.

    Raises:
        NotFound: There is no program `crontab`.
        Unexpected: It cannot be read for certain (`no-crontab`).
    """
    code, found, words = called(["crontab", "-l"], env)
    low = words.lower()
    is_new = any(one in low for one in _NONE_YET) and not any(one in low for one in _FORBIDDEN)
    if code and not is_new:
        raise Unexpected("no-crontab", f"crontab -l: {words or code}", "the crontab is unchanged")
    return "" if code else found


def _is_over(field: str, bounds: tuple[int, int, str]) -> bool:
    """Return whether a range goes past the end, so that the usual crons never run it.

    Raises:
        ValueError: It is no field.
    """
    first, last, names = bounds
    for part in field.lower().split(","):
        span, slash, step = part.partition("/")
        if span in ("*", "~"):
            span = f"{first}-{last}"
        ends = [
            names.split().index(one) + first if one.isalpha() else int(one)
            for one in span.replace("~", "-").split("-")
        ]
        if (slash and int(step) < 1) or len(ends) > 2 or min(ends) < first or max(ends) > last:
            raise ValueError(part)
        if ends[0] > ends[-1]:
            return True
    return False


class Systemd:
    """The timers of this user's systemd."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def found(root: str, env: Mapping[str, str]) -> Iterator[Clock]:
        """Yield the timers that run the heartbeat of `root`, working or not."""
        folder = _units(env)
        for name in sorted(one for one in files.names(folder) if one.endswith(".timer")):
            timer = _unit(f"{folder}/{name}")
            service = _unit(
                f"{folder}/{timer.get('Unit') or name.removesuffix('.timer') + '.service'}"
            )
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


def has_timers(env: Mapping[str, str]) -> bool:
    """Return whether this user has a manager of timers."""
    try:
        return called(["systemctl", "--user", "show-environment"], env)[0] == 0
    except Refusal:
        return False


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


def called(argv: list[str], env: Mapping[str, str], text: str = "") -> tuple[int, str, str]:
    """Run a short command of the system; return its exit code, output, and errors in one line.

    Raises:
        NotFound: There is no such program (`no-program`).
        Unexpected: It does not end, or cannot be started.
    """
    if not programs.which(argv[0], env.get("PATH", os.defpath)):
        other = "--systemd" if argv[0] == "crontab" else "--cron"
        hint = f"install it, or use: council schedule {other} --install"
        raise NotFound("no-program", f"no program {argv[0]} here", hint)
    import subprocess  # late: slow, and most machines lack one of the programs

    data = text.encode("utf-8", "surrogateescape")
    how = {"env": {**env, "LC_ALL": "C"}, "timeout": _PATIENCE, "capture_output": True}
    try:
        done = subprocess.run(argv, input=data, **how)  # type: ignore[call-overload]
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unexpected("no-answer", f"{argv[0]}: {error}", "nothing was changed") from None
    out, words = (
        done.stdout.decode("utf-8", "surrogateescape"),
        done.stderr.decode(errors="replace"),
    )
    return done.returncode, out, " ".join(words.split())


def is_heartbeat(command: str, root: str, folder: str = "") -> bool:
    """Return whether a command of the shell, in a folder, runs `council heartbeat` for `root`.

    It is read without its quotation marks, never run; other commands around it do not matter.
    """
    text = os.path.expandvars(command.translate(_UNQUOTED)) + " "
    text = text.replace("~/", os.path.expanduser("~/"))
    before, is_there, _ = text.partition(" heartbeat")
    plain = root.translate(_UNQUOTED)
    names = any(f"{plain}{end}" in text for end in (" ", ";", ")", "/ "))
    return bool(is_there) and "council" in before and (names or folder == root)
