"""The lines of workers as models write them."""

from typing import Any

import pytest

from council.tasks.wire import lines
from council.tasks.wire.model import parse
from council.tasks.wire.writing import message_of
from tests.vectors.rows import rows, tables_of

REQUEST = message_of("M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search")
GOOD = "M2|W1>O1|S|T1|P1|D|-|0|S1|B300|results=5"
ROWS = tables_of("lines")


def expected(**more: Any) -> lines.Expected:
    return lines.Expected(request=REQUEST, **more)


def right_of(heard: lines.Heard) -> str:
    return heard.refusal.strip().split("\n")[-1].strip()


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("row", rows("worker-lines"), ids=lambda row: row["name"])
def test_a_line_is_read_or_explained(row: dict[str, Any], lang: str) -> None:
    heard = lines.read_line(row["text"], expected(lang=lang))
    if row["want"] == "read":
        assert heard.refusal == ""
        assert heard.messages[-1].kind == "S" and heard.messages[-1].context == "S1"
        return
    assert heard.messages == []
    assert parse(right_of(heard), "V5", strict=True).errors == []


def test_a_result_in_numbered_chunks_is_joined() -> None:
    chunks = [GOOD.replace("results=5", f"part={n}/3;result=Text {n}") for n in (2, 1, 3)]
    heard = lines.read_line("\n".join(chunks), expected())
    assert (heard.result, len(heard.messages)) == ("Text 1\nText 2\nText 3", 1)
    assert "parts" in lines.read_line("\n".join(chunks[:2]), expected()).refusal


@pytest.mark.parametrize(("text", "fault", "right"), ROWS["faults"])
def test_the_fault_and_the_right_line(text: str, fault: str, right: str) -> None:
    heard = lines.read_line(text, expected())
    last = text.split("\n")[-1]
    assert f"    {last if '|' in last else '-'}\n\nThe fault: {fault}" in heard.refusal
    assert right_of(heard) in (right, right.replace("B300", "B500"))


LONG = (GOOD.replace("s=5", "=" + "x" * 300), "result=" + "x" * 193, "x" * 300)


@pytest.mark.parametrize(("text", "data", "whole"), [*ROWS["read"], LONG])
def test_what_surrounds_a_line_does_not_matter(text: str, data: str, whole: str) -> None:
    heard = lines.read_line(text, expected())
    (message,) = heard.messages
    assert (message.data, heard.result, heard.refusal) == (data, whole, "")
    assert (message.sender, message.receiver, message.task) == ("W1", "O1", "T1")
    assert (message.context, message.depth) == ("S1", 0)


def test_an_older_hand_off_is_one_deeper() -> None:
    heard = lines.read_line("M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=x;reason=y", expected())
    assert (heard.messages[0].depth, heard.messages[0].budget) == (1, 100)


def test_people_see_no_line() -> None:
    text = "Here:\nM9|O1>User|S|T1|P1|D|-|0|S1|-|result=Five of them\nM3 has a | b."
    assert lines.plain(text) == "Here:\nFive of them\nM3 has a | b."
    assert lines.plain(GOOD.replace("results=5", "a=1;b=2")) == "a: 1\nb: 2"


HOSTILE = ["> " * 400_000, "M1|" * 300_000, "<think>" * 100_000, "M1\t" * 99]
HOSTILE += ["a" * 400_000 + ": M2|W1>O1|S|x|y|"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_output_is_read_in_time(text: str) -> None:
    assert not lines.read_line(text, expected()).messages
