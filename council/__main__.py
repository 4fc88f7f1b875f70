"""The way in: `council` and `python -m council`."""

from __future__ import annotations

import gc
import os
import sys

from council import __version__


def main() -> None:
    """Run one command and end the process with its exit code."""
    _open_closed_streams()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were loaded; commands see to it themselves
        code = 130
    except OSError as error:  # the help cannot be printed
        code = 0 if isinstance(error, BrokenPipeError) else 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stderr.write(f"council: {error.strerror}\n" * code)
    _leave(code)


def run(argv: list[str]) -> int:
    """Run one command line; return its exit code."""
    from council.cli import carry, quick  # late: an interrupt while they load is told above
    from council.kernel.errors import Refusal  # late: as above

    gc.set_threshold(200_000)  # short processes need none, and a long journal costs them dearly
    if argv == ["--version"]:
        sys.stdout.write(f"council {__version__}\n")
        return 0
    try:
        command = quick.read(argv)
    except Refusal as refusal:
        return carry.refuse(refusal, as_json="--json" in argv)
    if command is not None:
        return carry.carry_out(*command)
    from council.cli import help as shown  # late: Typer takes longer to import than all the above

    return shown.show(argv)


def _open_closed_streams() -> None:
    """Connect closed standard streams to /dev/null, and print any text in any encoding.

    Otherwise the next file that is opened takes the stream's number and is written into.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """End the process; without taking the interpreter down where nothing needs that."""
    if {"threading", "atexit", "logging"} & sys.modules.keys():  # they may have work left
        sys.exit(code)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        os._exit(code or 1)
    os._exit(code)


if __name__ == "__main__":
    main()
