"""The driver that asks a model behind any OpenAI-compatible endpoint; it has no tools.

The client library runs in a program of its own (`openai_client`), so time limit, largest answer,
place and log are those of any program, and that process alone holds the key.

Source: CL-004, C0-046, XC-011, XC-017.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import timedelta

from council.core.agents import AgentSettings
from council.core.reasons import Reason
from council.drivers.environment import secrets_of, seen_by
from council.drivers.run_log import RunLog
from council.drivers.runs import Answer, Run, answer_of, failed, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.processes import Finished

PACKAGE = "openai"
FIRST_OUTPUT = timedelta(minutes=2)
KEY = "OPENAI_API_KEY"
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "openai_client.py")

# What only OpenAI's own server knows goes to no other.
_OWN = ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
# The value of a reason that names what is missing.
_MISSING = {"no-library": "package", "no-key": "variable"}


def wake(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:
    """Ask the server once and take its answer.

    Args:
        run: What is asked, and of which model.
        settings: `base_url`, `api_key_env`, `first_output` and `env` of the agent.
        base: The environment of the caller, of which the client sees a part.

    Source: CL-004.
    """
    from council.drivers.processes import run_process  # much is loaded for it

    code, values = look_up(settings.copy(model=run.model), run.root, base)
    if code:
        missing = {_MISSING[code]: values["program"]} if code in _MISSING else {}
        return failed(Reason.of(code, **missing), hopeless=True)
    names = (*(() if settings.base_url else _OWN), *settings.env)
    environment = seen_by(base, names)
    environment.pop(KEY, None)
    if key := _key(settings, base):
        environment[KEY] = key
    silence_s = min(settings.first_output or FIRST_OUTPUT, run.timeout).total_seconds()
    argv = [sys.executable, "-P", CLIENT, run.model, f"{silence_s:g}"]
    argv += [settings.base_url] if settings.base_url else []
    log = RunLog(run, argv, run.root, secrets_of(environment, (KEY, *settings.env)))
    try:
        finished = run_process(
            argv,
            cwd=run.root,
            environment=environment,
            stdin=run.prompt.encode("utf-8"),
            timeout_s=run.timeout.total_seconds(),
            max_stdout_bytes=run.max_read_bytes,
            keep=run.keep,
        )
    except OSError as error:
        return log.not_started(error)
    return log.end(judged(run, finished), finished)


def look_up(
    settings: AgentSettings,
    root: str,  # noqa: ARG001
    environ: Mapping[str, str],
) -> tuple[str, dict[str, str | None]]:
    """Look for what a question needs: a model, the client library, and a key if one is named.

    Returns:
        The cause that nothing can be asked, "" for none, and what its sentence names.
    """
    from importlib.util import find_spec

    if not settings.model:
        return "no-model", {}
    if find_spec(PACKAGE) is None:
        return "no-library", {"program": PACKAGE}
    if (name := _key_name(settings)) and not _key(settings, environ):
        return "no-key", {"program": name}
    return "", {}


def judged(run: Run, finished: Finished) -> Answer:
    """Return what came of it, by what the client says on standard error."""
    lines = finished.stderr.decode("utf-8", "replace").splitlines() or [""]
    ended, _, why = lines[-1].partition(": ")
    if finished.too_long:
        answer = failed(run.too_long)
    elif finished.timed_out:
        answer = failed(run.too_late.with_values(heard=lines[-1]), timed_out=True)
    elif ended == "answered":
        answer = answer_of(run, finished.stdout)
    elif ended == "silent":
        answer = failed(Reason.of("no-sign", **{"for": float(why)}), timed_out=True)
    elif ended == "failed":
        answer = failed(Reason.of("not-ready", text=why))
    elif ended.startswith("failed "):
        _, status, code = ended.split(" ")
        answer = fault(why, int(status), code)
    else:
        how = finished.ended_by or f"exit {finished.exit_code}"
        answer = failed(Reason.of("broken-client", how=how, text=lines[-1]))
    told = next((one for one in lines if one.startswith("used ")), "")
    used = {name: float(number) for name, number in (one.split("=") for one in told.split()[1:])}
    answer.exit_code = finished.exit_code
    if "input" in used or "output" in used:
        answer.tokens = int(used.get("input", 0) + used.get("output", 0))
    answer.usd = used.get("usd")
    return answer


def _key_name(settings: AgentSettings) -> str:
    """Return the variable of the key, "" for none: OpenAI's key goes to OpenAI alone."""
    return settings.api_key_env or ("" if settings.base_url else KEY)


def _key(settings: AgentSettings, environ: Mapping[str, str]) -> str:
    """Return the key, "" where none is set, or what is set can be none."""
    key = environ.get(_key_name(settings), "").strip()
    return key if key.isascii() and key.isprintable() and " " not in key else ""
