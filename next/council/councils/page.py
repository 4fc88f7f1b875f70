"""A conversation as a page, and as the state block on it.

The page is made from the state alone, and the same state always gives the same bytes. Sentences
are in `texts/page-LANG.txt`; `page-printed.txt` lists every sentence that was ever printed, so
that pages of earlier versions are read, too.
"""

from __future__ import annotations

from council.councils import model, sight
from council.councils.evolution import owing
from council.councils.model import RESPONDED, WAITING, Entry, Participant, Round, State
from council.kernel import ids
from council.kernel.page import END, as_typed, mark, one_line, quoted, shown, state_block
from council.kernel.record import Any, camel

WIDTH = 72
SCHEMA = 3
_LOADED: dict[str, dict[str, str]] = {}


def texts(lang: str) -> dict[str, str]:
    """Return the sentences of the page in a language; English where there are none."""
    lang = "fr" if lang == "fr" else "en"
    if lang not in _LOADED:
        path = __file__[: -len("councils/page.py")] + f"texts/page-{lang}.txt"
        with open(path, encoding="utf-8") as file:
            rows = [line.rstrip("\n").partition(" = ") for line in file]
        _LOADED[lang] = {key: words for key, _, words in rows}
    return _LOADED[lang]


def cut(text: str, most: int) -> str:
    """Return a text cut as formatters leave it: some change an ellipsis of one sign."""
    return ids.cut(text, most - 2).replace("…", "...")


def labels(state: State) -> dict[str, str]:
    """Return the heading of each participant, and of all others that spoke; no two are equal."""
    made: dict[str, str] = {}
    for ident in {**state.participants, **{entry.agent: None for entry in state.entries}}:
        one = state.participants.get(ident)
        name = ident if one is None else one_line(one.name) or ident
        emoji = "" if one is None else one_line(one.emoji)
        label = f"{emoji} {name}".strip() or texts(state.lang)["person"]
        made[ident] = f"{label} (agent:{ident})" if label in made.values() else label
    for entry in state.entries:
        if entry.kind == "guidance" and entry.agent not in state.participants:
            made[entry.agent] = f"👤 {entry.agent or texts(state.lang)['person']}"
    return made


def render(state: State) -> str:
    """Return the page of a conversation (`page.md`)."""
    page = _Page(state)
    blocks = [f"# {page.t['title']} {one_line(state.topic)}", *page.metadata(), *page.brief()]
    blocks += [*page.participants(), *page.said(), *page.convergence(), *page.notes()]
    return "\n\n".join([*blocks, state_block(block(state), state.rev, state.mark)])


