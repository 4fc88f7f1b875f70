"""The commands that open and steer conversations."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given, listed, pairs, text_of
from council.councils import service
from council.kernel import times
from council.kernel.errors import Usage
from council.kernel.record import Any

_AS_GIVEN = (
    *("name", "procedure", "threshold", "coordinator", "synthesizer", "anonymous", "advocate"),
    *("sign_off", "max_runs", "max_tokens", "lang"),
)


def opening(given: Given) -> service.Opening:
    """Return what the options of `convene` and `ask` say of a new conversation."""
    for one, other in (("open_", "sealed"), ("brief", "brief_file")):
        if getattr(given, one) and getattr(given, other):
            names = f"--{one.rstrip('_')} and --{other.replace('_', '-')}"
            raise Usage("usage", f"{names} exclude each other", "give one of them")
    brief = text_of("", given.brief_file) if given.brief_file else given.brief
    try:
        usd = float(given.max_cost.removeprefix("$")) if given.max_cost else None
    except ValueError:
        raise Usage("usage", f"no amount: {given.max_cost!r}", "write it like 2.50") from None
    same: dict[str, Any] = {key: getattr(given, key) for key in _AS_GIVEN}
    same |= {key: listed(getattr(given, key)) for key in ("agents", "people", "options")}
    return service.Opening(
        **same,
        topic=" ".join(given.topic.split()),
        brief=brief.strip(),
        mode=given.mode.lower(),
        order=given.order.lower(),
        roles=pairs(given.role, "--role"),
        phases=[one.upper() for one in listed(given.phases)],
        timeout=int(times.duration(given.timeout).total_seconds()) if given.timeout else 0,
        max_rounds=given.max_rounds or 0,
        blind=True if given.sealed else False if given.open_ else None,
        max_usd=usd,
    )


def convene(app: App, given: Given) -> Said:
    """Open a conversation and wake its first speakers."""
    made = service.convene(app, opening(given), dry_run=given.dry_run)
    verb, who = "would open" if given.dry_run else "opened", ", ".join(made["participants"])
    lines = [f"{verb} {made['name']}: {made['phase']}, round {made['tour']}, {who}"]
    lines += [] if given.dry_run else [f"  {made['path']}"]
    return Said(data=made, text="\n".join(lines + _woken(made)), notes=made["warnings"])


def say(app: App, given: Given) -> Said:
    """Tell the participants something as a person, or rate minutes."""
    by = service.person(app, given.as_)
    if given.stars is not None:
        rated = service.rate(app, given.message or given.to or given.name, given.stars, by)
        mean = sum(rated["ratings"].values()) / len(rated["ratings"])
        return Said(data=rated, text=f"{rated['path']}: {given.stars} of 5 (mean {mean:.1f})")
    text = text_of(given.message, given.file, service.most_bytes(app))
    done = service.say(app, given.name, text, given.to, by, given.key)
    lines = [f"{done['name']}: {'said' if done['outcome'] == 'recorded' else 'was said before'}"]
    readers = ", ".join(done["readers"])
    lines.append(f"  read by: {readers}" if readers else "  no agent reads it; the minutes keep it")
    lines += [f"  {done['answers']} is asked to answer it"] if done["answers"] else []
    return Said(data=done, text="\n".join(lines))


def stop(app: App, given: Given) -> Said:
    """End the rounds; the vote or synthesis comes next, or with `--now` the minutes."""
    name = service.named(app, given.conversation())
    return _steered(service.stop(app, name, at_once=bool(given.now_)), "stopped")


def approve(app: App, given: Given) -> Said:
    """Approve the decision."""
    name, by = service.named(app, given.name), service.person(app, given.as_)
    return _steered(service.sign(app, name, by, True), "approved")


def reject(app: App, given: Given) -> Said:
    """Send the decision back once."""
    name, by = service.named(app, given.name), service.person(app, given.as_)
    return _steered(service.sign(app, name, by, False, given.why), "rejected")


def pause(app: App, given: Given) -> Said:
    """Start nothing more in a conversation, or in the workspace."""
    if given.all_:
        return Said(data=service.halt(app, True), text="paused: no agent is started")
    return _steered(service.pause(app, service.named(app, given.conversation())), "paused")


def resume(app: App, given: Given) -> Said:
    """Continue what was paused, or move the deadline."""
    if not given.for_ and given.all_:
        return Said(data=service.halt(app, False), text="resumed: agents are started again")
    by = times.duration(given.for_) if given.for_ else None
    done = service.resume(app, service.named(app, given.conversation()), by)
    return _steered(done, f"deadline {done['timeoutAt']}" if given.for_ else "resumed")


def cancel(app: App, given: Given) -> Said:
    """End a conversation without a decision."""
    name = service.named(app, given.conversation())
    return _steered(service.cancel(app, name, given.reason), "cancelled")


def _steered(done: dict[str, Any], verb: str) -> Said:
    again = " (it was before)" if done["outcome"] == "unchanged" else ""
    lines = [f"{done['name']}: {verb}{again}"]
    if done["minutes"]:
        lines.append(f"  minutes: {done['minutes']}")
    else:
        lines.append(f"  now in {done['phase']}, round {done['tour']}")
    return Said(data=done, text="\n".join(lines + _woken(done)))


def _woken(done: dict[str, Any]) -> list[str]:
    lines = [f"  woken: {', '.join(done['woken'])}"] if done["woken"] else []
    return lines + [f"  {agent} waits: {why}" for agent, why in done["waiting"].items()]
