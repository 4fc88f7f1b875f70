import json
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from council.archive import minutes
from council.kernel.errors import Invalid, NotFound, Usage


def front(number, topic="Which kettle?", **more):
    return {
        "title": f"Agreed: {topic}", "topic": topic, "date": "2026-11-28",
        "conversation": f"3f2b8f2e-{number}", "name": f"k{number}", "mode": "debate",
        "procedure": "deliberation", "participants": ["ada", "bea"], "outcome": "consensus",
        "consensus": "strong", "rounds": 2, "ended": f"2026-11-28T1{number}:00:00Z",
        "decision": "The quiet one.", "used": {"runs": 3, "usd": 0.1}, "tags": ["council"],
    } | more  # fmt: skip


def put(root, facts, brief="", said=(), decision=""):
    """Write minutes with a state block as councils print it, a line for each key."""
    block = {"brief": brief, "decision": decision or facts["decision"], "frontMatter": facts}
    block["entries"] = [{"id": f"1-{n}", "text": text} for n, text in enumerate(said)]
    rows = ",\n".join(f' "{k}": {json.dumps(v, ensure_ascii=False)}' for k, v in block.items())
    body = f"# {facts['title']}\n\n> said\n\n<!--council-state\n{{\n{rows}\n}}\n-->\n"
    return minutes.write(str(root), facts, body, facts["date"])


@given(
    title=st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" ")),
    decision=st.text(st.characters(exclude_categories=["Cs"])),
    word=st.sampled_from(["no", "yes", "null", "a-b", "1e5", "2026-01-01", "x"]),
)
def test_front_matter_is_yaml_and_comes_back(tmp_path_factory, title, decision, word):
    root = tmp_path_factory.mktemp("root")
    facts = front(1, title=title, decision=decision, name=word)
    path = put(root, facts)
    read = yaml.safe_load(Path(path).read_bytes().split(b"\n---\n")[0])
    assert (read["title"], read["outcome"]) == (title, "consensus")
    row = minutes.rows(str(root))[0]
    del facts["used"]
    assert {key: row[key] for key in facts} == facts
    assert row["endedAt"] == facts["ended"]


def test_a_file_is_named_by_day_and_subject_and_never_overwritten(tmp_path):
    paths = [put(tmp_path, front(n)) for n in (1, 2, 3)]
    names = [f"2026-11-28-which-kettle{more}.md" for more in ("", "-2", "-3")]
    assert [path.rpartition("/")[2] for path in paths] == names
    assert put(tmp_path, front(4, topic="锅")).endswith("2026-11-28-3f2b8f2e.md")


def test_a_repeat_finds_its_file_and_changes_nothing(tmp_path):
    first = put(tmp_path, front(1))
    minutes.rate(first, 4, "anna")
    assert put(tmp_path, front(1, title="Other")) == first
    assert minutes.rows(str(tmp_path))[0]["title"] == "Agreed: Which kettle?"
    again = minutes.write(str(tmp_path), front(1, title="Other"), "", "2026-11-29", replace=True)
    row = minutes.rows(str(tmp_path))[0]
    assert (again, row["title"], row["ratings"]) == (first, "Other", "anna 4")


def test_words_are_found_in_what_was_said_and_decided_alone_newest_first(tmp_path):
    put(tmp_path, front(2, topic="Which shed?", decision="Green."))
    put(tmp_path, front(1), brief="Budget 40", said=["The gas stove."], decision="Électrique")
    for words, since, found in [
        ("gas STOVE", "", ["k1"]),
        ("budget kettle", "", ["k1"]),
        ("green", "", ["k2"]),
        ("which", "", ["k2", "k1"]),
        ("", "2026-11-28T12:00:00Z", ["k2"]),
        ("stove shed", "", []),
        ("frontmatter", "", []),
    ]:
        rows = minutes.rows(str(tmp_path), words, since)
        assert [row["name"] for row in rows] == found, words


