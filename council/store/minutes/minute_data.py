"""What programs need of the minutes: the JSON file beside the markdown.

It is the JSON object of the state at the end, with topic, brief and every text
byte for byte, and the facts that lists and metrics show: the markdown is for
people and says nothing twice. A program finds it by the key `data` of the front
matter.

Source: HR-027, DL-094, DL-098, `cli.md` section 4.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from council.core.conversations.account import absences, is_agreed
from council.core.conversations.conversation import Conversation
from council.core.conversations.procedures import PROCEDURES
from council.core.conversations.records import from_record, to_record
from council.core.times import render_duration
from council.store.minutes.minute_summary import outcome_of
from council.store.statefile.marks import read_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DATA_SUFFIX = ".json"
_COUNTS = ("agree", "partial", "disagree", "absent")
_ADDED = ("topic", "brief", "texts", "facts")


def render_data(state: Conversation, *, now: datetime) -> str:
    """Return the text of the file beside the minutes.

    Args:
        state: The conversation, with the texts of its entries.
        now: Taken as its end when the state names none.
    """
    ended_at = state.finished_at or now
    record = {
        **to_record(state),
        "topic": state.topic,
        "brief": state.brief,
        "texts": {one.id: one.text for one in state.entries},
        "facts": _facts(state, ended_at),
    }
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def _facts(state: Conversation, ended_at: datetime) -> dict[str, Any]:
    reason = state.closed_reason
    facts: dict[str, Any] = {
        "name": state.name,
        "date": ended_at.date().isoformat(),
        "procedure": state.procedure,
        "mode": state.mode,
        "closed_reason": None if reason is None else str(reason),
        "duration": render_duration(max(ended_at - state.created_at, timedelta(0))),
        "lang": state.lang,
        "absent": [one.agent for one in absences(state)],
    }
    if PROCEDURES[state.procedure].verdict != "stances":
        return facts | {
            "outcome": outcome_of(state),
            "consensus": is_agreed(state),
            "rounds": len(state.rounds) or state.tour,
        }
    from council.core.deliberation.judgement import judge  # only where stances are judged
    from council.store.minutes.minute_verdict import outcome_of_deliberation

    del facts["mode"]  # it shapes councils alone
    judged = judge(state)
    verdict, outcome = judged.verdict, outcome_of_deliberation(state, judged)
    return facts | {
        **({"id": state.session_id} if state.session_id else {}),
        "outcome": outcome,
        "consensus": verdict.type if state.finished_at and outcome != "cancelled" else "none",
        "tally": {
            **{stance: getattr(verdict, stance) for stance in _COUNTS},
            "threshold": verdict.threshold,
        },
        "rounds": sum(1 for one in state.rounds if one.phase == state.phases[0]),
        "diversity": round(judged.diversity, 4),
        "flips": len(judged.flips),
    }


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
