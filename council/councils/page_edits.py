"""What people and tools changed on a conversation's page, as events.

The list of what can be edited is closed: the table in `_Edits.lines`, one's own answer, and notes.
All else is restored; where words would be lost by that, the page is kept and a reason is given.

A page is compared with the one that its revision has, so a stale save changes only what was typed
into it. What the present state has already is left out, so saving it again changes nothing.
"""

from __future__ import annotations

from council.councils import decisions, hearing
from council.councils import page as pages
from council.councils.evolution import evolve
from council.councils.model import ANSWERED, RESPONDED, WAITING, Entry, Event, State
from council.councils.page_reading import Page, author, copied, instant, label_parts
from council.kernel import ids, reading, times
from council.kernel.errors import Refusal
from council.kernel.page import Taken, as_typed, digest, shown, unescaped
from council.kernel.reading import block_text, difference, letters, lines_of, merged, same
from council.kernel.record import Any
from council.kernel.times import datetime

_FIXED = ("conversationId", "procedure", "mode", "tour", "createdAt", "status", "brief")


def edits(base: State, now: State, page: str, at: datetime, ours: bool) -> Taken:
    """Return what a page says that its revision, `base`, did not, and that is not there `now`."""
    found = _Edits(base, now, page, at, ours)
    if found.page.block is None and block_text(page).strip():
        found.refuse("the state block cannot be read")
    found.lines()
    found.answers()
    found.notes()
    return found.taken


def added(now: State, page: str, at: datetime) -> Taken:
    """Return the texts on a page of another clone, or one newer than its journal, as edits."""
    found = _Edits(now.copy(entries=[], drafts={}, notes=[]), now, page, at, ours=False)
    told = found.page.lines
    if told.get("conversationId", now.conversation_id) != now.conversation_id:
        return Taken(refused=["the page is that of another conversation"])
    found.answers()
    found.notes()
    there = Page(pages.render(found.now), now).lines
    for path in [one for one in told if one not in there and one[:6] in ("label ", "blocke")]:
        found.refuse(f"another clone has {told[path]}, which is not known here")
    return found.taken


