"""Joining council to the programs that people use: what is put into them, and taken out again."""

from __future__ import annotations

from council.core.record import Record


class Integrated(Record):
    """What `integrate` did, each step in words; `ok` is false if its test failed."""

    client: str
    steps: list[str]
    ok: bool = True
