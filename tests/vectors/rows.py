"""The vectors of the documents, as parameters of tests."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parent


def rows(name: str) -> list[Any]:
    return [*map(json.loads, (VECTORS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())]


def of(name: str, *kinds: str) -> list[Any]:
    """Return the rows of a file of vectors that are of these kinds or areas, as parameters."""
    found = [row for row in rows(name) if row.get("kind", row.get("area")) in kinds]
    assert found
    return [pytest.param(row, id=row["id"]) for row in found]


def tables_of(name: str) -> dict[str, list[Any]]:
    """Return the tables of a file: under a test's subject, its rows."""
    return tomllib.loads((VECTORS / f"{name}.toml").read_text(encoding="utf-8"))
