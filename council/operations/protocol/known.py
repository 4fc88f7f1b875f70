"""What exists in a workspace, for lines that name it: agents, tasks, contexts, references.

Source: PR-313, PR-418, PR-536, PR-545, PR-571.
"""

from __future__ import annotations

from council.core.errors import CouncilError
from council.core.protocol.context_ids import is_context
from council.core.protocol.exchange import Exchange
from council.core.protocol.protocol_ids import WORKER, role_of
from council.operations.protocol.crew import Crew
from council.operations.protocol.exchanging import contexts
from council.store.delegation import artifacts
from council.wire.meaning import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.place import Place
    from council.store.paths import Workspace
    from council.store.protocol.contexts import Contexts
    from council.wire.parsed import Parsed


class _Contexts:
    """The open contexts, asked one by one: there may be very many."""

    def __init__(self, store: Contexts) -> None:
        self._store = store

    def __contains__(self, context: object) -> bool:
        text = str(context)
        return is_context(text) and self._store.exists(text)


class _Payloads:
    """The artifacts, asked one by one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __contains__(self, artifact: object) -> bool:
        try:
            artifacts.find(self._workspace, str(artifact))
        except CouncilError:
            return False
        return True


def known_in(crew: Crew, exchange: Exchange | None) -> Known:
    """Return what a line of a context may name; None for a line that belongs to none yet."""
    tasks = exchange.tasks if exchange is not None else {}
    posted = exchange.posted if exchange is not None else []
    fields = {f"{task.id}:{name}" for task in tasks.values() for name in (*task.fields, *_of(task))}
    return Known(
        agents={one.id for one in crew.registry.here() if role_of(one.id) == WORKER},
        tasks=set(tasks),
        contexts=_Contexts(contexts(crew.place)),
        messages={one.message.id for one in posted},
        fields=fields,
        keys=set(exchange.values) if exchange is not None else set(),
        payloads=_Payloads(crew.place.paths),
    )


def _of(task: object) -> tuple[str, ...]:
    """Return the fields that every task has: its result, its request."""
    return ("S",) if getattr(task, "result", "") else ()


def known_of(place: Place, found: Parsed) -> Known:
    """Return what a valid line may name, by the context that it is written for."""
    context = str(found.fields.get("ctx") or "")
    store = contexts(place)
    is_ours = is_context(context) and store.exists(context)
    known = known_in(Crew(place, place.now()), store.read(context).exchange if is_ours else None)
    if not is_ours:  # of a line without a context nobody can say whose task it is
        known = known.copy(tasks=None, fields=None, keys=None, messages=None)
    return known
