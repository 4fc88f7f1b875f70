"""Whatever is sent to the registry: it answers in valid lines, and stays a registry."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.protocol.registry import Registry, registry_from_record
from council.core.protocol.registry_messages import concerns_registry
from council.wire.carried import message_of
from council.wire.messages import parse
from tests.core.registries import NOW, RULES, lines_of, team, told

ENDS = st.sampled_from(["O1", "O2", "W1", "W2", "W7", "W1.a", "R1", "G1", "*", "W*"])
SENDERS = st.sampled_from(["O1", "O2", "W1", "W2", "W7", "W1.a", "R1"])
NAMES = st.sampled_from(
    (
        *("caps", "desc", "max_depth", "version", "fallback", "id", "agent", "reason"),
        *("filter", "status", "load", "queue", "group", "members", "to", "x"),
    )
)
VALUES = st.one_of(
    st.sampled_from(
        [
            "y" * 150,
            '"A' * 70,
            "Ab," * 50,
            "plan,reason",
            "any",
            "W1",
            "W9",
            "G1",
            "O1",
            "V4",
            "V5",
            "V3",
            "3",
            "0",
            "45%",
            "W*",
            "*",
        ]
    ),
    st.text(st.characters(exclude_characters="|>", exclude_categories=("C", "Z")), max_size=190),
)
WORDS = st.sampled_from(["JOIN", "LEAVE", "CAPS", "registered", "é"])
DATA = st.builds(
    lambda words, pairs: ";".join([*words, *(f"{name}={value}" for name, value in pairs)])[:200],
    st.lists(WORDS, max_size=2),
    st.lists(st.tuples(NAMES, VALUES), max_size=4),
)
LINES = st.builds(
    lambda number, sender, end, kind, pri, state, data: (
        f"M{number}|{sender}>{end}|{kind}|T0|{pri}|{state}|-|0|S0|-|{data or '-'}"
    ),
    st.integers(0, 9999),
    SENDERS,
    ENDS,
    st.sampled_from("JLKQHUB"),
    st.sampled_from(["-", "P0", "P1"]),
    st.sampled_from(["-", "N", "R"]),
    DATA,
)


@pytest.mark.req("PR-510")
@given(st.lists(LINES, max_size=6))
def test_any_messages_are_answered_in_valid_lines(lines: list[str]):
    registry: Registry = team("plan", "reason")
    now = NOW
    for line in lines:
        found = parse(line)
        if found.errors or not concerns_registry(message_of(found)):
            continue
        now += timedelta(seconds=20)
        step = told(registry, line, now)
        registry = step.registry
        for answer in lines_of(step):
            # A question is answered although strict reading refuses to ask it.
            assert not parse(answer).strict().errors, (line, answer)
        assert step.outcome
        record = registry.to_record()
        assert registry_from_record(record).to_record() == record


@given(LINES)
def test_v4_is_answered_in_v4(line: str):
    segments = line.split("|")
    in_v4 = "|".join([*segments[:3], "-", *segments[4:7], segments[10]])
    found = parse(in_v4, "V4")
    if found.errors or not concerns_registry(message_of(found)):
        return

    step = told(team("plan"), in_v4, rules=RULES)

    for answer in lines_of(step):
        version = "V5" if answer.count("|") == 10 else "V4"
        assert not parse(answer, version).strict().errors, (in_v4, answer)
