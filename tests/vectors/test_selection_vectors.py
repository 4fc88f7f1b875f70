"""The rule vectors of the choice of a worker."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from council.core.protocol.registry import Entry
from council.core.protocol.selection import select

RULES = Path(__file__).with_name("rules.jsonl")
CASES = [
    case
    for case in map(json.loads, RULES.read_text(encoding="utf-8").splitlines())
    if case["area"] == "select-worker"
]


def candidate(worker: dict[str, Any]) -> Entry:
    used = worker["last_used"]
    return Entry(
        id=worker["id"],
        capabilities=tuple(worker["caps"]),
        load=worker["load"],
        used_at=None if used is None else datetime.fromtimestamp(used, UTC),
    )


def test_there_are_vectors_of_the_choice():
    assert CASES


@pytest.mark.req("PR-509", "PR-561")
@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_workers_of_the_file_are_ordered_as_it_says(case: dict[str, Any]):
    given = case["input"]

    found = select(
        given["required"], map(candidate, given["workers"]), threshold=given["threshold"]
    )

    assert list(found.order) == case["expect"]
