"""The minutes of a conversation: front matter and text, made from its state.

The decision comes first, then why, who disagrees in their own words, what is open, and all that was
said, quoted as on the page. The state block at the end has everything. `texts/` has the wording.
"""

from __future__ import annotations

from council.councils import page as pages
from council.councils import sight, views
from council.councils.model import Entry, Side, State
from council.councils.verdict import same
from council.kernel import page, times, words
from council.kernel.record import Any

_CUT = 600  # characters of the decision in the front matter


def minutes(state: State) -> tuple[dict[str, Any], str]:
    """Return the front matter of a conversation that is over, and the text below it."""
    made, ended = _Minutes(state), state.ended_at or ""
    took = times.spoken(times.instant(ended) - times.instant(state.created_at))
    decision, outcome = made.came["decision"], made.came["outcome"]
    front = {
        "title": made.title(), "topic": " ".join(state.topic.split()), "date": ended[:10],
        "conversation": state.conversation_id, "name": state.name, "mode": state.config.mode,
        "procedure": state.procedure, "participants": list(state.participants),
        "outcome": outcome, "consensus": made.tally.type, "rounds": len(state.talks()),
        "absent": sorted({who for one in state.rounds for who in one.absent}),
        "duration": took, "closed_reason": state.closed_reason, "ended": ended,
        "decision": decision if len(decision) <= _CUT else f"{decision[:_CUT].rstrip()}…",
        "used": {**views.used(state), "agents": state.runs.by_agent},
        "diversity": diversity([one.heard.position or one.text for one in made.last.values()]),
        "tags": ["council", state.config.mode, outcome],
    }  # fmt: skip
    rest = {"decision": decision, "frontMatter": front}
    block = {"schemaVersion": 3, "currentPhase": state.phase, **state.to_json(), **rest}
    inside = page.state_block(block, state.rev, state.mark).rpartition("\n\n")[0]
    return front, f"{made.body(took)}\n{inside}\n"


def diversity(positions: list[str]) -> float:
    """Return the mean distance of positions by their words: 0 the same, 1 no word in common."""
    sets = [set(one.casefold().split()) for one in positions if one.strip()]
    apart = [1 - len(one & two) / len(one | two) for n, one in enumerate(sets) for two in sets[:n]]
    return round(sum(apart) / len(apart), 3) if apart else 0.0


class _Minutes:
    def __init__(self, state: State) -> None:
        self.state, self.tally, self.came = state, sight.tally(state), views.decision(state)
        said = [one for one in state.entries if one.kind != "guidance" and not one.late]
        last = {one.agent: one for one in said if one.kind != "synthesis"}
        self.last = {who: last[who] for who in state.participants if who in last}
        self.synthesis = next((one for one in said[::-1] if one.kind == "synthesis"), None)
        won = [one for one in self.tally.options if one.letter in self.tally.winners]
        self.won = won[0] if won else Side(letter="", text="")
        self.reasons = dict.fromkeys(last, "")
        for one in said:
            kept, why = self.reasons.get(one.agent, "") * one.heard.unchanged, self._why(one)
            if why and why not in kept:
                self.reasons[one.agent] = f"{kept}\n\n{why}".strip()
        names = {who: self.name(who) for who in state.participants}
        self.verdict, *self.told = sight.told(state, self.tally, names, holders=False)
        self.say = words.load(f"texts/minutes-{state.lang}.txt")

    def _why(self, one: Entry) -> str:
        """Return the reason that a contribution gives."""
        is_told = one.kind == "vote" and len(one.heard.position) > len(self.won.text) + 20
        return one.heard.position if is_told else one.heard.reasoning

    def name(self, who: str) -> str:
        """Return a name that may begin a line."""
        one = self.state.participants.get(who)
        line = page.one_line((one and one.name) or who) or "–"
        return line if line[0].isalnum() or ord(line[0]) > 127 or line[0] == "\\" else f"\\{line}"

    def title(self) -> str:
        key, state = self.came["outcome"], self.state
        if state.signed == "rejected":
            key = "rejected"
        elif key == "no-consensus" and state.closed_reason == "stopped":
            key = "stopped"
        elif key == "timeout" and state.closed_reason == "phases_exhausted":
            key = ""  # it was completed, with few voices
        kind = self.say.get(f"title-{key}", self.verdict)
        return self.say["title"].format(kind=kind, topic=" ".join(state.topic.split()))

    def body(self, duration: str) -> str:
        state, tally, won, written = self.state, self.tally, self.won, self.synthesis
        council = state.procedure == "council"
        late = {one["agent"] for one in tally.moved}
        why = {a: self._why(self.last[a]) if a in late else self.reasons[a] for a in won.holders}
        if council:
            why = {written.agent: written.heard.consensus} if written else {}
        reasons = [{"who": who, "text": text} for who, text in why.items() if text.strip()]
        advice = self.came["recommendation"] * (not council)
        differs = won.letter and advice and same(advice, tally.decision) is None
        gone = {(who, one.code): one for past in state.rounds for who, one in past.absent.items()}
        values = {
            **vars(state.runs), **views.used(state), "state": state, "council": council,
            "title": page.one_line(self.title()), "duration": duration, "verdict": self.verdict,
            "counted": not self.title().startswith(self.verdict), "refused": state.kept_aside,
            f"end-{state.closed_reason}": True, "decision": self.came["decision"],
            "won": won.letter, "written": written, "why": self.told, "reasons": reasons,
            "differs": differs, "advice": advice, "because": self.told or reasons,
            "dissent": self.came["dissent"], "blockers": [b for b in state.blockers if b.open],
            "questions": sight.unanswered(state), "options": tally.options,
            "agreed": tally.agreed, "waiting": tally.waiting, "signed_by": state.config.sign_off,
            "absent": [{"who": who, **vars(one)} for (who, _), one in gone.items()],
            state.signed or "unsigned": True, "notes": "\n".join(state.notes).strip(),
            "brief": "\n\n".join(page.quoted("brief", "", page.shown(state.brief, 3))),
            "briefed": state.brief.strip(),
            "said": "\n\n".join(self.said()),
        }  # fmt: skip
        text = words.template(f"texts/minutes-{state.lang}.txt").partition("\n====\n")[2]
        forms = {"name": self.name, "line": page.one_line, "quote": _quote, "term": self.say.get}
        return words.fill(text, values, {**self.say, **forms})

    def said(self) -> list[str]:
        """Return all that was said, as on the page, with how each text came and when."""

        def note(entry: Entry) -> str:
            how = self.say.get(entry.origin, "") + self.say["cut"] * bool(entry.cut)
            when = f"{entry.at[:16].replace('T', ' ')} UTC" * (entry.kind != "guidance")
            return ", ".join(filter(None, (when, how)))

        return pages.said_in(self.state, self.say, note)


def _quote(text: str) -> str:
    lines = page.shown(text, 3).split("\n") if text.strip() else []
    return "\n".join(f"> {line}".rstrip() for line in lines)
