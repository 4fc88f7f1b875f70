"""What an agent is told: its prompt, made from the state and the templates of `prompts/`.

All that it may see now is in it once, with everybody's full reasoning. Texts are quoted between
lines with a code from the digest of all of them, so none can contain it. Only above `context_limit`
are texts cut, the oldest first, and the prompt says where. A model that reads little gets the short
prompt: what everybody said last as far as it fits, and the form of the answer.
"""

from __future__ import annotations

from council.archive import artifacts
from council.councils import model as m
from council.councils import sight
from council.councils.model import Entry, Participant, State
from council.kernel import codec, files, words
from council.kernel.ids import cut, digest
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from council.agents.souls import Soul
    from council.app import App

_FRAME, _EACH = 6000, 100  # characters that a prompt needs, and those around each text
_SHORT = 8000  # below it the short prompt is used
_FORMS = {"vote": "vote", "synthesis": "synthesize", "turn": "respond"}
_BARE = {ord("["): None, ord("]"): None}  # brackets mark the line of what is quoted


def prompt_of(app: App, state: State, agent: str, task: str, run: str | None) -> str:
    """Return the prompt of an agent of a workspace; see `prompt`."""
    lang = ".fr" * (state.lang == "fr" and app.settings.language != "fr")
    found = files.read(f"{app.root}/skills/council/references/COUNCIL{lang}.md", 100_000)
    checklist = found[0].decode("utf-8", "replace") if found and state.phase == m.CHALLENGE else ""
    limit, soul = getattr(app.settings.agents.get(agent), "context_limit", 0), app.soul(agent)
    return prompt(state, agent, task, soul=soul, run=run, checklist=checklist, limit=limit)


def prompt(
    state: State, agent: str, task: str = "", *, soul: Soul | None = None, checklist: str = "",
    run: str | None = None, limit: int = 0,
) -> str:  # fmt: skip
    """Return the prompt of one agent.

    `task` is `contribution`, `turn`, `vote`, `synthesis`, `question` or "" (nothing is asked).
    `run` is the run whose output is the answer, None for an answer by command. `limit` is how many
    characters the agent reads at most; 0 is that of the council.
    """
    limit = min(limit or state.config.context_limit, state.config.context_limit)
    if task and run is not None and limit < _SHORT:
        return _short(_Told(state, agent, limit, short=True), task)
    told, persona = _Told(state, agent, limit), soul.persona.strip() if soul else ""
    values = {
        **told.values(task), **told.said(_FRAME + len(persona) + len(checklist)),
        "persona": persona, "checklist": checklist.strip(), "run": run, "typed": run is None,
        "task": task, "form": task in _FORMS, "verb": _FORMS.get(task, "respond"),
    }  # fmt: skip
    parts = ["frame", *([task] if task not in ("", "question") else []), *["answer"] * bool(task)]
    texts = (words.template(f"prompts/{state.lang}/{part}.md") for part in parts)
    return "\n".join(words.fill(text, values, told.forms) for text in texts)


def _short(told: _Told, task: str) -> str:
    """Return the prompt for a model that reads little: what fits, and the form of the answer."""
    folder, name = f"prompts/{told.state.lang}", task if task in _FORMS else "short"
    form = words.template(f"{folder}/{name}.md").partition("\n```\n")[2].partition("\n```")[0]
    values = {**told.values(task), "form": form, "b": "12345678"}
    values |= {} if task == "question" else {task: True, "question": ""}
    values |= {} if task == "vote" or values["given"] else {"options": []}
    template = words.template(f"{folder}/short.md") + form
    values |= told.said(len(words.fill(template, {**values, "texts": True}, told.forms)))
    values["texts"] = values["brief"] or values["entries"]
    return words.fill(template, values, told.forms)


def schema(state: State, agent: str, task: str) -> Any:
    """Return the JSON schema of a `turn` or `vote`, None where the answer has no fixed form."""
    if task not in ("turn", "vote"):
        return None
    told, made = _Told(state, agent, 0), codec.loads(words.template("councils/schemas.json"))[task]
    values = told.values(task)
    if needs := [told.at(one).removeprefix("@") for one in values["needs"]]:
        made["properties"]["responses"]["items"]["properties"]["agent"]["enum"] = needs
    else:
        del made["properties"]["responses"]
        made["required"].remove("responses")
    if task == "vote":
        made["properties"]["choice"]["enum"] = [*values["letters"], "abstain"]
    return made


