"""What verbs return and `show` prints: conversations as JSON and as text."""

from __future__ import annotations

from council.councils.model import Event, Heard, State
from council.kernel.record import Any, Record, camel

_ENTRY = "id kind agent phase tour at status origin target cut text"
_HEARD = "position choice confidence blockers resolved recommendation"


def fields(one: Record, names: str) -> dict[str, Any]:
    """Return some fields of a record by their keys in JSON."""
    return {camel(name): getattr(one, name) for name in names.split()}


def place(state: State) -> dict[str, Any]:
    """Return which conversation it is and where it is; every verb returns that."""
    return fields(state, "name conversation_id status phase tour timeout_at")


def transition(state: State, events: list[Event]) -> dict[str, str] | None:
    """Return from which phase to which events led, and why; None where none ended."""
    closed = [one for one in events if one["type"] == "round.closed"]
    if not closed:
        return None
    was = next((one.phase for one in state.rounds if one.tour == closed[0]["tour"]), "")
    to = next((one["phase"] for one in events[::-1] if one["type"] == "round.begun"), was)
    is_over = any(one["type"] == "ended" for one in events)
    return {"from": was, "to": "" if is_over else to, "reason": closed[-1]["reason"]}


def used(state: State) -> dict[str, Any]:
    """Return what the runs of a conversation used."""
    runs = state.runs
    spent = {"runs": runs.count, "tokens": runs.tokens, "estimatedTokens": runs.estimated}
    return {**spent, "usd": round(runs.usd, 6)}


def shown(state: State, last: int = 0) -> dict[str, Any]:
    """Return the state block and all that was said, but for sealed answers.

    Of contributions only the `last` so many; 0 is all.
    """
    from council.councils import page  # late: `respond` and `wait` show nothing

    parts: dict[str, list[Any]] = {"contributions": [], "late": [], "guidance": []}
    for one in state.entries:
        if not state.is_sealed(one):
            part = "late" if one.late else "contributions"
            parts["guidance" if one.kind == "guidance" else part].append(fields(one, _ENTRY))
    parts["contributions"] = parts["contributions"][-last:]
    more = {"notes": "\n".join(state.notes), "used": used(state)}
    return {**page.block(state), **fields(state, "topic brief minutes"), **parts, **more}


def understood(heard: Heard, status: str) -> dict[str, Any]:
    """Return what was understood of an answer."""
    return {
        **fields(heard, _HEARD),
        "stances": {peer: one.word for peer, one in heard.stances.items()},
        "questions": [{"to": peer, "text": text} for peer, text in heard.questions.items()],
        **{"quotations": [one.to_json() for one in heard.quotations], "status": status},
    }


def consensus(state: State) -> tuple[dict[str, Any], str]:
    """Return who approves what, and the verdict, now and after each round; and in sentences."""
    from council.councils import sight, words  # late: only `show --consensus` counts

    tally, blockers = sight.tally(state), sight.blockers(state)
    names = {who: one.name or who for who, one in state.participants.items()}
    lines = words.told(state, tally, names)
    lines += [f"blocker ({one.agent}): {one.text}" for one in blockers]
    issues = {"blockingIssues": [f"{one.agent}: {one.text}" for one in blockers]}
    return {**fields(state, "name phase tour"), **tally.to_json(), **issues}, "\n".join(lines)


def text(state: State, root: str) -> str:
    """Return a conversation for people, without marks: its minutes once written, else its page."""
    from council.councils import kind  # late: see above

    try:
        with open(f"{root}/{state.minutes or '-'}", encoding="utf-8") as file:
            whole = file.read()
    except OSError:
        whole = kind.render(state)
    whole = whole.partition("\n---\n")[2] if whole[:4] == "---\n" else whole
    blocks = whole.partition("<!--council-state")[0].split("\n\n")
    return "\n\n".join(one for one in blocks if one[:12] != "<!--council:").strip()
