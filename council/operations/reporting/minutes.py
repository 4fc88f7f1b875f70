"""The minutes of a finished conversation: one markdown file that a stranger can read.

Little front matter, a title that states the real outcome, what matters first and
the whole record after it. What programs need lies in a file beside it: the JSON object
of the state at the end, with topic, brief and every text byte for byte, and the facts
that lists and metrics show. A program finds it by the key `data` of the front matter.
Where the files go and how they are read again is the matter of `store.conversations.minutes`.

Source: C0-030, C0-063, C0-073, C0-079, XC-012 to XC-014, HR-027, DL-094, DL-098,
`cli.md` section 4.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from council.core.conversations.account import absences, is_agreed, one_line
from council.core.conversations.conversation import SCHEMA_VERSION, Conversation
from council.core.conversations.procedures import PROCEDURES
from council.core.conversations.records import to_record
from council.core.ids import slug
from council.core.plain_text import excerpt
from council.core.times import render_duration
from council.operations.reporting.minute_summary import outcome_line, outcome_of, summary, title_of
from council.operations.reporting.minute_transcript import Page, transcript
from council.operations.reporting.usage import used_record
from council.store.conversations.minutes import data_path
from council.store.front_matter import fenced
from council.store.statefile.quoting import MARK, inline
from council.store.texts import words_of

TITLE_MAX_CHARS = 200


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
    ended_at = state.finished_at or now
    if PROCEDURES[state.procedure].verdict == "stances":
        from council.core.deliberation.judgement import judge  # only where stances are judged
        from council.operations.reporting import minute_verdict as verdict
        from council.operations.reporting.minute_turns import turns_transcript

        page, judged = Page(state, words_of(state.lang, "minutes", "deliberation")), judge(state)
        outcome, tag = verdict.outcome_of_deliberation(state, judged), state.procedure
        real, line = verdict.title_words(page, judged), verdict.opening_line(page, judged)
        first, *others = verdict.verdict_summary(page, judged, ended_at)
        others += turns_transcript(page, judged)
    else:
        page = Page(state, words_of(state.lang, "minutes"))
        outcome, tag = outcome_of(state), state.mode
        real, line = title_of(page), outcome_line(page)
        first, *others = summary(page, ended_at)
        others += transcript(page)
    title = f"{real}{page.words['colon']}"
    meta: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "title": excerpt(f"{title}{one_line(state.topic)}", TITLE_MAX_CHARS),
        "date": ended_at.date(),
        "conversation": state.conversation_id,
        "outcome": outcome,
        "participants": list(state.participants),
        "tags": list(dict.fromkeys(["council", tag, outcome])),
        "data": data_path(minutes_file_name(state, now)),
    }
    top = f"{fenced(meta)}\n# {title}{inline(state.topic)}\n{line}"
    # A mark takes the place of the blank line: the text below it begins in line 15, too.
    gap = "\n" if first.startswith(MARK) else "\n\n"
    return "\n\n".join([f"{top}{gap}{first}", *others]) + "\n"


def render_data(state: Conversation, *, now: datetime) -> str:
    """Return the text of the file beside the minutes.

    Args:
        state: The conversation, with the texts of its entries.
        now: Taken as its end when the state names none.
    """
    record = {
        **to_record(state),
        "topic": state.topic,
        "brief": state.brief,
        "texts": {one.id: one.text for one in state.entries},
        "facts": _facts(state, state.finished_at or now),
    }
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def _facts(state: Conversation, ended_at: datetime) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": state.name,
        "date": ended_at.date().isoformat(),
        **state.as_json("procedure mode closed_reason:closed_reason"),
        "duration": render_duration(max(ended_at - state.created_at, timedelta(0))),
        "lang": state.lang,
        "absent": [one.agent for one in absences(state)],
        **({"used": used_record(state.usage)} if state.usage else {}),
    }
    if PROCEDURES[state.procedure].verdict != "stances":
        return facts | {
            "outcome": outcome_of(state),
            "consensus": is_agreed(state),
            "rounds": len(state.rounds) or state.tour,
        }
    from council.core.deliberation.judgement import judge  # only where stances are judged
    from council.operations.reporting.minute_verdict import outcome_of_deliberation

    del facts["mode"]  # it shapes councils alone
    judged = judge(state)
    verdict, outcome = judged.verdict, outcome_of_deliberation(state, judged)
    return facts | {
        **({"id": state.session_id} if state.session_id else {}),
        "outcome": outcome,
        "consensus": verdict.type if state.finished_at and outcome != "cancelled" else "none",
        "tally": verdict.as_json("agree partial disagree absent threshold"),
        "rounds": sum(1 for one in state.rounds if one.phase == state.phases[0]),
        "diversity": round(judged.diversity, 4),
        "flips": len(judged.flips),
    }
