"""The commands on artifacts and briefs: `artifact publish|fetch|list|verify|gc`, `brief show`.

Source: `cli.md` section 2 (document 004), P8-031 to P8-041.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from council.commands.output import Output
from council.core.delegation.artifacts import Artifact
from council.core.errors import CouncilError, DamagedArtifactError, RefusedError, UsageError
from council.core.plain_text import indented, plain_line, plain_text
from council.core.times import parse_duration, render_duration, render_instant
from council.operations.delegation.artifacts import Collected, collect, listed, pour, text_of
from council.operations.delegation.artifacts import fetch as get
from council.operations.delegation.artifacts import publish as keep
from council.operations.delegation.artifacts import verify as read_through
from council.operations.place import Place
from council.store.delegation.briefs import Kept, briefs, find

_TOLD_AFTER_S = 1.0
_TOLD_EVERY_S = 0.25
_SHORT_CHARS = 16


class _Progress:
    """Shows the person at the terminal how far it is, once it takes long."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._shown = False
        self._next_s = time.monotonic() + _TOLD_AFTER_S

    def __call__(self, done_bytes: int) -> None:
        if time.monotonic() >= self._next_s and sys.stderr.isatty():
            self._next_s = time.monotonic() + _TOLD_EVERY_S
            self._shown = True
            sys.stderr.write(f"\r{self._doing} {size_text(done_bytes)}\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *failure: object) -> None:
        self.end()

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def size_text(size_bytes: int) -> str:
    """Return a size as people read it."""
    if size_bytes < 1024:
        return f"{size_bytes} bytes"
    size = float(size_bytes)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024 or unit == "GiB":
            break
    return f"{size:.1f} {unit}"


def artifact_publish(place: Place, file: str, as_: str, type: str, trace: str) -> Output:
    """Keep a file, or what comes in, as an artifact for all; print its id."""
    if not file and sys.stdin.isatty():
        raise UsageError("what is to be published?", "name a file, or - for what you type")

    with _Progress("publishing") as seen:
        made = keep(place, file or "-", publisher=as_, content_type=type, trace=trace, seen=seen)
    one = made.artifact
    told = size_text(one.size_bytes)
    said = f"published, {told}" if made.is_new else f"was published already, {told}"
    sys.stderr.write(f"{said}\n")
    return Output(record=made, text=one.artifact_id)


def artifact_fetch(
    place: Place, artifact: str, out: str, as_: str, trace: str, json: bool
) -> Output | None:
    """Get an artifact, verified: to a file, whole or not at all, or to standard output."""
    if not out or out == "-":
        if json:
            done, text = text_of(place, artifact, reader=as_, trace=trace)
            return Output(record={**done.to_record(), "text": text}, notes=_untold(done.untold))
        done = pour(place, artifact, _out(), reader=as_, trace=trace)
        sys.stdout.buffer.flush()
        return Output(notes=_untold(done.untold))

    with _Progress("fetching") as seen:
        done = get(place, artifact, out, reader=as_, trace=trace, seen=seen)
    told = f"{done.path}: {size_text(done.artifact.size_bytes)}, verified"
    return Output(record=done, text=told, notes=_untold(done.untold))


def _out() -> Callable[[bytes], object]:
    """Return what writes to standard output: each byte, or to a terminal what it cannot obey."""
    if not sys.stdout.isatty():
        return sys.stdout.buffer.write
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")(errors="replace")
    return lambda piece: sys.stdout.buffer.write(plain_text(decoder.decode(piece)).encode())


def _untold(why: str) -> list[str]:
    return [f"the fetch is not in the event log: {why}"] if why else []


def artifact_list(place: Place) -> Output:
    """List the artifacts of the workspace, the newest first."""
    found, wrong = listed(place)
    return Output(record=found, text=_table(found), notes=_strange(wrong))


def _strange(wrong: list[CouncilError]) -> list[str]:
    return [plain_line(f"{one.message} ({one.hint})") for one in wrong]


def _table(found: list[Artifact]) -> str:
    from council.commands.drawing import rows_text

    if not found:
        return "no artifacts yet; next: council artifact publish FILE"
    columns = ("artifact", "size", "type", "publisher", "published")
    rows = []
    for one in found:
        size, day = size_text(one.size_bytes), f"{one.created_at:%Y-%m-%d}"
        short_id, publisher = one.artifact_id[:_SHORT_CHARS], one.publisher or "-"
        rows.append((short_id, size, one.content_type, publisher, day))
    return rows_text(columns, rows, whole=("artifact", "size", "published"))


def artifact_verify(place: Place, artifact: str, all: bool) -> Output:
    """Read artifacts through; say which are not what their ids name."""
    if bool(artifact) == all:
        raise UsageError("which artifact?", "name one, or say --all")
    with _Progress("reading") as seen:
        found = read_through(place, artifact, seen=seen)
    wrong = [one for one in found if one.found]
    record = {"ok": not wrong, "artifacts": found}
    if wrong:
        notes = [f"{one.artifact_id}: {one.found}" for one in wrong]
        return Output(record=record, notes=notes, code=DamagedArtifactError.exit_code)
    many = "1 artifact" if len(found) == 1 else f"{len(found)} artifacts"
    return Output(record=record, text=f"{many} verified")


def collected(place: Place, dry_run: bool, older_than: str) -> Output:
    """Remove the artifacts that nothing in the workspace refers to any more."""
    age = parse_duration(older_than)
    if place.is_in_run and not dry_run:
        raise RefusedError("a run removes no artifacts", "see what would go: --dry-run")
    found = collect(place, age, dry_run=dry_run)
    return Output(record=found, text=_collected(found, place.root), notes=_strange(found.strange))


def _collected(found: Collected, root: str) -> str:
    would = "would remove" if found.dry_run else "removed"
    lines = [f"{would} {one}, {size_text(size)}" for one, size in found.artifacts]
    lines += [
        f"{would} {os.path.relpath(path, root)}, left by a publisher that died"
        for path, _ in found.remains
    ]
    if not lines:
        return f"nothing to remove that was last used over {render_duration(found.older_than)} ago"
    return "\n".join([*lines, f"{would} {size_text(found.total_bytes)} in all"])


def brief_show(place: Place, brief: str) -> Output:
    """Show the briefs of hand-offs: all, those of a trace, or one."""
    found = find(place.paths, brief) if brief else list(briefs(place.paths))
    record = [{"name": one.name, **one.brief.to_record()} for one in found]
    text = "\n\n".join(map(_shown, found)) or "no briefs yet; a call of an agent writes one"
    return Output(record=record, text=text)


def _shown(kept: Kept) -> str:
    brief = kept.brief
    parts: list[tuple[str, list[str]]] = [
        ("inputs", brief.inputs),
        ("constraints", brief.constraints),
        ("refs", brief.refs),
    ]
    lines = [
        plain_line(kept.name),
        plain_line(
            f"  {brief.from_agent} to {brief.to_agent}, {render_instant(brief.created_at)},"
            f" trace {brief.trace}"
        ),
        "  goal: " + indented(brief.goal, "    "),
    ]
    for name, texts in parts:
        if texts:
            lines += [f"  {name}:", *("    - " + indented(one, "      ") for one in texts)]
    return "\n".join(lines)
