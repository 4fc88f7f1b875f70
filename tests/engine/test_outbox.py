"""What is said while the database is out of reach: it is kept, and lands once, or late.

Source: EN-005.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engine import losing
from tests.engine.links import linked
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.pairs import tables_holding, told
from tests.engine.servers import Server, free_port
from tests.engine.test_cut_nets import held
from tests.operations.tables import until

pytestmark = [pytest.mark.engine, pytest.mark.req("EN-005")]

_KEPT = 7
_LATE = 4


@pytest.fixture
def primary(another: Callable[..., Server]) -> Server:
    """A server that a test may stop."""
    return another()


@pytest.fixture
def two(primary: Server, machines: Maker) -> Machines:
    """Two machines and a council of two people, in its first round."""
    council = machines(2, primary.url())
    council[0].do("convene", "Tea?", "--people", "owl,fox", "--open")
    council[1].do("engine", "pull")
    return council


@contextmanager
def out_of_reach(machine: Machine) -> Iterator[None]:
    """The database is out of reach for this machine alone."""
    settings = machine.root / "council.toml"
    before = settings.read_text()
    away = re.sub(r":\d+/", f":{free_port('127.0.0.1')}/", before)
    assert away != before
    settings.write_text(away)
    try:
        yield
    finally:
        settings.write_text(before)


def control(machine: Machine) -> Path:
    return machine.root / "memory" / "shared" / ".council"


def waiting(machine: Machine) -> list[Path]:
    found = control(machine).glob("outbox/*.waiting/*.*.*")
    return sorted(one for one in found if one.suffix != ".refused")


def seen(machine: Machine) -> dict[str, Any]:
    machine.do("engine", "pull")
    return json.loads(machine.do("show", "--json").out)  # type: ignore[no-any-return]


def said(machine: Machine) -> list[tuple[str, int, str]]:
    """Return agent, round and text of each contribution and each word of a person."""
    shown = seen(machine)
    return [
        (one["agent"], one["tour"], one["text"])
        for one in [*shown["contributions"], *shown["guidance"]]
    ]


def sent(machine: Machine) -> list[str]:
    """Return what became of what waited, by the events."""
    return [one["data"]["outcome"] for one in told(machine.place, "kept.sent")]


def make_older(machine: Machine, seconds: float) -> None:
    """Let the replica have been brought that much earlier."""
    mark = control(machine) / "pulled"
    found = json.loads(mark.read_text())
    then = time.time() - seconds
    mark.write_text(json.dumps({**found, "at": then}))
    os.utime(mark, (then, then))


def test_an_answer_is_kept_while_the_database_is_away_and_lands_once(
    primary: Server, two: Machines
):
    primary.stop()
    kept = two[1]("respond", "--as", "owl", "Yes, tea.", "--json")
    told = json.loads(kept.out)
    assert (kept.code, told["outcome"]) == (_KEPT, "kept")
    assert [str(one) for one in waiting(two[1])] == [told["file"]]
    assert Path(told["file"]).stat().st_mode & 0o777 == 0o600
    again = two[1]("respond", "--as", "owl", "Yes, tea.")
    assert (again.code, len(waiting(two[1]))) == (_KEPT, 1)
    assert told["file"] in again.err
    two[1]("heartbeat")
    assert len(waiting(two[1])) == 1
    primary.start()
    make_older(two[1], 2)
    missed = Path(f"{two[1].place.paths.pulled}.missed")
    missed.write_text(str(time.time() - 1))  # a command has found it away just now
    two[1].do("heartbeat")
    assert waiting(two[1]) == []
    assert "engine-away" not in two[1].do("status", "--problems").out
    assert [said(one) for one in two] == [[("owl", 1, "Yes, tea.")]] * 2
    assert sent(two[1]) == ["recorded"]


def test_it_lands_in_no_later_round(two: Machines):
    with out_of_reach(two[1]):
        assert two[1]("respond", "--as", "owl", "Yes, tea.").code == _KEPT
        two[0].do("respond", "--as", "fox", "No.")
        two[0].do("heartbeat", now="2099-01-01T00:00:00Z")
    assert seen(two[0])["tour"] > 1
    two[1].do("heartbeat")
    assert waiting(two[1]) == []
    for one in two:
        assert said(one) == [("fox", 1, "No.")]
        assert [late["text"] for late in seen(one)["late"]] == ["Yes, tea."]
    assert sent(two[1]) == ["late"]


def test_what_came_by_standard_input_is_kept_whole(primary: Server, two: Machines):
    text = "Yes — tea.\n\nIn cups.\n"
    primary.stop()
    assert two[1]("respond", "--as", "owl", "-", stdin=text).code == _KEPT
    assert two[1]("say", "-", stdin="Mind the time.").code == _KEPT
    primary.start()
    two[1].do("heartbeat")
    assert {one[2].strip() for one in said(two[0])} == {text.strip(), "Mind the time."}


def test_a_stated_vote_rooms_and_messages_wait_as_well(primary: Server, two: Machines):
    two[0].do("convene", "Rain?", "--name", "rain", "--procedure", "deliberation", *_PEOPLE)
    two[0].do("agent", "add", "owl")
    two[0].do("agent", "add", "cat")
    two[0].do("channel", "create", "chat", "weather", "--participants", "owl", "--as", "owl")
    two[0].do("engine", "pull")
    primary.stop()
    stated = ("--position", "It rains.", "--confidence", "4")
    for words in (
        ("respond", "--name", "rain", "--as", "fox", "I saw it.", *stated),
        ("channel", "post", "weather", "It rains.", "--as", "owl"),
        ("msg", "send", "--user", "Latest news?"),
        ("agent", "message", "--to", "cat", "--as", "owl", "--trace", "t1", "Remember."),
    ):
        kept = two[0](*words)
        assert kept.code == _KEPT, kept
    assert len(waiting(two[0])) == 4
    primary.start()
    two[0].do("heartbeat")
    assert waiting(two[0]) == []
    assert sent(two[0]) == ["recorded", "posted", "taken", "sent"]


_PEOPLE = ("--people", "owl,fox", "--open")


def test_a_commit_that_was_not_acknowledged_counts_once(two: Machines):
    killed = []
    for words in (("respond", "--as", "owl", "Yes, tea."), ("say", "Mind the time.")):
        lost = subprocess.run(
            [sys.executable, losing.__file__, *words],
            cwd=two[1].root,
            env=two[1].env(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert lost.returncode == _KEPT, lost
        [path] = waiting(two[1])
        killed.append((path, path.read_bytes()))
        two[1].do("heartbeat")
        assert waiting(two[1]) == []
    for path, data in killed:  # as after a sender that was killed before it took them away
        path.write_bytes(data)
    two[1].do("heartbeat")
    for one in two:
        texts = [text for _, _, text in said(one)]
        assert sorted(texts) == ["Mind the time.", "Yes, tea."]


def test_the_next_command_that_reaches_the_database_sends_it(two: Machines):
    with out_of_reach(two[1]):
        assert two[1]("say", "Mind the time.").code == _KEPT
    two[1].do("respond", "--as", "owl", "Yes, tea.")
    _wait_for(lambda: not waiting(two[1]))
    assert sorted(text for _, _, text in said(two[0])) == ["Mind the time.", "Yes, tea."]


def test_the_link_has_it_sent_when_the_database_is_back(primary: Server, two: Machines):
    with linked(two[1]):
        primary.stop()
        assert two[1]("respond", "--as", "owl", "Yes, tea.").code == _KEPT
        primary.start()
        _wait_for(lambda: not waiting(two[1]))
    assert said(two[0]) == [("owl", 1, "Yes, tea.")]


def test_what_is_refused_in_the_end_is_not_lost(two: Machines):
    with out_of_reach(two[1]):
        assert two[1]("respond", "--as", "owl", "Yes, tea.").code == _KEPT
        two[0].do("cancel")
        two[0].do("heartbeat")
    two[1].do("heartbeat")
    assert sent(two[1]) == ["refused"]
    told = two[1].do("status", "--problems").out
    assert "waited for the engine was refused" in told
    assert any("Yes, tea." in Path(two[1].root / one).read_text() for one in _paths(told))


def test_what_is_told_of_a_refusal_names_no_place_of_this_machine(primary: Server, two: Machines):
    with out_of_reach(two[1]):
        for words in (("respond", "--as", "owl", "Yes, tea."), ("say", "Mind the time.")):
            assert two[1](*words).code == _KEPT
        two[0].do("cancel")
        two[0].do("heartbeat")
    two[1].do("heartbeat")
    two[1].do("engine", "pull")
    assert sent(two[1]) == ["refused", "refused"]
    assert tables_holding(primary.url(), "kept.sent") == ["log"]
    assert tables_holding(primary.url(), str(two[1].root)) == []


def test_a_damaged_file_is_set_aside_and_named(two: Machines):
    with out_of_reach(two[1]):
        for words in ("Mind the time.", "Mind the gap."):
            assert two[1]("say", words).code == _KEPT
    first, _ = waiting(two[1])
    first.write_bytes(first.read_bytes()[:40])
    two[1].do("heartbeat")
    assert [text for _, _, text in said(two[0])] == ["Mind the gap."]
    assert waiting(two[1]) == []
    assert first.with_name(f"{first.name}.refused").stat().st_size == 40
    told = two[1].do("status", "--problems").out
    assert "it is damaged" in told and f"{first.name}.refused" in told


def test_what_a_repeated_command_has_done_is_passed_over(two: Machines):
    one = two[1]
    for words in (("agent", "add", "owl"), ("channel", "create", "chat", "weather", *_OWL)):
        one.do(*words)
    posted = ("channel", "post", "weather", "It rains.", "--as", "owl")
    with held(one, "respond", "--as", "fox", "No.") as holder:
        with out_of_reach(one):
            assert [one("say", "Mind the time.").code, one(*posted).code] == [_KEPT, _KEPT]
        sender = one.start("heartbeat")
        lock = waiting(one)[0].with_name("lock")
        _wait_for(lambda: lock.exists() and lock.read_bytes())
        one.do(*posted)
        assert len(waiting(one)) == 1
        holder.communicate("\n")
    out, err = sender.communicate()
    assert (sender.returncode, b"Traceback" in err) == (0, False), (out, err)
    _wait_for(lambda: not waiting(one))
    log = one.root / "memory/shared/channels/weather.jsonl"
    assert log.read_text().count("It rains.") == 1


_OWL = ("--participants", "owl", "--as", "owl")


def _paths(told: str) -> list[str]:
    return [one.strip(".,;") for one in told.split() if "/" in one]


def test_what_the_rules_refuse_is_not_kept(primary: Server, two: Machines):
    primary.stop()
    ran = two[1]("respond", "--as", "stranger", "Me too.")
    assert ran.code not in (0, _KEPT)
    assert waiting(two[1]) == []


@pytest.mark.parametrize("words", [("stop",), ("cancel",), ("pause",), ("extend", "1h")])
def test_what_steers_is_refused_and_changes_nothing(
    primary: Server, two: Machines, words: tuple[str, ...]
):
    before = seen(two[1])
    primary.stop()
    ran = two[1](*words)
    assert (ran.code, "try again" in ran.err) == (_KEPT, True), ran
    assert waiting(two[1]) == []
    primary.start()
    assert seen(two[1])["rev"] == before["rev"]


@pytest.mark.parametrize("words", [("status",), ("show",), ("list",), ("context", "--as", "owl")])
def test_reading_goes_on_and_says_its_age(primary: Server, two: Machines, words: tuple[str, ...]):
    primary.stop()
    assert two[1].do(*words).err == ""  # it was brought a moment ago
    make_older(two[1], 190)
    ran = two[1].do(*words)
    assert ran.out
    assert re.search(r"as of 3m\d*s? ago; the engine is not reached", ran.err)
    primary.start()
    make_older(two[1], 190)
    (control(two[1]) / "pulled.missed").unlink()
    assert two[1].do(*words).err == ""
    assert time.time() - json.loads((control(two[1]) / "pulled").read_text())["at"] < 60


def test_what_a_run_printed_is_recorded_when_the_database_is_back(
    primary: Server, machines: Maker, tmp_path: Path
):
    begun, go_on, ended = (tmp_path / name for name in ("begun", "go-on", "ended"))
    script = tmp_path / "owl.sh"
    waits = f"touch {begun}\nwhile [ ! -e {go_on} ]; do sleep 0.05; done\n"
    script.write_text(f'{waits}echo "Yes."\ntouch {ended}\n')
    (council,) = machines(1, primary.url())
    with (council.root / "council.toml").open("a") as settings:
        settings.write(f'\n[agents.owl]\nargv = ["/bin/sh", "{script}"]\n')
    council.do("convene", "Tea?", "--agents", "owl", "--people", "fox", "--open")
    _wait_for(begun.exists)
    primary.stop()
    go_on.touch()
    _wait_for(ended.exists)
    primary.start()
    _wait_for(lambda: ("owl", 1, "Yes.") in said(council))


def _wait_for(holds: Callable[[], object]) -> None:
    until(holds, "what was kept comes through")


def test_a_heartbeat_says_once_that_the_engine_is_away(primary: Server, two: Machines):
    primary.stop()
    make_older(two[1], 190)
    assert two[1].do("heartbeat").err.count("the engine is not reached") == 1
    primary.start()
