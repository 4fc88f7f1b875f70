"""Who is meant by a name in a channel: an agent, by its id or an account, or a person.

Source: DG-051 to DG-053, DG-066, DG-115.
"""

from __future__ import annotations

from council.core.errors import CouncilError, InvalidInputError
from council.core.rooms.channels import Member
from council.core.rooms.identities import MODERATOR
from council.operations.place import Place
from council.store.agents import known_agents
from council.store.rooms import identities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_MOST_CHARS = 128


def member_of(place: Place, name: str, now: datetime) -> Member:
    """Return the member that a name stands for.

    Raises:
        InvalidInputError: It can be nobody's.
        InvalidStateError: The identity registry is broken.
    """
    _check_account(name)
    if name == MODERATOR:
        return moderator(place, now)
    agent = identities.resolve(place.paths, place.settings, [name])[name]
    account = identities.account_of(place.paths, agent) if agent and agent == name else name
    return Member(account=account, agent=agent, joined_at=now)


def poster_of(place: Place, name: str, now: datetime) -> Member:
    """Return who posts under a name; a registry that is broken stops nobody (DG-007).

    Without it agents are known by their ids and every other account is a
    person's, which the place is warned of. Nobody becomes a member by that.

    Raises:
        InvalidInputError: It can be nobody's.
    """
    _check_account(name)
    try:
        return member_of(place, name, now)
    except CouncilError as error:
        place.warnings.append(f"{error.message}; accounts are taken for persons")
    agent = name if name in known_agents(place.root, place.settings) else ""
    return Member(account=name, agent=agent, joined_at=now)


def _check_account(name: str) -> None:
    if (
        not name
        or len(name) > _MOST_CHARS
        or any(not one.isprintable() or one == " " for one in name)
    ):
        raise InvalidInputError(
            f"not an account: {name[:60]!r}", "give an agent id or an account without spaces"
        )


def moderator(place: Place, now: datetime) -> Member:
    """Return the moderator, who is in every channel that is made here (DG-051)."""
    return Member(account=MODERATOR, name=place.settings.coordinator, moderator=True, joined_at=now)


def members_of(place: Place, names: Iterable[str], now: datetime) -> dict[str, Member]:
    """Return the moderator and those named, by account."""
    found = {MODERATOR: moderator(place, now)}
    for name in names:
        one = member_of(place, name, now)
        found.setdefault(one.account, one)
    return found
