"""The four rules of the relay: a master answers them from its rooms, a slave asks its master.

Several workspaces can share rooms: one of them, the master, keeps them, with all accounts, and does
whatever the moderator does. A slave keeps nothing of them. Before a turn of one of its agents it
asks whether that may speak, after it it tells that it is over. A master that does not answer lets
no one speak.

The master believes who has its token: which agent it is that asks, and what it said.

Source: DG-151 to DG-161, A-28.
"""

from __future__ import annotations

import json

from council.core import errors
from council.core.errors import CouncilError, MasterUnreachableError, NotFoundError
from council.core.ids import checked_name
from council.core.plain_text import excerpt, plain_line
from council.core.reading import Reader
from council.core.reading_answers.cleaning import is_pass
from council.core.record import Any, Record, json_form
from council.core.rooms import floor, relay
from council.core.rooms.identities import Identity
from council.core.rooms.relay import Allowed, ChannelState, Completed
from council.operations.place import Place
from council.operations.rooms import rooms, turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Answer = TypeVar("_Answer", bound=Record)

_PATH = "/api/council/relay"
_MOST_BYTES = 64 * 1024
_MOST_SAID_CHARS = 200
# A hook that asks holds up an agent, and may take silence for a yes after 8 seconds.
_BEGIN_S = 5.0
# At the end of a turn the master may wait for its text: the patience of rooms, and a while.
_WHILE_S = 15.0
_REFUSALS = (
    *(errors.UsageError, errors.InvalidInputError, errors.RefusedError),
    *(errors.NotFoundError, errors.ConflictError),
)


def check_turn(
    place: Place, channel_id: str, agent: str, run: str = "", *, here: bool = False
) -> Allowed:
    """Answer whether an agent may speak in a channel; its turn begins with it (DG-156, DG-161).

    Args:
        place: The workspace.
        channel_id: Which channel.
        agent: Who is about to speak.
        run: The id of the run, "" if there is none.
        here: Whether a slave refuses instead of asking its master, as in all rules.

    Raises:
        RefusedError: The workspace is a slave and is to answer itself, or trust is strict.
        CouncilError: The channel cannot be read or written here.
    """
    if not _asks(place, here):
        return relay.allowed(turns.begin(place, channel_id, checked_name(agent, "agent id"), run))
    given = {"channelId": channel_id, "agentId": agent, "runId": run}
    try:
        return _asked(place, "POST check-turn", given, Allowed, _BEGIN_S)
    except CouncilError as error:  # a hook that was answered nothing would let the agent speak
        away, model = isinstance(error, MasterUnreachableError), rooms.rules_of(place).silent_model
        reason = relay.UNREACHABLE if away else "refused"
        return Allowed(allowed=False, model=model, reason=reason, hint=error.message)


def turn_complete(
    place: Place,
    channel_id: str,
    agent: str,
    run: str,
    told: floor.Report,
    *,
    text: str = "",
    here: bool = False,
) -> Completed:
    """Say that the turn of an agent is over, for a room that may lie elsewhere (DG-157, DG-160).

    Args:
        place: The workspace.
        channel_id: Which channel.
        agent: Whose turn.
        run: The id of the run; the same one ends a turn once.
        told: Whether it was a pass, and by what the master knows that its text has arrived.
        text: Is posted for the agent, unless it lies in the channel already; "" for nothing.
        here: As for `check_turn`.

    Raises:
        MasterUnreachableError: It does not answer; saying it again does no harm.
        CouncilError: The channel cannot be read or written.
    """
    if not _asks(place, here):
        words = text if text and not told.empty else told
        who = checked_name(agent, "agent id")
        return relay.completed(turns.end(place, channel_id, who, run, words, post=bool(text)))
    given = {"channelId": channel_id, "agentId": agent, "runId": run, "isEmpty": told.empty}
    given |= told.as_json("tail~ anchor~") | ({"text": text} if text else {})
    limit_s = rooms.rules_of(place).patience.total_seconds() + _WHILE_S
    return _asked(place, "POST turn-complete", given, Completed, limit_s)


