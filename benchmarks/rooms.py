"""Whether a channel stays quick as its log grows: posts and turns in an old room and a new one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, milliseconds, tell
from council.core.rooms.channels import Message
from council.operations.place import Place
from council.operations.rooms import channels, rooms, turns

BOUND = 1.5
MANY = 1_000_000
_AGENTS = ("ada", "bruno")


def measure(folder: Path, rounds: int, many: int = MANY) -> Part:
    """Measure `channel post`, `turn begin` and `turn end` beside `many` messages."""
    tell(f"rooms: {many} messages, {rounds} rounds")
    new, old = _room(folder / "new", 0), _room(folder / "old", many)
    rows = []
    for what, run in {"channel post": _post, "turn begin and end": _turn}.items():
        numbers = count()
        found = in_turns(
            {
                "old": lambda run=run, numbers=numbers: run(old, next(numbers)),
                "new": lambda run=run, numbers=numbers: run(new, next(numbers)),
            },
            rounds,
        )
        label = f"{what}, {many:,} messages"
        rows.append(Row(label, found["old"], f"{what}, new channel", found["new"], BOUND))
    return Part(
        "Old rooms",
        "The operations behind `channel post`, `turn begin` and `turn end --post` in a warm "
        "process, in a channel with a long log and in one that was just made. The log is read "
        "from its end only.",
        rows,
    )


def _room(folder: Path, messages: int) -> Place:
    (folder / "memory" / "shared").mkdir(parents=True)
    table = "".join(f'[agents.{agent}]\nname = "{agent}"\n' for agent in _AGENTS)
    (folder / "council.toml").write_text(f"schemaVersion = 1\n{table}", encoding="utf-8")
    place = Place(str(folder), {}, datetime(2026, 2, 8, 20, 0, tzinfo=UTC))
    channels.create(place, "chat", "room", _AGENTS)
    if messages:
        with rooms.channels(place).open("room", place.now()) as session:
            _fill(Path(session.files.messages), messages)
            # What was said before was taken notice of, as in a room that has lived with it.
            session.commit(session.channel.copy(seen=messages), page=None, events=[])
    return place


def _fill(path: Path, messages: int) -> None:
    at = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
    one = Message(id=1, at=at, author="moderator", content="Something said.").to_record()
    line = json.dumps(one, separators=(",", ":")).replace('{"id":1,', '{"id":%d,')
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line % number + "\n" for number in range(1, messages + 1))


def _post(place: Place, number: int) -> float:
    return milliseconds(lambda: channels.post(place, "room", "ada", f"Word {number}."))


def _turn(place: Place, number: int) -> float:
    agent = turns.begin(place, "room", "nobody", "").channel.speaker

    def speak() -> None:
        turns.begin(place, "room", agent, f"run{number}")
        turns.end(place, "room", agent, f"run{number}", f"Say {number}.", post=True)

    return milliseconds(speak)
