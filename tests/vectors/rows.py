"""The vectors of the documents, as parameters of tests."""

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parent


def of(name: str, *kinds: str) -> list[Any]:
    """Return the rows of a file of vectors that are of these kinds or areas, as parameters."""
    lines = (VECTORS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row.get("kind", row.get("area")) in kinds]
    assert rows
    return [pytest.param(row, id=row["id"]) for row in rows]
