"""What may be done to a context: pure functions, which add events to a play or refuse.

O1, the orchestrator of document 002, is this package: what it sends, hears and decides is here, and
in `rules.py` what follows by itself.
"""

from __future__ import annotations

from council.agents.registry import Worker
from council.kernel import times
from council.kernel.errors import Invalid, NotFound, Refused
from council.kernel.record import Any
from council.kernel.times import datetime
from council.tasks import model as m
from council.tasks.model import Context, Event, Hop, evolve
from council.tasks.wire import lines, tables
from council.tasks.wire.model import MOST_CHARS, Message, fitted, parted
from council.tasks.wire.writing import line_of

MOST_REJECTED, MOST_QUESTIONS = 2, 2
_DEPTH, _DEEPEST = 3, 5  # of hand-offs, without and with `reason=`
_ANY = Worker(agent_id="")
_ENDS = {"S": m.DONE, "E": m.FAILED}
_OWN = ("retry", "max", "fallback_from", "reason", "auth")  # of one attempt, not of the task


class Play:
    """A copy of a state on which events are tried out one after the other; `events` has them."""

    def __init__(self, state: Context, now: datetime) -> None:
        self.state, self.now, self.events = state.copy(), now, list[Event]()

    def add(self, kind: str, **fields: Any) -> None:
        """Add an event; a `message` becomes its line, with the next number."""
        event: Event = {"type": kind, "at": times.text(self.now), **fields}
        if message := event.pop("message", None):
            number = {"number": self.state.count + 1, "context": self.state.name}
            event["line"] = line_of(message.copy(**number))
        self.take([event])

    def take(self, events: list[Event]) -> None:
        """Add events that come from elsewhere."""
        self.events += events
        for event in events:
            evolve(self.state, event)

    def tell(self, hop: Hop, kind: str, data: str, event: str = "told", **more: Any) -> None:
        """Say something to the worker of a hop; what `more` is of no message is of the event."""
        own = {name: more.pop(name) for name in [*more] if name in Message._kinds}
        message = to_worker(self.state, hop, kind, data, **own)
        self.add(f"task.{event}", message=message, hop=hop.number, **more)

    def reject(self, hop: Hop, code: str, target: str, **more: Any) -> None:
        """Tell a worker why somebody to whom it handed its task on does not do it."""
        self.tell(hop, "E", f"desc={tables.meanings('V5')[code]};id={target}", code=code, **more)


def to_worker(context: Context, hop: Hop, kind: str, text: str, /, **more: Any) -> Message:
    """Return what O1 says to the worker of a hop."""
    fields: dict[str, Any] = {"task": hop.task, "priority": context.tasks[hop.task].priority}
    fields |= {"depth": hop.depth, "budget": hop.budget, "state": m.RUNNING, "data": text, **more}
    return Message(**{"sender": "O1", "receiver": hop.worker, "kind": kind, **fields})


def request(play: Play, text: str, caps: list[str], priority: str, budget: int | None) -> None:
    """Give what a user asks for to the worker that fits best (document 002, 4.2)."""
    state, task = play.state, f"T{len(play.state.tasks) + 1}"
    caps = caps or named_in(text, state.workers)
    order = others(state, caps, [])
    if not order:
        what = f"no worker is there{' for ' * bool(caps)}{', '.join(caps)}"
        raise Refused("no-worker", what, "council agent join AGENT --caps CAPABILITY")
    called = [one for one in caps if one in state.workers[order[0]].caps]
    call = f"call={called[0]};query=" if called else "task="
    play.add("task.created", task=task, text=text, caps=caps, priority=priority)
    line = " ".join(text.split())
    query = call + (fitted(line) if len(line) <= MOST_CHARS - len(call) else f"#REF:{task}:text")
    message = Message(sender="O1", receiver=order[0], kind="R", task=task, data=query)
    send(play, message.copy(priority=priority, state="N", budget=budget))


