"""The driver that runs an agent of OpenClaw: a turn in the session of its conversation.

A turn goes by the command line (`openclaw agent`) or, where `gateway` is set, by the HTTP of the
gateway. What came of it is read from the structure alone, since exit codes and texts say too
little: a turn whose tool failed may end with 0 and print `⚠️ Exec failed`. Only with the
text in hand one mark counts as well: a reply of one line that begins with OpenClaw's own ⚠️.

The shell of the agent belongs to the gateway and has no variable of this run. What it needs, root
and token among it, is left for our plugin in a file that only its owner reads, named after the
session, and taken away when the turn is over.

Source: CL-003, SC-006, `openclaw.md`, 0042.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from council.core.agents import ANSWER_TOOL, AgentSettings
from council.core.ids import sha256_hex
from council.core.reading import read_json
from council.core.reasons import NO_ANSWER, NO_REASON, Reason
from council.core.record import Any
from council.drivers.environment import run_environment, secrets_of
from council.drivers.outputs import at, list_at, number_at, status_in, text_at
from council.drivers.run_log import RunLog
from council.drivers.runs import Answer, Run, answer_of, failed, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.processes import Finished

PLUGIN = "council"
TOKEN = "OPENCLAW_GATEWAY_TOKEN"
_KEYS = (TOKEN, "OPENCLAW_GATEWAY_PASSWORD")
_NODE = ("NODE_COMPILE_CACHE", "NODE_OPTIONS", "NODE_USE_ENV_PROXY")
_MARK = "\N{WARNING SIGN}"
# A turn that stopped for one of these has no answer, whatever text it leaves.
_BROKEN_OFF = ("toolUse", "error", "aborted", "timeout", "restart", "length")
_ENVELOPE_BYTES = 4 * 1024 * 1024  # the report around an answer: some 25 KiB, more with many tools
_MOST_SEEN_CHARS = 300
# How it words what its provider did, where the status of that does not stand in its words.
_WORDED = (
    ("returned a billing error", "billing_error"),
    ("Missing API key for", "authentication_error"),
    ("rate limit reached", "rate_limit"),
    ("rate-limited", "rate_limit"),
    ("is temporarily overloaded", "overloaded"),
    ("returned a temporary internal error", "server_error"),
)
_WAYS_OUT = {
    404: "; is its endpoint on? gateway.http.endpoints.chatCompletions.enabled",
    500: "; why stands in: openclaw logs",
}


def wake(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:
    """Have the agent take one turn.

    Args:
        run: What is to be run.
        settings: `gateway`, `api_key_env`, `answer` and `env` of the agent.
        base: The environment of the caller, of which the run sees a part.

    Source: CL-003.
    """
    cwd = run.cwd or run.root
    if not os.path.isdir(cwd):
        return failed(Reason.of("no-folder", folder=cwd), hopeless=True)
    token = settings.api_key_env or TOKEN
    environment = run_environment(base, run, (*needed(base), token, *settings.env))
    secrets = secrets_of(environment, (*_KEYS, token, *settings.env))
    limit_s = run.timeout.total_seconds()
    turn_s = max(1, int(limit_s - min(20.0, limit_s / 4)))
    argv = [
        *("openclaw", "agent", "--agent", run.agent, "--session-key", session_key(run)),
        *("--message-file", run.prompt_file or "/dev/stdin", "--json", "--timeout", str(turn_s)),
        *(("--model", run.model) if run.model else ()),
    ]
    if settings.gateway:
        argv = ["POST", f"{settings.gateway.rstrip('/')}/v1/chat/completions"]
    log = RunLog(run, argv, cwd, secrets)
    with _told_to_the_plugin(run, environment) as trouble:
        try:
            if settings.gateway:
                finished, answer = _by_http(run, argv[1], environment.get(token, ""))
            else:
                finished, answer = _by_program(run, argv, cwd, environment, turn_s)
        except (OSError, ValueError) as error:
            return log.not_started(error)
        if not answer.ok and (seen := trouble()) and seen not in answer.reason.value("text"):
            answer.reason = answer.reason.with_values(last=seen)
    if settings.answer == ANSWER_TOOL and (answer.ok or answer.reason == NO_ANSWER):
        answer = answer.copy(ok=True, text="", reason=NO_REASON, by_tool=True)
    return log.end(answer, finished)


def needed(base: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables of the caller that OpenClaw needs to find its state and its gateway."""
    return (*(name for name in base if name.startswith("OPENCLAW_")), *_NODE)


