"""The commands on a workspace.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import os

from council.cli.edge import Output
from council.cli.parameters import JSON, LANG, ROOT, argument, command, flag, listed, option
from council.core.errors import InvalidStateError
from council.core.times import parse_duration
from council.operations.place import Place


@command("init", "council init --agents henry,sage,nova")
def init(
    directory: str = argument("[DIR]", "Where; else the current directory."),
    personal: bool = flag("--personal", "Make the workspace of your user account."),
    agents: str = option("--agents", "a,b,c", "Make a folder for each of these."),
    lang: str = LANG,
    shared: bool = flag("--shared", "For all users of the folder's group, as with git."),
    root: str = ROOT,
) -> Output:
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


@command("doctor", "council doctor --repair", reads=True)
def doctor(
    place: Place,
    repair: bool = flag("--repair", "Mend what can be mended without loss."),
    probe: bool = flag("--probe", "Try each agent program with a line of prompt."),
) -> Output:
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


@command("watch", "council watch --advance", reads=True)
def watch(
    place: Place,
    advance: bool = flag("--advance", "Run the heartbeat, too: on changes and by the clock."),
    interval: str = option("--interval", "DURATION", "Between heartbeats when idle.", "30m"),
    active_interval: str = option(
        "--active-interval", "DURATION", "Between heartbeats while one is open.", "5m"
    ),
) -> None:
    """Show everything that is open, live, until you press Ctrl-C."""
    from council.cli.watching import show_live

    if advance:
        place.refuse_newer_settings()
    show_live(
        place,
        advance=advance,
        interval=parse_duration(interval),
        active_interval=parse_duration(active_interval),
    )


@command("demo", "council demo --lang fr")
def demo(
    lang: str = LANG,
    root: str = option("--root", "DIR", "Play here; else in a temporary workspace."),
    json: bool = JSON,
) -> Output:
    """Play a whole council with four scripted agents, through the real commands."""
    from council.cli.demo import play

    return play(root, lang, quiet=json)
