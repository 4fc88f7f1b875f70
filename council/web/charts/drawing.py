"""How a picture is made of a template: marks, and the figure around each.

Source: DL-073.
"""

from __future__ import annotations

from markupsafe import Markup

from council.core.conversations.conversation import ParticipantStatus
from council.core.record import Any
from council.web.charts.facts import Facts, line_of
from council.web.frame import TEMPLATES

# Stances and statuses alike.
MARKS = {
    "agree": "✓",
    "partial": "≈",
    "disagree": "✗",
    "absent": "·",
    **{str(one): one.mark for one in ParticipantStatus},
}


TEMPLATES.globals["marks"] = MARKS
TEMPLATES.filters["short"] = line_of


def figure(name: str, facts: Facts, **values: Any) -> Markup:
    """Return a picture, drawn by the template of its name."""
    made = TEMPLATES.get_template(f"charts/{name}.html")
    return Markup(made.render(name=name, facts=facts, say=facts.say, **values))
