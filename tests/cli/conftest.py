"""What the tests of the command line share: a workspace with one council under way."""

from __future__ import annotations

import pytest


@pytest.fixture
def opened(council, now):
    """The command in a workspace where owl and gecko, who answer by hand, are to COLLECT."""
    assert council("init", "--agents", "owl,gecko").code == 0
    done = council("convene", "Shall we build a weather bot?", now=now)
    assert done.code == 0, done.err
    return council
