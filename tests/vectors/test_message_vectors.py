"""Every message vector: its reading, its conversions, its refusals, its signature."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from council.wire.messages import parse

MESSAGES = Path(__file__).with_name("messages.jsonl")
VECTORS = [json.loads(line) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]


def of(*kinds: str) -> list[Any]:
    return [pytest.param(one, id=one["id"]) for one in VECTORS if one["kind"] in kinds]


@pytest.mark.parametrize("vector", of("example", "edge", "negative"))
def test_a_message_reads_as_its_vector_says(vector: dict[str, Any]):
    found = parse(vector["raw"], vector["version"]).to_record()

    assert found == {
        "version": vector["version"],
        "standing": found["standing"],
        "valid": vector["valid"],
        "fields": vector["parsed"],
        "errors": vector["errors"],
        "warnings": vector["warnings"],
    }


@pytest.mark.parametrize("vector", of("conversion", "conversion-refused"))
def test_what_is_to_be_converted_is_found_to_be_of_its_version(vector: dict[str, Any]):
    found = parse(vector["raw"])

    assert (found.version, found.valid) == (vector["version"], True)
