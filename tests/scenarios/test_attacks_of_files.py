"""Files that an agent can place: they hurt that agent alone, and none waits for them."""

from __future__ import annotations

import os
import shutil

import pytest

from council.store.settings import CACHE_FILE

DEEP = 100_000
SECRET = "what no prompt may show"


@pytest.fixture
def attacked(council):
    """A workspace with an open council of two agents; the owl is the one that attacks."""
    assert council("init", "--agents", "owl,gecko").code == 0
    asked = council("convene", "Shall we build a weather bot?", "--agents", "owl,gecko")
    assert asked.code == 0, asked.err
    return council


def soul_of_owl(council):
    return council.root / "memory" / "agents" / "owl" / "SOUL.md"


@pytest.mark.req("SC-004")
@pytest.mark.parametrize(
    "front",
    [
        "name: " + "[" * DEEP + "]" * DEEP,
        "- " * DEEP,
        "? " * DEEP,
        "name: " + "{a: " * DEEP,
        "name: Owl\n---x\nrole: " + "[" * DEEP,
        "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)),
    ],
    ids=["lists", "items", "keys", "maps", "behind-a-false-fence", "aliases"],
)
def test_front_matter_of_a_soul_ends_no_command(attacked, front):
    soul_of_owl(attacked).write_text(f"---\n{front}\n---\nI am the owl.\n")

    listed = attacked("agent", "list", "--json")
    examined = attacked("doctor")

    assert listed.code == 0
    assert [one["agentId"] for one in listed.json()] == ["gecko", "owl"]
    assert examined.code == 3
    said = [line for line in examined.out.splitlines() if "SOUL.md" in line]
    assert len(said) == 1
    assert "memory/agents/owl/SOUL.md has front matter" in said[0]
    for command in (["status"], ["heartbeat"], ["context", "--as", "gecko"]):
        assert attacked(*command).code == 0
    assert attacked("respond", "--as", "gecko", "I say yes.").code == 0


@pytest.mark.req("SC-004")
@pytest.mark.parametrize("deep", ["[" * DEEP, "- " * DEEP])
def test_front_matter_of_minutes_ends_no_command(attacked, deep):
    minutes = attacked.root / "conseils"
    minutes.mkdir(parents=True, exist_ok=True)
    (minutes / "2026-01-01-deep.md").write_text(f"---\ntitle: Deep\nmore: {deep}\n---\n# Deep\n")
    (minutes / "2026-01-02-fine.md").write_text("---\ntitle: Fine\ndate: 2026-01-02\n---\n# Fine\n")

    for command in (["list", "--archived"], ["metrics"], ["status"], ["doctor"], ["show", "deep"]):
        assert attacked(*command).code in (0, 3, 5), command
    assert "Fine" in attacked("list", "--archived").out


@pytest.mark.req("SC-004")
def test_front_matter_of_minutes_that_grows_by_its_aliases_is_not_read_out(attacked):
    minutes = attacked.root / "conseils"
    minutes.mkdir(parents=True, exist_ok=True)
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    text = "---\ntitle: Laughs\n" + "\n".join(lines) + "\n---\n# Laughs\n"
    (minutes / "2026-01-01-laughs.md").write_text(text)

    listed = attacked("list", "--archived", "--json", timeout_s=20)

    assert listed.code == 0
    assert len(listed.out) < 10_000


@pytest.mark.req("SC-004")
def test_deep_values_in_a_state_block_stop_that_conversation_alone(attacked):
    shared = attacked.root / "memory" / "shared"
    live = shared / "council-active-conversation.md"
    assert attacked("convene", "Another?", "--name", "other", "--agents", "owl,gecko").code == 0
    deep = "[" * 900 + "]" * 900
    text = live.read_text(encoding="utf-8")
    live.write_text(text.replace("<!--council-state\n{", f'<!--council-state\n{{"x": {deep},'))

    for command in (["status"], ["heartbeat"], ["status", "--problems"], ["doctor"]):
        ran = attacked(*command)
        assert "unexpected failure" not in ran.err, ran.err
        assert ran.code in (0, 3)
    assert attacked("respond", "--as", "owl", "--name", "other", "Yes.").code == 0


@pytest.mark.req("SC-004")
@pytest.mark.parametrize("was_read", [True, False])
def test_settings_with_a_key_of_many_parts_are_named_at_once(attacked, was_read: bool):
    if not was_read:
        (attacked.root / CACHE_FILE).unlink()
    (attacked.root / "council.toml").write_text(f"[{'a.' * 20_000}a]\nb = 1\n")

    refused = attacked("status", timeout_s=20)

    assert refused.code == (0 if was_read else 3)
    assert "council.toml" in refused.err
    assert "nested more than 100 deep" in refused.err


