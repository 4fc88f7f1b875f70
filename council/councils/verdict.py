"""The verdict: what the members decided, counted by one rule (`verdict.md`).

**Options.** A position as it was first worded is an option; its letter is never reused. Letters
follow the order of first statement, in blind and parallel rounds the list. A member's answer moves
it to the letter it names; otherwise to the option in the same words, or of which one text only says
more without a negation or limit; otherwise, in a vote, it stays unless it says that it moved;
otherwise its words are a new option. No position, "unchanged" and an abstention move nothing.

**Stances** are about the option that the peer held when the speaker could last see it, and stay
with that option. In a blind first round none counts. Moving to an option clears one's older stance
to it. Of several stances to one option in one answer the most critical counts.

**Approval.** A holder approves, or does so partly where it named no choice and limits its stance to
the others who hold the option in the same answer. A member that agrees approves, or does so partly
where a holder that it could see disagrees with what it holds. Otherwise what it says counts. The
advocate is not counted. Absent are members that never spoke, whose last answer could not be read,
or that are less sure than the floor. Who abstains leaves N; who did not vote keeps its last word.

**Verdict.** T is two thirds of N, rounded up, or the given threshold, at least 2, at most N. Of the
options that T approve the one with most holders wins, then most approvals, then fewest that
disagree. Equal ones are all the decision, unless two of them share no approver: then none is.
*Strong*: all N approve, no stance to the winner is other than agree, no blocker is open, no member
abstains, and in a vote no member holds another option. *Soft*: T approve. *None*: everything else,
also with fewer than two heard, or before there is a stance or a vote.
"""

from __future__ import annotations

from council.councils.model import STANCES, Heard, Option, Side, Tally

Answers = list[tuple[str, Heard]]
By = dict[str, dict[str, str]]

# Behind a shared beginning these words limit or deny it: the longer text says something else.
_LIMITING = (
    "not no never none nor neither nothing without but unless except only if until although though"
    " however or provided assuming when while once instead rather otherwise against partly later"
    " condition subject ne pas non jamais aucun aucune ni rien sans mais sauf seulement si jusqu"
    " jusque sinon excepté hormis quoique ou pourvu quand plutôt contre condition réserve"
)
_LIMITS = frozenset(_LIMITING.split())
_READ = dict[str, list[str]]()  # the words of positions: each is compared with all options
_MOST = 2000


