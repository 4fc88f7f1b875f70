"""What a run may do, and how it shows who it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import RefusedError
from council.core.trust import is_token, permit, run_token

KEY = b"k" * 32
ALLOWED = (
    "context|respond|vote|synthesize|show|status|agent call|agent message|artifact publish|"
    "artifact fetch|artifact list|msg parse|msg send|turn begin|turn end|channel post"
)
REFUSED = (
    "stop|cancel|inject|extend|restore|edit|agent add|agent register|agent remove|agent|channel|"
    "channel mode|channel create|convene|ask|init|heartbeat|resume|pause|halt|purge|gc|adopt|"
    "archive|schedule|doctor|serve|say|migrate|events tail|history|prompt turn||respondx"
)


@pytest.mark.req("XC-015")
@pytest.mark.parametrize("verb", ALLOWED.split("|"))
def test_a_run_may_read_and_answer(verb: str):
    permit(verb, in_run=True)


@pytest.mark.req("XC-015")
@pytest.mark.parametrize("verb", REFUSED.split("|"))
def test_everything_else_is_refused_inside_a_run(verb: str):
    with pytest.raises(RefusedError) as refusal:
        permit(verb, in_run=True)
    assert refusal.value.exit_code == 6
    assert "respond" in refusal.value.hint


@pytest.mark.req("XC-015")
@pytest.mark.parametrize("verb", REFUSED.split("|"))
def test_outside_a_run_nothing_is_refused(verb: str):
    permit(verb, in_run=False)


@pytest.mark.req("XC-014")
def test_a_token_is_good_for_one_attempt_of_one_agent_in_one_round_of_one_conversation():
    mine = run_token(KEY, "c", 1, "henry", 1)
    others = [
        run_token(b"x" * 32, "c", 1, "henry", 1),
        run_token(KEY, "d", 1, "henry", 1),
        run_token(KEY, "c", 2, "henry", 1),
        run_token(KEY, "c", 1, "sage", 1),
        run_token(KEY, "c", 1, "henry", 2),
        run_token(KEY, "c", 11, "henry", 1),
    ]
    assert len({mine, *others}) == 7
    assert is_token(mine, run_token(KEY, "c", 1, "henry", 1))
    assert not any(is_token(mine, other) for other in others)


@pytest.mark.req("XC-014")
@given(st.text(st.characters(), max_size=80))
def test_any_other_text_is_no_token_and_no_crash(text: str):
    assert not is_token(text, run_token(KEY, "c", 1, "henry", 1))


@pytest.mark.req("XC-014")
def test_bytes_that_are_no_text_are_no_token():
    from_the_environment = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert not is_token(from_the_environment, run_token(KEY, "c", 1, "henry", 1))
