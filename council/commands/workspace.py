"""The commands on a workspace: what it is, its clock, and what is forgotten in it.

Source: `cli.md` section 2 (`init`, `doctor`, `schedule`, `demo`, `gc`, `purge`, `migrate`),
`trust.md` (forgetting, over time).
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

from council.commands.artifacts import collected, size_text
from council.commands.options import listed
from council.commands.output import Output
from council.core.errors import InvalidStateError, UsageError
from council.core.plain_text import plain_line
from council.core.times import parse_duration, render_duration
from council.operations.forget import Collected, Doomed, doomed, purge_entry
from council.operations.forget import gc as collect
from council.operations.forget import migrate as look
from council.operations.forget import purge as remove
from council.operations.place import Place
from council.operations.schedule import Plan
from council.operations.setup import SetUp
from council.store.purging.subjects import Purged
from council.store.settings import language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.examining.causes import Finding


def init(
    directory: str,
    personal: bool,
    agents: str,
    lang: str,
    shared: bool,
    openclaw: bool,
    root: str,
) -> Output:
    """Make a workspace here; never overwrites anything."""
    from council.operations.setup import personal_directory, set_up

    where = directory or root
    if personal:
        where = personal_directory(os.environ)
    joined = None
    if openclaw:
        if agents:
            raise UsageError("--openclaw takes the agents that OpenClaw has", "leave --agents out")
        from council.operations.integrating.openclaw import join

        joined = join(where or os.getcwd(), lang, os.environ, shared=shared)
        made = joined.made
    else:
        made = set_up(where or os.getcwd(), tuple(listed(agents)), lang, os.environ, shared=shared)
    lines = [f"workspace: {made.root}"]
    shown = dict.fromkeys(
        "skills/council/" if path.startswith("skills/council/") else path
        for path in made.made
        if not (openclaw and path.startswith("memory/agents/") and path.count("/") > 2)
    )
    lines += [f"  made {path}" for path in shown] or ["  everything was there already"]
    if joined is not None:
        added = f"agents of OpenClaw: {', '.join(joined.added)}"
        lines += [added if joined.added else "agents of OpenClaw: all were there already"]
        lines += joined.steps
    else:
        lines += _programs(made)
    if joined is not None:
        lines.append('next: council ask "…"; answers by tool: council integrate openclaw --install')
        return Output(record=joined, text="\n".join(lines), notes=joined.left)
    lines.append(
        f"next: {'' if personal else _way_to(made.root)}council {_first_command(made, agents)}"
    )
    return Output(record=made, text="\n".join(lines))


def _way_to(root: str) -> str:
    """Return how a shell gets into a workspace that is not the current folder."""
    here = os.path.realpath(os.getcwd())
    if os.path.realpath(root) == here:
        return ""
    within = os.path.relpath(os.path.realpath(root), here)
    return f"cd {shlex.quote(root if within.startswith(os.pardir) else within)} && "


def _first_command(made: SetUp, agents: str) -> str:
    """Return a first command that works as it stands, whoever is there."""
    if made.ready:
        return 'ask "…"'
    named = listed(agents)
    if len(named) > 1:
        return f'convene "…" --agents {",".join(named)}'
    if named or made.agents:
        return f'ask "…" --people {"bob" if "ann" in named else "ann"}'
    return 'ask --rehearse "…"'


def _programs(made: SetUp) -> list[str]:
    """Say which agent programs were turned on, and which others are there."""
    lines = []
    if made.agents:
        lines.append(f"agents that run by themselves: {', '.join(made.agents)} (found on PATH)")
    if made.offered:
        others = ", ".join(made.offered)
        lines.append(f"also on PATH: {others}; to use one: {next(iter(made.offered.values()))}")
    if "openclaw" in made.programs:
        lines.append("OpenClaw is there; to take in its agents: council init --openclaw")
    return lines


def doctor(place: Place, repair: bool, probe: bool, new_keys: bool) -> Output:
    """Check the workspace, its agents and its conversations; say how to fix each fault."""
    from council.commands.drawing import Table, drawn
    from council.operations.examining.doctor import examine

    if repair or new_keys:
        place.begin_writing()
    findings = examine(place, repair=repair, probe=probe, new_keys=new_keys)
    well = all(one.ok for one in findings)
    lang = language(place.settings, "", place.environ)
    rows = []
    for one in findings:
        said, fix = (one.cause.said(lang), one.cause.fix(lang)) if one.cause else (one.found, "")
        mark = _mark(one)
        way_out = (f"\n→ {fix}", "yellow") if fix else ()
        rows.append((mark, (one.what, ""), (said, "", *way_out)))
    text = drawn(Table(columns=("", "", ""), rows=rows, overflow="ellipsis"))
    code = 0 if well else InvalidStateError.exit_code
    return Output(record={"ok": well, "findings": findings}, text=text, code=code)


def _mark(one: Finding) -> tuple[str, str]:
    if not one.ok:
        return "✗", "bold red"
    return ("✓", "green") if one.is_seen else ("–", "")


def schedule(
    systemd: bool,
    cron: bool,
    openclaw: bool,
    every: str,
    install: bool,
    remove: bool,
    root: str,
    now: str,
) -> Output:
    """Print, or install, what runs the heartbeat: systemd, cron or OpenClaw."""
    from council.operations import schedule as clock
    from council.operations.clocks import KINDS, is_gone
    from council.operations.place import open_place

    chosen = [kind for kind, wanted in zip(KINDS, (systemd, cron, openclaw), strict=True) if wanted]
    if len(chosen) > 1:
        raise UsageError("one clock at a time", f"choose --{chosen[0]} or --{chosen[1]}")
    if install and remove:
        raise UsageError("--install and --remove contradict each other", "choose one")
    period = parse_duration(every)
    if remove and root and is_gone(root):
        made = clock.remove_gone(os.path.abspath(root), os.environ)
        return Output(record=made, text=_said(made), notes=made.warnings)
    place = open_place(root, now, os.environ)
    place.begin_writing()
    if remove:
        kind = next(iter(chosen or clock.installed(place)), "") or clock.best_kind(place)
        made = clock.remove(place, kind)
    else:
        kind = chosen[0] if chosen else clock.best_kind(place)
        made = (clock.install if install else clock.plan)(place, kind, period)
    notes = [*place.settings.faults, *made.warnings, *place.warnings]
    return Output(record=made, text=_said(made), notes=notes)


def _said(made: Plan) -> str:
    if made.done == "shown":
        return f"{made.to_text()}\n# put it in place with: council schedule --{made.kind} --install"
    if made.done == "removed":
        return _removed(made)
    how = "a heartbeat every" if made.changed else "was in place already, a heartbeat every"
    lines = [f"{made.kind}: {how} {render_duration(made.every)}"]
    lines += [f"  {path}" for path in made.files]
    if made.env_file:
        lines.append(f"  variables and keys of the agents: {made.env_file}")
    return "\n".join(lines)


def _removed(made: Plan) -> str:
    """Say which clocks were taken away, and which files of variables stay."""
    lines = [f"{made.kind}: removed"] if made.changed else []
    lines += [f"removed, no workspace is there any more: {one}" for one in made.stale]
    lines = lines or [f"{made.kind}: there was none"]
    lines += [f"left, it may hold keys of the agents: {path}" for path in made.left]
    return "\n".join(lines)


def demo(lang: str, root: str, machines: str, json: bool) -> Output:
    """Play a whole council with four scripted agents, through the real commands."""
    from council.commands.demo import play

    if machines == "1":
        return play(root, lang, quiet=json)
    if root:
        raise UsageError("two machines play in a temporary folder", "leave out --root")
    from council.commands.demo_machines import OnTwoMachines

    OnTwoMachines.check()
    return play("", lang, quiet=json, made=OnTwoMachines)


_KINDS = {
    "texts": "earlier texts",
    "displaced": "displaced files",
    "prompts": "kept prompts",
    "copies": "copies of the last file",
    "runs": "run files",
}


def gc(place: Place, dry_run: bool, older_than: str, artifacts: bool) -> Output:
    """Prune old history and run logs of what is over; minutes, answers and journals stay."""
    if artifacts:
        return collected(place, dry_run, older_than)

    found = collect(place, parse_duration(older_than), dry_run=dry_run)
    notes = [f"{one}: {error.message}" for one, error in found.errors]
    code = InvalidStateError.exit_code if found.errors else 0
    return Output(record=found, text=_collected(found), notes=notes, code=code)


def _collected(found: Collected) -> str:
    would = "would remove" if found.dry_run else "removed"
    lines = []
    for one in found.conversations:
        parts = [f"{len(paths)} {_KINDS[kind]}" for kind, paths in one.files.items() if paths]
        if parts:
            told = f"{', '.join(parts)} ({size_text(one.total_bytes)})"
            page = found.called.get(one.conversation_id)
            name = f"{one.name} {one.conversation_id}"
            name = f"{page.stem} ({plain_line(page.title)})" if page else name
            lines.append(f"{name}: {would} {told}")
        lines += [f"  kept, was never merged: {path}" for path in one.unmerged]
    for over in found.contexts:
        runs = len(over.files["runs"])
        told = "its history" + (f", {runs} run file{'s' * (runs != 1)}" if runs else "")
        lines.append(f"{over.context}: {would} {told} ({size_text(over.total_bytes)})")
    if found.orphaned:
        lines.append(f"{would} {len(found.orphaned)} run files of conversations that are gone")
    total = f"{would} {found.count} files, {size_text(found.total_bytes)}"
    if not found.count:
        total = f"nothing to prune that ended over {render_duration(found.older_than)} ago"
    return "\n".join([*lines, total])


def purge(place: Place, which: str, entry: str, yes: bool, json: bool) -> Output:
    """Remove a conversation, channel or context from everywhere in the workspace, for good."""
    one = doomed(place, which)
    if yes and not one.is_whole:
        raise UsageError(
            f"{which!r} is only a part of what {_shown(one, which)} is called",
            f"with --yes give its whole name: {one.key}",
        )
    if not yes:
        _confirm(one, which, entry, as_json=json)
    if entry:
        done = purge_entry(place, one, which, entry)
        taken: dict[str, Any] = {
            "name": which,
            "conversationId": done.conversation_id,
            "entry": entry,
            "changed": done.files,
            "removed": {"runs": done.runs, "texts": done.history, "events": done.events},
            "left": done.left,
        }
        return Output(record=taken, text=_taken_out(done, which, entry, place.root))
    done = remove(place, one.conversation_id, one.kind)
    record = {
        "name": which,
        "kind": one.kind,
        "conversationId": done.conversation_id,
        "removed": done.as_json("files minutes tasks runs artifacts calls history events"),
        "bytes": done.size_bytes,
        "left": done.left,
    }
    return Output(record=record, text=_purged(done, place.root))


def _taken_out(done: Purged, which: str, entry: str, root: str) -> str:
    if done.is_empty:
        return f"{entry} of {which} was taken out before: nothing is left of it here"
    lines = [f"taken out of {os.path.relpath(one, root)}" for one in done.files]
    counted = {"run files": len(done.runs), "earlier revisions": done.history}
    said = f"{entry} of {which} is a hole now: its text is gone"
    left = [os.path.relpath(one, root) if one[:1] == "/" else one for one in done.left]
    return _gone(lines, counted, said, left)


def _gone(lines: list[str], counted: dict[str, int], said: str, left: list[str]) -> str:
    """Return what was forgotten, how many of what went with it, and what stays."""
    lines += [f"removed {count} {what}" for what, count in counted.items() if count]
    lines += [said, *(f"left, others wrote it: {one}" for one in left)]
    lines.append("copies elsewhere (version control, backups, editors) are not touched")
    return "\n".join(lines)


def _shown(one: Doomed, which: str) -> str:
    """Return what is to be removed, as people know it: its name, its title, when it ended."""
    ended = f", ended {one.ended_at:%Y-%m-%d %H:%M}" if one.ended_at else ""
    return f"{one.key or which} ({one.topic or one.conversation_id}{ended})"


def _confirm(one: Doomed, which: str, entry: str, *, as_json: bool) -> None:
    """Ask the person at the terminal.

    Raises:
        UsageError: There is none, or they say no.
    """
    about = _shown(one, which)
    if entry:
        about = f"the contribution {entry} of {about}"
    if as_json or not sys.stdin.isatty():
        raise UsageError(f"this removes {about} for good", "to do it without being asked: --yes")
    import typer

    if not typer.confirm(f"Remove {about} for good, from minutes and history too?", err=True):
        raise UsageError("nothing was removed")


def _purged(done: Purged, root: str) -> str:
    paths = [
        os.path.relpath(one, root)
        for one in (*done.files, *done.minutes, *done.tasks, *done.artifacts)
    ]
    lines = [f"removed {path}" for path in paths]
    counted = {
        "files of its history": done.history,
        "run files": len(done.runs),
        "files of its calls": len(done.calls),
        "events": done.events,
    }
    said = f"{done.conversation_id} is forgotten ({size_text(done.size_bytes)})"
    return _gone(lines, counted, said, done.left)


def migrate(place: Place, dry_run: bool) -> Output:
    """Bring files of older versions forward; say which files need what."""
    verdicts = look(place, dry_run=dry_run)
    well = all(one.ok for one in verdicts)
    moved = sum(one.moved for one in verdicts)
    lines = [
        f"{one.path}: schemaVersion {one.dated.version or '-'}: {one.said}" for one in verdicts
    ]
    files = f"{moved} file{'s' * (moved != 1)}"
    lines.append(
        f"{files} would be brought forward"
        if moved and dry_run
        else f"{files} brought forward"
        if moved
        else "nothing was written: nothing is of an older version"
    )
    count = 0 if dry_run else moved
    record = {"ok": well, "dryRun": dry_run, "moved": count, "files": verdicts}
    if not well:
        return Output(record=record, notes=lines, code=InvalidStateError.exit_code)
    return Output(record=record, text="\n".join(lines))
