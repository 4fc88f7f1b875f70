"""A command whose process died before it answered is found done when it is given again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.conversations.conversation import EntryKind
from council.operations.conversations import steer
from council.operations.conversations.answer import respond
from council.operations.conversations.convene import Invitation, convene
from council.operations.place import Place
from council.operations.rooms import channels
from council.store import outbox
from tests.store.processes import forked, status_of

pytestmark = pytest.mark.req("OP-008")
HOUR = timedelta(hours=1)


@pytest.fixture
def place(workspace: Path, now) -> Place:
    """A workspace with an open council of three who answer by hand."""
    made = Place(str(workspace), {}, now)
    opened(made)
    return made


@pytest.fixture(autouse=True)
def acknowledged() -> Iterator[None]:
    """Give each test the words of a command, and leave no request behind."""
    outbox.asked(["some", "command"])
    yield
    outbox.told()
    outbox.asked([])


def opened(place: Place) -> str:
    """Open the council under its usual name, as no command; return its id."""
    outbox.asked([])
    invited = Invitation(
        topic="Shall we?", people=("a", "b", "c"), sealed=False, phases=("collect", "challenge")
    )
    made = convene(place, invited)
    outbox.asked(["some", "command"])
    return made.state.conversation_id


def done_and_died(work: Callable[[], object]) -> None:
    """Do something in a process that ends before it answers its caller."""

    def asked() -> None:
        outbox.asked(["some", "command"])
        work()

    assert status_of(forked(asked)) == 0


def injections(place: Place) -> int:
    entries = place.conversations.read("active").entries
    return sum(one.kind is EntryKind.INJECTION for one in entries)


def test_guidance_is_added_once_however_often_its_caller_dies(place: Place):
    for _ in range(3):
        done_and_died(lambda: steer.inject(place, "active", "Mind the budget."))

    again = steer.inject(place, "active", "Mind the budget.")

    assert injections(place) == 1
    assert again.stood.startswith("this stood already")
    assert not again.changed


def test_what_was_acknowledged_is_done_again_when_it_is_asked_for_again(place: Place):
    steer.inject(place, "active", "Mind the budget.")
    outbox.told()

    assert steer.inject(place, "active", "Mind the budget.").stood == ""
    assert injections(place) == 2


def test_two_live_processes_with_the_same_command_count_twice(place: Place):
    steer.inject(place, "active", "Mind the budget.")
    done_and_died(lambda: steer.inject(place, "active", "Mind the budget."))

    assert injections(place) == 2


def test_a_deadline_moves_once_by_what_was_asked_for_twice(place: Place):
    before = place.conversations.read("active").timeout_at
    done_and_died(lambda: steer.extend(place, "active", HOUR))

    steer.extend(place, "active", HOUR)

    assert place.conversations.read("active").timeout_at == before + HOUR


def test_a_pause_that_somebody_has_ended_does_not_come_back(place: Place):
    done_and_died(lambda: steer.pause(place, "active"))
    outbox.asked(["resume"])
    steer.resume(place, "active")
    outbox.asked(["some", "command"])

    steer.pause(place, "active")

    assert place.conversations.read("active").paused_at is None


def test_an_archiving_given_again_does_not_end_the_next_conversation_of_that_name(place: Place):
    done_and_died(lambda: steer.archive(place, "active"))
    following = opened(place)

    step, path = steer.archive(place, "active")

    assert step.stood
    assert Path(path).is_file()
    assert place.conversations.read("active").conversation_id == following
    assert place.conversations.read("active").finished_at is None


def test_convening_given_again_finds_what_it_has_opened(workspace: Path, now):
    place = Place(str(workspace), {}, now)
    invited = Invitation(topic="Shall we?", people=("a", "b"))
    done_and_died(lambda: convene(place, invited))

    made = convene(place, invited)

    assert made.state.conversation_id == place.conversations.read("active").conversation_id
    assert "this stood already" in made.warnings[0]


def test_a_revision_is_put_back_once_and_what_came_after_it_stays(place: Place):
    done_and_died(lambda: steer.restore(place, "active", 1))
    respond(place, "active", "b", "No.")

    assert steer.restore(place, "active", 1).stood
    assert [one.agent for one in place.conversations.read("active").entries] == ["b"]


def test_an_answer_whose_caller_died_does_not_land_in_a_later_round(place: Place):
    done_and_died(lambda: respond(place, "active", "a", "Yes."))
    for agent in "bc":
        outbox.asked(["respond", agent])
        respond(place, "active", agent, f"No, says {agent}.")
    outbox.asked(["some", "command"])

    answered = respond(place, "active", "a", "Yes.")

    assert (answered.outcome, answered.phase, answered.tour) == ("already-recorded", "COLLECT", 1)
    assert place.conversations.read("active").tour == 2


def test_an_answer_is_found_when_its_conversation_has_ended_since(place: Place):
    done_and_died(lambda: respond(place, "active", "a", "Yes."))
    outbox.asked(["archive"])
    steer.archive(place, "active")
    outbox.asked(["some", "command"])

    answered = respond(place, "active", "a", "Yes.")

    assert (answered.outcome, answered.phase, answered.tour) == ("already-recorded", "COLLECT", 1)


def test_the_same_words_of_another_caller_are_another_answer(place: Place):
    done_and_died(lambda: respond(place, "active", "a", "Yes."))

    assert respond(place, "active", "b", "Yes.").outcome == "recorded"


def test_a_message_is_posted_once(workspace: Path, now):
    place = Place(str(workspace), {}, now)
    channels.post(place, "hall", "alice", "Hello.")
    outbox.told()
    done_and_died(lambda: channels.post(place, "hall", "alice", "It rains."))

    first, step = channels.post(place, "hall", "alice", "It rains.")

    assert step.outcome == "already-posted"
    assert first.id == 2
    outbox.told()
    assert channels.post(place, "hall", "alice", "It rains.")[0].id == 3


# as people see it


def notes(council) -> list[str]:
    return os.listdir(council.root / f"memory/shared/.council/outbox/{os.getuid()}")


def test_nothing_is_left_of_a_command_that_was_told_or_refused(council):
    words = ("--agents", "a,b", "--open")
    assert council("convene", "Shall we?", *words).code == 0
    assert council("inject", "Mind the budget.").code == 0
    assert council("respond", "Yes.", "--as", "a").code == 0
    assert council("respond", "Yes.", "--as", "nobody").code == 6
    assert council("convene", "Shall we?", "--name", "active", *words).code == 4

    assert notes(council) == []


def test_an_answer_that_could_not_be_printed_is_not_taken_for_told(council):
    assert council("convene", "Shall we?", "--agents", "a,b", "--open").code == 0
    reading, writing = os.pipe()
    os.close(reading)
    process = council.start("extend", "1h")
    process.stdout.close()
    process.wait()
    os.close(writing)

    again = council("extend", "1h")

    assert again.code == 0
    assert "this stood already" in again.out
    assert notes(council) == []


def test_the_words_of_the_last_round_stand_and_can_be_said_again_on_purpose(council):
    assert council("convene", "Shall we?", "--agents", "a,b", "--open").code == 0
    for agent in "ab":
        assert council("respond", f"Yes, says {agent}.", "--as", agent).code == 0

    again = council("respond", "Yes, says a.", "--as", "a")

    assert again.code == 0
    assert "this answer for COLLECT (round 1) stands already" in again.out
    task = again.out.split("--task ")[1].strip()
    meant = council("respond", "Yes, says a.", "--as", "a", "--task", task, "--json")
    assert (meant.json()["outcome"], meant.json()["tour"]) == ("recorded", 2)


def test_a_workspace_without_a_conversation_is_refused_as_ever(council):
    assert council("extend", "1h").code == 5
    assert "no open conversation" in council("extend", "1h").err
