"""What ships for agents to read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import frontmatter
import pytest
import yaml

import council
from council.core.conversations.records import from_record, to_record
from council.core.conversations.sight import parts
from tests.conftest import Council
from tests.core.conversations.samples import NOW, convened

REPOSITORY = Path(__file__).parent.parent
SKILL = REPOSITORY / "skills" / "council"
REFERENCES = SKILL / "references"


def section(text: str, start: str) -> list[str]:
    """Return the lines after the one that begins with `start`, up to the next heading."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(start))
    after = lines[at + 1 :]
    end = next((n for n, line in enumerate(after) if line.startswith("## ")), len(after))
    return after[:end]


# Keys and lengths of the Agent Skills format, and what OpenClaw's own validator adds to them.
FORMAT_KEYS = {"name", "description", "license", "allowed-tools", "metadata", "compatibility"}
OPENCLAW_KEYS = FORMAT_KEYS - {"compatibility"}
NAME = re.compile("[a-z0-9]+(-[a-z0-9]+)*")


def written_skills(council: Council, folder: Path) -> list[Path]:
    """Return the skill as `init` writes it in each language, and that of the repository."""
    for language in ("en", "fr"):
        council("init", "--agents", "a1", "--lang", language, str(folder / language))
    return [SKILL, *(folder / language / "skills" / "council" for language in ("en", "fr"))]


def front_matter_faults(folder: Path) -> list[str]:
    """Return what the Agent Skills format or OpenClaw would refuse in `folder`/SKILL.md."""
    opening, front, _ = (folder / "SKILL.md").read_text(encoding="utf-8").split("---", 2)
    skill = yaml.safe_load(front)
    name, description = skill.get("name", ""), skill.get("description", "")
    metadata = skill.get("metadata", {})
    checks = {
        "the front matter comes first": opening == "",
        "keys": set(skill) <= OPENCLAW_KEYS,
        "name": NAME.fullmatch(name) and len(name) <= 64 and name == folder.name,
        "description": 0 < len(description.strip()) <= 1024 and not set("<>") & set(description),
        "metadata is a mapping with texts as keys": isinstance(metadata, dict)
        and all(isinstance(key, str) for key in metadata),
        # The reference validator reads a strict subset: no flow style, no anchors, no tags.
        "only block style": not any(
            isinstance(event, yaml.CollectionStartEvent) and event.flow_style
            for event in yaml.parse(front)
        ),
        "no anchors, no tags": not any(
            getattr(event, "anchor", None) or getattr(event, "tag", None)
            for event in yaml.parse(front)
        ),
    }
    return [rule for rule, met in checks.items() if not met]


@pytest.mark.req("TB-002")
def test_the_skill_in_every_language_keeps_the_rules_of_the_format(council, tmp_path):
    for folder in written_skills(council, tmp_path):
        assert front_matter_faults(folder) == []


@pytest.mark.req("TB-002")
@pytest.mark.parametrize(
    "front, fault",
    [
        ("name: council\ndescription: x\nmetadata: {a: {b: c}}", "only block style"),
        ("name: council\ndescription: x\nhomepage: y", "keys"),
        ("name: Council\ndescription: x", "name"),
        ("name: another\ndescription: x", "name"),
        ("name: council\ndescription: " + "x" * 1025, "description"),
        ("name: council\ndescription: x\nmetadata: y", "metadata is a mapping with texts as keys"),
        ("name: council\ndescription: &a x", "no anchors, no tags"),
    ],
)
def test_a_front_matter_that_breaks_a_rule_is_noticed(tmp_path, front: str, fault: str):
    folder = tmp_path / "council"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\ntext\n", encoding="utf-8")
    assert front_matter_faults(folder) == [fault]


@pytest.mark.req("TB-002")
def test_openclaw_reads_its_part_of_the_front_matter():
    skill = frontmatter.loads((SKILL / "SKILL.md").read_text(encoding="utf-8"))
    # OpenClaw turns the value of `metadata` into JSON and takes the object under its own name.
    host = json.loads(json.dumps(skill["metadata"], ensure_ascii=False))["openclaw"]
    assert host["emoji"] == "🏛️"
    assert host["requires"] == {"bins": ["council"]}
    # A registry may hold another's package of our name: none is offered to be installed.
    assert "install" not in host


@pytest.mark.req("C0-054")
@pytest.mark.parametrize(
    "name, title", [("protocol.md", "## The six"), ("protocol.fr.md", "## Les six")]
)
def test_the_protocol_lists_the_six_steps_with_file_access_alone(name: str, title: str):
    lines = section((REFERENCES / name).read_text(encoding="utf-8"), title)
    steps = [line for line in lines if line[:3] in {f"{number}. " for number in range(1, 10)}]
    assert len(steps) == 6
    words = ["JSON", "stat", "context", ("Answer", "Réponds"), ("Write", "Écris"), ("Save", "Enr")]
    for step, word in zip(steps, words, strict=True):
        assert any(one in step for one in ((word,) if isinstance(word, str) else word))
    assert "council-state" in steps[0] and "currentPhase" in steps[0]


@pytest.mark.req("C0-054")
def test_the_json_of_the_protocol_is_a_state_we_read():
    text = (REFERENCES / "protocol.md").read_text(encoding="utf-8")
    sample = json.loads(text.partition("```json\n")[2].partition("```")[0])
    state = from_record(sample)
    record = to_record(state)
    for key, value in sample.items():
        if key != "participants":
            assert record[key] == value
    assert set(sample["participants"]) == set(record["participants"])


@pytest.mark.parametrize("name", ["protocol.md", "protocol.fr.md"])
def test_the_keys_the_protocol_promises_are_in_the_parts(name: str):
    text = (REFERENCES / name).read_text(encoding="utf-8")
    promised = text.partition("--json`")[2].partition("`council respond")[0]
    keys = promised.split("`")[1::2]
    assert len(keys) > 10
    assert set(keys) <= set(parts(convened(), "henry", NOW))


@pytest.mark.req("C0-024")
@pytest.mark.parametrize("name", ["HEARTBEAT-COUNCIL.md", "HEARTBEAT-COUNCIL.fr.md"])
def test_the_heartbeat_by_hand_names_every_step(name: str):
    text = (REFERENCES / name).read_text(encoding="utf-8")
    steps = [line for line in text.splitlines() if line[:3] in {f"{n}. " for n in range(1, 10)}]
    assert len(steps) == 5
    in_order = [
        "council-active-conversation.md",
        "timeoutAt",
        "WAITING",
        "`tour`",
        "memory/agents/<coord",
        "CONVERGED",
        "NO RESPONSE (timeout)",
        "conseils/YYYY-MM-DD-",
    ]
    places = [text.index(words, text.index("\n1. ")) for words in in_order]
    assert places == sorted(places)


@pytest.mark.req("XC-012")
def test_every_reference_exists_in_both_languages():
    names = {path.name for path in REFERENCES.iterdir()}
    for name in names:
        assert name.endswith(".fr.md") or name.replace(".md", ".fr.md") in names


@pytest.mark.req("XC-012")
def test_every_prompt_exists_in_both_languages():
    folders = [Path(council.__file__).parent / "prompts" / lang for lang in ("en", "fr")]
    english, french = ({path.name for path in folder.iterdir()} for folder in folders)
    assert english == french
