"""The streams of live events: what arrives, once each, in its order, and what never does."""

from __future__ import annotations

import pytest


@pytest.mark.req("DL-071")
def test_an_answer_given_by_another_process_arrives_at_a_reader(served):
    reader = served.read()
    assert reader.status == 200
    assert served.council("respond", "--as", "owl", "Yes, and soon.").code == 0
    (*_, came) = reader.until_type("contribution.recorded", 10)
    assert came.json()["agentId"] == "owl"
    assert came.json()["eventId"] == came.id == reader.last
