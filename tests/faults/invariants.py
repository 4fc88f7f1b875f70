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
from typing import Any

from council.core.conversations.conversation import Conversation
from council.core.errors import CouncilError, NotFoundError
from council.core.ids import sha256_hex
from council.store.conversations import naming
from council.store.conversations.conversations import Conversations
from council.store.conversations.naming import Places, is_closed
from council.store.documents import journal, lines
from council.store.documents.journal import Past
from council.store.documents.lines import Line
from council.store.events import tail
from council.store.lock import try_lock
from council.store.paths import Workspace
from council.store.statefile import statefile
from council.store.statefile.merging import saved_text

# `store.md` section 9: `.council` stays within 4 times the file; with small files its lines count.
_LINE_BYTES, _ROOM_BYTES = 1024, 64 * 1024


class Expected:
    """What a conversation must hold by all that was said to those who work on it.

    Attributes:
        said: The texts that were acknowledged, by agent and round.
        maybe: Texts whose command died or failed before it could say: once or not at all.
        edits: Words that people have saved in the file.
        meddled: Whether anybody but our commands has touched any file.
        was_cut: Whether the power was cut.
        is_torn: Whether the journal may end in a torn line: nothing was written since.
    """

    def __init__(self) -> None:
        self.said: dict[tuple[str, int], str] = {}
        self.maybe: dict[tuple[str, int], str] = {}
        self.edits: list[str] = []
        self.meddled = False
        self.was_cut = False
        self.is_torn = False

    def acknowledge(self, agent: str, tour: int, text: str) -> None:
        self.said[agent, tour] = text
        self.maybe.pop((agent, tour), None)


