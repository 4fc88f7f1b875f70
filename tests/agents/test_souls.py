import os

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from council.agents import souls
from council.agents.settings import Settings
from council.agents.souls import Soul
from council.kernel.errors import Invalid
from tests.vectors.rows import tables_of


def put(root, text: str, ident: str = "ada", encoding: str = "utf-8") -> None:
    os.makedirs(f"{root}/memory/agents/{ident}", exist_ok=True)
    with open(f"{root}/memory/agents/{ident}/SOUL.md", "w", encoding=encoding, newline="") as file:
        file.write(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("text", "name", "role", "capabilities", "persona"), tables_of("files")["souls"]
)
def test_what_a_file_says(tmp_path, text, name, role, capabilities, persona, encoding):
    put(tmp_path, text, encoding=encoding)
    made = souls.read(str(tmp_path), "ada")
    found = (made.name, made.role, made.capabilities, made.persona)
    assert found == (name, role, capabilities, persona)
    assert not made.faults


def test_what_cannot_be_used_is_a_fault_of_that_agent(tmp_path):
    put(tmp_path, "---\nname: [\n---\nHi", "ada")
    os.makedirs(tmp_path / "memory/agents/bob/SOUL.md")
    os.makedirs(tmp_path / "memory/agents/cid")
    found = souls.agents(str(tmp_path), Settings())
    assert list(found) == ["ada", "bob", "cid"]
    assert found["ada"].faults and found["bob"].faults and not found["cid"].faults
    assert souls.read(str(tmp_path), "nobody") is None


LINES = st.lists(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["name", "role", "model", "# x", "- a", "  b", "k k"]),
        st.sampled_from([": ", ":", " : ", ""]),
        st.sampled_from(["", "[a, b]", "[yes, a]", "[a,b]", "[a: b]"])
        | st.text("abY1 #:'\"[],{}-&*!|>%@🦉é~", max_size=8),
    ),
    max_size=4,
)


@given(LINES)
def test_plain_lines_mean_what_they_mean_to_yaml(lines):
    head = "\n".join(lines)
    if len({line.partition(":")[0] for line in lines}) < len(lines):
        return
    try:
        expected = yaml.load(head, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        with pytest.raises(Invalid):
            souls._facts(head, "SOUL.md")
        return
    assert souls._facts(head, "SOUL.md") == (expected if isinstance(expected, dict) else {})


def test_writing_keeps_what_is_not_ours(tmp_path):
    put(tmp_path, "---\nname: Old\nextra:\n  - kept\ncapabilities:\n  - gone\n---\nPersona.\n")
    made = souls.read(str(tmp_path), "ada")
    made.name, made.role, made.capabilities = "Ada: the first", "yes", ["sums"]
    souls.write(str(tmp_path), made)
    assert souls.read(str(tmp_path), "ada") == made
    with open(tmp_path / "memory/agents/ada/SOUL.md", encoding="utf-8") as file:
        assert "extra:\n- kept\n" in file.read()
    souls.write(str(tmp_path), Soul(id="new", name="Neu", emoji="🦉"))
    assert "\nemoji: 🦉\n" in (tmp_path / "memory/agents/new/SOUL.md").read_text(encoding="utf-8")
