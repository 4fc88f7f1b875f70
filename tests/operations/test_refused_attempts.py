"""A run that was refused was not started, and uses up none of the attempts of a turn."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.core.reasons import read_reason
from council.operations.reporting.explaining import explain
from council.store.reason_words import reason_words
from tests.operations.tables import Table, all_is_quiet, script

# Fails until it has been run six times, each time in another way.
SIXTH = (
    'cat >/dev/null; echo x >>"$COUNCIL_ROOT/runs"; '
    'n=$(wc -l <"$COUNCIL_ROOT/runs"); [ "$n" -ge 6 ] || exit "$n"; echo "I am well."'
)


@pytest.mark.req("OP-011")
def test_an_attempt_that_was_refused_during_a_rest_is_none_of_the_three(tmp_path: Path):
    table = Table(tmp_path / "workspace")
    table.seat({"ann": {}, "bob": script(SIXTH)}, retry_backoff=[])
    with (table.root / "council.toml").open("a") as file:
        file.write("[limits]\nfailures_before_rest = 1\n")
    table.convene(name="first", agents=("ann", "bob"))
    all_is_quiet()
    table.convene(name="second", agents=("ann", "bob"))
    all_is_quiet()
    (refused,) = table.events("task.refused")
    assert "rests until 2026-02-08T20:15:00Z, failed once" in reason_words(
        read_reason(refused["data"]["reason"])
    )
    assert "rests" in {one.code for one in explain(table.place, "second").hindrances}

    table.beat_to_rest(timedelta(minutes=16))

    second = table.read("second")
    assert second.participants["bob"].status == "RESPONDED"
    assert [one.attempt for one in second.tasks.values() if one.agent == "bob"] == [1, 2, 3, 4]
