"""The way in: `council` and `python -m council`.

It sends the few commands that programs call all day to a small parser, and
everything else, `--help` included, to Typer, which takes longer to import
than those commands take to run.

Source: `architecture.md` section 4.
"""

from __future__ import annotations

import sys

from council.cli.options import HOT, hoisted


def main() -> None:
    """Run one command and end the process with its exit code."""
    argv = hoisted(sys.argv[1:])
    before_text = argv[: argv.index("--")] if "--" in argv else argv
    if argv and argv[0] in HOT and not {"--help", "-h"} & set(before_text):
        from council.cli.hot import run as run_hot

        sys.exit(run_hot(argv))
    from council.cli.app import run as run_typer

    sys.exit(run_typer(argv))


if __name__ == "__main__":
    main()
