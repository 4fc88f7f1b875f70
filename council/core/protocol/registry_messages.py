"""Messages to the registry: who may carry them, which rule each one means.

`J`, `L`, `K`, `Q` and `H` are for the registry alone. In V4, which lacks the
first four, the words `JOIN`, `LEAVE` and `CAPS` at the head of DATA stand for
three of them, and so they do for members of a group.

Source: PR-454, PR-510, PR-515, PR-607, A-51, A-70.
"""

from __future__ import annotations

from datetime import datetime

from council.core.bounds import V5, ProtocolRules
from council.core.protocol import grouping, liveness
from council.core.protocol.messages import DATA_CHARS, Message
from council.core.protocol.protocol_ids import fits, is_filter, is_protocol_id, role_of
from council.core.protocol.registering import (
    ID_CONFLICT,
    capabilities_of,
    change_capabilities,
    is_handshake,
    join,
    joining_of,
    leave,
    shake_hands,
)
from council.core.protocol.registry import (
    HIGHEST_DEPTH,
    Entry,
    EntryStatus,
    Registry,
    RegistryStep,
    Reply,
    answer_to,
    number_after,
    refused,
    unknown,
)

ANSWERED = "answered"
KINDS = frozenset("JLKQH")
# In V4 a word at the head of DATA says what V5 says by the type.
_WORDS = {"JOIN": "J", "LEAVE": "L", "CAPS": "K"}
_CARRIED_BY = {"U": _WORDS, "B": {"JOIN": "J", "LEAVE": "L"}}
_BAD_FORM, _BAD_ROUTE = "E10", "E13"


def concerns_registry(message: Message) -> bool:
    """Return true if a message is one that `receive` answers."""
    return message.kind in KINDS or bool(_word_of(message))


def _word_of(message: Message) -> str:
    words = _CARRIED_BY.get(message.kind, {})
    return next((one for one in words if message.says(one)), "")


def receive(
    registry: Registry,
    message: Message,
    now: datetime,
    rules: ProtocolRules,
    *,
    agent: str = "",
    is_own: bool = False,
    speaks: str = V5,
) -> RegistryStep:
    """Do what a message asks of the registry.

    Args:
        registry: As it stands, informed.
        message: One that concerns it.
        now: The present instant.
        rules: What may be chosen.
        agent: The agent that sends it, where that is known.
        is_own: Whether the workspace knows that agent.
        speaks: The version in which the message arrived.
    """
    word = _word_of(message)
    if word and message.kind not in KINDS:
        done = grouping.from_members(registry, message)
        if done is not None:  # where it is refused, its sender is informed
            told = refused(registry, message, _BAD_FORM, done.reason, speaks=speaks)
            return told.copy(id=done.id) if done.reason else done
    kind = message.kind if message.kind in KINDS else _WORDS[word]
    about, wanted = _about(message), capabilities_of(message)
    if kind == "J":
        wish = joining_of(message, agent, is_own=is_own)
        if role_of(message.receiver) != "O":
            step = refused(registry, message, _BAD_ROUTE, "who joins asks an orchestrator")
        elif is_handshake(message):
            step = shake_hands(registry, message, rules)
        elif wish is not None:
            step = join(registry, wish, now, rules, message, speaks=speaks)
        else:
            reason = f"max_depth is a number from 1 to {HIGHEST_DEPTH + 1}"
            step = refused(registry, message, _BAD_FORM, reason, speaks=speaks)
        return step
    if kind == "Q":
        return query(registry, message)
    if about not in registry.entries:
        strange = refused(registry, message, _BAD_FORM, "id= names nobody")
        step = unknown(registry, message, about) if is_protocol_id(about) else strange
    elif kind == "H":
        return liveness.heard(registry, message, now, rules)
    elif kind == "L":
        step = leave(registry, about, message.pair("reason"), now, message)
    else:
        nothing = refused(registry, message, _BAD_FORM, "caps= is missing")
        changed = change_capabilities(registry, about, wanted or (), now, message)
        step = nothing if wanted is None else changed
    return step.copy(replies=[one.copy(version=speaks) for one in step.replies])


def _about(message: Message) -> str:
    """Return whom a message is about: its sender, or whom O1 names by `id=`."""
    named = message.pair("id")
    return named if named and role_of(message.sender) == "O" else message.sender


def chosen(registry: Registry, pattern: str = "*", status: str = "") -> list[Entry]:
    """Return who is registered and fits a filter, in the order of the ids.

    Args:
        registry: As it stands.
        pattern: `*`, a role such as `W*`, or one id.
        status: `active`, `unavailable` or `left`; "" for all that have not left.
    """
    if status == EntryStatus.LEFT:
        gone = [one for one in registry.entries.values() if not one.is_here]
        return [one for one in gone if fits(one.id, pattern)]
    return [one for one in registry.here() if fits(one.id, pattern) and status in ("", one.status)]


def query(registry: Registry, message: Message) -> RegistryStep:
    """Answer which agents there are; a list too long for one message comes in numbered parts."""
    pattern, status = message.pair("filter", "*"), message.pair("status")
    if not is_filter(pattern):
        return refused(registry, message, _BAD_FORM, f"filter={pattern[:20]} chooses nobody")
    if status and status not in tuple(EntryStatus):
        return refused(registry, message, _BAD_FORM, f"status={status[:20]} is none")
    ids = [one.id for one in chosen(registry, pattern, status)]
    parts = _parts(ids)
    replies: list[Reply] = []
    for number, part in enumerate(parts, start=1):
        pairs: dict[str, object] = {"agents": ",".join(part) or "-", "count": len(ids)}
        if len(parts) > 1:
            pairs["part"] = f"{number}/{len(parts)}"
        told = answer_to(message, "S", pairs=pairs, state="D")
        if replies:
            told = told.copy(number=number_after(replies[-1].message.number))
        replies.append(Reply(message=told))
    return registry.step(ANSWERED, message.sender, replies=replies)


def _parts(ids: list[str]) -> list[list[str]]:
    room = DATA_CHARS - len("agents=;count=999;part=99/99")
    parts: list[list[str]] = [[]]
    for one in ids:
        if len(",".join([*parts[-1], one])) > room:
            parts.append([])
        parts[-1].append(one)
    return parts


def is_conflict(message: Message) -> bool:
    """Return true if a message says that an id is taken; V4 has a code of its own for it."""
    return message.kind == "E" and message.pair("desc") == ID_CONFLICT
