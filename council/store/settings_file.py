"""`council.toml` as parsed data, from the file or from a copy kept as JSON.

Reading TOML costs a short command more than all its other work, so the parsed
file is kept beside the store under the identity of the file it came from. A
copy that cannot be read or written is simply not used. What the data may say
is left to `settings`.

Source: `store.md` section 7.
"""

from __future__ import annotations

import json
import os
import stat
import time

from council.core.errors import InvalidInputError
from council.core.nesting import bounded_toml, read_json
from council.store import files
from council.store.paths import SETTINGS as SETTINGS_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CACHE_FILE = "memory/shared/.council/settings-cache.json"

_CACHE_FORMAT = 1
_MAX_FILE_BYTES = 4 * 1024 * 1024
# A file changed twice within one tick of the file system's clock looks unchanged the second time.
_CLOCK_TICK_NS = 20_000_000


def read_settings_file(root: str) -> dict[str, Any] | None:
    """Return what `council.toml` under `root` says, None where there is none.

    Raises:
        InvalidInputError: It cannot be read, or is no TOML.
    """
    path = os.path.join(root, SETTINGS_FILE)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(error) from None
    cache = os.path.join(root, CACHE_FILE)
    document = _cached(cache, _key(found))
    if document is None:
        document, key = _parsed(path)
        _remember(cache, key, document)
    return document


def _unreadable(error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"{SETTINGS_FILE} cannot be read: {error.strerror or error}",
        "it must be a plain file that this user may read",
    )


def _key(found: os.stat_result) -> list[int]:
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]


def _parsed(path: str) -> tuple[dict[str, Any], list[int]]:
    """Parse the file itself, and say to which state of it the result belongs."""
    import tomllib

    try:
        # Without O_NONBLOCK a FIFO of that name would hold every command for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise InvalidInputError(f"{SETTINGS_FILE} is not a plain file")
            content = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _unreadable(error) from None
    if len(content) > _MAX_FILE_BYTES:
        raise InvalidInputError(f"{SETTINGS_FILE} is larger than {_MAX_FILE_BYTES} bytes")
    try:
        document = tomllib.loads(bounded_toml(content.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise InvalidInputError(f"{SETTINGS_FILE} is not UTF-8", "save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{SETTINGS_FILE} is not TOML: {error}", f"correct it in {SETTINGS_FILE}"
        ) from None
    # TOML knows dates and JSON does not: both ways in must give the same values.
    normal: dict[str, Any] = json.loads(json.dumps(document, default=str))
    return normal, _key(found)


def _cached(cache: str, key: list[int]) -> dict[str, Any] | None:
    try:
        with open(os.open(cache, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            kept = read_json(file.read())
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict) or kept.get("format") != _CACHE_FORMAT or kept.get("key") != key:
        return None
    document = kept.get("document")
    return document if isinstance(document, dict) else None


def _remember(cache: str, key: list[int], document: dict[str, Any]) -> None:
    content = json.dumps({"format": _CACHE_FORMAT, "key": key, "document": document})
    temporary = ""
    # A file written twice within a tick of the clock may look the same: wait the tick out.
    young_ns = _CLOCK_TICK_NS - (time.time_ns() - max(key[:2]))
    if 0 < young_ns <= _CLOCK_TICK_NS:
        time.sleep(young_ns / 1e9 + 0.005)
    try:
        temporary, descriptor = files.open_temporary(
            os.path.dirname(cache), content.encode("utf-8"), mode=0o600, like=None
        )
        with open(descriptor, "rb") as file:
            settled = os.fstat(file.fileno()).st_mtime_ns - max(key[:2]) > _CLOCK_TICK_NS
        if settled:
            os.replace(temporary, cache)
        else:
            files.remove(temporary)
    except OSError:
        files.remove(temporary)
