"""The commands of agents, and the heartbeat."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said, one_line
from council.cli.values import Given, text_of
from council.councils import service
from council.kernel import times
from council.kernel.errors import Usage
from council.kernel.record import Any

OVER, TIMED_OUT, LATE = 8, 7, 4
_SAID = {
    "recorded": "recorded",
    "already-recorded": "was recorded before",
    "late": "came too late: it counts nowhere, and is kept for the minutes",
    "checked": "only checked; nothing is recorded",
}


def respond(app: App, given: Given) -> Said:
    """Give this round's answer; `vote` and `synthesize` accept only that."""
    stated = service.Stated(
        position=given.position,
        choice=given.choice,
        confidence=given.confidence,
        stances=given.stance,
        status=given.status,
    )
    text = ""
    if given.text or given.file or not stated.is_answer():
        text = text_of(given.text, given.file, service.most_bytes(app))
    name, agent = service.named(app, given.name), service.who(app, given.as_)
    done = service.respond(
        app,
        name,
        agent,
        text,
        stated,
        only=given.only,
        task=given.task,
        mark=given.round_,
        key=given.key,
        amend=given.amend,
        check=given.check,
    )
    code = LATE if done["outcome"] == "late" else 0
    return Said(data=done, text=_answered(done), notes=_doubts(done), code=code)


def _answered(done: dict[str, Any]) -> str:
    lines = [f"{done['agent']}: {done['phase']}, round {done['tour']}: {_SAID[done['outcome']]}"]
    moved, heard = done["transition"], done["understood"]
    if moved:
        lines[0] += f"; {moved['to']} begins" if moved["to"] else "; the conversation is over"
    lines += [f"minutes: {done['minutes']}"] if done["minutes"] else []
    lines += [f"{key}: {heard[key]}" for key in ("position", "choice", "confidence") if heard[key]]
    lines += [f"status: {heard['status']}"] if heard["status"] not in ("", "RESPONDED") else []
    stances = ", ".join(f"{peer} {word}" for peer, word in heard["stances"].items())
    lines += [f"stances: {stances}"] if stances else []
    lines += [f"blocker: {one}" for one in heard["blockers"]]
    lines += [f"resolved: {one}" for one in heard["resolved"]]
    lines += [f"question to {one['to']}: {one['text']}" for one in heard["questions"]]
    for one in heard["quotations"]:
        lines.append(f"quotation {'' if one['found'] else 'not '}found: {one['text']}")
    return "\n  ".join(one_line(line) for line in lines)


def _doubts(done: dict[str, Any]) -> list[str]:
    if done["askedAgain"]:
        return [done["question"]]
    faults = ", ".join(f"{one['part']} ({one['code']})" for one in done["faults"])
    return [f"not understood: {faults}"] if faults else []


def context(app: App, given: Given) -> Said:
    """Print what an agent may see now, as its prompt."""
    if given.kind not in ("", "turn", "vote", "synthesis", "contribution"):
        raise Usage("bad-kind", f"no such kind: {given.kind}", "use turn, vote or synthesis")
    name = service.named(app, given.name)
    seen = service.context(app, name, service.who(app, given.as_), given.kind)
    return Said(data=seen, text=seen["prompt"])


def wait(app: App, given: Given) -> Said:
    """Wait until it is an agent's turn (0), the conversation is over (8) or time is up (7)."""
    agent = service.who(app, given.as_)
    most = times.duration(given.timeout).total_seconds() if given.timeout else None
    seen = service.wait(app, service.named(app, given.name), agent, most)
    where = f"{seen['phase']}, round {seen['tour']} of {seen['name']}"
    if seen["outcome"] == "turn":
        next_ = f"  council context --as {agent} --name {seen['name']}"
        return Said(data=seen, text=f"{agent}: your turn in {where}\n{next_}")
    if seen["outcome"] == "over":
        minutes = f"; minutes: {seen['minutes']}" if seen["minutes"] else ""
        return Said(data=seen, text=f"{seen['name']} is over{minutes}", code=OVER)
    return Said(data=seen, text=f"{agent}: not your turn yet in {where}", code=TIMED_OUT)


def heartbeat(app: App, given: Given) -> Said:
    """Advance what is due and wake agents; exit 3 where something is broken."""
    from council.runs import heartbeat as clock  # late: agents' commands beat no heart

    only, in_time = service.named(app, given.name) if given.name else "", True
    if given.wait:
        in_time = clock.wait(app, only, times.duration(given.wait))
    report = clock.beat(app, only, given.dry_run)
    errors = [f"{one['name']}: {one['message']} ({one['hint']})" for one in report["errors"]]
    text = "\n".join(_beaten(report))
    if not report["changed"] and not errors and given.reply_token:
        text = given.reply_token
    code = 3 if errors else 0 if in_time else TIMED_OUT
    return Said(data=report, text=text, notes=errors, code=code)


def _beaten(report: dict[str, Any]) -> list[str]:
    lines = []
    for one in report["conversations"]:
        line, moved = f"{one['name']}: {one['phase']}, round {one['tour']}", one["transition"]
        line += f"; {moved['from']} is over ({moved['reason']})" if moved else ""
        line += f"; woken: {', '.join(one['woken'])}" if one["woken"] else ""
        lines.append(f"{one['name']}: over; {one['archived']}" if one["archived"] else line)
        lines += [f"  {agent} waits: {why}" for agent, why in one["waiting"].items()]
    return lines or ([] if report["errors"] else ["Nothing is open."])
