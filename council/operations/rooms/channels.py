"""Channels as people and agents use them: made, changed, posted to, shown.

A name in a channel means an agent, by its id or an account, or a person.

Source: DG-031 to DG-041, DG-051 to DG-055, DG-062, DG-066, DG-101, DG-115, A-20, A-23.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from council.core.errors import ConflictError, CouncilError, InvalidInputError, RefusedError
from council.core.ids import NAME_MAX_CHARS, is_name, slug, text_digest
from council.core.reading_answers.cleaning import is_pass
from council.core.rooms import floor
from council.core.rooms.channels import Channel, ChannelStep, Member, Message, Mode
from council.core.rooms.identities import MODERATOR
from council.operations.place import Place, can_wait, is_shown_run
from council.operations.rooms import rooms
from council.store.rooms import identities
from council.store.rooms.channel_session import ChannelSession

CREATABLE = (Mode.CHAT, Mode.REPORT, Mode.WORK)
_NAME_MAX_CHARS = 100
_ACCOUNT_MAX_CHARS = 128


def channel_id_of(name: str) -> str:
    """Return the id of a channel with that name: the name itself where it is a legal one.

    Raises:
        InvalidInputError: The name is empty, too long or more than a line.
    """
    if not name.strip() or len(name) > _NAME_MAX_CHARS or not name.isprintable():
        raise InvalidInputError("not a name for a channel", "give one short line")
    return name if is_name(name) else slug(name, NAME_MAX_CHARS)


def create(
    place: Place, mode: str, name: str, members: Iterable[str], *, by: str = "", topic: str = ""
) -> Channel:
    """Make a chat, report or work channel; the same creation again changes nothing.

    Raises:
        ConflictError: Another channel has that name.
        InvalidInputError: Name or members are not legal.
    """
    now = place.now()
    channel = Channel(
        channel_id=channel_id_of(name),
        name=name,
        mode=Mode(mode),
        created_at=now,
        updated_at=now,
        created_by=by,
        topic=topic,
        members=members_of(place, members, now),
    )
    return make_once(place, floor.opened(channel, now, rules=rooms.rules_of(place)))


def make_once(place: Place, step: ChannelStep) -> Channel:
    """Make a channel, or find that the very same was made before.

    Raises:
        ConflictError: Another channel has that id.
    """
    wanted = step.channel
    try:
        return rooms.create(place, step)
    except ConflictError:
        standing = rooms.channels(place).see(wanted.channel_id).channel
        facts = ("name", "mode", "created_by", "topic")
        same = all(getattr(standing, one) == getattr(wanted, one) for one in facts)
        if same and list(standing.members) == list(wanted.members):
            return standing
        raise


def change_mode(place: Place, channel_id: str, mode: str) -> ChannelStep:
    """Set the mode of a channel; one that was never used is made by it.

    Raises:
        RefusedError: The mode is locked, or the moderator is no member.
        InvalidInputError: There is no such mode.
    """
    if mode not in tuple(Mode):
        raise InvalidInputError(f"no mode {mode!r}", "choose none, chat or report")
    if not rooms.channels(place).exists(channel_id):
        floor.change_mode(rooms.unknown(place, channel_id), Mode(mode), place.now())
        rooms.first_use(place, channel_id)

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        changed = floor.change_mode(step.channel, Mode(mode), session.now, rules=session.rules)
        return step.then(changed)

    return rooms.act(place, channel_id, rule)


@can_wait
def post(
    place: Place, channel_id: str, author: str, text: str, *, run: str = "", key: str = ""
) -> tuple[Message, ChannelStep]:
    """Post a message; who is woken by it follows from the mode and state of the channel.

    It holds once it is in the log. Where the room cannot be written after that, the
    message is posted all the same, `reason` says what hindered, and the next command
    or heartbeat takes notice of it.

    Args:
        place: The workspace.
        channel_id: Which channel; one that was never used is made by it.
        author: An agent or an account.
        text: What is said.
        run: The run that says it, "" for none; what it says twice is said once.
        key: Stands for this message where a caller may call again; else the id under which
            the command counts once does (OP-008).

    Raises:
        InvalidInputError: The text is empty, or cannot be kept, or it is an agent's word
            for silence.
        RefusedError: An agent that is no member posts, or nothing shows that it is
            that agent and trust is strict.
    """
    if not text.strip():
        raise InvalidInputError("there is nothing to post", "give a text")
    if "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise InvalidInputError("the text holds what is no character", "send plain UTF-8")
    now = place.now()
    rooms.first_use(place, channel_id)
    operation = place.operation(channel_id, author, run, text)
    known = key or (text_digest(f"{run}\n{author}\n{text}")[:16] if run else "")
    wanted = known or operation.id
    said: list[tuple[Message, str]] = []

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        one = _author(place, step.channel, author)
        if one.agent:
            rooms.check_shown(place, one.agent)
            if is_pass(text):  # it would wake others
                raise InvalidInputError(
                    f"{' '.join(text.split())} means that there is nothing to say, so it is not"
                    " posted",
                    "pass with: council turn end; to say no, write a sentence",
                )
        may_stand = known or operation.is_repeat
        before = session.find(wanted, one.account) if may_stand else None
        if before is not None:
            said.append((before, "already-posted"))
            return step.then(ChannelStep(channel=step.channel, outcome="already-posted"))
        message = Message(
            id=1,
            at=now,
            author=one.account,
            agent=one.agent,
            content=text,
            run=run,
            extra={"key": wanted} if wanted else {},
        )
        proving = one.agent and is_shown_run(place, one.agent)
        prove = rooms.prover(place, channel_id) if proving else None
        said.append((session.post(message, prove), "posted"))
        return step.then(ChannelStep(channel=step.channel, outcome="posted"))

    try:
        step = rooms.change(place, channel_id, now, rule, actor=author)
    except CouncilError as error:
        if not said:
            if isinstance(error, RefusedError | InvalidInputError):
                rooms.report_refusal(place, channel_id, author if is_name(author) else "", error)
            raise
        # Others may have read it already, and one asked to post it again says it twice.
        channel = rooms.look(place, channel_id, now).channel
        message, outcome = said[0]
        return message, ChannelStep(channel=channel, outcome=outcome, reason=error.message)
    rooms.rouse(place, step.channel)
    if step.channel.discord is not None and not place.is_in_run:
        from council.operations.detach import wake_next

        wake_next(place)  # which posts it on Discord
    return said[0][0], step


def _author(place: Place, channel: Channel, name: str) -> Member:
    """Return who posts: a member by account or agent id, or a person from outside.

    Raises:
        RefusedError: It is an agent that is no member here, or the moderator.
    """
    if name == MODERATOR:
        raise RefusedError(
            "the moderator speaks by itself and for nobody", "say with --as who speaks"
        )
    if name in channel.members:
        return channel.members[name]
    for one in channel.members.values():
        if one.agent == name:
            return one
    found = poster_of(place, name, place.now())
    if found.agent and channel.mode is not Mode.NONE:
        raise RefusedError(
            f"{name} is no member of {channel.name}",
            f"let it in with: council channel members add {channel.channel_id} {name}",
        )
    return found


def change_members(
    place: Place, channel_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> ChannelStep:
    """Let members in or take them out; the order of speaking follows at the next cycle.

    Raises:
        NotFoundError: There is no such channel.
        InvalidInputError: One to be removed is no member.
    """

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        now = session.now
        members = dict(step.channel.members)
        for name in add:
            one = member_of(place, name, now)
            members.setdefault(one.account, one)
        for name in remove:
            accounts = [key for key, one in members.items() if name in (key, one.agent)]
            if not accounts:
                raise InvalidInputError(
                    f"{name} is no member of {step.channel.name}",
                    f"members are: {', '.join(members)}",
                )
            for account in accounts:
                del members[account]
        if list(members) == list(step.channel.members):
            return step.then(ChannelStep(channel=step.channel, outcome="unchanged"))
        return step.then(floor.members_changed(step.channel, members, now, rules=session.rules))

    return rooms.act(place, channel_id, rule)


# --- Who is meant by a name


def member_of(place: Place, name: str, now: datetime) -> Member:
    """Return the member that a name stands for.

    Raises:
        InvalidInputError: It can be no one's.
        InvalidStateError: The identity registry is broken.
    """
    _check_account(name)
    if name == MODERATOR:
        return moderator(place, now)
    agent = identities.resolve(place.paths, place.settings, [name])[name]
    account = identities.account_of(place.paths, agent) if agent and agent == name else name
    return Member(account=account, agent=agent, joined_at=now)


def poster_of(place: Place, name: str, now: datetime) -> Member:
    """Return who posts under a name; a registry that is broken stops no one (DG-007).

    Without it agents are known by their ids and every other account is a
    person's, which the place is warned of. No one becomes a member by that.

    Raises:
        InvalidInputError: It can be no one's.
    """
    _check_account(name)
    try:
        return member_of(place, name, now)
    except CouncilError as error:
        place.warnings.append(f"{error.message}; accounts are taken for persons")
    agent = name if name in place.agents() else ""
    return Member(account=name, agent=agent, joined_at=now)


def _check_account(name: str) -> None:
    is_odd = any(not one.isprintable() or one == " " for one in name)
    if is_odd or not 0 < len(name) <= _ACCOUNT_MAX_CHARS:
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
