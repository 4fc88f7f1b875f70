"""The pictures of a conversation: functions from its JSON to HTML and SVG, nothing else.

Each takes a record, the words of a reader (the table `texts/charts.txt`) and a prefix that makes
the ids of its page unique, and returns a `figure`. The record is that of `show --json`; where
it has the key `consensus`, that is the record of `show --consensus --json`, which the meter
needs. Colours, sizes and marks stand in `static/charts.css`; there is no script and no style
attribute. Colour is never the only sign, and each drawing is followed by a table that says the
same.

Source: DL-073, DL-074, DL-083, DL-097, DL-098.
"""

from council.web.charts.amounts import confidence, tallies, words_said
from council.web.charts.flow import flow
from council.web.charts.standing import blockers, matrix, meter, statuses

__all__ = [
    "blockers",
    "confidence",
    "flow",
    "matrix",
    "meter",
    "statuses",
    "tallies",
    "words_said",
]
