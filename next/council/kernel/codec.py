"""JSON as text and bytes, through the C scanner and encoder behind `json`.

Importing `json` itself costs half of what Python needs to start (it brings `re`). An interpreter
whose private modules differ from those known here falls back to it.
"""

from __future__ import annotations

from council.kernel.errors import Invalid
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class _Options:
    """What the scanner reads from a decoder."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, staticmethod(_constant)


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    made: Any
    try:
        import _json  # late: it may be missing

        made = _json.make_scanner(_Options)  # type: ignore[arg-type]
        made('{"a":[1]}', 0)
    except (ImportError, AttributeError, TypeError):
        import json  # late: see above

        made = json.JSONDecoder(parse_constant=_constant).scan_once  # type: ignore[attr-defined]
    return made  # type: ignore[no-any-return]


def _encoder(item: str, key: str) -> Callable[[Any], str]:
    try:
        from _json import encode_basestring, make_encoder  # late: they may be missing

        options: Any = (None, encode_basestring, None, key, item, False, False, False)
        encode = make_encoder(None, *options)
        "".join(encode({"a": [1, None]}, 0))
        return lambda value: "".join(encode(value, 0))
    except (ImportError, AttributeError, TypeError):
        import json  # late: see above

        form = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(item, key))
        return form.encode


_scan = _scanner()
_compact, _spaced = _encoder(",", ":"), _encoder(", ", ": ")


def dumps(value: Any, *, spaced: bool = False) -> str:
    """Return a value as JSON on one line; `spaced` puts a blank after commas and colons."""
    return (_spaced if spaced else _compact)(value)


def encoded(value: Any) -> bytes:
    """Return a value as JSON in UTF-8; lone surrogates, which have no UTF-8, are escaped."""
    try:
        return _compact(value).encode()
    except UnicodeEncodeError:
        import json  # late: see above

        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def loads(data: str | bytes, where: str = "the text") -> Any:
    """Return the value of a JSON text; `where` names the text in errors (Invalid, `bad-json`)."""
    try:
        text = (data if isinstance(data, str) else data.decode()).strip(" \t\r\n")
        value, end = _scan(text, 0)
        if end != len(text):
            raise ValueError("text after the value")
    except StopIteration:
        raise Invalid("bad-json", f"{where}: not JSON") from None
    except (ValueError, RecursionError) as error:
        raise Invalid("bad-json", f"{where}: not JSON: {str(error)[:80]}") from None
    return value
