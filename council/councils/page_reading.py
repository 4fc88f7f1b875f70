"""What a conversation's page says: of its own form in both languages, or of document 000's."""

from __future__ import annotations

import re

from council.councils import model
from council.councils import page as pages
from council.councils.answers import read
from council.councils.model import Entry, Event, Form, Option, State
from council.kernel import ids, reading, times
from council.kernel.errors import Refusal
from council.kernel.page import digest, unescaped
from council.kernel.reading import Piece, folded, item, letters, plain_text, same, words
from council.kernel.record import Any
from council.kernel.words import load

_AGENT = re.compile(r"[(（]agent:\s*([\w-]+)[)）]")
_STATUS = re.compile(rf"(.*?){_AGENT.pattern}(.*)$")
_SIGNS = re.compile(r"(?i)^[^\w?()<>~]*(?:status\s*:)?[^\w?()<>~]*|[^\w?()<>~]*$")  # of a status
_OPTION = re.compile(r"([A-Z]+)(?: \(.*?\))?\s*: (.+)")
_TOUR = re.compile(r"\W{0,4}Tour\s+(\d+)\\?\]?\s*:[*_]*[ \t]*(.*)$")
# The lines with a label, and the key of the block that says the same, or the path of the line.
_FIELDS = {
    "id": "conversationId", "procedure": "procedure", "mode": "mode", "phase": "currentPhase",
    "tour": "tour", "created": "createdAt", "updated": "updatedAt", "timeout": "timeoutAt",
    "status": "status", "blockers": "blocker", "rate": "rate", "converged": "converged",
    "condition": "condition", "actions": "actions",
}  # fmt: skip
_SECTIONS = ("title", "metadata", "brief", "participants", "options", "convergence", "next")
_BOTH = [pages.texts("en"), pages.texts("fr")]
_LABELS = {folded(t[key]): path for t in _BOTH for key, path in _FIELDS.items()}
_SEALED = {letters(t["sealed"]) for t in _BOTH}
_NOTHING = ("", *(folded(t["none"]) for t in _BOTH))


def printed() -> tuple[set[str], list[str]]:
    """Return the letters of every sentence ever printed, and how those with a value begin."""
    rows = list(load("texts/page-printed.txt"))
    starts = [row[:-1].strip() for row in rows if row.endswith("…")]
    return {letters(row) for row in rows if not row.endswith("…")}, starts


