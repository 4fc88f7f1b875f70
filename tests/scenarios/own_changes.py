"""What one call inside a run may change: the agent's own contribution and its own folder.

A workspace is looked at before and after a call; `strange` names everything that changed and
is neither the agent's own nor what follows from that by the rules of the house.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from council.store.paths import Workspace
from council.store.protocol.contexts import Contexts

# Fields of a conversation that follow from any change at all.
_COUNTED = ("rev", "updatedAt", "convergence")
# Fields that change where a round is closed, because no other had to answer any more.
_OF_ROUNDS = ("tour", "currentPhase", "timeoutAt", "notifiedTour", "rounds", "tasks")
# Fields of a room that a member changes when it has its turn there, or says something.
_OF_FLOOR = frozenset(
    {
        *("rev", "updatedAt", "turnState", "currentSpeaker", "turnAt", "beganAt", "runId"),
        *("anchor", "cycle", "turn", "results", "awaitingDelivery", "rousedAt", "dormantAt"),
        *("calmed", "interjected", "cyclesAlone", "repeats", "said", "seen", "signalled"),
        *("unanswered", "speakers", "tasks", "endedRuns"),
    }
)
# What council keeps for itself and can make anew, or what only counts and locks.
_WORKINGS = (
    *("settings-cache.json", "heartbeat.lock", "last-heartbeat", "deadlines.json", "hooks.json"),
    *("room-deadlines.json", "outbox/", "souls.lock", "artifacts.lock", "README", "tally.json"),
    *("events.lock", "duty.lock", "failures.log"),
)


class File(NamedTuple):
    """A file as it was found: its marks for a quick second check, its rights and its bytes."""

    marks: tuple[int, ...]
    mode: int
    data: bytes


Tree = dict[str, File]


def look(top: Path, before: Tree | None = None) -> Tree:
    """Return every file below `top`; one whose marks are those of `before` is not read again."""
    found: Tree = {}
    known = before or {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            facts = os.lstat(path)
            marks = (facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)
            short = os.path.relpath(path, top)
            old = known.get(short)
            if old is not None and old.marks == marks:
                found[short] = old
            elif stat.S_ISLNK(facts.st_mode):
                found[short] = File(marks, 0, os.readlink(path).encode())
            elif stat.S_ISREG(facts.st_mode):
                found[short] = File(marks, facts.st_mode & 0o777, Path(path).read_bytes())
            else:
                found[short] = File(marks, facts.st_mode & 0o777, b"")
    return found


def changed(before: Tree, after: Tree) -> list[str]:
    """Return which files were added, taken away, or hold something else."""
    return sorted(
        path
        for path in before.keys() | after.keys()
        if path not in before
        or path not in after
        or (before[path].data, before[path].mode) != (after[path].data, after[path].mode)
    )


def put_back(top: Path, before: Tree, after: Tree) -> None:
    """Make a workspace what it was."""
    for path in changed(before, after):
        place = top / path
        if path not in before:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if path not in after or not place.is_file():
            place.unlink(missing_ok=True)
        place.write_bytes(before[path].data)
        place.chmod(before[path].mode)


class Run(NamedTuple):
    """Whose run it is: the agent, its id in document 002, where it works, and what it knows.

    `knows_token` is true if the call bore the token of the run; `member` are the rooms and
    `takes_part` the conversations of the agent.
    """

    agent: str
    worker: str
    folder: str
    member: frozenset[str]
    takes_part: frozenset[str]
    knows_token: bool


def strange(run: Run, before: Tree, after: Tree) -> list[str]:
    """Return what changed in a workspace that this run may not change, in words."""
    found = []
    for path in changed(before, after):
        old = before[path].data if path in before else b""
        gone = path not in after
        new = b"" if gone else after[path].data
        try:
            wrong = "it is gone" if gone and not _may_go(path) else _wrong(run, path, old, new)
        except (ValueError, KeyError) as error:
            wrong = f"it cannot be read any more: {error!r}"
        if wrong:
            found.append(f"{path}: {wrong}")
    return found


def _may_go(path: str) -> bool:
    return path.startswith(("memory/shared/.council/outbox/", "memory/agents/owl/"))


def _wrong(run: Run, path: str, old: bytes, new: bytes) -> str:  # noqa: PLR0911 - one line a kind of file
    """Return what is wrong with a change of one file, "" for nothing."""
    own = f"memory/agents/{run.agent}/"
    shared = "memory/shared/"
    if path.startswith(own):
        read = path.removeprefix(own) in ("SOUL.md", "policy.json")
        return "what council reads of an agent" if read else ""
    if path.startswith(f"{run.folder}/"):
        return "it was there already" if old else ""
    if path.startswith("memory/agents/") and "/sessions/" in path:
        return _letters(run, old, new, "from", (run.agent,))
    if path.startswith("memory/agents/") and "/tasks/" in path:
        return ""  # what coordinates hands it out; from which round is seen in the conversation
    if not path.startswith(shared):
        return "it is not the agent's"
    path = path.removeprefix(shared)
    if path.startswith("council-") and path.endswith("-conversation.md"):
        name = path.removeprefix("council-").removesuffix("-conversation.md")
        if name not in run.takes_part:
            return "a conversation of others"
        return _conversation(run, _state(old), _state(new)) or _words_of_people(old, new)
    if path.startswith("channels/"):
        return _room_file(run, path.removeprefix("channels/"), old, new)
    if path.startswith("events/"):
        return _events(run, old, new)
    if path.startswith("artifacts/"):
        return _artifact(run, path, old, new)
    if path.startswith("protocol/"):
        return _protocol(run, path.removeprefix("protocol/"), old, new)
    if path.startswith(".council/"):
        return _inside(run, path.removeprefix(".council/"), old, new)
    return "" if path == "BOARD.md" else "it is not the agent's"


def _state(text: bytes) -> dict[str, Any]:
    """Return the last block of JSON in a live file."""
    block = text.rpartition(b"<!--council-state\n")[2].partition(b"\n-->")[0]
    if not block.startswith(b"{"):
        raise ValueError("no state block")
    return dict(json.loads(block))


def _words_of_people(old: bytes, new: bytes) -> str:
    lost = [one for one in old.splitlines() if b"A person" in one and one not in new]
    return f"words of a person are gone: {lost}" if lost else ""


def _conversation(run: Run, old: dict[str, Any], new: dict[str, Any]) -> str:
    """Compare two states of a conversation in which the agent takes part."""
    goes_on = new["tour"] != old["tour"]
    if goes_on:
        waits = [
            one
            for one, how in old["participants"].items()
            if one != run.agent and how["status"] == "WAITING"
        ]
        if waits or new["tour"] != old["tour"] + 1:
            return f"the round is over though {waits} had not answered"
    free = {*_COUNTED, "participants", "ledger", "tasks", *(_OF_ROUNDS if goes_on else ())}
    for field in old.keys() | new.keys():
        if field not in free and old.get(field) != new.get(field):
            return f"{field} was {old.get(field)!r} and is {new.get(field)!r}"
    return (
        _participants(run, old, new, goes_on=goes_on)
        or _tasks(run, old, new, goes_on=goes_on)
        or _ledger(run, old, new, goes_on=goes_on)
    )


def _participants(run: Run, old: dict[str, Any], new: dict[str, Any], *, goes_on: bool) -> str:
    was, now = old["participants"], new["participants"]
    if list(was) != list(now):
        return f"the participants were {list(was)} and are {list(now)}"
    by_rounds = ("status", "sealed", "again") if goes_on else ()
    for one in was:
        kept = [name for name in was[one] if name not in by_rounds]
        if one == run.agent:
            kept = [
                name for name in kept if name not in ("status", "sealed", "again", "lastAction")
            ]
        if any(was[one][name] != now[one].get(name) for name in kept):
            return f"{one} was {was[one]} and is {now[one]}"
    return ""


def _tasks(run: Run, old: dict[str, Any], new: dict[str, Any], *, goes_on: bool) -> str:
    for task in old["tasks"].keys() | new["tasks"].keys():
        was, now = old["tasks"].get(task), new["tasks"].get(task)
        if was != now and not goes_on and (now or was)["agent"] != run.agent:
            return f"the task {task} was {was} and is {now}"
    return ""


def _ledger(run: Run, old: dict[str, Any], new: dict[str, Any], *, goes_on: bool) -> str:
    was, now = old["ledger"], new["ledger"]
    known = {one["id"]: one for one in was}
    for one in now:
        agent = one["agent"]
        if one["id"] in known:
            if agent != run.agent and one != known[one["id"]]:
                return f"the entry {one['id']} changed"
        elif agent != run.agent:
            if not goes_on or not old["participants"][agent]["sealed"]:
                return f"{agent} has said something: {one}"
        elif one.get("origin") == "verified" and not run.knows_token and not goes_on:
            return f"an entry is verified without its token: {one}"
    lost = known.keys() - {one["id"] for one in now}
    return f"entries are gone: {sorted(lost)}" if lost else ""


def _lines(old: bytes, new: bytes) -> list[Any]:
    """Return the JSON of the lines that were added at the end.

    Raises:
        ValueError: What was there before is not there any more as it was.
    """
    if not new.startswith(old):
        raise ValueError("lines that were there changed")
    return [json.loads(one) for one in new[len(old) :].splitlines() if one.strip()]


def _letters(run: Run, old: bytes, new: bytes, field: str, senders: tuple[str, ...]) -> str:
    foreign = [one for one in _lines(old, new) if one.get(field) not in senders]
    return f"it is not from {run.agent}: {foreign}" if foreign else ""


def _room_file(run: Run, name: str, old: bytes, new: bytes) -> str:  # noqa: PLR0911 - one line a kind of file
    room, _, kind = name.partition(".")
    if room not in run.member and old:
        return "a room of others"
    if kind != "md":
        for one in _lines(old, new):
            author = one.get("authorId") or one.get("author") or one.get("agentId")
            if author not in (run.agent, "moderator"):
                return f"{author} has said something: {one}"
        return ""
    now = _state(new)
    if not old:  # who posts where no one ever was makes the room, and is alone there
        alone = now["mode"] == "none" and now["members"].keys() <= {run.agent, "moderator"}
        return "" if alone else f"a room was made: {now}"
    was = _state(old)
    kept = [one for one in was.keys() | now.keys() if one not in _OF_FLOOR]
    for field in kept:
        if was.get(field) != now.get(field):
            return f"{field} was {was.get(field)!r} and is {now.get(field)!r}"
    if was["currentSpeaker"] not in ("", None, run.agent):
        for field in ("currentSpeaker", "turnAt", "beganAt", "runId", "results"):
            if was.get(field) != now.get(field):
                return f"the turn of {was['currentSpeaker']}: {field} is {now.get(field)!r}"
    foreign = [
        one for one in now["results"] if one not in was["results"] and run.agent not in str(one)
    ]
    return f"turns of others have ended: {foreign}" if foreign else ""


# What happens to peers when a round goes on by the agent's own answer.
_FOLLOWS = ("floor.", "task.", "phase.", "round.", "participant.waiting", "channel.", "turn.")


def _events(run: Run, old: bytes, new: bytes) -> str:
    for one in _lines(old, new):
        agent = one.get("agentId")
        if agent not in (None, "", run.agent, run.worker) and not one["type"].startswith(_FOLLOWS):
            return f"an event of {agent}: {one}"
        if one.get("fromAgentId") not in (None, run.agent):
            return f"an event from {one['fromAgentId']}: {one}"
    return ""


def _artifact(run: Run, path: str, old: bytes, new: bytes) -> str:
    if not path.endswith(".meta.json"):
        return "an artifact changed" if old else ""
    was, now = json.loads(old or b"{}"), json.loads(new)
    if old:
        return f"{path} was {was} and is {now}"
    said = [value for name, value in now.items() if "publish" in name.lower()]
    return "" if any(one in (run.agent, "") for one in said) or not said else f"it says {said}"


def _protocol(run: Run, path: str, old: bytes, new: bytes) -> str:  # noqa: PLR0911 - one line a kind of file
    if path.startswith((".locks/", ".told/")):
        return ""
    if path.startswith("inbox/"):
        # The coordinator answers what it gets; a worker sends as itself.
        senders = (run.worker, run.agent, "O1")
        for one in _lines(old, new):
            sender = str(one.get("sender") or one.get("from") or "").partition(".")[0]
            if sender not in senders:
                return f"it is not from {run.worker}: {one}"
        return ""
    if path.startswith("log/"):
        if not new.startswith(old):
            return "lines that were there changed"
        routes = [one.decode() for one in new[len(old) :].splitlines()]
        foreign = [one for one in routes if f"{run.worker}>" not in one and "O1>" not in one]
        return f"messages of others: {foreign}" if foreign else ""
    if path.startswith("contexts/") and old:
        return _context(run, _exchange(path, old), _exchange(path, new))
    return "it is not the agent's"


def _exchange(path: str, data: bytes) -> dict[str, Any]:
    """Return the record of a context, read by the house from the bytes of its journal."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "memory/shared/protocol" / path
        place.parent.mkdir(parents=True)
        place.write_bytes(data)
        kept = Contexts(Workspace(folder)).read(place.stem)
        return dict(kept.exchange.to_record())


