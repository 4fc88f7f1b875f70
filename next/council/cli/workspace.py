"""The commands for a workspace."""

from __future__ import annotations

import os
import sys

from council.app import App
from council.archive import artifacts
from council.cli.printing import Said, confirmed, one_line
from council.cli.values import Given, content, exclude, listed
from council.councils import service
from council.kernel import times
from council.kernel.errors import Invalid, Refused
from council.observe import check as examine
from council.observe import doctor as examination
from council.observe import forget as removal
from council.setup import agents
from council.setup import demo as play
from council.setup import init as setup
from council.setup import schedule as clock


def init(app: App, given: Given) -> Said:
    """Set up a workspace, or complete the one that exists."""
    made = setup.init(app.root, listed(given.agents), given.lang, app.env)
    return Said(data=made, text=setup.text(made))


def doctor(app: App, given: Given) -> Said:
    """Check everything and name each cure; exit 3 where something is wrong."""
    found = examination.doctor(app, repair=given.repair, probe=given.probe)
    return Said(data=found, text=examination.text(found), code=0 if found["ok"] else 3)


def check(app: App, given: Given) -> Said:
    """Check the file of one conversation; exit 3 where it is broken."""
    found = examine.check(app, service.named(app, given.conversation()))
    lines = [*found["findings"], *found["notices"]] or [f"{found['name']}: well formed"]
    return Said(data=found, text="\n".join(lines), code=0 if found["ok"] else 3)


def schedule(app: App, given: Given) -> Said:
    """Print, install or remove what runs the heartbeat."""
    exclude(given, "systemd", "cron")
    exclude(given, "install", "remove")
    kind = "systemd" if given.systemd else "cron" if given.cron else ""
    made = clock.schedule(
        *(app.root, app.env),
        **{"kind": kind, "every": given.every, "install": given.install, "remove": given.remove},
    )
    return Said(data=made, text=clock.text(made))


def agent_add(app: App, given: Given) -> Said:
    """Add an agent, or change what is known of one."""
    names = ("name", "role", "model", "preset", "discord", "base_url", "api_key_env")
    facts = {name: getattr(given, name) for name in names}
    made = agents.add(app, given.agent, facts, listed(given.capability), given.from_)
    return Said(data=made, text=agents.text(made))


def agent_remove(app: App, given: Given) -> Said:
    """Remove an agent from the workspace."""
    made = agents.remove(app, given.agent)
    return Said(data=made, text=agents.text(made))


def forget(app: App, given: Given) -> Said:
    """Remove one conversation, one entry, or old logs everywhere."""
    plan = removal.plan(app, given.what, given.entry, given.older_than)
    if not given.dry_run and not given.yes and not confirmed(removal.text(plan)):
        raise Refused("not-confirmed", "nothing was removed", "confirm with --yes")
    done = plan if given.dry_run else removal.carry_out(app, plan)
    return Said(data=done, text=removal.text(done))


def demo(app: App, given: Given) -> Said:
    """Play document 000's family with scripted agents."""
    played = play.demo(app, given.lang)
    return Said(data=played, text=play.text(played))


def artifact_publish(app: App, given: Given) -> Said:
    """Keep the content of a file under its digest."""
    from mimetypes import guess_type  # late: only here

    kind = given.type_ or guess_type(given.path)[0] or "application/octet-stream"
    if len(kind) > 100 or not kind.isascii() or not kind.isprintable() or "/" not in kind:
        raise Invalid(
            "bad-type", f"no content type: {one_line(kind, 40)!r}", "write it like text/plain"
        )
    data, trace = content(given.path, artifacts.MOST), app.env.get("COUNCIL_TRACE", "")
    by, at = service.person(app, given.as_), times.text(app.now)
    made = artifacts.publish(app.root, data, kind, by, trace, at).to_json()
    return Said(data={"outcome": "published", **made}, text=made["artifactId"])


def artifact_fetch(app: App, given: Given) -> Said:
    """Write the content of an artifact to a file or to standard output."""
    data, facts = artifacts.fetch(app.root, given.ident), artifacts.about(app.root, given.ident)
    made = {**facts.to_json(), "path": given.out}
    if given.out:
        artifacts.put(os.path.abspath(given.out), data, replace=True)
        return Said(data=made, text=f"{given.out}: {len(data)} bytes")
    if not given.json:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return Said(data={**made, "content": data.decode(errors="replace")})