class Page:
    """What a page says; `state` is that of its revision, and has the names.

    `base` is the page that this version makes of that state; `ours`: the same was published then.

    Attributes:
        lines: What its readable lines and regions say, by path: `topic`, a key of the block,
            `label ID`, `status ID`, `blocker LETTERS` (`blocker`: there is a list), `option A`,
            `brief`, `notes`, `draft TOUR-AGENT`.
        block, stated: The state block, None where it cannot be read, and what it says by path.
        entries: Regions named `TOUR-AGENT`; without a digest where a text has no mark.
        typed: What was typed outside of all regions: participant ("" for none), text.
        sealed: Whose answer it only mentions.
        strayed: Whether something was typed in a phase or round, but below no participant.
        outside: The letters of all lines and paragraphs outside of regions.
    """

    def __init__(
        self, text: str, state: State, base: Page | None = None, ours: bool = False
    ) -> None:
        self.lines: dict[str, str] = {}
        self.entries, self.typed = list[Piece](), list[tuple[str, str]]()
        self.outside, self.sealed = set[str](), set[str]()
        block = reading.block_of(text)
        self.block: Event | None = block if isinstance(block, dict) else None
        self.strayed = False
        self._people = state.participants
        self._ours, starts = printed()
        self._ours |= base.outside if base else set()
        if ours:  # what these say need not be in the state
            values = [t[key][:-3] for t in _BOTH for key in ("quotation", "again")]
            starts = [start for start in starts if start in values]
        sections, people = _headings(state)
        for row in self.part(list, "entries"):  # also who spoke in another clone
            if isinstance(row, dict) and "-say-" in str(row.get("id")):
                people.setdefault(folded(f"👤 {row.get('agent')}"), str(row.get("agent")))
        pieces = reading.parse(text, sections, people)
        for piece, after in zip(pieces, [*pieces[1:], None], strict=False):
            if piece.kind == "heading" and piece.section == "title":
                name = piece.name.strip("*_" if piece.name[:1] in ("*", "_") else "")
                self.lines["topic"] = words(name.partition(":")[2])
            elif piece.kind == "entry":
                self.entries.append(piece)
            elif piece.kind == "text":
                is_marked = after is not None and after.kind == "entry"
                rest = self._unmarked(piece, self._items(piece), is_marked)
                own = {letters(item(line) or line) for line in piece.lines}
                self.sealed |= {piece.who} if own & _SEALED else set()
                self.outside |= own | set(map(letters, "\n".join(piece.lines).split("\n\n")))
                said = reading.typed(rest, self._ours, starts)
                if said and piece.section == "brief" and "brief" not in self.lines:
                    is_quote = all(line.startswith(">") for line in said.split("\n"))
                    self.lines["brief"] = re.sub("^> ?", "", said, flags=re.M) if is_quote else said
                elif said and base and (tour := _lacking(state, piece)):
                    # Its status was set before.
                    self.entries.append(piece.copy(name=f"{tour}-{piece.who}", lines=[said]))
                elif said:
                    self.typed.append((piece.who, said))
                    self.strayed |= " " in piece.section and not piece.who
            elif piece.kind == "draft" and not piece.name.startswith(f"{state.tour}-"):
                # Of another clone, or of an earlier round.
                self.typed.append((piece.name.partition("-")[2], unescaped(piece.text())))
            elif piece.kind != "heading":
                path, said = f"{piece.kind} {piece.name}".strip(), unescaped(piece.text())
                before = self.lines.get(path, "")
                self.lines[path] = f"{before}\n{said}".strip("\n") if before != said else said
        self.stated = self._stated()

    def part(self, kind: type, *keys: str) -> Any:
        """Return a value in the block; an empty one of this kind where it is of another."""
        found: Any = self.block
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, kind) else kind()

    def _stated(self) -> dict[str, str]:
        made = {key: self.part(object, key) for key in _FIELDS.values()}
        for ident in self.part(dict, "participants"):
            word = self.part(dict, "participants", ident).get("status", "")
            made |= {f"label {ident}": ident, f"status {ident}": str(word).upper()}
        if isinstance((issues := self.part(object, "convergence", "blockingIssues")), list):
            made |= {"blocker": "", **{f"blocker {letters(str(one))}": one for one in issues}}
        return {path: str(value) for path, value in made.items() if value is not None}

    def _items(self, piece: Piece) -> list[str]:
        """Note what the list of a section says; return the lines that are something else."""
        section, rest, rows = piece.section, list[str](), list[str]()
        for line in piece.lines:  # a line directly below an item belongs to it
            last = rows[-1] if rows and line.strip() and item(line) is None else ""
            above = item(last)
            is_text = folded((above or "").partition(":")[0]) not in _LABELS
            is_text = is_text and section in ("options", "convergence")
            is_text |= section == "participants" and (above or "")[-1:] in (":", ")")
            start = letters(f"{above or last}{line}")
            is_ours = above or _TOUR.match(last)  # or may be
            if is_ours and (is_text or any(own.startswith(start) for own in self._ours)):
                rows[-1] += f" {line.strip()}"
            else:
                rows.append(line)
        for line in rows:
            said = item(line) or ""
            label, _, value = said.partition(":")
            path = _LABELS.get(folded(label), "")
            if path and section in ("metadata", "convergence", "next"):
                self.lines.setdefault(path, value.strip(" *_`[]"))
                said = value.strip() if path == "blocker" else ""
                if letters(said).isdecimal() or folded(said) in _NOTHING:
                    continue
            found = _STATUS.match(said or words(line)) if section == "participants" else None
            if found and (said or found[2].lower() in self._people):
                told = {f"label {one.lower()}": one for one in _AGENT.findall(found[3])}  # joined
                told[f"label {found[2].lower()}"] = found[1].strip(" *_`>|")
                told[f"status {found[2].lower()}"] = _SIGNS.sub("", found[3]).strip("_").upper()
                for path, word in told.items():  # a merge has both lines: one is WAITING
                    if self.lines.setdefault(path, word) == model.WAITING:
                        self.lines[path] = word
                if any(self.lines[path] != word != model.WAITING for path, word in told.items()):
                    rest.append(line)
            elif section == "convergence" and said and "blocker" in self.lines:
                self.lines[f"blocker {letters(said)}"] = said
            elif section == "options" and (found := _OPTION.match(said)):
                self.lines[f"option {found[1]}"] = found[2]
            else:
                rest.append(line)
        return rest

    def _unmarked(self, piece: Piece, lines: list[str], is_marked: bool) -> list[str]:
        """Note the texts below `Tour N:` that have no marks; return the other lines."""
        rest: list[str] = []
        found = [(n, match) for n, line in enumerate(lines) if (match := _TOUR.match(line))]
        ends = [*(start for start, _ in found[1:]), len(lines)]
        for (start, match), end in zip(found if piece.who else [], ends, strict=False):
            below = lines[start + 1 : end]
            quote = [line for line in below if line.lstrip().startswith(">")]
            if is_marked and end == len(lines):
                rest += ["", *below]
                continue
            rest += [line for line in below if quote and line not in quote]
            below = [ln for ln in below if len(own := letters(ln)) < 16 or own not in self._ours]
            text = [reading.QUOTE.sub("", line) for line in quote] or [match[2], *below]
            if "".join(text).strip():
                name = f"{match[1]}-{piece.who}"
                self.entries.append(piece.copy(kind="entry", name=name, lines=text))
        return [*lines[: found[0][0]], "", *rest] if found and piece.who else lines