def _context(run: Run, old: dict[str, Any], new: dict[str, Any]) -> str:
    """Compare two states of a context: what others do there stands as it stood."""
    for part in ("tasks", "runs"):
        for one in old[part].keys() | new[part].keys():
            was, now = old[part].get(one), new[part].get(one)
            if was != now and run.worker not in json.dumps(was or now):
                return f"{one} was {was} and is {now}"
    for field in ("closedAt", "answer", "openedAt", "user"):
        if old.get(field) != new.get(field):
            return f"{field} was {old.get(field)!r} and is {new.get(field)!r}"
    return ""


def _inside(run: Run, path: str, old: bytes, new: bytes) -> str:  # noqa: PLR0911 - one line a kind of file
    """Judge a change of what council keeps for itself."""
    top, _, rest = path.partition("/")
    if path.startswith(_WORKINGS) or path.endswith(".lock") or rest == "lock":
        return ""
    if top == "delegation":
        _lines(old, new)
        text = new[len(old) :].decode()
        return "" if f'"{run.agent}"' in text or run.agent in text else f"not its own: {text}"
    if top == "channels":
        if not any(rest.startswith(f"{one}/") for one in run.member) and old:
            return "a room of others"
        return _by(run, old, new) if rest.endswith(".jsonl") else ""
    if top == "runs":
        return "" if f".{run.agent}." in rest or rest.startswith("places/") else "a run of others"
    if path == "message-key":
        return "the key of messages" if old else ""
    if path == "signatures.jsonl":
        _lines(old, new)
        return ""
    if rest == "revisions.jsonl":
        return _by(run, old, new)
    if rest.startswith("prompts/"):
        return "" if not old else "a prompt that was made before"
    if rest.startswith("sealed/"):
        kept = json.loads(new)
        if kept.get("agent") not in (None, run.agent):
            return f"a sealed answer of {kept.get('agent')}"
        if kept.get("origin") == "verified" and not run.knows_token:
            return "a sealed answer is verified without its token"
        return ""
    return "it is not the agent's"


def _by(run: Run, old: bytes, new: bytes) -> str:
    foreign = [
        one["head"]
        for one in _lines(old, new)
        if one["head"].get("by") not in ("", None, run.agent, "heartbeat", "person", "edit")
    ]
    return f"a revision by another: {foreign}" if foreign else ""