def plain(text: str) -> str:
    """Return a text as repetitions are compared: without blanks at its ends and those of lines."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def words(text: str) -> list[str]:
    """Return the words of a text without case and punctuation; `C++`, `40%`, `<5` keep signs."""
    if text in _READ:
        return _READ[text]
    folded = f" {text.casefold()}".replace("’", "'").replace("n't", " not").replace(" n'", " ne ")
    for sign, same in (("->", " "), ("−", "-"), ("< ", "<"), ("> ", ">")):
        folded = folded.replace(sign, same)
    around = zip(f" {folded}", folded, f"{folded[1:]} ", strict=False)
    minus = "".join("_" if one == "-" and a == " " and b.isdigit() else one for a, one, b in around)
    marked = "".join(one if one.isalnum() or one in "#%&€$£_+<>≤≥" else " " for one in minus)
    made = [word for word in marked.split() if word.strip("+<>")]
    if len(_READ) == _MOST:
        _READ.clear()
    if len(text) < _MOST:
        _READ[text] = made
    return made


def same(position: str, others: list[str]) -> int | None:
    """Return the place of the text that says the same as `position`, None where none does.

    It has the same words, or one of the two only says more: after the words of the other there is
    a sentence or clause break, and the rest has no negation or limit.
    """
    own, said = words(position), [words(other) for other in others]
    if own in said:
        return said.index(own)
    fits = [_says_more(position, one) or _says_more(one, position) for one in others]
    return fits.index(True) if True in fits else None


def _says_more(longer: str, shorter: str) -> bool:
    long, short = words(longer), words(shorter)
    if not short or len(long) <= len(short) or long[: len(short)] != short:
        return False
    pairs = enumerate(zip(longer, f"{longer[1:]} ", strict=True))  # `3.5` has no break
    breaks = [at for at, (a, b) in pairs if a in ";!?—(…\n" or (a in ".,:–-" and not b.isalnum())]
    ends = any(words(longer[:at]) == short for at in breaks)
    return ends and not _LIMITS.intersection(long[len(short) :])


def begins(text: str, start: str) -> bool:
    """Return whether a text begins with the words of another."""
    return words(text)[: len(words(start))] == words(start)


def letter_of(index: int) -> str:
    """Return A for 0, Z for 25, AA for 26."""
    before, last = divmod(index, 26)
    return (letter_of(before - 1) if before else "") + chr(65 + last)


def held_after(heard: Heard, held: str, options: list[Option], vote: bool, by: str = "") -> str:
    """Return the letter that `by` holds after an answer; a new option is added to `options`."""
    if any(one.letter == heard.choice for one in options):
        return heard.choice
    if heard.choice == "abstain" or not heard.position or (heard.unchanged and not heard.choice):
        return held
    if (found := same(heard.position, [one.text for one in options])) is not None:
        return options[found].letter
    if vote and held and not heard.moved and heard.choice != "new":
        return held
    text = heard.position.replace("**", "")
    options.append(Option(letter=letter_of(len(options)), text=text, by=by))
    return options[-1].letter


def is_readable(heard: Heard) -> bool:
    """Return whether anything that counts was understood of an answer."""
    return bool(heard.position or heard.choice or heard.stances or heard.unchanged)


def alike(one: str, other: str) -> bool:
    """Return whether two texts share at least nine tenths of their words."""
    left, right = words(one), words(other)
    shared = sum(min(left.count(word), right.count(word)) for word in set(left))
    return bool(left) and 2 * shared >= 0.9 * (len(left) + len(right))


class _Count:
    """What members hold and say, round by round; `options` have letters already."""

    def __init__(self, options: list[Option]) -> None:
        self.options, self.kind, self.voted = list(options), "", False
        self.held: dict[str, str] = {}
        self.last: dict[str, Heard] = {}
        self.stances: By = {}  # of each to options
        self.partly: dict[str, bool] = {}  # whether it limits, without a choice, what it holds
        self.seen: By = {}  # what each could see others hold when it spoke
        self.moved: list[dict[str, str]] = []

    def play(self, kind: str, answers: Answers) -> None:
        """Take in a round: `turn` (one after the other), `parallel`, `blind` or `vote`."""
        before, self.kind, self.moved = dict(self.held), kind, []
        for agent, heard in answers:
            self.last[agent] = heard
            if heard.choice == "abstain" or not is_readable(heard):
                continue
            self.voted = self.voted or kind == "vote"
            old, own = self.held.get(agent, ""), self.stances.setdefault(agent, {})
            said: dict[str, str] = {}
            new = held_after(heard, old, self.options, kind == "vote", agent)
            seen = dict(self.held) if kind == "turn" else before
            for peer, stance in heard.stances.items():
                about = seen.get(peer, "") or (self.held.get(peer, "") * (kind == "parallel"))
                if about and peer != agent and stance.word in STANCES:
                    said[about] = max(said.get(about, "agree"), stance.word, key=STANCES.index)
            if new != old:
                own.pop(new, None)
                self.moved += [{"agent": agent, "from": old, "to": new}] if old else []
            own.update(said)
            self.held[agent], self.seen[agent] = new, seen
            self.partly[agent] = heard.choice != new and said.get(new, "agree") != "agree"

    def says(self, agent: str, side: str, counted: list[str]) -> str:
        """Return what a counted member says to an option: a stance word, or ""."""
        own, seen = self.held.get(agent, ""), self.seen.get(agent, {})
        if own == side:
            return "partial" if self.partly[agent] else "agree"
        if (word := self.stances.get(agent, {}).get(side, "")) != "agree":
            return word
        holders = [peer for peer in counted if self.held.get(peer) == seen.get(peer) == side]
        refused = any(self.stances[peer].get(own) == "disagree" for peer in holders)
        return "partial" if refused else word

    def judge(self, members: list[str], given: int | None, floor: int, blockers: int) -> Tally:
        """Return the tally as things are now."""
        heard = {m: self.last[m] for m in members if m in self.last}
        abstained = [m for m in heard if heard[m].choice == "abstain"]
        sure = [m for m in heard if (heard[m].confidence or floor) >= floor]
        counted = [m for m in sure if m not in abstained and is_readable(heard[m])]
        n = len(members) - len(abstained)
        least = -(-2 * n // 3) if given is None else given
        tally = Tally(threshold=min(max(2, least), n), n=n, abstained=abstained)
        tally.absent = [m for m in members if m not in counted and m not in abstained]
        tally.moved = [one for one in self.moved if one["agent"] in members]
        for one in self.options:
            side = Side(letter=one.letter, text=one.text, by=one.by)
            side.holders.extend(m for m in counted if self.held.get(m) == one.letter)
            lists = {"agree": side.approve, "partial": side.partial, "disagree": side.disagree}
            for member in counted:
                lists.get(self.says(member, one.letter, counted), []).append(member)
            tally.options.append(side)
        if len(counted) < 2 or not (self.voted or any(self.stances.get(m) for m in counted)):
            return tally
        able = [one for one in tally.options if len(one.approve) >= tally.threshold]
        whole = list[Side]()
        for one in [one for one in able if self.kind != "vote" or len(one.holders) == n]:
            said = {self.stances[m].get(one.letter, "agree") for m in one.approve}
            whole += [one] if len(one.approve) == n and said == {"agree"} else []
        first = whole or able or tally.options
        ranks = [(len(one.holders), len(one.approve), -len(one.disagree)) for one in first]
        best = max(ranks, default=None)
        leading = [one for one, rank in zip(first, ranks, strict=True) if rank == best]
        tally.leading = [one.letter for one in leading]
        both = [(one, other) for one in leading for other in leading]
        if able and all(set(one.approve) & set(other.approve) for one, other in both):
            tally.winners, tally.decision = tally.leading, [one.text for one in leading]
            strong = whole and not blockers and not abstained
            tally.type, tally.reached = "strong" if strong else "soft", True
        return tally


def count(
    members: list[str], rounds: list[tuple[str, Answers]], options: list[Option] | None = None,
    threshold: int | None = None, floor: int = 0, blockers: int = 0,
) -> Tally:  # fmt: skip
    """Return the tally after all rounds (kind and answers of each; see `_Count.play`).

    `members` are counted, in list order, without the advocate; answers of others only make options.
    """
    fold, tallies = _Count(options or []), [Tally(n=len(members))]
    for kind, answers in rounds:
        fold.play(kind, answers)
        tallies.append(fold.judge(members, threshold, floor, blockers))
    tallies[-1].rounds = tallies[1:-1]
    return tallies[-1]