def _lacking(state: State, piece: Piece) -> int:
    """Return the earlier round of a section, if its participant has neither text nor absence."""
    kind, _, name = piece.section.partition(" ")
    said = [entry.id for entry in state.entries]
    for one in state.rounds[-2::-1]:
        if name == str(one.tour) or (kind == "phase" and name == one.phase):
            is_there = f"{one.tour}-{piece.who}" in said or piece.who in one.absent
            return 0 if is_there or piece.who not in one.order else one.tour
    return 0


def _headings(state: State) -> tuple[dict[str, str], dict[str, str]]:
    """Return our headings and those of participants, for `parse`."""
    known, people = dict[str, str](), dict[str, str]()
    for t in _BOTH:
        known |= {folded(t[key]): key for key in (*_SECTIONS, "notes")}
        known[folded(t["vote"])] = "vote "
        for phase in {phase for phases in model.PHASES.values() for phase in phases}:
            known[folded(f"{t['responses']} {phase}")] = f"phase {phase}"
        for tour in range(1, state.tour + 1):
            known[folded(f"{t['deliberation']} {tour}")] = f"round {tour}"
    for ident, label in pages.labels(state).items():
        for name in (label, f"{label} (agent:{ident})", label_parts(label)[1], ident):
            people.setdefault(folded(words(name)), ident)
    return known, people


def adopt(text: str, name: str = "") -> list[Event]:
    """Return one event `adopted` with the state that a page says; nothing where it is no page.

    The block counts, and without one the readable lines; a page of another name than `name` is a
    copy. Drafts, notes, blockers and what was typed are left to `edits`, which comes next.
    """
    first = Page(text, State())
    state = _state(text, first)
    if not state.participants or ("topic" not in first.lines and not first.block):
        return []
    page = Page(text, state)
    if name and name != (state.name or "active"):
        state.conversation_id = copied(state.conversation_id, name)
    state.name = name or state.name
    state.brief = plain_text(page.lines.get("brief", ""), 3)
    rows = {str(row.get("id")): row for row in page.part(list, "entries") if isinstance(row, dict)}
    for piece in page.entries:
        _add_entry(state, piece, rows.get(piece.name, {}))
    for ident in page.sealed & state.participants.keys():  # its text is lost: it is asked again
        one = state.participants[ident]
        one.status, one.origin = model.WAITING, ""
    order = {ident: at for at, ident in enumerate(rows)}
    state.entries.sort(key=lambda one: (order.get(one.id, len(order)), one.tour))
    return [{"type": "adopted", "state": state.to_json()}]


def copied(ident: str, name: str) -> str:
    """Return the id of a conversation whose page was copied from that of another one."""
    return ids.uuid4(bytes.fromhex(ids.digest(f"{ident}:{name}")))


