"""The commands for a workspace that need more than their service."""

from __future__ import annotations

import os
import sys

from council.app import App
from council.archive import artifacts
from council.cli.printing import Said, confirmed, one_line
from council.cli.values import Given, content
from council.councils import service
from council.kernel import times
from council.kernel.errors import Invalid, Refused
from council.observe import forget as removal
from council.setup import init as setup


def init(app: App, given: Given) -> Said:
    """Set up a workspace, or complete the one that exists."""
    made = setup.init(app.root, given.agents, given.lang, app.env)
    tops = {top + slash for top, slash, _ in (path.partition("/") for path in made["made"])}
    return Said(data=made, more={"tops": sorted(tops)})


def forget(app: App, given: Given) -> Said:
    """Remove one conversation, one entry, or old logs everywhere."""
    plan = removal.plan(app, given.which, given.entry, given.older_than)
    if not given.dry_run and not given.yes and not confirmed("\n".join(plan["remove"])):
        raise Refused("not-confirmed", "nothing was removed", "confirm with --yes")
    return Said(data=plan if given.dry_run else removal.carry_out(app, plan))


def artifact_publish(app: App, given: Given) -> Said:
    """Keep the content of a file under its digest."""
    from mimetypes import guess_type  # late: only here

    kind = given.type_ or guess_type(given.path)[0] or "application/octet-stream"
    if len(kind) > 100 or not kind.isascii() or not kind.isprintable() or "/" not in kind:
        what = f"no content type: {one_line(kind, 40)!r}"
        raise Invalid("bad-type", what, "write it like text/plain")
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
