"""The heartbeat: advance what is due, start who is due, file away what is over.

It keeps nothing in memory: every beat reads the states and does what they ask for, so it may run
as often as it likes, late, several at once, or be killed at any point. One broken document never
stops the others.
"""

from __future__ import annotations

import os
import time

from council.kernel import files, times
from council.kernel.errors import Invalid, NotFound, Refusal
from council.kernel.ids import digest
from council.kernel.journal import DAMAGED, Journal
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import datetime, timedelta
from council.runs import processes, starting, work
from council.runs.work import Event

if TYPE_CHECKING:
    from council.app import App
    from council.runs.kinds import KindRow
    from council.runs.starting import Begin

MOST_STEPS = 50
_NEVER = "9999"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def beat(
    app: App, only: str = "", dry_run: bool = False, begin: Begin | None = None
) -> dict[str, Any]:
    """Serve every open document, or the `only` one, and return what was done (`json.md`).

    With `dry_run` say what is due, and write and start nothing. `begin`: see `starting.start`.
    """
    report: dict[str, Any] = {"now": times.text(app.now), "channels": [], "tasks": []}
    report |= {row.place_in_report: [] for row in app.kinds}
    report |= {"errors": [], "changed": False}
    hint, met, waits, errors = Hint(app.root, app.now), set(), set[str](), list[Any]()
    for row in app.kinds:
        for name in [only] if only else row.names(app):
            if hint.skips(*(place := row.place(name))):
                continue
            met.add(name)
            try:
                with files.reported("serve", row.document(app, name).folder):
                    served = serve(app, row, name, dry_run, begin)
            except NotFound:
                continue  # it ended meanwhile
            except Refusal as refusal:
                errors.append((name, refusal))
                continue
            if not served["changed"] and not served["running"] and not served["waiting"]:
                hint.note(*place, served["wake"])
            report[row.place_in_report].append(served)
            report["changed"] |= served["changed"]
            waits |= {*served["waiting"].values()}
    report["halted"] = "halted" in waits
    if "registry" in waits:
        fault = starting.registry_of(app).fault
        errors.append(("registry", Invalid("damaged-journal", fault, DAMAGED)))
    try:
        with files.reported("write", f"{app.root}/memory/shared/BOARD.md"):
            if not (dry_run or only):
                hint.save()
            if not dry_run and (met or hint.lacks()):
                app.after_beat(met)
    except Refusal as refusal:
        errors.append(("BOARD.md", refusal))
    for name, error in errors:
        report["errors"].append({"name": name, **error.to_json(), "exit": error.exit_code})
    return report


def serve(
    app: App, row: KindRow, name: str, dry_run: bool = False, begin: Begin | None = None
) -> dict[str, Any]:
    """Advance one document, start its runs or file it away; return its row of the report."""
    if not dry_run:
        row.exchange(app, name)
    document, started, filed = row.document(app, name), starting.Started(), ""
    state = document.peek() if dry_run else document.read()
    events: list[Event] = row.module.due(state, app.now) if dry_run else []

    def decide(state: Any) -> list[Event]:
        at, lost = times.text(app.now), [run for run in state.runs.open() if run.id in dead]
        ends = [work.failed(run.id, at, "lost", dead[run.id]) for run in lost]
        return ends or _resting(app, row, state)

    if not dry_run:
        dead = _dead(app, state)
        for _ in range(MOST_STEPS):  # who is passed may be followed by somebody who is
            change = document.change(decide, by="heartbeat", at=app.now, via="heartbeat")
            app.changed(change, row)
            events += change.events
            if not change.events:
                break
        state = change.state
        note_ends(app, state.runs.by_id.values())
        if row.is_over(state):
            filed = row.finish(app, name)
        else:
            started = starting.start(app, row, name, state, begin)
    moment = None if filed else row.wake(app, state)
    moments = [times.text(moment) if moment else "", started.until]
    return {
        **{"name": row.ident(state), "woken": started.woken, "waiting": started.waiting},
        **{"archived": filed, "running": len(row.running(state)), **row.report(state, events)},
        "wake": min(filter(None, moments), default=None),
        "changed": bool(events or started.woken or filed),
    }


def _dead(app: App, state: Any) -> dict[str, str]:
    """Return the open runs that nobody supervises any more, id to words, and end their agents.

    The place of a run says who holds it. A supervisor that lets its lease run out (it was stopped)
    is killed with its agent; what it would have said does not count.
    """
    runs, found = [run for run in state.runs.open() if run.place >= 0], dict[str, str]()
    held = processes.held(app.state_folder) if runs else {}
    for run in runs:
        if run.id not in held and processes.is_here(app.state_folder, run.place):
            found[run.id] = "the run ended unexpectedly"
        elif run.lease < times.text(app.now):
            found[run.id] = "the run did not end when its time was up"
            if run.id in held:
                processes.kill(held[run.id], processes.KILL)
        if run.id in found:
            processes.kill_noted(f"{app.state_folder}/runs/{run.id}")
    return found


def _resting(app: App, row: KindRow, state: Any) -> list[Event]:
    """Return who is not waited for: it rests after failures, or a lowered ceiling is reached."""
    wanted = row.module.work(state, app.now)
    known, events = starting.registry_of(app) if wanted else None, list[Event]()
    for one in wanted:
        agent = app.agent(one.agent)
        way = starting.hindrance(app, known, agent, row.ceiling(app, state))
        if way and way.code in ("resting", "ceiling") and agent.driver != "manual":
            events += row.passed(one, way.code, way.words, app.now)
    return events


