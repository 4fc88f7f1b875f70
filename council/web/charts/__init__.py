"""The pictures of a conversation: functions from its JSON to HTML and SVG, nothing else.

Each takes the `Facts` of a record, in the words of a reader (the table `texts/charts.txt`), and
returns a `figure`. Colours, sizes and marks stand in `static/charts.css`; there is no script and
no style attribute. Colour is never the only sign, and each drawing is followed by a table that
says the same.

Source: DL-073, DL-074, DL-083, DL-097, DL-098, DL-102.
"""

from __future__ import annotations

from council.core.record import Any
from council.store.texts import words_of
from council.web.charts.amounts import confidence, tallies, words_said
from council.web.charts.facts import Facts
from council.web.charts.flow import flow
from council.web.charts.standing import blockers, matrix, meter, statuses

OF_STANCES = {
    "meter": meter,
    "flow": flow,
    "matrix": matrix,
    "tallies": tallies,
    "confidence": confidence,
    "words": words_said,
}
OF_STATUSES = {"statuses": statuses, "blockers": blockers, "words": words_said}


def pictures(record: dict[str, Any], stands: dict[str, Any], lang: str) -> dict[str, str]:
    """Return each picture as HTML, by its name.

    Args:
        record: What `show --json` prints.
        stands: What `show --consensus --json` prints.
        lang: In which language.
    """
    facts = Facts({**record, "consensus": stands}, words_of(lang, "charts"))
    drawn = OF_STANCES if "towards" in stands else OF_STATUSES
    return {name: str(draw(facts)) for name, draw in drawn.items()}
