"""The ledger of calls as a row of the table of kinds: how its runs are told and heard."""

from __future__ import annotations

from datetime import datetime

from council.delegation import model, rules
from council.delegation.model import Call, Event, Message, State
from council.kernel import times
from council.kernel.document import Document
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers.output import Output
    from council.runs.starting import Started


class _Calls(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, module = "call", "calls", rules

    def names(self, app: App) -> list[str]:
        return [model.IDENT] if self.document(app, model.IDENT).exists() else []

    def document(self, app: App, name: str) -> Document[Any]:
        return Document(f"{app.state_folder}/{model.IDENT}", None, rules, now=app.fixed)

    def place(self, name: str) -> tuple[str, str]:
        return model.IDENT, ""

    def ident(self, state: State) -> str:
        return model.IDENT

    def time_limit(self, app: App, state: State, one: Work, usual: float) -> float:
        return rules.time_limit(state, one.tour, app.now)

    def places_lent(self, state: State, one: Work) -> int:
        call = state.call(one.tour)
        return call.depth if call else 0  # as many wait for it, each in its place

    def prompt(self, app: App, state: State, one: Work, by_hand: bool = False) -> str:
        from council.delegation import prompts  # late: an idle heartbeat tells nobody anything

        return prompts.prompt(app, state, one)

    def variables(self, state: State, one: Work) -> dict[str, str]:
        call = state.call(one.tour)
        trace = call.trace_id if call else ""
        return {"COUNCIL_TRACE": trace, "COUNCIL_PHASE": "CALL", "COUNCIL_TOUR": str(one.tour)}

    def handed_in(
        self, app: App, state: State, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        call, when = state.call(run.tour), times.text(at)
        text = output.text.strip()
        if call is None or call.status:
            return [work.answered(run.id, when, output.use, output.cut)]
        if output.code or not text:
            code, words = output.code or "no-answer", output.words or "it printed no answer"
            late = code == "timed-out"
            status, wire = (model.TIMEOUT, "E20") if late else (model.ERROR, "E30")
            more = {"code": wire, "words": words, "guard": "timeoutMs" if late else ""}
            last = rules.ended(call, when, status, text, _kept(app, call, text), **more)
            return [work.failed(run.id, when, code, words, output.use), last]
        answered = work.answered(run.id, when, output.use, output.cut)
        if call.expected_schema is not None:
            from council.delegation import schemas  # late: few calls expect a form

            found, fault = schemas.result(text, call.expected_schema)
            if fault and run.task != "question":
                asked = {"number": call.number, "fault": fault, "agentId": call.to_agent_id}
                asked |= {"traceId": call.trace_id, "at": when}
                return [answered, {"type": "agent.call.asked", **asked}]
            if fault:
                more = {"code": "E10", "guard": "expectedSchema", "words": fault}
                kept = _kept(app, call, text)
                return [answered, rules.ended(call, when, model.INVALID, text, kept, **more)]
            text = found
        kept = _kept(app, call, text) if len(text) > model.SUMMARY else []
        return [answered, rules.ended(call, when, model.OK, text, kept)]

    def report(
        self, state: State, events: list[Event], started: Started, filed: str
    ) -> dict[str, Any]:
        running = sum(run.is_open() for run in state.runs.by_id.values())
        woken = {"woken": started.woken, "waiting": started.waiting, "running": running}
        return {"name": model.IDENT, **woken, "archived": ""}

    # What observers ask

    def status(self, app: App, name: str, state: State) -> dict[str, Any]:
        open_ = [one for one in state.calls if not one.status]
        running = sorted(run.agent for run in state.runs.by_id.values() if run.is_open())
        waiting = sorted({one.to_agent_id for one in open_ if one.to_agent_id not in running})
        status = "at work" if open_ else "quiet"
        unread = len([one for one in state.messages if not one.handed and not one.read])
        made = {"name": name, "status": status, "waiting": waiting, "running": running}
        return {**made, "unread": unread, "problems": []}

    def line(self, row: dict[str, Any]) -> str:
        at_work = f", running: {', '.join(row['running'])}" if row["running"] else ""
        return f"{row['name']}: {row['status']}{at_work}, unread messages: {row['unread']}"

    def explained(self, app: App, name: str, state: State) -> dict[str, Any]:
        open_ = [one for one in state.calls if not one.status]
        waits = [
            {"what": f"an answer to {one.from_agent_id}: {cut(one.message, 60)}"}
            | {"agentId": one.to_agent_id, "since": one.at, "until": one.timeout_at}
            for one in open_
        ]
        made = {"kind": self.name, "id": model.IDENT, "name": name, "waitsFor": waits}
        made |= {"status": "at work" if open_ else "quiet", "hindrances": [], "tried": []}
        after = "its caller is given the answer, or told that time is up"
        return {**made, "next": [after] * bool(open_)}

    def shown(self, app: App, name: str, state: State, last: int) -> tuple[dict[str, Any], str]:
        calls, messages = state.calls[-last:], state.messages[-last:]
        sent: list[Call | Message] = [*calls, *messages]
        data = {"name": name, "calls": [one.to_json() for one in calls]}
        data["messages"] = [one.to_json() for one in messages]
        lines = []
        for one in sorted(sent, key=lambda both: both.at):
            ended = _fate(one)
            pair = f"{one.from_agent_id} → {one.to_agent_id}"
            lines.append(f"{one.at[:16].replace('T', ' ')} UTC  {pair}  {one.trace_id}  {ended}")
            lines.append(f"    {cut(one.message, 200)}")
            answer = one.summary if isinstance(one, Call) else ""
            lines += [f"    = {cut(answer, 200)}"] if answer else []
        return data, "\n".join(lines)

    def logged(self, event: Event) -> str:
        pair = " → ".join(filter(None, (event.get("fromAgentId"), event.get("toAgentId"))))
        words = [pair, event.get("status", ""), cut(event.get("message", ""), 60)]
        return f"{event['type']}: {', '.join(filter(None, words))}"

    def remove(self, app: App, name: str) -> None:
        import shutil  # late: slow to import

        shutil.rmtree(self.document(app, name).folder, ignore_errors=True)


def _fate(one: Call | Message) -> str:
    """Return what became of a call or a message."""
    if isinstance(one, Call):
        return one.status or "at work"
    made = [how for how in ("answered", "read", "handed") if getattr(one, how)]
    return "handed over" if made[:1] == ["handed"] else made[0] if made else "unread"


def _kept(app: App, call: Call, text: str) -> list[str]:
    """Return the artifact that keeps the whole of an answer, none where there is no text."""
    from council.archive import artifacts  # late: most answers are short

    of = (call.to_agent_id, call.trace_id, times.text(app.now))
    data, kind = text.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return [artifacts.publish(app.root, data, kind, *of).artifact_id] if text else []


CALLS = _Calls()