class Watched:
    """One conversation of a workspace, as the checks read it: read only, without a lock."""

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
        # What a power cut leaves of the live file may be damaged; readers do without it then.
        file = list if expected.was_cut else self._readable
        return self._all("at once", file, lambda: self._promised(expected))

    def settled(self, expected: Expected) -> list[str]:
        """Check what holds when the next commands have put everything right."""
        return self._all(
            "settled",
            self._readable,
            lambda: self._promised(expected),
            lambda: self._journal(expected),
            self._history,
            self._size,
            self._log,
            self._lock,
            lambda: self._edits(expected),
            lambda: self._false_reports(expected),
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
            if tail_ is None or "closing" in tail_.head:
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
        data = self._past.text(last.head["digest"])
        found = _texts_of(statefile.load(data.decode("utf-8"), "the last revision")[0])
        told = "\n".join(one.read_text(encoding="utf-8") for one in self.minutes())
        missing = [key for key in found if key[1] not in told]
        return Counter({key: times for key, times in found.items() if key not in missing})

    def _journal(self, expected: Expected) -> list[str]:
        """Every line is whole and follows the one before, no operation stands twice."""
        data = Path(self.places.journal).read_bytes()
        last = journal.read_tail(self.places.journal)
        if expected.is_torn and last is not None:
            data = data[: last.end]
        wrong, kept = _chain(data)
        made = [one.head for one in kept if "closing" not in one.head]
        imported = {one["rev"] for one in made if "journal.behind" in _types(one["events"])}
        revs = [one["rev"] for one in made]
        for earlier, later in itertools.pairwise(revs):
            if later <= earlier or (later != earlier + 1 and later not in imported):
                wrong.append(f"revisions do not count up by one: {revs}")
        named = Counter(one["op"] for one in made if one["op"])
        return wrong + [f"operation {one} stands {n} times" for one, n in named.items() if n > 1]

    def _history(self) -> list[str]:
        """The text of every revision can be had again, and each save that was taken in."""
        past, wrong = self._past, []
        for at, line in enumerate(past.lines):
            try:
                past.text_at(at)  # which compares it with its digest
                seen = line.head.get("seen", "")
                if seen and saved_text(self.places, past, seen) is None:
                    wrong.append(f"the save that revision {line.head['rev']} took in is not kept")
            except NotFoundError:
                if not self.is_archived():
                    wrong.append(f"revision {line.head['rev']} has no text")
            except CouncilError as error:
                wrong.append(f"revision {line.head['rev']}: {error}")
        if not past.lines or past.text_at(len(past.lines) - 1) == b"":
            wrong.append("the last revision has no text")
        return wrong

    def _size(self) -> list[str]:
        """What is kept stays in proportion to the text and to what was changed."""
        past = self._past
        changed, before = 0, b""
        for line, text in past.texts():
            seen = line.head.get("seen", "")
            for one in (text, saved_text(self.places, past, seen) if seen else None):
                if one is not None:
                    changed += _changed_bytes(before, one)
            before = text or b""
        most = 3 * (len(before) + changed) + _LINE_BYTES * len(past.lines) + _ROOM_BYTES
        kept = sum(one.lstat().st_size for one in Path(self.places.folder).rglob("*"))
        return [f"{kept} bytes are kept, and {most} are enough"] if kept > most else []

    @property
    def _past(self) -> Past:
        return Past(self.places.journal)

    def _log(self) -> list[str]:
        """Every event of the journal is in the log of events."""
        logged = {record["eventId"] for record in tail(self.workspace)}
        return [
            f"event {event['type']} of revision {one.head['rev']} is not in the log"
            for one in journal.read(self.places.journal)
            for event in one.head["events"]
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
            return self._past.text(last.head["digest"]).decode("utf-8") if last else ""
        return self.live.read_text(encoding="utf-8")

    def _was_kept(self, words: str) -> bool:
        kept = list(Path(self.places.conflicts).glob("*"))
        apart = any(words in one.read_text(encoding="utf-8", errors="replace") for one in kept)
        return apart and bool(self.reports())

    def reports(self) -> list[str]:
        """Return the types of the events that say to a person what became of an edit."""
        about = ("edit.", "brief.", "block.", "contribution.restored", "note.")
        return [one for one in self.events() if one.startswith(about)]

    def _false_reports(self, expected: Expected) -> list[str]:
        """Where only our commands were at work, neither event nor line says that others were."""
        if expected.edits or expected.meddled:
            return []
        rare = ("journal.behind", *(() if expected.was_cut else ("file.restored",)))
        said = [*self.reports(), *(one for one in self.events() if one in rare)]
        wrong = [f"{one} is reported, and nobody did anything" for one in said]
        heads = [one.head for one in journal.read(self.places.journal)]
        taken_in = [one for one in heads if one.get("seen")]
        return wrong + [f"revision {one['rev']} took in what nobody saved" for one in taken_in]

    def events(self) -> list[str]:
        """Return the types of all events, in their order."""
        return _types(list(tail(self.workspace)))

    def _published(self) -> list[str]:
        last = journal.read_tail(self.places.journal)
        if last is None:
            return ["there is no journal"]
        if sha256_hex(self.live.read_bytes()) != last.head["digest"]:
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


def _chain(data: bytes) -> tuple[list[str], list[Line]]:
    """Return what is wrong with the lines of a journal, and those that are good."""
    wrong = [] if data.endswith(b"\n") else ["the journal ends in a torn line"]
    found = [lines.decode(line) for line in data.split(b"\n")[:-1]]
    if None in found:
        wrong.append(f"line {found.index(None) + 1} of the journal is damaged")
    kept = [one for one in found if one is not None]
    for before, after in itertools.pairwise(kept):
        if after.head["parent"] != before.sum or after.head["seq"] != before.head["seq"] + 1:
            wrong.append(f"line {after.head['seq']} does not follow line {before.head['seq']}")
    return wrong, kept


def faults_of_journal(path: Path) -> list[str]:
    """Return what is wrong with the journal of a room: its chain, or a text that cannot be had."""
    wrong, kept = _chain(path.read_bytes())
    past = Past(str(path))
    for at, line in enumerate(kept):
        try:
            past.text_at(at)
        except CouncilError as error:
            wrong.append(f"revision {line.head['rev']}: {error}")
    return [*wrong, *([] if kept else ["there is no line"])]


def _types(events: list[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in events]


def _texts_of(state: Conversation) -> Counter[tuple[tuple[str, int], str]]:
    found: Counter[tuple[tuple[str, int], str]] = Counter()
    for entry in state.entries:
        found[(entry.agent, entry.tour), entry.text] += 1
    for one in state.sealed.values():
        found[(one.agent, one.tour), one.text] += 1
    return found


def acknowledged(out: str) -> bool:
    """Return true if what `respond --json` printed promises that the answer stands."""
    try:
        said = json.loads(out)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("outcome") in ("recorded", "already-recorded")


def _changed_bytes(before: bytes, after: bytes) -> int:
    """Return how many bytes of lines stand in one of two texts and not in the other."""
    one, other = Counter(before.splitlines()), Counter(after.splitlines())
    return sum(len(line) * times for line, times in ((one - other) + (other - one)).items())
