"""The crontab of this user, of which only the lines between our own markers are ours.

It is read with `crontab -l` and replaced with `crontab -`; every other line
goes back byte for byte. When it cannot be read for certain, it is not written.

Source: `cli.md` section 2 (`schedule`).
"""

from __future__ import annotations

import shlex
import subprocess
from datetime import timedelta

from council.core.errors import CouncilError, InvalidStateError, NotFoundError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_BEGIN = "# >>> council schedule: "
_END = "# <<< council schedule: "


def when(every: timedelta) -> str:
    """Return the five fields of a crontab line for a period.

    Raises:
        UsageError: cron knows no such period: one that does not divide an hour or a day.
    """
    minutes, seconds = divmod(int(every.total_seconds()), 60)
    hours, odd = divmod(minutes, 60)
    if not seconds and minutes == 1:
        return "* * * * *"
    if not seconds and 0 < minutes < 60 and 60 % minutes == 0:
        return f"*/{minutes} * * * *"
    if not seconds and not odd and 0 < hours < 24 and 24 % hours == 0:
        return "0 * * * *" if hours == 1 else f"0 */{hours} * * *"
    if not seconds and not odd and hours == 24:
        return "0 0 * * *"
    raise UsageError(
        "cron cannot keep that interval",
        "choose one that divides an hour or a day (1m, 5m, 10m, 15m, 30m, 1h, 6h), or --systemd",
    )


def lines(root: str, argv: list[str], env_file: str, every: timedelta) -> str:
    """Return the lines that belong to a workspace, markers included."""
    env = shlex.quote(env_file)
    command = f"set -a; [ ! -r {env} ] || . {env}; set +a; exec {shlex.join(argv)} >/dev/null"
    # cron ends a command at a bare percent sign.
    line = f"{when(every)} {command}".replace("%", "\\%")
    return f"{_BEGIN}{root}\n{line}\n{_END}{root}\n"


def read(environ: Mapping[str, str]) -> str:
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


def write(text: str, environ: Mapping[str, str]) -> None:
    """Replace the crontab of this user.

    Raises:
        CouncilError: `crontab` refuses; the old one stands.
    """
    done = _crontab(["-"], environ, text.encode("utf-8", "surrogateescape"))
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise CouncilError(f"crontab refused: {said or done.returncode}", "the old one stands")


def without(text: str, root: str) -> str:
    """Return a crontab without the lines of a workspace.

    Raises:
        InvalidStateError: A marker has lost its other half: what is between is unknown.
    """
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        marker = line.rstrip("\r\n")
        if marker == f"{_BEGIN}{root}" and not inside:
            inside = True
        elif marker == f"{_END}{root}" and inside:
            inside = False
        elif marker in (f"{_BEGIN}{root}", f"{_END}{root}"):
            inside = True
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
    others = without(text, root)
    if others and not others.endswith("\n"):
        others += "\n"
    return others + ours


def serves(text: str, root: str) -> bool:
    """Tell whether a line, ours or one written by hand, beats for the workspace."""
    if f"{_BEGIN}{root}" in text.splitlines():
        return True
    return any(
        "heartbeat" in line and root in line.replace("\\%", "%")
        for line in text.splitlines()
        if not line.lstrip().startswith("#")
    )


def roots(text: str) -> list[str]:
    """Return the workspaces for which a crontab has lines of ours."""
    return [line[len(_BEGIN) :] for line in text.splitlines() if line.startswith(_BEGIN)]


def _crontab(
    arguments: list[str], environ: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    missing = "there is no program crontab here", "install cron, or use: council schedule --systemd"
    ascii_words = {**environ, "LC_ALL": "C"}
    return called(["crontab", *arguments], ascii_words, missing, "nothing was changed", stdin=stdin)


def called(
    argv: list[str],
    environ: Mapping[str, str],
    missing: tuple[str, str],
    hint: str,
    *,
    stdin: bytes = b"",
    timeout_s: float = 30,
) -> subprocess.CompletedProcess[bytes]:
    """Return what came of a program that keeps a clock.

    Args:
        argv: The program and its arguments.
        environ: Its environment.
        missing: What to say where there is no such program, and what to do then.
        hint: What to do where it cannot be run.
        stdin: What it reads.
        timeout_s: How long it may take.

    Raises:
        NotFoundError: There is no such program.
        CouncilError: It cannot be run.
    """
    try:
        return subprocess.run(
            argv,
            input=stdin,
            env=dict(environ),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        raise NotFoundError(*missing) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CouncilError(f"{argv[0]} could not be run: {error}", hint) from None
