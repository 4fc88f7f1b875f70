"""The parts of an anonymous conversation: what one reader sees, with pseudonyms for names.

Whatever names a peer is replaced, in the fields and inside the texts: id,
display name, emoji, role. What the reader said itself stands among the others
under a pseudonym of its own, but for its answer to the round under way, which
it may have to complete. Where the text says what the reader is to do it keeps its name:
that does not show who said what.

The topic and the brief stay word for word: they are the matter, and no peer's.

Source: DL-100.
"""

from __future__ import annotations

from collections.abc import Iterable

from council.core.conversations.conversation import (
    Conversation,
    Entry,
    EntryKind,
    Participant,
    Round,
    Task,
    TaskState,
)
from council.core.conversations.handles import (
    HUMAN,
    is_anonymous,
    known_to,
    pseudonyms,
    translate,
    view,
)
from council.core.errors import RefusedError
from council.core.reasons import PLAIN_ABSENCES, Reason
from council.core.record import Any


def anonymised(state: Conversation, reader: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of `reader` without anything that shows who a peer is."""
    mask = _Mask(state, reader)
    this_round = [one for one in parts["own"] if one["tour"] == state.tour]
    earlier = [one for one in parts["own"] if one["tour"] != state.tour]
    contributions = sorted([*parts["contributions"], *earlier], key=lambda one: one["nth"])
    must_answer = parts["mustAnswer"]
    if parts["form"] == "vote" and must_answer:
        must_answer = [*must_answer, reader]  # left out, the list would say who the reader is
    injections = {one["id"]: mask.guidance(one) for one in parts["injections"]}
    said = {
        "contributions": contributions,
        **{key: parts[key] for key in ("late", "turns", "votes")},
    }
    return {
        **parts,
        **{key: [mask.shown(one) for one in items] for key, items in said.items()},
        **{key: mask.named(parts[key]) for key in ("synthesizer", "speaker")},
        "participants": [
            {"id": one, "label": one, "role": "", "status": "", "last": ""}
            for one in mask.known.values()
        ],
        "own": [{**one, "text": mask.text(reader, one["text"])} for one in this_round],
        "injections": list(injections.values()),
        "guidance": [injections[one]["id"] for one in parts["guidance"]],
        "blockers": [mask.blocker(one) for one in parts["blockers"]],
        "absent": [mask.absence(one) for one in parts["absent"]],
        "order": {**parts["order"], "speakers": []},
        "mustAnswer": [mask.pseudonym(one) for one in mask.sorted(must_answer)],
        "questions": [
            {**one, "asker": mask.pseudonym(one["asker"]), "text": mask.to_reader(one)}
            for one in parts["questions"]
        ],
        "faults": [
            {**one, "agent": mask.pseudonym(one["agent"]), "found": mask.text(reader, one["found"])}
            for one in parts["faults"]
        ],
        "understood": parts["understood"] and mask.shown(parts["understood"]),
        "dominating": [mask.named(one) for one in mask.sorted(parts["dominating"])],
        "verdict": parts["verdict"] and mask.verdict(parts["verdict"]),
    }


def without_peers(state: Conversation, reader: str, text: str) -> str:
    """Return a text without an author (a persona) with pseudonyms for the peers of `reader`."""
    return translate(text, _Mask(state, reader).words_to_reader(""))


def as_shown(state: Conversation, reader: str) -> Conversation:
    """Return a conversation in which pseudonyms are the names, as `reader` knows them.

    It is a conversation like any other, so whatever is made of it names no one. One that is over,
    or is not anonymous, is returned as it is. The participants keep their order, which decides
    between equals: who shows them sorts them.

    Args:
        state: The conversation.
        reader: Who is shown it, a participant or any other word.
    """
    if not is_anonymous(state) or state.finished_at is not None or state.rules is None:
        return state
    mask = _Mask(state, reader)
    issues = {issue: one.agent for one in reversed(state.entries) for issue in one.blocking}
    return state.copy(
        participants={known: mask.taking_part(agent) for agent, known in mask.in_order()},
        entries=[mask.entry(one) for one in state.entries],
        tasks={task.id: task for task in map(mask.task, state.tasks.values())},
        rounds=[mask.round(one) for one in state.rounds],
        blocking_issues=[mask.text(issues.get(one, ""), one) for one in state.blocking_issues],
        rules=state.rules.copy(anonymous=False, advocate=mask.pseudonym(state.rules.advocate)),
        coordinator=mask.pseudonym(state.coordinator),
        synthesizer=mask.pseudonym(state.synthesizer),
        usage={},
        sealed={},
        titles={},
        cwd="",
        extra={},
    )


def refuse_names(state: Conversation) -> None:
    """Refuse to show a whole conversation to one who takes part in it, while names are hidden.

    Raises:
        RefusedError: It is anonymous and not over.
    """
    if is_anonymous(state) and state.finished_at is None:
        raise RefusedError(
            f"{state.name} is anonymous: no run may see who said what before it is over",
            "what you may see: council context",
        )


def faults_seen_by(
    state: Conversation, reader: str, faults: list[dict[str, str]]
) -> list[dict[str, str]]:
    """Return what the answer of `reader` lacks, with the peers as it knows them."""
    return [{**one, "agent": known_to(state, reader, [one["agent"]])[0]} for one in faults]


class _Mask:
    """What stands for whom in the eyes of one reader."""

    def __init__(self, state: Conversation, reader: str) -> None:
        self._state = state
        self._reader = reader
        self._views: dict[str, dict[str, str]] = {}
        self.known = pseudonyms(state, reader)

    def sorted(self, agents: Iterable[str]) -> list[str]:
        """Return agents in the order of their pseudonyms: list order would show who is who."""
        order = list(self.known)
        return sorted(agents, key=lambda one: order.index(one) if one in self.known else -1)

    def pseudonym(self, agent: str) -> str:
        return self.known.get(agent, agent)

    def named(self, agent: str) -> str:
        """Return who has a duty: the reader by its own name, a peer by its pseudonym."""
        return agent if agent == self._reader else self.pseudonym(agent)

    def text(self, author: str, text: str) -> str:
        words = self._views.get(author)
        if words is None:
            words = self._views[author] = view(self._state, self._reader, author)
        return translate(text, words)

    def words_to_reader(self, author: str) -> dict[str, str]:
        """Return the words of a text that speaks to the reader, who keeps its own name in it."""
        mine = self._state.participants.get(self._reader)
        words = dict(view(self._state, self._reader, author))
        if mine is None:
            return words
        for word in (mine.id, mine.name, mine.label):
            words.pop(word, None)
        shown = self.known[mine.id]
        return {word: mine.id if by == shown else by for word, by in words.items()}

    def to_reader(self, question: dict[str, Any]) -> str:
        return translate(question["text"], self.words_to_reader(question["asker"]))

    def shown(self, item: dict[str, Any], author: str = "") -> dict[str, Any]:
        """Return a part that an agent said, the parts in it too, with the peers under pseudonyms.

        `author` is who said what an inner part stands in, "" for who is named in the part.
        """
        author = author or item["agent"]
        made = dict(item)
        for key, value in item.items():
            if key in ("agent", "of"):
                made[key] = self.pseudonym(value)
            elif key in ("text", "position", "reasoning", "comment"):
                made[key] = self.text(author, value)
            elif key in ("quotations", "responses"):
                made[key] = [self.shown(one, author) for one in value]
            elif key == "wanted":
                made[key] = [self.pseudonym(one) for one in value]
            elif key == "label":
                made[key] = self.pseudonym(item["agent"])
            elif key == "id":
                made[key] = _renamed(value, author, self.pseudonym(author))
        return made

    def guidance(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return a person's guidance; its author may take part under the same name."""
        return {
            **item,
            "id": _renamed(item["id"], item["agent"], HUMAN),
            "agent": HUMAN,
            "label": HUMAN,
            "target": self.named(item["target"]),
            "text": translate(item["text"], self.words_to_reader("")),
        }

    def blocker(self, blocker: dict[str, Any]) -> dict[str, Any]:
        author = (blocker["agents"] or [""])[0]
        return {
            "text": self.text(author, blocker["text"]),
            "agents": [self.pseudonym(one) for one in self.sorted(blocker["agents"])],
        }

    def absence(self, absent: dict[str, Any]) -> dict[str, Any]:
        """Return who was absent; why a run failed may name its program, so only that it did."""
        is_plain = absent["reason"] in PLAIN_ABSENCES
        return {**self.shown(absent), "reason": absent["reason"] if is_plain else "failed"}

    def verdict(self, verdict: dict[str, Any]) -> dict[str, Any]:
        towards = verdict["towards"]
        listed = ("contested", "silent", "unreadable")
        return {
            **verdict,
            "reference": self.pseudonym(verdict["reference"]),
            "towards": {self.pseudonym(one): towards[one] for one in self.sorted(towards)},
            **{key: [*map(self.pseudonym, verdict[key])] for key in listed if key in verdict},
        }

    def in_order(self) -> list[tuple[str, str]]:
        """Return agents with their pseudonyms, in the order of the participants."""
        return [(agent, self.known[agent]) for agent in self._state.participants]

    def taking_part(self, agent: str) -> Participant:
        """Return a participant of whom only status and seal are known."""
        one = self._state.participants[agent]
        seal = "sealed" if one.sealed else ""
        return Participant(id=self.known[agent], status=one.status, sealed=seal, again=one.again)

    def entry(self, one: Entry) -> Entry:
        is_guidance = one.kind is EntryKind.INJECTION
        author = HUMAN if is_guidance else self.pseudonym(one.agent)
        words_of = "" if is_guidance else one.agent
        return one.copy(
            id=_renamed(one.id, one.agent, author),
            agent=author,
            text=self.text(words_of, one.text),
            target=self.pseudonym(one.target),
            blocking=[self.text(words_of, issue) for issue in one.blocking],
            task="",
            digest="",
            nonce="",
            extra={},
        )

    def task(self, one: Task) -> Task:
        agent = self.pseudonym(one.agent)
        reason = Reason.of("failed" if one.state is TaskState.F else "")
        name = f"{one.tour}.{agent}.{one.attempt}"
        return one.copy(id=name, agent=agent, driver="", reason=reason, extra={})

    def round(self, one: Round) -> Round:
        absent = {
            self.pseudonym(agent): reason if reason.code in PLAIN_ABSENCES else Reason.of("failed")
            for agent, reason in one.absent.items()
        }
        verdict = self.verdict(one.verdict) if one.verdict else {}
        speaker = self.pseudonym(one.speaker)
        return one.copy(speaker=speaker, absent=absent, verdict=verdict, extra={})


def _renamed(entry_id: str, author: str, shown: str) -> str:
    """Return the id of an entry (`<tour>-<author>…`) with another word for its author."""
    tour, _, rest = entry_id.partition("-")
    return f"{tour}-{shown}{rest[len(author) :] if rest.startswith(author) else ''}"