def session_key(run: Run) -> str:
    """Return the session of an agent for a conversation, in the letters that OpenClaw folds to.

    What is not named by a UUID, such as a room, may have the same name in another workspace.
    """
    of = run.conversation
    if of.count("-") != 4 or len(of) != 36:
        of = f"{of}-{sha256_hex(run.root.encode())[:8]}"
    return f"agent:{run.agent}:council:{of}".lower()


def look_up(
    settings: AgentSettings, _root: str, environ: Mapping[str, str]
) -> tuple[str, dict[str, str | None]]:
    """Look for what a turn needs: the program, and the plugin where answers come by tool.

    Returns:
        The cause that it is missing, "" for none; what its sentence names, and `path`.
    """
    from shutil import which  # runs do not look for it, and much is loaded for it

    path = settings.gateway or which("openclaw", path=environ.get("PATH"))
    if not path:
        return "no-program", {"program": "openclaw", "path": None}
    if settings.answer == ANSWER_TOOL and not has_plugin(environ):
        return "no-plugin", {"path": path}
    return "", {"path": path}


# --- What the plugin is told


def state_folder(environ: Mapping[str, str]) -> str:
    """Return where OpenClaw keeps its state, as it finds it itself."""
    given = environ.get("OPENCLAW_STATE_DIR", "").strip()
    home = environ.get("OPENCLAW_HOME", "").strip() or environ.get("HOME") or _own_home()
    return os.path.abspath(os.path.expanduser(given or os.path.join(home, ".openclaw")))


def _own_home() -> str:
    """Return the home of our user, as Node finds it where no variable names it."""
    from pwd import getpwuid

    try:
        return getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/nonexistent"


def has_plugin(environ: Mapping[str, str]) -> bool:
    """Return true if our plugin lies where OpenClaw keeps those that were installed."""
    manifest = f"{state_folder(environ)}/extensions/{PLUGIN}/openclaw.plugin.json"
    return os.path.isfile(manifest)


@contextmanager
def _told_to_the_plugin(run: Run, environment: Mapping[str, str]) -> Iterator[Any]:
    """Leave what the shell of the agent needs for the plugin; yield what asks what it has seen.

    What cannot be left stops no run: the answer is then claimed instead of verified.
    """
    folder = f"{state_folder(environment)}/council"
    path = f"{folder}/{sha256_hex(session_key(run).encode())}"
    ours = {name: one for name, one in environment.items() if name.startswith("COUNCIL_")}
    told = {"env": {**ours, "traceparent": environment["traceparent"]}}
    is_there = os.path.isdir(os.path.dirname(folder))
    with suppress(OSError):
        if is_there:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            _remove(f"{path}.seen")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            _remove(f"{path}.new")
            with open(os.open(f"{path}.new", flags, 0o600), "w", encoding="utf-8") as file:
                json.dump(told, file)
            os.replace(f"{path}.new", f"{path}.json")

    def seen() -> str:
        with suppress(OSError), open(f"{path}.seen", encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_SEEN_CHARS).strip()
        return ""

    try:
        yield seen
    finally:
        for kind in ("json", "seen") if is_there else ():
            _remove(f"{path}.{kind}")


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


# --- A turn by the command line


def _by_program(
    run: Run, argv: list[str], cwd: str, environment: Mapping[str, str], turn_s: int
) -> tuple[Finished, Answer]:
    from council.drivers.processes import run_process  # much is loaded for it

    finished = run_process(
        argv,
        cwd=cwd,
        environment=environment,
        stdin=b"" if run.prompt_file else run.prompt.encode("utf-8"),
        timeout_s=run.timeout.total_seconds(),
        max_stdout_bytes=4 * run.max_text_bytes + _ENVELOPE_BYTES,
        keep=run.keep,
    )
    if finished.timed_out:
        return finished, failed(run.too_late, timed_out=True)
    if finished.too_long:
        return finished, failed(run.too_long, exit_code=finished.exit_code)
    report = _object(finished.stdout)
    if report is None:
        said = finished.stderr.decode("utf-8", "replace").strip().splitlines()
        how = finished.ended_by or f"exit {finished.exit_code}"
        reason = Reason.of("no-report", how=how, output=said[-1] if said else "")
        return finished, failed(reason, exit_code=finished.exit_code)
    return finished, answer_in(report, run, turn_s)


