"""The commands that open and steer conversations."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given, pairs, text_of
from council.councils import service
from council.councils.model import Config
from council.kernel import times
from council.kernel.errors import Usage
from council.kernel.record import Any


def opening(app: App, given: Given) -> service.Opening:
    """Return what the options of `convene` and `ask` say of a new conversation."""
    brief = text_of(app, "", given.brief_file) if given.brief_file else given.brief
    try:
        usd = float(given.max_cost.removeprefix("$")) if given.max_cost else None
        if usd is not None and not 0 <= usd < 1e9:
            raise ValueError
    except ValueError:
        what = f"no amount: {given.max_cost[:40]!r}"
        raise Usage("usage", what, "write it like 2.50") from None
    topic = " ".join("".join(c if c.isprintable() else " " for c in given.topic).split())
    if not topic:
        raise Usage("no-topic", "there is no question", 'council ask "your question"')
    config: dict[str, Any] = {
        **given.of(Config),
        **{"mode": given.mode.lower(), "order": given.order.lower(), "max_usd": usd},
        "phases": [one.upper() for one in given.phases],
        "timeout": int(times.duration(given.timeout).total_seconds()) if given.timeout else None,
        "blind": True if given.sealed else False if given.open_ else None,
    }
    stated = {**given.of(service.Opening), "topic": topic, "brief": brief.strip()}
    stated |= {"procedure": given.procedure or "council", "config": config}
    return service.Opening(**{**stated, "roles": pairs(given.role, "--role")})


def convene(app: App, given: Given) -> Said:
    """Open a conversation and wake its first speakers."""
    made = service.convene(app, opening(app, given), dry_run=given.dry_run)
    verb, who = "would open" if given.dry_run else "opened", ", ".join(made["participants"])
    lines = [f"{verb} {made['name']}: {made['phase']}, round {made['tour']}, {who}"]
    lines += [] if given.dry_run else [f"  {made['path']}"]
    return Said(data=made, text="\n".join(lines + _woken(made)), notes=made["warnings"])


def say(app: App, given: Given) -> Said:
    """Tell the participants something as a person, or rate minutes."""
    by = service.person(app, given.as_)
    if given.stars is not None:
        from council.archive import minutes  # late: only here

        which = given.message or given.to or given.name
        if not which:
            raise Usage("usage", "no minutes are named", "council say NAME --stars 4")
        row = minutes.find(app.root, which)
        ratings = minutes.rate(row["path"], given.stars, by)
        mean = sum(ratings.values()) / len(ratings)
        text = f"{row['path']}: {given.stars} of 5 (mean {mean:.1f})"
        return Said(data={"path": row["path"], "ratings": ratings}, text=text)
    text = text_of(app, given.message, given.file)
    done = service.say(app, given.name, text, given.to, by, given.key)
    lines = [f"{done['name']}: {'said' if done['outcome'] == 'recorded' else 'was said before'}"]
    readers = ", ".join(done["readers"])
    lines.append(f"  read by: {readers}" if readers else "  no agent reads it; the minutes keep it")
    lines += [f"  {done['answers']} is asked to answer it"] if done["answers"] else []
    return Said(data=done, text="\n".join(lines))


def steer(app: App, given: Given) -> Said:
    """Carry out stop, pause, resume, cancel, approve or reject: the table has `verb` and `word`."""
    if given.all_ and not given.for_:
        text = "paused: no agent is started"
        text = text if given.verb == "pause" else "resumed: agents are started again"
        return Said(data=service.halt(app, given.verb == "pause"), text=text)
    by = service.person(app, given.as_)
    words, more = [by] if given.verb == "sign" else [], dict[str, Any]()
    if given.verb == "stop":
        more = {"now": bool(given.now_)}
    elif given.verb == "cancel":
        more = {"reason": given.reason}
    elif given.verb == "sign":
        more = {"approve": given.word == "approved", "why": given.why}
    elif given.for_:
        more = {"more": times.duration(given.for_)}
    name = service.named(app, given.conversation())
    done = service.steer(app, name, given.verb, *words, by=by, **more)
    word = f"deadline {done['timeoutAt']}" if given.for_ else given.word
    again = " (nothing to change)" if done["outcome"] == "unchanged" else ""
    where = f"now in {done['phase']}, round {done['tour']}"
    where = f"minutes: {done['minutes']}" if done["minutes"] else where
    return Said(data=done, text="\n".join([f"{name}: {word}{again}", f"  {where}", *_woken(done)]))


def _woken(done: dict[str, Any]) -> list[str]:
    lines = [f"  asked: {', '.join(done['woken'])}"] if done["woken"] else []
    return lines + [f"  {agent} waits: {why}" for agent, why in done["waiting"].items()]