class _Edits:
    """The changes found so far, and the state after them."""

    def __init__(self, base: State, now: State, text: str, at: datetime, ours: bool) -> None:
        self.base, self.now, self.text, self.at = base, now.copy(), text, at
        self.was = Page(pages.render(base), base)
        self.page, self.text_at = Page(text, base, self.was, ours), times.text(at)
        self.taken = Taken()
        self.words: dict[str, str] = {}  # the status that was set for a participant
        self.loose: list[str] = []  # what becomes a note

    def take(self, kind: str, /, **fields: Any) -> None:
        event: Event = {"type": kind, **fields}
        evolve(self.now, dict(event))
        self.taken.events.append(event)

    def refuse(self, why: str) -> None:
        self.taken.refused += [why] * (why not in self.taken.refused)

    def lines(self) -> None:
        """Take in what differs in a line or in the block; the line counts where both do."""
        changed: dict[str, tuple[str, str]] = {}
        for was, told in ((self.was.stated, self.page.stated), (self.was.lines, self.page.lines)):
            lists = {path.partition(" ")[0] for path in told}
            for path in {**was, **told}:
                old, new = was.get(path, ""), told.get(path, "")
                key, _, name = path.partition(" ")
                if not same(old, new) and (new or (name and key in lists)):
                    changed[path] = (new, old)
        for path, (new, old) in changed.items():
            self.line(*path.partition(" ")[::2], new, old)

    def line(self, key: str, name: str, new: str, old: str) -> None:
        """Take in one change, if it is one that can be made by hand."""
        now, phases = self.now, self.now.config.phases
        until = instant(new) if key == "timeoutAt" else ""
        match key:
            case "topic" if not same(new, now.topic):
                self.take("topic.set", topic=new)
            case "timeoutAt" if until is None:
                self.refuse(f"no deadline with its zone, as in 09:00:00Z: {new[:40]}")
            case "timeoutAt" if until != now.timeout_at:
                self.take("extended", timeoutAt=until)
            case "currentPhase":
                at = phases.index(now.phase) if now.phase in phases else 0
                if new.upper() in phases[at + 1 :]:
                    self.take("stopped", at=self.text_at, stop=new.upper())
                elif new.upper() not in phases[: at + 1] or self.base.phase == now.phase:
                    self.refuse(f"the phase cannot become {new[:40]}")
            case "status" if name in self.page.sealed and not self.entry(name):
                pass  # the page was adopted: no journal has what was sealed
            case "status" if new == WAITING and self.entry(name):
                self.refuse(f"{name} has answered, and cannot be set to {new}")
            case "status" if name and new in (WAITING, *ANSWERED):
                self.words[name] = new  # it is taken in with the answer
            case "status" if name and new:
                self.refuse(f"{name}: no such status: {new[:40]}")
            case "label" if not new and len(now.participants) == 1:
                self.refuse("at least one participant has to stay")
            case "label" if not new and name in now.participants:
                self.take("left", agent=name)
            case "label" if not old and not ids.is_name(name):
                self.refuse(f"not a legal participant id: {name[:40]}")
            case "label" if not old and name not in now.participants:
                emoji, said = label_parts(new)
                one = {"name": said or name, "emoji": emoji, "person": emoji == "👤"}
                self.take("joined", agent=name, **one, role="", model="")
            case "blocker" if name:
                agent, text = author(self.base, new or old)
                is_there = letters(text) in [letters(one.text) for one in now.blockers if one.open]
                if is_there is not bool(new):
                    kind = "blocker.raised" if new else "blocker.ended"
                    self.take(kind, agent=agent, text=text, at=self.text_at)
            case "option":
                self.loose.append(new)
            case "conversationId" if copied(new, now.name) == now.conversation_id:
                pass
            case _ if key in _FIXED and not name:
                self.refuse(f"{key} cannot be changed on the page")

    def answers(self) -> None:
        """Take in what stands in the sections of participants, or was typed there."""
        typed = {agent: list[str]() for agent in self.base.participants}
        there = [one.name for one in self.page.entries]
        for who, text in self.page.typed:
            said = [e.text for e in self.now.entries if e.agent == who and e.id not in there]
            if who not in typed:
                self.loose.append(text)
            elif not any(same(text, other) for other in (*typed[who], *said)):
                typed[who].append(text)
                self.page.strayed |= self.entry(who) is not None
        self.entries(typed)
        for ident, mine in typed.items():
            was = as_typed(self.base.drafts.get(ident, ""))
            draft = self.page.lines.get(f"draft {self.base.tour}-{ident}", "" if mine else was)
            text = "\n\n".join(filter(None, [*mine, draft]))
            self.answer(ident, text, was, bool(mine) or not same(draft, was))

    def entries(self, typed: dict[str, list[str]]) -> None:
        """Compare the regions of entries; restore them, or take in an author's correction."""
        there = {piece.name: piece for piece in self.page.entries}
        known = [one for one in self.base.entries if not self.base.is_sealed(one)]
        last = {one.id: one.text for one in self.now.entries}
        unmarked = [letters(shown(one.text, 4)) for one in known if one.id not in there]
        for one in known:
            piece, was = there.pop(one.id, None), shown(one.text, 4)
            text = piece.text() if piece else was if letters(was) in letters(self.text) else ""
            has_others = any(other and other in letters(text) for other in unmarked)
            if same(text, was) or same(text, shown(last.get(one.id, was), 4)):
                continue
            is_cut = {*map(letters, text.split("\n"))} <= {"", *map(letters, was.split("\n"))}
            if self.may_correct(one) and not (is_cut or has_others):
                self.decide(one.agent, reading.plain_text(text), one.status, amend=True)
            else:
                self.refuse(f"{one.agent}: the text of round {one.tour} was changed")
        for name, piece in there.items():  # merged from another clone
            (tour, _, agent), text = name.partition("-"), reading.plain_text(piece.text())
            if not text or any(same(e.text, text) for e in self.now.entries):
                continue
            if name in last:
                self.refuse(f"{agent}: the text of round {tour} was changed")
            elif agent not in typed or tour not in [str(one.tour) for one in self.base.rounds]:
                self.loose.append(text)
            elif tour != str(self.base.tour):
                self.decide(agent, text, "", tour=int(tour))
            else:
                typed[agent].append(text)
                if piece.digest and digest(piece.text()) == piece.digest:
                    told = self.page.lines.get(f"status {agent}")
                    self.words.setdefault(agent, told if told in ANSWERED else RESPONDED)

    def answer(self, ident: str, text: str, was: str, is_new: bool) -> None:
        """Take in a participant's status, and the draft or answer that it typed.

        `was` is its draft on the base, `is_new` whether `text` says something else.
        """
        word, entry = self.words.get(ident, ""), self.entry(ident)
        if (one := self.now.participants.get(ident)) is None or self.now.tour > self.base.tour:
            if one and word in ANSWERED and text:
                self.decide(ident, text, word)
            elif is_new:
                self.loose.append(text)
            return
        if entry is not None and ident in self.now.rounds[-1].asked:  # only a part is asked for
            text = text.removeprefix(entry.text).strip()
            entry = entry if same(text, entry.text) else None
        if entry is None and text and (word in ANSWERED or (one.status in ANSWERED and is_new)):
            self.decide(ident, text, word or one.status)
            return
        is_known = word == RESPONDED and one.status in ANSWERED  # of a text that said more
        is_known = is_known and self.base.participants[ident].status not in ANSWERED
        if word in ANSWERED and entry is None and self.page.strayed and not is_known:
            self.refuse(f"{ident}: {word}, but there is no text below its own heading")
        elif word and word != one.status and not is_known:
            self.take("status.set", agent=ident, status=word, origin="edited", at=self.text_at)
        if entry is None and is_new:
            old_lines, lines = lines_of(self.now.drafts.get(ident, "")), lines_of(text)
            if (made := merged(lines_of(was), lines, old_lines)) != old_lines:
                self.take("draft.set", agent=ident, text="\n".join(made))
        elif entry and is_new and letters(text) not in letters(entry.text):
            if letters(text).startswith(letters(entry.text)) and self.may_correct(entry):
                self.decide(ident, text, entry.status, amend=True)
            else:
                self.loose.append(text)

    def entry(self, ident: str) -> Entry | None:
        own = (e for e in self.now.entries if (e.agent, e.tour) == (ident, self.base.tour))
        return next((e for e in own if e.kind != "guidance"), None)

    def may_correct(self, one: Entry) -> bool:
        now = self.now.rounds[-1]
        is_open = now.ended_at is None and self.now.ended_at is None
        return is_open and one.tour == now.tour and one.kind != "guidance" and not one.late

    def decide(self, who: str, text: str, status: str, amend: bool = False, tour: int = 0) -> None:
        """Answer a round, or that of the base, as a command would; what is refused is a draft."""
        status = "" if status == RESPONDED else status  # then the text may say another
        task = f"{self.now.conversation_id}.{tour or self.base.tour}"
        stated = hearing.Stated(status=status, amend=amend, task=task)
        said = hearing.heard(self.now, who, text, stated)
        try:
            events = decisions.respond(self.now, who, said, stated, at=self.at, origin="edited")
        except Refusal as refusal:
            self.refuse(f"{who}: {refusal.message}")
            events = [{"type": "draft.set", "agent": who, "text": text}]
            if amend or same(self.now.drafts.get(who, ""), text):
                return
        for event in events:
            self.take(event.pop("type"), **event)

    def notes(self) -> None:
        """Take in changes of the notes, and move there what was typed elsewhere."""
        old, now = unescaped(as_typed("\n".join(self.base.notes))), self.now.notes
        made = merged(lines_of(old), lines_of(self.page.lines.get("notes", old)), now)
        said = [self.now.brief, *(one.text for one in self.now.entries)]
        there = {letters(line) for text in [*made, *said] for line in text.split("\n")}
        for text in self.loose:
            put = [line for line in text.split("\n") if letters(line) not in there or not line]
            if letters("".join(put)):
                made = [*made, *[""][: bool(made)], *"\n".join(put).strip("\n").split("\n")]
                there |= set(map(letters, put))
        if made != now and not (self.loose and letters("".join(made)) == letters("".join(now))):
            self.take("noted", splices=difference(now, made))
