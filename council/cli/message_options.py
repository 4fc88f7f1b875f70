"""The options that the commands about messages share.

Source: `cli.md` sections 1 and 2.
"""

from __future__ import annotations

from council.cli.parameters import argument, flag, option
from council.core.errors import UsageError

MESSAGE = argument("[MESSAGE|-]", "One message; without it, or with -, standard input.", None)
VERSION = option("--version", "V1..V5", "Read in this version; else each tells its own.")
STRICT = flag("--strict", "Take each warning for a fault, with its code.")
KEY_FILE = option("--key-file", "PATH", "The shared key; else .council/message-key.")


def forced_version(option: str) -> str | None:
    """Return the version that `--version` forces, None for none.

    Raises:
        UsageError: There is no such version.
    """
    from council.wire.messages import VERSIONS

    if not option:
        return None
    if option.upper() not in (*VERSIONS, "V5D"):
        raise UsageError(f"no protocol version {option!r}", f"it is one of {', '.join(VERSIONS)}")
    return option.upper()
