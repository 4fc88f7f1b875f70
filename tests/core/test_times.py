"""Instants and durations as they are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import UsageError
from council.core.times import parse_duration, parse_instant, render_duration, render_instant

EVENING = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)


@pytest.mark.req("XC-003")
def test_an_instant_is_written_in_utc_with_z_and_whole_seconds():
    paris = timezone(timedelta(hours=1))
    assert render_instant(datetime(2026, 2, 8, 21, 0, 0, 999999, paris)) == "2026-02-08T20:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-08T20:00:00Z",
        "2026-02-08T21:00:00+01:00",
        "2026-02-08 20:00",
        "  2026-02-08T20:00:00  ",
        "20260208T200000Z",
    ],
)
def test_the_usual_ways_to_write_an_instant_are_read(text: str):
    assert parse_instant(text) == EVENING
    assert parse_instant(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text", ["", "now", "20:00", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+23:59", "2026-2-8"]
)
def test_what_is_no_instant_is_refused_with_an_example(text: str):
    with pytest.raises(UsageError) as refusal:
        parse_instant(text)
    assert refusal.value.hint


@pytest.mark.req("XC-003")
@given(st.datetimes(timezones=st.just(UTC)))
def test_a_written_instant_reads_as_the_same_second(instant: datetime):
    assert parse_instant(render_instant(instant)) == instant.replace(microsecond=0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("1h", 3600),
        ("2h30m", 9000),
        ("1d", 86400),
        ("1d2h3m4s", 93784),
        (" 1H ", 3600),
        ("3650d", 3650 * 86400),
    ],
)
def test_durations_are_read_with_their_units(text: str, seconds: int):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "90",
        "m",
        "h1",
        "0s",
        "-5m",
        "1.5h",
        "1h 30m",
        "5w",
        "3651d",
        "9" * 40 + "s",
        "１h",
        "1h30",
    ],
)
def test_what_is_no_duration_is_refused(text: str):
    with pytest.raises(UsageError):
        parse_duration(text)


@given(st.integers(1, 3650 * 86400))
def test_a_written_duration_reads_as_the_same(seconds: int):
    assert parse_duration(render_duration(timedelta(seconds=seconds))).total_seconds() == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(9000, "2h30m"), (0, "0s"), (0.5, "0s"), (86400, "1d"), (61, "1m1s")]
)
def test_durations_are_written_with_the_largest_units_first(seconds: float, text: str):
    assert render_duration(timedelta(seconds=seconds)) == text


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str):
    for parse in (parse_instant, parse_duration):
        try:
            parse(text)
        except UsageError as refusal:
            assert "\n" not in refusal.message
