"""Every message vector: its reading, its conversions, its refusals, its signature."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from council.core.errors import ConversionRefusedError
from council.wire.conversion import convert
from council.wire.data import parse_data
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


@pytest.mark.parametrize("vector", of("conversion"))
def test_a_chain_of_versions_gives_the_texts_and_losses_of_its_vector(vector: dict[str, Any]):
    told = vector["parsed"]
    options = {"lossy": told["lossy"], "structural": told["mode"] == "structural"}

    lost = []
    for number, version in enumerate(told["chain"][1:]):
        step = convert(told["texts"][number], version, **options)
        assert step.text == told["texts"][number + 1]
        lost += step.losses

    assert lost == told["losses"]
    at_once = convert(vector["raw"], told["chain"][-1], **options)
    assert at_once.to_record() == {"text": told["texts"][-1], "losses": told["losses"]}


@pytest.mark.parametrize("vector", of("conversion-refused"))
def test_a_conversion_is_refused_for_the_reason_of_its_vector(vector: dict[str, Any]):
    with pytest.raises(ConversionRefusedError) as refused:
        convert(vector["raw"], vector["parsed"]["chain"][-1], lossy=vector["parsed"]["lossy"])

    record = refused.value.to_record()
    assert [{name: record[name] for name in ("code", "rule", "segment")}] == vector["errors"]


@pytest.mark.parametrize("vector", of("data"))
def test_data_splits_as_its_vector_says(vector: dict[str, Any]):
    assert parse_data(vector["raw"]) == vector["parsed"]
