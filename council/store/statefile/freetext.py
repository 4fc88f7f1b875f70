"""The free text between the items of a file, when two people have changed it.

Three versions of each piece: the one both started from, ours, theirs. What
only one side changed is taken from that side; where both changed the same
lines, the last save stands and the other text is kept apart.

State block, brief, contributions and marks may not be changed by anyone: they are written
anew from the state whatever a person did to them. `Restoring` says what was done, keeps
what they wrote instead, and takes what is left of damaged pieces out of the free text,
so that nothing stands twice.

Source: C0-078, `store.md` sections 3 and 5, C0-008, C0-044, XC-010.
"""

from __future__ import annotations

from collections import Counter

from council.core.conversations.conversation import Conversation
from council.core.events import Event
from council.core.record import Any
from council.store.statefile.facts import Kept
from council.store.statefile.layout import items, takes_text
from council.store.statefile.marks import OPEN, STRUCTURE, same_lines
from council.store.statefile.statefile import Page, free_text, joined, placed


def merged_gaps(base: Page, theirs: Page, ours: Page) -> tuple[dict[str, str], list[str]]:
    """Return the free text after each item of `ours`, and the texts that had to give way."""
    gaps = dict(ours.gaps)
    lost: list[str] = []
    before, present = _folded(base, theirs), set(theirs.order)
    for key in dict.fromkeys(["", *base.order, *theirs.order]):
        if key and key not in present:
            continue
        was, moved = before.get(key, ("", []))
        now = theirs.gaps.get(key, "")
        if same_lines(was) == same_lines(now):
            continue
        if not was.strip() and not now.strip() and _next(base, key) != _next(theirs, key):
            continue  # the blank lines around an item that is gone
        if moved and was.strip() == same_lines(now).strip():
            continue
        if _stands_elsewhere(free_text(now), key, base, ours):
            continue
        for gone in moved:
            gaps.pop(gone, None)
        merged, other = merged_lines(was, gaps.get(key, ""), now)
        if other:
            lost.append(other)
        if merged.strip() or key in base.gaps:
            gaps[key] = merged
    return {key: gap for key, gap in gaps.items() if gap}, lost


def _folded(base: Page, theirs: Page) -> dict[str, tuple[str, list[str]]]:
    """Return what stood after each item that `theirs` still has, with the items gone from there."""
    present = {"", *theirs.order}
    folded: dict[str, tuple[str, list[str]]] = {"": (base.gaps.get("", ""), [])}
    last = ""
    for key in base.order:
        gap = base.gaps.get(key, "")
        if key in present:
            last = key
            folded[key] = (gap, [])
        elif gap.strip():
            text, gone = folded[last]
            folded[last] = (joined(text, free_text(gap)), [*gone, key])
    return folded


def _stands_elsewhere(said: str, key: str, base: Page, ours: Page) -> bool:
    """Return true if a text came to us before and stands in another place by now."""
    return bool(said) and any(
        said in gap and said not in base.gaps.get(place, "")
        for place, gap in ours.gaps.items()
        if place != key
    )


def _next(page: Page, key: str) -> str:
    at = page.order.index(key) + 1 if key in page.order else 0
    return page.order[at] if at < len(page.order) else ""


def merged_lines(was: str, ours: str, theirs: str) -> tuple[str, str]:
    """Return the merged text and what gave way ("" for nothing)."""
    if ours in (theirs, was):
        return theirs, ""
    if theirs == was:
        return ours, ""
    old, one, two = was.split("\n"), ours.split("\n"), theirs.split("\n")
    one_start, one_end = _changed(old, one)
    two_start, two_end = _changed(old, two)
    new_one = one[one_start : len(one) - (len(old) - one_end)]
    new_two = two[two_start : len(two) - (len(old) - two_end)]
    apart = (one_start, one_end) != (two_start, two_end)
    if apart and (one_end <= two_start or two_end <= one_start):
        first, last = sorted([(one_start, one_end, new_one), (two_start, two_end, new_two)])
        middle = old[first[1] : last[0]]
        whole = [*old[: first[0]], *first[2], *middle, *last[2], *old[last[1] :]]
        return "\n".join(whole), ""
    if _holds(new_two, new_one):
        return theirs, ""
    if one_start == one_end and two_start == two_end:
        both = new_one if _holds(new_one, new_two) else [*new_one, *new_two]
        return "\n".join([*old[:one_start], *both, *old[one_end:]]), ""
    return theirs, "\n".join(new_one).strip("\n")


def _holds(lines: list[str], others: list[str]) -> bool:
    """Return true if every line of `others` that says something is among `lines`."""
    return {line for line in others if line.strip()} <= set(lines)


