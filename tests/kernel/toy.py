"""A small kind of document for tests of the kernel: people answer, and write notes on a page."""

from __future__ import annotations  # the fields of a record are read as texts

from datetime import UTC, datetime
from types import SimpleNamespace

from council.kernel.document import Document
from council.kernel.errors import Conflict, Refused
from council.kernel.ids import digest
from council.kernel.page import END, Taken, escaped
from council.kernel.reading import letters
from council.kernel.record import Any, Record

AT = datetime(2026, 11, 28, 9, tzinfo=UTC)
Event = dict[str, Any]
EVENTS = ("opened", "adopted", "rendered", "answered", "closed", "noted", "draft.set", "kept")
SETTLING = ("closed",)
DONE, WAITING = "RESPONDED", "WAITING"


class State(Record):
    rev: int = 0
    mark: str = ""
    conversation_id: str = ""
    topic: str = ""
    tour: int = 1
    people: dict[str, str] = {}
    entries: list[Any] = []
    drafts: dict[str, str] = {}
    notes: list[str] = []
    kept_aside: list[str] = []


new = State


def evolve(state: State, event: Event) -> None:
    kind = event["type"]
    if kind == "opened":
        state.conversation_id, state.topic = event["id"], event["topic"]
        state.people = dict.fromkeys(event["people"], WAITING)
    elif kind == "answered":
        state.entries.append({k: event[k] for k in ("agent", "text", "tour")})
        state.people[event["agent"]] = DONE
        draft = state.drafts.pop(event["agent"], "").split("\n")
        state.notes += [line for line in draft if line not in event["text"]]
    elif kind == "closed":
        state.tour = event["tour"] + 1
        state.people = dict.fromkeys(state.people, WAITING)
        state.notes += [line for text in state.drafts.values() for line in text.split("\n")]
        state.drafts = {}
    elif kind == "noted":
        state.notes += event["lines"]
    elif kind == "draft.set":
        state.drafts[event["agent"]] = event["text"]
    else:
        state.kept_aside.append(event["file"])


def due(state: State, now: Any) -> list[Event]:
    over = bool(state.people) and WAITING not in state.people.values()
    return [{"type": "closed", "tour": state.tour}] if over else []


def opened(ident: str, *people: str) -> Any:
    event = {"type": "opened", "id": ident, "topic": f"About {ident}", "people": list(people)}

    def decide(state: State) -> list[Event]:
        if state.conversation_id:
            raise Conflict("exists", f"{ident} exists")
        return [event]

    return decide


def note(*lines: str) -> Any:
    return lambda state: [{"type": "noted", "lines": list(lines)}]


def answer(agent: str, text: str) -> Any:
    def decide(state: State) -> list[Event]:
        if any((e["agent"], e["text"]) == (agent, text) for e in state.entries):
            return []
        if state.people.get(agent) != WAITING:
            raise Refused("not-asked", f"{agent} is not asked now")
        return [{"type": "answered", "agent": agent, "text": text, "tour": state.tour}]

    return decide


def render(state: State) -> str:
    lines = [f"# {state.topic}", "## Participants"]
    lines += [f"- {name} (agent:{name}): {status}" for name, status in state.people.items()]
    for tour in range(1, state.tour + 1):
        lines += [f"## Round {tour}"]
        for name in state.people:
            said = [e for e in state.entries if (e["agent"], e["tour"]) == (name, tour)]
            lines += [f"### {name}"]
            for entry in said:
                text = escaped(entry["text"])
                lines += [f"<!--council:entry {tour}-{name} {digest(text)[:32]}-->"]
                lines += [*[f"> {line}" for line in text.split("\n")], END]
            if not said and tour == state.tour:
                lines += [f"<!--council:draft {tour}-{name}-->"]
                lines += [*escaped(state.drafts.get(name, "")).split("\n"), END]
    lines += ["## Notes", "<!--council:notes-->", *map(escaped, state.notes), END]
    block = f'<!--council-state\n{{"rev": {state.rev}, "kept": {len(state.kept_aside)}}}\n-->'
    text = "\n\n".join([*lines, block, f"<!--council:eof rev={state.rev} mark={state.mark}-->"])
    return text + "\n" if state.people else ""


def edits(base: State, now: State, page: str, at: Any, ours: bool) -> Taken:
    """Return lines typed in a draft's place as a draft or an answer, all others as notes."""
    taken = Taken()
    known = {letters(line) for one in (base, now) for line in render(one).split("\n")}
    body, _, rest = page.partition("<!--council-state")
    block = rest.partition("-->")[0]
    if any(letters(line) not in known for line in block.split("\n")):
        taken.refused.append("the state block was changed")
    section, typed, statuses = "", {"": []}, {}
    for line in [*body.split("\n"), *rest.partition("-->")[2].split("\n")]:
        bare = line.strip()
        if bare.startswith("<!--council:"):
            section = bare.partition(" ")[2].removesuffix("-->") if ":draft " in bare else ""
        elif bare.startswith("#"):
            section = ""
        if bare.startswith("-") and "(agent:" in bare:
            name, _, status = bare.partition("(agent:")[2].partition("): ")
            if base.people.get(name) != status:
                statuses[name] = status
                if status != DONE or now.people.get(name) != WAITING:
                    taken.refused.append(f"no such status: {bare}")
        elif letters(bare) and letters(bare) not in known:
            typed.setdefault(section, []).append(bare)
            known.add(letters(bare))
    for name in now.people:
        mine = typed.pop(f"{now.tour}-{name}", [])
        text = "\n".join(filter(None, [now.drafts.get(name, ""), *mine]))
        if statuses.get(name) == DONE and text and now.people[name] == WAITING:
            event = {"type": "answered", "agent": name, "text": text, "tour": now.tour}
            taken.events.append(event)
        elif mine and now.people[name] == WAITING:
            taken.events.append({"type": "draft.set", "agent": name, "text": text})
        else:
            typed[""] += mine
    if lines := [line for part in typed.values() for line in part]:
        taken.events.append({"type": "noted", "lines": lines})
    return taken


def adopt(page: str, name: str = "") -> list[Event]:
    if not page.startswith("# ") or "## Participants" not in page:
        return []
    people = {}
    for line in page.split("\n"):
        if line.startswith("- ") and "(agent:" in line:
            name, _, status = line.partition("(agent:")[2].partition("): ")
            people[name] = status
    topic = page.split("\n")[0][2:]
    state = State(conversation_id=topic.removeprefix("About "), topic=topic, people=people)
    return [{"type": "adopted", "state": state.to_json()}] if people else []


def changed(**functions: Any) -> Any:
    """Return this kind with other functions."""
    return SimpleNamespace(**{**globals(), **functions})


def document(folder: Any, kind: Any = None, segment: int = 1 << 20, **more: Any) -> Document[Any]:
    where = f"{folder}/.council/conversations/d"
    made: Document[Any] = Document(where, f"{folder}/d.md", kind or changed(), now=AT, **more)
    made.segment = segment
    return made


def begun(folder: Any, *notes: str) -> Document[Any]:
    """Return a document in which ann and bob are asked, with a revision for each note."""
    document(folder).change(opened("id1", "ann", "bob"), by="x", at=AT, create=True)
    for text in notes:
        document(folder).change(note(text), by="x", at=AT)
    return document(folder)
