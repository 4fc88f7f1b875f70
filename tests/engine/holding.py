"""A command that stops while it holds the lock of what it changes, until it is let go.

Run as a program with the words of the command: it prints HELD where it would commit, and
goes on when a line is given to it.
"""

from __future__ import annotations

import sys
from typing import Any

HELD = "held"


def main() -> None:
    from council.__main__ import main as council
    from council.store.documents import journal

    real = journal.append

    def append(*given: Any, **named: Any) -> None:
        journal.append = real
        print(HELD, flush=True)
        sys.stdin.readline()
        real(*given, **named)

    journal.append = append
    council()


if __name__ == "__main__":
    main()
