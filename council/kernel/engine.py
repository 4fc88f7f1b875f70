"""Many machines on one database: a log of changes, of which each machine has a copy in files.

The log has one row a change, in one order for all documents: a line of a journal, a document that
was closed, a file, words that were taken out. A change counts when its row is committed. It reaches
the files of a machine, its own included, by being fetched: whatever dies in between, the next
command fetches the rest, and what reads files knows nothing of other machines.

An append names the digest of the line before. Writers take turns by a lock inside their
transaction, so rows become visible in the order of their numbers. Where a row does not follow what
a machine has (damage, a power cut, lines that were changed), the whole journal is fetched anew.
"""

from __future__ import annotations

import glob
import os
import shutil
import socket
import time

from council.kernel import codec, files
from council.kernel.errors import Away, Conflict, Invalid, Refusal
from council.kernel.ids import digest
from council.kernel.journal import SEGMENT, Journal, Line, Moved, line_of, row_of
from council.kernel.postgres import Server
from council.kernel.record import Any

Row = tuple[str, str, str, bytes]  # place, kind, head (a digest, "" for none), data
BATCH = 64  # rows that are fetched at once, each of up to a text's size
_INSERT = """INSERT INTO council.log (seq, place, kind, head, data, machine)
    SELECT coalesce(max(seq), 0) + 1, %s, %s, %s, %s, %s FROM council.log"""
_NEWS = """SELECT seq, place, kind, head, data FROM council.log
    WHERE seq >= %s ORDER BY seq LIMIT %s"""
_FILE = """INSERT INTO council.files VALUES (%s, %s, %s)
    ON CONFLICT (place, digest) DO UPDATE SET place = excluded.place RETURNING 1"""
_HEAD = """SELECT coalesce((SELECT head FROM council.log
    WHERE place = %s ORDER BY seq DESC LIMIT 1), '')"""
_LINES = """SELECT data FROM council.log
    WHERE place = %s AND kind = 'line' AND data <> '' ORDER BY seq"""
_STATE = "/memory/shared/.council"
_OF_A_MACHINE = ("memory/shared/.council/runs/", "memory/agents/")
_ENGINES: dict[tuple[Any, ...], Engine] = {}  # by process, too: a fork connects anew


def engine_of(state: str, facts: dict[str, Any]) -> Engine:
    """Return the engine of a `.council` folder, whose connection this process keeps."""
    key = state, os.getpid(), facts.get("url"), facts.get("machine")
    if key not in _ENGINES:
        if not facts.get("ready"):
            what = "connecting this workspace with its engine is under way, or was interrupted"
            raise Conflict("not-joined", what, "wait, or run council engine join URL again")
        _ENGINES[key] = Engine(state, Server(facts["url"]), facts["machine"])
    return _ENGINES[key]


