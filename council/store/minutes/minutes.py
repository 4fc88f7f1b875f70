"""Reading minutes: their front matter, and the file for programs that lies beside them.

`operations.reporting.minutes` writes both texts.

Source: C0-030, HR-027, DL-094, `cli.md` section 4.
"""

from __future__ import annotations

import os
from datetime import date, datetime

from council.core.conversations.conversation import Conversation
from council.core.conversations.records import from_record
from council.core.errors import InvalidStateError
from council.store import files
from council.store.front_matter import parted
from council.store.statefile.marks import plain, read_block
from council.store.statefile.quoting import (
    not_inline,
    read_entries,
    read_quote_below,
    read_state_block,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DATA_SUFFIX = ".json"
HEAD_BYTES = 4096
_FENCE = "---"
_ADDED = ("topic", "brief", "texts", "facts")


def data_path(path: str) -> str:
    """Return where the data of minutes at `path` are written: beside them, with another ending."""
    return path.removesuffix(".md") + DATA_SUFFIX


def read_data(text: str) -> dict[str, Any]:
    """Return what the file beside the minutes holds, `{}` when it is no JSON object."""
    return read_block(text) or {}


def facts_in(data: dict[str, Any]) -> dict[str, Any]:
    """Return the facts alone: what lists of minutes show, `{}` where there are none."""
    facts = data.get("facts")
    return facts if isinstance(facts, dict) else {}


def is_of(data: dict[str, Any], conversation_id: str) -> bool:
    """Return true if the data are those of a conversation."""
    return data.get("conversationId") == conversation_id


def conversation_of(data: dict[str, Any]) -> Conversation:
    """Return the conversation that the file beside the minutes holds.

    Raises:
        InvalidStateError: Its state cannot be read.
    """
    texts = data.get("texts")
    known = texts if isinstance(texts, dict) else {}
    return from_record(
        {key: value for key, value in data.items() if key not in _ADDED},
        topic=str(data.get("topic", "")),
        brief=str(data.get("brief", "")),
        texts={str(key): str(value) for key, value in known.items()},
    )


def with_data(text: str, name: str) -> str:
    """Return minutes just rendered with another name for their data file."""
    head, key, rest = text.partition("\ndata: ")
    return f"{head}{key}{name}\n{rest.partition(chr(10))[2]}" if key else text


def conversation_in(text: str) -> Conversation:
    """Return the conversation that minutes hold which were written before HR-027.

    In those the state stood as a comment at the end, and the texts above it
    were the only ones. `minutes_folder.archived_at` reads minutes of any age.

    Raises:
        InvalidStateError: There is no state in them, or one that cannot be read.
    """
    text = plain(text)
    record = read_state_block(text)
    if record is None:
        raise InvalidStateError(
            "no state of a conversation stands at the end", "name minutes that council wrote"
        )
    colon = " : " if record.get("lang") == "fr" else ": "
    title = next((line for line in text.split("\n") if line.startswith("# ")), "")
    _, _, topic = title.rstrip().partition(colon)
    brief = read_quote_below(text, "## Brief")
    return from_record(record, topic=not_inline(topic), brief=brief, texts=read_entries(text))


def read_minutes(text: str) -> dict[str, Any]:
    """Return the front matter of minutes, as JSON values; `{}` when there is none.

    Where a person's edit made it unreadable as YAML, its plain `key: value`
    lines are read. Unknown keys are kept.
    """
    head = _head_of(text.removeprefix("\ufeff"))
    return {} if head is None else _read_head(head)


def minutes_head(path: str) -> dict[str, Any]:
    """Return the front matter at the beginning of a file, see `read_minutes_head`.

    Raises:
        CouncilError: The system refuses.
    """
    with files.explaining("read", path):
        descriptor = files.open_regular(path)
        try:
            return read_minutes_head(os.read(descriptor, HEAD_BYTES))
        finally:
            os.close(descriptor)


def read_minutes_head(start: bytes) -> dict[str, Any]:
    """Return the front matter from the first `HEAD_BYTES` of a file of minutes.

    What does not fit there is left out; the keys that lists of minutes show
    stand first.
    """
    whole = len(start) < HEAD_BYTES
    text = start[:HEAD_BYTES].decode("utf-8", "ignore").removeprefix("\ufeff")
    head = _head_of(text)
    if head is not None:
        return _read_head(head)
    opened, _, rest = text.partition("\n")
    if whole or opened.rstrip() != _FENCE:
        return {}
    return _plain_lines(rest.rpartition("\n")[0])


def _head_of(text: str) -> str | None:
    """Return the text between the two fences, None when it is not closed."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return None
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:at])
    return None


def _read_head(head: str) -> dict[str, Any]:
    try:
        meta, _ = parted(f"{_FENCE}\n{head}\n{_FENCE}\n")
    except Exception:  # every fault of the YAML library, which has no one base for all of them
        return _plain_lines(head)
    return {str(key): _json_value(value) for key, value in meta.items()}


def _json_value(value: object) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _plain_lines(head: str) -> dict[str, Any]:
    """Read the lines `key: value` that are plain enough to be read without YAML."""
    found: dict[str, Any] = {}
    for line in head.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key.strip() == key and key.replace("_", "").isalnum() and value.strip():
            bare = value.strip()
            quoted = len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'"
            found[key] = bare[1:-1] if quoted else bare
    return found
