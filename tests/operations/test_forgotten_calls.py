"""Forgetting what was delegated: with its conversation for good, by itself by age."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.errors import ConflictError
from council.operations.forget import gc, purge
from tests.operations.calls import REPEATS, CallTable, call_table, calls
from tests.operations.tables import all_is_quiet, until

SECRET = "violet-heron"
# An agent is a line of shell here, and so its words stand in the settings as well.
SETTINGS = ("council.toml", "settings-cache.json")
TELLS = f'cat >/dev/null; council agent message --to dan "{SECRET}"; ' + calls("cyd", SECRET)


def files_with(table: CallTable, text: str) -> list[str]:
    return [
        str(path.relative_to(table.root))
        for path in table.root.rglob("*")
        if path.is_file() and path.name not in SETTINGS and text.encode() in path.read_bytes()
    ]


@pytest.mark.req("XC-018")
def test_a_purged_conversation_takes_its_calls_and_messages_along(tmp_path: Path):
    table = call_table(tmp_path / "workspace", ann=TELLS, bob="", cyd=REPEATS, dan="")
    table.convene(agents=("ann", "bob"), phases=("collect",))
    all_is_quiet()
    table.message("dan", "another matter")
    conversation = table.read().conversation_id
    trace = conversation.replace("-", "")
    assert len(files_with(table, SECRET)) >= 5

    done = purge(table.place, conversation)

    assert files_with(table, SECRET) == []
    assert [one for one in files_with(table, trace) if "artifacts" not in one] == []
    assert any(one.endswith(f"{trace}.jsonl") for one in done.calls)
    said = [one for one in table.transcript("dan", "agent:dan:inbox") if "text" in one]
    assert [one["text"] for one in said] == ["another matter"]


def test_nothing_is_purged_while_a_call_is_under_way(tmp_path: Path):
    waits = 'cat >/dev/null; until [ -e "$COUNCIL_ROOT/go" ]; do sleep 0.02; done; echo Done.'
    table = call_table(tmp_path / "workspace", ann=calls("cyd"), bob="", cyd=waits)
    table.convene(agents=("ann", "bob"), phases=("collect",))
    until(table.has("agent.call.start"), "the call began")

    with pytest.raises(ConflictError, match="under way"):
        purge(table.place, table.read().conversation_id)

    (table.root / "go").touch()
    all_is_quiet()
    purge(table.place, table.read().conversation_id)


def test_old_ledgers_go_by_age(tmp_path: Path):
    table = call_table(tmp_path / "workspace", sage=REPEATS)
    table.call("sage", trace="old")
    table.call("sage", "again", trace="new")
    folder = table.root / "memory/shared/.council/delegation/traces"
    past = table.now.timestamp() - 100 * 86400
    os.utime(folder / "old.jsonl", (past, past))
    os.utime(folder / "new.jsonl", (table.now.timestamp(),) * 2)

    dry = gc(table.place, timedelta(days=30), dry_run=True)
    assert (folder / "old.jsonl").exists()
    done = gc(table.place, timedelta(days=30))

    assert dry.orphaned == done.orphaned
    assert not (folder / "old.jsonl").exists()
    assert (folder / "new.jsonl").exists()
