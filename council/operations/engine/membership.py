"""Coming into an engine and leaving it; what is known of it and of who else is there.

Source: EN-002, EN-008, `trust.md`.
"""

from __future__ import annotations

import time
import tomllib
from contextlib import closing

from council.core.agents import is_engine_url
from council.core.errors import (
    ConflictError,
    CouncilError,
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    UnreachableError,
)
from council.core.ids import slug
from council.core.record import Any, Record
from council.operations.engine import replica
from council.operations.engine.living import MACHINES, known_machines, mark_of, runs_of, take_leave
from council.operations.engine.outgoing import refused, waiting
from council.operations.engine.pulled import read_pulled
from council.operations.place import Place
from council.store import files
from council.store.engine import logs, shared_files
from council.store.engine.joined import machine_name
from council.store.keys import KEY_NAME, run_key
from council.store.settings import EngineSettings
from council.store.settings_file import add_tables


class Joined(Record):
    """What became of `init`, `join` or `rebuild`; `left` are streams that could not be brought."""

    url: str
    machine: str
    left: dict[str, str] = {}


class Standing(Record):
    """What `engine status` shows.

    Args:
        url: Where the database is.
        machine: What this one is called.
        reached: Whether the database answers.
        why: Why it does not, or is of no use, "" if it does.
        fix: What to do about that.
        machines: The others and this one, with the seconds since each was seen.
        runs: The agents that each machine can run, by the machine.
        behind: How many streams may differ between it and here.
        left: Streams that could not be brought, with the reason.
        linked: Whether `council link` runs here.
        age_s: How old the replica is, None if it was never brought.
        asynchronous: Whether a standby may lack what the primary has acknowledged.
        kept: How many answers and messages wait here to be sent.
        refused: How many that waited were refused.
    """

    url: str
    machine: str
    reached: bool = False
    why: str = ""
    fix: str = ""
    machines: list[list[Any]] = []
    runs: dict[str, list[str]] = {}
    behind: int = 0
    left: dict[str, str] = {}
    linked: bool = False
    age_s: float | None = None
    asynchronous: bool = False
    kept: int = 0
    refused: int = 0


def begin(place: Place, url: str, machine: str, schema: str, role: str) -> Joined:
    """Make an engine of a database and put into it what the workspace has.

    Raises:
        ConflictError: The workspace has joined one, or there is a council in the database.
        CouncilError: The database refuses, or is not reached.
    """
    from council.store.engine import postgres
    from council.store.engine import schema as tables
    from council.store.engine.connection import connected

    said = _checked(place, url, machine, schema)
    with connected(said) as connection:
        if tables.version(connection, said["schema"]):
            raise ConflictError(
                f"the database has a council already, in its schema {said['schema']!r}",
                f"take part in it: council engine join {url}; or choose another --schema",
            )
        with connection.transaction():  # without the role there are no tables either
            tables.migrate(connection, said["schema"])
            if role:
                tables.enrol(connection, said["schema"], role)
    key = run_key(place.paths)
    with closing(postgres.Session(said)) as session:
        session.claim(KEY_NAME, key.hex())
    return _joined(place, said)


def join(place: Place, url: str, machine: str, schema: str) -> Joined:
    """Take part in an engine, with all that the workspace has.

    Raises:
        ConflictError: The workspace has joined one, or another machine bears that name, or
            an open conversation has the name of one there.
        CouncilError: The database refuses, or is not reached.
    """
    from council.store.engine import postgres

    said = _checked(place, url, machine, schema)
    with closing(postgres.Session(said)) as session:
        known = session.names(MACHINES)
        own = mark_of(place.paths)
        if known.get(MACHINES + said["machine"], own) != own:
            raise ConflictError(
                f"a machine called {said['machine']!r} has joined from elsewhere",
                "choose another name: --machine NAME",
            )
        key = session.claim(KEY_NAME, run_key(place.paths).hex())
        replica.refuse_taken_names(place, session)
    files.replace(place.paths.key, f"{key}\n".encode(), mode=0o600)
    return _joined(place, said)


def leave(place: Place) -> str:
    """Let a workspace go on alone with what it has; return the URL of the engine it has left.

    Raises:
        NotFoundError: It has joined none, or its settings say so in another form than as a table.
        UnreachableError: The database is not reached: what waits to be sent would be lost.
    """
    engine = replica.engine_of(place)
    _settings_without(place)  # refused now, or not at all
    try:
        replica.catch_up(place)
    except UnreachableError as error:
        raise UnreachableError(
            engine.config.url,
            error.why,
            "what others did since is not here; to leave it all the same, take [engine] out of"
            " council.toml",
        ) from None
    take_leave(place, engine)
    engine.close()
    shared_files.forget(engine)
    files.replace(place.paths.settings, _settings_without(place))
    files.remove(place.paths.pulled)
    return engine.config.url


