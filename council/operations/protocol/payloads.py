"""What a reference in DATA means: a value of the context, a result, a message, an artifact.

Source: PR-536, PR-545, XC-107.
"""

from __future__ import annotations

from council.core.errors import CouncilError, NotFoundError
from council.core.protocol.context_ids import is_context
from council.core.protocol.exchange import Exchange
from council.operations.place import Place
from council.operations.protocol.missing import nothing_there
from council.store.delegation import artifacts
from council.store.protocol.contexts import Contexts
from council.wire.data import Reference, references_in
from council.wire.identifiers import canonical, number_of
from council.wire.meaning import Missing

_UNKNOWN = "E43"


def payload_of(place: Place, artifact: str) -> str:
    """Return the text of an artifact, "" when there is none or it is damaged."""
    try:
        data = artifacts.read(place.paths, artifact, place.settings.max_text_bytes, now=place.now())
    except CouncilError:
        return ""
    return data.decode("utf-8", "replace")


def spelled_out(place: Place, exchange: Exchange) -> Exchange:
    """Return a context for people: long answers of the user in full, not where they are kept."""
    told = exchange.copy()
    for task in told.tasks.values():
        for question in task.questions:
            kept, _, artifact = question.answer.partition("#REF:")
            if not kept and artifact:
                question.answer = payload_of(place, artifact) or question.answer
    return told


def meaning_of(place: Place, exchange: Exchange | None, reference: Reference) -> str:
    """Return what a reference means, "" when it means nothing here."""
    if reference.kind == "REF":
        return payload_of(place, reference.name)
    if exchange is None:
        return ""
    if reference.kind == "CTX":
        return exchange.values.get(reference.name, "")
    if reference.kind == "MSG":
        posted = exchange.posted_as(number_of(reference.name))
        return posted.message.data if posted is not None else ""
    task = exchange.tasks.get(canonical(reference.task))
    return task.fields.get(reference.name, "") if task is not None else ""


def resolved(place: Place, exchange: Exchange | None, data: str) -> list[tuple[str, str]]:
    """Return each reference in a text and what it means.

    Raises:
        InvalidMessageError: One means nothing (E43).
        NotFoundError: There is none.
    """
    found = [(one.text, meaning_of(place, exchange, one)) for one in references_in(data)]
    if not found:
        raise NotFoundError("there is no reference in it", "such as #CTX:request or #REF:art_…")
    unknown = [
        Missing(code=_UNKNOWN, what="reference", name=name) for name, text in found if not text
    ]
    if unknown:
        raise nothing_there(unknown, exchange.context if exchange is not None else "")
    return found


def resolved_in(place: Place, text: str, context: str = "") -> list[tuple[str, str]]:
    """Return each reference in a text and what it means in a context.

    Args:
        place: The workspace.
        text: A line of the protocol, or any text with references.
        context: The context; "" takes that of the line, else that of the run.

    Raises:
        InvalidMessageError: One means nothing (E43).
        NotFoundError: There is no reference, or no such context.
    """
    parts = text.split("|")
    named = parts[8] if len(parts) > 10 and is_context(parts[8]) else ""
    wanted = context or named or place.environ.get("COUNCIL_CONTEXT", "")
    exchange = Contexts(place.paths).read(wanted).exchange if wanted else None
    return resolved(place, exchange, text)
