"""The commands that run a workspace: the clock, the halt, and what is wrong.

Source: `cli.md` section 2 (`schedule`, `halt`, `status`).
"""

from __future__ import annotations

from datetime import timedelta

from council.cli.edge import Output
from council.cli.parameters import JSON, VERBOSE, command, flag, option
from council.core.errors import UsageError
from council.core.times import parse_duration, render_duration
from council.operations.place import Place


@command("status", "council status --problems", reads=True)
def status(
    place: Place,
    problems: bool = flag("--problems", "Only what is wrong, and what to do about it."),
    watch: bool = flag("--watch", "Show it live, until you press Ctrl-C."),
    verbose: bool = VERBOSE,
    json: bool = JSON,
) -> Output | None:
    """Show everything that is open, who owes an answer, and what failed."""
    from council.cli.glance import glance, problems_text
    from council.cli.views import as_text

    if watch:
        from council.cli.watching import show_live

        if json:
            raise UsageError("--watch is for people", "programs: council events tail --follow")
        show_live(
            place,
            advance=False,
            interval=timedelta(minutes=30),
            active_interval=timedelta(minutes=5),
            problems=problems,
        )
        return None
    from council.operations.examining.problems import find_problems
    from council.operations.view import status as look

    overview = look(place)
    found = find_problems(place, overview)
    if problems:
        return Output(record=found.to_record(), text=problems_text(found))
    record = {**overview.to_record(), "problems": found.to_record()["problems"]}
    return Output(record=record, text=as_text(glance(overview, found, verbose=verbose)))


@command("halt", 'council halt --reason "the bill"')
def halt(
    place: Place, reason: str = option("--reason", "TEXT", "Why; `status` shows it.")
) -> Output:
    """Start no more runs anywhere; deadlines of who is due wait. See: resume --all."""
    from council.operations.heartbeat.gate import halt as stop_starting

    done = stop_starting(place, reason)
    said = "halted: no run is started" if done.changed else "it was halted already"
    if done.running:
        said += f"; {done.running} under way will end by themselves"
    return Output(record=done.to_record(), text=f"{said} (go on with: council resume --all)")


def resume_all(place: Place) -> Output:
    """End the halt of a whole workspace, for `resume --all`."""
    from council.operations.heartbeat.gate import resume_all as start_again

    done = start_again(place)
    said = "the halt is over; who waited is served" if done.changed else "nothing was halted"
    return Output(record=done.to_record(), text=said)


@command("schedule", "council schedule --systemd --install")
def schedule(
    place: Place,
    systemd: bool = flag("--systemd", "A timer of systemd's user manager."),
    cron: bool = flag("--cron", "A line in your crontab."),
    openclaw: bool = flag("--openclaw", "A command automation of OpenClaw."),
    every: str = option("--every", "DURATION", "Between two heartbeats.", "5m"),
    install: bool = flag("--install", "Put it in place."),
    remove: bool = flag("--remove", "Take it away."),
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


TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.schedule import Plan