def told_of(place: Place, text: str, anchor: int) -> floor.Report:
    """Return what a slave tells of a final text (DG-160)."""
    is_empty, tail = is_pass(text), floor.tail_of(text, rooms.rules_of(place).tail_chars)
    return floor.Report(empty=is_empty, tail="" if is_empty else tail, anchor=anchor)


def get_identity(place: Place, account: str, *, here: bool = False) -> Identity:
    """Return the entry of an account in the identity registry (DG-158).

    Raises:
        NotFoundError: The account is no agent's.
        MasterUnreachableError: The master does not answer.
        CouncilError: The registry cannot be read.
    """
    if _asks(place, here):
        given = {"discordUserId": account}
        return _asked(place, "GET get-identity", given, Identity, _BEGIN_S)
    from council.store.rooms import identities

    found = identities.load(place.paths).of_account(account)
    if found is None:
        raise NotFoundError(
            f"no agent has the account {excerpt(account, 60)}", "see: council agent list"
        )
    return found


def get_channel_state(place: Place, channel_id: str, *, here: bool = False) -> ChannelState:
    """Return the mode of a channel, the state of its turns, and who has the floor (DG-159).

    Raises:
        MasterUnreachableError: The master does not answer.
        CouncilError: The channel cannot be read.
    """
    if _asks(place, here):
        given = {"channelId": channel_id}
        return _asked(place, "GET get-channel-state", given, ChannelState, _BEGIN_S)
    from council.operations.rooms.showing import standing

    channel = standing(place, channel_id).channel
    return ChannelState(mode=str(channel.mode), state=str(channel.state), speaker=channel.speaker)


# --- Asking the master


def _asks(place: Place, here: bool) -> bool:
    """Return true if the master is to be asked, which no answer to a slave does."""
    if here:
        place.refuse_on_slave()
    return place.is_slave


def _asked(
    place: Place, rule: str, given: dict[str, Any], kind: type[_Answer], limit_s: float
) -> _Answer:
    """Return what the master answers to a rule.

    Raises:
        MasterUnreachableError: It does not answer, or nothing that is an answer.
        CouncilError: It refuses, as it does where it is asked by a command.
    """
    from urllib.parse import urlencode  # a master asks no one

    from council.drivers.environment import masked
    from council.drivers.http_calls import http_call
    from council.store.files import json_object

    method, _, name = rule.partition(" ")
    master, token_env = place.settings.relay.url, place.settings.relay.token_env
    token = place.environ.get(token_env, "").strip()
    if not (token and token.isascii() and token.isprintable()):
        raise MasterUnreachableError(master, f"the variable {token_env} holds no token")
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    url, body = f"{master.rstrip('/')}{_PATH}/{name}", None
    if method == "GET":
        url += f"?{urlencode(given, errors='replace')}"
    else:
        body = json.dumps(given).encode()
    try:
        reply = http_call(method, url, headers, body, limit_s=limit_s, most_bytes=_MOST_BYTES)
        content = masked(reply.content.decode("utf-8", "replace"), (token,))
        told = json_object(content.encode()) or {}
        if reply.status == 200:
            needed = [key for name, key in json_form(kind)[0] if name in kind._required]
            if not told.keys() >= set(needed):
                raise OSError(f"its answer is not one of council, without {needed[0]}")
            return Reader(told, "its answer").make(kind)
    except (OSError, errors.InvalidStateError) as error:
        why = getattr(error, "strerror", "") or error
        raise MasterUnreachableError(master, _said(why)) from None
    for refusal in _REFUSALS:
        if refusal.http_status == reply.status and told.keys() >= {"code", "detail"}:
            what = f"the master at {master} answered: {_said(told['detail'])}"
            raise refusal(what, _said(told.get("hint") or ""))
    is_refused = reply.status == 401
    how = f"does not take the token that {token_env} holds" if is_refused else "answered"
    raise MasterUnreachableError(master, f"it {how} (HTTP {reply.status})")


def _said(words: object) -> str:
    return excerpt(plain_line(str(words)), _MOST_SAID_CHARS)