def migrate(place: Place) -> int:
    """Bring the tables of the engine to what this council knows; return how many steps it took.

    Raises:
        RefusedError: The role may not.
    """
    from council.store.engine import schema as tables
    from council.store.engine.connection import connected

    engine = replica.engine_of(place)
    with connected(engine.said) as connection:
        return tables.migrate(connection, engine.config.schema)


def rebuild(place: Place, *, database: bool) -> Joined:
    """Fill the replica from the database anew, or an empty database from the replica.

    Raises:
        CouncilError: The database refuses, or is not reached.
    """
    engine = replica.engine_of(place)
    if database:
        migrate(place)
        engine.session.claim(KEY_NAME, run_key(place.paths).hex())
        logs.exchange(engine, is_anew=True)
        left = replica.push_all(place)
        replica.catch_up(place)
        left.update(read_pulled(place).left)
    else:
        name = MACHINES + engine.machine
        before = engine.session.names(name).get(name, "")
        own = [[name, mark_of(place.paths)]]
        engine.session.commit("", [], claims=own, freed=[[name, before]])
        logs.exchange(engine, is_anew=True)
        files.remove(place.paths.pulled)
        shared_files.forget(engine)
        replica.catch_up(place)
        left = read_pulled(place).left
    return Joined(url=engine.config.url, machine=engine.machine, left=left)


def standing(place: Place) -> Standing:
    """Return how a workspace stands with its engine; a database that is away is no error.

    Raises:
        NotFoundError: It has joined none.
    """
    from council.store.engine import sessions

    engine = replica.engine_of(place)
    pulled = read_pulled(place)
    age = max(0.0, time.time() - pulled.at) if pulled.at else None
    found = Standing(url=engine.config.url, machine=engine.machine, left=pulled.left, age_s=age)
    found.linked = sessions.is_linked(engine.control)
    found.kept, found.refused = len(waiting(place)), len(refused(place))
    try:
        known = known_machines(place, engine)
        # One that has left was seen as well.
        found.machines = [one for one in engine.session.machines() if MACHINES + one[0] in known]
        found.runs = runs_of(known)
        found.behind = len(replica.news(place, pulled.since)[0])
        found.asynchronous = engine.session.asynchronous()
        found.reached = True
    except UnreachableError as error:
        found.why, found.fix = error.why, error.fix
    except CouncilError as error:
        found.why, found.fix = error.message, error.hint
    return found


def _checked(place: Place, url: str, machine: str, schema: str) -> dict[str, Any]:
    if place.settings.engine.url:
        raise ConflictError(
            f"this workspace has joined {place.settings.engine.url}", "first: council engine leave"
        )
    if not is_engine_url(url):
        raise InvalidInputError(
            "this is no URL of PostgreSQL without a password in it",
            "such as postgresql://council@db.example/council; the password comes from PGPASSWORD"
            " or ~/.pgpass",
        )
    name = slug(machine) if machine else machine_name(EngineSettings())
    return {"url": url, "machine": name, "schema": schema or EngineSettings().schema}


def _joined(place: Place, said: dict[str, Any]) -> Joined:
    add_tables(place.paths, {"engine": said})
    now = Place(place.root, place.environ, place.fixed_now)
    session = replica.engine_of(now).session
    session.claim(MACHINES + said["machine"], mark_of(place.paths))
    left = replica.push_all(now)
    replica.catch_up(now)
    left.update(read_pulled(now).left)
    return Joined(url=said["url"], machine=said["machine"], left=left)


def _settings_without(place: Place) -> bytes:
    """Return the settings without the table `[engine]`.

    Raises:
        InvalidStateError: They cannot be read now.
        NotFoundError: They have it in another form than as a table.
    """
    unread = place.settings.unread
    if unread is not None:
        raise InvalidStateError(f"nothing was changed: {unread.message}", unread.hint)
    standing = files.content_of(place.paths.settings).decode("utf-8-sig")
    kept, inside = [], False
    for line in standing.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = line.split("#")[0].strip() == "[engine]"
        if not inside or line.lstrip().startswith("#"):
            kept.append(line)
    after = "".join(kept).rstrip("\n") + "\n"
    if tomllib.loads(after).get("engine"):
        raise NotFoundError(
            "council.toml has its engine in a form that is not taken out",
            "take it out by hand, then: council engine status",
        )
    return after.encode()
