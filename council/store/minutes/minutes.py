"""The minutes of a finished conversation: one markdown file that a stranger can read.

Little front matter, a title that states the real outcome, what matters first
and the whole record after it; what programs need lies in a file beside it
(`minute_data`). It renders and reads texts; where the files go and when they
are written the store decides.

Source: C0-030, C0-063, C0-073, C0-079, XC-012 to XC-014, HR-027, `cli.md` section 4.
"""

from __future__ import annotations

import os
from datetime import date, datetime

from council.core.conversations.account import one_line
from council.core.conversations.conversation import SCHEMA_VERSION, Conversation
from council.core.conversations.procedures import PROCEDURES
from council.core.conversations.records import from_record
from council.core.errors import InvalidStateError
from council.core.excerpts import excerpt
from council.core.ids import slug
from council.core.record import Record
from council.store import files
from council.store.front_matter import parted
from council.store.minutes.minute_data import data_path
from council.store.minutes.minute_summary import outcome_line, outcome_of, summary, title_of
from council.store.minutes.minute_transcript import transcript
from council.store.minutes.minute_words import words_for
from council.store.statefile.marks import plain
from council.store.statefile.quoting import (
    MARK,
    inline,
    not_inline,
    read_entries,
    read_quote_below,
    read_state_block,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEAD_BYTES = 4096
TITLE_MAX_CHARS = 200
_FENCE = "---"


def minutes_file_name(state: Conversation, now: datetime) -> str:
    """Return `YYYY-MM-DD-<slug>.md`; the day is the one on which the conversation ended."""
    return f"{state.finished_at or now:%Y-%m-%d}-{slug(state.topic)}.md"


def render_minutes(state: Conversation, *, now: datetime) -> str:
    """Return the minutes of a conversation as people read them.

    Title, verdict and decision stand within the first fifteen lines. The key
    `data` names the file for programs; see `with_data` where it gets another name.

    Args:
        state: The conversation, with the texts of its entries.
        now: Taken as its end when the state names none.

    Source: C0-030, C0-063, C0-073, C0-079, HR-027.
    """
    import frontmatter  # brings the YAML library

    ended_at = state.finished_at or now
    page = _page(state, ended_at)
    title = f"{page.title}{page.words['colon']}"
    meta: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "title": excerpt(f"{title}{one_line(state.topic)}", TITLE_MAX_CHARS),
        "date": ended_at.date(),
        "conversation": state.conversation_id,
        "outcome": page.outcome,
        "participants": list(state.participants),
        "tags": list(dict.fromkeys(["council", *page.tags, page.outcome])),
        "data": data_path(minutes_file_name(state, now)),
    }
    head = frontmatter.dumps(
        frontmatter.Post("", **meta),
        sort_keys=False,
        width=2**30,
        allow_unicode=True,
        default_flow_style=None,  # lists in one line
    )
    top = f"{head.rstrip()}\n# {title}{inline(state.topic)}\n{page.verdict}"
    first, *others = page.blocks
    # A mark takes the place of the blank line: the text below it begins in line 15, too.
    gap = "\n" if first.startswith(MARK) else "\n\n"
    return "\n\n".join([f"{top}{gap}{first}", *others]) + "\n"


def with_data(text: str, name: str) -> str:
    """Return minutes just rendered with another name for their data file."""
    head, key, rest = text.partition("\ndata: ")
    return f"{head}{key}{name}\n{rest.partition(chr(10))[2]}" if key else text


class _Page(Record):
    """What differs between the minutes of one procedure and another.

    `title` is what stands before the topic, `verdict` the line below it.
    """

    words: dict[str, str]
    title: str
    verdict: str
    outcome: str
    tags: list[str]
    blocks: list[str]


def _page(state: Conversation, ended_at: datetime) -> _Page:
    if PROCEDURES[state.procedure].verdict == "stances":
        return _page_of_deliberation(state, ended_at)
    words = words_for(state.lang)
    return _Page(
        words=words,
        title=title_of(state, words),
        verdict=outcome_line(state, words),
        outcome=outcome_of(state),
        tags=[state.mode],
        blocks=[*summary(state, ended_at, words), *transcript(state, words)],
    )


def _page_of_deliberation(state: Conversation, ended_at: datetime) -> _Page:
    from council.core.deliberation.judgement import judge  # only where stances are judged
    from council.store.minutes.minute_turns import turns_transcript
    from council.store.minutes.minute_verdict import (
        opening_line,
        outcome_of_deliberation,
        title_words,
        verdict_summary,
    )
    from council.store.minutes.minute_words import verdict_words

    words = verdict_words(state.lang)
    judged = judge(state)
    return _Page(
        words=words,
        title=title_words(state, judged, words),
        verdict=opening_line(state, judged, words),
        outcome=outcome_of_deliberation(state, judged),
        tags=[state.procedure],
        blocks=[
            *verdict_summary(state, judged, ended_at, words),
            *turns_transcript(state, judged, words),
        ],
    )


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
    words = words_for(str(record.get("lang")))
    title = next((line for line in text.split("\n") if line.startswith("# ")), "")
    _, _, topic = title.rstrip().partition(words["colon"])
    brief = read_quote_below(text, f"## {words['brief']}")
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
