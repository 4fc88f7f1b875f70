"""How the registry of the protocol is shown: who is there, who is alive, who would be chosen.

Source: PR-421, PR-515, PR-561, `cli.md` section 3.
"""

from __future__ import annotations

from datetime import datetime

from council.cli.edge import Output
from council.cli.views import ago, as_text, rows_view
from council.core.errors import NotFoundError
from council.core.plain_text import plain_line
from council.core.protocol.protocol_ids import role_word
from council.core.protocol.selection import Selection
from council.operations.protocol.registry_looks import Found

_NOBODY = "nobody fits; next: council agent join --as AGENT"


def query_text(found: Found, now: datetime) -> str:
    """Return who was found, one a line."""
    if not found.entries:
        return _NOBODY
    rows = [
        (
            one.id,
            one.agent or ("coordinator" if one.id == "O1" else "-"),
            role_word(one.id),
            str(one.status),
            f"{one.load}%" if one.alive_at else "-",
            one.version,
            ", ".join(one.capabilities) or "-",
        )
        for one in found.entries
    ]
    columns = ("id", "agent", "role", "status", "load", "speaks", "capabilities")
    lines = [as_text(rows_view(columns, rows, whole=("id", "agent", "status"))).rstrip("\n")]
    groups = sorted(found.registry.groups.items())
    lines += [plain_line(f"{name}: {' '.join(many)}") for name, many in groups]
    del now
    return "\n".join(lines)


def liveness_text(found: Found, now: datetime) -> str:
    """Return who is alive: load, queue, last sign of life."""
    rows = [
        (
            one.id,
            one.agent or "-",
            str(one.status),
            f"{one.load}%" if one.alive_at else "-",
            one.queue if one.alive_at else "-",
            ago(now, one.seen_at) if one.seen_at else "never",
            "yes" if one.watched else "no",
        )
        for one in found.entries
    ]
    columns = ("id", "agent", "status", "load", "queue", "last sign of life", "watched")
    return as_text(rows_view(columns, rows, whole=("id", "agent", "status")))


def selection_output(found: Selection, count: int, *, explain: bool, now: datetime) -> Output:
    """Say who would get a task; with `explain`, why everybody else would not."""
    chosen = found.first(count)
    record: dict[str, object] = {
        "required": list(found.required),
        "threshold": found.threshold,
        "selected": list(chosen),
        "order": list(found.order),
        "candidates": [one.to_record() for one in found.candidates],
    }
    text = explained(found, count, now) if explain else "\n".join(chosen)
    if chosen:
        return Output(record=record, text=text)
    needed = ", ".join(found.required) or "it"
    nobody = NotFoundError(
        f"nobody fits {needed}", "see why: council agent select CAPS --explain; or: agent query"
    )
    notes = [f"council: {nobody.message} ({nobody.hint})"]
    return Output(
        record={**record, "error": nobody.to_record()},
        text=text,
        notes=notes,
        code=nobody.exit_code,
    )


def explained(found: Selection, count: int, now: datetime) -> str:
    """Return every candidate with what speaks for it, the best first."""
    if not found.candidates:
        return "there are no workers; next: council agent join --as AGENT"
    chosen = found.first(count)
    rows = []
    for weighed in found.candidates:
        one = weighed.candidate
        mark = "->" if one.id in chosen else ""
        used = ago(now, one.last_used) if one.last_used else "never"
        why = weighed.why_not or (f"lacks {', '.join(weighed.missing)}" if weighed.missing else "")
        rows.append(
            (
                mark,
                one.id,
                f"{weighed.score:.2f}",
                f"{one.load}%",
                used,
                ", ".join(weighed.matched) or "-",
                why,
            )
        )
    columns = ("", "id", "score", "load", "last used", "has", "note")
    return as_text(rows_view(columns, rows, whole=("", "id", "score", "load")))
