"""The driver that runs a program: an argv, or a preset for a well-known one.

The program leads a session of its own. It reads its prompt from a file and writes to files in the
run's folder, so no pipe can hold up either side, and what it left behind cannot keep a run open.
When it ends, or must, its whole process group ends with it.
"""

from __future__ import annotations

import os
import select
import sys
import time
from datetime import datetime, timedelta

from council.agents import programs
from council.agents.settings import AgentSettings
from council.kernel import files, times
from council.kernel.errors import Invalid
from council.runs import places
from council.runs.drivers.environment import of_run
from council.runs.drivers.output import Finished, Output, RunPlace, judged
from council.runs.work import Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.agents.readers import Listener

TERM, KILL, PIPE = 15, 9, 13  # `signal` is slow to import
TICK = 0.1  # seconds between looks at its output, and at who may stop it
PATIENCE = 2.0  # seconds for a program to end, after its last event or after SIGTERM
MOST_ERRORS = 64 * 1024


def run(agent: AgentSettings, prompt: str, place: RunPlace) -> Output:
    """Run the program of an agent once and return its answer, or why there is none."""
    values = {"root": place.root, "agent": agent.id, "task": place.id}
    values["prompt_file"] = f"{place.folder}/prompt.md"
    try:
        how = programs.start(agent, prompt, values)
    except Invalid as error:
        return Output(code=error.code, words=error.message)
    row = how.preset
    env = of_run(place, (*row.keys, *row.places, *agent.env))
    env.update({name: value for name, value in row.set.items() if name not in env})
    kinds = {"reads_stdin": row.prompt == "stdin", "by_tool": agent.answer == "tool"}
    for _ in range(2):
        output = run_program(how.argv, how.prompt, how.output, env, place, **kinds)
        # Several first runs of a program in a new home disturb each other.
        if not (row.again and output.code and any(one in output.words for one in row.again)):
            break
    output.text = programs.answer_of(output.text, row)
    secrets = [env[name] for name in (*row.keys, *agent.env) if len(env.get(name, "")) > 5]
    for secret in [*secrets, place.token]:
        output.words = output.words.replace(secret, "***") if secret else output.words
    return output


def run_program(
    argv: list[str], prompt: str, reader: str, env: dict[str, str], place: RunPlace, *,
    reads_stdin: bool = True, by_tool: bool = False,
) -> Output:  # fmt: skip
    """Run a program to its end and judge what it printed by a reader's rules, or as `text`.

    The prompt is written to `prompt.md`, which is its standard input if it `reads_stdin`.
    `by_tool`: it answers by `council respond`; what it prints is no answer.
    """
    program = programs.which(argv[0], env["PATH"], place.root)
    if not program:
        return Output(code="missing-program", words=f"not found: {argv[0]}")
    listener: Listener | None = None
    if reader != "text":
        from council.agents.readers import Listener  # late: plain text needs no JSON

        listener = Listener(reader)
    os.makedirs(place.folder, mode=0o700, exist_ok=True)
    told = prompt.encode("utf-8", "surrogatepass")
    files.fill(f"{place.folder}/prompt.md", told, 0o600, durable=False)
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    streams = [
        os.open(f"{place.folder}/prompt.md" if reads_stdin else os.devnull, os.O_RDONLY),
        os.open(f"{place.folder}/output", flags, 0o600),
        os.open(f"{place.folder}/errors", flags, 0o600),
    ]
    began = time.monotonic()
    try:
        pid = _spawn(program, argv, env, place.root, streams)
        born = f"{pid} {places.born(pid)}".encode()
        files.fill(f"{place.folder}/pid", born, 0o600, durable=False)
        finished = _attended(pid, streams[1], listener, place)
        errors = _text(streams[2], MOST_ERRORS, at_end=True)
        text = "" if listener else _text(streams[1], place.max_bytes)
    except OSError as error:
        code = "missing-program" if isinstance(error, FileNotFoundError) else "bad-settings"
        return Output(code=code, words=f"{argv[0]} cannot be started: {error.strerror}")
    finally:
        for file in streams:
            os.close(file)
    output = judged(listener.said if listener else None, text, errors, finished, by_tool)
    tokens, usd = _reported(f"{place.folder}/report")
    output.use = Use(tokens=tokens or output.use.tokens, usd=usd or output.use.usd)
    if output.code == "quota":
        elapsed = timedelta(seconds=time.monotonic() - began)
        output.again = _again(f"{errors} {output.words}", place.now + elapsed)
    return output


def _text(file: int, most: int, *, at_end: bool = False) -> str:
    """Return the first or the last bytes of a file as text."""
    size = os.fstat(file).st_size
    return os.pread(file, most, max(0, size - most) if at_end else 0).decode("utf-8", "replace")


