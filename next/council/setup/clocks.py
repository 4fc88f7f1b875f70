"""What runs the heartbeat of a workspace, and how programs of the system are asked about it."""

from __future__ import annotations

import os

from council.agents import programs
from council.kernel.errors import NotFound, Unexpected
from council.kernel.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNQUOTED = dict.fromkeys(map(ord, "\\'\""))
_PATIENCE = 30.0  # seconds for a program of the system to end


class Clock(Record, settled=True):
    """Something that runs the heartbeat: `cron` or `systemd`, its interval, its fault and cure."""

    kind: str
    when: str
    fault: str = ""
    fix: str = ""


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
