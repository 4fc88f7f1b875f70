"""The circuit breaker: who fails three times in a row rests, longer each time, until it answers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.core import bounds
from council.core.bounds import Spent, Tally
from council.core.reasons import read_reason
from council.operations.conversations.answer import respond
from council.operations.view import status
from council.store.tally import edit_tally, is_damaged, read_tally
from tests.examples import one_in
from tests.operations.tables import NOW, SPEAKS, Table, all_is_quiet, script

FAILS_UNLESS_MENDED = 'cat >/dev/null; [ -e "$COUNCIL_ROOT/mended" ] || exit 3; echo "I am well."'
PAIR = ("ann", "bob")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Ann answers by hand; bob fails until the file `mended` is there, and is tried at once."""
    agents = {"ann": {}, "bob": script(FAILS_UNLESS_MENDED)}
    return Table(tmp_path / "workspace").seat(agents, retry_backoff=[])


def convene_until_rested(table: Table) -> None:
    """Let bob fail for good in three conversations."""
    for name in ("active", "second", "third"):
        table.convene(name=name, agents=PAIR)
        all_is_quiet()


def tally() -> Tally:
    return Tally(today=Spent())


def test_the_third_failure_in_a_row_begins_a_rest_and_each_rest_is_twice_as_long():
    counts, now, lengths = tally(), NOW, []
    for _ in range(30):
        lapse = bounds.failure(counts, "bob", read_reason("exit 3"), now, {})
        if lapse is not None:
            lengths.append((lapse.until - now).total_seconds() / 60)
            now = lapse.until
    assert lengths[:4] == [15, 30, 60, 120]
    assert max(lengths) == 24 * 60
    assert counts.lapses["bob"].failures == 30


def test_one_success_ends_the_row():
    counts = tally()
    for _ in range(2):
        assert bounds.failure(counts, "bob", read_reason("exit 3"), NOW, {}) is None
    bounds.success(counts, "bob")
    for _ in range(2):
        assert bounds.failure(counts, "bob", read_reason("exit 3"), NOW, {}) is None
    assert bounds.failure(counts, "bob", read_reason("exit 3"), NOW, {}) is not None


def test_no_rest_where_the_settings_want_none():
    counts = tally()
    limits = {"failures_before_rest": 0}
    assert not any(bounds.failure(counts, "bob", read_reason("no"), NOW, limits) for _ in range(9))


def test_an_agent_that_failed_three_times_is_rested_in_every_conversation(table: Table):
    convene_until_rested(table)
    table.convene("Another question?", name="other", agents=PAIR)
    all_is_quiet()

    starts = [one["agentId"] for one in table.events("task.started")]
    assert starts.count("bob") == 3 * 2
    (rested,) = table.events("agent.rested")
    assert rested["data"]["failuresInARow"] == 3
    assert list(status(table.place).resting) == ["bob"]
    (refused,) = table.events("task.refused")
    until = {"code": "rests", "until": "2026-02-08T20:15:00Z", "failures": 3}
    assert refused["data"]["reason"] == until


@pytest.mark.req("OP-002")
def test_a_refused_start_is_written_once_and_no_deadline_is_waited_for(
    table: Table,
):
    convene_until_rested(table)
    table.convene("Another question?", name="other", agents=PAIR)
    all_is_quiet()
    table.now += timedelta(minutes=1)
    table.beat_to_rest()
    before = table.digest_of_the_tree()
    table.beat_to_rest(timedelta(minutes=5))
    assert table.digest_of_the_tree() == before
    assert len(table.events("task.refused")) == 1

    respond(table.place, "other", "ann", "I am alone.")
    all_is_quiet()

    assert table.read("other").phase == "CHALLENGE"
    assert table.read("other").rounds[0].absent["bob"].code == "rests"


