"""Agents and people at once: no words are lost, nothing stands twice, no one starves."""

from __future__ import annotations

import fcntl
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from council.core.errors import InvalidStateError
from council.core.ids import sha256_hex
from council.store.documents import journal
from council.store.documents.journal import Past
from council.store.statefile.merging import saved_text
from tests.faults import bad_stores
from tests.faults.invariants import Expected
from tests.faults.ledger import Ledger
from tests.faults.rooms import Diary, Room, text_of, timed, together

PART = "races and order"
_AGENTS = 3
_RACES = 5
_WRITERS = 32
_LONGEST_S = 15.0
_HOWS = ("by rename", "in place", "slowly in two steps")

pytestmark = pytest.mark.faults


class Editor:
    """A person who adds lines to the live file, again and again.

    Args:
        room: Where.
        name: Whose words they are.
        how: How the editor saves.
        diary: Takes the words of each save.
        turns: A file whose lock editors hold from reading until their save was
            seen; None saves over whatever another person has just saved.
    """

    def __init__(self, room: Room, name: str, how: str, diary: Diary, turns: Path | None) -> None:
        self.room, self.name, self.how = room, name, how
        self.diary, self.turns = diary, turns
        self.live = room.watched.live

    def work(self, saves: int) -> None:
        chance = random.Random(self.name)
        for number in range(saves):
            words = f"Note {number} by {self.name}."
            if self.turns is None:
                self._save(words)
            else:
                with self.turns.open() as held:
                    fcntl.flock(held, fcntl.LOCK_EX)
                    self._save(words)
                    self._wait_until_seen()
            self.diary.write(kind="saved", words=words)
            time.sleep(chance.uniform(0, 0.02))

    def _save(self, words: str) -> None:
        while not (text := self.live.read_text(encoding="utf-8")).endswith("-->\n"):
            time.sleep(0.001)  # another person is just writing: no one edits half a file
        first, _, rest = text.partition("\n")
        text = f"{first}\n\n{words}\n{rest}"
        if self.how == "by rename":
            draft = self.live.with_name(f".{self.name}.draft")
            draft.write_text(text, encoding="utf-8")
            draft.rename(self.live)
            return
        with self.live.open("w", encoding="utf-8") as file:
            half = len(text) // 2 if self.how == "slowly in two steps" else len(text)
            file.write(text[:half])
            file.flush()
            if half < len(text):
                time.sleep(0.015)
            file.write(text[half:])

    def _wait_until_seen(self) -> None:
        """Wait until some command has taken notice; when none comes by, be the one."""
        mine = sha256_hex(self.live.read_bytes())
        ends_at = time.monotonic() + 0.2
        while time.monotonic() < ends_at:
            last = journal.read_tail(self.room.watched.places.journal)
            standing = sha256_hex(self.live.read_bytes())
            if last is not None and standing == last.head["digest"] != mine:
                return
            time.sleep(0.005)
        self.room.touch()


def race(
    folder: Path,
    ledger: Ledger,
    answers: int,
    saves: int,
    *,
    in_turn: bool,
    worse: Callable[[], object] | None = None,
) -> None:
    """Let three agents answer for many seats while three people edit."""
    agents = [f"a{number}" for number in range(_AGENTS * answers)]
    room = Room(folder / "workspace", [*agents, "last"]).open()
    diary = Diary(folder / "diary")
    turns = folder / "turns"
    turns.touch()

    def agent(mine: list[str]) -> Callable[[], None]:
        def work() -> None:
            if worse is not None:
                worse()
            for one in mine:
                timed(diary, one, lambda one=one: room.answer(one))

        return work

    def person(number: int) -> Callable[[], None]:
        def work() -> None:
            if worse is not None:
                worse()
            shared = turns if in_turn else None
            Editor(room, f"p{number}", _HOWS[number], diary, shared).work(saves)

        return work

    ended = together(
        [agent(agents[n::_AGENTS]) for n in range(_AGENTS)]
        + [person(n) for n in range(len(_HOWS))],
        folder / "said",
    )
    ledger.point(ended, "everybody")
    room.touch()
    room.touch()
    wrong = _told(room, diary, agents, in_turn=in_turn)
    for _ in diary.read():
        ledger.point([])
    ledger.point(wrong, "afterwards")
    ledger.point(out_of_order(diary), "order")


def _told(room: Room, diary: Diary, agents: list[str], *, in_turn: bool) -> list[str]:
    expected = Expected()
    for one in agents:
        expected.maybe[one, 1] = text_of(one)
    for one in diary.read():
        if one["kind"] == "done":
            expected.acknowledge(one["who"], 1, text_of(one["who"]))
    saved = [one["words"] for one in diary.read() if one["kind"] == "saved"]
    expected.edits = saved if in_turn else _seen(room, saved)
    return room.watched.settled(expected)


