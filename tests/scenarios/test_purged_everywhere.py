"""After a purge no byte of what was purged is found, wherever it had got to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import at_rest, wait_until
from tests.operations.test_forget import everywhere

_BOSS = """cat >/dev/null
case "$COUNCIL_TASK_ID" in
*.split-*) printf -- '- [cook] boil the zebrafish\\n- [plan] plan around the zebrafish\\n' ;;
*) echo 'The zebrafish is served.' ;;
esac
"""
_OF_PEOPLE = ("council.toml", "boss.sh", "says.sh", "memory/shared/.council/settings-cache.json")


def _found(root: Path, *words: str) -> list[str]:
    return [path for path in everywhere(root, *words) if path not in _OF_PEOPLE]


@pytest.fixture
def busy(council):
    """A council, a room and a request that was split: runs that answer, that fail, and people."""
    root = council.root
    (root / "boss.sh").write_text(_BOSS)
    (root / "says.sh").write_text("cat >/dev/null; echo 'A zebrafish, I think.'\n")
    boss = json.dumps(["/bin/sh", str(root / "boss.sh")])
    says = json.dumps(["/bin/sh", str(root / "says.sh")])
    fails = json.dumps(["/bin/sh", "-c", f"sh {root / 'says.sh'} >&2; exit 3"])
    (root / "council.toml").write_text(
        f'schemaVersion = 1\nretry_backoff = ["1s", "1s"]\n'
        f'[agents.boss]\nargv = {boss}\nrole = "orchestrator"\n'
        f'[agents.fox]\nargv = {says}\ncapabilities = ["plan"]\n'
        f'[agents.cook]\nargv = {says}\ncapabilities = ["cook"]\n'
        f"[agents.hen]\nargv = {fails}\n"
    )
    steps = (
        ("agent", "join", "fox"),
        ("agent", "join", "cook"),
        ("convene", "Which zebrafish?", "--name", "quokka", "--agents", "fox,hen,owl", "--open"),
        ("respond", "--name", "quokka", "--as", "owl", "This zebrafish."),
        ("inject", "--name", "quokka", "Mind the zebrafish."),
        ("channel", "create", "chat", "narwhal", "--participants", "owl,fox", "--as", "owl"),
        ("channel", "post", "narwhal", "A zebrafish!", "--as", "owl"),
        ("msg", "send", "--user", "Zebrafish and a plan, please: zebrafish"),
    )
    for words in steps:
        done = council(*words)
        assert done.code == 0, (words, done.err)
    wait_until(lambda: (root / "memory/shared/protocol/answers/S1.md").exists())
    live = root / "memory/shared/council-quokka-conversation.md"
    live.write_text(live.read_text() + "\nA zebrafish in the margin.\n")
    assert council("heartbeat").code == 0
    at_rest(root)
    return council


@pytest.mark.long
@pytest.mark.req("OP-016", "XC-018")
def test_no_byte_of_a_council_a_room_and_a_split_request_is_left(busy):
    root: Path = busy.root
    runs = {path.name for path in (root / "memory/shared/.council/runs").glob("S1.*")}
    assert {one.split("-")[0] for one in runs} >= {"S1.split", "S1.compose"}, runs
    known = (root / "memory/shared/.council/open/quokka").read_text().strip()
    words = ("zebrafish", "Zebrafish", "quokka", "narwhal", known, known.replace("-", ""))
    assert len(_found(root, *words)) > 20
    for done in (
        busy("cancel", "--name", "quokka"),
        busy("purge", "quokka", "--yes"),
        busy("purge", "narwhal", "--yes"),
        busy("purge", "S1", "--yes"),
    ):
        assert done.code == 0, done.err
        assert "mention" not in done.out
    assert _found(root, *words) == []
    assert _found(root, '"S1"', "[S1]", "S1.") == []
    assert busy("heartbeat").code == 0
    at_rest(root)
    assert _found(root, *words) == []
