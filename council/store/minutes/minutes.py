"""The minutes of a finished conversation: one markdown file that a stranger can read.

Front matter for tools, a title that states the real outcome, what matters
first, the whole record after it, and the state at the end. It renders and
reads texts; where the file goes and when it is written the store decides.

Source: C0-030, C0-063, C0-073, C0-079, XC-012 to XC-014, `cli.md` section 4.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from council.core.conversations.account import absences, is_agreed, one_line
from council.core.conversations.conversation import SCHEMA_VERSION, Conversation
from council.core.conversations.procedures import PROCEDURES
from council.core.conversations.records import from_record, to_record
from council.core.errors import InvalidStateError
from council.core.excerpts import excerpt
from council.core.ids import slug
from council.core.record import Record
from council.core.times import render_duration
from council.store.minutes.minute_summary import outcome_of, summary
from council.store.minutes.minute_transcript import transcript
from council.store.minutes.minute_words import words_for
from council.store.statefile.marks import block_text, plain
from council.store.statefile.quoting import (
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
_COUNTS = ("agree", "partial", "disagree", "absent")


def minutes_file_name(state: Conversation, now: datetime) -> str:
    """Return `YYYY-MM-DD-<slug>.md`; the day is the one on which the conversation ended."""
    return f"{state.finished_at or now:%Y-%m-%d}-{slug(state.topic)}.md"


def render_minutes(state: Conversation, *, now: datetime) -> str:
    """Return the minutes of a conversation.

    Args:
        state: The conversation, with the texts of its entries.
        now: Taken as its end when the state names none.

    Source: C0-030, C0-063, C0-073, C0-079.
    """
    import frontmatter  # brings the YAML library

    ended_at = state.finished_at or now
    page = _page(state, ended_at)
    blocks = [
        f"# {page.title}{page.words['colon']}{inline(state.topic)}",
        *page.blocks,
        f"## {page.words['state']}",
        f"*{page.words['state.note']}*",
        block_text(to_record(state)),
    ]
    meta = _front_matter(state, ended_at, page)
    head = frontmatter.dumps(
        frontmatter.Post("", **meta), sort_keys=False, width=100_000, allow_unicode=True
    )
    return f"{head.rstrip()}\n\n" + "\n\n".join(blocks) + "\n"


class _Page(Record):
    """What differs between the minutes of one procedure and another.

    `title` is what stands before the topic. `after` holds further facts for the
    front matter, by the key they stand behind.
    """

    words: dict[str, str]
    title: str
    outcome: str
    consensus: bool | str
    rounds: int
    blocks: list[str]
    after: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - Record copies it


def _page(state: Conversation, ended_at: datetime) -> _Page:
    if PROCEDURES[state.procedure].verdict == "stances":
        return _page_of_deliberation(state, ended_at)
    words = words_for(state.lang)
    outcome = outcome_of(state)
    return _Page(
        words=words,
        title=words[f"title.{outcome}"],
        outcome=outcome,
        consensus=is_agreed(state),
        rounds=len(state.rounds) or state.tour,
        blocks=[*summary(state, ended_at, words), *transcript(state, words)],
    )


def _page_of_deliberation(state: Conversation, ended_at: datetime) -> _Page:
    from council.core.deliberation.judgement import judge  # only where stances are judged
    from council.store.minutes.minute_turns import turns_transcript
    from council.store.minutes.minute_verdict import (
        outcome_of_deliberation,
        title_words,
        verdict_summary,
    )
    from council.store.minutes.verdict_words import verdict_words

    words = verdict_words(state.lang)
    judged = judge(state)
    verdict, outcome = judged.verdict, outcome_of_deliberation(state, judged)
    counts = {stance: getattr(verdict, stance) for stance in _COUNTS}
    measured = {"diversity": round(judged.diversity, 4), "flips": len(judged.flips)}
    return _Page(
        words=words,
        title=title_words(state, judged, words),
        outcome=outcome,
        consensus=verdict.type if state.finished_at and outcome != "cancelled" else "none",
        rounds=sum(1 for one in state.rounds if one.phase == state.phases[0]),
        blocks=[
            *verdict_summary(state, judged, ended_at, words),
            *turns_transcript(state, judged, words),
        ],
        after={
            "conversation": {"id": state.session_id} if state.session_id else {},
            "consensus": {"tally": {**counts, "threshold": verdict.threshold}},
            "rounds": measured,
        },
    )


def _front_matter(state: Conversation, ended_at: datetime, page: _Page) -> dict[str, Any]:
    reason = state.closed_reason
    title = f"{page.title}{page.words['colon']}{one_line(state.topic)}"
    meta = {
        "schemaVersion": SCHEMA_VERSION,
        "title": excerpt(title, TITLE_MAX_CHARS),
        "date": ended_at.date(),
        "conversation": state.conversation_id,
        "name": state.name,
        "mode": state.mode,
        "procedure": state.procedure,
        "outcome": page.outcome,
        "consensus": page.consensus,
        "closed_reason": None if reason is None else str(reason),
        "rounds": page.rounds,
        "duration": render_duration(max(ended_at - state.created_at, timedelta(0))),
        "lang": state.lang,
        "participants": list(state.participants),
        "absent": [one.agent for one in absences(state)],
        "tags": list(dict.fromkeys(["council", state.mode, page.outcome])),
    }
    whole: dict[str, Any] = {}
    for key, value in meta.items():
        whole |= {key: value, **page.after.get(key, {})}
    return whole


def conversation_in(text: str) -> Conversation:
    """Return the conversation as minutes keep it: state, topic, brief and all texts.

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
    import frontmatter  # brings the YAML library

    try:
        meta = frontmatter.loads(f"{_FENCE}\n{head}\n{_FENCE}\n").metadata
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
