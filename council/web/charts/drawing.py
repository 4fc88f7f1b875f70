"""How a picture is made of a template: marks, and the figure around each.

Source: DL-073.
"""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from council.core.conversations.conversation import ParticipantStatus
from council.core.record import Any
from council.web.charts.facts import Facts, line_of

# Stances and statuses alike.
MARKS = {
    "agree": "✓",
    "partial": "≈",
    "disagree": "✗",
    "absent": "·",
    **{str(one): one.mark for one in ParticipantStatus},
}


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("council.web", "templates/charts"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["marks"] = MARKS
    made.filters["line"] = line_of
    return made


def figure(name: str, facts: Facts, **values: Any) -> Markup:
    """Return a picture, drawn by the template of its name."""
    made = _templates().get_template(f"{name}.html")
    return Markup(made.render(name=name, facts=facts, say=facts.say, **values))
