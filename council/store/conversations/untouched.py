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
from council.store.statefile.headings import split_title
from council.store.statefile.layout import (
    default_gap,
    entry_item,
    items,
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
    from typing import Any

_CLOSE = b"\n-->"
_BRIEF = f"\n{BRIEF}\n".encode()
_END = f"\n{END}".encode()
_ENTRY = f"\n{ENTRY}".encode()
_LAST = f"\n{EOF}\n".encode()
_STATE = f"\n{STATE}\n".encode()
_LEDGER, _LEDGER_END = b'\n "ledger": [\n  ', b"\n ]"


def render(state: Conversation) -> bytes:
    """Write a conversation as its file, with nothing between the items but what belongs there."""
    entries = {f"e:{one.id}": one for one in state.entries}
    parts: list[bytes | memoryview] = []
    between: list[str] = []
    found = items(state, bare=True)
    following = [key for key, _ in found[1:]] + [""]
    for (key, text), after in zip(found, following, strict=True):
        if text:
            between.append(text)
        else:
            parts.append("".join(between).encode("utf-8"))
            parts.append(state_block(state) if key == "state" else _Unread.written(entries[key]))
            between = []
        between.append(default_gap(key, after))
    return b"".join([*parts, "".join(between).encode("utf-8")])


def read(data: bytes, where: str) -> Conversation:
    """Read what `render` of this version wrote.

    Args:
        data: The file, known to be a text of ours.
        where: Its name, for the message.

    Raises:
        NewerVersionError: A newer council wrote it.
        InvalidStateError: It is none of ours after all.
    """
    block = data.rfind(_STATE)
    close = data.find(_CLOSE, block)
    record = _record(data, block, close) if block >= 0 else None
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
    return state


def _record(data: bytes, block: int, close: int) -> dict[str, Any] | None:
    """Return what the state block says; the many lines of entries are read for themselves."""
    begin = block + len(_STATE)
    start = data.find(_LEDGER, block, close)
    end = data.find(_LEDGER_END, start, close)
    if not 0 <= start < end:
        return read_block(data[begin:close].decode("utf-8"))
    start += len(_LEDGER)
    record = read_block((data[begin:start] + data[end:close]).decode("utf-8"))
    entries = read_block(f'{{"ledger":[{data[start:end].decode("utf-8")}]}}')
    return None if record is None or entries is None else {**record, **entries}


class _Unread(Entry, settled=True):
    """An entry whose text is taken out of the bytes of the file when somebody asks for it.

    Nobody changes an entry; a copy with changes is a plain one.
    """

    _region: memoryview

    @classmethod
    def leave(cls, entry: Entry, region: memoryview) -> None:
        """Leave the text of `entry`, which nobody else has yet, in `region`, marks included."""
        entry.__class__ = cls  # not a copy: there are thousands
        fields = entry.__dict__
        fields["_region"] = region
        del fields["text"]

    @classmethod
    def written(cls, entry: Entry) -> bytes | memoryview:
        """Return any entry between its marks; one of these stands in its file already."""
        return entry._region if isinstance(entry, cls) else entry_item(entry).encode("utf-8")

    def copy(self, **changes: Any) -> Entry:  # type: ignore[override]
        """Return a plain copy with `changes` applied."""
        return Entry(**{name: getattr(self, name) for name in self._fields}).copy(**changes)

    def __getattr__(self, name: str) -> str:
        if name != "text":
            raise AttributeError(f"{type(self).__name__} has no {name}")
        lines = bytes(self._region[: -len(_END)])
        text = unescape(without_prefix(lines[lines.find(b"\n") + 1 :].decode("utf-8")))
        self.__dict__["text"] = text
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.copy())


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
