"""The replica of a workspace: what others committed is brought and shown, what is here is pushed.

Each kind of stream is brought by what works on it anyway: a session of its conversation or
its room is entered, which brings the lines, and settled, which shows them. So what a person
edited here meanwhile is merged in the same way as ever.

Source: EN-001, EN-003, EN-004, `store.md` section 9.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import timedelta
from math import inf

from council.core.errors import (
    ConflictError,
    CouncilError,
    NotFoundError,
    PurgedError,
    UnreachableError,
)
from council.core.record import Any
from council.core.times import render_duration
from council.operations.detach import wake_next
from council.operations.engine.living import tell_runs
from council.operations.engine.outgoing import waiting
from council.operations.engine.pulled import (
    Pulled,
    missed_at,
    note_missed,
    read_pulled,
    write_pulled,
)
from council.operations.place import Place
from council.store import files, notes, shared
from council.store.conversations import naming
from council.store.documents import journal
from council.store.documents.stored import lock_path
from council.store.engine import logs, shared_files
from council.store.engine.joined import Engine
from council.store.engine.streams import CONTEXT, CONVERSATION, FILE, PREFIX, ROOM, kind_of
from council.store.lock import SHARED_TIMEOUT_S, Lock
from council.store.paths import DEFAULT_NAME, record_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.conversations.session import Session as Conversation
    from council.store.engine.postgres import Session

# What one stream may raise in which something is that no council wrote.
_WRONG = (ValueError, TypeError, LookupError, AttributeError, OSError)
_TRY_AGAIN_S = 5.0
_SAYS_AGE_S = 30.0
_NOT_REACHED = "; the engine is not reached"
_LOCKS_S = 1.0


def catch_up(place: Place) -> bool:
    """Bring and show what others committed since the last time; return true if there was any.

    What cannot be brought stops nothing else: the mark says what it is and why.

    Raises:
        UnreachableError: The database is not reached.
    """
    engine = engine_of(place)
    before = read_pulled(place)
    streams, since = news(place, before.since)
    wanted = list(dict.fromkeys([*before.left, *streams]))
    by_hand = (place.paths.identities, place.paths.halt_mark)  # no command says when they change
    edited = [shared_files.stream_of(engine, path) for path in by_hand]
    left = _bring_all(place, [*wanted, *edited])
    is_logged = logs.exchange(engine)
    runs = tell_runs(place, engine)
    engine.offset_s = offset = engine.session.seen() - time.time()
    at = time.time()
    write_pulled(place, Pulled(offset=offset, since=since, at=at, left=left, runs=runs))
    return is_logged or any(one not in left for one in wanted)


def news(place: Place, since: str) -> tuple[list[str], str]:
    """Return the streams that are not here as the database has them, and where to go on from.

    Raises:
        UnreachableError: The database is not reached.
    """
    engine = engine_of(place)
    found = engine.session.heads(since)
    behind = [head[0] for head in found["heads"] if _is_news(engine, *head)]
    if found["anew"]:  # it may have been put back, and know nothing of what was begun since
        behind += [*_streams_here(place, engine), *_files_here(place, engine)]
    return behind, found["next"]


def freshen(place: Place, *, again: bool = False) -> None:
    """Bring a replica up to date; where the engine is not reached, a warning says how old it is.

    What is locked stays as it is here, and comes the next time.

    Args:
        place: The workspace.
        again: Whether to try an engine that was not reached a moment ago.
    """
    engine, began = engine_of(place), time.monotonic()
    now, at = time.time(), read_pulled(place).at
    try:
        place.begin_writing()
        if again or not 0 <= now - missed_at(place) < _TRY_AGAIN_S:
            _ = engine.session
            engine.locks_until = time.monotonic() + _LOCKS_S
            catch_up(place)
            if waiting(place):
                wake_next(place)
            return
    except UnreachableError as error:
        engine.rest(error)
        note_missed(place, now)
    except CouncilError as error:
        said = f"what other machines did may be missing: {error.message} ({error.hint})"
        place.warnings += [said] if said not in place.warnings else []
        return
    finally:
        engine.locks_until = inf
        engine.left_s = max(0.0, SHARED_TIMEOUT_S - (time.monotonic() - began))
    is_said = any(one.endswith(_NOT_REACHED) for one in place.warnings)
    if now - at > _SAYS_AGE_S and not is_said:
        age = render_duration(timedelta(seconds=now - at))
        when = f"as of {age} ago" if at else "as this machine knows it"
        place.warnings.append(f"{when}{_NOT_REACHED}")


def push_all(place: Place) -> dict[str, str]:
    """Bring everything that lies here in line with the database, which gets what it has not.

    Returns:
        The streams for which that failed, with the reason.

    Raises:
        ConflictError: An open name stands for another conversation there; nothing was pushed.
        UnreachableError: The database is not reached.
    """
    engine = engine_of(place)
    refuse_taken_names(place, engine.session)
    for name in place.conversations.names():  # one that was written by hand gets its journal
        with place.conversations.open(name, place.now()):
            pass
    return _bring_all(place, [*_streams_here(place, engine), *_files_here(place, engine)])


def refuse_taken_names(place: Place, session: Session) -> None:
    """Refuse to bring conversations together that have one name.

    Raises:
        ConflictError: An open conversation here has the name of another one there.
    """
    taken = session.names("open/")
    for name in place.conversations.names():
        known = naming.standing_of(place.paths, name)[0]
        if taken.get(f"open/{name}", known) != known:
            raise ConflictError(
                f"the engine has another open conversation that is named {name!r}",
                f"end the one here first: council stop --name {name}; council heartbeat",
            )


def engine_of(place: Place) -> Engine:
    """Return the engine that a workspace has joined.

    Raises:
        NotFoundError: It has joined none.
    """
    if place.engine is None:
        raise NotFoundError(
            "this workspace has joined no engine",
            "council engine init makes one, council engine join takes part in one",
        )
    return place.engine


def _streams_here(place: Place, engine: Engine) -> Iterable[str]:
    """Return what lies here and may be shared, by the names that the database has for it."""
    control, protocol = place.paths.control, place.paths.protocol
    for folder in (
        *(control, f"{control}/channels", f"{control}/delegation", f"{control}/delegation/traces"),
        *(protocol, f"{protocol}/contexts", f"{protocol}/contexts/closed"),
    ):
        for name in files.names_in(folder):
            if os.path.lexists(path := f"{folder}/{name}/{journal.FILE}"):
                yield engine.stream_of(path)
        for name in record_names(files.names_in(folder), (".jsonl",)):
            yield engine.stream_of(f"{folder}/{name}.jsonl")


def _files_here(place: Place, engine: Engine) -> Iterable[str]:
    """Return what lies here and is shared as a whole; the bytes of artifacts are put there."""
    from council.store.conversations import minutes
    from council.store.delegation import artifacts, briefs

    paths = place.paths
    found = [paths.identities, paths.halt_mark, f"{paths.protocol}/.told/next"]
    found += (one.path for one in briefs.briefs(paths))
    for path in filter(minutes.facts, minutes.minutes_files(paths)):
        found += (path, minutes.data_path(path))
    for wanted in artifacts.ids(paths):
        artifacts.put_shared(paths, wanted, artifacts.content_path(paths, wanted))
        found.append(artifacts.metadata_path(paths, wanted))
    return (shared_files.stream_of(engine, one) for one in found)


def _is_news(engine: Engine, *head: Any) -> bool:
    try:
        return _is_behind(engine, *head)
    except (CouncilError, *_WRONG):  # which is said when it is brought
        return True


def _is_behind(engine: Engine, stream: str, seq: int, purged: str, total: str | None) -> bool:
    """Return true unless a journal here ends with the line that is the last in the database.

    Nor is it behind a purge then, of which a file is that has no row any more.
    """
    path = engine.path_of(stream)
    if not path:
        return False
    if stream.startswith(PREFIX):
        is_gone = bool(purged) and total is None
        return shared_files.known(engine, path) != seq or (is_gone and os.path.lexists(path))
    if purged and stream.endswith(f"/{journal.FILE}") and not _has_followed(path, purged):
        return True
    closed = path.replace("/contexts/", "/contexts/closed/")
    for one in {path, closed}:
        if os.path.lexists(one) and one.endswith(".jsonl"):
            tail = journal.read_tail(one)
            return tail is None or (tail.head.get("seq"), tail.line.sum) != (seq, total)
    return True


def _has_followed(path: str, purged: str) -> bool:
    """Return true if what was purged of a conversation elsewhere is taken out here."""
    from council.store.engine.differing import purged_here

    left = files.paths_in(os.path.dirname(path), journal.BEFORE_PURGE)
    return purged_here(path) == purged and not left


def _bring_all(place: Place, streams: Iterable[str]) -> dict[str, str]:
    """Bring streams; return those that could not be, with the reason."""
    # What was purged is found by what describes it, which lies among the files.
    left = dict.fromkeys(sorted(streams, key=lambda one: one.startswith(PREFIX)), "")
    for _ in range(2):  # a name may be free only when another conversation was brought to its end
        for stream in list(left):
            try:
                try:
                    _bring(place, stream)
                except PurgedError:
                    from council.operations.forget import follow

                    follow(place, stream)
                del left[stream]
            except UnreachableError:
                raise
            except CouncilError as error:
                left[stream] = error.message
            except _WRONG as error:
                left[stream] = f"it cannot be brought: {type(error).__name__}: {error}"
    return left


def _bring(place: Place, stream: str) -> None:
    """Bring one stream, by what works on its kind."""
    (kind, owner), engine = kind_of(stream), engine_of(place)
    path = engine.path_of(stream)
    if not path:
        return
    if kind == FILE:
        shared.bring(path)
    elif kind == CONVERSATION:
        _bring_conversation(place, owner)
    elif kind == ROOM:
        _bring_room(place, owner)
    elif kind == CONTEXT:
        from council.store.protocol.contexts import Contexts

        Contexts(place.paths).catch_up(owner)
    elif path == f"{place.paths.protocol}/{notes.REGISTRY}":
        from council.store.protocol import protocol_registry

        protocol_registry.catch_up(place.paths)
    else:
        files.make_folder(os.path.dirname(path))
        with Lock(lock_path(path)):
            engine.bring(path)


def _bring_conversation(place: Place, conversation_id: str) -> None:
    conversations, now = place.conversations, place.now()
    naming.prepare_control(place.paths)
    places = naming.Places(place.paths, DEFAULT_NAME, conversation_id)
    tail = journal.read_tail(places.journal)
    if tail is None:  # its name stands in the lines that are to be brought
        with conversations.session(DEFAULT_NAME, conversation_id, now) as session:
            tail = session.tail
        if tail is None:
            return
    name = str(tail.head["name"])
    with conversations.session(name, conversation_id, now) as session:
        if naming.is_closed(session.tail):
            from council.store.conversations import closing

            _follow_holes(session)
            closing.finish(session)
            return
        if naming.pointer_of(place.paths, name) != conversation_id and not naming.claim(
            place.paths, name, conversation_id
        ):
            raise ConflictError(f"{name!r} is another conversation here", "it is tried again")
        session.settle()
        _follow_holes(session)
        session.share_sealed()  # a machine that has their lines may have given those back


def _follow_holes(session: Conversation) -> None:
    """Take out everywhere here what was purged of a conversation elsewhere."""
    if files.paths_in(session.places.folder, journal.BEFORE_PURGE):
        from council.store.purging import entries

        entries.follow(session)


def _bring_room(place: Place, channel_id: str) -> None:
    from council.operations.rooms.rooms import channels
    from council.store.rooms.channel_places import ChannelPlaces

    places = ChannelPlaces(place.paths, channel_id)
    files.make_folder(places.folder)
    places.make()
    with Lock(places.lock):
        engine_of(place).bring(places.journal)
    if not place.is_slave and channels(place).exists(channel_id):
        with channels(place).open(channel_id, place.now()):
            pass