def rewritten(text):
    """Return files as formatters leave them."""
    head, rest = text.removeprefix("---\n").split("\n---\n", 1)
    values = yaml.safe_load(head)
    dumped = yaml.safe_dump(values, sort_keys=True, allow_unicode=True, width=10**6)
    yield "blank line below the fence", f"---\n\n{head}\n---\n{rest}"
    yield "sorted, in block style", f"---\n{dumped}---\n{rest}"
    yield "no front matter", rest
    yield "a rule and a heading", f"______\n\n## {head.split(chr(10))[0]}\n{rest}"
    yield "CRLF", text.replace("\n---\n", "\r\n---\r\n", 1).replace("---\n", "---\r\n", 1)
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "cp1252"):
        yield encoding, text.encode(encoding)
    yield "bare carriage returns", text.replace("\n", "\r")


@pytest.mark.parametrize("number", range(10))
def test_minutes_are_listed_after_a_formatter(tmp_path, number):
    path = put(tmp_path, front(1, title="Agreed: it's a 'théière': yes", decision="x" * 600 + "…"))
    why, text = list(rewritten(Path(path).read_text()))[number]
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    row = minutes.rows(str(tmp_path))[0]
    assert row["title"] == "Agreed: it's a 'théière': yes", why
    assert (row["outcome"], row["rounds"], row["ended"]) == ("consensus", 2, "2026-11-28T11:00:00Z")
    assert row["participants"] == ["ada", "bea"], why


def test_copies_of_sync_tools_and_other_files_are_not_listed(tmp_path):
    path = put(tmp_path, front(1))
    stem = path.removesuffix(".md")
    for name in (".sync-conflict-20261125-224501-ABCDEFG.md", " (conflicted copy).md", "-copy.md"):
        shutil.copy(path, stem + name)
    folder = tmp_path / minutes.FOLDER
    (folder / "notes.md").write_text("# Mine\n")
    (folder / "binary.md").write_bytes(b"\xff\x00")
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "folder.md").mkdir()
    assert [row["path"] for row in minutes.rows(str(tmp_path))] == [path]


def test_minutes_are_found_by_what_people_call_them(tmp_path):
    one, two = put(tmp_path, front(1)), put(tmp_path, front(2, topic="Which shed?"))
    newer = put(tmp_path, front(3, name="k1", topic="Later"))
    for which, path in [
        (one, one),
        ("2026-11-28-which-kettle", one),
        ("2026-11-28-which-kettle.md", one),
        ("3f2b8f2e-2", two),
        ("KETTLE", one),
        ("k2", two),
        ("k1", newer),
    ]:
        assert minutes.find(str(tmp_path), which)["path"] == path, which
    with pytest.raises(Usage) as refused:
        minutes.find(str(tmp_path), "which")
    assert len(refused.value.more["candidates"]) == 2
    for which in ("nothing", ""):
        with pytest.raises(NotFound):
            minutes.find(str(tmp_path), which)


def test_a_rating_changes_one_line(tmp_path):
    path = put(tmp_path, front(1))
    before = Path(path).read_text()
    assert minutes.rate(path, 4, "anna") == {"anna": 4}
    assert minutes.rate(path, 2) == {"anna": 4, "person-2": 2}
    assert minutes.rate(path, 5, "anna") == {"anna": 5, "person-2": 2}
    after = Path(path).read_text()
    assert after.replace("\nratings: anna 5, person-2 2", "") == before
    assert minutes.stats(minutes.rows(str(tmp_path)))["rating"] == 3.5
    for stars in (0, 6, -1):
        with pytest.raises(Invalid):
            minutes.rate(path, stars)


def test_success_measures(tmp_path):
    assert minutes.stats([])["convergenceRate"] is None
    put(tmp_path, front(1, rounds=2, diversity=0.5))
    put(tmp_path, front(2, consensus="none", rounds=5, outcome="no-consensus", diversity=1.0))
    put(tmp_path, front(3, outcome="cancelled", consensus="none"))
    put(tmp_path, front(4, procedure="council"))
    found = {"minutes": 4, "deliberations": 2, "convergenceRate": 0.5, "roundsToConsensus": 2.0}
    assert minutes.stats(minutes.rows(str(tmp_path))) == found | {"rating": None, "diversity": 0.75}


def test_the_state_block_comes_back_and_a_broken_one_is_empty(tmp_path):
    path = put(tmp_path, front(1), brief="a --> b")
    assert minutes.block(path)["decision"] == "The quiet one."
    with open(path, "a") as file:
        file.write("\n<!--council-state\n{\n-->\n")
    assert minutes.block(path) == {}
