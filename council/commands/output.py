"""What a command answers, how it is called, and the text that it may be given.

Every command is a function of a module of this package that returns an `Output` or raises. The
edges call it by its row in the table, with the values of its options: the command line prints what
it answers, the web serves the same as JSON.

Source: XC-005, XC-006, `cli.md` section 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from council.commands.options import Command, module_path
from council.core.errors import InvalidInputError, KeptError, NotFoundError, UsageError
from council.core.record import Any, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.place import Place

# Stands for ESC in what we have drawn ourselves, such as colours; no text of others can hold it.
_NARROWEST = 20
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


def carried_out(
    command: Command,
    values: Mapping[str, Any],
    environ: Mapping[str, str],
    opened: Callable[[Place], object] = lambda _: None,
) -> Any:
    """Open the workspace that a command means, call its function, return what that answers.

    Args:
        command: The command.
        values: The value of each of its options, by name.
        environ: The environment that it is called in.
        opened: Gets the workspace before the function does.

    Raises:
        CouncilError: It was refused.
    """
    module = __import__(module_path(command.module), fromlist=("",))
    function = getattr(module, command.function)
    code = function.__code__
    asked = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = {name: values[name] for name in asked if name in values}
    if "values" in asked:
        given["values"] = values
    if "place" not in asked:
        return function(**given)
    place = _place(values, environ, needed=function.__annotations__["place"] == "Place")
    if place:
        opened(place)
        if command.module != "engine":
            place.freshen(again=not command.reads)
        if not command.reads:
            place.begin_writing()
    try:
        output = function(place, **given)
    except KeptError as kept:
        record = {"outcome": kept.code, "message": kept.message, **kept.more}
        output = Output(record=record, notes=[kept.message], code=kept.exit_code)
    if place and isinstance(output, Output):
        output.notes = [*output.notes, *place.warnings]
    return output


def _place(values: Mapping[str, Any], environ: Mapping[str, str], *, needed: bool) -> Place | None:
    if needed:
        from council.operations.place import open_place

        return open_place(values["root"], values["now"], environ)
    from council.operations.protocol.messages import place_if_any

    return place_if_any(values["root"], values["now"], environ)


def shown(text: str) -> str:
    """Return a text as it may go to a terminal: no sign in it is obeyed but those of `DRAWN`.

    All that is printed for people passes through here once, last of all.

    Source: SC-005.
    """
    if text.replace("\n", "").isprintable():
        return text
    from council.core.plain_text import plain_text  # most of what is printed has no such sign

    return "\x1b".join(plain_text(part) for part in text.split(DRAWN))


def fitted(line: str, stream: Any) -> str:
    """Return a line as a terminal shows it without breaking words; anything else gets it whole.

    Where it is too long, what is between semicolons stays in one piece, as commands are there.
    """
    if not stream.isatty():
        return line
    try:
        columns = (
            int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(stream.fileno()).columns
        )
    except (OSError, ValueError):
        return line
    if len(line) <= columns or columns < _NARROWEST:
        return line
    from council.commands.drawing import folded_lines  # only a terminal needs it

    rows: list[str] = []
    for part in line.replace("; ", ";\n").split("\n"):
        if rows and len(rows[-1]) + len(part) < columns:
            rows[-1] += f" {part}"
        else:
            rows += folded_lines(part, columns, first="  " if rows else "", other="  ")
    return "\n".join(rows)


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
