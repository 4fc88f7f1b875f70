"""The answers of the corpus, by kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).resolve().parents[2] / "corpus" / "answers.jsonl"


def rows(kind: str) -> list[dict[str, Any]]:
    """Return the answers of one kind: `council`, `result`, `room` and so on."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]
