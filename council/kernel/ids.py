"""Names, digests and identifiers.

Nothing random is drawn here: identifiers follow from their parts, drawn bytes come from the caller.
"""

from __future__ import annotations

from council.kernel.errors import Invalid
from council.kernel.record import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256 as _plain_sha256
else:
    try:
        from _sha256 import sha256 as _plain_sha256  # CPython 3.11
    except ImportError:
        from _sha2 import sha256 as _plain_sha256  # CPython 3.12 and later

_LARGE = 256 * 1024
_START = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_REST = _START | frozenset("_-")


def digest(data: bytes | str) -> str:
    """Return the SHA-256 of bytes, or of a text's UTF-8, as 64 hex digits.

    CPython's own implementation needs no OpenSSL, whose import costs a quarter of the start of
    Python; above 256 KB OpenSSL is worth it.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > _LARGE:
        import hashlib  # late: see above

        return hashlib.sha256(raw).hexdigest()
    return _plain_sha256(raw).hexdigest()


def is_name(text: str) -> bool:
    """Return whether a text is a legal name: `[a-z0-9][a-z0-9_-]{0,63}`."""
    return 0 < len(text) <= 64 and text[0] in _START and not set(text) - _REST


def checked_name(text: str, what: str) -> str:
    """Return `text` if it is a legal name, else raise Invalid; `what` is e.g. `agent id`."""
    if not is_name(text):
        hint = "use up to 64 lower-case letters, digits, - and _, and begin with a letter or digit"
        raise Invalid("bad-name", f"not a legal {what}: {text[:80]!r}", hint)
    return text


def checked_text(data: bytes, most: int) -> str:
    """Return a text that somebody hands in, without a byte order mark; Invalid for a wrong one."""
    if len(data) > most:
        raise Invalid("too-long", f"the text is longer than {most} bytes", "shorten it")
    if b"\0" in data:
        raise Invalid("binary", "the text contains NUL bytes", "give a text in UTF-8")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        what = f"the text is not UTF-8 (byte {error.start})"
        raise Invalid("not-utf-8", what, "save it as UTF-8") from None


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen."""
    return not any(map(str.isprintable, text.replace(" ", "")))


def uuid4(drawn: bytes) -> str:
    """Return 16 random bytes as a version 4 UUID."""
    raw = bytearray(drawn[:16])
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def cuid(ident: str, millis: int) -> str:
    """Return a cuid that follows from another id and a time in milliseconds (document 003)."""
    return f"c{millis:011x}{digest(ident)}"[:25]


def shuffled(order: list[str], last: str, seed: str) -> list[str]:
    """Return an order that follows from the seed, in which `last` is not the first."""
    made, drawn = list(order), 0
    while drawn == 0 or (len(made) > 1 and made[0] == last):
        made.sort(key=lambda one, drawn=drawn: digest(f"{seed} {drawn} {one}"))  # type: ignore[misc]
        drawn += 1
    return made


def slug(text: str, most: int = 60) -> str:
    """Return `text` as part of a file name: ASCII, lower case, hyphens; may be empty."""
    if not text.isascii():
        from unicodedata import normalize  # late: its tables take 100 KB

        text = normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    short = "-".join(words)
    if len(short) > most:
        short = short[: most + 1].rpartition("-")[0] or short[:most]
    return short


def cut(text: str, most: int) -> str:
    """Return `text` on one line, cut to `most` characters with an ellipsis, behind a word."""
    line = " ".join(text.split())
    end = line.rfind(" ", max(0, most - 20), most)  # a longer word is cut itself
    return line if len(line) <= most else line[: end if end > 0 else most - 1].rstrip() + "…"
