"""The way in: `council` and `python -m council`.

It sends the few commands that programs call all day to a small parser, and
everything else, `--help` included, to Typer, which takes longer to import
than those commands take to run.

Source: `architecture.md` section 4.
"""

from __future__ import annotations

import os
import sys

from council.commands.options import hoisted, hot_name

INTERRUPTED, REFUSED = 130, 6
_ON_WINDOWS = (
    "council: Windows itself is not supported"
    " (install and run council in WSL, the Linux of Windows: wsl --install)"
)
_GARBAGE_AFTER = 50_000  # a conversation of usual length is read without a search for garbage
_MAY_HAVE_WORK_LEFT = frozenset(("atexit", "logging", "threading", "weakref"))


def main() -> None:
    """Run one command and end the process with its exit code.

    On Windows it refuses before any module is imported that only POSIX systems have.
    """
    if sys.platform == "win32":
        print(_ON_WINDOWS, file=sys.stderr)
        sys.exit(REFUSED)
    _open_closed_streams()
    try:
        code = run(hoisted(sys.argv[1:]))
    except KeyboardInterrupt:  # while modules were loaded; commands see to it themselves
        code = INTERRUPTED
    _leave(code)


def _leave(code: int) -> None:
    """End the process, without taking the interpreter down piece by piece where nothing needs it.

    Taking it down costs a command that programs call all day as much as a
    durable write. It is needed for threads, for what was registered to run at
    the end (both come with modules that those commands do not load), and for
    output that cannot be written, of which Python then tells.
    """
    if not _MAY_HAVE_WORK_LEFT & sys.modules.keys():
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            sys.exit(code)
        os._exit(code)
    sys.exit(code)


def run(argv: list[str]) -> int:
    """Run one command line; return its exit code."""
    before_text = argv[: argv.index("--")] if "--" in argv else argv
    if hot_name(argv) and not {"--help", "-h"} & set(before_text):
        import gc

        from council.cli.edge import run as run_hot

        gc.set_threshold(_GARBAGE_AFTER)
        code = run_hot(argv)
        if code is not None:
            return code
    from council.cli.app import run as run_typer

    return run_typer(argv)


def _open_closed_streams() -> None:
    """Give a standard stream that the caller closed to /dev/null.

    Otherwise the next file that is opened would take its number, and what is
    meant for the terminal would be written into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


if __name__ == "__main__":
    main()
