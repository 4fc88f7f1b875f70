"""The commands by which the README and docs/engine.md bring in a second machine are played."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import HOUSE, blocks
from tests.engine.links import linked
from tests.engine.machines import Machine

pytestmark = pytest.mark.engine

ADDRESS = "postgresql://council@db.example/council"


@pytest.mark.req("EN-002", "EN-003", "XC-011")
def test_two_commands_bring_a_second_machine_in(database: str, folder: Path):
    first, second = (Machine(folder / name, name, database) for name in ("first", "second"))
    page = [words for kind, words, _ in blocks("docs/engine.md") if kind == "console"]
    verbs = ("council engine init", "council engine join", "council link")
    begins, joins, links = (
        next(one for one in page if one.startswith(verb)).replace(ADDRESS, database).split()[1:]
        for verb in verbs
    )
    readme = (HOUSE / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"there: `council (engine join) URL`, then `council (link)`", readme)
    assert shown is not None
    assert (" ".join(joins[:2]), " ".join(links)) == shown.groups()

    first.do("init", "--agents", "a,b")
    first.do("convene", "Where?", "--agents", "a,b", "--people", "a,b", "--open")
    first.do(*begins)
    (second.root / "memory/shared").rmdir()
    (second.root / "memory").rmdir()
    second.do(*joins)

    with linked(second):
        second.do("respond", "--as", "a", "From the second machine.")
    first.do("engine", "pull")
    assert "From the second machine." in first.watched().live.read_text()
