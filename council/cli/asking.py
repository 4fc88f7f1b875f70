"""`ask`: open a council, show it as it goes on, print the decision; also `demo` and `trial`.

It reads the journal again and again, and runs the heartbeat itself when something is due, so it
needs no cron. Progress goes to standard error; standard output has the decision alone.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from council.agents import programs
from council.app import App
from council.archive import minutes
from council.cli.printing import COLUMNS, Said, columns, err, one_line, text, wrapped
from council.cli.quick import Given
from council.cli.workspace import extra
from council.councils import opening, rules, service, sight, views
from council.councils.model import RESOLVE, Entry, State, fields
from council.councils.row import CONVERSATIONS
from council.kernel import ids, times, words
from council.kernel.document import Document
from council.kernel.errors import Conflict, NotFound, Refused
from council.kernel.record import Any
from council.observe import status
from council.runs import heartbeat, processes
from council.runs.kinds import KindRow
from council.trial import service as trials
from council.trial.row import TRIALS

POLL = 0.03  # seconds between two looks at the journal, or twice as long as a look takes
RESCUE = 5.0  # seconds after which runs that lost their supervisor are looked for
LONG = 1.5  # the same while all places are taken
PAUSE = 0.25  # seconds between two answers that are played on a terminal
EVERY = 10.0  # seconds between two lines about a trial
HIGHER = " with a higher --max-runs or --max-cost"  # resumes a trial that a ceiling stopped
STOPPED, LOST, UNDECIDED, INTERRUPTED = 6, 8, 9, 130
GIST = 160  # characters of an answer
_NOT_SAID = re.compile(r"\s*((>|#|[A-ZÉ]{5,} ?:).*|@\S+|AGREED|DONE)\s*")  # forms, quotations


def ask(app: App, given: Given) -> Said:
    """Ask a council, watch it, and print the decision."""
    if given.gate:
        own = {"procedure": given.procedure or "deliberation"}
        given.__dict__.update(own, options=given.options or ["yes", "no"])
    if given.resume:
        name = app.find(given.name or given.topic)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        return _watched(app, given, name, service.steer(app, name, "resume"))
    asked = opening.opening(given.__dict__)
    named = ids.slug(asked.topic, 40) or f"question-{ids.digest(asked.topic)[:6]}"
    if not asked.name and app.is_open(service.DEFAULT):
        asked.name = named
    if given.rehearse:
        from council.setup import demo as plays  # late: only here

        following = f'council ask "{one_line(asked.topic, 60)}"'
        return _played(app, given, plays.rehearse(app, asked, given.seed or 0), following)
    _refuse_in_vain(app, asked)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until there is what to pause
    try:
        made = service.convene(app, asked)
    except Conflict:  # another one was faster
        if asked.name:
            raise
        asked.name = named
        made = service.convene(app, asked)
    for warning in made["warnings"]:
        err(f"! {warning}")
    return _watched(app, given, made["name"], made)


def demo(app: App, given: Given) -> Said:
    """Play document 000's family in a workspace of its own, and print what it decides."""
    from tempfile import mkdtemp  # late: slow to import

    from council.setup import demo as plays  # late: as above

    env = {name: one for name, one in app.env.items() if name != "COUNCIL_NAME"}
    stage = type(app)(mkdtemp(prefix="council-demo-"), app.fixed, env)
    states = plays.family(stage, given.lang or app.env.get("LANG", "")[:2])
    following = 'council init team && cd team && council ask "your question"'
    return _played(stage, given, states, following)


def _played(app: App, given: Given, states: Iterable[State], following: str) -> Said:
    """Show a council that is played from a script, and print what came of it."""
    screen = _Screen(is_play=True)
    for state in states:
        if screen.show(_lines(app, state, screen)) and columns(sys.stderr):
            time.sleep(PAUSE)
    said = _told(app, state, given, following)
    said.data["root"] = app.root
    return said


def _watched(app: App, given: Given, name: str, opened: dict[str, Any]) -> Said:
    """Show a conversation until it is over, and print what came of it."""
    screen = _Screen()

    def show(state: State) -> bool:
        screen.show(_lines(app, state, screen))
        screen.tick(_doing(app, state))
        return False

    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _beaten(app, CONVERSATIONS, name, screen, show)
        show(state := service.find(app, opened["conversationId"]))
    except KeyboardInterrupt:
        screen.tick("")
        if not app.is_open(name):
            raise
        done = service.steer(app, name, "pause")
        end_runs(app, [app.conversation(name)])
        how = [f"to continue: council ask --resume --name {name}"]
        return Said(data=done, more={"word": "paused"}, notes=how, reply="steer", code=INTERRUPTED)
    return _told(app, state, given)


