"""What nobody may change in a conversation file: state block, brief, contributions, marks.

They are written anew from the state whatever a person did to them. This
module says what was done, keeps what they wrote instead, and takes what is
left of damaged pieces out of the free text, so that nothing stands twice.

Source: C0-008, C0-044, XC-010, `store.md` sections 3 and 5.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation
from council.core.events import Event
from council.store.statefile.facts import Kept
from council.store.statefile.freetext import without_item
from council.store.statefile.layout import items
from council.store.statefile.marks import OPEN, STRUCTURE, same_lines
from council.store.statefile.sections import takes_text
from council.store.statefile.statefile import Page, free_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Restoring:
    """The work of one edit; `theirs` is cleaned in place. `cut` tells that its end is missing."""

    def __init__(
        self, base: tuple[Conversation, Page], theirs: Page, ours: Conversation, *, cut: bool
    ) -> None:
        self.base, self.base_page = base
        self.theirs, self.ours, self.cut = theirs, ours, cut
        self.events: list[Event] = []
        self.kept: list[Kept] = []

    def restore(self) -> None:
        """Report and clean everything that is put back."""
        self._blocks()
        self._brief()
        self._contributions()
        if not self.cut:
            self._damaged_marks()
            self._foreign_marks()

    def _blocks(self) -> None:
        """Report a state block that is missing, broken or double; its text is kept apart."""
        theirs = self.theirs
        foreign = []
        for block in theirs.blocks:
            key = next((key for key, gap in theirs.gaps.items() if block in gap), "")
            if block in self.base_page.blocks or (
                theirs.record is not None and key.startswith(("a:", "e:", "s:"))
            ):
                continue  # a text that quotes a block is a text
            foreign.append(block)
            self.kept.append(Kept(what="a state block", text=block))
            theirs.gaps[key] = theirs.gaps.get(key, "").replace(block, "", 1)
        if theirs.record is None:
            reason = "broken" if foreign else "missing"
            self.events.append(Event(type="block.restored", data={"reason": reason}))
        elif foreign:
            self.events.append(Event(type="block.restored", data={"reason": "doubled"}))
        elif "eof" not in theirs.order:
            self.events.append(Event(type="block.restored", data={"reason": "end mark missing"}))

    def _brief(self) -> None:
        said = self.theirs.brief
        if said is not None and same_lines(said) != same_lines(self.base.brief):
            self.kept.append(Kept(what="the brief, as edited", text=said))
            self.events.append(Event(type="brief.restored", data={"chars": len(said)}))
        elif said is None and not self.cut:
            data: dict[str, Any] = {"reason": "its marks are missing"}
            self.events.append(Event(type="brief.restored", data=data))

    def _contributions(self) -> None:
        there = {entry.id for entry in self.ours.entries}
        for entry in self.base.entries:
            said = self.theirs.texts.get(entry.id)
            if entry.id not in there or (said is None and self.cut):
                continue
            if said is not None and same_lines(said) == same_lines(entry.text):
                continue
            reason = "deleted" if said is None else "changed"
            if said is not None and "purged" not in entry.extra:
                self.kept.append(Kept(what=f"contribution {entry.id}, as edited", text=said))
            data = {"entry": entry.id, "reason": reason}
            self.events.append(Event(type="contribution.restored", agent=entry.agent, data=data))

    def _damaged_marks(self) -> None:
        """Take what is left of texts whose marks were damaged out of the free text."""
        whole = {
            key: text for key, text in items(self.base) if key == "brief" or key.startswith("e:")
        }
        last, present = "", set(self.theirs.order)
        for key in self.base_page.order:
            if key in present:
                last = key
            elif key in whole:
                inner = whole[key].partition("\n")[2].rpartition("\n")[0]
                gaps = self.theirs.gaps
                place = next((at for at, gap in gaps.items() if inner in same_lines(gap)), last)
                gap = gaps.get(place, "")
                left = without_item(gap, whole[key])
                if left == same_lines(gap):
                    continue
                gaps[place] = left
                if free_text(left) and not free_text(self.base_page.gaps.get(place, "")):
                    self.kept.append(Kept(what=f"{key}, without its marks", text=free_text(gap)))

    def _foreign_marks(self) -> None:
        """Take marks out of free text: they are nobody's words and would confuse the next reader.

        An agent's text that may yet become its contribution stays as it is.
        """
        copies = [text for key, text in items(self.base) if key == "brief" or key[:2] == "e:"]
        section = ""
        for key in ["", *self.theirs.order]:
            if not key.startswith(("e:", "s:")):
                section = key[2:] if key.startswith("a:") else ""
            gap = self.theirs.gaps.get(key, "")
            if OPEN not in gap:
                continue
            place, _, agent = section.partition(":")
            if agent and takes_text(self.ours, agent, place):
                continue
            for copy in copies:
                gap = gap.replace(f"\n{copy}\n", "\n")
            lines = [line for line in gap.split("\n") if not line.startswith(STRUCTURE)]
            self.theirs.gaps[key] = "\n".join(lines)
