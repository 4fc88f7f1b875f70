"""The driver that runs a program, an argv or a preset for a well-known tool.

It decides what is started and what counts as an answer: all that a program prints, or what the
reader of a well-known one (`outputs.py`) finds in it. The prompt goes in by standard input; no
shell is involved.

Source: C0-046, C0-076, CL-002, CL-005, XC-011, XC-017, `cli.md` section 5.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from council.core.agents import ANSWER_TOOL, MCP, AgentSettings
from council.core.reasons import NO_REASON, Reason
from council.drivers.environment import run_environment, secrets_of
from council.drivers.programs import PRESETS, dropped
from council.drivers.run_log import RunLog
from council.drivers.runs import ADMITTED, Answer, Run, ToolReports, answer_of, failed

# The package of the server that a run that answers by tool is given.
SDK = "mcp"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.listening import Listener
    from council.drivers.processes import Finished


def wake(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:
    """Run the program of an agent and take its answer.

    Args:
        run: What is to be run.
        settings: `argv` or `preset`, `answer` and `env` of the agent.
        base: The environment of the caller, of which the run sees a part.

    Source: C0-046, C0-076, OP-002, OP-012, XC-017.
    """
    from council.drivers.processes import run_process  # much is loaded for it; `status` runs none

    argv, fault = _command(run, settings)
    cwd = run.cwd or run.root
    if not fault and not os.path.isdir(cwd):
        fault = Reason.of("no-folder", folder=cwd)
    if fault:
        return failed(fault, hopeless=True)
    row = None if settings.argv else PRESETS[settings.preset]
    keys = (*(row.keys if row else ()), *settings.env)
    environment = run_environment(base, run, (*(row.places if row else ()), *keys))
    log = RunLog(run, argv, cwd, secrets_of(environment, keys))
    tools, listener = ToolReports(run), _listener(run, settings)
    is_free = settings.answer == ANSWER_TOOL or (listener is not None and listener.hears_all)
    prompt = listener.prompt if listener is not None else run.prompt
    try:
        finished = run_process(
            argv,
            cwd=cwd,
            environment=environment,
            stdin=prompt.encode("utf-8"),
            timeout_s=run.timeout.total_seconds(),
            max_stdout_bytes=None if is_free else run.max_read_bytes,
            stops=_ends_early(tools, listener),
            hears=listener.hear if listener is not None else None,
            keep=run.keep,
        )
    except (OSError, ValueError) as error:
        return log.not_started(error)
    answer = tools.judge(_answer(run, settings, finished, listener))
    unseen = dropped(_output_of(settings) or argv[0], base, environment)
    return log.end(answer, finished, _hint(answer, unseen))


def _listener(run: Run, settings: AgentSettings) -> Listener | None:
    """Return what hears a run while it goes on, None where nothing of it is waited for."""
    program = _output_of(settings)
    if not program and settings.first_output is None:
        return None
    from council.drivers.listening import Listener

    return Listener(program, run, settings)


def _ends_early(tools: ToolReports, listener: Listener | None) -> Callable[[], bool] | None:
    asked = [tools.are_too_many] if tools.bounded else []
    if listener is not None:
        asked.append(listener.must_end)
    return (lambda: any(one() for one in asked)) if asked else None


def _hint(answer: Answer, unseen: Sequence[str]) -> str:
    """Return the variables that a failed run may have lacked, as settings name them."""
    if answer.ok or not unseen or answer.timed_out or answer.reason.code in ADMITTED:
        return ""
    return ", ".join(f'"{one}"' for one in unseen)


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


def _command(run: Run, settings: AgentSettings) -> tuple[list[str], Reason]:
    """Return the argv, and what is wrong."""
    for named in (settings.output, "" if settings.argv else settings.preset):
        if named and named not in PRESETS:
            return [], Reason.of("no-preset", preset=named, known=", ".join(PRESETS))
    if not settings.argv:
        if not settings.preset:
            return [], Reason.of("no-command")
        preset = PRESETS[settings.preset]
        if preset.needs_model and not run.model:
            return [], Reason.of("preset-model", preset=settings.preset)
        by_mcp = settings.way == MCP
        if by_mcp and not _has_sdk():
            return [], Reason.of("no-library", package=SDK)
        return preset.command(run.model, by_mcp=by_mcp), NO_REASON
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
    return [program, *arguments], NO_REASON


def _has_sdk() -> bool:
    """Return true if the server can be started that a run that answers by tool is given."""
    from importlib.util import find_spec

    return find_spec(SDK) is not None


def _output_of(settings: AgentSettings) -> str:
    """Return the preset by whose reader the output is read, "" where it is taken as it stands."""
    program = settings.output or ("" if settings.argv else settings.preset)
    return program if program and PRESETS[program].structured else ""


def _answer(
    run: Run, settings: AgentSettings, finished: Finished, listener: Listener | None
) -> Answer:
    reason = _failure(run, finished)
    if listener is not None:
        return listener.judge(finished, reason)
    if reason:
        return failed(reason, timed_out=finished.timed_out, exit_code=finished.exit_code)
    if settings.answer == ANSWER_TOOL:
        return Answer(ok=True, exit_code=0, by_tool=True)
    return answer_of(run, finished.stdout)


def _failure(run: Run, finished: Finished) -> Reason:
    """Return why a run failed before its answer is looked at, no reason if it did not."""
    if finished.timed_out:
        return run.too_late
    if finished.too_long:
        return run.too_long
    if finished.exit_code is None:
        return Reason.of("signal", signal=finished.ended_by)
    return Reason.of("exit", status=finished.exit_code) if finished.exit_code else NO_REASON


def look_up(
    settings: AgentSettings, root: str, environ: Mapping[str, str]
) -> tuple[str, dict[str, str | None]]:
    """Look for the program of an agent, as `wake` will.

    Returns:
        The cause that it cannot be started, "" for none; what its sentence names, and `path`.
    """
    from shutil import which  # runs do not look for it, and much is loaded for it

    preset = PRESETS.get(settings.preset)
    program, *_ = settings.argv or (preset.argv if preset else ("",))
    if not program:
        return "no-command", {}
    if os.sep in program:
        program = os.path.join(root, program)
    path = which(program, path=environ.get("PATH"))
    there = os.path.isfile(program) and os.sep in program
    code = "" if path else "no-right" if there else "no-program"
    if path and settings.way == MCP and not _has_sdk():
        return "no-library", {"program": SDK, "path": path}
    return code, {"program": program, "path": path}
