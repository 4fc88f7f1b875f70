"""The driver that runs a program: an argv, a preset for a well-known one, or the row of a driver.

The program leads a session of its own. It reads its prompt from a file and writes to files in the
run's folder, so no pipe can hold up either side, and what it left behind cannot keep a run open.
When it ends, or must, its whole process group ends with it.
"""

from __future__ import annotations

import os
import time

from council.agents import programs
from council.agents.readers import Listener, Said
from council.agents.settings import AgentSettings
from council.kernel import codec, files, times
from council.kernel.errors import Invalid
from council.kernel.record import TYPE_CHECKING
from council.kernel.times import timedelta
from council.runs import processes
from council.runs.drivers import Output, RunPlace, judged

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 2.0  # seconds for a program to exit after its last event
MOST_ERRORS = 64 * 1024
_WRITE = os.O_RDWR | os.O_CREAT | os.O_TRUNC


def run(
    agent: AgentSettings, prompt: str, place: RunPlace,
    reader: Callable[[str], Said] | None = None, **values: str,
) -> Output:  # fmt: skip
    """Run the program of an agent once and return its answer, or why there is none.

    What it printed is read by the reader of its preset, or by `reader`, which gets the whole of it.
    `values` are further ones that its arguments name. Values of its keys are never shown.
    """
    values |= {"root": place.root, "task": place.id, "prompt_file": f"{place.folder}/prompt.md"}
    values["schema"] = codec.dumps(place.schema) if place.schema else ""
    values["schema_file"] = f"{place.folder}/schema"
    try:
        row = programs.preset_of(agent)
        argv, told = programs.command(row, agent, prompt, values)
    except Invalid as error:
        return Output(code=error.code, words=error.message)
    secrets = (*row.keys, *agent.env, "COUNCIL_TOKEN")
    env = {**row.set, **place.environment((*secrets, *row.places))}
    program = programs.which(argv[0], env.get("PATH") or os.defpath, place.root)
    os.makedirs(place.folder, mode=0o700, exist_ok=True)
    for name, text in (("prompt.md", told), ("schema", values["schema"])):
        if name == "prompt.md" or row.schema:
            data = text.encode("utf-8", "surrogatepass")
            files.fill(f"{place.folder}/{name}", data, 0o600, durable=False)
    streams = [os.open(values["prompt_file"] if row.prompt == "stdin" else os.devnull, os.O_RDONLY)]
    streams += [os.open(f"{place.folder}/{name}", _WRITE, 0o600) for name in ("output", "errors")]
    listener = Listener(reader or row.output)
    try:
        os.chdir(place.root)
        pid = processes.spawn(program, argv, env, streams, [])
        born = f"{pid} {processes.born(pid)}".encode()
        files.fill(f"{place.folder}/pid", born, 0o600, durable=False)
        code, ended = _attended(pid, streams[1], listener, place)
        data = os.pread(streams[2], MOST_ERRORS, max(0, os.fstat(streams[2]).st_size - MOST_ERRORS))
    except OSError as error:
        why = "missing-program" if isinstance(error, FileNotFoundError) else "bad-settings"
        return Output(code=why, words=f"{argv[0]} cannot be started: {error.strerror}")
    finally:
        for file in streams:
            os.close(file)
    errors, by_tool = data.decode("utf-8", "replace"), agent.answer == "tool"
    most = times.spoken(timedelta(seconds=round(place.seconds)))
    reasons = {"ended": "it was ended", "timed-out": f"no answer within {most}"}
    reasons["cut-off"] = f"its output is longer than {place.max_bytes} bytes"
    output = judged(listener.said, errors, code, (ended, reasons.get(ended, "")), by_tool)
    output.text = output.text.replace(row.escape, "@") if row.escape else output.text
    tokens, usd = _reported(f"{place.folder}/report")
    used = {"tokens": tokens, "input": None} if tokens else {}
    output.use = output.use.copy(**used, usd=usd or output.use.usd)
    for value in [env.get(name, "") for name in secrets]:
        output.words = output.words.replace(value, "***") if len(value) > 5 else output.words
    return output


def _attended(pid: int, output: int, listener: Listener, place: RunPlace) -> tuple[int, str]:
    """Wait until a program ends, or must; return its exit code, and why it was ended (`judged`)."""
    began = time.monotonic()
    read, over_at, status, ended = 0, began, None, ""
    most = place.max_bytes * (1 if listener.is_plain else 9)

    def hear(*, last: bool = False) -> str:
        nonlocal read
        size = os.fstat(output).st_size
        data = os.pread(output, max(0, min(size, most) - read), read)
        read += len(data)
        listener.hear(data, last=last)
        return "cut-off" if size > most else ended

    try:
        while status is None and not (ended := hear()):
            now, said = time.monotonic(), listener.said
            over_at = over_at if said.is_over else now
            if said.retries and said.is_hopeless():
                ended = "hopeless"
            elif said.goes_round or now - over_at > PATIENCE:
                ended = "over"
            elif place.stop is not None and place.stop():
                ended = "ended"
            elif now - began >= place.seconds:
                ended = "timed-out"
            if ended:
                break
            time.sleep(min(0.05, 0.001 + (now - began) / 20))
            done, found = os.waitpid(pid, os.WNOHANG)
            status = found if done else None
    finally:
        code = processes.end_group(pid, status)
    return code, hear(last=True)


def _reported(path: str) -> tuple[int, float]:
    """Return tokens and dollars of the lines `usage tokens=N usd=X` that a run wrote."""
    try:
        found = files.read(path, 1 << 20)
    except (OSError, Invalid):
        found = None
    if found is None:
        return 0, 0.0
    import re  # late: few programs report

    used, form = {"tokens": 0.0, "usd": 0.0}, rb"\b(tokens|usd)=(\d{1,12}(?:\.\d{1,12})?)\b"
    for name, number in re.findall(form, found[0]):
        used[name.decode()] += float(number)
    return int(used["tokens"]), used["usd"]
