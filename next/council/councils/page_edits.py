"""What people and tools changed on a conversation's page, as events.

The list of what can be edited is closed: a participant's status, the phase (forward), the deadline,
the topic, blockers, participants, one's own answer, and notes. Everything else is restored; where
words would be lost by that, the page is kept and a reason is given.

A page is compared with the state that its revision names, so a stale save changes only what was
typed into it. What the present state has already is left out, so saving it again changes nothing.
"""

from __future__ import annotations

from council.councils import decisions, hearing, page_reading, procedures, sight
from council.councils.evolution import evolve
from council.councils.model import ANSWERED, RESPONDED, WAITING, Entry, Event, Participant, State
from council.councils.page_reading import author, instant, label_parts, plain_text
from council.kernel import ids, times
from council.kernel.errors import Refusal
from council.kernel.page import Taken, as_typed, digest, shown, unescaped
from council.kernel.reading import block_text, difference, is_definition, letters, same
from council.kernel.record import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


def edits(base: State, now: State, page: str, at: datetime, ours: bool) -> Taken:
    """Return what a page says that its revision, `base`, did not, and that is not there `now`.

    `ours`: this version makes the same page of `base` as was published then.
    """
    found = _Edits(base, now, page, at, ours)
    if found.page.block is None and block_text(page).strip():
        found.refuse("the state block cannot be read")
    for part in ("topic", "people", "settings", "blockers", "brief", "answers", "phase", "notes"):
        getattr(found, part)()
    return found.taken


