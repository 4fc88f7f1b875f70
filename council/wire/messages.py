"""Read and check messages of any version, and part a stream of them.

It finds the version of a text and asks that version's module. What agents,
tasks and references a message may name is decided in `meaning`. A stream holds V1
blocks parted by blank lines, and else one message a line.

Source: PR-001 to PR-006, PR-103, PR-201, PR-451, `cli.md` section 2.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.errors import UsageError
from council.wire import early
from council.wire.early import V2, V3
from council.wire.forms import SEGMENTS
from council.wire.meaning import Known, missing
from council.wire.parsed import Parsed
from council.wire.v4 import DRAFT, V4
from council.wire.v5 import V5

VERSIONS = ("V1", "V2", "V3", "V4", "V5")

_FORMS = {one.version: one for one in (V2, V3, V4, V5, DRAFT)}
_PARSERS: dict[str, Callable[[str], Parsed]] = {
    "V1": early.parse,
    **{version: form.parse for version, form in _FORMS.items()},
}
_BY_BARS = {len(SEGMENTS[version]) - 1: version for version in _FORMS}


def detect(text: str) -> str:
    """Return the version of a text, the nearest one where none fits.

    A bracket at the start means V1, else the number of segments decides: 5, 7,
    8, 10, 11. Otherwise the shape of the ids and the nearest number do.

    Source: PR-002.
    """
    if text[:1] == "[":
        return "V1"
    bars = text.count("|")
    found = _BY_BARS.get(bars)
    if found:
        return found
    if text[:4] == "MSG_":
        if "\nFROM:" in text or "\nTO:" in text:
            return "V1"
        return "V3" if bars > 5 or (bars == 5 and ">" in text.split("|", 2)[1]) else "V2"
    if text[:1] == "M" and 0 < bars < 9:
        return "V4"
    return "V1" if text[:5] == "FROM:" else "V5"


def parse(text: str | bytes, version: str | None = None) -> Parsed:
    """Return what a message says, leniently, with every fault and warning.

    Args:
        text: One message; one line break may end it.
        version: `V1` to `V5` or `V5D` to force it; None finds it.

    Raises:
        UsageError: There is no such version.
    """
    if isinstance(text, bytes):
        shown = text.decode("utf-8", "replace")
        if shown.encode("utf-8") != text:
            return unreadable(shown, version)
        text = shown
    return _PARSERS[_checked(version or detect(text))](text)


def _checked(version: str) -> str:
    if version not in _PARSERS:
        raise UsageError(f"no protocol version {version!r}", f"it is one of {', '.join(VERSIONS)}")
    return version


def validate(
    message: str | bytes | Parsed,
    *,
    version: str | None = None,
    strict: bool = False,
    context: Known | None = None,
) -> Parsed:
    """Return a message with every fault of its form, and of its meaning if the form is right.

    Args:
        message: A text, or what `parse` made of it.
        version: The version to force on a text.
        strict: Turn each warning into a fault, with the code that is named for it.
        context: What is known of agents, tasks and references; None checks the form alone.

    Raises:
        UsageError: There is no such version.
    """
    found = message if isinstance(message, Parsed) else parse(message, version)
    if strict:
        found = found.strict()
    if context is None or found.errors:
        return found
    errors = missing(found, context)
    if not errors:
        return found
    return Parsed(found.version, found.text, found.segments, errors, found.notes)


def unreadable(shown: str, version: str | None = None) -> Parsed:
    """Return the reading of what is no text of any version, shown as well as it can be.

    Raises:
        UsageError: There is no such version.
    """
    name = _checked(version or detect(shown))
    fault = early.UNREADABLE if name == "V1" else _FORMS[name].unreadable
    return Parsed(name, shown, [], (fault,))


class Splitter:
    """Makes messages of lines that come one after the other.

    Args:
        version: The version that every message is read in; V1 takes each line into a block, the
            others none. None goes by the line that begins a message.
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
