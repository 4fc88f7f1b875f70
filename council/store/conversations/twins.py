"""Copies that share what they hold with what they were made of.

The states that the store hands about are values: nobody changes one, so a
copy in which a few fields differ need not copy the rest. Of a long
conversation that would be most of the work.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from council.core.record import Record

    _Any = TypeVar("_Any", bound=Record)


def twin(record: _Any, **changes: Any) -> _Any:
    """Return a record like `record` but for `changes`; everything else is shared with it."""
    made = type(record).__new__(type(record))
    made.__dict__.update(record.__dict__)
    made.__dict__.update(changes)
    return made
