"""What-if: the verdict with one thing changed, of open and of archived deliberations."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from council.core.conversations.conversation import Step
from council.core.conversations.procedures import Rules
from council.core.deliberation.consensus import replay, verdict
from council.core.deliberation.judgement import judge
from council.core.deliberation.played import stances_until
from council.core.errors import NotFoundError, UsageError
from council.operations.conversations.judging import what_if
from council.operations.conversations.steer import close
from council.operations.place import Place
from tests.core.conversations.samples import convened
from tests.core.debates import Debate, soft_debate
from tests.timing import assert_cheap


@pytest.fixture
def place(workspace: Path) -> Place:
    return Place(str(workspace), {}, None)


def opened(place: Place, debate: Debate) -> str:
    place.conversations.create(debate.state, now=debate.now)
    return debate.state.name


def six() -> Debate:
    """Return a debate of six: three support ann, two doubt, one is against."""
    agents = ("ann", "bob", "cid", "dan", "eva", "fay")
    debate = Debate(*agents, rules=Rules(max_rounds=1))
    matrix = {one: dict.fromkeys((x for x in agents if x != one), "partial") for one in agents}
    for one in ("bob", "cid", "dan"):
        matrix[one]["ann"] = "agree"
    matrix["fay"] = dict.fromkeys(agents[:-1], "disagree")
    debate.round("Yes.", matrix)
    debate.vote("Yes.", matrix)
    return debate


@pytest.mark.req("DL-104")
def test_an_open_deliberation_is_judged_by_its_closed_rounds(place: Place) -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=3))
    name = opened(place, debate)
    with pytest.raises(UsageError, match="no round of active is closed yet"):
        what_if(place, name)
    debate.round("Yes.", {"cid": {"ann": "disagree", "bob": "disagree"}})
    place.conversations.edit(name, lambda _: Step(state=debate.state.copy()), now=debate.now)
    found = what_if(place, name, without=("cid",))
    assert (found.real.type, found.archived) == ("soft", False)
    assert found.changed is not None
    assert (found.changed.type, found.change) == ("strong", "without cid")


@pytest.mark.req("DL-104")
@pytest.mark.parametrize("how", ["active", "should-we-build-a-weather-bot", "path", ""])
def test_archived_minutes_are_judged_by_name_slug_and_path(place: Place, how: str) -> None:
    debate = soft_debate()
    opened(place, debate)
    path = close(place, place.conversations.read("active"))
    found = what_if(place, path if how == "path" else how, threshold=3)
    assert (found.real.type, found.archived, found.path) == ("soft", True, path)
    assert found.changed is not None
    assert found.changed.type == "none"


@pytest.mark.req("DL-104")
def test_every_set_left_out_gives_what_the_rule_gives_without_it(place: Place) -> None:
    debate = six()
    name = opened(place, debate)
    stances = stances_until(judge(debate.state).history)
    agents = list(debate.state.participants)
    for size in range(1, len(agents) - 1):
        for without in combinations(agents, size):
            left = [one for one in agents if one not in without]
            expected = verdict(left, stances, dict.fromkeys(agents, 4))
            assert what_if(place, name, without=without).changed == expected


@pytest.mark.req("DL-104")
def test_what_it_hangs_on_is_true_and_every_single_agent_it_hangs_on_is_named(
    place: Place,
) -> None:
    name = opened(place, six())
    found = what_if(place, name)
    assert found.changed is None
    for one in found.hangs_on:
        again = what_if(place, name, without=one.without, threshold=one.threshold)
        assert again.changed is not None
        assert again.changed.type == one.verdict.type != found.real.type
    alone = {one.without[0] for one in found.hangs_on if len(one.without) == 1}
    for agent in ("ann", "bob", "cid", "dan", "eva", "fay"):
        changed = what_if(place, name, without=(agent,)).changed
        assert changed is not None
        assert (agent in alone) == (changed.type != found.real.type)


@pytest.mark.req("DL-104")
def test_without_flips_and_by_the_first_look_old_stances_count(place: Place) -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=2, stability=False))
    debate.round("Yes.", {"bob": {"ann": "disagree"}, "cid": {"ann": "disagree", "bob": "partial"}})
    debate.round("Yes.", {})
    debate.vote("Yes.", {})
    name = opened(place, debate)
    without_flips = what_if(place, name, without_flips=True)
    blind = what_if(place, name, blind=True)
    assert without_flips.real.type == "strong"
    assert without_flips.changed is not None
    assert (without_flips.changed.type, without_flips.changed.reference) == ("soft", "cid")
    assert blind.changed is not None
    assert (blind.changed.type, blind.changed.reference) == ("none", "bob")
    assert blind.changed.contested == ["ann"]
    with pytest.raises(UsageError, match="exclude each other"):
        what_if(place, name, blind=True, without_flips=True)


@pytest.mark.req("DL-104")
def test_json_tells_verdict_change_and_what_it_hangs_on(place: Place) -> None:
    name = opened(place, soft_debate())
    record = what_if(place, name, without=("cid",)).to_record()
    assert record["verdict"]["type"] == "soft"
    assert (record["change"], record["changed"]["type"]) == ("without cid", "strong")
    assert record["differs"] is True
    names = [one["name"] for one in record["hangsOn"]]
    assert names == ["without ann", "without bob", "without cid", "threshold 3"]
    plain = what_if(place, name).to_record()
    assert (plain["change"], plain["changed"], plain["differs"]) == (None, None, False)


def test_text_names_each_agent_the_verdict_hangs_on(place: Place) -> None:
    text = what_if(place, opened(place, soft_debate())).to_text()
    assert "  without ann: none (1 agree" in text
    strong = Debate(
        "ann",
        "bob",
        "cid",
        rules=Rules(max_rounds=1),
        name="strong",
        conversation_id="2f0e7c1a-5e0e-4c1e-9a44-3f0d3c6ad001",
    )
    strong.round("Yes.", {})
    strong.vote("Yes.", {})
    text = what_if(place, opened(place, strong)).to_text()
    assert "no one alone (it holds without any one of them)" in text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"without": ("zoe",)}, "zoe does not count"),
        ({"without": ("ann", "bob", "cid")}, "nobody would be left"),
        ({"without": ("ann", "bob")}, "cid alone would be left"),
        ({"threshold": 4}, "--threshold 4 is not from 1 to 3"),
        ({"threshold": -1}, "--threshold -1"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(
    place: Place, change: dict[str, object], why: str
) -> None:
    name = opened(place, soft_debate())
    with pytest.raises(UsageError, match=why):
        what_if(place, name, **change)  # type: ignore[arg-type]


@pytest.mark.req("HR-020")
def test_of_two_participants_none_can_be_left_out(place: Place) -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1))
    debate.round("Yes.", {})
    debate.vote("Yes.", {})
    name = opened(place, debate)
    with pytest.raises(UsageError, match="nobody would be left"):
        what_if(place, name, without=("ann", "bob"))
    with pytest.raises(UsageError, match="bob alone would be left"):
        what_if(place, name, without=("ann",))


def test_a_council_has_no_stances_and_an_unknown_name_no_verdict(place: Place) -> None:
    state = convened(name="talk")
    place.conversations.create(state, now=state.created_at)
    with pytest.raises(UsageError, match="nobody states stances"):
        what_if(place, "talk")
    with pytest.raises(NotFoundError):
        what_if(place, "nowhere")


def test_a_run_asks_for_its_own_conversation_and_gets_no_other(place: Place) -> None:
    opened(place, soft_debate())
    close(place, place.conversations.read("active"))
    run = Place(place.root, {"COUNCIL_NAME": "other"}, None)
    with pytest.raises(NotFoundError, match="other"):
        what_if(run)


@pytest.mark.req("DL-104")
def test_a_thousand_variants_take_less_than_a_second() -> None:
    judged = judge(six().state)

    def a_thousand() -> None:
        for number in range(1000):
            replay(judged.agents, judged.history, without=(judged.agents[number % 6],))

    assert_cheap(a_thousand, within_s=1)
