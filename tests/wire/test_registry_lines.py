"""What the registry answers, line by line."""

from __future__ import annotations

import pytest

from council.core.protocol.registering import Joining, join
from council.core.protocol.registry import Registry
from council.wire.messages import parse
from tests.core.registries import NOW, RULES, joined, lines_of, told


@pytest.mark.req("PR-405")
def test_a_second_w1_of_v4_gets_the_code_of_v4():
    registry = joined("M1|W1>O1|U|-|-|-|-|JOIN;caps=plan")

    step = told(registry, "M2|W1>O1|U|-|P1|-|-|JOIN;caps=plan")

    assert lines_of(step) == ["M3|O1>W1|E|-|P1|-|E11|ID_CONFLICT"]


@pytest.mark.req("PR-404")
@pytest.mark.parametrize("speaks", ["V4", "V5"])
def test_every_answer_passes_the_strict_check_of_its_version(speaks: str):
    registry = Registry()
    for wish in (Joining(), Joining(proposed="W1"), Joining(proposed="W4"), Joining(role="R")):
        step = join(registry, wish, NOW, RULES, speaks=speaks)
        registry = step.registry
        for line in lines_of(step):
            found = parse(line, speaks).strict()
            assert not found.errors, line
