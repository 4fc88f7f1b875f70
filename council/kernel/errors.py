"""What is refused, and the exit code that says so.

A refusal is one line for a person (message), one line about the cure (hint) and a code for
programs. Nothing here decides when to refuse.
"""

from __future__ import annotations


class Refusal(Exception):
    """A request that is not carried out.

    `code` is what a program compares, e.g. `already-answered`. `message` says what is wrong, and
    where; `hint` what to do about it, if anything. `more` are further keys of the JSON error.
    """

    exit_code = 6  # of the command line

    def __init__(self, code: str, message: str, hint: str = "", **more: object) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.more = code, message, hint, more

    def to_json(self) -> dict[str, object]:
        """Return the error object that `--json` prints."""
        return {"code": self.code, "message": self.message, "hint": self.hint, **self.more}


class Unexpected(Refusal):
    """The disk or the system fails: exit 1."""

    exit_code = 1


class Usage(Refusal):
    """The command was called wrongly, or a name fits several things: exit 2."""

    exit_code = 2


class Invalid(Refusal):
    """A text, file, value or setting cannot be accepted: exit 3."""

    exit_code = 3


class Conflict(Refusal):
    """The request contradicts what is recorded, or a lock was not free in time: exit 4."""

    exit_code = 4


class NotFound(Refusal):
    """A workspace, conversation, agent or revision does not exist: exit 5."""

    exit_code = 5


class Refused(Refusal):
    """A rule or a permission says no: exit 6."""


class Away(Refusal):
    """The database of many machines is not available in time: exit 7."""

    exit_code = 7
