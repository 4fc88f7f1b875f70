"""What an explanation holds: what is waited for, what was tried, what stands in the way, what next.

Values and their JSON form; how they are found out is the matter of `explaining`,
how they are put into words that of `explain_words`.

Source: `cli.md` section 2 (`explain`).
"""

from __future__ import annotations

from datetime import datetime

from council.core.errors import NewerVersionError
from council.core.reading import written_instant
from council.core.record import Record
from council.operations.examining.causes import Cause, cause
from council.operations.reporting.explain_words import say, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.errors import CouncilError
    from council.core.reporting.stories import Subject
    from council.operations.place import Place


# How an agent answers by hand, by the kind of what it answers.
_REPLIES = {
    "conversation": 'council respond --as {agent} --name {name} "…"',
    "channel": 'council turn end {name} --as {agent} --run-id hand --post --text "…"',
    "context": "council msg inbox --as {agent}",
    "trace": "",
}


class Said(Record):
    """Something that can be said in each language: which sentence, and what stands in it."""

    kind: str
    values: dict[str, Any] = {}  # noqa: RUF012 - Record copies it

    def text(self, lang: str) -> str:
        """Return the sentence."""
        return say(self.kind, lang, self.values)


class Wait(Record):
    """Somebody or something that is waited for, since when, and until when at most."""

    said: Said
    agent: str = ""
    since: datetime | None = None
    until: datetime | None = None


class Tried(Record):
    """One attempt: who, with which command, and what came back.

    `state` is the state of its task, `command` the argv as one line, `output` the
    last lines that it printed, secrets masked. `caller` is who had called the agent,
    "" where it was started by itself.
    """

    agent: str
    caller: str = ""
    task: str
    state: str
    at: datetime
    attempt: int = 0
    driver: str = ""
    command: str = ""
    folder: str = ""
    came_back: str = ""
    seconds: str = ""
    output: list[str] = []  # noqa: RUF012 - Record copies it
    log: str = ""


class Next(Record):
    """What happens next, and when; None where it is not a matter of time."""

    said: Said
    at: datetime | None = None


class Explained(Record):
    """Why something stands where it stands.

    `status` is its own word, `meaning` what that means beside other kinds. `where`
    tells the phase and round, cycle or state of its task. One that is `brief` is wanted for its
    causes alone: for those the logs of events and runs need not be read, which may be long.
    `reply` is how it is answered by hand, "" for the usual way.
    """

    kind: str
    id: str
    name: str
    now: datetime
    trace: str = ""
    ctx: str = ""
    status: str = ""
    meaning: str = ""
    where: Said | None = None
    path: str = ""
    reply: str = ""
    brief: bool = False
    waits: list[Wait] = []  # noqa: RUF012 - Record copies it
    hindrances: list[Cause] = []  # noqa: RUF012 - Record copies it
    tried: list[Tried] = []  # noqa: RUF012 - Record copies it
    nexts: list[Next] = []  # noqa: RUF012 - Record copies it

    @property
    def is_open(self) -> bool:
        """Whether it is not over yet."""
        return bool(self.waits or self.hindrances) and "over" not in {
            x.said.kind for x in self.nexts
        }

    @property
    def agents(self) -> set[str]:
        """The agents that are waited for, tried, or in the way."""
        return {one.agent for many in (self.waits, self.hindrances, self.tried) for one in many}

    def hinder(self, kind: str, agent: str = "", **values: Any) -> None:
        """Add what stands in the way, once; the way out is the sentence `fix-<kind>`."""
        values.setdefault("name", self.name)
        reply = self.reply or _REPLIES[self.kind]
        values.setdefault("reply", reply.format(**{"agent": agent, **values}))
        found = cause(kind, self.name, agent, **values)
        if found not in self.hindrances:
            self.hindrances.append(found)

    def wait_for(
        self,
        kind: str,
        agent: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        **values: Any,
    ) -> None:
        """Add somebody or something that is waited for."""
        values = {"agent": agent, "name": self.name, **values}
        said = Said(kind=kind, values=values)
        self.waits.append(Wait(said=said, agent=agent, since=since, until=until))

    def then(self, kind: str, at: datetime | None = None, **values: Any) -> None:
        """Add what happens next."""
        values.setdefault("name", self.name)
        self.nexts.append(Next(said=Said(kind=kind, values=values), at=at))

    def to_record(self, lang: str) -> dict[str, Any]:
        """Return the JSON object of `explain`."""
        return {
            **self.as_json("kind id name trace:traceId? ctx? status? meaning?"),
            "where": self.where.text(lang) if self.where else None,
            **self.as_json("path? now"),
            "waitsFor": [
                {
                    "what": one.said.kind,
                    "agentId": one.agent or None,
                    "since": written_instant(one.since),
                    "until": written_instant(one.until),
                    "said": one.said.text(lang),
                }
                for one in self.waits
            ],
            "hindrances": [one.to_record(lang) for one in self.hindrances],
            "tried": [
                {
                    **one.as_json(
                        "agent:agentId caller? task state attempt at driver? command? folder?"
                    ),
                    "cameBack": worded(one.came_back, lang) or None,
                    **one.as_json("seconds:took? output log?"),
                }
                for one in self.tried
            ],
            "next": [
                {"what": one.said.kind, "at": written_instant(one.at), "said": one.said.text(lang)}
                for one in self.nexts
            ],
        }


def broken(place: Place, about: Subject, error: CouncilError, path: str) -> Explained:
    """Explain something whose file cannot be read."""
    found = Explained(
        kind=about.kind,
        id=about.id,
        name=about.name,
        now=place.now(),
        trace=about.trace,
        path=path,
    )
    if isinstance(error, NewerVersionError):
        found.hinder("newer-file", version=error.found)
    elif about.kind == "conversation":
        found.hinder("broken-file", message=error.message)
    else:
        found.hinder("broken-document", message=error.message)
    found.then("next-person")
    return found
