"""A conversation as a page, and as the state block on it.

The page is made from the state alone, and the same state always gives the same bytes. Its form is
in `texts/page.md`, the sentences in `texts/page-LANG.txt`; `page-printed.txt` lists every sentence
that was ever printed, so that pages of earlier versions are read, too.
"""

from __future__ import annotations

from _collections_abc import Callable  # `collections` is slow to import
from itertools import groupby

from council.councils import model, sight
from council.councils.evolution import owing
from council.councils.model import Absence, Entry, Participant, Round, State, fields
from council.councils.verdict import held_after
from council.kernel import ids, words
from council.kernel.page import END, as_typed, mark, one_line, quoted, shown, state_block
from council.kernel.record import Any

WIDTH = 72


def texts(lang: str) -> dict[str, str]:
    """Return the sentences of the page in a language; English where there are none."""
    return words.load(f"texts/page-{'fr' if lang == 'fr' else 'en'}.txt")


def cut(text: str, most: int) -> str:
    """Return a text cut as formatters leave it: some change an ellipsis of one sign."""
    return ids.cut(text, most - 2).replace("…", "...")


def labels(state: State) -> dict[str, str]:
    """Return the heading of each participant, and of all others that spoke; no two are equal."""
    made: dict[str, str] = {}
    guides = {entry.agent for entry in state.entries if entry.kind == "guidance"}
    for ident in {**state.participants, **{entry.agent: None for entry in state.entries}}:
        other = Participant(name=ident, emoji="👤" if ident in guides else "")
        one = state.participants.get(ident, other)
        label = _label(one.emoji, one_line(one.name) or ident or texts(state.lang)["person"])
        made[ident] = f"{label} (agent:{ident})" if label in made.values() else label
    return made


def _label(emoji: str, name: str) -> str:
    return f"{one_line(emoji)} {name}".strip()


def render(state: State) -> str:
    """Return the page of a conversation (`page.md`)."""
    page, made, brief = _Page(state), block(state), shown(state.brief, 3)
    t, figures, raised = page.t, made["convergence"], sight.blockers(state)
    count = len(state.participants)
    values = {
        "t": t, "topic": one_line(state.topic), "block": made, "timeout": state.timeout_at or "-",
        "deliberation": state.procedure != "council", "said": page.said(),
        "brief": "\n\n".join(quoted("brief", "", brief)) if brief else "",
        "people": [{"id": who, "status": one.status, "label": _label(one.emoji, page.name(who))}
                   for who, one in state.participants.items()],
        "rate": f"{round(figures['responseRate'] * count)}/{count}",
        "converged": t["yes" if figures["hasConsensus"] else "no"],
        "blockers": len(raised) or t["none"],
        "actions": page.names(page.owing) or t["actions.none"],
        "raised": [f"{page.name(one.agent)}: " * bool(one.agent) + one_line(one.text)
                   for one in raised],  # those of a page have no author
        "notes": as_typed("\n".join(state.notes)),
        "end": state_block(made, state.rev, state.mark),
    }  # fmt: skip
    return words.fill(words.template("texts/page.md"), values)


def said_in(state: State, titles: dict[str, str], note: Callable[[Entry], str]) -> list[str]:
    """Return what was said in each round, below its title, and a `note` to each text."""
    page, made = _Page(state, note), list[str]()
    page.open = None
    for one in state.rounds:
        made.append(f"## {titles[one.phase].format(tour=one.tour)}")
        for who in page.speakers(one):
            if parts := page.of_member(who, one):
                made += [f"### {page.labels.get(who, who)}", *parts]
    return made


