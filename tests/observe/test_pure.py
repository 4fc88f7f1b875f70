"""What observing decides without a disk: names of copies, hooks, redaction."""

import pytest

from council.councils import evolution, rules
from council.councils.model import Participant
from council.observe import doctor, forget, status
from council.observe.hooks import named
from tests.vectors.rows import tables_of


@pytest.mark.parametrize(("name", "is_copy"), tables_of("files")["copies"])
def test_copies_of_sync_tools_and_editors_are_known_by_their_names(name, is_copy):
    assert status.is_copy(name) is is_copy


def test_files_that_a_sync_tool_renamed_are_found(tmp_path):
    for name in ("a.jsonl.conflict1", "b.jsonl", "c.conflict", "12"):
        (tmp_path / name).write_text("")
    assert doctor.renamed(str(tmp_path)) == {f"{tmp_path}/a.jsonl.conflict1": f"{tmp_path}/a.jsonl"}


def folded(*events):
    state = rules.new()
    for event in events:
        evolution.evolve(state, event)
    return state


def opened(order="parallel", **config):
    people = {one: Participant(person=one != "bot").to_json() for one in ("ann", "bob", "bot")}
    begun = {"type": "round.begun", "tour": 1, "phase": "COLLECT", "at": "2026-11-28T09:00:00Z"}
    begun |= {"order": list(people), "parallel": order == "parallel", "blind": False}
    begun |= {"timeoutAt": "2026-11-28T10:00:00Z"}
    first = {"type": "opened", "conversationId": "c1", "name": "k", "topic": "Q?", "brief": ""}
    first |= {"procedure": "council", "lang": "en", "participants": people}
    phases = ["COLLECT", "CHALLENGE", "SYNTHESIZE"]
    first |= {"at": begun["at"], "config": {"phases": phases, **config}}
    return [first, begun]


def answer(agent, tour=1):
    made = {"type": "answered", "agent": agent, "kind": "contribution", "phase": "COLLECT"}
    made |= {"tour": tour, "at": "2026-11-28T09:01:00Z", "text": "Yes.", "status": "RESPONDED"}
    return {**made, "origin": "claimed", "heard": {}}


CLOSED = {"type": "round.closed", "tour": 1, "at": "2026-11-28T09:00:00Z", "reason": "agreed"}
ANN, BOB = ("waiting_for_person", "ann"), ("waiting_for_person", "bob")


@pytest.mark.parametrize(
    ("order", "events", "hooks"),
    [("parallel", opened(), [ANN, BOB]), ("parallel", [answer("ann")], []),
     ("parallel", [], []), ("fixed", opened("fixed"), [ANN]),  # each when it has the floor
     ("fixed", [answer("ann")], [BOB]),
     ("parallel", [{**CLOSED, "absent": {}}], [("consensus", None)]),
     ("parallel", [{"type": "run.failed", "id": "x", "agent": "bot"}], [("failed", "bot")])],
)  # fmt: skip
def test_each_event_has_its_hook_and_people_are_told_once(order, events, hooks):
    first = opened(order)
    state = folded(*first, *(events if events != first else ()))
    assert [(name, event.get("agentId")) for name, event in named(events, state)] == hooks


def test_the_words_of_one_entry_are_taken_out_of_every_event():
    said = answer("ann")
    assert forget.without(said, "1-ann") == {**said, "text": "", "heard": {}}
    assert forget.without(said, "2-ann") is None
    assert forget.without({**said, "text": ""}, "1-ann") is None
    state = folded(*opened(), said, answer("bob")).to_json()
    whole = {"type": "adopted", "state": state}
    left = forget.without(whole, "1-ann")
    assert [one["text"] for one in left["state"]["entries"]] == ["", "Yes."]
    assert forget.without(left, "1-ann") is None
