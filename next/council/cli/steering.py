"""The commands that open and steer conversations."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import listed, one_of, pairs, text_of
from council.councils import service
from council.kernel import times
from council.kernel.errors import Usage
from council.kernel.record import Any


def opening(values: dict[str, Any]) -> service.Opening:
    """Return what the options of `convene` and `ask` say of a new conversation."""
    if values["open_"] and values["sealed"]:
        raise Usage("usage", "--open and --sealed exclude each other", "give one of them")
    if values["brief"] and values["brief_file"]:
        raise Usage("usage", "--brief and --brief-file exclude each other", "give one of them")
    brief = values["brief"]
    if values["brief_file"]:
        brief = text_of("", values["brief_file"])
    timeout = values["timeout"]
    cost = values["max_cost"].removeprefix("$")
    try:
        usd = float(cost) if cost else None
    except ValueError:
        raise Usage("usage", f"not an amount: {cost!r}", "write it like 2.50") from None
    return service.Opening(
        topic=values["topic"].strip(),
        brief=brief.strip(),
        name=values["name"],
        procedure=values["procedure"],
        mode=values["mode"].lower(),
        agents=listed(values["agents"]),
        people=listed(values["people"]),
        roles=pairs(values["role"], "--role"),
        order=values["order"].lower(),
        phases=[one.upper() for one in listed(values["phases"])],
        timeout=int(times.duration(timeout).total_seconds()) if timeout else 0,
        max_rounds=values["max_rounds"] or 0,
        threshold=values["threshold"],
        options=listed(values["options"]),
        coordinator=values["coordinator"],
        synthesizer=values["synthesizer"],
        blind=True if values["sealed"] else False if values["open_"] else None,
        anonymous=values["anonymous"],
        advocate=values["advocate"],
        sign_off=values["sign_off"],
        max_runs=values["max_runs"],
        max_tokens=values["max_tokens"],
        max_usd=usd,
        lang=values["lang"],
    )


def convene(app: App, *, dry_run: bool, **values: Any) -> Said:
    """Open a conversation and wake its first speakers."""
    made = service.convene(app, opening(values), dry_run=dry_run)
    verb = "would open" if dry_run else "opened"
    who = ", ".join(made["participants"])
    lines = [f"{verb} {made['name']}: {made['phase']}, round {made['tour']}, {who}"]
    if not dry_run:
        lines.append(f"  {made['path']}")
    if made["woken"]:
        lines.append(f"  woken: {', '.join(made['woken'])}")
    lines += [f"  {agent} waits: {why}" for agent, why in made["waiting"].items()]
    return Said(data=made, text="\n".join(lines), notes=made["warnings"])


def say(
    app: App, *, message: str, to: str, key: str, stars: int | None, name: str, as_: str, file: str
) -> Said:
    """Tell the participants something as a person, or rate minutes."""
    if stars is not None:
        rated = service.rate(app, message or to or name, stars, service.person(app, as_))
        mean = sum(rated["ratings"]) / len(rated["ratings"])
        return Said(data=rated, text=f"{rated['path']}: {stars} of 5 (mean {mean:.1f})")
    text = text_of(message, file, service.most_bytes(app))
    where, target = service.addressed(app, name, to)
    done = service.say(app, where, text, target, service.person(app, as_), key)
    readers = ", ".join(done["readers"]) or "no agent will read it; it is kept for the minutes"
    state = "said" if done["outcome"] == "recorded" else "was said before"
    lines = [f"{where}: {state}"]
    lines.append(f"  read by: {readers}" if done["readers"] else f"  {readers}")
    if done["answers"]:
        lines.append(f"  {done['answers']} is asked to answer it")
    return Said(data=done, text="\n".join(lines))


def inject(app: App, **values: Any) -> Said:
    """Tell the participants something."""
    return say(app, **values)


def stop(app: App, *, which: str, name: str, now_: bool) -> Said:
    """End the rounds; the vote or synthesis comes next, or with `--now` the minutes."""
    done = service.stop(app, service.named(app, one_of(which, name)), at_once=now_)
    return _steered(done, "stopped")


def archive(app: App, *, which: str, name: str) -> Said:
    """Write the minutes at once."""
    return stop(app, which=which, name=name, now_=True)


def approve(app: App, *, as_: str, name: str) -> Said:
    """Approve the synthesis."""
    name = service.named(app, name)
    return _steered(service.sign(app, name, service.person(app, as_), "approved", ""), "approved")


def reject(app: App, *, why: str, as_: str, name: str) -> Said:
    """Send the synthesis back once."""
    name = service.named(app, name)
    return _steered(service.sign(app, name, service.person(app, as_), "rejected", why), "rejected")


def pause(app: App, *, which: str, name: str, all_: bool) -> Said:
    """Start nothing more in a conversation, or in the workspace."""
    if all_:
        return _halted(service.halt(app, True), "paused: no agent is started")
    return _steered(service.pause(app, service.named(app, one_of(which, name))), "paused")


def resume(app: App, *, which: str, name: str, all_: bool, for_: str) -> Said:
    """Continue what was paused, or move the deadline."""
    if all_:
        return _halted(service.halt(app, False), "resumed: agents are started again")
    length = times.duration(for_) if for_ else None
    done = service.resume(app, service.named(app, one_of(which, name)), length)
    return _steered(done, f"deadline: {done['timeoutAt']}" if for_ else "resumed")


def extend(app: App, *, duration: str, name: str) -> Said:
    """Move the deadline to a duration from now."""
    return resume(app, which="", name=name, all_=False, for_=duration)


def cancel(app: App, *, which: str, name: str, reason: str) -> Said:
    """End a conversation without a decision."""
    done = service.cancel(app, service.named(app, one_of(which, name)), reason)
    return _steered(done, "cancelled")


def _halted(done: dict[str, Any], text: str) -> Said:
    return Said(data=done, text=text)


def _steered(done: dict[str, Any], verb: str) -> Said:
    lines = [f"{done['name']}: {verb}"]
    if done["outcome"] == "unchanged":
        lines[0] += " (it was before)"
    if done["minutes"]:
        lines.append(f"  minutes: {done['minutes']}")
    elif done["phase"]:
        lines.append(f"  now in {done['phase']}, round {done['tour']}")
    if done["woken"]:
        lines.append(f"  woken: {', '.join(done['woken'])}")
    return Said(data=done, text="\n".join(lines))
