"""What may be done to a context: pure functions, which return events or refuse.

O1, the orchestrator of document 002, is this package: what it sends, hears and decides is here, and
in `rules.py` what follows by itself.
"""

from __future__ import annotations

from datetime import datetime

from council.kernel import times
from council.kernel.errors import Invalid, NotFound, Refused
from council.kernel.record import Any
from council.tasks import course
from council.tasks.evolution import evolve
from council.tasks.model import CANCELLED, DONE, FAILED, OPEN, RUNNING, Context, Event, Hop, Rules
from council.tasks.selection import FULL, named_in, select
from council.tasks.wire import data, lines, tables
from council.tasks.wire.conversion import line_of, message_of
from council.tasks.wire.model import Message

MOST_REJECTED = 2
_OWN = ("retry", "max", "fallback_from", "reason", "auth")  # of one attempt, not of the task


class Play:
    """A state on which events are tried out one after the other; `made` has them all."""

    def __init__(self, state: Context, at: datetime) -> None:
        self.state, self.now, self.at = state.copy(), at, times.text(at)
        self.made = list[Event]()

    def add(self, kind: str, **more: Any) -> None:
        """Add an event; `message` becomes its line, with the next number."""
        event: Event = {"type": kind, "at": self.at, **more}
        if message := event.pop("message", None):
            number = {"number": self.state.count + 1, "context": self.state.name}
            event["line"] = line_of(message.copy(**number))
        self.take([event])

    def take(self, events: list[Event]) -> None:
        """Add events that were made elsewhere."""
        self.made += events
        for event in events:
            evolve(self.state, event)


def to_worker(hop: Hop, kind: str, text: str, **more: Any) -> Message:
    """Return what O1 says to the worker of a hop."""
    told = {"task": hop.task, "depth": hop.depth, "budget": hop.budget, "state": RUNNING, **more}
    return Message(sender="O1", receiver=hop.worker, kind=kind, data=text, **told)


def opened(name: str, lang: str, rules: Rules, at: datetime) -> Event:
    """Return the event that opens a context."""
    told = {"name": name, "lang": lang, "rules": rules.to_json(), "at": times.text(at)}
    return {"type": "context.opened", **told}


def request(play: Play, text: str, caps: list[str], priority: str, budget: int | None) -> None:
    """Give what a user asks for to the worker that fits best (document 002, 4.2).

    Raises:
        Refused: No worker can do it (`no-worker`), or the context is closed (`closed`).
    """
    state = play.state
    check_open(state)
    task = f"T{len(state.tasks) + 1}"
    caps = caps or named_in(text, state.workers)
    order = candidates(state, caps, state.down)
    if not order:
        what = f"no worker is there{' for ' * bool(caps)}{', '.join(caps)}"
        raise Refused("no-worker", what, "council agent join AGENT --caps CAPABILITY")
    known = [one for one in caps if one in state.workers[order[0]].caps]
    call = f"call={known[0]};query=" if known else "task="
    play.add("task.created", task=task, text=text, caps=caps, priority=priority)
    line = " ".join(text.split())
    is_short = len(line) <= data.MOST_CHARS - len(call)
    text = call + (data.fitted(line) if is_short else f"#REF:{task}:text")
    message = Message(sender="O1", receiver=order[0], kind="R", task=task, data=text)
    send(play, message.copy(priority=priority, state="N", budget=budget))


def candidates(state: Context, caps: list[str], without: list[str]) -> list[str]:
    """Return the workers of a context that fit, the best first."""
    return select(caps, state.workers, threshold=state.rules.threshold, without=without)


def check_open(state: Context) -> None:
    """Refuse to go on in a context that is closed, or was never opened."""
    if state.closed_at or not state.name:
        what = f"{state.name} is closed" if state.name else "there is no such context"
        raise Refused("closed", what, "leave out --ctx for a new one")


def send(play: Play, message: Message, **more: Any) -> None:
    """Give a task to a worker, or to each of a group once."""
    ids = {"G": play.state.groups.get(message.receiver, [])}
    ids["W"] = ids["*"] = sorted(play.state.workers) if "*" in message.receiver else []
    for ident in ids.get(message.receiver[:1]) or [message.receiver]:
        agent = play.state.workers[ident].agent_id
        play.add("task.sent", message=message.copy(receiver=ident), agent=agent, **more)


