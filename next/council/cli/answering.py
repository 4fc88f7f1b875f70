"""The commands of agents, and the heartbeat."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said, one_line
from council.cli.values import Given, text_of
from council.councils import service
from council.kernel import times
from council.kernel.errors import Usage
from council.kernel.record import Any

LATE, TIMED_OUT, OVER = 4, 7, 8
_SAID = {
    "asked": "kept; one question about it has to be answered",
    "recorded": "recorded",
    "already-recorded": "was recorded before",
    "late": "came too late: it counts nowhere, and is kept for the minutes",
    "checked": "only checked; nothing is recorded",
}


def respond(app: App, given: Given) -> Said:
    """Give this round's answer; `vote` and `synthesize` accept only that."""
    stated = service.Stated(**given.of(service.Stated))
    text = ""
    if given.text or given.file or not stated.is_answer():
        text = text_of(app, given.text, given.file)
    name, agent = service.named(app, given.name), service.who(app, given.as_)
    done = service.respond(app, name, agent, text, stated)
    notes = [done["question"]] if done["askedAgain"] else []
    faults = ", ".join(f"{one['part']} ({one['code']})" for one in done["faults"])
    notes += [f"not understood: {faults}"] if faults and not notes else []
    code = LATE if done["outcome"] == "late" else 0
    return Said(data=done, text=_answered(done), notes=notes, code=code)


def _answered(done: dict[str, Any]) -> str:
    said = _SAID["asked" if done["askedAgain"] else done["outcome"]]
    lines = [f"{done['agent']}: {done['phase']}, round {done['tour']}: {said}"]
    moved, heard = done["transition"], done["understood"]
    if moved:
        lines[0] += f"; {moved['to']} begins" if moved["to"] else "; the conversation is over"
    keys = ("position", "choice", "confidence", "status")
    shown = [("minutes", done["minutes"]), *((key, heard[key]) for key in keys)]
    shown.append(("stances", ", ".join(f"{p} {word}" for p, word in heard["stances"].items())))
    shown += [("blocker", one) for one in heard["blockers"]]
    shown += [("resolved", one) for one in heard["resolved"]]
    shown += [(f"question to {one['to']}", one["text"]) for one in heard["questions"]]
    shown += [
        (f"quotation {'' if one['found'] else 'not '}found", one["text"])
        for one in heard["quotations"]
    ]
    lines += [f"  {key}: {one}" for key, one in shown if one not in ("", None, "RESPONDED")]
    return "\n".join([lines[0], *(f"  {one_line(line, 76)}" for line in lines[1:])])


def context(app: App, given: Given) -> Said:
    """Print what an agent may see now, as its prompt."""
    if given.kind not in ("", "turn", "vote", "synthesis", "contribution"):
        raise Usage("bad-kind", f"no such kind: {given.kind[:40]}", "use turn, vote or synthesis")
    name = service.named(app, given.name)
    seen = service.context(app, name, service.who(app, given.as_), given.kind)
    return Said(data=seen, text=seen["prompt"])


def wait(app: App, given: Given) -> Said:
    """Wait until it is an agent's turn (0), the conversation is over (8) or time is up (7)."""
    agent = service.who(app, given.as_)
    most = times.duration(given.timeout).total_seconds() if given.timeout else None
    seen = service.wait(app, given.name, agent, most)
    name, minutes = seen["name"], f"; minutes: {seen['minutes']}" if seen["minutes"] else ""
    where = f"{seen['phase']}, round {seen['tour']} of {name}"
    code, text = {
        "turn": (0, f"{agent}: your turn in {where}\n  council context --as {agent} --name {name}"),
        "over": (OVER, f"{name} is over{minutes}"),
        "timeout": (TIMED_OUT, f"{agent}: not your turn yet in {where}"),
    }[seen["outcome"]]
    return Said(data=seen, text=text, code=code)


def heartbeat(app: App, given: Given) -> Said:
    """Advance what is due and wake agents; exit 3 where something is broken."""
    from council.runs import heartbeat as clock  # late: agents' commands beat no heart

    only = service.named(app, given.name) if given.name else ""
    in_time = not given.wait or clock.wait(app, only, times.duration(given.wait))
    report = clock.beat(app, only, given.dry_run)
    errors = [f"{one['name']}: {one['message']} ({one['hint']})" for one in report["errors"]]
    lines = [] if errors or report["conversations"] else ["Nothing was due."]
    for one in report["conversations"]:
        moved, line = one["transition"], f"{one['name']}: {one['phase']}, round {one['tour']}"
        line += f"; {moved['from']} is over ({moved['reason']})" if moved else ""
        line += f"; asked: {', '.join(one['woken'])}" if one["woken"] else ""
        lines.append(f"{one['name']}: over; {one['archived']}" if one["archived"] else line)
        lines += [f"  {agent} waits: {why}" for agent, why in one["waiting"].items()]
    if given.reply_token and not report["changed"] and not errors:
        lines = [given.reply_token]
    code = 3 if errors else 0 if in_time else TIMED_OUT
    return Said(data=report, text="\n".join(lines), notes=errors, code=code)
