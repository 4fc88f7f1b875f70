"""What verbs return and `show` prints: conversations as JSON and as text."""

from __future__ import annotations

from council.councils.model import Entry, Event, Heard, State
from council.kernel.record import Any


def place(state: State) -> dict[str, Any]:
    """Return which conversation it is and where it is; every verb returns that."""
    return {
        **{"name": state.name, "conversationId": state.conversation_id, "status": state.status},
        **{"phase": state.phase, "tour": state.tour, "timeoutAt": state.timeout_at},
    }


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
    spent = {"runs": runs.count, "tokens": runs.tokens, "usd": round(runs.usd, 6)}
    return {**spent, "estimatedTokens": runs.estimated}


def shown(state: State, last: int = 0) -> dict[str, Any]:
    """Return the state block and all that was said, but for sealed answers.

    Of contributions only the `last` so many; 0 is all.
    """
    from council.councils import page  # late: `respond` and `wait` show nothing

    visible = [entry for entry in state.entries if not state.is_sealed(entry)]
    said = [entry for entry in visible if entry.kind != "guidance" and not entry.late]
    return {
        **page.block(state),
        **{"topic": state.topic, "brief": state.brief},
        "contributions": [entry_of(one) for one in said[-last:]],
        "late": [entry_of(one) for one in visible if one.late],
        "guidance": [entry_of(one) for one in visible if one.kind == "guidance"],
        **{"notes": "\n".join(state.notes), "minutes": state.minutes, "used": used(state)},
    }


def entry_of(entry: Entry) -> dict[str, Any]:
    """Return something that was said, as `show` has it."""
    keys = ("id", "kind", "agent", "phase", "tour", "at", "status", "origin", "target", "text")
    made = {key: getattr(entry, key) for key in keys}
    return {**made, "cut": entry.cut} if entry.cut else made


def understood(heard: Heard, status: str) -> dict[str, Any]:
    """Return what was understood of an answer."""
    same = ("position", "choice", "confidence", "blockers", "resolved", "recommendation")
    return {
        **{key: getattr(heard, key) for key in same},
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
    data = {"name": state.name, "phase": state.phase, "tour": state.tour, **tally.to_json()}
    data["blockingIssues"] = [f"{one.agent}: {one.text}" for one in blockers]
    return data, "\n".join(lines)


def text(state: State, root: str) -> str:
    """Return a conversation for people, without marks: its minutes once written, else its page."""
    from council.councils import kind  # late: see above

    try:
        with open(f"{root}/{state.minutes or '-'}", encoding="utf-8") as file:
            whole = file.read()
    except OSError:
        whole = kind.render(state)
    whole = whole.partition("\n---\n")[2] if whole[:4] == "---\n" else whole
    lines = whole.partition("<!--council-state")[0].split("\n")
    kept = [line for line in lines if not line.startswith("<!--council:")]
    return "\n".join(line for at, line in enumerate(kept) if line or (at and kept[at - 1])).strip()
