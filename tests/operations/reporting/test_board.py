"""The board that the heartbeat keeps: right after each change, untouched without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import Attempt, Exchange, Hop, Question, Task
from council.operations.conversations.answer import respond
from council.operations.conversations.steer import cancel, pause
from council.operations.reporting.board import is_fresh, render_board
from council.operations.rooms import channels
from council.store.paths import Workspace
from council.store.protocol.context_outbox import Change
from council.store.protocol.contexts import Contexts
from tests.operations.tables import FOUR, NOW, Table, script

MINUTE = timedelta(minutes=1)
AGO_NS = 60 * 10**9
BY_HAND: dict[str, dict[str, object]] = {agent: {} for agent in FOUR}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path).seat(BY_HAND)


def board(table: Table) -> str:
    return Path(table.place.paths.board).read_text(encoding="utf-8")


def rows(table: Table) -> list[list[str]]:
    found = [line.split("|") for line in board(table).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row[1:-1]] for row in found if row[1].strip() != "what"]


def age(table: Table) -> None:
    """Let everything seem to have been there for a minute, the board found right just now."""
    now_ns = time.time_ns()
    board_file = table.place.paths.board
    for path in [table.root, *table.root.rglob("*")]:
        at = now_ns if str(path) == board_file else now_ns - AGO_NS
        os.utime(path, ns=(at, at), follow_symlinks=False)


@pytest.mark.req("P8-006")
def test_board_names_the_conversation_and_who_owes_it_an_answer(table: Table):
    table.convene(topic="Shall we build it?")
    respond(table.place, "active", "nova", "Yes.")

    table.beat(MINUTE)

    times = ["2026-02-08T20:00:00Z", "2026-02-08T21:00:00Z"]
    assert rows(table) == [
        ["active: Shall we build it?", "COLLECT, round 1", "blaise", *times],
        ["", "", "henry", *times],
        ["", "", "sage", *times],
    ]


@pytest.mark.req("P8-006", "XC-007")
@pytest.mark.parametrize("aged", [True, False])
def test_board_stays_the_same_file_while_nothing_changes(table: Table, aged: bool):
    table.convene()
    table.beat()
    before = os.stat(table.place.paths.board)
    if aged:
        age(table)

    for later in (MINUTE, 2 * MINUTE):
        table.beat(later)
        after = os.stat(table.place.paths.board)
        assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)


@pytest.mark.req("P8-006")
def test_board_follows_each_change(table: Table):
    table.beat()
    assert "Nothing is open." in board(table)
    table.convene()
    table.beat()
    assert len(rows(table)) == 4
    pause(table.place, "active")
    table.beat()
    assert rows(table)[0][1:] == ["COLLECT, round 1, paused", "blaise", "2026-02-08T20:00:00Z", ""]
    cancel(table.place, "active")
    table.beat()
    assert "Nothing is open." in board(table)


@pytest.mark.req("P8-006")
def test_rooms_stand_on_the_board_with_who_has_the_floor(table: Table):
    channels.create(table.place, "chat", "hall", list(FOUR[:2]), by="", topic="Umbrellas")
    table.beat()
    assert [row[0] for row in rows(table)] == ["hall: Umbrellas"]
    assert rows(table)[0][2] == "", "nobody owes anything before something is said"
    channels.post(table.place, "hall", "tom", "Hello?")
    table.beat(MINUTE)
    ((what, _stands, speaker, since, until),) = rows(table)
    assert what == "hall: Umbrellas"
    assert speaker in FOUR[:2]
    assert since < until


@pytest.mark.req("P8-006")
def test_tasks_stand_on_the_board_with_their_workers_and_the_user(table: Table):
    later = NOW + MINUTE
    asked = Attempt(number=1, worker="W1", state=TaskState.R, at=NOW, asked=1, ends_at=later)
    idle = asked.copy(worker="W2", asked=0)
    question = Question(message=2, text="Which one?", asked_at=NOW)
    hops = [
        Hop(number=number, source="O1", attempts=[one]) for number, one in ((1, asked), (2, idle))
    ]
    task = Task(id="T1", state=TaskState.R, at=NOW, created_at=NOW, hops=hops, questions=[question])

    def first(context: str) -> Change:
        exchange = Exchange(
            context=context,
            request="Sum up the forecasts",
            opened_at=NOW,
            updated_at=NOW,
            kept_open=True,
            tasks={"T1": task},
        )
        return Change(exchange=exchange)

    Contexts(table.place.paths).open(first, NOW)
    render_board(table.place, NOW)

    assert rows(table) == [
        ["S1: Sum up the forecasts", "open", "User", "2026-02-08T20:00:00Z", ""],
        ["", "", "W1", "2026-02-08T20:00:00Z", "2026-02-08T20:01:00Z"],
    ]


@pytest.mark.req("P8-006", "DL-100")
def test_anonymous_names_stay_hidden_on_the_board(table: Table):
    table.convene(procedure="deliberation", anonymous=True, agents=FOUR[:3])
    table.beat()
    assert rows(table)
    assert all(row[2] == "one who stays anonymous" for row in rows(table))
    assert not any(agent in board(table) for agent in FOUR[:3])


@pytest.mark.req("P8-006", "XC-012")
def test_board_speaks_the_language_of_the_workspace(table: Table):
    table.seat(BY_HAND, language="fr")
    table.convene()
    table.beat()
    assert "COLLECT, tour 1" in board(table)


def test_board_that_was_removed_or_overwritten_comes_back(table: Table):
    table.convene()
    table.beat()
    good = board(table)
    os.unlink(table.place.paths.board)
    table.beat()
    assert board(table) == good
    Path(table.place.paths.board).write_text("mine")
    respond(table.place, "active", FOUR[0], "Yes.")
    table.beat()
    assert board(table) != "mine" and len(rows(table)) == 3


def test_conversation_that_cannot_be_read_hides_no_other(table: Table):
    table.convene(name="good")
    table.convene(name="bad")
    live = table.live("bad")
    live.unlink()
    live.mkdir()
    render_board(table.place, NOW)
    assert [row[:2] for row in rows(table) if row[0].startswith("bad")] == [
        ["bad", "cannot be read; see: council doctor"]
    ]
    assert any(row[0].startswith("good") for row in rows(table))


@pytest.mark.req("P8-006", "XC-007")
def test_idle_heartbeat_neither_opens_nor_loads_anything_for_the_board(table: Table):
    table.convene()
    table.beat()
    age(table)
    assert is_fresh(table.place)
    code = "import sys; from council.__main__ import run; run(['heartbeat']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=table.root,
        env={**table.environ, "COUNCIL_NOW": NOW.isoformat()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "council.operations.reporting.board_lines" not in done.stdout
    table.live().touch()
    assert is_fresh(table.place), "a touch in place is the matter of the heartbeat"
    (table.root / "memory/shared/new").touch()
    assert not is_fresh(table.place)


def test_settings_that_changed_are_taken_notice_of(table: Table):
    table.beat()
    age(table)
    assert is_fresh(table.place)
    (table.root / "council.toml").touch()
    assert not is_fresh(table.place)


# --- a crowd -----------------------------------------------------------------------------------


@pytest.fixture
def crowd(tmp_path: Path) -> Table:
    from benchmarks.crowds import make_idle

    root = tmp_path / "crowd"
    root.mkdir()
    table = Table(root)
    make_idle(root, 40, now=NOW)
    table.beat()
    return table


def _opened(table: Table, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Render the board; return the conversations that were opened for it."""
    seen: list[str] = []
    place = table.place
    real = place.conversations.read

    def read(name: str):
        seen.append(name)
        return real(name)

    monkeypatch.setattr(place.conversations, "read", read)
    render_board(place, NOW)
    return seen


