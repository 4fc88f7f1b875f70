"""OpenClaw's own commands: its configuration, and the automation that is a clock.

A command automation of its gateway runs the heartbeat without asking a model.

Source: `cli.md` section 2 (`schedule`), `openclaw.md` fact 3.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from council.core.errors import CouncilError
from council.core.reading import read_json
from council.core.record import Any
from council.core.times import render_duration
from council.drivers.short_calls import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import CompletedProcess

_LONGEST_S = 120


def automation_argv(
    name: str, agent: str, argv: list[str], root: str, every: timedelta
) -> list[str]:
    """Return the command that adds the automation."""
    beat = [*argv, "--reply-token", "NO_REPLY"]
    return [
        *("openclaw", "cron", "add", "--every", render_duration(every), "--name", name),
        *("--agent", agent, "--command-argv", json.dumps(beat), "--command-cwd", root),
        "--no-deliver",
    ]


def automations(name: str, environ: Mapping[str, str], *, enabled: bool = False) -> list[str]:
    """Return the ids of the automations of that name, if `enabled` only of those that run.

    Raises:
        CouncilError: OpenClaw is not there, does not answer, or answers something else.
    """
    said = openclaw(environ, "cron", "list", "--json")
    try:
        listed = read_json(said)
    except ValueError:
        raise CouncilError(
            "openclaw cron list did not answer JSON", "see: openclaw cron list"
        ) from None
    return [
        str(one.get("id") or one.get("jobId"))
        for one in _objects(listed)
        if one.get("name") == name
        and (one.get("id") or one.get("jobId"))
        and not (enabled and one.get("enabled") is False)
    ]


def job_of(said: str) -> str:
    """Return the id of the automation that OpenClaw says it has added, "" if it says none."""
    try:
        added = read_json(said)
    except ValueError:
        return ""
    job = next((one.get("id") for one in _objects(added) if one.get("id")), "")
    return job if isinstance(job, str) and job.isprintable() else ""


def openclaw(environ: Mapping[str, str], *words: str) -> str:
    """Run OpenClaw with these words and return what it printed.

    Raises:
        CouncilError: It is not there, or refuses.
    """
    done = _called(environ, words)
    if done.returncode != 0:
        said, *_ = done.stderr.decode("utf-8", "replace").partition("\nGateway target: ")
        said = " ".join(said.split())[-300:]
        is_down = "not reachable" in said or not said
        hint = "is its gateway up?" if is_down else "see: openclaw doctor"
        raise CouncilError(f"openclaw {' '.join(words[:2])}: {said or done.returncode}", hint)
    return done.stdout.decode("utf-8", "replace")


def configured(environ: Mapping[str, str], path: str) -> Any:
    """Return a value of OpenClaw's configuration, None where it has none.

    Raises:
        CouncilError: OpenClaw is not there.
    """
    done = _called(environ, ("config", "get", path, "--json"))
    try:
        return read_json(done.stdout.decode("utf-8", "replace")) if not done.returncode else None
    except ValueError:
        return None


def _called(environ: Mapping[str, str], words: Sequence[str]) -> CompletedProcess[bytes]:
    missing = "there is no program openclaw on PATH", "install it, or call this where it is"
    argv = ["openclaw", *words]
    return called(argv, environ, missing, "see: openclaw doctor", timeout_s=_LONGEST_S)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = [*value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