class _Page:
    """The parts of one page, each a list of blocks."""

    def __init__(self, state: State) -> None:
        self.state, self.t, self.labels = state, texts(state.lang), labels(state)
        self.open = state.rounds[-1] if state.rounds and not state.rounds[-1].ended_at else None
        self.owing = owing(state)
        self.entries: dict[int, list[Entry]] = {}
        self.place: dict[str, int] = {}
        self.spoke: dict[str, int] = {}  # the place of each one's last answer
        for at, entry in enumerate(state.entries):
            self.entries.setdefault(entry.tour, []).append(entry)
            self.place[entry.id] = at
            if not (entry.late or state.is_sealed(entry)):
                self.spoke[entry.agent] = at
        self.moves, self.holders = positions(state)

    def name(self, ident: str) -> str:
        one = self.state.participants.get(ident)
        return one_line(one.name if one and one.name else ident)

    def names(self, many: list[str]) -> str:
        return ", ".join(map(self.name, many))

    def metadata(self) -> list[str]:
        state, deliberation = self.state, self.state.procedure != "council"
        rows: dict[str, Any] = {"id": state.conversation_id}
        rows |= {"procedure": state.procedure} if deliberation else {}
        rows |= {"mode": state.config.mode, "phase": state.phase, "tour": state.tour}
        rows |= {"created": state.created_at, "updated": state.updated_at}
        rows |= {"timeout": state.timeout_at or "-", "status": state.status}
        lines = [f"- {self.t[key]}: {value}" for key, value in rows.items()]
        return [f"## {self.t['metadata']}", "\n".join(lines)]

    def brief(self) -> list[str]:
        text = shown(self.state.brief, 3)
        return [f"## {self.t['brief']}", *(quoted("brief", "", text) if text else [])]

    def participants(self) -> list[str]:
        rows = [
            f"- {f'{one_line(one.emoji)} {self.name(a)}'.strip()} (agent:{a}): {one.status}"
            for a, one in self.state.participants.items()
        ]
        return [f"## {self.t['participants']}", *(["\n".join(rows)] if rows else [])]

    def said(self) -> list[str]:
        """Return the sections of all rounds; rounds of one phase in a row share theirs."""
        made: list[str] = []
        groups: list[list[Round]] = []
        for one in self.state.rounds:
            alone = one.phase in (model.DELIBERATE, model.VOTE)
            if groups and groups[-1][0].phase == one.phase and not alone:
                groups[-1].append(one)
            else:
                groups.append([one])
        options = self.options()
        for group in groups:
            phase = group[0].phase
            if phase in (model.VOTE, model.SYNTHESIZE):
                made, options = made + options, []
            if phase == model.DELIBERATE:
                made.append(f"## {self.t['deliberation']} {group[0].tour}")
            elif phase == model.VOTE:
                made += [f"## {self.t['vote']}", self.t["vote.hint"]]
            else:
                made.append(f"## {self.t['responses']} {phase}")
            members = dict.fromkeys(a for one in group for a in one.order)
            spoke = (e.agent for one in group for e in self.entries.get(one.tour, []))
            for agent in {**members, **dict.fromkeys(spoke)}:
                own = [part for one in group for part in self.of_member(agent, one)]
                if own or group[-1].parallel:
                    made += [f"### {self.labels.get(agent, agent)}", *own]
        return made + options

    def of_member(self, agent: str, one: Round) -> list[str]:
        """Return what a participant said in a round, or why it did not, or where to write."""
        made: list[str] = []
        own = [entry for entry in self.entries.get(one.tour, []) if entry.agent == agent]
        for entry in own:
            made += self.entry(entry)
        draft = self.state.drafts.get(agent, "") if one is self.open else ""
        hint = ""
        if one is self.open and agent in one.asked:
            asked = one.asked[agent].partition("\n\n")[0].split("\n")
            points = [line[2:] for line in asked if line[:2] == "- "] or asked[:1]
            names = ", ".join(point.partition(":")[0].strip() for point in points)
            point = points[0] if len(points) == 1 else names
            hint = self.t["again"].format(cut(one_line(point), 48))
        elif one is self.open and agent in self.owing:
            hint = self.t["hint"]
        elif not any(entry.kind != "guidance" and not entry.late for entry in own):
            if agent in one.absent:
                made.append(self.absence(one, agent))
            elif agent in one.order and one.parallel:
                hint = self.t["textless"]
        if hint and one is not self.open:
            made.append(hint)
        elif draft or hint:
            text = as_typed(draft)
            made.append(self.t["draft"] if text and agent not in one.asked else hint)
            made += [mark("draft", f"{one.tour}-{agent}"), *([text] if text else []), END]
        return made

    def absence(self, one: Round, agent: str) -> str:
        why = one.absent[agent]
        if why.code == "timeout" or not why.words:
            return self.t["absent"]
        return cut(self.t["absent.why"].format(one_line(why.words).replace(". ", "; ")), WIDTH)

    def entry(self, entry: Entry) -> list[str]:
        if self.open and self.open.blind and self.state.is_sealed(entry):
            return [self.t["sealed"]]
        missing = [quote for quote in entry.heard.quotations if not quote.found]
        made = [self.tour_line(entry), *quoted("entry", entry.id, shown(entry.text, 4))]
        for quote in missing:
            words = cut(one_line(quote.text), WIDTH - 24 - len(self.t["quotation"]))
            by = f" ({self.name(quote.of)})" if quote.of else ""
            made.append(self.t["quotation"].format(words) + by)
        return made

    def tour_line(self, entry: Entry) -> str:
        """Return `Tour N:` and what was understood, the most important first."""
        t, heard, parts = self.t, entry.heard, []
        if entry.kind == "guidance":
            parts.append(t["to"].format(self.name(entry.target) if entry.target else t["all"]))
            parts[0] += f", {entry.at[:10]} {entry.at[11:16]} UTC"
            since = [a for a, at in self.spoke.items() if at > self.place[entry.id]]
            meant = (a for a in self.state.participants if entry.target in ("", a))
            if heard_by := [a for a in meant if a in since]:
                parts.append(t["acknowledged"].format(self.names(heard_by)))
        if entry.kind in ("turn", "vote"):
            before, letter = self.moves.get(entry.id, ("", ""))
            moves = t["moves"].format(before, letter) if before not in ("", letter) else letter
            sure = t["confidence"].format(heard.confidence) if heard.confidence else ""
            stances = (t[s.word].format(self.name(a)) for a, s in heard.stances.items())
            parts += filter(None, (", ".join(filter(None, (moves, sure))), ", ".join(stances)))
        elif entry.status not in ("", RESPONDED, WAITING):
            parts.append(entry.status)
        if entry.late:
            parts.insert(0, t["late"])
        if entry.origin == "edited":
            parts.append(t["edited"])
        return cut(f"Tour {entry.tour}: {'; '.join(parts)}", WIDTH)

    def options(self) -> list[str]:
        rows = []
        for one in self.state.options:
            held = self.holders.get(one.letter)
            rows.append(f"- {one.letter}{f' ({self.names(held)})' if held else ''}: ")
            rows[-1] += one_line(one.text)
        return [f"## {self.t['options']}", "\n".join(rows)] if rows else []

    def convergence(self) -> list[str]:
        state, t = self.state, self.t
        asked, blockers = len(state.participants), sight.blockers(state)
        rows = [
            f"- {t['rate']}: {round(state.convergence.response_rate * asked)}/{asked}",
            f"- {t['converged']}: {t['yes' if state.convergence.has_consensus else 'no']}",
            f"- {t['blockers']}: {len(blockers) or t['none']}",
            *(f"  - {self.name(one.agent)}: {one_line(one.text)}" for one in blockers),
        ]
        following = [
            f"- {t['condition']}: {t['passing']}",
            f"- {t['actions']}: {self.names(self.owing) or t['actions.none']}",
        ]
        return [f"## {t['convergence']}", "\n".join(rows), f"## {t['next']}", "\n".join(following)]

    def notes(self) -> list[str]:
        text = as_typed("\n".join(self.state.notes))
        inside = [mark("notes"), *([text] if text else []), END]
        return [f"## {self.t['notes']}", self.t["notes.hint"], *inside]


