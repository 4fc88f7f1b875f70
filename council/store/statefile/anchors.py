"""Which lines of a conversation file are ours, in a file that people have edited.

People write headings of their own, agents write whole documents into their
sections, lines get renamed or moved. Each item has one key; of several lines
that could be it, the one whose surroundings fit is taken, and everything that
is not taken is free text. What the values mean is decided elsewhere.

Source: C0-001, C0-019, XC-012, `store.md` sections 3 to 5.
"""

from __future__ import annotations

from council.core.ids import is_name
from council.core.record import Record
from council.store.statefile.layout import SIDE_SECTIONS, fits, is_hint
from council.store.statefile.marks import Region, folded, line_key, section_key, split_title

_BEFORE = ("h:metadata", "h:brief", "h:participants")
_AFTER = ("h:late", "h:guidance", "h:convergence", "h:next")
_CHILD = {
    "h:metadata": "meta:",
    "h:brief": "brief",
    "h:participants": "p:",
    "h:convergence": "conv:",
    "h:next": "next:",
    "h:late": "e:",
    "h:guidance": "e:",
}
_JUDGED_LINES = frozenset(("meta:speaker",))
_ASIDES = frozenset(SIDE_SECTIONS.values())


class Known(Record):
    """What is known of a file's structure before its lines are read.

    `sections` maps each section to the agents with a subsection there, None
    where the file does not say; `ledger` maps entry ids to (digest, nonce),
    None where there is none. `labels` maps headings to agents, `titles`
    renamed headings to keys, `asides` are the side sections it has. `judged`
    says whether it may have the lines of a conversation with turns and stances.
    """

    sections: dict[str, list[str]] | None = None
    ledger: dict[str, tuple[str, str]] | None = None
    labels: dict[str, str] = {}
    titles: dict[str, str] = {}
    asides: set[str] = set()  # never changed in place
    bare_title: bool = False
    judged: bool = True
    brief_digest: str = ""

    def agent_of(self, heading: str) -> str:
        """Return the agent whose section a heading opens, "" for none."""
        found = self.labels.get(heading) or self.labels.get(folded(heading))
        if not found and heading.endswith(")") and "(agent:" in heading:
            found = heading[heading.rfind("(agent:") + 7 : -1]
        return found or ""

    def has(self, key: str) -> bool:
        """Return true if a file like this one has the section."""
        if key.startswith("h:phase:"):
            return self.sections is None or key[8:] in self.sections
        if key in _ASIDES and self.sections is not None:
            return key in self.asides
        return True


class Piece(Record):
    """A line or region that may be an item: `key` is its key, "" while that depends on the place.

    `kind` is `h1`, `h2`, `h3`, `line`, `hint` or `region`.
    """

    start: int
    end: int
    kind: str
    key: str = ""
    text: str = ""
    agent: str = ""


def own_regions(regions: list[Region], block: Region | None, known: Known) -> dict[str, Region]:
    """Return the regions that are items, by key: one for each; others are free text."""
    own: dict[str, Region] = {}
    entries: dict[str, list[Region]] = {}
    briefs: list[Region] = []
    for region in regions:
        if region.kind == "brief":
            briefs.append(region)
        elif region.kind == "eof":
            own["eof"] = region
        elif region.kind == "entry" and (known.ledger is None or region.id in known.ledger):
            entries.setdefault(region.id, []).append(region)
    for entry_id, found in entries.items():
        best = found[0]
        if len(found) > 1 and known.ledger is not None:
            digest, nonce = known.ledger[entry_id]
            best = next((one for one in found if fits(one.body, digest, nonce)), best)
        own[f"e:{entry_id}"] = best
    if briefs:
        fitting = (one for one in briefs if len(briefs) > 1)
        own["brief"] = next(
            (one for one in fitting if fits(one.body, known.brief_digest, "")), briefs[0]
        )
    if block is not None:
        own["state"] = block
    return own