class _Edits:
    """The changes found so far, and the state after them."""

    def __init__(self, base: State, now: State, text: str, at: datetime, ours: bool) -> None:
        self.base, self.now, self.text, self.at = base, now.copy(), text, at
        self.page, self.text_at = page_reading.read(text, base, ours), times.text(at)
        self.block: Event = self.page.block or {}
        self.taken = Taken()
        self.loose: list[str] = []  # what becomes a note

    def take(self, kind: str, /, **fields: Any) -> None:
        event: Event = {"type": kind, **fields}
        evolve(self.now, dict(event))
        self.taken.events.append(event)

    def refuse(self, why: str) -> None:
        if why not in self.taken.refused:
            self.taken.refused.append(why)

    # Readable lines and the block

    def topic(self) -> None:
        found = self.page.topic
        if found and not same(found, self.base.topic) and not same(found, self.now.topic):
            self.take("topic.set", topic=found)

    def people(self) -> None:
        """Take in participants that were added or removed; a status comes with its answer."""
        base, rows = self.base.participants, self.block.get("participants", {})
        named = {**self.page.people, **rows}
        for ident in [one for one in named if one not in base and one not in self.now.participants]:
            emoji, name = label_parts(self.page.people.get(ident, [""])[0])
            if not ids.is_name(ident):
                self.refuse(f"not a legal participant id: {ident[:40]}")
                continue
            one = {"name": name or ident, "emoji": emoji, "person": emoji == "👤"}
            self.take("joined", agent=ident, **one, role="", model="")
        gone = [a for a in base if self.page.people and a not in self.page.people]
        gone += [a for a in base if rows and a not in rows]
        gone = [a for a in dict.fromkeys(gone) if a in self.now.participants]
        if gone and len(gone) == len(self.now.participants):
            self.refuse("at least one participant has to stay")
            return
        for ident in gone:
            self.take("left", agent=ident)

    def status(self, ident: str) -> str:
        """Return the status that was set by hand, "" where none was."""
        was = self.base.participants.get(ident, Participant()).status
        row = self.block.get("participants", {}).get(ident, {})
        line = self.page.people.get(ident, ["", ""])[1]
        for word in (line or was, str(row.get("status", was)).upper()):
            if word != was and word in (WAITING, *ANSWERED):
                return word
            if word != was:
                self.refuse(f"{ident}: no such status: {word[:40] or 'none'}")
        return ""

    def changed(self, key: str, block_key: str, was: str) -> str:
        """Return a value that was changed in its line or in the block, "" where it was not."""
        told = (self.page.fields.get(key) or was, str(self.block.get(block_key) or was))
        return next((one for one in told if not same(one, was)), "")

    def settings(self) -> None:
        base = self.base
        if found := self.changed("timeout", "timeoutAt", base.timeout_at or "-"):
            until = instant(found)
            if until is None:
                self.refuse(f"no deadline with its zone, as in 09:00:00Z: {found[:40]}")
            elif until != self.now.timeout_at:
                self.take("extended", timeoutAt=until)
        fixed = {"id": base.conversation_id, "mode": base.config.mode, "status": base.status}
        fixed |= {"tour": str(base.tour), "procedure": base.procedure, "created": base.created_at}
        for key, was in fixed.items():
            if not same(self.page.fields.get(key, was), was):
                self.refuse(f"{key} cannot be changed on the page")

    def phase(self) -> None:
        found = self.changed("phase", "currentPhase", self.base.phase).upper()
        phases = self.now.config.phases
        if not found or found == self.now.phase:
            return
        at = phases.index(self.now.phase) if self.now.phase in phases else 0
        if found in phases[at + 1 :]:
            self.take("stopped", at=self.text_at, to=found)
        elif found not in phases[:at] or self.base.phase == self.now.phase:
            self.refuse(f"the phase cannot become {found[:40]}")

    def blockers(self) -> None:
        names = {a: one.name or a for a, one in self.base.participants.items()}
        base, said = sight.blockers(self.base), self.page.blockers
        old = [f"{names.get(one.agent, one.agent)}: {one.text}" for one in base]
        if said is None or [*map(letters, said)] == [*map(letters, old)]:
            rows = self.block.get("convergence", {}).get("blockingIssues")
            said = [str(one) for one in rows] if isinstance(rows, list) else []
            old = [f"{one.agent}: {one.text}" if one.agent else one.text for one in base]
            old = old if isinstance(rows, list) else []
        there = {letters(one.text) for one in self.now.blockers if one.open}
        for row in [row for row in said if not any(same(row, other) for other in old)]:
            agent, text = author(self.base, row)
            if letters(text) not in there:
                self.take("blocker.raised", agent=agent, text=text, at=self.text_at)
        for row, one in zip(old, base, strict=False):
            if not any(same(row, other) for other in said) and letters(one.text) in there:
                self.take("blocker.ended", agent=one.agent, text=one.text, at=self.text_at)

    def is_brief(self, text: str) -> bool:
        return same(text, shown(self.base.brief, 3))

    def brief(self) -> None:
        was = shown(self.base.brief, 3)
        unmarked = any(place == "brief" and self.is_brief(t) for place, _, t in self.page.typed)
        if was and self.page.brief is None and not unmarked:
            self.refuse("the brief was removed")
        elif self.page.brief is not None and not same(self.page.brief, was):
            self.refuse("the brief cannot be changed")

    # Answers

    def answers(self) -> None:
        """Take in what stands in the sections of participants."""
        base = self.base
        typed: dict[str, list[tuple[int, str]]] = {a: [] for a in base.participants}
        marked, old = {one.name for one in self.page.entries}, {one.id for one in base.entries}
        said = [one for one in self.now.entries if one.id not in old or one.id not in marked]
        for section, who, text in self.page.typed:
            if who in typed and not any(one.agent == who and same(text, one.text) for one in said):
                mine = (self.tour_of(section), text)
                typed[who] += [] if mine in typed[who] else [mine]  # once on a page put twice
            elif who not in typed and not (section == "brief" and self.is_brief(text)):
                self.loose.append(text)
        self.said(typed)
        for ident in typed:
            mark = f"{base.tour}-{ident}"
            was = as_typed(base.drafts.get(ident, ""))
            begun = was and any(letters(t).startswith(letters(was)) for _, t in typed[ident])
            draft = self.page.drafts.get(mark, "" if begun else was)
            for name, text in self.page.drafts.items():
                tour, _, other = name.partition("-")
                if other == ident and name != mark and text:
                    typed[ident].append((int(tour) if tour.isdecimal() else 0, text))
            self.answer(ident, was, draft, typed[ident])

    def tour_of(self, section: str) -> int:
        """Return the round to which a section belongs, the last one of its phase."""
        kind, _, name = section.partition(" ")
        if kind == "round":
            return int(name)
        tours = [one.tour for one in self.base.rounds if one.phase == (name or "VOTE")]
        return max(tours, default=self.base.tour)

    def said(self, typed: dict[str, list[tuple[int, str]]]) -> None:
        """Compare the regions of entries; restore them, or take in an author's correction."""
        there = {piece.name: piece for piece in self.page.entries}
        known = [one for one in self.base.entries if not self.base.is_sealed(one)]
        unmarked = [letters(shown(one.text, 4)) for one in known if one.id not in there]
        for one in known:
            piece, was = there.pop(one.id, None), shown(one.text, 4)
            if piece is None and letters(was) in letters(self.text):
                continue
            if piece and any(other and other in letters(piece.text()) for other in unmarked):
                self.refuse(f"{one.agent}: marks of round {one.tour} were removed")
                continue
            if piece is None or not piece.text():
                self.refuse(f"{one.agent}: the text of round {one.tour} was removed")
            elif not same(piece.text(), was):
                self.correction(one, plain_text(piece.text()))
        for name, piece in there.items():
            tour, _, agent = name.partition("-")
            text = plain_text(piece.text())
            known = [one for one in self.now.entries if one.id == name or same(one.text, text)]
            if agent in typed and tour.isdecimal() and not known:
                fits = piece.digest and digest(piece.text()) == piece.digest
                if fits and agent in self.page.people:
                    self.page.people[agent][1] = self.status(agent) or RESPONDED
                typed[agent].append((int(tour), text))
            elif not known:
                self.loose.append(text)

    def correction(self, one: Entry, text: str) -> None:
        last = next((e for e in self.now.entries if e.id == one.id), one)
        if same(shown(last.text, 4), shown(text, 4)):
            return
        if self.may_correct(one):
            self.decide(one.agent, text, one.status, amend=True)
        else:
            self.refuse(f"{one.agent}: the text of round {one.tour} was changed")

    def may_correct(self, one: Entry) -> bool:
        now = self.now.rounds[-1]
        now_open = now.ended_at is None and self.now.ended_at is None
        return now_open and one.tour == now.tour and one.kind != "guidance" and not one.late

    def answer(self, ident: str, was: str, draft: str, typed: list[tuple[int, str]]) -> None:
        """Take in a participant's status, its draft and what it typed in its sections."""
        word, tour = self.status(ident), self.base.tour
        word = "" if word == WAITING and self.entry(ident, tour) else word
        if not word:
            for old, text in [one for one in typed if one[0] < tour and self.owes(ident, one[0])]:
                typed.remove((old, text))
                self.late(ident, old, text)
        new = [text for _, text in typed]
        text = "\n\n".join([*new, *([draft] if draft else [])])
        same_draft = not new and same(draft, was)
        if ident not in self.now.participants:
            self.loose += [] if same_draft else [text]
            return
        if self.now.tour > tour:
            if word in ANSWERED and text:
                self.late(ident, tour, text)
            elif not same_draft and text:
                self.loose.append(text)
            return
        one = self.now.participants[ident]
        entry = self.entry(ident, tour)
        if entry is not None and ident in self.now.rounds[-1].asked:  # only a part is asked for
            text = text.removeprefix(entry.text).strip()
            entry = entry if same(text, entry.text) else None
        has_answered = word in ANSWERED or (one.status in ANSWERED and not same_draft)
        if entry is None and has_answered and text:
            self.decide(ident, text, word or one.status)
            return
        was_open = self.base.participants.get(ident, one).status == WAITING
        is_known = word == RESPONDED and was_open and one.status in ANSWERED  # by its text
        if word and word != one.status and not is_known:
            self.take("status.set", agent=ident, status=word, origin="edited", at=self.text_at)
        if entry is not None and text and not same_draft:
            self.after_answer(entry, text)
        elif entry is None and not same_draft:
            self.draft(ident, was, text)

    def entry(self, ident: str, tour: int) -> Entry | None:
        own = (e for e in self.now.entries if (e.agent, e.tour) == (ident, tour))
        return next((e for e in own if e.kind != "guidance"), None)

    def owes(self, ident: str, tour: int) -> bool:
        """Return whether a round that is over has neither an answer nor a reason of absence."""
        rounds = [one for one in self.now.rounds if one.tour == tour]
        over = rounds and ident in rounds[0].order and ident not in rounds[0].absent
        return bool(over and self.entry(ident, tour) is None)

    def late(self, ident: str, tour: int, text: str) -> None:
        """Keep an answer for a round that is over, if it was not said."""
        said = [one for one in self.now.entries if one.agent == ident and one.tour == tour]
        if any(same(one.text, text) for one in said):
            return
        phase = next((one.phase for one in self.now.rounds if one.tour == tour), self.base.phase)
        how = {"agent": ident, "kind": procedures.kind_of(phase), "phase": phase, "tour": tour}
        self.take("late", **how, at=self.text_at, text=text, origin="edited")

    def after_answer(self, entry: Entry, text: str) -> None:
        """Take in what was typed by a participant that has answered: more of it, or a note."""
        if letters(text) in letters(entry.text):
            return
        if letters(text).startswith(letters(entry.text)) and self.may_correct(entry):
            self.decide(entry.agent, text, entry.status, amend=True)
        else:
            self.loose.append(text)

    def draft(self, ident: str, was: str, text: str) -> None:
        now = self.now.drafts.get(ident, "")
        if same(now, text):
            return
        if now and not same(now, was) and not letters(text).startswith(letters(now)):
            lines = now.split("\n")  # two stale copies of one draft
            more = _trimmed([line for line in text.split("\n") if line not in lines or not line])
            if letters(text) in letters(now) or not letters("".join(more)):
                return
            text = "\n".join([*lines, "", *more])
        self.take("draft.set", agent=ident, text=text)

    def decide(self, ident: str, text: str, status: str, amend: bool = False) -> None:
        """Answer as a command would; what is refused stays as a draft."""
        status = "" if status == RESPONDED else status  # then the text may say another
        said = hearing.understood(self.now, ident, text, status=status)
        how: dict[str, Any] = {"origin": "edited", "question": said.question, "amend": amend}
        how |= {"at": self.at, "status": status}
        try:
            events = decisions.respond(self.now, ident, said.text, said.heard, **how)
        except Refusal as refusal:
            self.refuse(f"{ident}: {refusal.message}")
            if not amend and not same(self.now.drafts.get(ident, ""), text):
                self.take("draft.set", agent=ident, text=text)
            return
        for event in events:
            self.take(event.pop("type"), **event)

    # Notes

    def notes(self) -> None:
        """Take in changes of the notes, and move there what was typed elsewhere."""
        old = _lines(unescaped(as_typed("\n".join(self.base.notes))))
        if self.page.notes is not None:
            splices = _moved(old, _lines(self.page.notes), self.now.notes)
            if splices:
                self.take("noted", splices=splices)
        there = {letters(line) for line in self.now.notes}
        said = letters("\n".join(one.text for one in self.base.entries))
        for text in self.loose:
            new = [line for line in text.split("\n") if letters(line) not in there or not line]
            new = [ln for ln in new if not (is_definition(ln) and letters(ln) in said)]
            if letters("".join(new)):
                end = len(self.now.notes)
                gap = [""] if end and self.now.notes[-1].strip() else []
                self.take("noted", splices=[[end, 0, gap + _trimmed(new)]])
                there |= {letters(line) for line in new}


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _trimmed(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").split("\n")


def _moved(old: list[str], new: list[str], now: list[str]) -> list[list[Any]]:
    """Return what turns `old` into `new` as splices of `now`, without what is there already."""
    if [letters(line) for line in old] == [letters(line) for line in new]:
        return []
    since = difference(old, now)
    added = [line for _, _, lines in since for line in lines]
    made: list[list[Any]] = []
    for at, count, lines in difference(old, new):
        place = at + sum(len(put) - gone for start, gone, put in since if start + gone <= at)
        place = min(place, len(now))
        removed = old[at : at + count]
        gone = count if now[place : place + count] == removed else 0
        put = [line for line in lines if not line.strip() or line not in added]
        while not gone and put and not put[0].strip() and any(lines[0] == a for a in added):
            put = put[1:]
        longer = next((a for a in added if a.strip() and put and put[0].startswith(a)), None)
        if longer is not None and longer in now:
            place, gone, put = now.index(longer), 1, _trimmed(put)
        if gone or any(line.strip() for line in put):
            made.append([place, gone, put])
    return made
