"""A workspace whose agents call each other, for the tests of delegation."""

from __future__ import annotations

import json
import os
from pathlib import Path

from council.core.trust import run_claim
from council.operations.delegation.delegating import call, message
from council.operations.delegation.handing_over import Answered, Request
from council.operations.place import Place
from council.store.keys import run_key
from tests.conftest import BIN
from tests.operations.tables import Table, script
from tests.store.records import value_in

REPEATS = 'cat >/dev/null; echo "$COUNCIL_AGENT was asked."'
# Prints how the workspace is seen from inside the run.
TELLS = 'cat >/dev/null; echo "$COUNCIL_TRACE $COUNCIL_DEPTH $COUNCIL_CALL_PATH $traceparent"'


def calls(target: str, words: str = "please") -> str:
    """Return the shell of an agent that calls another one and prints the answer as JSON."""
    return f'cat >/dev/null; council agent call --to {target} "{words}" --json || echo "exit $?"'


class CallTable(Table):
    """A table whose agents find the command `council`, and the ways to reach them."""

    @property
    def environ(self) -> dict[str, str]:
        usual = super().environ
        return {**usual, "PATH": f"{BIN}{os.pathsep}{usual['PATH']}"}

    def inside(self, task: str, agent: str, token: str) -> Place:
        """Return the workspace as a command of that run sees it."""
        variables = {"COUNCIL_TASK_ID": task, "COUNCIL_AGENT": agent, "COUNCIL_TOKEN": token}
        environ = {**self.environ, **variables}
        environ["COUNCIL_CLAIM"] = run_claim(run_key(self.place.paths), environ)
        return Place(str(self.root), environ, self.now)

    def call(self, to: str, words: str = "do it", **wanted: object) -> Answered:
        given = {"sender": "user", "trace": "t1", **wanted}
        return call(self.place, Request(receiver=to, message=words, **given))

    def message(self, to: str, words: str = "hello", **wanted: object) -> Answered:
        given = {"sender": "user", "trace": "t1", **wanted}
        return message(self.place, Request(receiver=to, message=words, **given))

    def transcript(self, agent: str, session: str) -> list[dict[str, object]]:
        path = self.root / "memory" / "agents" / agent / "sessions" / f"{session}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def ledger(self, trace: str = "t1") -> dict[str, object]:
        folder = Path(self.place.paths.control) / "delegation" / "traces"
        return value_in(folder / f"{trace}.jsonl")

    def notes(self) -> list[Path]:
        return list((Path(self.place.paths.control) / "delegation" / "calls").glob("*"))

    def policy(self, agent: str, record: object) -> None:
        path = self.root / "memory" / "agents" / agent / "policy.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record if isinstance(record, str) else json.dumps(record))


def call_table(root: Path, **agents: str) -> CallTable:
    """Return a workspace with these agents, each a line of shell."""
    made = CallTable(root)
    made.seat({one: script(text) if text else {} for one, text in agents.items()})
    return made