def pieces(text: str, regions: list[Region], own: dict[str, Region], known: Known) -> list[Piece]:
    """Return every line and region that may be an item, in order."""
    found: list[Piece] = []
    keys = {region.start: key for key, region in own.items()}
    at = 0
    for region in regions:
        key = keys.get(region.start, "")
        if not key and region.kind in ("entry", "brief"):
            continue  # its marks are not ours, so what it spans may hold items
        _add_lines(found, text, at, region.start, known)
        if key:
            found.append(Piece(start=region.start, end=region.end, kind="region", key=key))
        at = region.end
    _add_lines(found, text, at, len(text), known)
    return found


def _add_lines(found: list[Piece], text: str, start: int, end: int, known: Known) -> None:
    if start >= end:
        return
    at = start
    if start and text[start - 1] != "\n":
        at = text.find("\n", start, end) + 1 or end
    blockers: Piece | None = None
    for raw in text[at:end].split("\n"):
        line = raw.rstrip("\r")
        piece = _piece(line, at, known) if line[:1] in ("#", "-", "*") else None
        if piece is not None:
            found.append(piece)
            blockers = piece if piece.key == "conv:blockers" else None
        elif blockers is not None and line.lstrip()[:2] in ("- ", "* ") and line[:1].isspace():
            issue = line.lstrip()[2:].strip()
            blockers.text = f"{blockers.text}\n{issue}".strip("\n")
            blockers.end = at + len(line)
        else:
            blockers = None
        at += len(raw) + 1


def _piece(line: str, at: int, known: Known) -> Piece | None:
    end = at + len(line)
    level, _, rest = line.partition(" ")
    text = rest.strip()
    if level == "#" or (level == "###" and rest):
        return Piece(start=at, end=end, kind=f"h{len(level)}", text=text)
    if level == "##" and rest:
        key = known.titles.get(text) or section_key(text)
        return Piece(start=at, end=end, kind="h2", key=key if known.has(key) else "", text=text)
    if line[:1] == "*" and is_hint(line, known.judged):
        return Piece(start=at, end=end, kind="hint")
    return _bullet(line, at, known) if level in ("-", "*") else None


def _bullet(line: str, at: int, known: Known) -> Piece | None:
    end = at + len(line)
    agent, label, status = participant_line(line)
    if agent:
        return Piece(start=at, end=end, kind="line", key=f"p:{agent}", agent=label, text=status)
    label, colon, value = line[2:].partition(":")
    key = line_key(label.replace("*", "")) if colon else ""
    if not key or (key in _JUDGED_LINES and not known.judged):
        return None
    return Piece(start=at, end=end, kind="line", key=key, text=value.replace("*", "").strip())


def participant_line(line: str) -> tuple[str, str, str]:
    """Return (id, label, status) of `- 🦉 Henry (agent:henry): WAITING`, empty texts for others."""
    at = line.rfind("(agent:")
    close = line.find(")", at)
    agent = line[at + 7 : close].strip() if at >= 0 and close > 0 else ""
    rest = line[close + 1 :].strip()
    if not is_name(agent) or rest[:1] != ":":
        return "", "", ""
    status = rest[1:].strip().strip("[]")
    if status.lower().startswith("status:"):
        status = status[7:].strip()
    return agent, line[2:at].strip(), status


class Chosen(Record):
    """The items found, in the order of the file, and the headings a person renamed."""

    items: list[Piece]
    titles: dict[str, str]
    renamed: dict[str, str]


def choose(text: str, found: list[Piece], known: Known) -> Chosen:
    """Take one piece for each key: the one that fits best where there are several."""
    return _Choice(text, found, known).made()


