"""Measuring the cost of work: what is quadratic is caught, and nothing stays switched off."""

from __future__ import annotations

import gc

import pytest

from tests.timing import assert_cheap, assert_linear


def linear(size: int) -> int:
    return sum(number % 7 for number in range(size))


def quadratic(size: int) -> int:
    return sum(linear(size // 20) for _ in range(size // 20))


def test_what_takes_time_proportional_to_its_size_is_linear():
    assert_linear(linear, 10_000, 320_000, 32)


def test_what_takes_the_square_is_not():
    with pytest.raises(AssertionError, match="for 16 times as much"):
        assert_linear(quadratic, 3_000, 48_000, 16)


def test_one_try_within_the_bound_is_enough():
    sizes = iter([3_000_000, 10])

    assert_cheap(lambda: linear(next(sizes)), within_s=0.02)

    assert next(sizes, None) is None


def test_what_is_dear_each_time_is_not_cheap():
    with pytest.raises(AssertionError, match="at the least"):
        assert_cheap(lambda: linear(100_000), within_s=0.0001)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_of_garbage_rests_meanwhile_and_not_afterwards(enabled: bool):
    was_enabled, seen = gc.isenabled(), []
    try:
        (gc.enable if enabled else gc.disable)()
        assert_cheap(lambda: seen.append(gc.isenabled()), within_s=1)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert seen == [False]