def positions(state: State) -> tuple[dict[str, tuple[str, str]], dict[str, list[str]]]:
    """Return the option held before and after each entry, and who holds each option now."""
    moves: dict[str, tuple[str, str]] = {}
    if not state.options:
        return moves, {}
    from council.councils.positions import held_after  # late: most conversations have no options

    held: dict[str, str] = {}
    letters = {one.letter for one in state.options}
    for entry in state.entries:
        if entry.kind in ("turn", "vote") and not entry.late and not state.is_sealed(entry):
            before = held.get(entry.agent, "")
            after = held_after(entry.heard, before, list(state.options), entry.kind == "vote")
            held[entry.agent] = after if after in letters else before
            moves[entry.id] = (before, held[entry.agent])
    by_letter: dict[str, list[str]] = {}
    for agent in state.participants:
        by_letter.setdefault(held.get(agent, ""), []).append(agent)
    return moves, by_letter


def block(state: State) -> dict[str, Any]:
    """Return the state block: document 000's keys and those of `json.md`; no sealed text."""
    usual, config = model.Config().to_json(), state.config.to_json()
    shown_apart = ("mode", "phases", "options")
    config = {k: v for k, v in config.items() if v != usual[k] and k not in shown_apart}
    blocking = [f"{b.agent}: {b.text}" if b.agent else b.text for b in sight.blockers(state)]

    def own(*names: str) -> dict[str, Any]:
        return {camel(name): getattr(state, name) for name in names}

    steered = own("paused_at", "stop", "ended_at", "closed_reason", "signed")
    return {
        "schemaVersion": SCHEMA,
        **own("rev", "conversation_id", "name", "procedure", "lang"),
        "mode": state.config.mode,
        "phases": list(state.config.phases),
        "currentPhase": state.phase,
        **own("tour", "created_at", "updated_at", "timeout_at", "status"),
        **{key: value for key, value in steered.items() if value},
        "config": config,
        "participants": {a: _participant(one) for a, one in state.participants.items()},
        "convergence": {**state.convergence.to_json(), "blockingIssues": blocking},
        "rounds": [_round(one) for one in state.rounds],
        "entries": [_row(one) for one in state.entries if not state.is_sealed(one)],
    }


def _participant(one: Participant) -> dict[str, Any]:
    row = one.to_json()
    plain = ("person", "model", "advocate")
    return {k: v for k, v in row.items() if not ((k in plain and not v) or (k, v) == ("joined", 1))}


def _round(one: Round) -> dict[str, Any]:
    row = one.to_json()
    first = ("tour", "phase", "startedAt", "endedAt", "reason", "absent")
    more = {k: v for k, v in row.items() if k not in (*first, "asked") and v not in ("", [])}
    return {**{key: row[key] for key in first}, **more}


def _row(entry: Entry) -> dict[str, Any]:
    keys = ("id", "agent", "phase", "tour", "at", "status", "origin")
    row: dict[str, Any] = {key: getattr(entry, key) for key in keys}
    if entry.kind != "contribution":
        row["kind"] = entry.kind
        heard = entry.heard
        stances = {peer: stance.word for peer, stance in heard.stances.items()}
        said = {"choice": heard.choice, "confidence": heard.confidence, "stances": stances}
        row |= {key: value for key, value in said.items() if value}
    more = {"target": entry.target, "late": entry.late, "cut": entry.cut}
    return row | {key: value for key, value in more.items() if value}
