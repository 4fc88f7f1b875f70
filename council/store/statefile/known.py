"""What is known of a conversation file's structure before its lines are read.

It comes from the state block, which may hold anything as people edit it, and
from the conversation whose file it is or was.

Source: C0-019, XC-012.
"""

from __future__ import annotations

from council.core.conversations.answers import sealed_digest
from council.core.conversations.conversation import Conversation, ParticipantStatus
from council.core.conversations.procedures import PROCEDURES, SYNTHESIZE
from council.core.ids import text_digest
from council.core.record import Record
from council.store.statefile.headings import folded, label_line, line_of
from council.store.statefile.layout import agent_headings, titles_of, told_apart
from council.store.statefile.sections import SIDE_SECTIONS, has_hints, section_of, sections_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_ASIDES = frozenset(SIDE_SECTIONS.values())


class Known(Record):
    """What is known of a file's structure before its lines are read.

    `sections` maps each section to the agents with a subsection there, None
    where the file does not say; `ledger` maps entry ids to (digest, nonce),
    None where there is none. `labels` maps headings to agents, `titles`
    renamed headings to keys, `asides` are the side sections it has. `judged`
    tells whether it may have the lines of a conversation with turns and stances.
    """

    sections: dict[str, list[str]] | None = None
    ledger: dict[str, tuple[str, str]] | None = None
    labels: dict[str, str] = {}
    titles: dict[str, str] = {}
    asides: set[str] = set()  # never changed in place
    bare_title: bool = False
    judged: bool = True
    brief_digest: str = ""

    def agent_of(self, heading: str) -> str:
        """Return the agent whose section a heading opens, "" for none."""
        found = self.labels.get(heading) or self.labels.get(folded(heading))
        if not found and heading.endswith(")") and "(agent:" in heading:
            found = heading[heading.rfind("(agent:") + 7 : -1]
        return found or ""

    def has(self, key: str) -> bool:
        """Tell whether a file like this one has the section."""
        if key.startswith("h:phase:"):
            return self.sections is None or key[8:] in self.sections
        if key in _ASIDES and self.sections is not None:
            return key in self.asides
        return True


def known_of(record: dict[str, Any] | None, like: Conversation | None) -> Known:
    """Return what a state block, and a conversation it resembles, tell of the file."""
    known = Known()
    if like is not None:
        known.sections = sections_of(like)
        known.judged = has_hints(PROCEDURES[like.procedure], like.order)
        known.brief_digest = like.brief_digest
        known.ledger = {one.id: (one.digest, one.nonce) for one in like.entries}
        known.asides = {
            SIDE_SECTIONS[one.kind] for one in like.entries if one.kind in SIDE_SECTIONS
        }
        for agent, heading in agent_headings(like).items():
            known.labels.setdefault(heading, agent)
        _add_titles(known, like.titles)
    if record is not None:
        _add_record(known, record)
    for agents in list((known.sections or {}).values()):
        for agent in agents:
            known.labels.setdefault(agent, agent)
    for label, agent in list(known.labels.items()):
        known.labels.setdefault(folded(label), agent)
    return known


def _add_record(known: Known, record: dict[str, Any]) -> None:
    """Add what the block says; it may hold anything, as a person may have edited it."""
    people = table_of(record.get("participants"))
    labels = {}
    for agent, value in people.items():
        name, emoji = _text(table_of(value).get("name")), _text(table_of(value).get("emoji"))
        labels[agent] = label_line(emoji, name, agent)
    for agent, heading in told_apart(labels).items():
        known.labels[heading] = agent
    for agent, value in people.items():
        known.labels.setdefault(line_of(_text(table_of(value).get("name"))) or agent, agent)
        known.labels.setdefault(agent, agent)
    known.brief_digest = known.brief_digest or _text(record.get("briefDigest"))
    judged = has_hints(PROCEDURES.get(_text(record.get("procedure"))), record.get("order"))
    known.judged = judged or (known.sections is not None and known.judged)
    _add_sections(known, record, list(people))
    _add_titles(known, table_of(record.get("titles")))


def _add_titles(known: Known, titles: dict[str, Any]) -> None:
    kept = titles_of({key: one for key, one in titles.items() if isinstance(one, str)})
    known.bare_title = kept.get("title") == ""
    known.titles = {text: key for key, text in kept.items() if text}


def _add_sections(known: Known, record: dict[str, Any], people: list[str]) -> None:
    if "ledger" not in record and "rounds" not in record:
        return
    ledger = [table_of(one) for one in _list(record.get("ledger"))]
    aside = {str(kind): key for kind, key in SIDE_SECTIONS.items()}
    known.asides = known.asides | {
        aside[one["kind"]] for one in ledger if _text(one.get("kind")) in aside
    }
    known.ledger = (known.ledger or {}) | {
        _text(one.get("id")): (_text(one.get("digest")), _text(one.get("nonce"))) for one in ledger
    }
    procedure = _text(record.get("procedure"))

    def section(one: Any) -> str:
        tour = table_of(one).get("tour")
        phase = _text(table_of(one).get("phase"))
        return section_of(procedure, phase, tour if isinstance(tour, int) else 1)

    told = [
        (section(one), _text(one.get("agent")))
        for one in ledger
        if _text(one.get("kind")) not in aside
    ]
    reached = [section(one) for one in _list(record.get("rounds"))]
    here = section({"phase": record.get("currentPhase"), "tour": record.get("tour")})
    writer = _text(record.get("synthesizer")) or _text(record.get("coordinator"))
    sections = known.sections or {}
    # Once for each section: there may be thousands of entries in a few of them.
    for name in dict.fromkeys([*reached, *(name for name, _ in told), here]):
        agents = [*sections.get(name, ()), *people]
        agents += [writer] if name == SYNTHESIZE and writer else []
        sections[name] = agents
    for name, agent in told:
        sections[name].append(agent)
    known.sections = {
        name: list(dict.fromkeys(agents)) for name, agents in sections.items() if name
    }


def table_of(value: object) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def fits(text: str, digest: str, nonce: str) -> bool:
    """Tell whether a text is the one an entry of the ledger speaks of."""
    try:
        return (sealed_digest(nonce, text) if nonce else text_digest(text)) == digest
    except UnicodeEncodeError:
        return False


def status_of(written: str) -> str:
    """Return the status that a person wrote, `RÉPONDU` and `D'ACCORD` included; else the word."""
    word = written.upper()
    if not word or word in tuple(ParticipantStatus):
        return word
    from council.core.reading_answers.contribution_lines import status_word  # it reads prose

    return status_word(written).upper() or word
