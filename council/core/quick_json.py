"""JSON both ways, by the machine inside `json` and without the package around it.

`import json` brings `re` and `enum`, which take a short command longer than
all of its JSON. What is read and written here is what `json` reads and
writes; whatever is wrong or unusual is handed on to it.

Source: `architecture.md` section 4.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"
_WIDE_STARTS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_USUAL = (", ", ": ")


def dumps(
    value: object,
    *,
    ensure_ascii: bool = True,
    separators: tuple[str, str] = _USUAL,
    indent: int | None = None,
) -> str:
    """Return a value as JSON, as `json.dumps` writes it."""
    if indent is None:
        return writer(ensure_ascii=ensure_ascii, separators=separators)(value)
    import json

    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def writer(
    *, ensure_ascii: bool = True, separators: tuple[str, str] = _USUAL
) -> Callable[[object], str]:
    """Return what writes values as JSON in one line; one is made for each form."""
    known = _writers.get((ensure_ascii, separators))
    if known is None:
        known = _writers[ensure_ascii, separators] = _made(ensure_ascii, separators)
    return known


def _made(ensure_ascii: bool, separators: tuple[str, str]) -> Callable[[object], str]:
    try:
        import _json

        machine: Any = _json
        text = machine.encode_basestring_ascii if ensure_ascii else machine.encode_basestring
        between, after_key = separators
        encode = machine.make_encoder(
            None, _refused, text, None, after_key, between, False, False, True
        )
    except (ImportError, AttributeError, TypeError):
        import json

        plain = json.JSONEncoder(ensure_ascii=ensure_ascii, separators=separators)
        return plain.encode

    def write(value: object) -> str:
        kind = value.__class__
        if kind is str:
            return str(text(value))
        return repr(value) if kind is int else "".join(encode(value, 0))

    return write


_writers: dict[tuple[bool, tuple[str, str]], Callable[[object], str]] = {}


def _refused(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def loads(text: str | bytes, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value that a JSON text says, as `json.loads` reads it.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    said, scan = _decoded(text), _scanner(parse_constant)
    if said is not None and scan is not None:
        start = len(said) - len(said.lstrip(_SPACE))
        try:
            value, end = scan(said, start)
        except (StopIteration, SystemError):
            pass  # an empty text, say; the machine knows its error only once `json` is loaded
        else:
            if not said[end:].strip(_SPACE):
                return value
    import json

    return json.loads(text, parse_constant=parse_constant)


def _decoded(text: str | bytes) -> str | None:
    """Return a text that is plain UTF-8, None for one that needs a closer look."""
    if isinstance(text, str):
        return None if text.startswith("\ufeff") else text
    if text.startswith(_WIDE_STARTS) or b"\0" in text[:4]:
        return None
    return text.decode("utf-8", "surrogatepass")


def _scanner(
    parse_constant: Callable[[str], Any] | None,
) -> Callable[[str, int], tuple[Any, int]] | None:
    """Return what reads one value, None where this Python has no such machine."""
    if parse_constant not in _scanners:
        try:
            import _json

            machine: Any = _json
            _scanners[parse_constant] = machine.make_scanner(_Reading(parse_constant))
        except (ImportError, AttributeError, TypeError):
            _scanners[parse_constant] = None
    return _scanners[parse_constant]


_scanners: dict[Callable[[str], Any] | None, Callable[[str, int], tuple[Any, int]] | None] = {}


class _Reading:
    """What the machine is told about how values are to be read."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    def __init__(self, parse_constant: Callable[[str], Any] | None) -> None:
        self.parse_constant = parse_constant or _CONSTANTS.__getitem__
