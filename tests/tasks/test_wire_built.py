"""Messages built, answered, signed, and carried between versions and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.kernel.errors import Refusal, Usage
from council.tasks.wire import tables, writing
from council.tasks.wire.model import Message, parse
from council.tasks.wire.writing import convert, line_of, message_of
from tests.vectors.rows import of, tables_of

ROWS = tables_of("lines")
chars = st.characters(codec="utf-8", exclude_characters="|>", exclude_categories=["C", "Zl", "Zp"])
messages = st.builds(
    lambda **values: Message(**values), number=st.integers(1, 9999),
    sender=st.sampled_from(["O1", "W1", "W42", "R1"]),
    receiver=st.sampled_from(["O1", "W7", "G2", "W*", "*"]), kind=st.sampled_from("RSCUABHX"),
    task=st.sampled_from(["", "T1", "T999"]), priority=st.sampled_from(["", "P0", "P2"]),
    state=st.sampled_from(["", "N", "R", "D", "F", "X"]), depth=st.integers(0, 3),
    context=st.sampled_from(["S0", "S1", "Sabc12"]), budget=st.none() | st.integers(0, 9999),
    data=st.text(chars, min_size=1, max_size=60),
)  # fmt: skip


@given(messages)
def test_a_message_survives_its_line(message: Message) -> None:
    assert message_of(line_of(message)) == message


@given(messages)
def test_a_message_survives_the_way_down_and_back(message: Message) -> None:
    line = line_of(message)
    for version in ("V4", "V3", "V2", "V1"):
        try:
            down = convert(line, version, lossy=True)
        except Refusal:
            return
        assert parse(down.text).errors == [] and parse(down.text).version == version
        back = convert(down.text, "V5", sidecar=down.sidecar)
        assert back.text == line


@pytest.mark.parametrize("kind", "JLKQX")
def test_what_stands_for_a_type_is_no_loss_of_data(kind: str) -> None:
    down = convert(f"M1|W3>O1|{kind}|T1|P1|-|-|0|-|-|caps=x", "V4", lossy=True)
    assert down.losses == ["TYPE"]


@pytest.mark.parametrize("row", of("messages", "example"))
def test_an_example_is_built_of_its_fields(row: dict[str, Any]) -> None:
    if row["version"] != "V5D" and "W_DEPTH_DASH" not in row["warnings"]:
        told = {**row["parsed"]}
        told["data"] = told.pop("desc", "") or told["data"]
        fields = {name: "-" if told[name] is None else str(told[name]) for name in told}
        fields = {name: one for name, one in fields.items() if name not in DERIVED}
        text = writing.build(fields, row["version"])
        assert text == row["raw"].replace("|0|-|-|version", "|0|S0|-|version")


DERIVED = ("pri_effective", "flags", "pairs")
LONG = (f"type=R to=W1 data={'x' * 201}", "V5", "exit 3")


@pytest.mark.parametrize(("words", "version", "line"), [*ROWS["built"], LONG])
def test_a_line_is_built_or_refused(words: str, version: str, line: str) -> None:
    fields = {"msg": "1", **dict(word.split("=", 1) for word in words.split())}
    try:
        made = writing.build(fields, version)
    except Refusal as refusal:
        made = f"exit {refusal.exit_code}"
    assert made == line


@pytest.mark.parametrize("row", of("messages", "negative"))
def test_a_fault_is_answered_with_its_code(row: dict[str, Any]) -> None:
    faulty = parse(row["raw"], row["version"])
    text = writing.reply(faulty)
    assert parse(text, faulty.version).fields["err"] == row["errors"][0]["code"]
    rules = [fault.rule for fault in parse(text, faulty.version, strict=True).errors]
    assert rules in ([], ["W_TASK_MISSING"])


@pytest.mark.parametrize(("line", "answer"), ROWS["answers"])
def test_the_answer_keeps_what_can_be_read(line: str, answer: str) -> None:
    assert writing.reply(parse(line)) == answer


def test_a_signature_holds_once_and_for_these_words() -> None:
    signed = writing.sign("M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=x", "key", "S1", "00aF")
    assert writing.verify(signed, "key", ["M1|O1>W1|A|-|-|-|-|0|S1|-|ok"]) == "valid"
    assert writing.verify(signed, "key", [signed.replace("00aF", "00Af")]) == "replayed"
    assert writing.verify(signed, "other") == "forged"
    assert writing.verify(signed.replace("B500", "B900"), "key") == "forged"
    assert writing.verify(signed[:-1], "key") == "malformed"
    assert writing.verify("M1|O1>W1|R|T1|P1|N|-|0|S1|B500|x", "key") == "missing"
    with pytest.raises(Usage):
        writing.sign(signed, "key", "S1", "0001")


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_every_code_and_warning_is_explained(lang: str) -> None:
    warnings = {row.rule for one in tables.VERSIONS for row in tables.FORMS[one].warnings}
    codes = {code for one in tables.VERSIONS for code in tables.meanings(one)}
    for word in (*warnings, *codes, *tables.VERSIONS, *"RSECUABHDJLKXQNF", "P0", "P1", "P2"):
        found = tables.explain(word, lang)
        assert found and all(found["next"])
    assert tables.explain("E50", lang) is tables.explain("kettle", lang) is None


def test_a_code_is_explained_by_version_with_what_follows() -> None:
    assert tables.explain("E10", "")["next"] == [  # type: ignore[index]
        "V3: invalid priority",
        "V4: invalid priority (protocol)",
        "V5: bad message format (validation)",
        "V5: it is not retried; the message has to be corrected",
    ]
