"""Taking something out of the database of an engine, for good; only its owner may.

It goes there before it goes here, so that no machine gets it again. The head of each stream
says that something was purged: the other machines, and this one if it dies on the way, then
take out what they have of it.

Source: EN-002, XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from hashlib import sha256

from council.core.delegation.artifacts import PREFIX as PREFIX_OF_IDS
from council.core.reading import read_json
from council.core.record import Any
from council.core.times import render_instant
from council.store.delegation import artifacts
from council.store.documents import journal, lines
from council.store.documents.lines import Line
from council.store.engine.joined import Engine
from council.store.engine.streams import PREFIX

_NOTHING = b'{"purged":true}'  # in the place of a version of a file
_JOURNAL = ".jsonl"
Instead = Callable[[str, bytes], bytes | None]


def refuse_others(engine: Engine) -> None:
    """Refuse to purge with another role than the owner's, before anything is taken away.

    Raises:
        RefusedError: It is another.
        UnreachableError: The database is not reached.
    """
    engine.session.purge([], "")


def streams_of(engine: Engine, paths: Iterable[str]) -> list[str]:
    """Return what the database calls journals, and files that are shared as a whole."""
    known = {engine.stream_of(path) for path in paths} - {""}
    return sorted(one if one.endswith(_JOURNAL) else PREFIX + one for one in known)


def take_out(
    engine: Engine,
    streams: list[str],
    words: list[bytes],
    instead: Instead,
    edited: Iterable[str] = (),
) -> None:
    """Take streams out, with the bytes that they name, and lines of the logs.

    Args:
        engine: The engine.
        streams: The streams.
        words: A line of a log that goes has one of them.
        instead: Returns for a log and a line what is to stand there, None where that stays, and
            b"" for nothing.
        edited: Journals of records from which something is about to be taken out.

    Raises:
        RefusedError: The role is not the owner's.
        UnreachableError: The database is not reached.
    """
    chunks = set[str]()
    for stream in streams:
        if stream.startswith(PREFIX):
            chunks |= {_bytes_of(row) for row in engine.rows(stream, 0)["lines"]}
    engine.session.purge(
        streams,
        _reason(),
        [[one, []] for one in edited],
        chunks=sorted(chunks),
        logs=_logs(engine, words, instead),
    )


def take_out_artifacts(engine: Engine, wanted: list[str]) -> None:
    """Take artifacts out that nothing refers to any more."""
    described = [artifacts.metadata_path(engine.workspace, one) for one in wanted]
    chunks = [one.removeprefix(PREFIX_OF_IDS) for one in wanted]
    if wanted:
        engine.session.purge(streams_of(engine, described), _reason(), chunks=chunks)


def hollow_records(engine: Engine, streams: Iterable[str]) -> None:
    """Leave nothing of what records held before the value that stands now."""
    rewrites = []
    for stream in streams:
        found = _lines(engine, stream)
        whole = max((at for at, one in enumerate(found) if lines.is_whole(one.body)), default=0)
        rewrites.append(
            [stream, [[one.head["seq"], lines.with_hole(one, "purged")] for one in found[:whole]]]
        )
    if rewrites:
        engine.session.purge([], _reason(), rewrites)


def texts_of(engine: Engine, path: str) -> journal.Past:
    """Return the texts that a journal has in the database."""
    return journal.Past(path, _lines(engine, engine.stream_of(path)))


def rewrite(
    engine: Engine,
    path: str,
    made: list[bytes],
    sealed: Iterable[str],
    files: Iterable[str],
    words: list[bytes],
    instead: Instead,
) -> None:
    """Put other lines in the place of those of a journal, and leave of files the last version.

    Args:
        engine: The engine.
        path: The journal.
        made: All its lines, those that changed and those that did not.
        sealed: The digests of its sealed texts that go.
        files: The files.
        words: As for `take_out`.
        instead: As for `take_out`.
    """
    stream = engine.stream_of(path)
    pairs = zip(_lines(engine, stream), made, strict=True)
    changed = [[one.head["seq"], data] for one, data in pairs if lines.written(one) != data]
    rewrites: list[list[Any]] = [[stream, changed]]
    chunks: set[str] = set()
    for one in streams_of(engine, files):
        rows = engine.rows(one, 0)
        first = rows["seq"] - len(rows["lines"]) + 1
        *old, last = rows["lines"] or [_NOTHING]
        chunks |= {_bytes_of(row) for row in old} - {_bytes_of(last)}
        rewrites.append([one, [[first + at, _NOTHING] for at in range(len(old))]])
    engine.session.purge(
        [],
        _reason(),
        rewrites,
        sealed=[[stream, digest] for digest in sealed],
        chunks=sorted(chunks),
        logs=_logs(engine, words, instead),
    )


def _logs(engine: Engine, words: list[bytes], instead: Instead) -> list[list[str]]:
    """Return log and digest of the lines that go; what takes their place stands there then."""
    found = []
    for stream, line in engine.logged("", words)["lines"]:
        other = instead(stream, line)
        if other is not None:
            found.append([stream, sha256(line).hexdigest()])
            if other:
                engine.session.log(stream, [other])
    return found


def _lines(engine: Engine, stream: str) -> list[Line]:
    return lines.decoded(engine.rows(stream, 0)["lines"])


def _bytes_of(row: bytes) -> str:
    return str(read_json(row).get("digest", ""))


def _reason() -> str:
    """Return what a head says; no two purges say the same."""
    return f"purged {render_instant(datetime.now(UTC))} {os.urandom(4).hex()}"