def _spawn(program: str, argv: list[str], env: dict[str, str], cwd: str, streams: list[int]) -> int:
    """Start a program in a session of its own; `subprocess` would double the start of a run."""
    import _signal  # type: ignore[import-not-found]  # the part of `signal` that imports nothing

    heard, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.chdir(cwd)
            for number, file in enumerate(streams):
                os.dup2(file, number)
            os.closerange(3, told)
            os.closerange(told + 1, 1 << 16)
            for number in (TERM, PIPE, 2):
                _signal.signal(number, _signal.SIG_DFL)
            os.execve(program, argv, env)
        except BaseException as error:
            os.write(told, str(getattr(error, "errno", 8) or 8).encode())
        finally:
            os._exit(127)
    os.close(told)
    failure = os.read(heard, 16)
    os.close(heard)
    if failure:
        os.waitpid(pid, 0)
        raise OSError(int(failure), os.strerror(int(failure)))
    return pid


def _attended(pid: int, output: int, listener: Listener | None, place: RunPlace) -> Finished:
    """Wait until a program ends, or must; then end its group."""
    finished, read, over_at = Finished(), 0, 0.0
    until = time.monotonic() + place.seconds

    def hear(*, last: bool = False) -> None:
        nonlocal read
        size = os.fstat(output).st_size
        if listener is not None:
            listener.hear(os.pread(output, max(0, size - read), read), last=last)
        read = size
        if size > place.max_bytes * (1 if listener is None else 9):
            finished.ended = "cut-off"
            finished.words = f"its output is longer than {place.max_bytes} bytes"

    try:
        while not _ends(pid, min(TICK, max(0.0, until - time.monotonic()))):
            hear()
            now = time.monotonic()
            if not finished.ended and listener is not None:
                finished.ended, finished.words = _must_end(listener, place)
                over_at = (over_at or now) if listener.said.is_over else 0.0
                if over_at and (listener.said.goes_round or now > over_at + PATIENCE):
                    finished.ended = "over"
            if not finished.ended and place.stop is not None:
                finished.ended, finished.words = place.stop(), "it was ended"
            if not finished.ended and now >= until:
                length = times.spoken(timedelta(seconds=place.seconds))
                finished.ended, finished.words = "timed-out", f"no answer within {length}"
            if finished.ended:
                break
    finally:
        finished.code = end_group(pid)
    hear(last=True)
    return finished


def _must_end(listener: Listener, place: RunPlace) -> tuple[str, str]:
    """Return why a program is ended early, code and words; ("", "") where it goes on."""
    said = listener.said
    if place.max_tokens and (said.tokens or 0) > place.max_tokens:
        return "ended", f"it used more than {place.max_tokens} tokens"
    if place.max_usd and (said.usd or 0) > place.max_usd:
        return "ended", f"it used more than {place.max_usd:g} dollars"
    return ("hopeless", "") if said.retries and said.is_hopeless() else ("", "")


def _ends(pid: int, seconds: float) -> bool:
    """Wait until a child ends, at most so long; return whether it has; it stays a zombie."""
    if sys.platform == "darwin":
        queue = select.kqueue()
        kind = select.KQ_FILTER_PROC
        ends = select.kevent(pid, kind, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        try:
            return bool(queue.control([ends], 1, seconds))
        except ProcessLookupError:  # it is a zombie already
            return True
        finally:
            queue.close()
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # an old kernel
        time.sleep(min(seconds, 0.02))
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, pid, flags) is not None
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def end_group(pid: int) -> int:
    """End a child and its process group: SIGTERM, then SIGKILL; return its exit code."""
    _signalled(pid, TERM)
    if not _ends(pid, PATIENCE):
        _signalled(pid, KILL)
    _, status = os.waitpid(pid, 0)
    until = time.monotonic() + PATIENCE / 2
    while _signalled(pid, 0 if time.monotonic() < until else KILL):
        time.sleep(0.02)
        if time.monotonic() > until + 1:
            break
    return os.waitstatus_to_exitcode(status)


def _signalled(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _reported(path: str) -> tuple[int, float]:
    """Return tokens and dollars of the lines `usage tokens=N usd=X` that a run wrote."""
    tokens, usd = 0, 0.0
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            words = file.read(1 << 20).split()
    except OSError:
        return 0, 0.0
    for name, equals, value in (word.partition("=") for word in words):
        number = value.replace(".", "", 1)
        if equals and number.isascii() and number.isdigit() and len(number) < 13:
            tokens += int(float(value)) if name == "tokens" else 0
            usd += float(value) if name == "usd" else 0.0
    return tokens, usd


def _again(words: str, now: datetime) -> str | None:
    """Return when a server says that it may be asked again, as text."""
    import re  # late: of a failure only

    found = re.search(r"(?:retry[- _]?after|retrying in|again in)\D{0,5}(\d{1,5})", words, re.I)
    return times.text(now + timedelta(seconds=int(found[1]))) if found else None
