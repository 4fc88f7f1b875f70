"""The pictures of a conversation, drawn of the same records that the command line prints.

Source: DL-074, DL-097, DL-098, DL-102.
"""

from __future__ import annotations

from council.core.record import Any
from council.store.texts import words_of
from council.web import charts

_OF_STANCES = {
    "meter": charts.meter,
    "flow": charts.flow,
    "matrix": charts.matrix,
    "tallies": charts.tallies,
    "confidence": charts.confidence,
    "words": charts.words_said,
}
_OF_STATUSES = {
    "statuses": charts.statuses,
    "blockers": charts.blockers,
    "words": charts.words_said,
}


def pictures(
    record: dict[str, Any], stands: dict[str, Any], lang: str, *, stances: bool
) -> dict[str, str]:
    """Return each picture as HTML, by its name.

    Args:
        record: What `show --json` prints.
        stands: What `show --consensus --json` prints.
        lang: In which language.
        stances: Whether stances decide, else statuses.
    """
    whole = {**record, "consensus": stands}
    words = words_of(lang, "charts")
    drawn = _OF_STANCES if stances else _OF_STATUSES
    return {name: str(draw(whole, words, "c")) for name, draw in drawn.items()}
