"""What is tried every day of all that there is to try: the rest is tried by `make long`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

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


def one_in(many: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases of a test, of which one in so many is tried every day, the first with it."""
    return [case if number % many == 0 else _long(case) for number, case in enumerate(cases)]


def _long(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.long])
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
