"""The demo and rehearsals: whole councils without a model."""

import re
import shutil

import pytest

from council import __main__ as way_in
from council.app import App
from council.archive import minutes
from council.councils import service
from council.setup import demo


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_the_family_ends_with_a_decision_a_dissent_and_a_resolved_blocker(lang, tmp_path, capsys):
    assert way_in.run(["demo", "--lang", lang]) == 0
    told, shown = capsys.readouterr()
    lines = [*told.splitlines(), *shown.splitlines()]
    assert len(lines) <= 40
    assert all(len(line) <= 80 for line in lines if " /" not in line)
    phases = [line[2:].partition(",")[0] for line in shown.splitlines() if line[0] == "#"]
    assert phases == ["COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE"]
    root = re.search("/[^ ]*/council-demo-[^/]*", told)[0]
    row = minutes.find(root, "active")
    assert (row["outcome"], row["rounds"], row["absent"]) == ("partial", 3, [])
    assert " ".join(told.split()).count(row["decision"]) == 1
    state = service.find(App(root), row["conversation"])
    assert [(one.agent, one.open) for one in state.blockers] == [("blaise", False)]
    quotations = [one for entry in state.entries for one in entry.heard.quotations]
    assert {one.found for one in quotations} == {True, False}
    assert not any(entry.heard.faults for entry in state.entries)
    shutil.rmtree(root)


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("procedure", ["council", "deliberation"])
def test_a_rehearsal_has_one_dissenter_who_follows_from_the_seed(app, procedure, lang):
    seen = {}
    for seed in (1, 1, 2):
        asked = service.Opening(topic="Tabs?", procedure=procedure, lang=lang)
        *_, state = demo.rehearse(app, asked, seed)
        said = [(one.id, one.text) for one in state.entries]
        assert seen.setdefault(seed, said) == said
        assert not any(entry.heard.faults for entry in state.entries)
        row = minutes.find(app.root, state.conversation_id)
        assert row["outcome"] in ("partial", "consensus")
    assert len({str(one) for one in seen.values()}) > 1


def test_a_rehearsal_takes_the_options_and_members_that_are_named(app):
    asked = service.Opening(topic="Tabs?", procedure="deliberation", agents=["x", "y"], name="k")
    asked.config = {"options": ["yes", "no"]}
    *_, state = demo.rehearse(app, asked)
    assert list(state.participants) == ["x", "y"] and state.name == "k"
    assert {e.heard.choice for e in state.entries if e.kind == "vote"} == {"A", "B"}
