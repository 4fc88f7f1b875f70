"""What a run reports of its tool calls, and the end of one that reports too many.

Nobody can see from outside which tools a program uses. A run that wants to be
counted adds a line to the file that `COUNCIL_REPORT` names, one for each
tool call, in any words; who reports nothing is held by the time limit alone.
A line `usage tokens=1200 usd=0.03` is no call: it says what was used since the
line before it.

Source: P8-055, OP-018, `cli.md` section 5.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.runs import Answer, Run

_PIECE_BYTES = 64 * 1024
_LINE_BYTES = 200
_DIGITS = 13


class ToolReports:
    """The reports of one run, counted as they come.

    Attributes:
        bounded: Whether there is a number that they may not pass.
    """

    def __init__(self, run: Run) -> None:
        self.bounded = bool(run.report_file) and run.max_tool_calls is not None
        self._run = run
        self._read_to = 0
        self._lines = 0
        self._begun = b""
        self._tokens, self._usd = 0, 0.0

    def are_too_many(self) -> bool:
        """Tell whether one call more was reported than is allowed."""
        most = self._run.max_tool_calls
        return most is not None and self.count() > most

    def count(self) -> int:
        """Return how many calls were reported until now."""
        if not self._run.report_file:
            return 0
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self._run.report_file, flags)
        except OSError:
            return self._lines
        try:
            while piece := os.pread(descriptor, _PIECE_BYTES, self._read_to):
                self._read_to += len(piece)
                *lines, self._begun = (self._begun + piece).split(b"\n")
                used = [one for one in lines if one.startswith(b"usage ")]
                self._lines += len(lines) - len(used)
                for one in used:
                    self._add(one.decode("ascii", "replace"))
                self._begun = self._begun[:_LINE_BYTES]
        except OSError:
            pass  # whatever stands in the place of the file, it reports nothing
        finally:
            os.close(descriptor)
        return self._lines

    def _add(self, usage: str) -> None:
        """Add what a line says was used; what is no number from 0 on counts for nothing."""
        for part in usage.split()[1:]:
            name, _, amount = part.partition("=")
            if name == "tokens" and amount.isdecimal() and len(amount) < _DIGITS:
                self._tokens += int(amount)
            elif name == "usd" and amount.replace(".", "", 1).isdecimal() and len(amount) < _DIGITS:
                self._usd += float(amount)

    def judge(self, answer: Answer) -> Answer:
        """Return the answer of the run with what was reported; one too many makes it fail."""
        judged = with_tool_calls(answer, self._run, self.count())
        return judged.copy(tokens=judged.tokens + self._tokens, usd=judged.usd + self._usd)


def with_tool_calls(answer: Answer, run: Run, count: int) -> Answer:
    """Return an answer that says how many tool calls there were; one too many makes it fail."""
    most = run.max_tool_calls
    if most is None or count <= most or answer.timed_out:
        return answer.copy(tool_calls=count)
    return answer.copy(
        ok=False,
        text="",
        reason=f"ended at tool call {count} of at most {most}",
        tool_calls=count,
        too_many_tool_calls=True,
    )
