"""Signatures: the pair `auth=SID:NONCE:SIG` in the DATA of a V5 message.

SIG is the first 8 hex digits of the HMAC-SHA256 of `SID:NONCE:` and the message without that pair
and the `;` before it. A pair of SID and NONCE is used once. 16 bits of nonce and 32 of signature
are weak: they keep honest programs apart and stop no determined attacker (PR-589, A-68).
"""

from __future__ import annotations

import re
from collections.abc import Container

from council.kernel.errors import Invalid, Usage
from council.tasks.wire import data
from council.tasks.wire.parsing import parse

_AUTH = re.compile(r"auth=(S\d{1,7}):([0-9A-Fa-f]{4}):([0-9A-Fa-f]{8})", re.ASCII)


def sign(text: str, key: str, sid: str, nonce: str) -> str:
    """Return a V5 message with its signature at the end of DATA.

    `sid` is `S` and digits, `nonce` four hex digits that the session has not used yet.

    Raises:
        Usage: They have another form, or the message is signed already.
        Invalid: It is no valid V5 message, or is too long with the signature.
    """
    plain = "|".join(parse(text, "V5").strict().sound().segments)
    if not _AUTH.fullmatch(f"auth={sid}:{nonce}:00000000") or _auths(plain):
        what = "this message is signed already" if _auths(plain) else f"{sid}:{nonce} cannot sign"
        raise Usage("usage", what, "sign a message without auth=, with S1 and four hex digits")
    signed = f"{plain};auth={sid}:{nonce}:{_signature(plain, key, sid, nonce)}"
    if len(signed.rpartition("|")[2]) > data.MOST_CHARS:
        raise Invalid("bad-message", "DATA is too long for a signature", "shorten it")
    return signed


def verify(text: str, key: str, history: Container[str]) -> tuple[str, str]:
    """Return `valid` and the session and nonce to remember (`S1:A3F2`), or what is wrong and "".

    Wrong is `missing`, `malformed`, `forged`, or `replayed`: it is among those `history` so far.
    """
    line = text.rstrip("\r\n")
    pairs = _auths(line)
    match = _AUTH.fullmatch(pairs[0]) if len(pairs) == 1 else None
    if not match:
        return "malformed" if pairs else "missing", ""
    head, _, payload = line.rpartition("|")
    plain = head + "|" + ";".join(one for one in data.parted(payload, ";") if one != pairs[0])
    sid, nonce, signature = match.groups()
    from hmac import compare_digest  # late: it brings OpenSSL

    ours = (_signature(plain, key, sid, one) for one in {nonce, nonce.upper(), nonce.lower()})
    if not any(compare_digest(one, signature.upper()) for one in ours):
        return "forged", ""
    pair = f"{sid}:{nonce.upper()}"
    return ("replayed", "") if pair in history else ("valid", pair)


def _auths(line: str) -> list[str]:
    items = data.parted(line.rpartition("|")[2], ";")
    return [item for item in items if item.startswith("auth=")]


def _signature(plain: str, key: str, sid: str, nonce: str) -> str:
    from hmac import digest  # late: as above

    signed = f"{sid}:{nonce}:{plain}".encode("utf-8", "surrogatepass")
    return digest(key.encode(), signed, "sha256").hex()[:8].upper()
