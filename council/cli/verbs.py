"""The verbs of conversations, and the heartbeat."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.quick import Given, text_of
from council.councils import service
from council.councils.model import SYNTHESIZE
from council.kernel import times
from council.kernel.errors import Usage
from council.kernel.record import Any

_LATE, _TIMED_OUT = 4, 7


def convene(app: App, given: Given) -> Said:
    """Open a conversation and wake its first speakers."""
    from council.councils import opening  # late: most verbs open nothing

    made = service.convene(app, opening.opening(given.__dict__), dry_run=given.dry_run)
    more = {"options": given.options}
    return Said(data=made, more=more, notes=made["warnings"] + _to_wake(app, [made]))


def respond(app: App, given: Given) -> Said:
    """Give this round's answer; `vote` and `synthesize` accept only that."""
    own = {name: one for name, one in given.__dict__.items() if name in service.Stated._kinds}
    stated, text = service.Stated(**own), ""
    if given.text or given.file or not stated.is_answer():
        text = text_of(app, given.text, given.file)
    done = service.respond(app, app.find(given.name), given.agent, text, stated)
    faults = ", ".join(f"{one['part']} ({one['code']})" for one in done["faults"])
    notes = [f"not understood: {faults}"] * bool(faults)
    notes = [done["question"]] if done["askedAgain"] else notes
    heard, moved, more = done["understood"], done["transition"], dict[str, Any]()
    if moved:
        to, is_over = moved["to"], not moved["to"]
        more = {"over": is_over, "approval": moved["from"] == to == SYNTHESIZE}
        more["next"] = "" if is_over else f"{to}, round {done['tour'] + 1}"
    code = _LATE if done["outcome"] == "late" else 0
    return Said(data=done, more={**heard, **more}, notes=notes, code=code)


def context(app: App, given: Given) -> Said:
    """Print what an agent may see now, as its prompt."""
    if given.kind in ("worker", "orchestrator", "research"):
        from council.tasks import service as tasks  # late: few agents are workers

        seen = tasks.prompt(app, given.agent, given.kind)
    else:
        seen = service.context(app, app.find(given.name), given.agent, given.kind)
    return Said(data=seen, text=seen["prompt"])


def say(app: App, given: Given) -> Said:
    """Tell the participants something as a person, or rate minutes."""
    if given.stars in (None, ""):
        from council.observe import named  # late: only here

        text = text_of(app, given.message, given.file)
        done = named.say(app, given.name, text, given.to, given.by or app.person(), given.key)
        return Said(data=done, more={"to": given.to})
    from council.archive import minutes  # late: only here

    which = given.to or given.name or given.message
    if not which or given.message not in ("", which):
        raise Usage("usage", "a rating has no text", f"council say MINUTES --stars {given.stars}")
    path = minutes.find(app.root, which)["path"]
    ratings = minutes.rate(path, given.stars, given.by)
    text = f"{path}: {given.stars} of 5 (mean {sum(ratings.values()) / len(ratings):.1f})"
    return Said(data={"path": path, "ratings": ratings}, text=text)


def steer(app: App, given: Given) -> Said:
    """Carry out stop, pause, resume, cancel, approve or reject: the table has `verb` and `word`."""
    if given.all_ and not given.more:
        done = service.halt(app, given.verb == "pause")
        return Said(data=done, more={"word": given.word}, reply="halt")
    by, verb = given.by or app.person(), given.verb
    if verb == "cancel" and given.which[:1] in ("S", "T") and given.which[1:2].isdigit():
        from council.tasks import service as tasks  # late: few have tasks

        if ended := tasks.cancel(app, given.which, given.reason, by):
            return Said(data=ended, text=f"{given.which}: cancelled")
    words = {**given.__dict__, "now": given.now_}
    done = service.steered(app, given.which or given.name, verb, by, words)
    word = f"deadline {done['timeoutAt']}" if given.more else given.word
    return Said(data=done, more={"word": word})


def heartbeat(app: App, given: Given) -> Said:
    """Advance what is due and wake agents; exit 3 where something is broken."""
    from council.runs import heartbeat as clock  # late: agents' commands beat no heart

    only = app.find(given.name) if given.name else ""
    in_time = not given.wait or clock.wait(app, only, times.duration(given.wait, 0))
    report = clock.beat(app, only, given.dry_run)
    errors = [f"{one['name']}: {one['message']} ({one['hint']})" for one in report["errors"]]
    rows = [row for one in app.kinds for row in report[one.place_in_report]]
    errors += _to_wake(app, rows)
    word = given.reply_token if not (report["changed"] or errors) else ""
    more = {"idle": not (errors or any(row["changed"] or row["waiting"] for row in rows))}
    broken = [one for one in report["errors"] if one["exit"] != _TIMED_OUT]
    code = 3 if broken else 0 if in_time and not report["errors"] else _TIMED_OUT
    return Said(data=report, text=word, more=more, notes=errors, code=code)


def _to_wake(app: App, rows: list[dict[str, Any]]) -> list[str]:
    """Return whom an agent of OpenClaw has to wake itself: its shell may start nobody."""
    waits = (pair for row in rows for pair in row["waiting"].items())
    agents = sorted({agent for agent, code in waits if code == "openclaw-shell"})
    told = f"council context --root {app.root} --as"
    return [f"wake {one} with sessions_send: run `{told} {one}` and answer" for one in agents]
