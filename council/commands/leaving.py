"""Leaving a command that waits for a council, before the council is over.

Who presses Ctrl-C, ends the command or closes its terminal does not want to go on spending: the
conversation is paused first, so that no other run is started, then its runs under way are ended,
and the last line says so. A signal only says that it came, so that a change that is being written
is finished; asked again, the command waits for nothing any more.

Source: FW-003.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Mapping

from council.commands.output import fitted, shown
from council.core.conversations.conversation import Conversation
from council.core.errors import CouncilError, NotFoundError
from council.operations.conversations.steer import interrupt
from council.operations.ended_runs import still_running
from council.operations.place import Place

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OF_SIGNALS = 128
_GONE = (errno.EIO, errno.EPIPE)
_LONGEST_END_S, _CHECK_EVERY_S = 8.0, 0.05
_ALL = 1_000_000


class Leaving:
    """Whether the user has asked to leave, by which signal and how often.

    Attributes:
        number: The signal that asked first, 0 for none.
        count: How often it was asked.
        patience: How often it may be asked before the process is interrupted where it is.
    """

    def __init__(self) -> None:
        self.number = 0
        self.count = 0
        self.patience = _ALL
        self._before: dict[int, signal._HANDLER] = {}

    @property
    def code(self) -> int:
        """The exit code that names the signal."""
        return _OF_SIGNALS + self.number

    def __enter__(self) -> Leaving:
        """Begin to take notice of signals, but of those that the caller wants to be ignored."""
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._note)
        return self

    def __exit__(self, *failure: object) -> None:
        """Give signals back to whom they belonged."""
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, _: object) -> None:
        self.number = self.number or number
        self.count += 1
        if self.count > self.patience:
            raise KeyboardInterrupt

    def note_failed_output(self, error: OSError) -> None:
        """Take a terminal or a pipe that is gone for the wish to leave.

        Raises:
            OSError: It is another failure.
        """
        if error.errno not in _GONE:
            raise error
        self.number = self.number or signal.SIGPIPE


def left(
    place: Place, state: Conversation, leaving: Leaving, words: Mapping[str, str]
) -> tuple[str, bool]:
    """Pause a conversation and end its runs.

    Returns:
        The line that says so, "" if it is over; and whether it is paused.
    """
    name = state.name
    leaving.patience = 2  # a second signal does not keep it from being paused
    try:
        given_up = interrupt(place, name, state.conversation_id)
    except NotFoundError:
        return "", False
    except (CouncilError, KeyboardInterrupt) as error:
        why = error.message if isinstance(error, CouncilError) else words["leave-waited"]
        return words["leave-failed"].format(name=name, why=why), False
    elsewhere = [one for one in given_up if not place.has(one)]  # on another machine
    until = time.monotonic() + _LONGEST_END_S
    try:
        while (running := still_running(place, given_up)) and leaving.count < 2:
            if time.monotonic() > until:
                elsewhere += running
                break
            time.sleep(_CHECK_EVERY_S)
    except KeyboardInterrupt:
        pass
    key = "leave-running" if elsewhere else "leave"
    return words[key].format(name=name, who=", ".join(elsewhere)), True


def say_last(line: str) -> None:
    """Say the last line on standard error; where that is gone, all further output goes nowhere."""
    try:
        sys.stderr.write(fitted(shown(line), sys.stderr) + "\n")
        sys.stderr.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        for standard in (1, 2):
            os.dup2(null, standard)
