"""Every message vector: its reading, its conversions, its refusals, its signature.

The sequences are played as far as a message alone and the names in it decide;
what the course of a task decides (its state, depth, budget, questions) is
played where tasks are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from council.core.errors import ConversionRefusedError
from council.core.protocol.payload import flags_and_pairs
from council.wire.conversion import convert
from council.wire.data import params_of
from council.wire.log_lines import parse_log_line
from council.wire.meaning import Known
from council.wire.messages import parse, validate
from council.wire.replies import written_out
from council.wire.signing import verify

MESSAGES = Path(__file__).with_name("messages.jsonl")
VECTORS = [json.loads(line) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]
# What a message that names the unknown, or is not signed, is answered with.
DECIDED_HERE = ("E08", "E09", "E40", "E41", "E42", "E43", "E90")


def of(*kinds: str) -> list[Any]:
    return [pytest.param(one, id=one["id"]) for one in VECTORS if one["kind"] in kinds]


@pytest.mark.req("PR-003", "PR-004", "PR-005")
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


@pytest.mark.req("PR-002")
@pytest.mark.parametrize("vector", of("example", "edge", "conversion", "conversion-refused"))
def test_the_version_of_a_vector_is_found(vector: dict[str, Any]):
    found = parse(vector["raw"])

    assert (found.version, found.valid) == (vector["version"], True)


@pytest.mark.req("PR-007")
@pytest.mark.parametrize("vector", of("template"))
def test_a_template_has_its_segments_and_is_no_message(vector: dict[str, Any]):
    assert vector["raw"].count("|") + 1 == vector["parsed"]["segments"]
    assert not parse(vector["raw"]).valid


@pytest.mark.req("PR-418")
@pytest.mark.parametrize("vector", of("fragment"))
def test_a_short_note_is_written_out_as_its_vector_says(vector: dict[str, Any]):
    assert written_out(vector["raw"]) == vector["parsed"]["canonical"]
    assert not parse(vector["raw"], vector["version"]).valid


@pytest.mark.req("PR-586", "PR-588")
@pytest.mark.parametrize("vector", of("log"))
def test_a_line_of_the_log_reads_as_its_vector_says(vector: dict[str, Any]):
    assert parse_log_line(vector["raw"]) == vector["parsed"]


@pytest.mark.req("PR-601", "PR-604", "PR-606", "PR-608", "PR-610", "PR-621", "PR-622", "PR-623")
@pytest.mark.req("PR-624", "PR-625")
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


@pytest.mark.req("PR-602", "PR-603", "PR-604", "PR-605", "PR-607")
@pytest.mark.parametrize("vector", of("conversion-refused"))
def test_a_conversion_is_refused_for_the_reason_of_its_vector(vector: dict[str, Any]):
    with pytest.raises(ConversionRefusedError) as refused:
        convert(vector["raw"], vector["parsed"]["chain"][-1], lossy=vector["parsed"]["lossy"])

    record = refused.value.to_record()
    assert [{name: record[name] for name in ("code", "rule", "segment")}] == vector["errors"]


@pytest.mark.req("PR-542")
@pytest.mark.parametrize("vector", of("data"))
def test_data_splits_as_its_vector_says(vector: dict[str, Any]):
    flags, pairs = flags_and_pairs(vector["raw"])
    params = {"params": params_of(pairs["params"])} if "params" in pairs else {}
    assert {"flags": flags, "pairs": pairs, **params} == vector["parsed"]


@pytest.mark.req("PR-545", "PR-589")
@pytest.mark.parametrize("vector", of("sequence"))
def test_each_message_of_a_sequence_is_judged_as_far_as_it_tells(vector: dict[str, Any]):
    context = vector["parsed"]["context"]
    tasks: set[str] = set()
    messages: set[str] = set()
    nonces: set[tuple[str, str]] = set()
    for text, expected in zip(vector["raw"].split("\n"), vector["parsed"]["expect"], strict=True):
        found = parse(text)
        assert (found.version, found.valid) == (vector["version"], True)
        known = Known(
            agents=context["agents"],
            tasks=tasks,
            messages=messages,
            fields=context.get("fields", []),
            keys=context.get("ctx_keys", []),
        )
        codes = [fault.code for fault in validate(found, context=known).errors]
        if context.get("require_auth"):
            verdict = verify(text, context["key"], nonces)
            codes += [one["code"] for one in verdict.errors]
            nonces |= {verdict.used} if verdict.used else set()
        assert codes[:1] == ([expected] if expected in DECIDED_HERE else [])
        tasks.add(found.fields.get("tid", found.fields.get("task")))
        messages.add(found.fields["msg"])