def again(play: Play, hop: Hop, worker: str, budget: int | None, **told: str) -> None:
    """Give the task of a hop that failed to a worker once more (PR-579)."""
    first = message_of(play.state.lines[str(hop.number)])
    items = [one for one in data.parted(first.data, ";") if one.partition("=")[0] not in _OWN]
    own = [f"{name}={value}" for name, value in told.items()]
    text = ";".join([*items, *own])
    if len(text) > data.MOST_CHARS:
        text = ";".join([*items[:-1], f"query=#REF:{hop.task}:text", *own])
    if len(text) > data.MOST_CHARS:
        text = ";".join([f"task=#REF:{hop.task}:text", *own])
    more = {"receiver": worker, "state": "N", "budget": budget, "data": text}
    retry = int(told.get("retry", 0))
    reason = told.get("reason", "")
    send(play, first.copy(**more), after=hop.number, retry=retry, reason=reason)


def known(state: Context) -> course.Course:
    """Return what is known when a message arrives."""
    hops, workers = sorted(state.hops.values(), key=lambda one: one.number), state.workers
    return course.Course(
        agents={k: {"caps": one.caps, "maxDepth": one.max_depth} for k, one in workers.items()},
        down=state.down,
        busy=[ident for ident, one in workers.items() if one.load >= FULL],
        states={
            **{f"{ident} -": one.state for ident, one in state.tasks.items()},
            **{f"{one.task} {one.worker}": one.state for one in hops},
        },
        asked={ident: one.questions for ident, one in state.tasks.items()},
        contexts=[state.name],
        messages=[f"M{number}" for number in state.lines],
        fields=list(state.fields),
        keys=list(state.keys),
    )


def expected(state: Context, hop: Hop) -> lines.Expected:
    """Return what a line of the worker of a hop has to answer."""
    asked = to_worker(hop, "R", "-", number=hop.asked, context=state.name)
    asked.priority = state.tasks[hop.task].priority
    asked.sender = _giver(state, hop)
    version = state.workers[hop.worker].version if hop.worker in state.workers else "V5"
    return lines.Expected(request=asked, worker=hop.worker, version=version, lang=state.lang)


def _giver(state: Context, hop: Hop) -> str:
    return state.hops[str(hop.source)].worker if hop.source else "O1"


def hear(state: Context, number: int, heard: lines.Heard, at: datetime) -> list[Event]:
    """Take what a worker says in a hop; what does not answer it is asked again (PR-554)."""
    play, key = Play(state, at), str(number)
    asked, form = state.hops[key].asked, expected(state, state.hops[key])
    for message in heard.messages:
        hop = play.state.hops[key]
        if hop.state not in OPEN or (hop.asked != asked and message.kind not in "UX"):
            break
        if code := strange(play.state, hop, message):
            meaning, line = tables.meanings("V5", state.lang)[code], line_of(message)
            right = lines.right_line({"data": message.data} if code != "E43" else {}, form)
            heard = lines.Heard(line=line, fault=f"{code}, {meaning}", right=right)
            break
        take(play, hop, message, heard.result)
    hop = play.state.hops[key]
    if hop.state in OPEN and hop.asked == asked:
        wrong = heard if heard.fault else lines.read_line("", form)
        play.add("task.unread", hop=number, text=lines.refusal(wrong, state.lang))
    return play.made


def strange(state: Context, hop: Hop, message: Message) -> str:
    """Return the code of a message that is not one of this hop, "" where it is one."""
    if message.sender != hop.worker:
        return "E13"
    if message.task not in ("", "T0", hop.task):
        return "E40"
    if message.context not in ("", "S0", state.name):
        return "E42"
    if message.kind not in ("S", "E", "C", "U", "X", "A", "H"):
        return "E14"
    own = message.copy(task=hop.task, state={"S": DONE, "E": FAILED}.get(message.kind, RUNNING))
    code = course.judge(own, known(state)) if message.kind in "SECU" else ""
    return "" if code == "E18" else code


def take(play: Play, hop: Hop, message: Message, whole: str) -> None:
    """Take one message of the worker of a hop."""
    state, kind, most = play.state, message.kind, hop.budget
    own = {"task": hop.task, "depth": hop.depth, "priority": state.tasks[hop.task].priority}
    own |= {"state": {"S": DONE, "E": FAILED}.get(kind, RUNNING), "receiver": _giver(state, hop)}
    if kind in "CU":
        own["receiver"] = "O1"
    if kind == "X":
        _hand_on(play, hop, message)
        return
    if most is not None and (message.budget is None or message.budget > most):
        play.add("context.warned", words=f"{hop.worker} gave back more budget than it had")
        own["budget"] = most
    if kind == "E":
        own["code"] = message.code if message.code not in ("", "E00") else "E99"
    message = message.copy(**own)
    if kind == "C" and state.tasks[hop.task].questions >= course.MOST_QUESTIONS:
        fail(play, hop, "E18", "max_clarify")
        return
    text = lines.plain(whole or lines.readable(message.data))
    play.add("task.answered", message=message, hop=hop.number, text=text)
    if kind == "C":
        _ask(play, hop, message)


