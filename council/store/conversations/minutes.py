"""The minutes as files: which files there are minutes, which one is meant, and what they say.

People keep other files in that folder, rename minutes and edit them. What is no minutes is
passed over; nothing outside the folder is ever opened. `operations.reporting.minutes` makes
the texts: the page for people, and what lies beside it for programs.

The stars that people give stand in the front matter. One line is written, everything else
stays byte for byte as it is. A person has one rating: a later one takes its place. Ratings
of no named person are a list.

Source: C0-030, HR-027, DL-093, DL-094, DL-104, XC-009, `cli.md` sections 2 and 4.
"""

from __future__ import annotations

import json
import os
from datetime import date, datetime

from council.core.conversations.records import from_record
from council.core.errors import (
    ConflictError,
    CouncilError,
    InvalidStateError,
    NotFoundError,
)
from council.core.record import Any
from council.store import files, shared
from council.store.front_matter import parted
from council.store.paths import Workspace
from council.store.statefile.marks import plain, read_block
from council.store.statefile.quoting import (
    not_inline,
    read_entries,
    read_quote_below,
    read_state_block,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Conversation

SUFFIX = ".md"
DATA_SUFFIX = ".json"
HEAD_BYTES = 4096
_FENCE = "---"
_ADDED = ("topic", "brief", "texts", "facts")


def minutes_files(workspace: Workspace) -> list[str]:
    """Return the paths of all files that may be minutes, sorted."""
    folder = workspace.minutes
    with files.explaining("read", folder):
        names = files.names_in(folder)
    return [f"{folder}/{name}" for name in names if name.endswith(SUFFIX) and name[0] != "."]


def minutes_text(path: str) -> str:
    """Return the text of a file of minutes.

    Raises:
        NotFoundError: It is not there any more.
        InvalidStateError: It is no regular file, or not UTF-8.
    """
    reading = files.read_stable(path)
    if reading is None:
        raise NotFoundError(f"no such file: {path}", "see: council list --archived")
    try:
        return reading.data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidStateError(f"{path} is not UTF-8", "save it as UTF-8") from None


def front_matter(path: str) -> dict[str, Any]:
    """Return the beginning of the front matter of a file, `{}` where it has none we can read."""
    try:
        return minutes_head(path)
    except CouncilError:
        return {}


def facts(path: str) -> dict[str, Any]:
    """Return what is known of minutes without their texts: front matter, and data beside it.

    `{}` where a file has no front matter that we can read. Minutes written before
    HR-027 have all of it in their front matter.
    """
    front = front_matter(path)
    return {**facts_in(_data(path, front)), **front} if front else {}


def _data(path: str, front: dict[str, Any]) -> dict[str, Any]:
    """Return what the data file of minutes holds, `{}` where it is none of theirs."""
    beside, name = data_path(path), front.get("data")
    if isinstance(name, str) and name and os.path.basename(name) == name:
        beside = os.path.join(os.path.dirname(path), name)
    return data_of(beside, str(front.get("conversation")))


def data_of(path: str, conversation_id: str) -> dict[str, Any]:
    """Return what a data file holds, `{}` where it is none of this conversation."""
    data = read_data(files.content_of(path).decode("utf-8", "replace"))
    return data if is_of(data, conversation_id) else {}


def archived_at(path: str) -> Conversation:
    """Return the conversation that minutes of any age keep.

    Raises:
        NotFoundError: They are not there any more.
        InvalidStateError: What they keep of it cannot be read, or is not there.
    """
    text = minutes_text(path)
    front = front_matter(path)
    if data := _data(path, front):
        return conversation_of(data)
    if name := front.get("data"):
        raise InvalidStateError(
            f"its data file {name} is not there, or not of this conversation",
            "put it back beside the minutes",
        )
    return conversation_in(text)


# --- What stands in them


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
    were the only ones. `archived_at` reads minutes of any age.

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
    with files.explaining("read", path), files.closing(files.open_regular(path)) as descriptor:
        return read_minutes_head(os.read(descriptor, HEAD_BYTES))


def read_minutes_head(start: bytes) -> dict[str, Any]:
    """Return the front matter from the first `HEAD_BYTES` of a file of minutes.

    What does not fit there is left out; the keys that lists of minutes show
    stand first.
    """
    head = _head_at(start)
    return {} if head is None else (_read_head if head[1] else _plain_lines)(head[0])


def plain_head(start: bytes) -> dict[str, str]:
    """Return the plain `key: value` lines of the front matter, without reading YAML.

    `start` are the first `HEAD_BYTES` of a file; `{}` where it has no front matter.
    """
    head = _head_at(start)
    return {} if head is None else _plain_lines(head[0])


def _head_at(start: bytes) -> tuple[str, bool] | None:
    """Return the front matter at the beginning of a file, and whether all of it is there."""
    text = start[:HEAD_BYTES].decode("utf-8", "ignore").removeprefix("\ufeff")
    head = _head_of(text)
    if head is not None:
        return head, True
    opened, _, rest = text.partition("\n")
    if len(start) < HEAD_BYTES or opened.rstrip() != _FENCE:
        return None
    return rest.rpartition("\n")[0], False


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


def _plain_lines(head: str) -> dict[str, str]:
    """Read the lines `key: value` that are plain enough to be read without YAML."""
    found: dict[str, str] = {}
    for line in head.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key.strip() == key and key.replace("_", "").isalnum() and value.strip():
            bare = value.strip()
            quoted = len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'"
            found[key] = bare[1:-1] if quoted else bare
    return found


# --- The stars that people give

RATINGS = "ratings"
STARS = range(1, 6)
_RATING_TRIES = 8


def ratings_in(front: dict[str, Any]) -> list[int]:
    """Return the ratings that front matter holds; what is none is left out."""
    return [*_by_rater(front).values()]


def _by_rater(front: dict[str, Any]) -> dict[str, int]:
    """Return the ratings by who gave them; those of an unnamed list by their number."""
    given = front.get(RATINGS)
    if isinstance(given, list):
        given = {str(number): one for number, one in enumerate(given, start=1)}
    named = given if isinstance(given, dict) else {}
    return {str(who): one for who, one in named.items() if is_rating(one)}


def is_rating(value: object) -> bool:
    """Return true if a value is a whole number of stars."""
    return isinstance(value, int) and not isinstance(value, bool) and value in STARS


def add_rating(workspace: Workspace, path: str, stars: int, rater: str = "") -> list[int]:
    """Add one rating to minutes, in the place of an earlier one of the same person.

    Args:
        workspace: Where the minutes lie.
        path: The minutes.
        stars: From 1 to 5.
        rater: Who rates; "" for a rating of no named person, which is added to the others.

    Returns:
        All ratings that they have now.

    Raises:
        InvalidStateError: They have no front matter, or ratings we would spoil.
        ConflictError: A program keeps saving over them.
        CouncilError: The lock is not free, or the disk refuses.
    """
    from council.store.maintenance import alone  # most who read minutes change nothing

    with alone(workspace):
        for _ in range(_RATING_TRIES):
            shared.bring(path)
            reading = files.read_stable(path)
            data = b"" if reading is None else reading.data
            try:
                front = read_minutes(data.decode("utf-8"))
            except UnicodeDecodeError:
                raise InvalidStateError(f"{path} is not UTF-8", "save it as UTF-8") from None
            given, ratings = front.get(RATINGS), _by_rater(front)
            if given is not None and (isinstance(given, str) or len(given) != len(ratings)):
                raise InvalidStateError(
                    f"{path}: {RATINGS} is not a list of numbers from 1 to 5", "correct that line"
                )
            ratings[rater or str(len(ratings) + 1)] = stars
            is_list = not rater and not isinstance(given, dict)
            changed = with_ratings(data, [*ratings.values()] if is_list else ratings)
            if changed is None or not front:
                raise InvalidStateError(f"{path} has no front matter", "name other minutes")
            if (
                reading is not None
                and files.is_same(path, reading)
                and shared.publish(path, changed)
            ):
                files.replace(path, changed)
                shared.bring(path)
                return [*ratings.values()]
        raise ConflictError(f"{path} is being written all the time", "try again")


def with_ratings(data: bytes, ratings: list[int] | dict[str, int]) -> bytes | None:
    """Return a file with the line of its ratings set, None when its front matter is not closed."""
    lines = data.split(b"\n")
    if lines[0].removeprefix(b"\xef\xbb\xbf").rstrip() != _FENCE.encode():
        return None
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == _FENCE.encode()), 0)
    if not end:
        return None
    ending = b"\r" if lines[end].endswith(b"\r") else b""
    line = f"{RATINGS}: {json.dumps(ratings, ensure_ascii=False)}".encode() + ending
    start = next((at for at in range(1, end) if lines[at].startswith(f"{RATINGS}:".encode())), end)
    after = min(start + 1, end)
    while after < end and lines[after][:1] in (b" ", b"-", b"\t"):  # a list of one item a line
        after += 1
    return b"\n".join([*lines[:start], line, *lines[after if start < end else end :]])