def test_after_the_rest_one_answer_closes_the_breaker(table: Table):
    convene_until_rested(table)
    table.convene("Another question?", name="other", agents=PAIR)
    all_is_quiet()
    (table.root / "mended").touch()

    table.beat_to_rest(timedelta(minutes=16))

    assert table.read("other").participants["bob"].status == "RESPONDED"
    assert read_tally(table.place.paths).lapses == {}
    assert len(table.events("agent.recovered")) == 1
    assert status(table.place).resting == {}


def test_after_the_rest_one_failure_is_enough_for_a_longer_one(table: Table):
    convene_until_rested(table)
    table.convene("Another question?", name="other", agents=PAIR)
    all_is_quiet()

    table.beat_to_rest(timedelta(minutes=16))

    assert [one["data"]["until"] for one in table.events("agent.rested")] == [
        "2026-02-08T20:15:00Z",
        "2026-02-08T20:46:00Z",
    ]


def test_an_agent_that_was_heard_by_hand_is_run_again_in_that_conversation(table: Table):
    convene_until_rested(table)
    table.now += timedelta(minutes=1)
    (table.root / "mended").touch()
    respond(table.place, "active", "ann", "Yes.")
    respond(table.place, "active", "bob", "Typed by a person.")
    all_is_quiet()

    assert table.read().phase == "CHALLENGE"
    assert table.read().participants["bob"].status == "RESPONDED"


def test_a_rested_synthesizer_hands_on_to_the_next(tmp_path: Path):
    agents = {"ann": script(SPEAKS), "bob": script(SPEAKS), "cyd": script(FAILS_UNLESS_MENDED)}
    table = Table(tmp_path / "workspace").seat(agents, retry_backoff=[])
    now = table.now

    def fail(counts: Tally) -> None:
        for _ in range(3):
            bounds.failure(counts, "cyd", read_reason("exit 3"), now, {})

    edit_tally(table.place.paths, fail)
    table.convene(agents=PAIR, synthesizer="cyd", phases=("collect",))
    all_is_quiet()
    table.beat_to_rest(timedelta(minutes=5))

    assert len(table.minutes()) == 1
    assert [one["agentId"] for one in table.events("synthesis.written")] != ["cyd"]
    assert table.events("digest.written") == []


@pytest.mark.parametrize(
    "content", one_in(3, [b"", b"\xff", b"[]", b"{}", b'{"day": 1}', b"[" * 9999])
)
def test_counts_that_cannot_be_read_stop_nobody_and_are_written_anew(table: Table, content: bytes):
    path = Path(table.place.paths.tally)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert is_damaged(table.place.paths)

    convene_until_rested(table)

    assert not is_damaged(table.place.paths)
    assert list(status(table.place).resting) == ["bob"]


@pytest.mark.req("OP-005")
def test_a_turn_that_failed_for_good_counts_once_whatever_its_attempts(table: Table):
    table.convene(agents=PAIR)
    all_is_quiet()
    assert [one["agentId"] for one in table.events("task.started")].count("bob") == 2
    assert read_tally(table.place.paths).lapses["bob"].failures == 1

    (table.root / "mended").touch()
    respond(table.place, "active", "ann", "Yes.")
    all_is_quiet()
    assert table.read().phase == "CHALLENGE"
    assert table.read().participants["bob"].status == "RESPONDED", "it is asked in the next round"


@pytest.mark.req("OP-005")
def test_a_turn_that_succeeds_at_the_third_attempt_is_no_failure(table: Table):
    third = (
        'cat >/dev/null; n=$(cat "$COUNCIL_ROOT/n" 2>/dev/null); echo "x$n" >"$COUNCIL_ROOT/n"; '
        '[ "$n" = xx ] || exit "$((3 + ${#n}))"; echo "I am well."'
    )
    table.seat({"ann": {}, "bob": script(third)}, retry_backoff=[])
    table.convene(agents=PAIR)
    all_is_quiet()
    assert table.read().participants["bob"].status == "RESPONDED"
    assert read_tally(table.place.paths).lapses == {}
