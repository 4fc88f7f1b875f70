"""The commands for a workspace: init, doctor, check, schedule, agents, forget, demo."""

from __future__ import annotations

import sys

from council.app import App
from council.cli.printing import Said
from council.cli.values import listed, one_of
from council.councils import service
from council.kernel.errors import Refused, Usage


def init(app: App, *, dir: str, agents: list[str], lang: str) -> Said:
    """Set up a workspace, or complete the one that exists."""
    from council.setup import init as setup

    del dir  # the workspace of `app`
    made = setup.init(app.root, listed(agents), lang, app.env)
    return Said(data=made, text=setup.text(made))


def doctor(app: App, *, repair: bool, probe: bool) -> Said:
    """Check everything and name each cure; exit 3 where something is wrong."""
    from council.observe import doctor as examine

    found = examine.doctor(app, repair=repair, probe=probe)
    return Said(data=found, text=examine.text(found), code=0 if found["ok"] else 3)


def check(app: App, *, which: str, name: str) -> Said:
    """Check the file of one conversation; exit 3 where it is broken."""
    from council.observe import check as examine

    found = examine.check(app, service.named(app, one_of(which, name)))
    lines = [*found["findings"], *found["notices"]] or [f"{found['name']}: well formed"]
    return Said(data=found, text="\n".join(lines), code=0 if found["ok"] else 3)


def schedule(
    app: App, *, systemd: bool, cron: bool, every: str, install: bool, remove: bool
) -> Said:
    """Print, install or remove what runs the heartbeat."""
    from council.setup import schedule as clock

    if systemd and cron:
        raise Usage("usage", "--systemd and --cron exclude each other", "give one of them")
    kind = "systemd" if systemd else "cron" if cron else ""
    made = clock.schedule(
        app.root, app.env, kind=kind, every=every, install=install, remove=remove
    )
    return Said(data=made, text=clock.text(made))


def agent_add(
    app: App,
    *,
    agent: str,
    name: str,
    role: str,
    model: str,
    preset: str,
    capability: list[str],
    discord: str,
    base_url: str,
    api_key_env: str,
    from_: str,
) -> Said:
    """Add an agent, or change what is known of one."""
    from council.setup import agents

    facts = {"name": name, "role": role, "model": model, "preset": preset, "discord": discord}
    facts |= {"base_url": base_url, "api_key_env": api_key_env}
    made = agents.add(app, agent, facts, listed(capability), from_)
    return Said(data=made, text=agents.text(made))


def agent_remove(app: App, *, agent: str) -> Said:
    """Remove an agent from the workspace."""
    from council.setup import agents

    made = agents.remove(app, agent)
    return Said(data=made, text=agents.text(made))


def forget(
    app: App, *, what: str, entry: str, older_than: str, dry_run: bool, yes: bool
) -> Said:
    """Remove one conversation, one entry, or old logs everywhere."""
    from council.setup import forget as removal

    plan = removal.plan(app, what, entry=entry, older_than=older_than)
    if not dry_run and not yes and not confirmed(removal.text(plan)):
        raise Refused("not-confirmed", "nothing was removed", "confirm with --yes")
    done = plan if dry_run else removal.carry_out(app, plan)
    return Said(data=done, text=removal.text(done))


def demo(app: App, *, lang: str) -> Said:
    """Play document 000's family with scripted agents."""
    from council.setup import demo as play

    played = play.demo(app, lang)
    return Said(data=played, text=play.text(played))


def confirmed(question: str) -> bool:
    """Ask a person on the terminal; False where nobody can answer."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question}\nContinue? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "o", "oui")


