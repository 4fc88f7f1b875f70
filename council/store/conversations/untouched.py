"""A conversation file in which nobody else has written: its bytes to the state and back.

The journal says of a revision whether its text holds anything of people
besides the items. Where it does not, what stands between the items is known,
and reading needs no search for them: the marks and the state block are
enough. That the bytes are those of the revision is the caller's to make sure,
by their digest; then each text is the one that was digested, too.

Files that people have written in are the matter of `statefile`. Bytes are cut
before they are decoded, because one emoji would make a long text four times
as large; and most texts are decoded only when somebody asks for them: who
answers in a long conversation writes down again what was said in it, and
reads hardly any of it.

Source: `store.md` section 7.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, Entry
from council.core.conversations.records import from_record
from council.core.errors import InvalidStateError
from council.store.conversations import written
from council.store.statefile.headings import split_title
from council.store.statefile.layout import (
    default_gap,
    items_after,
    items_before,
    items_in,
    sections,
    state_block,
    titles_of,
)
from council.store.statefile.marks import (
    BRIEF,
    END,
    ENTRY,
    EOF,
    STATE,
    read_block,
    unescape,
    without_prefix,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CLOSE = b"\n-->"
_BRIEF = f"\n{BRIEF}\n".encode()
_END = f"\n{END}".encode()
_ENTRY = f"\n{ENTRY}".encode()
_LAST = f"\n{EOF}\n".encode()
_STATE = f"\n{STATE}\n".encode()
_HEADING = "h:"
_LEDGER, _LEDGER_END = b'\n "ledger": [\n  ', b"\n ]"


def render(state: Conversation) -> bytes:
    """Write a conversation as its file, with nothing between the items but what belongs there."""
    entries = {f"e:{one.id}": one for one in state.entries}

    def bytes_of(key: str) -> bytes | memoryview:
        return state_block(state) if key == "state" else written.text_of(entries[key])

    parts = _parts(items_before(state), bytes_of, _HEADING)
    for section in sections(state):
        parts += written.section_of(
            state.conversation_id,
            section,
            lambda it: _parts(items_in(it, bare=True), bytes_of, _HEADING),
        )
    return b"".join([*parts, *_parts(items_after(state, bare=True), bytes_of, "")])


def _parts(
    found: list[tuple[str, str]], bytes_of: Callable[[str], bytes | memoryview], following: str
) -> list[bytes | memoryview]:
    """Return what is written for some items, what stands between them and before `following`.

    `bytes_of` knows the items that have no text here, by their keys.
    """
    parts: list[bytes | memoryview] = []
    between: list[str] = []
    keys = [key for key, _ in found[1:]] + [following]
    for (key, text), after in zip(found, keys, strict=True):
        if text:
            between.append(text)
        else:
            parts += ["".join(between).encode("utf-8"), bytes_of(key)]
            between = []
        between.append(default_gap(key, after))
    return [*parts, "".join(between).encode("utf-8")]


def read(data: bytes, where: str, *, by_us: bool = False) -> Conversation:
    """Read what `render` wrote.

    Args:
        data: The file, known to be a text of ours.
        where: Its name, for the message.
        by_us: Whether this very version wrote it, so that it would write the
            same again; what it has read of entries is then remembered.

    Raises:
        NewerVersionError: A newer council wrote it.
        InvalidStateError: It is none of ours after all.
    """
    block = data.rfind(_STATE)
    close = data.find(_CLOSE, block)
    ledger = _ledger(data, block, close)
    record = _record(data, block, close, ledger) if block >= 0 else None
    if record is None or data[close + len(_CLOSE) :] != _LAST:
        raise InvalidStateError(f"{where}: it is not as it was written", "see: council check")
    texts, regions = _texts(data)
    bare = titles_of(record.get("titles") or {}).get("title") == ""
    state = from_record(record, topic=_topic(data, bare), brief=_brief(data), texts=texts)
    for entry in state.entries:
        region = regions.get(entry.id)
        if region is not None:
            _Unread.leave(entry, region)
        elif entry.id not in texts:
            raise InvalidStateError(
                f"{where}: the text of {entry.id} is missing", "see: council check"
            )
    if by_us:
        _remember(data, ledger, state, regions)
    return state


def _ledger(data: bytes, block: int, close: int) -> tuple[int, int]:
    """Return where the lines of the entries begin and end in the state block, twice 0 for none."""
    start = data.find(_LEDGER, block, close)
    end = data.find(_LEDGER_END, start, close)
    return (start + len(_LEDGER), end) if 0 <= start < end else (0, 0)


def _record(data: bytes, block: int, close: int, ledger: tuple[int, int]) -> dict[str, Any] | None:
    """Return what the state block says; the many lines of entries are read for themselves."""
    start, end = ledger
    begin = block + len(_STATE)
    if not end:
        return read_block(data[begin:close].decode("utf-8"))
    record = read_block((data[begin:start] + data[end:close]).decode("utf-8"))
    entries = read_block(f'{{"ledger":[{data[start:end].decode("utf-8")}]}}')
    return None if record is None or entries is None else {**record, **entries}


class _Unread(Entry, settled=True):
    """An entry whose text is taken out of the bytes of the file when somebody asks for it."""

    @classmethod
    def leave(cls, entry: Entry, region: memoryview) -> None:
        """Leave the text of `entry`, which nobody else has yet, in `region`, marks included."""
        entry.__class__ = cls  # not a copy: there are thousands
        fields = entry.__dict__
        fields["_region"] = region
        del fields["text"]

    def __getattr__(self, name: str) -> str:
        if name != "text":
            raise AttributeError(f"{type(self).__name__} has no {name}")
        lines = bytes(self.__dict__["_region"][: -len(_END)])
        text = unescape(without_prefix(lines[lines.find(b"\n") + 1 :].decode("utf-8")))
        self.__dict__["text"] = text
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(Entry(**{name: getattr(self, name) for name in self._fields}))


def _remember(
    data: bytes, ledger: tuple[int, int], state: Conversation, regions: dict[str, memoryview]
) -> None:
    """Spare the next writing what stands here already."""
    start, end = ledger
    lines = data[start:end].decode("utf-8").split(",\n  ") if end else []
    written.make_room(2 * len(data))  # it stays as long as one of its regions; so do the texts
    if len(lines) == len(state.entries):
        for entry, line in zip(state.entries, lines, strict=True):
            written.remember_line(entry, line)
    for entry in state.entries:
        region = regions.get(entry.id)
        if region is not None:
            written.remember_text(entry, region)


def _topic(data: bytes, bare: bool) -> str:
    heading = data[: data.find(b"\n")].decode("utf-8").partition(" ")[2].strip()
    said = None if bare else split_title(heading)
    return heading if said is None else said[1]


def _brief(data: bytes) -> str:
    start = data.find(_BRIEF) + len(_BRIEF)
    return unescape(data[start : data.find(_END, start - 1)].decode("utf-8"))


def _texts(data: bytes) -> tuple[dict[str, str], dict[str, memoryview]]:
    """Return the texts of entries that others tell of, and all that the other ones look like.

    No line of a text can be taken for a mark.
    """
    texts, regions, whole = {}, {}, memoryview(data)
    at = data.find(_ENTRY)
    while at >= 0:
        line_end = data.find(b"\n", at + 1)
        end = data.find(_END, line_end)
        mark = data[at + len(_ENTRY) : line_end - 3]
        entry_id = mark[3 : mark.find(b" ")].decode("utf-8")
        if b" told=" in mark:
            start = data.find(b"\n", line_end + 1, end) + 1
            texts[entry_id] = unescape(without_prefix(data[start:end].decode("utf-8")))
        else:
            regions[entry_id] = whole[at + 1 : end + len(_END)]
        at = data.find(_ENTRY, end)
    return texts, regions
