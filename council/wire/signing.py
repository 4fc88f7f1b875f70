"""Signatures: an `auth=SID:NONCE:SIG` pair in the DATA of a V5 message.

SIG is the first 8 hex digits of the HMAC-SHA256 of `SID:NONCE:` and the
message without that pair and the `;` before it. A pair of SID and NONCE is
used once; nonces count up, and the verifier gives the ones already seen.
Sixteen bits of nonce and thirty-two of signature are weak: they keep honest
programs apart and stop no determined attacker.

Source: PR-589, PR-590, A-68.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from council.core.errors import InvalidMessageError, UsageError
from council.core.protocol.payload import split_outside_quotes
from council.core.record import Record
from council.wire.building import checked
from council.wire.forms import DATA_CHARS
from council.wire.identifiers import is_digits
from council.wire.messages import parse
from council.wire.parsed import Fault
from council.wire.v4 import is_hex

_PAIR = "auth="
_LAST_NONCE = 0xFFFF
REFUSED = Fault(code="E90", rule="auth", segment=11)
TOO_LONG = Fault(code="E10", rule="V5-signed", segment=11)


class Verdict(Record):
    """Whether a message is signed by a holder of the key.

    `reason` is `valid`, `missing`, `malformed`, `forged` or `replayed`, or `faulty` for what is
    no valid message at all; `used` is the pair of SID and NONCE to remember, None unless valid.
    """

    reason: str
    used: tuple[str, str] | None = None
    faults: tuple[Fault, ...] = ()

    @property
    def valid(self) -> bool:
        """Return true if the signature holds."""
        return self.used is not None

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Return what is wrong, each fault as the object that `--json` prints."""
        faults = self.faults or (() if self.valid else (REFUSED,))
        return [fault.to_record() for fault in faults]

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `msg verify`."""
        session, nonce = self.used or (None, None)
        return {
            **self.as_json("valid reason"),
            "sid": session,
            "nonce": nonce,
            "errors": self.errors,
        }


def sign(text: str, key: str | bytes, sid: str, nonce: str) -> str:
    """Return a V5 message with its signature at the end of DATA.

    Args:
        text: The message without a signature.
        key: What both sides agreed on outside of the protocol.
        sid: The session, `S` and digits.
        nonce: Four hex digits never used before in this session; see `next_nonce`.

    Raises:
        UsageError: SID or NONCE have the wrong form, or the message is signed already.
        InvalidMessageError: The message is no valid V5, or too long with the signature.
    """
    if not _is_session(sid) or not is_hex(nonce, 4):
        raise UsageError(
            f"{sid}:{nonce} cannot sign", "a session is S and digits, a nonce four hex digits"
        )
    segments = list(parse(text, "V5").segments) or [text]
    if len(segments) == 11 and _auths(segments[10]):
        raise UsageError("this message is signed already", "sign the one without auth=")
    # The check comes first: what is signed must be what is sent.
    plain = checked(segments, "V5")
    segments[10] += f";{_PAIR}{sid}:{nonce}:{_signature(plain, key, sid, nonce)}"
    if len(segments[10]) > DATA_CHARS:
        raise InvalidMessageError([TOO_LONG.to_record()])
    return checked(segments, "V5")


def verify(text: str, key: str | bytes, seen: Container[tuple[str, str]] = ()) -> Verdict:
    """Return whether the signature of a V5 message holds and is used for the first time.

    Args:
        text: The message as it came.
        key: The shared key.
        seen: The pairs of SID and NONCE (in capitals) used so far.
    """
    segments = parse(text, "V5").text.rstrip("\r\n").split("|", 11)
    found = _auths(segments[10]) if len(segments) == 11 else []
    if len(found) != 1:
        return Verdict(reason="malformed" if found else "missing")
    sid, _, rest = found[0].removeprefix(_PAIR).partition(":")
    nonce, _, signature = rest.partition(":")
    if not _is_session(sid) or not is_hex(nonce, 4) or not is_hex(signature, 8):
        return Verdict(reason="malformed")
    segments[10] = _without(segments[10], found[0])
    plain = "|".join(segments)
    # The case of hex digits does not matter, so the signer may have signed another one.
    written = {nonce, nonce.upper(), nonce.lower()}
    if not any(_same(_signature(plain, key, sid, one), signature) for one in sorted(written)):
        return Verdict(reason="forged")
    used = (sid, nonce.upper())
    return Verdict(reason="replayed") if used in seen else Verdict(reason="valid", used=used)


def next_nonce(last: str | None) -> str | None:
    """Return the nonce after `last`, None when a session has used them all."""
    number = -1 if last is None else int(last, 16)
    return f"{number + 1:04X}" if number < _LAST_NONCE else None


def _is_session(sid: str) -> bool:
    return sid[:1] == "S" and is_digits(sid[1:]) and len(sid) < 9


def _auths(data: str) -> list[str]:
    return [item for item in split_outside_quotes(data, ";") if item.startswith(_PAIR)]


def _without(data: str, pair: str) -> str:
    items = split_outside_quotes(data, ";")
    place = items.index(pair)
    if place:
        return ";".join([*items[:place], *items[place + 1 :]])
    return data.removeprefix(pair)


def _signature(plain: str, key: str | bytes, sid: str, nonce: str) -> str:
    import hmac

    secret = key.encode() if isinstance(key, str) else key
    signed = f"{sid}:{nonce}:{plain}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, signed, "sha256").hexdigest()[:8].upper()


def _same(ours: str, theirs: str) -> bool:
    import hmac

    return hmac.compare_digest(ours, theirs.upper())
