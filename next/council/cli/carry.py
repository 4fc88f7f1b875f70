"""Carries out one command: opens the workspace, calls the function, prints, says what went wrong.

A refusal is one line on standard error, with `--json` also `{"error": …}` on standard output. An
unexpected error is one line, too; its traceback is kept in `.council/errors.log`.
"""

from __future__ import annotations

import os
import sys

from council.app import App, clock, find_root
from council.cli import printing
from council.cli.options import PANELS, Command, command
from council.cli.values import Given
from council.kernel.errors import NotFound, Refusal, Refused, Unexpected
from council.kernel.record import Any

INTERRUPTED = 130
_MAKES_A_WORKSPACE = ("init", "demo")
_IN_RUN = ("COUNCIL_TOKEN", "COUNCIL_TASK_ID", "COUNCIL_REPORT")


def carry_out(found: Command, values: dict[str, Any]) -> int:
    """Carry out a command with the values of its options; return the exit code."""
    as_json = bool(values.pop("json"))
    root = ""
    try:
        _refuse_in_run(found)
        if found.name in _MAKES_A_WORKSPACE:
            given = values.pop("root")
            root = os.path.abspath(os.path.join(_folder(), values.get("dir") or given or "."))
        else:
            root = find_root(_folder(), dict(os.environ), values.pop("root"))
        app = App(root, clock(dict(os.environ), values.pop("clock", "")))
        if found.name not in _MAKES_A_WORKSPACE:
            app.check_format()
        said: printing.Said = function_of(found)(app, Given({**values, **found.fixed}))
        printing.say(said, as_json=as_json)
        sys.stdout.flush()
    except Refusal as error:
        return refuse(error, as_json=as_json)
    except BrokenPipeError:
        return _unread()
    except KeyboardInterrupt:
        printing.err("council: interrupted")
        return INTERRUPTED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        hint = "nothing half-done counts; try again when it is fixed"
        return refuse(Unexpected("disk", f"{error.strerror}{where}", hint), as_json=as_json)
    except Exception as error:
        return refuse(_unexpected(root, error), as_json=as_json)
    return said.code


def refuse(error: Refusal, *, as_json: bool) -> int:
    """Say what is refused; return its exit code."""
    try:
        if as_json:
            printing.out(printing.dumps({"error": error.to_json()}))
            sys.stdout.flush()
        hint = f" ({error.hint})" if error.hint else ""
        line = " ".join(f"council: {error.message}{hint}".split())
        printing.err(line)
    except BrokenPipeError:
        _unread()
    return error.exit_code


def function_of(found: Command) -> Any:
    """Return the function of a command."""
    module = getattr(__import__(f"council.cli.{found.module}").cli, found.module)
    return getattr(module, "list_" if found.function == "list" else found.function)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        if os.path.isabs(os.environ.get("COUNCIL_ROOT", "")):
            return "/"
        raise NotFound(
            "no-folder", "the current directory no longer exists", "change to another one"
        ) from None


def _refuse_in_run(found: Command) -> None:
    if not found.in_run and any(os.environ.get(one) for one in _IN_RUN):
        working = [name for name in PANELS if (one := command(name)) and one.in_run]
        raise Refused(
            "in-run",
            f"`council {found.name}` does not work inside a run",
            f"these do: {', '.join(working)}",
        )


def _unread() -> int:
    """Give up standard output, whose reader is gone, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _unexpected(root: str, error: Exception) -> Unexpected:
    """Return the refusal for an error of our own, after its details are kept."""
    import traceback  # late: only for errors of our own

    details = "".join(traceback.format_exception(error))
    if os.environ.get("COUNCIL_DEBUG"):
        sys.stderr.write(details)
    path, hint = f"{root}/memory/shared/.council/errors.log", ""
    try:
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{' '.join(sys.argv)}\n{details}\n")
        hint = f"the details are in {path}"
    except OSError:
        hint = "COUNCIL_DEBUG=1 prints the details"
    return Unexpected("unexpected", f"unexpected error: {type(error).__name__}: {error}", hint)