def _state(text: str, page: Page) -> State:
    """Return the state that the block and the readable lines say, without what was said."""
    lang = "fr" if _BOTH[1]["metadata"] in text else "en"
    lines, named = page.lines, {"lang": lang, **page.lines, **(page.block or {})}
    tour, phase = str(named.get("tour")), str(named.get("currentPhase")).upper()
    named["tour"] = int(tour) if tour.isdecimal() else 1
    named["timeoutAt"] = instant(str(named.get("timeoutAt")))
    state: State = _fitting(State, named)
    all_ = model.PHASES.get(state.procedure, model.PHASES["council"])
    phases = [one for one in page.part(list, "phases") if one in all_] or list(all_)
    own = {"mode": named.get("mode"), "phases": phases}
    state.config = _fitting(model.Config, {**page.part(dict, "config"), **own})
    state.conversation_id = state.conversation_id or ids.uuid4(bytes.fromhex(ids.digest(text)))
    state.topic, state.phase = state.topic or state.name, phase if phase in phases else phases[0]
    is_known = state.status in (model.ACTIVE, model.CONVERGED, model.TIMEOUT)
    state.status, state.participants = state.status if is_known else model.ACTIVE, {}
    listed = [path for path in page.stated if path[:6] == "label " and ids.is_name(path[6:])]
    for ident in [path[6:] for path in listed or lines if path[:6] == "label "]:  # or by `edits`
        emoji, name = label_parts(lines.get(f"label {ident}", ""))
        told = {"name": name or ident, "emoji": emoji, "person": emoji == "👤"}
        told["status"] = lines.get(f"status {ident}")
        one = _fitting(model.Participant, {**told, **page.part(dict, "participants", ident)})
        one.status = one.status if one.status in model.ANSWERED else model.WAITING
        state.participants |= {ident: one} if ids.is_name(ident) else {}
    options = [path for path in lines if path[:7] == "option "]
    state.options = [Option(letter=path[7:], text=lines[path]) for path in options]
    if not state.rounds or state.rounds[-1].tour != state.tour:
        begun = model.Round(tour=state.tour, phase=state.phase, started_at=state.updated_at)
        is_open = any("-say-" not in one.name for one in page.entries)
        begun.blind = state.config.blind and state.phase == model.COLLECT and not is_open
        begun.order = list(state.participants)
        state.rounds.append(begun)
    return state


def _fitting(kind: Any, data: Event, usual: Event | None = None) -> Any:
    """Return a record of `usual` and of those values of a JSON object that fit its fields."""
    made = dict(usual or {})
    for key in [key for key in data if key in kind._names]:
        try:
            kind.from_json({**(usual or {}), key: data[key]})
        except (Refusal, TypeError, ValueError):
            continue
        made[key] = data[key]
    return kind.from_json(made)


def _add_entry(state: State, piece: Piece, row: Event) -> None:
    """Add what a region says to a state; a text that is still owed is left to `edits`."""
    tour, _, agent = piece.name.partition("-")
    agent = str(row.get("agent") or (piece.who if agent.startswith("say-") else agent))
    text, one = plain_text(piece.text()), state.participants.get(agent)
    owes = tour == str(state.tour) and one is not None and one.status == model.WAITING
    is_there = any(e.id == piece.name and same(e.text, text) for e in state.entries)
    if not tour.isdecimal() or not text or is_there or (owes and not row):
        return
    section, _, rest = piece.section.partition(" ")
    phase = {"round": model.DELIBERATE, "vote": model.VOTE}.get(section, rest or state.phase)
    kind = "guidance" if "-say-" in piece.name else model.kind_of(phase)
    peers = {ident: one.name for ident, one in state.participants.items() if ident != agent}
    options = {one.letter: one.text for one in state.options}
    form = Form(kind=kind, author=agent, peers=peers, options=options)
    heard = model.Heard() if kind == "guidance" else read(text, form)
    usual = {"id": piece.name, "agent": agent, "tour": int(tour), "kind": kind, "phase": phase}
    usual |= {"at": state.updated_at, "text": text, "status": model.RESPONDED}
    row = {**row, "text": text, "heard": heard.to_json()}
    if piece.digest != digest(piece.text()):
        row["origin"] = "claimed"  # not the text any longer that somebody is known to have given
    state.entries.append(_fitting(Entry, row, usual))


def label_parts(label: str) -> tuple[str, str]:
    """Return the emoji and the name of a participant's label."""
    emoji, _, name = label.partition(" ") if not label[:1].isalnum() else ("", "", label)
    return emoji, name.strip()


def author(state: State, said: str) -> tuple[str, str]:
    """Return who raised a blocker, by its name or id, and the blocker."""
    name, _, text = said.partition(":")
    for ident, one in state.participants.items():
        if text and name.strip() in (ident, one.name):
            return ident, text.strip()
    return "", said.strip()


def instant(text: str) -> str | None:
    """Return a deadline as text in UTC, None where it names none, or no zone."""
    found = text.strip().upper().replace("/", "-").replace(" UTC", "Z")
    is_zoned = found.endswith("Z") or re.search(r":\d\d[+-]\d", found)
    try:
        return times.text(times.instant(found)) if is_zoned else None
    except Refusal:
        return None
