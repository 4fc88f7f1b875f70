"""Signatures and their replay."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import InvalidMessageError, UsageError
from council.wire.messages import parse
from council.wire.signing import next_nonce, sign, verify
from tests.wire.readings import changed

KEY = "council-test-key"
PLAIN = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search"
SIGNED = f"{PLAIN};auth=S1:A3F2:1D4FF958"


@pytest.mark.req("PR-589")
def test_a_signature_is_eight_hex_digits_over_session_nonce_and_message():
    expected = hmac.new(KEY.encode(), f"S1:A3F2:{PLAIN}".encode(), hashlib.sha256).hexdigest()[:8]

    assert sign(PLAIN, KEY, "S1", "A3F2") == f"{PLAIN};auth=S1:A3F2:{expected.upper()}" == SIGNED
    assert parse(SIGNED).fields["pairs"]["auth"] == "S1:A3F2:1D4FF958"


@pytest.mark.req("PR-589")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SIGNED, "valid"),
        (SIGNED + "\n", "valid"),
        (SIGNED.lower().replace(PLAIN.lower(), PLAIN).replace("s1:a3f2", "S1:A3F2"), "valid"),
        (SIGNED.replace("A3F2", "a3f2"), "valid"),
        (PLAIN, "missing"),
        ("hello", "missing"),
        (SIGNED.replace("B500", "B900"), "forged"),
        (SIGNED.replace("S1:A3F2", "S2:A3F2"), "forged"),
        (SIGNED.replace("1D4FF958", "1D4FF959"), "forged"),
        (SIGNED.replace("1D4FF958", "1D4FF95"), "malformed"),
        (SIGNED.replace("A3F2", "A3G2"), "malformed"),
        (SIGNED.replace("auth=S1", "auth=X1"), "malformed"),
        (SIGNED + ";auth=S1:A3F2:1D4FF958", "malformed"),
        (SIGNED + ";more=1", "forged"),
    ],
)
def test_only_an_untouched_signature_is_valid(text: str, reason: str):
    verdict = verify(text, KEY)

    assert (verdict.reason, verdict.valid) == (reason, reason == "valid")
    if not verdict.errors:
        assert verdict.used == ("S1", "A3F2")
    else:
        assert verdict.errors[0]["code"] == "E90"


@pytest.mark.req("PR-589")
def test_a_signature_is_of_one_key():
    assert verify(SIGNED, "another key").reason == "forged"
    assert verify(SIGNED, KEY.encode()).valid


@pytest.mark.req("PR-589")
def test_a_nonce_is_used_once_in_a_session():
    used = verify(SIGNED, KEY).used

    assert verify(SIGNED, KEY, {used}).reason == "replayed"
    assert verify(SIGNED.replace("A3F2", "a3f2"), KEY, {used}).reason == "replayed"
    assert verify(SIGNED, KEY, {("S2", "A3F2"), ("S1", "A3F3")}).valid


@pytest.mark.req("PR-589")
def test_the_pair_may_stand_anywhere_in_data():
    moved = f"{PLAIN[:-15]}call=web_search;auth=S1:A3F2:1D4FF958"
    plain = PLAIN.replace("call=web_search", "call=web_search;n=1")
    signature = sign(plain, KEY, "S1", "0001").rpartition(";")[2]
    between = PLAIN.replace("call=web_search", f"call=web_search;{signature};n=1")

    assert verify(moved, KEY).valid
    assert verify(between, KEY).valid


@pytest.mark.parametrize(
    ("sid", "nonce"),
    [("1", "A3F2"), ("Sabc", "A3F2"), ("S1", "A3F"), ("S1", "A3FG"), ("S", "0000")],
)
def test_only_sessions_and_nonces_of_the_right_form_sign(sid: str, nonce: str):
    with pytest.raises(UsageError):
        sign(PLAIN, KEY, sid, nonce)


def test_only_valid_messages_with_room_are_signed():
    with pytest.raises(UsageError):
        sign(SIGNED, KEY, "S1", "0001")
    for text in (
        "M1|bad",
        changed("V5", 11, "x" * 190),
        changed("V5", 11, "x" * 300),
        changed("V5", 3, "Q"),
    ):
        with pytest.raises(InvalidMessageError):
            sign(text, KEY, "S1", "0001")


def test_nonces_count_up_until_a_session_has_none_left():
    assert [next_nonce(last) for last in (None, "0000", "00FF", "a3f2")] == [
        *("0000", "0001", "0100", "A3F3"),
    ]
    assert next_nonce("FFFF") is None


@given(st.text(), st.text(max_size=20))
def test_any_text_is_judged_and_never_valid_without_the_key(text: str, tail: str):
    assert not verify(text, KEY).valid
    assert not verify(f"{PLAIN};auth={tail}", KEY).valid


@given(
    st.text(
        st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters='|>"'),
        min_size=1,
        max_size=100,
    )
)
def test_what_is_signed_is_verified(data: str):
    if "auth=" in data:
        return
    assert verify(sign(changed("V5", 11, data), KEY, "S9", "00ff"), KEY).used == ("S9", "00FF")
