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

from council.cli.options import Command, command, hot_name, is_refused_by_typer, parse
from council.core.errors import CouncilError, InvalidInputError, NotFoundError, UsageError
from council.core.record import Any, Record
from council.store import outbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.place import Place


INTERRUPTED = 130
# Stands for ESC in what we have drawn ourselves, such as colours; no text of others can hold it.
DRAWN = f"\x1b{os.urandom(8).hex()}"


class Output(Record):
    """What a command answers.

    `record`, JSON or a value that knows its JSON, is printed with `--json`,
    `text` without; `notes` are for people and go to standard error either way, each as a line
    that says that it is of `council`.
    `code` is the exit code. A text that is `verbatim` holds what others wrote
    as they wrote it: a program gets each byte of it, a terminal gets it without
    what terminals obey.
    """

    record: Any = None
    text: str = ""
    notes: list[str] = []
    code: int = 0
    verbatim: bool = False


def with_faults_said(place: Place) -> Place:
    """Return an open workspace, after a line on standard error for each fault of its settings."""
    for fault in place.settings.faults:
        sys.stderr.write(_one_line(f"council: {fault}") + "\n")
    return place


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
    """Say in one line what is wrong and what to do; return the exit code."""
    line = f"council: {error.message}" + (f" ({error.hint})" if error.hint else "")
    sys.stderr.write(_one_line(line) + "\n")
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
        sys.stderr.write(shown(f"council: {note}") + "\n")
    if as_json:
        from council.core.plain_text import json_text

        text = json_text(output.as_json("record")["record"]) + "\n"
    else:
        text = output.text if not output.text or output.text.endswith("\n") else output.text + "\n"
        if not output.verbatim or sys.stdout.isatty():
            text = shown(text)
    if text:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()


def shown(text: str) -> str:
    """Return a text as it may go to a terminal: no sign in it is obeyed but those of `DRAWN`.

    All that is printed for people passes through here once, last of all.

    Source: SC-005.
    """
    if text.replace("\n", "").isprintable():
        return text
    from council.core.plain_text import plain_text  # most of what is printed has no such sign

    return "\x1b".join(plain_text(part) for part in text.split(DRAWN))


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


def read_text(argument: str, file: str, max_bytes: int) -> str:
    """Return the text a command was given: as argument, by `--file`, or with `-` from stdin.

    Raises:
        UsageError: None or two of the three were given.
        InvalidInputError: It is too long, no UTF-8, or cannot be read.
    """
    if argument and file:
        raise UsageError("the text was given twice", "give it as argument or with --file")
    if file and file != "-":
        data = _read_file(file, max_bytes)
    elif argument == "-" or file == "-":
        data = sys.stdin.buffer.read(max_bytes + 1)
    elif argument:
        data = os.fsencode(argument)
    else:
        raise UsageError("no text was given", "give it as argument, with --file PATH, or - (stdin)")
    if len(data) > max_bytes:
        raise InvalidInputError(
            f"the text is longer than {max_bytes} bytes",
            "shorten it, or raise max_text_bytes in council.toml",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"the text is not UTF-8 (byte {error.start})", "save it as UTF-8 and send it again"
        ) from None


def _read_file(path: str, max_bytes: int) -> bytes:
    from council.operations.delegation.permitted import open_permitted

    try:
        with open_permitted(path, os.environ) as file:
            return file.read(max_bytes + 1)
    except NotFoundError as error:  # a fault of what was given, as any other of a text
        raise InvalidInputError(error.message, error.hint) from None


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
        module = __import__(f"council.cli.{command.module}", fromlist=("",))
        function = getattr(module, command.function)
        code = function.__code__
        asked = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {name: values[name] for name in asked if name in values}
        if "values" in asked:
            given["values"] = values
        if "place" not in asked:
            return function(**given)  # type: ignore[no-any-return]
        place = _opened(values, needed=function.__annotations__["place"] == "Place")
        if place and not command.reads:
            place.refuse_newer_settings()
        output = function(place, **given)
        if place and isinstance(output, Output):
            output.notes = [*output.notes, *place.warnings]
        return output  # type: ignore[no-any-return]

    return carry_out(command.name, work, as_json=values.get("json", False))


def _opened(values: dict[str, Any], *, needed: bool) -> Place | None:
    """Open the workspace that a command means; what is wrong in its settings is said (OP-011)."""
    if needed:
        from council.operations.place import open_place

        return with_faults_said(open_place(values["root"], values["now"], os.environ))
    from council.operations.protocol.messages import place_if_any

    place = place_if_any(values["root"], values["now"], os.environ)
    return with_faults_said(place) if place else None