def answer_in(report: dict[str, Any], run: Run, turn_s: int) -> Answer:
    """Return what a report of `openclaw agent --json` says: the answer, or why there is none.

    Args:
        report: The whole report.
        run: What was run.
        turn_s: How long OpenClaw was given, in seconds.
    """
    status, meta = text_at(report, "status"), at(report, "result", "meta")
    shown = list_at(report, "result", "payloads")
    texts = [text_at(one, "text") for one in shown if not _is_beside(one)]
    errors = " ".join(text_at(one, "text") for one in shown if at(one, "isError"))
    stop = text_at(meta, "stopReason")
    if status == "timeout":
        answer = failed(Reason.of("timed-out", after=turn_s), timed_out=True)
    elif status != "ok":
        words = text_at(report, "error", "message") or text_at(meta, "error", "message")
        answer = _fault(words or errors or text_at(report, "summary") or status)
    elif at(meta, "error") or at(meta, "aborted") is True or stop in _BROKEN_OFF:
        words = text_at(meta, "error", "message") or errors or "the turn was broken off"
        answer = _fault(f"{words} ({stop})" if stop else words)
    elif errors and not any(one.strip() for one in texts):
        answer = _fault(errors)
    else:
        answer = _of_text(run, "\n\n".join(one for one in texts if one.strip()))
    usage = at(meta, "agentMeta", "usage")
    parts = [number_at(usage, name) for name in ("input", "output", "cacheRead", "cacheWrite")]
    tokens = number_at(usage, "total") or sum(parts)
    usd = number_at(meta, "agentMeta", "costUsd") or number_at(usage, "cost", "total")
    return answer.copy(tokens=int(tokens), usd=float(usd))


def _is_beside(payload: Any) -> bool:
    return bool(at(payload, "isError") or at(payload, "isReasoning"))


# --- A turn by the gateway


def _by_http(run: Run, url: str, token: str) -> tuple[Finished, Answer]:
    from time import monotonic

    from council.drivers.http_calls import http_call
    from council.drivers.processes import Finished

    message = {"role": "user", "content": run.prompt}
    asked = {"model": f"openclaw/{run.agent}", "messages": [message]}
    headers = {"content-type": "application/json", "x-openclaw-session-key": session_key(run)}
    if token:
        headers["authorization"] = f"Bearer {token}"
    if run.model:
        headers["x-openclaw-model"] = run.model
    body, most = json.dumps(asked).encode(), 4 * run.max_text_bytes + _ENVELOPE_BYTES
    begun, status, content = monotonic(), 0, b""
    try:
        limit_s = run.timeout.total_seconds()
        reply = http_call("POST", url, headers, body, limit_s=limit_s, most_bytes=most)
    except TimeoutError:
        answer = failed(run.too_late, timed_out=True)
    except OSError as error:
        answer = failed(Reason.of("gateway", text=str(error)))
    else:
        status, content = reply.status, reply.content
        answer = _of_reply(status, reply.reason, content, run)
    seconds = monotonic() - begun
    exit_code = 0 if status == 200 else status
    return Finished(exit_code=exit_code, stdout=content, stderr=b"", seconds=seconds), answer


def _of_reply(status: int, why: str, content: bytes, run: Run) -> Answer:
    if status == 200:
        return _of_completion(_object(content), run)
    told = _object(content)
    words = f"{text_at(told, 'error', 'message') or why} (HTTP {status})"
    # By 500 the gateway says that a turn failed, whatever of it did.
    known = 0 if status == 500 else status
    words += _WAYS_OUT.get(status, "")
    return fault(words, known, text_at(told, "error", "type"))


def _of_completion(reply: dict[str, Any] | None, run: Run) -> Answer:
    """Return what a completion says."""
    choices = list_at(reply, "choices")
    if not choices:
        return failed(Reason.of("gateway", text="no completion came back"))
    tokens = int(number_at(reply, "usage", "total_tokens"))
    stop = at(choices[0], "finish_reason")
    if stop not in (None, "stop"):
        return _fault(f"broken off ({stop})").copy(tokens=tokens)
    said = at(choices[0], "message", "content")
    parts = said if isinstance(said, list) else [{"text": said}]
    return _of_text(run, "".join(text_at(one, "text") for one in parts)).copy(tokens=tokens)


# --- Reading what came back


def _of_text(run: Run, text: str) -> Answer:
    """Return the answer that a text is, unless it is a notice of OpenClaw that something failed."""
    notice = text.strip()
    if notice.startswith(_MARK) and "\n" not in notice:
        return _fault(notice)
    return answer_of(run, text.encode("utf-8", "surrogateescape"))


def _fault(words: str) -> Answer:
    """Return the failed attempt that an error message of OpenClaw is."""
    code = next((code for form, code in _WORDED if form in words), "")
    return fault(words, status_in(words), code)


def _object(content: bytes) -> dict[str, Any] | None:
    """Return the JSON object that was printed; lines before it are passed over."""
    text = content.decode("utf-8", "replace")
    for begin in (text, text[text.find("\n{") + 1 :]):
        with suppress(ValueError, RecursionError):
            found = read_json(begin)
            if isinstance(found, dict):
                return found
    return None