def _seen(room: Room, saved: list[str]) -> list[str]:
    """Return the words that were in any file which the store has ever read."""
    places = room.watched.places
    past = Past(places.journal)
    digests = [line.head["seen"] for line in past.lines if line.head.get("seen")]
    found = [saved_text(places, past, digest) or b"" for digest in digests]
    texts = [*found, *(past.text_at(at) for at in range(len(past.lines)))]
    return [words for words in saved if any(words.encode() in text for text in texts)]


def out_of_order(diary: Diary) -> list[str]:
    """Return each operation with a revision that is not above one acknowledged before it began."""
    done = [one for one in diary.read() if one["kind"] == "done"]
    by_end = sorted(done, key=lambda one: one["ended"])
    wrong, highest, at = [], (-1, ""), 0
    for one in sorted(done, key=lambda one: one["began"]):
        while at < len(by_end) and by_end[at]["ended"] < one["began"]:
            highest = max(highest, (by_end[at]["rev"], by_end[at]["who"]))
            at += 1
        if one["rev"] <= highest[0]:
            wrong.append(f"{one['who']} has revision {one['rev']}, before it were {highest}")
    return wrong


@pytest.mark.req("C0-077", "C0-078", "XC-001")
@pytest.mark.parametrize("in_turn", [True, False], ids=["people in turn", "people over each other"])
def test_three_people_and_three_agents_at_once_lose_nothing(
    tmp_path: Path, ledger: Ledger, every: int, in_turn: bool
):
    times = max(1, 2 // every)
    for number in range(times):
        place = tmp_path / str(number)
        place.mkdir()
        race(place, ledger, 40, 25, in_turn=in_turn)
    ledger.assert_clean()


def starve(
    folder: Path,
    ledger: Ledger,
    writers: int,
    worse: Callable[[], object] | None = None,
    longest_s: float = _LONGEST_S,
) -> float:
    """Let many answer at once; return the longest time that anybody waited, in seconds."""
    agents = [f"a{number}" for number in range(writers)]
    room = Room(folder / "workspace", [*agents, "last"]).open()
    diary = Diary(folder / "diary")

    def agent(name: str) -> Callable[[], None]:
        def work() -> None:
            if worse is not None:
                worse()
            timed(diary, name, lambda: room.answer(name))

        return work

    ended = together([agent(one) for one in agents], folder / "said")
    done = diary.read()
    longest = max(((one["ended"] - one["began"]) / 1e9 for one in done), default=longest_s)
    wrong = ended
    if longest >= longest_s:
        wrong.append(f"somebody waited {longest:.1f} s")
    for _ in done:
        ledger.point([])
    ledger.point(wrong, "everybody")
    ledger.point([*_told(room, diary, agents, in_turn=True), *out_of_order(diary)], "afterwards")
    return longest


@pytest.mark.req("XC-002", "C0-077")
def test_of_thirty_two_writers_nobody_starves(tmp_path: Path, ledger: Ledger):
    waits = []
    for number in range(3):
        place = tmp_path / str(number)
        place.mkdir()
        waits.append(starve(place, ledger, _WRITERS))
    ledger.note(f"the longest wait of {_WRITERS} writers at once: {max(waits) * 1000:.0f} ms")
    ledger.assert_clean()


@pytest.mark.parametrize(
    "worse",
    [
        bad_stores.locks_nothing,
        bad_stores.loses_edits,
        bad_stores.writes_in_place,
        bad_stores.reads_before_it_locks,
    ],
    ids=lambda one: one.__name__,
)
def test_bad_store_is_caught(tmp_path: Path, ledger: Ledger, worse: Callable[[], object]):
    caught, races = False, 0
    while not caught and races < _RACES:  # its processes may happen to come one after the other
        place, seen, races = tmp_path / str(races), Ledger(PART, ledger.title), races + 1
        place.mkdir()
        try:
            race(place, seen, 10, 8, in_turn=True, worse=worse)
            caught = bool(seen.wrong)
        except InvalidStateError:  # it has spoiled the journal itself
            caught = True
    ledger.bad_store(caught)
    assert caught


def test_store_in_which_writers_starve_is_caught(tmp_path: Path, ledger: Ledger):
    seen = Ledger(PART, ledger.title)
    starve(tmp_path, seen, 6, bad_stores.starves, longest_s=1.0)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong


def test_history_in_which_a_later_operation_has_a_smaller_revision_is_caught(
    tmp_path: Path, ledger: Ledger
):
    diary = Diary(tmp_path / "diary")
    diary.write(kind="done", who="a", began=1, ended=2, rev=7)
    diary.write(kind="done", who="b", began=3, ended=4, rev=6)
    ledger.bad_store(bool(out_of_order(diary)))
    assert out_of_order(diary)
