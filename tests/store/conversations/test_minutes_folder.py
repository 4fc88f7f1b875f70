"""Minutes are found by whatever people call them, and nothing else is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.core.errors import CouncilError, InvalidStateError, NotFoundError, RefusedError
from council.store.conversations.filed import archived_conversation, find_minutes
from council.store.conversations.minutes import (
    archived_at,
    facts,
    minutes_files,
    minutes_text,
)
from council.store.paths import Workspace
from tests.core.debates import START, soft_debate
from tests.store.conversations.filed import write

GOLDEN = Path(__file__).parent.parent.parent / "golden"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "conseils").mkdir()
    return Workspace(str(tmp_path))


def keep(workspace: Workspace, file: str, **more: object) -> str:
    """Write minutes and their data under a chosen name."""
    return write(Path(workspace.minutes) / file, soft_debate(**more).state, START)


@pytest.mark.parametrize(
    "wanted",
    [
        "2026-02-08-a-bot",
        "a-bot",
        "weather",
        "1f0e7c1a-5e0e-4c1e-9a44-3f0d3c6ad001",
        "cm6v0f8o0abcdefghijklmnop",
        "2026-02-08-a-bot.md",
        "conseils/2026-02-08-a-bot.md",
        "active",
        "",
    ],
)
def test_every_word_for_them_means_the_same_minutes(workspace: Workspace, wanted: str) -> None:
    path = keep(workspace, "2026-02-08-a-bot.md", name="weather")
    (Path(workspace.minutes) / "notes.md").write_text("# Notes\n")
    assert find_minutes(workspace, wanted) == path
    assert find_minutes(workspace, path) == path


def test_of_several_the_newest_is_meant(workspace: Workspace) -> None:
    keep(workspace, "2026-02-08-a-bot.md")
    older = Path(keep(workspace, "z-older.md"))
    for path in (older, older.with_suffix(".json")):
        path.write_text(path.read_text("utf-8").replace("2026-02-08", "2025-02-08"), "utf-8")
    assert find_minutes(workspace, "active").endswith("2026-02-08-a-bot.md")
    later = soft_debate()
    later.state.finished_at = later.now.replace(hour=23)
    path = Path(workspace.minutes) / "2026-02-08-0-later.md"
    write(path, later.state, START)
    assert find_minutes(workspace, "active") == str(path)


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("wanted", ["../secret.md", "conseils/../secret.md", "/etc/passwd"])
def test_a_path_out_of_the_folder_is_refused(workspace: Workspace, wanted: str) -> None:
    keep(workspace, "2026-02-08-a-bot.md")
    (Path(workspace.root) / "secret.md").write_text("secret")
    with pytest.raises(RefusedError):
        find_minutes(workspace, wanted)


@pytest.mark.req("XC-009")
def test_a_link_out_of_the_folder_is_refused(workspace: Workspace) -> None:
    outside = Path(workspace.root) / "secret.md"
    outside.write_text(Path(keep(workspace, "2026-02-08-a-bot.md")).read_text(encoding="utf-8"))
    (Path(workspace.minutes) / "link.md").symlink_to(outside)
    with pytest.raises(CouncilError):
        minutes_text(find_minutes(workspace, "conseils/link.md"))
    with pytest.raises(CouncilError):
        archived_conversation(workspace, "link")


def test_what_is_not_there_is_not_found(workspace: Workspace) -> None:
    for wanted in ("nothing", "", "conseils/nothing.md"):
        with pytest.raises(NotFoundError):
            find_minutes(workspace, wanted)
    Path(workspace.minutes).rmdir()
    assert minutes_files(workspace) == []


def test_a_file_that_keeps_no_conversation_is_named(workspace: Workspace) -> None:
    path = Path(workspace.minutes) / "bare.md"
    path.write_text("---\nname: bare\n---\n\n# Bare\n")
    with pytest.raises(InvalidStateError, match=r"bare\.md: no state"):
        archived_conversation(workspace, "bare")
    path.write_bytes(b"---\nname: bare\n---\n\xff")
    with pytest.raises(InvalidStateError, match="not UTF-8"):
        archived_conversation(workspace, "bare")


@pytest.mark.req("HR-027", "XC-013")
def test_minutes_of_an_older_version_still_give_their_conversation(workspace: Workspace) -> None:
    for minutes in sorted(GOLDEN.glob("*/conseils/*.md")):
        path = Path(workspace.minutes) / minutes.name
        for one in (minutes, minutes.with_suffix(".json")):  # the first versions had no data beside
            if one.exists():
                path.with_suffix(one.suffix).write_bytes(one.read_bytes())
        assert archived_at(str(path)).entries
        assert facts(str(path))["procedure"] in ("council", "deliberation")


@pytest.mark.req("HR-027")
def test_minutes_whose_data_are_gone_or_of_another_say_so(workspace: Workspace) -> None:
    path = Path(keep(workspace, "a-bot.md"))
    beside = path.with_suffix(".json")
    kept = beside.read_text("utf-8")
    for wrong in (kept.replace("1f0e7c1a", "2f0e7c1a"), ""):
        beside.write_text(wrong, "utf-8")
        with pytest.raises(InvalidStateError, match=r"its data file a-bot\.json"):
            archived_at(str(path))
    outside = path.read_text("utf-8").replace("data: a-bot", "data: ../a-bot")
    path.write_text(outside, "utf-8")
    beside.rename(Path(workspace.root) / "a-bot.json")
    with pytest.raises(InvalidStateError):
        archived_at(str(path))


def test_a_conversation_comes_back_with_its_texts(workspace: Workspace) -> None:
    path = keep(workspace, "2026-02-08-a-bot.md")
    state, found = archived_conversation(workspace, "a-bot")
    assert (state, found) == (soft_debate().state, path)
