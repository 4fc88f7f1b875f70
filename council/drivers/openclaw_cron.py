"""A command automation of OpenClaw's gateway: a clock that calls no model.

Source: `openclaw.md` fact 3, `cli.md` section 2 (`schedule`).
"""

from __future__ import annotations

import json
from datetime import timedelta

from council.core.errors import CouncilError
from council.core.nesting import read_json
from council.core.times import render_duration
from council.drivers.crontab import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_TIMEOUT_S = 120


def add_argv(name: str, agent: str, argv: list[str], root: str, every: timedelta) -> list[str]:
    """Return the command that adds the automation."""
    beat = [*argv, "--reply-token", "NO_REPLY"]
    return [
        *("openclaw", "cron", "add", "--every", render_duration(every), "--name", name),
        *("--agent", agent, "--command-argv", json.dumps(beat), "--command-cwd", root),
        "--no-deliver",
    ]


def known_ids(name: str, environ: Mapping[str, str]) -> list[str]:
    """Return the ids of the automations of that name.

    Raises:
        CouncilError: OpenClaw is not there, does not answer, or answers something else.
    """
    said = call(["openclaw", "cron", "list", "--json"], environ)
    try:
        listed = read_json(said)
    except ValueError:
        raise CouncilError(
            "openclaw cron list did not answer JSON", "see: openclaw cron list"
        ) from None
    return [
        str(one.get("id") or one.get("jobId"))
        for one in _objects(listed)
        if one.get("name") == name and (one.get("id") or one.get("jobId"))
    ]


def remove(job: str, environ: Mapping[str, str]) -> None:
    """Remove an automation.

    Raises:
        CouncilError: OpenClaw refuses.
    """
    call(["openclaw", "cron", "rm", job], environ)


def call(argv: list[str], environ: Mapping[str, str]) -> str:
    """Run OpenClaw and return what it printed.

    Raises:
        CouncilError: It is not there, or refuses.
    """
    missing = "there is no program openclaw on PATH", "run the printed command where it is"
    done = called(argv, environ, missing, "is its gateway up?", timeout_s=_TIMEOUT_S)
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
        raise CouncilError(f"openclaw cron: {said or done.returncode}", "is its gateway up?")
    return done.stdout.decode("utf-8", "replace")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
