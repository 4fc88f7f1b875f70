"""Contexts as a row of the table of kinds: how workers are told and heard, and what is shown.

The rest of this package is imported late: most workspaces have no context.
"""

from __future__ import annotations

import os

from council.kernel import files, times
from council.kernel.document import Document
from council.kernel.errors import Refusal
from council.kernel.ids import cut
from council.kernel.journal import Journal
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import datetime
from council.runs import heartbeat, starting, work
from council.runs.kinds import KindRow
from council.runs.work import Run, Work

if TYPE_CHECKING:
    from council.app import App
    from council.runs.drivers import Output
    from council.tasks.model import Context, Event


class _Contexts(KindRow):
    """See `KindRow`, which says what each function returns."""

    name, place_in_report, folder = "context", "tasks", "contexts"
    hooks = {"task.asked": "waiting_for_person", "context.closed": "closed", "run.failed": "failed"}

    @property
    def module(self) -> Any:
        """The functions of the kind."""
        from council.tasks import rules  # late: see above

        return rules

    def names(self, app: App) -> list[str]:
        folder = f"{app.state_folder}/contexts"
        names = [one for one in files.names(folder) if Journal(f"{folder}/{one}").is_begun()]
        first = dict.fromkeys(names, "")  # damaged ones, too: whoever reads them names the fault
        for name, state in self.states(app, names).items() if len(names) > 1 else ():
            open_tasks = [state.tasks[hop.task].priority for hop in state.open_hops()]
            first[name] = min(open_tasks, default="P9")
        return sorted(names, key=lambda one: (first[one], len(one), one))

    def states(self, app: App, names: list[str]) -> dict[str, Context]:
        """Return the contexts that can be read."""
        readable = {}
        for name in names:
            try:
                readable[name] = self.document(app, name).peek()
            except Refusal:
                continue
        return readable

    def knows(self, app: App, which: str) -> bool:
        name = which.partition("/")[0]  # S1/T1 is told with its context
        return name[:1] == "S" and name.isalnum() and self.document(app, name).exists()

    def document(self, app: App, name: str) -> Document[Any]:
        name = name.partition("/")[0]
        closed = f"{app.state_folder}/closed/{name}"
        if os.path.isdir(closed):
            return Document(closed, None, self.module, now=app.fixed)
        return super().document(app, name)

    def time_limit(self, app: App, state: Context, one: Work, usual: float) -> float:
        return min(usual, state.rules.reply_timeout)

    def prompt(self, app: App, state: Context, one: Work, by_hand: bool = False) -> str:
        from council.tasks import model, prompts  # late: see above

        if one.task == model.SYNTHESIS:
            return prompts.synthesis(app, state, one.agent)
        hop = next(hop for hop in state.hops.values() if hop.asked == one.tour)
        return prompts.task(app, state, hop, by_hand)

    def handed_in(
        self, app: App, state: Context, run: Run, output: Output, at: datetime
    ) -> list[Event]:
        from council.tasks import decisions, model  # late: see above
        from council.tasks.wire import lines  # late: see above

        hop = next((one for one in state.open_hops() if one.asked == run.tour), None)
        joins = run.task == model.SYNTHESIS and run.tour == state.count and not state.closed_at
        if (hop or joins) and output.code:
            return [work.failed(run.id, times.text(at), output.code, output.words, output.use)]
        end = work.answered(run.id, times.text(at), output.use, output.cut)
        if joins:
            closing = {"type": "context.closed", "answer": lines.plain(output.text.strip())}
            return [{**closing, "at": times.text(at)}, end]
        if hop is None:
            return [end]  # it has answered by command, or is not waited for
        play = decisions.Play(state, at)
        reading = lines.read_line(output.text, decisions.expected(state, hop))
        decisions.hear(play, hop.number, reading)
        return [*play.events, end]

    def passed(self, one: Work, code: str, words: str, at: datetime) -> list[Event]:
        return [{"type": "task.passed", "tour": one.tour, "words": words, "at": times.text(at)}]

    def exchange(self, app: App, name: str) -> None:
        """Note who has joined, left or fallen silent since the last look."""
        from council.tasks import joining  # late: see above

        def decide(state: Context) -> list[Event]:
            return joining.news(state, starting.registry_of(app, True), app.now)

        document = self.document(app, name)
        if decide(document.peek()):
            document.change(decide, by="registry", at=app.now)

    def is_over(self, state: Context) -> bool:
        return bool(state.closed_at)

    def finish(self, app: App, name: str) -> str:
        heartbeat.end_runs(app, self.document(app, name).peek().runs.by_id.values())
        super().document(app, name).close(name, self.is_over)
        return f"memory/shared/.council/closed/{name}"

    def status(self, app: App, name: str, state: Context) -> dict[str, Any]:
        row = super().status(app, name, state)
        for ident in state.pending():
            what = f"{name} asks you: {state.tasks[ident].question}"
            fix = f'council say "…" --to {name}/{ident}'
            row["problems"].append({"name": name, "code": "asked", "what": what, "fix": fix})
        row |= {"status": "asks you", "waiting": ["User"]} if row["problems"] else {}
        row |= {"status": "closed"} if state.closed_at else {}
        tasks = [
            {"id": ident, **one.row(("text", "state", "priority", "code"))}
            | {"workers": [hop.worker for hop in state.open_hops(ident)]}
            for ident, one in state.tasks.items()
        ]
        return {**row, "tasks": tasks}

    def line(self, row: dict[str, Any]) -> str:
        tasks = "; ".join(f"{cut(one['text'], 50)} ({one['state']})" for one in row["tasks"])
        return f"{row['name']}: {row['status']}: {tasks}"

    def shown(self, app: App, name: str, state: Context, last: int) -> tuple[dict[str, Any], str]:
        row, hidden = self.status(app, name, state), ("mark", "runs", "rules", "workers")
        data = {key: one for key, one in state.to_json().items() if key not in hidden}
        problems = [f"{one['what']}\n    {one['fix']}" for one in row["problems"]]
        text = [self.line(row), *problems, *list(state.lines.values())[-last:], "", state.answer]
        return {**data, "status": row["status"]}, "\n".join(text)

    def logged(self, event: Event) -> str:
        return protocol_line(event) if "line" in event else super().logged(event)


def protocol_line(event: Event) -> str:
    """Return the line of the log for an event that carries a message (PR-586).

    It is `[TS] [LEVEL] [CTX] [TID] FROM>TO TYPE ERR SUMMARY`: TS is the second of the UTC day, the
    summary the first item of DATA, behind a flag also the next one.
    """
    from council.tasks.wire import model, writing  # late: see above

    one, at = writing.from_line(event["line"]), times.instant(event["at"])
    code = one.code.replace("E00", "")
    level = "ERROR" if code[:2] == "E9" else "WARN" if code or one.kind == "E" else "INFO"
    head = f"[{int(at.timestamp()) % 86_400:05}] [{level}] [{one.context or '-'}]"
    first, *more = [item for item in model.parted(one.data, ";") if item] or [one.data]
    summary = f"{first} {more[0]}" if more and "=" not in first else first
    route = f"[{one.task or '-'}] {one.sender}>{one.receiver} {one.kind}"
    return f"{head} {route} {one.code or '-'} {summary[:60]}"


CONTEXTS = _Contexts()
