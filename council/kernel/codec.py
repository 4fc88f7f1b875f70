"""JSON as text and bytes, through the C scanner and encoder behind `json`.

Importing `json` itself costs half of what Python needs to start (it brings `re`). An interpreter
whose private module differs from the one known here falls back to it.
"""

from __future__ import annotations

from council.kernel.errors import Invalid
from council.kernel.record import Any

_FORMS = ((",", ":"), (", ", ": "))
# Delete, C1 and directions; then what Node 24 and others take for the end of a line.
STEERING = (*range(127, 160), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {one: f"\\u{one:04x}" for one in (*STEERING, 0x2028, 0x2029)}


class _Options:
    """What the scanner reads from a decoder."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int = float, int

    @staticmethod
    def parse_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")


_scan: Any
_compact: Any
_spaced: Any
try:
    import _json

    _scan = _json.make_scanner(_Options)  # type: ignore[arg-type]
    _flags: Any = (False, False, False)  # do not sort, do not skip keys, no NaN
    _compact, _spaced = [
        _json.make_encoder(None, None, _json.encode_basestring, None, key, item, *_flags)  # type: ignore[arg-type]
        for item, key in _FORMS
    ]
    _scan("".join(_compact({"a": [1, None]}, 0)), 0)
except (ImportError, AttributeError, TypeError):
    import json

    _scan = json.JSONDecoder(parse_constant=_Options.parse_constant).scan_once  # type: ignore[attr-defined]
    _compact, _spaced = [
        json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=form).iterencode
        for form in _FORMS
    ]


def dumps(value: Any, *, spaced: bool = False) -> str:
    """Return a value as JSON on one line; `spaced` puts a blank after commas and colons."""
    return "".join((_spaced if spaced else _compact)(value, 0))


def printed(value: Any) -> str:
    """Return a value as JSON on what all take for one line, with nothing that steers a terminal."""
    return dumps(value).translate(_ESCAPES)


def encoded(value: Any) -> bytes:
    """Return a value as JSON in UTF-8; lone surrogates, which have no UTF-8, are escaped."""
    return "".join(_compact(value, 0)).encode("utf-8", "backslashreplace")


def loads(data: str | bytes, where: str = "the text") -> Any:
    """Return the value of a JSON text; `where` names the text in errors (Invalid, `bad-json`)."""
    try:
        text = (data if isinstance(data, str) else data.decode()).strip("\ufeff \t\r\n")
        value, end = _scan(text, 0)
        if end != len(text):
            raise ValueError("text after the value")
    except RecursionError:
        raise Invalid("bad-json", f"{where}: nested too deeply", "make it flatter") from None
    except (ValueError, SystemError, StopIteration):  # the scanner alone has no words for them
        raise Invalid("bad-json", f"{where}: not JSON{_fault(data)}") from None
    return value


def _fault(data: str | bytes) -> str:
    """Return what a JSON reader has to say about a text, "" where it finds no fault."""
    import json  # late: only of what is no JSON

    try:
        json.loads(data)
    except ValueError as error:
        return f": {str(error)[:80]}"
    return ""
