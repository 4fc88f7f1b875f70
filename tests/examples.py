"""How many examples a property is tried with: a quarter of them every day, all in `make long`."""

from __future__ import annotations

import re

import pytest

_SHARE = 4
_all_are_tried = False


def try_as_many_as(config: pytest.Config) -> None:
    """Try all if the tests that are long are asked for; then properties are among them."""
    global _all_are_tried
    _all_are_tried = bool(re.search(r"(?<!not )\blong\b", config.option.markexpr))


def mark_property(item: pytest.Item) -> None:
    """Count a property among the long tests where all its examples are tried."""
    if _all_are_tried and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker("long")


def examples(most: int) -> int:
    """Return with how many examples a property is tried now, of so many at most."""
    return most if _all_are_tried else max(most // _SHARE, 1)
