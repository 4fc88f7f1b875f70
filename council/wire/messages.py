"""Read and check messages of any version.

It finds the version of a text and asks that version's module. What agents,
tasks and references a message may name is decided in `meaning`.

Source: PR-001 to PR-006, PR-451.
"""

from __future__ import annotations

from council.core.errors import UsageError
from council.wire import draft, v1, v2, v3, v4, v5
from council.wire.meaning import Known, faults_of_meaning
from council.wire.parsed import Fault, Parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

VERSIONS = ("V1", "V2", "V3", "V4", "V5")

_PARSERS: dict[str, Callable[[str], Parsed]] = {
    "V1": v1.parse,
    "V2": v2.parse,
    "V3": v3.parse,
    "V4": v4.parse,
    "V5": v5.parse,
    "V5D": draft.parse,
}
_UNREADABLE: dict[str, Fault] = {
    "V1": v1.UNREADABLE,
    "V2": v2.UNREADABLE,
    "V3": v3.UNREADABLE,
    "V4": v4.UNREADABLE,
    "V5": v5.UNREADABLE,
    "V5D": draft.UNREADABLE,
}
_BY_BARS = {4: "V2", 6: "V3", 7: "V4", 9: "V5D", 10: "V5"}


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
    return found.refused_for(faults_of_meaning(found, context))


def unreadable(shown: str, version: str | None = None) -> Parsed:
    """Return the reading of what is no text of any version, shown as well as it can be.

    Raises:
        UsageError: There is no such version.
    """
    name = _checked(version or detect(shown))
    return Parsed(name, shown, [], (_UNREADABLE[name],))