def fail(play: Play, hop: Hop, code: str, words: str) -> None:
    """Note that a hop failed: O1 says so with an E."""
    meaning = tables.meanings("V5")[code]
    text = f"desc={meaning};details={data.fitted(words, 120)}" if words else f"desc={meaning}"
    message = to_worker(hop, "E", text, state=FAILED, code=code)
    play.add("task.failed", message=message, hop=hop.number, words=words)


def _ask(play: Play, hop: Hop, message: Message) -> None:
    """Put the question of a worker to the user (PR-576)."""
    state, pairs = play.state, message.pairs
    question, made = data.fitted(pairs.get("question", message.data), 120), list[str]()
    options = [one.strip() for one in data.parted(pairs.get("options", "").strip('"'), ",")]
    options = [pairs[f"opt{n}"] for n in range(1, 9) if f"opt{n}" in pairs] or options
    options = [one for one in options if one]
    short = 2 <= len(options) <= 4 and all(len(one.split()) <= 3 for one in options)
    if short:
        made = [f"opt{n}={data.fitted(one, 18)}" for n, one in enumerate(options, 1)]
    elif options:
        question = data.fitted(f"{question} ({', '.join(options)})", 180)
    told = to_worker(hop, "D", ";".join([f"question={question}", *made]), budget=None)
    asks = told.copy(receiver="User", priority=state.tasks[hop.task].priority)
    play.add("task.asked", message=asks, hop=hop.number)


def _hand_on(play: Play, hop: Hop, message: Message) -> None:
    """Approve a hand-off by delivering it, or reject it to its source (PR-563)."""
    state, most, part = play.state, hop.budget, message.budget
    part = most // 2 if part is None and most is not None else part
    own = {"task": hop.task, "depth": max(message.depth, hop.depth + 1), "state": RUNNING}
    own |= {"budget": part, "priority": state.tasks[hop.task].priority}
    code = "E41" if message.receiver not in state.workers else ""
    code = code or course.judge(message.copy(**own), known(state))
    if not code and most is not None and part is not None and part > most:
        code = "E17"
    if not code:
        agent = state.workers[message.receiver].agent_id
        more = {"agent": agent, "source": hop.number}
        play.add("task.sent", message=message.copy(**own), **more)
    elif hop.rejected >= MOST_REJECTED:
        fail(play, hop, code, "its hand-offs were rejected")
    else:
        text = f"desc={tables.meanings('V5')[code]};id={message.receiver}"
        play.add("task.told", message=to_worker(hop, "E", text, code=code), hop=hop.number)


def reply(state: Context, task: str, text: str, at: datetime) -> list[Event]:
    """Take a person's answer to the question of a task: an option, its number, or a text.

    Raises:
        NotFound: Nothing is asked (`nothing-asked`).
        Invalid: There is no such option (`no-option`).
    """
    one = state.tasks.get(task)
    if one is None or not one.question:
        raise NotFound("nothing-asked", f"nothing is asked in {state.name}", "council status")
    play, word = Play(state, at), " ".join(text.split())
    at_ = word.casefold().removeprefix("opt")
    answer = word
    if one.options and at_.isdecimal():
        if not 1 <= int(at_) <= len(one.options):
            offers = ", ".join(f"{n} {text}" for n, text in enumerate(one.options, 1))
            raise Invalid("no-option", f"there is no option {word[:20]}", f"there are: {offers}")
        answer = one.options[int(at_) - 1]
    found = [n for n, option in enumerate(one.options, 1) if option.casefold() == answer.casefold()]
    answer = one.options[found[0] - 1] if found else answer
    told = f"choice=opt{found[0]}" if found else f"answer={data.fitted(answer, 180)}"
    said = Message(sender="User", receiver="O1", kind="C", data=told, task=task, state=RUNNING)
    play.add("task.told", message=said.copy(priority=one.priority))
    if hop := play.state.hops.get(str(one.asker)):
        answered = to_worker(hop, "C", f"answer={data.fitted(answer, 180)}", priority=one.priority)
        play.add("task.told", message=answered, hop=hop.number, text=text)
    return play.made


def cancel(state: Context, task: str, at: datetime, why: str = "cancelled") -> list[Event]:
    """Cancel a task: whoever has it in hand is told (U with the state X)."""
    play = Play(state, at)
    if state.tasks[task].state not in OPEN:
        raise Refused("over", f"{task} is over", f"council show {state.name}")
    ends = {one.worker for one in state.open_hops(task)} or {"*"}
    told = Message(sender="O1", receiver="*", kind="U", task=task, state=CANCELLED)
    for ident in sorted(ends):
        play.add("task.told", message=told.copy(receiver=ident, data=data.fitted(why)))
    return play.made
