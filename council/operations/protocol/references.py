"""References in what a worker says that name nothing: a warning, where something else is said.

Source: HR-017, PR-545.
"""

from __future__ import annotations

from council.core.events import Event
from council.core.protocol.answering import readable
from council.core.protocol.exchange import Exchange
from council.core.protocol.messages import Message
from council.operations.protocol.crew import Crew
from council.operations.protocol.known import known_in
from council.operations.protocol.payloads import payload_of
from council.wire.data import Reference
from council.wire.meaning import unknown_references


def unknown_in(crew: Crew, exchange: Exchange, message: Message) -> list[Reference]:
    """Return the references of a message that name nothing."""
    return unknown_references(message.data, known_in(crew, exchange))


def says_nothing_else(crew: Crew, exchange: Exchange, message: Message) -> bool:
    """Return true if a result would be empty without its references that name nothing."""
    if message.kind != "S":
        return False
    return not readable(exchange, message.data, lambda one: payload_of(crew.place, one))


def warnings_of(context: str, message: Message, unknown: list[Reference]) -> list[Event]:
    """Return the event that warns of each reference that names nothing."""
    about = {"ctx": context, "tid": message.task or None, "said": message.id}
    return [
        Event(
            type="message.warned",
            agent=message.sender,
            data={**about, "warning": f"W_REFERENCE ({one.text})"},
        )
        for one in unknown
    ]
