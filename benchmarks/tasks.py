"""What a heartbeat costs over many open tasks: none of them due, and fifty due at once."""

from __future__ import annotations

import json
import re
import time
from datetime import timedelta
from itertools import count
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, tell
from benchmarks.workspaces import COUNCIL, PASS, Site
from council.core.protocol.registering import Joining
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.protocol import asking, registry
from council.store.documents.stored import Stored
from council.store.protocol.contexts import Contexts

BOUND = 15.0
MANY = 10_000
DUE = 50
_SETTINGS = 'schemaVersion = 1\n[tasks]\nworker_timeout = "1000d"\ntask_timeout = "1000d"\n'
_SETTLED_S = 2.2


def measure(folder: Path, rounds: int, many: int = MANY) -> Part:
    """Measure heartbeats beside `many` open tasks whose worker answers by itself."""
    tell(f"tasks: {many} open tasks, {rounds} rounds")
    idle = _office(folder / "idle", many)
    numbers = count()
    due_rounds = max(1, rounds // 5)
    crowded = [_office(folder / f"crowd{at}", many, DUE) for at in range(due_rounds + 1)]
    alone = [_office(folder / f"alone{at}", DUE, DUE) for at in range(due_rounds + 1)]
    found = in_turns(
        {
            "python -c pass": lambda: idle.timed(PASS),
            "idle": lambda: idle.timed((COUNCIL, "heartbeat", "--reply-token", "NO_REPLY")),
        },
        rounds,
    )
    later = (idle.place().now() + timedelta(days=500)).isoformat()
    words = (COUNCIL, "heartbeat", "--now", later, "--reply-token", "NO_REPLY")
    due = in_turns(
        {
            "crowd": lambda: crowded[next(numbers) // 2].timed(words),
            "alone": lambda: alone[next(numbers) // 2].timed(words),
        },
        due_rounds,
    )
    among = f"{DUE} of {DUE} tasks due"
    return Part(
        "Heartbeat over many tasks",
        "Every task waits for a worker that answers by itself. In the second row the time of "
        "fifty of them is up: each gets another attempt, and its worker another request.",
        [
            Row(
                f"council heartbeat, {many:,} open tasks, none due",
                found["idle"],
                "python -c pass",
                found["python -c pass"],
                BOUND,
            ),
            Row(f"{DUE} of {many:,} tasks due", due["crowd"], among, due["alone"]),
        ],
    )


def _office(folder: Path, many: int, due: int = 0) -> Site:
    """Make a workspace with many open tasks, of which some are due a year before the others."""
    site = Site(folder)
    settings = folder / "council.toml"
    settings.write_text(_SETTINGS, encoding="utf-8")
    registry.join(site.place(), Joining(proposed="W1", capabilities=("plan",)))
    _task(site.place())
    _copies(site.place(), "S1", 2, many - due + 1)
    if due:
        settings.write_text(_SETTINGS.replace("1000d", "365d"), encoding="utf-8")
        first = _task(site.place())
        _copies(site.place(), first, many - due + 3, many + 2)
        settings.write_text(_SETTINGS, encoding="utf-8")
    time.sleep(_SETTLED_S)
    for _ in range(2):  # the first one opens them all
        site.printed("heartbeat", "--reply-token", "NO_REPLY")
    return site


def _task(place: Place) -> str:
    context = asking.request(place, "Make a plan.", caps=("plan",)).context
    beat(place)
    return context


def _copies(place: Place, context: str, first: int, last: int) -> None:
    """Put copies of an open context beside it, as if each had been asked for."""
    store = Contexts(place.paths)
    text = json.dumps(Stored(f"{store.folder}/{context}.jsonl", "").read())
    told = Path(place.paths.protocol, ".told", context).read_bytes()
    name = re.compile(rf"\b{context}\b")
    for number in range(first, last + 1):
        copy = f"S{number}"
        Stored(f"{store.folder}/{copy}.jsonl", "").write(json.loads(name.sub(copy, text)))
        Path(place.paths.protocol, ".told", copy).write_bytes(told)
