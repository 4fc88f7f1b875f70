"""What the versions share: their segments, their checklists as tables, the reading of one line.

Source: PR-003, PR-316, PR-416, PR-533.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.protocol.payload import flags_and_pairs
from council.core.record import Any
from council.wire.codes import is_known
from council.wire.identifiers import is_padded, one_line
from council.wire.parsed import Fault, Parsed, Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    # The place of the segment counted from 0, the code, the rule, the check.
    Check = tuple[int, str, str, Callable[[str], object]]

_FIRST = ("msg", "route", "type", "task", "pri", "state")
# The segments of a version in order; `route` is made of `from` and `to`.
SEGMENTS: dict[str, tuple[str, ...]] = {
    "V1": ("msg", "from", "to", "type", "task", "data"),
    "V2": ("msg", "role", "type", "task", "data"),
    "V3": (*_FIRST, "data"),
    "V4": (*_FIRST, "err", "data"),
    "V5D": (*_FIRST, "err", "auth", "trace", "data"),
    "V5": (*_FIRST[:3], "tid", "pri", "state", "err", "depth", "ctx", "budget", "data"),
}
NAMES = {version: tuple(map(str.upper, names)) for version, names in SEGMENTS.items()}
TYPES: dict[str, tuple[str, ...]] = {
    "V1": ("REQ", "RES", "CLR", "UPD", "ACK", "ERR"),
    "V2": tuple("RSCUAE"),
    "V3": tuple("RSCUAEB"),
    "V4": tuple("RSCUAEBH"),
    "V5D": tuple("RSCUAEBH"),
    "V5": tuple("RSECUABHDJLKX"),
}
DATA_CHARS = 200
PRIORITIES = frozenset(("P0", "P1", "P2", "-"))
STATES = frozenset(("N", "R", "D", "F", "X", "-"))
DEFAULT_PRIORITY = "P1"
_WITH_DEFAULT = ("V3", "V5")
_WITH_PAIRS = ("V4", "V5")
_OF_VALUES = ("W_UNKNOWN_ERR", "W_NONCANONICAL")


class Form:
    """How one version writes a message on one line.

    Args:
        version: Its name.
        code: The code of a text that is not one line, and of one of another number of segments.
        checks: The checklist.
        judge: Adds what no segment shows alone to the faults, and returns the warnings.
        fields: Returns the fields of a valid line.
        rules: The numbers of the rules that say so.
        count_code: The code of another number of segments, "" for `code`.
        too_long: The code that cut DATA becomes in strict mode, "" where DATA has no bound.
        is_plain: Returns true quickly of segments of which there is nothing to report; a False
            says nothing yet. None where there is no such shortcut.
    """

    def __init__(
        self,
        version: str,
        code: str,
        checks: tuple[Check, ...],
        judge: Callable[[list[str], list[Fault]], list[Warned]],
        fields: Callable[[list[str]], dict[str, Any]],
        *,
        rules: tuple[str, str] = ("0", "1"),
        count_code: str = "",
        too_long: str = "",
        is_plain: Callable[[list[str]], bool] | None = None,
    ) -> None:
        self.version = version
        self.unreadable = Fault(code=code, rule=f"{version}-{rules[0]}")
        self._miscounted = Fault(code=count_code or code, rule=f"{version}-{rules[1]}")
        self._checks = checks
        self._judge = judge
        self._fields = fields
        self._is_plain = is_plain
        self._count = len(SEGMENTS[version])
        self._cut = Warned(name="W_DATA_TRUNCATED", segment=self._count, code=too_long)

    def parse(self, text: str) -> Parsed:
        """Read one line and report every fault of it; DATA that is too long is cut."""
        line = text if text.isprintable() else one_line(text)
        if line is None:
            return Parsed(self.version, text, [], (self.unreadable,))
        segments = line.split("|", self._count)
        if len(segments) != self._count:
            return Parsed(self.version, text, [], (self._miscounted,))
        if self._is_plain is not None and self._is_plain(segments):
            return Parsed(self.version, text, segments, (), (), self._fields)
        return self.inspect(text, segments)

    def inspect(self, text: str, segments: list[str]) -> Parsed:
        """Return the reading of segments by the checklist, with all that is to be said."""
        errors = faults_of(segments, self._checks)
        notes = self._judge(segments, errors)
        if self._cut.code and len(segments[-1]) > DATA_CHARS:
            segments[-1] = segments[-1][:DATA_CHARS]
            notes.append(self._cut)
        return Parsed(self.version, text, segments, errors, notes, self._fields)


def faults_of(segments: list[str], checks: tuple[Check, ...]) -> list[Fault]:
    """Return every check that fails, in the order of the list."""
    return [
        Fault(code=code, rule=rule, segment=place + 1)
        for place, code, rule, fits in checks
        if not fits(segments[place])
    ]


def warned(*rows: tuple[str, int, str, bool]) -> list[Warned]:
    """Return the warnings, each with segment and code in strict mode, for which there is cause."""
    return [Warned(name=name, segment=at, code=code) for name, at, code, is_so in rows if is_so]


def common_notes(segments: list[str], version: str, code: str) -> list[Warned]:
    """Return the warnings about ids and codes that V4 and V5 share."""
    is_error, err = segments[2] == "E", segments[6]
    # E00 of V5 says that there is no error.
    is_elsewhere = not is_error and err != "-" and (version, err) != ("V5", "E00")
    return warned(
        ("W_NONCANONICAL", 1, code, is_padded(segments[0])),
        ("W_NONCANONICAL", 4, code, is_padded(segments[3])),
        ("W_ERR_MISSING", 7, code, is_error and err == "-"),
        ("W_UNKNOWN_ERR", 7, code, err != "-" and not is_known(err, version)),
        ("W_ERR_ON_NON_ERROR", 7, code, is_elsewhere),
    )


def told_once(notes: list[Warned], errors: list[Fault]) -> list[Warned]:
    """Return the warnings without those about a value that is a fault already."""
    faulty = {fault.segment for fault in errors}
    return [one for one in notes if one.segment not in faulty or one.name not in _OF_VALUES]


def has_no_arrow(data: str) -> bool:
    """Return true if DATA holds no `>`; a bar would have changed the count of segments."""
    return ">" not in data


def fields_in(segments: list[str], version: str) -> dict[str, Any]:
    """Return the values of a valid line by name: `-` is None, the route falls into its ends."""
    fields: dict[str, Any] = {}
    for name, value in zip(SEGMENTS[version], segments, strict=True):
        if name == "route":
            fields["from"], _, fields["to"] = value.partition(">")
        else:
            fields[name] = None if value == "-" and name != "data" else value
        if name == "pri" and version in _WITH_DEFAULT:
            fields["pri_effective"] = fields["pri"] or DEFAULT_PRIORITY
    if version in _WITH_PAIRS:
        fields["flags"], fields["pairs"] = flags_and_pairs(fields["data"])
    return fields
