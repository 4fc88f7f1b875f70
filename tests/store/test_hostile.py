"""Hostile surroundings and salvage: the cases of the store that no other test here shows.

The others: names, `..`, links on the way, pipes and devices, network file
systems (`test_files.py`), the mode of the file, a failing disk, an emptied,
cut, deleted, altered or hand-written file, a torn, altered or lost journal, a
damaged snapshot (`test_conversations.py`), a broken, missing or double state
block and lost marks (`test_edits.py`), forked children (`test_lock.py`), a
full disk and no inodes (`tests/faults/test_small_disks.py`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.store.rooms.samples import CONVERSATION_ID, Room

SOMEBODY = 4242


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_the_live_file_is_kept(tmp_path: Path) -> None:
    room = Room(tmp_path).open()
    os.chown(room.live, SOMEBODY, SOMEBODY)
    room.answer("henry")
    facts = room.live.stat()
    assert (facts.st_uid, facts.st_gid) == (SOMEBODY, SOMEBODY)


@pytest.mark.req("C0-001")
@pytest.mark.parametrize("lost", ["revisions.jsonl", "."])
def test_doctor_repairs_a_lost_history_and_says_so(council, lost: str) -> None:
    opened = council("convene", "Shall we?", "--agents", "henry,sage", "--open", "--json").json()
    assert council("respond", "--as", "henry", "Yes.").code == 0
    folder = council.root / "memory/shared/.council" / opened["conversationId"]
    lost_path = folder if lost == "." else folder / lost
    lost_path.rename(council.root / "gone")

    council("doctor", "--repair")

    assert council("check").code == 0
    (said,) = council("show", "--json").json()["contributions"]
    assert said["text"] == "Yes."
    events = council("events", "tail", "--json").out
    assert "history.lost" in events
    assert council("respond", "--as", "sage", "No.").code == 0
    assert council("check").code == 0


def test_a_stray_folder_among_ours_is_no_conversation(tmp_path: Path) -> None:
    room = Room(tmp_path).open()
    stray = room.folder.parent / "not a conversation"
    stray.mkdir()
    (stray / "revisions.jsonl").write_text("{}")
    from council.store.conversations.closing import folders

    assert [one for one, _ in folders(room.workspace)] == [CONVERSATION_ID]
