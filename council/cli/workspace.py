"""The commands on a workspace.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output, carry_out
from council.cli.parameters import Json, Lang, Now, Root, do, help_text
from council.core.errors import InvalidStateError
from council.core.times import parse_duration
from council.operations.place import Place


def init(
    directory: Annotated[
        str, typer.Argument(metavar="[DIR]", help="Where; else the current directory.")
    ] = "",
    personal: Annotated[
        bool, typer.Option("--personal", help="Make the workspace of your user account.")
    ] = False,
    agents: Annotated[
        str, typer.Option("--agents", metavar="a,b,c", help="Make a folder for each of these.")
    ] = "",
    lang: Lang = "",
    root: Root = "",
    json: Json = False,
) -> None:
    """Make a workspace here; never overwrites anything."""

    def command() -> Output:
        from council.operations.setup import personal_directory, set_up

        where = directory or root
        if personal:
            where = personal_directory(os.environ)
        names = tuple(part.strip() for part in agents.split(",") if part.strip())
        made = set_up(where or os.getcwd(), names, lang, os.environ)
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

    raise typer.Exit(carry_out("init", command, as_json=json))


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be mended without loss.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Try each agent program with a line of prompt.")
    ] = False,
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Check the workspace, its agents and its conversations; say how to fix each fault."""

    def command(place: Place) -> Output:
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

    do("doctor", json, root, now, command)


def watch(
    advance: Annotated[
        bool, typer.Option("--advance", help="Run the heartbeat, too: on changes and by the clock.")
    ] = False,
    interval: Annotated[
        str, typer.Option("--interval", metavar="DURATION", help="Between heartbeats when idle.")
    ] = "30m",
    active_interval: Annotated[
        str,
        typer.Option(
            "--active-interval", metavar="DURATION", help="Between heartbeats while one is open."
        ),
    ] = "5m",
    root: Root = "",
    now: Now = "",
) -> None:
    """Show everything that is open, live, until you press Ctrl-C."""

    def command(place: Place) -> None:
        from council.cli.watching import show_live

        if advance:
            place.refuse_newer_settings()
        show_live(
            place,
            advance=advance,
            interval=parse_duration(interval),
            active_interval=parse_duration(active_interval),
        )

    do("watch", False, root, now, command)


def demo(
    lang: Lang = "",
    root: Annotated[
        str, typer.Option("--root", metavar="DIR", help="Play here; else in a temporary workspace.")
    ] = "",
    json: Json = False,
) -> None:
    """Play a whole council with four scripted agents, through the real commands."""

    def command() -> Output:
        from council.cli.demo import play

        return play(root, lang, quiet=json)

    raise typer.Exit(carry_out("demo", command, as_json=json))


_EXAMPLES: dict[str, tuple[Callable[..., None], str]] = {
    "init": (init, "council init --agents henry,sage,nova"),
    "doctor": (doctor, "council doctor --repair"),
    "watch": (watch, "council watch --advance"),
    "demo": (demo, "council demo --lang fr"),
}
COMMANDS: dict[str, Callable[..., None]] = {name: one for name, (one, _) in _EXAMPLES.items()}
for _function, _example in _EXAMPLES.values():
    _function.__doc__ = help_text(_function.__doc__ or "", _example)
