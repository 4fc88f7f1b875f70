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
from council.core.reading import read_json
from council.core.record import Any
from council.drivers.environment import (
    add_to_log,
    log_of_end,
    log_of_start,
    masked,
    secrets_of,
    seen_by,
)
from council.drivers.runs import Answer, Run, answer_of, failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.processes import Finished

PACKAGE = "openai"
FIRST_OUTPUT = timedelta(minutes=2)
KEY = "OPENAI_API_KEY"
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "openai_client.py")

# What a way to the server needs; what only OpenAI's own knows goes to no other server.
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_OWN = ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
_MISSING = {
    "no-model": "no model is named",
    "no-library": "the Python package {package} is not installed",
    "no-key": "the variable {variable} is not set",
}
_ENV = (*_PROXIES, *map(str.lower, _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR")


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
        return failed(_MISSING[code].format(**values), hopeless=True)
    names = (*_ENV, *(() if settings.base_url else _OWN), *settings.env)
    environment = seen_by(base, names)
    environment.pop(KEY, None)
    if key := base.get(_key_name(settings), "").strip():
        environment[KEY] = key
    secrets = secrets_of(environment, (KEY, *settings.env))
    silence_s = min(settings.first_output or FIRST_OUTPUT, run.timeout).total_seconds()
    argv = [sys.executable, "-P", CLIENT, run.model, f"{silence_s:g}"]
    argv += [settings.base_url] if settings.base_url else []
    log_error = add_to_log(run.log_file, log_of_start(run, argv, run.root, secrets))
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
        return failed(f"cannot start {sys.executable}: {error.strerror or error}")
    answer = _answer(run, finished)
    answer.reason = masked(answer.reason, secrets)
    end = log_of_end(finished, answer.reason, secrets)
    answer.log_error = add_to_log(run.log_file, end) or log_error
    return answer


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

    name = _key_name(settings)
    if not settings.model:
        return "no-model", {}
    if find_spec(PACKAGE) is None:
        return "no-library", {"package": PACKAGE}
    if name and not environ.get(name, "").strip():
        return "no-key", {"variable": name}
    return "", {}


def _answer(run: Run, finished: Finished) -> Answer:
    """Return what came of it: the last line on standard error says how it ended."""
    *_, last = ["", *finished.stderr.decode("utf-8", "replace").strip().splitlines()]
    told = _told(last)
    if finished.too_long:
        answer = failed(run.too_long)
    elif finished.timed_out:
        said = f"; {last}" if last and not told else ""
        answer = failed(run.too_late + said, timed_out=True)
    elif reason := told.get("failure"):
        answer = failed(str(reason), hopeless=told.get("hopeless") is True)
    elif told:
        answer = answer_of(run, finished.stdout)
    else:
        how = finished.ended_by or f"exit {finished.exit_code}"
        answer = failed(f"the client ended by itself ({how}): {last}")
    answer.exit_code = finished.exit_code
    answer.tokens = int(told.get("input", 0) + told.get("output", 0))
    answer.usd = float(told.get("usd", 0))
    return answer


def _told(line: str) -> dict[str, Any]:
    try:
        found = read_json(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _key_name(settings: AgentSettings) -> str:
    """Return the variable of the key, "" for none: OpenAI's key goes to OpenAI alone."""
    return settings.api_key_env or ("" if settings.base_url else KEY)
