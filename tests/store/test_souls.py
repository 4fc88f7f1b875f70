"""Facts go into a SOUL.md; whatever else a person wrote there stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import InvalidStateError
from council.store.agent_folders import new_page, with_facts, write_facts
from council.store.agents import agent
from council.store.paths import Workspace
from council.store.settings import Settings

SOUL = """---
# who this is
name: Sage   # the lizard
emoji: "🦎"
role:
model: 4
capabilities:
  - code
  - review
# the rest is ours
motto: >
  Doubt
  everything.
# the end
---

You doubt everything,
---
also this.
"""


def test_only_the_named_values_change():
    wanted = {"name": "Säge: x", "role": "Skeptic", "capabilities": ["read", "write"]}

    made = with_facts(SOUL, wanted, "SOUL.md")

    assert made == SOUL.replace("Sage  ", '"Säge: x"  ').replace("role:", "role: Skeptic").replace(
        "capabilities:\n  - code\n  - review", "capabilities: [read, write]"
    )


def test_a_fact_that_was_not_there_comes_below_the_others():
    made = with_facts(SOUL, {"driver": "manual", "handles": ["@sage", "W3"]}, "SOUL.md")

    below = '  everything.\ndriver: manual\nhandles: ["@sage", W3]\n# the end\n---\n'
    assert below in made
    assert made.replace('driver: manual\nhandles: ["@sage", W3]\n', "") == SOUL


def test_a_text_without_front_matter_gets_one_and_stays():
    assert with_facts("You doubt.\n", {"name": "Sage"}, "p") == "---\nname: Sage\n---\nYou doubt.\n"


def test_what_a_file_says_already_is_not_written_anew():
    assert with_facts(SOUL, {"name": "Sage", "capabilities": ["code", "review"]}, "p") == SOUL


def test_line_ends_of_windows_stay():
    made = with_facts(SOUL.replace("\n", "\r\n"), {"name": "Bob", "driver": "manual"}, "p")

    assert made.count("\r\n") == made.count("\n") == SOUL.count("\n") + 1
    assert "name: Bob   # the lizard\r\n" in made


@pytest.mark.parametrize(
    "text",
    [
        "---\n{motto: x}\n---\nx\n",
        "---\nname: [\n---\nx\n",
        "---\nname: Sage\n",
        "---\n- a\n---\nx\n",
        "----\nname: Sage\n----\n",
    ],
)
def test_front_matter_that_a_program_cannot_change_safely_is_left_to_a_person(text: str):
    with pytest.raises(InvalidStateError, match=r"SOUL\.md has front matter"):
        with_facts(text, {"name": "Bob"}, "SOUL.md")


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cn", "Co")),
    min_size=1,
    max_size=20,
)


@given(name=WORDS, role=WORDS, capabilities=st.lists(WORDS, min_size=1, max_size=3))
def test_whatever_a_fact_says_is_read_back_and_the_rest_is_untouched(name, role, capabilities):
    import frontmatter

    facts = {"name": name, "role": role, "capabilities": capabilities, "model": role}
    made = with_facts(SOUL, facts, "p")

    front, body = frontmatter.parse(made)
    assert {key: front[key] for key in facts} == facts
    assert front["motto"] == "Doubt\neverything.\n".replace("\n", " ", 1)
    assert body == frontmatter.parse(SOUL)[1]
    assert "# who this is\n" in made
    assert "# the rest is ours\n" in made


def test_the_file_of_an_agent_is_made_and_changed_where_it_counts(tmp_path):
    workspace = Workspace(str(tmp_path))

    path = write_facts(workspace, Settings(), "sage", {"name": "Sage", "model": "gpt: 5"})
    again = write_facts(workspace, Settings(), "sage", {"name": "Sage"})

    assert path == str(tmp_path / "memory/agents/sage/SOUL.md")
    assert again == ""
    found = agent(str(tmp_path), Settings(), "sage")
    assert (found.name, found.model, found.faults) == ("Sage", "gpt: 5", [])


def test_a_new_page_has_a_place_for_the_persona():
    page = new_page("sage", {"role": "", "name": "Sage"})

    assert page.startswith('---\nname: Sage\nrole: ""\n# Below the next line: who Sage is')
    assert page.endswith("\n---\n")


def test_bytes_that_are_no_text_are_left_to_a_person(tmp_path):
    path = tmp_path / "memory/agents/sage/SOUL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff")

    with pytest.raises(InvalidStateError, match="not UTF-8"):
        write_facts(Workspace(str(tmp_path)), Settings(), "sage", {"name": "Sage"})

    assert path.read_bytes() == b"\xff"
