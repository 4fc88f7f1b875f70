"""Who keeps a workspace going: one process, however many offer to.

What runs all the time, such as `watch --advance`, registers here. The first
one is on duty, which an event tells; the others stand by and one of them takes
over when it is gone, however it went. Start and stop are told once.

Source: DG-005.
"""

from __future__ import annotations

import os

from council.core.events import Event
from council.store.events import append, loose_records
from council.store.files import make_folder
from council.store.lock import try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.place import Place


class Duty:
    """The duty of a workspace as one process sees it.

    Args:
        place: The workspace.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._lock: int | None = None

    def is_mine(self) -> bool:
        """Tell whether this process is on duty; it takes over where nobody is.

        Raises:
            CouncilError: The system refuses.
        """
        if self._lock is None:
            make_folder(self._place.paths.control)
            self._lock = try_lock(self._place.paths.duty_lock)
            if self._lock is not None:
                self._tell("service.started")
        return self._lock is not None

    def end(self) -> None:
        """Leave the duty to whoever stands by."""
        if self._lock is not None:
            self._tell("service.stopped")
            os.close(self._lock)
            self._lock = None

    def _tell(self, kind: str) -> None:
        event = Event(type=kind, data={"process": os.getpid()})
        append(self._place.paths, loose_records([event], "", self._place.now()))
