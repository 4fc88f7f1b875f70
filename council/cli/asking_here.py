"""Asking the person who waits for an answer right where they wait.

Source: OP-004, OP-007, PR-576, PR-577.
"""

from __future__ import annotations

import os
import select
import sys
import time

from council.core.errors import CouncilError
from council.core.plain_text import plain_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.place import Place
    from council.operations.protocol.waiting import Asked

_LONGEST_LINE = 4096  # a terminal hands over no longer one


class Person:
    """Who waits: shown each question once, and asked for the answer if there is a terminal.

    Without one a line says which command answers.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._shown: list[Asked] = []
        self._is_here = sys.stdin.isatty() and sys.stderr.isatty()

    def put(self, asked: list[Asked], longest_s: float) -> bool:
        """Show what is new, and wait for an answer, no longer than `longest_s` seconds.

        Returns true if the questions can be answered right here.
        """
        if not self._is_here:
            for one in asked:
                if one not in self._shown:
                    self._shown.append(one)
                    _say(_in_one_line(one))
            time.sleep(longest_s)
            return False
        first = asked[:1]
        if self._shown != first:
            if self._shown:
                _say("")
                _say("council: this is not asked any more")
            self._shown = first
            self._ask()
        if not first:
            time.sleep(longest_s)
        elif select.select([sys.stdin], [], [], longest_s)[0]:
            self._take(first[0])
        return True

    def _ask(self) -> None:
        for one in self._shown:
            _say(f"council: {one.text}")
            for number, option in enumerate(one.options, start=1):
                _say(f"  {number} {option}")
            sys.stderr.write("> ")
            sys.stderr.flush()

    def _take(self, one: Asked) -> None:
        from council.operations.protocol.asking import choose

        line = os.read(sys.stdin.fileno(), _LONGEST_LINE)
        if not line:  # the end of what is typed
            self._is_here, self._shown = False, []
            _say("")
            return
        try:
            done = choose(self._place, one.where, line.decode("utf-8", "replace"))
        except CouncilError as error:
            _say(f"council: {error.message} — {error.hint}")
            self._ask()
            return
        self._shown = []
        for told in done.answers:
            _say(f"council: {told}")


def _in_one_line(one: Asked) -> str:
    options = " · ".join(f"{number} {word}" for number, word in enumerate(one.options, start=1))
    wanted = "OPTION" if one.options else '"…"'
    return f"council: {one.text} {options} (answer with: council msg answer {one.where} {wanted})"


def _say(line: str) -> None:
    sys.stderr.write(f"{plain_line(line)}\n")
