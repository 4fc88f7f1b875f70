"""Carries out one command: opens the workspace, calls the function, prints, says what went wrong.

A refusal is one line on standard error, with `--json` also `{"error": …}` on standard output. An
unexpected error is one line, too; its traceback is kept in `.council/errors.log`.
"""

from __future__ import annotations

import os
import sys

from council.app import App, clock, find_root
from council.cli import printing
from council.cli.quick import COMMANDS, Command, Given, resolve
from council.kernel.errors import NotFound, Refusal, Refused, Unexpected
from council.kernel.record import Any

INTERRUPTED = 130
_MAKES_A_WORKSPACE = ("init", "demo")
_CODES = {"timeout": 7, "over": 8}  # by the outcome of a service
_IN_RUN = ("COUNCIL_TOKEN", "COUNCIL_TASK_ID", "COUNCIL_REPORT")


def carry_out(found: Command, values: dict[str, Any]) -> int:
    """Carry out a command with the values of its options; return the exit code."""
    as_json, root, away = bool(values["json"]), "", None
    try:
        if not found.in_run and any(os.environ.get(one) for one in _IN_RUN):
            working = ", ".join(name for name in COMMANDS if Command(name).in_run)
            what = f"`council {found.name}` does not work inside a run"
            raise Refused("in-run", what, f"these do: {working}")
        root = _workspace(found, values)
        app = App(root, clock(dict(os.environ), values.pop("clock")))
        if not (found.anywhere or found.name in _MAKES_A_WORKSPACE):
            app.check_format(found.looks)
            if not found.name.startswith("engine "):  # which say so themselves
                away = app.fetch()
        resolve(app, found, values)
        is_service, given = "." in found.module, Given({**values, **found.fixed})
        path = f"council.{'' if is_service else 'cli.'}{found.module}"
        function = getattr(__import__(path, None, None, ["_"]), found.function)
        if is_service:  # with its options
            own = {name: one for name, one in given.__dict__.items() if name != "json"}
            made = function(app, **own)
            facts: dict[str, Any] = made if isinstance(made, dict) else {}
            code = _CODES.get(facts.get("outcome", ""), 0 if facts.get("ok", True) else 3)
            said = printing.Said(data=made, more={**own, **facts}, code=code)
        else:
            said = function(app, given)
        if away:
            said.notes = [*said.notes, f"{away.message}; what is shown may be old"]
        said.reply = said.reply or found.reply
        printing.say(said, as_json=as_json)
    except Refusal as error:  # what is not found here may be on another machine
        return refuse(away if away and isinstance(error, NotFound) else error, as_json=as_json)
    except BrokenPipeError:
        return _unread()
    except KeyboardInterrupt:
        printing.err("council: interrupted")
        return INTERRUPTED
    except Exception as error:
        return refuse(_unexpected(root, error), as_json=as_json)
    return said.code


def refuse(error: Refusal, *, as_json: bool) -> int:
    """Say what is refused; return its exit code."""
    hint = f" ({error.hint})" if error.hint else ""
    line = " ".join(f"council: {error.message}{hint}".split())
    said = printing.Said(data={"error": error.to_json()}, notes=[line])
    for _ in range(2):  # again on standard error alone, where standard output is full
        try:
            printing.say(said, as_json=as_json)
            break
        except OSError:
            _unread()
    return error.exit_code


def _workspace(found: Command, values: dict[str, Any]) -> str:
    """Return the workspace; `ask` makes one with `--rehearse`, `--yes` or a person's consent."""
    given, env = values.pop("root"), dict(os.environ)
    try:
        folder = os.getcwd()
    except OSError:
        folder = "/"
        if not os.path.isabs(env.get("COUNCIL_ROOT", "")):  # none is made there
            what = "the current directory no longer exists"
            raise NotFound("no-folder", what, "change to another one") from None
    if found.name in _MAKES_A_WORKSPACE:
        return os.path.abspath(os.path.join(folder, values.get("dir") or given or "."))
    try:
        return find_root(folder, env, given)
    except NotFound:
        if found.anywhere:
            return folder
        root = os.path.abspath(os.path.join(folder, given or env.get("COUNCIL_ROOT", "")))
        wanted = found.name == "ask" and (values["yes"] or values["rehearse"])
        if not wanted and not (found.name == "ask" and printing.confirmed(f"No workspace: {root}")):
            raise
        from council.setup import init  # late: only in a new folder

        init.init(root, [], values["lang"], env)
        printing.err(f"! there was no workspace: made one in {root}")
        return root


def _unread() -> int:
    """Give up standard output, whose reader is gone, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _unexpected(root: str, error: Exception) -> Unexpected:
    """Return the refusal for an error of the disk, or of our own, whose details are kept."""
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        hint = "nothing half-done counts; try again when it is fixed"
        return Unexpected("disk", f"{error.strerror or error}{where}", hint)
    import traceback  # late: only for errors of our own
    from contextlib import suppress  # late: as above

    path, hint = f"{root}/memory/shared/.council/errors.log", ""
    with suppress(OSError), open(path, "a", encoding="utf-8", errors="replace") as file:
        file.write(f"{' '.join(word for word in sys.argv if '://' not in word)[:1000]}\n")
        traceback.print_exception(error, file=file)
        hint = f"the details are in {path}"
    what = f"unexpected error: {type(error).__name__}: {printing.one_line(str(error), 300)}"
    return Unexpected("unexpected", what, hint)