def note_ends(app: App, runs: Any) -> None:
    """Tell the registry of ended runs that it does not know yet; each counts once."""
    if not (ended := [run for run in runs if run.outcome]):
        return
    from council.agents import registry  # late: an idle heartbeat has no ended runs

    known = starting.registry_of(app).runs

    def decide(state: Any) -> list[Event]:
        return registry.run_ended(state, run, agent, app.settings.limits, app.now)

    for run in [run for run in ended if run.id not in known]:  # each sees how it failed before
        agent = app.agent(run.agent)
        app.registry().change(decide, by="heartbeat", at=app.now, via="run", create=True)


def end_runs(app: App, runs: Any) -> None:
    """Ask the supervisors of open runs to end them, as the document is over."""
    held = processes.held(app.state_folder)
    for pid in [held.get(run.id, 0) for run in runs if run.is_open()]:
        if pid != os.getpid():
            processes.kill(pid, processes.TERM)


def wait(app: App, only: str, most: timedelta) -> bool:
    """Beat until no run is under way or due soon; False where `most` passed before."""
    ends = time.monotonic() + most.total_seconds()
    while True:
        app.again()
        report = beat(app, only)
        if not any(one["running"] for row in app.kinds for one in report[row.place_in_report]):
            return True
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)


class Hint:
    """The hint `.council/due`: which documents a heartbeat need not open, and until when.

    A row has the stamps (inode, size, mtime, ctime) of a document's page, newest segment and folder
    as they were when it was read, and the instant from which something can be due. A row that fits
    skips the document. A missing, old or damaged hint costs time, never truth: the first line has
    stamps of what all documents depend on, and the last line is a digest of the others. Folders and
    pages are paths from `.council` on, which are found faster than whole ones.
    """

    quiet_ns = 2_000_000_000  # no row for what changed since: clocks of file systems are coarse

    def __init__(self, root: str, now: datetime) -> None:
        self._state = state = f"{root}/memory/shared/.council"
        self._path, self._now = f"{state}/due", times.text(now)
        self._rows: dict[str, list[str]] = {}
        self._met: dict[str, list[str]] = {}  # without the instant where something may be due now
        self._at = -1
        try:
            self._at = os.open(state, _FOLDER)
            found = files.read(self._path)
            text = found[0].decode() if found else ""
        except (OSError, ValueError, Refusal):  # a hint that cannot be read is none
            text = ""
        heads = (f"{root}/council.toml", __file__, *Journal(f"{state}/registry").segments()[-1:])
        self._head = self._stamps(*heads)
        body, _, last = text.rpartition("\n")
        if last == digest(body) and body.split("\n", 1)[0] == self._head:
            rows = [line.split("\t") for line in body.split("\n")[1:]]
            self._rows = {row[0]: row for row in rows if len(row) == 4}

    def __del__(self) -> None:
        if self._at >= 0:
            os.close(self._at)

    def skips(self, folder: str, page: str) -> bool:
        """Return whether a document is as it was and nothing in it can be due now."""
        row = self._rows.get(folder, ["", "", "", ""])
        fits = self._now < row[3] and row[2] == self._stamps(page, f"{folder}/{row[1]}", folder)
        self._met[folder] = row if fits else self._row(folder, page)
        return fits

    def note(self, folder: str, page: str, wake: str | None) -> None:
        """Remember that a document, not skipped, was read and has nothing due before `wake`.

        Not if it changed meanwhile or just before, or if a page that was put aside is there, which
        a program may still write to.
        """
        row = self._row(folder, page)
        changed = [int(one.rpartition(":")[2]) for one in row[2].split() if one != "-"]
        is_quiet = max(changed, default=0) < time.time_ns() - self.quiet_ns
        old = any(name.startswith("old-") for name in files.names(f"{self._state}/{folder}"))
        if changed and is_quiet and not old and self._met[folder] == row:
            self._met[folder] = [*row, wake or _NEVER]

    def lacks(self) -> bool:
        """Return whether a document of the hint was not met: it is gone."""
        return not self._rows.keys() <= self._met.keys()

    def save(self) -> None:
        """Write the rows that were used or noted; an error of the disk is ignored.

        One that was only met gets a row that never fits, by which `lacks` knows when it is gone.
        """
        rows = {k: row if len(row) == 4 else [k, "-", "-", "0"] for k, row in self._met.items()}
        if self._rows and rows == self._rows:
            return
        body = "\n".join([self._head, *map("\t".join, rows.values())])
        try:
            files.replace(self._path, f"{body}\n{digest(body)}".encode(), 0o600)
        except OSError:
            return

    def _row(self, folder: str, page: str) -> list[str]:
        name = "".join(map(os.path.basename, Journal(f"{self._state}/{folder}").segments()[-1:]))
        return [folder, name, self._stamps(page, f"{folder}/{name}", folder)]

    def _stamps(self, *paths: str) -> str:
        made = []
        for path in paths:
            try:
                at = os.lstat(path, dir_fd=self._at)
                made.append(f"{at.st_ino}:{at.st_size}:{at.st_mtime_ns}:{at.st_ctime_ns}")
            except OSError:
                made.append("-")
        return " ".join(made)
