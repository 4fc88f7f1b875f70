"""Files whose time stamp says when what they tell was looked up.

Whoever has to know whether that still holds compares it with the time stamps
of what was looked at. The file gets its name only with its time stamp, so one
whose writer dies never claims to be younger than it is.

Source: XC-001, XC-007.
"""

from __future__ import annotations

import os

from council.store import files

# A change within the same tick of a coarse clock looks like none; some tick by two seconds.
YOUNG_NS = 2_000_000_000


def replace_dated(path: str, data: bytes, at_ns: int) -> bool:
    """Let a file hold `data` and be dated `at_ns`; one that holds it is only dated anew.

    Returns:
        Whether it had to be written.

    Raises:
        CouncilError: It cannot be written; the old file is untouched.
    """
    standing = files.read_stable(path)
    if standing is not None and standing.data == data:
        try:
            os.utime(path, ns=(at_ns, at_ns))
            return False
        except PermissionError:
            pass  # only its owner may set a time: in its place comes a file of ours
        except OSError:
            return False  # it stays as old as it looks
    folder = os.path.dirname(path)
    files.make_folder(folder)
    with files.explaining("write", path):
        temporary = files.write_temporary(folder, data, like=standing)
        try:
            os.utime(temporary, ns=(at_ns, at_ns))
            os.rename(temporary, path)
        except BaseException:
            files.remove(temporary)
            raise
    return True
