"""Reading typed fields out of JSON objects, strict in meaning, and saying which one is wrong.

Source: XC-013.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from council.core.errors import InvalidStateError
from council.core.times import parse_instant, render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _Choice = TypeVar("_Choice", bound=StrEnum)


def written_instant(instant: datetime | None) -> str | None:
    """Write an instant as it stands in JSON; None stays null."""
    return None if instant is None else render_instant(instant)


class Reader:
    """Takes typed fields out of one JSON object and says which one is wrong.

    What nobody took stands in `left`: the fields that are not known here.
    """

    def __init__(self, record: object, where: str) -> None:
        if not isinstance(record, dict):
            raise InvalidStateError(
                f"{where} is not a JSON object", "repair it, or see: council check"
            )
        self.left: dict[str, Any] = dict(record)
        self.where = where

    def fail(self, key: str, expected: str) -> InvalidStateError:
        """Return the error that `key` is not what is expected."""
        return InvalidStateError(
            f"{self.where}: {key} is not {expected}", "repair it, or see: council check"
        )

    def text(self, key: str, default: str | None = "") -> str:
        """Take a text; `default` None means that it must be given."""
        value = self.left.pop(key, default)
        if value is None and default == "":
            return ""
        if not isinstance(value, str):
            raise self.fail(key, "a text")
        return value

    def whole(self, key: str, default: int, least: int = 0) -> int:
        """Take a whole number."""
        value = self.left.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53:
            raise self.fail(key, f"a whole number from {least}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Take true or false."""
        value = self.left.pop(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, "true or false")
        return value

    def number(self, key: str, default: float = 0.0, most: float = 1.0) -> float:
        """Take a number from 0 to `most`."""
        value = self.left.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise self.fail(key, f"a number from 0 to {most:g}")
        return float(value)

    def instant(self, key: str) -> datetime | None:
        """Take an instant, None where there is none."""
        value = self.left.pop(key, None)
        if value is None:
            return None
        try:
            return parse_instant(value)
        except Exception:
            raise self.fail(key, "a time like 2026-02-08T20:00:00Z") from None

    def given_instant(self, key: str) -> datetime:
        """Take an instant that has to be there."""
        instant = self.instant(key)
        if instant is None:
            raise self.fail(key, "given")
        return instant

    def choice(self, key: str, kind: type[_Choice], default: _Choice | None = None) -> _Choice:
        """Take one of the words of an enumeration."""
        value = self.left.pop(key, default)
        try:
            return kind(value)
        except ValueError:
            allowed = ", ".join(member.value for member in kind)
            raise self.fail(key, f"one of {allowed} (it is {value!r})") from None

    def table(self, key: str) -> dict[str, Any]:
        """Take a JSON object, an empty one where there is none."""
        value = self.left.pop(key, None)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.fail(key, "a JSON object")
        return value

    def items(self, key: str) -> list[Any]:
        """Take a list, an empty one where there is none."""
        value = self.left.pop(key, None)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fail(key, "a list")
        return value

    def texts(self, key: str) -> list[str]:
        """Take a list of texts."""
        values = self.items(key)
        if not all(isinstance(value, str) for value in values):
            raise self.fail(key, "a list of texts")
        return values

    def text_table(self, key: str) -> dict[str, str]:
        """Take an object of texts."""
        values = self.table(key)
        if not all(isinstance(value, str) for value in values.values()):
            raise self.fail(key, "an object of texts")
        return values
