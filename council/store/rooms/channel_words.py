"""The words of a channel's document, in both languages; every reader knows both.

Source: A-20, DG-137, XC-012.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.rooms.channel_tasks import asked, tasks_of_turn
from council.core.rooms.channels import (
    TAKES_TURNS,
    Channel,
    Member,
    Mode,
    TurnState,
    is_concluded,
)
from council.core.times import render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

TITLES = {"en": "# Channel: ", "fr": "# Salon : "}
MEMBERS = {"en": "## Members", "fr": "## Membres"}
FACTS = {
    "en": {
        "mode": "- **Mode:** ",
        "topic": "- **Topic:** ",
        "floor": "- **Floor:** ",
        "turns": "- **Turns:** ",
        "cycle": "- **This cycle:** ",
    },
    "fr": {
        "mode": "- **Mode :** ",
        "topic": "- **Sujet :** ",
        "floor": "- **Parole :** ",
        "turns": "- **Tours :** ",
        "cycle": "- **Ce cycle :** ",
    },
}
_WORDS = {
    "en": {
        "moderator": "moderator",
        "person": "person",
        "agent": "agent",
        "closed": "nobody: this discussion is closed",
        "since": " since {at}",
        "calmed": "nobody{since}: {why}; a word from a person wakes the room",
        "asleep": "nobody{since}: all have had their turn; the next message wakes the room",
        "idle": "nobody{since}: all have had their turn; {who} is to complete the discussion",
        "awaited": "{who}, has spoken; its text is awaited until {until}",
        "speaking": "{who}, is speaking",
        "not begun": "{who}, has not begun",
        "then": "; then {next}",
        "repetition": "calmed, the agents only repeated themselves",
        "max-cycles": "calmed, the agents went on for too long without a person",
        "disabled": "free: turns are not taken here",
        "too few": "free: turns begin when an agent is here",
        "dead": "nobody: in a report channel agents only post and are not woken",
        "archived": "nobody: this channel is archived",
        "turns": "{state}; cycle {cycle}; order {order}",
        "passed": "{agent} passed",
        "spoke": "{agent} spoke",
        "none": "no turn has ended yet",
        "over": "it is over",
    },
    "fr": {
        "moderator": "modérateur",
        "person": "personne",
        "agent": "agent",
        "closed": "personne : cette discussion est close",
        "since": " depuis {at}",
        "calmed": "personne{since} : {why} ; un mot d'une personne réveille le salon",
        "asleep": "personne{since} : tous ont eu leur tour ; le prochain message réveille le salon",
        "idle": "personne{since} : tous ont eu leur tour ; {who} doit clore la discussion",
        "awaited": "{who}, a parlé ; son texte est attendu jusqu'à {until}",
        "speaking": "{who}, parle",
        "not begun": "{who}, n'a pas commencé",
        "then": " ; puis {next}",
        "repetition": "calmé, les agents ne faisaient que se répéter",
        "max-cycles": "calmé, les agents ont continué trop longtemps sans une personne",
        "disabled": "libre : ici on ne parle pas à tour de rôle",
        "too few": "libre : on parle à tour de rôle dès qu'un agent est là",
        "dead": "personne : dans un salon de rapport les agents publient et ne sont pas réveillés",
        "archived": "personne : ce salon est archivé",
        "turns": "{state} ; cycle {cycle} ; ordre {order}",
        "passed": "{agent} a passé",
        "spoke": "{agent} a parlé",
        "none": "aucun tour n'est terminé",
        "over": "il est fini",
    },
}
# What stands for the language where it is none of ours.
_USUAL = "en"


def known(lang: str) -> str:
    """Return the language whose words are used."""
    return lang if lang in _WORDS else _USUAL


def role_of(one: Member, lang: str = _USUAL) -> str:
    """Return what a member is, for people."""
    words = _WORDS[known(lang)]
    if one.moderator:
        return words["moderator"]
    if not one.agent:
        return words["person"]
    return words["agent"] if one.agent == one.account else f"{words['agent']} {one.agent}"


def floor_line(channel: Channel, lang: str = _USUAL) -> str:
    """Say who has the floor and why, in one line."""
    words = _WORDS[known(lang)]
    if is_concluded(channel):
        return words["closed"]
    if channel.state not in TAKES_TURNS:
        too_few = channel.state is TurnState.DISABLED and channel.mode in _WITH_TURNS
        return words["too few" if too_few else _WITHOUT_TURNS[channel.state]]
    if not channel.speaker:
        since = _since(channel.dormant_at, words)
        if channel.calmed:
            why = words.get(channel.calmed, channel.calmed)
            return words["calmed"].format(since=since, why=why)
        waiting = asked(channel)
        return words["idle" if waiting else "asleep"].format(since=since, who=waiting)
    who = f"{channel.speaker}{_since(channel.turn_at, words)}"
    if channel.delivery is not None:
        until = render_instant(channel.delivery.ends_at)
        return words["awaited"].format(who=who, until=until)
    runs = any(one.state is TaskState.R and one.ends_at for one in tasks_of_turn(channel))
    begun = runs or channel.began_at is not None
    said = words["speaking" if begun else "not begun"].format(who=who)
    following = next_speaker(channel)
    return said + words["then"].format(next=following) if following else said


_WITH_TURNS = (Mode.CHAT, Mode.DISCUSSION)
_WITHOUT_TURNS = {
    TurnState.DISABLED: "disabled",
    TurnState.DEAD: "dead",
    TurnState.ARCHIVED: "archived",
}


def _since(instant: datetime | None, words: dict[str, str]) -> str:
    return words["since"].format(at=render_instant(instant)) if instant is not None else ""


def next_speaker(channel: Channel) -> str:
    """Return who speaks next in this cycle, "" when the cycle ends with this turn."""
    if channel.speaker not in channel.speakers:
        return ""
    after = channel.speakers[channel.speakers.index(channel.speaker) + 1 :]
    here = {one.agent for one in channel.members.values()}
    return next((one for one in after if one in here), "")


def turns_line(channel: Channel, lang: str = _USUAL) -> str:
    """Say how turns are taken."""
    if channel.state not in TAKES_TURNS:
        return str(channel.state)
    order = ", ".join(channel.speakers) or "-"
    words = _WORDS[known(lang)]
    return words["turns"].format(state=channel.state, cycle=channel.cycle, order=order)


def cycle_line(channel: Channel, lang: str = _USUAL) -> str:
    """Say how the turns of this cycle ended."""
    words = _WORDS[known(lang)]
    ended = [
        words["passed" if one.empty else "spoke"].format(agent=one.agent) for one in channel.results
    ]
    return ", ".join(ended) or words["over" if channel.cycle and not channel.speaker else "none"]
