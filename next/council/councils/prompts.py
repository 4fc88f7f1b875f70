"""What an agent is told: its prompt, made from the state and the templates of `prompts/`.

All that it may see now is in it once, with everybody's full reasoning. Texts are quoted between
lines with a code from the digest of all of them, so none can contain it. Only above `context_limit`
are texts cut, the oldest first, and the prompt says where.
"""

from __future__ import annotations

from council.archive.artifacts import is_id
from council.councils import sight, words
from council.councils.model import CHALLENGE, COLLECT, DELIBERATE, Entry, Participant, State
from council.councils.procedures import EARLY_MODES
from council.kernel.ids import cut, digest
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.agents.souls import Soul

_FRAME, _EACH = 6000, 100  # characters that a prompt needs, and those around each text


def prompt(
    state: State, agent: str, task: str = "", *, soul: Soul | None = None, checklist: str = "",
    command: str = "council", run: str | None = None, artifacts: dict[str, str] | None = None,
) -> str:  # fmt: skip
    """Return the prompt of one agent.

    `task` is `contribution`, `turn`, `vote`, `synthesis`, `question` or "" (nothing is asked). The
    `checklist` of COUNCIL.md is shown in CHALLENGE. `run` is the run whose output is the answer,
    None for an answer by `command`; `artifacts` are texts of artifacts that are named, by id.
    """
    folder, told = f"prompts/{state.lang}", _Told(state, agent)
    values: dict[str, Any] = {
        "command": command, "persona": soul.persona.strip() if soul else "", "task_id": run,
        "checklist": checklist.strip() * (state.phase == CHALLENGE),
        **told.place(), **told.form(task), **told.answering(command, run, task),
    }  # fmt: skip
    spare = len(values["persona"]) + len(values["checklist"]) + _FRAME
    values |= told.said(command, artifacts or {}, state.config.context_limit - spare)
    parts = ["frame", task or "nothing", *(["answer"] if task else [])]
    return "\n".join(words.fill(words.template(f"{folder}/{part}.md"), values) for part in parts)


def pseudonyms(state: State, reader: str) -> dict[str, str]:
    """Return the name by which a reader knows each participant; it is the same in every round."""
    stem = "member" if any("voice-" in one for one in state.participants) else "voice"
    key = f"{state.conversation_id} {reader} "
    drawn = sorted(state.participants, key=lambda one: digest(key + one))
    return {one: f"{stem}-{number}" for number, one in enumerate(drawn, 1)}


def unmasked(state: State, author: str, text: str) -> str:
    """Return a text with `@id` in the place of the pseudonyms by which its author knows others."""
    known = state.config.anonymous and author in state.participants
    for who, mask in pseudonyms(state, author).items() if known else ():
        text = _replaced(_replaced(text, f"@{mask}", f"@{who}"), mask, f"@{who}")
    return text


