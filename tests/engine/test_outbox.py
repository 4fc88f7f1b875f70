"""What is said while the database is out of reach: it is kept, and lands once, or late.

Source: EN-005.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.servers import Server

pytestmark = pytest.mark.engine

KEPT = 7


@pytest.fixture
def primary(server: Server) -> Iterator[Server]:
    """A server that a test may stop."""
    assert server.process is not None
    with closing(Server()) as made:
        yield made


@pytest.fixture
def two(primary: Server, machines: Maker) -> Machines:
    """Two machines with a council of two agents who answer by hand, in its first round."""
    council = machines(2, primary.url())
    council[0].do("convene", "Tea?", "--people", "owl,fox", "--open")
    council[1].do("engine", "pull")
    return council


def waiting(machine: Machine) -> list[Path]:
    return sorted(machine.root.glob("memory/shared/.council/outbox/*.waiting/*.*.*"))


def said(machine: Machine, name: str = "active") -> list[tuple[str, str, str]]:
    """Return agent, kind and text of each contribution."""
    shown = json.loads(machine.do("show", name, "--json").out)
    return [(one["agent"], one["kind"], one["text"]) for one in shown["contributions"]]


@pytest.mark.req("EN-005")
def test_an_answer_is_kept_while_the_database_is_away_and_lands_once(
    primary: Server, two: Machines
):
    primary.stop()
    kept = two[1]("respond", "--as", "owl", "Yes, tea.", "--json")
    print(kept)
    assert kept.code == KEPT
    again = two[1]("respond", "--as", "owl", "Yes, tea.")
    print(again)
    assert len(waiting(two[1])) == 1
    primary.start()
    print(two[1]("heartbeat"))
    two[0].do("engine", "pull")
    print(two[0].do("show", "--json"))
    assert 0
