"""Where a command meets the world: it is called, its text printed, its exit code answered.

Every command is a function that returns an `Output` or raises; this module
calls it with the values of its options, for both parsers, and prints what it
answers, or says in one line what went wrong.

Source: XC-005, XC-006, `cli.md` section 1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from council.commands.options import Command, command, hot_name, is_refused_by_typer, parse
from council.commands.output import DRAWN, Output, carried_out, fitted, shown
from council.core.errors import CouncilError, UsageError
from council.core.record import Any
from council.store import outbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.place import Place

INTERRUPTED = 130


def carry_out(verb: str, command: Callable[[], Output | int | None], *, as_json: bool) -> int:
    """Carry out one command, print what it answers, return its exit code.

    Args:
        verb: The command as the table of allowed verbs knows it.
        command: The command; None, or an exit code, means it has printed everything itself.
        as_json: Whether `--json` was given.
    """
    outbox.asked(sys.argv[1:])
    try:
        _refuse_in_run(verb)
        output = command()
        if isinstance(output, Output):
            _print(output, as_json)
        outbox.told()
        return output.code if isinstance(output, Output) else output or 0
    except CouncilError as error:
        code = refuse(error, as_json=as_json)
        # What failed, instead of being refused, may have been done all the same.
        if code != CouncilError.exit_code:
            outbox.told()
        return code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_output()
        return 0
    except Exception as error:
        return _unexpected(error, as_json)


def _refuse_in_run(verb: str) -> None:
    from council.operations.place import is_inside

    if is_inside(os.environ):
        from council.core.trust import permit  # what people call has no need of it

        permit(verb, in_run=True)


def refuse(error: CouncilError, *, as_json: bool) -> int:
    """Say what is wrong and what to do, a line for each thing; return the exit code."""
    for message, hint in error.lines:
        line = f"council: {message}" + (f" ({hint})" if hint else "")
        sys.stderr.write(fitted(_one_line(line), sys.stderr) + "\n")
    if as_json:
        try:
            sys.stdout.write(json.dumps({"error": error.to_record()}) + "\n")
            sys.stdout.flush()
        except OSError:
            _give_up_output()
    return error.exit_code


def _give_up_output() -> None:
    """Let what is left for a broken standard output go nowhere, also when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _print(output: Output, as_json: bool) -> None:
    for note in output.notes:
        sys.stderr.write(fitted(shown(f"council: {note}"), sys.stderr) + "\n")
    if as_json:
        from council.core.plain_text import json_text

        text = json_text(output.as_json("record")["record"]) + "\n"
    else:
        text = output.text if not output.text or output.text.endswith("\n") else output.text + "\n"
        if not output.verbatim and text.count("\n") == 1 and DRAWN not in text:
            text = fitted(text[:-1], sys.stdout) + "\n"
        if not output.verbatim or sys.stdout.isatty():
            text = shown(text)
    if text:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()


def _one_line(text: str) -> str:
    shown = "".join(
        character if character.isprintable() else " " for character in " ".join(text.split())
    )
    return shown.encode("utf-8", "replace").decode("utf-8")


def _unexpected(error: Exception, as_json: bool) -> int:
    if isinstance(error, OSError) and error.filename:
        from council.store.files import explained

        return refuse(explained(error, "use", str(error.filename)), as_json=as_json)
    import tempfile
    import traceback

    handle, path = tempfile.mkstemp(prefix="council-failure-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as log:
        log.write(traceback.format_exc())
    kind = type(error).__name__
    failed = CouncilError(f"unexpected failure: {kind}: {error}", f"the details are in {path}")
    code = refuse(failed, as_json=as_json)
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_output()
    return code


def run(argv: list[str]) -> int | None:
    """Run one command that needs no Typer, None for words that Typer is to refuse.

    `argv` begins with its name.
    """
    found = command(hot_name(argv))
    words = argv[len(found.name.split()) :]
    try:
        values = parse(found, words)
    except UsageError as error:
        if is_refused_by_typer(found):
            return None
        as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
        return refuse(error, as_json=as_json)
    return call(found, values)


def call(command: Command, values: dict[str, Any]) -> int:
    """Carry out a command and return its exit code; its workspace is opened here."""

    def work() -> Output | int | None:
        return carried_out(command, values, os.environ, _say_faults)  # type: ignore[no-any-return]

    return carry_out(command.name, work, as_json=values.get("json", False))


def _say_faults(place: Place) -> None:
    """Say what is wrong in the settings, a line for each (OP-011)."""
    unread = [place.settings.unread.words] if place.settings.unread else []
    for fault in (*unread, *place.settings.faults):
        sys.stderr.write(fitted(_one_line(f"council: {fault}"), sys.stderr) + "\n")