class _Page:
    """The parts of one page, each a list of blocks."""

    def __init__(self, state: State, note: Callable[[Entry], str] | None = None) -> None:
        self.state, self.t, self.labels = state, texts(state.lang), labels(state)
        self.owing, self.note = owing(state), note
        self.open = state.rounds[-1] if state.rounds and not state.rounds[-1].ended_at else None
        self.entries: dict[int, list[Entry]] = {}
        self.acknowledged = sight.acknowledged(state)
        self.held: dict[str, str] = {}  # the option of each one, now
        self.moves: dict[str, tuple[str, str]] = {}  # before and after each entry
        letters = [one.letter for one in state.options]
        for entry in state.entries:
            self.entries.setdefault(entry.tour, []).append(entry)
            counts = not entry.late and not state.is_sealed(entry)
            if letters and counts and entry.kind in ("turn", "vote"):
                old = self.held.get(entry.agent, "")
                now = held_after(entry.heard, old, list(state.options), entry.kind == "vote")
                self.held[entry.agent] = now if now in letters else old
                self.moves[entry.id] = (old, self.held[entry.agent])

    def name(self, ident: str) -> str:
        one = self.state.participants.get(ident)
        return one_line(one.name if one and one.name else ident)

    def names(self, many: list[str]) -> str:
        return ", ".join(map(self.name, many))

    def said(self) -> list[str]:
        """Return the sections of all rounds; rounds of one phase in a row share theirs."""
        made, options, alone = list[str](), self.options(), (model.DELIBERATE, model.VOTE)
        for (phase, tour), rounds in groupby(
            self.state.rounds, lambda one: (one.phase, one.tour if one.phase in alone else 0)
        ):
            if phase in (model.VOTE, model.SYNTHESIZE):
                made, options = made + options, []
            ballot = f"## {self.t['vote']}\n\n{self.t['vote.hint']}"
            titles = {model.VOTE: ballot, model.DELIBERATE: f"## {self.t['deliberation']} {tour}"}
            made.append(titles.get(phase, f"## {self.t['responses']} {phase}"))
            own: dict[str, list[str]] = {}
            for one in rounds:
                for agent in self.speakers(one):
                    own.setdefault(agent, []).extend(self.of_member(agent, one))
            for agent, blocks in own.items():
                if blocks or one.parallel:
                    made += [f"### {self.labels.get(agent, agent)}", *blocks]
        return made + options

    def speakers(self, one: Round) -> list[str]:
        spoke = [entry.agent for entry in self.entries.get(one.tour, [])]
        return list(dict.fromkeys([*one.order, *spoke]))

    def of_member(self, agent: str, one: Round) -> list[str]:
        """Return what a participant said in a round, or why it did not, or where to write."""
        own = [entry for entry in self.entries.get(one.tour, []) if entry.agent == agent]
        made = [part for entry in own for part in self.entry(entry)]
        is_open, hint = one is self.open, ""
        if is_open and agent in one.asked:
            hint = self.asked_again(one.asked[agent])
        elif is_open and agent in self.owing:
            hint = self.t["hint"]
        elif not any(entry.kind != "guidance" and not entry.late for entry in own):
            if agent in one.absent:
                made.append(self.absence(one.absent[agent]))
            elif agent in one.order and one.parallel and one.reason != "cancelled":
                hint = self.t["textless" if is_open else "textless.over"]
        text = as_typed(self.state.drafts.get(agent, "")) if is_open else ""
        if text and agent not in one.asked:
            hint = self.t["draft"]
        if hint:
            region = [mark("draft", f"{one.tour}-{agent}"), *filter(None, [text]), END]
            made += [hint, *(region if is_open else [])]
        return made

    def asked_again(self, question: str) -> str:
        lines = question.partition("\n\n")[0].split("\n")
        points = [line[2:] for line in lines if line[:2] == "- "] or lines[:1]
        names = ", ".join(point.partition(":")[0].strip() for point in points)
        return self.t["again"].format(cut(one_line(names if points[1:] else points[0]), 48))

    def absence(self, why: Absence) -> str:
        if why.code == "timeout":
            return self.t["absent"]
        reason = one_line(why.words or why.code).replace(". ", "; ")
        return cut(self.t["absent.why"].format(reason), WIDTH)

    def entry(self, entry: Entry) -> list[str]:
        if self.state.is_sealed(entry):
            return [self.t["sealed"]]
        made = [cut(f"Tour {entry.tour}: {self.understood(entry)}", WIDTH)]
        if self.note:
            made = ["; ".join(filter(None, (self.note(entry), self.understood(entry))))]
        made += quoted("entry", entry.id, shown(entry.text, 4))
        for quote in [one for one in entry.heard.quotations if not one.found]:
            text = cut(one_line(quote.text), WIDTH - 24 - len(self.t["quotation"]))
            by = f" ({self.name(quote.of)})" if quote.of else ""
            made.append(self.t["quotation"].format(text) + by)
        return made

    def understood(self, entry: Entry) -> str:
        """Return what was understood of an entry, the most important first."""
        t, heard, parts = self.t, entry.heard, [self.t["late"]] if entry.late else []
        if entry.kind == "guidance":
            whom = t["to"].format(self.name(entry.target) if entry.target else t["all"])
            parts.append(f"{whom}, {entry.at[:10]} {entry.at[11:16]} UTC")
            since = self.acknowledged[entry.id]
            parts += [t["acknowledged"].format(self.names(since))] if since else []
        elif entry.kind in ("turn", "vote"):
            before, letter = self.moves.get(entry.id, ("", ""))
            moves = t["moves"].format(before, letter) if before not in ("", letter) else letter
            sure = t["confidence"].format(heard.confidence) if heard.confidence else ""
            stances = [t[s.word].format(self.name(a)) for a, s in heard.stances.items()]
            parts += [", ".join(filter(None, (moves, sure))), ", ".join(stances)]
        elif entry.status not in (model.RESPONDED, model.WAITING):
            parts.append(entry.status)
        parts.append(t["edited"] if entry.origin == "edited" else "")
        return "; ".join(filter(None, parts))

    def options(self) -> list[str]:
        rows = []
        for one in self.state.options:
            by = self.names([a for a in self.state.participants if self.held.get(a) == one.letter])
            rows.append(f"- {one.letter}{f' ({by})' * bool(by)}: {one_line(one.text)}")
        return [f"## {self.t['options']}", "\n".join(rows)] if rows else []


def block(state: State) -> dict[str, Any]:
    """Return the state block: document 000's keys and those of `json.md`; no sealed text."""
    people = ("status", "last_action", "origin", "name", "emoji", "role")
    rounds = ("tour", "phase", "started_at", "ended_at", "reason", "absent", "parallel", "blind")
    said = ("id", "agent", "phase", "tour", "at", "status", "origin")
    steered = fields(state, "paused_at stop ended_at closed_reason signed")
    visible = [one for one in state.entries if not state.is_sealed(one)]
    return {
        "schemaVersion": 3,
        **fields(state, "rev conversation_id name procedure lang"),
        "mode": state.config.mode,
        "phases": list(state.config.phases),
        "currentPhase": state.phase,
        **fields(state, "tour created_at updated_at timeout_at status"),
        **{key: value for key, value in steered.items() if value},
        "config": state.config.row((), ("mode", "phases", "options")),
        "participants": {agent: one.row(people) for agent, one in state.participants.items()},
        "convergence": sight.convergence(state),
        "rounds": [one.row(rounds, ("asked",)) for one in state.rounds],
        "entries": [one.row(said, ("text", "parts", "heard")) for one in visible],
    }