def _changed(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return the lines of `old` that differ in `new`: from the first to after the last."""
    most = min(len(old), len(new))
    start = 0
    while start < most and old[start] == new[start]:
        start += 1
    same_end = 0
    while same_end < most - start and old[-1 - same_end] == new[-1 - same_end]:
        same_end += 1
    return start, len(old) - same_end


def without_torn_line(text: str, ours_text: str) -> str:
    """Return a cut text without its last line, if that is the beginning of a line of ours."""
    whole, _, last = text.rpartition("\n")
    torn = any(line.startswith(last) for line in ours_text.split("\n"))
    return whole + "\n" if torn and last else text


def grafted_gaps(theirs: Page, ours: Page, ours_text: str) -> dict[str, str]:
    """Return our free text with the lines that a cut file adds, each where it stands there.

    What became a contribution in that place when it was saved before is not added again.
    """
    known = set(same_lines(ours_text).split("\n"))
    gaps = dict(ours.gaps)
    place_of = dict(placed(theirs.order))
    told = [
        (place, [line for line, _ in _said_lines(ours.texts.get(key[2:], ""))])
        for key, place in placed(ours.order)
    ]
    for key, gap in theirs.gaps.items():
        lines = _said_lines(gap)
        for run in [run for place, run in told if run and place == place_of.get(key)]:
            ends = [min(at + len(run), len(lines)) for at in range(len(lines))]  # it may be cut
            for at, end in enumerate(ends):
                if [line for line, _ in lines[at:end]] == run[: end - at]:
                    lines = lines[:at] + lines[end:]
                    break
        new = [(line, begins) for line, begins in lines if line not in known]
        said = "\n".join(f"\n{line}" if begins else line for line, begins in new).strip("\n")
        if not said:
            continue
        if key:
            gaps[key] = joined(gaps.get(key, ""), said)
        else:
            gaps[key] = f"{said}\n\n{gaps.get(key, '')}"
    return gaps


def _said_lines(text: str) -> list[tuple[str, bool]]:
    """Return the lines of a text that say something, and whether each stands below a blank one.

    Marks are left out.
    """
    lines = [one for one in same_lines(text).split("\n") if not one.startswith(STRUCTURE)]
    pairs = zip(["", *lines], lines, strict=False)
    return [(line, not above.strip()) for above, line in pairs if line.strip()]


def without_item(gap: str, item: str) -> str:
    """Return a gap without what is left of an item whose marks were damaged.

    The text is cut out where it stands whole, and the marks with it;
    otherwise the lines that are the item's are dropped, each as often as it
    has them, and what others wrote among them stays.
    """
    there = same_lines(gap)
    first, _, rest = same_lines(item).partition("\n")
    whole, _, last = rest.rpartition("\n")
    marks = {first, last}
    if whole.strip() and whole in there:
        there = there.replace(whole, "", 1)
        return "\n".join(line for line in there.split("\n") if line not in marks)
    own = [line for line in same_lines(item).split("\n") if line.strip()]
    return "\n".join(lines_without(there, own))


def lines_without(text: str, others: list[str]) -> list[str]:
    """Return the lines of a text without the others, each as often as it stands among them."""
    counts = Counter(others)
    left = []
    for line in text.split("\n"):
        if counts[line]:
            counts[line] -= 1
        else:
            left.append(line)
    return left


def is_cut(page: Page) -> bool:
    """Return true if the end of a file is missing: state block and end mark."""
    return page.record is None and "eof" not in page.order


class Restoring:
    """The work of one edit; `theirs` is cleaned in place. `cut` says that its end is missing."""

    def __init__(self, base: tuple[Conversation, Page], theirs: Page, ours: Conversation) -> None:
        self.base, self.base_page = base
        self.theirs, self.ours, self.cut = theirs, ours, is_cut(theirs)
        self.events: list[Event] = []
        self.kept: list[Kept] = []

    def restore(self) -> None:
        """Report and clean everything that is put back."""
        self._blocks()
        self._brief()
        self._contributions()
        if not self.cut:
            found = items(self.base)
            whole = {key: one for key, one in found if key == "brief" or key.startswith("e:")}
            self._damaged_marks(whole)
            self._foreign_marks([*whole.values()])

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
        elif foreign:
            reason = "doubled"
        else:
            reason = "" if "eof" in theirs.order else "end mark missing"
        if reason:
            self.events.append(Event(type="block.restored", data={"reason": reason}))

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

    def _damaged_marks(self, whole: dict[str, str]) -> None:
        """Take what is left of texts whose marks were damaged out of the free text."""
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

    def _foreign_marks(self, copies: list[str]) -> None:
        """Take marks out of free text: they are no one's words and would confuse the next reader.

        An agent's text that may yet become its contribution stays as it is.
        """
        for key, section in placed(["", *self.theirs.order]):
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
