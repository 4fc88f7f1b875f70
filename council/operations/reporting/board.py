"""The board: a page that the heartbeat keeps up to date, and leaves alone otherwise.

The time stamp of the page says when it was last known to be right. Everything
it shows lies in few folders, and nothing changes there without the time
stamp of the folder or of the settings: where the page is younger than all of
them, nothing is opened and nothing is loaded. A change within the same tick
of the clock could go unnoticed, so young time stamps are not believed.

Source: P8-003, P8-006, XC-007, A-101.
"""

from __future__ import annotations

import os
import time

from council.store.notes import YOUNG_NS, replace_dated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.operations.place import Place


def is_fresh(place: Place) -> bool:
    """Return true if nothing has changed since the page was found right."""
    if place.settings.force_network_fs:
        return False  # a time of change is the word of another clock
    paths = place.paths
    try:
        known_ns = os.lstat(paths.board).st_mtime_ns
    except OSError:
        return False
    sources = (
        os.path.dirname(paths.control),
        paths.channels,
        f"{paths.protocol}/contexts",
        paths.settings,
    )
    for path in sources:
        try:
            changed_ns = os.stat(path).st_mtime_ns
        except OSError:
            continue  # what is not there says nothing; going away changes the folder above
        if changed_ns > known_ns - YOUNG_NS:
            return False
    return True


def render_board(place: Place, now: datetime) -> bool:
    """Bring the page up to date; return true if it had to be written.

    Raises:
        CouncilError: It cannot be written.
    """
    if is_fresh(place):
        return False
    looked_ns = time.time_ns()
    from council.operations.reporting.board_lines import Lines, page
    from council.store.settings import language

    lines = Lines(place, now)
    found = lines.all()
    text = page(found, language(place.settings, "", place.environ))
    written = replace_dated(place.paths.board, text.encode("utf-8", "replace"), looked_ns)
    lines.keep(looked_ns)
    return written
