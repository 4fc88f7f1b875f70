"""The commands of agents, and the heartbeat."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given, text_of
from council.councils import service
from council.kernel import times
from council.kernel.errors import Usage

LATE, TIMED_OUT, OVER = 4, 7, 8


def respond(app: App, given: Given) -> Said:
    """Give this round's answer; `vote` and `synthesize` accept only that."""
    stated, text = service.Stated(**given.of(service.Stated)), ""
    if given.text or given.file or not stated.is_answer():
        text = text_of(app, given.text, given.file)
    name, agent = service.named(app, given.name), service.who(app, given.as_)
    done = service.respond(app, name, agent, text, stated)
    notes = [done["question"]] if done["askedAgain"] else []
    faults = ", ".join(f"{one['part']} ({one['code']})" for one in done["faults"])
    notes += [f"not understood: {faults}"] if faults and not notes else []
    moved, heard = done["transition"] or {"from": "", "to": None}, done["understood"]
    outcome = "asked" if done["askedAgain"] else done["outcome"]
    more = {**heard, outcome: True, "next": moved["to"], "over": moved["to"] == ""}
    more["status"] = heard["status"].replace("RESPONDED", "")
    more["approval"] = moved["from"] == moved["to"] == "SYNTHESIZE"
    return Said(data=done, more=more, notes=notes, code=LATE if outcome == "late" else 0)


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
    code = {"turn": 0, "over": OVER, "timeout": TIMED_OUT}[seen["outcome"]]
    return Said(data=seen, more={seen["outcome"]: True}, code=code)


def heartbeat(app: App, given: Given) -> Said:
    """Advance what is due and wake agents; exit 3 where something is broken."""
    from council.runs import heartbeat as clock  # late: agents' commands beat no heart

    only = service.named(app, given.name) if given.name else ""
    in_time = not given.wait or clock.wait(app, only, times.duration(given.wait))
    report = clock.beat(app, only, given.dry_run)
    errors = [f"{one['name']}: {one['message']} ({one['hint']})" for one in report["errors"]]
    some = any(report[one.place_in_report] for one in app.kinds)
    idle = "" if errors or some else "Nothing was due."
    word = given.reply_token if not (report["changed"] or errors) else ""
    code = 3 if errors else 0 if in_time else TIMED_OUT
    return Said(data=report, text=word, more={"idle": idle}, notes=errors, code=code)
