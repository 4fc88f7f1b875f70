"""Two files swapped in one step: the call of the Linux kernel that Python has no name for.

It is called through `_ctypes`, the machine inside `ctypes`: the package
around it costs a command that answers more than the rest of its write.
Where an interpreter keeps that machine otherwise, `ctypes` itself is taken.

Source: `store.md` section 2 step 9.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Rename = Callable[[int, bytes, int, bytes, int], int]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NAME = "renameat2"

_found: list[tuple[Rename | None, Callable[[], int]]] = []


def swap(one: str, other: str) -> int | None:
    """Swap two files; return 0 or the number of the error, None where there is no such call."""
    rename, error = ready()
    if rename is None:
        return None
    first, second = os.fsencode(one), os.fsencode(other)
    return error() if rename(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE) else 0


def ready() -> tuple[Rename | None, Callable[[], int]]:
    """Find the call, once; whoever does so before taking a lock does not keep others waiting."""
    if not _found:
        try:
            _found.append(by_machine())
        except (ImportError, AttributeError, TypeError):
            _found.append(by_package())
    return _found[0]


def by_machine() -> tuple[Rename | None, Callable[[], int]]:
    """Return `renameat2`, None where the C library has none, and what tells the last error.

    Raises:
        ImportError, AttributeError, TypeError: The machine is not the one we know.
    """
    import _ctypes

    machine: Any = _ctypes
    number, path, flags = (
        type(f"_{code}", (machine._SimpleCData,), {"_type_": code}) for code in ("i", "z", "I")
    )
    call = {
        "_flags_": machine.FUNCFLAG_CDECL | machine.FUNCFLAG_USE_ERRNO,
        "_restype_": number,
        "_argtypes_": (number, path, number, path, flags),
    }
    function = type("_Function", (machine.CFuncPtr,), call)
    try:
        place = machine.dlsym(machine.dlopen(None, 0), _NAME)
    except OSError:
        return None, machine.get_errno
    return function(place), machine.get_errno


def by_package() -> tuple[Rename | None, Callable[[], int]]:
    """Do what `by_machine` does, by what Python documents."""
    import ctypes

    try:
        rename = getattr(ctypes.CDLL(None, use_errno=True), _NAME)
    except AttributeError:
        return None, ctypes.get_errno
    rename.argtypes = [
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    ]
    return rename, ctypes.get_errno
