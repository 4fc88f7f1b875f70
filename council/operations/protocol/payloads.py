"""What messages name: what exists in a workspace, and what a reference in DATA means.

A reference means a value of the context, a result, a message or an artifact. In what a worker
says one that names nothing is a warning, where something else is said.

Source: HR-017, PR-313, PR-418, PR-536, PR-545, PR-571, XC-107.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.errors import CouncilError, InvalidMessageError, NotFoundError
from council.core.events import Event
from council.core.protocol.answering import readable
from council.core.protocol.exchange import Exchange
from council.core.protocol.messages import Message
from council.core.protocol.protocol_ids import WORKER, is_context, role_of
from council.core.protocol.transaction import Transaction
from council.operations.place import Place
from council.operations.protocol.roster import Roster
from council.store.delegation import artifacts
from council.store.protocol.contexts import Contexts
from council.wire.data import Reference, references_in
from council.wire.identifiers import canonical, number_of
from council.wire.meaning import Known, unknown_references
from council.wire.parsed import Fault, Parsed

_UNKNOWN = "E43"
_WORDS = {
    "agent": "nobody is registered as",
    "task": "no task",
    "context": "no context",
    "reference": "nothing is known as",
}


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
    found = [(one.text, meaning_of(place, exchange, one)) for one in references_in(text)]
    if not found:
        raise NotFoundError("there is no reference in it", "such as #CTX:request or #REF:art_…")
    nothing = [name for name, meaning in found if not meaning]
    if nothing:
        unknown = [
            Fault(code=_UNKNOWN, rule="state", named=name, what="reference") for name in nothing
        ]
        raise nothing_there(unknown, wanted if exchange is not None else "")
    return found


class _OneByOne:
    """What is there on the disk, asked one by one: there may be very many."""

    def __init__(self, find: Callable[[str], object]) -> None:
        self._find = find

    def __contains__(self, name: object) -> bool:
        try:
            return bool(self._find(str(name)))
        except CouncilError:
            return False


def known_in(roster: Roster, exchange: Exchange | None) -> Known:
    """Return what a line of a context may name; None for a line that belongs to none yet."""
    store = Contexts(roster.place.paths)
    tasks = exchange.tasks if exchange is not None else {}
    posted = exchange.posted if exchange is not None else []
    fields = {f"{task.id}:{name}" for task in tasks.values() for name in task.fields}
    fields |= {f"{task.id}:S" for task in tasks.values() if task.result}
    return Known(
        agents={one.id for one in roster.registry.here() if role_of(one.id) == WORKER},
        tasks=set(tasks),
        contexts=_OneByOne(lambda one: is_context(one) and store.exists(one)),
        messages={one.message.id for one in posted},
        fields=fields,
        keys=set(exchange.values) if exchange is not None else set(),
        payloads=_OneByOne(lambda one: artifacts.find(store.workspace, one)),
    )


def known_of(place: Place, found: Parsed) -> Known:
    """Return what a valid line may name, by the context that it is written for."""
    context = str(found.fields.get("ctx") or "")
    store = Contexts(place.paths)
    is_ours = is_context(context) and store.exists(context)
    known = known_in(Roster(place, place.now()), store.read(context).exchange if is_ours else None)
    if not is_ours:  # of a line without a context it is unknown whose task it is
        known = known.copy(tasks=None, fields=None, keys=None, messages=None)
    return known


def unknown_in(roster: Roster, exchange: Exchange, message: Message) -> list[Reference]:
    """Return the references of a message that name nothing."""
    return unknown_references(message.data, known_in(roster, exchange))


def says_nothing_else(roster: Roster, exchange: Exchange, message: Message) -> bool:
    """Return true if a result would be empty without its references that name nothing."""
    if message.kind != "S":
        return False
    return not readable(exchange, message.data, lambda one: payload_of(roster.place, one))


def warn_of(tx: Transaction, message: Message, unknown: list[Reference]) -> None:
    """Warn of each reference that names nothing."""
    about = {"ctx": tx.exchange.context, "tid": message.task or None, "said": message.id}
    told = [{**about, "warning": f"W_REFERENCE ({one.text})"} for one in unknown]
    tx.events += [Event(type="message.warned", agent=message.sender, data=one) for one in told]


def nothing_there(found: list[Fault], context: str) -> InvalidMessageError:
    """Return the refusal of a line that names what does not exist: each by its name.

    Args:
        found: What is missing, at least one thing.
        context: The context that the line belongs to, "" for none yet.
    """
    told = ", ".join(f"{one.code}: {_WORDS[one.what]} {one.named}" for one in found)
    faults = [one.to_record() for one in found]
    return InvalidMessageError(faults, told, _way_out(found[0], context or "S1"))


def _way_out(found: Fault, context: str) -> str:
    if found.what == "agent":
        return "see who is: council agent query"
    if found.what != "reference":
        return "see: council task list --all"
    if found.named.startswith("#CTX:"):
        key = found.named.removeprefix("#CTX:") or "key"
        return f"say what it means: council ctx set {context} {key}=VALUE"
    if found.named.startswith("#MSG:"):
        return f"see: council msg log --ctx {context}"
    return f"see: council artifact list; council task show {context}"