class _Choice:
    """The work of `choose`: sections first, then what they hold."""

    def __init__(self, text: str, found: list[Piece], known: Known) -> None:
        self.text, self.found, self.known = text, found, known
        self.taken: dict[str, int] = {
            piece.key: at for at, piece in enumerate(found) if piece.kind == "region"
        }
        self.titles: dict[str, str] = {}
        self.renamed: dict[str, str] = {}
        for piece in found:
            if piece.key.startswith("p:"):
                known.labels.setdefault(piece.agent, piece.key[2:])
                known.labels.setdefault(folded(piece.agent), piece.key[2:])
        for piece in found:
            if piece.kind == "h3":
                piece.agent = known.agent_of(piece.text)

    def made(self) -> Chosen:
        self.sections()
        self.renamed_sections()
        for start, end, keys in self.spans():
            self.lines(start, end, keys)
            phases = [key[8:] for key in keys if key.startswith("h:phase:")]
            if phases:
                self.agents(start, end, phases)
        self.lone_lines()
        self.title()
        items = []
        for key, at in sorted(self.taken.items(), key=lambda pair: pair[1]):
            piece = self.found[at]
            piece.key = key
            items.append(piece)
        return Chosen(items=items, titles=self.titles, renamed=self.renamed)

    def blank(self, left: int, right: int) -> bool:
        """Return true if nothing stands between two pieces; outside the list counts as nothing."""
        start = self.found[left].end if left >= 0 else 0
        end = self.found[right].start if right < len(self.found) else len(self.text)
        return not self.text[start:end].strip()

    def opens(self, at: int, key: str) -> bool:
        """Return true if the piece at `at` stands right before what its section begins with."""
        if at + 1 >= len(self.found) or not self.blank(at, at + 1):
            return False
        following = self.found[at + 1]
        if key.startswith("h:phase:"):
            return following.kind == "h3" and bool(following.agent)
        return following.key.startswith(_CHILD[key])

    def order(self) -> list[str]:
        named = [f"h:phase:{name}" for name in self.known.sections or ()]
        more = [key for key in self.taken if key.startswith("h:phase:")]
        return [*_BEFORE, *dict.fromkeys([*named, *more]), *_AFTER]

    def sections(self) -> None:
        """Take the headings of sections."""
        wanted: dict[str, list[int]] = {}
        for at, piece in enumerate(self.found):
            if piece.kind == "h2" and piece.key:
                wanted.setdefault(piece.key, []).append(at)
        for key, ats in wanted.items():
            good = [at for at in ats if self.opens(at, key)]
            if _CHILD.get(key) == "e:" and self.known.sections is None and not good:
                continue  # such a section is unknown, and no text of it is there
            good = good or ats
            self.taken[key] = good[0] if key in _BEFORE else good[-1]

    def renamed_sections(self) -> None:
        """Take an unknown heading that stands where one of ours is missing as its new name."""
        order = self.order()
        for number, key in enumerate(order):
            if key in self.taken:
                if self.found[self.taken[key]].text in self.known.titles:
                    self.titles[key] = self.found[self.taken[key]].text
                continue
            after = max(
                (self.taken[one] for one in order[:number] if one in self.taken), default=-1
            )
            before = min(
                (self.taken[one] for one in order[number + 1 :] if one in self.taken),
                default=len(self.found),
            )
            fitting = [
                at
                for at in range(after + 1, before)
                if self.found[at].kind == "h2" and not self.found[at].key and self.opens(at, key)
            ]
            if len(fitting) == 1 and key not in ("h:late", "h:guidance"):
                self.taken[key] = fitting[0]
                self.found[fitting[0]].key = key
                self.titles[key] = self.found[fitting[0]].text

    def spans(self) -> list[tuple[int, int, list[str]]]:
        """Return (first piece, end, keys of the sections whose items may stand there)."""
        order = self.order()
        heads = sorted((at, key) for key, at in self.taken.items() if key in order)
        first = order[: next((i for i, key in enumerate(order) if key in self.taken), len(order))]
        spans = [(0, heads[0][0] if heads else len(self.found), first)]
        for number, (at, key) in enumerate(heads):
            end = heads[number + 1][0] if number + 1 < len(heads) else len(self.found)
            keys = [key]
            for one in order[order.index(key) + 1 :]:
                if one in self.taken:
                    break
                keys.append(one)
            spans.append((at + 1, end, keys))
        return spans

    def lines(self, start: int, end: int, keys: list[str]) -> None:
        kinds = tuple(_CHILD[key] for key in keys if key in _CHILD and _CHILD[key].endswith(":"))
        for at in range(start, end):
            piece = self.found[at]
            if piece.kind == "line" and piece.key.startswith(kinds):
                self.taken.setdefault(piece.key, at)

    def lone_lines(self) -> None:
        """Take lines that were moved out of their section, where there is only one of them."""
        inside = {
            at
            for start, end, keys in self.spans()
            if any(key.startswith("h:phase:") for key in keys)
            for at in range(start, end)
        }
        lone: dict[str, list[int]] = {}
        for at, piece in enumerate(self.found):
            if piece.kind == "line" and piece.key not in self.taken and at not in inside:
                lone.setdefault(piece.key, []).append(at)
        for key, ats in lone.items():
            if len(ats) == 1:
                self.taken[key] = ats[0]

    def agents(self, start: int, end: int, phases: list[str]) -> None:
        """Take the headings of agents in the section of a phase, or of several run together."""
        wanted: dict[str, list[int]] = {}
        for at in range(start, end):
            agent = self.found[at].agent if self.found[at].kind == "h3" else ""
            if agent and any(self.expects(phase, agent) for phase in phases):
                wanted.setdefault(agent, []).append(at)
        for agent, ats in wanted.items():
            if len(phases) == 1:
                self.taken[f"a:{phases[0]}:{agent}"] = max(ats, key=lambda at: (self.room(at), at))
            else:
                expecting = [phase for phase in phases if self.expects(phase, agent)]
                for phase, at in zip(expecting, ats, strict=False):
                    self.taken[f"a:{phase}:{agent}"] = at
        if len(phases) == 1:
            self.renamed_agents(start, end, phases[0], wanted)
        heads = sorted(
            (at, key) for key, at in self.taken.items() if key[:2] == "a:" and start <= at < end
        )
        for at in range(start, end):
            if self.found[at].kind == "hint":
                above = [key for head, key in heads if head < at]
                if above:
                    self.taken.setdefault("s" + above[-1][1:], at)

    def expects(self, phase: str, agent: str) -> bool:
        """Return true if an agent has a subsection in a phase, or is just being added."""
        sections = self.known.sections
        if sections is None or f"p:{agent}" in self.taken:
            return True  # asked first: there may be very many agents
        return agent in sections.get(phase, ())

    def room(self, at: int) -> int:
        """Return how well a heading stands apart: nothing right before it, nothing right after."""
        return self.blank(at - 1, at) + self.blank(at, at + 1)

    def renamed_agents(
        self, start: int, end: int, phase: str, present: dict[str, list[int]]
    ) -> None:
        """Take the one unknown heading where an agent's is missing as the agent's new name."""
        agents = (self.known.sections or {}).get(phase, [])
        for number, agent in enumerate(agents):
            if agent in present:
                continue
            left = [self.taken[f"a:{phase}:{one}"] for one in agents[:number] if one in present]
            right = [
                self.taken[f"a:{phase}:{one}"] for one in agents[number + 1 :] if one in present
            ]
            among = range(max(left, default=start - 1) + 1, min(right, default=end))
            unknown = [
                at for at in among if self.found[at].kind == "h3" and not self.found[at].agent
            ]
            lacking = [one for one in agents if one not in present]
            if len(unknown) == 1 and len(lacking) == 1 and self.room(unknown[0]):
                self.taken[f"a:{phase}:{agent}"] = unknown[0]
                self.renamed[agent] = self.found[unknown[0]].text

    def title(self) -> None:
        """Take the title: the first of its level before everything, else one with our words."""
        first = min(self.taken.values(), default=len(self.found))
        heads = [at for at, piece in enumerate(self.found) if piece.kind == "h1"]
        early = [at for at in heads if at < first]
        ours = [at for at in heads if split_title(self.found[at].text) is not None]
        both = [at for at in ours if at < first]
        best = both or early or ours
        if best:
            self.taken["title"] = best[0]