class Engine:
    """What a workspace has of its engine: the server, and how far its files are.

    All methods raise Away where the server is not available.
    """

    def __init__(self, state: str, server: Server, machine: int) -> None:
        self.state, self.server, self.machine = state, server, machine
        self.root = state.removesuffix(_STATE)

    # Receiving

    def _at(self) -> tuple[int, str]:
        """Return number and head of the row that the files are at; (0, "") begins anew."""
        found = files.read(f"{self.state}/engine.at")
        number, _, head = (found[0] if found else b"").decode("utf-8", "replace").partition(" ")
        return (int(number), head) if number.isdecimal() else (0, "")

    def fetch(self) -> None:
        """Bring the files up to date; Conflict if they are no copy of this database."""
        while True:
            at, head = self._at()
            rows = self.server.ask(_NEWS, at, BATCH)
            if at and (not rows or rows[0][0] != at or rows[0][3] != head):
                what = f"{self.server.name} lacks what this machine has received from it"
                hint = "restore a newer backup of the database, or continue alone"
                raise Conflict("engine-parted", what, f"{hint}: council engine leave")
            if not rows[bool(at) :]:
                return
            with files.Lock(f"{self.state}/engine.lock"):
                self._receive(rows)

    def _receive(self, rows: list[Any]) -> None:
        at, journals, anew = self._at()[0], dict[str, Journal](), set[str]()
        for seq, place, kind, head, data in rows:
            if seq != at + 1:
                continue  # another process has received it
            if ".." in place.split("/"):
                raise Invalid("bad-place", f"{self.server.name} names a file {place[:80]!r}")
            path = f"{self.root}{place}" if place[0] == "/" else f"{self.state}/{place}"
            if kind == "file":
                self._receive_file(place, path, head, data.decode())
            elif place[0] == "/":
                files.remove(path)
            elif kind == "closed":
                self._close(path, **codec.loads(data))
                self._whole(place)
            elif kind == "gone" and not self._whole(place):
                shutil.rmtree(path, ignore_errors=True)
            elif place not in anew and not (
                kind == "line" and _follows(journals.setdefault(place, Journal(path)), path, data)
            ):
                anew.add(place)
                self._whole(place)
            at = seq
            files.replace(f"{self.state}/engine.at", f"{seq} {head}".encode(), 0o600)

    def mend(self, place: str) -> None:
        """Bring the files up to date, also those of a journal that is not what was received.

        A journal that the database does not have is put aside: the database counts.
        """
        self.fetch()
        with files.Lock(f"{self.state}/engine.lock"):
            is_known = self._whole(place)
        self.fetch()  # it may have been closed since
        if not is_known and Journal(f"{self.state}/{place}").is_begun():
            _put_aside(self.state, f"{self.state}/{place}")

    def _whole(self, place: str) -> bool:
        """Make a journal what the database has of it; return False where that is nothing."""
        rows = [data for (data,) in self.server.ask(_LINES, place)]
        if rows:
            os.makedirs(f"{self.state}/{place}", exist_ok=True)
            Journal(f"{self.state}/{place}").restore(rows)
        return bool(rows)

    def _receive_file(self, place: str, path: str, head: str, before: str) -> None:
        query = "SELECT data FROM council.files WHERE place = %s AND digest = %s"
        found = files.read(path)
        own = digest(found[0]) if found else before
        if own == head or not (rows := self.server.ask(query, place, head)):
            return  # it is there, or a later row replaces it
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if own != before:  # it was changed here by hand
            _put_aside(self.state, path)
        files.replace(path, rows[0][0], durable=True, by=f"{self.state}/engine.new")

    def _close(self, target: str, place: str, page: str, first: str) -> None:
        """Move a folder as its document was closed; a page with other words is kept in it.

        Nothing happens if its name was given anew: the first line is another one.
        """
        folder = f"{self.state}/{place}"
        journal, page = Journal(folder), page and f"{self.root}/{page}"
        try:
            own = next(journal.raws(), ("",))[0]
        except Invalid:
            own = first  # damaged: the whole of it is fetched anew
        if own != first:
            return
        seen = files.read(page) if page else None
        if seen and not journal.find("page", digest(seen[0])):  # not made by us
            os.makedirs(f"{folder}/conflicts", exist_ok=True)
            os.rename(page, f"{folder}/conflicts/{digest(seen[0])[:16]}.md")
        elif seen:
            files.remove(page)
        shutil.rmtree(target, ignore_errors=True)  # made of rows that came before this one
        journal.move(target, "")

    # Sending

    def commit(self, row: Row, of: str, last: str | None, changes: Any = ()) -> None:
        """Add a row, and make changes (statement and values), if `last` is the head of a place.

        Else the copy of the place is brought up to date: Moved. With None it is done in any case.
        """

        def act(cursor: Any, again: bool) -> None:
            if last is None or cursor.execute(_HEAD, (of,)).fetchone()[0] == last:
                for change in changes:
                    cursor.execute(*change)
                cursor.execute(_INSERT, (*row, self.machine))
                return
            query = "SELECT 1 FROM council.log WHERE place = %s AND kind = %s AND head = %s"
            if not again or not cursor.execute(query, row[:3]).fetchone():
                raise Moved

        try:
            self.server.write(act)
        except Moved:
            self.mend(of)
            raise
        self.fetch()

    def put(self, place: str, data: bytes, replace: bool) -> bool | None:
        """See `shared.put`."""
        new = digest(data)
        while True:
            [(before,)] = self.server.ask(_HEAD, place)
            if before == new or (before and not replace):
                self.fetch()
                return None if before == new else False
            self.server.ask(_FILE, place, new, data)
            others = "DELETE FROM council.files WHERE place = %s AND digest <> %s", (place, new)
            try:
                self.commit((place, "file", new, before.encode()), place, before, [others])
            except Moved:
                continue
            return True

    def erase(self, paths: list[str]) -> None:
        """See `shared.erase`; their words leave the database, too."""
        below = "memory/shared/.council/"
        for path in [path for path in paths if not path.startswith(_OF_A_MACHINE)]:
            place = path.removeprefix(below) if path.startswith(below) else f"/{path}"
            lines = "UPDATE council.log SET data = '' WHERE kind = 'line' AND place = %s"
            words = [(lines, (place,)), ("DELETE FROM council.files WHERE place = %s", (place,))]
            self.commit((place, "gone", "", b""), place, None, words)


def _follows(journal: Journal, folder: str, data: bytes) -> bool:
    """Add a line to a copy; return False where it does not follow what is there."""
    try:
        line = line_of(data)
        if not journal.last:
            journal.read()
        os.makedirs(folder, exist_ok=True)
        journal.append(line, data)
    except (Invalid, Moved):
        return False
    return True


