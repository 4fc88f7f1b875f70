"""Lines of the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import InvalidInputError
from council.wire.log_lines import level_of, log_line, parse_log_line, short_line, summary_of
from council.wire.messages import VERSIONS, parse
from tests.wire.readings import PLAIN

DAY = datetime(2026, 2, 8, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return DAY + timedelta(seconds=seconds)


@pytest.mark.req("PR-586", "PR-587", "PR-588")
@pytest.mark.parametrize(
    ("seconds", "text", "line"),
    [
        (
            14523,
            "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search;query=AI",
            "[14523] [INFO] [S1] [T1] O1>W1 R - call=web_search",
        ),
        (
            14530,
            "M2|W1>O1|S|T1|P1|D|-|0|S1|B200|results=3;top1=x",
            "[14530] [INFO] [S1] [T1] W1>O1 S - results=3",
        ),
        (
            14532,
            "M3|W2>O1|E|T2|P1|-|E31|0|S1|B200|BUSY;queue=5",
            "[14532] [WARN] [S1] [T2] W2>O1 E E31 BUSY queue=5",
        ),
        (7, "M1|O1>*|B|-|-|-|-|0|-|-|hello", "[00007] [INFO] [-] [-] O1>* B - hello"),
        (86399, "M1|W1>O1|E|T1|-|F|E99|x", "[86399] [ERROR] [-] [T1] W1>O1 E E99 x"),
        (0, "MSG_01|W1>O1|E|TASK_01|-|F|E04:x", "[00000] [WARN] [-] [TASK_01] W1>O1 E E04 E04:x"),
        (0, "MSG_01|O|R|TASK_01|go", "[00000] [INFO] [-] [TASK_01] O>W R - go"),
    ],
)
def test_a_message_is_one_line_of_log(seconds: int, text: str, line: str):
    assert log_line(parse(text), at(seconds)) == line


@pytest.mark.req("PR-586")
def test_the_time_is_that_of_the_utc_day():
    paris = datetime(2026, 2, 8, 1, 0, tzinfo=timezone(timedelta(hours=2)))

    assert log_line(parse(PLAIN["V5"]), paris).startswith("[82800]")


@pytest.mark.req("PR-587")
@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("M1|W1>O1|E|T1|-|F|E90|0|S1|-|x", "ERROR"),
        ("M1|W1>O1|E|T1|-|F|E99|0|S1|-|x", "ERROR"),
        ("M1|W1>O1|E|T1|-|F|E43|0|S1|-|x", "WARN"),
        ("M1|W1>O1|E|T1|-|F|-|0|S1|-|x", "WARN"),
        ("M1|O1>W1|A|T0|-|-|-|-|S1|-|x", "WARN"),
        ("M1|W1>O1|S|T1|-|D|E00|0|S1|-|x", "INFO"),
        ("M1|W1>O1|S|T1|-|D|-|0|S1|-|x", "INFO"),
    ],
)
def test_the_level_follows_from_the_code_and_the_warnings(text: str, level: str):
    assert level_of(parse(text)) == level


@pytest.mark.req("PR-588")
@pytest.mark.parametrize(
    ("data", "summary"),
    [
        ("a=1;b=2", "a=1"),
        ("BUSY;queue=5;x=1", "BUSY queue=5"),
        ("BUSY", "BUSY"),
        ("plain text", "plain text"),
        (";", ";"),
        ("x" * 100, "x" * 60),
        ("F;" + "y" * 100, "F " + "y" * 58),
    ],
)
def test_the_summary_is_the_first_item_or_a_flag_and_the_next(data: str, summary: str):
    assert summary_of(data) == summary


@pytest.mark.req("PR-586")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_line_reads_back(version: str):
    found = parse_log_line(log_line(parse(PLAIN[version]), at(61)) + "\n")

    assert (found["ts"], found["level"], found["summary"]) == ("00061", "INFO", "scan logs")
    assert (found["type"], found["err"]) == ("REQ" if version == "V1" else "R", "-")


def test_the_short_line_is_the_beginning_of_the_long_one():
    assert short_line(parse(PLAIN["V5"])) == "[S1] [T1] O1>W1 R"


def test_a_message_with_faults_is_not_logged():
    with pytest.raises(InvalidInputError):
        log_line(parse("M1|bad"), DAY)


@given(st.one_of(st.text(), st.text(alphabet="[]0123456789 INFO-")))
def test_any_other_line_is_refused(text: str):
    try:
        found = parse_log_line(text)
    except InvalidInputError:
        return
    assert len(found["ts"]) == 5
