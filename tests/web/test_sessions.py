"""Links, sessions and the tokens of forms: what holds, until when, and what is forged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.web.sessions import LINK_S, SESSION_S, Sessions

NOW = 1_800_000_000
HOUSE = Sessions("a-token-of-some-length", "start")


@pytest.mark.req("DL-066")
def test_a_link_holds_a_quarter_of_an_hour_once_and_for_one_start_of_the_server():
    links = [HOUSE.link(NOW) for _ in range(4)]
    assert len(set(links)) == 4
    assert not HOUSE.session_for(links[0], NOW + LINK_S)
    session = HOUSE.session_for(links[0], NOW + LINK_S - 1)
    assert session and not HOUSE.session_for(links[0], NOW)
    assert not Sessions("a-token-of-some-length", "again").session_for(links[1], NOW)
    assert not Sessions("another-token-of-some", "start").session_for(links[1], NOW)
    assert HOUSE.session_for(links[2], NOW) != HOUSE.session_for(links[3], NOW)


@pytest.mark.req("DL-066")
def test_a_session_outlives_the_server_and_ends_in_time_or_with_the_token():
    session = HOUSE.session_for(HOUSE.link(NOW), NOW)
    again = Sessions("a-token-of-some-length", "again")
    assert again.is_session(session, NOW + SESSION_S - 1)
    assert not again.is_session(session, NOW + SESSION_S)
    assert not Sessions("another-token-of-some", "start").is_session(session, NOW)


@pytest.mark.req("DL-066")
def test_no_word_serves_for_another():
    link = HOUSE.link(NOW)
    session = HOUSE.session_for(HOUSE.link(NOW), NOW)
    form = HOUSE.form_token(session)
    assert not HOUSE.is_session(link, NOW) and not HOUSE.session_for(session, NOW)
    assert not HOUSE.is_token(session) and not HOUSE.is_token(form) and not HOUSE.is_token("")
    assert HOUSE.is_form_token(form, form) and form != HOUSE.form_token("")
    other = HOUSE.session_for(HOUSE.link(NOW), NOW)
    assert not HOUSE.is_form_token(HOUSE.form_token(other), form)


@pytest.mark.req("DL-066")
@given(st.text() | st.from_regex(r"[\w-]{12}\.[0-9]{1,12}\.[\w-]{22}", fullmatch=True))
def test_no_other_word_opens_anything(word):
    assert not HOUSE.session_for(word, NOW)
    assert not HOUSE.is_session(word, NOW)
    assert not HOUSE.is_token(word)
