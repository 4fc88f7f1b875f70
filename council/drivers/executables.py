"""Whether a program that a person named can be run, its interpreter included."""

from __future__ import annotations

import os
import shutil

_FIRST_BYTES = 512
MISSING, FORBIDDEN = "missing", "forbidden"


def fault_of(program: str, folder: str, path: str) -> tuple[str, str]:
    """Return what is wrong with a program, and which file that is about; ("", "") if nothing is.

    Args:
        program: Its path, or its name.
        folder: The directory that a path starts from.
        path: The directories in which a name is searched, as in PATH.
    """
    is_path = os.sep in program
    where = os.path.join(folder, program) if is_path else shutil.which(program, path=path)
    if where is None or not os.path.isfile(where):
        return MISSING, program
    if not os.access(where, os.X_OK):
        return FORBIDDEN, where
    interpreter = _interpreter(where)
    is_well = not interpreter or os.access(interpreter, os.X_OK)
    return ("", "") if is_well else (MISSING, interpreter)


def _interpreter(script: str) -> str:
    """Return the program that a script names in its first line, "" where it is no script."""
    try:
        with open(script, "rb") as file:
            first = file.readline(_FIRST_BYTES)
    except OSError:
        return ""
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    return words[0] if words else ""
