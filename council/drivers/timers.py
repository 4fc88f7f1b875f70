"""The timers of systemd in a folder of units: what they start, how often, and if they run.

Source: FW-008; systemd.timer(5), systemd.service(5).
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Mapping
from datetime import timedelta

from council.core.errors import CouncilError
from council.core.record import Record
from council.drivers.short_calls import called

_STARTS = frozenset(
    [
        "OnActiveSec",
        "OnBootSec",
        "OnStartupSec",
        "OnUnitActiveSec",
        "OnUnitInactiveSec",
        "OnCalendar",
    ]
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_SECONDS = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
}
_MOST_BYTES = 64 * 1024


class Timer(Record):
    """A timer, and what its service runs.

    Attributes:
        unit: The name of its unit.
        every: The time between two starts, None where it goes by the calendar.
        command: What the service runs, as a command of the shell.
        folder: The directory that the service works in, "" where it names none.
        variables: The variables that the service sets.
    """

    unit: str
    every: timedelta | None
    command: str
    folder: str
    variables: dict[str, str]


def timers(folder: str, home: str) -> list[Timer]:
    """Return the timers in a folder of units whose services run something.

    `home` is the home directory of the user whose units they are.
    """
    found = []
    for path in sorted(glob.glob(f"{glob.escape(folder)}/*.timer")):
        timer = _values(path)
        name = os.path.basename(path)
        started = timer.get("Unit", [f"{name.removesuffix('.timer')}.service"])[-1]
        service = _values(f"{folder}/{started}")
        if not _STARTS & timer.keys() or not service.get("ExecStart"):
            continue
        program, *words = _words(service["ExecStart"][-1], home) or [""]
        variables: dict[str, str] = {}
        for given in service.get("Environment", []):
            pairs = (word.partition("=") for word in _words(given, home))
            variables.update((key, value) for key, is_set, value in pairs if is_set)
        found.append(
            Timer(
                unit=name,
                every=_span(timer),
                command=shlex.join([program.lstrip("-@:+!"), *words]),
                folder=_plain(service.get("WorkingDirectory", [""])[-1], home),
                variables=variables,
            )
        )
    return found


def is_so(word: str, unit: str, environ: Mapping[str, str], *, is_user: bool) -> bool:
    """Return true if a unit is so: `is-active` or `is-enabled`.

    Raises:
        CouncilError: There is no systemd, or it does not answer.
    """
    argv = ["systemctl", *(["--user"] if is_user else []), word, unit]
    done = called(argv, environ, ("there is no systemd here", ""), "")
    if done.returncode and not done.stdout.strip():  # it says the state, unless it cannot be asked
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise CouncilError(f"systemctl {word}: {said or done.returncode}")
    return done.returncode == 0


def _values(path: str) -> dict[str, list[str]]:
    """Return what a unit sets, each name with its values; an empty one takes back the earlier."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_BYTES)
    except OSError:
        return {}
    found: dict[str, list[str]] = {}
    for line in text.replace("\\\n", " ").splitlines():
        name, is_set, value = line.strip().partition("=")
        if not is_set or name.startswith(("#", ";")):
            continue
        if value.strip():
            found.setdefault(name.strip(), []).append(value.strip())
        else:
            found.pop(name.strip(), None)
    return found


def _span(timer: Mapping[str, list[str]]) -> timedelta | None:
    given = [*timer.get("OnUnitInactiveSec", []), *timer.get("OnUnitActiveSec", [])]
    parts = _SPAN.findall(given[-1].lower()) if given else []
    if not parts or any(unit not in _SECONDS for _, unit in parts):
        return None
    return timedelta(seconds=sum(float(count) * _SECONDS[unit] for count, unit in parts))


def _words(text: str, home: str) -> list[str]:
    try:
        return [_plain(word, home).replace("$$", "$") for word in shlex.split(text)]
    except ValueError:
        return []


def _plain(text: str, home: str) -> str:
    """Return a value of a unit as it is meant: `%%` is a percent sign, `%h` the home directory."""
    return re.sub("%[%h]", lambda one: "%" if one[0] == "%%" else home, text)