def end_runs(app: App, documents: list[Document[Any]]) -> None:
    """End the runs of some documents, also those whose supervisor is only starting."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until it has, their places name this process
    for _ in range(40):
        mine = os.getpid() in processes.held(app.state_folder).values()
        for one in documents:
            heartbeat.end_runs(app, one.peek().runs.by_id.values())
        if not mine:
            break
        time.sleep(0.05)


def _refuse_in_vain(app: App, asked: service.Opening) -> None:
    """Refuse a council of which fewer than two could ever answer."""
    found, faults = opening.members(app, asked), []
    for ident in [ident for ident, one in found.items() if not one.person]:
        code, words = programs.fault(app.agent(ident), app.world, app.root)
        faults += [f"{ident}: {words}"] if code else []
    if faults and len(found) - len(faults) < 2:
        what = f"too few could answer: {'; '.join(faults)}"
        raise Refused("nobody-can-answer", what, "council doctor")


def _told(app: App, state: State, given: Given, following: str = "") -> Said:
    """Return what a conversation that is over came to (`json.md`, `ask`)."""
    row, used = minutes.find(app.root, state.conversation_id), views.used(state)
    done: dict[str, Any] = {
        **fields(state, "name conversation_id"),
        **views.decision(state),
        **{"outcome": row["outcome"], "minutes": row["path"], "line": row["title"], "used": used},
        "questions": [f"{one} → {other}: {text}" for one, other, text in sight.unanswered(state)],
        "verdict": {k: v for k, v in row.items() if k not in ("path", "decision")},
    }
    code = 1 if done["outcome"] == "nobody-left" else 0
    if given.gate:
        winners = sight.tally(state).winners
        code = 0 if winners == ["A"] else LOST if len(winners) == 1 else UNDECIDED
    more: dict[str, Any] = {"cost": f", ${used['usd']:.2f}" if used["usd"] else ""}
    written = [one.heard.consensus for one in state.entries if one.kind == "synthesis"]
    more["why"] = "".join(written[-1:]).partition("\n\n")[0]
    more["dissent"] = [{**one, "said": _sentence(one["position"])} for one in done["dissent"]]
    reply = "ask-fr" if state.lang == "fr" else "ask"
    said = Said(data=done, more={**more, "next": following}, code=code, reply=reply)
    return said.copy(text=wrapped(text(said), columns(sys.stdout) or COLUMNS * bool(following)))


class _Screen:
    """Standard error while a council goes on: each line once, and who is running now.

    Attributes:
        width: The columns in which a line has to fit; 0 is a pipe.
        is_play: Whether all happens at once, so that nobody is waited for.
    """

    def __init__(self, is_play: bool = False) -> None:
        self.width, self.is_play = columns(sys.stderr) or COLUMNS * is_play, is_play
        self.told, self.live = Counter[str](), ""

    def show(self, lines: Iterable[str]) -> bool:
        """Print the lines that are not there yet; return whether there were any."""
        seen, is_new = Counter[str](), False
        for line in lines:
            seen[line] += 1
            if seen[line] > self.told[line]:
                self.told[line], is_new = seen[line], True
                self.tick("")
                err(wrapped(line, self.width, "    "))
        return is_new

    def tick(self, text: str) -> None:
        """Replace the line below all others by a text, on a terminal that can do that."""
        if text != self.live and self.width and os.environ.get("TERM") != "dumb":
            self.live = text
            err(one_line(text, self.width - 1), "\r\x1b[2K", "")


def _sentence(text: str) -> str:
    """Return the first sentence of a text, cut where it is long."""
    return one_line(re.split(r"(?<=[.!?…])\s", " ".join(text.split()), maxsplit=1)[0], GIST)


def _beaten(
    app: App, row: KindRow, name: str, screen: _Screen, show: Callable[[Any], bool]
) -> None:
    """Beat the heart for a document until it is gone, or `show` says that it is over."""
    document, beaten, rescue = row.document(app, name), -1, time.monotonic() + RESCUE
    only = name if row is CONVERSATIONS else ""  # a trial has conversations
    while True:
        began = time.monotonic()
        try:
            state = document.peek()
        except NotFound:
            return
        if show(state):
            return
        wake = row.module.wake(state)
        is_due = not only or (wake is not None and wake <= app.now)
        if began > rescue or (beaten != state.rev and is_due):
            beaten = state.rev
            app.again()
            report = heartbeat.beat(app, only)
            rows = [one for one in report[row.place_in_report] if one["name"] == name]
            waits = dict(pair for one in rows for pair in one["waiting"].items())
            is_full = "no-place" in waits.values()  # one is free in a moment
            form, how = _words(state)["waits"], f"council explain {name}"
            ways = {who: why for who, why in waits.items() if why != "no-place"}
            notes = [f"! {form.format(who=a, why=why, command=how)}" for a, why in ways.items()]
            screen.show([*notes, *(f"! {e['message']} ({e['hint']})" for e in report["errors"])])
            rescue = time.monotonic() + (LONG if is_full else RESCUE)
        time.sleep(max(POLL, 2 * (time.monotonic() - began)))


def _doing(app: App, state: State) -> str:
    """Return who has to answer now, and how long each has been running."""
    runs = [run for run in state.runs.by_id.values() if run.is_open() and not state.ended_at]
    since = {run.agent: f" {times.spoken(app.now - times.instant(run.at))}" for run in runs}
    owing = dict.fromkeys([*since, *rules.asked(state)])
    who = ", ".join(one + since.get(one, "") for one in owing)
    return _words(state)["waiting"].format(who=who) if owing else ""


def _lines(app: App, state: State, screen: _Screen) -> Iterator[str]:
    """Yield all that can be shown of a conversation now."""
    names = {a: f"{one.emoji} {one.name or a}".strip() for a, one in state.participants.items()}
    told, here = _words(state), f"--name {state.name}"
    for one in state.rounds:
        yield "# " + told["round"].format_map(vars(one))
        for entry in [entry for entry in state.entries if entry.tour == one.tour]:
            who = names.get(entry.agent, entry.agent)
            if not state.is_sealed(entry):
                yield from _answer(who, entry, told)
            elif not screen.is_play:
                yield f"  ✓ {who} {told['sealed']}"
        for agent, why in one.absent.items():
            yield f"  ✗ {names.get(agent, agent)}: {one_line(why.words or why.code, GIST)}"
    for asker, peer, asks in [] if state.ended_at else sight.unanswered(state):
        if peer not in names or status.by_hand(app, state, peer):
            how, what = f'council say "…" {here}', {"peer": peer, "text": one_line(asks, GIST)}
            yield "! " + told["asks"].format(who=asker, command=how, **what)
    for agent in [] if screen.is_play else rules.asked(state):
        if status.by_hand(app, state, agent):
            how = f"council respond --as {agent} {here} -"
            yield "  " + told["hand"].format(who=agent, tour=state.tour, command=how)
    if state.paused_at:
        yield "! " + told["paused"].format(at=state.paused_at, command=f"council resume {here}")


def _answer(who: str, entry: Entry, told: dict[str, str]) -> Iterator[str]:
    """Yield an answer as it is shown: its first sentence, where it stands, what is wrong."""
    heard, sides = entry.heard, [entry.heard.choice]
    sides += [f"{peer}: {one.word}" for peer, one in heard.stances.items()]
    if entry.phase == RESOLVE:
        sides = [told.get(entry.status, "")]
    stands = ", ".join(filter(None, sides))
    if entry.kind == "synthesis":  # its words are the decision
        yield "  ✓ " + told["wrote"].format(who=who)
    else:
        said = heard.position or heard.recommendation or entry.text
        own = [one for one in said.split("\n") if not _NOT_SAID.fullmatch(one)]
        said = _sentence(" ".join(own).strip() or said)
        yield f"  ✓ {who}{f' ({stands})' * bool(stands)}: {said}"
    yield from (f"    BLOCKING: {one_line(one, GIST)}" for one in heard.blockers)
    unfound = [one.text for one in heard.quotations if not one.found]
    yield from (f"    {told['unfound'].format(text=one_line(one, GIST))}" for one in unfound)


def _words(state: Any) -> dict[str, str]:
    return words.load(f"texts/cures-{state.lang}.txt")


def trial(app: App, given: Given) -> Said:
    """Measure whether a council decides better than its members alone."""
    usd = opening.opening({**given.__dict__, "topic": given.path}).config["max_usd"]
    name, parts = given.path, (given.agents, given.arms, given.limit, given.seed)
    new = None if TRIALS.knows(app, name) else trials.plan(app, name, *parts)
    name = new.name if new else name
    if given.dry_run:
        return Said(data=trials.estimate(app, new or TRIALS.document(app, name).peek()))
    extra("trial", "scipy")  # a trial is dear, and its report needs intervals
    if given.resume:
        trials.steer(app, name, "resume", given.max_runs, usd)
    elif new:
        trials.start(app, new, given.max_runs, usd)
    told = 0.0

    def show(state: Any) -> bool:
        nonlocal told
        if time.monotonic() > told + EVERY:
            told = time.monotonic()
            err(TRIALS.line(TRIALS.status(app, name, state)))
        return state.paused or name not in TRIALS.names(app)

    try:
        _beaten(app, TRIALS, name, _Screen(), show)
    except KeyboardInterrupt:
        talks = trials.steer(app, name, "pause", None, None)
        end_runs(app, [TRIALS.document(app, name), *map(app.conversation, talks)])
    state = TRIALS.document(app, name).peek()
    data, text = TRIALS.shown(app, name, state, 0)
    code, note = 0, f"report: {app.root}/trials/{name}.md"
    if not state.ended_at:
        text = text if data["compared"] else TRIALS.line(TRIALS.status(app, name, state))
        code, more = (INTERRUPTED, "") if state.paused == trials.BY_HAND else (STOPPED, HIGHER)
        note = f"! {state.paused}; to continue: council trial {name} --resume{more}"
    return Said(data=data, text=wrapped(text, columns(sys.stdout)), notes=[note], code=code)
