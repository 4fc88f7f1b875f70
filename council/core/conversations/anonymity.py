"""The parts of an anonymous conversation: what one reader sees, with pseudonyms for names.

Whatever names a peer is replaced, in the fields and inside the texts: id,
display name, emoji, role. What the reader said itself stands among the others
under a pseudonym of its own, but for its answer to the round under way, which
it may have to complete. Where the reader is told what to do it keeps its name:
that tells nothing of who said what.

The topic and the brief stay word for word: they are the matter, and no peer's.

Source: DL-100.
"""

from __future__ import annotations

from council.core.conversations.conversation import BY_HAND, Conversation
from council.core.conversations.handles import (
    HUMAN,
    is_anonymous,
    known_to,
    pseudonyms,
    translate,
    view,
)
from council.core.errors import RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def anonymised(state: Conversation, reader: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of `reader` without anything that tells who a peer is."""
    mask = _Mask(state, reader)
    this_round = [one for one in parts["own"] if one["tour"] == state.tour]
    earlier = [one for one in parts["own"] if one["tour"] != state.tour]
    contributions = sorted([*parts["contributions"], *earlier], key=lambda one: one["nth"])
    must_answer = parts["mustAnswer"]
    if parts["form"] == "vote" and must_answer:
        must_answer = [*must_answer, reader]  # left out, the list would say who the reader is
    shown = [mask.pseudonym(one) for one in mask.sorted(must_answer)]
    return {
        **parts,
        "participants": [
            {"id": one, "label": one, "role": "", "status": "", "last": ""}
            for one in mask.known.values()
        ],
        "own": [{**one, "text": mask.text(reader, one["text"])} for one in this_round],
        "contributions": [mask.item(one) for one in contributions],
        "late": [mask.item(one) for one in parts["late"]],
        "injections": [mask.guidance(one) for one in parts["injections"]],
        "guidance": [mask.guidance_id(one, parts["injections"]) for one in parts["guidance"]],
        "blockers": [mask.blocker(one) for one in parts["blockers"]],
        "absent": [mask.absence(one) for one in parts["absent"]],
        "synthesizer": mask.named(parts["synthesizer"]),
        "speaker": mask.named(parts["speaker"]),
        "order": {**parts["order"], "speakers": []},
        "mustAnswer": shown,
        "questions": [
            {**one, "asker": mask.pseudonym(one["asker"]), "text": mask.to_reader(one)}
            for one in parts["questions"]
        ],
        "faults": [
            {**one, "agent": mask.pseudonym(one["agent"]), "found": mask.text(reader, one["found"])}
            for one in parts["faults"]
        ],
        "understood": mask.understood(parts["understood"]),
        "dominating": [mask.named(one) for one in mask.sorted(parts["dominating"])],
        "turns": [mask.turn(one) for one in parts["turns"]],
        "votes": [mask.turn(one) for one in parts["votes"]],
        "verdict": mask.verdict(parts["verdict"]),
    }


def without_peers(state: Conversation, reader: str, text: str) -> str:
    """Return a text of nobody's, such as a persona, with pseudonyms for the peers of `reader`."""
    return translate(text, _Mask(state, reader).words_to_reader(""))


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
        """Return agents in the order of their pseudonyms: list order would tell who is who."""
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

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        agent = self.pseudonym(item["agent"])
        return {
            **item,
            "id": _renamed(item["id"], item["agent"], agent),
            "agent": agent,
            "label": agent,
            "text": self.text(item["agent"], item["text"]),
            "quotations": [
                {
                    **one,
                    "text": self.text(item["agent"], one["text"]),
                    "of": self.pseudonym(one["of"]),
                }
                for one in item["quotations"]
            ],
        }

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

    def guidance_id(self, entry_id: str, injections: list[dict[str, Any]]) -> str:
        author = next((one["agent"] for one in injections if one["id"] == entry_id), "")
        return _renamed(entry_id, author, HUMAN)

    def blocker(self, blocker: dict[str, Any]) -> dict[str, Any]:
        author = (blocker["agents"] or [""])[0]
        return {
            "text": self.text(author, blocker["text"]),
            "agents": [self.pseudonym(one) for one in self.sorted(blocker["agents"])],
        }

    def absence(self, absent: dict[str, Any]) -> dict[str, Any]:
        """Return who was absent; why a run failed may name its program, so only that it did."""
        agent = self.pseudonym(absent["agent"])
        plain = ("timeout", *BY_HAND)
        reason = absent["reason"] if absent["reason"] in plain else "failed"
        return {**absent, "agent": agent, "label": agent, "reason": reason}

    def turn(self, turn: dict[str, Any]) -> dict[str, Any]:
        author, agent = turn["agent"], self.pseudonym(turn["agent"])
        return {
            **turn,
            "id": _renamed(turn["id"], author, agent),
            "agent": agent,
            "position": self.text(author, turn["position"]),
            "reasoning": self.text(author, turn["reasoning"]),
            "responses": [
                {
                    **one,
                    "agent": self.pseudonym(one["agent"]),
                    "comment": self.text(author, one["comment"]),
                }
                for one in turn["responses"]
            ],
        }

    def understood(self, found: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return what the reader is known to have said, with its peers as it knows them."""
        if found is None:
            return None
        return {**self.turn(found), "wanted": [self.pseudonym(one) for one in found["wanted"]]}

    def verdict(self, verdict: dict[str, Any] | None) -> dict[str, Any] | None:
        if verdict is None:
            return None
        towards = verdict["towards"]
        return {
            **verdict,
            "reference": self.pseudonym(verdict["reference"]),
            "towards": {self.pseudonym(one): towards[one] for one in self.sorted(towards)},
        }


def _renamed(entry_id: str, author: str, shown: str) -> str:
    """Return the id of an entry (`<tour>-<author>…`) with another word for its author."""
    tour, _, rest = entry_id.partition("-")
    return f"{tour}-{shown}{rest[len(author) :] if rest.startswith(author) else ''}"
