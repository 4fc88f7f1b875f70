"""The commands of document 002: lines, and `msg send`."""

from __future__ import annotations

import os
import re

from council.app import App
from council.cli.printing import Said, say, waiting
from council.cli.quick import Given, content, text_of
from council.kernel import codec, times
from council.kernel.errors import Usage
from council.tasks.wire import tables, writing
from council.tasks.wire.model import parse

TIMED_OUT = 7
_FAILED = {"E1": 3, "E2": TIMED_OUT}  # by what codes of V5 begin with; 6 for all others
_MESSAGE = re.compile(r"(?:\[|FROM:|MSG_\w+\n).*(?:\n+(?![\[M\n]).+)*|.*\S.*")


def msg_send(app: App, given: Given) -> Said:
    """Ask the orchestrator for something, or play one line by hand."""
    from council.tasks import service  # late: lines alone need none

    if bool(given.user) is bool(given.line):
        what = "give a line, or a request with --user"
        raise Usage("usage", what, 'for example: council msg send --user "Find kettles"')
    if given.line:
        result = service.send(app, text_of(app, given.line, ""), given.as_, given.ctx)
    else:
        words = (given.priority, given.complexity, given.ctx, given.set_)
        result = service.request(app, text_of(app, given.user, ""), given.caps, *words)
    code = 0
    if given.wait and result["context"]:
        most = times.duration(given.timeout or "1h", 0).total_seconds()
        waiting(result["context"])
        result |= service.wait(app, result["context"], most)
        is_failed = result["done"] and result["verdict"]
        code = 0 if result["done"] or result["asked"] else TIMED_OUT
        code = _FAILED.get(result["verdict"][:2], 6) if is_failed else code
    previous = result.get("previous")  # of a request
    notes = [f"{previous} is full; it is #CTX:prev of {result['context']}"] if previous else []
    return Said(data=result, notes=notes, code=code)


def msg_parse(app: App, given: Given) -> Said:
    """Say what a message means and what is wrong with it; from standard input one by one."""
    text, replies = text_of(app, given.line, "").replace("\r\n", "\n"), list[Said]()
    for one in _MESSAGE.findall(text) if given.line == "-" else [text]:
        parsed, values = parse(one, given.version, given.strict), dict[str, object]()
        if given.resolve and parsed.version == "V5":
            from council.tasks import service  # late: as above

            values["references"] = service.resolved(app, parsed)
        data = parsed.shown() | values | ({"reply": writing.reply(parsed)} if given.reply else {})
        meanings = tables.meanings(parsed.version)
        errors = [{**one, "meaning": meanings[one["code"]]} for one in data["errors"]]
        own = {k: v for k, v in parsed.fields.items() if isinstance(v, (str, int)) and v != ""}
        told = {"errors": errors, "fields": own}
        replies.append(Said(data=data, more=told, reply="msg_parse", code=3 * bool(errors)))
    for done in replies[:-1]:
        say(done, as_json=given.json)
    return replies[-1].copy(code=max(done.code for done in replies))


def msg_build(app: App, given: Given) -> Said:  # noqa: ARG001 - it needs no workspace
    """Write a message of its fields; what is left out is filled in."""
    message = writing.build(given.fields, given.version or "V5", minimal=given.minimal)
    return Said(data={"text": message}, text=message)


def msg_convert(app: App, given: Given) -> Said:  # noqa: ARG001 - it needs no workspace
    """Write a message in another version, and say what is lost."""
    path, how = given.sidecar, {"lossy": given.lossy, "structural": given.structural}
    record = None
    if path and os.path.exists(path):
        record = writing.Sidecar.from_json(codec.loads(content(path, 1 << 20), path), path)
    done = writing.convert(given.line, given.to, **how, sidecar=record)
    if path and done.sidecar and (record is None or record.version != given.to):
        with open(path, "w", encoding="utf-8") as file:
            file.write(codec.dumps(done.sidecar.to_json()) + "\n")
    notes = [f"lost: {', '.join(done.losses)}"] * bool(done.losses)
    return Said(data={"text": done.text, "losses": done.losses}, text=done.text, notes=notes)


def msg_sign(app: App, given: Given) -> Said:
    """Sign a V5 message, or verify its signature; the shared key is in a variable."""
    name, text = given.key_env or "COUNCIL_AUTH_KEY", given.line
    if not (key := app.env.get(name, "")):
        raise Usage("no-key", f"no key in {name}", "put the shared key there, or use --key-env")
    if given.verify:
        reason = writing.verify(text, key)
        data = {"valid": reason == "valid", "reason": reason}
        return Said(data=data, text=reason, code=3 * (not data["valid"]))
    sid = re.fullmatch(r"S\d+", str(parse(text, "V5").fields.get("ctx")))
    message = writing.sign(text, key, sid[0] if sid else "S0", os.urandom(2).hex().upper())
    return Said(data={"text": message}, text=message)
