"""The driver that runs a program, an argv or a preset for a well-known tool; the table of drivers.

It decides what is started and what counts as an answer. The prompt goes in by
standard input; no shell is involved. A driver is a function from what is to be
run to what came back. What an agent or a program does wrong is a failed
attempt with a reason, never an exception.

Source: C0-046, C0-076, XC-011, XC-017, `cli.md` section 5.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from council.core.agents import ANSWER_TOOL, AgentSettings
from council.core.errors import InvalidInputError
from council.drivers.environment import (
    add_to_log,
    log_of_end,
    log_of_start,
    run_environment,
    secrets_of,
)
from council.drivers.presets import PRESETS
from council.drivers.runs import NO_ANSWER, Answer, Run, ToolReports, failed
from council.drivers.scripted import read_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.processes import Finished

    Driver = Callable[[Run, AgentSettings, Mapping[str, str]], Answer]

_LINE_END_BYTES = 2
# What stands for a byte that is no UTF-8, and what `surrogateescape` makes of such bytes.
_MARK = "\N{REPLACEMENT CHARACTER}"
_MARKS = dict.fromkeys(range(0xDC80, 0xDD00), _MARK)


def run_command(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:
    """Run the program of an agent and take its answer.

    Args:
        run: What is to be run.
        settings: `argv` or `preset`, `answer` and `env` of the agent.
        base: The environment of the caller, of which the run sees a part.

    Source: C0-046, C0-076, OP-002, OP-012, XC-017.
    """
    from council.drivers.processes import run_process  # much is loaded for it; `status` runs none

    argv, extra_names, fault = _command(run, settings)
    cwd = run.cwd or run.root
    if not fault and not os.path.isdir(cwd):
        fault = f"no such folder: {cwd}"
    if fault:
        return failed(fault, hopeless=True)
    by_tool = settings.answer == ANSWER_TOOL
    environment = run_environment(base, run, extra_names)
    secrets = secrets_of(environment, extra_names)
    log_error = add_to_log(run.log_file, log_of_start(run, argv, cwd, secrets))
    tools = ToolReports(run)
    try:
        finished = run_process(
            argv,
            cwd=cwd,
            environment=environment,
            stdin=run.prompt.encode("utf-8"),
            timeout_s=run.timeout.total_seconds(),
            max_stdout_bytes=None if by_tool else run.max_text_bytes + _LINE_END_BYTES,
            stops=tools.are_too_many if tools.bounded else None,
            keep=run.keep,
        )
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError | PermissionError)
        answer = failed(_not_started(argv[0], error), hopeless=missing)
        add_to_log(run.log_file, f"outcome: {answer.reason}\n")
        return answer
    answer = tools.judge(_answer(run, settings, finished))
    answer.log_error = (
        add_to_log(run.log_file, log_of_end(finished, answer.reason, secrets)) or log_error
    )
    return answer


def filled(argument: str, values: Mapping[str, str]) -> str:
    """Return an argument with its placeholders replaced; other braces stay.

    Values are put in once and not looked at again: a name in braces inside a
    value is no placeholder.

    >>> filled("--as={agent} {other}", {"agent": "henry"})
    '--as=henry {other}'
    """
    first, *others = argument.split("{")
    parts = [first]
    for other in others:
        name, closed, rest = other.partition("}")
        parts.append(values[name] + rest if closed and name in values else "{" + other)
    return "".join(parts)


def _command(run: Run, settings: AgentSettings) -> tuple[list[str], tuple[str, ...], str]:
    """Return the argv, the variables it may see besides the common ones, and what is wrong."""
    extra_names = tuple(settings.env)
    if not settings.argv:
        if not settings.preset:
            return [], (), "no command: set argv or preset in council.toml"
        preset = PRESETS.get(settings.preset)
        if preset is None:
            return [], (), f"no preset {settings.preset!r}, only {', '.join(PRESETS)}"
        if preset.needs_model and not run.model:
            return [], (), f"preset {settings.preset!r} needs a model"
        return preset.command(run.model), (*preset.env, *extra_names), ""
    values = {
        "prompt_file": run.prompt_file,
        "agent": run.agent,
        "conversation": run.conversation,
        "task": run.task,
        "workspace": run.workspace,
    }
    program, *arguments = [filled(argument, values) for argument in settings.argv]
    if os.sep in program:
        # A path written in council.toml means the same wherever the agent works.
        program = os.path.join(run.root, program)
    return [program, *arguments], extra_names, ""


def _not_started(program: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"not found: {program}"
    if isinstance(error, PermissionError):
        return f"not executable: {program}"
    said = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot start {program}: {said or error}"


def _answer(run: Run, settings: AgentSettings, finished: Finished) -> Answer:
    reason = _failure(run, finished)
    if reason:
        return failed(reason, timed_out=finished.timed_out, exit_code=finished.exit_code)
    if settings.answer == ANSWER_TOOL:
        return Answer(ok=True, exit_code=0, by_tool=True)
    try:
        return Answer(ok=True, exit_code=0, text=_text(finished.stdout, run.max_text_bytes))
    except InvalidInputError as error:
        return failed(error.message, exit_code=0)


def _failure(run: Run, finished: Finished) -> str:
    """Return why a run failed before its answer is looked at, "" if it did not."""
    if finished.timed_out:
        return f"timed out after {run.timeout.total_seconds():g}s"
    if finished.too_long:
        return _too_long(run.max_text_bytes)
    if finished.exit_code is None:
        return f"ended by {finished.ended_by}"
    return f"exit {finished.exit_code}" if finished.exit_code else ""


def _text(content: bytes, max_bytes: int) -> str:
    """Return what was printed, without the line ends after it, if it can be an answer.

    Each byte that is no UTF-8 becomes a mark, and a line before the text says so (OP-012).
    """
    content = content.rstrip(b"\r\n")
    if len(content) > max_bytes:
        raise InvalidInputError(_too_long(max_bytes))
    text = content.decode("utf-8", "surrogateescape")
    if "\0" in text:
        raise InvalidInputError("output holds a NUL character")
    if not text.strip():
        raise InvalidInputError(NO_ANSWER)
    marked = text.translate(_MARKS)
    if marked == text:
        return text
    if not marked.replace(_MARK, "").strip():
        raise InvalidInputError("output is not UTF-8")
    lost = sum(ord(one) in _MARKS for one in text)
    bytes_were = "1 byte was" if lost == 1 else f"{lost} bytes were"
    marked = f"[{bytes_were} no UTF-8; {_MARK} stands for each]\n\n{marked}"
    if len(marked.encode("utf-8")) > max_bytes:
        raise InvalidInputError(_too_long(max_bytes))
    return marked


def _too_long(max_bytes: int) -> str:
    return f"answer longer than {max_bytes} bytes"


# --- The table of drivers, and the one way to use it


def hand_over(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:  # noqa: ARG001
    """Leave the turn with the agent."""
    return Answer(ok=True, waits=True)


DRIVERS: dict[str, Driver] = {
    "command": run_command,
    "manual": hand_over,
    "scripted": read_answer,
}


def run(
    driver: str, wanted: Run, agent_settings: AgentSettings, environment: Mapping[str, str]
) -> Answer:
    """Wake an agent by its driver and wait for what comes back.

    Args:
        driver: A name in `DRIVERS`; another is a failed attempt.
        wanted: The turn.
        agent_settings: What the settings say of the agent.
        environment: The variables of the caller; a run sees a part of them.
    """
    wake = DRIVERS.get(driver)
    if wake is None:
        return failed(f"no driver {driver!r}, only {', '.join(DRIVERS)}", hopeless=True)
    return wake(wanted, agent_settings, environment)
