"""To whom a response is due: to those who could be heard, and to no other."""

from __future__ import annotations

import pytest

from council.core.deliberation.deliberation import responses_due
from tests.core.talks import debate, form, say, speaks


@pytest.mark.req("DL-015")
def test_who_speaks_after_others_owes_each_a_response():
    state = speaks(speaks(debate()))

    assert responses_due(state, "glm") == ("claude", "gpt")


@pytest.mark.req("DL-015", "XC-104")
def test_nobody_owes_a_response_to_what_is_said_at_the_same_time():
    state = say(debate(order="parallel"), "claude", form())

    assert responses_due(state, "gpt") == ()
    assert say(state, "gpt", form()).participants["gpt"].again == 0
