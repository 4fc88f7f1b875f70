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
from council.councils.model import ANSWERED, RESPONDED, WAITING, Entry, Event, State, kind_of
from council.councils.page_reading import Page, author, instant, label_parts, plain_text
from council.kernel import ids, times
from council.kernel.errors import Refusal
from council.kernel.page import Taken, as_typed, digest, shown, unescaped
from council.kernel.reading import block_text, difference, letters, same
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.kernel.times import datetime

    Typed = dict[str, list[tuple[int, str]]]  # of each participant: the round and the words

_FIXED = ("conversationId", "procedure", "mode", "tour", "createdAt", "status", "brief")


def edits(base: State, now: State, page: str, at: datetime, ours: bool) -> Taken:
    """Return what a page says that its revision, `base`, did not, and that is not there `now`.

    `ours`: this version makes the same page of `base` as was published then.
    """
    found = _Edits(base, now, page, at, ours)
    if found.page.block is None and block_text(page).strip():
        found.refuse("the state block cannot be read")
    found.lines()
    found.answers()
    found.notes()
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
        if why not in self.taken.refused:
            self.taken.refused.append(why)

    # Readable lines and the block

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
            case _ if key in _FIXED and not name:
                self.refuse(f"{key} cannot be changed on the page")

    # Answers

    def answers(self) -> None:
        """Take in what stands in the sections of participants, or was typed there."""
        typed: Typed = {agent: [] for agent in self.base.participants}
        there = [one.name for one in self.page.entries]
        for tour, who, text in self.page.typed:
            if who not in typed:
                self.loose.append(text)
            elif (tour, text) not in typed[who]:  # once on a page put twice
                said = [e for e in self.now.entries if e.agent == who and e.id not in there]
                typed[who] += [] if any(same(text, e.text) for e in said) else [(tour, text)]
        self.entries(typed)
        for ident, mine in typed.items():
            was = as_typed(self.base.drafts.get(ident, ""))
            draft = self.page.lines.get(f"draft {self.base.tour}-{ident}", "" if mine else was)
            self.answer(ident, was, draft, mine)

    def entries(self, typed: Typed) -> None:
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
            if text and self.may_correct(one) and not has_others:
                self.decide(one.agent, plain_text(text), one.status, amend=True)
            else:
                how = "changed" if text else "removed"
                self.refuse(f"{one.agent}: the text of round {one.tour} was {how}")
        for name, piece in there.items():  # merged from another clone
            tour, _, agent = name.partition("-")
            text = plain_text(piece.text())
            if any(one.id == name or same(one.text, text) for one in self.now.entries):
                continue
            if agent not in typed or not tour.isdecimal():
                self.loose.append(text)
                continue
            if piece.digest and digest(piece.text()) == piece.digest:
                self.words.setdefault(agent, RESPONDED)
            typed[agent].append((int(tour), text))

    def answer(self, ident: str, was: str, draft: str, typed: list[tuple[int, str]]) -> None:
        """Take in a participant's status, its draft and what it typed in its sections."""
        word, tour = self.words.get(ident, ""), self.base.tour
        entry, one = self.entry(ident, tour), self.now.participants.get(ident)
        word = "" if word == WAITING and entry else word
        for old, text in [said for said in typed if not word and self.owes(ident, said[0])]:
            typed.remove((old, text))
            self.late(ident, old, text)
        text = "\n\n".join(filter(None, [*(said for _, said in typed), draft]))
        is_new = bool(typed) or not same(draft, was)
        if one is None or self.now.tour > tour:
            if one and word in ANSWERED and text:
                self.late(ident, tour, text)
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
        if word and word != one.status and not is_known:
            self.take("status.set", agent=ident, status=word, origin="edited", at=self.text_at)
        if entry is None and is_new:
            old_lines, lines = _lines(self.now.drafts.get(ident, "")), _lines(text)
            if (made := _merged(_lines(was), lines, old_lines)) != old_lines:
                self.take("draft.set", agent=ident, text="\n".join(made))
        elif entry and is_new and letters(text) not in letters(entry.text):
            if letters(text).startswith(letters(entry.text)) and self.may_correct(entry):
                self.decide(ident, text, entry.status, amend=True)
            else:
                self.loose.append(text)

    def entry(self, ident: str, tour: int) -> Entry | None:
        own = (e for e in self.now.entries if (e.agent, e.tour) == (ident, tour))
        return next((e for e in own if e.kind != "guidance"), None)

    def may_correct(self, one: Entry) -> bool:
        now = self.now.rounds[-1]
        is_open = now.ended_at is None and self.now.ended_at is None
        return is_open and one.tour == now.tour and one.kind != "guidance" and not one.late

    def owes(self, ident: str, tour: int) -> bool:
        """Return whether an earlier round has neither an answer nor a reason of absence."""
        own = [one for one in self.base.rounds[:-1] if one.tour == tour and ident in one.order]
        return bool(own) and ident not in own[0].absent and not self.entry(ident, tour)

    def late(self, ident: str, tour: int, text: str) -> None:
        """Keep an answer for a round that is over, if it was not said."""
        said = [one for one in self.now.entries if one.agent == ident and one.tour == tour]
        if not any(same(one.text, text) for one in said):
            phase = next(one.phase for one in self.now.rounds if one.tour == tour)
            how = {"kind": kind_of(phase), "phase": phase, "tour": tour, "text": text}
            self.take("late", agent=ident, **how, at=self.text_at, origin="edited")

    def decide(self, ident: str, text: str, status: str, amend: bool = False) -> None:
        """Answer as a command would; what is refused stays as a draft."""
        status = "" if status == RESPONDED else status  # then the text may say another
        said = hearing.heard(self.now, ident, text, hearing.Stated(status=status))
        how: dict[str, Any] = {"origin": "edited", "question": said.question, "amend": amend}
        how |= {"at": self.at, "status": status}
        try:
            events = decisions.respond(self.now, ident, said.text, said.heard, **how)
        except Refusal as refusal:
            self.refuse(f"{ident}: {refusal.message}")
            events = [{"type": "draft.set", "agent": ident, "text": text}]
            if amend or same(self.now.drafts.get(ident, ""), text):
                return
        for event in events:
            self.take(event.pop("type"), **event)

    # Notes

    def notes(self) -> None:
        """Take in changes of the notes, and move there what was typed elsewhere."""
        old, now = unescaped(as_typed("\n".join(self.base.notes))), self.now.notes
        made = _merged(_lines(old), _lines(self.page.lines.get("notes", old)), now)
        said = [self.now.brief, *(one.text for one in self.now.entries)]
        there = {letters(line) for text in [*made, *said] for line in text.split("\n")}
        for text in self.loose:
            put = [line for line in text.split("\n") if letters(line) not in there or not line]
            if letters("".join(put)):
                made = [*made, *[""][: bool(made)], *"\n".join(put).strip("\n").split("\n")]
                there |= set(map(letters, put))
        if made != now:
            self.take("noted", splices=difference(now, made))


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _merged(old: list[str], new: list[str], now: list[str]) -> list[str]:
    """Return `now` with the lines that `new` has and `old` had not, without those that it lost.

    A line that grew in a buffer that was saved before takes the place of its beginning.
    """
    was, said = [letters(line) for line in old], [letters(line) for line in new]
    if was == said:
        return now
    if was == [letters(line) for line in now]:
        return new
    made = [line for line in now if not (own := letters(line)) or own in said or own not in was]
    keys, at = [letters(line) for line in made], len(made)
    for before, line, own in zip(["", *new], new, said, strict=False):
        begun = [key for key in keys if key and key not in was and own.startswith(key)]
        if own in keys or begun:
            place = keys.index(own if own in keys else max(begun, key=len))
            at = place + 1 if own else at
            made[place], keys[place] = (made[place] if own in keys else line), own
        elif own not in was:
            gap = [""] if at and keys[at - 1] and not before.strip() else []
            made[at:at], keys[at:at] = [*gap, line], [*gap, own]
            at += len(gap) + 1
    return made
