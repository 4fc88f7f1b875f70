"""The commands of agents, and the heartbeat: respond, vote, synthesize, context, wait."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said, cut
from council.cli.values import pairs, text_of
from council.councils import service
from council.kernel.errors import Usage
from council.kernel.record import Any

OVER, TIMED_OUT, LATE = 8, 7, 4
_SAID = {
    "recorded": "recorded",
    "already-recorded": "was recorded before",
    "late": "came too late: it counts nowhere, and is kept for the minutes",
    "checked": "was only checked; nothing is recorded",
}


def respond(app: App, only: str = "", **values: Any) -> Said:
    """Give this round's answer; `only` is the one kind that is accepted, "" any."""
    stated = service.Stated(
        position=values["position"],
        choice=values["choice"],
        confidence=values["confidence"],
        stances=pairs(values["stance"], "--stance"),
        status=values["status"],
    )
    text = ""
    if values["text"] or values["file"] or not stated.says_something():
        text = text_of(values["text"], values["file"], service.most_bytes(app))
    name = service.named(app, values["name"])
    done = service.respond(
        app,
        name,
        service.who(app, values["as_"]),
        text,
        stated,
        only=only,
        task=values["task"],
        mark=values["round_"],
        key=values["key"],
        amend=values["amend"],
        check=values["check"],
    )
    return Said(
        data=done,
        text="\n".join(_answered(done)),
        notes=_doubts(done),
        code=LATE if done["outcome"] == "late" else 0,
    )


def vote(app: App, **values: Any) -> Said:
    """Give a vote, and nothing else."""
    return respond(app, only="vote", **values)


def synthesize(app: App, **values: Any) -> Said:
    """Write the synthesis, and nothing else."""
    return respond(app, only="synthesis", **values)


def _answered(done: dict[str, Any]) -> list[str]:
    lines = [f"{done['agent']}: {done['phase']}, round {done['tour']}: {_SAID[done['outcome']]}"]
    moved = done["transition"]
    if moved:
        lines[0] += f"; {moved['to']} begins" if moved["to"] else "; the conversation is over"
    if done["minutes"]:
        lines.append(f"  minutes: {done['minutes']}")
    heard = done["understood"]
    if not heard:
        return lines
    for key in ("position", "choice", "confidence", "status"):
        if heard[key]:
            lines.append(f"  {key}: {cut(' '.join(str(heard[key]).split()), 65)}")
    if heard["stances"]:
        words = [f"{peer} {word}" for peer, word in heard["stances"].items()]
        lines.append(f"  stances: {', '.join(words)}")
    lines += [f"  blocker: {cut(one, 65)}" for one in heard["blockers"]]
    lines += [f"  resolved: {cut(one, 65)}" for one in heard["resolved"]]
    lines += [
        f"  quotation {'found' if one['found'] else 'not found'}: {cut(one['text'], 50)}"
        for one in heard["quotations"]
    ]
    return lines


def _doubts(done: dict[str, Any]) -> list[str]:
    if done["askedAgain"]:
        return [done["question"]]
    faults = [f"{one['part']} ({one['code']})" for one in done["faults"]]
    return [f"not understood: {', '.join(faults)}"] if faults else []


def context(app: App, *, as_: str, name: str, kind: str, lang: str) -> Said:
    """Print what an agent may see now, as its prompt."""
    if kind not in ("", "turn", "vote", "synthesis"):
        raise Usage("bad-kind", f"no such kind: {kind}", "use turn, vote or synthesis")
    seen = service.context(app, service.named(app, name), service.who(app, as_), kind, lang)
    return Said(data=seen, text=seen.pop("prompt"))


def wait(app: App, *, as_: str, name: str, timeout: str) -> Said:
    """Wait until it is an agent's turn (0), the conversation is over (8) or time is up (7)."""
    from council.kernel import times

    agent = service.who(app, as_)
    most = times.duration(timeout).total_seconds() if timeout else None
    seen = service.wait(app, service.named(app, name), agent, most)
    if seen["outcome"] == "turn":
        return Said(
            data=seen,
            text=f"{agent}: your turn in {seen['phase']}, round {seen['tour']} of {seen['name']}\n"
            f"  council context --as {agent} --name {seen['name']}",
        )
    if seen["outcome"] == "over":
        where = f"; minutes: {seen['minutes']}" if seen["minutes"] else ""
        return Said(data=seen, text=f"{seen['name']} is over{where}", code=OVER)
    said = f"{agent}: not your turn yet in {seen['phase']}, round {seen['tour']} of {seen['name']}"
    return Said(data=seen, text=said, code=TIMED_OUT)


def heartbeat(app: App, *, name: str, wait: str, dry_run: bool, reply_token: str) -> Said:
    """Advance what is due and wake agents; exit 3 where something is broken."""
    from council.runs import heartbeat as clock

    only = service.named(app, name) if name else ""
    in_time = True
    if wait:
        from council.kernel import times

        in_time = clock.wait(app, only, times.duration(wait))
    report = clock.beat(app, only, dry_run)
    errors = [f"{one['name']}: {one['message']} ({one['hint']})" for one in report["errors"]]
    text = "\n".join(_beaten(report))
    if not report["changed"] and not errors and reply_token:
        text = reply_token
    code = 3 if errors else 0 if in_time else TIMED_OUT
    return Said(data=report, text=text, notes=errors, code=code)


def _beaten(report: dict[str, Any]) -> list[str]:
    lines = []
    for one in report["conversations"]:
        line = f"{one['name']}: {one['phase']}, round {one['tour']}"
        moved = one["transition"]
        if moved:
            line += f"; from {moved['from']} ({moved['reason']})"
        if one["woken"]:
            line += f"; woken: {', '.join(one['woken'])}"
        if one["archived"]:
            line = f"{one['name']}: over; minutes: {one['archived']}"
        lines.append(line)
        lines += [f"  {agent} waits: {why}" for agent, why in one["waiting"].items()]
    return lines or ([] if report["errors"] else ["Nothing is open."])
