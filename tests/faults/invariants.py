"""What must hold after any fault: one set of checks for all parts of the harness.

Each check returns what is wrong as lines for people, none when all is well.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from council.core.conversations.conversation import Conversation
from council.core.errors import CouncilError, NotFoundError
from council.store.conversations import journal, naming, snapshots
from council.store.conversations.conversations import Conversations
from council.store.conversations.places import Places, is_closed
from council.store.events import tail
from council.store.lock import try_lock
from council.store.paths import Workspace
from council.store.statefile import statefile


class Expected:
    """What a conversation must hold by all that was told to those who work on it.

    Attributes:
        said: The texts that were acknowledged, by agent and round.
        maybe: Texts whose command died or failed before it could say: once or not at all.
        edits: Words that people have saved in the file.
    """

    def __init__(self) -> None:
        self.said: dict[tuple[str, int], str] = {}
        self.maybe: dict[tuple[str, int], str] = {}
        self.edits: list[str] = []

    def acknowledge(self, agent: str, tour: int, text: str) -> None:
        self.said[agent, tour] = text
        self.maybe.pop((agent, tour), None)


class Watched:
    """One conversation of a workspace, as the checks look at it: read only, without a lock."""

    def __init__(self, root: Path, name: str = "active") -> None:
        self.root = root
        self.name = name
        self.workspace = Workspace(str(root))
        self.live = Path(self.workspace.conversation_file(name))
        self.conversations = Conversations(self.workspace)

    @property
    def conversation_id(self) -> str:
        return naming.pointer_of(self.workspace, self.name) or self._only_folder()

    def _only_folder(self) -> str:
        control = Path(self.workspace.control)
        found = [one.parent.name for one in control.glob("*/revisions.jsonl")]
        return found[0] if len(found) == 1 else ""

    @property
    def places(self) -> Places:
        return Places(self.workspace, self.name, self.conversation_id)

    def is_archived(self) -> bool:
        return is_closed(journal.read_tail(self.places.journal))

    def minutes(self) -> list[Path]:
        return sorted((self.root / "conseils").glob("*.md"))

    def at_once(self, expected: Expected) -> list[str]:
        """Check what every reader may rely on at any moment, also right after a fault."""
        return self._all("at once", self._readable, lambda: self._promised(expected))

    def settled(self, expected: Expected, *, with_log: bool = True) -> list[str]:
        """Check what holds when the next commands have put everything right."""
        return self._all(
            "settled",
            self._readable,
            lambda: self._promised(expected),
            self._journal,
            self._log if with_log else list,
            self._lock,
            lambda: self._edits(expected),
            self._ending,
        )

    def _all(self, when: str, *checks: Callable[[], list[str]]) -> list[str]:
        """Make all checks; one that cannot be made is wrong, too."""
        wrong = []
        for check in checks:
            try:
                wrong += check()
            except Exception as error:
                wrong.append(f"it cannot be checked: {type(error).__name__}: {error}")
        return [f"{when}: {line}" for line in wrong]

    def _ending(self) -> list[str]:
        return self._archived() if self.is_archived() else self._published()

    def _readable(self) -> list[str]:
        """The live file is there and whole, unless the conversation has ended."""
        try:
            data = self.live.read_bytes()
        except FileNotFoundError:
            tail_ = journal.read_tail(self.places.journal)
            if tail_ is None or "closing" in tail_.record:
                return []
            return ["the live file is gone"]
        try:
            text = data.decode("utf-8")
            statefile.load(text, str(self.live))
        except (CouncilError, ValueError) as error:
            return [f"the live file does not parse: {error}"]
        return [] if statefile.parse(text).complete else ["half a live file"]

    def _promised(self, expected: Expected) -> list[str]:
        """What was acknowledged stands exactly once; what was not, at most once."""
        found = self.texts()
        wrong = []
        for key, text in expected.said.items():
            if found[key, text] != 1:
                wrong.append(f"{key} {text!r} was acknowledged and stands {found[key, text]} times")
        wanted = {**expected.maybe, **expected.said}
        for (key, text), times in found.items():
            if times > 1 and key not in expected.said:
                wrong.append(f"{key} {text!r} stands {times} times")
            if key in wanted and text != wanted[key]:
                wrong.append(f"{key} reads {text!r} instead of {wanted[key]!r}")
        words = Counter(text for _, text in found.elements())
        for text in wanted.values():
            if words[text] > 1:
                wrong.append(f"{text!r} stands in {words[text]} rounds")
        return wrong

    def texts(self) -> Counter[tuple[tuple[str, int], str]]:
        """Return how often each text stands, by author and round."""
        try:
            state = self.conversations.read(self.name, with_sealed=True)
        except NotFoundError:
            return self._archived_texts()
        return _texts_of(state)

    def _archived_texts(self) -> Counter[tuple[tuple[str, int], str]]:
        last = journal.read_tail(self.places.journal)
        if last is None:
            return Counter()
        data = snapshots.get(self.places.history, last.record["digest"])
        found = _texts_of(statefile.load(data.decode("utf-8"), "the last revision")[0])
        told = "\n".join(one.read_text(encoding="utf-8") for one in self.minutes())
        missing = [key for key in found if key[1] not in told]
        return Counter({key: times for key, times in found.items() if key not in missing})

    def _journal(self) -> list[str]:
        """Every line is whole, revisions count up by one, no operation stands twice."""
        lines = Path(self.places.journal).read_bytes().split(b"\n")
        wrong = [] if lines[-1] == b"" else ["the journal ends in a torn line"]
        records = [journal.decode(line) for line in lines[:-1]]
        if None in records:
            wrong.append(f"line {records.index(None) + 1} of the journal is damaged")
        kept = [one for one in records if one is not None]
        made = [one for one in kept if "closing" not in one]
        revs = [one["rev"] for one in made]
        if revs != list(range(revs[0], revs[0] + len(revs))):
            wrong.append(f"revisions do not count up by one: {revs}")
        for before, after in itertools.pairwise(made):
            if after["parent"] != before["digest"]:
                wrong.append(f"revision {after['rev']} does not follow revision {before['rev']}")
        named = Counter(one["opId"] for one in made if one["opId"])
        wrong += [f"operation {one} stands {n} times" for one, n in named.items() if n > 1]
        if not self.is_archived():
            for one in made:
                try:
                    snapshots.get(self.places.history, one["digest"])
                except CouncilError as error:
                    wrong.append(f"revision {one['rev']}: {error}")
        return wrong

    def _log(self) -> list[str]:
        """Every event of the journal is in the log of events."""
        logged = {record["eventId"] for record in tail(self.workspace)}
        return [
            f"event {event['type']} of revision {one['rev']} is not in the log"
            for one in journal.records(self.places.journal)
            for event in one["events"]
            if event["eventId"] not in logged
        ]

    def _lock(self) -> list[str]:
        descriptor = try_lock(self.places.lock)
        if descriptor is None:
            return ["the lock is held though nothing runs"]
        os.close(descriptor)
        return []

    def _edits(self, expected: Expected) -> list[str]:
        """What a person saved stands once, or was kept apart and reported."""
        text = self._text()
        wrong = []
        for words in expected.edits:
            times = text.count(words)
            if times > 1:
                wrong.append(f"the edit {words!r} stands {times} times")
            elif not times and not self._was_kept(words):
                wrong.append(f"the edit {words!r} is lost")
        return wrong

    def _text(self) -> str:
        if self.is_archived():
            last = journal.read_tail(self.places.journal)
            digest = last.record["digest"] if last else ""
            return snapshots.get(self.places.history, digest).decode("utf-8")
        return self.live.read_text(encoding="utf-8")

    def _was_kept(self, words: str) -> bool:
        kept = list(Path(self.places.conflicts).glob("*"))
        apart = any(words in one.read_text(encoding="utf-8", errors="replace") for one in kept)
        return apart and bool(self.reports())

    def reports(self) -> list[str]:
        """Return the types of the events that tell a person what became of an edit."""
        about = ("edit.", "brief.", "block.", "contribution.restored", "note.")
        return [one["type"] for one in tail(self.workspace) if one["type"].startswith(about)]

    def _published(self) -> list[str]:
        last = journal.read_tail(self.places.journal)
        if last is None:
            return ["there is no journal"]
        if snapshots.digest_of(self.live.read_bytes()) != last.record["digest"]:
            return ["the live file is not the last revision"]
        return []

    def _archived(self) -> list[str]:
        wrong = []
        if len(self.minutes()) != 1:
            wrong.append(f"{len(self.minutes())} files of minutes")
        if self.live.exists():
            wrong.append("the live file is still there after the end")
        if naming.pointer_of(self.workspace, self.name):
            wrong.append("the name still stands for the ended conversation")
        return wrong


def _texts_of(state: Conversation) -> Counter[tuple[tuple[str, int], str]]:
    found: Counter[tuple[tuple[str, int], str]] = Counter()
    for entry in state.entries:
        found[(entry.agent, entry.tour), entry.text] += 1
    for one in state.sealed.values():
        found[(one.agent, one.tour), one.text] += 1
    return found


def acknowledged(out: str) -> bool:
    """Tell whether what `respond --json` printed promises that the answer stands."""
    try:
        said = json.loads(out)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("outcome") in ("recorded", "already-recorded")