def others(state: Context, caps: list[str], excluded: list[str]) -> list[str]:
    """Return the workers that fit, without those that were tried, the best first (PR-561).

    The score is the share of the required capabilities that a worker has; nothing required fits
    everybody. Equal ones are ordered by load, last use (never first) and number; busy ones come
    after all others.
    """
    rows, required = [], {*caps}
    for ident, one in state.workers.items():
        count = len(required & {*one.caps})
        score = count / len(required) if required else 1.0
        fits = score >= state.rules.threshold and (count or not required) and one.max_depth
        if ident[:1] == "W" and ident not in (*excluded, *state.down) and fits:
            number = int(ident[1:].partition(".")[0])
            rows.append((one.load >= m.FULL, -score, one.load, one.used, number, ident))
    return [row[-1] for row in sorted(rows)]


def named_in(text: str, workers: dict[str, Worker]) -> list[str]:
    """Return the capabilities that a text names: all where one worker has them all, else the first.

    A name counts as whole words; blanks and hyphens may stand for `_`.
    """
    words, every = _words(text), {name for one in workers.values() for name in one.caps}
    places = sorted((words.find(_words(name)), -len(name), name) for name in every)
    matches = [name for place, _, name in places if place >= 0]
    return matches if any({*matches} <= {*one.caps} for one in workers.values()) else matches[:1]


def _words(text: str) -> str:
    plain = "".join(one if one.isalnum() else " " for one in text.casefold())
    return f" {' '.join(plain.split())} "


def send(play: Play, message: Message, **more: Any) -> None:
    """Give a task to a worker, or to each of a group once; a router only passes it on."""
    state, target = play.state, message.receiver
    target = message.pairs.get("to", target) if target[:1] == "R" else target
    every = [ident for ident in sorted(state.workers) if ident[:1] == "W" and "*" in target]
    for ident in every or state.groups.get(target) or [target]:
        if ident not in state.workers:
            raise Refused("E30", f"{ident} has not joined", "council explain E30", verdict="E30")
        agent = state.workers[ident].agent_id
        play.add("task.sent", message=message.copy(receiver=ident), agent=agent, **more)


def again(play: Play, hop: Hop, worker: str, budget: int | None, **pairs: str) -> None:
    """Give the task of a hop that failed to a worker once more (PR-579)."""
    items = [one for one in parted(hop.data, ";") if one.partition("=")[0] not in _OWN]
    own = ";".join(f"{name}={value}" for name, value in pairs.items())
    text = ";".join([*items, own])
    text = text if len(text) <= MOST_CHARS else f"task=#REF:{hop.task}:text;{own}"
    message = to_worker(play.state, hop, "R", text, receiver=worker, state="N", budget=budget)
    more = {"retry": int(pairs.get("retry", 0)), "reason": pairs.get("reason", "")}
    send(play, message, after=hop.number, **more)


def expected(state: Context, hop: Hop) -> lines.Expected:
    """Return what a line of the worker of a hop has to answer."""
    request = to_worker(state, hop, "R", "-", number=hop.asked, context=state.name)
    request.sender, version = _giver(state, hop), state.workers.get(hop.worker, _ANY).version
    return lines.Expected(request=request, version=version, lang=state.lang)


def _giver(state: Context, hop: Hop) -> str:
    return state.hops[str(hop.source)].worker if hop.source else "O1"


def hear(play: Play, number: int, reading: lines.Heard) -> None:
    """Take what a worker says in a hop; what does not answer it is asked again (PR-554)."""
    hop = play.state.hops[str(number)]
    current, form = hop.asked, expected(play.state, hop)
    for message in reading.messages:
        if hop.state not in m.OPEN or (hop.asked != current and message.kind not in "UX"):
            break
        if code := strange(play.state, hop, message):
            fault = f"{code}, {tables.meanings('V5', play.state.lang)[code]}"
            said = {"data": message.data} if code != "E43" else {}
            reading = lines.refused(line_of(message), fault, said, form)
            break
        take(play, hop, message, reading.result)
    if hop.state in m.OPEN and hop.asked == current:
        text = reading.refusal or lines.read_line("", form).refusal
        play.add("task.unread", hop=number, text=text)


