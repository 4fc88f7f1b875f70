"""The values of a conversation and the JSON of its state block."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.conversations import records
from council.core.conversations.conversation import (
    ANSWERED,
    ClosedReason,
    Conversation,
    Entry,
    EntryKind,
    Participant,
    ParticipantStatus,
    Status,
    has_answered,
)
from council.core.conversations.machine import advance
from council.core.conversations.procedures import MODES
from council.core.conversations.records import from_record, to_record
from council.core.conversations.steering import cancel, pause
from council.core.conversations.tasks import task_failed, task_queued, task_started
from council.core.errors import InvalidStateError, NewerVersionError
from council.core.reasons import said
from tests.core.conversations.samples import HOUR, MINUTE, NOW, all_answer, answer, convened, wakes

# The state block of document 000, as it stands there.
SAMPLE = json.loads("""
{
  "conversationId": "uuid-v4",
  "mode": "debate",
  "currentPhase": "COLLECT",
  "tour": 1,
  "createdAt": "2026-02-08T20:00:00Z",
  "updatedAt": "2026-02-08T20:15:00Z",
  "timeoutAt": "2026-02-08T21:00:00Z",
  "status": "ACTIVE",
  "participants": {
    "henry": {"status": "RESPONDED", "lastAction": "2026-02-08T20:10:00Z"},
    "sage": {"status": "WAITING", "lastAction": null},
    "nova": {"status": "RESPONDED", "lastAction": "2026-02-08T20:12:00Z"},
    "blaise": {"status": "WAITING", "lastAction": null}
  },
  "convergence": {
    "responseRate": 0.5,
    "hasConsensus": false,
    "blockingIssues": []
  }
}
""")


def full() -> Conversation:
    """Return a conversation in which every part of the record holds something."""
    state = convened(coordinator="maman", ends_at=NOW + 9 * HOUR, cwd="/somewhere")
    state = answer(state, "henry", "BLOCKING: no key\nHenry.").state
    first, second, third = wakes(state)
    state = task_started(state, first, driver="command", now=NOW, ends_at=NOW + MINUTE).state
    state = task_failed(state, first.task, said("exit code 1"), now=NOW, final=True).state
    state = task_started(state, second, driver="manual", now=NOW, ends_at=None).state
    state = task_queued(state, third, driver="command", now=NOW).state
    state = advance(all_answer(state, "sage", "nova").copy(timeout_at=NOW), NOW + MINUTE).state
    state = advance(all_answer(state, "blaise").copy(timeout_at=NOW), NOW + HOUR).state
    state = pause(all_answer(state, "sage", status="done"), NOW + HOUR).state
    state.titles = {"brief": "Auftrag"}
    state.participants["nova"] = state.participants["nova"].copy(name="Nova", emoji="🌟")
    return state


def with_value(path: str, value: object) -> dict[str, object]:
    """Return the record of a full conversation with one value put in; numbers index lists."""
    record = deepcopy(to_record(full()))
    inside = record
    *way, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    for key in way:
        inside = next(iter(inside.values())) if key == "*" else inside[key]
    inside[last] = value
    return record


def read_again(state: Conversation) -> Conversation:
    texts = {entry.id: entry.text for entry in state.entries}
    record = json.loads(json.dumps(to_record(state)))
    return from_record(record, topic=state.topic, brief=state.brief, texts=texts)


# --- the form of the document ------------------------------------------------------------------


@pytest.mark.req("C0-015", "C0-017", "C0-018")
def test_the_sample_of_the_document_loads_and_is_written_unchanged():
    written = to_record(from_record(SAMPLE))
    for key, value in SAMPLE.items():
        if key == "participants":
            for agent, sample in value.items():
                assert written[key][agent].items() >= sample.items()
            assert list(written[key]) == list(value)
        else:
            assert written[key] == value


@pytest.mark.req("C0-015", "C0-026")
def test_the_sample_of_the_document_is_played_on():
    state = from_record(SAMPLE)
    assert advance(state, NOW + HOUR - MINUTE).state == state
    state = advance(state, NOW + HOUR).state
    assert (state.phase, state.tour, state.timeout_at) == ("CHALLENGE", 2, NOW + 2 * HOUR)
    assert set(state.rounds[0].absent) == {"sage", "blaise"}


@pytest.mark.req("C0-015")
def test_a_phase_of_a_file_that_does_not_say_lasts_as_long_as_the_first():
    state = from_record({**SAMPLE, "timeoutAt": "2026-02-08T20:20:00Z"})
    assert state.phase_timeout == timedelta(minutes=20)
    assert from_record({**SAMPLE, "timeoutAt": SAMPLE["createdAt"]}).phase_timeout == HOUR


@pytest.mark.req("C0-004", "C0-015")
@pytest.mark.parametrize("key", ["conversationId", "currentPhase", "createdAt", "timeoutAt"])
def test_what_cannot_be_guessed_must_be_there(key: str):
    record = {name: value for name, value in SAMPLE.items() if name != key}
    with pytest.raises(InvalidStateError, match=key):
        from_record(record)


@pytest.mark.req("C0-015")
def test_a_record_of_the_least_has_the_defaults():
    kept = ("conversationId", "currentPhase", "createdAt", "timeoutAt")
    state = from_record({key: SAMPLE[key] for key in kept})
    assert (state.mode, state.tour, state.status, state.participants) == (
        "debate",
        1,
        Status.ACTIVE,
        {},
    )
    assert state.updated_at == state.created_at


# --- round trip --------------------------------------------------------------------------------


@pytest.mark.req("C0-015", "C0-020")
@pytest.mark.parametrize("what", ["new", "full", "cancelled"])
def test_a_state_that_was_written_reads_as_the_same(what: str):
    state = {"new": convened, "full": full, "cancelled": lambda: cancel(full(), NOW).state}[what]()
    state.sealed = {}
    assert read_again(state) == state


def test_what_is_sealed_is_in_no_record():
    written = json.dumps(to_record(answer(convened(), "sage", "my secret view").state))
    assert "my secret view" not in written
    assert "salt-sage" not in written


def test_the_texts_live_in_the_readable_part_only():
    state = full()
    written = json.dumps(to_record(state))
    assert all(entry.text not in written for entry in state.entries)
    assert state.brief not in written
    assert state.topic not in written
    assert {entry.text for entry in from_record(to_record(state)).entries} == {""}


instants = st.datetimes(min_value=NOW.replace(tzinfo=None), timezones=st.just(NOW.tzinfo)).map(
    lambda instant: instant.replace(microsecond=0)
)


@pytest.mark.req("C0-015")
@given(
    st.builds(
        convened,
        mode=st.sampled_from(MODES),
        topic=st.text(),
        updated_at=instants,
        timeout_at=instants,
        paused_at=st.none() | instants,
        status=st.sampled_from(tuple(Status)),
        closed_reason=st.none() | st.sampled_from(tuple(ClosedReason)),
        blocking_issues=st.lists(st.text()),
        titles=st.dictionaries(st.text(), st.text()),
        phase_timeout=st.integers(1, 10**9).map(lambda seconds: timedelta(seconds=seconds)),
        participants=st.dictionaries(
            st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True),
            st.builds(
                Participant,
                id=st.just(""),
                status=st.sampled_from(tuple(ParticipantStatus)),
                last_action=st.none() | instants,
                name=st.text(),
                emoji=st.text(),
            ),
            max_size=4,
        ),
    )
)
def test_any_state_reads_as_it_was_written(state: Conversation):
    for agent, one in state.participants.items():
        one.id = agent
    assert read_again(state) == state


# --- the future --------------------------------------------------------------------------------


@pytest.mark.req("XC-013")
@pytest.mark.parametrize(
    "path", ["fromTheFuture", "participants/henry/fromTheFuture", "ledger/0/fromTheFuture"]
)
def test_a_field_from_the_future_survives_reading_and_an_answer(path: str):
    record = with_value(path, {"deep": [1, None, "é"]})
    state = answer(from_record(record), "nova", now=NOW + 2 * HOUR).state
    written = to_record(state)
    for key in path.split("/"):
        written = written[int(key) if key.isdigit() else key]
    assert written == {"deep": [1, None, "é"]}


@pytest.mark.req("XC-013")
@pytest.mark.parametrize("path", ["convergence/fromTheFuture", "rounds/0/fromTheFuture"])
def test_a_field_from_the_future_survives_inside_every_part(path: str):
    record = with_value(path, 7)
    written = to_record(from_record(record))
    for key in path.split("/"):
        written = written[int(key) if key.isdigit() else key]
    assert written == 7


@pytest.mark.req("XC-013")
def test_a_newer_major_version_is_said_to_be_newer():
    with pytest.raises(NewerVersionError, match="schemaVersion 2") as refusal:
        from_record({**SAMPLE, "schemaVersion": 2, "currentPhase": "A NEW ONE"})
    assert refusal.value.exit_code == 3


# --- damage ------------------------------------------------------------------------------------

WRONG = [
    ("schemaVersion", ["1", 0, 1.0, None, True]),
    ("rev", ["1", -1, 2.5, True]),
    ("conversationId", [None, 7, "", "../up", "a b", "x" * 65]),
    ("procedure", ["vote", 3, []]),
    ("mode", ["chat", "DEBATE", 3, {}]),
    ("phases", ["COLLECT", [1], {"COLLECT": 1}]),
    ("currentPhase", [None, "collect", "VOTE", 1, []]),
    ("tour", ["1", 0, -1, 1.5, None, True, 2**53]),
    ("createdAt", [7, "yesterday", "", {}]),
    ("updatedAt", [7, "yesterday", ""]),
    ("timeoutAt", [None, 7, "yesterday", []]),
    ("endsAt", [7, "yesterday"]),
    ("phaseTimeoutS", [0, "1h", 1.5]),
    ("status", ["OPEN", "active", None, 1, [], {}]),
    ("closedReason", ["tired", 1, []]),
    ("participants", [[], "henry", 4]),
    ("participants/henry", [None, "RESPONDED", []]),
    ("participants/henry/status", ["MAYBE", "waiting", None, 1]),
    ("participants/henry/lastAction", ["never", 1, {}]),
    ("participants/henry/name", [1, []]),
    ("convergence", [[], 0.5]),
    ("convergence/responseRate", ["0.5", -0.1, 1.1, None, True, float("nan")]),
    ("convergence/hasConsensus", ["no", 0, None]),
    ("convergence/blockingIssues", ["none", [1], {}]),
    ("sealed", ["yes", 1, None]),
    ("lang", [1]),
    ("coordinator", [[]]),
    ("pausedAt", ["now"]),
    ("finishedAt", [True]),
    ("notifiedTour", ["1", -1]),
    ("titles", [[], {"brief": 1}]),
    ("rounds", [{}, "three"]),
    ("rounds/0/tour", [0, "1"]),
    ("rounds/0/startedAt", [None, "then"]),
    ("rounds/0/absent", [[], "sage"]),
    ("tasks", [[], 1]),
    ("tasks/*/state", ["Z", None, 1]),
    ("tasks/*/agent", [None, 1]),
    ("tasks/*/at", [None, 1]),
    ("tasks/*/final", ["yes", None]),
    ("tasks/*/attempt", [0, "1"]),
    ("ledger", [{}, 1]),
    ("ledger/0/id", [None, 1]),
    ("ledger/0/kind", ["remark", None]),
    ("ledger/0/agent", [None, 1]),
    ("ledger/0/tour", [0, None]),
    ("ledger/0/at", [None, "then"]),
    ("ledger/0/origin", ["guessed", None]),
    ("ledger/0/blocking", ["no key", [1]]),
]


@pytest.mark.req("C0-005", "C0-006", "C0-007", "C0-010")
@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in WRONG for value in values]
)
def test_a_value_that_cannot_be_is_refused_and_its_field_named(path: str, value: object):
    with pytest.raises(InvalidStateError) as refusal:
        from_record(with_value(path, value))
    assert path.rpartition("/")[2] in refusal.value.message
    assert refusal.value.exit_code == 3


@pytest.mark.parametrize("agent", ["Henry", "../henry", "", "a" * 65])
def test_a_participant_with_an_illegal_id_is_refused(agent: str):
    with pytest.raises(InvalidStateError, match="participants"):
        from_record({**SAMPLE, "participants": {agent: {"status": "WAITING"}}})


@pytest.mark.parametrize(
    "phases",
    [
        ["COLLECT"],
        ["COLLECT", "CHALLENGE"],
        ["CHALLENGE", "COLLECT", "SYNTHESIZE"],
        ["COLLECT", "COLLECT", "SYNTHESIZE"],
        ["COLLECT", "VOTE", "SYNTHESIZE"],
    ],
)
def test_phases_that_lead_nowhere_are_refused_and_named(phases: list[str]):
    with pytest.raises(InvalidStateError, match="phases is not"):
        from_record({**SAMPLE, "phases": phases})


@pytest.mark.parametrize("record", [None, [], "state", 7])
def test_what_is_no_object_is_no_state(record: object):
    with pytest.raises(InvalidStateError, match="JSON object"):
        from_record(record)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(list(to_record(full()))), json_values)
def test_any_json_in_any_field_is_read_or_refused(key: str, value: object):
    try:
        state = from_record({**to_record(full()), key: value})
    except InvalidStateError as refusal:
        assert refusal.message.startswith("state block")
    else:
        again = from_record(to_record(state))
        assert to_record(again) == to_record(state)


# --- small rules -------------------------------------------------------------------------------


@pytest.mark.req("C0-010", "C0-026")
def test_all_but_waiting_have_answered():
    assert [
        status
        for status in ParticipantStatus
        if not has_answered(Participant(id="a", status=status))
    ] == ["WAITING"]


@pytest.mark.req("C0-010")
def test_every_status_that_an_answer_may_have_is_told_apart():
    read = [said for one in ANSWERED for said in one.printed.split(", ")]
    assert sorted(set(read)) == sorted(read), "a word states one status"
    assert read == [said.casefold().strip() for said in read] and all(read)
    assert all(one.lower() in one.printed.split(", ") for one in ANSWERED)
    assert len({one.mark for one in ParticipantStatus}) == len(ParticipantStatus)
    assert all(one.help and one.style for one in ANSWERED)
    assert all(one.en and one.fr for one in ANSWERED[1:]), "a prompt says what an agent does by it"
    assert not any(one.agrees and one.dissents for one in ParticipantStatus)


@pytest.mark.parametrize(
    ("written", "status"),
    [("AGREED", "AGREED"), ("agreed", "AGREED"), ("", "RESPONDED"), ("WAITING", "RESPONDED")],
)
def test_an_entry_without_a_status_that_answers_says_no_more_than_that(written: str, status: str):
    assert full().entries[0].copy(status=written).standing == status


@pytest.mark.parametrize(
    ("emoji", "name", "label"),
    [
        ("🦉", "Henry", "🦉 Henry"),
        ("", "Henry", "Henry"),
        ("", "", "henry"),
        ("🦉", "", "🦉 henry"),
    ],
)
def test_a_participant_is_shown_by_emoji_and_name(emoji: str, name: str, label: str):
    assert Participant(id="henry", name=name, emoji=emoji).label == label


def test_the_turn_of_an_agent_is_found_and_nothing_else():
    state = full()
    found = state.entry_of("henry", 1)
    assert found is not None
    assert (found.agent, found.tour, found.kind) == ("henry", 1, EntryKind.CONTRIBUTION)
    assert state.entry_of("henry", 2) is None
    assert state.entry_of("maman", 1) is None


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"future": 1},
        {"at": "2026-02-08T21:00:00+01:00"},
        {"at": "2026-02-08"},
        {"blocking": ["too dear"]},
    ],
)
def test_a_line_of_the_ledger_reads_the_same_the_short_way_and_the_long(changed: dict):
    entry = Entry(
        id="1-owl",
        kind=EntryKind.CONTRIBUTION,
        agent="owl",
        phase="COLLECT",
        tour=1,
        at=NOW,
        text="Yes.",
        digest="d",
        nonce="n",
        status="RESPONDED",
        task="t",
        target="x",
    )
    line = {**entry.to_record(), **changed}

    short = records._usual_entry(line, {"1-owl": "Yes."})
    long = records._any_entry(line, {"1-owl": "Yes."})

    assert (short is None) == ("future" in changed)
    assert short in (None, long)
    assert records._entry(line, {"1-owl": "Yes."}) == long


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 1},
        {"agent": None},
        {"kind": "speech"},
        {"origin": "?"},
        {"tour": 0},
        {"tour": True},
        {"tour": "1"},
        {"at": None},
        {"at": 5},
        {"at": "soon"},
        {"blocking": "x"},
        {"blocking": [1]},
        {"digest": []},
    ],
)
def test_a_line_of_the_ledger_that_is_wrong_is_refused_by_its_field(wrong: dict):
    line = {
        **dict.fromkeys(("phase", "status", "task", "target", "digest", "nonce"), ""),
        **{"id": "1-owl", "agent": "owl", "kind": "contribution", "origin": "claimed"},
        **{"tour": 1, "at": "2026-02-08T20:00:00Z", "blocking": [], **wrong},
    }

    with pytest.raises(InvalidStateError, match=next(iter(wrong))):
        records._entry(line, {})


def test_a_line_that_somebody_doubled_in_the_ledger_doubles_no_entry():
    state = all_answer(convened("ada", "bob", sealed_phases=False))
    record = to_record(state)
    record["ledger"].insert(1, dict(record["ledger"][0], status="DONE"))
    texts = {one.id: one.text for one in state.entries}

    assert from_record(record, texts=texts).entries == state.entries
