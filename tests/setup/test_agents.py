"""Adding, changing and removing agents."""

import os
from pathlib import Path

import pytest

from council.agents import settings, souls
from council.kernel.errors import Invalid, NotFound
from council.setup import agents


def test_an_agent_is_added_changed_and_put_aside(app):
    made = agents.add(app, "bea", name="Bea B.", preset="claude", capability=["reason"])
    assert (made["outcome"], made["name"], made["driver"]) == ("added", "Bea B.", "command")
    assert made["faults"] and made["capabilities"] == ["reason"]
    made = agents.add(app, "bea", role="doubts: all")
    assert (made["outcome"], made["name"], made["role"]) == ("changed", "Bea B.", "doubts: all")
    done = agents.remove(app, "bea")
    assert os.path.exists(f"{done['folder']}/SOUL.md")
    assert "bea" not in settings.load(app.root).agents
    again = agents.add(app, "bea")
    assert (again["outcome"], again["name"], again["driver"]) == ("added", "Bea", "manual")
    assert agents.remove(app, "bea")["folder"] == f"{done['folder']}-2"
    with pytest.raises(NotFound):
        agents.remove(app, "bea")


@pytest.mark.parametrize(
    ("ident", "facts"), [("Bea", {}), ("bea", {"preset": "nope"}), ("bea", {"base_url": "file:/x"})]
)
def test_what_cannot_be_run_is_refused_and_changes_nothing(app, ident, facts):
    before = Path(f"{app.root}/council.toml").read_text()
    with pytest.raises(Invalid):
        agents.add(app, ident, **facts)
    assert Path(f"{app.root}/council.toml").read_text() == before
    assert sorted(os.listdir(f"{app.root}/memory/agents")) == [".gitignore", "ann"]


def test_an_agent_that_cannot_be_written_is_not_listed(app):
    for place, fault in (("memory/agents/bea", OSError), ("x", Invalid)):
        with open(f"{app.root}/{place}", "w"), pytest.raises(fault):
            agents.add(app, "bea", preset="claude", discord="no number")
        os.unlink(f"{app.root}/{place}")
        assert list(souls.agents(app.root, settings.load(app.root))) == ["ann"]


def test_a_table_is_removed_and_all_else_stays():
    text = "a = 1\n[agents.ann]\nargv = []\n# of ann\n\n[agents.bea] # b\nx = 1\n[limits]\ny = 2\n"
    left = agents.without_table(text, "agents.bea")
    assert left == "a = 1\n[agents.ann]\nargv = []\n# of ann\n\n[limits]\ny = 2\n"