@pytest.mark.req("SC-004")
def test_a_soul_that_is_a_link_is_not_read_into_the_prompt(attacked, tmp_path):
    (tmp_path / "outside.md").write_text(SECRET)
    soul_of_owl(attacked).unlink(missing_ok=True)
    soul_of_owl(attacked).symlink_to(tmp_path / "outside.md")

    shown = attacked("context", "--as", "owl")

    assert shown.code == 0
    assert SECRET not in shown.out
    assert "SOUL.md is a link" in attacked("doctor").out


@pytest.mark.req("SC-004")
def test_a_soul_that_is_the_key_by_another_name_is_not_read_into_the_prompt(attacked):
    key = attacked.root / "memory" / "shared" / ".council" / "key"
    assert attacked("context", "--as", "owl").code == 0  # it draws the key
    soul_of_owl(attacked).unlink(missing_ok=True)
    os.link(key, soul_of_owl(attacked))

    shown = attacked("context", "--as", "owl")

    assert shown.code == 0
    assert key.read_text().strip() not in shown.out
    assert "SOUL.md is a file of .council by another name" in attacked("doctor").out


@pytest.mark.req("SC-004")
def test_the_key_is_not_published_by_another_name(attacked):
    key = attacked.root / "memory" / "shared" / ".council" / "key"
    assert attacked("context", "--as", "owl").code == 0
    os.link(key, attacked.root / "notes.md")
    inside = {"COUNCIL_TASK_ID": "t", "COUNCIL_AGENT": "owl"}

    for env in ({}, inside):
        refused = attacked("artifact", "publish", "notes.md", env=env)
        assert refused.code == 6
        assert refused.err == "council: notes.md is a file of .council (name a file of your own)\n"
    assert attacked("respond", "--as", "owl", "--file", "notes.md", env=inside).code == 6
    assert attacked("artifact", "list", "--json").json() == []
    own = shutil.copy(attacked.root / "council.toml", attacked.root / "own.md")
    os.link(own, attacked.root / "twice.md")
    assert attacked("artifact", "publish", "twice.md").code == 0


@pytest.mark.req("SC-004")
def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(attacked):
    os.mkfifo(attacked.root / "pipe")
    minutes = attacked.root / "conseils"
    minutes.mkdir(parents=True, exist_ok=True)
    os.mkfifo(minutes / "2026-01-01-pipe.md")

    for words in (
        ["respond", "--as", "owl", "--file", "pipe"],
        ["artifact", "publish", "pipe"],
        ["inject", "--file", "pipe"],
    ):
        refused = attacked(*words, timeout_s=20)
        assert refused.code == 3
        assert "pipe is not a regular file" in refused.err
    for words in (["list", "--archived"], ["list", "--archived", "--search", "x"], ["metrics"]):
        assert attacked(*words, timeout_s=20).code == 0


@pytest.mark.req("SC-004")
def test_a_text_of_many_brackets_in_strings_is_no_deep_one(attacked):
    text = 'It says "[[[[" and \\"{' + "[" * DEEP
    assert attacked("respond", "--as", "owl", "-", stdin=text).code == 0
    assert attacked("respond", "--as", "gecko", "-", stdin=text).code == 0
    shown = attacked("show", "--json").json()
    assert shown["contributions"][0]["text"] == text


@pytest.mark.req("SC-004")
@pytest.mark.parametrize("deep", ["[" * DEEP, "- " * DEEP])
def test_deep_front_matter_of_minutes_ends_neither_search_nor_rating(attacked, deep):
    minutes = attacked.root / "conseils"
    minutes.mkdir(parents=True, exist_ok=True)
    (minutes / "2026-01-01-deep.md").write_text(f"---\ntitle: Deep\nmore: {deep}\n---\nwords\n")

    searched = attacked("list", "--search", "words", "--json")
    rated = attacked("rate", "2026-01-01-deep", "4")

    assert searched.code == 0
    assert rated.code in (0, 3)
    assert "unexpected" not in searched.err + rated.err


@pytest.mark.req("SC-004")
@pytest.mark.parametrize("put", ["link", "pipe"])
def test_a_checklist_of_a_workspace_is_a_regular_file_of_it(attacked, tmp_path, put):
    assert attacked("respond", "--as", "owl", "Yes.").code == 0
    assert attacked("respond", "--as", "gecko", "No.").code == 0
    outside = tmp_path / "outside.md"
    outside.write_text(SECRET)
    (path,) = list(attacked.root.rglob("COUNCIL.md")) or [attacked.root / "COUNCIL.md"]
    path.unlink(missing_ok=True)
    path.symlink_to(outside) if put == "link" else os.mkfifo(path)

    shown = attacked("context", "--as", "owl", timeout_s=20)

    assert shown.code == 0
    assert SECRET not in shown.out
