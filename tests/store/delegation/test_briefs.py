"""Briefs of hand-offs: short, numbered where there are more, never over another."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from council.core.delegation.artifacts import Brief, brief_of
from council.core.errors import (
    CouncilError,
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    RefusedError,
)
from council.store.delegation import briefs
from council.store.paths import Workspace
from tests.store.processes import together

HELLO = "art_5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


@pytest.fixture
def paths(workspace: Path) -> Workspace:
    return Workspace(str(workspace))


@pytest.fixture
def brief(now) -> Brief:
    return Brief(
        trace="t1",
        from_agent="henry",
        to_agent="nova",
        goal="Sum up the forecasts",
        inputs=["three forecasts"],
        constraints=["one page", "no numbers without a source"],
        refs=["#REF:" + HELLO, HELLO],
        created_at=now,
    )


@pytest.mark.req("P8-036", "P8-041")
def test_brief_is_a_file_named_by_trace_and_both_agents(paths, brief):
    kept = briefs.write(paths, brief)

    assert kept.path == f"{paths.shared}/briefs/t1-henry-to-nova.json"
    assert json.loads(Path(kept.path).read_text()) == {
        "schemaVersion": 1,
        "traceId": "t1",
        "fromAgentId": "henry",
        "toAgentId": "nova",
        "createdAt": "2026-02-08T20:00:00Z",
        "goal": "Sum up the forecasts",
        "inputs": ["three forecasts"],
        "constraints": ["one page", "no numbers without a source"],
        "refs": [HELLO],
    }


@pytest.mark.req("P8-036")
def test_second_brief_gets_a_number_and_the_first_stays(paths, brief):
    first = briefs.write(paths, brief)
    before = Path(first.path).read_bytes()
    second = briefs.write(paths, brief.copy(goal="And now in French"))
    third = briefs.write(paths, brief)

    assert [one.name for one in (second, third)] == ["t1-henry-to-nova-2", "t1-henry-to-nova-3"]
    assert Path(first.path).read_bytes() == before
    assert briefs.find(paths, "t1-henry-to-nova-2")[0].brief.goal == "And now in French"


@pytest.mark.req("P8-036")
def test_twenty_briefs_at_once_are_all_kept(paths, brief):
    works = [
        lambda n=number: briefs.write(paths, brief.copy(goal=f"goal {n}")) for number in range(20)
    ]
    assert together(works) == [0] * 20
    assert {one.brief.goal for one in briefs.briefs(paths)} == {f"goal {n}" for n in range(20)}
    assert sorted(os.listdir(paths.briefs)) == sorted(
        [f"t1-henry-to-nova-{n}.json" for n in range(2, 21)] + ["t1-henry-to-nova.json"]
    )


@pytest.mark.req("P8-041")
@pytest.mark.parametrize(
    "change",
    [
        {"goal": " "},
        {"goal": "x" * 801},
        {"inputs": ["x" * 801]},
        {"constraints": ["c"] * 51},
        {"refs": ["art_12"]},
        {"trace": ""},
        {"trace": "a b"},
        {"to_agent": "No Body"},
    ],
)
def test_what_is_not_brief_is_refused_and_nothing_written(paths, brief, change):
    with pytest.raises(InvalidInputError):
        briefs.write(paths, brief.copy(**change))
    assert not os.path.exists(paths.briefs)


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("change", [{"trace": "../x"}, {"trace": ".."}, {"refs": ["../x"]}])
def test_path_in_a_brief_is_refused(paths, brief, change):
    with pytest.raises(RefusedError):
        briefs.write(paths, brief.copy(**change))


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("wanted", ["../identities", "/etc/passwd", "..", ".x"])
def test_brief_that_is_asked_for_by_a_path_is_refused(paths, wanted):
    with pytest.raises(RefusedError):
        briefs.find(paths, wanted)


def test_link_to_a_brief_is_refused(paths, brief, tmp_path):
    kept = briefs.write(paths, brief)
    os.symlink(kept.path, f"{paths.briefs}/other.json")
    with pytest.raises(RefusedError):
        briefs.find(paths, "other")
    assert len(list(briefs.briefs(paths))) == 1


def test_briefs_are_found_by_trace_and_damaged_ones_are_named(paths, brief):
    briefs.write(paths, brief)
    briefs.write(paths, brief.copy(to_agent="sage"))
    briefs.write(paths, brief.copy(trace="t2"))
    broken = Path(paths.briefs, "t1-henry-to-zoe.json")
    broken.write_text('{"goal": 3}')

    assert [one.name for one in briefs.find(paths, "t1")] == [
        "t1-henry-to-nova",
        "t1-henry-to-sage",
    ]
    assert briefs.damaged(paths) == [str(broken)]
    with pytest.raises(InvalidStateError):
        briefs.find(paths, "t1-henry-to-zoe")
    with pytest.raises(NotFoundError):
        briefs.find(paths, "t3")


def test_field_of_a_later_version_survives(brief):
    record = {**brief.copy(refs=[HELLO]).to_record(), "colour": "red"}
    assert brief_of(record).to_record() == record


@pytest.mark.parametrize("field", ["goal", "traceId", "fromAgentId", "refs", "createdAt"])
@pytest.mark.parametrize("value", [None, 3, [3], {"a": 1}])
def test_record_of_another_form_is_an_error_of_ours(brief, field, value):
    if (field, value) == ("refs", None):
        return
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError, CouncilError)):
        brief_of({**brief.to_record(), field: value})
