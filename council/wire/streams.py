"""Where one message ends and the next begins, line by line.

A stream holds V1 blocks parted by blank lines, and else one message a line.

Source: PR-103, PR-201, `cli.md` section 2.
"""

from __future__ import annotations


class Splitter:
    """Makes messages of lines that come one after the other.

    Args:
        version: The version that every message is read in; V1 takes each line into a block, the
            others none. None looks at the line that begins a message.
        most: The characters after which nothing more of a block is kept; None keeps all.
    """

    def __init__(self, version: str | None = None, most: int | None = None) -> None:
        self._version = version
        self._most = most
        self._block: list[str] = []
        self._size = 0

    def feed(self, line: str) -> str | None:
        """Return the message that ends with a line (given without its break), if one does."""
        bare = line.removesuffix("\r")
        if not (self._block or self._begins(bare)):
            return bare or None
        if not bare:
            return self.rest()
        if self._most is None or self._size <= self._most:
            self._block.append(bare)
            self._size += len(bare) + 1
        return None

    def rest(self) -> str | None:
        """Return the block that the end of the stream ends, if there is one."""
        block, self._block, self._size = self._block, [], 0
        return "\n".join(block) or None

    def _begins(self, line: str) -> bool:
        if self._version is not None:
            return bool(line) and self._version == "V1"
        # A block whose brackets were forgotten is still one faulty message, not six.
        return line[:1] == "[" or (line[:4] in ("MSG_", "FROM") and "|" not in line)