class SharedJournal(Journal):
    """A journal in the log of an engine, and its copy in files, which is brought up to date."""

    def __init__(self, engine: Engine, place: str) -> None:
        super().__init__(f"{engine.state}/{place}")
        self._engine, self._place = engine, place

    def fetch(self) -> None:
        """Fetch what other machines recorded, if the server is available."""
        try:
            self._engine.fetch()
        except Away:
            return  # who only looks may see what is old

    def stamp(self) -> tuple[Any, ...]:
        self._engine.fetch()
        return super().stamp()

    def read(self, upto: int | None = None) -> list[Line]:
        try:
            return super().read(upto)
        except Invalid:  # damage, but the database has it whole
            self._engine.mend(self._place)
            return super().read(upto)

    def append(self, line: Line, data: bytes = b"") -> tuple[Any, ...]:
        line.prev = self.last
        data = row_of(line)
        head = digest(data[:-1])
        self._engine.commit((self._place, "line", head, data), self._place, self.last)
        self.last, self.weight = head, 0 if line.via == SEGMENT else self.weight + len(data)
        return ()  # others may have appended since

    def sync(self) -> None:
        """Do nothing: what was fetched is durable elsewhere."""

    def move(self, folder: str, page: str) -> None:
        to = folder.removeprefix(f"{self._engine.state}/")
        facts = {"place": self._place, "page": page.removeprefix(f"{self._engine.root}/")}
        facts["first"] = next(self.raws())[0]
        moves = "UPDATE council.log SET place = %s WHERE place = %s", (to, self._place)
        row = to, "closed", self.last, codec.encoded(facts)
        self._engine.commit(row, self._place, self.last, [moves])

    def _replace(self, changed: dict[str, bytes]) -> None:
        query = "UPDATE council.log SET data = %s WHERE head = %s AND kind = 'line'"
        rows = [(query, (row, head)) for head, row in changed.items()]
        row = self._place, "redacted", self.last, b"redacted"
        self._engine.commit(row, self._place, self.last, rows)


# Taking part


def join(state: str, url: str, begins: bool, folders: list[str]) -> Engine:
    """Connect a workspace with a database, and give it what it has; safe to repeat.

    `begins`: it is the first one. Else the database has to know every document that is here.
    `folders` are those whose files all machines have.
    """
    server = Server(url, begins)
    facts: dict[str, Any] = {"url": url, "machine": 0, "ready": False}
    if bool(server.ask("SELECT 1 FROM council.machines LIMIT 1")) == begins:
        what = f"{server.name} has {'a' if begins else 'no'} council"
        raise Conflict("wrong-engine", what, f"council engine {'join' if begins else 'init'} URL")
    os.makedirs(state, exist_ok=True)
    files.replace(f"{state}/engine", codec.encoded(facts), 0o600)  # commands are refused now
    try:
        facts["machine"] = _entered(state, server, begins)
    except BaseException:
        files.remove(f"{state}/engine")
        raise
    files.remove(f"{state}/engine.at")
    engine = Engine(state, server, facts["machine"])
    engine.fetch()
    for name in [n for folder in folders for n in glob.glob(f"{folder}/*", root_dir=engine.root)]:
        path = f"{engine.root}/{name}"
        if os.path.isfile(path) and not os.path.islink(path) and (found := files.read(path)):
            engine.put(f"/{name}", found[0], False)
    files.replace(f"{state}/engine", codec.encoded({**facts, "ready": True}), 0o600)
    return engine


def _entered(state: str, server: Server, begins: bool) -> int:
    """Enter this machine and, if it begins, all lines that are here; return its number."""
    rows = list[Row]()
    for path in sorted(glob.glob("**/journal.jsonl", root_dir=state, recursive=True)):
        place = os.path.dirname(path)
        if place.startswith("conflicts/"):
            continue  # it was put aside
        with files.Lock(f"{state}/{place}/lock"):  # who is at work is waited for
            lines = Journal(f"{state}/{place}").raws()
            rows += [(place, "line", head, raw) for head, raw in lines]

    def act(cursor: Any, _: bool) -> int:
        query = "INSERT INTO council.machines (name) VALUES (%s) RETURNING number"
        number = int(cursor.execute(query, (socket.gethostname(),)).fetchone()[0])
        cursor.executemany(_INSERT, [(*row, number) for row in rows if begins])
        for place, head in {place: head for place, _, head, _ in rows}.items():
            query = "SELECT 1 FROM council.log WHERE head = %s"
            if place != "registry" and not cursor.execute(query, (head,)).fetchone():
                what = f"this workspace has {place}, which {server.name} does not know"
                raise Conflict("engine-parted", what, "join from a folder without conversations")
        return number

    number: int = server.write(act)
    if not begins and os.path.isdir(f"{state}/registry"):
        _put_aside(state, f"{state}/registry")
    return number


def _put_aside(state: str, path: str) -> None:
    os.makedirs(f"{state}/conflicts", exist_ok=True)
    os.rename(path, f"{state}/conflicts/{time.time_ns()}-{os.path.basename(path)}")


def leave(state: str, facts: dict[str, Any]) -> str:
    """Go on alone with what is here; return why the newest is not, "" where it is."""
    missing = ""
    try:
        engine_of(state, facts).fetch()
    except Refusal as refusal:
        missing = refusal.message
    for name in ("engine", "engine.at"):
        files.remove(f"{state}/{name}")
    return missing
