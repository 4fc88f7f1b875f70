"""Print what commands and turns cost: `python -m benchmarks [ROUNDS]`.

Everything is measured in one go on one machine, and each figure stands beside
the same figure divided by the time of `python -c pass`: the milliseconds say
how it feels here, the ratio can be compared between machines and years. Run
it on a machine that does nothing else.

- `last answer → next start`: from the moment at which the process of the last
  `council respond` of a round begins to the moment at which the first program
  of the next round runs; so it holds an interpreter start, a durable commit
  and the making of a prompt. `commit → next start` begins when that revision
  was written. The median must stay under 200 ms.
- the commands that programs call all day, each as a process of its own.

The exit code is 1 when a bound is missed. Progress goes to standard error.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

LIMIT_MS = 200
ROUNDS = 12
REPEATS = 21
COUNCIL = str(Path(sys.executable).parent / "council")
_PATIENCE_S = 60


class Bench:
    """A workspace in which one agent is a program that writes down when it starts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.starts = root / "starts"
        self.env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(root), "LANG": "C"}
        self.shared = root / "memory" / "shared"
        self.shared.mkdir(parents=True)
        argv = f'["/bin/sh", "-c", "date +%s%N >> {self.starts}; echo Yes."]'
        (root / "council.toml").write_text(f"[agents.sage]\nargv = {argv}\n")

    def council(self, *words: str) -> str:
        """Run `council WORDS` and return what it printed."""
        return self.printed([COUNCIL, *words])

    def printed(self, argv: list[str]) -> str:
        """Run a command that must succeed and return what it printed."""
        return subprocess.run(
            argv, cwd=self.root, env=self.env, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def median(self, *argv: str) -> float:
        """Return the median time of a command in milliseconds."""
        self.printed(list(argv))
        taken = []
        for _ in range(REPEATS):
            begun = time.monotonic()
            self.printed(list(argv))
            taken.append((time.monotonic() - begun) * 1000)
        return statistics.median(taken)

    def open(self, name: str) -> str:
        """Open a conversation of the program and a person; return its id."""
        words = ("convene", name, "--name", name, "--agents", "henry,sage", "--json")
        return str(json.loads(self.council(*words))["conversationId"])

    def started(self) -> list[int]:
        """Return when the program was started each time, in nanoseconds of the epoch."""
        return [int(line) for line in self.starts.read_text().split()]

    def has_answered(self, name: str) -> bool:
        """Tell whether the program has answered the round under way."""
        live = self.shared / f"council-{name}-conversation.md"
        return '"sage": {"status": "RESPONDED"' in live.read_text(encoding="utf-8")

    def moved_at(self, conversation_id: str) -> int:
        """Return when the first revision of the second round was written."""
        folder = self.shared / ".council" / conversation_id
        for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines():
            at = line.find('{"')
            record = json.JSONDecoder().raw_decode(line[at:])[0] if at >= 0 else {}
            if record.get("phase") == "CHALLENGE":
                return (folder / "obj" / record["digest"]).stat().st_mtime_ns
        raise SystemExit("the round did not close")


def turns(bench: Bench, rounds: int) -> tuple[float, float]:
    """Return the median milliseconds to the next start: from the last answer, from its commit."""
    from_answer, from_commit = [], []
    for number in range(rounds):
        _say(f"turn {number + 1} of {rounds}")
        name = f"bench{number}"
        bench.starts.write_text("")
        conversation_id = bench.open(name)
        _until(partial(bench.has_answered, name))
        begun = time.time_ns()
        bench.council("respond", "--name", name, "--as", "henry", "Yes.")
        _until(lambda: len(bench.started()) == 2)
        start = bench.started()[1]
        from_answer.append((start - begun) / 1e6)
        from_commit.append((start - bench.moved_at(conversation_id)) / 1e6)
        _until(partial(bench.has_answered, name))
        bench.council("cancel", "--name", name)
    return statistics.median(from_answer), statistics.median(from_commit)


def commands(bench: Bench) -> dict[str, float]:
    """Return the median milliseconds of each command that programs call all day."""
    bench.open("idle")
    _until(partial(bench.has_answered, "idle"))
    bench.open("busy")
    _until(partial(bench.has_answered, "busy"))
    wanted = {
        "python -c pass": (sys.executable, "-c", "pass"),
        "council context": (COUNCIL, "context", "--name", "busy", "--as", "henry"),
        "council heartbeat (idle)": (COUNCIL, "heartbeat"),
        "council --help": (COUNCIL, "--help"),
    }
    found = {}
    for what, argv in wanted.items():
        _say(what)
        found[what] = bench.median(*argv)
    _say("council respond")
    found["council respond"] = statistics.median(_answers(bench))
    return found


def _answers(bench: Bench) -> list[float]:
    """Return the milliseconds of answers that are recorded: one agent of many after another."""
    many = [f"a{number}" for number in range(REPEATS + 1)]
    bench.council("convene", "many", "--name", "many", "--agents", ",".join(many))
    taken = []
    for agent in many[:-1]:
        begun = time.monotonic()
        bench.council("respond", "--name", "many", "--as", agent, f"I am {agent}.")
        taken.append((time.monotonic() - begun) * 1000)
    return taken


def main() -> int:
    """Measure, print the table, return the exit code."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="council-bench-") as folder:
        bench = Bench(Path(folder))
        found = commands(bench)
        answer, commit = turns(bench, rounds)
    found |= {"last answer → next start": answer, "commit → next start": commit}
    bare = found["python -c pass"]
    print(f"{'median of each':<28} {'ms':>8} {'ratio':>7}")
    for what, took in found.items():
        bound = f"  {_verdict(took)} (limit {LIMIT_MS} ms)" if "→" in what else ""
        print(f"{what:<28} {took:>8.1f} {took / bare:>7.2f}{bound}")
    return 0 if answer <= LIMIT_MS else 1


def _verdict(took: float) -> str:
    return "PASS" if took <= LIMIT_MS else "FAIL"


def _until(done: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + _PATIENCE_S
    while not done():
        if time.monotonic() > ends_at:
            raise SystemExit("nothing happens any more; is the machine too busy?")
        time.sleep(0.002)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
