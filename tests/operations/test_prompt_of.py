"""`council prompt`: what an agent would get now, or what it is with nothing said."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.core.errors import NotFoundError, UsageError
from council.operations.conversations.answer import respond
from council.operations.conversations.prompting import prompt_of
from council.store.paths import Workspace
from tests.operations.tables import Table

TRIO = ("claude", "gpt", "glm")
TURN = """## Position
Build it, said in secret.

## Responses to Others
- @claude: partial
- @gpt: partial

## Reasoning
Because.

## Confidence
4
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "ws").seat({agent: {} for agent in TRIO})


def talk(table: Table, **wanted: object) -> Table:
    given = {"procedure": "deliberation", "agents": TRIO, **wanted}
    table.convene("Shall we build it?", **given)
    return table


def heard(table: Table, agent: str, text: str = TURN) -> None:
    respond(table.place, "active", agent, text)


@pytest.mark.req("DL-018", "DL-029", "DL-030")
@pytest.mark.parametrize(
    "kind, wanted",
    [
        ("turn", "## Responses to Others"),
        ("vote", "## Final Position"),
        ("synthesis", "## Consensus Summary"),
    ],
)
def test_with_nothing_open_each_prompt_shows_what_it_looks_like(table: Table, kind, wanted):
    text = prompt_of(table.place, kind, agent="claude")
    assert "with two other agents" in text
    if kind != "turn":
        assert wanted in text
    assert "## Nothing to do" not in text


def test_nothing_is_opened_or_kept_to_show_what_a_prompt_looks_like(table: Table):
    for kind in ("turn", "vote", "synthesis"):
        prompt_of(table.place, kind, lang="fr")
    kept = {path.name for path in table.root.rglob("*")}
    assert not any("sample" in name or name.endswith((".prompt", ".md")) for name in kept)


@pytest.mark.req("DL-018")
def test_the_turn_of_the_agent_that_has_the_floor_is_what_it_gets(table: Table):
    talk(table)
    text = prompt_of(table.place, "turn")
    (handed,) = (path.read_text() for path in table.tasks("claude"))
    assert text == handed
    assert "You are going **first** of three" in text
    assert "@claude has the floor now" in prompt_of(table.place, "turn", agent="gpt")


@pytest.mark.parametrize("kind", ["vote", "synthesis"])
def test_a_prompt_of_another_phase_shows_nothing_that_was_said(table: Table, kind: str):
    talk(table)
    heard(table, "claude", TURN.replace("- @claude: partial\n- @gpt: partial\n", ""))
    text = prompt_of(table.place, kind, agent="gpt")
    assert "Shall we build it?" in text and "said in secret" not in text
    assert "said in secret" in prompt_of(table.place, "turn", agent="gpt")


def test_while_the_vote_is_on_a_synthesis_shows_no_vote(table: Table):
    talk(table, max_rounds=1)
    for agent in TRIO:
        heard(table, agent)
    assert table.read().phase == "VOTE"
    heard(table, "claude", "## Final Position\nHidden.\n\n## Confidence\n3\n- @gpt: agree")
    assert "Hidden" not in prompt_of(table.place, "synthesis", agent="gpt")
    vote = prompt_of(table.place, "vote", agent="gpt")
    assert "said in secret" in vote and "Hidden" not in vote


def test_a_council_has_no_vote_and_shows_that_of_a_deliberation(table: Table):
    table.convene("Shall we?", agents=TRIO)
    assert "COLLECT" in prompt_of(table.place, "turn", agent="gpt")
    assert "## Decision" in prompt_of(table.place, "synthesis", agent="gpt")
    assert "## Final Position" in prompt_of(table.place, "vote", agent="gpt")


def test_an_unknown_kind_and_a_closed_name_are_refused(table: Table):
    for kind in ("speech", "worker", "orchestrator"):
        with pytest.raises(UsageError) as refused:
            prompt_of(table.place, kind)
        assert "turn, vote, synthesis" in refused.value.hint
    with pytest.raises(NotFoundError):
        prompt_of(table.place, "turn", name="elsewhere")
    with pytest.raises(UsageError):
        prompt_of(table.place, "turn", lang="de")


@pytest.mark.req("DL-100")
def test_the_persona_of_an_agent_names_no_peer_in_an_anonymous_deliberation(table: Table):
    soul = Path(Workspace(str(table.root), table.place.settings.paths).agents, "claude", "SOUL.md")
    soul.parent.mkdir(parents=True, exist_ok=True)
    soul.write_text("I am Claude, and I know gpt and @glm well.\n", encoding="utf-8")
    talk(table, anonymous=True)
    text = prompt_of(table.place, "turn", agent="claude")
    assert "I am Claude, and I know member-" in text
    assert "gpt" not in text.casefold() and "glm" not in text.casefold()
