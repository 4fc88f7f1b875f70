"""Editors for `EDITOR=`: each saves in its own way what a line of Python makes of the text.

    python editors.py WAY FILE

The line is in the environment as CHANGE and sees the text as `text`. With
WAIT_FOR it first makes that file's name with `.open` at its end, then waits
until the file is there, as a person does who thinks before saving.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def main() -> None:
    """Read, wait, change, save."""
    way, path = sys.argv[1], Path(sys.argv[2])
    text = path.read_text(encoding="utf-8")
    gate = os.environ.get("WAIT_FOR", "")
    if gate:
        Path(f"{gate}.open").touch()
        while not os.path.exists(gate):
            time.sleep(0.01)
    names: dict[str, object] = {"text": text}
    exec(os.environ["CHANGE"], names)
    after = str(names["text"])
    if way == "rename":
        beside = path.with_name(f".{path.name}.{os.getpid()}.swp")
        beside.write_text(after, encoding="utf-8")
        os.replace(beside, path)
    elif way == "two-writes":
        with path.open("w", encoding="utf-8") as file:
            file.write(after[: len(after) // 2])
            file.flush()
            os.sched_yield()
            file.write(after[len(after) // 2 :])
    else:
        path.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