@pytest.mark.req("P8-006")
def test_one_change_in_a_crowd_opens_one_conversation(crowd: Table, monkeypatch):
    assert len(rows(crowd)) >= 40
    age(crowd)
    os.unlink(crowd.place.paths.board)
    render_board(crowd.place, NOW)
    name = sorted(crowd.place.conversations.names())[7]
    agent = next(iter(crowd.read(name).participants))
    respond(crowd.place, name, agent, "Yes.")
    before = board(crowd)

    assert _opened(crowd, monkeypatch) == [name]
    changed = set(before.splitlines()) ^ set(board(crowd).splitlines())
    assert changed


@pytest.mark.req("P8-006", "OP-001")
def test_one_change_in_a_crowd_of_contexts_opens_one_of_them(table: Table, monkeypatch):
    store = Contexts(Workspace(str(table.root)))
    for number in range(1, 41):
        opened = Exchange(context=f"S{number}", request="A plan", opened_at=NOW, updated_at=NOW)
        store.open(lambda _, opened=opened: Change(exchange=opened), NOW)
    table.beat()
    age(table)
    os.unlink(table.place.paths.board)
    render_board(table.place, NOW)
    store.edit("S7", lambda one: Change(exchange=one.copy(request="Another plan")), NOW)
    seen: list[str] = []
    real = Contexts.read

    def read(contexts: Contexts, context: str):
        seen.append(context)
        return real(contexts, context)

    monkeypatch.setattr(Contexts, "read", read)
    render_board(table.place, NOW)
    assert seen == ["S7"]
    assert board(table).count("Another plan") == 1


def test_look_at_a_file_that_was_just_changed_is_not_trusted(crowd: Table, monkeypatch):
    for name in crowd.place.conversations.names():
        crowd.live(name).touch()
    os.unlink(crowd.place.paths.board)
    render_board(crowd.place, NOW)

    os.unlink(crowd.place.paths.board)
    assert len(_opened(crowd, monkeypatch)) >= 40


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('"version":"', '"version":"9'),
        lambda text: json.dumps({**json.loads(text), "lines": 3}),
        lambda text: json.dumps(
            {
                **json.loads(text),
                "lines": {key: [one[0], [1]] for key, one in json.loads(text)["lines"].items()},
            }
        ),
    ],
)
def test_note_that_is_damaged_is_not_used(crowd: Table, damage):
    note = Path(crowd.place.paths.control, "board.json")
    good = board(crowd)
    note.write_text(damage(note.read_text()))
    age(crowd)
    now_ns = time.time_ns()
    os.utime(note, ns=(now_ns, now_ns))
    os.unlink(crowd.place.paths.board)

    assert render_board(crowd.place, NOW)
    assert board(crowd) == good


def test_few_are_not_noted(table: Table):
    table.convene()
    table.beat()
    assert not Path(table.place.paths.control, "board.json").exists()


def test_board_is_where_the_settings_put_it(tmp_path: Path):
    (tmp_path / "council.toml").write_text('[paths]\nboard = "BOARD.md"\n')
    table = Table(tmp_path)
    table.beat()
    assert (tmp_path / "BOARD.md").is_file()
    assert Workspace(str(tmp_path)).board.endswith("memory/shared/BOARD.md")


def test_run_of_an_agent_that_answers_leaves_a_board_that_is_right(tmp_path: Path):
    from tests.operations.tables import all_is_quiet

    table = Table(tmp_path).seat({"henry": script("echo Yes."), "sage": {}})
    table.convene(agents=("henry", "sage"))
    all_is_quiet()
    assert {row[2] for row in rows(table)} == {"sage"}
