"""The demo and rehearsals: whole councils without a model."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from council.app import App
from council.archive import minutes
from council.councils import service
from council.setup import demo, init

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)


@pytest.fixture
def app(tmp_path):
    init.init(str(tmp_path), [], "", {"PATH": "/nonexistent"})
    return App(str(tmp_path), NOW, {"PATH": "/nonexistent", "HOME": str(tmp_path)})


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_the_family_ends_with_a_decision_a_dissent_and_a_resolved_blocker(app, lang, tmp_path):
    played = demo.demo(app, lang)
    row = minutes.find(played["root"], "active")
    assert (row["outcome"], row["rounds"], row["absent"]) == ("partial", 3, [])
    assert row["decision"]
    state = service.find(App(played["root"]), row["conversation"])
    assert [(one.agent, one.open) for one in state.blockers] == [("blaise", False)]
    quotations = [one for entry in state.entries for one in entry.heard.quotations]
    assert {one.found for one in quotations} == {True, False}
    assert not any(entry.heard.faults for entry in state.entries)


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("procedure", ["council", "deliberation"])
def test_a_rehearsal_has_one_dissenter_who_follows_from_the_seed(app, procedure, lang):
    seen = {}
    for seed in (1, 1, 2):
        asked = service.Opening(topic="Tabs?", procedure=procedure, lang=lang)
        played = demo.rehearse(app, asked, seed)
        state = service.find(app, played["conversationId"])
        said = [(one.id, one.text) for one in state.entries]
        assert seen.setdefault(seed, said) == said
        assert not any(entry.heard.faults for entry in state.entries)
        row = minutes.find(app.root, played["conversationId"])
        assert row["outcome"] in ("partial", "consensus")
    assert len({str(one) for one in seen.values()}) > 1


def test_a_rehearsal_takes_the_options_and_members_that_are_named(app):
    played = demo.rehearse(
        app,
        service.Opening(
            topic="Tabs?",
            procedure="deliberation",
            agents=["x", "y"],
            config={"options": ["yes", "no"]},
            name="k",
        ),
    )
    state = service.find(app, played["conversationId"])
    assert list(state.participants) == ["x", "y"] and played["name"] == "k"
    assert {e.heard.choice for e in state.entries if e.kind == "vote"} == {"A", "B"}
