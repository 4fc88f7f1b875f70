"""How the workspace of version 2 in `v2/` was made: that of `v1/`, by later commands, and a room.

    python -m tests.golden.make_v2 FOLDER

Journals are of version 2 in it. It is never made anew, see `make_v1`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.make_v1 import clear, commands_in, make


def make_room(root: Path) -> None:
    """Make a room in which two agents took part and a person spoke."""
    council = commands_in(root)
    council("channel", "create", "chat", "den", "--participants", "henry,sage", "--as", "henry")
    for author, said in (("zoe", "Is it — «naïve»?"), ("henry", "It costs <!-- no -->.")):
        council("channel", "post", "den", said, "--as", author)
    clear(root)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
    make_room(Path(sys.argv[1]))