def strange(state: Context, hop: Hop, message: Message) -> str:
    """Return the code of a message that is not one of this hop, "" where it is one."""
    if message.sender != hop.worker:
        return "E13"
    if message.task not in ("", "T0", hop.task):
        return "E40"
    if message.context not in ("", "S0", state.name):
        return "E42"
    if message.kind not in "SECUXAH":
        return "E14"
    own = message.copy(task=hop.task, state=_ENDS.get(message.kind, m.RUNNING))
    code = judge(own, state) if message.kind in "SECU" else ""
    return "" if code == "E18" else code


def take(play: Play, hop: Hop, message: Message, result: str) -> None:
    """Take one message of the worker of a hop; `result` is its whole text, if DATA is not."""
    state, kind, most = play.state, message.kind, hop.budget
    own: dict[str, Any] = {"task": hop.task, "priority": state.tasks[hop.task].priority}
    own["state"] = _ENDS.get(kind, m.RUNNING)
    if kind == "X":
        _hand_on(play, hop, message.copy(**own))
        return
    if kind == "C" and state.tasks[hop.task].questions >= MOST_QUESTIONS:
        fail(play, hop, "E18", "max_clarify")
        return
    own |= {"depth": hop.depth, "receiver": "O1" if kind in "CU" else _giver(state, hop)}
    if most is not None and (message.budget is None or message.budget > most):
        play.add("context.warned", words=f"{hop.worker} gave back more budget than it had")
        own["budget"] = most
    if kind == "E" and message.code in ("", "E00"):
        own["code"] = "E99"
    text = lines.plain(result or lines.readable(message.data))
    play.add("task.answered", message=message.copy(**own), hop=hop.number, text=text)
    if kind == "C":
        _ask(play, hop, message)


def fail(play: Play, hop: Hop, code: str, words: str) -> None:
    """Note that a hop failed: O1 says so with an E."""
    details = f";details={fitted(words, 120)}" * bool(words)
    text = f"desc={tables.meanings('V5')[code]}{details}"
    play.tell(hop, "E", text, "failed", state=m.FAILED, code=code, words=words)


def _ask(play: Play, hop: Hop, message: Message) -> None:
    """Put the question of a worker to the user, with 2 to 4 short options or none (PR-576)."""
    pairs, items = message.pairs, list[str]()
    question = fitted(pairs.get("question", message.data), 120)
    texts = [pairs[key] for key in sorted(pairs) if key[:3] == "opt" and key[3:].isdecimal()]
    texts = texts or parted(pairs.get("options", "").strip('"'), ",")
    options = [fitted(one) for one in texts if one.strip()]
    if 2 <= len(options) <= 4 and all(len(one.split()) <= 3 for one in options):
        items = [f"opt{number}={one[:18]}" for number, one in enumerate(options, 1)]
    elif options:
        question = fitted(f"{question} ({', '.join(options)})", 180)
    text = ";".join([f"question={question}", *items])
    play.tell(hop, "D", text, "asked", budget=None, receiver="User")


def _hand_on(play: Play, hop: Hop, message: Message) -> None:
    """Approve a hand-off by delivering it, or reject it to its source (PR-563)."""
    state, most, part = play.state, hop.budget, message.budget
    part = most // 2 if part is None and most is not None else part
    message = message.copy(depth=max(message.depth, hop.depth + 1), budget=part)
    target = state.workers.get(message.receiver)
    code = judge(message, state) if target else "E41"
    if not code and most is not None and (part or 0) > most:
        code = "E17"
    if target and not code:
        play.add("task.sent", message=message, agent=target.agent_id, source=hop.number)
    elif hop.rejections >= MOST_REJECTED:
        fail(play, hop, code, "its hand-offs were rejected")
    else:
        play.reject(hop, code, message.receiver)