class _Told:
    """What one reader may know of a state, with names as it may know them."""

    def __init__(self, state: State, agent: str) -> None:
        self.state, self.agent = state, agent
        self.me = state.participants.get(agent) or Participant()
        self.terms = words.load(f"prompts/{state.lang}/terms.txt")
        self.masks = pseudonyms(state, agent) if state.config.anonymous else {}
        names = {one: f"@{self.masks.get(one, one)}" for one in state.participants}
        # In the order of the list a reader could tell who is who.
        self.names = dict(sorted(names.items(), key=lambda both: both[1])) if self.masks else names
        seen = sight.visible(state, agent)
        self.entries = [one for one in seen if one.kind != "guidance"]
        self.guidance = [one for one in seen if one.kind == "guidance"]

    def name(self, who: str, more: str = "") -> str:
        one = self.state.participants.get(who)
        at = self.names.get(who, f"@{cut(who, 60)}") + more
        return at if self.masks or one is None or not one.name else f"{cut(one.name, 60)} ({at})"

    def text(self, text: str, author: str = "") -> str:
        """Return a text, in an anonymous council with this reader's pseudonyms for names."""
        text = unmasked(self.state, author, text)
        for who, mask in self.masks.items():
            for name in (f"@{who}", who, self.state.participants[who].name):
                text = _replaced(text, name, "@" * (name[:1] == "@") + mask)
        return text

    def place(self) -> dict[str, Any]:
        state, terms, now, people = self.state, self.terms, self.state.round(), []
        for who in self.names:
            one = state.participants[who]
            more = [cut(one.role, 80), terms["you"] * (who == self.agent)] * (not self.masks)
            people.append(self.name(who, "".join(f", {known}" for known in more if known)))
        in_turn = self.agent in now.order and not (now.parallel or self.masks)
        in_turn = in_turn and now.phase == DELIBERATE
        nth = now.order.index(self.agent) if in_turn else 0
        return {
            "what": terms[state.procedure], "topic": cut(state.topic, 500), "agent": self.agent,
            "name": cut(self.me.name, 60) or self.agent, "anonymous": self.masks,
            "role": terms["role"].format(role=cut(self.me.role, 200)) * bool(self.me.role),
            "count": len(people), "participants": "; ".join(people),
            "phase": state.phase, "tour": state.tour, "speakers": len(now.order),
            "of": terms["of"].format(most=state.config.max_rounds) * (state.phase == DELIBERATE),
            "deadline": state.timeout_at or terms["none"],
            "place": [*terms["ordinals"].split(), f"{nth + 1}."][min(nth, 12)] if in_turn else "",
            "order": ", ".join(self.names.get(one, one) for one in now.order),
            "absent": [{"tour": one.tour, "who": self.name(who), "why": cut(gone.code, 40)}
                       for one in state.rounds for who, gone in one.absent.items()],
        }  # fmt: skip

    def said(self, command: str, artifacts: dict[str, str], limit: int) -> dict[str, Any]:
        state, terms = self.state, self.terms
        notes, brief = "\n".join(state.notes).strip(), state.brief.strip()
        texts = [self.text(one.text.strip(), one.agent) for one in self.entries]
        ends = [part[:64] for text in (brief, *texts) for part in text.split("art_")[1:]]
        named = [one for one in sorted({f"art_{end}" for end in ends}) if is_id(one)]
        shown = {one: artifacts[one] for one in named if one in artifacts}
        fixed = [brief, notes, *shown.values(), *(self.text(one.text) for one in self.guidance)]
        room = max(limit - sum(map(len, fixed)) - _EACH * len(texts), limit // 4)
        short = _fitting(texts, room, terms["left_out"], command, state.name)
        code = digest("\n".join([state.mark, self.agent, *fixed, *short]))[:8]
        while any(code in text for text in (*fixed, *short)):
            code = digest(code)[:8]
        to = {"": "", self.agent: terms["to_you"]}
        return {
            "b": code, "brief": brief, "notes": notes, "limit": state.config.context_limit,
            "artifacts": [{"id": one, "text": text} for one, text in shown.items()],
            "unread": [one for one in named if one not in shown], "cut": short != texts,
            "entries": [self.entry(*both) for both in zip(self.entries, short, strict=True)],
            "guided": [
                {"id": one.id, "who": self.names.get(one.agent, f"@{one.agent}"),
                 "to": to.get(one.target, terms["to"].format(who=self.names.get(one.target, ""))),
                 "text": self.text(one.text)} for one in self.guidance],
            "blockers": [self.blocker(one.agent, one.text) for one in sight.blockers(state)],
        }  # fmt: skip

    def entry(self, one: Entry, text: str) -> dict[str, Any]:
        terms = self.terms
        false = [str(n) for n, quote in enumerate(one.heard.quotations, 1) if not quote.found]
        more = terms["cut_answer"] * bool(one.cut)
        more += terms["not_found"].format(which=", ".join(false)) * bool(false)
        return {"id": self.ident(one), "origin": one.origin, "more": more, "text": text}

    def ident(self, one: Entry) -> str:
        return f"{one.tour}-{self.masks[one.agent]}" if one.agent in self.masks else one.id

    def blocker(self, who: str, text: str) -> dict[str, str]:
        """Return whose a blocker is and where it is, or its words where it is in no text."""
        where = [self.ident(one) for one in self.entries if one.agent == who and text in one.text]
        said = self.terms["in_entry"].format(id=where[0]) if where else self.text(text, who)
        return {"who": self.names.get(who, who), "text": cut(said, 300)}

    def form(self, task: str) -> dict[str, Any]:
        state, phase, mode = self.state, self.state.phase.lower(), self.state.config.mode
        names, council = self.names, state.procedure == "council"
        needs = [*sight.needs(state, self.agent), *[self.agent] * bool(self.masks)]
        stances = [at for one, at in names.items() if one in needs]
        guides = list(dict.fromkeys(one.agent for one in sight.guidance(state, self.agent)))
        goes_on = state.tour < state.config.max_rounds
        loud, speakers = sight.dominating(state), {one.agent for one in self.entries}
        missing = {who: one.code for past in state.rounds for who, one in past.absent.items()}
        others, at = [one for one in self.entries if one.agent != self.agent], f"@{self.agent}"
        naming = [one for one in others if at in one.text or (self.me.name or at) in one.text]
        return {
            phase: True, f"{phase}_{mode}": True, f"mode_{mode}": council, "council": council,
            "deliberation": not council, "self": self.masks, "quotable": self.entries,
            "blind": self.terms["blind" if state.round().blind else "open"],
            "challenged": ", ".join(map(self.ident, naming)) * (phase == "resolve"),
            "needs": stances, "guides": guides, "lines": stances or guides,
            "asked": [names.get(one, one) for one in sight.open_questions(state, self.agent)],
            "advocate": self.me.advocate, "too_much": self.agent in loud,
            "dominating": [names.get(one, one) for one in loud if one != self.agent if goes_on],
            "more_rounds": goes_on,
            "given": bool(state.config.options) and state.phase == DELIBERATE,
            "options": [{"letter": one.letter, "text": cut(self.text(one.text, one.by), 400),
                         "by": names.get(one.by, "–")} for one in state.options],
            "letters": "".join(f"{one.letter}, " for one in state.options),
            "tally": words.told(state, sight.tally(state), names) if task == "synthesis" else (),
            "missing": [{"who": self.name(one), "why": why} for one, why in missing.items()],
            "everyone": [at for one, at in names.items() if one in speakers],
            "question": self.text(state.round().asked.get(self.agent, ""), self.agent),
        }  # fmt: skip

    def answering(self, command: str, run: str | None, task: str) -> dict[str, Any]:
        state, terms = self.state, self.terms
        verb = {"vote": "vote", "synthesis": "synthesize"}.get(task, "respond")
        call = f"{command} {verb} --name {state.name} --as {self.agent}"
        call += f" --round {state.round().mark} - <<'END'\n{terms['your_answer']}\nEND"
        return {
            "printed": run is not None, "command_line": call * (run is None),
            "page": f"memory/shared/council-{state.name}-conversation.md" * (run is None),
            "fence": terms["fence"] * (task in ("turn", "vote", "synthesis")),
            "statuses": task == "contribution" and state.phase != COLLECT,
            "early": terms["early"] * (state.config.mode in EARLY_MODES),
        }  # fmt: skip


def _fitting(texts: list[str], room: int, note: str, command: str, name: str) -> list[str]:
    """Return texts that fit: the oldest are cut first, none below an equal share."""
    share, over, made = room // max(1, len(texts)), sum(map(len, texts)) - room, []
    for text in texts:
        left = max(share, len(text) - over) if over > 0 else len(text)
        if left < len(text):
            over -= len(text) - left
            said = note.format(count=len(text) - left, command=command, name=name)
            text = f"{text[:left].rstrip()}\n\n{said}"
        made.append(text)
    return made


def _replaced(text: str, name: str, other: str) -> str:
    """Return a text with another name wherever `@name`, or a longer name, is a whole word."""
    first, *rest = text.split(name) if len(name) > 2 or name[:1] == "@" else [text]
    for part in rest:
        after = part[:1] if part[:1] not in ("-", "_") else part[1:2]
        first += (name if first[-1:].isalnum() or after.isalnum() else other) + part
    return first
