"""SHA-256 of bytes, without paying for more than is needed.

`hashlib` loads OpenSSL, which costs a short command about a quarter of the
interpreter's own start. CPython has a plain implementation of its own; where
much is digested, at once or one after the other, OpenSSL's is seven times
faster and worth loading.

Source: `architecture.md` section 4.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256 as _plain_sha256
else:
    try:
        from _sha256 import sha256 as _plain_sha256  # CPython 3.11
    except ImportError:
        try:
            from _sha2 import sha256 as _plain_sha256  # CPython 3.12 and later
        except ImportError:
            from hashlib import sha256 as _plain_sha256

_LARGE_BYTES = 256 * 1024
_MANY_BYTES = 1024 * 1024
_digested = [0]  # by the plain implementation, in this process


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    if len(data) > _LARGE_BYTES or _digested[0] > _MANY_BYTES:
        import hashlib

        return hashlib.sha256(data).hexdigest()
    _digested[0] += len(data)
    return _plain_sha256(data).hexdigest()
