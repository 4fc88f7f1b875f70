"""What a synthesis states: consensus, disagreement, insights, recommendation.

Source: DL-027 to DL-029, HR-001.
"""

from __future__ import annotations

from collections.abc import Mapping

from council.core.reading_answers.forms import forms_of, own_text
from council.core.reading_answers.json_fields import json_object, json_text, objects
from council.core.reading_answers.names import Names
from council.core.reading_answers.responses import ANY_DEPTH, about, indent_of
from council.core.reading_answers.structure import Line, labels_of, plain, prose
from council.core.record import Any, Record

_SECTIONS = labels_of(
    {
        "consensus": "consensus summary|consensus|summary of consensus|agreed position"
        "|points of agreement|areas of agreement|résumé du consensus|synthèse du consensus"
        "|konsens|zusammenfassung des konsenses|consenso|resumen del consenso",
        "disagreement": "disagreement summary|disagreement|disagreements|dissent"
        "|summary of disagreement|summary of disagreements|désaccord|désaccords"
        "|points of disagreement|areas of disagreement|open disagreements|dissens|uneinigkeit"
        "|desacuerdo|desacuerdos|resumen del desacuerdo|résumé du désaccord"
        "|résumé des désaccords|synthèse des désaccords",
        "insights": "key insights|key insight|insights|points clés|idées clés|apports"
        "|erkenntnisse|ideas clave"
        "|enseignements|enseignements clés|idées clefs|points clefs",
        "recommendation": "recommendation|recommendations|final recommendation|conclusion|decision"
        "|empfehlung|recomendación|décision"
        "|recommandation|recommandations|recommandation finale",
    }
)
_FIELDS = ("consensusSummary", "disagreementSummary", "keyInsights", "recommendation")
_NOTHING = frozenset(
    ("none", "n/a", "na", "not applicable", "nothing", "rien", "aucun", "aucune", "sans objet")
)


class Synthesis(Record):
    """What a synthesis states; `insights` are pairs of agent and text."""

    consensus: str = ""
    disagreement: str = ""
    insights: list[tuple[str, str]] = []
    recommendation: str = ""


def parse_synthesis(text: str, names: Mapping[str, str]) -> Synthesis:
    """Read a synthesis; without any of its headings all of it is the recommendation.

    A section that holds only "None." or the like is empty.

    Args:
        text: The synthesis as it was given.
        names: Every word that stands for an agent, casefolded, and whom it stands for.
    """
    whole = own_text(text, _SECTIONS)
    found = forms_of(whole, _SECTIONS, single=())[0].bodies
    fields = json_object(whole)
    if fields is not None and not fields.keys().isdisjoint(_FIELDS):
        return _from_json(fields, names)
    if len(found) == 1:
        return Synthesis(recommendation=whole.strip())
    parts = {
        key: _filled(
            "\n\n".join(filter(None, [prose(body, _SECTIONS) for body in found.get(key, ())]))
        )
        for key in ("consensus", "disagreement", "recommendation")
    }
    insights = [one for body in found.get("insights", ()) for one in _insights(body, names)]
    return Synthesis(insights=insights, **parts)


def _filled(text: str) -> str:
    """Return a text, "" for one that only says that there is nothing to say."""
    return "" if plain(text.strip("*_-. ()")) in _NOTHING else text


def _insights(body: list[Line], names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the lines about known agents, each with the lines that go on with it."""
    known = Names(names.items())
    found: list[tuple[str, list[Line]]] = []
    depth = ANY_DEPTH
    for line, is_own in body:
        here = about(line, known, depth) if is_own else []
        if here:
            found.extend([(one.agent, [(one.said, True)]) for one in here])
            depth = indent_of(line)
        elif found:
            found[-1][1].append((line.strip(), is_own))
    texts = [(agent, prose(lines, _SECTIONS)) for agent, lines in found]
    return [(agent, text) for agent, text in texts if agent and text]


def _from_json(fields: Mapping[str, Any], names: Mapping[str, str]) -> Synthesis:
    insights = [
        (
            names.get(json_text(item.get("agentId")).lstrip("@").casefold(), ""),
            json_text(item.get("insight")),
        )
        for item in objects(fields.get("keyInsights"))
    ]
    return Synthesis(
        consensus=_filled(json_text(fields.get("consensusSummary"))),
        disagreement=_filled(json_text(fields.get("disagreementSummary"))),
        insights=[(agent, text) for agent, text in insights if agent and text],
        recommendation=_filled(json_text(fields.get("recommendation"))),
    )