def pseudonyms(state: State, reader: str) -> dict[str, str]:
    """Return the name by which a reader knows each participant; it is the same in every round."""
    who = sorted(state.participants, key=lambda o: digest(f"{state.conversation_id} {reader} {o}"))
    return {one: f"voice-{number}" for number, one in enumerate(who, 1)}


def unmasked(state: State, author: str, text: str) -> str:
    """Return a text with `@id` in the place of the pseudonyms by which its author knows others."""
    known = state.config.anonymous and author in state.participants
    for who, mask in pseudonyms(state, author).items() if known else ():
        for tour in range(1, state.tour + 1) if len(who) > 2 else ():  # the names of texts
            text = _replaced(text, f"{tour}-{mask}", f"{tour}-{who}")
        text = _replaced(_replaced(text, f"@{mask}", f"@{who}"), mask, f"@{who}")
    return text


class _Told:
    """What one reader may know of a state, with names as it may know them."""

    def __init__(self, state: State, agent: str, limit: int, *, short: bool = False) -> None:
        self.state, self.agent, self.limit, self.short = state, agent, limit, short
        self.masks = pseudonyms(state, agent) if state.config.anonymous else {}
        names = {one: f"@{self.masks.get(one, one)}" for one in state.participants}
        # In the order of the list a reader could tell who is who.
        self.names = dict(sorted(names.items(), key=lambda both: both[1])) if self.masks else names
        seen = sight.visible(state, agent)
        self.guidance = [one for one in seen if one.kind == "guidance" and not short]
        last = {(one.agent, one.kind == "guidance"): one for one in seen}
        self.entries = list(last.values()) if short else [e for e in seen if e not in self.guidance]
        self.terms = words.load(f"texts/question-{state.lang}.txt")

        def told(own: str, other: str) -> Any:
            return lambda who: self.terms[own if who == agent else other].format(it=self.at(who))

        self.forms: words.Forms = {
            **{**self.terms, "term": self.terms.get, "at": self.at, "name": self.name},
            **{"from": told("proposed", "proposed"), "to": told("to_me", "to")},
            "owner": told("own", "owner"),
        }

    def at(self, who: str) -> str:
        return self.names.get(who, f"@{cut(who, 60)}")

    def name(self, who: str) -> str:
        one = self.state.participants.get(who)
        named = one and one.name and not self.masks
        return f"{cut(one.name, 60)} ({self.at(who)})" if one and named else self.at(who)

    def text(self, text: str) -> str:
        """Return a text, in an anonymous council with this reader's pseudonyms for names."""
        for who, mask in self.masks.items():
            for name in (f"@{who}", who, self.state.participants[who].name):
                text = _replaced(text, name, "@" * (name[:1] == "@") + mask)
        return text

    def values(self, task: str) -> dict[str, Any]:
        """Return what is said about the conversation and the task."""
        state, agent, now, config = self.state, self.agent, self.state.round(), self.state.config
        me, council = state.participants.get(agent) or Participant(), state.procedure == "council"
        phase, talks = state.phase.lower(), state.phase == m.DELIBERATE
        loud, goes_on = sight.dominating(state), state.tour < config.max_rounds
        owed, parts = sight.needs(state, agent), {*sight.form(state, agent).asked}
        if task == "question" and parts and not parts & {"answer", "recommendation"}:
            whom = [agent, *(part.removeprefix("stance:") for part in parts)]  # it is about these
            self.entries = list({e.agent: e for e in self.entries if e.agent in whom}.values())
        spoken = agent in [one.agent for one in self.entries]
        owed += [agent] * bool(owed and self.masks and spoken)
        needs = [one for one in self.names if one in owed]
        guides = list(dict.fromkeys(one.agent for one in sight.guidance(state, agent)))
        people, others = state.participants, [one for one in self.entries if one.agent != agent]
        called = f"@{agent}", me.name or f"@{agent}"
        # What its author has given up is no choice any longer.
        count = sight.tally(state)
        held = {one.letter: one.holders for one in count.options if one.holders}
        options = [one for one in state.options if not one.by or one.letter in held]
        tally = sight.told(state, count, self.names) if task == "synthesis" else ()
        asked = [{"who": who, "text": cut(self.text(text), 300)}
                 for who, text in sight.open_questions(state, agent)]  # fmt: skip
        return {
            "state": state, "agent": agent, "masks": self.masks, "count": len(people),
            "topic": cut(state.topic, 500), "called": cut(me.name, 60) or agent,
            "deadline": state.timeout_at or self.terms["none"], "role": cut(me.role, 200),
            "most": config.max_rounds * talks, "spoken": spoken,
            "people": [{"who": who, "role": cut(people[who].role, 80) * (not self.masks),
                        "you": who == agent and not self.masks, "advocate": people[who].advocate}
                       for who in self.names],
            "order": now.order if talks and not (now.parallel or self.masks) else [],
            "absent": [{"tour": past.tour, "who": who, "code": cut(why.code, 40)}
                       for past in state.rounds for who, why in past.absent.items()],
            phase: True, f"{phase}_{config.mode}": True, f"mode_{config.mode}": council,
            "council": council, "deliberation": not council, "blind": now.blind,
            "early": phase == "challenge" and config.mode in m.EARLY_MODES,
            "statuses": task == "contribution" and state.phase != m.COLLECT,
            "challenged": [self.ident(e) for e in others
                           if any(_replaced(e.text, one, "") != e.text for one in called)],
            "needs": needs, "guides": guides, "lines": needs or guides, "tally": tally,
            "too_much": agent in loud, "dominating": [o for o in loud if o != agent and goes_on],
            "more_rounds": goes_on, "given": config.options, "advocate": me.advocate,
            "options": [{**vars(one), "text": cut(self.text(one.text), 400),
                         "holders": held.get(one.letter)} for one in options],
            "letters": [*(one.letter for one in options), "new"], "questions": asked,
            "everyone": [one for one in self.names if any(e.agent == one for e in self.entries)],
            "question": self.text(now.asked.get(agent, "")),
        }  # fmt: skip

    def said(self, frame: int) -> dict[str, Any]:
        """Return all texts, cut so that with `frame` characters they fit, and the code around."""
        state, terms, limit = self.state, self.terms, self.limit
        brief, notes = state.brief.strip(), "\n".join(state.notes).strip()
        private = state.private.get(self.agent, "").strip()
        if self.short:
            brief, notes = cut(brief, max(0, limit - frame) // 3), ""
        texts = [self.text(one.text.strip()) for one in self.entries]
        guided = [one.copy(text=self.text(one.text)) for one in self.guidance]
        fixed = [brief, private, notes, *(one.text for one in guided)]
        room = max(limit - frame - sum(map(len, fixed)) - _EACH * len(texts), (limit - frame) // 4)
        note = "[…]" if self.short else terms["left_out"].replace("{name}", state.name)
        short = _fitting(texts, room, note)
        code = digest("\n".join([state.mark, self.agent, *fixed, *short]))[:8]
        while any(code in text for text in (*fixed, *short)):
            code = digest(code)[:8]
        every = "\n".join((state.topic, *fixed, *texts))
        entries = [
            {**vars(one), "id": self.ident(one), "text": text,
             "false": [f"“{cut(said.text.translate(_BARE), 40)}”"
                       for said in one.heard.quotations if not said.found]}
            for one, text in zip(self.entries, short, strict=True)]  # fmt: skip
        return {
            "b": code, "limit": limit, "brief": brief, "private": private, "notes": notes,
            "cut": short != texts, "entries": entries,
            "guided": guided, "artifacts": artifacts.named(every),
            "blockers": [b.copy(text=cut(self.text(b.text), 200)) for b in sight.blockers(state)],
        }  # fmt: skip

    def ident(self, one: Entry) -> str:
        return f"{one.tour}-{self.masks[one.agent]}" if one.agent in self.masks else one.id


def _fitting(texts: list[str], room: int, note: str) -> list[str]:
    """Return texts that fit: the oldest are cut first, none below an equal share."""
    share, over, made = room // max(1, len(texts)), sum(map(len, texts)) - room, []
    for text in texts:
        if (more := min(over, len(text) - share)) > 0:
            over -= more
            text = f"{text[:-more].rstrip()}\n\n{note.format(it=more)}"
        made.append(text)
    return made


def _replaced(text: str, name: str, other: str) -> str:
    """Return a text with another name wherever `@name`, or a longer name, is a whole word."""
    first, *rest = text.split(name) if len(name) > 2 or name[:1] == "@" else [text]
    for part in rest:
        after = part[:1] if part[:1] not in ("-", "_") else part[1:2]
        first += (name if first[-1:].isalnum() or after.isalnum() else other) + part
    return first
