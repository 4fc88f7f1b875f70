"""Minutes with their data, filed under any name."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from council.core.conversations.conversation import Conversation
from council.operations.reporting.minutes import render_data, render_minutes
from council.store.conversations.minutes import data_path, with_data


def write(path: Path, state: Conversation, now: datetime) -> str:
    """Write both files and return the path of the minutes."""
    beside = Path(data_path(str(path)))
    path.write_text(with_data(render_minutes(state, now=now), beside.name), encoding="utf-8")
    beside.write_text(render_data(state, now=now), encoding="utf-8")
    return str(path)