def reply(play: Play, ident: str, text: str) -> str:
    """Take a person's answer to the question of a task; return what was understood.

    It is an option, its number, or a text.
    """
    state, task = play.state, play.state.tasks.get(ident)
    if task is None or not task.question:
        raise NotFound("nothing-asked", f"nothing is asked in {state.name}", "council status")
    option, words = _understood(task.options, text)
    choice = f"choice=opt{option}" if option else f"answer={words}"
    user = Message(sender="User", receiver="O1", kind="C", data=choice, task=ident, state=m.RUNNING)
    play.add("task.told", message=user.copy(priority=task.priority))
    if hop := state.hops.get(str(task.asker)):
        play.tell(hop, "C", f"answer={words}", text=text)
    return words


def _understood(options: list[str], text: str) -> tuple[int, str]:
    """Return the number of the option that a person means, and its words; 0 and a text for none.

    The words of an option go before its number: of the options 2 and 1 the answer 1 is the second.
    """
    word, known = fitted(text, 180), [one.casefold() for one in options]
    number = word.casefold().removeprefix("opt")
    if word.casefold() in known:
        return known.index(word.casefold()) + 1, options[known.index(word.casefold())]
    if options and number.isdecimal():
        if not 0 < int(number) <= len(options):
            offers = ", ".join(f"{at} {one}" for at, one in enumerate(options, 1))
            raise Invalid("no-option", f"there is no option {word[:20]}", f"there are: {offers}")
        return int(number), options[int(number) - 1]
    return 0, word


def cancel(play: Play, ident: str, why: str) -> None:
    """Cancel a task: who has it in hand is told (U with the state X); refuse one that is over."""
    state, message = play.state, Message(sender="O1", receiver="*", kind="U", task=ident)
    if ident not in state.tasks or state.tasks[ident].state not in m.OPEN:
        raise Refused("over", f"no task {ident[:20]} is open", f"council show {state.name}")
    for worker in sorted({one.worker for one in state.open_hops(ident)}) or ["*"]:
        own = {"receiver": worker, "state": m.CANCELLED, "data": fitted(why)}
        play.add("task.told", message=message.copy(**own))


# What depends on more than one message


def transition(old: str, new: str) -> str:
    """Return what a change of a task's state is: `ok`, `same`, `duplicate` or `E15` (PR-412)."""
    if old == new:
        return "same" if old in "NR" else "duplicate"
    return "ok" if old + new in ("NR", "RD", "RF", "NX", "RX") else "E15"


def judge(message: Message, state: Context) -> str:
    """Return the V5 code of what is wrong with a valid message, "" for nothing."""
    workers, task, kind = state.workers, message.task, message.kind
    ends = {end for end in (message.sender, message.receiver) if end[:1] == "W" and end != "W*"}
    if kind not in ("J", "A") and not ends <= workers.keys():
        return "E41"
    if task not in ("", "T0", *state.tasks) and kind not in ("R", "D"):
        return "E40"
    if None in state.values(message.data).values():
        return "E43"
    if kind in ("R", "X"):  # another attempt: its state is that of a new hop
        return _unfit(message, state)
    if task in ("", "T0"):
        return ""
    if kind == "C" and message.sender[:1] == "W" and state.tasks[task].questions >= MOST_QUESTIONS:
        return "E18"
    who = message.receiver if message.sender[:1] == "O" else message.sender
    hops = [hop.state for hop in state.hops.values() if (hop.task, hop.worker) == (task, who)]
    old = [message.state if message.state == "R" else "N", *hops][-1]
    return "E15" if message.state and transition(old, message.state) == "E15" else ""


def _unfit(message: Message, state: Context) -> str:
    """Return why a worker cannot take a request or a hand-off, "" where it can."""
    capability, worker = message.pairs.get("call", ""), state.workers.get(message.receiver, _ANY)
    limit = _DEEPEST if message.pairs.get("reason") else _DEPTH
    if message.depth > min(limit, worker.max_depth - 1):
        return "E16"
    if capability and worker.caps and capability not in worker.caps:
        return "E19"
    if message.receiver in state.down:
        return "E30"
    return "E31" if worker.load >= m.FULL else ""
