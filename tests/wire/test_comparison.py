"""What differs between two messages."""

from __future__ import annotations

import pytest

from council.core.errors import InvalidMessageError
from council.wire.conversion import compare
from council.wire.messages import parse
from tests.wire.readings import PLAIN, V5


def differences(before: str, after: str) -> list[tuple[str, object, object]]:
    return compare(parse(before), parse(after)).differences


@pytest.mark.parametrize("version", sorted(PLAIN))
def test_a_message_does_not_differ_from_itself(version: str):
    assert differences(PLAIN[version], PLAIN[version]) == []


def test_what_two_versions_write_differently_is_no_difference():
    v4, v3 = "M1|O1>W1|E|T1|P1|F|E07|disk", "MSG_01|O1>W1|E|TASK_01|P1|F|E04:disk"

    found = compare(parse(v4), parse(v3))

    assert (found.compared_in, found.differences) == ("V3", [])
    assert found.to_record()["same"] is True


def test_what_cannot_be_converted_is_compared_field_by_field():
    choice = "M1|O1>User|D|T1|P1|R|-|0|S1|-|question=a;opt1=b;opt2=c"

    found = compare(parse(choice), parse("M1|O1>W1|R|T1|P1|R|-|go"))

    assert found.compared_in is None
    assert ("to", "User", "W1") in found.differences


def test_a_draft_is_compared_too():
    assert compare(parse(V5), parse(PLAIN["V5D"])).compared_in is None


def test_messages_with_faults_are_not_compared():
    with pytest.raises(InvalidMessageError):
        differences(V5, "hello")
