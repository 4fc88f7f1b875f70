"""What goes of contexts that are over: by age, and never more than may go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from council.core.errors import NotFoundError
from council.core.protocol.exchange import ContextStatus, Exchange
from council.store.paths import Workspace
from council.store.protocol.context_outbox import Change
from council.store.protocol.context_pruning import over_before, prune
from council.store.protocol.contexts import Contexts
from tests.store.processes import at_call, die, forked, status_of

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Contexts:
    return Contexts(Workspace(str(tmp_path)))


def made(store: Contexts, **fields: object) -> str:
    def first(context: str) -> Change:
        return Change(exchange=Exchange(context=context, opened_at=NOW, updated_at=NOW, **fields))

    return store.open(first, NOW).exchange.context


def over(store: Contexts, at: datetime = NOW, answer: str = "", **fields: object) -> str:
    """Return a context that is over, with two files of its runs."""
    context = made(store, **fields)

    def close(exchange: Exchange) -> Change:
        closed = exchange.copy(status=ContextStatus.CLOSED, closed_at=at)
        return Change(exchange=closed, answer=answer)

    store.edit(context, close, at)
    runs = Path(store.workspace.runs)
    runs.mkdir(parents=True, exist_ok=True)
    (runs / f"{context}.1.W1.1.log").write_text("it said this")
    (runs / f"{context}.1.W1.1.prompt.md").write_text("do that")
    return context


def pruned(store: Contexts, before: datetime = LATER) -> list[str]:
    found, wrong = over_before(store.workspace, before)
    assert wrong == []
    assert prune(store.workspace, found) == []
    return [one.context for one in found]


def files_of(store: Contexts, context: str) -> list[str]:
    root = Path(store.workspace.root)
    names = (f"{context}.*", context)
    return sorted({str(one.relative_to(root)) for name in names for one in root.rglob(name)})


@pytest.mark.req("XC-018")
def test_of_a_context_that_is_over_its_answer_stays_and_nothing_else(store: Contexts):
    old, new, open_one = over(store, answer="yes\n"), over(store, LATER), made(store)
    before = [files_of(store, one) for one in (new, open_one)]

    found, _ = over_before(store.workspace, LATER - timedelta(seconds=1))
    assert [(one.context, one.closed_at, one.count) for one in found] == [(old, NOW, 3)]
    assert found[0].total_bytes > 100
    assert len(files_of(store, old)) == 6, "a look changes nothing"
    assert pruned(store, LATER - timedelta(seconds=1)) == [old]

    assert files_of(store, old) == [f"memory/shared/protocol/answers/{old}.md"]
    assert [files_of(store, one) for one in (new, open_one)] == before
    with pytest.raises(NotFoundError, match=r"S1 was pruned; its answer stands in .*answers/S1.md"):
        store.read(old)


@pytest.mark.req("XC-018")
def test_the_files_of_runs_of_another_context_that_begins_alike_stay(store: Contexts):
    contexts = [over(store, LATER) for _ in range(11)]
    first = over(store)
    assert (contexts[1], first) == ("S2", "S12")

    assert pruned(store, NOW) == [first]

    assert all(len(files_of(store, one)) == 5 for one in contexts)


@pytest.mark.req("XC-018", "PR-571")
@pytest.mark.parametrize("lost", [False, True])
def test_no_number_is_given_twice_even_where_the_note_of_the_next_one_is_lost(
    store: Contexts, lost: bool
):
    last = [over(store, answer="yes"), over(store)][-1]
    counter = Path(store.workspace.protocol) / ".told/next"
    counter.write_text("1")  # what a power cut has left of it
    pruned(store)
    if lost:
        counter.unlink()
        last = "S1"  # the only one that anything is known of

    assert made(store) == f"S{int(last[1:]) + 1}"
    with pytest.raises(Exception, match="there is a context S1"):
        store.open(lambda _: Change(exchange=Exchange()), NOW, context="S1")


@pytest.mark.req("XC-018", "PR-644")
@pytest.mark.parametrize("is_over", [False, True])
def test_one_that_goes_on_elsewhere_stays_until_that_is_over(store: Contexts, is_over: bool):
    last = over(store) if is_over else made(store)
    middle = over(store, successor=last)
    first = over(store, successor=middle)

    assert set(pruned(store)) == ({first, middle, last} if is_over else set())
    assert pruned(store) == []


@pytest.mark.req("XC-001", "XC-018")
def test_what_others_are_still_to_be_told_of_a_context_is_told_before_it_goes(store: Contexts):
    context = over(store, answer="yes\n")
    Path(store.answer_path(context)).unlink()
    (Path(store.workspace.protocol) / ".told" / context).unlink()

    assert pruned(store) == [context]

    assert store.answer(context) == "yes"


@pytest.mark.req("XC-018")
def test_one_that_is_broken_stays_and_is_told_and_stops_no_other(store: Contexts):
    broken, sound = over(store), over(store)
    Path(store.closed_files(broken)[0]).write_text("{}")

    found, wrong = over_before(store.workspace, LATER)

    assert [one.context for one in found] == [sound]
    assert [name for name, _ in wrong] == [broken]


@pytest.mark.req("XC-001", "XC-018")
def test_killed_at_any_call_to_the_disk_it_is_gone_on_with_and_leaves_nothing(tmp_path: Path):
    number, died = 0, True
    while died:
        number += 1
        store = Contexts(Workspace(str(tmp_path / str(number))))
        context = over(store, answer="yes\n")

        def killed(store: Contexts = store, number: int = number) -> None:
            at_call(number, die)
            pruned(store)

        died = status_of(forked(killed)) != 0
        pruned(store)
        left = [one for one in files_of(store, context) if "/.locks/" not in one]
        assert left == [f"memory/shared/protocol/answers/{context}.md"]
        assert store.answer(context) == "yes"
        assert made(store) == "S2"
    assert number > 8
