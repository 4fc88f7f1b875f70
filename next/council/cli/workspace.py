"""The commands for a workspace."""

from __future__ import annotations

import sys

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given, listed
from council.councils import service
from council.kernel.errors import Refused, Usage


def init(app: App, given: Given) -> Said:
    """Set up a workspace, or complete the one that exists."""
    from council.setup import init as setup

    made = setup.init(app.root, listed(given.agents), given.lang, app.env)
    return Said(data=made, text=setup.text(made))


def doctor(app: App, given: Given) -> Said:
    """Check everything and name each cure; exit 3 where something is wrong."""
    from council.observe import doctor as examine

    found = examine.doctor(app, repair=given.repair, probe=given.probe)
    return Said(data=found, text=examine.text(found), code=0 if found["ok"] else 3)


def check(app: App, given: Given) -> Said:
    """Check the file of one conversation; exit 3 where it is broken."""
    from council.observe import check as examine

    found = examine.check(app, service.named(app, given.conversation()))
    lines = [*found["findings"], *found["notices"]] or [f"{found['name']}: well formed"]
    return Said(data=found, text="\n".join(lines), code=0 if found["ok"] else 3)


def schedule(app: App, given: Given) -> Said:
    """Print, install or remove what runs the heartbeat."""
    from council.setup import schedule as clock

    if given.systemd and given.cron:
        raise Usage("usage", "--systemd and --cron exclude each other", "give one of them")
    made = clock.schedule(
        app.root,
        app.env,
        kind="systemd" if given.systemd else "cron" if given.cron else "",
        every=given.every,
        install=given.install,
        remove=given.remove,
    )
    return Said(data=made, text=clock.text(made))


def agent_add(app: App, given: Given) -> Said:
    """Add an agent, or change what is known of one."""
    from council.setup import agents

    names = ("name", "role", "model", "preset", "discord", "base_url", "api_key_env")
    facts = {name: getattr(given, name) for name in names}
    made = agents.add(app, given.agent, facts, listed(given.capability), given.from_)
    return Said(data=made, text=agents.text(made))


def agent_remove(app: App, given: Given) -> Said:
    """Remove an agent from the workspace."""
    from council.setup import agents

    made = agents.remove(app, given.agent)
    return Said(data=made, text=agents.text(made))


def forget(app: App, given: Given) -> Said:
    """Remove one conversation, one entry, or old logs everywhere."""
    from council.observe import forget as removal

    plan = removal.plan(app, given.what, given.entry, given.older_than)
    if not given.dry_run and not given.yes and not _confirmed(removal.text(plan)):
        raise Refused("not-confirmed", "nothing was removed", "confirm with --yes")
    done = plan if given.dry_run else removal.carry_out(app, plan)
    return Said(data=done, text=removal.text(done))


def demo(app: App, given: Given) -> Said:
    """Play document 000's family with scripted agents."""
    from council.setup import demo as play

    played = play.demo(app, given.lang)
    return Said(data=played, text=play.text(played))


def _confirmed(question: str) -> bool:
    """Ask a person on the terminal; False where nobody can answer."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question}\nContinue? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "o", "oui")
