"""The commands of the relay: a slave asks its master by them, and a master answers.

Options are called as document 001 names the fields of its rules, so that HTTP has these names.

Source: DG-154, DG-156 to DG-160.
"""

from __future__ import annotations

from council.commands.output import Output
from council.commands.turns import run_of, told_of_begin, told_of_end
from council.core.plain_text import plain_line
from council.core.record import Any
from council.core.rooms.floor import Report
from council.operations.place import Place
from council.operations.rooms import relaying


def relay_check_turn(place: Place, here: bool, values: dict[str, Any]) -> Output:
    """Ask whether an agent may speak in a channel now."""
    channel, agent = values["channelId"], values["agentId"]
    run = run_of(place, channel, values["runId"])
    return told_of_begin(agent, relaying.check_turn(place, channel, agent, run, here=here))


def relay_turn_complete(
    place: Place, text: str, tail: str, anchor: int | None, here: bool, values: dict[str, Any]
) -> Output:
    """Say that the turn of an agent is over."""
    channel, agent = values["channelId"], values["agentId"]
    run = run_of(place, channel, values["runId"])
    told = Report(empty=values["isEmpty"], tail=tail, anchor=anchor or 0)
    done = relaying.turn_complete(place, channel, agent, run, told, text=text, here=here)
    return told_of_end(agent, done)


def relay_get_identity(place: Place, here: bool, values: dict[str, Any]) -> Output:
    """Print the entry of an account in the identity registry."""
    found = relaying.get_identity(place, values["discordUserId"], here=here)
    return Output(record=found, text=plain_line(f"{found.account}: {found.agent} ({found.name})"))


def relay_get_channel_state(place: Place, here: bool, values: dict[str, Any]) -> Output:
    """Print the mode of a channel, the state of its turns, and who has the floor."""
    channel = values["channelId"]
    found = relaying.get_channel_state(place, channel, here=here)
    said = f"{channel}: {found.mode}, turns {found.state}; floor: {found.speaker or 'nobody'}"
    return Output(record=found, text=plain_line(said))
