"""Events as sentences for people: which sentence of `texts/events.txt`, and how it is filled in.

A sentence says what was done; who did it stands beside it.

Source: P8-086, XC-012, `cli.md` section 2 (`events story`).
"""

from __future__ import annotations

from council.core.event_types import EVENTS
from council.core.ids import split_task_id
from council.core.reasons import read_reason
from council.core.record import Any
from council.core.reporting.sentences import filled, place_of
from council.store.reason_words import reason_words
from council.store.texts import texts

# By which field some events of a type have a sentence of their own. The message of a command is in
# English, and what one kind of consensus is called is an everyday word elsewhere.
_VARIES_BY = {
    "answer.refused": "code",
    "consensus.checked": "type",
    "service.started": "service",
    "service.stopped": "service",
    "task.started": "driver",
}
# How the key begins of an operation that counts what a run used; its task follows.
USED = "used:"
# The author of revisions that take in what was saved over a file.
EXTERNAL = "external"


# The events whose `reason` is that of a run, or of an absence.
_OF_RUNS = frozenset(name for name, (_, data) in EVENTS.items() if "reason:reason" in data.split())


def sentence(event: dict[str, Any], lang: str) -> str:
    """Return what an event says, in one line; one of a type that is not known shows its data."""
    place, kind, data = place_of(lang), str(event.get("type")), event.get("data") or {}
    values = {**event, **data}
    task = split_task_id(str(values.get("task") or ""))
    if task is not None:
        values.setdefault("attempt", task[3])
    variant = values.get(_VARIES_BY.get(kind, ""))
    if kind == "routing.decision" and not event.get("agentId"):
        variant = "nobody"
    said = texts("events")
    if kind in _OF_RUNS and "reason" in values:
        values["reason"] = reason_words(read_reason(values["reason"]), lang)
    known = said.get(f"{kind}:{variant}") or said.get(kind)
    if known is None:
        listed = " ".join(f"{key}={shown(value, place)}" for key, value in data.items())
        return f"{event.get('type')} {listed}".strip()
    return filled(known[place], {key: shown(value, place) for key, value in values.items()})


def revision_words(events: list[dict[str, Any]], op_id: str, actor: str, lang: str) -> str:
    """Return what a revision changed: the types of its events, or a phrase where it has none.

    `op_id` is the key of the operation that made it: a run's use is counted without an event.
    """
    if events:
        return ", ".join(str(event["type"]) for event in events)
    task = split_task_id(op_id.removeprefix(USED)) if op_id.startswith(USED) else None
    key = "revision-usage" if task else "revision-text" if actor == EXTERNAL else "revision-state"
    said = texts("explanations")[key][place_of(lang)]
    return filled(said, {"agent": task[2] if task else ""})


def kind_word(kind: str, lang: str) -> str:
    """Return what a kind of thing is called in a language."""
    return texts("explanations").get(f"kind-{kind}", (kind, kind))[place_of(lang)]


def shown(value: object, place: int) -> str:
    """Return a value of an event's data as a sentence shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return (("no", "non"), ("yes", "oui"))[value][place]
    if isinstance(value, list):
        return ", ".join(shown(one, place) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(one, place)}" for key, one in value.items())
    text = " ".join(str(value).split())
    words = texts("event-words")
    return words[text][place] if text in words else text
