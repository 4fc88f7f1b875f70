"""Deliberations of the first released version: read as they are, and played to their end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from council.store.statefile import statefile
from tests.store.debates import turn

GOLDEN = Path(__file__).parent.parent / "golden" / "deliberations-v1"
SHARED = Path("memory/shared")
NOW = "2026-02-08T21:00:00Z"
OPEN = {"blind": ("DELIBERATE", 1), "turns": ("DELIBERATE", 2), "voting": ("VOTE", 2)}


@pytest.fixture
def released(council) -> Path:
    """The workspace as the released version left it, in the place of the empty one."""
    shutil.rmtree(council.root)
    shutil.copytree(GOLDEN, council.root)
    return council.root


def live(root: Path, name: str) -> Path:
    return root / SHARED / f"council-{name}-conversation.md"


@pytest.mark.req("XC-013", "DL-056")
@pytest.mark.parametrize("name", OPEN)
def test_released_file_is_read_and_would_be_written_as_it_is(name: str):
    text = live(GOLDEN, name).read_text(encoding="utf-8")
    state, page = statefile.load(text, name)
    assert (state.phase, state.tour) == OPEN[name]
    assert page.faults == []
    assert page.gaps == {}
    assert statefile.render(state) == text


@pytest.mark.req("XC-013", "DL-056", "DL-097")
def test_released_deliberations_go_on_to_their_minutes(council, released: Path):
    for name, speakers in (("blind", ("claude", "glm")), ("turns", ("glm", "claude"))):
        for agent in speakers:
            others = " ".join(f"{one}=agree" for one in ("claude", "gpt", "glm") if one != agent)
            text = turn("" if name == "blind" else others)
            said = council("respond", "--name", name, "--as", agent, text, now=NOW)
            assert said.code == 0, said.err
    shown = {name: statefile.load(live(released, name).read_text(), name)[0] for name in OPEN}
    spoke = [one for one in shown["blind"].entries if one.kind != "injection"]
    assert [(one.tour, one.agent, one.kind) for one in spoke] == [
        (1, "claude", "draft"),
        (1, "claude", "contribution"),
        (1, "gpt", "contribution"),
        (1, "glm", "contribution"),
    ]
    assert shown["blind"].tour == 2
    assert shown["turns"].tour == 3
    assert council("check", "--name", "turns", now=NOW).code == 0
    for name in OPEN:
        stopped = council("stop", "--name", name, now=NOW)
        assert stopped.code == 0, stopped.err
    for day in (10, 11, 12, 13, 14):  # each beat passes over who does not answer
        council("heartbeat", now=f"2026-02-{day}T21:00:00Z")
    assert len(council("list", "--archived", "--json").json()) == 4


def test_released_minutes_hold_the_conversation():
    (minutes,) = (GOLDEN / "conseils").iterdir()
    text = minutes.read_text(encoding="utf-8")
    block = json.loads(text.split("\n<!--council-state\n")[1].split("\n-->")[0])
    assert block["closedReason"] == "consensus"
    assert [one["verdict"]["type"] for one in block["rounds"] if one.get("verdict")] == [
        "soft",
        "soft",
    ]
