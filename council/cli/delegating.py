"""The commands by which agents ask something of one another, and hand over content."""

from __future__ import annotations

import os
import sys

from council.app import App
from council.archive import artifacts
from council.cli.printing import Said, waiting
from council.cli.quick import Given, content
from council.delegation import service
from council.kernel import codec
from council.kernel.errors import Invalid

_EXIT = {"ok": 0, "error": 1, "invalid": 3, "rejected": 6, "timeout": 7}
_MOST = 256 * 1024  # bytes of a schema


def call(app: App, given: Given) -> Said:
    """Run another agent once, wait for it, and print its answer."""
    limits, schema = {}, None
    for name, value in given.limit.items():
        if not value.isdigit():
            raise Invalid("bad-limit", f"not a whole number: {name}={value[:40]}", "correct it")
        limits[name] = int(value)
    if given.schema:
        try:
            schema = codec.loads(content(given.schema, _MOST))
        except Invalid as error:
            what = f"{given.schema}: {error.message.removeprefix('the text: ')}"
            raise Invalid("bad-schema", what, "give a JSON schema") from None
    of = {name: getattr(given, name) for name in ("trace", "session", "refs", "key")}
    of |= {"limits": limits, "schema": schema, "accepted": waiting}
    made = service.call(app, given.text, given.sender, given.to, **of)
    notes = []
    if fault := made.get("error", {}):
        hint = f" ({fault['hint']})" if fault.get("hint") else ""
        notes = [f"council: {made['status']}: {fault['code']}: {fault['message']}{hint}"]
    more = {"cut": made["length"] > len(made["summary"]), "artifacts": made["artifacts"][:1]}
    return Said(data=made, more=more, notes=notes, code=_EXIT[made["status"]])


def artifact_publish(app: App, given: Given) -> Said:
    """Keep the content of a file under its digest."""
    from mimetypes import guess_type  # late: only here

    kind = given.type_ or guess_type(given.path)[0] or "application/octet-stream"
    made = service.publish(app, content(given.path, artifacts.MOST), kind, given.by)
    return Said(data={"outcome": "published", **made}, text=made["artifactId"])


def artifact_fetch(app: App, given: Given) -> Said:
    """Write the content of an artifact to a file or to standard output."""
    data, facts = service.fetch(app, given.ident, app.person())
    made = {**facts, "path": given.out}
    if given.out:
        path = os.path.abspath(given.out)
        if os.path.lexists(path) and not os.path.isfile(path):  # a device, which may be in use
            raise Invalid("not-a-file", f"{given.out} is no regular file", "name a file with --out")
        artifacts.put(path, data, replace=True)
        return Said(data=made, text=f"{given.out}: {len(data)} bytes")
    if not given.json:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return Said(data={**made, "content": data.decode(errors="replace")})
