"""Who speaks in a room: verified by its run or claimed, and refused where trust is strict."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from council.core.conversations.conversation import Task, TaskState
from council.core.conversations.due import Wake
from council.core.errors import RefusedError
from council.core.rooms.channels import ChannelStep
from council.core.trust import run_token
from council.operations.heartbeat.rooms import turn_prompt
from council.operations.place import Place
from council.operations.rooms import channels, discussing, rooms, showing, turns
from council.store.keys import run_key
from tests.operations.halls import PASSES, Hall
from tests.operations.tables import all_is_quiet, script

COUNCIL = f"{sys.executable} -m council"


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "workspace")


def origins(hall: Hall, name: str = "weather") -> list[tuple[str, str]]:
    found = showing.standing(hall.place, name, messages=20)
    return [(one.content, found.origins[one.id]) for one in found.messages]


def log_of(hall: Hall) -> Path:
    return Path(hall.place.paths.channels, "weather.jsonl")


def in_run(hall: Hall, agent: str, task: str = "weather.1.{agent}.1", token: str = "") -> Place:
    """The workspace as a run of an agent sees it, which is under way."""
    place, named = hall.place, task.format(agent=agent)
    _begin(place, agent, named)
    owner, number, _, attempt = named.rsplit(".", 3)
    real = run_token(run_key(place.paths), owner, int(number), agent, int(attempt))
    own = {"COUNCIL_AGENT": agent, "COUNCIL_TASK_ID": named, "COUNCIL_TOKEN": token or real}
    return Place(place.root, {**place.environ, **own}, place.fixed_now)


def _begin(place: Place, agent: str, task: str) -> None:
    """Let the room that a task names have it under way."""
    under_way = Task(
        id=task, agent=agent, tour=1, attempt=1, state=TaskState.R, at=place.now(), driver="command"
    )
    owner = task.rsplit(".", 3)[0]
    if rooms.channels(place).exists(owner):

        def rule(_session: object, step: ChannelStep) -> ChannelStep:
            channel = step.channel.copy(tasks={**step.channel.tasks, task: under_way})
            return step.then(ChannelStep(channel=channel))

        rooms.change(place, owner, place.now(), rule)


@pytest.mark.req("XC-014")
@pytest.mark.parametrize(
    "does",
    [
        'echo "It rains."',
        f'{COUNCIL} turn end weather --post --text "It rains." >/dev/null',
        f'{COUNCIL} channel post weather "It rains." >/dev/null',
    ],
    ids=["prints", "ends", "posts"],
)
@pytest.mark.parametrize("trust", ["open", "strict"])
def test_what_a_run_says_is_verified_and_goes_on_in_strict_trust(hall: Hall, does: str, trust: str):
    once = f'cat >/dev/null; if [ "$COUNCIL_TOUR" = 1 ]; then {does}; else echo NO; fi'
    hall.seat({"owl": script(once), "gecko": script(PASSES)}, trust=trust).room()

    hall.post()
    all_is_quiet()

    assert origins(hall) == [("Will it rain?", ""), ("It rains.", "verified")]
    assert hall.kinds("answer.refused") == []


@pytest.mark.req("XC-014")
def test_what_is_said_in_the_name_of_an_agent_is_claimed_and_no_proof_can_be_taken_over(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room()
    channels.post(in_run(hall, "owl"), "weather", "owl", "It rains.")
    channels.post(hall.place, "weather", "owl", "It snows.")
    channels.post(in_run(hall, "owl", token="0" * 64), "weather", "owl", "It hails.")
    real = json.loads(log_of(hall).read_text().splitlines()[0])
    forged = ({"content": "Fog."}, {"content": real["content"]}, {"origin": "verified"})
    with log_of(hall).open("a") as file:
        for number, other in enumerate(forged, 4):
            file.write(json.dumps({**real, "id": number, **other}) + "\n")

    assert origins(hall) == [
        ("It rains.", "verified"),
        ("It snows.", "claimed"),
        ("It hails.", "claimed"),
        ("Fog.", "claimed"),
        ("It rains.", "claimed"),
        ("It rains.", "claimed"),
    ]


@pytest.mark.req("XC-014", "SC-002")
def test_the_token_of_a_run_for_what_is_not_there_any_more_shows_nothing(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room()
    place = hall.place
    token = run_token(run_key(place.paths), "S1", 0, "owl", 2)
    own = {"COUNCIL_AGENT": "owl", "COUNCIL_TASK_ID": "S1.7.W1.2", "COUNCIL_TOKEN": token}

    channels.post(Place(place.root, own, place.fixed_now), "weather", "owl", "By the way.")
    channels.post(in_run(hall, "owl", "cabc.2.{agent}.1"), "weather", "owl", "It rains.")

    assert [origin for _, origin in origins(hall)] == ["claimed"] * 2


@pytest.mark.req("XC-014")
def test_the_token_of_one_agent_proves_nothing_for_another(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room()
    place = in_run(hall, "owl")
    stolen = Place(place.root, {**place.environ, "COUNCIL_AGENT": "gecko"}, place.fixed_now)

    channels.post(stolen, "weather", "gecko", "It rains.")

    assert origins(hall) == [("It rains.", "claimed")]


@pytest.mark.req("XC-014", "XC-008")
def test_strict_trust_refuses_what_is_claimed_and_says_so(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}, trust="strict").room().post()
    before = log_of(hall).read_bytes()

    for attempt in (
        lambda: channels.post(hall.place, "weather", "owl", "It rains."),
        lambda: turns.begin(hall.place, "weather", "owl", ""),
        lambda: turns.end(hall.place, "weather", "owl", "", "It rains.", post=True),
        lambda: turns.end(hall.place, "weather", "owl", "", "NO"),
    ):
        with pytest.raises(RefusedError, match="nothing shows that this is owl"):
            attempt()

    assert log_of(hall).read_bytes() == before
    assert (hall.standing().speaker, hall.standing().began_at) == ("owl", None)
    assert len([one for one in hall.events("answer.refused") if one["agentId"] == "owl"]) == 4
    # Who has to be silent reads so, and people speak as always.
    assert turns.begin(hall.place, "weather", "gecko", "").reason == "not-the-speaker"
    hall.post("And snow?")
    assert turns.begin(in_run(hall, "owl"), "weather", "owl", "weather.1.owl.1").allowed
    ended = turns.end(in_run(hall, "owl"), "weather", "owl", "weather.1.owl.1", "No.", post=True)
    assert ended.channel.speaker == "gecko"


@pytest.mark.req("XC-014")
def test_prompts_and_minutes_tell_what_is_verified(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}, "fox": {}}).discuss("gecko", "fox", by="owl")
    run = in_run(hall, "gecko", "umbrellas.1.{agent}.1")
    turns.end(run, "umbrellas", "gecko", "umbrellas.1.gecko.1", "I like them.", post=True)
    channels.post(hall.place, "umbrellas", "gecko", "All of them.")
    view = rooms.look(hall.place, "umbrellas", hall.now)
    (wake,) = [one for one in view.actions if isinstance(one, Wake)]

    prompt = turn_prompt(hall.place, view.channel, wake)

    assert "| gecko (agent, verified), new to you |" in prompt
    assert "| gecko (agent, claimed), new to you |" in prompt
    folder = hall.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "u.md").write_text("We like them.")
    discussing.complete(hall.place, "umbrellas", "owl", str(folder / "u.md"))
    minutes = next((hall.root / "conseils").glob("*.md")).read_text()
    assert "### 1. moderator (guide)," in minutes
    assert "### 2. gecko (verified)," in minutes
    assert "### 3. gecko (claimed)," in minutes


@pytest.mark.req("XC-008")
def test_a_word_of_an_agent_that_is_no_member_is_refused_with_an_event(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}, "fox": {}}).room()

    with pytest.raises(RefusedError, match="no member"):
        hall.post(by="fox")

    assert hall.kinds("answer.refused") == ["answer.refused fox"]


@pytest.mark.req("XC-014")
def test_nobody_speaks_as_the_moderator(hall: Hall):
    hall.seat({"owl": {}, "gecko": {}}).room()

    with pytest.raises(RefusedError, match="moderator"):
        hall.post(by="moderator")

    assert hall.said() == []
