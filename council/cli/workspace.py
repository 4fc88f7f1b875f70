"""The commands on a workspace: what it is, what goes on in it, its clock.

Source: `cli.md` section 2 (`init`, `doctor`, `status`, `schedule`, `demo`).
"""

from __future__ import annotations

import os

from council.cli.edge import Output
from council.cli.options import listed
from council.core.errors import InvalidStateError, UsageError
from council.core.times import parse_duration, render_duration
from council.core.trust import permit
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.operations.schedule import Plan


def init(directory: str, personal: bool, agents: str, lang: str, shared: bool, root: str) -> Output:
    """Make a workspace here; never overwrites anything."""
    from council.operations.setup import personal_directory, set_up

    where = directory or root
    if personal:
        where = personal_directory(os.environ)
    made = set_up(where or os.getcwd(), tuple(listed(agents)), lang, os.environ, shared=shared)
    lines = [f"workspace: {made.root}"]
    shown = dict.fromkeys(
        "skills/council/" if path.startswith("skills/council/") else path for path in made.made
    )
    lines += [f"  made {path}" for path in shown] or ["  everything was there already"]
    if made.programs:
        lines.append(f"found on PATH: {', '.join(made.programs)} (see council.toml)")
    if made.ignore:
        lines.append("run-time files; add to .gitignore:")
        lines += [f"  {line}" for line in made.ignore]
    lines.append('next: council convene "…" --agents a,b')
    return Output(record=made.to_record(), text="\n".join(lines))


def doctor(place: Place, repair: bool, probe: bool) -> Output:
    """Check the workspace, its agents and its conversations; say how to fix each fault."""
    from council.cli.views import as_text, findings_view
    from council.operations.examining.doctor import examine

    if repair:
        place.refuse_newer_settings()
    findings = examine(place, repair=repair, probe=probe)
    well = all(one.ok for one in findings)
    return Output(
        record={"ok": well, "findings": [one.to_record() for one in findings]},
        text=as_text(findings_view(findings)),
        code=0 if well else InvalidStateError.exit_code,
    )


def status(place: Place, problems: bool, watch: bool, name: str, values: dict[str, Any]) -> Any:
    """Show everything that is open, who is to answer, and what failed; or only what is named."""
    from council.cli.glance import glance, only, problems_text, show_live
    from council.cli.views import as_text
    from council.operations.examining.causes import find_problems
    from council.operations.view import status as look

    if watch:
        if values["json"]:
            raise UsageError("--watch is for people", "programs: council events tail --follow")
        if values["advance"]:
            permit("watch", in_run=place.is_in_run)
            place.refuse_newer_settings()
        every = [parse_duration(values[one]) for one in ("interval", "active_interval")]
        return show_live(place, name, *every, advance=values["advance"], problems=problems)
    if values["advance"]:
        raise UsageError("--advance goes with --watch", "once: council heartbeat")
    overview = look(place)
    overview, found = only(place, name, overview, find_problems(place, overview))
    if problems:
        return Output(record=found.to_record(), text=problems_text(found))
    record = {**overview.to_record(), "problems": found.to_record()["problems"]}
    return Output(record=record, text=as_text(glance(overview, found, verbose=values["verbose"])))


def schedule(
    place: Place, systemd: bool, cron: bool, openclaw: bool, every: str, install: bool, remove: bool
) -> Output:
    """Print, or install, what runs the heartbeat: systemd, cron or OpenClaw."""
    from council.operations import schedule as clock

    chosen = [
        kind for kind, wanted in zip(clock.KINDS, (systemd, cron, openclaw), strict=True) if wanted
    ]
    if len(chosen) > 1:
        raise UsageError("one clock at a time", f"choose --{chosen[0]} or --{chosen[1]}")
    if install and remove:
        raise UsageError("--install and --remove contradict each other", "choose one")
    period = parse_duration(every)
    kind = chosen[0] if chosen else clock.best_kind(place)
    if install:
        made = clock.install(place, kind, period)
    elif remove:
        made = clock.remove(place, kind)
    else:
        made = clock.plan(place, kind, period)
    notes = [f"council: {warning}" for warning in made.warnings]
    return Output(record=made.to_record(), text=_said(made), notes=notes)


def _said(made: Plan) -> str:
    if made.done == "shown":
        return f"{made.to_text()}\n# put it in place with: council schedule --{made.kind} --install"
    if made.done == "removed":
        return f"{made.kind}: removed" if made.changed else f"{made.kind}: there was none"
    how = "a heartbeat every" if made.changed else "was in place already, a heartbeat every"
    lines = [f"{made.kind}: {how} {render_duration(made.every)}"]
    lines += [f"  {path}" for path in made.files]
    if made.env_file:
        lines.append(f"  variables and keys of the agents: {made.env_file}")
    return "\n".join(lines)


def demo(lang: str, root: str, json: bool) -> Output:
    """Play a whole council with four scripted agents, through the real commands."""
    from council.cli.demo import play

    return play(root, lang, quiet=json)
