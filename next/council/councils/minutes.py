"""The minutes of a conversation: front matter and text, made from its state and tally.

The decision comes first, then why, who disagrees in their own words, what is open, and all that was
said, quoted as on the page. The state block at the end has everything. `texts/` has the wording.
"""

from __future__ import annotations

from council.councils import prompts, session, sight, words
from council.councils.model import CHALLENGE, RESOLVE, Entry, State, Tally
from council.councils.positions import same
from council.kernel import page, times
from council.kernel.record import Any

_CUT = 600  # characters of the decision in the front matter


def minutes(state: State, tally: Tally, decision: str, at: str) -> tuple[dict[str, Any], str]:
    """Return the front matter and the text below it.

    `tally` is that of `sight`; `decision` is the text of the winning options, or what the synthesis
    recommends, "" for none; `at` counts where the state has no end.
    """
    made, runs, ended = _Minutes(state, tally, decision), state.runs, state.ended_at or at
    took = times.spoken(times.instant(ended) - times.instant(state.created_at or ended))
    result = session.outcome(state, tally)
    front = {
        "title": made.title(), "topic": " ".join(state.topic.split()), "date": ended[:10],
        "conversation": state.conversation_id, "name": state.name, "mode": state.config.mode,
        "procedure": state.procedure, "participants": list(state.participants),
        "outcome": result, "consensus": tally.type,
        "rounds": sum(one.phase != "SYNTHESIZE" for one in state.rounds),
        "absent": sorted({who for one in state.rounds for who in one.absent}),
        "duration": took, "closed_reason": state.closed_reason, "ended": ended,
        "decision": decision if len(decision) <= _CUT else f"{decision[:_CUT].rstrip()}…",
        "used": {"runs": runs.count, "tokens": runs.tokens, "estimatedTokens": runs.estimated,
                 "usd": round(runs.usd, 4), "agents": runs.by_agent},
        "diversity": diversity([made.position(who) for who in made.heard]),
        "tags": ["council", state.config.mode, result],
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
    def __init__(self, state: State, tally: Tally, decision: str) -> None:
        self.state, self.tally, self.decision = state, tally, decision
        self.say = words.load(f"texts/minutes-{state.lang}.txt")
        self.forms = words.template(f"texts/minutes-{state.lang}.txt").split("\n====\n")
        self.votes, people = state.procedure == "deliberation", state.participants
        self.names = {who: _plain(one.name or who) for who, one in people.items()}
        said = [one for one in state.entries if one.kind != "guidance" and not one.late]
        self.last = {one.agent: one for one in said if one.kind != "synthesis"}
        self.synthesis = next((one for one in reversed(said) if one.kind == "synthesis"), None)
        self.heard = [who for who in people if who in self.last]
        self.reasons = {one.agent: one.heard.reasoning for one in said if one.heard.reasoning}
        self.held = {who: one for one in tally.options for who in one.holders}
        self.won = next((one for one in tally.options if one.letter in tally.winners), None)

    def name(self, who: str) -> str:
        return self.names.get(who) or _plain(who)

    def title(self) -> str:
        state, tally = self.state, self.tally
        key, agreed = session.outcome(state, tally), len(tally.agreed)
        if key not in ("cancelled", "nobody-left"):
            asked = {CHALLENGE, RESOLVE} & {one.phase for one in state.rounds}
            council = "agreed" if key == "consensus" else "some" if agreed else key
            if council == "no-consensus":
                council = "open" if asked or not self.decision else "recommended"
            key = tally.type if self.votes else council
            key = "stopped" if (key, state.closed_reason) == ("timeout", "stopped") else key
            key = "rejected" if state.signed == "rejected" else key
        count = len(self.won.approve) if self.won else agreed
        kind = self.say[f"title-{key}"].format(n=tally.n, count=count)
        return f"{kind}{self.say['colon']} {' '.join(state.topic.split())}"

    def position(self, who: str) -> str:
        text = self.last[who].heard.position or (self.held[who].text if who in self.held else "")
        return text or self.last[who].text.strip().partition("\n\n")[0]

    def body(self, duration: str) -> str:
        state, tally, won, written = self.state, self.tally, self.won, self.synthesis
        told = words.told(state, tally, self.names, words.SIDES[1:])
        end = self.say.get(f"end-{state.closed_reason}", "")
        author, why = self.name(written.agent) if written else "", list[tuple[str, str]]()
        for who in won.holders if won else []:
            why.append((self.name(who), self.reasons.get(who, "")))
        if written and not self.votes:
            why = [(author, written.heard.consensus)]
        apart = [(f"{self.name(o['agent'])} {o['stance']}", o["text"]) for o in self.dissent()]
        advice, decided = written.heard.recommendation if written else "", bool(self.decision)
        values = {
            "title": page.one_line(self.title()), "decision": _quote(self.decision),
            "verdict": f"{told[0]}. {end.format(why=page.one_line(state.cancel_reason))}".strip(),
            "votes": self.votes,
            "option": won and decided, "author": author * (decided and not self.votes),
            "undecided": self.votes and not decided, "unwritten": not (self.votes or decided),
            "other": won and advice and same(advice, tally.decision) is None, "why": told[1:],
            "because": told[1:] or _quotes(why), "reasons": _quotes(why),
            "dissent": _quotes(apart), "holds": self.holds(), "questions": self.questions(),
            "blockers": [{"who": self.name(one.agent), "text": page.one_line(one.text)}
                         for one in state.blockers if one.open],
            "absent": self.absent(), "sign_off": self.name(state.config.sign_off).strip("–"),
            state.signed or "unsigned": True, "why_not": page.one_line(state.signed_why),
            "brief": self.quoted("brief", "", state.brief),
            "rounds": [self.round(one.tour, one.phase) for one in state.rounds],
            "late": self.entries(lambda one: one.late), "refused": state.kept_aside,
            "guidance": self.entries(lambda one: one.kind == "guidance"), "duration": duration,
            "notes": _quote("\n".join(state.notes)), "runs": state.runs.count,
            "tokens": state.runs.tokens, "estimated": state.runs.estimated,
            "usd": f"{state.runs.usd:.4f}" * bool(state.runs.usd), "unpriced": state.runs.unpriced,
        }  # fmt: skip
        return words.fill(self.forms[1], values)

    def dissent(self) -> list[dict[str, str]]:
        tally, won, made = self.tally, self.won, []
        for who in self.heard:
            stances, said, heard = [], [], self.last[who].heard
            if won:
                held = self.held[who].letter if who in self.held else won.letter
                stances = [self.say["holds"].format(option=held)] * (held not in tally.winners)
                keys = [key for key in ("partial", "disagree") if who in getattr(won, key)]
                stances += [self.say[key].format(option=won.letter) for key in keys]
                said = [heard.stances[one].comment for one in won.holders if one in heard.stances]
            elif tally.agreed and who not in tally.agreed:
                stances = [self.say["not-agreed"]]
            if stances:
                text = "\n\n".join(filter(None, [*said[:1], self.position(who)]))
                made.append({"agent": who, "stance": ", ".join(stances), "text": text})
        return made

    def holds(self) -> list[str]:
        """Return who holds which option, or with which status each participant ended."""
        tally, say, made = self.tally, self.say, []
        for side in tally.options:
            who = ", ".join(map(self.name, side.holders)) or "–"
            made.append(f"{side.letter} ({who}){say['colon']} {page.one_line(side.text)}")
        for who, one in {} if self.votes else self.state.participants.items():
            said = self.last[who].status if who in self.last else one.status
            said = "AGREED" if who in tally.agreed else said or one.status
            said += f", {say['edited']}" * (one.origin == "edited")
            made.append(f"{one.emoji} {self.name(who)}{say['colon']} {said}".strip())
        return made

    def absent(self) -> list[dict[str, str]]:
        made = {}
        for who, one in [both for past in self.state.rounds for both in past.absent.items()]:
            why = f": {page.one_line(one.words)}" * (one.code != "timeout" and bool(one.words))
            made[who, one.code] = {"who": self.name(who), "code": one.code, "why": why}
        return list(made.values())

    def questions(self) -> list[dict[str, str]]:
        """Return questions that nobody answered; later words of a person answer those to people."""
        made = []
        for asker, to, text in sight.unanswered(self.state):
            past = {one.heard.questions.get(to): at for at, one in enumerate(self.state.entries)}
            later = [one.kind for one in self.state.entries[past[text] :]]
            row = {"who": self.name(asker), "to": self.name(to), "text": page.one_line(text)}
            made += [row] if to in self.names or "guidance" not in later else []
        return made

    def round(self, tour: int, phase: str) -> dict[str, str]:
        text = self.entries(lambda e: e.tour == tour and not e.late and e.kind != "guidance")
        return {"title": self.say["round"].format(tour=tour, phase=phase), "text": text}

    def entries(self, which: Any) -> str:
        return "\n\n".join(self.entry(one) for one in self.state.entries if which(one)).strip()

    def entry(self, one: Entry) -> str:
        say, anonymous = self.say, self.state.config.anonymous
        masks = prompts.pseudonyms(self.state, one.agent) if anonymous else {}
        notes = [one.status, say.get(one.origin, ""), say["late"] * one.late]
        to = say["to"].format(who=self.name(one.target)) * bool(one.target)
        values = {
            "who": self.name(one.agent), "at": one.at[:16].replace("T", " "),
            "notes": ", ".join(filter(None, [*notes, say["cut"] * bool(one.cut), to])),
            "quote": self.quoted("entry", one.id, one.text),
            "false": [page.one_line(q.text) for q in one.heard.quotations if not q.found],
            "masks": [{"mask": m, "who": self.name(w)} for w, m in masks.items() if m in one.text],
        }  # fmt: skip
        return words.fill(self.forms[2], values).strip()

    def quoted(self, kind: str, name: str, text: str) -> str:
        return "\n\n".join(page.quoted(kind, name, page.shown(text, 4))) if text.strip() else ""


def _plain(name: str) -> str:
    """Return a name that may begin a line."""
    line = page.one_line(name) or "–"
    return line if line[0].isalnum() or ord(line[0]) > 127 or line[0] == "\\" else f"\\{line}"


def _quote(text: str) -> str:
    lines = page.shown(text, 3).split("\n") if text.strip() else []
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _quotes(said: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"who": who, "quote": _quote(text)} for who, text in said if text.strip()]
