"""A room as values: what its events add up to. Document 001 has the words.

Nothing here decides anything. `rules.py` folds these events; `at` is an instant as text:

- Its life: `created` (room: the fields of `Room`), `mode` (mode), `joined` (id, member), `left`
  (id), `tied` (channel, read, posted, signalled), `completed` (summary), `filed` (minutes).
- Messages: `said` (the fields of `Message` without id), `amended` (id, content), `noted`
  (splices), `kept` (file, why).
- Turns: `began` (agent, runId), `ended` (agent, runId, empty, tail, anchor, until),
  `missed` (agent, code, words: a pass, or a text that has not arrived), `floor` (agent),
  `cycle` (reason, turnState, speakers, queue, repeats), `dormant` (the same without queue),
  `turned` (turnState). All have `at`.
- Of runs: see `runs/work.py`.
"""

from __future__ import annotations

from council.agents.settings import Channels
from council.kernel.record import Any, Record
from council.runs.work import Runs

Event = dict[str, Any]
NONE, CHAT, REPORT, WORK, DISCUSSION = "none", "chat", "report", "work", "discussion"
FREE = (NONE, CHAT, REPORT)  # modes that can be changed
DISCORD = "COUNCIL_DISCORD_TOKEN"  # the variable with the token of the bot
DISABLED, DEAD, NORMAL, SHUFFLE, ARCHIVED = "disabled", "dead", "normal", "shuffle", "archived"
MODERATOR, NO_REPLY = "moderator", "NO_REPLY"
KEPT, SHOWN = 200, 50  # newest messages in the state, and on the page
FIELDS = ("id", "at", "author", "agent_id", "kind", "origin")  # of each message that is shown


class Member(Record, settled=True):
    """Who is in the room; a person has no `agent_id`."""

    agent_id: str | None = None
    name: str = ""
    emoji: str = ""


class Message(Record, settled=True):
    """What was said; its id is its number."""

    id: int
    at: str
    author: str
    content: str
    agent_id: str | None = None
    kind: str = "message"  # or what the moderator posts: guide, reminder, auto, summary
    run_id: str = ""
    origin: str = "claimed"  # verified (said by a run), edited (on the page), discord
    asks: str = ""  # the agent that it addresses at its beginning
    foreign: str = ""  # its id on Discord
    key: str = ""


class Turn(Record, settled=True):
    """How a turn of this cycle ended; `heard` is the newest message when it began."""

    agent: str
    empty: bool
    heard: int = 0


class Room(Record):
    """The state; in turns and cycles the words are those of document 001."""

    rev: int = 0
    mark: str = ""
    channel_id: str = ""
    name: str = ""
    mode: str = NONE
    lang: str = "en"
    created_at: str = ""
    updated_at: str = ""
    rules: Channels = Channels()  # those of `council.toml` when the room was made
    backoff: list[int] = [10, 60]  # seconds after which failed runs are tried again, likewise
    members: dict[str, Member] = {}
    messages: list[Message] = []  # the newest
    count: int = 0  # of all messages
    turn_state: str = DISABLED
    current_speaker: str | None = None
    speakers: list[str] = []
    queue: list[str] = []  # who has yet to speak in this cycle
    cycle: int = 0
    turn: int = 0  # how often the floor was given; runs are numbered by it
    turn_at: str | None = None  # since when the speaker is waited for; None before the first word
    began_at: str | None = None
    run_id: str = ""
    is_over: bool = False  # the speaker's turn has ended
    anchor: int = 0  # the newest message when the turn began
    results: list[Turn] = []  # of this cycle
    tail: str = ""  # of the text of a real turn that has yet to arrive
    tail_until: str = ""  # after that it is waited for no longer
    dormant_at: str | None = None
    stirred: str = ""  # why a new cycle is to begin: woken, interrupted
    calmed: str = ""  # the guard that put it to sleep: only a person wakes it
    cycles_alone: int = 0  # without a person's word
    repeats: int = 0  # cycles in a row that only repeat
    ended_runs: list[str] = []
    initiator: str = ""  # of a discussion, as what follows
    by_agent: bool = False  # it can be asked for the summary
    guide: str = ""
    callback: str = ""  # the room that is told of the result
    completed_at: str = ""
    summary: str = ""  # its path, and that of the minutes
    minutes: str = ""
    channel: str = ""  # of Discord that it is
    read: str = "0"  # the message that was read there last
    posted: int = 0  # the newest message that was put there
    signalled: int = 0  # the turn that was shown there last
    notes: list[str] = []
    kept_aside: list[str] = []
    runs: Runs = Runs()

    def agents(self) -> list[str]:
        """Return the agents among the members, in the order of their joining."""
        return [ident for ident, one in self.members.items() if one.agent_id]
